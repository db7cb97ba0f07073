"""Steady states: against a direct solution of an independent discretisation, known values, the same
bits for ranks and backends, and what has none."""
import copy
import unittest

import numpy as np

from harness import Case, checkpoints, some, thorough
from steady import (FLUX, cellwise, direct, factored, layered, leaking, nonlinear, plain, quiet,
                    slab, steep, varied, with_air)


EDGES = [0, 0.01, 0.02, 0.04, 0.05, 0.055, 0.06, 0.07, 0.1, 0.12, 0.13]


def without_times(steady):
    """What does not depend on the ranks."""
    cycles = [{key: value for key, value in cycle.items() if key != "wall_s"}
              for cycle in steady["history"]]
    return {**{key: value for key, value in steady.items() if key not in ("grids", "wall_s")},
            "history": cycles}


class Steady(Case):
    def test_direct_solution(self):
        cases = {"3D": layered([13, 9, 7], [0.13, 0.09, 0.07]),
                 "flat cells": layered([10, 12, 6], [1.0, 0.12, 0.02]),
                 "jump of 1000": layered([9, 8, 11], [0.09, 0.08, 0.11], jump=1000),
                 "jump of 5000": layered([9, 8, 11], [0.09, 0.08, 0.11], jump=5000),
                 "2D": layered([31, 17], [0.3, 0.2]),
                 "1D": layered([65], [0.3]),
                 "factors of faces": factored([13, 9, 7], [0.13, 0.09, 0.07]),
                 "factors of cells": varied([13, 9, 7], [0.13, 0.09, 0.07]),
                 "factors of cells, 1D": varied([33], [0.2]),
                 "uniform": plain([13, 9, 8], [0.13, 0.09, 0.2]),
                 "uniform, 1D": plain([65], [0.3])}
        graded = cases["factors of cells, graded"] = varied([10, 9, 7], [0.13, 0.09, 0.07])
        graded["grid"]["x"] = {"edges": EDGES}
        for kind in (layered, varied):
            name = f"an ambient, {kind.__name__}"
            cases[f"{name}, graded"] = with_air(kind([10, 9, 7], [0.13, 0.09, 0.07]), EDGES)
            cases[f"{name}, axisymmetric"] = with_air(kind([10, 7], [0.13, 0.05]), EDGES,
                                                      "axisymmetric")
        alone = with_air(layered([10, 7], [0.13, 0.05]), EDGES)
        alone["boundary"] = {face: FLUX for face in alone["boundary"]}
        cases["an ambient, insulated faces"] = alone
        ball = cases["an ambient, spherical"] = with_air(layered([10], [0.13]), EDGES, "spherical")
        del ball["surfaces"][2]   # material c is not beside the air
        for name, kind in (("periodic", layered), ("uniform, periodic", plain)):
            cases[name] = kind([12, 9, 8], [0.12, 0.09, 0.08])
            cases[name]["boundary"].update(y_min={"type": "periodic"}, y_max={"type": "periodic"})
        for name, config in some(cases.items(), 2):
            with self.subTest(name):
                grid = config["grid"]
                run = self.solve({**config, "grid": {**grid, "cells": [
                    1 if axis in grid else n for axis, n in zip("xyz", grid["cells"])]}})
                self.assertEqual(run.report["scheme"], "steady")
                error = np.abs(run.temperature() - direct(config)).max()
                self.assert_below(error, 2e-9, name)
                self.assert_below(run.report["steady"]["imbalance"], 1e-6, name)

    def test_sources_of_temperature(self):
        """Tables of their densities: beside the direct solution; no bit depends on ranks."""
        for name, config in (("3D", layered([13, 9, 7], [0.13, 0.09, 0.07])),
                             ("1D", layered([65], [0.3])),
                             ("per cell", varied([10, 9, 7], [0.13, 0.09, 0.07]))):
            config = leaking(config)
            run = self.solve(config)
            self.assert_below(np.abs(run.temperature() - direct(config)).max(), 2e-9, name)
            self.assert_below(run.report["steady"]["cycles"], 25, "cycles")
            for ranks in (2, 3):
                other = self.solve(quiet(config), ranks=ranks)
                self.assertEqual(other.exact("field_hash"), run.exact("field_hash"))

    def test_other_solvers(self):
        """Plain iterations, and HYPRE where the build has it, reach the same temperatures, also for
        tables, radiation and perfusion; BoomerAMG where conductivities jump by 1e6."""
        linear = layered([12, 9, 8], [0.12, 0.09, 0.08])
        linear["boundary"].update(y_min={"type": "periodic"}, y_max={"type": "periodic"})
        small = layered([9, 7], [0.09, 0.07], jump=4)
        steep = layered([12, 10, 9], [0.12, 0.1, 0.09], jump=1e6)
        for solver, config in (("jacobi", small), ("chebyshev", linear), ("hypre", linear),
                               ("boomeramg", steep),
                               ("chebyshev", nonlinear([9, 7], [0.09, 0.07])),
                               ("hypre", nonlinear([9, 8, 7], [0.09, 0.08, 0.07]))):
            sets = [f"time.steady.solver={solver}", "time.steady.cycles=20000"]
            result, _ = self.start(quiet(config), sets=sets)
            if "this build has no HYPRE" in result.err:
                self.assert_code(result, 2)
                continue
            with self.subTest(solver):
                found = self.solve(config, sets=sets).temperature()
                is_linear = config["boundary"]["x_max"]["type"] == "convection" and \
                    "emissivity" not in config["boundary"]["x_max"]
                expected = direct(config) if is_linear else self.solve(config).temperature()
                self.assert_below(np.abs(found - expected).max(), 2e-7, solver)
        ways = [self.solve(quiet(linear), ranks=ranks, sets=[
            "time.steady.solver=chebyshev", "time.steady.cycles=20000",
            "time.steady.temperature=1e-3", f"run.backend={backend}"]).exact("field_hash")
                for ranks, backend in ((1, "cpu"), (3, "guard"))]
        self.assertEqual(ways[0], ways[1])

    def test_wall_is_exact(self):
        """1200 K | 0.12 m of 1.0 | contact | 0.06 m of 0.1 | 0.02 m of 45 W/(m K) | film."""
        config = {
            "title": "wall",
            "grid": {"cells": [100], "upper": [0.2]},
            "materials": [{"name": name, "conductivity": k, "density": 1000, "heat_capacity": 1000}
                          for name, k in (("brick", 1.0), ("board", 0.1), ("steel", 45.0))],
            "parts": [{"layer": {"axis": "x", "from": 0, "to": 0.12, "material": "brick"}},
                      {"layer": {"axis": "x", "from": 0.12, "to": 0.18, "material": "board"}},
                      {"layer": {"axis": "x", "from": 0.18, "to": 0.2, "material": "steel"}}],
            "contacts": [{"between": ["brick", "board"], "resistance": 0.01}],
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {"x_min": {"type": "temperature", "value": 1200},
                         "x_max": {"type": "convection", "coefficient": 10, "ambient": 293}},
            "time": {"steady": {"temperature": 1e-9, "tolerance": 1e-11}},
            "output": {"checkpoints": {"every": 1}},
        }
        run = self.solve(config)
        q = (1200 - 293) / (0.12 + 0.01 + 0.6 + 0.02 / 45 + 0.1)
        last = run.history()[-1]
        self.assert_below(abs(last["flow_x_min_W"] / q - 1), 1e-10, "flow into the wall")
        self.assert_below(abs(last["flow_x_max_W"] / q + 1), 1e-10, "flow out of it")
        inner = 1200 - q * (np.arange(60) + 0.5) * 0.002
        self.assert_below(np.abs(run.temperature()[0, 0, :60] / inner - 1).max(), 1e-10, "brick")

    def test_same_bits(self):
        """Ranks share grids of 72 x 72 x 64 cells; blocks of odd sizes are copied at once. In a
        uniform medium that is not cut in x cells of neighbours are smoothed twice."""
        for kind, ways in ((layered, ((2, [2, 1, 1], "guard"), (3, [1, 3, 1], "cpu"),
                                      (8, [2, 2, 2], "cpu"))),
                           (factored, ((4, [2, 1, 2], "guard"),)),
                           (steep, ((5, [1, 5, 1], "cpu"), (3, [3, 1, 1], "guard"))),
                           (varied, ((5, [1, 5, 1], "guard"), (8, [2, 2, 2], "cpu"))),
                           (plain, ((4, [1, 2, 2], "guard"), (5, [1, 5, 1], "cpu")))):
            config = kind([72, 72, 64], [0.072, 0.06, 0.08])
            config["boundary"].update(x_min={"type": "periodic"}, x_max={"type": "periodic"})
            config["time"]["steady"] = {"temperature": 1e-3}
            reference = self.solve(quiet(config), sets=["run.backend=cpu"])
            for ranks, blocks, backend in some(ways, 1):
                run = self.solve(quiet(config), ranks=ranks, sets=[
                    f"run.backend={backend}", f"run.decomposition={blocks}"])
                self.assertEqual(run.exact("field_hash"), reference.exact("field_hash"))
                self.assertEqual(*[repr(without_times(of.report["steady"]))
                                   for of in (run, reference)])

    def cycles(self, config, **time):
        config["time"]["steady"] = {"temperature": 1e-6, **time}
        return self.solve(quiet(config)).report["steady"]["cycles"]

    @thorough
    def test_cycles_do_not_grow(self):
        for kind, sizes in ((layered, (16, 32, 64)), (plain, (32, 64, 128))):
            cycles = [self.cycles(kind([n, n, n], [0.1, 0.1, 0.1])) for n in sizes]
            self.assert_below(max(cycles) - min(cycles), 2, f"cycles {cycles}")

    def test_cycles_of_jumps(self):
        """Layers that differ by a factor of 1e5 need a symmetric cycle; the start by full multigrid
        spares cycles."""
        found = {}
        for jump in (100, 1e5):
            config = layered([16, 16, 32], [0.16, 0.16, 0.32])
            config["parts"][1:] = [{"layer": {"axis": "z", "from": low, "to": high,
                                              "material": "b"}}
                                   for low, high in ((0.1, 0.12), (0.16, 0.24))]
            config["materials"][1]["conductivity"] = jump
            config["boundary"]["z_min"] = {"type": "temperature", "value": 350}
            del config["contacts"], config["sources"]
            found[jump] = self.cycles(config)
            config["initial"] = [{"expression": {"value": "300 + z"}}]
            found[-jump] = self.cycles(config)
        material = config["materials"][1]   # the same as a factor of the cells
        material["conductivity"] = 1
        material["conductivity_factor"] = {"formula": str(jump)}
        self.assert_below(self.cycles(config), 40, "cycles with properties per cell")
        self.assert_below(found[1e5], 40, "cycles")
        self.assert_below(found[100] + 1, found[-100], f"cycles {found}")

    @thorough
    def test_cycles_of_shapes(self):
        """Boundary types, spacings that differ by up to 100, and sizes that do not halve."""
        def conditions(config, faces):
            types = {"D": {"type": "temperature", "value": 350}, "N": {"type": "flux", "value": 80},
                     "R": {"type": "convection", "coefficient": 20, "ambient": 290},
                     "P": {"type": "periodic"}}
            names = [f"{axis}_{side}" for axis in "xyz" for side in ("min", "max")]
            config["boundary"] = {name: types[face] for name, face in zip(names, faces)}
            return config

        even = [24, 24, 24]
        for kind, most in ((plain, 9), (layered, 15)):
            for faces in ("DDDDDD", "RRRRRR", "DRNNDR", "DRNNPP", "PPPPDD", "NNNNNR", "NNNNRN"):
                found = self.cycles(conditions(kind(even, [0.1, 0.1, 0.1]), faces))
                self.assert_below(found, most, f"{kind.__name__}, {faces}: cycles")
            for ratios in ((1, 1, 2), (1, 4, 4), (1, 10, 10), (1, 100, 100), (1, 3, 10)):
                found = self.cycles(kind(even, [0.1 / ratio for ratio in ratios]))
                self.assert_below(found, most, f"{kind.__name__}, 1 : {ratios}: cycles")
            for cells in ([33, 33, 33], [31, 31, 31], [61, 37, 29], [65, 9, 33], [97, 10, 13]):
                found = self.cycles(kind(cells, [n / 300 for n in cells]))
                self.assert_below(found, most, f"{kind.__name__}, {cells}: cycles")

    def test_radiating_slab(self):
        """A flux from behind leaves by radiation; the profile is linear."""
        config = slab(16, 0.02, {"type": "flux", "value": 1e5},
                      {"type": "radiation", "emissivity": 0.8, "ambient": 300},
                      {"conductivity": 40.0})
        run = self.solve(config)
        front = (1e5 / (0.8 * 5.670374419e-8) + 300.0 ** 4) ** 0.25
        expected = front + 1e5 / 40 * 0.02 * (15.5 - np.arange(16)) / 16
        self.assert_below(np.abs(run.temperature()[0, 0] - expected).max(), 1e-8, "T")
        self.assert_below(run.report["steady"]["cycles"], 20, "cycles")

    def test_conductivity_of_temperature(self):
        """k from 10 to 60 W/(m K): the integral of k over T is linear in x."""
        errors = []
        for n in (32, 64):
            run = self.solve(slab(n, 0.1, {"type": "temperature", "value": 1400},
                                  {"type": "temperature", "value": 400},
                                  {"conductivity": [[300, 10], [1500, 60]]}))
            x = (np.arange(n) + 0.5) / n
            theta = 10 * np.array([1100, 100]) + 25 / 1200 * np.array([1100, 100]) ** 2
            expected = 300 + (-10 + np.sqrt(100 + 100 / 1200 * (theta[0] + x * (
                theta[1] - theta[0])))) * 1200 / 50
            errors.append(np.abs(run.temperature()[0, 0] - expected).max())
            last = run.history()[-1]
            self.assert_below(abs(last["flow_x_min_W"] + last["flow_x_max_W"]) / 350000, 1e-6,
                              "heat that stays")
        self.assert_below(errors[1], 0.3 * errors[0], "error")

    def test_perfusion(self):
        """The solution of the difference equation: A cosh(m (x - L / 2)) above the blood."""
        n, length, rate = 24, 0.06, 0.02 * 1050 * 3600
        face = {"type": "temperature", "value": 293.15}
        run = self.solve(slab(n, length, face, face, {"conductivity": 0.5, "perfusion": {
            "rate": 0.02, "blood_density": 1050, "blood_heat_capacity": 3600,
            "arterial_temperature": 310.15}}))
        h = length / n
        m = np.arccosh(1 + h * h * rate / 0.5 / 2) / h
        x = (np.arange(n) + 0.5) * h - length / 2
        expected = 310.15 - 17 * np.cosh(m * x) / (np.cosh(m * length / 2) * np.cosh(m * h / 2))
        self.assert_below(np.abs(run.temperature()[0, 0] - expected).max(), 1e-8, "T")

    def test_nonlinear_fixed_point(self):
        """Tables, perfusion, radiation and several materials: time steps change nothing, and ranks
        and backends no bit."""
        config = nonlinear([18, 14, 11], [0.09, 0.07, 0.055])
        run = self.solve(config)
        self.assert_below(run.report["steady"]["cycles"], 40, "cycles")
        for ranks, backend in some(((2, "guard"), (3, "cpu"), (8, "cpu")), 1):
            other = self.solve(quiet(config), ranks=ranks, sets=[f"run.backend={backend}"])
            self.assertEqual(other.exact("field_hash"), run.exact("field_hash"))
        config["initial"] = [{"file": {"path": str(checkpoints(run.folder)[-1])}}]
        config["time"] = {"steps": 40}
        again = self.solve(config)
        self.assert_below(np.abs(again.temperature() - run.temperature()).max(), 1e-8, "T")

    def test_ambients(self):
        """Cells of an ambient keep their temperature; time steps change nothing; the same bits."""
        for kind in (layered, varied):
            self.check_ambients(kind([18, 14, 11], [0.09, 0.07, 0.055]))

    def test_exchange(self):
        """The same with radiation and fluxes, whose slopes Newton's method finds."""
        config = layered([18, 14, 11], [0.09, 0.07, 0.055])
        self.check_ambients(config, emissivity=0.8, flux=3e3, cycles=30)

    def check_ambients(self, config, cycles=16, **more):
        config["ambients"] = [{"name": "air", "temperature": 280}]
        config["parts"].append({"box": {"lower": [0.02, 0.03, 0.02], "upper": [0.05, 0.07, 0.04],
                                        "material": "air"}})
        config["surfaces"] = [{"between": [name, "air"], "coefficient": 30 + 20 * n, **more}
                              for n, name in enumerate("abc")]
        run = self.solve(config)
        self.assert_below(run.report["steady"]["cycles"], cycles, "cycles")
        other = self.solve(quiet(config), ranks=3, sets=["run.backend=guard"])
        self.assertEqual(other.exact("field_hash"), run.exact("field_hash"))
        config["initial"] = [{"file": {"path": str(checkpoints(run.folder)[-1])}}]
        config["time"] = {"steps": 40}
        again = self.solve(config)
        self.assert_below(np.abs(again.temperature() - run.temperature()).max(), 1e-8, "T")

    def test_all_heat_leaves_through_a_surface(self):
        ball = {"center": [0.0, 0.0], "radius": 0.02}
        config = {"grid": {"cells": [24, 32], "upper": [0.024, 0.024]},
                  "materials": [{"name": "steel", "conductivity": 40, "density": 7800,
                                 "heat_capacity": 500}],
                  "ambients": [{"name": "air", "temperature": 300}],
                  "parts": [{"uniform": {"material": "air"}},
                            {"sphere": {**ball, "material": "steel"}}],
                  "surfaces": [{"between": ["steel", "air"], "coefficient": 2000, "name": "skin"}],
                  "sources": [{"sphere": {**ball, "power": 100}}],
                  "initial": [{"uniform": {"value": 1000}}],
                  "boundary": {f"{axis}_{side}": FLUX for axis in "xy" for side in ("min", "max")},
                  "time": {"steady": {}}, "output": {"history": {"every": 1}}}
        for geometry in ("cartesian", "axisymmetric"):
            config["grid"]["geometry"] = geometry
            run = self.solve(config)
            self.assert_below(run.report["steady"]["cycles"], 15, "cycles")
            self.assert_below(run.report["steady"]["imbalance"], 1e-6, "imbalance")
            self.assert_below(abs(run.history()[-1]["flow_skin_W"] + 100), 1e-3, "the flow")

    def test_cellwise(self):
        """Materials that change from cell to cell: smoothed before coarser grids, too. Ranks and
        backends change no bit."""
        for materials, most in (((1, 10, 100, 1000), 15), ((1, 1000), 40)):
            config = cellwise([33, 24, 22], materials)
            run = self.solve(config)
            self.assert_below(run.report["steady"]["cycles"], most, "cycles")
            other = self.solve(quiet(config), ranks=3, sets=["run.backend=guard"])
            self.assertEqual(other.exact("field_hash"), run.exact("field_hash"))

    def test_start_from_the_solution(self):
        config = layered([20, 15], [0.2, 0.15])
        run = self.solve(config)
        again = copy.deepcopy(config)
        again["initial"] = [{"file": {"path": str(checkpoints(run.folder)[-1])}}]
        again["time"]["steady"] = {"temperature": 1e-6}
        self.assert_below(self.solve(again).report["steady"]["cycles"], 2, "cycles")
        self.check_coarse_start(run)

    def check_coarse_start(self, run):
        """From a grid of half the cells, interpolated, to the same state."""
        fine = layered([40, 30], [0.2, 0.15])
        fine["initial"] = [{"expression": {"value": "300 + x"}}]   # not by full multigrid
        cold = self.solve(fine)
        fine["initial"] = [{"file": {"path": str(checkpoints(run.folder)[-1]),
                                     "interpolate": True}}]
        warm = self.solve(fine)
        self.assert_below(np.abs(warm.temperature() - cold.temperature()).max(), 1e-8, "T")
        first = [run.report["steady"]["history"][0]["change_K"] for run in (warm, cold)]
        self.assert_below(first[0], 0.5 * first[1], "change by the first cycle")

    def test_initial(self):
        """`initial: - steady: {}`: a run stays there; a restart starts from its checkpoint."""
        config = layered([13, 9, 7], [0.13, 0.09, 0.07])
        expected = direct(config)
        config["initial"].append({"steady": {}})
        config["time"] = {"steps": 6, "scheme": "sts2", "stages": 16}
        run = self.solve(config)
        self.assert_below(np.abs(run.temperature() - expected).max(), 1e-5, "T")
        whole = run.exact("field_hash")
        self.solve(config, sets=["time.steps=3"], output="cut")
        again = self.solve(config, "--restart", "auto", output="cut")
        self.assertEqual(again.exact("field_hash"), whole)
        config["initial"].reverse()
        result = self.isotherm("check", self.write(config))
        self.assert_code(result, 2)
        self.assert_says(result, "not the last")

    def test_too_few_cycles(self):
        config = layered([20, 15], [0.2, 0.15])
        result, folder = self.start(config, sets=["time.steady.cycles=2"])
        self.assert_code(result, 5)
        self.assert_says(result, "not reached after 2 cycles", "time.steady.cycles")
        self.assertTrue((folder / "postmortem.h5").exists())

    def test_refused(self):
        config = layered([20, 15], [0.2, 0.15])
        for key, value, says in (("run.precision", "float32", "the precision is not float64"),
                                 ("boundary.x_min.value", '"300 + t"', "varies in time"),
                                 ("run.stencil.order", "4", "order"),
                                 ("time.steady.temperature", "0.1 degC", "difference")):
            result = self.isotherm("check", self.write(config), "--set", f"{key}={value}")
            self.assert_code(result, 2)
            self.assert_says(result, says)


