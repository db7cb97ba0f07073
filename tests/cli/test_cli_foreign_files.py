"""What stands at the place of a run's file and is not the run's: links, pipes, devices, and the
user's own files."""
import json
import os
import re
import stat
import subprocess
import unittest

import problems
from harness import BINARY, Case, checkpoints, tree

CELLS = [7, 6, 5]
LINE = {"name": "cut", "from": [0.02, 0.1, 0.1], "to": [0.3, 0.1, 0.1], "points": 5, "every": 2}


def problem(steps=4, **output):
    config = problems.mixed(CELLS)
    config["time"] = {"steps": steps, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 1}, "checkpoints": {"every": 2, "keep": 9},
                        "snapshots": {"every": 2}, "pictures": {"every": 2},
                        "probes": {"points": [{"name": "p", "at": [0.1, 0.1, 0.1]}], "every": 1},
                        "lines": [LINE], **output}
    return config


class Planted(Case):
    def plant(self, folder, names):
        """A link in the place of each temporary file, to one file outside the folder."""
        outside = self.folder / "outside"
        outside.write_text("not to be touched")
        for name in names:
            path = folder / f"{name}.tmp"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.symlink_to(outside)
        return outside

    def names(self, folder):
        return [name for name, digest in tree(folder).items()
                if digest != "folder" and not name.endswith(".tmp")]

    def test_links_are_not_followed(self):
        """By a run, by one that replaces or continues another, and by pictures of its files."""
        whole = self.solve(problem(8), output="whole")
        self.assert_code(self.isotherm("plot", "whole"), 0)
        names = self.names(whole.folder)
        self.assertGreater(len(names), 20, names)
        self.solve(problem(4), output="out", ranks=2)
        for steps, option in ((6, ["--restart", "auto"]), (8, ["--overwrite"])):
            self.plant(self.folder / "out", names)
            self.solve(problem(steps), *option, output="out", ranks=2)
        outside = self.plant(self.folder / "out", names)
        self.assert_code(self.isotherm("plot", "out"), 0)
        self.assertEqual(outside.read_text(), "not to be touched")
        self.assertEqual(self.names(self.folder / "out"), names)

    def test_a_postmortem(self):
        config = problem(20)
        config["boundary"]["x_min"] = {
            "type": "temperature", "value": f"300 + 1/(t - {7 * config['time']['dt']!r})"}
        outside = self.plant(self.folder / "out", ["postmortem.h5"])
        result, folder = self.start(config, output="out")
        self.assert_code(result, 5)
        self.assertTrue((folder / "postmortem.h5").stat().st_size > 1000)
        self.assertEqual(outside.read_text(), "not to be touched")

    def test_libraries_in_the_working_directory_are_not_loaded(self):
        listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^\s*(lib\S+) => ", listed, re.M)
        self.assertGreater(len(names), 5, listed)
        for name in names:
            (self.folder / name).touch()   # the loader refuses an empty file
        self.assert_code(self.isotherm("--version"), 0)

    def test_pipes_are_not_waited_for(self):
        run = self.solve(problem(4), output="out")
        for name in ("history.csv", "probes.csv", "cut.csv", "snapshots.vtkhdf"):
            path = run.folder / name
            text = path.read_bytes()
            path.unlink()
            os.mkfifo(path)
            for words in (["plot", "out"], ["compare", "out/snapshots.vtkhdf", "out"]):
                if name == "snapshots.vtkhdf" or words[0] == "plot":
                    result = self.isotherm(*words, limit=20)
                    self.assert_says(result, f"{name} is not a regular file")
            result, _ = self.start(problem(8), "--restart", "auto", output="out", limit=20)
            self.assertIn(result.code, (2, 3), result)
            self.assert_says(result, f"{name} is not a regular file")
            path.unlink()
            path.write_bytes(text)
        for name in self.names(run.folder):
            temporary = run.folder / f"{name}.tmp"
            if not temporary.exists():
                os.mkfifo(temporary)
        self.solve(problem(8), "--restart", "auto", output="out", limit=60)


class Named(Case):
    def save(self, path):
        """A command with --json writes there; returns what it wrote as text."""
        if not (self.folder / "out").exists():
            self.solve(problem(2), output="out")
        state = str(checkpoints(self.folder / "out")[0])
        return self.isotherm("compare", state, state, "--json", path, limit=60)

    def test_a_device_stays_one(self):
        device = self.folder / "null"
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            device.symlink_to("/dev/null")
        before = os.stat(device).st_rdev
        self.assert_code(self.save("null"), 0)
        self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))
        self.assertEqual(os.stat(device).st_rdev, before)

    def test_a_stream(self):
        """By a link like /dev/stdout, which a program with this defect would replace."""
        (self.folder / "stdout").symlink_to("/proc/self/fd/1")
        result = self.save("stdout")
        self.assert_code(result, 0)
        self.assertTrue(json.loads(result.out[result.out.index("{"):])["equal"])

    def test_a_link(self):
        (self.folder / "target.json").write_text("old")
        for name, target in (("link", "target.json"), ("new", "later.json")):
            (self.folder / name).symlink_to(target)
            self.assert_code(self.save(name), 0)
            self.assertTrue((self.folder / name).is_symlink())
            self.assertTrue(json.loads((self.folder / target).read_text())["equal"])

    def test_a_pipe(self):
        os.mkfifo(self.folder / "pipe")
        reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.assert_code(self.save("pipe"), 0)
        self.assertTrue(json.loads(os.read(reader, 1 << 16))["equal"])


class Own(Case):
    def test_overwrite_keeps_the_users_files(self):
        run = self.solve(problem(4), output="out")
        mine = ["checkpoints/step_0000000002_keep.h5", "checkpoints/step_notes.txt",
                "snapshots/step_0000000002.h5.bak", "pictures/step_2_best.png", "notes.txt"]
        for name in mine:
            (run.folder / name).write_text("mine")
        self.solve(problem(3), "--overwrite", output="out")
        for name in mine:
            self.assertEqual((run.folder / name).read_text(), "mine")
        self.assertFalse((run.folder / "checkpoints/step_0000000004.h5").exists())


if __name__ == "__main__":
    unittest.main()
