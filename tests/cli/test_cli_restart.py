"""What a restart, or a run that replaces another, does to the files that are there."""
import shutil
import unittest

import h5py
import numpy as np

import problems
from harness import Case, checkpoints, read_history, some, thorough, tree

CELLS = [13, 11, 9]
STEPS = 24


def everything():
    """A state of each output every 4 steps, checkpoints every 8."""
    config = problems.mixed(CELLS)
    low, high = config["grid"]["lower"], config["grid"]["upper"]
    middle = [(a + b) / 2 for a, b in zip(low, high)]
    config["time"] = {"steps": STEPS, "dt": config["time"]["dt"]}
    config["output"] = {
        "history": {"every": 4}, "checkpoints": {"every": 8, "keep": 9},
        "snapshots": {"every": 4}, "pictures": {"every": 4},
        "regions": [{"name": "plane", "slice": {"axis": "z", "at": middle[2]}, "every": 4}],
        "probes": {"every": 4, "points": [{"name": "core", "at": middle}]},
        "lines": [{"name": "cut", "from": low, "to": high, "points": 3, "every": 4}]}
    return config


def bare(config, steps=STEPS):
    """The same problem with checkpoints alone."""
    return {**config, "time": {**config["time"], "steps": steps},
            "output": {"checkpoints": {"every": 4, "keep": 9}, "history": {"every": 0}}}


def steps_of(folder):
    """Of every output."""
    found = {}
    for name in ("snapshots", "plane"):
        if (folder / f"{name}.vtkhdf").exists():
            with h5py.File(folder / f"{name}.vtkhdf") as file:
                found[name] = [int(step) for step in file["steps"]]
            found[f"{name} files"] = [int(path.stem[5:])
                                      for path in sorted((folder / name).glob("step_*.h5"))]
            found[f"{name} xdmf"] = (folder / f"{name}.xdmf").read_text().count("<Time ")
    for name, rows in (("probes", 1), ("cut", 3)):
        if (folder / f"{name}.csv").exists():
            lines = (folder / f"{name}.csv").read_text().splitlines()[1:]
            found[name] = [int(line.split(",")[0]) for line in lines if line[0] != "#"][::rows]
    if (folder / "history.csv").exists():
        found["history"] = [int(row["step"]) for row in read_history(folder / "history.csv")]
    found["pictures"] = [int(path.stem[5:]) for path in sorted((folder / "pictures").glob("*.png"))]
    found["checkpoints"] = [int(path.stem[5:]) for path in checkpoints(folder)]
    return found


def listed(steps):
    """What steps_of gives where every output has these."""
    return {"snapshots": steps, "snapshots files": steps, "snapshots xdmf": len(steps),
            "plane": steps, "plane files": steps, "plane xdmf": len(steps),
            "probes": steps, "cut": steps, "history": steps, "pictures": steps}


def without(found, *names):
    return {key: value for key, value in found.items() if key not in names}


EVERY_4 = list(range(0, STEPS + 1, 4))


