"""The commands beside run and plan, help, and what a person sees while a run goes on."""
import json
import os
import re
import threading
import unittest

import problems
from harness import Case, some, thorough

ESCAPE = "\x1b"


class Help(Case):
    def commands(self):
        """As the program lists them, so that none is forgotten."""
        return re.findall(r"^  (\w+) +\S", self.isotherm("--help").out, re.M)

    def check_page(self, text):
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 24, text)
        for line in lines:
            self.assertLessEqual(len(line), 80, line)

    def test_fits_a_screen(self):
        for words in (["--help"], *([name, "--help"] for name in self.commands())):
            with self.subTest(" ".join(words)):
                result = self.isotherm(*words)
                self.assert_code(result, 0)
                self.assertEqual(result.err, "")
                self.assert_says(result, "Usage: isotherm", stream="out")
                self.check_page(result.out)

    def test_names_every_command_and_option(self):
        self.assertEqual(set(self.commands()),
                         {"init", "check", "run", "plan", "compare", "bench", "verify", "doctor",
                          "plot", "sweep", "paint", "import"})
        page = self.isotherm("run", "--help").out
        for option in ("--set", "--output", "--overwrite", "--restart", "--backend"):
            self.assertIn(option, page)
        self.assertRegex(page, r"--backend NAME +auto, .*cpu")
        self.assertNotIn("guard", page)  # the backend for tests
        self.assertIn("--ranks", self.isotherm("plan", "--help").out)
        page = self.isotherm("bench", "--help").out
        for option in ("--backend", "--size", "--json"):
            self.assertIn(option, page)

    def test_each_benchmark_has_its_page(self):
        pages = {"kernels": ("--tune", "--kernel", "--repeats"), "io": ("--directory", "--repeats"),
                 "halo": ("--precision",), "steady": ("--repeats",)}
        options = {option for own in pages.values() for option in own}
        for name, own in pages.items():
            result = self.isotherm("bench", name, "--help")
            self.assert_code(result, 0)
            self.check_page(result.out)
            self.assert_says(result, f"isotherm bench {name} [options]", stream="out")
            for option in ("--backend", "--size", "--json", *own):
                self.assertIn(option, result.out)
            for option in options.difference(own, {"--precision"}):
                self.assertNotIn(f"  {option} ", result.out)
                result = self.isotherm("bench", name, option, 1)
                self.assert_code(result, 2)
                self.assert_says(result, f"unknown option '{option}'; valid options: --help,")

    def test_help_wins_over_what_else_is_said(self):
        result = self.isotherm("run", "none.yaml", "--frobnicate", "--help")
        self.assert_code(result, 0)

    def test_once_from_many_ranks(self):
        result = self.isotherm("run", "--help", ranks=3)
        self.assert_code(result, 0)
        self.assertEqual(result.out.count("Usage: isotherm run"), 1, result)

    def test_version(self):
        result = self.isotherm("--version")
        self.assert_code(result, 0)
        self.assertRegex(result.out, r"^isotherm \d+\.\d+\.\d+\n$")

    def test_version_with_what_it_was_built_of(self):
        result = self.isotherm("--version", "--verbose")
        self.assert_code(result, 0)
        self.assertEqual(result.err, "")
        first, *rows = result.out.splitlines()
        self.assertEqual(first + "\n", self.isotherm("--version").out)
        rows = {row[:15].strip(): row[15:] for row in rows}
        for name, form in {"commit": r"[0-9a-f]{12}(, modified)?$|unknown$",
                           "compilers": r"C: \w+ \d+\.", "flags": r"(Release|Debug): -",
                           "backends": r"\bcpu\b", "MPI": r"\d+\.\d+",
                           "HDF5": r"\d+\.\d+\.\d+, parallel \(built with \d+\.\d+\.\d+\)$",
                           "Cairo": r"\d+\.\d+|not built in$", "libyaml": r"\d+\.\d+",
                           "UDUNITS": r"\d|not built in$", "muParser": r"\d+\.\d+"}.items():
            self.assertRegex(rows.get(name, ""), form, name)
        self.assertNotIn("guard", rows["backends"])


