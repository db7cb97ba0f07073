#!/usr/bin/env python3
"""A weak or strong scaling study from one command: plan, run (mpirun or Slurm), gather, draw.

A script beside the job scripts, not a command of the program: it talks to Slurm and draws, on a
login node, and the program needs neither.

    python3 jobscripts/study.py weak configs/weak_scaling.yaml
    python3 jobscripts/study.py strong configs/strong_scaling.yaml --ranks 8,16,32 --repeats 3 \\
        --script jobscripts/frontier_cray.sbatch --ranks-per-node 8 --sbatch "-A abc123" --submit

Shows the plan, asks, and starts what has no report yet; with --submit it does not ask. The same
line again gathers what has come since and goes on where it stopped.
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
           "transport", "backend", "field_hash")


def read_words():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("kind", choices=("weak", "strong"))
    add("config")
    add("--ranks", help="such as 1,2,4,8; by default powers of two up to this machine's cores, or "
                        "1, 2, 4 and 8 nodes of a --script")
    add("--repeats", type=int, default=3, help="runs of each point (3)")
    add("--cells", help="NX,NY,NZ: weak, of one rank; strong, of all; by default CONFIG's")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="as for isotherm run")
    add("--output", help="the study's folder (out/study_KIND_NAME)")
    add("--isotherm", default=os.environ.get("ISOTHERM", str(ROOT / "build/cpu/isotherm")),
        help="the program (ISOTHERM, else build/cpu/isotherm)")
    add("--launcher", default="mpirun -n {ranks} --bind-to none", help="without --script")
    add("--script", help="a job script of jobscripts/: one job a run, through Slurm")
    add("--ranks-per-node", type=int, default=8, help="with --script (8)")
    add("--minutes", type=int, default=10, help="time limit of a job (10)")
    add("--sbatch", default="", help='more options for sbatch: "-A abc123"')
    add("--submit", action="store_true", help="start without asking")
    add("--wait", action="store_true", help="with --script: until the jobs are done, then gather")
    words = parser.parse_args()
    if words.repeats < 1 or words.ranks_per_node < 1 or words.minutes < 1:
        parser.error("--repeats, --ranks-per-node and --minutes are 1 or more")
    name = Path(words.config).stem
    words.folder = Path(words.output or f"out/study_{words.kind}_{name}")
    words.ranks = whole_numbers(parser, words.ranks) if words.ranks else derive_ranks(words)
    words.cells = whole_numbers(parser, words.cells) if words.cells else None
    if words.cells and len(words.cells) != 3:
        parser.error("--cells wants three numbers: NX,NY,NZ")
    return words


def whole_numbers(parser, text):
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        parser.error(f"'{text}' is no list of whole numbers such as 1,2,4")
    return [int(word) for word in text.split(",")]


def derive_ranks(words):
    if words.script:
        return [nodes * words.ranks_per_node for nodes in (1, 2, 4, 8)]
    cores = len(os.sched_getaffinity(0))
    return [2**n for n in range(cores.bit_length()) if 2**n <= cores]


def stop(text):
    sys.exit(f"error: {text}")


# ---- points --------------------------------------------------------------------------------------

def blocks(ranks):
    """Ranks along x, y, z: as cubic as they come, z cut most, since faces across x cost most."""
    best = None
    for px in range(1, round(ranks ** (1 / 3)) + 1):
        for py in range(px, int((ranks // px) ** 0.5) + 1):
            pz = ranks // px // py
            if px * py * pz == ranks and (best is None or pz - px < best[2] - best[0]):
                best = (px, py, pz)
    return best


def plan_of(words, sets, ranks):
    """What `isotherm plan` says of a point; it also refuses what cannot run."""
    command = [words.isotherm, "plan", words.config, "--ranks", str(ranks)]
    for item in sets:
        command += ["--set", item]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        stop(f"cannot start {words.isotherm}: {error.strerror}; give --isotherm, or set ISOTHERM")
    if done.returncode != 0:
        stop(f"{shlex.join(command)}\n{done.stderr.strip()}")

    def find(pattern):
        found = re.search(pattern, done.stdout, re.MULTILINE)
        return found.group(1) if found else "?"
    return {"cells": [int(n) for n in re.findall(r"\d+", find(r"^grid +(\d+ x \d+ x \d+)"))],
            "memory": find(r"^memory/rank +(\S+ \S+)"), "steps": find(r"^steps +(\d+)"),
            "halo": find(r"^halo/step .*?(\S+ \S+) sent")}


def make_points(words):
    """One a rank count; its runs are repeats of it."""
    base = words.cells or plan_of(words, words.set, 1)["cells"]
    points = []
    for ranks in words.ranks:
        cut = blocks(ranks) if words.kind == "weak" else (1, 1, 1)
        sets = [*words.set, "grid.cells=[{}]".format(", ".join(
            str(n * p) for n, p in zip(base, cut)))]
        if words.kind == "weak":
            sets.append("run.decomposition=[{}, {}, {}]".format(*cut))
        points.append({"ranks": ranks, "sets": sets, **plan_of(words, sets, ranks),
                       "nodes": -(-ranks // words.ranks_per_node) if words.script else 1})
    return points


def run_folder(words, point, repeat):
    return words.folder / "runs" / f"ranks_{point['ranks']}_{repeat}"


def read_report(folder):
    """None when there is none, or no whole one."""
    try:
        return json.loads((folder / "report.json").read_text())
    except (OSError, ValueError):
        return None


def missing_runs(words, points):
    return [(point, repeat) for repeat in range(1, words.repeats + 1) for point in points
            if read_report(run_folder(words, point, repeat)) is None]


def print_plan(words, points, missing):
    print(f"{words.kind} scaling of {words.config}, {words.repeats} repeats, in {words.folder}")
    print(f"{'ranks':>6} {'nodes':>6} {'grid':>20} {'steps':>7} {'memory/rank':>14} "
          f"{'halo/step':>12} {'to run':>7}")
    for point in points:
        count = sum(one["ranks"] == point["ranks"] for one, _ in missing)
        print(f"{point['ranks']:6} {point['nodes']:6} "
              f"{' x '.join(map(str, point['cells'])):>20} {point['steps']:>7} "
              f"{point['memory']:>14} {point['halo']:>12} {count:7}")
    if words.script:
        hours = sum(point["nodes"] for point, _ in missing) * words.minutes / 60
        print(f"{len(missing)} jobs of {words.minutes} min: {hours:.3g} node hours at most")
    else:
        print(f"{len(missing)} runs with: {words.launcher}")


# ---- running -------------------------------------------------------------------------------------

def options_of(words, point, repeat):
    options = ["--output", str(run_folder(words, point, repeat))]
    for item in point["sets"]:
        options += ["--set", item]
    return options


def run_here(words, missing):
    environment = dict(os.environ)
    if os.geteuid() == 0:  # Open MPI refuses root otherwise, as in containers
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    environment.setdefault("OMP_NUM_THREADS", "1")
    for number, (point, repeat) in enumerate(missing, 1):
        if point["ranks"] > len(os.sched_getaffinity(0)):
            environment.update(OMPI_MCA_rmaps_base_oversubscribe="1",
                               OMPI_MCA_mpi_yield_when_idle="1")
        command = [*shlex.split(words.launcher.format(ranks=point["ranks"])), words.isotherm,
                   "run", words.config, *options_of(words, point, repeat), "--overwrite"]
        print(f"run {number} of {len(missing)}: {point['ranks']} ranks, repeat {repeat}",
              flush=True)
        done = subprocess.run(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
        if done.returncode != 0:
            stop(f"exit code {done.returncode}: {shlex.join(command)}\n{done.stderr.strip()}\n"
                 "the same line again goes on from here")


def queued(number):
    """Whether the job waits or runs."""
    done = subprocess.run(["squeue", "--noheader", "--format=%T", f"--jobs={number}"],
                          capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() != ""


def submit(words, missing):
    """One job a run; those that still wait or run from an earlier call are left alone."""
    environment = {**os.environ, "ISOTHERM": words.isotherm}
    alive = []
    for point, repeat in missing:
        folder = run_folder(words, point, repeat)
        note = folder / "job"
        if note.exists() and queued(note.read_text().strip()):
            alive.append(note.read_text().strip())
            continue
        folder.mkdir(parents=True, exist_ok=True)
        command = ["sbatch", "--parsable", f"--nodes={point['nodes']}",
                   f"--ntasks-per-node={min(point['ranks'], words.ranks_per_node)}",
                   f"--ntasks={point['ranks']}", f"--time={words.minutes}",
                   f"--output={folder}/job.log", *shlex.split(words.sbatch), words.script,
                   words.config, *options_of(words, point, repeat)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            stop(f"{shlex.join(command)}\n{done.stderr.strip()}")
        number = done.stdout.strip().split(";")[0]
        note.write_text(number + "\n")
        alive.append(number)
    print(f"{len(alive)} jobs wait or run")
    while words.wait and any(map(queued, alive)):
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
            "transport": report["halo_transport"], "backend": report["backend"],
            "field_hash": report["field_hash"]}


def gather(words, points):
    """A row a report, in order; the efficiency is against the median of the fewest ranks."""
    rows = []
    for point in points:
        for repeat in range(1, words.repeats + 1):
            report = read_report(run_folder(words, point, repeat))
            if report is not None:
                rows.append(row_of(point, repeat, report))
    if rows:
        fewest = min(row["ranks"] for row in rows)
        first = statistics.median(row["step_s"] for row in rows if row["ranks"] == fewest)
        for row in rows:
            scale = row["ranks"] / fewest if words.kind == "strong" else 1
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
    print(f"{'ranks':>6} {'runs':>5} {'ms a step':>10} {'least':>9} {'most':>9} {'Gcell/s':>9} "
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


def remember(words):
    """A folder holds one study: other settings would be compared with it unnoticed."""
    mark = {"kind": words.kind, "set": words.set, "cells": words.cells,
            "config": Path(words.config).read_text(encoding="utf-8")}
    path = words.folder / "study.json"
    if path.exists():
        if json.loads(path.read_text()) != mark:
            stop(f"{words.folder} holds a study with another configuration; give another --output")
        return
    words.folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(mark, indent=2) + "\n")


def main():
    words = read_words()
    if not Path(words.config).is_file():
        stop(f"no such configuration: {words.config}")
    points = make_points(words)
    missing = missing_runs(words, points)
    print_plan(words, points, missing)
    go_on = words.submit
    if missing and not go_on and sys.stdin.isatty():
        go_on = input("start them? [y/N] ").strip().lower() in ("y", "yes")
    if missing and go_on:
        remember(words)
        (submit if words.script else run_here)(words, missing)
    elif missing:
        print("nothing started; --submit starts them")
    rows = gather(words, points)
    if not rows:
        print("no reports yet")
        return
    write_csv(words.folder / "study.csv", rows)
    left = len(missing_runs(words, points))
    print(f"{len(rows)} reports, {left} to come; efficiency against {rows[0]['ranks']} rank"
          f"{'' if rows[0]['ranks'] == 1 else 's'}")
    print_table(rows)
    names = ["study.csv"]
    try:
        from study_figure import draw
        draw(words.kind, Path(words.config).stem, by_ranks(rows), words.folder)
        names += ["study.svg", "study.png"]
    except ImportError:
        print("no figure: python3-matplotlib is not installed", file=sys.stderr)
    for name in names:
        print(f"  {words.folder}/{name}")


if __name__ == "__main__":
    main()
