"""The same bits everywhere: ranks, decompositions, threads, overlap, transports, backends,
restarts. Each test solves one problem in many ways and compares the report's exact numbers, the
field's hash among them, and every byte of history.csv."""
import unittest

import problems
from harness import SMALL, Case, checkpoints, some, thorough

KEYS = ["field_hash", "mean_K", "heat_J", "boundary_heat_J", "heat_drift_J", "min_K", "max_K",
        "steps", "time"]


class Bitwise(Case):
    def expect_same(self, reference, config, what, *options, **how):
        with self.subTest(what):
            run = self.solve(config, *options, **how)
            self.assertEqual(run.exact(*KEYS), reference.exact(*KEYS), what)
            self.assertEqual(run.history_bytes(), reference.history_bytes(), f"{what}: history")
            return run

    def expect_way(self, run, key, value):
        """The run really went the way that was asked for."""
        if run is not None:
            self.assertEqual(run.report[key], value, key)

    def reference(self, config, changing=("field_hash", "mean_K", "heat_J", "boundary_heat_J")):
        """One rank, one thread, no overlap, no files but the report and the history.
        `changing`: what one step more must change, so that equal numbers say something."""
        run = self.solve(quiet(config), sets=["run.halo.overlap=off", "run.backend=cpu"])
        if SMALL:
            return run
        shorter = dict(quiet(config), time={"steps": problems.STEPS - 1,
                                            "dt": config["time"]["dt"]})
        before = self.solve(shorter)
        for key in changing:
            self.assertNotEqual(run.exact(key), before.exact(key),
                                f"{key} must change with one step more")
        return run


def quiet(config):
    """Without checkpoints, which these runs do not need."""
    return dict(config, output={"history": config["output"]["history"]})


class ThreeDimensions:
    """Uneven in every axis, all four kinds of boundary; once for each precision."""

    CELLS = [19, 15, 13] if SMALL else [37, 29, 23]
    DECOMPOSITIONS = [[2, 2, 1], [1, 1, 4], [4, 1, 1], [1, 4, 1], [3, 1, 2], [2, 2, 2], [1, 5, 1]]
    # (writes, continues): how many ranks
    RESTARTS = {3: [2, 5], 4: [1]}

    def setUp(self):
        super().setUp()
        self.config = problems.mixed(self.CELLS, self.PRECISION)

    def test_ranks(self):
        reference = self.reference(self.config)
        for ranks in some((3, 2, 4, 7), 1):
            run = self.expect_same(reference, quiet(self.config), f"{ranks} ranks", ranks=ranks)
            self.expect_way(run, "ranks", ranks)

    def test_decompositions(self):
        reference = self.reference(self.config)
        for blocks in some(self.DECOMPOSITIONS, 1):
            ranks = blocks[0] * blocks[1] * blocks[2]
            run = self.expect_same(reference, quiet(self.config), f"decomposition {blocks}",
                                   ranks=ranks, sets=[f"run.decomposition={blocks}"])
            self.expect_way(run, "decomposition", blocks)

    @thorough
    def test_ways_of_running(self):
        reference = self.reference(self.config)
        for overlap in ("on", "off"):
            for ranks, threads in ((1, 1), (3, 1), (3, 2)):
                what = f"overlap {overlap}, {ranks} ranks of {threads} threads"
                run = self.expect_same(reference, quiet(self.config), what, ranks=ranks,
                                       threads=threads, sets=[f"run.halo.overlap={overlap}"])
                self.expect_way(run, "halo_overlap", overlap == "on")
                self.expect_way(run, "threads", threads)
        run = self.expect_same(reference, quiet(self.config), "2 threads", threads=2)
        self.expect_way(run, "threads", 2)

    def test_transports_and_backends(self):
        reference = self.reference(self.config)
        for backend, transport in some((("guard", "peer"), ("guard", "staged"), ("cpu", "peer"),
                                        ("cpu", "staged"), ("cpu", "host"), ("guard", "auto")), 1):
            for ranks in some((3, 1) if transport == "peer" else (3,), 1):
                run = self.expect_same(
                    reference, quiet(self.config), f"{backend}, {transport}, {ranks} ranks",
                    "--backend", backend, ranks=ranks,
                    sets=[f"run.halo.transport={transport}", "run.halo.overlap=on"])
                self.expect_way(run, "backend", backend)
                if transport != "auto":
                    self.expect_way(run, "halo_transport", transport)

    def test_restart_on_other_ranks(self):
        reference = self.reference(self.config)
        for writers, readers in some(self.RESTARTS.items(), 1):
            self.continue_on(reference, writers, readers, "cpu", "cpu")
        if SMALL:
            return
        self.continue_on(reference, 2, [3], "guard", "cpu")
        self.continue_on(reference, 2, [3], "cpu", "guard")

    def continue_on(self, reference, writers, readers, write_backend, read_backend):
        config = dict(self.config, output=dict(self.config["output"],
                                               checkpoints={"every": 16, "keep": 2}))
        first = self.expect_same(reference, config, f"{writers} ranks with checkpoints",
                                 "--backend", write_backend, ranks=writers)
        middle = checkpoints(first.folder)[0]
        self.assertEqual(middle.name, "step_0000000032.h5")
        for ranks in readers:
            what = f"{writers} ranks of {write_backend}, then {ranks} of {read_backend}"
            with self.subTest(what):
                run = self.solve(quiet(config), "--restart", middle, "--backend", read_backend,
                                 ranks=ranks)
                self.assertEqual(run.exact(*KEYS), reference.exact(*KEYS), what)
                self.assertEqual(run.report["first_step"], 32)


