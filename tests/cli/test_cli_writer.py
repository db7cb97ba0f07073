"""Files written beside the steps: the same as those written by the steps, and what the report
says about it."""
import subprocess
import sys
import unittest

import h5py
import numpy as np

import problems
from harness import Case, some, thorough

CELLS = [31, 27, 22]


def config(writer, precision="float64"):
    problem = problems.mixed(CELLS, precision)
    problem["time"] = {"steps": 24, "dt": problem["time"]["dt"]}
    problem["output"] = {"writer": writer, "history": {"every": 6},
                         "snapshots": {"every": 2, "precision": "float32"},
                         "checkpoints": {"every": 3, "keep": 4}}
    return problem


DERIVED = ["T_max", "arrival_time", "time_above", "heat_flux"]


def every_form(writer):
    """Whole, in parts, thinned out, converted, derived, with probes; with more steps between two
    captures than the host runs ahead, and with one."""
    problem = problems.mixed(CELLS, "float64")
    problem["time"] = {"steps": 130, "dt": problem["time"]["dt"]}
    problem["output"] = {
        "writer": writer, "history": {"every": 100},
        "derived": {"every": 1, "isotherm": 310, "threshold": 300},
        "snapshots": {"every": 31, "precision": "float32", "derived": DERIVED},
        "regions": [
            {"name": "box", "every": 31, "precision": "float64", "derived": ["heat_flux"],
             "box": {"lower": problem["grid"]["lower"],
                     "upper": [0.7 * low + 0.3 * high for low, high in
                               zip(problem["grid"]["lower"], problem["grid"]["upper"])]}},
            {"name": "thin", "every": 47, "precision": "float32", "stride": [3, 2, 5],
             "derived": ["T_max"]},
            {"name": "often", "every": 1, "stride": [9, 9, 9]}],
        "probes": {"every": 1, "points": [{"name": "p", "at": problem["grid"]["lower"]}]},
        "checkpoints": {"every": 125, "keep": 3}}
    return problem


def contents(path):
    """Every object of a file with its attributes and bytes, but for the configuration's text."""
    found = {}

    def visit(name, item):
        values = {key: np.asarray(value).tobytes() for key, value in item.attrs.items()
                  if key != "DIMENSION_LIST"}  # of references
        if isinstance(item, h5py.Dataset) and name != "configuration":
            values["data"] = item[()].tobytes()
            values["scales"] = [[scale.name for scale in axis.values()] for axis in item.dims]
            values["form"] = (item.shape, str(item.dtype), item.chunks, item.fletcher32,
                              item.compression)
        found[name] = values

    with h5py.File(path, "r") as file:
        found["/"] = {key: np.asarray(value).tobytes() for key, value in file.attrs.items()}
        file.visititems(visit)
    return found


