"""A file system that no longer answers: a call by the writer's thread that never returns. And calls
of MPI-IO that do not return because one rank's part of them failed."""
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

    def open_compressed(self, **fault):
        """A run whose compressed snapshot is opened by MPI-IO under that fault."""
        config = problems.mixed([15, 13, 11])
        config["time"] = {"steps": 2, "dt": config["time"]["dt"]}
        config["output"] = {"snapshots": {"every": 1, "compress": 1}}
        extra = {"LD_PRELOAD": SHIM, "FAULT_FOLDER": str(self.folder), "FAULT_CALLS": "open",
                 "OMPI_MCA_io": "ompio", **{f"FAULT_{key}": word for key, word in fault.items()}}
        result, _ = self.start(config, ranks=2, env=extra)
        self.assert_code(result, 3)
        self.assert_one_error(result)
        return result

    def test_an_open_that_keeps_failing_on_one_rank(self):
        """Both ranks wait in OMPIO for each other, at different places. What rank 1 opens first is
        the file by itself; from then on it cannot."""
        result = self.open_compressed(RANK="1", AT="2", KIND="EIO")
        self.assert_says(result, "error: rank 1: cannot open", "step_0000000000.h5.tmp",
                         "(Input/output error), and MPI-IO does not come back for 1")

    @unittest.skipUnless(os.environ.get("ISOTHERM_TEST_FAULTS") == "all", "takes half a minute")
    def test_an_open_that_never_returns_on_one_rank(self):
        """Rank 0 can open the file, so that it is not the file system that is slow."""
        result = self.open_compressed(RANK="1", AT="2", KIND="HANG")
        self.assert_says(result, "error: rank 0: cannot open", "(this rank alone can)")

    @unittest.skipUnless(os.environ.get("ISOTHERM_TEST_FAULTS") == "all", "takes a minute")
    def test_a_file_system_that_answers_nobody(self):
        """It may be slow: nothing but the watchdog's own patience ends the run."""
        config = problems.mixed([15, 13, 11])
        config["time"] = {"steps": 2, "dt": config["time"]["dt"]}
        config["run"]["watchdog"] = {"patience": 50, "grace": 10}
        config["output"] = {"snapshots": {"every": 1, "compress": 1}}
        fault = {"LD_PRELOAD": SHIM, "FAULT_FOLDER": str(self.folder / "out_1" / "snapshots"),
                 "FAULT_KIND": "HANG", "FAULT_AT": "3", "FAULT_CALLS": "open"}
        result, _ = self.start(config, ranks=2, env=fault, limit=100)
        self.assert_code(result, 4)
        self.assert_says(result, "writing snapshots for", "ending the run with exit code 4")


if __name__ == "__main__":
    unittest.main()
