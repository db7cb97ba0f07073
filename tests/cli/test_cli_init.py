"""`isotherm init` and `isotherm check`."""
import re
import unittest
from pathlib import Path

import problems
from harness import SMALL, Case, tree

TEMPLATES = Path(__file__).resolve().parents[2] / "configs/templates"
KINDS = sorted(path.stem for path in TEMPLATES.glob("*.yaml"))


class Init(Case):
    def test_lists_the_kinds(self):
        result = self.isotherm("init")
        self.assert_code(result, 0)
        self.assertEqual(re.findall(r"^  (\w+) +[A-Z].* \([123]D\)$", result.out, re.M), KINDS)
        self.assertEqual(len(result.out.splitlines()), len(KINDS))
        self.assertLessEqual(max(map(len, result.out.splitlines())), 80)
        self.assertGreaterEqual(set(KINDS), {"rod", "plate", "block", "chip", "weld"})
        self.assertEqual(tree(self.folder), {})

    def test_every_kind_runs_as_it_is(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.assert_code(self.isotherm("init", kind), 0)
                text = (self.folder / f"{kind}.yaml").read_text()
                self.assertEqual(text, (TEMPLATES / f"{kind}.yaml").read_text())
                self.assertIn(f"isotherm run {kind}.yaml\n", text)
                self.assertRegex(text, r"(?m)^material: +# .*\(.*\)$", "the source of the numbers")
                few = ["--set", "time.steps=20"] if SMALL else []
                result = self.isotherm("run", f"{kind}.yaml", *few)
                self.assert_code(result, 0)
                checked = self.isotherm("check", f"{kind}.yaml")
                self.assertNotIn("warning", checked.err + ("" if SMALL else result.err))
                files = {path.name for path in (self.folder / "out" / kind).iterdir()}
                self.assertGreaterEqual(files, {"history.csv", "probes.csv", "pictures"})

    def test_to_a_named_file(self):
        result = self.isotherm("init", "rod", "my.yaml")
        self.assert_code(result, 0)
        self.assert_says(result, "my.yaml", "isotherm run my.yaml", stream="out")
        self.assert_code(self.isotherm("check", "my.yaml"), 0)
        self.assertEqual(list(tree(self.folder)), ["my.yaml"])

    def test_replaces_nothing(self):
        (self.folder / "rod.yaml").write_text("mine")
        (self.folder / "link.yaml").symlink_to("nowhere.yaml")
        for words in (["rod"], ["plate", "rod.yaml"], ["rod", "link.yaml"]):
            result = self.isotherm("init", *words)
            self.assert_code(result, 2)
            self.assert_says(result, words[-1], "exists already", "isotherm init")
        self.assertEqual((self.folder / "rod.yaml").read_text(), "mine")
        self.assertFalse((self.folder / "nowhere.yaml").exists())

    def test_errors(self):
        result = self.isotherm("init", "sphere")
        self.assert_code(result, 2)
        self.assert_says(result, "'sphere'", "block, chip, plate, rod, weld")
        result = self.isotherm("init", "rod", "none/rod.yaml")
        self.assert_code(result, 3)
        self.assert_says(result, "none/rod.yaml", "No such file or directory")
        self.assert_code(self.isotherm("init", "rod", "a.yaml", "b.yaml"), 2)


class Check(Case):
    def test_one_line(self):
        self.write(problems.mixed([24, 20, 16]))
        before = tree(self.folder)
        result = self.isotherm("check", "config.yaml", "--ranks", 3, "--set", "time.steps=7")
        self.assert_code(result, 0)
        self.assertEqual(result.out, "config.yaml is valid: 7680 cells, 7 steps, 3 ranks\n")
        self.assertEqual((result.err, tree(self.folder)), ("", before))

    def test_errors_are_those_of_plan(self):
        self.write(problems.mixed([24, 20, 16]))
        cases = {
            "wrong keys": ["--set", "grid.cels=3", "--set", "time.steps=none"],
            "too many ranks": ["--ranks", 100000],
            "unstable": ["--set", "time.dt=1e9"],
            "a file of another shape": ["--set", "initial=[{file: {path: config.yaml}}]"],
        }
        for name, words in cases.items():
            with self.subTest(name):
                plan = self.isotherm("plan", "config.yaml", *words)
                check = self.isotherm("check", "config.yaml", *words)
                self.assertIn(plan.code, (2, 3))
                self.assertEqual((check.code, check.err, check.out), (plan.code, plan.err, ""))


if __name__ == "__main__":
    unittest.main()
