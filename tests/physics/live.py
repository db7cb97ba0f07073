"""A run that goes on beside the test, which signals it, stops it, or looks at its files."""
import os
import subprocess

from harness import (Result, command_words, environment, kill_session, session_members,
                     wait_until)

ENDLESS = 100_000_000  # steps; nobody waits for them


def rank_of(pid):
    """The MPI rank of a process, None when it is none (mpirun)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    except OSError:
        return None
    rank = words.get(b"OMPI_COMM_WORLD_RANK")
    return None if rank is None else int(rank)


class Live:
    """A run that goes on beside the test."""

    def __init__(self, case, config, *options, ranks=3, output="live", extra=None):
        self.case, self.folder = case, case.folder / output
        name = case.write(config, f"{output}.yaml")
        self.words = command_words(["run", name, "--output", output, *options], ranks)
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            # restore_signals: see isotherm() in harness.py
            self.process = subprocess.Popen(
                self.words, cwd=case.folder, env=environment(1, extra), stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True, restore_signals=ranks == 1)
        case.addCleanup(kill_session, self.process.pid)

    def wait_for_steps(self):
        """Until the time loop runs: then the signals have their handlers."""
        path = self.folder / "history.csv"
        self.case.assertTrue(wait_until(lambda: path.exists() and path.stat().st_size > 300),
                             "the run has begun")

    def rank(self, number):
        for pid in session_members(self.process.pid):
            if rank_of(pid) == number:
                return pid
        raise AssertionError(f"no rank {number}")

    def signal(self, number, rank=1):
        os.kill(self.rank(rank), number)

    def path(self, stream):
        return f"{self.folder}.{stream}"

    def text(self, stream):
        with open(self.path(stream), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_to_say(self, text, stream="err"):
        self.case.assertTrue(wait_until(lambda: text in self.text(stream)),
                             f"expected {text!r} in std{stream}:\n{self.text(stream)}")

    def end(self, limit=60):
        try:
            code = self.process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            kill_session(self.process.pid)
            self.process.wait()
            code = None
        result = Result(self.words, code, self.text("out"), self.text("err"))
        self.case.assertIsNotNone(code, f"still running after {limit} s, killed:\n{result}")
        return result
