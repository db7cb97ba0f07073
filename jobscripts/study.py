#!/usr/bin/env python3
"""A weak or strong scaling study from one command: plan, run (mpirun or Slurm), gather, draw.

    python3 jobscripts/study.py weak configs/weak_scaling.yaml
    python3 jobscripts/study.py strong configs/strong_scaling.yaml --ranks 8,16,32 --repeats 3 \\
        --script jobscripts/frontier_cray.sbatch --ranks-per-node 8 --sbatch "-A abc123" --submit

The command shows the plan, asks, and starts the runs that have no report yet; --submit starts
without asking. A second call gathers the new reports and continues where the first stopped.
"""
import argparse
import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPUTE = ("interior", "shell")
HALO = ("halo_begin", "halo_end")
SPLIT = ("compute", "halo", "output", "other")
COLUMNS = ("ranks", "repeat", "nodes", "cells_x", "cells_y", "cells_z", "steps", "wall_s",
           "step_s", "cell_updates_per_s", "efficiency", *(f"{part}_s" for part in SPLIT),
           "cycles_s", "transport", "backend", "field_hash")


def find_program():
    script = ROOT / "jobscripts/program.sh"
    return subprocess.run(["bash", script], capture_output=True, text=True).stdout.strip()


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("kind", choices=("weak", "strong"))
    add("config")
    add("--ranks", help="such as 1,2,4,8; by default powers of two up to this machine's cores, or "
                        "1, 2, 4 and 8 nodes with --script")
    add("--repeats", type=int, default=3, help="runs of each point (3)")
    add("--cells", help="NX,NY,NZ: weak, per rank; strong, in total; by default CONFIG's")
    add("--upper", type=float, metavar="M", help="weak: the side of the cube of one rank, so that "
        "cells keep their size; by default the domain stays and cells shrink")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="as for isotherm run")
    add("--output", help="the study's folder (out/study_KIND_NAME)")
    add("--isotherm", default=os.environ.get("ISOTHERM") or find_program(),
        help="the program (ISOTHERM, else build/cpu/isotherm or the installed one)")
    add("--launcher", default="mpirun -n {ranks} --bind-to none", help="without --script")
    add("--script", help="a job script of jobscripts/: one job per run, through Slurm")
    add("--ranks-per-node", type=int, default=8, help="with --script (8)")
    add("--minutes", type=int, default=10, help="time limit of a job (10)")
    add("--sbatch", default="", help='more options for sbatch: "-A abc123"')
    add("--submit", action="store_true", help="start without asking")
    add("--wait", action="store_true", help="with --script: until the jobs are done, then gather")
    args = parser.parse_args()
    if args.repeats < 1 or args.ranks_per_node < 1 or args.minutes < 1:
        parser.error("--repeats, --ranks-per-node and --minutes must be 1 or more")
    name = Path(args.config).stem
    args.folder = Path(args.output or f"out/study_{args.kind}_{name}")
    args.ranks = positive_integers(parser, args.ranks) if args.ranks else derive_ranks(args)
    args.cells = positive_integers(parser, args.cells) if args.cells else None
    if args.cells and len(args.cells) != 3:
        parser.error("--cells needs three integers: NX,NY,NZ")
    return args


def positive_integers(parser, text):
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        parser.error(f"'{text}' is not a list of positive integers such as 1,2,4")
    return [int(word) for word in text.split(",")]


def derive_ranks(args):
    if args.script:
        return [nodes * args.ranks_per_node for nodes in (1, 2, 4, 8)]
    cores = len(os.sched_getaffinity(0))
    return [2**n for n in range(cores.bit_length()) if 2**n <= cores]


def stop(text):
    sys.exit(f"error: {text}")


# ---- points --------------------------------------------------------------------------------------

