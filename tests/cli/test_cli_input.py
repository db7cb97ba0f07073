"""Every kind of wrong input: one message with file, line, key, value and remedy on one of three
ranks, exit code 2, and nothing written."""
import os
import unittest

import h5py
import numpy as np

from harness import SMALL, Case, some, thorough, tree

RIGHT = """\
title: wrong
grid:
  cells: [12, 10, 8]
  lower: [0, 0, 0]
  upper: [1.2, 1.0, 0.8]
material:
  conductivity: 1.0
  density: 1.0
  heat_capacity: 1.0
initial:
  - uniform: {value: 300}
  - box: {lower: [0.2, 0.2, 0.2], upper: [0.5, 0.5, 0.5], value: 400}
boundary:
  x_min: {type: temperature, value: "300 + 10*sin(t)"}
  x_max: {type: flux, value: 5}
  y_min: {type: convection, coefficient: 3, ambient: 280}
  y_max: {type: temperature, value: 310}
  z_min: {type: periodic}
  z_max: {type: periodic}
time:
  steps: 5
  dt: auto
run:
  backend: cpu
output:
  directory: out
  history: {every: 1}
  checkpoints: {every: 5}
"""

# A few for each layer of the program that refuses input; all messages of the reader of
# configurations are in tests/unit/test_settings_*.c.
# What is wrong: (in RIGHT, instead, the line's number, what the message says, in this order)
MISTAKES = {
    "unknown key": ("  conductivity: 1.0\n", "  conductivity: 1.0\n  colour: 7\n", 8,
                    ["material.colour", "unknown key", "conductivity, density, heat_capacity"]),
    "missing face": ("  y_max: {type: temperature, value: 310}\n", "", 13,
                     ["boundary.y_max", "missing", "y axis has 10 cells", "give a type"]),
    "cells without a temperature": ("  - uniform: {value: 300}\n", "", 10,
                                    ["initial", "some cells have no temperature", "uniform"]),
    "formula that does not parse": ("10*sin(t)", "10*sin(t", 14,
                                    ["boundary.x_min.value", "parenthesis", "300 + 10*sin(t",
                                     "formula in x, y, z, t"]),
    "formula without a value at the start": ("300 + 10*sin(t)", "300 + 1/t", 14,
                                             ["boundary.x_min.value", '"300 + 1/t" gives inf K',
                                              "t = 0 s", "finite"]),
    "flux beyond all numbers": ("type: flux, value: 5", "type: flux, value: 1e30", 15,
                                ["boundary.x_max.value", "flux (1e+30 W/m^2)",
                                 "within one cell", "give"]),
    "dt above the stable limit": ("  dt: auto", "  dt: 0.01", 22,
                                  ["time.dt", "0.01", "unstable", "0.00166666", "auto"]),
    "interval beyond reason": ("history: {every: 1}", "history: {interval: 1e-30}", 27,
                               ["output.history.interval", "every 1e-30 s", "far too often",
                                "give a longer"]),
    "unknown backend": ("  backend: cpu", "  backend: gpu", 24,
                        ["run.backend", "gpu", "available: auto", "cpu"]),
    "wrong product of the decomposition": (
        "  backend: cpu\n", "  backend: cpu\n  decomposition: [2, 2, 1]\n", 25,
        ["run.decomposition", "[2, 2, 1]", "4 blocks for 3 ranks", "[1, 1, 3]"]),
    "blocks thinner than the halo": (
        "  backend: cpu\n", "  backend: cpu\n  decomposition: [1, 1, 30]\n", 25,
        ["run.decomposition", "30 blocks on z", "halo width", "at most 8"]),
    "no cut into that many blocks": ("[12, 10, 8]", "[2, 2, 2]", 3,
                                     ["grid.cells", "3 blocks", "valid rank count is 2"]),
}
# These fail in different layers of the program: what is looked at with sanitizers too.
DIFFERENT_KINDS = ("unknown key", "missing face", "formula that does not parse",
                   "flux beyond all numbers", "no cut into that many blocks")


class Input(Case):
    def check_refused(self, *words, says, code=2, ranks=3, **how):
        """Refused with one message, and every file is as it was before."""
        before = tree(self.folder)
        result = self.isotherm(*words, ranks=ranks, **how)
        self.assert_code(result, code)
        self.assert_one_error(result)
        self.assert_says(result, *says)
        self.assertEqual(tree(self.folder), before, "nothing may be written or changed")
        return result