class Bench(Case):
    ROW_KEYS = ["kernel", "precision", "cells", "ms", "bandwidth_GBs", "percent_of_copy",
                "cell_updates_per_s"]

    def check_energy(self, row):
        """Most virtual machines have no counter."""
        measured = [row[key] is not None for key in ("energy_J", "watts", "Mupdates_per_J")]
        self.assertEqual(measured, [bool(row.get("energy_source"))] * 3, row)
        self.assertNotEqual(bool(row.get("energy_source")), bool(row.get("energy_why")), row)

    @thorough
    def test_halo_is_measured(self):
        result = self.isotherm("bench", "halo", "--backend", "cpu", "--size", 24, 20, 16,
                               "--precision", "float64", "--json", "halo.json", ranks=2)
        self.assert_code(result, 0)
        bench = json.loads((self.folder / "halo.json").read_text())
        self.assertTrue(bench["device"])
        self.assertGreater(bench["copy_GBs"], 0)
        self.assertEqual(bench["ranks"], 2)
        ways = {"peer", "host", "staged"}
        self.assertEqual({row["transport"] for row in bench["rows"]}, ways)
        for row in bench["rows"]:
            self.assertTrue(row["works"], row)
            self.assertAlmostEqual(row["bandwidth_GBs"], row["bytes"] / row["us"] * 1e-3, 6)
        self.assertEqual({row["transport"] for row in bench["steps"]}, ways)
        for row in bench["steps"]:
            self.check_energy(row)
            self.assertEqual(row["cells_of_a_rank"], [24, 20, 16])
            self.assertAlmostEqual(row["exposed_us"],
                                   row["step_us"] - row["step_without_exchange_us"], 6)
            self.assertAlmostEqual(row["hidden_us"],
                                   row["step_without_overlap_us"] - row["step_us"], 6)
        for name in ways:
            self.assertIn(name, result.out)

    def test_output_is_measured(self):
        (self.folder / "disk").mkdir()
        result = self.isotherm("bench", "io", "--backend", "cpu", "--size", 20, 12, 9, "--repeats",
                               2, "--directory", "disk", "--json", "io.json", ranks=2)
        self.assert_code(result, 0)
        self.assertEqual(list((self.folder / "disk").iterdir()), [])
        bench = json.loads((self.folder / "io.json").read_text())
        self.assertTrue(bench["device"])
        self.assertGreater(bench["copy_GBs"], 0)
        self.assertEqual((bench["ranks"], bench["cells"], bench["repeats"]), (2, [20, 12, 9], 2))
        rows = {row["what"]: row for row in bench["rows"]}
        self.assertEqual({(row["precision"], row["compress"]) for what, row in rows.items()
                          if what.startswith("snapshot")},
                         {("float32", 0), ("float64", 0), ("float32", 4), ("float64", 4)})
        self.assertIn("checkpoint", rows)
        plain = [rows["write, one rank"], rows["write, all ranks"]]
        self.assertEqual(bench["ceiling_GBs"], max(row["GBs"] for row in plain))
        for what, row in rows.items():
            self.check_energy(row)
            width = 8 if row["precision"] == "float64" else 4
            self.assertEqual(row["bytes"], width * 20 * 12 * 9)
            self.assertAlmostEqual(row["GBs"] / (row["bytes"] / row["write_s"] * 1e-9), 1, 6)
            self.assertAlmostEqual(
                row["percent_of_ceiling"] / (100 * row["GBs"] / bench["ceiling_GBs"]), 1, 6)
            self.assertIn(what, result.out)

    def test_output_that_cannot_be_measured(self):
        size = ("--backend", "cpu", "--size", 8, 8, 8)
        result = self.isotherm("bench", "io", *size, "--directory", "nowhere")
        self.assert_code(result, 2)
        self.assert_says(result, "--directory: cannot access the folder nowhere: No such file")

    def test_table_and_json(self):
        result = self.isotherm("bench", "kernels", "--size", 40, 24, 16, "--repeats", 1,
                               "--json", "bench.json")
        self.assert_code(result, 0)
        bench = json.loads((self.folder / "bench.json").read_text())
        self.assertTrue(bench["device"])
        self.assertGreater(bench["copy_GBs"], 0)
        self.assertEqual({row["precision"] for row in bench["rows"]}, {"float64", "float32"})
        for row in bench["rows"]:
            self.assertEqual([key for key in self.ROW_KEYS if key not in row], [], row)
            self.assertEqual(row["cells"], [40, 24, 16])
            width = 8 if row["precision"] == "float64" else 4
            cells, fetched, written = {
                "step": (40 * 24 * 16,) * 3,
                # all points but 8 corners and 12 edges are read, the inner ones written
                "laplacian": (38 * 22 * 14, 40 * 24 * 16 - 8 - 4 * (38 + 22 + 14), 38 * 22 * 14),
            }[row["kind"]]
            # a pass of n steps counts as n steps that read and write all cells
            of_pass = re.search(r"steps_(\d+)", row["kernel"])
            steps = int(of_pass.group(1)) if of_pass else 1
            cells, fetched, written = steps * cells, steps * fetched, steps * written
            if row["kernel"] == "estimate":  # two steps, of two fields
                cells, fetched, written = 2 * cells, 2 * fetched, 0
            seconds = row["ms"] * 1e-3
            self.assertEqual(row["fetch_bytes"], width * fetched)
            self.assertEqual(row["write_bytes"], width * written)
            self.assertAlmostEqual(row["cell_updates_per_s"] / (cells / seconds), 1, places=6)
            self.assertAlmostEqual(
                row["bandwidth_GBs"] / (1e-9 * width * (fetched + written) / seconds), 1, places=6)
            self.assertAlmostEqual(
                row["percent_of_copy"] / (100 * row["bandwidth_GBs"] / row["copy_GBs"]), 1)
            self.assertLessEqual(row["best_ms"], row["mean_ms"])
            self.assertLessEqual(row["best_ms"], row["ms"])
            self.assertIn(row["kernel"], result.out, "every row is in the table too")
        self.assertEqual({row["kind"] for row in bench["rows"]}, {"step", "laplacian"})
        self.assert_says(result, "copy", stream="out")

    @thorough
    def test_one_precision(self):
        result = self.isotherm("bench", "kernels", "--size", 24, 16, 8, "--repeats", 1,
                               "--precision", "float32", "--backend", "guard", "--json", "b.json")
        self.assert_code(result, 0)
        rows = json.loads((self.folder / "b.json").read_text())["rows"]
        self.assertEqual({row["precision"] for row in rows}, {"float32"})

    def test_chosen_kernels(self):
        result = self.isotherm("bench", "kernels", "--size", 24, 16, 8, "--repeats", 2,
                               "--backend", "guard", "--kernel", "production",
                               "--kernel", "laplacian", "--json", "b.json")
        self.assert_code(result, 0)
        rows = json.loads((self.folder / "b.json").read_text())["rows"]
        self.assertEqual([row["kernel"] for row in rows], ["production", "laplacian"] * 2)
        for row in rows:
            self.check_energy(row)
        self.assertNotIn("plain", result.out.replace("plane", ""))
        result = self.isotherm("bench", "kernels", "--backend", "cpu", "--kernel", "fastest")
        self.assert_code(result, 2)
        self.assert_says(result, "--kernel fastest", "production", "laplacian")
        names = result.err.rpartition("available: ")[2].strip().split(", ")
        self.assertEqual(sorted(names), sorted(set(names)), "each once")

    def test_media(self):
        """A kind's own arrays count in its bytes."""
        result = self.isotherm("bench", "kernels", "--size", 24, 16, 8, "--repeats", 1,
                               "--backend", "guard", "--kernel", "production",
                               "--medium", "blocks:3", "--medium", "faces:3", "--json", "b.json")
        self.assert_code(result, 0)
        rows = json.loads((self.folder / "b.json").read_text())["rows"]
        read = {"production": (8, 4), "blocks:3": (9, 5), "faces:3": (41, 21)}
        self.assertEqual([(row["kernel"], row["precision"]) for row in rows],
                         [(name, of) for of in ("float64", "float32") for name in read])
        for row in rows:
            which = row["precision"] == "float32"
            self.assertEqual(row["fetch_bytes"], 24 * 16 * 8 * read[row["kernel"]][which])
            self.assertEqual(row["write_bytes"], 24 * 16 * 8 * (8, 4)[which])
        result = self.isotherm("bench", "kernels", "--backend", "cpu", "--medium", "faces")
        self.assert_code(result, 2)
        self.assert_says(result, "--medium faces: give layers:N", "faces:N")

    def test_steady(self):
        result = self.isotherm("bench", "steady", "--backend", "cpu", "--size", 20, 18, 16,
                               "--repeats", 1, "--json", "b.json")
        self.assert_code(result, 0)
        bench = json.loads((self.folder / "b.json").read_text())
        hypre = re.findall(r"differ by at most (\S+) K", result.out + result.err)
        if hypre:   # a build that has it
            self.assertLess(max(float(difference) for difference in hypre), 1e-5)
            for medium in range(5):
                self.assertEqual(bench["rows"].pop(medium + 2)["residual"], "HYPRE, rms")
        self.assertEqual([(row["medium"], row["residual"]) for row in bench["rows"]],
                         [("uniform", "largest"), ("uniform", "rms"), ("layers", "rms"),
                          ("sphere", "rms"), ("blocks", "rms"), ("cells", "rms")])
        for row in bench["rows"]:
            self.assertGreater(row["cycles_1e8"], 2)
            self.assertGreater(row["ms_1e8"], 0)
        self.assertEqual([(row["medium"], row["part"]) for row in bench["parts"]],
                         [(medium, part) for medium in ("uniform", "layers")
                          for part in ("smooth", "interpolate", "jacobi", "flow", "restrict",
                                       "correct") if (medium, part) != ("layers", "correct")])

    def test_unknown_benchmark(self):
        for words in (("xcorr", "--radius", 3), ("--repeats", 3, "xcorr")):
            result = self.isotherm("bench", *words)
            self.assert_code(result, 2)
            self.assert_says(result, "there is no 'xcorr'; valid are: kernels, halo, io, steady")

    def test_a_sheet_has_no_laplacian(self):
        result = self.isotherm("bench", "kernels", "--size", 24, 16, 2, "--repeats", 1,
                               "--precision", "float64", "--backend", "cpu", "--json", "b.json")
        self.assert_code(result, 0)
        self.assert_says(result, "laplacian: skipped", stream="out")
        rows = json.loads((self.folder / "b.json").read_text())["rows"]
        self.assertEqual({row["kind"] for row in rows}, {"step"})