class Float64(ThreeDimensions, Bitwise):
    PRECISION = "float64"


class Float32(ThreeDimensions, Bitwise):
    PRECISION = "float32"

    @thorough
    def test_differs_from_float64(self):
        """So that the precision asked for is the one that is used."""
        single = self.solve(quiet(self.config))
        double = self.solve(quiet(self.config), sets=["run.precision=float64"])
        self.assertEqual(single.report["precision"], "float32")
        self.assertNotEqual(single.report["field_hash"], double.report["field_hash"])
        self.assertLess(abs(single.report["mean_K"] / double.report["mean_K"] - 1), 1e-6)


class FewerDimensions(Bitwise):
    def check(self, cells, decompositions):
        for precision in some(("float64", "float32"), 1):
            config = problems.mixed(cells, precision)
            self.check_ways(config, self.reference(config), decompositions)

    def check_ways(self, config, reference, decompositions):
        for number, blocks in enumerate(some(decompositions, 1)):
            overlap = "off" if number % 3 == 2 else "on"
            self.expect_same(reference, quiet(config), f"{config['run']}, {blocks}, {overlap}",
                             ranks=blocks[0] * blocks[1] * blocks[2],
                             sets=[f"run.decomposition={blocks}", f"run.halo.overlap={overlap}"])

    def test_two_dimensions(self):
        self.check([53, 41], [[2, 1, 1], [1, 3, 1], [2, 2, 1], [5, 1, 1], [1, 2, 1]])

    def test_one_dimension(self):
        self.check([101], [[2, 1, 1], [3, 1, 1], [2, 1, 1], [8, 1, 1]])

    def test_a_periodic_ring(self):
        """Rank 1 of 2 is both neighbours of rank 0."""
        config = problems.mixed([101], closures=[problems.AROUND, problems.AROUND])
        reference = self.reference(config, changing=["field_hash"])
        self.check_ways(config, reference, [[2, 1, 1], [3, 1, 1], [2, 1, 1]])

    def test_blocks_of_one_cell(self):
        """All shell, no interior; a neighbour on both sides."""
        self.check([3, 4, 3], [[3, 1, 1], [1, 4, 1], [3, 1, 2]])


if __name__ == "__main__":
    unittest.main()
