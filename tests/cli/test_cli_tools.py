"""The commands beside run, help, and what a person sees while a run goes on."""
import json
import os
import re
import threading
import unittest

import problems
from harness import Case, checkpoints, some, thorough, tree

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
                self.assert_says(result, "usage: isotherm", stream="out")
                self.check_page(result.out)

    def test_names_every_command_and_option(self):
        self.assertEqual(set(self.commands()),
                         {"run", "plan", "compare", "bench", "verify", "doctor"})
        page = self.isotherm("run", "--help").out
        for option in ("--set", "--output", "--overwrite", "--restart", "--backend"):
            self.assertIn(option, page)
        self.assertIn("--ranks", self.isotherm("plan", "--help").out)
        page = self.isotherm("bench", "--help").out
        for option in ("--backend", "--size", "--json"):
            self.assertIn(option, page)

    def test_help_wins_over_what_else_is_said(self):
        result = self.isotherm("run", "none.yaml", "--frobnicate", "--help")
        self.assert_code(result, 0)

    def test_once_from_many_ranks(self):
        result = self.isotherm("run", "--help", ranks=3)
        self.assert_code(result, 0)
        self.assertEqual(result.out.count("usage: isotherm run"), 1, result)

    def test_version(self):
        result = self.isotherm("--version")
        self.assert_code(result, 0)
        self.assertRegex(result.out, r"^isotherm \d+\.\d+\.\d+\n$")


