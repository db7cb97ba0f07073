"""Values at the faces of the domain: probes and lines there, and the columns of history.csv."""
import csv
import math
import unittest

import numpy as np

import problems
from harness import SMALL, Case, checkpoints, read_history, some, spacings, thorough


def table(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if line[0] != "#"))


def plate(cells):
    """NAFEMS, test T4: convection on two sides; at (0.6, 0.2) m the exact solution has 18.25."""
    cooled = {"type": "convection", "coefficient": 750.0, "ambient": 0.0}
    return {"title": "plate", "grid": {"cells": cells, "lower": [0.0, 0.0], "upper": [0.6, 1.0]},
            "material": {"conductivity": 52.0, "density": 1.0, "heat_capacity": 520.0},
            "initial": [{"uniform": {"value": 0.0}}],
            "run": {"watch": {"temperature": "difference"}},
            "boundary": {"x_min": {"type": "flux", "value": 0.0}, "x_max": cooled,
                         "y_min": {"type": "temperature", "value": 100.0}, "y_max": cooled},
            "time": {"end": 20.0 if max(cells) < 50 else 15.0},
            "output": {"history": {"interval": 5.0},
                       "probes": {"every": 1000000,
                                  "points": [{"name": "E", "at": [0.6, 0.2]},
                                             {"name": "foot", "at": [0.6, 0.0]}]}}}


# T = 300 + 100 cos(b x) sin(pi y): insulated at x = 0, convection at x = 1, 300 K at y = 0 and 1
B = 0.9
COOLING = 2.0 * B * math.tan(B)


def wave(x, y):
    return 300 + 100 * math.cos(B * x) * math.sin(math.pi * y)


# the same place within a cell on grids of n, 3 n, 9 n
PLACES = {"inside": (0.475, 0.325), "face": (1.0, 0.325), "top": (0.475, 1.0), "edge": (1.0, 1.0),
          "corner": (0.0, 0.0), "center": (0.45, 0.35), "side": (0.0, 0.45)}


def waves(n):
    wall = {"type": "temperature", "value": 300.0}
    return {"title": "waves", "grid": {"cells": [n, n], "lower": [0.0, 0.0], "upper": [1.0, 1.0]},
            "material": {"conductivity": 2.0, "density": 1.0, "heat_capacity": 1.0},
            "initial": [{"expression": {"value": f"300 + 100*cos({B}*x)*sin(pi*y)"}}],
            "boundary": {"x_min": {"type": "flux", "value": 0.0},
                         "x_max": {"type": "convection", "coefficient": COOLING, "ambient": 300.0},
                         "y_min": wall, "y_max": wall},
            "time": {"steps": 1},
            "output": {"history": {"every": 0},
                       "probes": {"every": 1, "points": [{"name": name, "at": list(at)}
                                                         for name, at in PLACES.items()]}}}


class Points(Case):
    @thorough
    def test_plate(self):
        run = self.solve(plate([24, 40]))
        last = table(run.folder / "probes.csv")[-1]
        self.assert_below(abs(float(last["E_K"]) / 18.2538 - 1), 0.003, "the face of the plate")
        self.assertEqual(last["foot_K"], "100", "a prescribed temperature wins on an edge")
        row = run.history()[-1]
        for face, area in (("x_max", 1.0), ("y_max", 0.6)):
            self.assert_below(abs(row[f"flow_{face}_W"] / (-750 * area * row[f"T_{face}_K"]) - 1),
                              1e-12, f"cooling at {face}")
        self.assertEqual((row["flow_x_min_W"], row["T_y_min_K"]), (0, 100))
        flows = [row[f"flow_{face}_W"] for face in problems.FACES[:4]]
        self.assert_below(abs(sum(flows)), 1e-3 * max(flows), "the sum in the steady state")

    def test_order(self):
        errors = {name: [] for name in PLACES}
        for n in (10, 30, 90)[:2 if SMALL else 3]:
            row = table(self.solve(waves(n)).folder / "probes.csv")[0]
            for name, at in PLACES.items():
                errors[name].append(abs(float(row[f"{name}_K"]) - wave(*at)))
        for name in ("top", "edge", "corner"):
            self.assertEqual(errors[name], [0] * len(errors[name]), name)
        self.assert_below(max(errors["center"]), 1e-12, "at a cell's centre")
        for name in ("inside", "face", "side"):
            for coarse, fine in zip(errors[name], errors[name][1:]):
                self.assertGreater(math.log(coarse / fine, 3), 1.9, f"{name}: {errors[name]}")

    def test_a_formula_without_a_value_at_the_end(self):
        config = problems.base([9], [{"type": "temperature", "value": "300 + 0.001/(4 - t)"},
                                     problems.COOLED])
        config["time"] = {"dt": 1.0, "end": 4.0}
        config["output"] = {"history": {"every": 1}, "probes": {
            "every": 1, "points": [{"name": "wall", "at": [0.0]}]}}
        run = self.solve(config)
        wall = [float(row["wall_K"]) for row in table(run.folder / "probes.csv")]
        self.assertEqual(wall, [300 + 0.001 / (4 - t) for t in (0, 1, 2, 3, 3)])
        self.assertEqual([row["T_x_min_K"] for row in run.history()], wall)