class Restart(Case):
    @classmethod
    def setUpClass(cls):
        """One undisturbed run for all tests; they work on copies."""
        first = cls("go_back")
        first.setUp()
        cls.addClassCleanup(first.doCleanups)
        cls.whole = first.solve(everything(), ranks=2)
        first.assertEqual(steps_of(cls.whole.folder),
                          {**listed(EVERY_4), "checkpoints": [8, 16, 24]})

    def setUp(self):
        super().setUp()
        self.config = everything()

    def go_back(self, *to):
        """A copy of the run whose newest checkpoint is another one."""
        name = f"copy_{self.count}_{len(list(self.folder.iterdir()))}"
        shutil.copytree(self.whole.folder, self.folder / name)
        for path in checkpoints(self.folder / name):
            if int(path.stem[5:]) not in to:
                path.unlink()
        return self.folder / name

    def check_refused(self, folder, config, *says):
        before = tree(folder)
        result, _ = self.start(config, "--restart", "auto", output=folder.name, ranks=2)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, *says)
        self.assertEqual(tree(folder), before, "nothing may be changed")

    def test_from_an_older_state(self):
        """By name, and for good: what is given up does not come back."""
        folder = self.go_back(8, 16, 24)
        older = checkpoints(folder)[0]
        before = tree(folder)
        result, _ = self.start(self.config, "--restart", older, output=folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "holds states up to step 24", "from step 8", "--overwrite")
        self.assertEqual(tree(folder), before)
        self.config["boundary"]["x_min"] = {"type": "temperature", "value": 800.0}
        self.config["time"]["steps"] = 14  # ends before a checkpoint of step 16
        run = self.solve(self.config, "--restart", older, "--overwrite", output=folder.name,
                         sets=["output.checkpoints.every=0"], ranks=3)
        steps = [0, 4, 8, 12, 14]
        self.assertEqual(steps_of(folder), {**listed(steps), "checkpoints": [8]})
        self.assertEqual((folder / "checkpoints/latest").read_text(), f"{older.name}\n")
        again = self.solve(self.config, "--restart", "auto", output=folder.name)
        self.assertEqual(again.report["first_step"], 8)
        self.assertEqual(again.report["field_hash"], run.report["field_hash"])

    @thorough
    def test_from_the_newest_state_by_name(self):
        folder = self.go_back(8, 16)
        run = self.solve(self.config, "--restart", checkpoints(folder)[-1], output=folder.name)
        self.assertEqual(run.report["first_step"], 16)
        self.assertEqual(run.report["field_hash"], self.whole.report["field_hash"])
        self.assertEqual(steps_of(folder), {**listed(EVERY_4), "checkpoints": [8, 16, 24]})

    def test_from_another_run(self):
        """A state of somewhere else begins a new run: nothing of the old one stays."""
        folder = self.go_back(8, 16, 24)
        other = self.solve(bare(self.config, 8), sets=["initial[0].expression.value=500"])
        (folder / "notes.csv").write_text("a,b\n1,2\n")
        words = ("--restart", checkpoints(other.folder)[-1])
        result, _ = self.start(self.config, *words, output=folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "already holds a run")
        run = self.solve(self.config, *words, "--overwrite", output=folder.name, ranks=2)
        steps = [12, 16, 20, 24]
        found = steps_of(folder)
        self.assertEqual(found["history"][-4:], steps)
        self.assertLessEqual(set(found["history"]), {8, *steps})
        for name in ("snapshots files", "plane files", "probes", "cut", "pictures"):
            self.assertEqual([step for step in found[name] if step > 8], steps, name)
            self.assertLessEqual(set(found[name]), {8, *steps}, name)
        self.assertEqual(found["checkpoints"], [16, 24])
        self.assertEqual((folder / "notes.csv").read_text(), "a,b\n1,2\n", "the user's own")
        fresh = self.solve(self.config, *words, ranks=3)
        self.assertEqual(run.report["field_hash"], fresh.report["field_hash"])
        self.assertEqual(steps_of(fresh.folder), found)

    def test_outputs_left_out(self):
        """They lose what the restart takes back, so that nothing is mixed when they come again."""
        folder = self.go_back(8, 16)
        run = self.solve(bare(self.config), "--restart", "auto", output=folder.name)
        self.assertEqual(run.report["first_step"], 16)
        steps = [0, 4, 8, 12, 16]
        self.assertEqual(without(steps_of(folder), "checkpoints"), listed(steps))
        with h5py.File(folder / "plane.vtkhdf") as now, \
                h5py.File(self.whole.folder / "plane.vtkhdf") as before:
            self.assertEqual(dict(now.attrs).keys(), dict(before.attrs).keys())
            np.testing.assert_array_equal(now["VTKHDF/CellData/T"],
                                          before["VTKHDF/CellData/T"][:5])
            self.assertEqual(now["configuration"][()], before["configuration"][()])
        for path in checkpoints(folder):
            if int(path.stem[5:]) > 16:
                path.unlink()
        again = self.solve(self.config, "--restart", "auto", output=folder.name)
        self.assertEqual(again.report["first_step"], 16)
        self.assertEqual(without(steps_of(folder), "checkpoints"), listed(EVERY_4))

    @thorough
    def test_overwrite_finds_what_others_named(self):
        folder = self.go_back(8, 16, 24)
        self.solve(bare(self.config, 4), "--overwrite", output=folder.name)
        left = {path.name for path in folder.rglob("*") if path.is_file()}
        self.assertEqual(left, {"report.json", "latest", "step_0000000004.h5"})

    def test_overwrite_removes_nothing_behind_links(self):
        folder = self.go_back(8, 16)
        elsewhere = self.folder / "elsewhere"
        for name in ("checkpoints", "plane"):
            (folder / name).rename(elsewhere)
            (folder / name).symlink_to(elsewhere)
            before = tree(folder), tree(elsewhere)
            result, _ = self.start(bare(self.config, 4), "--overwrite", output=folder.name)
            self.assert_code(result, 2)
            self.assert_one_error(result)
            self.assert_says(result, f"{folder.name}/{name} is a symbolic link", "--output")
            self.assertEqual((tree(folder), tree(elsewhere)), before)
            (folder / name).unlink()
            elsewhere.rename(folder / name)
        (self.folder / "link").symlink_to(folder)
        self.solve(bare(self.config, 4), "--overwrite", output="link")

    def test_refused_before_anything_is_cut(self):
        folder = self.go_back(8, 16)
        changed = everything()
        changed["output"]["lines"][0]["points"] = 5
        self.check_refused(folder, changed, "the points of", "cut.csv differ")
        changed = everything()
        changed["output"]["regions"][0]["slice"]["at"] /= 3
        self.check_refused(folder, changed, "plane.vtkhdf", "another grid")
        changed = everything()
        changed["output"]["probes"]["points"][0]["name"] = "heart"
        self.check_refused(folder, changed, "the columns of", "probes.csv differ")
        changed = everything()
        changed["output"]["probes"]["points"][0]["at"][0] /= 2
        self.check_refused(folder, changed, "the points of", "probes.csv differ")

    def test_probes_that_do_not_say_where_they_are(self):
        """Those of 0.1.0 do not: they are of the points that their checkpoint was written with."""
        folder = self.go_back(8, 16)
        path = folder / "probes.csv"
        lines = path.read_text().splitlines(True)
        path.write_text("".join(line for line in lines if line[0] != "#"))
        changed = everything()
        changed["output"]["probes"]["points"][0]["at"][0] /= 2
        self.check_refused(folder, changed, "the points of", "probes.csv differ")
        self.solve(self.config, "--restart", "auto", output=folder.name)
        self.assertEqual(path.read_text(), "".join(lines))
        self.assertEqual(without(steps_of(folder), "checkpoints"), listed(EVERY_4))

    def test_new_probes_in_a_file_of_their_own(self):
        """Once the old file is away; from then on it says itself which points it is of, whatever
        points an older checkpoint was written with."""
        folder = self.go_back(8, 16)
        (folder / "probes.csv").unlink()
        self.config["output"]["probes"]["points"][0]["at"][0] /= 2
        self.solve(self.config, "--restart", "auto", output=folder.name)
        rows = (folder / "probes.csv").read_text()
        self.assertEqual(steps_of(folder)["probes"], [16, 20, 24])
        checkpoints(folder)[-1].unlink()
        self.solve(self.config, "--restart", "auto", output=folder.name)
        self.assertEqual((folder / "probes.csv").read_text(), rows)
        self.check_refused(folder, everything(), "the points of", "probes.csv differ")

    def test_snapshots_without_their_list(self):
        """The files say themselves what they are."""
        for missing in some(((4,), ()), 1):
            folder = self.go_back(8, 16)
            (folder / "snapshots.vtkhdf").unlink()
            for step in missing:
                (folder / f"snapshots/step_{step:010d}.h5").unlink()
            run = self.solve(self.config, "--restart", "auto", output=folder.name, ranks=2)
            self.assert_says(run.result, "snapshots.vtkhdf is missing",
                             f"{5 - len(missing)} files")
            steps = [step for step in EVERY_4 if step not in missing]
            found = steps_of(folder)
            self.assertEqual((found["snapshots"], found["snapshots files"]), (steps, steps))
            with h5py.File(folder / "snapshots.vtkhdf") as now, \
                    h5py.File(self.whole.folder / "snapshots.vtkhdf") as before:
                kept = [EVERY_4.index(step) for step in steps]
                np.testing.assert_array_equal(now["VTKHDF/CellData/T"],
                                              before["VTKHDF/CellData/T"][kept])
                np.testing.assert_array_equal(now["VTKHDF/Steps/Values"],
                                              before["VTKHDF/Steps/Values"][kept])

    @thorough
    def test_a_file_that_the_list_names_is_missing(self):
        folder = self.go_back(8, 16)
        (folder / "snapshots/step_0000000004.h5").unlink()
        before = tree(folder)
        result, _ = self.start(self.config, "--restart", "auto", output=folder.name)
        self.assert_code(result, 3)
        self.assert_says(result, "snapshots.vtkhdf to another folder", "the restart rebuilds it",
                         "step_0000000004.h5 is missing")
        self.assertEqual(tree(folder), before)

    def test_damaged_files(self):
        """A zero byte is refused; rows that are missing, and a snapshot cut short, are named."""
        for name in ("history.csv", "probes.csv", "cut.csv"):
            folder = self.go_back(8, 16)
            text = (folder / name).read_bytes()
            at = text.index(b"\n4,") + 9
            (folder / name).write_bytes(text[:at] + b"\0" + text[at + 1:])
            line = text[:at].count(b"\n") + 1
            self.check_refused(folder, self.config, f"{name}:{line}: a zero byte", "move it")
        folder = self.go_back(16)
        for name in ("history.csv", "probes.csv"):
            text = (folder / name).read_bytes()
            (folder / name).write_bytes(text[:text.index(b"\n8,") + 4])
        snapshot = folder / "snapshots/step_0000000004.h5"
        snapshot.write_bytes(snapshot.read_bytes()[:5000])
        run = self.solve(self.config, "--restart", "auto", output=folder.name, ranks=2)
        for name in ("history.csv", "probes.csv"):
            self.assertIn(f"{name} ends at step 4, and the restart is at step 16", run.result.err)
        self.assertIn("an earlier snapshot is damaged", run.result.err)
        self.assertIn("step_0000000004.h5", run.result.err)
        self.assertEqual(run.result.err.count("warning:"), 3, run.result)

    @thorough
    def test_auto_in_a_finished_folder_without_checkpoints(self):
        run = self.solve(self.config, sets=["output.checkpoints.every=0"])
        before = tree(run.folder)
        result, _ = self.start(self.config, "--restart", "auto", output=run.folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "holds a finished run", "--overwrite")
        self.assertNotIn("starting from the initial state", result.out)
        self.assertEqual(tree(run.folder), before)


if __name__ == "__main__":
    unittest.main()