class Plan(Case):
    CELLS = [960, 640, 480]
    CLOSED = ["boundary.y_min={type: flux, value: 0}", "boundary.y_max={type: flux, value: 0}"]

    def plan(self, *options, sets=(), code=0):
        config = problems.mixed(self.CELLS)
        config["output"]["snapshots"] = {"every": 20, "precision": "float32"}
        self.write(config)
        words = ["plan", "config.yaml"]
        for item in sets:
            words += ["--set", item]
        before = tree(self.folder)
        result = self.isotherm(*words, *options)
        self.assert_code(result, code)
        self.assertEqual(tree(self.folder), before, "plan writes nothing")
        return result

    def number(self, result, pattern):
        found = re.search(pattern, result.out)
        self.assertIsNotNone(found, f"expected {pattern!r}:\n{result}")
        return float(found.group(1))

    def test_tells_what_a_run_needs(self):
        result = self.plan("--ranks", 4)
        self.assert_says(result, "960 x 640 x 480 = 294912000 cells", stream="out")
        self.assertRegex(result.out, r"4 ranks as \d x \d x \d")
        self.assert_says(result, "41 to t =", "the last one", "land on it", stream="out")
        self.assertEqual(self.number(result, r"cells a rank +(\d+)"), 294912000 / 4)
        # two fields of a quarter of the cells, and halos beside them
        memory = self.number(result, r"memory a rank +([0-9.]+) GB")
        self.assertTrue(1.18 <= memory <= 1.3, f"{memory} GB for 1.18 GB of cells")
        self.assertEqual(self.number(result, r"snapshots +(\d+) of"), 4)
        self.assertEqual(self.number(result, r"checkpoints +(\d+) of"), 3)

    def test_agrees_with_the_run(self):
        config = problems.mixed([72, 60, 50])
        config["output"]["snapshots"] = {"every": 20, "precision": "float32"}
        run = self.solve(config, ranks=3)
        self.write(config)
        plan = self.isotherm("plan", "config.yaml", "--ranks", 3)
        blocks = " x ".join(map(str, run.report["decomposition"]))
        self.assert_says(plan, f"3 ranks as {blocks}", stream="out")
        self.assert_says(plan, f"steps          {run.report['steps']} to", stream="out")
        most = run.report["halo_messages_per_step"]
        self.assert_says(plan, f"at most {most} messages", stream="out")
        self.check_size(plan, r"snapshots +4 of ([0-9.]+) ([kMG]?B)",
                        next((run.folder / "snapshots").iterdir()).stat().st_size)
        self.check_size(plan, r"checkpoints +3 of ([0-9.]+) ([kMG]?B)",
                        checkpoints(run.folder)[0].stat().st_size)

    def check_size(self, plan, pattern, size):
        found = re.search(pattern, plan.out)
        self.assertIsNotNone(found, f"expected {pattern!r}:\n{plan}")
        promised = float(found.group(1)) * {"B": 1, "kB": 1e3, "MB": 1e6}[found.group(2)]
        self.assertTrue(0.9 <= promised / size <= 1.1,
                        f"plan says {found.group(0)}, the file takes {size:.0f} B")

    def test_says_where_dt_comes_from(self):
        self.assert_says(self.plan(sets=["time.dt=auto", "time.safety=0.8"]),
                         "time step", "safety 0.8 x the largest stable step", stream="out")

    def test_nothing_to_warn_of(self):
        result = self.plan("--ranks", 2, sets=["grid.cells=[96, 64, 48]", "time.dt=auto",
                                               "time.end=1"])
        self.assert_says(result, "nothing to warn of", stream="out")

    def test_warns_of_slivers(self):
        result = self.plan("--ranks", 320, sets=["run.decomposition=[320, 1, 1]"])
        self.assert_says(result, "warning: ", "slivers of 3 cells in x", stream="out")

    def test_warns_of_a_tiny_step(self):
        result = self.plan(sets=["time.dt=1e-6", "time.end=0.01"])
        self.assert_says(result, "warning: dt is ", "smaller than it need be", stream="out")

    def test_warns_of_unequal_blocks_and_much_halo(self):
        result = self.plan("--ranks", 4, sets=["grid.cells=[10, 64, 48]",
                                               "run.decomposition=[4, 1, 1]"])
        self.assert_says(result, "warning: the largest block has 1.5 times the cells of the "
                         "smallest: ranks will wait", stream="out")
        # 2 x 40 x 30 cells, and both faces of 40 x 30 are sent
        result = self.plan("--ranks", 32, sets=["grid.cells=[64, 40, 30]", *self.CLOSED,
                                                "run.decomposition=[32, 1, 1]"])
        self.assert_says(result, "warning: a rank sends up to 100 % of the cells that it owns each "
                         "step: the exchange will outweigh the work", stream="out")

    def test_warns_of_outputs_that_are_never_due(self):
        each = ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
                "time.dt=0.01", "time.end=1", "grid.cells=[96, 64, 48]"]
        both = "only the first and last state are written"
        for key, cadence, long, ends in (
                ("snapshots", "every=101", "100 steps", both),
                ("snapshots", "interval=10", "1 s of the run", both),
                ("history", "every=101", "100 steps", both),
                ("history", "interval=10", "1 s of the run", both),
                ("pictures", "interval=10", "1 s of the run", both),
                ("checkpoints", "every=101", "100 steps", "only the last state is written"),
                ("checkpoints", "interval=10", "1 s of the run", "only the last state is written")):
            with self.subTest(key=key, cadence=cadence):
                result = self.plan(sets=self.due(each, key, cadence))
                name, value = cadence.split("=")
                unit = " s" if name == "interval" else ""
                self.assert_says(result, f"warning: output.{key}.{name} is {value}{unit}, more "
                                 f"than the {long}: {ends}", stream="out")
                self.assertEqual(result.out.count("warning: "), 1, result)
        for cadence in ("every=100", "interval=1", "interval=0.5"):
            result = self.plan(sets=self.due(each, "snapshots", cadence))
            self.assertNotIn("first and last", result.out)

    def test_warns_of_dt_far_under_an_interval(self):
        each = ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
                "time.dt=0.01", "time.end=2000", "grid.cells=[96, 64, 48]"]
        for key in ("snapshots", "pictures", "checkpoints", "history"):
            for cadence in ("every=100000", "interval=1000"):
                with self.subTest(key=key, cadence=cadence):
                    result = self.plan(sets=self.due(each, key, cadence))
                    self.assert_says(result, f"dt is far under the interval of output.{key}: "
                                     "100000 steps between two", stream="out")
                    self.assertEqual(result.out.count("warning: "), 1, result)
        result = self.plan(sets=self.due(each, "snapshots", "every=99999"))
        self.assertNotIn("far under", result.out)

    def test_warns_of_too_many_files(self):
        each = ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
                "time.dt=0.01", "time.end=20", "grid.cells=[96, 64, 48]"]
        for key, cadence, count in (("snapshots", "every=1", 2001), ("pictures", "every=1", 2001),
                                    ("checkpoints", "interval=0.01", 2000),
                                    ("snapshots", "interval=0.01", 2001)):
            with self.subTest(key=key, cadence=cadence):
                result = self.plan(sets=self.due(each, key, cadence))
                name = cadence.partition("=")[0]
                self.assert_says(result, f"warning: there will be {count} {key}: raise "
                                 f"output.{key}.{name}", stream="out")
        result = self.plan(sets=self.due(each, "snapshots", "every=2"))
        self.assertNotIn("there will be", result.out)

    def test_regions_lines_and_probes_are_outputs_too(self):
        each = ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
                "time.dt=0.01", "time.end=20", "grid.cells=[96, 64, 48]",
                "output.regions=[{name: cut, every: 1}]",
                "output.lines=[{name: rod, from: [0, 0, 0], to: [0.1, 0, 0], points: 2, "
                "interval: 30}]",
                "output.probes={interval: 0.005, points: [{name: a, at: [0.1, 0.1, 0.1]}]}"]
        self.assert_says(self.plan(sets=each),
                         "landing on the times of outputs takes 4000 steps where 2000 of 0.01 s "
                         "would do: raise output.probes.interval (0.005 s)",
                         "there will be 4001 snapshots of a region: raise output.regions[0].every",
                         "output.lines[0].interval is 30 s, more than the 20 s of the run",
                         stream="out")

    def test_warns_of_steps_cut_short_by_landings(self):
        each = ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
                "time.dt=0.01", "time.end=2", "grid.cells=[96, 64, 48]"]
        result = self.plan(sets=self.due(each, "snapshots", "interval=0.0001"))
        self.assert_says(result, "time step      at most 0.01 s", "steps          20000 to t = 2 s",
                         "landing on 19999 times on the way: 0.0001 s a step on average",
                         "warning: landing on the times of outputs takes 20000 steps where 200 of "
                         "0.01 s would do: raise output.snapshots.interval (0.0001 s)",
                         "warning: there will be 20001 snapshots: raise output.snapshots.interval",
                         stream="out")
        result = self.plan(sets=self.due(each, "snapshots", "interval=0.1"))
        self.assertNotIn("warning", result.out)

    @staticmethod
    def due(sets, key, cadence):
        """The same outputs, but for one."""
        return [item for item in sets if not item.startswith(f"output.{key}.")] + [
            f"output.{key}={{{cadence.replace('=', ': ')}}}"]

    def test_halo_is_as_worked_out_by_hand(self):
        """A rank sends each of its faces that has a neighbour: so many cells of so many bytes."""
        cases = (
            # 24 x 60 x 50 each; the middle one has two neighbours
            ([72, 60, 50], "[3, 1, 1]", "float64", (), "24 kB .. 48 kB", 2, 8 * 60 * 50),
            # in a ring all have
            ([72, 60, 50], "[3, 1, 1]", "float64", ("x",), "48 kB .. 48 kB", 2, 8 * 2 * 60 * 50),
            # 72 x 60 cells of 4 bytes
            ([72, 60, 50], "[1, 1, 3]", "float32", (), "17.3 kB .. 34.6 kB", 2, 4 * 72 * 60),
            # 36 or 35 x 30 or 29 x 50, one neighbour in x and one in y
            ([71, 59, 50], "[2, 2, 1]", "float64", (), "25.6 kB .. 26.4 kB", 2,
             8 * (30 + 36) * 50),
        )
        for cells, blocks, precision, ring, sent, messages, first in cases:
            with self.subTest(cells=cells, blocks=blocks, ring=ring):
                config = problems.base(cells, [problems.HOT] * 6)
                for axis in ring:
                    config["boundary"].update({f"{axis}_min": problems.AROUND,
                                               f"{axis}_max": problems.AROUND})
                config["time"] = {"steps": 1, "dt": "auto"}
                config["run"] = {"precision": precision, "decomposition": json.loads(blocks)}
                ranks = 4 if blocks == "[2, 2, 1]" else 3
                run = self.solve(config, ranks=ranks)
                self.write(config)
                plan = self.isotherm("plan", "config.yaml", "--ranks", ranks)
                self.assert_says(plan, f"halo a step    {sent} sent by a rank, at most {messages} "
                                 "messages", stream="out")
                self.assertEqual(run.report["halo_bytes_per_step"], first)

    def test_warns_of_a_shape_between_the_cells(self):
        text = "warning: --set initial[1]={sphere: "
        shape = "initial[1]={sphere: {center: [0.5, 0.5, 0.5], radius: %s, value: 400}}"
        huge = ["grid.cells=[20000, 20000, 20000]", "grid.lower=[0, 0, 0]",
                "grid.upper=[1, 1, 1]", "time.dt=auto", "time.end=1"]
        result = self.plan(sets=[*huge, shape % "1e-6"])
        self.assert_says(result, text, "initial[1].sphere: holds the centre of no cell",
                         stream="out")
        self.assertNotIn("centre", self.plan(sets=[*huge, shape % "1e-4"]).out)

    def test_warns_of_no_room_for_outputs_on_their_way(self):
        """`guard` keeps its device memory apart, as a GPU does."""
        found = re.search(r"device here .*, ([0-9.]+) ([kMGT]B)$", self.plan().out, re.M)
        memory = float(found.group(1)) * {"MB": 1e6, "GB": 1e9, "TB": 1e12}[found.group(2)]
        # two fields of 8 bytes a cell are there, and a snapshot of them wants 8 more
        nz = int(memory / 20 / 1000**2)
        sets = [f"grid.cells=[1000, 1000, {nz}]", "run.backend=guard", "time.dt=auto",
                "time.end=0.001", "output.snapshots.precision=float64"]
        text = "warning: no room on the device for outputs on their way ("
        self.assert_says(self.plan(sets=sets), text, stream="out")
        self.assertNotIn(text, self.plan(sets=[*sets, "output.writer=foreground"]).out)

    def test_warns_of_too_much_memory_and_disk(self):
        result = self.plan("--ranks", 8, sets=["grid.cells=[20000, 20000, 20000]",
                                               "time.dt=auto", "time.end=1"])
        self.assert_says(result, "8000000000000 cells", "warning: a rank needs", "more ranks",
                         stream="out")
        self.assertRegex(result.out, r"warning: .*(room|space|disk|free)")


class Bench(Case):
    ROW_KEYS = ["kernel", "precision", "cells", "ms", "bandwidth_GBs", "percent_of_copy",
                "cell_updates_per_s"]

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
        self.assert_says(result, "--directory nowhere: there is no such folder")

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
        self.assertNotIn("plain", result.out.replace("plane", ""))
        result = self.isotherm("bench", "kernels", "--backend", "cpu", "--kernel", "fastest")
        self.assert_code(result, 2)
        self.assert_says(result, "--kernel fastest", "laplacian", "production")
        names = result.err.rpartition("it has: ")[2].strip().split(", ")
        self.assertEqual(sorted(names), sorted(set(names)), "each once")

    def test_a_sheet_has_no_laplacian(self):
        result = self.isotherm("bench", "kernels", "--size", 24, 16, 2, "--repeats", 1,
                               "--precision", "float64", "--backend", "cpu", "--json", "b.json")
        self.assert_code(result, 0)
        self.assert_says(result, "laplacian: left out", stream="out")
        rows = json.loads((self.folder / "b.json").read_text())["rows"]
        self.assertEqual({row["kind"] for row in rows}, {"step"})


class Results(Case):
    """What a command is to leave, and has no place for."""

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
