#!/usr/bin/env python3
"""The wall time that `isotherm plan` predicts, divided by that of the run, for each configuration.

    python3 jobscripts/plan_ratio.py build/cpu/isotherm configs/*.yaml
    python3 jobscripts/plan_ratio.py build/cpu/isotherm configs/*.yaml --rounds 5

Each round has a plan and a run; the medians count. On an idle machine ratios lie between 2/3 and
1.5. The runs have a temporary folder.
"""
import argparse
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "days": 86400}


def measure(program, config, folder):
    """Seconds by plan and by run; None where one of them gives none."""
    plan = subprocess.run([program, "plan", config], capture_output=True, text=True, check=True)
    found = re.search(r"wall time +about ([0-9.e+-]+) (\w+)", plan.stdout)
    run = subprocess.run([program, "run", config, "--output", folder], capture_output=True,
                         check=False)
    if found is None or run.returncode != 0:
        return None
    report = json.loads((Path(folder) / "report.json").read_text())
    return float(found[1]) * UNITS[found[2]], report["wall_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("config", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'configuration':32} {'plan, s':>9} {'run, s':>9} {'plan/run':>9}")
    for config in arguments.config:
        pairs = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                pairs.append(measure(arguments.program, config, folder + "/out"))
        if None in pairs:
            print(f"{Path(config).stem:32} not measured")
            continue
        plan, run = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
        print(f"{Path(config).stem:32} {plan:9.3g} {run:9.3g} {plan / run:9.2f}", flush=True)


if __name__ == "__main__":
    main()
