"""Sources by a table over temperature in implicit steps: their order, an exact ledger, the same
bits on ranks and after restarts, run-aways, and perfusion that is such a source."""
import copy
import csv
import math
import unittest

import h5py
import numpy as np

from gallery import GALLERY
from harness import Case, checkpoints, some
from steady import layered

INSULATED = {"type": "flux", "value": 0}


def quiet(config):
    """Without rows before the end, where steps would end, too."""
    return {**config, "output": {"history": {"interval": config["time"]["end"]},
                                 "checkpoints": {"every": 10**6}}}


def uniform_cells(rows, **time):
    """An insulated body of one temperature."""
    return quiet({"grid": {"cells": [5, 4], "upper": [5e-3, 4e-3]},
                  "material": {"conductivity": 1, "density": 1000, "heat_capacity": 1000},
                  "sources": [{"uniform": {"density": rows}}],
                  "initial": [{"uniform": {"value": 310}}],
                  "boundary": {f"{a}_{end}": INSULATED for a in "xy" for end in ("min", "max")},
                  "time": {"scheme": "implicit", **time}})


def igniting(**time):
    """The heat of a reaction grows up to a bound: the body gets far warmer within a short time."""
    rows = [[350, 2e7], [360, 3.3e7], [370, 5.5e7], [390, 1.3e8], [500, 2e8], [5000, 2e8]]
    materials = [{"name": name, "conductivity": k, "density": 2330, "heat_capacity": c}
                 for name, k, c in (("a", 1, 700), ("b", 40, 300))]
    faces = {f"{axis}_{end}": INSULATED for axis in "yz" for end in ("min", "max")}
    return quiet({"grid": {"cells": [20, 5, 4], "upper": [2e-3, 9e-4, 7e-4]},
                  "materials": materials, "parts": [{"uniform": {"material": "a"}}, {"box": {
                      "lower": [5e-4, 0, 0], "upper": [1e-3, 5e-4, 7e-4], "material": "b"}}],
                  "sources": [{"uniform": {"density": rows}}],
                  "initial": [{"uniform": {"value": 350}}],
                  "boundary": {**faces, "x_max": {"type": "temperature", "value": 350},
                               "x_min": {"type": "convection", "coefficient": 3e3, "ambient": 340}},
                  "time": {"scheme": "implicit", **time}})