class History(Case):
    def faces_of(self, config):
        return [face for face in problems.FACES
                if config["boundary"].get(face, problems.AROUND)["type"] != "periodic"]

    def check_flows(self, cells, precision):
        """They add up to the ledger's heat, and follow from the temperatures."""
        config = problems.mixed(cells, precision)
        config["output"] = {"history": {"every": 1}, "checkpoints": {"every": 1000, "keep": 1}}
        small = 1e-12 if precision == "float64" else 1e-6
        run = self.solve(config)
        rows, faces = run.history(), self.faces_of(config)
        self.assertEqual([name for name in rows[0] if name.startswith("flow")],
                         [f"flow_{face}_W" for face in faces])
        largest = max(abs(row[f"flow_{face}_W"]) for row in rows for face in faces)
        for row, after in zip(rows, rows[1:]):
            came_in = sum(row[f"flow_{face}_W"] for face in faces) * after["dt_s"]
            change = after["boundary_heat_J"] - row["boundary_heat_J"]
            self.assert_below(abs(came_in - change), small * largest * after["time_s"],
                              f"flow after step {row['step']}")
        self.check_last(config, run, rows[-1], small)

    def check_last(self, config, run, row, small):
        T, k = run.temperature().astype(float), config["material"]["conductivity"]
        for face in self.faces_of(config):
            axis, side = divmod(problems.FACES.index(face), 2)
            inside = T.take([-side], 2 - axis)
            h = spacings(config)[axis]
            outside = problems.outside(config["boundary"][face], inside, None, h, k, row["time_s"])
            area = math.prod(spacings(config)) / h
            self.assert_below(abs(row[f"T_{face}_K"] / ((inside + outside) / 2).mean() - 1), small,
                              f"mean temperature of {face}")
            flow = k * area / h * (outside - inside).sum()
            scale = k * area / h * inside.sum()
            self.assert_below(abs(row[f"flow_{face}_W"] - flow), small * scale, f"flow at {face}")

    def test_flows(self):
        for cells in some(([17, 13, 9], [16, 11], [33]), 2):
            for precision in some(("float64", "float32"), 1):
                with self.subTest(cells=cells, precision=precision):
                    self.check_flows(cells, precision)

    @thorough
    def test_no_faces(self):
        run = self.solve(problems.mixed([40], closures=[problems.AROUND, problems.AROUND]))
        self.assertEqual(len(run.history()[0]), 9)

    @thorough
    def test_restart_with_other_kinds_of_faces(self):
        """The columns stay; a periodic face has no values."""
        config = problems.mixed([21, 8])
        run = self.solve(config, ranks=2)
        before = run.history()
        checkpoints(run.folder)[-1].unlink()
        config["boundary"]["x_min"] = config["boundary"]["x_max"] = problems.AROUND
        self.solve(config, "--restart", "auto", output=run.folder.name)
        after = read_history(run.folder / "history.csv")
        self.assertEqual(list(after[0]), list(before[0]))
        for was, row in zip(before, after, strict=True):
            self.assertEqual(row["step"], was["step"])
            if row["step"] <= 32:
                self.assertEqual(row, was)
            else:
                self.assertTrue(np.isnan([row["flow_x_min_W"], row["T_x_max_K"]]).all())


if __name__ == "__main__":
    unittest.main()
