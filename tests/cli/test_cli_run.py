"""The folder of a run: what is written, what is refused, restarts, damage."""
import os
import shutil
import unittest
from pathlib import Path
from unittest import mock

import h5py
import numpy as np

import problems
from harness import Case, checkpoints, some, thorough, tree

CELLS = [15, 13, 11]

REPORT_KEYS = [
    "version", "config", "backend", "device", "ranks", "decomposition", "halo_transport",
    "halo_transport_reason", "cells", "steps", "time", "dt", "wall_s", "cell_updates_per_s",
    "bandwidth_GBs", "energy", "phase_share", "min_K", "max_K", "mean_K", "heat_J", "heat_drift_J",
    "field_hash"]


def small_problem(precision="float64", **output):
    config = problems.mixed(CELLS, precision)
    config["time"] = {"steps": 30, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 5}, "checkpoints": {"every": 10, "keep": 3}, **output}
    return config


def mix(x):
    """splitmix64's finaliser on arrays of uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


def field_hash(field):
    """DESIGN's field_hash, from its definition in kernels/cell/heat_cell.h."""
    width = {"float64": np.uint64, "float32": np.uint32}[str(field.dtype)]
    bits = np.ascontiguousarray(field).reshape(-1).view(width).astype(np.uint64)
    index = np.arange(bits.size, dtype=np.uint64)
    with np.errstate(over="ignore"):
        terms = mix(bits ^ mix(index + np.uint64(0x9e3779b97f4a7c15)))
        return f"{int(terms.sum(dtype=np.uint64)):016x}"


class Files(Case):
    @thorough
    def test_report(self):
        run = self.solve(small_problem(), ranks=3)
        report = run.report
        self.assertEqual([key for key in REPORT_KEYS if key not in report], [], "missing keys")
        self.assertEqual((report["cells"], report["steps"], report["ranks"]), (CELLS, 30, 3))
        self.assertEqual(np.prod(report["decomposition"]), 3)
        self.assertTrue(report["halo_transport"] and report["halo_transport_reason"])
        updates = 30 * np.prod(CELLS) / report["wall_s"]
        self.assertAlmostEqual(report["cell_updates_per_s"] / updates, 1, places=9)
        self.assertAlmostEqual(report["bandwidth_GBs"] / (16e-9 * updates), 1, places=9)
        energy = report["energy"]  # most virtual machines have no counter
        self.assertTrue(energy.get("source") or energy.get("why_not"), energy)
        if energy["J"] is None:
            self.assertIn("why_not", energy)
        else:
            self.assertAlmostEqual(energy["J"] / (energy["W"] * report["wall_s"]), 1, places=9)
        shares = report["phase_share"]
        self.assertAlmostEqual(sum(shares.values()), 1, places=6)
        self.assertTrue(all(-1e-3 <= share <= 1 for share in shares.values()), shares)

    def test_report_agrees_with_the_field(self):
        for precision in some(("float32", "float64"), 1):
            with self.subTest(precision):
                run = self.solve(small_problem(precision), ranks=2)
                field = run.temperature()
                self.assertEqual(str(field.dtype), precision)
                self.assertEqual(run.report["field_hash"], field_hash(field))
                self.assertEqual(run.report["min_K"], float(field.min()))
                self.assertEqual(run.report["max_K"], float(field.max()))
                mean = field.astype(np.float64).mean()
                self.assertAlmostEqual(run.report["mean_K"] / mean, 1, places=13)

    @thorough
    def test_the_reports_configuration_makes_the_same_run(self):
        run = self.solve(small_problem(), sets=["material.conductivity=40"], ranks=2)
        again = self.solve(run.report["config"])
        self.assertEqual(again.report["field_hash"], run.report["field_hash"])

    def test_pictures_without_cairo(self):
        """One warning, no pictures, and the same steps: pictures at times shorten some."""
        config = small_problem(snapshots={"every": 30})
        config["output"]["pictures"] = {"interval": 7.3 * config["time"]["dt"]}
        run = self.solve(config)
        with mock.patch("harness.BINARY", os.environ["ISOTHERM_BARE"]):
            plain = self.solve(config, ranks=2)
        self.assert_says(plain.result, "warning: output.pictures: no pictures are drawn, "
                         "this build has no Cairo")
        self.assertEqual(plain.result.err.count("Cairo"), 1, plain.result)
        self.assertNotIn("Cairo", run.result.err)
        self.assertEqual(len(list((run.folder / "pictures").iterdir())), 5)
        self.assertEqual([name for name in tree(run.folder) if not name.startswith("pictures")],
                         list(tree(plain.folder)))
        self.assertEqual(plain.history_bytes(), run.history_bytes())
        self.assertEqual(plain.report["field_hash"], run.report["field_hash"])

    def test_pictures_without_fonts(self):
        """Nothing of it in the log: a user who looks at a picture sees it."""
        run = self.solve(small_problem(pictures={"every": 30}),
                         env={"FONTCONFIG_FILE": "/nowhere/fonts.conf", "HOME": "/nowhere"})
        self.assertEqual(len(list((run.folder / "pictures").iterdir())), 2)
        self.assertNotIn("ontconfig", run.result.err)

    def test_the_named_files_exist(self):
        """What the last lines promise is there."""
        config = small_problem(snapshots={"every": 30}, pictures={"every": 30})
        run = self.solve(config, ranks=2)
        named = [word for word in run.result.out.split() if word.startswith("out_1/")]
        self.assertGreaterEqual(len(named), 6, run.result.out)
        for name in named:
            self.assertTrue((self.folder / name).is_file(), name)
        self.assert_says(run.result, f"field hash   {run.report['field_hash']}", stream="out")


