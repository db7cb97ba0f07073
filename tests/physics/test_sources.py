"""Heat sources: the heat that they add, restarts with other sources, and wrong input. Random
problems with sources are in test_materials.py."""
import unittest

import numpy as np

from harness import Case, Run
from media import Problem, some_problem

STEPS = 24


def with_sources(seed=5):
    config = some_problem(seed)
    dt = float(f"{0.9 * Problem(config).stable_dt():.6g}")
    config["time"] = {"steps": STEPS, "dt": dt}
    config["output"] = {"history": {"every": 6}, "checkpoints": {"every": STEPS // 2, "keep": 3}}
    return config


def closed_box(sources, cells=(16, 12, 10)):
    """Steel without exchange with the outside, 1 mm cells."""
    insulated = {"type": "flux", "value": 0.0}
    faces = [f"{axis}_{side}" for axis in "xyz"[:len(cells)] for side in ("min", "max")]
    return {
        "grid": {"cells": list(cells), "upper": [n * 1e-3 for n in cells]},
        "material": {"conductivity": 30.0, "density": 7800.0, "heat_capacity": 600.0},
        "sources": sources,
        "initial": [{"uniform": {"value": 300.0}}],
        "boundary": {face: insulated for face in faces},
        "time": {"steps": STEPS},
        "output": {"history": {"every": 6}, "checkpoints": {"every": STEPS // 2, "keep": 3}},
    }


class Sources(Case):
    def run_config(self, config, output, *more, code=0, **how):
        self.write(config, "case.yaml")
        result = self.isotherm("run", "case.yaml", "--output", output, *more, **how)
        self.assertEqual(result.code, code, f"expected exit code {code}:\n{result}")
        return Run(result, self.folder / output) if code == 0 else result

    def check_same(self, config, name, first, ways):
        for backend, ranks, threads, more in ways:
            other = self.run_config(config, name, "--overwrite", "--backend", backend, *more,
                                    ranks=ranks, threads=threads)
            what = f"{backend}, {ranks} ranks, {threads} threads, {more}"
            self.assertEqual(other.exact("field_hash"), first.exact("field_hash"), what)
            self.assertEqual(other.history_bytes(), first.history_bytes(), what)


class Painted(Sources):
    def test_the_power_is_that_of_all_cells_together(self):
        for precision, tolerance in (("float64", 1e-13), ("float32", 1e-6)):
            config = closed_box([{"sphere": {"center": [7e-3, 6e-3, 5e-3], "radius": 3.3e-3,
                                             "power": 40.0, "factor": "t < 0.0131 ? 1 : 0"}},
                                 {"layer": {"axis": "z", "from": 0.0, "to": 2e-3,
                                            "density": -2e7}}])
            config["time"] = {"steps": STEPS, "dt": 2.5e-3}
            config["run"] = {"precision": precision}
            run = self.run_config(config, f"power_{precision}")
            # the factor at mid-steps: 5 of them before 0.0131 s
            added = 40.0 * 5 * 2.5e-3 - 2e7 * 2e-3 * 16e-3 * 12e-3 * STEPS * 2.5e-3
            self.assertLess(abs(run.report["source_heat_J"] / added - 1), tolerance)
            rows = run.history()
            change = rows[-1]["heat_J"] - rows[0]["heat_J"]
            self.assertLess(abs(change - run.report["source_heat_J"]),
                            tolerance * rows[0]["heat_J"])
            self.check_same(config, "ways", run, [("guard", 3, 1, ()), ("cpu", 2, 2, ())])

    def test_a_restart_continues_bit_for_bit(self):
        config = with_sources()
        whole = self.run_config(config, "whole")
        middle = f"whole/checkpoints/step_{STEPS // 2:010d}.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
        for key in ("heat_drift_J", "source_heat_J", "boundary_heat_J"):
            self.assertEqual(rest.report[key], whole.report[key], key)

    def test_a_restart_may_have_other_sources_or_none(self):
        config = closed_box([{"box": {"lower": [0, 0, 0], "upper": [8e-3, 8e-3, 8e-3],
                                      "power": 30.0}}])
        first = self.run_config(config, "first")
        middle = f"first/checkpoints/step_{STEPS // 2:010d}.h5"
        half = first.report["source_heat_J"] / 2
        config["sources"].append({"uniform": {"density": -1e6}})
        more = self.run_config(config, "more", "--restart", middle)
        self.assertIn("sources[1]", more.result.err)
        del config["sources"]
        less = self.run_config(config, "first", "--restart", middle, "--overwrite")
        for run, added in ((more, half - 1e6 * 1920e-9 * first.report["time"] / 2), (less, 0.0)):
            heat = run.report["heat_J"]
            self.assertLess(abs(run.report["source_heat_J"] - half - added), 1e-12 * heat)
            self.assertLess(abs(run.report["heat_drift_J"]), 1e-13 * heat)
        self.assertEqual(less.history()[-1]["source_heat_J"], less.report["source_heat_J"])


class WrongInput(Sources):
    def check(self, source, *expected, code=2):
        config = closed_box(source if isinstance(source, list) else [source])
        result = self.run_config(config, "out", code=code)
        for text in expected:
            self.assertIn(text, result.err)
        if code == 2:
            self.assertFalse((self.folder / "out").exists())

    def test_each_has_its_message(self):
        box = {"lower": [0, 0, 0], "upper": [8e-3, 8e-3, 8e-3]}
        self.check({"box": {**box, "power": 1.0, "density": 2.0}}, "sources[0].box.power",
                   "given together with density")
        self.check({"box": box}, "sources[0].box", "neither density nor power")
        self.check({"box": {**box, "upper": [1.0, 1.0, 1.0], "power": 1.0}}, "sources[0].box.upper",
                   "outside the grid")
        self.check({"box": {"lower": [1.6e-3] * 3, "upper": [2.4e-3] * 3, "power": 1.0}},
                   "sources[0].box", "contains no cell centre")
        self.check({"uniform": {"power": 1.0, "material": "steel"}}, "sources[0].uniform.material",
                   "needs the list materials")
        self.check({"uniform": {"power": 1.0, "factor": "sin(x)"}}, "sources[0].uniform.factor",
                   "not a formula")
        self.check({"cube": {"power": 1.0}}, "sources[0].cube", "unknown key")
        self.check({"expression": {"where": "log(x - 5e-3)", "power": 1.0}},
                   "sources[0].expression.where", "is not a number")
        self.check({"uniform": {"density": 1.0, "factor": "1/(t - 0.5*t - 0.5*t)"}},
                   "sources[0].uniform.factor", "after step 0", code=5)

    def test_too_many_combinations(self):
        layers = [{"layer": {"axis": "xyz"[axis], "from": n * 1e-3, "to": (n + 1) * 1e-3,
                             "density": 1.0 + n + 100 * axis}}
                  for axis, cells in enumerate((16, 12, 10)) for n in range(cells)]
        self.check(layers, "sources", "more than 255 combinations")
        config = closed_box(layers[:28])  # 16 x 12 combinations
        run = self.run_config(config, "many")
        added = np.add.outer(np.arange(16) + 1, np.arange(12) + 101).sum() * 10 * 1e-9
        self.assertLess(abs(run.report["source_heat_J"] / (added * run.report["time"]) - 1), 1e-12)
        self.check_same(config, "ways", run, [("guard", 3, 1, ()), ("cpu", 5, 1, ())])


if __name__ == "__main__":
    unittest.main()
