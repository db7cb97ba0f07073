"""What `isotherm plan` says of a run, and what it warns of."""
import json
import os
import re
import subprocess
import unittest

import problems
from harness import BINARY, LAUNCHER, Case, checkpoints, thorough, tree


def quiet(end):
    """Settings of so many seconds without outputs, in steps that give no warning."""
    return ["output.history.every=0", "output.checkpoints.every=0", "output.snapshots.every=0",
            "time.dt=0.01", f"time.end={end}", "grid.cells=[96, 64, 48]"]


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
        self.assert_says(result, "41 to t =", "the last one", "shortened to", stream="out")
        self.assertEqual(self.number(result, r"cells/rank +(\d+)"), 294912000 / 4)
        # two fields of a quarter of the cells with halos beside them; a buffer to send and two
        # to receive
        memory = self.number(result, r"memory/rank +([0-9.]+) GB")
        fields = memory - 3 * self.number(result, r"halo/pass +.* \.\. ([0-9.]+) MB") / 1e3
        self.assertTrue(1.18 <= fields <= 1.3, f"{fields} GB for 1.18 GB of cells")
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

    @thorough
    def test_says_where_dt_comes_from(self):
        self.assert_says(self.plan(sets=["time.dt=auto", "time.safety=0.8"]),
                         "time step", "safety 0.8 x the largest stable step", stream="out")

    @thorough
    def test_nothing_to_warn_of(self):
        result = self.plan("--ranks", 2, sets=["grid.cells=[96, 64, 48]", "time.dt=auto",
                                               "time.end=1"])
        self.assert_says(result, "no warnings", stream="out")

    @thorough
    def test_estimates_the_wall_time(self):
        """From a rehearsal: no more than its form, and that it is that of all steps and outputs."""
        units = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
        for steps in (1000, 1000000):
            result = self.plan(sets=["grid.cells=[96, 64, 48]", f"time.end={steps * 0.01}",
                                     "time.dt=0.01"])
            found = re.search(r"wall time +about ([0-9.]+) (ms|s|min|h): "
                              f"{steps} steps of ([0-9.]+) (us|ms|s), ([0-9.]+) (us|ms|s|min|h) "
                              r"for outputs; measured here on .*, \d+ threads?, "
                              "with 0.29 million cells", result.out)
            self.assertIsNotNone(found, result)
            whole, each, outputs = (float(found[n]) * units[found[n + 1]] for n in (1, 3, 5))
            self.assertGreater(outputs, 0, result)
            self.assertAlmostEqual(whole / (steps * each + outputs), 1, delta=0.5)

    def test_the_wall_time_is_that_of_the_configuration(self):
        """Also of a melting one; a large grid is coarsened."""
        config = problems.mixed([24, 20, 16])
        material = {**config.pop("material"), "latent_heat": 1000, "solidus": 400}
        config["materials"] = [{"name": "m", **material}]
        self.write(config)
        result = self.isotherm("plan", "config.yaml")
        self.assert_says(result, "wall time      about ", " for outputs; ", stream="out")
        self.assertNotIn("constant properties", result.out)
        large = self.plan(sets=["grid.cells=[1000, 1000, 7]", "time.dt=auto"])
        self.assert_says(large, "with 3.5 million cells", stream="out")

    def test_the_wall_time_of_a_run_that_cannot_begin(self):
        result = self.plan(sets=["grid.cells=[96, 64, 48]",
                                 "initial=[{file: {path: later.h5, dataset: T}}]"])
        self.assert_says(result, "wall time      unknown: ", "cannot open later.h5", stream="out")

    @thorough
    def test_the_wall_time_of_other_machines(self):
        """With more ranks than there are cores here, it says for how many nodes."""
        result = self.plan("--ranks", 64, "--ranks-per-node", 4)
        self.assert_says(result, "wall time", " without halo exchange: 41 steps",
                         "with 2.3 million cells, for 16 nodes like this one", stream="out")

    @thorough
    def test_names_the_settings_of_mpirun(self):
        """Where Open MPI refuses to start so many ranks: the program cannot say so then."""
        version = subprocess.run([LAUNCHER, "--version"], capture_output=True, text=True,
                                 check=False).stdout
        if "open-mpi" not in version:
            self.skipTest("another MPI")
        names = ("OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT")
        unset = {key: value for key, value in os.environ.items() if key not in names}
        name = self.write(problems.mixed([96, 64, 48]))
        for variables, ranks, expected in (
                (unset, 5000, names if os.geteuid() == 0 else names[:1]),
                (unset, 2, names[1:] if os.geteuid() == 0 else ()),
                ({**unset, **{name: "1" for name in names}}, 5000, ()),
                ({**unset, "SLURM_JOB_ID": "1"}, 5000, ()), (unset, 1, ())):
            if ranks == 2 and len(os.sched_getaffinity(0)) < 2:
                continue
            result = subprocess.run([BINARY, "plan", name, "--ranks", str(ranks)], env=variables,
                                    cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result)
            line = "".join(line for line in result.stdout.splitlines() if "launch" in line)
            self.assertEqual([name for name in names if name + "=1" in line], list(expected), line)

    def test_one_of_a_thing(self):
        """No plural of one, by plan and by run."""
        config = problems.mixed([8, 6, 7])
        config["time"] = {"steps": 1, "dt": config["time"]["dt"]}
        config["output"]["history"] = {"every": 10}
        self.write(config)
        result = self.isotherm("plan", "config.yaml")
        self.assert_code(result, 0)
        self.assert_says(result, "more than the 1 step: ", stream="out")
        for text in (result.out, self.solve(config).result.out):
            self.assertIsNone(re.search(r"\b1 (steps|messages|times|rows|ranks)\b", text), text)

    @thorough
    def test_warns_of_thin_blocks(self):
        result = self.plan("--ranks", 320, sets=["run.decomposition=[320, 1, 1]"])
        self.assert_says(result, "warning: ", "only 3 cells thick in x", stream="out")

    @thorough
    def test_warns_of_a_tiny_step(self):
        result = self.plan(sets=["time.dt=1e-6", "time.end=0.01"])
        self.assert_says(result, "warning: dt is ", "smaller than necessary", stream="out")

    @thorough
    def test_warns_of_unequal_blocks_and_much_halo(self):
        result = self.plan("--ranks", 4, sets=["grid.cells=[10, 64, 48]",
                                               "run.decomposition=[4, 1, 1]"])
        self.assert_says(result, "warning: the largest block has 1.5 times the cells of the "
                         "smallest: ranks will wait", stream="out")
        # 2 x 40 x 30 cells, and both faces of 40 x 30 are sent
        result = self.plan("--ranks", 32, sets=["grid.cells=[64, 40, 30]", *self.CLOSED,
                                                "run.decomposition=[32, 1, 1]"])
        self.assert_says(result, "warning: a rank sends up to 100 % of its cells per step: the "
                         "exchange will dominate", stream="out")

    @thorough
    def test_warns_of_outputs_that_are_never_due(self):
        each = quiet(1)
        both = "only the first and last state are written"
        for key, cadence, long, ends in (
                ("snapshots", "every=101", "100 steps", both),
                ("history", "interval=10", "1 s of the run", both),
                ("checkpoints", "interval=10", "1 s of the run", "only the last state is written")):
            with self.subTest(key=key, cadence=cadence):
                result = self.plan(sets=self.due(each, key, cadence))
                name, value = cadence.split("=")
                unit = " s" if name == "interval" else ""
                self.assert_says(result, f"warning: output.{key}.{name} is {value}{unit}, more "
                                 f"than the {long}: {ends}", stream="out")
                self.assertEqual(result.out.count("warning: "), 1, result)
        for cadence in ("every=100", "interval=1"):
            result = self.plan(sets=self.due(each, "snapshots", cadence))
            self.assertNotIn("first and last", result.out)

    @thorough
    def test_warns_of_dt_far_under_an_interval(self):
        each = quiet(2000)
        for key, cadence in (("pictures", "every=100000"), ("checkpoints", "interval=1000")):
            result = self.plan(sets=self.due(each, key, cadence))
            self.assert_says(result, f"dt is far below the interval of output.{key}: "
                             "100000 steps between two", stream="out")
            self.assertEqual(result.out.count("warning: "), 1, result)
        result = self.plan(sets=self.due(each, "snapshots", "every=99999"))
        self.assertNotIn("far below", result.out)

    @thorough
    def test_warns_of_too_many_files(self):
        each = quiet(20)
        for key, cadence, count in (("pictures", "every=1", 2001),
                                    ("checkpoints", "interval=0.01", 2000)):
            with self.subTest(key=key, cadence=cadence):
                result = self.plan(sets=self.due(each, key, cadence))
                name = cadence.partition("=")[0]
                self.assert_says(result, f"warning: {count} {key} will be written: raise "
                                 f"output.{key}.{name}", stream="out")
        result = self.plan(sets=self.due(each, "snapshots", "every=2"))
        self.assertNotIn("will be written: raise", result.out)

    def test_regions_lines_and_probes_are_outputs_too(self):
        each = [*quiet(20), "output.regions=[{name: cut, every: 1}]",
                "output.lines=[{name: rod, from: [0, 0, 0], to: [0.1, 0, 0], points: 2, "
                "interval: 30}]",
                "output.probes={interval: 0.005, points: [{name: a, at: [0.1, 0.1, 0.1]}]}"]
        self.assert_says(self.plan(sets=each),
                         "landing on the times of outputs takes 4000 steps instead of 2000 of "
                         "0.01 s: raise output.probes.interval (0.005 s)",
                         "4001 snapshots of a region will be written: raise "
                         "output.regions[0].every",
                         "output.lines[0].interval is 30 s, more than the 20 s of the run",
                         stream="out")

    @thorough
    def test_warns_of_steps_cut_short_by_landings(self):
        each = quiet(2)
        result = self.plan(sets=self.due(each, "snapshots", "interval=0.0001"))
        self.assert_says(result, "time step      at most 0.01 s", "steps          20000 to t = 2 s",
                         "landing on 19999 intermediate times: 0.0001 s per step on average",
                         "warning: landing on the times of outputs takes 20000 steps instead of "
                         "200 of 0.01 s: raise output.snapshots.interval (0.0001 s)",
                         "warning: 20001 snapshots will be written: raise "
                         "output.snapshots.interval",
                         stream="out")
        result = self.plan(sets=self.due(each, "snapshots", "interval=0.1"))
        self.assertNotIn("warning: ", result.out)
        result = self.plan(sets=self.due(each, "snapshots", "interval=1"))
        self.assert_says(result, "landing on 1 intermediate time: 0.01 s per step", stream="out")

    def test_run_says_the_steps_too(self):
        config = problems.mixed([24, 20, 16])
        config["time"] = {"steps": 8, "dt": config["time"]["dt"]}
        config["output"] = {"history": {"interval": 0.4 * config["time"]["dt"]}}
        self.assert_says(self.solve(config).result, "8 steps of at most ", stream="out")
        config["output"] = {"history": {"every": 1}}
        self.assertNotIn("at most", self.solve(config).result.out)

    @staticmethod
    def due(sets, key, cadence):
        """The same outputs, but for one."""
        return [item for item in sets if not item.startswith(f"output.{key}.")] + [
            f"output.{key}={{{cadence.replace('=', ': ')}}}"]

    @thorough
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
                self.assert_says(plan, f"halo/step      {sent} sent by each rank, at most "
                                 f"{messages} messages", stream="out")
                self.assertEqual(run.report["halo_bytes_per_step"], first)

    @thorough
    def test_warns_of_a_shape_between_the_cells(self):
        text = "warning: --set initial[1]={sphere: "
        shape = "initial[1]={sphere: {center: [0.5, 0.5, 0.5], radius: %s, value: 400}}"
        huge = ["grid.cells=[20000, 20000, 20000]", "grid.lower=[0, 0, 0]",
                "grid.upper=[1, 1, 1]", "time.dt=auto", "time.end=1"]
        result = self.plan(sets=[*huge, shape % "1e-6"])
        self.assert_says(result, text, "initial[1].sphere: contains no cell centre",
                         stream="out")
        self.assertNotIn("centre", self.plan(sets=[*huge, shape % "1e-4"]).out)

    @thorough
    def test_warns_of_no_room_for_outputs_on_their_way(self):
        """`guard` keeps its device memory apart, as a GPU does."""
        found = re.search(r"local device .*, ([0-9.]+) ([kMGT]B)$", self.plan().out, re.M)
        memory = float(found.group(1)) * {"MB": 1e6, "GB": 1e9, "TB": 1e12}[found.group(2)]
        # two fields of 8 bytes a cell are there, and a snapshot of them wants 8 more
        nz = int(memory / 20 / 1000**2)
        sets = [f"grid.cells=[1000, 1000, {nz}]", "run.backend=guard", "time.dt=auto",
                "time.end=0.001", "output.snapshots.precision=float64"]
        text = "warning: no device memory for outputs in flight ("
        self.assert_says(self.plan(sets=sets), text, stream="out")
        self.assertNotIn(text, self.plan(sets=[*sets, "output.writer=foreground"]).out)

    @thorough
    def test_warns_of_too_much_memory_and_disk(self):
        result = self.plan("--ranks", 8, sets=["grid.cells=[20000, 20000, 20000]",
                                               "time.dt=auto", "time.end=1"])
        self.assert_says(result, "8000000000000 cells", "warning: a rank needs", "more ranks",
                         stream="out")
        self.assertRegex(result.out, r"warning: .*(room|space|disk|free)")


if __name__ == "__main__":
    unittest.main()
