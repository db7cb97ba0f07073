"""Heat sources: the heat that they add, restarts with other sources, and wrong input. Random
problems with sources are in test_materials.py."""
import unittest

import h5py
import numpy as np

from harness import Case
from media import some_problem
from media_solver import Problem

STEPS = 24


def with_sources(seed=5):
    config = some_problem(seed)
    dt = float(f"{0.9 * Problem(config).stable_dt():.6g}")
    config["time"] = {"steps": STEPS, "dt": dt}
    config["output"] = {"history": {"every": 6}, "checkpoints": {"every": STEPS // 2, "keep": 3}}
    return config


def closed_box(sources, cells=(16, 12, 10)):
    """Steel without exchange with the outside, 1 mm cells."""
    insulated = {"type": "flux", "value": 0.0}
    faces = [f"{axis}_{side}" for axis in "xyz"[:len(cells)] for side in ("min", "max")]
    return {
        "grid": {"cells": list(cells), "upper": [n * 1e-3 for n in cells]},
        "material": {"conductivity": 30.0, "density": 7800.0, "heat_capacity": 600.0},
        "sources": sources,
        "initial": [{"uniform": {"value": 300.0}}],
        "boundary": {face: insulated for face in faces},
        "time": {"steps": STEPS},
        "output": {"history": {"every": 6}, "checkpoints": {"every": STEPS // 2, "keep": 3}},
    }


class Sources(Case):
    def check_same(self, config, name, first, ways):
        for backend, ranks, threads, more in ways:
            other = self.run_config(config, name, "--overwrite", "--backend", backend, *more,
                                    ranks=ranks, threads=threads)
            what = f"{backend}, {ranks} ranks, {threads} threads, {more}"
            self.assertEqual(other.exact("field_hash"), first.exact("field_hash"), what)
            self.assertEqual(other.history_bytes(), first.history_bytes(), what)


class Painted(Sources):
    def test_the_power_is_that_of_all_cells_together(self):
        for precision, tolerance in (("float64", 1e-13), ("float32", 1e-6)):
            config = closed_box([{"sphere": {"center": [7e-3, 6e-3, 5e-3], "radius": 3.3e-3,
                                             "power": 40.0, "factor": "t < 0.0131 ? 1 : 0"}},
                                 {"layer": {"axis": "z", "from": 0.0, "to": 2e-3,
                                            "density": -2e7}}])
            config["time"] = {"steps": STEPS, "dt": 2.5e-3}
            config["run"] = {"precision": precision}
            run = self.run_config(config, f"power_{precision}")
            # the factor at mid-steps: 5 of them before 0.0131 s
            added = 40.0 * 5 * 2.5e-3 - 2e7 * 2e-3 * 16e-3 * 12e-3 * STEPS * 2.5e-3
            self.assertLess(abs(run.report["source_heat_J"] / added - 1), tolerance)
            rows = run.history()
            change = rows[-1]["heat_J"] - rows[0]["heat_J"]
            self.assertLess(abs(change - run.report["source_heat_J"]),
                            tolerance * rows[0]["heat_J"])
            self.check_same(config, "ways", run, [("guard", 3, 1, ()), ("cpu", 2, 2, ())])

    def test_a_restart_continues_bit_for_bit(self):
        config = with_sources()
        whole = self.run_config(config, "whole")
        middle = f"whole/checkpoints/step_{STEPS // 2:010d}.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
        for key in ("heat_drift_J", "source_heat_J", "boundary_heat_J"):
            self.assertEqual(rest.report[key], whole.report[key], key)

    def test_a_restart_may_have_other_sources_or_none(self):
        config = closed_box([{"box": {"lower": [0, 0, 0], "upper": [8e-3, 8e-3, 8e-3],
                                      "power": 30.0}}])
        first = self.run_config(config, "first")
        middle = f"first/checkpoints/step_{STEPS // 2:010d}.h5"
        half = first.report["source_heat_J"] / 2
        config["sources"].append({"uniform": {"density": -1e6}})
        more = self.run_config(config, "more", "--restart", middle)
        self.assertIn("sources[1]", more.result.err)
        del config["sources"]
        less = self.run_config(config, "first", "--restart", middle, "--overwrite")
        for run, added in ((more, half - 1e6 * 1920e-9 * first.report["time"] / 2), (less, 0.0)):
            heat = run.report["heat_J"]
            self.assertLess(abs(run.report["source_heat_J"] - half - added), 1e-12 * heat)
            self.assertLess(abs(run.report["heat_drift_J"]), 1e-13 * heat)
        self.assertEqual(less.history()[-1]["source_heat_J"], less.report["source_heat_J"])


class Moving(Sources):
    """In a uniform medium, which keeps its own kernel; with classes in test_materials.py."""

    BEAM = {"surface": "z_max", "radius": 2e-3, "absorptivity": 0.4}

    def track(self, rows, name="track.csv", head="t,x,y,z,power\n"):
        text = head + "".join(",".join(repr(x) for x in row) + "\n" for row in rows)
        (self.folder / name).write_text(text, newline="")
        return name

    def test_a_path_heats_between_its_rows(self):
        dt, lines = 0.01, [(0.02, 6e-3, 5e-3, 0.0, 100.0), (0.1, 10e-3, 5e-3, 0.0, 100.0),
                           (0.12, 10e-3, 7e-3, 0.0, 0.0), (0.2, 7e-3, 7e-3, 0.0, 50.0)]
        config = closed_box([{"gaussian": {**self.BEAM, "path": self.track(lines)}}])
        config["time"] = {"steps": STEPS, "dt": dt}
        run = self.run_config(config, "path")
        times, powers = [row[0] for row in lines], [row[4] for row in lines]
        middle = (np.arange(STEPS) + 0.5) * dt
        added = 0.4 * dt * np.interp(middle, times, powers, left=0, right=0).sum()
        self.assertLess(abs(run.report["source_heat_J"] / added - 1), 2e-6)
        self.assertLess(abs(run.report["heat_drift_J"]), 1e-14 * run.report["heat_J"])
        self.check_same(config, "ways", run,
                        [("guard", ranks, 1, ("--set", f"run.halo.overlap={overlap}"))
                         for ranks in (2, 5) for overlap in ("on", "off")] + [("cpu", 3, 2, ())])
        middle = f"path/checkpoints/step_{STEPS // 2:010d}.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=3)
        for key in ("field_hash", "heat_drift_J", "source_heat_J"):
            self.assertEqual(rest.report[key], run.report[key], key)
        # as a spreadsheet saves it
        self.track(lines, head="\ufefft,x,y,z,power\r\n\r\n# a comment\r\n")
        same = self.run_config(config, "spreadsheet")
        self.assertEqual(same.report["field_hash"], run.report["field_hash"])
        # the same without powers in the file
        config["sources"] = [{"gaussian": {**self.BEAM, "power": 100.0, "path": self.track(
            [row[:4] for row in lines[:2]], "two.csv", "# a comment\n")}}]
        run = self.run_config(config, "constant")
        self.assertLess(abs(run.report["source_heat_J"] / (0.4 * 100 * 0.08) - 1), 2e-6)

    def test_a_scan_path_heats_as_the_rows_of_its_times(self):
        lines = [(0.0, 6e-3, 5e-3, 0.0, 0.0), (0.02, 6e-3, 5e-3, 0.0, 0.0),
                 (0.02, 6e-3, 5e-3, 0.0, 100.0), (0.1, 10e-3, 5e-3, 0.0, 100.0),
                 (0.1, 7e-3, 7e-3, 0.0, 50.0), (0.15, 7e-3, 7e-3, 0.0, 50.0)]
        for n in (4, 2):  # times of the other file increase: between the middles of two steps
            lines[n] = (lines[n][0] + 1e-9, *lines[n][1:])
        (self.folder / "scan.txt").write_text(
            "Mode X Y Z Power Param\n1 6e-3 5e-3 0 0 0.02\n0 10e-3 5e-3 0 100 0.05\n"
            "1 7e-3 7e-3 0 0 0\n1 7e-3 7e-3 0 50 0.05\n")
        (self.folder / "factors.txt").write_text(
            "Mode X(mm) Y(mm) Z(mm) Pmod Vel(m/s)/Time(s)\n1 6 5 0 0 0.02\n0 10 5 0 1 0.05\n"
            "1 7 7 0 0.5 0.05\n")
        final = []
        for name, path in (("rows", {"path": self.track(lines)}), ("scan", {"path": "scan.txt"}),
                           ("factors", {"path": "factors.txt", "power": 100.0})):
            config = closed_box([{"gaussian": {**self.BEAM, **path}}])
            config["time"] = {"steps": STEPS, "dt": 0.01}
            run = self.run_config(config, name)
            heat = 0.4 * (100 * 0.08 + 50 * 0.05)
            self.assertLess(abs(run.report["source_heat_J"] / heat - 1), 2e-6, name)
            final.append(run.temperature())
        for field in final[1:]:
            self.assertLess(abs(field - final[0]).max(), 1e-6)
        self.check_same(config, "ways", run, [("guard", 3, 1, ()), ("cpu", 2, 2, ())])

    def test_a_single_precision_field(self):
        config = closed_box([{"goldak": {"front": 2e-3, "rear": 4e-3, "width": 2e-3,
                                         "depth": 3e-3, "power": 300.0, "x": "4e-3 + 0.01*t",
                                         "y": "6e-3 + 0.002*t", "z": 10e-3}}])
        config["run"] = {"precision": "float32"}
        run = self.run_config(config, "single")
        self.check_same(config, "ways", run, [("guard", 3, 1, ()), ("cpu", 2, 2, ())])

    def test_rosenthal(self):
        """Far from a beam that has moved long enough, its size does not matter: T - T0 =
        A P / (2 pi k R) exp(-v (R + x) / (2 a)), x ahead of the beam and R from its centre."""
        k, rho_c, speed, power = 20.0, 4e6, 0.05, 60.0
        h, radius = 50e-6, 1e-4
        cells = (80, 48, 24)
        start = 1.2e-3
        config = closed_box([{"gaussian": {"surface": "z_max", "radius": radius, "power": power,
                                           "absorptivity": 0.5, "x": f"{start} + {speed}*t",
                                           "y": cells[1] * h / 2}}], cells)
        config["grid"]["upper"] = [n * h for n in cells]
        config["material"] = {"conductivity": k, "density": 8000.0, "heat_capacity": 500.0}
        for face in ("x_min", "x_max", "y_min", "y_max", "z_min"):
            config["boundary"][face] = {"type": "temperature", "value": 300.0}
        config["time"] = {"end": 0.04}
        config["output"] = {"checkpoints": {"every": 10000}}
        T = self.run_config(config, "rosenthal", threads=2).temperature()
        x = (np.arange(cells[0]) + 0.5) * h - start - speed * 0.04
        y = h / 2
        z = (np.arange(cells[2]) + 0.5)[::-1] * h
        R = np.sqrt(x[None, :] ** 2 + y ** 2 + z[:, None] ** 2)
        exact = 0.5 * power / (2 * np.pi * k * R) * np.exp(-speed * (R + x) / (2 * k / rho_c))
        near = (R > 4 * radius) & (R < 6 * radius) & (x[None, :] > -3 * radius)
        error = abs(T[:, cells[1] // 2, :] - 300 - exact)[near] / exact[near].max()
        self.assertGreater(near.sum(), 20)
        self.assertLess(error.max(), 0.06)


    def test_the_face_below_a_beam_has_its_own_temperature(self):
        """The last cell is half of it below the face, at any resolution: T = T0 + q L / k."""
        for cells in ((4, 3, 5), (4, 3, 20)):
            beam = dict(self.BEAM, radius=10.0, power=3e5 * np.pi * 10**2 / 2, absorptivity=1.0)
            config = closed_box([{"gaussian": dict(beam, x=2e-3, y=2e-3)}], cells)
            config["grid"]["upper"] = [4e-3, 3e-3, 10e-3]
            config["boundary"]["z_min"] = {"type": "temperature", "value": 300.0}
            config["time"] = {"steady": {"temperature": 1e-6}}
            config["output"] = {"history": {"every": 1}, "probes": {
                "every": 1, "points": [{"name": "top", "at": [2e-3, 1e-3, 10e-3]}]}}
            run = self.run_config(config, "face", *(["--overwrite"] if cells[2] > 5 else []))
            top = (run.folder / "probes.csv").read_text().split()[-1].split(",")[-1]
            self.assertLess(abs(float(top) - 400), 1e-4)


class Files(Sources):
    def write_densities(self, density):
        with h5py.File(self.folder / "power.h5", "w") as file:
            file["source"] = density.astype(np.float32)

    def test_densities_from_a_file_are_those_of_a_shape(self):
        density = np.zeros((10, 12, 16))
        density[2:7, 3:9, 4:14] = 3e6
        density[5:, :, :4] = -1e6
        self.write_densities(density)
        config = closed_box([{"file": {"path": "power.h5", "factor": "1 + sin(9*t)"}}])
        file = self.run_config(config, "file")
        shapes = closed_box([
            {"box": {"lower": [4e-3, 3e-3, 2e-3], "upper": [14e-3, 9e-3, 7e-3], "density": 3e6,
                     "factor": "1 + sin(9*t)"}},
            {"box": {"lower": [0, 0, 5e-3], "upper": [4e-3, 12e-3, 10e-3], "density": -1e6,
                     "factor": "1 + sin(9*t)"}}])
        painted = self.run_config(shapes, "painted")
        self.assertLess(abs(file.temperature() - painted.temperature()).max(), 1e-10)
        self.assertLess(abs(file.report["source_heat_J"] - painted.report["source_heat_J"]), 1e-12)
        self.assertLess(abs(file.report["heat_drift_J"]), 1e-13 * file.report["heat_J"])
        self.check_same(config, "ways", file, [("guard", 3, 1, ()), ("cpu", 5, 1, ())])
        flipped = self.run_config(config, "flipped", "--set", "run.self_check.share=0.001", "--set",
                                  "run.self_check.memory=true",
                                  env={"ISOTHERM_FLIP_BITS": "5:0:source:500:22"})
        self.assert_says(flipped.result, "patches or sources have changed and are restored")
        self.assertEqual(flipped.exact("field_hash"), file.exact("field_hash"))
        middle = f"file/checkpoints/step_{STEPS // 2:010d}.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), file.exact("field_hash"))
        np.save(self.folder / "power.npy", density)
        config["sources"][0]["file"]["path"] = "power.npy"
        numpy = self.run_config(config, "numpy", ranks=3)
        self.assertEqual(numpy.exact("field_hash"), file.exact("field_hash"))

    def test_wrong_files(self):
        config = closed_box([{"file": {"path": "power.h5"}}])
        self.assertIn("power.h5", self.run_config(config, "out", code=3).err)
        self.write_densities(np.zeros((10, 12, 15)))
        self.assertIn("has the shape", self.run_config(config, "out", code=2).err)
        density = np.zeros((10, 12, 16))
        density[1, 2, 3] = np.nan
        self.write_densities(density)
        for ranks in (1, 2):
            result = self.run_config(config, "out", code=2, ranks=ranks)
            self.assertIn("[1][2][3]", result.err)
            self.assertIn("sources[0].file", result.err)


class WrongInput(Sources):
    def check(self, source, *expected, code=2):
        config = closed_box(source if isinstance(source, list) else [source])
        result = self.run_config(config, "out", code=code)
        for text in expected:
            self.assertIn(text, result.err)
        if code == 2:
            self.assertFalse((self.folder / "out").exists())

    def test_each_has_its_message(self):
        box = {"lower": [0, 0, 0], "upper": [8e-3, 8e-3, 8e-3]}
        self.check({"box": {**box, "power": 1.0, "density": 2.0}}, "sources[0].box.power",
                   "given together with density")
        self.check({"box": box}, "sources[0].box", "neither density nor power")
        self.check({"box": {**box, "upper": [1.0, 1.0, 1.0], "power": 1.0}}, "sources[0].box.upper",
                   "outside the grid")
        self.check({"box": {"lower": [1.6e-3] * 3, "upper": [2.4e-3] * 3, "power": 1.0}},
                   "sources[0].box", "contains no cell centre")
        self.check({"uniform": {"power": 1.0, "material": "steel"}}, "sources[0].uniform.material",
                   "needs the list materials")
        self.check({"uniform": {"power": 1.0, "factor": "sin(x)"}}, "sources[0].uniform.factor",
                   "not a formula")
        self.check({"cube": {"power": 1.0}}, "sources[0].cube", "unknown key")
        self.check({"expression": {"where": "log(x - 5e-3)", "power": 1.0}},
                   "sources[0].expression.where", "is not a number")
        self.check({"uniform": {"density": 1.0, "factor": "1/(t - 0.5*t - 0.5*t)"}},
                   "sources[0].uniform.factor", "after step 0", code=5)

    def test_each_of_temperature_has_its_message(self):
        rows = [[300, 1e6], [400, 2e6]]
        (self.folder / "leak.csv").write_text("T,q\n300,-1\n300,1\n")
        self.check({"uniform": {"density": rows, "factor": "1 + t"}},
                   "sources[0].uniform.density", "a table over temperature, and `factor` is a for")
        self.check({"uniform": {"density": {"polynomial": [1, 2], "from": 300, "to": 400}}},
                   "sources[0].uniform.density", "a polynomial; give rows")
        self.check({"uniform": {"density": rows, "profile": "x"}}, "sources[0].uniform.density",
                   "`profile` is given")
        self.check({"uniform": {"power": 1.0, "profile": "x"}}, "sources[0].uniform.profile",
                   "density")
        self.check({"uniform": {"density": 1.0, "profile": "log(x - 5e-3)"}}, "sources[0]",
                   "gives nan at x = 0.0005", "give values of at most 1e30")
        self.check({"uniform": {"density": {"file": "leak.csv"}}}, "sources[0].uniform.density",
                   "leak.csv:3", "does not exceed")
        self.check({"sphere": {"center": [0, 0, 0], "radius": 1e-5, "density": rows}},
                   "sources[0]", "contains no cell centre")
        self.check({"uniform": {"density": [[200, 1e9], [301, 1.2e9]]}},
                   "sources[0]: at step", "above the last row of its density (301 K)",
                   "a thermal run-away", code=5)

    def test_each_of_moving_ones_has_its_message(self):
        beam = {"radius": 1e-3, "power": 1.0, "x": 5e-3, "y": 5e-3, "z": 5e-3}
        deep = {"front": 1e-3, "rear": 1e-3, "width": 1e-3, "depth": 1e-3}

        def but(**changes):
            return {"gaussian": {key: value for key, value in {**beam, **changes}.items()
                                 if value is not None}}

        def path(text, **changes):
            (self.folder / "track.csv").write_text(text)
            return but(x=None, y=None, z=None, path="track.csv", power=None, **changes)

        self.check(but(power=None), "sources[0].gaussian", "neither power nor path")
        self.check(but(x=0.5), "sources[0].gaussian.x", "outside the grid in x")
        self.check(but(y=None), "sources[0].gaussian.y", "missing")
        self.check(but(radius=[1e-3, 1e-3]), "sources[0].gaussian.radius", "no radius along z")
        self.check(but(path="a.csv"), "sources[0].gaussian.x", "given together with path")
        self.check(but(surface="top"), "sources[0].gaussian.surface", "unknown")
        self.check({"goldak": {**deep, "power": 1.0, "x": 5e-3, "y": 5e-3, "z": 1.0}},
                   "sources[0].goldak.z", "outside the grid in z")
        self.check({"goldak": {**deep, "depth": 0}}, "sources[0].goldak.depth", "above 0")
        self.check(path("t,x,y,z,power\n0,0,0,0,1\n"), "sources[0].gaussian.path", "track.csv",
                   "1 rows")
        self.check(path("0,0,0,0,1\n1,0,0,0,1\n1,0,0,0,1\n"), "track.csv:3",
                   "does not exceed")
        self.check(path("0,0,0,0,1\n1,0,0,zero,1\n"), "track.csv:2", "not a row of 5 numbers")
        self.check(path("0,0,0,0\n1,0,0,0\n"), "track.csv:1", "not a row of 5 numbers")
        self.check(path("Mode X Y Z Power Param\n1 0 0 0 1 1\n0 1e-3 0 0 1 0\n"), "track.csv:3",
                   "'0 1e-3 0 0 1 0' is not a row of 6 numbers", "speed of a line (above 0)")
        self.check(path("1 0 0 0 1 0\n"), "sources[0].gaussian.path", "no segment takes any time")
        self.check(path("0,1,0,0,1\n1,2,0,0,1\n"), "sources[0].gaussian.path",
                   "outside the grid in x")
        self.check(but(x=None, y=None, z=None, path="none.csv"), "none.csv", code=3)
        self.check(but(x="5e-3 + log(0.0234 - t)*1e-9"), "sources[0].gaussian.x", "after step 1",
                   code=5)

    def test_too_many_combinations(self):
        layers = [{"layer": {"axis": "xyz"[axis], "from": n * 1e-3, "to": (n + 1) * 1e-3,
                             "density": 1.0 + n + 100 * axis}}
                  for axis, cells in enumerate((16, 12, 10)) for n in range(cells)]
        self.check(layers, "sources", "more than 255 combinations of materials (1) and sets of "
                   "38 sources", "one entry with an expression")
        config = closed_box(layers[:28])  # 16 x 12 combinations
        graded = closed_box(layers[:28])  # and 10 sizes of cells
        graded["grid"]["z"] = {"segments": [{"to": 0.01, "cells": 10, "ratio": 1.1}]}
        graded["grid"]["cells"][2] = 1
        added = np.add.outer(np.arange(16) + 1, np.arange(12) + 101).sum() * 10 * 1e-9
        for name, each in (("many", config), ("graded", graded)):
            run = self.run_config(each, name)
            heat = added * run.report["time"]
            self.assertLess(abs(run.report["source_heat_J"] / heat - 1), 1e-12)
            self.check_same(each, "ways", run, [("guard", 3, 1, ()), ("cpu", 5, 1, ())])


def probes(run):
    """The names of the columns, and the rows as numbers."""
    lines = (run.folder / "probes.csv").read_text().splitlines()
    rows = [[float(value) for value in line.split(",")] for line in lines if line[0].isdigit()]
    return lines[0].split(","), np.array(rows), [line for line in lines if line.startswith("#")]


class Impedance(Sources):
    AT = [2.3e-3, 6e-3, 5e-3]

    def config(self, sources, *points):
        config = closed_box(sources)
        config["time"] = {"steps": STEPS, "dt": 2.5e-3}
        config["output"]["probes"] = {"every": 4, "points": [
            {"name": f"p{n}", "at": self.AT, **point} for n, point in enumerate(points)]}
        return config

    def test_of_a_heated_body_it_is_the_time_over_its_capacity(self):
        config = self.config([{"uniform": {"power": 40.0, "name": "all"}}],
                             {"impedance": {"reference": 300.0, "source": "all"}}, {})
        config["time"]["dt"] = 0.5
        config["grid"]["cells"], config["grid"]["upper"] = [2, 2, 2], [16e-3, 12e-3, 10e-3]
        names, rows, notes = probes(self.run_config(config, "body"))
        self.assertEqual(names, ["step", "time_s", "p0_K", "p1_K", "Zth_p0_K_per_W"])
        self.assertEqual(notes[-1], "# Zth_p0_K_per_W,reference 300 K,power of all")
        capacity = 7800.0 * 600.0 * 16e-3 * 12e-3 * 10e-3
        np.testing.assert_allclose(rows[1:, 4], rows[1:, 1] / capacity, rtol=1e-11)
        self.assertEqual(rows[0, 4], 0.0)

    def test_of_a_wall_it_becomes_its_resistance(self):
        """A heated layer, insulated behind, and a wall to a cold side: the sum of resistances, the
        heated layer with half of its thickness."""
        k, film, heated, length, cells = 15.0, 800.0, 2e-3, 10e-3, 60
        config = {
            "grid": {"cells": [cells], "upper": [length]},
            "material": {"conductivity": k, "density": 100.0, "heat_capacity": 100.0},
            "sources": [{"layer": {"axis": "x", "from": 0.0, "to": heated, "power": 3e3}}],
            "initial": [{"uniform": {"value": 293.0}}],
            "boundary": {"x_min": {"type": "flux", "value": 0.0},
                         "x_max": {"type": "convection", "coefficient": film, "ambient": 293.0}},
            "time": {"end": 4.0},
            "output": {"probes": {"interval": 1.0, "points": [
                {"name": "junction", "at": [0.0], "impedance": {"reference": 293.0}},
                {"name": "case", "at": [length]},
                {"name": "inside", "at": [0.0], "impedance": {"to": "case"}}]}},
        }
        _, rows, _ = probes(self.run_config(config, "wall"))
        inside = (heated / 2 + length - heated) / k  # of 1 m^2
        np.testing.assert_allclose(rows[-1, -2:], [inside + 1 / film, inside], rtol=1e-9)

    def test_the_power_is_that_of_the_named_sources_in_the_last_step(self):
        beam = {"power": "30*(1 + t)", "absorptivity": 0.5, "x": 8e-3, "y": 6e-3, "z": 5e-3,
                "radius": 2e-3, "name": "laser"}
        with h5py.File(self.folder / "power.h5", "w") as file:
            file["source"] = np.linspace(-1e6, 9e6, 10 * 12 * 16,
                                         dtype=np.float32).reshape(10, 12, 16)
            total = file["source"][()].astype(float).sum() * 1e-9
        sources = [{"box": {"lower": [0.0] * 3, "upper": [4e-3] * 3, "power": 7.0, "name": "a",
                            "factor": "t < 0.03 ? 1 + t : 0"}},
                   {"layer": {"axis": "x", "from": 8e-3, "to": 16e-3, "density": 1e6, "name": "a"}},
                   {"file": {"path": "power.h5", "name": "map", "factor": 2.0}},
                   {"gaussian": beam}]
        reference = {"reference": 280.0}
        config = self.config(sources, {"impedance": {**reference, "source": "a"}},
                             {"impedance": {**reference, "source": "map"}},
                             {"impedance": {**reference, "source": "laser"}},
                             {"impedance": reference})
        run = self.run_config(config, "named")
        _, rows, _ = probes(run)
        t = np.maximum(rows[:, 1], 2.5e-3) - 1.25e-3   # at step 0 the power of the first step
        power = [np.where(t < 0.03, 7 * (1 + t), 0) + 1e6 * 8e-3 * 12e-3 * 10e-3,
                 np.full_like(t, 2 * total), 15 * (1 + t)]
        power.append(sum(power))
        for n, watts in enumerate(power):
            np.testing.assert_allclose(rows[:, 6 + n], (rows[:, 2] - 280.0) / watts, rtol=1e-12)
        for ranks in (2, 3):
            other = self.run_config(config, "ways", "--overwrite", ranks=ranks)
            self.assertEqual((other.folder / "probes.csv").read_bytes(),
                             (run.folder / "probes.csv").read_bytes())

    def test_without_power_there_is_none_and_a_restart_keeps_the_columns(self):
        config = self.config([{"uniform": {"power": 40.0, "factor": "t < 0.03 ? 1 : 0"}}],
                             {"impedance": {"reference": 300.0}})
        run = self.run_config(config, "whole")
        _, rows, _ = probes(run)
        np.testing.assert_array_equal(np.isnan(rows[:, 3]), rows[:, 1] > 0.0301)
        whole = (run.folder / "probes.csv").read_bytes()
        again = ("--overwrite", "--restart", f"whole/checkpoints/step_{12:010d}.h5")
        self.run_config(config, "whole", *again)
        self.assertEqual((run.folder / "probes.csv").read_bytes(), whole)
        config["output"]["probes"]["points"][0]["impedance"]["reference"] = 301.0
        other = self.run_config(config, "whole", *again, code=2)
        self.assertIn("probes.csv", other.err)
        self.assertEqual((run.folder / "probes.csv").read_bytes(), whole)

    def test_wrong_input(self):
        heater = [{"uniform": {"power": 40.0, "name": "heater"}}]
        key = "output.probes.points[0].impedance"
        for sources, impedance, expected in (
                (heater, {}, [key, "neither reference nor to"]),
                (heater, {"reference": 300, "to": "p1"}, [f"{key}.to", "together with reference"]),
                (heater, {"to": "p0"}, [f"{key}.to", "the probe itself"]),
                (heater, {"to": "case"}, [f"{key}.to", "'case'", "probes: p0, p1"]),
                (heater, {"reference": 300, "source": "die"},
                 [f"{key}.source", "'die'", "sources: heater"]),
                (heater, {"reference": -20}, [f"{key}.reference", "kelvins"]),
                (None, {"reference": 300}, [key, "no power", "sources"])):
            config = self.config(sources, {"impedance": impedance}, {})
            if sources is None:
                del config["sources"]
            result = self.run_config(config, "wrong", code=2)
            self.assert_one_error(result)
            for text in expected:
                self.assertIn(text, result.err)


if __name__ == "__main__":
    unittest.main()
