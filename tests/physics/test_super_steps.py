"""The same bits of super steps for ranks, backends, overlap, steps per pass and restarts, of a
fixed length and by a tolerance; the ledger closes, and errors are below the tolerance."""
import math
import os
import random
import subprocess
import sys
import unittest

import numpy as np

import media
import nonlinear
import problems
from gallery import GALLERY, Example
from harness import BINARY, Case, checkpoints, short_dt, some
from test_bitwise import Bitwise, quiet
from test_tables import rod

CELLS = [23, 17, 13]
GPU = os.environ.get("ISOTHERM_GPU_BACKEND", "cpu")
# (backend, overlap, ranks, steps per pass)
WAYS = (("guard", "on", 2, 3), (GPU, "on", 3, 1), ("guard", "off", 1, 4), ("cpu", "off", 5, 2),
        (GPU, "on", 8, 4))


class SuperSteps(Bitwise):
    def config(self, precision="float64", **time):
        config = problems.mixed(CELLS, precision)
        config["boundary"]["x_min"]["value"] = "350 + 40*sin(0.2*t)"
        dt = short_dt(config, 1)
        film = dict(config["boundary"]["x_max"], coefficient="900 + 500*sin(0.3*t)")
        config["boundary"]["x_max"] = film
        config["time"] = {"end": float(f"{80 * dt:.6g}"), **time}
        config["output"] = {"history": {"every": 1}, "checkpoints": {"every": 2, "keep": 99}}
        return config, dt

    def check(self, config, ways=2):
        reference = self.solve(config, sets=["run.backend=cpu", "run.halo.overlap=off",
                                             "run.steps_per_pass=1"])
        if config["run"]["precision"] == "float64":
            self.assert_ledger_closes(reference.report, 1e-13)
        wide = config["run"].get("stencil", {"order": 2})["order"] > 2
        for backend, overlap, ranks, steps in some(WAYS, ways):
            steps = 1 if wide else steps   # the layers of several need thick blocks
            self.expect_same(reference, quiet(config), f"{backend}, {overlap}, {ranks} ranks",
                             ranks=ranks, sets=[f"run.backend={backend}",
                                                f"run.halo.overlap={overlap}",
                                                f"run.steps_per_pass={steps}"])
        saved = checkpoints(reference.folder)
        again = self.solve(quiet(config), "--restart", str(saved[len(saved) // 2]), ranks=2)
        self.assertEqual(again.exact("field_hash", "steps", "heat_J", "boundary_heat_J"),
                         reference.exact("field_hash", "steps", "heat_J", "boundary_heat_J"))
        return reference

    def assert_ledger_closes(self, report, most):
        heat = sum(abs(report.get(key, 0)) for key in ("heat_J", "boundary_heat_J",
                                                       "source_heat_J"))
        self.assert_below(abs(report["heat_drift_J"]) / heat, most, "heat")

    def test_fixed_length(self):
        for scheme, precision, order in (("sts2", "float64", 2), ("sts1", "float32", 2),
                                         ("sts2, monotone", "float64", 2), ("sts2", "float64", 4)):
            config, dt = self.config(precision, scheme=scheme[:4], dt=0)
            config["run"]["stencil"] = {"order": order}
            config["time"].update(dt=20 * dt, monotone="monotone" in scheme)
            run = self.check(config)
            self.assertEqual(run.report["scheme"], scheme)

    def test_tolerance(self):
        """Data that super steps resolve, data for which many of them are repeated, and a tolerance
        with which super steps would be so short that forward Euler takes over."""
        for formula, precision, share, repeated, tolerance in (
                ("350 + 40*sin(0.2*t)", "float32", 1, 0, 2e-3),
                ("350 + 40*sin(20*t)", "float64", 0.12, 3, 2e-3),
                ("350 + 40*sin(2*t)", "float64", 3, 0, 0.05)):
            config, _ = self.config(precision, scheme="auto", tolerance=tolerance)
            config["boundary"]["x_min"]["value"] = formula
            config["time"]["end"] *= share
            run = self.check(config, len(WAYS))
            self.assertEqual(run.report["scheme"], "sts2")
            self.assertGreaterEqual(run.report["step_control"]["rejected"], repeated)
            self.assertIn("partly without an estimate", run.report["scheme_reason"])
            config["time"]["scheme"] = "sts2"
            levels = self.solve(config).report["step_control"]["levels"]
            self.assertLessEqual(run.report["step_control"]["levels"], 1.1 * levels)
        config["time"] = {"end": config["time"]["end"]}
        steps = self.solve(config).report["steps"]  # of forward Euler
        self.assertLessEqual(run.report["step_control"]["levels"], 1.15 * steps)

    @staticmethod
    def curve(config, seed):
        """Properties that depend on temperature, and perfusion."""
        for material in config["materials"]:
            material["heat_capacity"] = [[250, material["heat_capacity"]],
                                         [600, 1.5 * material["heat_capacity"]]]
        nonlinear.perfused_problem(config, seed)

    def test_tolerance_in_random_problems(self):
        def factors(config, seed):
            media.with_face_factors(config, seed, self.folder)

        for seed, change in some(((41, factors), (40, self.curve)), 1):
            config = media.draw_problem(random.Random(seed), seed, 2)
            dt = media.Problem(config).stable_dt()
            change(config, seed)
            config["time"] = {"end": float(f"{60 * dt:.6g}"), "scheme": "sts2",
                              "tolerance": 1e-3}
            config["output"] = {"history": {"interval": float(f"{17 * dt:.6g}")},
                                "checkpoints": {"every": 8, "keep": 99}}
            self.check(config, len(WAYS))


class Tolerance(Example):
    """The error in time is between 0.001 and 1 of the tolerance, in all examples that do not
    melt, on coarse grids, without `steady`, at times at which temperatures change, and in the race
    of time schemes; `auto` takes no more levels than forward Euler there, where that keeps the
    tolerance."""

    EXAMPLES = {"battery": 1500, "borehole": 7.776e6, "chip_stack": 0.5, "composite_slab": 2400,
                "fin": 3, "five_tracks": 6e-3, "graded_package": 0.3, "heat_sink": 2,
                "hot_plate": 40, "hot_wire": 10, "hyperthermia": 100, "laser_track": 3e-3,
                "layered_wall": 1e4, "leakage": 4, "package": 5, "radiating_slab": 500,
                "sphere_cooling": 20, "wall_over_a_year": 1e6}
    OTHERS = {"freeze_pipe", "freezing", "melt_track", "permafrost",   # these melt
              "effective_conductivity", "ev6", "jet_plate", "nafems_t4"}   # these are steady
    CELLS = {"borehole": [48, 48], "chip_stack": [20, 20, 16], "five_tracks": [40, 28, 12],
             "hyperthermia": [15, 15, 15], "laser_track": [32, 16, 12],
             "sphere_cooling": [12, 12, 12]}

    def solve_until(self, name, end, scheme, tolerance):
        cells = [f"grid.cells={self.CELLS[name]}"] if name in self.CELLS else []
        return self.solve_example(
            name, f"{name}_{scheme}_{tolerance}", *cells,
            f"time={{end: {end}, scheme: {scheme}, tolerance: {tolerance}}}",
            f"output={{checkpoints: {{interval: {end}}}, history: {{interval: {end}}}}}")

    def test_examples(self):
        self.assertEqual({path.stem for path in GALLERY.glob("*.yaml")},
                         self.OTHERS | set(self.EXAMPLES))
        for name, end in some(self.EXAMPLES.items(), 3):
            exact = self.solve_until(name, end, "sts2", 1e-5)
            for scheme in ("sts2", "auto"):
                run = self.solve_until(name, end, scheme, 1e-3)
                error = np.abs(run.temperature() - exact.temperature()).max()
                share = error / exact.report["step_control"]["range_K"] / 1e-3
                self.assert_below(share, 1, f"{name}, {scheme}: error")
                self.assert_below(1e-3, share, f"{name}, {scheme}: care")

    def test_race(self):
        script = GALLERY.parent.parent / "jobscripts" / "race.py"
        table = subprocess.run([sys.executable, script, BINARY, "--auto", "--cells", "12", "16",
                                "24", "--set", "run.backend=cpu"], check=True,
                               capture_output=True, text=True).stdout
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
        self.assertEqual(len(rows), 15)
        for name, _, *cells in rows:
            for cell in cells:
                levels, _, share = map(float, cell.strip("()").split(", "))
                self.assert_below(share, 1, f"{name}: error of {cell}")
                self.assertTrue(cell[0] == "(" or levels <= 1.02, f"{name}: levels of {cell}")
            self.assert_below(1e-3, share, f"{name}: care of {cell}")


class Errors(Case):
    """Against short super steps on the same grid."""

    PULSES = {"rows": [[0, 300], [1.5, 420], [3, 300]], "between": "steps"}

    def field(self, config, **time):
        end = config["time"]["end"]
        run = self.solve(dict(config, time={"end": end, "scheme": "sts2", **time},
                              output={"checkpoints": {"interval": end}}))
        return run.temperature()

    def test_jump_at_the_end_of_a_super_step(self):
        """A step that lands on a row of a table takes the value before it: the order is 2."""
        config = rod(self.PULSES)
        exact = self.field(config, dt=0.0125)
        errors = [np.max(np.abs(self.field(config, dt=dt) - exact)) for dt in (0.1, 0.05)]
        self.assert_below(errors[1], errors[0] / 3, "error of half the step")
        self.assert_below(errors[0], 0.5, "error")

    def test_errors_are_below_the_tolerance(self):
        config = rod("350 + 40*sin(2*t)")
        exact = self.field(config, tolerance=1e-6)
        for tolerance in (1e-2, 1e-3, 1e-4):
            for how in ({"tolerance": tolerance}, {"max_error": 90 * tolerance}):
                error = np.max(np.abs(self.field(config, **how) - exact)) / 90
                self.assert_below(error, tolerance, f"error with {how}")
                self.assert_below(1e-3 * tolerance, error, f"care with {how}")
        config.update(run={"precision": "float32"}, output={"history": {"every": 50}},
                      time={"end": 6.0, "scheme": "sts2", "tolerance": 1e-5})
        report = self.solve(config).report   # its roundings repeat no steps
        self.assert_below(report["step_control"]["rejected"], 0.1 * report["steps"], "repeated")

    def test_order_with_all_media_and_sources(self):
        """Of sts2, on a plate; those of boundary types are measured by `isotherm verify`."""
        plain = {"name": "m", "density": 7800, "heat_capacity": 600, "conductivity": 30}
        other = dict(plain, name="n", conductivity=5)
        layers = [{"uniform": {"material": "m"}},
                  {"layer": {"axis": "x", "from": 0.02, "to": 0.04, "material": "n"}}]
        blood = {"rate": 0.3, "blood_density": 1050, "blood_heat_capacity": 3617,
                 "arterial_temperature": 320}
        patch = {"rectangle": {"lower": [0.01], "upper": [0.02]}, "type": "convection",
                 "coefficient": "2000 + 900*sin(t)", "ambient": 350}
        factors = {**patch, "ambient": "350 + 9*sin(t)",
                   "coefficient_factor": {"formula": "0.5 + 20*x"},
                   "ambient_factor": {"formula": "1 + x"}}
        cases = {
            "wide stencil": {"run": {"stencil": {"order": 6}}},
            "classes with a contact": {"materials": [plain, other], "parts": layers, "contacts": [
                {"between": ["m", "n"], "resistance": 1e-4}]},
            "tables": {"materials": [dict(plain, conductivity=[[290, 40], [400, 20]],
                                          heat_capacity=[[290, 500], [400, 700]])]},
            "perfusion": {"materials": [dict(plain, perfusion=blood)]},
            "ambient": {"materials": [plain], "parts": layers, "surfaces": [
                {"between": ["m", "n"], "coefficient": 500, "area": "cells"}],
                        "ambients": [{"name": "n", "temperature": 320}]},
            "exchange": {"materials": [plain], "parts": layers, "surfaces": [
                {"between": ["m", "n"], "coefficient": "500 + 90*sin(t)", "emissivity": 0.9,
                 "flux": "2e4*sin(t)", "area": "cells"}],
                         "ambients": [{"name": "n", "temperature": "320 + 30*sin(t)"}]},
            "source of time": {"sources": [{"box": {"lower": [0.01] * 2, "upper": [0.02] * 2,
                                                    "density": 2e7, "factor": "sin(t)"}}]},
            "moving source": {"sources": [{"gaussian": {
                "radius": 0.005, "power": 3e4, "x": "0.01 + 2e-3*t", "y": 0.01}}]},
            "patch": {"patches": [patch]}, "factors of cells": {"patches": [factors]}}
        for name, change in cases.items():
            config = rod("300 + 40*sin(0.5*t)^2", **change)
            config["grid"] = {"cells": [20, 12], "upper": [0.04, 0.024]}
            config["boundary"].update({
                "y_min": {"type": "flux", "value": 0, "patches": config.pop("patches", [])},
                "y_max": {"type": "convection", "coefficient": 500, "ambient": 320}})
            if not config["boundary"]["y_min"]["patches"]:
                del config["boundary"]["y_min"]["patches"]
            if "materials" in change:
                del config["material"]
                config.setdefault("parts", layers[:1])
            exact = self.field(config, dt=0.01)
            errors = [np.max(np.abs(self.field(config, dt=dt) - exact)) for dt in (0.2, 0.1, 0.05)]
            orders = np.log2(np.array(errors[:2]) / errors[1:])
            self.assert_below(np.max(np.abs(orders - 2)), 0.15, f"{name}: orders {orders}")

    def test_outputs_within_steps(self):
        """Their times change no step; their values have the accuracy of the ends, and the ledger
        closes in each, also with an enthalpy. A restart on other ranks writes the same."""
        points = [{"name": f"p{x}", "at": [1e-3 * x]} for x in (1, 5, 20)]
        config = rod("350 + 40*sin(2*t)",
                     output={"history": {"interval": 0.037}, "snapshots": {"times": [1.23, 4.1]},
                             "probes": {"interval": 0.037, "points": points}})
        curved = dict(config, parts=[{"uniform": {"material": "m"}}],
                      materials=[{"name": "m", "density": 7800, "heat_capacity": 600,
                                  "conductivity": [[290, 40], [400, 20]]}])
        del curved["material"]
        for of, ways in ((curved, [("float64", 1e-3)]),
                         (config, [("float64", 1e-4), ("float32", 1e-3)])):
            exact = self.rows(self.solve(of, sets=["time.scheme=sts2", "time.dt=6e-3"]))
            for precision, tolerance in ways:
                run = self.check_outputs(of, precision, tolerance, exact)
        rows = self.rows(run)
        middle = checkpoints(run.folder)[1]
        again = self.solve(run.config, "--restart", str(middle), ranks=3,
                           sets=["run.backend=guard"])
        self.assertEqual(again.exact("field_hash", "steps"), run.exact("field_hash", "steps"))
        later = rows[:, 0] > int(middle.stem[5:])
        self.assertEqual(self.rows(again).tolist(), rows[later].tolist())
        self.write(dict(config, time={"end": 6.0, "scheme": "implicit", "tolerance": 1e-3}))
        self.assertIn("not smooth", self.isotherm("plan", "config.yaml").out)

    def check_outputs(self, config, precision, tolerance, exact):
        config = dict(config, run={"precision": precision},
                      time={"end": 6.0, "scheme": "sts2", "tolerance": tolerance},
                      output={**config["output"], "checkpoints": {"every": 10, "keep": 99}})
        run = self.solve(config)
        run.config = config
        few = self.solve(dict(config, output={"history": {"interval": 6.0}}))
        rows = self.rows(run)
        control = run.report["step_control"]
        self.assertEqual(self.rows(run, "history.csv")[-1, -3:].tolist(),
                         [control[key] for key in ("rejected", "levels", "last_error_K")])
        self.assertEqual(run.exact("field_hash"), few.exact("field_hash"))
        self.assertEqual(run.report["step_control"], few.report["step_control"])
        self.assert_below(few.report["steps"], 0.7 * run.report["steps"], "steps")
        self.assertEqual(rows[:, 1].tolist(), exact[:, 1].tolist())
        error = np.max(np.abs(rows - exact)[:, 2:]) / 90
        self.assert_below(error, tolerance, f"{precision}, {tolerance}: error")
        if precision == "float64":
            heat, _, drift = self.rows(run, "history.csv")[:, 6:9].T
            self.assert_below(np.max(np.abs(drift)) / np.max(heat), 1e-13, "heat")
        return run

    def rows(self, run, name="probes.csv"):
        return np.loadtxt(run.folder / name, delimiter=",", skiprows=1)

    def test_auto_takes_no_more_levels_than_euler(self):
        """Of a dt; and of a tolerance that forward Euler meets on a grid that is not too coarse,
        with two levels for each estimate and two for its other work."""
        config = rod("350 + 40*sin(2*t)", output={"history": {"every": 10}})
        dt = short_dt(config, 1)
        for length, scheme in ((0.9, "euler"), (1.5, "euler"), (7.9, "euler"), (9, "sts2")):
            config["time"] = {"end": 72 * dt, "dt": length * dt, "scheme": "auto"}
            report = self.solve(config).report
            self.assertEqual(report["scheme"], scheme, length)
            levels = report["steps"] * {"euler": 1, "sts2": 8}[scheme]
            self.assertLessEqual(levels, math.ceil(72 / min(length, 1)))
        self.write(config)
        self.assertIn("super steps", self.isotherm("plan", "config.yaml", "--set",
                                                   f"time.dt={9 * dt}").out)
        self.assertIn("no fewer levels", self.isotherm("plan", "config.yaml", "--set",
                                                       f"time.dt={4 * dt}").out)
        config["time"] = {"end": 6.0}
        config["grid"]["cells"] = [120]
        exact = self.field(config, tolerance=1e-6)
        euler = self.solve(dict(config, output={"checkpoints": {"interval": 6.0}}))
        self.assert_below(np.max(np.abs(euler.temperature() - exact)) / 90, 1e-2, "forward Euler")
        control = self.solve(dict(config, time={"end": 6.0, "scheme": "auto", "tolerance": 1e-2}))
        report = control.report
        estimates = report["steps"] + report["step_control"]["rejected"]
        self.assertLessEqual(report["step_control"]["levels"] + 2 * estimates,
                             1.02 * euler.report["steps"])

    def test_monotone(self):
        """After super steps over the size of a hot block in three dimensions."""
        config = {"grid": {"cells": [24] * 3, "upper": [1] * 3},
                  "material": {"conductivity": 1, "density": 1, "heat_capacity": 1},
                  "initial": [{"uniform": {"value": 300}},
                              {"box": {"lower": [0.375] * 3, "upper": [0.625] * 3, "value": 400}}],
                  "boundary": {face: {"type": "flux", "value": 0} for face in
                               ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")},
                  "output": {"checkpoints": {"every": 1}}}
        for monotone, least in ((True, 299.99), (False, 290)):
            config["time"] = {"steps": 1, "scheme": "sts2", "stages": 32, "safety": 1,
                              "monotone": monotone}
            run = self.solve(config)
            self.assert_below(least, run.report["min_K"], f"monotone: {monotone}")
        self.assert_below(run.report["min_K"], 299, "undershoot of sts2")

    def test_until_steady(self):
        """The steady profile is linear; the run ends near it, on any number of ranks."""
        config = rod(400, time={"end": 1e5, "scheme": "sts2", "tolerance": 1e-3,
                                "until": {"distance": 0.05}},
                     output={"checkpoints": {"interval": 1e5}})
        config["boundary"]["x_max"] = {"type": "temperature", "value": 300}
        run = self.solve(config)
        exact = 400 - 100 * (np.arange(40) + 0.5) / 40
        error = np.max(np.abs(run.temperature().ravel() - exact))
        self.assert_below(error, 0.05, "distance")
        self.assert_below(1e-4, error, "early enough")
        ranks = self.solve(config, ranks=3, sets=["run.backend=guard"])
        self.assertEqual(ranks.exact("field_hash", "steps"), run.exact("field_hash", "steps"))
        config["time"]["until"] = {"rate": 1e-3}
        decay = 30 / (7800 * 600) * (math.pi / 0.04)**2   # of the slowest mode, 1/s
        error = np.max(np.abs(self.solve(config).temperature().ravel() - exact))
        self.assert_below(error * decay, 1e-3, "rate")
        self.assert_below(1e-5, error * decay, "early enough")

    def test_refusals(self):
        bad = (({"tolerance": 1e-3}, "needs scheme: sts2, implicit or auto"),
               ({"scheme": "sts2", "tolerance": 0.5}, "the largest is 0.1"),
               ({"scheme": "sts2", "tolerance": 1e-9}, "1e-8 to 0.1"),
               ({"scheme": "sts2", "max_error": 0}, "above 0"),
               ({"scheme": "sts2", "tolerance": 1e-3, "dt": 1}, "dt"),
               ({"scheme": "sts2", "tolerance": 1e-3, "stages": 8}, "stages"),
               ({"scheme": "sts2", "tolerance": 1e-3, "monotone": True}, "`dt` or `stages`"),
               ({"scheme": "sts1", "stages": 8, "monotone": True}, "needs scheme: sts2"),
               ({"scheme": "sts2", "stages": 96, "monotone": True}, "at most 48"),
               ({"scheme": "sts2", "stages": 8, "until": {"rate": 1}}, "needs a tolerance"))
        for time, message in bad:
            self.refuse(rod(400, time={"end": 6, **time}), message)
        twice = {"run": {"self_check": {"share": 1}}}
        self.refuse(rod(400, time={"end": 6, "scheme": "sts2", "tolerance": 1e-3}, **twice),
                    "without tolerance")
        single = {"run": {"precision": "float32"}}
        self.refuse(rod(400, time={"end": 6, "scheme": "sts2", "stages": 96}, **single),
                    "with this precision; at most 64")
        self.refuse(rod(400, time={"end": 6, "scheme": "sts2", "tolerance": 1e-6}, **single),
                    "at least 1e-5")
        hot = rod(400, time={"end": 6, "scheme": "sts2", "stages": 64})
        hot["boundary"]["x_max"] = {"type": "radiation", "emissivity": 0.9, "ambient": 300}
        self.refuse(hot, "in a nonlinear problem; at most 32")
        melting = {"name": "m", "density": 1000, "heat_capacity": 900, "conductivity": 10,
                   "latent_heat": 3e5, "solidus": 350}
        config = rod(400, time={"end": 6, "scheme": "sts2", "tolerance": 1e-3},
                     materials=[melting], parts=[{"uniform": {"material": "m"}}])
        del config["material"]
        self.refuse(config, "a material melts")
        config["time"] = {"end": 6, "scheme": "sts2", "stages": 8}
        self.refuse(config, "a material melts")

    def refuse(self, config, message):
        self.write(config)
        result = self.isotherm("check", "config.yaml")
        self.assert_code(result, 2)
        self.assertIn(message, result.err)


if __name__ == "__main__":
    unittest.main()
