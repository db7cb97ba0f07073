#!/usr/bin/env python3
"""The scaling of one node with several GPUs: weak and strong, one step per pass and several, of a
uniform medium and of other problems.

    python3 jobscripts/node_study.py --isotherm build/hip-nvidia/isotherm --gpus 8

The command checks the node (`isotherm doctor`), then lets jobscripts/study.py run every case on 1,
2, 4, ... GPUs: six faces of mixed types, float64, no output. --problem chooses materials, a laser
track, super steps with a tolerance, or the steady state instead; for the last two a rate is cells
per second, of the time loop or of the multigrid's cycles, and cells keep their size. It prints the
table of docs/developers/halo.md and writes it to node_study.md in the folder of --output, next to
the studies. A second call continues where the first stopped.
"""
import argparse
import csv
import os
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from study import by_ranks

HERE = Path(__file__).resolve().parent
# name: (kind, cells of one GPU (weak) or in total, steps: at least 0.2 s on four H200s
# with four per pass, beside which what happens once per run is small)
CASES = {"weak 512^3": ("weak", (512, 512, 512), 4000),
         "weak 256^3": ("weak", (256, 256, 256), 10000),
         "strong 1024^3": ("strong", (1024, 1024, 1024), 1200),
         "strong 2048 x 1024 x 1024": ("strong", (2048, 1024, 1024), 600),
         "strong 512^3": ("strong", (512, 512, 512), 6000)}
TRANSPORTS = ("peer", "gpu-aware", "staged")
FACES = ("x_min={type: temperature, value: 310}", "x_max={type: flux, value: 30}",
         "y_min={type: temperature, value: 300}", "y_max={type: flux, value: 0}",
         "z_min={type: convection, coefficient: 3, ambient: 300}",
         "z_max={type: temperature, value: 350}")
MATERIAL = "material: {conductivity: 1, density: 1, heat_capacity: 1}"
LAYERS = ("materials:\n"
          "- {name: a, conductivity: 1, density: 1, heat_capacity: 1}\n"
          "- {name: b, conductivity: 0.3, density: 1, heat_capacity: 2}\nparts:\n"
          "- uniform: {material: a}\n"
          + "".join(f"- layer: {{axis: z, from: {n / 8}, to: {(n + 1) / 8}, material: b}}\n"
                    for n in range(1, 8, 2)))
# name: (what replaces the material of the configuration, settings instead of the steps, the column
# of the seconds that a rate is of; None: of updates by steps)
PROBLEMS = {"uniform": (MATERIAL, (), None),
            "layers": (LAYERS, (), None),
            "track": (MATERIAL,
                      ("sources=[{gaussian: {surface: z_max, radius: 0.02, power: 1, "
                       "absorptivity: 1, x: 0.2 + 1e3*t, y: 0.5}}]",
                       "initial=[{uniform: {value: 300}}]",
                       *(f"boundary.{axis}_{side}={{type: temperature, value: 300}}"
                         for axis in "xyz" for side in ("min", "max"))), None),
            "sts2": (MATERIAL, ("time={end: 0.1, scheme: sts2, tolerance: 1e-3}",), "wall_s"),
            "steady": (MATERIAL, ("time={steady: {tolerance: 1e-8}}",), "cycles_s")}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--isotherm", default=os.environ.get("ISOTHERM", "isotherm"))
    add("--gpus", type=int, required=True, help="number of GPUs of this node, with a rank each")
    add("--backend", default="hip")
    add("--case", action="append", choices=CASES, help="run this one only (repeatable)")
    add("--problem", choices=PROBLEMS, default="uniform")
    add("--transport", action="append", help=f"only this one (repeatable): {', '.join(TRANSPORTS)}")
    add("--steps-per-pass", default="1,auto", help="such as 1,4 (1,auto)")
    add("--repeats", type=int, default=3)
    add("--shrink", type=int, default=1, help="divide cells and steps by this, for a trial")
    add("--launcher", default="mpirun -n {ranks} --bind-to none")
    add("--output", type=Path, default=Path("out/node_study"))
    args = parser.parse_args()
    if args.gpus < 1 or args.repeats < 1 or args.shrink < 1:
        parser.error("--gpus, --repeats and --shrink must be 1 or more")
    return args