class Tables(Case):
    def check_heat(self, run):
        *_, last = csv.DictReader(run.history_bytes().decode().splitlines())
        self.assert_below(abs(float(last["heat_drift_J"])) / float(last["heat_J"]), 1e-14, "drift")
        return float(last["source_heat_J"])

    def leakage(self, *sets):
        """The example, as a folder; or the message of a run that fails."""
        self.count += 1
        name = f"leakage{self.count}"
        words = [word for item in ("output.checkpoints.every=1000000", *sets)
                 for word in ("--set", item)]
        result = self.isotherm("run", GALLERY / "leakage.yaml", "--output", name, *words)
        return result, self.folder / name

    def temperatures(self, *sets):
        result, folder = self.leakage(*sets)
        self.assert_code(result, 0)
        with h5py.File(checkpoints(folder)[-1], "r") as file:
            return file["/T"][()]

    def test_order(self):
        """dT/dt = a (T - 300 K), a of both signs: an exponential, by both methods."""
        for sign in (1, -1):
            exact = 300 + 10 * math.exp(sign * 2)
            rows = [[200, sign * -1e6], [500, sign * 2e6]]
            for is_euler, ratio in ((False, 4), (True, 2)):
                errors = []
                for steps in (10, 20):
                    config = uniform_cells(rows, end=200, dt=200 / steps, backward_euler=is_euler)
                    run = self.solve(config)
                    errors.append(abs(run.temperature() - exact).max())
                    added = 1e6 * 5e-3 * 4e-3 * (run.temperature().mean() - 310)
                    self.assert_below(abs(self.check_heat(run) / added - 1), 1e-11, "source_heat_J")
                self.assert_below(abs(errors[0] / errors[1] - ratio), 0.35 * ratio / 2,
                                  f"{sign}, {is_euler}: ratio of {errors}")

    def test_transient(self):
        """Against forward Euler's short steps, while leakage heats a layer."""
        def field(*sets):
            return self.temperatures("time.end=2", "output.history.interval=2", *sets)

        exact = field("time.dt=1e-5")
        steps = [field("time.scheme=implicit", f"time.dt={dt}") for dt in (0.1, 0.05)]
        errors = [abs(T - exact).max() for T in steps]
        self.assert_below(errors[1], 2e-3, "error")
        self.assert_below(abs(errors[0] / errors[1] - 4), 1.2, f"ratio of {errors}")
        by_error = field("time.scheme=implicit", "time.tolerance=1e-3")
        self.assert_below(abs(by_error - exact).max() / np.ptp(exact), 1e-3, "with a tolerance")

    def test_ignition_has_the_same_bits(self):
        """On ranks, with `auto`, and after restarts from before and within the fast part."""
        exact = self.solve(igniting(end=30, tolerance=1e-4)).temperature()
        for scheme in ("implicit", "auto"):
            config = igniting(end=30, tolerance=1e-2)
            config["time"]["scheme"] = scheme
            config["output"]["checkpoints"] = {"every": 4, "keep": 99}
            run = self.solve(config)
            self.assert_below(400, run.temperature().max(), "ignited")
            self.assert_below(abs(run.temperature() - exact).max(), 1e-2 * 100, "error")
            self.check_heat(run)
            control = run.report["step_control"]
            self.assert_below(4, control["implicit_steps"] if scheme == "auto" else 4, "implicit")
            keys = ("field_hash", "steps", "heat_J", "source_heat_J", "boundary_heat_J")
            if scheme == "implicit":
                again = self.solve(config, ranks=3)
                self.assertEqual(again.exact(*keys), run.exact(*keys), "3 ranks")
                self.assertEqual(again.history_bytes(), run.history_bytes())
            for path in some(checkpoints(run.folder)[1:-1:3], 1):
                again = self.solve(config, "--restart", str(path))
                self.assertEqual(again.exact(*keys), run.exact(*keys), path.name)

    def test_run_away(self):
        """The message, by the temperatures or by a step that is not solved; with a tolerance such a
        step is shortened."""
        rows = [[200, -1e6], [500, 2e6]]
        for time in ({"end": 1000, "dt": 500}, {"end": 1000, "dt": 500, "backward_euler": True}):
            result, _ = self.start(uniform_cells(rows, **time))
            self.assert_code(result, 5)
            self.assert_says(result, "after step 0: the implicit step is not solved", "run-away",
                             "give a smaller time.dt")
            self.assert_one_error(result)
        for time in ({"end": 1000, "dt": 50}, {"end": 1000, "tolerance": 0.1}):
            result, _ = self.start(uniform_cells(rows, **time))
            self.assert_code(result, 5)
            self.assert_says(result, "above the last row of its density (500 K)",
                             "a thermal run-away")
        for more in ("time.dt=2", "time.tolerance=0.1", "time.tolerance=1e-3"):
            result, _ = self.leakage(more, "sources[0].uniform.factor=18", "time.scheme=implicit",
                                     "output.history.interval=40")
            self.assert_code(result, 5)
            self.assert_says(result, "a thermal run-away")

    def test_near_the_threshold(self):
        """Steps far longer than all times end in the colder steady state, not in a run-away."""
        for factor, dt in some(((16, 10), (17, 10), (14, 40)), 2):
            ends = [self.temperatures(f"sources[0].uniform.factor={factor}", "time.end=400",
                                      "output.history.interval=400", *sets)
                    for sets in (("time.scheme=implicit", f"time.dt={dt}"), ("time.steady={}",))]
            self.assert_below(abs(ends[0] - ends[1]).max(), 0.05, f"{factor}, {dt}")

    def test_perfusion(self):
        """Per cell and beside an ambient it is a source over temperature: as with the enthalpy."""
        config = layered([12, 9], [0.012, 0.009])
        config["materials"][0]["perfusion"] = {
            "rate": 0.02, "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
            "arterial_temperature": 310.0, "metabolic_heat": 5e4}
        config = quiet({**config, "time": {"end": 300, "scheme": "implicit", "dt": 15}})
        plain = self.solve(config)
        varied = copy.deepcopy(config)
        varied["materials"][0]["conductivity_factor"] = {"formula": "1"}
        factor = self.solve(varied)
        self.assert_below(abs(factor.temperature() - plain.temperature()).max(), 1e-2, "per cell")
        self.check_heat(factor)
        air = copy.deepcopy(config)
        air["ambients"] = [{"name": "air", "temperature": 250}]
        air["parts"].append({"layer": {"axis": "y", "from": 0.006, "to": 0.009, "material": "air"}})
        air["surfaces"] = [{"between": ["air", name], "coefficient": 20.0} for name in "abc"]
        runs = [self.solve({**air, "time": {"end": 300, **time}}) for time in (
            {"scheme": "implicit", "dt": 15}, {"scheme": "implicit", "dt": 7.5},
            {"scheme": "sts2", "tolerance": 1e-6})]
        errors = [np.nanmax(abs(run.temperature() - runs[2].temperature())) for run in runs[:2]]
        self.assert_below(abs(errors[0] / errors[1] - 4), 1.2, f"ratio of {errors}")
        self.check_heat(runs[0])
        short = {**air, "time": {"end": 30, "scheme": "implicit", "dt": 15}}
        self.assertEqual(*[self.solve(short, ranks=ranks).exact("field_hash") for ranks in (1, 3)])


if __name__ == "__main__":
    unittest.main()
