#!/usr/bin/env python3
"""Time schemes at equal error: the shortest run of each scheme below an error in time.

    python3 jobscripts/race.py build/cpu/isotherm --cells 64
    python3 jobscripts/race.py build/hip-nvidia/isotherm --cells 256 --set run.backend=hip
    python3 jobscripts/race.py build/hip-nvidia/isotherm --cells 512 --brief --share 0.1 \\
        --set run.backend=hip
    python3 jobscripts/race.py build/cpu/isotherm --auto

Errors are the largest difference along three lines, at 20 equal intervals of time, to a run with a
tolerance of --reference on the same grid, relative to the range of all temperatures. The length of
steps of sts1 and sts2 follows from the error of the run before, from the longest on; there is no
run that would take longer than --limit or forward Euler. Where that takes longer than --limit its
beginning is measured, and the wall time is proportional to the steps. The wall time is that of the
loop over the steps, with the ledger. The last column has the tolerances of the runs, and the errors
over them.

--brief: runs by a tolerance of each bound only, and 300 steps of forward Euler.

--auto compares `scheme: auto` with forward Euler in short runs, on 12^3 to 64^3 cells: its levels,
two for each estimate included, and its wall time over those of forward Euler, and its error at the
end over the tolerance; in parentheses where forward Euler does not keep the tolerance.
"""
import argparse
import csv
import json
import math
import subprocess
import tempfile
from itertools import product
from pathlib import Path

SIDE = 0.1
EULER_STEPS = 300
OUTPUTS = 20
MOST_TOLERANCE = 0.1
SHORT = {"cells": (12, 16, 24, 32, 48, 64), "tolerances": (0.1, 1e-2, 1e-3)}  # of --auto
STEEL = {"conductivity": 45.0, "density": 7850.0, "heat_capacity": 490.0}
DIFFUSIVITY = 45.0 / (7850.0 * 490.0)
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
INSULATED = {face: {"type": "flux", "value": 0} for face in FACES}


def fixed(value):
    return {"type": "temperature", "value": value}


def wave(period):
    return {"rows": [[0, 1], [0.4 * period, 0]], "between": "steps", "period": period}


def sine():
    """Decay to 1/e between six cold faces."""
    shape = "*".join(f"sin({math.pi / SIDE:.15g}*{axis})" for axis in "xyz")
    return {"material": STEEL, "initial": [{"expression": {"value": f"300 + 100*{shape}"}}],
            "boundary": {face: fixed(300) for face in FACES},
            "time": {"end": SIDE**2 / (3 * math.pi**2 * DIFFUSIVITY)}}


def slab():
    """A conductor between layers of a thousandth of its conductivity; power that is switched off
    5 s before the end."""
    return {"materials": [{"name": "poor", "conductivity": 0.4, "density": 2000.0,
                           "heat_capacity": 1000.0},
                          {"name": "good", "conductivity": 400.0, "density": 2000.0,
                           "heat_capacity": 1000.0}],
            "parts": [{"uniform": {"material": "poor"}},
                      {"layer": {"axis": "z", "from": 0.04, "to": 0.06, "material": "good"}}],
            "sources": [{"box": {"lower": [0, 0, 0.045], "upper": [0.05, 0.1, 0.055],
                                 "density": 4e5, "factor": wave(100)}}],
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {**INSULATED, "z_min": fixed(300), "z_max": fixed(300)},
            "time": {"end": 45}}


def beam():
    """A Gaussian beam that moves by its radius in the time of diffusion over it."""
    radius = 0.01
    end = 0.05 * radius / DIFFUSIVITY
    source = {"radius": radius, "power": 500, "y": 0.05, "z": 0.07,
              "x": f"0.025 + {0.05 / end:.15g}*t"}
    return {"material": STEEL, "initial": [{"uniform": {"value": 300}}],
            "boundary": {**INSULATED, "z_min": fixed(300)},
            "sources": [{"gaussian": source}], "time": {"end": end}}


def faces():
    """Two faces whose temperatures have periods of a tenth and a 25th of L^2 / diffusivity."""
    unit = SIDE**2 / DIFFUSIVITY
    formulas = [f"300 + 50*sin({2 * math.pi / (part * unit):.15g}*t)" for part in (0.1, 0.04)]
    return {"material": STEEL, "initial": [{"uniform": {"value": 300}}],
            "boundary": {**INSULATED, "x_min": fixed(formulas[0]), "z_max": fixed(formulas[1])},
            "time": {"end": 0.2 * unit}}