class Folder(Case):
    @thorough
    def test_a_folder_with_a_run_is_refused_and_left_alone(self):
        config = small_problem(snapshots={"every": 30}, pictures={"every": 30})
        self.solve(config, output="kept")
        before = tree(self.folder / "kept")
        result, _ = self.start(config, output="kept", ranks=3)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "already holds a run", "kept/")
        for remedy in ("--restart auto", "--overwrite", "--output"):
            self.assert_says(result, remedy)
        self.assertEqual(tree(self.folder / "kept"), before)

    @thorough
    def test_each_of_the_files_counts_as_a_run(self):
        config = small_problem(snapshots={"every": 30})
        run = self.solve(config)
        for name in ("report.json", "history.csv", "snapshots.vtkhdf", "snapshots",
                     "checkpoints"):
            with self.subTest(name):
                only = self.folder / f"only_{name}"
                only.mkdir()
                move = shutil.copytree if (run.folder / name).is_dir() else shutil.copy
                move(run.folder / name, only / name)
                result, _ = self.start(config, output=only.name)
                self.assert_code(result, 2)

    def test_overwrite(self):
        config = small_problem(snapshots={"every": 6}, pictures={"every": 6})
        self.solve(config, output="kept")
        (self.folder / "kept/notes.txt").write_text("mine")
        config["time"]["steps"] = 8
        config["output"] = {"history": {"every": 4}, "checkpoints": {"every": 8}}
        run = self.solve(config, "--overwrite", output="kept", ranks=2)
        self.assertEqual(run.report["steps"], 8)
        self.assertEqual([row["step"] for row in run.history()], [0, 4, 8])
        files = [name for name, kind in tree(run.folder).items() if kind != "folder"]
        self.assertEqual(sorted(files), ["checkpoints/latest", "checkpoints/step_0000000008.h5",
                                         "history.csv", "notes.txt", "report.json"])

    @thorough
    def test_an_empty_or_new_folder_is_fine(self):
        (self.folder / "empty").mkdir()
        self.solve(small_problem(), output="empty")
        self.solve(small_problem(), output="one/two/three", ranks=2)

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("in the way")
        for output in some(("file", "file/below"), 1):
            with self.subTest(output):
                result, _ = self.start(small_problem(), output=output, ranks=3)
                self.assert_code(result, 3)
                self.assert_one_error(result)
                self.assert_says(result, "error: ", "file", "folder" if output == "file" else "")
        self.assertEqual((self.folder / "file").read_text(), "in the way")


class Memory(Case):
    def test_what_does_not_fit_is_told_with_the_numbers(self):
        config = small_problem()
        config["grid"]["cells"] = [20000, 20000, 20000]
        config["time"] = {"steps": 1}
        for ranks, words in ((1, ["the run needs"]), (2, ["2 ranks that share it need"])):
            with self.subTest(ranks=ranks):
                result, output = self.start(config, ranks=ranks)
                self.assert_code(result, 4)
                # 2 fields of 8e12 cells of 8 bytes, and 2 checkpoints in flight
                self.assert_says(result, "not enough memory", *words, "256 TB", "free",
                                 "float32")
                self.assertFalse(output.exists(), "nothing is written")


