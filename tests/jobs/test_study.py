"""Scaling studies through mpirun: what is run and gathered, and continuing an interrupted one."""
import csv
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import unittest
from pathlib import Path

from harness import BINARY, LAUNCHER, Case

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "jobscripts/study.py"
NODE_STUDY = ROOT / "jobscripts/node_study.py"
SMALL = ["--cells", "16,12,8", "--set", "time.steps=6"]


def words_of(kind, folder, *options, config=None, small=True):
    return [sys.executable, str(STUDY), kind,
            str(config or ROOT / f"configs/{kind}_scaling.yaml"), "--isotherm", BINARY,
            "--launcher", f"{LAUNCHER} -n {{ranks}}", "--output", str(folder),
            *(SMALL if small else []), *options]


def rows_of(folder):
    with open(folder / "study.csv", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class Study(Case):
    def study(self, *arguments, code=0, **how):
        done = subprocess.run(words_of(*arguments, **how), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check_figure(self, folder):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("no figure: python3-matplotlib is not installed")
        self.assertEqual((folder / "study.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("</svg>", (folder / "study.svg").read_text()[-20:])

    def check_efficiency(self, kind, rows):
        """From its definition, and the parts of a step add up to it."""
        times = {count: statistics.median(float(row["step_s"]) for row in rows
                                          if row["ranks"] == count) for count in ("1", "2")}
        ideal = times["1"] / (2 if kind == "strong" else 1)
        pair = [float(row["efficiency"]) * float(row["step_s"]) for row in rows
                if row["ranks"] == "2"]
        for product in pair:
            self.assertAlmostEqual(product / ideal, 1, places=9)
        for row in rows:
            parts = sum(float(row[f"{part}_s"]) for part in ("compute", "halo", "output", "other"))
            self.assertAlmostEqual(parts / float(row["step_s"]), 1, places=2)

    def test_strong(self):
        text = self.study("strong", "s", "--ranks", "1,2", "--repeats", "2", "--submit")
        rows = rows_of(self.folder / "s")
        self.assertEqual([(row["ranks"], row["repeat"]) for row in rows],
                         [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")])
        self.assertEqual({(row["cells_x"], row["cells_y"], row["cells_z"]) for row in rows},
                         {("16", "12", "8")})
        self.assertEqual(len({row["field_hash"] for row in rows}), 1, "the same problem each time")
        self.check_efficiency("strong", rows)
        self.assertRegex(text, r"(?m)^ +2 +2 +[\d.]+ .*%")
        self.check_figure(self.folder / "s")

    def test_weak_that_is_interrupted(self):
        """A launcher that fails from the third run on; the same line goes on behind them."""
        (self.folder / "flaky").write_text(
            f'#!/bin/sh\necho x >>"{self.folder}/count"\n'
            f'[ "$(wc -l <"{self.folder}/count")" -lt 3 ] || exit 9\nexec {LAUNCHER} "$@"\n')
        (self.folder / "flaky").chmod(0o755)
        line = ["--ranks", "1,2", "--repeats", "2", "--submit"]
        text = self.study("weak", "w", *line, "--launcher",
                          f"{self.folder}/flaky -n {{ranks}}", code=1)
        self.assertIn("continues from here", text)
        kept = {path: path.stat().st_mtime_ns
                for path in (self.folder / "w/runs").glob("*/report.json")}
        self.assertEqual(len(kept), 2)

        text = self.study("weak", "w", *line[:-1])
        self.assertIn("nothing started; --submit starts them", text)
        self.assertIn("2 reports, 2 to come", text)

        text = self.study("weak", "w", *line)
        self.assertIn("2 runs with", text)
        self.assertIn("4 reports, 0 to come", text)
        self.assertEqual(kept, {path: path.stat().st_mtime_ns for path in kept}, "not run again")
        rows = rows_of(self.folder / "w")
        self.assertEqual([(row["ranks"], row["cells_x"], row["cells_y"], row["cells_z"])
                          for row in rows], [("1", "16", "12", "8")] * 2 + [("2", "16", "12", "16")]
                         * 2)
        self.check_efficiency("weak", rows)
        report = json.loads((self.folder / "w/runs/ranks_2_1/report.json").read_text())
        self.assertEqual(report["decomposition"], [1, 1, 2], "the same block on each rank")
        self.check_figure(self.folder / "w")

    def test_a_folder_holds_one_study(self):
        self.study("weak", "w", "--ranks", "1", "--repeats", "1", "--submit")
        text = self.study("weak", "w", "--ranks", "1", "--repeats", "2", "--set",
                          "run.precision=float32", "--submit", code=1)
        self.assertIn("another configuration", text)

    def test_plan_only(self):
        """Nothing is started or written; sizes are those of `isotherm plan`."""
        text = self.study("weak", "p", "--ranks", "1,8,27", "--repeats", "1")
        self.assertRegex(text, r"(?m)^ +27 +1 +48 x 36 x 24 +6 +\S+ [kM]B +\S+ kB +1$")
        self.assertFalse((self.folder / "p").exists())
        text = self.study("weak", "p", "--ranks", "16,32", "--repeats", "2", "--script",
                          "x.sbatch", "--minutes", "30")
        self.assertIn("4 jobs of 30 min: 6 node hours at most", text)
        text = self.study("weak", "p", "--repeats", "1")
        self.assertIn(f"\n{1:6} ", text, "rank counts are derived")

    def test_what_cannot_run_is_refused_before(self):
        text = self.study("strong", "p", "--ranks", "1,9999", "--submit", code=1)
        self.assertIn("9999", text)
        self.assertFalse((self.folder / "p").exists())
        for wrong in (["--ranks", "1,two"], ["--ranks", "0"], ["--cells", "4,4"]):
            self.study("weak", "p", *wrong, small=False, code=2)
        text = self.study("weak", "p", config="none.yaml", code=1)
        self.assertIn("none.yaml", text)

    def test_one_node(self):
        """The table of a node; field hashes that differ end it with an error."""
        words = [sys.executable, str(NODE_STUDY), "--isotherm", BINARY, "--launcher",
                 f"{LAUNCHER} -n {{ranks}}", "--gpus", "2", "--backend", "cpu", "--transport",
                 "host", "--case", "weak 256^3", "--case", "strong 512^3", "--shrink", "32",
                 "--repeats", "1", "--problem", "layers", "--output", "n"]

        def table(code):
            done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder,
                                  timeout=120)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            text = (self.folder / "n/node_study.md").read_text(encoding="utf-8")
            self.assertTrue(done.stdout.endswith(text))
            return text
        lines = table(0).splitlines()
        self.assertEqual(lines[0], "| case | steps per pass | transport | 1 GPU | 2 GPUs |")
        names = [line.split(" | ")[:3] for line in lines[2:6]]
        self.assertEqual(names, [[f"| {case}", steps, "host"] for case in
                                 ("weak 256^3", "strong 512^3") for steps in ("1", "auto")])
        self.assertEqual(lines[-1], "One field hash per grid.")
        self.assertIn("no problems found", (self.folder / "n/doctor.txt").read_text())
        path = (self.folder / "n/layers_strong_512_3_host_auto_per_pass"
                / "runs/ranks_2_1/report.json")
        report = json.loads(path.read_text())
        self.assertEqual(report["decomposition"], [1, 1, 2])
        path.write_text(json.dumps({**report, "field_hash": "0" * 16}))
        self.assertIn("THE FIELD HASHES DIFFER: strong 512^3", table(1))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
