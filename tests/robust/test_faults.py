"""Calls of the operating system that fail: the n-th write, fsync, rename ... on the output folder,
once or from then on, on one rank or on all. The run ends with exit code 3 and one message, or goes
on where nothing was lost; where MPI-IO hangs, the watchdog ends it (4); and the checkpoints from
before are as they were.

Every case begins in a copy of a folder with two checkpoints, and goes on from there. A run without
a fault, under the shim, tells which calls there are. ISOTHERM_TEST_FAULTS=all tries all of them, in
each way (2,500 cases for each MPI-IO, 0.7 s a case; 7,400 of a run that writes everything there is
to be written, 1 to 2 s a case, two to three hours for each MPI-IO); a number tries so many, drawn
so that every sort of call on every sort of file has its turn, and a third of it of that run.
ISOTHERM_TEST_SEED: others."""
import os
import random
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from harness import checkpoints, tree
from robust import SEED, Everything, Job, RobustCase

AMOUNT = os.environ.get("ISOTHERM_TEST_FAULTS", "30")
KINDS = ["ENOSPC", "EDQUOT", "EIO", "SHORT"]


def sort_of(line):
    """"7 write snapshots/step_0000000003.h5.tmp" -> (7, "write", "snapshots/step_N.h5.tmp")"""
    number, call, name = line.split()[:3]
    return int(number), call, re.sub(r"\d{10}", "N", name)


