"""Ending well: signals, the file `stop`, the walltime; and going on afterwards."""
import os
import signal
import subprocess
import time
import unittest

import h5py

import problems
from harness import (LIMIT_S, SMALL, Case, checkpoints, command_words, environment, some, thorough,
                     wait_until)
from live import ENDLESS, Live

CELLS = [15, 13, 11]


def problem(steps, scheme=None, **output):
    config = problems.mixed(CELLS)
    config["time"] = {"steps": steps, **(scheme or {"dt": config["time"]["dt"]})}
    config["output"] = {"history": {"every": 50}, **output}
    return config


class StopCase(Case):
    def check_stopped(self, result, folder):
        """75, a good checkpoint that `latest` names, no report: the run is not whole. Its step."""
        self.assert_code(result, 75)
        self.assert_says(result, "stopped at step", "--restart auto", stream="out")
        self.assertNotIn("error:", result.err)
        self.assertFalse((folder / "report.json").exists())
        newest = checkpoints(folder)[-1]
        self.assertEqual((folder / "checkpoints/latest").read_text().strip(), newest.name)
        with h5py.File(newest, "r") as file:
            return int(file["/T"].attrs["step"])

    def check_goes_on(self, step, output="live", scheme=None):
        """What was stopped at that step and continued on other ranks equals an undisturbed run."""
        config = problem(step + 60, scheme)
        whole = self.solve(config, output="whole", ranks=2)
        run = self.solve(config, "--restart", "auto", output=output, ranks=2)
        self.assertEqual(run.report["first_step"], step)
        self.assertEqual(run.report["field_hash"], whole.report["field_hash"])
        if scheme is None:  # else the ledger is rounded where the stop books it
            self.assertEqual(run.history_bytes(), whole.history_bytes())


