"""Problems of a thermal engineer against their references: a package, a battery and voxels beside
a second solver of the steady equations, a wall beside the harmonic solution, a fin beside the fin
formula, five tracks beside Eagar and Tsai, chloride beside the error function."""
import csv
import json
import math
import unittest

import h5py
import numpy as np
import yaml

import references
from gallery import GALLERY, Example, last_row
from harness import Run


class RunAway(Example):
    def test_leakage(self):
        """Below the critical heat the steady state of Frank-Kamenetskii, above it a message."""
        delta = 17e6 * 1e-3**2 / 20
        low, high = 0.0, 1.18    # of the rise of the middle over 20 K: cosh(..) = exp(rise / 2)
        for _ in range(60):
            rise = (low + high) / 2
            growth = math.acosh(math.exp(rise / 2)) * math.exp(-rise / 2)
            low, high = (rise, high) if growth < math.sqrt(delta / 2) else (low, rise)
        run = self.solve_example("leakage", "leakage")
        found = (run.history()[-1]["max_K"] - 350) / 20
        self.assertLess(abs(found / rise - 1), 0.01)
        steady = self.solve_example("leakage", "steady", "time.steady={}")
        self.assert_below(abs(steady.history()[-1]["max_K"] - run.history()[-1]["max_K"]), 1e-4,
                          "the steady state at once")
        for name, *more in (("above",), ("steady_above", "--set", "time.steady={}")):
            result = self.isotherm("run", GALLERY / "leakage.yaml", "--output", name,
                                   "--set", "sources[0].uniform.factor=18", *more)
            self.assert_code(result, 5)
            self.assert_says(result, "a thermal run-away")