def chip():
    """Silicon, paste and copper, 100 times as thick as a chip; power that is switched off 4 s
    before the end."""
    materials = {"copper": (390, 8900, 385), "paste": (4, 2500, 800), "silicon": (130, 2330, 700)}
    return {"materials": [dict(zip(("name", "conductivity", "density", "heat_capacity"),
                                   (name, *values))) for name, values in materials.items()],
            "parts": [{"uniform": {"material": "copper"}},
                      {"layer": {"axis": "z", "from": 0.0625, "to": 0.075, "material": "paste"}},
                      {"layer": {"axis": "z", "from": 0.075, "to": 0.1, "material": "silicon"}}],
            "sources": [{"box": {"lower": [0.025, 0.025, 0.0875], "upper": [0.0625, 0.05, 0.1],
                                 "density": 4e6, "factor": wave(40)}}],
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {**INSULATED,
                         "z_min": {"type": "convection", "coefficient": 5000, "ambient": 300}},
            "time": {"end": 20}}


PROBLEMS = {"sine": sine, "slab": slab, "beam": beam, "faces": faces, "chip": chip}
SCHEMES = ("sts2, tolerance", "sts2", "sts1")


class Run:
    def __init__(self, time, report, values):
        self.time, self.report, self.values = time, report, values
        self.range = None
        self.seconds, self.error, self.count = report["wall_s"], None, report["steps"]

    def measure(self, exact):
        largest = max(abs(a - b) for a, b in zip(self.values, exact.values))
        self.error = largest / exact.range


class Problem:
    def __init__(self, arguments, name, folder):
        self.arguments, self.name, self.folder = arguments, name, folder
        self.config, self.runs = PROBLEMS[name](), {}
        self.end = arguments.share * self.config["time"]["end"]
        n = arguments.cells
        point = [0.075, 0.05, 0.07] if name == "beam" else [0.05, 0.04, 0.09]
        across = {axis: [0 if axis == other else value for other, value in zip("xyz", point)]
                  for axis in "xyz"}
        self.config.update(title=name, grid={"cells": [n] * 3, "upper": [SIDE] * 3}, output={
            "history": {"interval": self.end},
            "lines": [{"name": axis, "from": start, "points": n + 1,
                       "to": [SIDE if value == 0 else value for value in start]}
                      for axis, start in across.items()]})

    def run(self, **time):
        """The report and the values of the lines; None where the step is refused."""
        key = json.dumps(time)
        if key not in self.runs:
            runs = [self.start(time) for _ in range(self.arguments.repeats)]
            self.runs[key] = min(runs, key=lambda run: run.seconds) if runs[0] else None
        return self.runs[key]

    def start(self, time, outputs=OUTPUTS):
        for line in self.config["output"]["lines"]:
            line["interval"] = self.end / (1 if self.arguments.auto else outputs)
        out = Path(self.folder) / "out"
        file = Path(self.folder) / "c.yaml"
        file.write_text(json.dumps({**self.config, "time": time}))
        sets = [word for each in self.arguments.set for word in ("--set", each)]
        result = subprocess.run([self.arguments.program, "run", file, "--output", out,
                                 "--overwrite", *sets], capture_output=True, text=True,
                                check=False)
        if result.returncode != 0 and "time" not in result.stderr:
            raise SystemExit(result.stderr)
        if result.returncode != 0:
            return None
        values = []
        for axis in "xyz":
            with open(out / f"{axis}.csv", newline="", encoding="ascii") as stream:
                values += [float(row["T_K"]) for row in csv.DictReader(stream)]
        return Run(time, json.loads((out / "report.json").read_text()), values)

    def reference(self):
        """With the range of all temperatures, which a run by a tolerance knows."""
        exact = self.run(end=self.end, scheme="sts2", tolerance=self.arguments.reference)
        exact.range = exact.report["step_control"]["range_K"]
        return exact

    def euler(self, exact):
        """The only run: longer steps are unstable. The seconds alone where it takes too long."""
        first = self.run(steps=EULER_STEPS)
        first.count = self.end / first.report["dt"]
        first.seconds *= first.count / EULER_STEPS
        if first.seconds > self.arguments.limit or self.arguments.brief:
            return [first]
        whole = self.run(end=self.end)
        whole.measure(exact)
        return [whole]

    def by_tolerance(self, exact):
        """With each bound as the tolerance, and with longer ones while the error is far below the
        bound. The seconds are of the same steps without the outputs that errors are taken from."""
        runs = []
        for bound in self.arguments.bounds:
            tolerance, error = bound, 0
            while error < 0.7 * bound and tolerance <= MOST_TOLERANCE:
                run = self.run(end=self.end, scheme="auto", tolerance=tolerance)
                if run not in runs:
                    run.measure(exact)
                    run.seconds = self.start(run.time, outputs=1).seconds
                    runs.append(run)
                error = run.error
                tolerance *= min(max(0.9 * bound / error, 1.1), 4)
        return runs

    def search(self, scheme, exact, euler):
        """From the longest super step that is stable with 192 stages."""
        order, part = {"sts1": (1, 0.85), "sts2": (2, 0.49)}[scheme]
        count = math.ceil(max(4, self.end / (part * 192**2 / 2 * euler.report["dt_stable"])))
        most = min(self.arguments.limit, euler.seconds)
        runs = []
        for bound in self.arguments.bounds:
            while not runs or runs[-1].error > bound:
                if runs:
                    wanted = 1.03 * (runs[-1].error / bound)**(1 / order)
                    more = min(max(wanted, 1.1), 100)
                    count = math.ceil(more * count)
                    if runs[-1].seconds * math.sqrt(more) > most:
                        return runs
                run = self.run(end=self.end, scheme=scheme, dt=self.end / count)
                if run is None:
                    count += 1
                else:
                    run.measure(exact)
                    runs.append(run)
        return runs


