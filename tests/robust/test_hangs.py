"""A file system that no longer answers: a call by the writer's thread that never returns."""
import os
import signal
import unittest

import problems
from harness import Case, wait_until
from live import ENDLESS, Live

SHIM = os.environ["ISOTHERM_FAULT_SHIM"]


class Hangs(Case):
    def test_a_write_beside_the_steps(self):
        """It is told of while the steps go on, and ends the run when they have to wait for it."""
        config = problems.mixed([15, 13, 11])
        config["time"] = {"steps": ENDLESS, "dt": config["time"]["dt"]}
        config["run"]["watchdog"] = {"patience": 2, "grace": 2}
        config["output"] = {"history": {"every": 50}, "checkpoints": {"every": ENDLESS},
                            "snapshots": {"every": ENDLESS}}
        folder = self.folder / "live"
        fault = {"LD_PRELOAD": SHIM, "FAULT_FOLDER": f"{folder}/snapshots", "FAULT_KIND": "HANG",
                 "FAULT_AT": "1", "FAULT_CALLS": "fsync", "FAULT_RANK": "0"}
        live = Live(self, config, ranks=2, extra=fault)
        live.wait_to_say("writing snapshots for")
        rows = (folder / "history.csv").stat().st_size
        self.assertTrue(wait_until(lambda: (folder / "history.csv").stat().st_size > 2 * rows),
                        "the steps go on")
        self.assertNotIn("error", live.text("err"))
        live.signal(signal.SIGUSR2)  # asks for a checkpoint, behind the snapshot that hangs
        result = live.end()
        self.assert_code(result, 4)
        for rank in (0, 1):  # the other one waits for this one's file, in its own writer
            self.assertRegex(result.err,
                             rf"watchdog: rank {rank} .*pid \d+\): step \d+, [\w ]+ for [\d.]+ s; "
                             r"writing snapshots for [\d.]+ s\n")
        self.assert_says(result, "step", "checkpoints for", "writing snapshots for",
                         "ending the run with exit code 4")


if __name__ == "__main__":
    unittest.main()
