"""What the tests of kills and of failing calls share: starting the program under fault_shim.c, and
judging what it leaves, against a run that nothing disturbed.

ISOTHERM_FAULT_SHIM names the shim, ISOTHERM_CHECKPOINT_CHECKER the program that checks seals."""
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py

from harness import (BINARY, LAUNCHER, Case, Result, Run, checkpoints, environment, kill_session,
                     session_members, to_yaml)

SHIM = os.environ.get("ISOTHERM_FAULT_SHIM", "")
CHECKER = os.environ.get("ISOTHERM_CHECKPOINT_CHECKER", "")
HANG_S = 60.0  # what runs longer has stopped


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
        self.history = run.history_bytes()
        self.series = read_series(run.folder)
        self.fields = {}
        for path in checkpoints(run.folder):
            with h5py.File(path, "r") as file:
                self.fields[int(file["/T"].attrs["step"])] = digest(file["/T"][()])


def read_series(folder, contents=None):
    """[(time, digest)] of snapshots.vtkhdf as viewers see them, through /VTKHDF. `contents`: only
    so many of the last ones are read; the others' digests are None."""
    with h5py.File(Path(folder) / "snapshots.vtkhdf", "r") as file:
        steps = file["/VTKHDF/Steps"]
        times = steps["Values"][()]
        offsets = steps["CellDataOffsets/T"][()]
        if len(times) != steps.attrs["NSteps"] or len(offsets) != len(times):
            raise AssertionError(f"NSteps is {steps.attrs['NSteps']}, with {len(times)} times")
        if len(times) == 2 and offsets[1] == 0:
            times, offsets = times[:1], offsets[:1]  # a single snapshot is entered twice
        cells = file["/VTKHDF/CellData/T"]
        first = 0 if contents is None else max(0, len(times) - contents)
        return [(float(times[n]), digest(cells[int(offsets[n])]) if n >= first else None)
                for n in range(len(times))]


def read_xdmf(folder):
    """[(time, file)] of snapshots.xdmf."""
    root = ElementTree.parse(Path(folder) / "snapshots.xdmf").getroot()
    times = [float(time.get("Value")) for time in root.iter("Time")]
    files = [item.text.rpartition(":")[0] for item in root.iter("DataItem")
             if item.get("Format") == "HDF"]
    return list(zip(times, files, strict=True))


class RobustCase(Case):
    """A problem solved once undisturbed, then again under attack in the folder `out`."""

    CELLS = [10, 9, 8]
    STEPS = 10
    EVERY = 1
    KEEP = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.checker = Checker()
        cls.addClassCleanup(cls.checker.close)
        folder = tempfile.mkdtemp(prefix="isotherm_reference_")
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
        if fault is not None:
            fault = {"FOLDER": self.out, **fault}
        return Job(["run", "config.yaml", "--output", "out", "--restart", "auto"], ranks,
                   self.folder, fault, extra)

    def expect_good_checkpoints(self, what):
        """Every published one is whole and holds what the undisturbed run had at that step, and
        `latest` names one of them. Returns their steps."""
        steps = []
        for path in checkpoints(self.out):
            self.assertEqual(self.checker.verdict(path), "good", f"{what}: {path.name}")
            with h5py.File(path, "r") as file:
                step = int(file["/T"].attrs["step"])
                self.assertEqual(path.name, f"step_{step:010d}.h5", what)
                self.assertEqual(digest(file["/T"][()]), self.reference.fields[step],
                                 f"{what}: the field in {path.name}")
            steps.append(step)
        latest = self.out / "checkpoints" / "latest"
        if latest.exists():
            self.assertIn(latest.read_text().strip(), [p.name for p in checkpoints(self.out)],
                          f"{what}: latest")
        return steps

    def expect_good_history(self, what):
        """Rows of the undisturbed run, from the first on; the last one may be cut."""
        path = self.out / "history.csv"
        if path.exists():
            rows = path.read_bytes()
            self.assertEqual(rows, self.reference.history[:len(rows)], f"{what}: history.csv")

    def expect_good_series(self, what, contents=3):
        """The snapshots that a viewer sees: those of the undisturbed run, in order, none twice,
        none left out. Returns how many."""
        if contents is not None and not (self.out / "snapshots.vtkhdf").exists():
            return 0
        found = read_series(self.out, contents)
        for number, (time, field) in enumerate(found):
            expected = self.reference.series[number]
            self.assertEqual(time, expected[0], f"{what}: time of snapshot {number}")
            if field is not None:
                self.assertEqual(field, expected[1], f"{what}: snapshot {number}")
        self.expect_good_xdmf(what)
        return len(found)

    def expect_good_xdmf(self, what):
        """It may lag behind the other list or be ahead of it, but never name what is not there."""
        if not (self.out / "snapshots.xdmf").exists():
            return
        for number, (time, file) in enumerate(read_xdmf(self.out)):
            self.assertEqual(time, self.reference.series[number][0], f"{what}: XDMF {number}")
            self.assertTrue((self.out / file).is_file(), f"{what}: {file} in the XDMF file")

    def expect_whole_run(self, result, what):
        """It went to the end, and nothing tells that it was ever disturbed."""
        self.assertEqual(result.code, 0, f"{what}:\n{result}")
        run = Run(result, self.out)
        self.assertEqual(run.report["field_hash"], self.reference.hash, what)
        self.assertEqual(run.history_bytes(), self.reference.history, what)
        self.assertEqual(self.expect_good_series(what, contents=None),
                         self.STEPS // self.EVERY + 1, f"{what}: number of snapshots")
        self.assertEqual(len(read_xdmf(self.out)), self.STEPS // self.EVERY + 1, what)
        self.assertEqual(self.expect_good_checkpoints(what)[-1], self.STEPS, what)
        return run
