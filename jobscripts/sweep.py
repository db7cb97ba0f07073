#!/usr/bin/env python3
"""A run for each combination of values, and a table of their results: `isotherm sweep`.

    python3 jobscripts/sweep.py build/cpu/isotherm rod.yaml --output out/sweep \\
        --vary "grid.cells=[50],[100]" --vary time.safety=0.5,0.9 --jobs 2

The program has this script inside and starts it. Each run has a folder of its own, named by the
values; a run with a report is complete and not repeated. With --script the runs are the tasks of a
job array, and the same command gathers their results.
"""
import argparse
import csv
import itertools
import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPORTED = ("steps", "time", "wall_s", "min_K", "max_K", "mean_K", "heat_J", "boundary_heat_J",
            "source_heat_J", "heat_drift_J", "field_hash")


def values(vary):
    """The words KEY=VALUE of a --vary; a comma inside brackets belongs to the value."""
    key, _, text = vary.partition("=")
    found, depth = [""], 0
    for character in text:
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    if not key or depth != 0 or not all(value.strip() for value in found):
        print(f"error: --vary {vary}: give KEY=A,B,..., with all brackets closed", file=sys.stderr)
        sys.exit(2)
    return [f"{key}={value.strip()}" for value in found]


def find_points(arguments):
    """(words, folder) of each run. Other values have another folder."""
    for words in itertools.product(*map(values, arguments.vary)):
        name = re.sub(r"[^\w.,=+\[\]-]", "_", ",".join(words))
        yield list(words), Path(arguments.output) / name


def check(arguments, words, folder):
    """None for a run that can start or that is complete, else what is wrong."""
    done = subprocess.run([arguments.program, "check", arguments.config, "--print", "--output",
                           str(folder), *options_of(arguments, words)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    report = folder / "report.json"
    if (not arguments.list and report.exists() and
            json.loads(report.read_text(encoding="utf-8"))["config"].strip() !=
            done.stdout.strip()):
        return (f"error: {folder}: this run is complete, with another configuration; "
                "give another --output, or remove the folder")
    return None


def options_of(arguments, words):
    return [option for word in [*arguments.set, *words] for option in ("--set", word)]


def run(arguments, slots, words, folder):
    """The exit code of one run; it resumes where it was interrupted. Slot n uses GPU n.

    Each run has a TMPDIR of its own: an Open MPI that ends removes the folder that all its programs
    share there, and one that starts in that instant fails in MPI_Init.
    """
    slot = slots.get()
    threads = max(1, len(os.sched_getaffinity(0)) // arguments.jobs)
    shared = {"OMP_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": slot,
              "ROCR_VISIBLE_DEVICES": slot} if arguments.jobs > 1 else {}
    environment = {**{key: str(value) for key, value in shared.items()}, **os.environ}
    folder.mkdir(parents=True, exist_ok=True)
    print(folder.name, flush=True)
    with open(folder / "run.log", "a", encoding="utf-8") as log, \
            tempfile.TemporaryDirectory(prefix="isotherm-") as temporary:
        environment["TMPDIR"] = temporary
        code = subprocess.run([arguments.program, "run", arguments.config, "--output", str(folder),
                               "--restart", "auto", *options_of(arguments, words)],
                              env=environment, stdout=log, stderr=log, check=False).returncode
    slots.put(slot)
    if code != 0:
        print(f"error: exit code {code}: see {folder}/run.log", file=sys.stderr, flush=True)
    return code


def submit(arguments, left):
    """A job array with a task per run, unless that of an earlier call is not done."""
    number = Path(arguments.output) / "sweep.job"
    if number.exists():
        job = number.read_text(encoding="utf-8").strip()
        queued = subprocess.run(["squeue", "--noheader", f"--jobs={job}"], capture_output=True,
                                text=True, check=False)
        if queued.stdout.strip():
            print(f"job {job} waits or runs: nothing submitted")
            return 0
    if shutil.which("sbatch") is None:
        print("error: --script: there is no command sbatch on this machine", file=sys.stderr)
        return 2
    cases = Path(arguments.output) / "sweep.cases"
    cases.parent.mkdir(parents=True, exist_ok=True)
    cases.write_text("".join(line_of(arguments, *point) for point in left), encoding="utf-8")
    done = subprocess.run(["sbatch", "--parsable", f"--array=1-{len(left)}",
                           *shlex.split(arguments.sbatch), arguments.script, arguments.config,
                           "--cases", str(cases)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        number.write_text(done.stdout.strip().split(";")[0] + "\n", encoding="utf-8")
        print(f"submitted job {number.read_text(encoding='utf-8').strip()}")
    return done.returncode


def line_of(arguments, words, folder):
    """The options of a run, quoted as for a shell."""
    return shlex.join(["--output", str(folder), *options_of(arguments, words)]) + "\n"


def row_of(words, folder):
    """The values, the report and the last value of each probe."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    row = dict(word.split("=", 1) for word in words)
    row.update((key, report.get(key)) for key in REPORTED)
    if (folder / "probes.csv").exists():
        lines = (folder / "probes.csv").read_text(encoding="utf-8").splitlines()
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        row.update(list(rows[-1].items())[2:] if rows else [])
    return row


def write_table(path, rows):
    columns = dict.fromkeys(column for row in rows for column in row)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--vary", action="append", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--output", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--script")
    parser.add_argument("--sbatch", default="")
    arguments = parser.parse_args()
    points = list(find_points(arguments))
    for point in points:
        wrong = check(arguments, *point)
        if wrong:
            print(wrong, file=sys.stderr)
            return 2
    if arguments.list:
        print(*(line_of(arguments, *point) for point in points), sep="", end="")
        return 0
    left = [point for point in points if not (point[1] / "report.json").exists()]
    print(f"{len(points)} runs, {len(points) - len(left)} of them complete", flush=True)
    if arguments.script:
        codes = [submit(arguments, left)] if left else []
    else:
        slots = queue.Queue()
        for slot in range(arguments.jobs):
            slots.put(slot)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            codes = list(pool.map(lambda point: run(arguments, slots, *point), left))
    rows = [row_of(*point) for point in points if (point[1] / "report.json").exists()]
    if rows:
        write_table(Path(arguments.output) / "sweep.csv", rows)
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