class Stop(StopCase):
    def test_signals(self):
        """To one rank only, and no checkpoints are configured."""
        for number in some((signal.SIGINT, signal.SIGUSR2, signal.SIGTERM, signal.SIGXCPU,
                            signal.SIGHUP), 1):
            with self.subTest(number.name):
                output = f"live_{number.name}"
                live = Live(self, problem(ENDLESS), output=output)
                live.wait_for_steps()
                live.signal(number)
                result = live.end()
                step = self.check_stopped(result, live.folder)
                self.assert_says(result, number.name[3:], stream="out")
        self.check_goes_on(step, output)

    def test_in_super_steps(self):
        """They end first, and the run is continued from there."""
        scheme = {"scheme": "sts2", "stages": 32}
        live = Live(self, problem(ENDLESS, scheme))
        live.wait_for_steps()
        live.signal(signal.SIGTERM)
        self.check_goes_on(self.check_stopped(live.end(), live.folder), scheme=scheme)

    def test_while_mpi_starts(self):
        """The handlers are there before MPI has threads. Nothing is saved: 75; USR1 continues."""
        for number, code in ((signal.SIGTERM, 75), (signal.SIGXCPU, 75), (signal.SIGUSR1, 0)):
            live = Live(self, problem(ENDLESS if code else 10), ranks=1, output=f"live_{number}")
            status = {"Threads": "1"}
            while status["Threads"] == "1":
                with open(f"/proc/{live.process.pid}/status", encoding="utf-8") as file:
                    status = dict(line.split(":\t", 1) for line in file.read().splitlines())
            caught = int(status["SigCgt"], 16)
            for name in ("TERM", "INT", "HUP", "XCPU", "USR1", "USR2"):
                self.assertTrue(caught >> (signal.Signals[f"SIG{name}"] - 1) & 1, name)
            os.kill(live.process.pid, number)
            result = live.end()
            self.assert_code(result, code)
            self.assertIn("nothing to save" if code else "done: step 10", result.out)

    def test_while_the_program_is_loaded(self):
        """Signals that the parent blocks wait for the handlers, however early they come."""
        numbers = [signal.Signals[f"SIG{name}"] for name in
                   ("TERM", "INT", "HUP", "XCPU", "USR2", "USR1")]
        name = self.write(problem(10))
        for number in numbers:
            process = subprocess.Popen(
                command_words(["run", name, "--output", "out", "--overwrite"], 1), cwd=self.folder,
                env=environment(1), text=True, stdout=subprocess.PIPE,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers))
            os.kill(process.pid, number)
            out, _ = process.communicate(timeout=LIMIT_S)
            goes_on = number == signal.SIGUSR1
            self.assertEqual(process.returncode, 0 if goes_on else 75, out)
            self.assertIn("done: step 10" if goes_on else "nothing to save", out)

    @thorough
    def test_alone_without_a_launcher(self):
        live = Live(self, problem(ENDLESS), ranks=1)
        live.wait_for_steps()
        os.kill(live.process.pid, signal.SIGTERM)
        self.check_goes_on(self.check_stopped(live.end(), live.folder))

    def test_a_checkpoint_on_request(self):
        """USR1 goes on, whether all ranks get it, from mpirun, or one."""
        live = Live(self, problem(ENDLESS))
        live.wait_for_steps()
        live.process.send_signal(signal.SIGUSR1)
        latest = live.folder / "checkpoints/latest"
        self.assertTrue(wait_until(latest.exists), "a checkpoint")
        first = latest.read_text()

        def asks_again():
            """One that comes before that rank has left the first checkpoint asks for that."""
            live.signal(signal.SIGUSR1, rank=2)
            time.sleep(0.5)
            return latest.read_text() != first
        self.assertTrue(wait_until(asks_again), "a second checkpoint")
        live.signal(signal.SIGUSR2, rank=0)
        result = live.end()
        self.check_stopped(result, live.folder)
        self.assertGreaterEqual(result.out.count("written (signal USR1)"), 2, result)

    def test_checkpoints_by_the_clock(self):
        """All ranks at the same step, though one clock says when; and no other checkpoint is asked
        for."""
        live = Live(self, problem(ENDLESS, checkpoints={"walltime": 0.3, "keep": 2}))
        names = set()

        def several():
            names.update(path.name for path in checkpoints(live.folder))
            return len(names) >= 3
        self.assertTrue(wait_until(several), "one checkpoint after the other")
        live.signal(signal.SIGUSR2)
        self.check_goes_on(self.check_stopped(live.end(), live.folder))

    @thorough
    def test_again_and_again_during_a_checkpoint(self):
        config = problem(ENDLESS, checkpoints={"every": 1, "keep": 2})
        live = Live(self, config)
        live.wait_for_steps()
        pid, temporary = live.rank(1), live.folder / "checkpoints"
        self.assertTrue(wait_until(lambda: list(temporary.glob("*.tmp"))), "one is being written")
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR2, signal.SIGTERM):
            os.kill(pid, number)
        step = self.check_stopped(live.end(), live.folder)
        self.assertEqual(list(temporary.glob("*.tmp")), [])
        self.check_goes_on(step)

    @thorough
    def test_stop_file(self):
        live = Live(self, problem(ENDLESS))
        live.wait_for_steps()
        (live.folder / "stop").touch()
        result = live.end()
        step = self.check_stopped(result, live.folder)
        self.assert_says(result, "the file live/stop", "remove it", stream="out")
        # it works as long as it is there
        result, folder = self.start(problem(step + 60), "--restart", "auto", output="live")
        self.assertEqual(self.check_stopped(result, folder), step)
        (live.folder / "stop").unlink()
        self.check_goes_on(step)


