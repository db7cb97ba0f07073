#!/usr/bin/env python3
"""The rates of `isotherm run` in media of every kind, as docs/records/hip.md has them.

    python3 jobscripts/rates.py build/hip-nvidia/isotherm --cells 512 --set run.backend=hip
    python3 jobscripts/rates.py build/cpu/isotherm layers blocks --cells 128 --runs 1

Each problem is a cube of 0.4 m with faces of all types and a line of the history every ten steps;
the balls have closed faces. Needs NumPy for `random`. The runs have a temporary folder.
"""
import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

SIDE = 0.4
STEEL = {"conductivity": 45, "density": 7850, "heat_capacity": 490}
FACES = {"x_min": "{type: temperature, value: 350}",
         "x_max": "{type: convection, coefficient: 25, ambient: 293}",
         "y_min": "{type: flux, value: 20000}",
         "y_max": "{type: convection, coefficient: 1500, ambient: 285}",
         "z_min": "{type: convection, coefficient: 25, ambient: 293}",
         "z_max": "{type: convection, coefficient: 25, ambient: 293}"}
CLOSED = dict.fromkeys(FACES, "{type: flux, value: 0}")
HOT = [{"uniform": {"value": 300}},
       {"sphere": {"center": [0.15, 0.17, 0.1], "radius": 0.07, "value": 1200}}]
BALL = {"sphere": {"center": [0.2, 0.2, 0.2], "radius": 0.197, "material": "steel"}}


def materials(count):
    """`count` materials that differ by up to 3 in conductivity, the same in each call."""
    draw = random.Random(7).uniform
    return [{"name": f"m{n}", "conductivity": round(draw(20, 60), 4),
             "density": round(draw(7000, 8000), 2), "heat_capacity": round(draw(450, 550), 2)}
            for n in range(count)]


def boxes():
    """64 materials in cubes of a quarter of the side."""
    for n in range(64):
        lower = [round(SIDE / 4 * (n // 4**axis % 4), 3) for axis in range(3)]
        yield {"box": {"lower": lower, "upper": [round(x + SIDE / 4, 3) for x in lower],
                       "material": f"m{n}"}}


def axis_of(cells):
    """Widths that grow by 0.3 % from cell to cell over three quarters of the side."""
    return {"segments": [{"to": SIDE / 4, "cells": cells // 4},
                         {"to": SIDE, "cells": cells - cells // 4, "ratio": 1.003}]}


def labels(cells, folder):
    """A material at random for each cell."""
    import numpy  # pylint: disable=import-outside-toplevel
    path = Path(folder) / f"random_{cells}.npy"
    numpy.save(path, numpy.random.default_rng(3).integers(0, 64, (cells,) * 3, dtype=numpy.uint8))
    return {"file": {"path": str(path), "materials": [f"m{n}" for n in range(64)]}}


def layer(n):
    return {"layer": {"axis": "z", "from": round(SIDE / 8 * n, 3),
                      "to": round(SIDE / 8 * (n + 1), 3), "material": f"m{n}"}}


PROBLEMS = {
    "uniform": lambda cells, folder: {"material": STEEL},
    "layers": lambda cells, folder: {"materials": materials(8),
                                     "parts": [layer(n) for n in range(8)]},
    "blocks": lambda cells, folder: {"materials": materials(64), "parts": list(boxes())},
    "random": lambda cells, folder: {"materials": materials(64), "parts": [labels(cells, folder)]},
    "graded": lambda cells, folder: {
        "material": STEEL,
        "grid": {"cells": [1, 1, 1], **{axis: axis_of(cells) for axis in "xyz"}}},
    "coating": lambda cells, folder: {
        "materials": [{"name": "coating", **STEEL,
                       "conductivity_factor": {"formula": "1 + 0.5*x + 0.8*y*z"},
                       "heat_capacity_factor": {"formula": "1 - x"}}]},
    "ball": lambda cells, folder: {
        "materials": [{"name": "steel", **STEEL}],
        "ambients": [{"name": "air", "temperature": 300}],
        "parts": [{"uniform": {"material": "air"}}, BALL],
        "surfaces": [{"between": ["steel", "air"], "coefficient": 2000, "name": "skin"}],
        "boundary": CLOSED},
    "ball_in_solid": lambda cells, folder: {
        "materials": [{"name": "steel", **STEEL},
                      {"name": "other", "conductivity": 30, "density": 7000,
                       "heat_capacity": 500}],
        "parts": [{"uniform": {"material": "other"}}, BALL],
        "boundary": CLOSED},
}


def text_of(name, cells, steps, folder):
    """The configuration; JSON is YAML, too, but for what is text already."""
    config = {"title": name, "grid": {"cells": [cells] * 3, "upper": [SIDE] * 3}, "initial": HOT,
              "boundary": FACES, "time": {"steps": steps}, "output": {"history": {"every": 10}}}
    config.update(PROBLEMS[name](cells, folder))
    boundary = config.pop("boundary")
    lines = [f"{key}: {json.dumps(value)}" for key, value in config.items()]
    return "\n".join(lines + ["boundary:"] + [f"  {f}: {c}" for f, c in boundary.items()]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROBLEMS))
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in PROBLEMS]
    if unknown:
        parser.error(f"{unknown[0]}: give {', '.join(PROBLEMS)}")
    settings = [word for setting in arguments.set for word in ("--set", setting)]
    print(f"{'problem':14} {'steps a pass':>12}  {'field hash':16}  Gcell-steps/s")
    for name in arguments.names or PROBLEMS:
        rates = []
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.yaml"
            config.write_text(text_of(name, arguments.cells, arguments.steps, folder))
            for run in range(arguments.runs):
                output = Path(folder) / str(run)
                subprocess.run([arguments.program, "run", config, "--output", output, *settings],
                               check=True, stdout=subprocess.DEVNULL)
                report = json.loads((output / "report.json").read_text())
                rates.append(f"{report['cell_updates_per_s'] / 1e9:.4g}")
        print(f"{name:14} {report['steps_per_pass']['chosen']:12}  {report['field_hash']}  "
              + ", ".join(rates), flush=True)


if __name__ == "__main__":
    main()
