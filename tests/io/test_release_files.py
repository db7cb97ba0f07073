"""Files of release 0.1.0 (release_0_1_0/): this program continues their run, compares them with its
own and takes initial fields from them. Nothing in them depends on the C library's functions."""
import json
import shutil
import tarfile
import unittest
from pathlib import Path

import h5py
import numpy as np

from harness import Case, checkpoints, thorough

RELEASE = Path(__file__).resolve().parent / "release_0_1_0"
# computed by 0.1.0: the run itself (20 s), and the same continued to 30 s
HASHES = {"float64": ("80b57770e9e9a2c9", "ea83d4002e3478d8"),
          "float32": ("51dadd9a2e794a34", "eef681db44ca026a")}
TABLES = ("history.csv", "probes.csv", "axis.csv")
SERIES = {"snapshots": ("T", "T_max", "arrival_time", "time_above", "heat_flux"),
          "plane": ("T",), "corner": ("T",)}


class ReleaseFiles:
    """Once for each precision."""

    def setUp(self):
        super().setUp()
        with tarfile.open(RELEASE / "files.tar.xz") as archive:
            archive.extractall(self.folder)
        shutil.copy(RELEASE / "config.yaml", self.folder)
        self.old = self.folder / self.PRECISION
        self.at_20_s, self.at_30_s = HASHES[self.PRECISION]

    def copy(self, name):
        shutil.copytree(self.old, self.folder / name)
        return self.folder / name

    def run_in(self, output, *options, ranks=1):
        return self.isotherm("run", "config.yaml", "--output", output, *options,
                             "--set", f"run.precision={self.PRECISION}",
                             "--set", f"output.snapshots.precision={self.PRECISION}", ranks=ranks)

    def report(self, output, *options, ranks=1):
        result = self.run_in(output, *options, ranks=ranks)
        self.assertEqual(result.code, 0, f"expected exit code 0:\n{result}")
        return json.loads((self.folder / output / "report.json").read_text())

    def expect_equal(self, a, b):
        """All states of all series."""
        for name, datasets in SERIES.items():
            for dataset in datasets:
                result = self.isotherm("compare", f"{a}/{name}.vtkhdf", f"{b}/{name}.vtkhdf",
                                       "--dataset", dataset)
                self.assertEqual(result.code, 0, f"{name}, {dataset}:\n{result}")

    @staticmethod
    def rows(path):
        """The cells of a table, as text, without the notes that 0.1.0 did not write."""
        return [line.split(",") for line in path.read_text().splitlines() if line[0] != "#"]

    def check_at_face(self, is_low, time, new, old):
        """At the temperature of x_min, or that which convection at x_max gives; 0.1.0 wrote that
        of the cells there."""
        film, k2 = 250 * 0.01, 2 * 45
        wanted = 350 + float(time) if is_low else (k2 * float(old) + film * 293) / (k2 + film)
        self.assertLess(abs(float(new) / wanted - 1),
                        1e-14 if self.PRECISION == "float64" else 1e-7)

    def expect_same_tables(self, folder, since=-1):
        """`since`: the step of the restart, up to which the rows are those of 0.1.0."""
        history = self.rows(folder / "history.csv")
        self.assertEqual(history[0][9:] == [], since >= 0, "a restart keeps the columns")
        self.assertEqual([row[:9] for row in history], self.rows(self.old / "history.csv"))
        for name, column in (("probes.csv", 3), ("axis.csv", 6)):
            new, old = self.rows(folder / name), self.rows(self.old / name)
            self.assertEqual(len(new), len(old))
            nfaces = 0
            for row, was in zip(new, old):
                if row[0] == "step" or int(row[0]) <= since:
                    pass
                elif name == "probes.csv" or row[3] in ("0", "0.07"):
                    self.check_at_face(row[3] != "0.07", row[1], row[column], was[column])
                    row[column] = was[column]
                    nfaces += 1
                elif row[3] == "0.035":  # a cell's centre, which 0.1.0 missed by rounding
                    self.assertLess(abs(float(row[column]) / float(was[column]) - 1), 1e-14)
                    row[column] = was[column]
                self.assertEqual(row, was, name)
            self.assertGreater(nfaces, 0)

    def check_middle(self, folder, ranks):
        """From step 16; the rows and snapshots of later steps are replaced."""
        (folder / "checkpoints/step_0000000020.h5").unlink()
        report = self.report(folder.name, "--restart", "auto", ranks=ranks)
        self.assertEqual((report["first_step"], report["field_hash"]), (16, self.at_20_s))
        self.expect_same_tables(folder, since=16)
        self.expect_equal(self.old, folder)

    def test_restart_in_the_middle(self):
        self.check_middle(self.copy("again"), 3)

    @thorough
    def test_restart_without_probes_h5(self):
        folder = self.copy("again")
        (folder / "probes.h5").unlink()
        self.check_middle(folder, 1)

    def test_restart_at_the_end(self):
        folder = self.copy("again")
        report = self.report("again", "--restart", "auto", "--set", "time.end=30", ranks=2)
        self.assertEqual((report["first_step"], report["field_hash"]), (20, self.at_30_s))
        for name in TABLES:
            old = self.rows(self.old / name)
            self.assertEqual(self.rows(folder / name)[:len(old)], old, name)

    def test_new_files_equal_the_old_ones(self):
        report = self.report("new", ranks=2)
        self.assertEqual(report["field_hash"], self.at_20_s)
        self.expect_same_tables(self.folder / "new")
        self.expect_equal(self.old, "new")
        for path in checkpoints(self.old):
            result = self.isotherm("compare", path, f"new/checkpoints/{path.name}")
            self.assertEqual(result.code, 0, f"{path.name}:\n{result}")

    def test_initial_field_from_old_files(self):
        """Step 16 is in a checkpoint and in a snapshot."""
        with h5py.File(self.old / "checkpoints/step_0000000016.h5") as file:
            expected = file["T"][()]
        for path, dataset in (("checkpoints/step_0000000016.h5", "/T"),
                              ("snapshots/step_0000000016.h5", "/T"),
                              ("snapshots.vtkhdf", "/snap/4/T")):
            with self.subTest(path):
                self.report("start", "--overwrite", "--set", "time.steps=1", "--set",
                            f"initial=[{{file: {{path: {self.old / path}, dataset: {dataset}}}}}]")
                with h5py.File(self.folder / "start/snapshots/step_0000000000.h5") as file:
                    np.testing.assert_array_equal(file["T"][()], expected)

    def test_damaged_checkpoint_is_refused(self):
        newest = checkpoints(self.copy("damaged"))[-1]
        with h5py.File(newest) as file:
            cells = file["T"].id
            at = cells.get_offset() + cells.get_storage_size() // 2
        content = bytearray(newest.read_bytes())
        content[at] ^= 1
        newest.write_bytes(content)
        result = self.run_in("elsewhere", "--restart", newest)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn(newest.name, result.err)
        report = self.report("damaged", "--restart", "auto")
        self.assertEqual((report["first_step"], report["field_hash"]), (16, self.at_20_s))


class Float64(ReleaseFiles, Case):
    PRECISION = "float64"


class Float32(ReleaseFiles, Case):
    PRECISION = "float32"


if __name__ == "__main__":
    unittest.main()