class Configuration(Input):
    def test_the_right_one_is_accepted(self):
        """Else the others would prove nothing."""
        self.write(RIGHT)
        result = self.isotherm("run", "config.yaml", ranks=3)
        self.assert_code(result, 0)
        self.assertNotIn("warning", result.err)
        self.assertTrue((self.folder / "out/report.json").exists())

    def test_mistakes(self):
        for name in DIFFERENT_KINDS if SMALL else MISTAKES:
            right, wrong, line, says = MISTAKES[name]
            with self.subTest(name):
                self.assertEqual(RIGHT.count(right), 1, "the mistake goes in one place")
                self.write(RIGHT.replace(right, wrong))
                self.check_refused("run", "config.yaml", says=["error: ", f"config.yaml:{line}: ",
                                                               *says])

    def test_several_mistakes(self):
        """At once, in the order of the lines, by one rank."""
        self.write(RIGHT.replace("density: 1.0", "density: -1")
                   .replace("  dt: auto", "  dt: auto\n  safty: 0.5"))
        result = self.check_refused("run", "config.yaml", says=[
            "error: config.yaml:8: material.density: out of range (-1)",
            "\nconfig.yaml:23: time.safty: unknown key; did you mean 'safety'?"])
        self.assertEqual(result.err.count("config.yaml:"), 2, result)

    @thorough
    def test_more_ranks_than_cells(self):
        self.write(RIGHT.replace("[12, 10, 8]", "[2, 1, 1]").replace("y_m", "# y_m")
                   .replace("z_m", "# z_m"))
        self.check_refused("run", "config.yaml", ranks=3, says=[
            "config.yaml:3: grid.cells", "3 ranks", "2 cells", "at most 2"])

    def test_zero_byte(self):
        """What stands behind it would not count."""
        (self.folder / "config.yaml").write_bytes(RIGHT.encode() + b"\0\nsolver: cg\n")
        last = RIGHT.count("\n") + 1
        for words, ranks in some([(("run", "config.yaml"), 3), (("plan", "config.yaml"), 1)], 1):
            self.check_refused(*words, ranks=ranks, says=[
                "error: ", f"config.yaml:{last}: not a text file: a zero byte", "UTF-8"])

    def test_shape_between_the_cells(self):
        """Not refused, but said, once."""
        self.write(RIGHT.replace("upper: [0.5, 0.5, 0.5]", "upper: [0.22, 0.5, 0.5]"))
        result = self.isotherm("run", "config.yaml", ranks=3)
        self.assert_code(result, 0)
        self.assert_says(result, "warning: config.yaml:12: initial[1].box: contains no cell "
                                 "centre", "0.1 x 0.1 x 0.1 m")
        self.assertEqual(result.err.count("warning: "), 1, result)

    def test_plan_refuses_the_same(self):
        self.write(RIGHT.replace("  steps: 5\n", "  stepz: 5\n"))
        self.check_refused("plan", "config.yaml", ranks=1,
                           says=["config.yaml:21: time.stepz", "unknown key"])
        self.write(RIGHT)
        self.check_refused("plan", "config.yaml", "--ranks", 1000, ranks=1,
                           says=["config.yaml:3: grid.cells", "1000"])

    def test_backend_that_is_not_there(self):
        self.write(RIGHT)
        for words, ranks in ((("run", "--backend", "offload"), 3),
                             (("plan", "--set", "run.backend=offload"), 1)):
            self.check_refused(*words, "config.yaml", ranks=ranks, says=[
                "run.backend: there is no backend 'offload' in this build; available: auto", "cpu"])

    def test_formula_that_is_no_temperature(self):
        """Every cell is looked at in a run, a few in a plan."""
        for formula, where in some([("1/0", "x = 0.05"), ("x > 1.1 ? 1e12 : 300", "x = 1.15")], 1):
            self.write(RIGHT.replace("uniform: {value: 300}",
                                     f"expression: {{value: '{formula}'}}"))
            for command, ranks in (("run", 3), ("plan", 1)):
                self.check_refused(command, "config.yaml", ranks=ranks, says=[
                    f'config.yaml:11: initial[0].expression.value: "{formula}" gives', where])


    def test_formulas_below_absolute_zero(self):
        """At the start with the cell, later with the time; not in a field of differences."""
        difference = ("--set", "run.watch.temperature=difference")
        formula = "x < 0.1 && z > 0.7 ? -8 : 300"
        self.write(RIGHT.replace("uniform: {value: 300}", f"expression: {{value: '{formula}'}}"))
        self.check_refused("run", "config.yaml", says=[
            f'config.yaml:11: initial[0].expression.value: "{formula}" at x = 0.05', "z = 0.75 m",
            "kelvins? -8 K", "265.15 (-8 degC)"])
        self.assert_code(self.isotherm("run", "config.yaml", *difference), 0)
        self.write(RIGHT.replace("300 + 10*sin(t)", "t > 0.004 ? -1 : 300"))
        late = self.isotherm("run", "config.yaml", "--output", "late", ranks=3)
        self.assert_code(late, 5)
        self.assert_one_error(late)
        self.assert_says(late, 'boundary.x_min.value: "t > 0.004 ? -1 : 300" at t = 0.0045 s',
                         "kelvins? -1 K")
        self.assert_code(self.isotherm("run", "config.yaml", "--output", "other", *difference), 0)