class Faults:
    RANKS = 2
    STEPS = 4
    BEGIN = 2  # steps in the folder that every case begins with
    AMOUNT = None if AMOUNT == "all" else int(AMOUNT)
    MAY_STAY = (".tmp",)  # a disk that refuses everything refuses to remove files, too
    AGAIN = 0.1  # the share of the failed cases that are continued

    @classmethod
    def configuration(cls, keep=None):
        """The watchdog waits longer than the ranks do for each other (5.25 s)."""
        config = super().configuration(keep)
        config["run"] = {"watchdog": {"patience": 8, "grace": 3}}
        return config

    def setUp(self):
        super().setUp()
        self.extra = {"OMPI_MCA_io": self.IO}
        self.make_start()
        self.start_files = {name: digest for name, digest in tree(self.folder / "start").items()
                            if name.startswith("checkpoints/step_") and name.endswith(".h5")}

    def make_start(self):
        steps = f"time.steps={self.BEGIN}"
        result = Job(["run", "config.yaml", "--output", "start", "--set", steps], self.RANKS,
                     self.folder, extra=self.extra).end()
        self.assert_code(result, 0)
        (self.folder / "start" / "report.json").unlink()

    def prepare(self):
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.folder / "start", self.out)

    def list_calls(self):
        """By rank: the calls of a run that nothing disturbs."""
        self.prepare()
        log = self.folder / "calls"
        self.assert_code(self.begin(self.RANKS, {"LOG": log}, self.extra).end(), 0)
        return [[sort_of(line) for line in Path(f"{log}.{rank}").read_text().splitlines()]
                for rank in range(self.RANKS)]

    def choose(self, calls):
        """(number, what it is, kind, once, rank): rank "" is all of them."""
        draw = random.Random(f"{SEED} {self.IO} {self.RANKS}")
        every = [(number, f"{call} {name}", kind, once, victim)
                 for rank, made in enumerate(calls) for number, call, name in made
                 for kind in KINDS if kind != "SHORT" or call == "write"
                 for once in (True, False)
                 for victim in (["", "0"] if rank == 0 else [str(rank)])
                 if call != "unlink"]
        if self.AMOUNT is None:
            return every
        by_sort = {}
        for case in every:
            by_sort.setdefault((case[1], case[4]), []).append(case)
        sorts = [by_sort[sort] for sort in sorted(by_sort)]
        draw.shuffle(sorts)
        chosen = []
        while len(chosen) < self.AMOUNT:
            chosen += [draw.choice(sort) for sort in sorts[:self.AMOUNT - len(chosen)]]
        return chosen

    def expect_failure(self, result, fired, kind, what):
        """Exit code 3 and a message; 0 where the fault was one that costs nothing."""
        self.assertIsNotNone(result.code, f"{what}: it hangs\n{result}")
        if result.code == 0:
            # a write cut short is continued; what was synced before is closed for the last time;
            # MPI tries whether a file system knows locks; a lock that stays is seen to be old; a
            # checkpoint that cannot be overwritten is removed, or stays under its temporary name
            harmless = kind == "SHORT" or all(" close " in line or ".locktest." in line or
                                              " unlink run.lock " in line or
                                              re.search(r" (rename|unlink) \S+\.h5\.tmp ", line)
                                              for line in fired)
            self.assertTrue(harmless, f"{what}: exit code 0, {fired}\n{result}")
            stays = [name for name in ("run.lock", ".h5.tmp")
                     if any(f"{name} fault" in line for line in fired)]
            self.expect_whole_run(result, what, tuple(stays))
            return
        if result.code == 4:
            self.expect_hang(result, fired, what)
            return
        self.assertEqual(result.code, 3, f"{what}:\n{result}")
        self.assert_one_error(result)

    def expect_hang(self, result, fired, what):
        """The watchdog ended it: the call of one rank failed within MPI-IO, which compressed cells
        go through, and OMPIO then waits forever without a word."""
        output = self.configuration()["output"]
        compressed = [entry.get("name", "snapshots") for entry in
                      [output["snapshots"], *output.get("regions", [])] if entry.get("compress")]
        self.assertTrue(any(f" {name}/" in line for name in compressed for line in fired),
                        f"{what}: {fired}\n{result}")
        self.assertRegex(result.err, r"watchdog: rank \d .*writing snapshots for [\d.]+ s", what)
        self.assertRegex(result.err, r"watchdog: error: rank \d: no progress .* while writing "
                                     "snapshots: ending the run with exit code 4", what)

    def try_case(self, case):
        number, name, kind, once, victim = case
        what = (f"{self.IO}, call {number} ({name}) of rank {victim or 'any'}: {kind} "
                f"{'once' if once else 'from there on'}")
        log = self.folder / "log"
        fault = {"AT": number, "KIND": kind, "ONCE": int(once), "RANK": victim, "LOG": log}
        for _ in range(3):
            self.prepare()
            for old in self.folder.glob("log.*"):
                old.unlink()
            job = self.begin(self.RANKS, fault, self.extra)
            result = job.end()
            fired = [line for path in self.folder.glob("log.*")
                     for line in path.read_text().splitlines() if line.endswith(" fault")]
            # numbers of calls shift with the threads: another call, which a run may survive, is
            # not the case
            met = result.code != 0 or any(" ".join(sort_of(line)[1:]) == name for line in fired)
            if not job.launcher_failed and met:
                break
        self.expect_failure(result, fired, kind, what)
        left = tree(self.out)
        if result.code != 0:
            for file, digest in self.start_files.items():
                if file in left:
                    self.assertEqual(left[file], digest, f"{what}: {file}")
        self.assertGreaterEqual(len(self.expect_good_checkpoints(what)), 2, what)
        self.expect_good_small_files(what)
        self.expect_good_series(what)
        return result.code

    def test_faults(self):
        chosen = self.choose(self.list_calls())
        again = random.Random(SEED)
        for case in chosen:
            with self.subTest(case):
                code = self.try_case(case)
                if code != 0 and again.random() < self.AGAIN:
                    self.expect_whole_run(self.begin(self.RANKS, extra=self.extra).end(),
                                          f"the restart after {case}")


class Direct(Faults, RobustCase):
    """Snapshots so large that their pages go past the cache, which a file system may refuse: then
    they go through it. A rank's part begins within a page."""

    IO = "ompio"
    SCRATCH = None  # in memory there is no cache
    CELLS = [64, 63, 140]
    CALLS = ("open_direct", "write_direct")

    def choose(self, calls):
        found = {(call, rank): number for rank, made in enumerate(calls)
                 for number, call, _ in made if call in self.CALLS}
        if not found:
            self.skipTest("the file system of the tests writes nothing past its cache")
        self.assertEqual(len(found), len(self.CALLS) * self.RANKS, "every rank has a part")
        return [(number, call, kind, once, str(rank))
                for (call, rank), number in found.items()
                for kind in ["ENOSPC", "EIO", "EINVAL", "SHORT", "KILL_HALF"]
                for once in ((True, False) if kind in KINDS else (True,))
                if call.startswith("write") or kind != "SHORT"]

    def expect_failure(self, result, fired, kind, what):
        if kind == "EINVAL":
            self.expect_whole_run(result, what)
        elif kind == "KILL_HALF":
            self.assertNotEqual(result.code, 0, what)
        else:
            super().expect_failure(result, fired, kind, what)


