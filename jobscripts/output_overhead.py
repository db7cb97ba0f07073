#!/usr/bin/env python3
"""The cost of snapshots in a run, compared with the disk: medians of runs in turn.

    python3 jobscripts/output_overhead.py build/cpu/isotherm
    OMPI_MCA_io=romio321 python3 jobscripts/output_overhead.py build/cpu/isotherm --folder /scratch

Each round has a run without output, one with snapshots written in the background, one in the
foreground, and `dd bs=64M conv=fsync` of as many bytes as one snapshot. A first round warms up and
does not count. The runs have a temporary folder.
"""
import argparse
import json
import re
import shlex
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

CONFIG = """title: the cost of output
grid: {{cells: [{n}, {n}, {n}], lower: [0, 0, 0], upper: [1, 1, 1]}}
material: {{conductivity: 1, density: 1, heat_capacity: 1}}
initial: [{{expression: {{value: "300 + 10*sin(9*x)*cos(7*y) + z"}}}}]
boundary: {{x_min: {{type: periodic}}, x_max: {{type: periodic}},
            y_min: {{type: periodic}}, y_max: {{type: periodic}},
            z_min: {{type: flux, value: 0}}, z_max: {{type: flux, value: 0}}}}
time: {{steps: {steps}, dt: auto, safety: 0.9}}
run: {{backend: {backend}, precision: float64}}
output: {{directory: out, history: {{every: 0}}, snapshots: {{every: {every}, precision: float32}}}}
"""
WAYS = {"none": ["--set", "output.snapshots.every=0"],
        "background": ["--set", "output.writer=auto"],
        "foreground": ["--set", "output.writer=foreground"]}


def run(arguments, folder, words):
    """The report of one run."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    command = shlex.split(arguments.launch) + [str(Path(arguments.program).resolve()), "run",
                                               "config.yaml", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return json.loads((folder / "out/report.json").read_text())


def dd(folder, nbytes):
    """GB/s of dd, of about as many bytes."""
    blocks = max(1, round(nbytes / 2**26))
    done = subprocess.run(["dd", "if=/dev/zero", f"of={folder}/dd", "bs=64M", f"count={blocks}",
                           "conv=fsync"], capture_output=True, text=True, check=True)
    (folder / "dd").unlink()
    seconds = float(re.search(r"([0-9.e-]+) s,", done.stderr).group(1))
    return blocks * 2**26 / seconds * 1e-9


def measure(arguments, folder):
    """The reports of each way, and the rates of dd."""
    reports = {way: [] for way in WAYS if way in ["none", *arguments.ways.split(",")]}
    rates = []
    for number in range(arguments.repeats + 1):
        for way, found in reports.items():
            report = run(arguments, folder, WAYS[way])
            if number > 0:
                found.append(report)
        rate = dd(folder, 4 * arguments.cells**3)
        if number > 0:
            rates.append(rate)
    return reports, rates


def median(reports, *keys):
    def value(report):
        for key in keys:
            report = report[key]
        return report
    return statistics.median(value(report) for report in reports)


def show(reports, rates):
    base = median(reports["none"], "wall_s")
    ceiling = statistics.median(rates)
    print(f"dd conv=fsync of a snapshot's bytes: {ceiling:.2f} GB/s "
          f"({min(rates):.2f} to {max(rates):.2f})")
    print(f"without output  {base:7.3f} s")
    for way in reports:
        if way == "none":
            continue
        wall = median(reports[way], "wall_s")
        figures = {key: median(reports[way], "output", "snapshots", key)
                   for key in ("write_s", "disk_s", "exposed_s", "GBs", "disk_GBs")}
        print(f"{way}      {wall:7.3f} s ({100 * (wall / base - 1):+.0f} %): written in "
              f"{figures['write_s']:.3f} s, of it {figures['disk_s']:.3f} s in the disk's calls; "
              f"exposed {figures['exposed_s']:.3f} s; {figures['GBs']:.2f} GB/s "
              f"({100 * figures['GBs'] / ceiling:.0f} % of dd), in the disk's calls "
              f"{figures['disk_GBs']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--launch", default="mpirun -n 2 --bind-to core",
                        help="the launcher (mpirun -n 2 --bind-to core)")
    parser.add_argument("--folder", default=".", help="a folder on the disk to measure (.)")
    parser.add_argument("--cells", type=int, default=256, help="along each axis")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ways", default="background,foreground")
    parser.add_argument("--backend", default="cpu")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="output_overhead.", dir=arguments.folder))
    try:
        (folder / "config.yaml").write_text(CONFIG.format(
            n=arguments.cells, steps=arguments.steps, every=arguments.every,
            backend=arguments.backend))
        show(*measure(arguments, folder))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
