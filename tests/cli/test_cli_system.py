"""A system that gives less than usual: no threads, little memory, a reader of the output that
leaves, a folder that cannot be read; and signals before there is anything to save."""
import os
import resource
import signal
import subprocess
import unittest

import problems
from harness import (LIMIT_S, Case, command_words, environment, kill_session, session_members,
                     wait_until)
from live import Live, rank_of
from test_cli_writer import contents

POOR_SYSTEM = os.environ.get("ISOTHERM_POOR_SYSTEM_LIBRARY", "")


def problem(steps=12):
    config = problems.mixed([15, 13, 11])
    config["time"] = {"steps": steps, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 2}, "snapshots": {"every": 4},
                        "checkpoints": {"every": 5}}
    return config


@unittest.skipUnless(POOR_SYSTEM, "the sanitizers' runtime must be the first library")
class Threads(Case):
    def test_without_threads_output_is_written_in_the_foreground(self):
        whole = self.solve(problem(), output="whole", ranks=2)
        for ranks, where in ((1, "all"), (2, "1")):
            with self.subTest(ranks=ranks):
                run = self.solve(problem(), output=f"poor_{ranks}", ranks=ranks, env={
                    "LD_PRELOAD": POOR_SYSTEM, "POOR_THREADS": where})
                for said in ("warning: the watchdog is off", "warning: output is written in the "
                             "foreground: "):
                    self.assertEqual(run.result.err.count(said), 1, run.result)
                self.assert_says(run.result, "a thread cannot be started: Resource temporarily")
                self.assertEqual(run.report["output"]["writer"], "foreground")
                self.assertEqual(run.report["field_hash"], whole.report["field_hash"])
                self.assertEqual(run.history_bytes(), whole.history_bytes())
                for path in whole.folder.rglob("*.h5"):
                    name = path.relative_to(whole.folder)
                    self.assertEqual(contents(run.folder / name), contents(path), name)


@unittest.skipUnless(POOR_SYSTEM, "the sanitizers' runtime must be the first library")
class Folders(Case):
    def check(self, broken, said, *options, code=3):
        result, _ = self.start(problem(), *options, output="out", ranks=2,
                               env={"LD_PRELOAD": POOR_SYSTEM, "POOR_FOLDER": broken})
        self.assert_code(result, code)
        self.assert_one_error(result)
        self.assert_says(result, said, "Input/output error")
        self.assertNotIn("not a folder", result.err)

    def test_an_error_of_the_disk_is_reported_as_such(self):
        self.solve(problem(), output="out")
        kept = sorted((self.folder / "out").rglob("*"))
        self.check("out", "cannot list the folder out", "--overwrite")
        self.check("out/checkpoints", "cannot list the folder out/checkpoints", "--overwrite")
        self.assertEqual(sorted((self.folder / "out").rglob("*")), kept)

    def test_what_cannot_be_examined_is_not_taken_for_missing(self):
        """A missing history is begun anew."""
        whole = self.solve(problem(), output="out")
        history = whole.history_bytes()
        self.solve(problem(14), "--restart", "auto", output="out",
                   env={"LD_PRELOAD": POOR_SYSTEM, "POOR_FOLDER": "history.csv"})
        self.assertEqual(whole.history_bytes()[:len(history)], history)


@unittest.skipUnless(POOR_SYSTEM, "the sanitizers need far more address space")
class Memory(Case):
    def test_sizes_have_units_that_suit_them(self):
        """Less than a GiB: not "0.000 GiB". With 90 to 240 MB the MPI library crashed."""
        config = problems.mixed([300, 300, 300])
        config["time"] = {"steps": 1}
        name = self.write(config)
        for limit, says in ((700, r"refuses 2\d\d MB of memory; `ulimit -v`"),
                            *((few, rf"the system allows {few} MB of address space \(`ulimit -v`")
                              for few in range(90, 300, 30))):
            process = subprocess.run(
                command_words(["run", name, "--output", "out"], 1), cwd=self.folder, text=True,
                env=environment(1), capture_output=True, check=False, preexec_fn=lambda n=limit:
                resource.setrlimit(resource.RLIMIT_AS, (n << 20, n << 20)))
            self.assertEqual(process.returncode, 4, process)
            self.assertRegex(process.stderr, says)


