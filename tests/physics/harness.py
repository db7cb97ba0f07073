"""Drive the built program as a user does: write a configuration, start it, read what it left.

ISOTHERM_BINARY names the program, ISOTHERM_MPIEXEC the launcher. ISOTHERM_TEST_SCALE=small asks
for fewer and smaller runs: with the sanitizers a start alone takes a second or two a rank.
ISOTHERM_TEST_BACKEND: the backend of runs on several ranks that name none.
ISOTHERM_TEST_SCRATCH: where the tests' folders are; in memory, their fsync costs nothing."""
import csv
import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import h5py

BINARY = os.environ.get("ISOTHERM_BINARY", "isotherm")
LAUNCHER = os.environ.get("ISOTHERM_MPIEXEC", "mpirun")
SMALL = os.environ.get("ISOTHERM_TEST_SCALE") == "small"
BACKEND = os.environ.get("ISOTHERM_TEST_BACKEND")
# Only what hangs takes longer, on slow machines and with sanitizers too.
LIMIT_S = 240.0

HISTORY_COLUMNS = ["step", "time_s", "dt_s", "min_K", "max_K", "mean_K", "heat_J",
                   "boundary_heat_J", "heat_drift_J"]


# ---- processes -----------------------------------------------------------------------------------

class Result:
    """How a command ended, and what it said."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    def __str__(self):
        return (f"{' '.join(map(str, self.words))}\nexit code {self.code}\n"
                f"--- stdout\n{self.out}\n--- stderr\n{self.err}")


def session_members(session):
    """The processes that a command started: mpirun gives every rank its own process group, but
    they all stay in the session."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                members.append(int(entry.name))
    return members


def kill_session(session):
    for pid in session_members(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def command_words(words, ranks):
    """One rank runs without a launcher, as on a laptop."""
    launcher = [LAUNCHER, "-n", str(ranks)] if ranks > 1 else []
    words = [str(word) for word in words]
    if BACKEND and launcher and words[0] == "run" and not any("backend" in word for word in words):
        words += ["--backend", BACKEND]
    return launcher + [BINARY] + words


# When a rank ends with an error, mpirun gives the others a second to follow. They have: the
# message comes before MPI_Finalize. Without this half of the time of these tests is waiting.
END_AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}


def environment(threads, extra=None):
    """threads None: the program's own choice."""
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads), **(extra or END_AT_ONCE)}
    if threads is None:
        del variables["OMP_NUM_THREADS"]
    return variables


def isotherm(*words, ranks=1, threads=1, cwd=None, limit=LIMIT_S, stdout=subprocess.PIPE,
             stderr=subprocess.PIPE, env=None):
    """Run the program to its end. `stdout` and `stderr` may be a file or a terminal's file
    descriptor; then Result.out, Result.err is empty. What runs longer than `limit` seconds is
    killed with all its ranks."""
    full = command_words(words, ranks)
    # mpirun gets SIGPIPE ignored, as Python has it, and gives its ranks the default: at its end it
    # may write to a rank that has just left
    process = subprocess.Popen(full, cwd=cwd, env=environment(threads, env), text=True,
                               errors="replace", stdin=subprocess.DEVNULL, stdout=stdout,
                               stderr=stderr, start_new_session=True, restore_signals=ranks == 1)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        out, err = process.communicate()
        raise AssertionError(f"still running after {limit} s, killed:\n"
                             f"{Result(full, None, out, err)}") from None
    return Result(full, process.returncode, out or "", err or "")


# ---- configurations ------------------------------------------------------------------------------

def to_yaml(config):
    """Two levels of keys a line each, what is below in flow style (JSON is YAML)."""
    lines = []
    for key, value in config.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {name}: {json.dumps(item)}" for name, item in value.items()]
        elif isinstance(value, list):
            lines.append(f"{key}:")
            lines += [f"  - {json.dumps(item)}" for item in value]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def spacings(config):
    """m, one an axis in use; grids in these tests start at `lower`, 0 when left out."""
    grid = config["grid"]
    lower = grid.get("lower", [0.0] * 3)
    return [(high - low) / n for low, high, n in zip(lower, grid["upper"], grid["cells"])]


def diffusivity(config):
    material = config["material"]
    return material["conductivity"] / (material["density"] * material["heat_capacity"])


def stable_dt(config):
    return 1 / (2 * diffusivity(config) * sum(1 / h**2 for h in spacings(config)))


def short_dt(config, share):
    """A share of the largest stable step, with few digits: the same in any program's arithmetic."""
    return float(f"{share * stable_dt(config):.4g}")


def cell_centers(config):
    """x, y, z of the cells, m, each of a shape that broadcasts to (nz, ny, nx)."""
    import numpy as np
    grid = config["grid"]
    cells = grid["cells"] + [1] * (3 - len(grid["cells"]))
    lower = grid.get("lower", [0.0] * 3)
    upper = grid["upper"] + [1.0] * (3 - len(grid["upper"]))
    lower = lower + [0.0] * (3 - len(lower))
    axes = [low + (np.arange(n) + 0.5) * ((high - low) / n)
            for low, high, n in zip(lower, upper, cells)]
    for axis, name in enumerate("xyz"):
        if name in grid:   # a graded axis
            edges = np.array(grid[name]["edges"])
            axes[axis] = (edges[:-1] + edges[1:]) / 2
    return axes[0][None, None, :], axes[1][None, :, None], axes[2][:, None, None]


# ---- files ---------------------------------------------------------------------------------------