class InitialFile(Input):
    """Which is looked at when the field is there to be filled; nothing is written before."""

    def setUp(self):
        super().setUp()
        self.write(RIGHT.replace("  - uniform: {value: 300}",
                                 "  - file: {path: start.h5, dataset: /T}"))

    def write_start(self, field, dataset="/T"):
        with h5py.File(self.folder / "start.h5", "w") as file:
            file[dataset] = field

    def test_is_read(self):
        self.write_start(300 + np.arange(960.0).reshape(8, 10, 12) / 10)
        self.assert_code(self.isotherm("run", "config.yaml", "--set", "time.steps=1", ranks=3), 0)
        plan = self.isotherm("plan", "config.yaml")
        self.assert_code(plan, 0)
        self.assertNotIn("start.h5", plan.out)

    @thorough
    def test_missing(self):
        self.check_refused("run", "config.yaml", code=3, says=["start.h5", "No such file"])

    def test_missing_in_a_plan(self):
        """A job before may make it."""
        plan = self.isotherm("plan", "config.yaml")
        self.assert_code(plan, 0)
        self.assert_says(plan, "warning: initial[0].file: start.h5 does not exist yet",
                         stream="out")

    @thorough
    def test_no_hdf5(self):
        (self.folder / "start.h5").write_text("no HDF5 at all\n" * 100)
        self.check_refused("run", "config.yaml", code=3, says=["start.h5"])

    def test_not_a_regular_file(self):
        """A pipe is not waited for, and a device is not read."""
        os.mkfifo(self.folder / "pipe.h5")
        self.write(RIGHT)
        starts = [("run", 3, RIGHT, "--restart", path) for path in ("pipe.h5", "/dev/zero")]
        for path in ("pipe.h5", "/dev/zero"):
            config = RIGHT.replace("uniform: {value: 300}", f"file: {{path: {path}, dataset: /T}}")
            starts += [("run", 3, config), ("plan", 1, config)]
        for command, ranks, config, *options in starts:
            self.write(config)
            result = self.isotherm(command, "config.yaml", *options, ranks=ranks)
            self.assert_code(result, 3)
            self.assert_one_error(result)
            self.assert_says(result, "is not a regular file")
        self.assertFalse((self.folder / "out").exists(), "nothing may be written")

    def test_dataset_missing(self):
        self.write_start(np.full((8, 10, 12), 300.0), "/temperature")
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", code=3, ranks=ranks, says=["/T"])

    def test_wrong_shape(self):
        self.write_start(np.full((12, 10, 8), 300.0))
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", ranks=ranks, says=[
                "config.yaml:11: initial[0].file", "12", "10", "8", "(8, 10, 12)"])

    def test_units(self):
        """A flux or degrees Celsius are not read as kelvins."""
        for units in ("W m-2", np.bytes_("degC")):  # of variable and of fixed length
            self.write_start(np.full((8, 10, 12), 300.0))
            with h5py.File(self.folder / "start.h5", "a") as file:
                file["T"].attrs["units"] = units
            said = units if isinstance(units, str) else units.decode()
            for command in ("run", "plan"):
                self.check_refused(command, "config.yaml", ranks=1, says=[
                    "config.yaml:11: initial[0].file", f'units "{said}"', "in K"])
        for units in ("K", np.bytes_("kelvin"), 7):
            with h5py.File(self.folder / "start.h5", "a") as file:
                file["T"].attrs["units"] = units
            self.assert_code(self.isotherm("plan", "config.yaml"), 0)

    def test_below_absolute_zero(self):
        self.write_start(np.full((8, 10, 12), -3.0))
        self.check_refused("run", "config.yaml", says=[
            "config.yaml:10: initial: kelvins? -3 K", "270.15 (-3 degC)"])

    @thorough
    def test_not_a_temperature(self):
        field = np.full((8, 10, 12), 300.0)
        field[3, 4, 5] = np.nan
        self.write_start(field)
        self.check_refused("run", "config.yaml", says=["config.yaml:11: initial[0].file"])


