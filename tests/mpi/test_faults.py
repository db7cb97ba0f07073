"""MPI calls that fail: for each number N one run in which one rank's N-th call of MPI fails. All
ranks end within seconds, with exit code 4 and a message. A call of HDF5's own is HDF5's failure: a
file error, exit code 3; or 4, from the watchdog, where HDF5 waits for ever for the other ranks.

ISOTHERM_TEST_MPI_FAULTS=N tries every N-th call (1: all); without it a few. ISOTHERM_FAULTS names
the library that makes calls fail (faults.c)."""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import problems
from harness import (END_AT_ONCE, Case, Result, command_words, environment, kill_session,
                     session_members, to_yaml)

LIBRARY = os.environ["ISOTHERM_FAULTS"]
EVERY = int(os.environ.get("ISOTHERM_TEST_MPI_FAULTS", "0"))
# A failure inside HDF5 costs status_agree's five seconds, or the watchdog's patience.
LIMIT_S = 60.0


def launch(words, ranks, folder, env):
    """The result (code None: it hung and was killed), and whether what is wrong with it is the
    launcher's own: Open MPI's mpirun now and then dies of SIGPIPE when a rank ends before
    MPI_Init, or goes on for ever with no rank left."""
    full = command_words(words, ranks)
    process = subprocess.Popen(full, cwd=folder, env=environment(1, env), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    left = []
    try:
        out, err = process.communicate(timeout=LIMIT_S)
        code = process.returncode
    except subprocess.TimeoutExpired:
        left = [pid for pid in session_members(process.pid) if is_rank(pid)]
        kill_session(process.pid)
        out, err = process.communicate()
        code = None
    return Result(full, code, out, err), (code is None or code < 0) and not left


def is_rank(pid):
    """Of the program, and not a corpse that the launcher has not looked after."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return "(isotherm)" in text and text.rpartition(")")[2].split()[0] != "Z"


class Faults(Case):
    def config(self, files):
        config = problems.mixed([9, 8, 7])
        config["time"]["steps"] = 3
        config["time"].pop("end", None)
        config["boundary"]["y_min"] = config["boundary"]["y_max"] = {"type": "periodic"}
        config["output"] = {"directory": "out", "history": {"every": 2}}
        # who hangs inside HDF5 can be ended by the watchdog alone
        config["run"]["watchdog"] = {"patience": 2, "grace": 1}
        if files:
            config["output"]["snapshots"] = {"every": 2}
            config["output"]["checkpoints"] = {"every": 3}
        return to_yaml(config)

    def run_once(self, text, ranks, transport, rank, call):
        """One run in a folder of its own. Returns its result, what failed (None: there were fewer
        calls), and the number of calls."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            folder = pathlib.Path(folder)
            (folder / "config.yaml").write_text(text)
            env = {**END_AT_ONCE, "LD_PRELOAD": LIBRARY, "FAULT_RANK": str(rank),
                   "FAULT_CALL": str(call), "FAULT_LOG": str(folder), "TMPDIR": str(folder)}
            words = ["run", "config.yaml", "--overwrite", "--set",
                     f"run.halo.transport={transport}"]
            for _ in range(3):
                result, is_launchers = launch(words, ranks, folder, env)
                if not is_launchers:
                    break
            failed = folder / "failed"
            calls = folder / f"calls.{rank}"
            return (result, failed.read_text().split() if failed.exists() else None,
                    int(calls.read_text()) if calls.exists() else None)

    def check(self, result, failed, whole, where):
        name, caller = failed
        if result.code is None:
            self.fail(f"{where}: {name} of {caller}: hung for {LIMIT_S} s: {result}")
        if "hdf5" in caller and result.code == 0:
            # HDF5 does not mind, in calls that free something: then the run is whole
            self.assertIn(whole, result.out, f"{where}: {name}: {result}")
            return
        if "hdf5" in caller and name in ("MPI_Comm_create_keyval", "MPI_Comm_free_keyval"):
            # HDF5's first calls of MPI: 1.10 wants to record the failure, for which it begins
            # anew, until the stack is full
            self.assertIn(result.code, (3, 128 + signal.SIGSEGV), f"{where}: {result}")
            return
        # HDF5 may wait for the other ranks while it cleans up: then the watchdog ends the run
        expected = (3, 4) if "hdf5" in caller else (4,)
        self.assertIn(result.code, expected, f"{where}: {name} of {caller}:\n{result}")
        # with words behind the rank
        self.assertRegex(result.err, r"(?m)error: (rank \d+: )?(?!rank \d+: ?$)\S|watchdog",
                         f"{where}: {result}")

    def try_calls(self, ranks, transport, files=False, wanted=12):
        text = self.config(files)
        result, failed, count = self.run_once(text, ranks, transport, 0, -1)
        self.assert_code(result, 0)
        self.assertIsNone(failed)
        whole = re.search("field hash.*", result.out).group(0)
        wanted = count // EVERY if EVERY else wanted
        # the first and the last two, and others as far apart, of all ranks in turn
        calls = sorted({1 + number * (count - 1) // max(wanted - 1, 1)
                        for number in range(wanted)} | {count - 1})

        def one(call):
            rank = call % ranks
            return call, rank, self.run_once(text, ranks, transport, rank, call)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for call, rank, (result, failed, _) in pool.map(one, calls):
                with self.subTest(call=call, rank=rank):
                    if failed is None:
                        self.assert_code(result, 0)  # this rank makes fewer calls
                    else:
                        self.check(result, failed, whole, f"call {call} of rank {rank}")

    def test_two_ranks(self):
        self.try_calls(2, "host")

    def test_two_ranks_staged(self):
        self.try_calls(2, "staged", wanted=6)

    def test_three_ranks(self):
        self.try_calls(3, "host", wanted=8)

    def test_files(self):
        self.try_calls(2, "host", files=True, wanted=12)


if __name__ == "__main__":
    unittest.main()