class Writer(Case):
    def check_same(self, one, two, least=4 + 13 + 1):
        self.assertEqual(one.report["field_hash"], two.report["field_hash"])
        names = sorted(path.relative_to(one.folder) for path in one.folder.rglob("*")
                       if path.suffix in (".h5", ".vtkhdf"))
        self.assertEqual(names, sorted(path.relative_to(two.folder)
                                       for path in two.folder.rglob("*")
                                       if path.suffix in (".h5", ".vtkhdf")))
        self.assertGreaterEqual(len(names), least)
        for name in names:
            self.assertEqual(contents(one.folder / name), contents(two.folder / name), name)
        self.assertEqual(*({path.name: path.read_bytes() for path in run.folder.glob("*.csv")}
                           for run in (one, two)))

    def test_the_same_files_as_in_the_foreground(self):
        for ranks, backend in some(((2, "cpu"), (3, "guard")), 1):
            with self.subTest(ranks=ranks, backend=backend):
                beside = self.solve(config("auto"), "--backend", backend, ranks=ranks)
                within = self.solve(config("foreground"), "--backend", backend, ranks=ranks)
                self.check_same(beside, within)
                self.assertEqual(beside.report["output"]["writer"], "background")
                self.assertIn("MPI_THREAD_MULTIPLE", beside.report["output"]["writer_reason"])
                self.assertEqual(within.report["output"]["writer"], "foreground")

    def test_captures_beside_the_steps(self):
        """On a device whose copies come late: the files of the steps' own captures, and the
        cpu's."""
        beside = self.solve(every_form("auto"), "--backend", "guard", ranks=3)
        within = self.solve(every_form("foreground"), "--backend", "guard", ranks=3)
        plain = self.solve(every_form("auto"), "--backend", "cpu", ranks=2)
        self.check_same(beside, within)
        self.check_same(beside, plain)
        self.assertEqual(beside.report["output"]["captures"], "in the background")
        self.assertEqual(within.report["output"]["captures"], "at once")
        self.assertEqual(plain.report["output"]["captures"], "at once")

    @thorough
    def test_captures_seldom(self):
        """Steps overwrite both copies of the field long before a copy arrives."""
        results = []
        for backend in ("guard", "cpu"):
            problem = config("auto")
            problem["time"]["steps"] = 60
            problem["output"]["snapshots"]["every"] = 20
            problem["output"]["checkpoints"] = {"every": 30, "keep": 4}
            problem["output"]["history"] = {"every": 1000}
            results.append(self.solve(problem, "--backend", backend, ranks=2))
        self.check_same(*results, least=2 + 4)

    @thorough
    def test_the_report_counts(self):
        run = self.solve(config("auto"), ranks=2)
        output = run.report["output"]
        snapshots, written = output["snapshots"], output["checkpoints"]
        self.assertEqual((snapshots["count"], written["count"]), (13, 8))
        cells = int(np.prod(CELLS))
        self.assertGreater(snapshots["bytes"], 13 * 4 * cells)
        self.assertGreater(written["bytes"], 8 * 8 * cells)
        for kind in (snapshots, written):
            self.assertGreater(kind["write_s"], 0)
            self.assertGreater(kind["exposed_s"], 0)
            self.assertGreater(kind["disk_s"], 0)
            self.assertLessEqual(kind["disk_s"], kind["write_s"])
            self.assertAlmostEqual(kind["disk_GBs"] * kind["disk_s"] / kind["bytes"], 1e-9, 15)
            self.assertAlmostEqual(kind["GBs"] / (kind["bytes"] / kind["write_s"] * 1e-9), 1,
                                   places=9)
        self.assertGreaterEqual(output["waits"], 0)
        self.assertNotIn("slower than the steps", run.result.out)  # not of waits this short

    def test_the_report_counts_the_bytes_on_the_disk(self):
        for compress in (0, 4):
            problem = config("auto")
            problem["output"]["snapshots"].update(compress=compress, derived=["T_max"])
            problem["output"]["checkpoints"]["keep"] = 100
            problem["output"]["regions"] = [{"name": "part", "stride": [2, 2, 2], "every": 7}]
            run = self.solve(problem, ranks=2)
            for kind, folders in (("snapshots", ("snapshots", "part")),
                                  ("checkpoints", ("checkpoints",))):
                sizes = [path.stat().st_size for folder in folders
                         for path in (run.folder / folder).glob("step_*.h5")]
                output = run.report["output"][kind]
                self.assertEqual((output["count"], output["bytes"]), (len(sizes), sum(sizes)))

    def test_the_report_counts_what_the_steps_write(self):
        problem = config("auto")
        problem["output"] = {
            "history": {"every": 0}, "pictures": {"every": 8},
            "probes": {"every": 5, "points": [{"name": "a", "at": [0.1, 0.1, 0.1]},
                                              {"name": "b", "at": [0.2, 0.1, 0.1]}]},
            "lines": [{"name": "rod", "from": [0, 0.1, 0.1], "to": [0.3, 0.1, 0.1], "points": 4,
                       "every": 10}]}
        problem["time"] = {"steps": 40, "dt": problem["time"]["dt"]}
        run = self.solve(problem, ranks=2)
        output = run.report["output"]
        self.assertEqual({"snapshots", "checkpoints"} & output.keys(), set(), "not asked for")
        files = list((run.folder / "pictures").iterdir())
        self.assertEqual((output["pictures"]["count"], len(files)), (6, 6))
        self.assertEqual(output["pictures"]["bytes"], sum(path.stat().st_size for path in files))
        # rows: 9 of two probes and 5 of a line, without the headings
        text = sum(len(line) for path in (run.folder / "probes.csv", run.folder / "rod.csv")
                   for line in path.read_bytes().splitlines(True)[1:] if not line.startswith(b"#"))
        self.assertEqual(output["probes"]["count"], 9 + 5)
        self.assertEqual(output["probes"]["bytes"], text)
        for kind in (output["pictures"], output["probes"]):
            self.assertGreater(kind["write_s"], 0)
            self.assertGreater(kind["exposed_s"], 0)
            self.assertGreater(kind["disk_s"], 0)
            self.assertLessEqual(kind["disk_s"], kind["write_s"])
        problem["output"] = {"history": {"every": 5}}
        kinds = {"snapshots", "checkpoints", "probes", "pictures"}
        self.assertEqual(kinds & self.solve(problem, "--overwrite").report["output"].keys(), set())

    def test_a_write_that_fails_ends_the_run(self):
        """The folder of the snapshots' data goes away while steps are being made."""
        problem = config("auto")
        problem["time"]["steps"] = 100000
        problem["output"]["checkpoints"] = {"every": 100000}
        problem["output"]["snapshots"]["every"] = 500
        (self.folder / "gone").mkdir()
        script = self.folder / "take_away.py"
        script.write_text("import pathlib, time\n"
                          "data = pathlib.Path('gone/snapshots')\n"
                          "while not list(data.glob('step_0*00.h5')):\n    time.sleep(0.01)\n"
                          "data.rename('gone/away')\ndata.write_text('in the way')\n")
        helper = subprocess.Popen([sys.executable, script], cwd=self.folder)
        self.addCleanup(helper.wait)
        self.addCleanup(helper.kill)
        result, output = self.start(problem, output="gone", ranks=3)
        self.assert_code(result, 3)
        self.assert_one_error(result)
        self.assert_says(result, "the snapshot of step", "could not be written")
        self.assertFalse((output / "report.json").exists())


class Plan(Case):
    def test_the_memory_is_planned(self):
        problem = config("auto")
        problem["grid"]["cells"] = [100, 100, 100]
        problem["time"] = {"steps": 10}
        name = self.write(problem)
        result = self.isotherm("plan", name)
        self.assert_code(result, 0)
        self.assert_says(result, "16 MB on the host for outputs in flight", stream="out")
        self.assertNotIn("GPU", result.out)
        self.assertNotIn("module", result.out)
        result = self.isotherm("plan", name, "--ranks-per-module", 2)  # for another machine
        self.assert_says(result, "on a GPU", "another 8 MB on the device", "inside modules",
                         stream="out")
        problem["output"]["writer"] = "foreground"
        result = self.isotherm("plan", self.write(problem))
        self.assertNotIn("on a GPU", result.out)
        problem["output"] = {}
        result = self.isotherm("plan", self.write(problem))
        self.assert_says(result, ", 0 B on the host", stream="out")
        self.assertNotIn("on a GPU", result.out)


if __name__ == "__main__":
    unittest.main()
