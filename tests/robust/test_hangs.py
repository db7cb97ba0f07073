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

    def test_a_second_interrupt(self):
        """The checkpoint that the first one asks for hangs: the second one ends the run."""
        config = problems.mixed([15, 13, 11])
        config["time"] = {"steps": ENDLESS, "dt": config["time"]["dt"]}
        config["output"] = {"history": {"every": 50}}
        fault = {"LD_PRELOAD": SHIM, "FAULT_FOLDER": f"{self.folder}/live/checkpoints",
                 "FAULT_KIND": "HANG", "FAULT_AT": "1", "FAULT_CALLS": "fsync"}
        live = Live(self, config, ranks=1, extra=fault)
        live.wait_for_steps()
        live.process.send_signal(signal.SIGINT)
        live.wait_to_say("interrupt again to end at once", stream="out")
        live.process.send_signal(signal.SIGINT)
        self.assert_code(live.end(), -signal.SIGINT)

    def write_compressed(self, code, io="ompio", **fault):
        """A run whose compressed snapshot goes through MPI-IO under that fault."""
        config = problems.mixed([15, 13, 11])
        config["time"] = {"steps": 2, "dt": config["time"]["dt"]}
        config["run"]["watchdog"] = {"patience": 7, "grace": 2}  # the ranks wait 5 s for each other
        config["output"] = {"snapshots": {"every": 1, "compress": 1}}
        folder = self.folder / f"out_{self.count + 1}/snapshots"
        extra = {"LD_PRELOAD": SHIM, "FAULT_FOLDER": str(folder), "OMPI_MCA_io": io,
                 **{f"FAULT_{key}": word for key, word in fault.items()}}
        result, _ = self.start(config, ranks=2, env=extra)
        self.assert_code(result, code)
        self.assertRegex(result.err, r"watchdog: rank [01] .*; writing snapshots for [\d.]+ s\n")
        return result

    def check_ended_by_the_watchdog(self, **fault):
        result = self.write_compressed(4, **fault)
        for rank in (0, 1):
            self.assertRegex(result.err, rf"watchdog: rank {rank} .*; writing snapshots for")
        self.assertRegex(result.err, r"watchdog: error: rank [01]: no progress 2\.\d s after the "
                                     r"first warning, in [\w ]+ while writing snapshots: ending "
                                     r"the run with exit code 4\n")

    def test_an_open_that_keeps_failing_on_one_rank(self):
        """Both ranks wait in OMPIO for each other, at different places. What rank 1 opens first is
        the file by itself; from then on it cannot."""
        self.check_ended_by_the_watchdog(CALLS="open", RANK="1", AT="2", KIND="EIO")

    def test_an_open_that_never_returns(self):
        """On one rank; and on both, as of a file system that answers nobody."""
        self.check_ended_by_the_watchdog(CALLS="open", RANK="1", AT="2", KIND="HANG")
        self.check_ended_by_the_watchdog(CALLS="open", AT="3", KIND="HANG")

    def test_a_write_that_fails_on_one_rank(self):
        """ROMIO tells that rank, and then hangs: the run ends for the right reason, not for the
        hang."""
        result = self.write_compressed(3, io="romio321", CALLS="write", RANK="1", AT="1",
                                       KIND="EIO")
        self.assert_one_error(result)
        self.assert_says(result, "error: rank 1: MPI-IO failed in", "step_0000000000.h5.tmp",
                         "input/output error")
        self.assertNotIn("watchdog: error", result.err)


if __name__ == "__main__":
    unittest.main()