class Restart(Case):
    @classmethod
    def setUpClass(cls):
        """One undisturbed run for all tests; they work on copies."""
        first = cls("copy")
        first.setUp()
        cls.addClassCleanup(first.doCleanups)
        cls.whole = first.solve(small_problem(), output="whole", ranks=2)

    def setUp(self):
        super().setUp()
        self.config = small_problem()

    def copy(self):
        self.count += 1
        name = f"copy_{self.count}"
        shutil.copytree(self.whole.folder, self.folder / name)
        return name, checkpoints(self.folder / name)

    @thorough
    def test_auto_without_a_run_starts_from_the_beginning(self):
        run = self.solve(self.config, "--restart", "auto", output="fresh", ranks=2)
        self.assert_says(run.result, "starting from the initial state", stream="out")
        self.assertEqual(run.report["first_step"], 0)
        self.assertEqual(run.report["field_hash"], self.whole.report["field_hash"])

    def test_auto_after_an_end_before_the_first_checkpoint(self):
        """What a job that is submitted again finds: files, but no checkpoint yet."""
        name, files = self.copy()
        shutil.rmtree(self.folder / name / "checkpoints")
        # a finished run without checkpoints is not thrown away, though
        result, _ = self.start(self.config, "--restart", "auto", output=name, ranks=2)
        self.assert_code(result, 2)
        self.assert_says(result, "holds a finished", "--overwrite")
        (self.folder / name / "report.json").unlink()
        run = self.solve(self.config, "--restart", "auto", output=name, ranks=2)
        self.assertEqual(run.report["field_hash"], self.whole.report["field_hash"])
        self.assertEqual(run.history_bytes(), self.whole.history_bytes())

    def check_passed_over(self, damage, what):
        with self.subTest(what):
            name, files = self.copy()
            damage(files[-1])
            run = self.solve(self.config, "--restart", "auto", output=name, ranks=3)
            self.assert_says(run.result, "warning: ", files[-1].name)
            self.assert_says(run.result, f"restart from {name}/checkpoints/{files[-2].name}",
                             "step 20", stream="out")
            self.assertEqual(run.report["first_step"], 20)
            self.assertEqual([change["key"] for change in run.report["restart_changes"]],
                             ["output.directory"])
            self.assertEqual(run.report["field_hash"], self.whole.report["field_hash"])
            self.assertEqual(run.history_bytes(), self.whole.history_bytes())

    def test_auto_passes_over_a_damaged_checkpoint(self):
        """Damage of all kinds: tests/io/test_seal.c."""
        size = checkpoints(self.whole.folder)[-1].stat().st_size
        for what, damage in some({
                "half of it left": lambda path: os.truncate(path, size // 2),
                "no byte left": lambda path: os.truncate(path, 0),
                "a bit flipped": lambda path: flip_bit(path, size // 2)}.items(), 1):
            self.check_passed_over(damage, what)

    def test_auto_with_all_checkpoints_damaged(self):
        name, files = self.copy()
        for number, path in enumerate(files):
            flip_bit(path, 4000 + number)
        before = tree(self.folder)
        result, _ = self.start(self.config, "--restart", "auto", output=name, ranks=3)
        self.assert_code(result, 3)
        self.assert_one_error(result)
        for path in files:
            self.assert_says(result, path.name)
        self.assertEqual(tree(self.folder), {**before, f"config_{self.count}.yaml":
                                             tree(self.folder)[f"config_{self.count}.yaml"]})

    @thorough
    def test_unusable_files_by_name(self):
        _, files = self.copy()
        flip_bit(files[1], 5000)
        with h5py.File(self.folder / "field.h5", "w") as file:  # a valid file, but no checkpoint
            file["/T"] = np.full(CELLS[::-1], 300.0)
        for path, says in ((files[1], "checksum"), ("none.h5", "No such file"),
                           ("field.h5", "seal of a checkpoint")):
            result, output = self.start(self.config, "--restart", path, ranks=2)
            self.assert_code(result, 3)
            self.assert_one_error(result)
            self.assert_says(result, Path(path).name, says)
            self.assertFalse(output.exists(), "nothing may be written")

    def test_of_another_problem(self):
        """All keys at once, each with both values, and what to do; nothing is written."""
        newest = checkpoints(self.whole.folder)[-1]
        cells, upper = "grid.cells: [15, 13, 11] -> [15, 13, 12]", "-> [0.37, 0.31, 0.25]"
        other_cells, other_upper = "grid.cells=[15, 13, 12]", "grid.upper=[0.37, 0.31, 0.25]"
        for items, option, says in some([
                ([other_cells, other_upper, "time.steps=40"], None,
                 [cells, f"(--set {other_cells})", "grid.upper: ", upper, "initial: file"]),
                ([other_cells, other_upper], "--restart-changed", [cells, "initial: file"]),
                ([other_upper], None, [upper, "--restart-changed"]),
                (["material.conductivity=44"], None,
                 ["material.conductivity: 45.0 -> 44", "--restart-changed"]),
                (["run.precision=float32"], None, ["run.precision: float64 -> float32"])], 2):
            with self.subTest(items=items, option=option):
                words = ["--restart", newest] + ([option] if option else [])
                result, output = self.start(self.config, *words, sets=items, ranks=2)
                self.assert_code(result, 2)
                self.assert_one_error(result)
                self.assert_says(result, newest.name, *says)
                self.assertNotIn("time.steps", result.err, "that may change")
                self.assertFalse(output.exists(), "nothing may be written")

    def test_changes(self):
        """What goes on with other faces, material, corners and precision is what a run gives that
        begins with the checkpoint's field; the watch and the ledger see nothing wrong in it."""
        old = checkpoints(self.whole.folder)[1]
        config = small_problem("float32")
        config["grid"]["upper"] = [0.4, 0.31, 0.23]
        config["material"]["density"] = 900.0
        config["boundary"]["x_min"] = {"type": "temperature", "value": 950.0}
        config["boundary"]["z_min"] = {"type": "convection", "coefficient": 9.0, "ambient": 1200.0}
        config["initial"][1]["sphere"]["value"] = 5000.0
        config["run"]["watch"] = {"every": 1}
        config["time"]["steps"] = 26
        run = self.solve(config, "--restart", old, "--restart-changed", ranks=3)
        config["initial"] = [{"file": {"path": str(old)}}]
        config["time"]["steps"] = 6
        fresh = self.solve(config, ranks=2)
        self.assertEqual(run.report["field_hash"], fresh.report["field_hash"])

        with h5py.File(old, "r") as file:
            came_in = float(file["/T"].attrs["boundary_heat_J"])
        self.assert_below(abs(run.report["boundary_heat_J"] - came_in -
                              fresh.report["boundary_heat_J"]),
                          1e-9 * abs(fresh.report["boundary_heat_J"]), "heat since the restart")
        for row in run.history():
            self.assert_below(abs(row["heat_drift_J"]), 1e-7 * run.report["heat_J"], "drift")

        effects = {change["key"]: change["effect"] for change in run.report["restart_changes"]}
        self.assertEqual(effects, {"initial[1].sphere.value": "none", **{
            key: "on request" for key in ("grid.upper", "material.density", "run.precision")}, **{
            f"boundary.{key}": "result" for key in ("x_min.value", "z_min.type", "z_min.value",
                                                    "z_min.coefficient", "z_min.ambient",
                                                    "z_min.emissivity", "z_min.surroundings")}, **{
            key: "harmless" for key in ("time.steps", "run.watch.every", "output.directory")}})
        density = next(change for change in run.report["restart_changes"]
                       if change["key"] == "material.density")
        line = 1 + [text.split(":")[0].strip() for text in
                    (self.folder / "config_1.yaml").read_text().splitlines()].index("density")
        self.assertEqual(density, {"key": "material.density", "before": "780.0", "now": "900.0",
                                   "place": f"line {line} of config_1.yaml",
                                   "effect": "on request"})
        self.assert_says(run.result, "warning: material.density: 780.0 -> 900.0 (line")
        self.assert_says(run.result, "time.steps: 30 -> 26 (line", stream="out")
        self.assertEqual(run.result.out.count(" -> ") + run.result.err.count(" -> "), len(effects))

    @thorough
    def test_auto_in_a_folder_of_another_grid(self):
        name, _ = self.copy()
        before = tree(self.folder / name)
        result, _ = self.start(self.config, "--restart", "auto", output=name, ranks=2,
                               sets=["grid.cells=[15, 13, 12]"])
        self.assert_code(result, 2)
        self.assertEqual(tree(self.folder / name), before)

    @thorough
    def test_of_a_finished_run_does_nothing(self):
        name, _ = self.copy()
        before = tree(self.folder / name)
        run = self.solve(self.config, "--restart", "auto", output=name)
        self.assert_says(run.result, "nothing is left to do", "report.json kept", stream="out")
        self.assert_says(run.result, "field hash   " + self.whole.report["field_hash"],
                         stream="out")
        self.assertEqual(tree(self.folder / name), before, "and how fast it was is not forgotten")


def flip_bit(path, place):
    data = bytearray(Path(path).read_bytes())
    data[place] ^= 0x10
    Path(path).write_bytes(data)


if __name__ == "__main__":
    unittest.main()
