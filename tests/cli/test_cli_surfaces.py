"""Values at the faces of the domain: probes and lines there, and the columns of history.csv."""
import csv
import math
import unittest

import h5py
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


class Axis(Case):
    def test_a_probe_on_the_axis(self):
        """The face at r = 0 has no area and conducts nothing: q R^2 / 4 k."""
        for name, more in (("plain", {}), ("per_cell", {"conductivity_factor": {"formula": "1"}})):
            config = {"grid": {"cells": [20, 4], "upper": [0.01, 0.01],
                               "geometry": "axisymmetric"},
                      "materials": [{"name": "steel", "conductivity": 16, "density": 8000,
                                     "heat_capacity": 500, **more}],
                      "sources": [{"uniform": {"density": 1e7}}],
                      "initial": [{"uniform": {"value": 300}}],
                      "boundary": {"x_min": {"type": "flux", "value": 0},
                                   "x_max": {"type": "temperature", "value": 300},
                                   "y_min": {"type": "flux", "value": 0},
                                   "y_max": {"type": "flux", "value": 0}},
                      "time": {"steady": {"temperature": 1e-9}},
                      "output": {"probes": {"every": 1, "points": [
                          {"name": "axis", "at": [0, 0.005]}]}}}
            run = self.run_config(config, name)
            self.assertRegex(run.result.out, r"heat drift \S+ J of ")   # of rings: not J/m
            found = float(table(run.folder / "probes.csv")[-1]["axis_K"])
            self.assert_below(abs(found - 300 - 1e7 * 0.01**2 / 64), 0.02, name)


class Ambients(Case):
    """Their cells have no values in outputs."""
    EDGE = 0.03   # of the body, and of cells

    def body(self, cells, initial):
        insulated = {"type": "flux", "value": 0.0}
        return {"title": "body", "grid": {"cells": cells, "lower": [0.0] * 3, "upper": [0.04] * 3},
                "materials": [{"name": "steel", "conductivity": 16, "density": 8000,
                               "heat_capacity": 500}],
                "ambients": [{"name": "air", "temperature": 300}],
                "parts": [{"uniform": {"material": "air"}},
                          {"box": {"lower": [0, 0, 0], "upper": [self.EDGE] * 3,
                                   "material": "steel"}}],
                "surfaces": [{"between": ["steel", "air"], "coefficient": 800.0}],
                "initial": initial, "boundary": {face: insulated for face in problems.FACES},
                "time": {"steps": 20},
                "output": {"snapshots": {"every": 20}, "pictures": {"every": 20}, "probes": {
                    "every": 20, "points": [{"name": "in", "at": [0.011, 0.012, 0.013]},
                                            {"name": "out", "at": [0.036, 0.012, 0.013]},
                                            {"name": "skin", "at": [self.EDGE, 0.012, 0.013]}]}}}

    def test_no_values(self):
        run = self.solve(self.body([16, 12, 20], [{"uniform": {"value": 500}}]))
        row = run.history()[-1]
        last = table(run.folder / "probes.csv")[-1]
        self.assertEqual(last["out_K"], "nan")
        self.assertTrue(row["min_K"] < float(last["skin_K"]) < float(last["in_K"]) <= row["max_K"])
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            shown = file["VTKHDF/CellData/T"][-1]
            hidden = file["VTKHDF/CellData/vtkGhostType"][0]
        self.assertEqual(np.isnan(shown).sum(), 16 * 12 * 20 - 12 * 9 * 15)
        np.testing.assert_array_equal(hidden == 32, np.isnan(shown))
        np.testing.assert_allclose([np.nanmin(shown), np.nanmax(shown)],
                                   [row["min_K"], row["max_K"]], rtol=1e-7)
        again = self.solve(self.body([16, 12, 20], [{"uniform": {"value": 500}}]), ranks=3)
        result = self.isotherm("compare", run.folder, again.folder)
        self.assert_code(result, 0)
        self.assert_says(result, "NaN in both", stream="out")
        self.assert_code(self.isotherm("plot", run.folder), 0)
        self.check_grey(run.folder)

    def check_grey(self, folder):
        """A quarter of each side is air: 7/16 of the plane in the middle."""
        try:
            from PIL import Image  # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        for picture in (folder / "plots/snapshots_T.png", folder / "pictures/step_0000000020.png"):
            pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
            grey = (pixels == 0x80).all(axis=1).sum()
            self.assertAlmostEqual(grey / 800**2, 7 / 16, delta=0.02, msg=picture.name)

    def test_initial_from_a_snapshot(self):
        """On the same cells the body goes on; on others new body cells keep what they had."""
        run = self.solve(self.body([16, 12, 20], [{"uniform": {"value": 500}}]))
        last = run.folder / "snapshots/step_0000000020.h5"
        file = {"file": {"path": str(last), "interpolate": True}}
        same = self.solve(self.body([16, 12, 20], [file]))
        self.assert_below(abs(same.history()[0]["mean_K"] / run.history()[-1]["mean_K"] - 1), 1e-7,
                          "the mean on the same cells")
        fine = self.solve(self.body([32, 24, 40], [file])).history()[0]
        self.assert_below(abs(fine["mean_K"] / run.history()[-1]["mean_K"] - 1), 1e-7,
                          "the mean on cells of half the size")
        self.EDGE = 0.035
        result = self.run_config(self.body([16, 12, 20], [file]), "larger", code=2)
        self.assert_says(result, "some cells have no temperature")
        larger = self.solve(self.body([16, 12, 20], [{"uniform": {"value": 250}}, file]))
        self.assertEqual(larger.history()[0]["min_K"], 250)


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
