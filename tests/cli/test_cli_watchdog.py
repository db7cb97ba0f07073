"""The watchdog: a rank that is stopped is named, and the run ends within its limit."""
import os
import re
import signal
import time
import unittest

import problems
from harness import Case, thorough, wait_until
from live import ENDLESS, Live

# s: no step or write here takes as long on a machine that does other things as well
PATIENCE, GRACE = 4, 3
SETTINGS = ["--set", f"run.watchdog.patience={PATIENCE}", "--set", f"run.watchdog.grace={GRACE}"]


def problem(cells, **output):
    config = problems.mixed(cells)
    config["time"] = {"steps": ENDLESS, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 50}, **output}
    return config


class Watchdog(Case):
    def check_ended(self, live, stopped, pid):
        """Exit code 4, every living rank says where it stands, the stopped one is named, and no
        process is left over."""
        result = live.end()
        self.assert_code(result, 4)
        for rank in {0, 1, 2} - {stopped}:
            self.assertRegex(result.err,
                             rf"watchdog: rank {rank} \(.*pid \d+\): step \d+, [\w ]+ for")
        self.assertRegex(result.err, rf"watchdog: rank {stopped} \(.*pid {pid}\) has not answered")
        self.assert_says(result, "ending the run with exit code 4")
        self.assertFalse((live.folder / "report.json").exists())
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 10),
                        "the stopped process is gone")
        return result

    @staticmethod
    def stops_in_a_checkpoint(pid, folder):
        """A file that nobody finishes while the rank is stopped: the others wait in its middle."""
        os.kill(pid, signal.SIGSTOP)
        for _ in range(5):
            time.sleep(0.1)
            if not list((folder / "checkpoints").glob("*.tmp")):
                os.kill(pid, signal.SIGCONT)
                return False
        return True

    def test_a_rank_that_is_stopped(self):
        """One in the middle of the steps; another run in the middle of a checkpoint, where the
        others wait inside MPI-IO. Both at once: it is waiting, mostly."""
        steps = Live(self, problem([15, 13, 11]), *SETTINGS, output="steps")
        steps.wait_for_steps()
        stepping = steps.rank(1)
        os.kill(stepping, signal.SIGSTOP)

        config = problem([96, 80, 64], checkpoints={"every": 1, "keep": 1})
        writes = Live(self, config, *SETTINGS, "--set", "output.history.every=1",
                      "--set", "output.writer=foreground", output="writes")
        writes.wait_for_steps()
        writing = writes.rank(2)
        self.assertTrue(wait_until(lambda: self.stops_in_a_checkpoint(writing, writes.folder)))

        result = self.check_ended(steps, 1, stepping)
        if re.search(r"step \d+, halo_\w+ for", result.err):  # mostly; it may be anywhere
            self.assertRegex(result.err, r"rank [02] .*exchanges with ranks .*1 \(silent\)")
        result = self.check_ended(writes, 2, writing)
        self.assertRegex(result.err, r"rank 0 .*, checkpoints for")

    @thorough
    def test_a_rank_that_goes_on(self):
        """Stopped for longer than the patience, but not for the grace: only a warning."""
        live = Live(self, problem([15, 13, 11]), *SETTINGS, "--set", "run.watchdog.grace=1000")
        live.wait_for_steps()
        pid = live.rank(0)
        os.kill(pid, signal.SIGSTOP)
        live.wait_to_say("watchdog: rank 0")
        os.kill(pid, signal.SIGCONT)
        live.wait_to_say("continues")
        live.signal(signal.SIGUSR2)
        self.assert_code(live.end(), 75)

    @thorough
    def test_off(self):
        """And a run that is quick enough says nothing."""
        for settings in (["run.watchdog.patience=0"], ["run.watchdog.patience=1000"]):
            config = problem([15, 13, 11])
            config["time"]["steps"] = 50
            run = self.solve(config, ranks=2, sets=settings)
            self.assertNotIn("watchdog", run.result.err)


if __name__ == "__main__":
    unittest.main()