class Results(Case):
    """What a command is to leave, and has no place for."""

    def test_output_that_is_lost_is_told(self):
        config = problems.mixed([24, 20, 16])
        config["time"] = {"steps": 3, "dt": config["time"]["dt"]}
        name = self.write(config)
        self.solve(config)
        size = ("--backend", "cpu", "--size", 8, 8, 8, "--repeats", 1)
        for words in (["--help"], ["--version"], ["plan", "--help"], ["plan", name],
                      ["run", name], ["bench", "kernels", *size], ["bench", "halo", *size[:-2]],
                      ["compare", "out_1", "out_1"], ["doctor"]):
            with self.subTest(" ".join(map(str, words))), \
                    open("/dev/full", "w", encoding="utf-8") as full:
                result = self.isotherm(*words, stdout=full)
                self.assert_code(result, 3)
                self.assert_one_error(result)
                self.assert_says(result, "error: cannot write to standard output: No space left")

    def test_no_place_for_json_is_found_before_the_work(self):
        size = ("--backend", "cpu", "--size", 8, 8, 8)
        (self.folder / "folder").mkdir()
        for place in ("nowhere/x.json", "folder"):
            for words in (["bench", "kernels", *size], ["bench", "halo", *size],
                          ["bench", "io", *size], ["verify"], ["doctor"],
                          ["compare", "no_a.h5", "no_b.h5"]):
                with self.subTest(" ".join(map(str, words)), place=place):
                    result = self.isotherm(*words, "--json", place)
                    self.assert_code(result, 3)
                    self.assert_one_error(result)
                    self.assert_says(result, place)
                    self.assertEqual(result.out, "", "nothing has been done")
        result = self.isotherm("verify", "--json", "nowhere/x.json", ranks=3)
        self.assert_code(result, 3)
        self.assert_one_error(result)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["folder"])


