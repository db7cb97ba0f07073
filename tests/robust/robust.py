"""What the tests of kills and of failing calls share: starting the program under fault_shim.c, and
judging what it leaves, against a run that nothing disturbed.

ISOTHERM_FAULT_SHIM names the shim, ISOTHERM_CHECKPOINT_CHECKER the program that checks seals."""
import hashlib
import os
import re
import random
import shutil
import signal
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py

from harness import (BINARY, LAUNCHER, Case, Result, Run, checkpoints, environment, kill_session,
                     session_members, to_yaml, tree)

SHIM = os.environ.get("ISOTHERM_FAULT_SHIM", "")
CHECKER = os.environ.get("ISOTHERM_CHECKPOINT_CHECKER", "")
HANG_S = 60.0  # what runs longer has stopped
SEED = int(os.environ.get("ISOTHERM_TEST_SEED", "1"))


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


# ---- processes -----------------------------------------------------------------------------------

class Job:
    """The program under way; `fault` are the shim's settings without FAULT_."""

    def __init__(self, words, ranks, cwd, fault=None, extra=None):
        scratch = Path(cwd) / "mpi"
        scratch.mkdir(exist_ok=True)
        # what killed ranks leave of Open MPI's files goes with the test's folder
        variables = {"OMPI_MCA_odls_base_sigkill_timeout": "0", "TMPDIR": str(scratch),
                     "OMPI_MCA_btl_vader_backing_directory": str(scratch), **(extra or {})}
        preload = []
        if fault is not None:
            preload = ["env", f"LD_PRELOAD={SHIM}"]
            variables.update({f"FAULT_{key}": str(value) for key, value in fault.items()})
        launcher = [LAUNCHER, "-n", str(ranks)] if ranks > 1 else []
        self.words = launcher + preload + [BINARY] + [str(word) for word in words]
        self.process = subprocess.Popen(
            self.words, cwd=cwd, env=environment(1, variables), text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.launcher_failed = False

    def end(self, limit=HANG_S):
        """Wait for the end. Result.code is None when it hung; then all of it is killed.
        `launcher_failed`: it was mpirun alone, which now and then crashes when it has told of an
        MPI_Abort, or goes on for ever with no rank left."""
        left = []
        try:
            out, err = self.process.communicate(timeout=limit)
            code = self.process.returncode
        except subprocess.TimeoutExpired:
            left = self.rank_pids()
            kill_session(self.process.pid)
            out, err = self.process.communicate()
            code = None
        self.launcher_failed = "-n" in self.words and not left and (code is None or code < 0)
        return Result(self.words, code, out, err)

    def is_over(self):
        return self.process.poll() is not None

    def rank_pids(self):
        """The ranks that have started so far, in the order of their numbers."""
        found = {}
        for pid in session_members(self.process.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe") != BINARY:
                    continue
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in variables:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.partition(b"=")[2])] = pid
        return [found[rank] for rank in sorted(found)]

    def kill_rank(self, number):
        """False when it has not started yet, or has ended."""
        pids = self.rank_pids()
        if not pids:
            return False
        try:
            os.kill(pids[number % len(pids)], signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill_all(self):
        kill_session(self.process.pid)


class Checker:
    """The program's own check of a checkpoint, in one process for all questions."""

    def __init__(self):
        self.process = subprocess.Popen([CHECKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment(1))

    def verdict(self, path):
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=HANG_S)
        self.process.stdout.close()


# ---- what is left --------------------------------------------------------------------------------

class Reference:
    """A run that nothing disturbed and that kept all its checkpoints."""

    def __init__(self, run):
        self.hash = run.report["field_hash"]
        self.series = {name: read_series(run.folder, name) for name in series_names(run.folder)}
        self.csv = read_all(run.folder, "*.csv")
        self.pictures = read_all(run.folder, "pictures/*.png")
        self.files = set(tree(run.folder))
        self.fields = {}
        for path in checkpoints(run.folder):
            step, fields = read_checkpoint(path)
            self.fields[step] = fields


def read_all(folder, pattern):
    return {path.name: path.read_bytes() for path in Path(folder).glob(pattern)}


def read_checkpoint(path):
    """Its step, and a digest of each of its fields."""
    with h5py.File(path, "r") as file:
        fields = {name: digest(item[()]) for name, item in file.items()
                  if isinstance(item, h5py.Dataset) and item.ndim == 3}
        return int(file["/T"].attrs["step"]), fields


def series_names(folder):
    """Of the whole grid's snapshots and of each region's."""
    return sorted(path.stem for path in Path(folder).glob("*.vtkhdf"))


def read_series(folder, name="snapshots", contents=None):
    """[(time, {field: digest})] of NAME.vtkhdf as viewers see them, through /VTKHDF. `contents`:
    only so many of the last ones are read; the others' digests are None."""
    with h5py.File(Path(folder) / f"{name}.vtkhdf", "r") as file:
        steps, fields = file["/VTKHDF/Steps"], file["/VTKHDF/CellData"]
        times = list(steps["Values"][()])
        offsets = {field: list(steps[f"CellDataOffsets/{field}"][()]) for field in fields}
        if len(times) != steps.attrs["NSteps"] or any(len(o) != len(times)
                                                      for o in offsets.values()):
            raise AssertionError(f"NSteps is {steps.attrs['NSteps']}, with {len(times)} times")
        if len(times) == 2 and offsets["T"][1] == 0:
            times.pop()  # a single snapshot is entered twice
        first = 0 if contents is None else max(0, len(times) - contents)
        found = [(float(time), None if n < first else {}) for n, time in enumerate(times)]
        for field, dataset in fields.items() if times else ():
            begin = int(offsets[field][first])
            cells = dataset[begin:]  # at once: a virtual dataset opens a file for each
            for n in range(first, len(times)):
                found[n][1][field] = digest(cells[int(offsets[field][n]) - begin])
        return found


def read_xdmf(folder, name="snapshots"):
    """[(time, the files with its fields)] of NAME.xdmf."""
    root = ElementTree.parse(Path(folder) / f"{name}.xdmf").getroot()
    return [(float(grid.find("Time").get("Value")),
             {item.text.rpartition(":")[0] for item in grid.iter("DataItem")
              if item.get("Format") == "HDF"})
            for grid in root.iter("Grid") if grid.get("GridType") == "Uniform"]


class RobustCase(Case):
    """A problem solved once undisturbed, then again under attack in the folder `out`."""

    CELLS = [10, 9, 8]
    STEPS = 10
    EVERY = 1
    KEEP = 2
    MAY_STAY = ()  # ends of names

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.checker = Checker()
        cls.addClassCleanup(cls.checker.close)
        folder = tempfile.mkdtemp(prefix="isotherm_reference_", dir=cls.SCRATCH)
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.reference = cls.solve_reference(Path(folder))

    @classmethod
    def configuration(cls, keep=None):
        return {
            "title": "robust",
            "grid": {"cells": cls.CELLS, "lower": [0.0] * 3, "upper": [0.3, 0.27, 0.24]},
            "material": {"conductivity": 45.0, "density": 780.0, "heat_capacity": 490.0},
            "initial": [{"expression": {"value": "300 + 40*sin(13*x)*cos(17*y) + 90*z*x"}}],
            "boundary": {
                "x_min": {"type": "temperature", "value": "350 + 40*sin(0.01*t)"},
                "x_max": {"type": "convection", "coefficient": 900.0, "ambient": 280.0},
                "y_min": {"type": "periodic"}, "y_max": {"type": "periodic"},
                "z_min": {"type": "flux", "value": 4.0e4},
                "z_max": {"type": "temperature", "value": 320.0}},
            "time": {"steps": cls.STEPS, "dt": "auto"},
            "output": {
                "history": {"every": cls.EVERY},
                "snapshots": {"every": cls.EVERY, "precision": "float64"},
                "checkpoints": {"every": cls.EVERY, "keep": keep or cls.KEEP}},
        }

    @classmethod
    def solve_reference(cls, folder):
        (folder / "config.yaml").write_text(to_yaml(cls.configuration(keep=cls.STEPS + 1)))
        result = Job(["run", "config.yaml", "--output", "out"], 1, folder).end()
        if result.code != 0:
            raise AssertionError(f"the undisturbed run failed:\n{result}")
        return Reference(Run(result, folder / "out"))

    def setUp(self):
        super().setUp()
        self.write(self.configuration())
        self.out = self.folder / "out"

    def begin(self, ranks, fault=None, extra=None):
        fault = {"FOLDER": self.out, **(fault or {})}
        return Job(["run", "config.yaml", "--output", "out", "--restart", "auto"], ranks,
                   self.folder, fault, extra)

    def expect_good_checkpoints(self, what):
        """Every published one is whole and holds what the undisturbed run had at that step, and
        `latest` names one of them. Returns their steps."""
        steps = []
        for path in checkpoints(self.out):
            self.assertEqual(self.checker.verdict(path), "good", f"{what}: {path.name}")
            step, fields = read_checkpoint(path)
            self.assertEqual(path.name, f"step_{step:010d}.h5", what)
            self.assertEqual(fields, self.reference.fields[step],
                             f"{what}: the fields in {path.name}")
            steps.append(step)
        latest = self.out / "checkpoints" / "latest"
        if latest.exists():
            self.assertIn(latest.read_text().strip(), [p.name for p in checkpoints(self.out)],
                          f"{what}: latest")
        return steps

    def expect_good_small_files(self, what):
        """CSV files have rows of the undisturbed run, from the first on; the last one may be cut.
        Pictures are its pictures."""
        for name, rows in read_all(self.out, "*.csv").items():
            self.assertEqual(rows, self.reference.csv[name][:len(rows)], f"{what}: {name}")
        for name, picture in read_all(self.out, "pictures/*.png").items():
            self.assertEqual(picture, self.reference.pictures[name], f"{what}: {name}")

    def expect_good_series(self, what, contents=3):
        """The snapshots that a viewer sees, of the whole grid and of each region: those of the
        undisturbed run, in order, none twice, none left out. Returns how many of each."""
        counts = {}
        for name in series_names(self.out):
            found = read_series(self.out, name, contents)
            expected = self.reference.series[name]
            self.assertLessEqual(len(found), len(expected), f"{what}: {name}")
            for number, (time, fields) in enumerate(found):
                self.assertEqual(time, expected[number][0], f"{what}: time of {name} {number}")
                if fields is not None:
                    self.assertEqual(fields, expected[number][1], f"{what}: {name} {number}")
            self.expect_good_xdmf(name, what)
            counts[name] = len(found)
        return counts

    def expect_good_xdmf(self, name, what):
        """It may lag behind the other list or be ahead of it, but never name what is not there."""
        if not (self.out / f"{name}.xdmf").exists():
            return
        for number, (time, files) in enumerate(read_xdmf(self.out, name)):
            self.assertEqual(time, self.reference.series[name][number][0],
                             f"{what}: XDMF of {name} {number}")
            for file in files:
                self.assertTrue((self.out / file).is_file(), f"{what}: {file} in the XDMF file")

    def expect_whole_run(self, result, what, may_stay=()):
        """It went to the end, and nothing tells that it was ever disturbed."""
        self.assertEqual(result.code, 0, f"{what}:\n{result}")
        run, wanted = Run(result, self.out), self.reference
        self.assertEqual(run.report["field_hash"], wanted.hash, what)
        self.assertEqual(read_all(self.out, "*.csv"), wanted.csv, what)
        self.assertEqual(read_all(self.out, "pictures/*.png"), wanted.pictures, what)
        counts = {name: len(series) for name, series in wanted.series.items()}
        self.assertEqual(self.expect_good_series(what, contents=None), counts, what)
        self.assertEqual({name: len(read_xdmf(self.out, name)) for name in counts}, counts, what)
        self.assertEqual(self.expect_good_checkpoints(what)[-1], self.STEPS, what)
        left_over = {name for name in set(tree(self.out)) - wanted.files
                     if not name.endswith((*self.MAY_STAY, *may_stay))
                     and not re.search(r"\.locktest\.|-\d+-\d+\.lock$", name)}  # MPI's
        self.assertEqual(left_over, set(), f"{what}: left over")
        return run


class Everything:
    """All that a run can write. The seed decides how often, which fields, and what is compressed;
    one at least is, so that cells go through MPI-IO, and one at least is not."""

    EVERY_CHECKPOINT = 2

    @classmethod
    def configuration(cls, keep=None):
        config = super().configuration(keep)
        draw = random.Random(f"{SEED} outputs")
        compress = [0, draw.randint(1, 9), draw.choice([0, 1])]
        draw.shuffle(compress)

        def some_fields():
            return sorted(draw.sample(["T_max", "arrival_time", "time_above", "heat_flux"],
                                      draw.randint(1, 4)))

        def interval():
            return round(draw.uniform(1.1, 2.9), 2)

        config["output"] = {
            "derived": {"isotherm": 345.0, "threshold": 340.0, "every": draw.randint(1, 3)},
            "history": {"every": 1},
            "snapshots": {"every": draw.randint(1, 2), "derived": some_fields(),
                          "compress": compress[0]},
            "regions": [
                {"name": "middle", "slice": {"axis": draw.choice("xyz"), "at": 0.12},
                 "every": draw.randint(1, 3), "derived": some_fields(), "compress": compress[1]},
                {"name": "thin", "stride": [3, 2, 5], "interval": interval(),
                 "precision": "float64", "compress": compress[2]}],
            "probes": {"every": draw.randint(1, 2),
                       "points": [{"name": "core", "at": [0.2, 0.15, 0.1]},
                                  {"name": "edge", "at": [0.0, 0.0, 0.24]}]},
            "lines": [{"name": "axis", "from": [0.0, 0.15, 0.1], "to": [0.3, 0.15, 0.1],
                       "points": 3, "interval": interval()},
                      {"name": "up", "from": [0.1, 0.1, 0.0], "to": [0.1, 0.1, 0.2], "points": 2,
                       "every": draw.randint(1, 3)}],
            "pictures": {"every": draw.randint(2, 4), "plane": draw.choice("xyz")},
            "checkpoints": {"every": cls.EVERY_CHECKPOINT, "keep": keep or cls.KEEP}}
        return config