def check_node(args):
    """Check placement and transports; keep the findings, and print them if doctor fails."""
    command = [*shlex.split(args.launcher.format(ranks=args.gpus)), args.isotherm, "doctor"]
    done = subprocess.run(command, capture_output=True, text=True)
    (args.output / "doctor.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)


def rate_of(row, seconds):
    """Updates per second of the steps, or cells per second of the column `seconds`."""
    if seconds is None:
        return float(row["cell_updates_per_s"])
    cells = int(row["cells_x"]) * int(row["cells_y"]) * int(row["cells_z"])
    return cells / float(row[seconds])


def study(args, case, transport, steps_per_pass):
    """The median rate of each number of GPUs, in cells per second, and all field hashes of each."""
    kind, cells, steps = CASES[case]
    name = f"{args.problem}, {case}, {transport}, {steps_per_pass} per pass"
    folder = args.output / re.sub(r"[^A-Za-z0-9.-]+", "_", name)  # safe in every shell and archive
    ranks = [2**n for n in range(args.gpus.bit_length()) if 2**n <= args.gpus]
    material, own, seconds = PROBLEMS[args.problem]
    sets = [f"boundary.{face}" for face in FACES]
    sets += [f"run.backend={args.backend}", f"run.halo.transport={transport}",
             f"run.steps_per_pass={steps_per_pass}", "run.watch.every=0"]
    sets += [] if seconds else [f"time.steps={max(1, steps // args.shrink)}"]
    source = (HERE.parent / f"configs/{kind}_scaling.yaml").read_text(encoding="utf-8")
    config = args.output / f"{kind}_{args.problem}.yaml"
    config.write_text(source.replace(MATERIAL, material), encoding="utf-8")
    command = [sys.executable, str(HERE / "study.py"), kind, str(config), "--isotherm",
               args.isotherm, "--ranks", ",".join(map(str, ranks)), "--repeats",
               str(args.repeats), "--cells", ",".join(str(n // args.shrink) for n in cells),
               "--launcher", args.launcher, "--output", str(folder), "--submit"]
    command += ["--upper", "1"] if seconds and kind == "weak" else []
    sets += own
    for item in sets:
        command += ["--set", item]
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{case}, {transport}: {command[1]} ended with {done.returncode}")
    with open(folder / "study.csv", newline="", encoding="utf-8") as stream:
        groups = by_ranks([{**row, "ranks": int(row["ranks"])} for row in csv.DictReader(stream)])
    rates = {count: statistics.median(rate_of(row, seconds) for row in group)
             for count, group in groups.items()}
    hashes = {count: {row["field_hash"] for row in group} for count, group in groups.items()}
    return rates, hashes


def line_of(rates):
    """Rates in Gcell/s, and the efficiency relative to one GPU."""
    return " | ".join(f"{rate / 1e9:.1f}" if count == 1 else
                      f"{rate / 1e9:.1f} ({100 * rate / (count * rates[1]):.1f} %)"
                      for count, rate in rates.items())


def write_page(args, page):
    (args.output / "node_study.md").write_text("\n".join(page) + "\n", encoding="utf-8")


def main():
    args = arguments()
    args.output.mkdir(parents=True, exist_ok=True)
    # threads compute the initial state
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, os.cpu_count() // args.gpus)))
    check_node(args)
    page = []
    hashes_of = {}
    for case in args.case or CASES:
        for steps_per_pass in args.steps_per_pass.split(","):
            for transport in args.transport or TRANSPORTS:
                rates, hashes = study(args, case, transport, steps_per_pass)
                if not page:
                    page += ["| case | steps per pass | transport | "
                             + " | ".join(f"{n} GPU" + "s" * (n > 1) for n in rates) + " |",
                             "|---" * (3 + len(rates)) + "|"]
                page.append(f"| {case} | {steps_per_pass} | {transport} | {line_of(rates)} |")
                # at once: a job that runs out of time keeps the rows that it has
                write_page(args, page)
                for count, found in hashes.items():
                    # a weak case has another grid on every number of GPUs
                    grid = (case, count if CASES[case][0] == "weak" else 0)
                    hashes_of.setdefault(grid, set()).update(found)
    differ = sorted(case for (case, _), found in hashes_of.items() if len(found) > 1)
    page += ["", "One field hash per grid." if not differ else
             f"THE FIELD HASHES DIFFER: {', '.join(differ)}"]
    write_page(args, page)
    print("\n".join(page))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
