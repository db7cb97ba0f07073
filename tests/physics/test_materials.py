"""Several materials on one grid: random problems against an independent solver, layers with a known
steady state, one field hash however a problem is run, and restarts."""
import math
import os
import unittest

import h5py
import numpy as np

import problems
from harness import SMALL, Case, cell_centers
from media import (ambients_anywhere, heated_body, solved_problem, some_problem, thick_body,
                   with_a_radius, with_ambients, with_face_factors, with_factors,
                   with_factors_of_many_sizes, with_graded_axes, with_many_sizes,
                   with_sources_of_temperature, with_surfaces)
from media_solver import Problem, check_flux, flux_of
from nonlinear import NonlinearProblem, nonlinear_problem, perfused_problem

STEPS = 24
RANDOM = int(os.environ.get("ISOTHERM_RANDOM_PROBLEMS", "3" if SMALL else "24"))


class RandomProblems(Case):
    def seeds(self):
        """Numbers of problems, and how fine their grids are."""
        return [(seed, 1) for seed in range(RANDOM)]

    def check_changed(self, changed, every=3, solver=None, first=0):
        """Problems at an interval, changed by changed(config, seed)."""
        for seed, scale in self.seeds()[first::every]:
            with self.subTest(seed=seed):
                def change(config, seed=seed):
                    return changed(config, seed)
                self.check(seed, *solved_problem(seed, STEPS, change, solver, scale))

    def test_agree_with_another_solver_and_on_any_number_of_ranks(self):
        self.check_changed(lambda config, seed: config, every=1)

    def test_with_properties_that_depend_on_temperature(self):
        self.check_changed(nonlinear_problem, solver=NonlinearProblem)

    def test_with_perfusion(self):
        self.check_changed(perfused_problem, every=4, solver=NonlinearProblem)

    def test_with_ambients(self):
        for first, change in enumerate((with_ambients, with_surfaces, ambients_anywhere)):
            self.check_changed(change, first=first)

    def test_with_sources_of_temperature(self):
        self.check_changed(with_sources_of_temperature)

    def test_with_properties_per_cell(self):
        media = (with_sources_of_temperature, with_ambients, with_a_radius, with_graded_axes,
                 ambients_anywhere, with_surfaces)
        for first, change in enumerate(media):
            self.check_changed(lambda config, seed, change=change: with_factors(
                change(config, seed), seed, self.folder), every=len(media), first=first)

    def test_on_graded_axes(self):
        self.check_changed(with_graded_axes)
        self.check_changed(with_a_radius, first=1)

    def test_with_many_sizes_of_cells(self):
        """Beyond the classes: conductances per cell, or of one material products of lines."""
        self.check_changed(with_many_sizes)
        self.check_changed(lambda config, seed: with_ambients(with_many_sizes(config, seed), seed),
                           every=6, first=1)
        self.check_changed(
            lambda config, seed: with_factors_of_many_sizes(config, seed, self.folder), every=6,
            first=2)
        config = {**with_many_sizes(some_problem(0), 0), "time": {"steps": 12}}
        config["grid"]["cells"] = [1 if axis in config["grid"] else n
                                   for axis, n in zip("xyz", config["grid"]["cells"])]
        self.assertEqual(*[self.run_config(config, "passes", "--overwrite", "--set",
                                           f"run.steps_per_pass={steps}").exact("field_hash")
                           for steps in (1, 3)])

    def test_with_factors_of_faces(self):
        """Of every kind of medium in turn."""
        media = [lambda config, seed: config, nonlinear_problem, with_ambients, lambda config, seed:
                 with_factors(with_graded_axes(config, seed), seed, self.folder)]
        for first, change in enumerate(media):
            self.check_changed(lambda config, seed, change=change: with_face_factors(
                change(config, seed), seed, self.folder), every=2*len(media), first=first,
                solver=NonlinearProblem if change is nonlinear_problem else None)

    def check(self, seed, config, problem, solution):
        expected, entered, added = solution
        grid = config["grid"]
        uniform, cells = not set("xyz") & set(grid), grid["cells"]
        grid["cells"] = [1 if axis in grid else n for axis, n in zip("xyz", cells)]
        with_heat = "heat_capacity_factor" not in str(config["materials"])
        config["output"] = {"history": {"every": 6, "materials": with_heat},
                            "checkpoints": {"every": STEPS // 2},
                            "snapshots": {"every": STEPS, "precision": "float64",
                                          "derived": ["heat_flux"]}}
        if uniform:
            config["output"]["history"]["melt_pool"] = True
            config["output"]["melting"] = float(np.quantile(expected[problem.body], 0.8))
        one = self.run_config(config, f"one{seed}")
        error = abs(one.temperature() - expected).max() / abs(expected).max()
        self.assertLess(error, 1e-12)
        volume = problem.unit
        last = one.history()[-1]
        heat = problem.heat_of(problem.classes >= 0, expected) * volume
        self.assertAlmostEqual(last["heat_J"] / heat, 1, delta=1e-12)
        self.assertLess(abs(last["boundary_heat_J"] - entered * volume), 1e-11 * heat)
        self.assertLess(abs(last["heat_drift_J"]), 1e-13 * heat)
        self.assertEqual("source_heat_J" in last, "sources" in config or "perfusion" in str(config))
        self.assertLess(abs(last.get("source_heat_J", 0) - added * volume), 1e-11 * heat)
        if uniform:
            self.check_pool(problem, one.temperature(), config["output"]["melting"], last)
        self.check_faces(problem, expected, last)
        if with_heat:
            self.check_materials(problem, expected, last)
        self.check_surfaces(problem, expected, last)
        flux = check_flux(self, problem, one, last["time_s"])
        body = expected[problem.body]
        mean = problem.mean(body, problem.share[problem.body])
        for what, value in (("min", body.min()), ("max", body.max()), ("mean", mean)):
            self.assertLess(abs(last[f"{what}_K"] / value - 1), 1e-12)
        ranks = min((2, 3, 5, 3, 2, 8)[seed % 6], max(cells) // 2)
        overlap = ("on", "off")[seed % 4 // 2]
        for backend, nranks, threads in self.ways(seed, ranks):
            other = self.run_config(config, f"other{seed}", "--overwrite", "--backend", backend,
                                    "--set", f"run.halo.overlap={overlap}", ranks=nranks,
                                    threads=threads)
            self.assertEqual(other.exact("field_hash"), one.exact("field_hash"),
                             f"{backend}, {nranks} ranks")
            self.assertEqual(other.history_bytes(), one.history_bytes(), f"{backend} {nranks}")
            self.assertEqual(flux_of(other).tobytes(), flux.tobytes(), f"{backend} {nranks}")
        if any(word in str(config) for word in ("becomes", "_factor")) or not uniform:
            middle = self.folder / f"one{seed}/checkpoints/step_{STEPS // 2:010d}.h5"
            rest = self.run_config(config, f"rest{seed}", "--restart", middle, ranks=ranks)
            self.assertEqual(rest.exact("field_hash"), one.exact("field_hash"))
            self.assertEqual(rest.history_bytes().splitlines()[-1],
                             one.history_bytes().splitlines()[-1])

    @staticmethod
    def ways(seed, ranks):
        """Backend, ranks and threads of runs that must agree bit for bit with one on the cpu."""
        return [[("cpu", 1, 2), ("guard", ranks, 1)], [("cpu", ranks, 1)]][seed % 2]

    def check_pool(self, problem, T, limit, row):
        """Between the isotherms on the profiles of the highest temperatures."""
        self.assertAlmostEqual(row["pool_volume_m3"] / (T > limit).sum() / math.prod(problem.h), 1)
        for axis in range(3):
            if f"pool_{'xyz'[axis]}_m" not in row:
                self.assertEqual(T.shape[2 - axis], 1)
                continue
            profile = np.moveaxis(T, 2 - axis, 0).reshape(T.shape[2 - axis], -1).max(axis=1)
            inside = np.flatnonzero(profile > limit)
            extent = inside[-1] - inside[0]
            for at, beyond in ((inside[0], inside[0] - 1), (inside[-1], inside[-1] + 1)):
                extent += 0.5 if not 0 <= beyond < len(profile) else (
                    (profile[at] - limit) / (profile[at] - profile[beyond]))
            self.assertAlmostEqual(row[f"pool_{'xyz'[axis]}_m"] / (extent * problem.h[axis]), 1)

    def check_faces(self, problem, T, row):
        for number, face in enumerate(problem.config["boundary"]):
            axis, shift = number // 2, 1 if number % 2 == 0 else -1
            if problem.is_periodic(axis):
                self.assertNotIn(f"flow_{face}_W", row)
                continue
            flow, mean, at_cells = problem.through(T, row["time_s"], axis, shift)
            scale = np.abs(problem.inflow(T, row["time_s"], axis, shift)).sum() + 1
            self.assertLess(abs(row[f"flow_{face}_W"] - flow), 1e-10 * scale)
            self.assertTrue(abs(row[f"T_{face}_K"] / mean - 1) < 1e-12 or math.isnan(mean))
            self.assertEqual(math.isnan(row[f"T_{face}_K"]), math.isnan(mean))
            self.check_patches(problem, T, row, axis, shift)

    def check_patches(self, problem, T, row, axis, shift):
        _, _, at_cells = problem.through(T, row["time_s"], axis, shift)
        edge = problem.edge(axis, shift)
        area = problem.area(axis, shift, edge)
        flows = problem.inflow(T, row["time_s"], axis, shift)[edge] * area
        numbers = problem.patches(axis, shift)
        condition = problem.faces[2 * axis + (shift == -1)]
        for number, patch in enumerate(condition.get("patches", []), 1):
            mask = numbers == number
            if "name" not in patch:
                continue
            flow, mean = row[f"flow_{patch['name']}_W"], row[f"T_{patch['name']}_K"]
            self.assertLess(abs(flow - flows[mask].sum()), 1e-10 * (abs(flows).sum() + area.max()))
            if np.isfinite(at_cells[mask]).any():
                self.assertLess(abs(mean / problem.mean(at_cells[mask], area[mask]) - 1), 1e-12)
            else:
                self.assertTrue(math.isnan(mean))

    def check_surfaces(self, problem, T, row):
        for surface in problem.config.get("surfaces", []):
            flow, area, mean = problem.surface(surface, T, row["time_s"])
            name = surface["name"]
            self.assertLess(abs(row[f"flow_{name}_W"] - flow), 1e-10 * (abs(flow) + area))
            self.assertLess(abs(row[f"area_{name}_m2"] / area - 1), 1e-12)
            self.assertLess(abs(row[f"T_{name}_K"] / mean - 1), 1e-12)

    def check_materials(self, problem, T, row):
        names = [material["name"] for material in problem.config["materials"]]
        self.assertEqual(any(name.startswith("heat_m") for name in row), len(names) > 1)
        for number, name in enumerate(names if len(names) > 1 else []):
            mask = problem.classes == number
            heat = problem.heat_of(mask, T) * problem.unit
            self.assertLess(abs(row[f"heat_{name}_J"] - heat), 1e-12 * abs(heat) + 1e-300)
            for what in ("min", "max", "mean"):
                found = row[f"{what}_{name}_K"]
                if mask.any():
                    expected = problem.mean(T[mask], problem.share[mask]) if what == "mean" else \
                        getattr(T[mask], what)()
                    self.assertLess(abs(found / expected - 1), 1e-12)
                else:
                    self.assertTrue(math.isnan(found))


@unittest.skipUnless("ISOTHERM_GPU_BACKEND" in os.environ, "no GPU backend in this build")
class RandomOnGpu(RandomProblems):
    """In the suite of the GPU builds. The finer grids are large enough for the staged kernel."""

    def setUp(self):
        super().setUp()
        config = some_problem(3)
        config["time"] = {"steps": 1}
        self.write(config, "probe.yaml")
        result = self.isotherm("run", "probe.yaml", "--output", "probe", "--backend",
                               os.environ["ISOTHERM_GPU_BACKEND"])
        if result.code == 4:
            self.skipTest(f"no GPU answers: {result.err.splitlines()[-1]}")
        self.assert_code(result, 0)

    def seeds(self):
        return [(seed, (1, 5)[seed % 2]) for seed in range(100, 100 + min(RANDOM, 24))]

    @staticmethod
    def ways(seed, ranks):
        backend = os.environ["ISOTHERM_GPU_BACKEND"]
        return [(backend, 1, 1), (backend, min(ranks, 3), 1)]

    def test_passes(self):
        """Of classes: three steps are one kernel, two are two, also with moving sources. Of high
        order: single steps. The heat of surfaces to ambients is that of each step, also where
        beams heat cells beside them; in thick_body the cells without ambients are some planes of
        some tiles."""
        order_6 = problems.mixed([37, 29, 23], "float32")
        order_6["run"].update({"stencil": {"order": 6}, "watch": {"every": 0}})
        order_6["time"]["dt"] *= 0.3
        gpu = os.environ["ISOTHERM_GPU_BACKEND"]
        random = [some_problem(seed) for seed in range(100, 103)]
        bodies = [with_ambients(some_problem(seed), seed) for seed in range(100, 110)
                  if len(some_problem(seed)["materials"]) > 1]
        ways = (("cpu", 1, 1), (gpu, 3, 1), (gpu, 4, 2), (gpu, 2, 3))
        after_steady = thick_body(False)
        after_steady["initial"].append({"steady": {}})
        for n, config in enumerate([order_6, thick_body(True), thick_body(False), heated_body(),
                                    after_steady] + [
                {**config, "time": {"steps": 12}} for config in random + bodies]):
            config["output"] = {"history": {"every": 4}}
            cells = config["grid"]["cells"]
            longest = cells.index(max(cells))   # cut there: others may have few cells
            runs = [self.run_config(
                config, f"{n}", "--overwrite", "--backend", backend,
                "--set", f"run.steps_per_pass={steps}", "--set", "run.decomposition="
                f"{[ranks if axis == longest else 1 for axis in range(len(cells))]}", ranks=ranks)
                for backend, steps, ranks in ways]
            results = [(run.exact("field_hash"), run.history()) for run in runs]
            for (backend, *way), found in zip(ways, results):
                self.assertEqual(repr(found), repr(results[0]), f"problem {n}: {backend}, {way}")


class Layers(Case):
    """A wall of three layers between two temperatures: exact in the steady state, at any
    resolution, with a contact resistance between the first two."""

    def test_a_wall_with_a_contact_is_exact(self):
        k, resistance = [45.0, 0.04, 1.7], 3e-3
        graded = [{"to": 0.04, "cells": 6, "ratio": 1.3}, {"to": 0.08, "cells": 5},
                  {"to": 0.12, "cells": 9, "ratio": 0.8}]
        for cells in (12, 24, 48, 1):
            grid = {"x": {"segments": graded}} if cells == 1 else {"upper": [0.12]}
            config = {
                "grid": {"cells": [cells], **grid},
                "materials": [{"name": name, "conductivity": value, "density": 1000.0,
                               "heat_capacity": 1.0 + n}
                              for n, (name, value) in enumerate(zip("abc", k))],
                "parts": [{"uniform": {"material": "a"}},
                          {"layer": {"axis": "x", "from": 0.04, "to": 0.08, "material": "b"}},
                          {"layer": {"axis": "x", "from": 0.08, "to": 0.12, "material": "c"}}],
                "contacts": [{"between": ["b", "a"], "resistance": resistance}],
                "initial": [{"expression": {"value": self.steady(k, resistance)}}],
                "boundary": {"x_min": {"type": "temperature", "value": 400.0},
                             "x_max": {"type": "temperature", "value": 300.0}},
                "time": {"steps": 2000},
                "output": {"checkpoints": {"every": 2000},
                           "snapshots": {"every": 2000, "precision": "float64",
                                         "derived": ["heat_flux"]},
                           "probes": {"every": 2000, "points": [
                               {"name": "off", "at": 0.0391},
                               {"name": "below", "at": 0.04},
                               {"name": "above", "at": 0.04 - 1e-15, "side": "above"},
                               {"name": "joint", "at": 0.08}, {"name": "past", "at": 0.0807}]}},
            }
            run = self.run_config(config, f"wall{cells}")
            final = run.temperature().ravel()
            x = (np.arange(cells) + 0.5) * 0.12 / cells
            if cells == 1:
                with h5py.File(run.folder / "checkpoints/step_0000002000.h5", "r") as file:
                    edges = file["T"].attrs["x_edges_m"]
                self.assertLess(abs(np.diff(edges)[1:6] / np.diff(edges)[:5] - 1.3).max(), 1e-12)
                x = (edges[:-1] + edges[1:]) / 2
            q = 100 / (0.04 / k[0] + resistance + 0.04 / k[1] + 0.04 / k[2])
            at_a = 400 - q * x / k[0]
            at_b = 400 - q * (0.04 / k[0] + resistance + (x - 0.04) / k[1])
            at_c = 300 + q * (0.12 - x) / k[2]
            exact = np.where(x < 0.04, at_a, np.where(x < 0.08, at_b, at_c))
            self.assertLess(abs(final - exact).max(), 1e-10)
            np.testing.assert_allclose(flux_of(run), q, rtol=1e-7)
            probes = (run.folder / "probes.csv").read_text().splitlines()[-1].split(",")[2:]
            side = 400 - q * 0.04 / k[0]
            joint = 300 + q * 0.04 / k[2]
            np.testing.assert_allclose(
                [float(value) for value in probes],
                [400 - q * 0.0391 / k[0], side, side - q * resistance, joint,
                 joint - q * 0.0007 / k[2]], rtol=0, atol=1e-10)

    @staticmethod
    def steady(k, resistance):
        """The exact solution as a formula: the scheme must leave it alone."""
        q = 100 / (0.04 / k[0] + resistance + 0.04 / k[1] + 0.04 / k[2])
        return (f"x < 0.04 ? 400 - {q / k[0]!r}*x : (x < 0.08 ? "
                f"{400 - q * (0.04 / k[0] + resistance)!r} - {q / k[1]!r}*(x - 0.04) : "
                f"300 + {q / k[2]!r}*(0.12 - x))")


class Graded(Case):
    """A mode of a rod whose ends are held, on cells of widths that vary smoothly."""

    def rod(self, cells):
        s = np.linspace(0, 1, cells + 1)
        edges = (s + 0.4 / (2 * np.pi) * np.sin(2 * np.pi * s)).tolist()
        held = {"type": "temperature", "value": 300.0}
        return {"grid": {"cells": [1], "x": {"edges": [0.0, *edges[1:-1], 1.0]}},
                "material": {"diffusivity": 1.0},
                "initial": [{"expression": {"value": f"300 + 50*sin({math.pi!r}*x)"}}],
                "boundary": {"x_min": held, "x_max": held}, "time": {"end": 0.05},
                "output": {"checkpoints": {"interval": 0.05}}}

    def test_is_of_second_order(self):
        errors = []
        for cells in (16, 32, 64):
            config = self.rod(cells)
            edges = np.array(config["grid"]["x"]["edges"])
            mean = -np.diff(np.cos(math.pi * edges)) / (math.pi * np.diff(edges))
            exact = 300 + 50 * mean * math.exp(-math.pi**2 * 0.05)
            T = self.run_config(config, f"rod{cells}").temperature().ravel()
            errors.append(np.sqrt((np.diff(edges) * (T - exact)**2).sum()))
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(math.log2(coarse / fine), 2, delta=0.1, msg=str(errors))

    def test_a_restart_and_a_comparison_refuse_other_edges(self):
        config = self.rod(16)
        self.run_config(config, "rod")
        config["grid"]["x"]["edges"][1] *= 1.01
        last = next((self.folder / "rod/checkpoints").glob("step_*.h5"))
        result = self.run_config(config, "other", "--restart", last, code=2)
        self.assertIn("grid.x.edges", result.err)
        self.run_config(config, "other", "--overwrite")
        result = self.isotherm("compare", "rod", "other")
        self.assertEqual(result.code, 2)
        self.assertEqual(self.isotherm("compare", "rod", "rod").code, 0)


class Surfaces(Case):
    def test_a_probe_on_a_face_has_its_temperature(self):
        config = some_problem(11)
        problem = Problem(config)
        dt = float(f"{0.9 * problem.stable_dt():.6g}")
        config["boundary"]["x_min"] = {"type": "convection", "coefficient": 900.0, "ambient": 450.0}
        config["boundary"]["x_max"] = {"type": "flux", "value": 1.5e4}
        config["time"] = {"steps": STEPS, "dt": dt}
        problem = Problem(config)
        x, y, z = (axis.ravel() for axis in cell_centers(config))
        names = [f"p{n}" for n in range(min(5, len(y)))]
        used = len(config["grid"]["cells"])
        config["output"] = {
            "checkpoints": {"every": STEPS},
            "probes": {"every": STEPS, "points": [
                {"name": name, "at": [0.0, float(y[n]), float(z[0])][:used]}
                for n, name in enumerate(names)]}}
        run = self.run_config(config, "one")
        _, _, face = problem.through(run.temperature(), STEPS * dt, 0, 1)
        rows = (run.folder / "probes.csv").read_text().splitlines()
        values = [float(value) for value in rows[-1].split(",")[2:]]
        np.testing.assert_allclose(values, face[0, :len(names), 0], rtol=1e-12)
        two = self.run_config(config, "two", ranks=3)
        self.assertEqual((two.folder / "probes.csv").read_bytes(),
                         (run.folder / "probes.csv").read_bytes())


class Files(Case):
    def problem(self):
        config = some_problem(3)
        problem = Problem(config)
        config["time"] = {"steps": STEPS, "dt": float(f"{0.9 * problem.stable_dt():.6g}")}
        config["output"] = {"checkpoints": {"every": STEPS // 2, "keep": 3}}
        return config, problem

    def test_numbers_from_a_file_are_the_same_as_shapes(self):
        config, problem = self.problem()
        names = [material["name"] for material in config["materials"]]
        shapes = self.run_config(config, "shapes")
        with h5py.File(self.folder / "numbers.h5", "w") as file:
            file["material"] = (len(names) - 1 - problem.classes).astype(np.uint8)
        config["parts"] = [{"file": {"path": "numbers.h5", "materials": names[::-1]}}]
        for ranks in (1, 3):
            file = self.run_config(config, f"file{ranks}", ranks=ranks)
            self.assertEqual(file.exact("field_hash"), shapes.exact("field_hash"))
        labels = {64 + 3 * n: name for n, name in enumerate(names)}
        with h5py.File(self.folder / "numbers.h5", "w") as file:
            file["material"] = (64 + 3 * problem.classes).astype(np.int32)
        config["parts"][0]["file"]["materials"] = labels
        by_label = self.run_config(config, "labels", ranks=2)
        self.assertEqual(by_label.exact("field_hash"), shapes.exact("field_hash"))
        for change, says in (({"64": names[1], "67": names[0]}, "parts[0].file.materials: {...}"),
                             ({}, "has no name for this number"), ({"a": "m0"}, "not an integer")):
            config["parts"][0]["file"]["materials"] = change or {64: names[0]}
            last = f"labels/checkpoints/step_{STEPS:010d}.h5"
            more = ["--restart", last] if "67" in change else []
            result = self.run_config(config, "other", *more, code=2)
            self.assertIn(says, result.err)

    def test_a_restart_continues_bit_for_bit_and_refuses_other_materials(self):
        config, _ = self.problem()
        whole = self.run_config(config, "whole")
        middle = f"whole/checkpoints/step_{STEPS // 2:010d}.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
        self.assertEqual(rest.report["heat_drift_J"], whole.report["heat_drift_J"])
        config["parts"].append({"box": {"lower": [0.0] * len(config["grid"]["cells"]),
                                        "upper": config["grid"]["upper"], "material": "m0"}})
        result = self.run_config(config, "other", "--restart", middle, code=2)
        self.assertIn("parts", result.err)


class Patches(Case):
    """What the random problems leave out."""

    def config(self):
        disc = {"name": "lid", "disc": {"center": [0.5, 0.5], "radius": 0.3},
                "type": "convection", "coefficient": "50*(1 + t)", "ambient": 400.0}
        wall = {"type": "flux", "value": 0.0}
        return {
            "grid": {"cells": [12, 10, 8]},
            "material": {"conductivity": 20.0, "density": 1000.0, "heat_capacity": 100.0},
            "initial": [{"uniform": {"value": 300.0}}],
            "boundary": {**{face: wall for face in ("x_min", "x_max", "y_min", "y_max", "z_min")},
                         "z_max": {"type": "radiation", "emissivity": 0.5, "ambient": 600.0,
                                   "patches": [disc, {"rectangle": {"lower": [0.0, 0.0],
                                                                    "upper": [0.5, 1.0]},
                                                      "type": "temperature", "value": 350.0}]}},
            "time": {"steps": 40},
            "output": {"history": {"every": 5}, "checkpoints": {"every": 20}},
        }

    def test_a_restart_has_the_same_bits(self):
        config = self.config()
        whole = self.run_config(config, "whole")
        middle = self.folder / "whole" / "checkpoints" / "step_0000000020.h5"
        for ranks, threads in ((1, 2), (3, 1)):
            rest = self.run_config(config, f"rest{ranks}", "--restart", middle, ranks=ranks,
                                   threads=threads)
            self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
            self.assertEqual(rest.history()[-1], whole.history()[-1])

    def test_a_uniform_run_can_continue_with_patches(self):
        config = self.config()
        z_max, config["boundary"]["z_max"] = config["boundary"]["z_max"], {"type": "flux",
                                                                          "value": 1e4}
        self.run_config(config, "flux")
        middle = self.folder / "flux" / "checkpoints" / "step_0000000020.h5"
        config["boundary"]["z_max"] = z_max
        rest = self.run_config(config, "rest", "--restart", middle)
        last = rest.history()[-1]
        self.assertLess(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"])
        self.assertIn("boundary.z_max.type", rest.result.err)

    def test_a_patch_that_others_cover_is_refused(self):
        config = self.config()
        patches = config["boundary"]["z_max"]["patches"]
        patches.insert(0, patches[0])
        patches[1] = {key: value for key, value in patches[1].items() if key != "name"}
        self.write(config, "case.yaml")
        for words in (["plan", "case.yaml"], ["run", "case.yaml", "--output", "out"]):
            result = self.isotherm(*words)
            self.assert_code(result, 2)
            self.assert_says(result, "case.yaml:", "boundary.z_max.patches[0]: contains no cell of "
                             "the face, or later patches cover them all")


if __name__ == "__main__":
    unittest.main()