def tree(folder):
    """Every path below a folder with a digest of its bytes: equal trees are equal byte for byte."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


def checkpoints(folder):
    return sorted((Path(folder) / "checkpoints").glob("step_*.h5"))


def of_parts(names, columns):
    """The columns of some parts, such as faces: (what, unit) for one after another."""
    return [f"{what}_{name}_{unit}" for name in names for what, unit in columns]


def read_history(path):
    """The rows as numbers, by the names of the columns: those of 0.1.0, that of sources, then
    two per face, four per material, two per patch, and those of the melt pool."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    first, rest = rows[0][:len(HISTORY_COLUMNS)], rows[0][len(HISTORY_COLUMNS):]
    rest = rest[1:] if rest[:1] == ["source_heat_J"] else rest
    surfaces = [name[len("flow_"):-len("_W")] for name in rest if name.startswith("flow_")]
    faces = [name for name in surfaces if name in ("x_min", "x_max", "y_min", "y_max", "z_min",
                                                   "z_max")]
    materials = [name[len("heat_"):-len("_J")] for name in rest if name.startswith("heat_")]
    at_face = (("flow", "W"), ("T", "K"))
    expected = of_parts(faces, at_face) + of_parts(
        materials, (("min", "K"), ("max", "K"), ("mean", "K"), ("heat", "J"))
    )
    for name in surfaces[len(faces):]:
        area = (("flow", "W"), ("area", "m2"), ("cell_area", "m2"), ("T", "K"))
        expected += of_parts([name], area if f"area_{name}_m2" in rest else at_face)
    pool = [f"pool_{axis}_m" for axis in "xyz" if f"pool_{axis}_m" in rest]
    expected += pool + ["pool_volume_m3"] if pool else []
    if first != HISTORY_COLUMNS or rest != expected:
        raise AssertionError(f"{path} starts with {rows[0]}, expected {HISTORY_COLUMNS + expected}")
    return [dict(zip(rows[0], map(float, row), strict=True)) for row in rows[1:]]


class Run:
    """What a successful `isotherm run` left in its folder."""

    def __init__(self, result, folder):
        self.result, self.folder = result, Path(folder)
        self.report = json.loads((self.folder / "report.json").read_text())

    def history(self):
        return read_history(self.folder / "history.csv")

    def history_bytes(self):
        return (self.folder / "history.csv").read_bytes()

    def temperature(self):
        """The exact final state, (nz, ny, nx), from the newest checkpoint."""
        with h5py.File(checkpoints(self.folder)[-1], "r") as file:
            return file["/T"][()]

    def enthalpy(self):
        """J/m^3, from the newest checkpoint, where properties depend on temperature."""
        with h5py.File(checkpoints(self.folder)[-1], "r") as file:
            return file["/H"][()] * file["/T"].attrs["heat_capacity_volume"]

    def exact(self, *keys):
        """The report's numbers digit by digit: no two different doubles look alike."""
        return {key: repr(self.report[key]) for key in keys}


# ---- tests ---------------------------------------------------------------------------------------

thorough = unittest.skipIf(SMALL, "left out at small scale: no code that the others do not run")


def some(items, count):
    """All of them, or the first few at small scale."""
    return list(items)[:count] if SMALL else list(items)


class Case(unittest.TestCase):
    """A test with a folder of its own, removed afterwards; all paths are relative to it."""

    maxDiff = None
    SCRATCH = os.environ.get("ISOTHERM_TEST_SCRATCH")

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_", dir=self.SCRATCH))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.count = 0

    def isotherm(self, *words, **how):
        return isotherm(*words, cwd=self.folder, **how)

    def write(self, config, name="config.yaml"):
        text = config if isinstance(config, str) else to_yaml(config)
        (self.folder / name).write_text(text)
        return name

    def start(self, config, *options, output=None, sets=(), **how):
        """`isotherm run` without a judgement on its end; the folder is a fresh one unless named."""
        self.count += 1
        name = self.write(config, f"config_{self.count}.yaml")
        output = output or f"out_{self.count}"
        words = ["run", name, "--output", output]
        for item in sets:
            words += ["--set", item]
        return self.isotherm(*words, *options, **how), self.folder / output

    def solve(self, config, *options, **how):
        """`isotherm run` that must succeed."""
        result, output = self.start(config, *options, **how)
        self.assertEqual(result.code, 0, f"expected exit code 0:\n{result}")
        return Run(result, output)

    def run_config(self, config, output, *more, code=0, **how):
        """The run into a folder by name: a Run, or a Result of one that must end with `code`."""
        self.write(config, "case.yaml")
        result = self.isotherm("run", "case.yaml", "--output", output, *more, **how)
        self.assert_code(result, code)
        return Run(result, self.folder / output) if code == 0 else result

    def assert_below(self, value, bound, what):
        """Written so that NaN fails."""
        self.assertTrue(value <= bound, f"{what}: {value:.3g}, expected at most {bound:.3g}")

    def assert_code(self, result, code):
        self.assertEqual(result.code, code, f"expected exit code {code}:\n{result}")

    def assert_says(self, result, *fragments, stream="err"):
        """All fragments stand in the stream, in this order."""
        text, position = getattr(result, stream), 0
        for fragment in fragments:
            found = text.find(str(fragment), position)
            self.assertGreaterEqual(found, 0, f"expected {fragment!r} in std{stream}, after "
                                              f"what precedes it in {fragments}:\n{result}")
            position = found + len(str(fragment))

    def assert_one_error(self, result):
        """One message from all ranks together."""
        count = sum(line.startswith("error: ") for line in result.err.splitlines())
        self.assertEqual(count, 1, f"expected one line 'error: ...' on stderr:\n{result}")


def wait_until(condition, limit=LIMIT_S):
    """Poll; False when it did not come true in time."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def relative(value, expected, scale=None):
    """|value - expected| as a share of `scale`, of the expected value by default."""
    return math.fabs(value - expected) / math.fabs(expected if scale is None else scale)