class Radius(Example):
    def test_hot_wire(self):
        """A line source: q' / (4 pi k) E1(r^2 / (4 alpha t))."""
        run = self.solve_example("hot_wire", "hot_wire")
        names, radii = ["near", "far"], np.array([2e-3, 5e-3])
        x = radii**2 / (4 * 0.6 / (1000 * 4180) * 60)
        e1 = -np.euler_gamma - np.log(x) - sum((-x)**n / (n * math.factorial(n))
                                              for n in range(1, 40))
        exact = 5 / (4 * math.pi * 0.6) * e1
        self.assertLess(abs((last_row(run, names) - 300) / exact - 1).max(), 5e-3)

    def cool(self, geometry, cells, in_air=False):
        """A bar or ball of unit radius and properties from 1 to 0 by a film with Bi = 1, at the end
        of the grid or, with smaller cells there, at cells of air."""
        unit = {"conductivity": 1.0, "density": 1.0, "heat_capacity": 1.0}
        insulated = {"type": "flux", "value": 0.0}
        config = {
            "grid": {"cells": [cells], "upper": [1.0], "geometry": geometry},
            "material": unit,
            "initial": [{"uniform": {"value": 1.0}}],
            "boundary": {"x_min": insulated,
                         "x_max": {"type": "convection", "coefficient": 1.0, "ambient": 0.0}},
            "run": {"watch": {"temperature": "difference"}}, "time": {"end": 0.3},
            "output": {"history": {"every": 100000}, "checkpoints": {"every": 100000}}}
        if in_air:
            del config["material"]
            config["grid"] = {"geometry": geometry, "cells": [1], "x": {"segments": [
                {"to": 0.6, "cells": 3 * cells // 8}, {"to": 1.0, "cells": 5 * cells // 8},
                {"to": 1.2, "cells": 2}]}}
            config.update(
                materials=[{"name": "body", **unit}], ambients=[{"name": "air", "temperature": 0}],
                parts=[{"uniform": {"material": "air"}},
                       {"layer": {"axis": "x", "from": 0.0, "to": 1.0, "material": "body"}}],
                surfaces=[{"between": ["air", "body"], "coefficient": 1.0, "name": "side"}])
            config["boundary"]["x_max"] = insulated
            if geometry == "axisymmetric":   # with 3 cells along the axis
                config["grid"].update(cells=[1, 3], lower=[0.0, 0.0], upper=[1.2, 0.7])
                config["boundary"].update(y_min=insulated, y_max=insulated)
        run = self.run_config(config, f"{geometry}{cells}{in_air}")
        self.assertLess(abs(run.report["heat_drift_J"]), 1e-14)
        if in_air:
            last = run.history()[-1]
            area = 4 * math.pi if geometry == "spherical" else 2 * math.pi * 0.7
            self.assertLess(abs(last["area_side_m2"] / area - 1), 1e-14)
            self.assertLess(abs(last["flow_side_W"] / (-area * last["T_side_K"]) - 1), 1e-13)
        return run.temperature()[0, 0]

    def test_a_cylinder_and_a_ball_with_a_biot_number_of_1(self):
        """The series of Heisler's charts; of second order."""
        bar, bessel = references.bar_roots(), references.bessel
        ball = [(n + 0.5) * math.pi for n in range(6)]
        for geometry, in_air in (("axisymmetric", False), ("spherical", False),
                                 ("axisymmetric", True), ("spherical", True)):
            errors = []
            for cells in (8, 16, 32):
                edges = np.linspace(0, 1, cells + 1)
                if in_air:
                    few = 3 * cells // 8
                    edges = np.append(np.linspace(0, 0.6, few, endpoint=False),
                                      np.linspace(0.6, 1, cells - few + 1))
                r = (edges[1:] + edges[:-1]) / 2
                if geometry == "axisymmetric":
                    exact = sum(2 * bessel(1, z) / (z * (bessel(0, z)**2 + bessel(1, z)**2)) *
                                math.exp(-0.3 * z * z) * bessel(0, z * r) for z in bar)
                else:
                    exact = sum(4 * math.sin(z) / (2 * z) * math.exp(-0.3 * z * z) *
                                np.sin(z * r) / (z * r) for z in ball)
                T = self.cool(geometry, cells, in_air)
                errors.append(float(abs(T[:cells] - exact).max()))
                self.assertFalse(T[cells:].any())
            self.assert_order(errors, 2, 0.1)


    def test_tubes_and_shells_in_the_steady_state(self):
        """The heat through a tube, 2 pi k dT / ln 2, and a shell, 4 pi k dT / (1/r - 1/R)."""
        for geometry, exact in (("axisymmetric", 2 * math.pi * 3 * 100 / math.log(2)),
                                ("spherical", 4 * math.pi * 3 * 100 / (1 / 0.1 - 1 / 0.2))):
            errors = []
            for cells in (10, 20):
                run = self.run_config({
                    "grid": {"cells": [cells], "lower": [0.1], "upper": [0.2],
                             "geometry": geometry},
                    "material": {"conductivity": 3.0, "density": 1.0, "heat_capacity": 1.0},
                    "initial": [{"uniform": {"value": 300.0}}],
                    "boundary": {"x_min": {"type": "temperature", "value": 400.0},
                                 "x_max": {"type": "temperature", "value": 300.0}},
                    "time": {"steady": {}}, "output": {"history": {"every": 1}}},
                    f"{geometry}{cells}")
                flows = [run.history()[-1][f"flow_x_{side}_W"] for side in ("min", "max")]
                self.assertLess(abs(sum(flows)), 1e-6 * exact)
                errors.append(abs(flows[0] / exact - 1))
            self.assert_order(errors, 2, 0.1)


class Steady(Example):
    """The same equations on the same grid, by conjugate gradients."""

    def assert_same(self, run, exact, ambient, bound):
        rise = np.abs(exact - ambient).max()
        self.assert_below(float(np.abs(run.temperature() - exact).max() / rise), bound,
                          "largest difference of the rise")

    def test_package(self):
        k = np.full((15, 16, 16), 0.9)
        k[:8] = 24
        k[8:13, :10, :10] = 390
        k[13:, :5, :5] = 130
        heat = np.zeros(k.shape)
        heat[14, :5, :5] = 5 / (2.5e-3**2 * 2e-4)
        attach = {(130.0, 390.0): 3.33e-5, (24.0, 390.0): 2e-6}
        contacts = []
        for front in (2, 1, 0):
            first = np.moveaxis(k, front, 0)
            pairs = zip(first[:-1].ravel(), first[1:].ravel())
            contacts.append(np.array([attach.get((min(pair), max(pair)), 0.0) for pair in pairs])
                            .reshape(first[1:].shape))
        exact = references.steady_state([k, k, k], (5e-4, 5e-4, 2e-4), heat,
                                        {(2, 0): (3000, 300), (2, -1): (10, 300)}, contacts)
        run = self.solve_example("package", "package")
        self.assert_same(run, exact, 300, 1e-5)

    def test_graded_package(self):
        widths = [[2.5e-4] * 16 + [1e-3] * 8,
                  [5e-4] * 8 + [1e-3] * 2 + [2e-3] * 3,
                  [2e-4] * 5 + [1e-4] * 5 + [1.25e-5] * 4 +
                  [2e-3 * 0.5 / (1.5**4 - 1) * 1.5**n for n in range(4)]]
        across = np.full((18, 13, 24), 390.0)
        across[:14] = 0.026
        across[5:10, :8, :16] = 130
        across[10:14, :8, :16] = 3
        along = across.copy()
        across[:5], along[:5] = 1, 20
        heat = np.zeros(across.shape)
        heat[5, :8, :16] = 5 / (4e-3**2 * 1e-4)
        heat[5, :4, :8] += 10 / (2e-3**2 * 1e-4)
        below = np.zeros((17, 13, 24))
        below[4, :8, :16], below[13, :8, :16] = 2e-5, 2e-6
        exact = references.steady_state([along, along, across], widths, heat,
                                        {(2, 0): (20, 300), (2, -1): (4000, 300)},
                                        [None, None, below])
        run = self.solve_example("graded_package", "graded_package")
        self.assert_same(run, exact, 300, 1e-7)

    def test_battery(self):
        shape = (8, 20, 30)
        along, across = np.full(shape, 25.0), np.full(shape, 1.0)
        air = (5, 300)
        exact = references.steady_state(
            [along, along, across], (5e-3, 5e-3, 1.25e-3), np.full(shape, 2e4),
            {(0, -1): air, (1, 0): (500, 295), (2, -1): air})
        run = self.solve_example("battery", "battery")
        self.assert_same(run, exact, 300, 1e-4)

    def test_voxels(self):
        """Tissue and bone by numbers in a file, as a scan gives them."""
        random = np.random.default_rng(5)
        bone = random.random((10, 12, 14)) < 0.3
        with h5py.File(self.folder / "labels.h5", "w") as file:
            file["material"] = bone.astype(np.uint8)
        films = {"x_min": (0, 0, 310.0), "x_max": (0, -1, 300.0)}
        config = {
            "grid": {"cells": [14, 12, 10], "upper": [0.014, 0.012, 0.01]},
            "materials": [{"name": "tissue", "conductivity": 0.5, "density": 1000,
                           "heat_capacity": 3600},
                          {"name": "bone", "conductivity": 0.32, "density": 1900,
                           "heat_capacity": 1300}],
            "parts": [{"file": {"path": "labels.h5", "materials": ["tissue", "bone"]}}],
            "sources": [{"uniform": {"material": "bone", "density": 1e5}}],
            "initial": [{"uniform": {"value": 305}}],
            "boundary": {face: {"type": "flux", "value": 0}
                         for face in ("y_min", "y_max", "z_min", "z_max")} |
                        {face: {"type": "convection", "coefficient": 200, "ambient": ambient}
                         for face, (_, _, ambient) in films.items()},
            "time": {"end": 12000, "scheme": "sts1", "stages": 32},
            "output": {"directory": "out", "checkpoints": {"interval": 12000}}}
        self.write(config)
        result = self.isotherm("run", "config.yaml")
        self.assert_code(result, 0)
        k = np.where(bone, 0.32, 0.5)
        exact = references.steady_state(
            [k, k, k], (1e-3, 1e-3, 1e-3), np.where(bone, 1e5, 0.0),
            {(axis, end): (200, ambient) for axis, end, ambient in films.values()})
        self.assert_same(Run(result, self.folder / "out"), exact, 300, 1e-5)


class Ev6(Example):
    """HotSpot's example 1 at its commit f18831e4: steady temperatures of blocks, means over the
    cells of 1 mm that a block touches. As it is,
    hotspot -c example.config -f ev6.flp -p gcc.ptrace -materials_file example.materials
            -model_type grid -grid_rows 16 -grid_cols 16 -steady_file ev6.steady
    has one node over the height of each layer, and twelve nodes for the rims of spreader and sink.
    In the second numbers, of a build with SuperLU, the package is layers of 60 x 60 mm instead:
    hotspot -c example.config -p ev6.ptrace -grid_layer_file ev6.lcf -detailed_3D on
            -model_type grid -grid_rows 60 -grid_cols 60 -s_spreader 0.060001 -s_sink 0.060002
            -r_convec 1e-7 -t_spreader 1e-6 -t_sink 1e-6 -steady_file ev6.steady
    Those of the .lcf have the heights below, resin around chip, TIM and spreader, and last one of
    1e-6 m and 360 m K/W for r_convec, as -detailed_3D counts half of r_convec twice."""
    BLOCKS = {
        "L2_left": (324.57, 325.15), "L2": (323.94, 324.38), "L2_right": (325.08, 325.87),
        "Icache": (328.89, 330.52), "Dcache": (330.40, 332.39), "Bpred_0": (328.28, 329.71),
        "Bpred_1": (330.73, 332.68), "Bpred_2": (330.92, 333.05), "DTB_0": (331.96, 334.37),
        "DTB_1": (332.08, 334.45), "DTB_2": (329.40, 331.25), "FPAdd_0": (327.47, 328.76),
        "FPAdd_1": (329.18, 331.03), "FPReg_0": (326.97, 328.08), "FPReg_1": (328.28, 329.66),
        "FPReg_2": (328.86, 330.47), "FPReg_3": (328.74, 330.38), "FPMul_0": (326.34, 327.29),
        "FPMul_1": (328.35, 329.82), "FPMap_0": (325.72, 326.50), "FPMap_1": (327.95, 329.25),
        "IntMap": (328.81, 330.39), "IntQ": (333.72, 336.01), "IntReg_0": (338.24, 340.92),
        "IntReg_1": (333.99, 336.04), "IntExec": (332.91, 335.09), "FPQ": (328.68, 330.44),
        "LdStQ": (333.64, 336.18), "ITB_0": (331.97, 334.36), "ITB_1": (332.73, 335.22)}
    HEIGHTS = [1e-6, 49e-6, 50e-6, 50e-6, 1e-5, 1e-5, 2.5e-4, 2.5e-4, 5e-4,
               5e-4, 5e-4, 1e-3, 1.5e-3, 1.7e-3, 1.7e-3]

    def solve_coarse(self, output, heights, *sets):
        """Cells of 1 mm with the power of the parts of blocks in them; the means of the blocks."""
        sources = yaml.safe_load((GALLERY / "ev6.yaml").read_text())["sources"]
        edges = np.arange(17) * 1e-3
        power, touched = np.zeros((16, 16)), {}
        for box in (source["box"] for source in sources):
            x, y = (np.clip(np.minimum(edges[1:], box["upper"][n]) -
                            np.maximum(edges[:-1], box["lower"][n]), 0, None) for n in (0, 1))
            part = np.outer(y, x)
            power += box["power"] * part / part.sum()
            touched[box["name"]] = part > 1e-12
        cells = [{"box": {"lower": [i * 1e-3, j * 1e-3, 0], "power": float(power[j, i]),
                          "upper": [(i + 1) * 1e-3, (j + 1) * 1e-3, heights[0]]}}
                 for j in range(9, 16) for i in range(16)]
        cells.append({"box": {"lower": [0, 0, 0], "upper": [0.016, 0.009, heights[0]],
                              "power": float(power[:9].sum())}})
        tops = [{"to": float(top), "cells": 1} for top in np.cumsum(heights)]
        run = self.solve_example(
            "ev6", output, "grid.x.segments=[{to: 0.038, cells: 60}]",
            "grid.y.segments=[{to: 0.038, cells: 60}]", f"grid.z.segments={json.dumps(tops)}",
            f"sources={json.dumps(cells)}", "output.checkpoints={every: 1}", *sets)
        chip = run.temperature()[0, 22:38, 22:38]
        return np.array([chip[touched[name]].mean() for name in self.BLOCKS])

    def test_package_as_layers(self):
        one_node, layers = np.array(list(self.BLOCKS.values())).T
        found = self.solve_coarse("layers", self.HEIGHTS)
        self.assert_below(np.abs(found - layers).max(), 0.01, "largest difference of a block, K")
        self.assertTrue((found - one_node > 0.4).all() and (found - one_node < 2.7).all())

    def test_one_node_over_the_height(self):
        """Perfect conductors upwards with the resistances of whole layers between them: only the
        rims differ."""
        k = {"silicon": 130, "TIM": 4, "spreader": 400, "sink": 400}
        h = {"silicon": 1.5e-4, "TIM": 2e-5, "spreader": 1e-3, "sink": 6.9e-3}
        edge = {"silicon": 0, "TIM": 0, "spreader": 7e-3, "sink": 22e-3}
        tops = dict(zip(h, np.cumsum(list(h.values()))))
        materials = [{"name": "resin", "conductivity": 1, "density": 1000, "heat_capacity": 1800}]
        parts = [{"uniform": {"material": "resin"}}]
        for name in k:
            materials.append({"name": name, "conductivity": [k[name], k[name], 1e6],
                              "density": 1000, "heat_capacity": 2000})
            low, high, top = -edge[name], 0.016 + edge[name], float(tops[name])
            parts.append({"box": {"lower": [low, low, top - h[name]], "upper": [high, high, top],
                                  "material": name}})
        contacts = [{"between": [below, above], "resistance": h[below] / k[below]}
                    for below, above in zip(list(k), list(k)[1:])]
        film = 1 / (0.1 * 0.06**2 + h["sink"] / k["sink"])
        found = self.solve_coarse(
            "one_node", list(h.values()), f"materials={json.dumps(materials)}",
            f"parts={json.dumps(parts)}", f"contacts={json.dumps(contacts)}",
            f"boundary.z_max={{type: convection, coefficient: {film}, ambient: 318.15}}")
        difference = found - np.array(list(self.BLOCKS.values()))[:, 0]
        self.assert_below(np.abs(difference).max(), 0.2, "largest difference of a block, K")


class Wall(Example):
    """configs/wall_over_a_day.yaml after two weeks, without its heating: the swing of the outdoor
    air, a table, passes the wall as a sum of harmonics. A formula passes it over a year."""

    LAYERS = [(0.12, 0.04, 30.0 * 1400), (0.24, 0.6, 1700.0 * 850)]
    AIR = ([0, 21600, 50400, 68400, 86400], [274.15, 272.15, 281.15, 277.15, 274.15])
    DAY, INSIDE = 86400.0, 293.15

    def inner_surface(self, times):
        samples = 7200
        air = np.fft.rfft(np.interp(np.arange(samples) * self.DAY / samples, *self.AIR)) / samples
        resistance = sum(d / k for d, k, _ in self.LAYERS) + 1 / 25 + 1 / 8
        total = np.full(len(times), self.INSIDE - (self.INSIDE - air[0].real) / resistance / 8)
        for n in range(1, 60):
            total += self.passed(2 * air[n], n / self.DAY, times)
        return total

    def passed(self, swing, frequency, times):
        """The share of a swing of the outdoor air, in 1/s, at the inner surface."""
        omega = 2 * math.pi * frequency
        part = references.wall_response(self.LAYERS, 25.0, 8.0, omega) * swing
        return (part * np.exp(1j * omega * times)).real

    def test_harmonics(self):
        errors = []
        for cells in (18, 36):
            run = self.solve_example(
                "../wall_over_a_day", f"wall{cells}", f"grid.cells=[{cells}]",
                "sources[0].layer.density=0",
                f"time.end={14 * self.DAY}", "output.probes={interval: 3600, "
                "points: [{name: inner, at: 0.36}]}")
            with open(run.folder / "probes.csv", encoding="ascii") as stream:
                rows = list(csv.DictReader(line for line in stream if line[0] != "#"))[-25:]
            found = np.array([float(row["inner_K"]) for row in rows])
            exact = self.inner_surface(np.array([float(row["time_s"]) for row in rows]))
            self.assertGreater(np.ptp(exact), 0.03)
            errors.append(float(np.abs(found - exact).max()))
        self.assert_below(errors[-1], 0.02 * np.ptp(exact), "largest error with 36 cells, K")
        self.assert_order(errors, 2, 0.5)

    def test_year(self):
        """A row per hour of configs/gallery/wall_over_a_year.yaml, from the second month on."""
        for scheme in ("sts2", "implicit"):
            self.check_year(self.solve_example("wall_over_a_year", scheme, f"time.scheme={scheme}"))

    def check_year(self, run):
        rows = np.loadtxt(run.folder / "probes.csv", delimiter=",", skiprows=1)
        self.assertEqual(len(rows), 8761)
        times, found = rows[rows[:, 0] > 31 * 24, 1:].T
        resistance = sum(d / k for d, k, _ in self.LAYERS) + 1 / 25 + 1 / 8
        mean = self.INSIDE - (self.INSIDE - 282.15) / resistance / 8
        exact = (mean + self.passed(-10, 1 / (365 * self.DAY), times) +
                 self.passed(-4, 1 / self.DAY, times))
        error = float(np.abs(found - exact).max())
        self.assert_below(error, 1e-3 * np.ptp(exact), "largest error of an hour, K")


class Fin(Example):
    def test_formula(self):
        h, k, half, height, rise = 50.0, 200.0, 5e-4, 0.03, 50.0
        m = math.sqrt(h / (k * half))
        tip = h / (m * k)
        s, c = math.sinh(m * height), math.cosh(m * height)
        flow = k * half * m * rise * (s + tip * c) / (c + tip * s)
        run = self.solve_example("fin", "fin")
        last = run.history()[-1]
        self.assert_below(abs(last["flow_x_min_W"] / flow - 1), 1e-3, "heat flow of the fin")
        at_tip = 300 + rise / (c + tip * s)
        self.assert_below(abs(last_row(run, ["tip"])[0] - at_tip) / rise, 1e-3, "tip")


class SteadyStates(Example):
    def test_jet_plate(self):
        """A film with factors from a formula: a harmonic function. And from files."""
        m, errors = math.pi / 0.1, []
        for n in (2, 4, 8):
            cells = [10 * n, 2 * n]
            run = self.solve_example("jet_plate", f"jet{n}", f"grid.cells={cells}")
            x, y = ((np.arange(count) + 0.5) * 0.01 / n for count in cells)
            exact = 400 - 1000 * y[:, None] - 30 * np.cosh(m * y[:, None]) * np.cos(m * x)
            errors.append(np.abs(run.temperature()[0] - exact).max())
        self.assert_order(errors, 2, 0.02)
        self.assertLess(errors[-1], 0.008)
        cos = np.cos(m * x)
        film = (20 * (1000 + 30 * m * math.sinh(0.02 * m) * cos) /
                (80 - 30 * math.cosh(0.02 * m) * cos))
        np.save(self.folder / "film.npy", film)
        with h5py.File(self.folder / "film.h5", "w") as file:
            file["film"] = film
        for n, where in enumerate(("path: film.npy", "path: film.h5, dataset: film")):
            other = self.solve_example("jet_plate", f"file{n}", f"grid.cells={cells}",
                                       f"boundary.y_max.coefficient_factor={{{where}}}")
            self.assertLess(np.abs(other.temperature() - run.temperature()).max(), 1e-5)

    def test_nafems_t4(self):
        temperatures = []
        for n in (12, 24, 48):
            run = self.solve_example("nafems_t4", f"t4_{n}", f"grid.cells=[{3 * n}, {5 * n}]")
            temperatures.append(last_row(run, ["E"])[0] - 273.15)
        self.assert_below(abs(temperatures[-1] - 18.25), 0.01, "T at E, degC")
        self.assert_order(np.abs(np.diff(temperatures)), 2, 0.1)

    def test_effective_conductivity(self):
        """Rayleigh's series for a cubic array of spheres."""
        f, ratio = 4 / 3 * math.pi * 0.4**3, 150.0
        beta = (1 - ratio) / (2 + ratio)
        series = 0.2 * (1 - 3 * f / (1 / beta + f - 1.306 * f**(10 / 3) * (1 - ratio) /
                                     (4 / 3 + ratio)))
        for n, bound in ((16, 0.015), (32, 0.01)):
            run = self.solve_example("effective_conductivity", f"k{n}", f"grid.cells=[{n},{n},{n}]")
            last = run.history()[-1]
            self.assert_below(abs(last["flow_x_min_W"] / 0.5e-3 / series - 1), bound, "k")
            self.assert_below(abs(last["flow_x_min_W"] + last["flow_x_max_W"]),
                              1e-6 * last["flow_x_min_W"], "W that stay")


class FiveTracks(Example):
    POINTS = {"track1": (1e-3, 5e-4, 5e-4), "track3": (1e-3, 7e-4, 5e-4),
              "track5": (1e-3, 9e-4, 5e-4), "below": (1e-3, 7e-4, 4e-4)}
    SIGMA, POWER, K, RHO_C, END = 5e-5, 24.0, 25.0, 7800.0 * 600, 6e-3

    def track(self, number):
        """A beam from the begin of the track on, less the same from its end on."""
        speed, way, began = 1.0, 1e-3, 1.25e-3 * number
        mirror = 1 - 2 * (number % 2)
        start = 5e-4 if mirror == 1 else -1.5e-3
        points = [(mirror * x, y - (5e-4 + 1e-4 * number), z - 6e-4)
                  for x, y, z in self.POINTS.values()]
        rise = 0
        for sign, time, at in ((1, began, start), (-1, began + way / speed, start + way)):
            if self.END > time:
                rise = rise + sign * references.moving_gaussian(
                    points, self.END - time, self.POWER, self.SIGMA, speed, at, self.K, self.RHO_C)
        return rise

    def test_sum_of_eagar_and_tsai(self):
        exact = 300 + sum(self.track(number) for number in range(5))
        run = self.solve_example("five_tracks", "tracks")
        error = float(np.abs(last_row(run, self.POINTS) - exact).max())
        self.assert_below(error, 0.01 * (exact.max() - 300), "largest error, K")


class Chloride(Example):
    def test_error_function(self):
        """Through a thin film into 0.1 m: the solution of the half space and its mirror image."""
        D, film, C, C0, t, x = 2e-12, 1e-7, 18.0, 0.1, 5e8, 0.05
        wide = 2 * math.sqrt(D * t)
        exact = C0
        for at in (x, 0.2 - x):
            far = at / wide + film / D * wide / 2
            behind = math.exp(-(at / wide)**2) / (far * math.sqrt(math.pi))
            exact += (C - C0) * (math.erfc(at / wide) - behind)
        result = self.isotherm("run", GALLERY.parent / "chloride.yaml", "--output", "chloride")
        self.assert_code(result, 0)
        with open(self.folder / "chloride/probes.csv", encoding="ascii") as stream:
            rows = list(csv.DictReader(line for line in stream if line[0] != "#"))
        found = float(rows[-1]["reinforcement_kg_per_m3"])
        self.assert_below(abs(found - exact), 5e-3, "kg/m^3 at the reinforcement")


if __name__ == "__main__":
    unittest.main()