def blocks(ranks):
    """Ranks along x, y, z: as cubic as possible, most along z, since faces across x cost most."""
    best = None
    for px in range(1, round(ranks ** (1 / 3)) + 1):
        for py in range(px, int((ranks // px) ** 0.5) + 1):
            pz = ranks // px // py
            if px * py * pz == ranks and (best is None or pz - px < best[2] - best[0]):
                best = (px, py, pz)
    return best


def plan_of(args, sets, ranks):
    """The plan of a point by `isotherm plan`, which also refuses what cannot run."""
    command = [args.isotherm, "plan", args.config, "--ranks", str(ranks)]
    for item in sets:
        command += ["--set", item]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        stop(f"cannot start {args.isotherm}: {error.strerror}; give --isotherm, or set ISOTHERM")
    if done.returncode != 0:
        stop(f"{shlex.join(command)}\n{done.stderr.strip()}")

    def find(pattern):
        found = re.search(pattern, done.stdout, re.MULTILINE)
        return found.group(1) if found else "?"
    return {"cells": [int(n) for n in re.findall(r"\d+", find(r"^grid +(\d+ x \d+ x \d+)"))],
            "memory": find(r"^memory/rank +(\S+ \S+)"), "steps": find(r"^steps +(\d+)"),
            "halo": find(r"^halo/step .*?(\S+ \S+) sent")}


def make_points(args):
    """One point per number of ranks; its runs are repeats."""
    base = args.cells or plan_of(args, args.set, 1)["cells"]
    points = []
    for ranks in args.ranks:
        cut = blocks(ranks) if args.kind == "weak" else (1, 1, 1)
        sets = [*args.set, "grid.cells=[{}]".format(", ".join(
            str(n * p) for n, p in zip(base, cut)))]
        if args.kind == "weak":
            sets.append("run.decomposition=[{}, {}, {}]".format(*cut))
        if args.kind == "weak" and args.upper:
            sets.append("grid.upper=[{}, {}, {}]".format(*(args.upper * p for p in cut)))
        points.append({"ranks": ranks, "sets": sets, **plan_of(args, sets, ranks),
                       "nodes": -(-ranks // args.ranks_per_node) if args.script else 1})
    return points


def run_folder(args, point, repeat):
    return args.folder / "runs" / f"ranks_{point['ranks']}_{repeat}"


def read_report(folder):
    """None when there is none, or an incomplete one."""
    try:
        return json.loads((folder / "report.json").read_text())
    except (OSError, ValueError):
        return None


def missing_runs(args, points):
    return [(point, repeat) for repeat in range(1, args.repeats + 1) for point in points
            if read_report(run_folder(args, point, repeat)) is None]


def print_plan(args, points, missing):
    print(f"{args.kind} scaling of {args.config}, {args.repeats} repeats, in {args.folder}")
    print(f"{'ranks':>6} {'nodes':>6} {'grid':>20} {'steps':>7} {'memory/rank':>14} "
          f"{'halo/step':>12} {'to run':>7}")
    for point in points:
        count = sum(one["ranks"] == point["ranks"] for one, _ in missing)
        print(f"{point['ranks']:6} {point['nodes']:6} "
              f"{' x '.join(map(str, point['cells'])):>20} {point['steps']:>7} "
              f"{point['memory']:>14} {point['halo']:>12} {count:7}")
    if args.script:
        hours = sum(point["nodes"] for point, _ in missing) * args.minutes / 60
        print(f"{len(missing)} jobs of {args.minutes} min: {hours:.3g} node hours at most")
    else:
        print(f"{len(missing)} runs with: {args.launcher}")


# ---- running -------------------------------------------------------------------------------------

def options_of(args, point, repeat):
    options = ["--output", str(run_folder(args, point, repeat))]
    for item in point["sets"]:
        options += ["--set", item]
    return options


def run_here(args, missing):
    environment = dict(os.environ)
    if os.geteuid() == 0:  # Open MPI refuses root otherwise, as in containers
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    environment.setdefault("OMP_NUM_THREADS", "1")
    for number, (point, repeat) in enumerate(missing, 1):
        if point["ranks"] > len(os.sched_getaffinity(0)):
            environment.update(OMPI_MCA_rmaps_base_oversubscribe="1",
                               OMPI_MCA_mpi_yield_when_idle="1")
        command = [*shlex.split(args.launcher.format(ranks=point["ranks"])), args.isotherm,
                   "run", args.config, *options_of(args, point, repeat), "--overwrite"]
        print(f"run {number} of {len(missing)}: {point['ranks']} ranks, repeat {repeat}",
              flush=True)
        done = subprocess.run(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
        if done.returncode != 0:
            stop(f"exit code {done.returncode}: {shlex.join(command)}\n{done.stderr.strip()}\n"
                 "the same command again continues from here")


def queued(number):
    """Does the job wait or run?"""
    done = subprocess.run(["squeue", "--noheader", "--format=%T", f"--jobs={number}"],
                          capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() != ""


def submit(args, missing):
    """One job per run; jobs of an earlier call that still wait or run are not submitted again."""
    environment = {**os.environ, "ISOTHERM": args.isotherm}
    alive = []
    for point, repeat in missing:
        folder = run_folder(args, point, repeat)
        note = folder / "job"
        if note.exists() and queued(note.read_text().strip()):
            alive.append(note.read_text().strip())
            continue
        folder.mkdir(parents=True, exist_ok=True)
        command = ["sbatch", "--parsable", f"--nodes={point['nodes']}",
                   f"--ntasks-per-node={min(point['ranks'], args.ranks_per_node)}",
                   f"--ntasks={point['ranks']}", f"--time={args.minutes}",
                   f"--output={folder}/job.log", *shlex.split(args.sbatch), args.script,
                   args.config, *options_of(args, point, repeat)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            stop(f"{shlex.join(command)}\n{done.stderr.strip()}")
        number = done.stdout.strip().split(";")[0]
        note.write_text(number + "\n")
        alive.append(number)
    print(f"{len(alive)} jobs wait or run")
    while args.wait and any(map(queued, alive)):
        time.sleep(2)


# ---- gathering -----------------------------------------------------------------------------------

def row_of(point, repeat, report):
    step = report["wall_s"] / (report["steps"] - report["first_step"])
    share = report["phase_share"]
    parts = {"compute": sum(share.get(key, 0) for key in COMPUTE),
             "halo": sum(share.get(key, 0) for key in HALO),
             "other": max(0.0, share.get("other", 0))}
    parts["output"] = max(0.0, 1 - sum(parts.values()))
    x, y, z = report["cells"]
    return {"ranks": point["ranks"], "repeat": repeat, "nodes": point["nodes"], "cells_x": x,
            "cells_y": y, "cells_z": z, "steps": report["steps"] - report["first_step"],
            "wall_s": report["wall_s"], "step_s": step,
            "cell_updates_per_s": report["cell_updates_per_s"],
            **{f"{part}_s": parts[part] * step for part in SPLIT},
            "cycles_s": report.get("steady", {}).get("wall_s", ""),
            "transport": report["halo_transport"], "backend": report["backend"],
            "field_hash": report["field_hash"]}


def gather(args, points):
    """A row per report; the efficiency is relative to the median of the fewest ranks."""
    rows = []
    for point in points:
        for repeat in range(1, args.repeats + 1):
            report = read_report(run_folder(args, point, repeat))
            if report is not None:
                rows.append(row_of(point, repeat, report))
    if rows:
        fewest = min(row["ranks"] for row in rows)
        first = statistics.median(row["step_s"] for row in rows if row["ranks"] == fewest)
        for row in rows:
            scale = row["ranks"] / fewest if args.kind == "strong" else 1
            row["efficiency"] = first / (row["step_s"] * scale)
    return sorted(rows, key=lambda row: (row["ranks"], row["repeat"]))


def write_csv(path, rows):
    temporary = path.with_suffix(".tmp")
    with open(temporary, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)


def by_ranks(rows):
    return {ranks: [row for row in rows if row["ranks"] == ranks]
            for ranks in sorted({row["ranks"] for row in rows})}


def print_table(rows):
    print(f"{'ranks':>6} {'runs':>5} {'ms/step':>10} {'min':>9} {'max':>9} {'Gcell/s':>9} "
          f"{'efficiency':>11} {'compute':>8} {'halo':>6} {'output':>7}")
    for ranks, group in by_ranks(rows).items():
        def middle(key, group=group):
            return statistics.median(row[key] for row in group)

        def share(part, group=group):
            return 100 * statistics.median(row[part + "_s"] / row["step_s"] for row in group)
        steps = [1e3 * row["step_s"] for row in group]
        print(f"{ranks:6} {len(group):5} {statistics.median(steps):10.4g} {min(steps):9.4g} "
              f"{max(steps):9.4g} {1e-9 * middle('cell_updates_per_s'):9.3g} "
              f"{100 * middle('efficiency'):10.1f}% "
              f"{share('compute'):7.1f}% {share('halo'):5.1f}% {share('output'):6.1f}%")


def remember(args):
    """A folder holds one study: runs with other settings must not be compared with it."""
    mark = {"kind": args.kind, "set": args.set, "cells": args.cells,
            "config": Path(args.config).read_text(encoding="utf-8")}
    path = args.folder / "study.json"
    if path.exists():
        if json.loads(path.read_text()) != mark:
            stop(f"{args.folder} holds a study with another configuration; give another --output")
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(mark, indent=2) + "\n")


def main():
    args = read_arguments()
    if not Path(args.config).is_file():
        stop(f"no such configuration: {args.config}")
    points = make_points(args)
    missing = missing_runs(args, points)
    print_plan(args, points, missing)
    confirmed = args.submit
    if missing and not confirmed and sys.stdin.isatty():
        confirmed = input("start them? [y/N] ").strip().lower() in ("y", "yes")
    if missing and confirmed:
        remember(args)
        (submit if args.script else run_here)(args, missing)
    elif missing:
        print("nothing started; --submit starts them")
    rows = gather(args, points)
    if not rows:
        print("no reports yet")
        return
    write_csv(args.folder / "study.csv", rows)
    left = len(missing_runs(args, points))
    print(f"{len(rows)} reports, {left} to come; efficiency relative to {rows[0]['ranks']} rank"
          f"{'' if rows[0]['ranks'] == 1 else 's'}")
    print_table(rows)
    names = ["study.csv"]
    try:
        from study_figure import draw
        draw(args.kind, Path(args.config).stem, by_ranks(rows), args.folder)
        names += ["study.svg", "study.png"]
    except ImportError:
        print("no figure: python3-matplotlib is missing", file=sys.stderr)
    for name in names:
        print(f"  {args.folder}/{name}")


if __name__ == "__main__":
    main()
