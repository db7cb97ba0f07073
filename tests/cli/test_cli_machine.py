"""`isotherm plan --machine`: a run on a machine that is known by its numbers."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import problems
from harness import BINARY, Case

# docs/developers/scaling.md: cells, blocks, steps per pass, efficiency in percent
WEAK = [((512, 512, 512), (1, 1, 4), 1, 98.8), ((512, 512, 512), (1, 2, 2), 1, 97.0),
        ((256, 256, 256), (1, 1, 4), 1, 96.7), ((512, 512, 512), (1, 1, 2), 1, 97.0),
        ((512, 512, 512), (1, 1, 2), 4, 95.0), ((512, 512, 512), (1, 2, 2), 4, 92.9),
        ((256, 256, 256), (1, 1, 2), 1, 96.2), ((256, 256, 256), (1, 2, 2), 1, 95.8),
        ((256, 256, 256), (1, 1, 2), 4, 83.9), ((256, 256, 256), (1, 2, 2), 4, 78.0)]
STRONG = [((1024, 1024, 1024), (1, 2, 2), 1, 95.0), ((1024, 1024, 1024), (1, 1, 2), 1, 97.9),
          ((1024, 1024, 1024), (1, 1, 2), 4, 96.7), ((1024, 1024, 1024), (1, 2, 2), 4, 87.6),
          ((2048, 1024, 1024), (1, 1, 2), 1, 98.4),
          ((2048, 1024, 1024), (1, 2, 2), 1, 94.8), ((2048, 1024, 1024), (1, 1, 2), 4, 91.6),
          ((512, 512, 512), (1, 2, 2), 1, 71.5), ((512, 512, 512), (1, 1, 4), 1, 85.9),
          ((512, 512, 512), (1, 1, 2), 1, 91.6), ((512, 512, 512), (1, 1, 2), 4, 82.8),
          ((512, 512, 512), (1, 2, 2), 4, 63.6),
          ((2048, 1024, 1024), (1, 2, 2), 4, 93)]  # derived from one GPU


class Machine(Case):
    def plan(self, *options, cells=(512, 512, 512), sets=(), code=0):
        closures = [problems.MOVING, *[problems.COOLED] * 3, problems.HEATED, problems.HOT]
        self.write(problems.mixed(list(cells), closures=closures))
        words = ["plan", "config.yaml", "--set", "time.dt=auto", *options]
        for item in sets:
            words += ["--set", item]
        result = self.isotherm(*words)
        self.assert_code(result, code)
        return result

    def level(self, blocks, steps, cells):
        ranks = blocks[0] * blocks[1] * blocks[2]
        result = self.plan("--machine", "h200", "--ranks", ranks, cells=cells,
                           sets=[f"run.steps_per_pass={steps}",
                                 f"run.decomposition={list(blocks)}"])
        found = re.search(r"levels of (\S+)(?: to (\S+))? ms", result.out)
        self.assertIsNotNone(found, result)
        return (float(found[1]) + float(found[2] or found[1])) / 2

    def test_agrees_with_measurements(self):
        """Within 5 points of the rows of two and four GPUs; rates are those of one."""
        cases = [(cells, [n * b for n, b in zip(cells, blocks)], blocks, steps, measured, 1)
                 for cells, blocks, steps, measured in WEAK]
        cases += [(cells, cells, blocks, steps, measured, blocks[1] * blocks[2])
                  for cells, blocks, steps, measured in STRONG]
        for one, all_cells, blocks, steps, measured, times in cases:
            with self.subTest(cells=all_cells, blocks=blocks, steps=steps):
                share = self.level((1, 1, 1), steps, one) / self.level(blocks, steps, all_cells)
                self.assertAlmostEqual(100 * share / times, measured, delta=5)

    def test_says_where_a_number_comes_from(self):
        result = self.plan("--machine", "frontier", "--ranks", 64, cells=(2048, 2048, 2048))
        self.assert_says(result, "machine        Frontier", "wall time", "8 nodes", "kernel",
                         "predicted: tests/gcd_model", "halo", "energy", "nodes          1: ",
                         "80 % of the first row or more: up to ", stream="out")
        result = self.plan("--machine", "h200", sets=["time.scheme=implicit", "time.dt=1"])
        self.assert_says(result, "wall time      about ", "levels of", stream="out")

    def test_gallery_in_a_second(self):
        """A second of processor time, since others use it, too; no other program can be found."""
        stack = pathlib.Path(__file__).resolve().parents[2] / "configs/gallery/chip_stack.yaml"
        before = os.times()
        done = subprocess.run([BINARY, "plan", str(stack), "--machine", "frontier"],
                              env={**os.environ, "PATH": ""}, stdout=subprocess.PIPE, text=True)
        after = os.times()
        self.assertEqual(done.returncode, 0)
        for text in (r"wall time +\d\S* m?s to \S+ m?s",
                     "kernel .* to .*predicted: tests/gcd_model"):
            self.assertRegex(done.stdout, text)
        self.assertLess(after.children_user + after.children_system - before.children_user
                        - before.children_system, 1)

    def test_warns_of_devices_that_are_too_small(self):
        result = self.plan("--machine", "frontier", "--ranks", 2, cells=(2048, 2048, 2048))
        self.assert_says(result, "which has 64 GB: use at least 3 ranks", stream="out")

    def test_measured_rates_win(self):
        rows = [{"kernel": "production", "kind": "step", "precision": "float64",
                 "cells": [512, 512, 512], "cell_updates_per_s": 1e9},
                {"kernel": "kernel_3", "kind": "laplacian", "precision": "float64",
                 "cells": [512, 512, 512], "cell_updates_per_s": 1e12}]
        with open(os.path.join(self.folder, "mine.json"), "w") as file:
            json.dump({"device": "a", "rows": rows}, file)
        for machines in (("frontier", "./mine.json"), ("./mine.json", "frontier")):
            result = self.plan(*(word for name in machines for word in ("--machine", name)),
                               sets=["run.steps_per_pass=1"])
            self.assert_says(result, "134 ms per pass of 1 step: 1 Gcell/s per rank "
                                     "(measured: bench kernels)", stream="out")

    def test_saved_machine(self):
        """What the bench commands save is read."""
        options = ["--size", 16, 16, 16, "--precision", "float64", "--backend", "cpu"]
        for what, more in (("kernels", ["--kernel", "production", "--repeats", 1]), ("halo", [])):
            self.assert_code(self.isotherm("bench", what, *options, *more, "--save-machine",
                                           f"{what}.json"), 0)
        result = self.plan("--machine", "frontier", "--machine", "./kernels.json", "--machine",
                           "./halo.json", sets=["run.steps_per_pass=1"])
        self.assert_says(result, "(measured: bench kernels)", stream="out")

    def test_rate_of_a_medium(self):
        row = {"kernel": "faces:8", "medium": "faces:8", "precision": "float64",
               "cells": [64, 64, 64], "cell_updates_per_s": 2e9}
        with open(os.path.join(self.folder, "mine.json"), "w") as file:
            json.dump({"device": "a", "rows": [row]}, file)
        of = {"cells": (64, 64, 64), "sets": [
            'materials=[{name: a, conductivity: 1, density: 1, heat_capacity: 1, '
            'conductivity_factor: {formula: "1 + x"}}]', "run.steps_per_pass=1"]}
        self.assert_says(self.plan("--machine", "h200", code=2, **of),
                         "has no rate for faces, float64, 1 step per pass")
        self.assert_says(self.plan("--machine", "h200", "--machine", "./mine.json", **of),
                         "2 Gcell/s per rank (measured: bench kernels)", stream="out")

    def test_measured_messages(self):
        """Of the fastest transport that works: 50 us and 20 GB/s."""
        rows = [{"transport": name, "bytes": size, "works": works, "us": us}
                for name, works, short, long in (("staged", True, 80, 4000),
                                                 ("gpu-aware", True, 50, 16777.216 / 20),
                                                 ("peer", False, None, None))
                for size, us in ((65536, short), (1 << 20, 1), (1 << 24, long))]
        with open(os.path.join(self.folder, "mine.json"), "w") as file:
            json.dump({"device": "a", "copy_GBs": 4000, "rows": rows}, file)
        result = self.plan("--machine", "h200", "--machine", "./mine.json", "--ranks", 2,
                           sets=["run.steps_per_pass=1"])
        self.assert_says(result, "ms, of it 0.105 on the slowest link", stream="out")

    def test_a_medium_without_a_rate(self):
        result = self.plan("--machine", "h200", sets=["run.precision=float32"], code=2)
        self.assert_says(result, "has no rate for uniform, float32, 1 step per pass")

    def test_wrong_machines(self):
        good = 'copy_GBs: [4200, 4280, "measured: here"]\n'
        wrong = [("copy_GBs: 4", "m.yaml:1: copy_GBs: give [value, source]"),
                 ('copy_GBs: [5, 4, "measured"]', "the lower end is above the upper one"),
                 ('copy_GBs: [x, "measured"]', "'x' is not a number from 0 on"),
                 ('copy_GBs: [4, "a friend"]', "does not begin with measured, published"),
                 (good + "copy: 4", "m.yaml:2: copy: not a key of a machine"),
                 ("rates: [{medium: uniform}]", "give medium, precision, steps, cells"),
                 ('rates: [{medium: uniform, precision: double, steps: 1, cells: 8, '
                  'Gcells: [1, "measured"]}]', "m.yaml:1: precision: give float64 or float32"),
                 ('rates: [{medium: uniform, precision: float64, steps: 1, cells: 0, '
                  'Gcells: [1, "measured"]}]', "give steps, cells and a rate above 0"),
                 (good, "ranks_per_node is missing: [value, source]")]
        for text, says in wrong:
            with self.subTest(text):
                with open(os.path.join(self.folder, "m.yaml"), "w") as file:
                    file.write(text)
                self.assert_says(self.plan("--machine", "m.yaml", code=2), says)
        with open(os.path.join(self.folder, "m.yaml"), "w") as file:
            file.write('ranks_per_node: [0, "measured"]')
        self.assert_says(self.plan("--machine", "h200", "--machine", "m.yaml", code=2),
                         "ranks_per_node is 0; give 1 or more")
        self.assert_says(self.plan("--machine", "frontera", code=2),
                         "--machine frontera: known are frontier, h200, lumi, or give a file")


if __name__ == "__main__":
    unittest.main()