def levels_of(run):
    control = run.report.get("step_control")
    return f", {control['levels']} levels" if control else ""


def print_row(bounds, name, scheme, runs, euler):
    cells = [f"{name:6}", f"{scheme:15}"]
    for bound in bounds:
        good = [run for run in runs if run.error is not None and run.error <= bound]
        best = min(good, key=lambda run: run.seconds, default=None)
        cells.append("-" if best is None else
                     f"{best.seconds:.3g} s ({euler.seconds / best.seconds:.1f}x, "
                     f"{best.report['steps']} steps{levels_of(best)})")
    if scheme == SCHEMES[0]:
        cells.append(", ".join(f"{run.time['tolerance']:.2g}: "
                               f"{run.error / run.time['tolerance']:.2g}" for run in runs))
    elif scheme == "euler":
        known = (f", from {EULER_STEPS} of {euler.count:.3g} steps" if euler.error is None
                 else f", error {euler.error:.1e}")
        cells.append(f"{euler.seconds:.3g} s{known}")
    else:
        cells.append("")
    print("| " + " | ".join(cells) + " |", flush=True)


def race(arguments, name, folder):
    problem = Problem(arguments, name, folder)
    exact = problem.reference()
    euler = problem.euler(exact)
    print_row(arguments.bounds, name, "euler", euler, euler[0])
    for scheme in SCHEMES[:1] if arguments.brief else arguments.scheme or SCHEMES:
        runs = (problem.search(scheme, exact, euler[0]) if scheme != SCHEMES[0]
                else problem.by_tolerance(exact))
        print_row(arguments.bounds, name, scheme, runs, euler[0])


def compare_auto(arguments, name, folder):
    problem = Problem(arguments, name, folder)
    exact = problem.reference()
    euler = problem.run(end=problem.end)
    euler.measure(exact)
    cells = [f"{name}, {arguments.cells}^3", f"{euler.count}, {euler.error:.1e}"]
    for tolerance in SHORT["tolerances"]:
        run = problem.run(end=problem.end, scheme="auto", tolerance=tolerance)
        run.measure(exact)
        levels = run.report.get("step_control", {}).get("levels", run.count)
        cell = (f"{levels / euler.count:.2f}, {run.seconds / euler.seconds:.2f}, "
                f"{run.error / tolerance:.2g}")
        cells.append(cell if euler.error <= tolerance else f"({cell})")
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--cells", type=int, nargs="+", help="per axis; default: 64")
    parser.add_argument("--problem", action="append", choices=PROBLEMS, help="default: all")
    parser.add_argument("--scheme", action="append", choices=SCHEMES,
                        help="beside forward Euler; default: all")
    parser.add_argument("--bounds", type=float, nargs="+", default=[1e-2, 1e-3, 1e-5],
                        help="of the errors")
    parser.add_argument("--limit", type=float, default=60, help="s, of a run")
    parser.add_argument("--brief", action="store_true", help="no search: see above")
    parser.add_argument("--auto", action="store_true", help="short runs of auto: see above")
    parser.add_argument("--share", type=float, default=1, help="of the time of each problem")
    parser.add_argument("--repeats", type=int, default=1, help="of each run; the fastest counts")
    parser.add_argument("--reference", type=float, default=1e-6, help="tolerance of the reference")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for all runs")
    arguments = parser.parse_args()
    columns = ["forward Euler: steps, error", *SHORT["tolerances"]]
    if not arguments.auto:
        columns = ["scheme", *arguments.bounds, "tolerance: error / tolerance"]
    print("| problem | " + " | ".join(str(column) for column in columns) + " |\n|" +
          "---|" * (len(columns) + 1), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sizes = arguments.cells or (SHORT["cells"] if arguments.auto else [64])
        for name, arguments.cells in product(arguments.problem or PROBLEMS, sizes):
            (compare_auto if arguments.auto else race)(arguments, name, folder)


if __name__ == "__main__":
    main()