class Implicit(Case):
    def run_of(self, config, steps, end, **how):
        config = {**config, "time": {"end": end, "scheme": "implicit", "dt": end / steps}}
        return self.solve(config, **how)

    def test_order(self):
        """Halving the step quarters the error; faces vary in time; the heat is kept."""
        linear = layered([20, 9], [0.2, 0.09])
        linear["boundary"]["x_min"]["value"] = "320 + 40*sin(t/40)"
        linear["boundary"]["x_max"].update(ambient="290 - t/20", coefficient="40 + t")
        per_cell = varied([20, 9], [0.2, 0.09])
        air = with_air(varied([1, 9], [0.13, 0.09]), EDGES)
        exchanged = copy.deepcopy(air)
        exchanged["ambients"][0]["temperature"] = "280 + 20*sin(t/40)"
        for surface in exchanged["surfaces"]:
            surface.update(emissivity=0.8, flux="2e3*sin(t/30)", coefficient="60 + t/10")
        for name, config, end in (("linear", linear, 200), ("factors of cells", per_cell, 200),
                                  ("an ambient, graded", air, 200),
                                  ("an exchange", exchanged, 200),
                                  ("nonlinear", nonlinear([14, 8], [0.14, 0.08]), 40)):
            with self.subTest(name):
                exact = self.solve({**config, "time": {"end": end, "scheme": "sts2",
                                                       "tolerance": 1e-6}}).temperature()
                runs = [self.run_of(config, steps, end) for steps in (12, 24)]
                errors = [np.abs(run.temperature() - exact).max() for run in runs]
                self.assert_below(abs(errors[0] / errors[1] - 4), 1.2, f"ratio of {errors}")
                last = runs[1].history()[-1]
                self.assert_below(abs(last["heat_drift_J"]) / last["heat_J"], 1e-13, "drift")

    def test_same_bits(self):
        config = nonlinear([18, 14, 11], [0.09, 0.07, 0.055])
        config["boundary"]["x_min"]["value"] = "320 + t"
        whole = self.run_of(config, 4, 40).exact("field_hash")
        for ranks, backend in some(((2, "guard"), (5, "cpu")), 1):
            run = self.run_of(config, 4, 40, ranks=ranks, sets=[f"run.backend={backend}"])
            self.assertEqual(run.exact("field_hash"), whole)
        self.run_of(config, 4, 40, sets=["time.end=20"], output="cut")
        config["time"] = {"end": 40, "scheme": "implicit", "dt": 10}
        again = self.solve(config, "--restart", "auto", output="cut")
        self.assertEqual(again.exact("field_hash"), whole)

    def test_tolerance(self):
        """The length of each step by an estimate of its error; the same after a restart and on any
        number of ranks."""
        config = layered([20, 9], [0.2, 0.09])
        config["time"] = {"end": 3000, "scheme": "implicit", "tolerance": 1e-3}
        config["output"] = {"checkpoints": {"interval": 1500}}
        run = self.solve(config)
        config["time"].update(scheme="sts2", tolerance=1e-6)
        exact = self.solve(config).temperature()
        self.assert_below(np.abs(run.temperature() - exact).max(), 1e-3 * 60, "error")
        self.assert_below(run.report["steps"], 150, "steps")
        config["time"].update(scheme="implicit", tolerance=1e-3)
        whole = run.exact("field_hash")
        self.assertEqual(self.solve(config, ranks=2).exact("field_hash"), whole)
        again = self.solve(config, "--restart", str(checkpoints(run.folder)[0]), output="again")
        self.assertEqual(again.exact("field_hash"), whole)

    def test_backward_euler(self):
        """Halving the step halves the error; a step far too long for a jump keeps the range."""
        config = layered([20, 9], [0.2, 0.09])
        exact = self.solve({**config, "time": {"end": 200, "scheme": "sts2",
                                               "tolerance": 1e-6}}).temperature()
        sets = ["time.backward_euler=true"]
        runs = [self.run_of(config, steps, 200, sets=sets) for steps in (12, 24)]
        errors = [np.abs(run.temperature() - exact).max() for run in runs]
        self.assert_below(abs(errors[0] / errors[1] - 2), 0.3, f"ratio of {errors}")
        last = runs[1].history()[-1]
        self.assert_below(abs(last["heat_drift_J"]) / last["heat_J"], 1e-13, "drift")
        bar = slab(50, 0.1, {"type": "temperature", "value": 400},
                   {"type": "temperature", "value": 300}, {"conductivity": 10})
        run = self.run_of(bar, 2, 20, sets=sets)
        self.assert_below(run.temperature().max(), 400, "T")
        self.assert_below(300 - 1e-6, run.temperature().min(), "the least T")

    def test_stiff(self):
        """A step far longer than all times of the problem ends in its steady state."""
        for kind in (layered, varied):
            config = kind([13, 9, 7], [0.13, 0.09, 0.07])
            run = self.run_of(config, 3, 3e9)
            self.assert_below(np.abs(run.temperature() - direct(config)).max(), 1e-3, "T")

    def test_refused(self):
        """Also what `auto` does with a dt that no super step takes."""
        long = {**layered([9], [0.09]), "time": {"end": 1e6, "scheme": "auto", "dt": 5e5}}
        run = self.solve(quiet(long))
        self.assertEqual((run.report["scheme"], run.report["scheme_reason"]),
                         ("implicit", "auto: dt is longer than a super step can be"))
        result = self.isotherm("check", self.write(long), "--set", "run.precision=float32")
        self.assert_code(result, 2)
        self.assert_says(result, "the largest stable one of 64 stages is")
        config = {**layered([9], [0.09]), "time": {"end": 1, "scheme": "implicit"}}
        result = self.isotherm("check", self.write(config))
        self.assert_code(result, 2)
        self.assert_says(result, "implicit steps need `dt` or `tolerance`")


if __name__ == "__main__":
    unittest.main()