class Words(Input):
    def setUp(self):
        super().setUp()
        self.write(RIGHT)

    def test_set(self):
        for item, says in some({
                "time.stepz=3": ["--set time.stepz=3", "unknown key", "'steps'"],
                "time.steps": ["--set time.steps", "key.path=value"],
                "time.steps=many": ["--set time.steps=many", "not an integer", "give"],
                "boundary.x_min.value=sin(": ["boundary.x_min.value", "formula", "sin("],
                "boundary.x_min.value=1/0": ["--set boundary.x_min.value=1/0: boundary.x_min.value",
                                             '"1/0" gives inf K at t = 0 s', "finite"],
                "title=" + 70000 * "x": ["title: too long (xxx", "70000 bytes", "at most 4000"],
                "grid.cells=[0, 4, 4]": ["grid.cells", "0", "give"],
        }.items(), 1):
            with self.subTest(item[:40]):
                self.check_refused("run", "config.yaml", "--set", item, says=["error: ", *says])

    def test_options_and_operands(self):
        for words, says in some({
                ("run", "config.yaml", "--frobnicate"): ["unknown option '--frobnicate'", "--set"],
                ("run",): ["missing", "usage: isotherm run CONFIG"],
                ("run", "config.yaml", "more.yaml"): ["'more.yaml'", "usage: isotherm run CONFIG"],
                ("run", "config.yaml", "--output"): ["--output needs a value"],
                ("run", "config.yaml", "--overwrite=yes"): ["--overwrite takes no value"],
                ("run", "config.yaml", "--backend", "gpu"):
                    ["error: --backend gpu: run.backend", "available: auto", "cpu"],
                ("run", "config.yaml", "--output", ""):
                    ["error: --output : output.directory: empty"],
                ("run", "config.yaml", "--restart", "auto", "--overwrite"):
                    ["--restart auto", "--overwrite"],
        }.items(), 1):
            with self.subTest(" ".join(words)):
                self.check_refused(*words, says=says)

    def test_words_of_commands_without_ranks(self):
        for words, says in {
                ("plan",): ["missing", "usage: isotherm plan CONFIG"],
                ("plan", "config.yaml", "--ranks", "0"): ["--ranks", "'0'", "positive"],
                ("plan", "config.yaml", "--ranks", "few"): ["--ranks", "'few'", "positive"],
                ("bench",): ["missing", "usage: isotherm bench"],
                ("bench", "sleep"): ["'sleep'", "kernels"],
                ("bench", "kernels", "--size", "4", "4"): ["--size"],
                ("bench", "kernels", "--backend", "gpu"): ["gpu", "available: auto", "cpu"],
        }.items():
            with self.subTest(" ".join(words)):
                self.check_refused(*words, says=says, ranks=1)

    @thorough
    def test_unknown_command(self):
        """More than once, and with mpirun as users have it: the message must not get lost when
        another rank ends before it is printed."""
        for attempt in range(4):
            with self.subTest(attempt):
                self.check_refused("rum", "config.yaml", says=["'rum'", "--help"],
                                   env={"OMPI_MCA_odls_base_sigkill_timeout": "1"})

    def test_no_words_at_all(self):
        result = self.isotherm()
        self.assert_code(result, 2)
        self.assert_says(result, "Usage: isotherm COMMAND", "run", "plan", "bench", "verify")

    @thorough
    def test_configuration_missing(self):
        self.check_refused("run", "none.yaml", code=3, says=["none.yaml", "No such file"])

    def test_no_file_as_configuration(self):
        """A pipe is not waited for."""
        os.mkfifo(self.folder / "pipe.yaml")
        for command, ranks in (("run", 3), ("plan", 1)):
            result = self.isotherm(command, "pipe.yaml", ranks=ranks)
            self.assert_code(result, 3)
            self.assert_one_error(result)
            self.assert_says(result, "pipe.yaml is not a regular file but a pipe")
        (self.folder / "pipe.yaml").unlink()
        self.check_refused("run", ".", code=3, says=["cannot read .: Is a directory"])

    def test_no_control_characters_on_the_terminal(self):
        title = "title=\x1b[31mred\x9b \u00e9"
        for command, ranks in (("run", 2), ("plan", 1)):
            result = self.isotherm(command, "config.yaml", "--set", title, ranks=ranks)
            self.assert_code(result, 0)
            self.assertNotRegex(result.out + result.err, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        self.assertIn("plan for ?[31mred?? \u00e9", result.out)
        result = self.isotherm("run", "config.yaml", "--\x1b]0;frobnicate\x07")
        self.assert_code(result, 2)
        self.assertNotIn("\x1b", result.err)


if __name__ == "__main__":
    unittest.main()
