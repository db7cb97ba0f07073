"""Numbers that go bad: found when and where, and what is left then."""
import unittest

import h5py
import numpy as np

import problems
from harness import Case, checkpoints, some, thorough

CELLS = [15, 13, 11]


def problem(**output):
    config = problems.mixed(CELLS, "float64")
    config["time"] = {"steps": 30, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 5}, **output}
    return config


class BadNumbers(Case):
    def check(self, boundary, **how):
        config = problem(checkpoints={"every": 10, "keep": 9})
        config["boundary"].update(boundary)
        config["time"]["steps"] = 200
        result, output = self.start(config, **how)
        self.assert_code(result, 5)
        self.assert_one_error(result)
        self.assertFalse((output / "report.json").exists(), "a report says that the run is whole")
        return result, output, config["time"]["dt"]

    @staticmethod
    def reason(file):
        text = file["/T"].attrs["reason"]
        return getattr(text, "decode", lambda: text)()

    def test_formula_that_ends_in_infinity(self):
        dt = problem()["time"]["dt"]
        pole = {"type": "temperature", "value": f"300 + 1/(t - {7 * dt!r})"}
        for ranks in some((3, 1), 1):
            with self.subTest(ranks=ranks):
                result, output, _ = self.check({"x_min": pole}, ranks=ranks)
                self.assert_says(result, "step 7", "boundary.x_min", "postmortem.h5",
                                 "there is no checkpoint", "start again with --overwrite")
                with h5py.File(output / "postmortem.h5", "r") as file:
                    self.assertIn("boundary.x_min", self.reason(file))

    def test_state_that_has_no_next_step_is_kept(self):
        """The formula has no value at step 7, and all that came before is good: what is kept is
        what a run leaves that ends there, the heat ledger too, which nobody had looked at."""
        config = problem(checkpoints={"every": 3, "keep": 9}, history={"every": 0})
        dt = config["time"]["dt"]
        config["boundary"]["x_min"] = {"type": "temperature", "value": f"300 + 1/(t - {7 * dt!r})"}
        config["run"]["watch"] = {"every": 0}
        result, output = self.start(config, ranks=3)
        self.assert_code(result, 5)
        last = f"last valid checkpoint is {output.name}/checkpoints/step_0000000006.h5"
        self.assert_says(result, "the state is kept in", last, "resume from it with --restart")
        config["time"]["steps"] = 7
        whole = self.solve(config, ranks=1)
        with h5py.File(output / "postmortem.h5") as kept, \
                h5py.File(checkpoints(whole.folder)[-1]) as good:
            np.testing.assert_array_equal(kept["/T"][()], good["/T"][()])
            told = [name for name in good["/T"].attrs if name != "config"]
            self.assertIn("boundary_heat", " ".join(told))
            for name in told:
                np.testing.assert_array_equal(kept["/T"].attrs[name], good["/T"].attrs[name], name)

    @thorough
    def test_formula_that_ends_in_nan(self):
        dt = problem()["time"]["dt"]
        root = {"type": "temperature", "value": f"300 + sqrt({12.5 * dt!r} - t)"}
        for ranks in some((3, 1), 1):
            with self.subTest(ranks=ranks):
                result, output, _ = self.check({"x_min": root}, ranks=ranks)
                self.assert_says(result, "boundary.x_min")
                self.assert_says(result, "step 13")
                kept = [path.name for path in checkpoints(output)]
                self.assertEqual(kept, ["step_0000000010.h5"], "those before are good")

    def test_snapshots_do_not_look(self):
        """They go by the watch, and show how it went bad; without a watch they do look."""
        for every, last in ((50, 49), (0, None)):
            config = problem(history={"every": 0}, snapshots={"every": 1},
                                   checkpoints={"every": 0})
            config["boundary"]["z_min"] = {"type": "flux", "value": 1e15}
            config["time"]["steps"] = 200
            config["run"]["watch"] = {"every": every}
            result, output = self.start(config)
            self.assert_code(result, 5)
            steps = [int(path.stem[5:]) for path in (output / "snapshots").glob("step_*.h5")]
            with h5py.File(output / "snapshots" / f"step_{max(steps):010d}.h5", "r") as file:
                highest = file["T"][()].max()
            if last is None:
                self.assertLess(highest, 1.1e12)
            else:
                self.assertEqual((max(steps), highest > 1.1e12), (last, True))
            with h5py.File(output / "postmortem.h5", "r") as file:
                self.assertGreater(file["T"][()].max(), 1.1e12)

    def test_field_that_grows_beyond_bounds(self):
        """Noticed at the next look at the field, with step, place and rank."""
        burner = {"type": "flux", "value": 1e15}
        result, output, _ = self.check({"z_min": burner}, ranks=3)
        self.assert_says(result, "step ", "t = ", "cell (", "rank ")
        self.assert_says(result, "the state is kept in", "postmortem.h5")
        kept = checkpoints(output)
        last = f"last valid checkpoint is {output.name}/checkpoints/{kept[-1].name}"
        self.assert_says(result, last if kept else "there is no checkpoint")
        with h5py.File(output / "postmortem.h5", "r") as file:
            field = file["/T"][()]
            self.assertEqual(field.shape, tuple(CELLS[::-1]))
            self.assertGreater(field.max(), 1.1e12)
            self.assertIn("invalid values in the solution", self.reason(file))

    def test_the_same_place_after_a_pass_with_a_summary(self):
        """Such a pass knows that there are invalid cells, but neither how many nor where."""
        burner = {"type": "flux", "value": 1e15}
        said = []
        for sets in (["run.steps_per_pass=1"], ["run.steps_per_pass=3", "run.backend=guard"]):
            result, _, _ = self.check({"z_min": burner}, ranks=3,
                                      sets=[*sets, "run.halo.overlap=off"])
            self.assert_says(result, "invalid values in the solution", " cells are NaN", "Check")
            said.append(result.err.split("invalid values")[1].split("Check")[0])
        self.assertEqual(said[0], said[1])

    def test_below_zero(self):
        """One hot layer between a held face and cold cells: a step of 0.9 takes it to -120 K."""
        config = {"grid": {"cells": [10], "upper": [0.1]},
                  "material": {"conductivity": 1, "density": 1000, "heat_capacity": 1000},
                  "initial": [{"uniform": {"value": 300}},
                              {"box": {"lower": [0.0], "upper": [0.01], "value": 1500}}],
                  "boundary": {"x_min": {"type": "temperature", "value": 300},
                               "x_max": {"type": "temperature", "value": 300}},
                  "time": {"steps": 9}, "output": {"history": {"every": 1}}}
        result, _ = self.start(config)
        self.assert_code(result, 5)
        self.assert_says(result, "at step 1 ", "below 0 K", "cell (0, 0, 0)", "-120 K")
        name = self.write(config)
        for share, says in ((0.9, "may overshoot"), (1, "are not damped"), (0.6, None)):
            plan = self.isotherm("plan", name, "--set", f"time.safety={share}")
            self.assertEqual(says is None or says in plan.out, True, plan)
            self.assertEqual("may overshoot" in plan.out, share > 0.6, plan)
        self.solve(config, sets=["time.safety=0.6"])
        self.solve(config, sets=["run.watch.temperature=difference"])

    def test_heat_that_is_rounded_away(self):
        """Each step adds less than half an ulp to a cell of float32."""
        config = {"grid": {"cells": [20], "upper": [0.2, 0.01, 0.01]},
                  "material": {"conductivity": 1, "density": 1000, "heat_capacity": 1000},
                  "initial": [{"uniform": {"value": 1000}}],
                  "boundary": {"x_min": {"type": "flux", "value": 20000},
                               "x_max": {"type": "flux", "value": 0}},
                  "time": {"steps": 2000, "dt": 1e-5}, "output": {"history": {"every": 1000}}}
        run = self.solve(config, sets=["run.precision=float32"])
        self.assert_says(run.result, "rounding changed the heat by 0.04 J, 100 % of the 0.04 J",
                         "use run.precision: float64")
        self.assertEqual(self.solve(config).result.err, "")

    def test_values_near_zero(self):
        """The checks once stopped a valid run of 1e-22: small against the units of exact sums."""
        for small in (1e-20, 1e-22, 1e-24, 1e-30):
            config = {"quantity": {"name": "salt", "symbol": "C", "unit": "kg/m^3",
                                   "content_unit": "kg"}, "material": {"diffusivity": 1},
                      "grid": {"cells": [9, 8], "upper": [1, 1]},
                      "initial": [{"uniform": {"value": small}}],
                      "boundary": {"x_min": {"type": "temperature", "value": -2 * small},
                                   "x_max": {"type": "flux", "value": small},
                                   "y_min": {"type": "periodic"}, "y_max": {"type": "periodic"}},
                      "time": {"steps": 400}, "output": {"history": {"every": 10}}}
            self.solve(config)

    def test_heat_of_a_bath(self):
        """A material with 5e9 times the heat capacity, which nearly holds its temperature."""
        for precision, ratio in (("float64", 5e9), ("float64", 5e20), ("float32", 5e9)):
            config = {"grid": {"cells": [10], "upper": [0.1, 1, 1]},
                      "materials": [{"name": name, "conductivity": 1, "density": density,
                                     "heat_capacity": 1}
                                    for name, density in (("gas", 1), ("bath", ratio))],
                      "parts": [{"uniform": {"material": "gas"}},
                                {"box": {"lower": [0.05], "upper": [0.1], "material": "bath"}}],
                      "initial": [{"uniform": {"value": 300}},
                                  {"box": {"lower": [0.0], "upper": [0.05], "value": 400}}],
                      "boundary": {face: {"type": "flux", "value": 0}
                                   for face in ("x_min", "x_max")},
                      "run": {"precision": precision},
                      "time": {"steps": 300}, "output": {"history": {"every": 10}}}
            for ranks in (1, 2):
                run = self.solve(config, ranks=ranks)
                heat = 300 * ratio * 0.05
                self.assert_below(abs(run.report["heat_J"] / heat - 1), 1e-7, "heat")
                self.assert_below(abs(run.report["heat_drift_J"] / heat), 1e-7, "drift")

    def test_flipped_bits(self):
        """Found by repeated steps, or by the heat balance between them; the result is the same."""
        config = problem(checkpoints={"every": 10, "keep": 9}, derived={"every": 1})
        whole = self.solve(config, ranks=1)
        twice = ["run.self_check.share=1"]
        for ranks, backend in ((1, "guard"), (3, "cpu")):
            for share, bit in ((1, 3), (0.001, 61)):
                flip = {"ISOTHERM_FLIP_BITS": f"17:{ranks - 1}:field:200:{bit}"}
                run = self.solve(config, ranks=ranks, env=flip, sets=[
                    f"run.self_check.share={share}", f"run.backend={backend}"])
                self.assert_says(run.result, "self check: steps ", f"on rank {ranks - 1} (",
                                 "the first result was wrong")
                self.assertEqual(run.exact("field_hash"), whole.exact("field_hash"))
                counts = run.report["self_check"]
                self.assertEqual((counts["faults"], counts["repairs"]), (1, 1))
        patched = problem()
        patched["boundary"]["z_max"] = {"type": "flux", "value": 0, "patches": [
            {"where": "x < 0.5", "type": "temperature", "value": 320}]}
        whole_patched = self.solve(patched, ranks=1)
        for flip, says in (("12:1:patch:3:0", "patches or sources have changed and are restored on "
                                              "rank 1 ("),
                           ("0:0:halo:3:5", "the halo differs from the cells of a neighbour"),
                           ("17:1:field:20:12",
                            "a bit of the field has changed in memory on rank 1 (")):
            run = self.solve(patched, ranks=2, env={"ISOTHERM_FLIP_BITS": flip}, sets=[
                "run.self_check.share=0.001", "run.self_check.memory=true"])
            self.assert_says(run.result, "self check: ", says)
            if flip.startswith("17:1:field"):
                self.assert_says(run.result, "gave two results on rank 1 (", "differ, cell (",
                                 "the steps since were wrong; computed again from step")
            self.assertEqual(run.exact("field_hash"), whole_patched.exact("field_hash"))
            counts = run.report["self_check"]
            self.assertEqual((counts["faults"], counts["repairs"], counts["memory"]),
                             (1, 1, "each pass"))
        result, _ = self.start(config, sets=twice, env={"ISOTHERM_FLIP_BITS": "0:0:host:0:3"})
        self.assert_code(result, 4)
        self.assert_says(result, "gave other bits on the host than on rank 0 (",
                         "error: self check: the device computes the same bits twice")
        twice_there = {"ISOTHERM_FLIP_BITS": "17:1:field:200:60,23:1:field:200:60"}
        result, output = self.start(config, ranks=3, sets=twice, env=twice_there)
        self.assert_code(result, 4)
        self.assert_one_error(result)
        self.assert_says(result, "error: self check: 2 faults on rank 1 (")
        run = self.run_config(config, output.name, "--restart", "auto")
        self.assertEqual(run.exact("field_hash"), whole.exact("field_hash"))
        bad = {"ISOTHERM_FLIP_BITS": "17:1:fields:200:60"}
        result, _ = self.start(config, sets=twice, env=bad)
        self.assert_code(result, 2)
        self.assert_says(result, "ISOTHERM_FLIP_BITS: 17:1:fields:200:60; give STEP")


if __name__ == "__main__":
    unittest.main()