class OneRunAtATime(StopCase):
    def test_a_second_run_is_refused(self):
        """Nothing of the first is changed; when it was killed nothing is in the way."""
        live = Live(self, problem(ENDLESS, checkpoints={"walltime": 0.3, "keep": 2}))
        live.wait_for_steps()
        self.assertTrue(wait_until(lambda: checkpoints(live.folder)), "a checkpoint")
        lock = (live.folder / "run.lock").read_text(encoding="utf-8")
        for option in (["--overwrite"], ["--restart", "auto"], []):
            result, _ = self.start(problem(10), *option, output="live", ranks=2)
            self.assert_code(result, 2)
            self.assert_one_error(result)
            self.assert_says(result, "folder live", f"process {live.rank(0)} on ", "since 20",
                             "the file live/stop", "--output")
        self.assertEqual((live.folder / "run.lock").read_text(encoding="utf-8"), lock)
        os.kill(live.rank(0), signal.SIGKILL)
        self.assertNotIn(live.end().code, (0, 75))
        self.assertEqual((live.folder / "run.lock").read_text(encoding="utf-8"), lock)
        self.solve(problem(10), "--overwrite", output="live", ranks=2)
        self.assertFalse((live.folder / "run.lock").exists(), "left at the end")


class Walltime(StopCase):
    def test_given(self):
        """Of 100 s, margin and guess of a checkpoint (half as long again as 5 s) leave half a s."""
        result, folder = self.start(problem(ENDLESS), ranks=2,
                                    sets=["run.walltime=100", "run.walltime_margin=92"])
        step = self.check_stopped(result, folder)
        self.assert_says(result, "s are left of run.walltime", "(estimated)", stream="out")
        if not SMALL:
            self.check_goes_on(step, folder.name)

    def test_too_short_for_a_step(self):
        """It would end at once, and so would each restart."""
        for sets in (["run.walltime=7", "run.walltime_margin=0"], ["run.walltime=30"]):
            result, folder = self.start(problem(ENDLESS), ranks=2, sets=sets)
            self.assert_code(result, 2)
            self.assert_one_error(result)
            self.assert_says(result, "run.walltime", "no time for a step", "run.walltime_margin")
            self.assertFalse((folder / "history.csv").exists(), "nothing may be written")

    @thorough
    def test_a_measured_checkpoint_counts(self):
        """By its guess of 5 s the run would end after a second."""
        config = problem(ENDLESS, checkpoints={"every": 20, "keep": 1})
        live = Live(self, config, "--set", "run.walltime=9", "--set", "run.walltime_margin=0.5")
        live.wait_for_steps()
        time.sleep(1.5)
        live.signal(signal.SIGUSR2)
        result = live.end()
        self.check_stopped(result, live.folder)
        self.assert_says(result, "(signal USR2)", stream="out")

    @thorough
    def test_slurms_end(self):
        end = {"SLURM_JOB_END_TIME": str(int(time.time()) + 100)}
        result, folder = self.start(problem(ENDLESS), ranks=2, env=end,
                                    sets=["run.walltime_margin=93"])
        self.check_stopped(result, folder)
        self.assert_says(result, "s are left of the Slurm job", stream="out")

    @thorough
    def test_an_end_that_is_past(self):
        """Nothing is lost that there was; and the next job goes on."""
        end = {"SLURM_JOB_END_TIME": "1000000000"}
        result, folder = self.start(problem(ENDLESS), env=end, output="live")
        self.assertEqual(self.check_stopped(result, folder), 0)
        self.check_goes_on(0)

    def test_an_end_that_is_none(self):
        result, folder = self.start(problem(10), ranks=3, env={"SLURM_JOB_END_TIME": "noon"})
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "SLURM_JOB_END_TIME", "noon", "run.walltime")
        self.assertFalse(folder.exists(), "nothing may be written")

    @thorough
    def test_the_setting_replaces_slurms_end(self):
        end = {"SLURM_JOB_END_TIME": "1000000000"}
        result, _ = self.start(problem(10), env=end, sets=["run.walltime=1000"])
        self.assert_code(result, 0)


if __name__ == "__main__":
    unittest.main()