class Terminal:
    """A pseudo-terminal; what is written to it is collected."""

    def __init__(self):
        self.main, self.other = os.openpty()
        self.parts = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while True:
            try:
                part = os.read(self.main, 4096)
            except OSError:  # EIO: the other end is closed
                return
            if not part:
                return
            self.parts.append(part)

    def text(self):
        os.close(self.other)
        self.reader.join()
        os.close(self.main)
        return b"".join(self.parts).decode()


class Progress(Case):
    PATTERN = (r"\d+ %  step \d+/300  t [0-9.e+-]+ s  T [0-9.]+ \.\. [0-9.]+ K  "
               r"[0-9.e+-]+ Gcell/s  [0-9.]+ (?:s|min|h) left")

    def config(self):
        config = problems.mixed([24, 20, 16])
        config["time"] = {"steps": 300, "dt": config["time"]["dt"]}
        return self.write(config)

    def test_a_line_on_a_terminal(self):
        for ranks in some((1, 2), 1):
            with self.subTest(ranks=ranks):
                terminal = Terminal()
                result = self.isotherm("run", self.config(), "--overwrite", ranks=ranks,
                                       stderr=terminal.other)
                text = terminal.text()
                self.assert_code(result, 0)
                lines = re.findall(self.PATTERN, text)
                self.assertTrue(lines, f"expected a progress line in {text!r}")
                self.assertNotIn("\n", text.strip("\r\n"), "one line that is written over")
                self.assertTrue(text.rstrip("\r\n").endswith("\r\x1b[K"), "cleared at the end")
                for line in lines:
                    self.assertLess(len(line), 100, line)

    def test_plain_text_in_a_file(self):
        for ranks in some((1, 2), 1):
            with self.subTest(ranks=ranks):
                with open(self.folder / "err.txt", "w", encoding="utf-8") as stream:
                    result = self.isotherm("run", self.config(), "--overwrite", ranks=ranks,
                                           stderr=stream)
                self.assert_code(result, 0)
                for text in (result.out, (self.folder / "err.txt").read_text()):
                    self.assertNotIn(ESCAPE, text)
                    self.assertNotIn("\r", text)
                self.assert_says(result, "done: step 300", "temperature", "field hash",
                                 stream="out")


if __name__ == "__main__":
    unittest.main()
