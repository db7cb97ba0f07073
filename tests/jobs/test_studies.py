"""The stencil studies by jobscripts/studies.py, on small sizes: its files and tables, also with
energy figures and PyTorch, which this machine may not have."""
import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path

from harness import BINARY, Case

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "jobscripts/studies.py"


def load():
    spec = importlib.util.spec_from_file_location("studies", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Studies(Case):
    def test_all_of_it(self):
        folder = self.folder / "s"
        done = subprocess.run([sys.executable, SCRIPT, "--isotherm", BINARY, "--backend", "cpu",
                               "--size", "48", "24", "8", "--radius", "1", "--radius", "64",
                               "--repeats", "2", "--output", folder],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (folder / "studies.md").read_text()
        for title in ("Cross-correlation, float64", "Diffusion equation, float32",
                      "The solver's time step", "Million updates per joule",
                      "Jacobi iteration, 48x24, float64"):
            self.assertIn(title, page)
        rows = {name: json.loads((folder / f"{name}.json").read_text())["rows"]
                for name in ("xcorr", "diffusion", "step", "torch", "jacobi")}
        self.assertEqual({row["radius"] for row in rows["xcorr"]}, {1, 64})
        self.assertEqual({row["radius"] for row in rows["diffusion"]}, {1})
        self.assertIn("cpu", {row["backend"] for row in rows["jacobi"]})
        self.check_tables(page)

    def check_tables(self, page):
        widths = []
        for line in page.splitlines():
            widths = [*widths, line.count("|")] if line.startswith("|") else []
            self.assertLessEqual(len(set(widths)), 1, page)

    def test_failures_are_passed_on(self):
        done = subprocess.run([sys.executable, SCRIPT, "--isotherm", BINARY, "--backend", "none",
                               "--output", self.folder / "s"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ended with 2", done.stderr)

    def test_tables_with_all_figures(self):
        studies = load()
        shape = {"block": [32, 4, 2], "launch_bounds": 256}
        rows = [{"kind": "diffusion", "precision": "float32", "kernel": kernel, "radius": 1,
                 "cells": [256, 256, 256], "ms": ms, "percent_of_copy": 50.0, "shape": shape,
                 "Mupdates_per_J": 100.0 / ms, "watts": 300.0, "cell_updates_per_s": 1e9}
                for kernel, ms in (("hw", 2.0), ("sw", 4.0), ("production", 1.0))]
        torch_rows = [{"precision": "float32", "dimensions": 3, "radius": 1, "ms": 7.5}]
        page = "\n".join([*studies.diffusion_tables(rows, torch_rows),
                          *studies.energy_table(rows)])
        self.assertIn("| 3D | 1 | 2.0000 | 4.0000 | 1.0000 | 50.0 | 32x4x2, bounds 256 |", page)
        self.assertIn("| 7.500 |", page)
        self.assertIn("| hw | 50.0 (300 W) | 100.0 (300 W) |", page)
        self.check_tables(page)


if __name__ == "__main__":
    unittest.main()
