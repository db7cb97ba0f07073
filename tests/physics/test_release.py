"""Configurations of release 0.1.0 keep their field hash: every file that configs/ had then, in both
precisions: in float64 on 1 rank, and restarted on 3 ranks from a checkpoint of that; in float32 on
2 ranks.

release_0_1_0.json holds the hashes that the release computed. `set` shortens a run or reduces its
grid. If a file in configs/ must compute something else one day, move the release's copy here first.
Files that came later have theirs in since_0_1_0.json, recorded by the program of their time; every
file is in one of the two.

The hashes hold on every machine, except for the files with `libm`: an initial field or a boundary
is a formula with exp, sin or a power, which muParser computes with the C library, and the last bit
of these depends on the library and on the processor. A digest of values that Python gets from the
same library decides: if it differs from the recorded one, these files are only compared between
rank counts.

To record a release, write FILE.json with `set`, `libm` and `checkpoint` of each file, then run
ISOTHERM_BINARY=... test_release.py record FILE.json
Hashes that the file has already stay.
"""
import hashlib
import json
import math
import struct
import sys
import tempfile
import unittest
from pathlib import Path

from harness import Case, Run, isotherm, some, thorough

HERE = Path(__file__).resolve().parent
CONFIGS = HERE.parent.parent / "configs"
RECORDS = (HERE / "release_0_1_0.json", HERE / "since_0_1_0.json")
PRECISIONS = ("float64", "float32")


def libm():
    """A digest of exp, sin and pow where the formulas in configs/ use them."""
    digest = hashlib.sha256()
    for n in range(20000):
        x = (n + 0.5) / 20000
        values = (math.exp(-100 * x), math.sin(10 * math.pi * x), math.pow(x - 0.1, 2))
        digest.update(struct.pack("<3d", *values))
    return digest.hexdigest()[:16]


def options(release, name, precision):
    sets = [*release["files"][name].get("set", []), f"run.precision={precision}"]
    return [word for item in sets for word in ("--set", item)]


class Release(Case):
    PRECISION = None
    RANKS = None
    READERS = None  # the ranks of the restart

    def setUp(self):
        super().setUp()
        self.release = {"files": {}}
        for path in RECORDS:
            record = json.loads(path.read_text())
            same_libm = record["libm"] == libm()
            for name, entry in record["files"].items():
                self.assertNotIn(name, self.release["files"])
                self.release["files"][name] = entry | {"exact": same_libm or not entry.get("libm")}

    def run_file(self, name, output, *more, ranks):
        result = self.isotherm("run", CONFIGS / f"{name}.yaml", "--output", output, *more,
                               *options(self.release, name, self.PRECISION), ranks=ranks)
        self.assertEqual(result.code, 0, f"expected exit code 0:\n{result}")
        return Run(result, self.folder / output).report

    def check_file(self, name):
        entry = self.release["files"][name]
        middle = entry["checkpoint"]
        output = f"out/{name}"                # where from_file.yaml looks for its initial field
        first = self.run_file(name, output, "--set",
                              f"output.checkpoints={{every: {middle}, keep: 100}}",
                              ranks=self.RANKS)
        if entry["exact"]:
            self.assertEqual(first["field_hash"], entry[self.PRECISION])
        steps = entry["steps"]
        if isinstance(steps, dict):           # with a tolerance those of each precision
            steps = steps[self.PRECISION]
        self.assertEqual(first["steps"], steps)
        if self.READERS:
            rest = self.run_file(name, "rest", "--overwrite", "--restart",
                                 f"{output}/checkpoints/step_{middle:010d}.h5", ranks=self.READERS)
            self.assertEqual(rest["first_step"], middle)
            self.assertEqual(rest["field_hash"], first["field_hash"], "restarted")

    def check_all(self):
        files = self.release["files"]         # steady states are of float64 only
        names = some([name for name in files if self.PRECISION in files[name]], 2)
        for name in names:
            with self.subTest(f"{name}, {self.PRECISION}"):
                self.check_file(name)


class Float64(Release):
    PRECISION = "float64"
    RANKS = 1
    READERS = 3

    def test_every_configuration_is_recorded(self):
        names = {str(path.relative_to(CONFIGS).with_suffix("")) for path in CONFIGS.rglob("*.yaml")}
        self.assertEqual(names, set(self.release["files"]))

    def test_files(self):
        self.check_all()


class Float32(Release):
    PRECISION = "float32"
    RANKS = 2

    @thorough
    def test_files(self):
        self.check_all()


def record(path):
    release = json.loads(Path(path).read_text())
    if release.setdefault("libm", libm()) != libm():
        raise SystemExit(f"{path} was recorded with another C library; record on such a machine")
    for precision in PRECISIONS:
        with tempfile.TemporaryDirectory() as folder:
            for name, entry in release["files"].items():
                result = isotherm("run", CONFIGS / f"{name}.yaml", "--output", f"out/{name}",
                                  *options(release, name, precision), cwd=folder)
                report = Run(result, Path(folder) / "out" / name).report
                if precision in entry:
                    continue    # a promise is not renewed
                entry.update({"steps": report["steps"], precision: report["field_hash"]})
    Path(path).write_text(json.dumps(release, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        unittest.main()