class Pipes(Case):
    def test_a_reader_that_leaves_costs_no_run(self):
        name = self.write(problem(400))
        whole = self.solve(problem(400))
        for stream in ("stdout", "stderr"):
            for number, words in enumerate((["run", name, "--output", f"out_{stream}"],
                                            ["plan", name], ["--help"], ["run", "--help"])):
                with self.subTest(stream, words=words):
                    reader, writer = os.pipe()
                    os.close(reader)
                    result = self.isotherm(*words, **{stream: writer})
                    os.close(writer)
                    self.assert_code(result, 0)
                    self.assertNotIn("error", result.out + result.err)
            run = self.folder / f"out_{stream}"
            self.assertTrue((run / "report.json").exists())
            self.assertEqual((run / "history.csv").read_bytes(), whole.history_bytes())

    def test_closed_streams_are_no_files(self):
        """What is opened first would get their numbers, and the messages."""
        whole = self.solve(problem())
        name = self.write(problem())
        process = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh",
                                  *command_words(["run", name, "--output", "closed"], 1)],
                                 cwd=self.folder, env=environment(1), check=False)
        self.assertEqual(process.returncode, 0)
        for path in whole.folder.rglob("*.h5"):
            path = path.relative_to(whole.folder)
            self.assertEqual(contents(self.folder / "closed" / path),
                             contents(whole.folder / path), path)

    def test_a_full_disk_behind_the_output_ends_no_run(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result, folder = self.start(problem(), stdout=full)
        self.assert_code(result, 3)
        self.assert_says(result, "cannot write to standard output: No space left")
        self.assertTrue((folder / "report.json").exists())
        self.assertEqual((folder / "history.csv").read_bytes(),
                         self.solve(problem()).history_bytes())


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


class Early(Case):
    """Signals while the initial field is computed, for many minutes."""

    def begin(self, ranks):
        config = problems.mixed([300, 300, 100])
        config["initial"] = [{"expression": {"value": "300" + " + sin(x) * cos(y) * z" * 200}}]
        live = Live(self, config, ranks=ranks)
        for rank in range(ranks):
            def listens(rank=rank):
                pid = live.process.pid if ranks == 1 else live.rank(rank)
                return catches(pid, signal.SIGUSR2)

            def is_ready(listens=listens):
                try:
                    return listens()
                except (AssertionError, OSError):
                    return False
            self.assertTrue(wait_until(is_ready), "the signal has its handler")
        return live

    def check_end(self, live):
        result = live.end(LIMIT_S)
        self.assert_code(result, 75)
        self.assert_says(result, "stopped by a signal before the first step", stream="out")

    def test_a_run_ends_before_its_first_step(self):
        for number in (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT):
            with self.subTest(number.name):
                live = self.begin(1)
                os.kill(live.process.pid, number)
                self.check_end(live)

    def test_a_steady_state_is_not_waited_for(self):
        config = problems.mixed([40, 40, 40])
        config["boundary"] = {face: {"type": "temperature", "value": 300}
                              for face in config["boundary"]}
        config["time"] = {"steady": {"temperature": 1e-9, "solver": "jacobi", "cycles": 1000000}}
        config["output"] = {"history": {"every": 0}}
        live = Live(self, config, ranks=1)
        live.wait_to_say("steady state to an estimated error", "out")
        os.kill(live.process.pid, signal.SIGTERM)
        self.check_end(live)

    def test_one_rank_ends_all(self):
        live = self.begin(3)
        live.signal(signal.SIGUSR2, rank=1)
        live.wait_to_say("stopped by a signal before the first step", "out")
        self.assertTrue(wait_until(lambda: not any(
            rank_of(pid) is not None for pid in session_members(live.process.pid))),
            "all ranks have ended")
        # Open MPI's launcher sometimes waits for ever when its ranks leave together
        try:
            self.assertEqual(live.process.wait(5), 75)
        except subprocess.TimeoutExpired:
            kill_session(live.process.pid)

    def test_other_commands_end(self):
        for words in (["verify"], ["bench", "kernels", "--backend", "cpu", "--size", 200, 200, 200,
                                   "--repeats", 1000]):
            with self.subTest(words[0]):
                process = subprocess.Popen(
                    command_words(words, 1), cwd=self.folder, env=environment(1),
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                self.addCleanup(kill_session, process.pid)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(LIMIT_S), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
