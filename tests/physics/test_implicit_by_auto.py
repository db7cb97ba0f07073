"""`auto` with a tolerance that changes to implicit steps and back: the same bits on other ranks and
after restarts, the ledger closes, errors are below the tolerance, and the report has reasons."""
import os
import random
import re
import unittest

import numpy as np

from harness import checkpoints, some
from steady import layered, nonlinear as radiating
from test_bitwise import Bitwise

GPU = os.environ.get("ISOTHERM_GPU_BACKEND", "cpu")


class ImplicitByAuto(Bitwise):
    """Implicit steps that `auto` takes where the tolerance allows long ones."""

    def config(self, end=20, **output):
        """Poor conductors between good ones, and a source that is switched."""
        materials = [{"name": name, "conductivity": k, "density": 1, "heat_capacity": c}
                     for name, k, c in (("a", 100, 100), ("b", 4, 80))]
        box = {"lower": [0.3, 0.03], "upper": [0.35, 0.06], "density": 5000,
               "factor": {"rows": [[0, 1], [5, 2]], "between": "steps"}}
        faces = {face: {"type": "flux", "value": 0} for face in ("x_min", "y_min", "y_max")}
        return {"grid": {"cells": [40, 9], "upper": [0.4, 0.09]}, "materials": materials,
                "parts": [{"uniform": {"material": "a"}},
                          {"layer": {"axis": "x", "from": 0.1, "to": 0.2, "material": "b"}}],
                "sources": [{"box": box}], "initial": [{"uniform": {"value": 300}}],
                "boundary": {**faces, "x_max": {"type": "convection", "coefficient": 25,
                                                "ambient": 300}}, "run": {"precision": "float64"},
                "time": {"end": end, "scheme": "auto", "tolerance": 1e-3}, "output": output}

    def check_bits(self, config):
        """On other ranks, and after restarts at the first implicit step and the next."""
        output = {"checkpoints": {"every": 1, "keep": 9999}, **config["output"]}
        run = self.solve(dict(config, output=output))
        keys = ("field_hash", "steps", "step_control", "heat_J", "boundary_heat_J")
        first = re.search(r"implicit steps from step (\d+)", run.result.err + run.result.out)
        for backend, ranks in some(((GPU, 3), ("guard", 2)), 1):
            self.expect_same(run, config, f"{backend}, {ranks} ranks", ranks=ranks,
                             sets=[f"run.backend={backend}"])
        for step in some([int(first[1]) + n for n in (0, 1)], 2):
            path = next(path for path in checkpoints(run.folder) if int(path.stem[5:]) == step)
            again = self.solve(config, "--restart", str(path), ranks=2)
            self.assertEqual(again.exact(*keys), run.exact(*keys), step)
        return run

    def test_switches(self):
        """To implicit steps, which end at outputs, back where the data jump, and again."""
        config = self.config(history={"interval": 1.7}, probes={
            "interval": 2.5, "points": [{"name": "p", "at": [0.1, 0.02]}]})
        run = self.check_bits(config)
        control = run.report["step_control"]
        super_steps = self.solve(config, sets=["time.scheme=sts2"])
        exact = self.solve(config, sets=["time.scheme=sts2", "time.tolerance=1e-6"])
        self.assertEqual(run.report["scheme"], "implicit")
        self.assertIn("or implicit steps", run.report["scheme_reason"])
        self.assert_below(4, control["implicit_steps"], "implicit steps")
        self.assert_below(control["levels"], super_steps.report["step_control"]["levels"] / 2,
                          "levels")
        self.assert_below(abs(run.report["heat_drift_J"]) / run.report["heat_J"], 1e-13, "heat")
        probes = [np.loadtxt(r.folder / "probes.csv", delimiter=",", skiprows=1)
                  for r in (run, exact)]
        self.assertEqual(probes[0][:, 1].tolist(), probes[1][:, 1].tolist())
        error = np.max(np.abs(probes[0] - probes[1])[:, 2:]) / control["range_K"] / 1e-3
        self.assert_below(error, 1, "error")
        self.assert_below(1e-3, error, "care")

    def test_jump_within_an_implicit_step(self):
        """Super steps, not implicit steps of their length, resolve a source that jumps there."""
        config = self.config(history={"every": 1})
        box = config["sources"][0]["box"]
        box["factor"] = "1 + 1/(1 + exp(min(500, (11.908044871070052 - t)*1e6)))"
        control = self.solve(config).report["step_control"]
        self.assert_below(control["cycles"], 25 * control["implicit_steps"], "cycles")

    def test_random_problems(self):
        """Linear ones and others, which end in the steady state; also the error is checked."""
        for seed in some((1, 6), 1):
            rng = random.Random(seed)
            cells = [rng.randint(6, 14) for _ in range(rng.randint(1, 3))]
            config = (radiating if seed % 2 else layered)(cells, [1e-3 * n for n in cells])
            config.update(time={"end": 3e4, "scheme": "auto", "tolerance": 1e-2},
                          output={"history": {"interval": 7e3}})
            run = self.check_bits(config)
            exact = self.solve(dict(config, output={"checkpoints": {"every": 9999}}),
                               sets=["time.scheme=implicit", "time.tolerance=1e-5"])
            self.assert_below(0, run.report["step_control"]["implicit_steps"], "implicit steps")
            error = np.max(np.abs(run.temperature() - exact.temperature()))
            self.assert_below(error / run.report["step_control"]["range_K"], 1e-2, "error")

    @staticmethod
    def good_and_bad(jump, boxes, seed, **time):
        """Good and bad conductors cell by cell."""
        rng = random.Random(seed)
        config = layered([9, 8, 7], [0.009, 0.008, 0.007], jump)
        del config["contacts"]
        for _ in range(boxes):
            lower = [rng.uniform(0, 0.0057) for _ in range(3)]
            config["parts"].append({"box": {"lower": lower, "upper": [x + 0.0012 for x in lower],
                                            "material": rng.choice("abc")}})
        config.update(time={"scheme": "auto", **time}, output={})
        return config

    def test_good_and_bad_conductors(self):
        """Cell by cell: implicit steps of many cycles."""
        config = self.good_and_bad(1e5, 30, 5, end=3, tolerance=1e-2)
        control = self.check_bits(config).report["step_control"]
        self.assert_below(100, control["cycles"], "cycles")

    def test_cycles_that_do_not_converge(self):
        """The implicit step is undone, and super steps end the run, also after a restart."""
        config = self.good_and_bad(1e8, 500, 6, end=0.02, tolerance=0.1)
        output = {"checkpoints": {"every": 30, "keep": 99}}
        run = self.solve(dict(config, output=output))
        control = run.report["step_control"]
        self.assertIn("an implicit step is undone", run.result.err)
        self.assertIn("did not converge", control["never_implicit"])
        self.assertEqual(run.report["scheme"], "sts2")
        self.assert_below(100, control["cycles"], "cycles")
        self.assert_below(abs(run.report["heat_drift_J"]) / run.report["heat_J"], 1e-13, "heat")
        exact = self.solve(dict(config, output=output), sets=["time.scheme=sts2"])
        error = np.max(np.abs(run.temperature() - exact.temperature()))
        self.assert_below(error / control["range_K"], 0.02, "error")
        again = self.solve(config, "--restart", str(checkpoints(run.folder)[-1]))
        self.assertEqual(again.exact("field_hash", "steps", "step_control"),
                         run.exact("field_hash", "steps", "step_control"))
        self.assertNotIn("implicit steps from", again.result.err + again.result.out)

    def test_restart_of_implicit(self):
        """As `auto`, whose first implicit step is in the log."""
        config = self.config(checkpoints={"every": 1, "keep": 99})
        run = self.solve(config, sets=["time.scheme=implicit"])
        again = self.solve(config, "--restart", str(checkpoints(run.folder)[1]),
                           "--restart-changed")
        self.assertIn("implicit steps from step", again.result.err + again.result.out)

    def test_reasons(self):
        """`plan` and the report say why steps are never implicit."""
        for sets, why in ((["time.end=0.5"], "the run is too short for a few implicit steps"),
                          (["run.precision=float32"], "the precision is not float64"),
                          (["output.history.interval=0.01"], "an output has an interval"),
                          (["time.end=null", "time.steps=5"], "the end is a number of steps")):
            plan = self.isotherm("plan", self.write(self.config(history={"interval": 1})),
                                 *(word for s in sets for word in ("--set", s)))
            self.assertIn(f"never implicit: {why}", plan.out)
        self.assertIn("implicit ones where the tolerance",
                      self.isotherm("plan", self.write(self.config())).out)


if __name__ == "__main__":
    unittest.main()
