"""Tables over time: the same run as with a formula, files with units, landings, restarts, and input
that is wrong."""
import math
import unittest

import numpy as np

from harness import Case
from test_sources import closed_box


def rod(value, **more):
    """A rod of 40 cells with a temperature of the face x_min; the other end is insulated."""
    return {"grid": {"cells": [40], "upper": [0.04]},
            "material": {"conductivity": 30.0, "density": 7800.0, "heat_capacity": 600.0},
            "initial": [{"uniform": {"value": 300.0}}],
            "boundary": {"x_min": {"type": "temperature", "value": value},
                         "x_max": {"type": "flux", "value": 0}},
            "time": {"end": 6.0}, "output": {"history": {"interval": 0.5}}, **more}


class Tables(Case):
    def test_linear_rows_are_the_formula(self):
        """Steps of both land on the kinks, which are multiples of the interval of the history."""
        table = [[0, 300], [2, 400], [3, 400], [5, 350]]
        formula = "t < 2 ? 300 + 50*t : t < 3 ? 400 : t < 5 ? 400 - 25*(t - 3) : 350"
        (self.folder / "face.csv").write_text("t,T\n0,300\n2,400\n3,400\n5,350\n")
        rows = "".join(f"{t / 60!r},{value - 273.15!r}\n" for t, value in table)
        (self.folder / "minutes.csv").write_text("t [min],T [degC]\n" + rows)
        means = [self.run_config(rod(value), name).report["mean_K"] for name, value in (
            ("formula", formula), ("rows", table), ("file", {"file": "face.csv"}),
            ("units", {"file": "minutes.csv", "units": ["min", "degC"]}))]
        for mean in means[1:]:
            self.assertLess(abs(mean / means[0] - 1), 1e-12)

    def test_heat_of_pulses_is_exact(self):
        """A source in steps with a period: steps land on the pulses, so that the heat is exact."""
        config = closed_box([{"uniform": {"density": 1e6, "factor": {
            "rows": [[0, 1], [0.0371, 0], [0.0502, 0.25], [0.07, 0]], "between": "steps",
            "period": 0.1}}}])
        config["time"] = {"end": 0.92}
        run = self.run_config(config, "pulses")
        volume = math.prod(n * 1e-3 for n in (16, 12, 10))
        seconds = 9 * (0.0371 + 0.25 * (0.07 - 0.0502)) + 0.02
        self.assertLess(abs(run.report["source_heat_J"] / (1e6 * volume * seconds) - 1), 1e-12)
        ranks = self.run_config(config, "ranks", ranks=3)
        self.assertEqual(ranks.exact("field_hash"), run.exact("field_hash"))

    def test_a_moving_source_on_a_table(self):
        beam = {"radius": 2e-3, "y": 5e-3, "z": 5e-3, "power": [[0, 0], [0.05, 40], [1, 40]]}
        config = closed_box([{"gaussian": {**beam, "x": [[0, 2e-3], [0.5, 12e-3]]}}])
        config["time"] = {"end": 0.5}
        formula = closed_box([{"gaussian": {**beam, "power": "min(800*t, 40)",
                                            "x": "2e-3 + 0.02*t"}}])
        formula["time"] = {"end": 0.5}
        formula["output"]["history"] = {"times": [0.05]}
        heats = [self.run_config(case, name).report["source_heat_J"]
                 for name, case in (("table", config), ("formula", formula))]
        self.assertLess(abs(heats[0] / heats[1] - 1), 1e-9)

    def test_a_restart_lands_on_the_same_times(self):
        config = rod({"rows": [[0, 300], [0.7, 400], [1.9, 350]], "period": 2})
        config["output"] = {"checkpoints": {"times": [2.3]},
                            "probes": {"logarithmic": {"from": 0.01, "to": 6, "per_decade": 2},
                                       "points": [{"name": "a", "at": [0.01]}]}}
        whole = self.run_config(config, "whole")
        self.run_config({**config, "time": {"end": 2.3}}, "part")
        part = self.run_config(config, "part", "--restart", "auto")
        self.assertEqual(part.exact("field_hash"), whole.exact("field_hash"))
        rows = (self.folder / "whole/probes.csv").read_text()
        times = [float(row.split(",")[1]) for row in rows.splitlines() if row[0].isdigit()]
        expected = [0] + [0.01 * 10**(n / 2) for n in range(6)] + [6]
        self.assertTrue(np.allclose(times, expected, rtol=1e-12, atol=0))
        changed = {**config, "boundary": rod([[0, 300], [1, 400]])["boundary"]}
        self.write(changed)
        result = self.isotherm("run", "config.yaml", "--output", "part", "--restart", "auto")
        self.assert_says(result, "boundary.x_min.value")

    def check(self, value, *expected, code=2, text=None, face=None):
        (self.folder / "a.csv").write_text(text or "")
        config = rod(value)
        config["boundary"]["x_max"] = face or config["boundary"]["x_max"]
        self.write(config)
        result = self.isotherm("check", "config.yaml")
        self.assert_code(result, code)
        self.assert_says(result, "config.yaml:", *expected)
        self.assert_one_error(result)

    def test_wrong_tables(self):
        key = "boundary.x_min.value"
        file = {"file": "a.csv"}
        self.check([[0, 300], [4, -5]], key, "at t = 4 s: kelvins? -5 K is below absolute zero")
        self.check(file, key, "a.csv: no rows")
        self.check(file, key, "a.csv:2: 'x,1' is not a row of 2 numbers: t, value",
                   text="0,300\nx,1\n")
        self.check(file, key, "a.csv:3: 1 does not exceed that of the row before (2)",
                   text="0,300\n2,300\n1,300\n")
        self.check(file, key, "a.csv:1:", "names degC", "units: [s, degC]", text="t,T degC\n0,20\n")
        self.check(file, key, "below absolute zero", text="0,300\n7,-20\n")
        self.check({**file, "period": 3}, key, "span 7 s, more than the period of 3 s",
                   text="0,300\n7,320\n")
        self.check({"file": "none.csv"}, key, "none.csv", "No such file", code=3)
        air = {"type": "convection", "ambient": 300}
        self.check(300, "boundary.x_max.coefficient", "out of range (-1)",
                   face={**air, "coefficient": [[0, 1], [2, -1]]})
        self.check(300, "boundary.x_max.coefficient", "-1 at t = 2 s; give values of 0 or more",
                   face={**air, "coefficient": file}, text="0,1\n2,-1\n")


if __name__ == "__main__":
    unittest.main()