def mount(folder, kilobytes):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


class FullDisk:
    """A small file system that is full sooner or later, until it is large enough."""

    STEP_KB = 24

    def test_full_disk(self):
        used = sum(-(-path.stat().st_size // 4096) * 4
                   for path in (self.folder / "start").rglob("*"))
        codes = []
        for extra in range(0, 100 * self.STEP_KB, self.STEP_KB):
            code = self.try_disk(used + extra)
            codes.append(code)
            if code == 0:
                break
        self.assertEqual(codes[-1], 0, codes)
        self.assertGreater(len(codes), 5, codes)

    def try_disk(self, kilobytes):
        what = f"{self.IO}, a disk of {kilobytes} KB"
        self.out.mkdir()
        if not mount(self.out, kilobytes):
            self.out.rmdir()
            self.skipTest("a tmpfs cannot be mounted here")
        try:
            shutil.copytree(self.folder / "start", self.out, dirs_exist_ok=True)
            result = self.begin(self.RANKS, extra=self.extra).end()
            self.expect_failure(result, [" close "], "ENOSPC", what)
            if result.code != 0:
                self.assertIn("error: ", result.err)
                self.assertRegex(result.err, "(?i)room|space", what)
            self.assertGreaterEqual(len(self.expect_good_checkpoints(what)), 2, what)
            self.expect_good_series(what)
        finally:
            subprocess.run(["umount", "-l", self.out], check=True)
            self.out.rmdir()
        return result.code


class Ompio(FullDisk, Faults, RobustCase):
    IO = "ompio"


class Romio(FullDisk, Faults, RobustCase):
    IO = "romio321"


class FaultsInEverything(Faults, Everything):
    """Regions, derived fields, probes, lines, pictures; some cells go through MPI-IO."""

    EVERY_CHECKPOINT = 1
    AMOUNT = None if AMOUNT == "all" else int(AMOUNT) // 3
    AGAIN = 0.1 if AMOUNT == "all" else 0.3

    def make_start(self):
        """Not the end of a shorter run, which would have other outputs: killed when the third
        checkpoint is to get its name. Each has two renames, the other is of `latest`."""
        start = self.folder / "start"
        fault = {"FOLDER": start / "checkpoints", "CALLS": "rename", "AT": 2 * self.BEGIN + 1,
                 "KIND": "KILL", "RANK": "0"}
        result = Job(["run", "config.yaml", "--output", "start"], self.RANKS, self.folder, fault,
                     self.extra).end()
        self.assertNotIn(result.code, (None, 0), result)
        self.assertEqual(len(checkpoints(start)), self.BEGIN, result)


class EverythingByOmpio(FaultsInEverything, RobustCase):
    IO = "ompio"


class EverythingByRomio(FaultsInEverything, RobustCase):
    IO = "romio321"


class SamplesTakenBack(FaultsInEverything, RobustCase):
    """A restart takes rows of the CSV files back, and the disk fails in the midst of it: the files
    are as they were, or have the rows that they shall have."""

    IO = "ompio"
    AGAIN = 1

    def choose(self, calls):
        found = {}
        for number, call, name in calls[0]:
            if name in ("probes.csv.tmp", "axis.csv.tmp", "history.csv.tmp"):
                found.setdefault((call, name), number)
        self.assertGreaterEqual(len(found), 3 * 3, "opened, written, flushed")
        return [(number, " ".join(sort), "ENOSPC", False, "0") for sort, number in found.items()
                if sort[0] in ("write", "fsync", "rename")]


if __name__ == "__main__":
    unittest.main()
