"""The same bits of super steps for ranks, backends, overlap and restarts; the ledger closes."""
import unittest

import problems
from harness import checkpoints, short_dt, some
from test_bitwise import Bitwise, quiet

CELLS = [23, 17, 13]


class SuperSteps(Bitwise):
    def config(self, precision="float64", **time):
        config = problems.mixed(CELLS, precision)
        config["boundary"]["x_min"]["value"] = "350 + 40*sin(0.2*t)"
        dt = short_dt(config, 1)
        config["time"] = {"end": float(f"{150 * dt:.6g}"), **time}
        config["output"] = {"history": {"every": 1}, "checkpoints": {"every": 4, "keep": 9}}
        return config, dt

    def check(self, config):
        reference = self.solve(config, sets=["run.backend=cpu", "run.halo.overlap=off"])
        self.assert_below(abs(reference.report["heat_drift_J"] / reference.report["heat_J"]),
                          1e-13 if config["run"]["precision"] == "float64" else 1e-5, "heat")
        for backend, overlap, ranks in some((("guard", "off", 1), ("cpu", "on", 3),
                                             ("guard", "on", 2)), 2):
            self.expect_same(reference, quiet(config), f"{backend}, {overlap}, {ranks} ranks",
                             ranks=ranks, sets=[f"run.backend={backend}",
                                                f"run.halo.overlap={overlap}"])
        middle = checkpoints(reference.folder)[0]
        again = self.solve(quiet(config), "--restart", str(middle), ranks=2)
        self.assertEqual(again.report["field_hash"], reference.report["field_hash"])
        return reference

    def test_fixed_length(self):
        for scheme, precision in (("sts2", "float64"), ("sts1", "float32")):
            config, dt = self.config(precision, scheme=scheme, dt=0)
            config["time"]["dt"] = 20 * dt
            run = self.check(config)
            self.assertEqual(run.report["scheme"], scheme)


if __name__ == "__main__":
    unittest.main()
