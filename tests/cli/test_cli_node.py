"""Where ranks run: placement on invented nodes, and `isotherm doctor`."""
import json
import os
import unittest

import problems
from harness import END_AT_ONCE, Case, some, thorough

NODES = os.environ["ISOTHERM_FAULT_NODES"]
ALL_CORES = os.sched_getaffinity(0)


class Placement(Case):
    def config(self):
        config = problems.mixed([12, 10, 17])
        config["run"]["decomposition"] = [1, 1, 4]
        return config

    @thorough
    def test_ranks_dealt_round_two_nodes(self):
        """0, 1, 2, 3 on nodes A, B, A, B: as a chain, all faces would cross the network."""
        natural = self.solve(self.config(), ranks=4)
        env = {**END_AT_ONCE, "LD_PRELOAD": NODES, "FAULT_NODES": "2"}
        placed = self.solve(self.config(), ranks=4, env=env)
        self.assert_says(placed.result, "placement: node after node", stream="out")
        self.assertNotIn("placement", natural.result.out)
        self.assertEqual(natural.report["placement"]["order"], "natural")
        self.assertEqual(placed.report["placement"]["order"], "node after node")
        face = 8 * 12 * 10
        around = 8 * 2 * 12 * 17  # y is periodic
        self.assertEqual(natural.report["placement"]["bytes_per_step"],
                         {"self": around, "group": 0, "node": 6 * face, "network": 0})
        self.assertEqual(placed.report["placement"]["bytes_per_step"],
                         {"self": around, "group": 0, "node": 4 * face, "network": 2 * face})
        same = ("field_hash", "min_K", "max_K", "heat_J", "heat_drift_J")
        self.assertEqual(natural.exact(*same), placed.exact(*same))
        self.assertEqual(natural.history_bytes(), placed.history_bytes())
        self.assertTrue((natural.temperature() == placed.temperature()).all())

    def test_report_says_where_every_rank_ran(self):
        run = self.solve(self.config(), ranks=4)
        rows = run.report["rank_map"]
        self.assertEqual([row["rank"] for row in rows], [0, 1, 2, 3])
        for row in rows:
            self.assertEqual(row["host"], os.uname().nodename)
            self.assertEqual(row["pci"], "")
            self.assertRegex(row["cpus"], r"^\d+([-,]\d+)*$")
            self.assertGreaterEqual(row["cores"], 1)
            self.assertEqual(row["threads"], 1)

    def test_ranks_share_the_cores(self):
        """Where OMP_NUM_THREADS says nothing; the field does not depend on it."""
        hashes = set()
        for ranks in some((1, 2, 3), 2):
            run = self.solve(problems.mixed([12, 10, 17]), ranks=ranks, threads=None)
            rows = run.report["rank_map"]
            for row in rows:
                self.assertEqual(row["threads"], max(1, row["cores"] // ranks))
            threads = rows[0]["threads"]
            self.assertEqual(run.report["threads"], threads)
            self.assert_says(run.result, f", {threads} thread{'s' * (threads > 1)} (", stream="out")
            hashes.add(run.report["field_hash"])
        self.assertEqual(len(hashes), 1)
        run = self.solve(problems.mixed([12, 10, 17]), ranks=2, threads=3)
        self.assertEqual([row["threads"] for row in run.report["rank_map"]], [3, 3])

    @thorough
    @unittest.skipIf(len(ALL_CORES) < 2, "needs two cores")
    def test_threads_that_openmp_binds(self):
        """Each to a core of its own: the rank has the cores of all of them."""
        run = self.solve(problems.mixed([12, 10, 17]), threads=2,
                         env={**END_AT_ONCE, "OMP_PROC_BIND": "close", "OMP_PLACES": "cores"})
        self.assertEqual(run.report["rank_map"][0]["cores"], 2)
        self.assertNotIn("warning", run.result.err)

    def test_more_threads_than_cores(self):
        """Said once, as by doctor, with the setting that helps."""
        core = min(ALL_CORES)
        os.sched_setaffinity(0, {core})
        self.addCleanup(os.sched_setaffinity, 0, ALL_CORES)
        problem = problems.mixed([12, 10, 17])
        run = self.solve(problem, threads=3)
        self.assert_says(run.result, "warning: rank 0 on ", ": more threads than cores (rank 0: 3 "
                         "threads, bound to 1 core); ", "OMP_NUM_THREADS")
        self.assertNotIn("warning", self.solve(problem, threads=1).result.err)
        spinning = {**END_AT_ONCE, "OMPI_MCA_mpi_yield_when_idle": "0"}
        result = self.solve(problem, ranks=2, env=spinning).result
        self.assert_says(result, "warning: the 2 ranks of ", " run 2 threads on 1 core; ",
                         "OMPI_MCA_mpi_yield_when_idle=1")
        self.assertEqual(result.err.count("warning"), 1, result)
        yielding = {**END_AT_ONCE, "OMPI_MCA_mpi_yield_when_idle": "1"}
        self.assertNotIn("warning", self.solve(problem, ranks=2, env=yielding).result.err)

    def test_plan_tells_what_crosses_nodes(self):
        config = problems.mixed([128, 64, 64])
        config["run"]["decomposition"] = [4, 2, 2]
        self.write(config)
        result = self.isotherm("plan", "config.yaml", "--ranks", 16, "--ranks-per-node", 8,
                               "--ranks-per-module", 2)
        self.assert_code(result, 0)
        self.assert_says(result, "a node holds 2 x 2 x 2 blocks, a group 1 x ", stream="out")
        # two nodes of 2 x 2 x 2 blocks meet in 4 faces of 32 x 32 cells, each way
        kilobytes = 8 * 32 * 32 * 8 / 1000
        self.assertRegex(result.out, rf"inside nodes, {kilobytes:.3g} kB between nodes")
        result = self.isotherm("plan", "config.yaml", "--ranks", 16)
        self.assert_says(result, "natural order", "0 B between nodes", stream="out")


class Doctor(Case):
    """These machines differ: what is found may depend on their cores, but not what is asked of one
    core alone."""

    def doctor(self, *options, code=None, **how):
        result = self.isotherm("doctor", "--json", "doctor.json", *options, **how)
        found = json.loads((self.folder / "doctor.json").read_text())
        wrong = [finding for finding in found["findings"] if finding["wrong"]]
        self.assert_code(result, 1 if wrong else 0)
        if code is not None:
            self.assert_code(result, code)
        for finding in found["findings"]:
            self.assert_says(result, "WRONG: " if finding["wrong"] else "note:",
                             finding["what"], finding["fix"], stream="out")
        self.assertEqual("no problems found" in result.out, not wrong)
        self.assertEqual(result.out.count("HDF5 "), 1, "one rank speaks")
        return result, found, wrong

    def test_alone(self):
        result, found, _ = self.doctor()
        self.assertEqual(found["ranks"], 1)
        self.assertEqual(found["backend"], "cpu")
        self.assertTrue(found["hdf5_parallel"])
        self.assertEqual(found["device_buffers_travel"], "not needed")
        self.assertRegex(found["hdf5"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(found["pairs"], [])
        row, = found["rank_map"]
        self.assertEqual(row["host"], os.uname().nodename)
        self.assertEqual(row["threads"], 1)
        self.assert_says(result, found["mpi"], found["mpi_threads"], stream="out")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["doctor.json"])

    def test_pairs_of_ranks(self):
        for ranks in some((2, 3), 1):
            result, found, _ = self.doctor(ranks=ranks)
            self.assertEqual(found["ranks"], ranks)
            self.assertEqual([row["rank"] for row in found["rank_map"]], list(range(ranks)))
            pairs = {(pair["a"], pair["b"]) for pair in found["pairs"]}
            self.assertEqual(pairs, {(a, b) for b in range(ranks) for a in range(b)})
            for pair in found["pairs"]:
                self.assertTrue(pair["works"], pair)
                self.assertGreater(pair["bandwidth_GBs"], 0)
                self.assert_says(result, pair["transport"], stream="out")
            transports = {pair["transport"] for pair in found["pairs"]}
            self.assertLessEqual({"host", "staged", "peer"}, transports)

    @thorough
    def test_memory_that_the_host_cannot_reach(self):
        _, found, _ = self.doctor("--backend", "guard", ranks=2)
        self.assertEqual(found["backend"], "guard")
        works = {pair["transport"]: pair["works"] for pair in found["pairs"]}
        self.assertTrue(works["staged"])
        self.assertNotIn("host", works)

    def test_more_threads_than_cores(self):
        """Bound by taskset, one core and three threads."""
        core = min(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})  # the program inherits it
        self.addCleanup(os.sched_setaffinity, 0, ALL_CORES)
        _, found, wrong = self.doctor(threads=3, code=1)
        self.assertEqual(found["rank_map"][0]["cpus"], str(core))
        self.assertEqual(found["rank_map"][0]["cores"], 1)
        self.assertIn("rank 0: 3 threads, bound to 1 core", wrong[0]["what"])
        self.assertIn("OMP_NUM_THREADS", wrong[0]["fix"])

    @thorough
    def test_ranks_bound_to_the_same_core(self):
        core = min(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        self.addCleanup(os.sched_setaffinity, 0, ALL_CORES)
        _, _, wrong = self.doctor(ranks=2, code=1)
        self.assertIn("2 threads on 1 core", wrong[0]["what"])

    @thorough
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_bound_by_mpirun(self):
        """--bind-to core, as Open MPI does by default for two ranks: right with one thread a rank
        where there are two cores, wrong with two."""
        env = {**END_AT_ONCE, "OMPI_MCA_hwloc_base_binding_policy": "core"}
        _, found, _ = self.doctor(ranks=2, env=env)
        self.assertEqual([row["cores"] for row in found["rank_map"]], [1, 1])
        self.assertNotEqual(found["rank_map"][0]["cpus"], found["rank_map"][1]["cpus"])
        _, _, wrong = self.doctor(ranks=2, threads=2, env=env, code=1)
        self.assertIn("ranks 0, 1", wrong[0]["what"])
        self.assertIn("2 threads, bound to 1 core", wrong[0]["what"])
        self.assertIn("--map-by slot:PE=THREADS", wrong[0]["fix"])

    def test_a_file_that_cannot_be_written(self):
        result = self.isotherm("doctor", "--json", "nowhere/doctor.json")
        self.assert_code(result, 3)
        self.assert_one_error(result)


if __name__ == "__main__":
    unittest.main()
