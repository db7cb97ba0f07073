"""The same bits for any number of steps per pass: lengths, ranks, backends, overlap, transports,
dimensions, events at odd steps, restarts in the middle of a pass. ISOTHERM_TEST_MATRIX=1: every
length with every number of ranks, on both backends, with and without overlap."""
import os
import subprocess
import sys
import unittest

import numpy as np

import media
import nonlinear
import problems
from gallery import GALLERY
from harness import BINARY, SMALL, Run, checkpoints, some, thorough
from test_bitwise import Bitwise, quiet

CELLS = [37, 29, 23]
LENGTHS = (1, 2, 3, 4, 5, 8, "auto")


class Passes(Bitwise):
    def settings(self, steps, backend="cpu", overlap="auto", *more):
        return [f"run.steps_per_pass={steps}", f"run.backend={backend}",
                f"run.halo.overlap={overlap}", *more]

    def plain(self, config):
        return self.solve(quiet(config), sets=self.settings(1, "cpu", "off"))

    def compare(self, reference, config, steps, backend, overlap, ranks, *more):
        what = f"{steps} steps, {backend}, overlap {overlap}, {ranks} ranks, {more}"
        run = self.expect_same(reference, config, what, ranks=ranks,
                               sets=self.settings(steps, backend, overlap, *more))
        if run is not None and steps != "auto":
            self.assertEqual(run.report["steps_per_pass"]["chosen"], steps)
        return run

    def test_lengths(self):
        config = problems.mixed(CELLS)
        config["output"]["history"] = {"every": 7}
        reference = self.plain(config)
        for steps, backend, overlap, ranks in some((
                (4, "cpu", "on", 3), (8, "guard", "off", 4), (2, "guard", "on", 2),
                (3, "cpu", "off", 1), (5, "guard", "on", 3), (5, "cpu", "off", 5),
                (8, "cpu", "on", 2), (4, "guard", "off", 1), ("auto", "guard", "auto", 2),
                ("auto", "cpu", "auto", 3)), 3):
            self.compare(reference, quiet(config), steps, backend, overlap, ranks)

    def test_summaries_by_passes(self):
        """`guard` takes the summary in the last pass before a line of the history."""
        config = problems.mixed(CELLS, "float32")
        reference = self.plain(config)
        for steps, ranks in ((2, 1), (3, 2)):
            self.compare(reference, quiet(config), steps, "guard", "off", ranks)
        metal = dict(config.pop("material"), name="a")
        config["materials"] = [metal, dict(metal, name="b", density=2 * metal["density"])]
        config["parts"] = [{"uniform": {"material": "a"}}, {"layer": {
            "axis": "y", "from": 0, "to": config["grid"]["upper"][1] / 3, "material": "b"}}]
        reference = self.plain(config)
        for steps in (2, 3):   # two steps are two kernels there
            self.compare(reference, quiet(config), steps, "guard", "off", 1)

    @unittest.skipUnless(os.environ.get("ISOTHERM_TEST_MATRIX"), "an hour's work for few cores")
    def test_all(self):
        blocks = {4: [1, 2, 2], 7: [7, 1, 1], 8: [2, 2, 2]}
        for precision in ("float64", "float32"):
            config = problems.mixed(CELLS, precision)
            config["output"]["history"] = {"every": 7}
            reference = self.plain(config)
            for steps in LENGTHS:
                for ranks in (1, 2, 3, 4, 5, 7, 8):
                    for backend in ("cpu", "guard"):
                        for overlap in ("on", "off"):
                            if steps == 8 and ranks in (5, 7):
                                continue  # thinner blocks
                            more = [f"run.decomposition={blocks[ranks]}"] if ranks in blocks else []
                            self.compare(reference, quiet(config), steps, backend, overlap, ranks,
                                         *more)

    def test_blocks_as_thick_as_the_halo(self):
        config = problems.mixed(CELLS, "float32")
        reference = self.plain(config)
        for steps, blocks in ((4, [1, 1, 5]), (5, [7, 1, 1]), (5, [1, 5, 1]), (8, [4, 1, 1])):
            ranks = blocks[0] * blocks[1] * blocks[2]
            # each backend with each length, and with cuts of each axis
            backend, overlap = ("guard", "on") if blocks[1:] == [1, 1] else ("cpu", "off")
            self.compare(reference, quiet(config), steps, backend, overlap, ranks,
                         f"run.decomposition={blocks}")

    @thorough
    def test_transports(self):
        config = problems.mixed(CELLS)
        reference = self.plain(config)
        for transport in ("peer", "staged", "host"):
            self.compare(reference, quiet(config), 4, "cpu", "on", 3,
                         f"run.halo.transport={transport}")
        self.compare(reference, quiet(config), 4, "guard", "on", 3, "run.halo.transport=staged")

    def test_fewer_dimensions(self):
        for cells, steps, ranks in (([53, 41], 4, 4), ([101], 8, 3), ([101], 5, 1)):
            config = problems.mixed(cells)
            reference = self.plain(config)
            for backend, overlap in some((("guard", "on"), ("cpu", "off")), 1):
                self.compare(reference, quiet(config), steps, backend, overlap, ranks)

    def test_a_periodic_ring(self):
        """Halos as wide as the block, which is its own neighbour."""
        config = problems.mixed([5], closures=[problems.AROUND, problems.AROUND])
        config["initial"] = [{"expression": {"value": "300 + 20*sin(17*x)"}}]
        reference = self.plain(config)
        self.compare(reference, quiet(config), 5, "cpu", "off", 1)
        self.compare(reference, quiet(config), 5, "guard", "on", 1)

    def test_steps_of_several_lengths(self):
        """Each output with an interval shortens a step, and the ledger is booked there."""
        config = problems.mixed(CELLS)
        config["output"] = {"history": {"interval": config["time"]["end"] / 4.3}}
        reference = self.plain(config)
        self.assertGreater(reference.report["steps"], problems.STEPS)
        self.compare(reference, quiet(config), 4, "cpu", "on", 2)
        self.compare(reference, quiet(config), 5, "guard", "off", 3)

    def test_restart_in_the_middle_of_a_pass(self):
        config = problems.mixed(CELLS)
        reference = self.plain(config)
        writing = dict(config, output=dict(config["output"], checkpoints={"every": 9, "keep": 9}))
        first = self.compare(reference, writing, 4, "cpu", "on", 2)
        at_18 = checkpoints(first.folder)[1]
        self.assertEqual(at_18.name, "step_0000000018.h5")
        for steps, backend, ranks in ((5, "cpu", 3), (1, "guard", 1), (4, "guard", 2)):
            sleeps = "on" if steps == 1 else "auto"
            again = self.solve(quiet(config), "--restart", at_18, ranks=ranks,
                               sets=self.settings(steps, backend, "on",
                                                  f"run.sleeping_tiles={sleeps}"))
            self.assertEqual(again.exact("field_hash", "boundary_heat_J", "heat_drift_J", "time"),
                             reference.exact("field_hash", "boundary_heat_J", "heat_drift_J",
                                             "time"))

    @thorough
    def test_all_outputs(self):
        """What reads the field between passes reads the same, the heat flux beyond blocks too."""
        config = problems.mixed(CELLS)
        config["output"] = {
            "history": {"every": 3}, "pictures": {"every": 20},
            "snapshots": {"every": 11, "precision": "float64", "derived": ["T_max", "heat_flux"]},
            "derived": {"every": 2}, "probes": {"every": 5, "points": [
                {"name": "a", "at": [0.1, 0.1, 0.1]}]},
            "checkpoints": {"every": 10, "keep": 9}}
        runs = [self.solve(config, ranks=ranks, sets=self.settings(steps, backend, overlap))
                for steps, backend, overlap, ranks in (
                    (1, "cpu", "off", 1), (4, "cpu", "on", 3), (5, "guard", "on", 2))]
        for run in runs[1:]:
            for name in ("history.csv", "probes.csv"):
                self.assertEqual((run.folder / name).read_bytes(),
                                 (runs[0].folder / name).read_bytes(), name)
            for name in sorted(path.name for path in (run.folder / "snapshots").iterdir()):
                words = [str(place / "snapshots" / name) for place in (runs[0].folder, run.folder)]
                self.assert_code(self.isotherm("compare", *words), 0)

    def test_exchanges_are_counted(self):
        config = problems.mixed(CELLS)
        config["output"] = {"history": {"every": 10}}
        config["run"]["watch"] = {"every": 0}
        report = self.solve(config, ranks=2, sets=self.settings(4)).report
        self.assertEqual(report["steps"], 41)
        self.assertLessEqual(report["steps_per_pass"]["passes"], 20)
        self.assertEqual(report["halo"]["exchanges"], report["steps_per_pass"]["passes"])
        self.assertEqual(report["substeps_per_pass"], 4)

    @thorough
    def test_auto_takes_the_fastest(self):
        config = problems.mixed([96, 80, 72])
        reference = self.plain(config)
        for backend, ranks in (("cpu", 2), ("guard", 1)):
            run = self.compare(reference, quiet(config), "auto", backend, "auto", ranks)
            trials = run.report["steps_per_pass"]["trials"]
            best = min(trials, key=lambda trial: trial["us_per_step"])
            self.assertEqual(run.report["steps_per_pass"]["chosen"], best["steps"])
            self.assertIn(1, [trial["steps"] for trial in trials])

    def test_too_thin_blocks_are_refused(self):
        result, _ = self.start(problems.mixed(CELLS), ranks=5,
                               sets=self.settings(8, "cpu", "auto", "run.decomposition=[1, 1, 5]"))
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "--set run.steps_per_pass=8", "run.steps_per_pass",
                         "the thinnest on z has 4; give 4 or less, or auto")
        plan = self.isotherm("plan", "config_1.yaml", "--ranks", 5, "--set",
                             "run.steps_per_pass=8", "--set", "run.decomposition=[1, 1, 5]")
        self.assert_code(plan, 2)

    def compare_media(self, seed, config, ranks_of):
        """Passes and sleeping tiles; random problems, which have a number, take one or the other in
        turn. Where blocks are too thin for the halo, a pass has fewer steps."""
        config["output"] = {"history": {"every": 5}}
        reference = self.plain(config)
        for n, (steps, backend, overlap, ranks) in enumerate(ranks_of):
            passes = min(steps, max(config["grid"]["cells"]) // ranks)
            for what, words in ((f"{passes} steps", (passes, backend, overlap)),
                                ("sleeping tiles", ("auto", backend, overlap,
                                                    "run.sleeping_tiles=on"))):
                if isinstance(seed, str) or (seed + n) % 2 == (what == "sleeping tiles"):
                    self.expect_same(reference, config,
                                     f"{seed}: {what}, {backend}, {ranks} ranks", ranks=ranks,
                                     sets=self.settings(*words, *self.along(config, ranks)))

    def along(self, config, ranks):
        """Cut the longest axis."""
        cells = config["grid"]["cells"]
        blocks = [1] * len(cells)
        blocks[cells.index(max(cells))] = ranks
        return [f"run.decomposition={blocks}"]

    def test_random_media(self):
        """Classes, contacts, patches, radiation, painted and moving sources, formulas of time."""
        for seed in range(3 if SMALL else 14):
            config = {**media.some_problem(seed), "time": {"steps": 12}}
            self.compare_media(seed, config, ((3, "cpu", "on", 2), (4, "guard", "off", 3),
                                              (2, "cpu", "off", 1)))

    def test_bodies_in_ambients(self):
        for seed in range(3, 6 if SMALL else 14):
            config = media.some_problem(seed)
            if len(config["materials"]) > 1:
                config = {**media.with_ambients(config, seed), "time": {"steps": 12}}
                self.compare_media(seed, config, ((4, "cpu", "on", 2), (3, "guard", "off", 3)))

    def test_random_nonlinear_media(self):
        """k(T), c(T), melting, perfusion; where a material becomes another one, step by step."""
        for seed in range(3 if SMALL else 14):
            config = media.some_problem(seed)
            config = (nonlinear.perfused_problem if seed % 3 == 2 else
                      nonlinear.nonlinear_problem)(config, seed)
            config["time"] = {"steps": 12}
            self.compare_media(seed, config, ((4, "cpu", "on", 2), (3, "guard", "off", 3)))

    def test_perfusion_between_periodic_faces(self):
        """No face needs sums then: cells of the halo are advanced in the launch of the owned ones,
        and their heat is not counted."""
        config = problems.mixed([23, 12, 7], closures=[problems.AROUND] * 6)
        del config["material"]
        config["materials"] = [
            {"name": "tissue", "conductivity": 30.0, "density": 1000.0, "heat_capacity": 900.0,
             "perfusion": {"rate": 2.0, "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
                           "arterial_temperature": 310.15}}]
        config["parts"] = [{"uniform": {"material": "tissue"}}]
        config["time"] = {"steps": 12}
        self.compare_media("periodic", config, ((3, "cpu", "off", 2), (3, "guard", "on", 2)))

    def test_high_order(self):
        for order, cells, steps in ((4, [37, 29, 23], 3), (8, [41, 33], 2), (6, [64], 4)):
            config = problems.mixed(cells)
            config["run"]["stencil"] = {"order": order}
            config["time"]["dt"] *= 0.3
            config["run"]["watch"] = {"every": 0}
            self.compare_media(f"order {order}", config,
                               ((steps, "cpu", "on", 2), (2, "guard", "off", 3)))

    def beam(self, **more):
        """A beam on a cold plate, of which it reaches a part."""
        face = {"type": "temperature", "value": 300.0}
        return {
            "grid": {"cells": [67, 50, 41], "upper": [1.34e-3, 1e-3, 0.82e-3]},
            "material": {"conductivity": 25.0, "density": 7800.0, "heat_capacity": 600.0},
            "sources": [{"gaussian": {"surface": "z_max", "radius": 5e-5, "power": 6.0,
                                      "x": "3e-4 + 2*t", "y": 3e-4}}],
            "initial": [{"uniform": {"value": 300.0}}],
            "boundary": {"x_min": face, "x_max": face, "z_min": {"type": "flux", "value": 0.0},
                         "y_min": {"type": "convection", "coefficient": 40.0, "ambient": 300.0},
                         "y_max": {"type": "periodic"}, "z_max": {"type": "flux", "value": 0.0},
                         **more.pop("boundary", {})},
            "time": {"steps": 14}, "output": {"history": {"every": 4}}, **more}

    def test_moving_sources(self):
        """Two beams on one track and one across it; their heat meets faces and periodic ones."""
        gaussian = self.beam()["sources"][0]["gaussian"]
        sources = [{"gaussian": {**gaussian, **more}} for more in (
            {"y": "1e-5 + 3*t"}, {"x": "4e-4 + 2*t", "y": "8e-5 + 3*t", "radius": 3e-5},
            {"x": "1.3e-3", "y": 5e-4, "surface": "x_max", "z": "4e-4 - t"})]
        around = {"boundary": {"y_min": {"type": "periodic"}}}
        closed = {"boundary": {"y_max": {"type": "radiation", "emissivity": 0.5, "ambient": 300.0}}}
        for what, config in (("uniform", self.beam(**around)), ("classes", self.beam(**closed))):
            config["sources"] = sources
            reference = self.plain(config)
            for steps, backend, overlap, ranks in ((3, "guard", "on", 3), (4, "cpu", "off", 1),
                                                   (3, "cpu", "on", 2)):
                self.expect_same(reference, config, f"{what}: {steps}, {backend}, {ranks} ranks",
                                 ranks=ranks, sets=self.settings(steps, backend, overlap))

    def test_sleeping_tiles(self):
        around = {"boundary": {"y_min": {"type": "periodic"}, "y_max": {"type": "periodic"}}}
        closed = {"boundary": {"y_max": {"type": "flux", "value": 0.0}}}
        ambient = {"boundary": {**closed["boundary"], "x_max": {
            "type": "temperature", "value": "300 + (t > 5e-5 ? 1 : 0)"}}}
        for what, most, config in (
                ("uniform", 0.5, self.beam(**closed)), ("periodic", 0.8, self.beam(**around)),
                ("float32", 0.5, self.beam(run={"precision": "float32"}, **closed)),
                ("order 6", 0.6, self.beam(run={"stencil": {"order": 6}}, **closed)),
                ("a face in time", 1.1, self.beam(**ambient))):
            reference = self.plain(config)
            for backend, ranks, overlap in some((("cpu", 1, "off"), ("guard", 3, "on"),
                                                 ("guard", 1, "off"), ("cpu", 2, "on")), 2):
                run = self.expect_same(reference, config, f"{what}, {backend}, {ranks} ranks",
                                       ranks=ranks, sets=self.settings(
                                           "auto", backend, overlap, "run.sleeping_tiles=on"))
                sleeping = run.report["sleeping_tiles"]
                self.assertEqual(sleeping["passes"], 14)
                if ranks == 1:
                    self.assertLess(sleeping["share_advanced"], most, what)

    def test_what_goes_step_by_step_says_so(self):
        config = problems.mixed(CELLS)
        del config["material"]
        config["materials"] = [
            {"name": "powder", "conductivity": 0.3, "becomes": "steel"},
            {"name": "steel", "conductivity": 30.0, "density": 7800.0, "heat_capacity": 500.0,
             "solidus": 1700.0, "latent_heat": 2.5e5}]
        config["parts"] = [{"uniform": {"material": "powder"}}]
        for face in config["boundary"]:
            config["boundary"][face] = {"type": "flux", "value": 0.0}
        config["time"] = {"steps": 3}
        result, _ = self.start(config, ranks=2, sets=["run.steps_per_pass=4"])
        self.assert_code(result, 0)
        self.assert_says(result, "warning", "run.steps_per_pass: 1 is used, not 4: ",
                         "becomes another one", stream="err")

    def test_lines_take_single_steps_in_thin_blocks_too(self):
        edges = [[0.0, *np.cumsum(1 + 0.01 * np.arange(n)).tolist()] for n in (20, 18)]
        config = {"grid": {"cells": [1, 1], "x": {"edges": edges[0]}, "y": {"edges": edges[1]}},
                  "material": {"diffusivity": 1.0}, "time": {"steps": 3},
                  "initial": [{"expression": {"value": "300 + x*y"}}],
                  "boundary": {f"{axis}_{side}": {"type": "flux", "value": 1.0}
                               for axis in "xy" for side in ("min", "max")}}
        found = set()
        for ranks in (1, 3):
            result, output = self.start(config, ranks=ranks, sets=["run.steps_per_pass=8"])
            self.assert_code(result, 0)
            self.assert_says(result, "warning", "run.steps_per_pass: 1 is used, not 8: "
                             "cells of more sizes than classes")
            found.add(Run(result, output).report["field_hash"])
        self.assertEqual(len(found), 1)

    def test_rates_of_all_media(self):
        script = GALLERY.parent.parent / "jobscripts" / "rates.py"
        hashes = []
        for length in (1, 3):
            table = subprocess.run(
                [sys.executable, script, BINARY, "--cells", "24", "--steps", "12", "--runs", "1",
                 "--set", "run.backend=cpu", "--set", f"run.steps_per_pass={length}"],
                check=True, capture_output=True, text=True).stdout
            rows = [line.split() for line in table.splitlines()[1:]]
            self.assertEqual([row[0] for row in rows][::4], ["uniform", "graded"])
            self.assertTrue(all(float(row[3]) > 0 for row in rows), table)
            hashes.append([row[2] for row in rows])
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(len(set(hashes[0])), 8)

    def test_plan_knows_the_halo(self):
        self.write(problems.mixed([64, 64, 64], closures=[problems.HOT] * 6))
        plan = self.isotherm("plan", "config.yaml", "--ranks", 2, "--set", "run.steps_per_pass=4",
                             "--set", "run.decomposition=[1, 1, 2]")
        self.assert_says(plan, "steps/pass     4 (as configured)", "halo/pass      131 kB .. "
                         "131 kB sent by each rank, at most 1 message", stream="out")


if __name__ == "__main__":
    unittest.main()
