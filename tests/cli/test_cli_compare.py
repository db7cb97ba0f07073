"""isotherm compare against the same comparison in numpy, on files made by others and by runs."""
import json
import shutil
import unittest
from pathlib import Path

import h5py
import numpy as np

import problems
from harness import Case, checkpoints, isotherm, thorough

SHAPE = (5, 4, 7)  # (nz, ny, nx)


def ordered_bits(values):
    """Integers that count the format's numbers upward through 0."""
    width = {8: np.int64, 4: np.int32}[values.dtype.itemsize]
    bits = np.ascontiguousarray(values).view(width).astype(object)
    lowest = -(1 << (8 * values.dtype.itemsize - 1))
    return np.array([lowest - b if b < 0 else b for b in bits.ravel()], dtype=object)


def expected(a, b, rtol=0.0, atol=0.0):
    """The largest differences and the cells that have them, by definition."""
    narrow = np.float32 if np.float32 in (a.dtype, b.dtype) else np.float64
    ulp = np.abs(ordered_bits(a.astype(narrow)) - ordered_bits(b.astype(narrow)))
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    apart = np.abs(x - y)
    larger = np.maximum(np.abs(x), np.abs(y))
    relative = np.where(larger > 0, apart / np.where(larger > 0, larger, 1), 0)
    return {"absolute_K": apart, "relative": relative, "ulp": ulp.astype(np.float64),
            "beyond": int((apart > atol + rtol * larger).sum()), "unequal": int((x != y).sum())}


def cell_of(index):
    return [index % SHAPE[2], index // SHAPE[2] % SHAPE[1], index // (SHAPE[2] * SHAPE[1])]


class Compare(Case):
    def file(self, name, values, **attributes):
        with h5py.File(self.folder / name, "w") as file:
            dataset = file.create_dataset("T", data=values)
            dataset.attrs.update(attributes)
        return name

    def compare(self, a, b, *options, code=None, **how):
        result = self.isotherm("compare", a, b, "--json", "result.json", *options, **how)
        if code is not None:
            self.assert_code(result, code)
        return result, json.loads((self.folder / "result.json").read_text())

    def check(self, a, b, rtol=0.0, atol=0.0, ranks=1):
        """One comparison against numpy's; returns the program's."""
        want = expected(a, b, rtol, atol)
        names = self.file("a.h5", a), self.file("b.h5", b)
        result, found = self.compare(*names, "--rtol", rtol, "--atol", atol, ranks=ranks,
                                     code=1 if want["beyond"] else 0)
        for kind in ("absolute_K", "relative", "ulp"):
            largest = want[kind].max()
            self.assertEqual(found[kind]["value"], float(largest), f"{kind}\n{result}")
            if largest > 0:
                index = int(np.argmax(want[kind]))
                self.assertEqual(found[kind]["cell"], cell_of(index), kind)
                self.assertEqual(found[kind]["a_K"], float(a.ravel()[index]))
                self.assertEqual(found[kind]["b_K"], float(b.ravel()[index]))
        self.assertEqual((found["cells_beyond"], found["unequal_cells"]),
                         (want["beyond"], want["unequal"]))
        self.assertEqual(found["equal"], want["beyond"] == 0)
        return found

    def test_numbers(self):
        random = np.random.default_rng(5)
        a = random.uniform(-400, 900, SHAPE)
        b = a.copy()
        b.ravel()[[3, 30, 139]] += [1e-9, -3.5, 1e-13]
        b.ravel()[77] = np.nextafter(b.ravel()[77], 1e9)
        a.ravel()[50], b.ravel()[50] = 1e-300, -1e-300  # many numbers, a small difference
        for ranks in (1, 3):
            self.check(a, b, ranks=ranks)
        self.check(a, a.copy())
        self.check(a.astype(np.float32), b.astype(np.float32), ranks=2)
        self.check(a, b.astype(np.float32))
        self.check(a.astype(np.float32), b)

    def test_tolerances(self):
        a = np.full(SHAPE, 256.0)
        b = a.copy()
        b.ravel()[17] += 0.5
        self.check(a, b, atol=0.5)
        self.check(a, b, atol=np.nextafter(0.5, 0))
        self.check(a, b, rtol=0.5 / 256.5 * (1 + 1e-15))
        self.check(a, b, rtol=0.5 / 256.5 * (1 - 1e-15))
        self.check(a, b, rtol=0.25 / 256.5, atol=0.25)

    def test_one_of_a_thing(self):
        a = np.full(SHAPE, 300.0)
        b = a.copy()
        b.ravel()[3] = 301
        b.ravel()[4] = a.ravel()[4] = np.nan
        names = self.file("a.h5", a), self.file("b.h5", b)
        result, _ = self.compare(*names, code=1)
        self.assert_says(result, "NaN in both: 1 cell, which counts as equal",
                         f"different: 1 of {a.size} cells is more than", stream="out")
        result, _ = self.compare(*names, "--atol", 2, code=0)
        self.assert_says(result, f"1 of {a.size} cells differs", stream="out")
        b.ravel()[5] = np.nan
        result, _ = self.compare(names[0], self.file("b.h5", b), code=1)
        self.assert_says(result, "NaN in one of them only: 1 cell, the first", stream="out")

    def test_zeros_infinities_and_nan(self):
        a = np.full(SHAPE, 300.0)
        b = a.copy()
        a.ravel()[5], b.ravel()[5] = 0.0, -0.0
        a.ravel()[[6, 7]] = b.ravel()[[6, 7]] = [np.inf, np.nan]
        names = self.file("a.h5", a), self.file("b.h5", b)
        _, found = self.compare(*names, code=0)
        self.assertEqual((found["unequal_cells"], found["nan_in_both"], found["ulp"]["value"]),
                         (0, 1, 0))
        b.ravel()[[60, 61]] = np.nan
        result, found = self.compare(names[0], self.file("b.h5", b), "--atol", 1e9, "--rtol", 1,
                                     code=1, ranks=2)
        self.assertEqual((found["nan_in_one"], found["cells_beyond"]), (2, 2))
        self.assert_says(result, "NaN in one of them only: 2 cells", "(4, 0, 2)", stream="out")
        b = a.copy()
        b.ravel()[6] = -np.inf
        self.compare(names[0], self.file("b.h5", b), "--atol", 1e300, "--rtol", 1, code=1)

    def test_a_text_like_a_seal_is_no_seal(self):
        with h5py.File(self.folder / "a.h5", "w", libver="latest") as file:
            file.attrs["title"] = np.bytes_(" blocks=4 ")
            file["T"] = np.zeros(SHAPE)
        self.assertIn(b" blocks=4", (self.folder / "a.h5").read_bytes()[:512])
        self.assert_code(self.isotherm("compare", "a.h5", "a.h5"), 0)

    def test_what_cannot_be_compared(self):
        a = np.zeros(SHAPE)
        self.file("a.h5", a)
        for name, values, code, says in (
                ("wide.h5", np.zeros((5, 4, 8)), 2, "the grids differ: 7 x 4 x 5"),
                ("text.h5", np.array([b"x"]), 2, "does not hold numbers"),
                ("none.h5", np.zeros((5, 0, 7)), 2, "does not hold numbers"),
                ("long.h5", a.astype(np.longdouble), 2, "numbers of up to 8 bytes"),
                ("flat.h5", np.zeros(SHAPE[1:]), 2, "the grids differ")):
            result = self.isotherm("compare", "a.h5", self.file(name, values), ranks=2)
            self.assert_code(result, code)
            self.assert_one_error(result)
            self.assert_says(result, says)
        (self.folder / "no.h5").write_text("not HDF5")
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["U"] = a
        for name, code, says in (("missing.h5", 3, "missing.h5"), ("no.h5", 3, "no.h5"),
                                 (".", 3, "neither snapshots.vtkhdf nor checkpoints"),
                                 ("other.h5", 2, "has no dataset /T")):
            result = self.isotherm("compare", "a.h5", name)
            self.assert_code(result, code)
            self.assert_one_error(result)
            self.assert_says(result, says)
        self.assert_code(self.isotherm("compare", "a.h5", "other.h5", "--dataset", "U"), 2)
        for words in (["a.h5"], ["a.h5", "a.h5", "--rtol", "-1"], ["a.h5", "a.h5", "--atol", "x"]):
            self.assert_code(self.isotherm("compare", *words), 2)

    def test_grids_of_other_extents(self):
        lower, upper = np.array([0.1, 0.0, -0.2]), np.array([0.4, 0.3, 0.2])
        cell = (upper - lower) / [7, 4, 5]
        a = self.file("a.h5", np.zeros(SHAPE), lower_m=lower, upper_m=upper)
        for axis in range(3):
            off = np.eye(3)[axis] * cell
            for low, high, code in ((lower, upper + 1e-4 * off, 2), (lower - 1e-4 * off, upper, 2),
                                    (lower + off, upper + off, 2), (lower, 100 * upper, 2),
                                    (lower + 1e-9 * off, upper - 1e-9 * off, 0)):
                b = self.file("b.h5", np.zeros(SHAPE), lower_m=low, upper_m=high)
                self.assert_code(self.isotherm("compare", a, b), code)
        b = self.file("b.h5", np.zeros(SHAPE), lower_m=lower, upper_m=10 * upper)
        result = self.isotherm("compare", a, b, ranks=2)
        self.assert_one_error(result)
        self.assert_says(result, "the grids differ: 7 x 4 x 5 cells from (0.1, 0, -0.2) to (0.4, "
                         "0.3, 0.2) m in a.h5, 7 x 4 x 5 cells from (0.1, 0, -0.2) to (4, 3, 2) m "
                         "in b.h5")
        b = self.file("b.h5", np.zeros(SHAPE))
        for words, named in (((a, b), a), ((b, a), a), ((b, b), None)):
            result = self.isotherm("compare", *words)
            self.assert_code(result, 0)
            self.assertEqual(f"only {named} has coordinates" in result.out,
                             named is not None, str(result))

    def test_a_finer_grid_is_averaged(self):
        """Finer by 2 in x, by 3 in z, and coarser by 2 in y: means of both are compared."""
        place = {"lower_m": [0.0, 0, 0], "upper_m": [0.4, 0.3, 0.2]}
        a, b = np.random.default_rng(3).random((15, 2, 14)), np.sin(np.arange(140.)).reshape(SHAPE)
        means = a.reshape(5, 3, 2, 7, 2).mean(axis=(1, 4)), b.reshape(5, 2, 2, 7).mean(axis=2)
        self.file("a.h5", a, step=np.int64(30), time_s=1.5, **place)
        self.file("b.h5", b, step=np.int64(10), time_s=1.5, **place)
        for ranks in (1, 3):
            result, found = self.compare("a.h5", "b.h5", code=1, ranks=ranks)
            self.assertAlmostEqual(found["absolute_K"]["value"], np.abs(means[0] - means[1]).max())
            self.assert_says(result, "averaged over 2 x 1 x 3 cells",
                             "averaged over 1 x 2 x 1 cells", stream="out")
        self.file("b.h5", b[:, :3], **place)
        self.assert_says(self.isotherm("compare", "a.h5", "b.h5"), "integer ratios of cells")

    def test_what_is_named_and_damaged_is_not_missing(self):
        a = self.file("a.h5", np.zeros(SHAPE), step=np.int64(3), time_s=0.5)
        with h5py.File(self.folder / a, "r+") as file:
            file["group/U"] = np.zeros(SHAPE)
            headers = {name: h5py.h5o.get_info(file[name].id).addr
                       for name in ("T", "group", "group/U")}
        for name, asked, damaged in (("T", "T", "/T"), ("group/U", "group/U", "/group/U"),
                                     ("group", "group/U", "/group/U")):
            self.assert_code(self.isotherm("compare", a, a, "--dataset", asked), 0)
            data = bytearray((self.folder / a).read_bytes())
            data[headers[name]] ^= 0x55  # the version of its header
            (self.folder / "bad.h5").write_bytes(data)
            result = self.isotherm("compare", a, "bad.h5", "--dataset", asked, ranks=2)
            self.assert_code(result, 3)
            self.assert_one_error(result)
            self.assert_says(result, damaged, "of bad.h5")
        for asked, says in (("group", "/group of a.h5 is not a dataset"),
                            ("group/V", "a.h5 has no dataset /group/V"),
                            ("other/V", "a.h5 has no dataset /other/V"),
                            ("T" * 64, "of the dataset is too long")):
            result = self.isotherm("compare", a, a, "--dataset", asked)
            self.assert_code(result, 2)
            self.assert_says(result, says)


class Series(Case):
    """Series by other programs: the states in the file itself, no list of them."""

    def series(self, name, states):
        with h5py.File(self.folder / name, "w") as file:
            for n, values in enumerate(states):
                dataset = file.create_dataset(f"snap/{n}/T", data=values)
                dataset.attrs.update({"step": np.int64(10 * n), "time_s": 0.5 * n})
        return name

    def test_states_in_one_file(self):
        states = [np.full(SHAPE, 300.0 + n) for n in range(12)]
        a = self.series("a.h5", states)
        result = self.isotherm("compare", a, self.series("b.h5", states))
        self.assert_code(result, 0)
        self.assert_says(result, "12 states", "equal in all 1680 cells", stream="out")
        states[11][4, 3, 6] += 1
        result = self.isotherm("compare", a, self.series("b.h5", states))
        self.assert_code(result, 1)
        self.assert_says(result, "1 K at step 110, t = 5.5 s, cell (6, 3, 4)", stream="out")
        with h5py.File(self.folder / "b.h5", "r+") as file:
            del file["snap/3/T"].attrs["step"]
        result = self.isotherm("compare", a, "b.h5")
        self.assert_code(result, 3)
        self.assert_says(result, "/snap/3/T of b.h5 has no attribute step")

    def test_states_of_several_forms(self):
        states = [np.full(SHAPE, 300.0)] * 3
        a = self.series("a.h5", states)
        for shape in ((6, 4, 7), (5, 4, 8), (4, 4, 7)):
            b = self.series("b.h5", states[:2] + [np.full(shape, 300.0)])
            for words in ((a, b), (b, a), (b, b)):
                result = self.isotherm("compare", *words)
                self.assert_code(result, 2)
                self.assert_says(result, "step 20 of b.h5 has {2} x {1} x {0} cells, its first "
                                 "state 7 x 4 x 5".format(*shape))
        # ULP are counted in the narrower format of each two states
        b = self.series("b.h5", states[:2] + [np.full(SHAPE, 300.0 + 2**-15, np.float32)])
        result = self.isotherm("compare", a, b)
        self.assert_says(result, "largest ULP difference: 1 at step 20", stream="out")

    def test_a_series_of_one_state_is_a_series(self):
        one = self.series("one.h5", [np.full(SHAPE, 300.0)])
        many = self.series("many.h5", [np.full(SHAPE, 300.0)] * 3)
        for words in ((one, many), (many, one)):
            result = self.isotherm("compare", *words)
            self.assert_code(result, 2)
            self.assert_says(result, "the series differ in length")
        self.assert_code(self.isotherm("compare", one, one), 0)
        with h5py.File(self.folder / "late.h5", "w") as file:
            file["T"] = np.full(SHAPE, 300.0)
        # what does not say its step can only be the only one
        self.assert_code(self.isotherm("compare", "late.h5", one), 0)
        result = self.isotherm("compare", "late.h5", many)
        self.assert_code(result, 2)
        self.assert_says(result, "late.h5 has no step number, and many.h5 has 3")
        with h5py.File(self.folder / "late.h5", "r+") as file:
            file["T"].attrs.update({"step": np.int64(20), "time_s": 1.0})
        self.assert_code(self.isotherm("compare", many, "late.h5"), 0)
        result = self.isotherm("compare", "late.h5", one)
        self.assert_code(result, 2)
        self.assert_says(result, "late.h5 is of step 20, which one.h5 does not have")


class Links(Case):
    def assert_refused(self, a, b, *says, **how):
        result = self.isotherm("compare", a, b, **how)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, *says)

    def test_a_dataset_by_a_link(self):
        """The file beside the one that has the link is named, not that in the working directory."""
        for folder, value in ((".", 500.0), ("there", 300.0)):
            (self.folder / folder).mkdir(exist_ok=True)
            with h5py.File(self.folder / folder / "state.h5", "w") as file:
                file["of/Temperature"] = np.full(SHAPE, value)
        with h5py.File(self.folder / "there/link.h5", "w") as file:
            file["T"] = h5py.ExternalLink("state.h5", "/of/Temperature")
            file["of"] = h5py.ExternalLink("state.h5", "/of")
        for env in (None, {"HDF5_EXT_PREFIX": str(self.folder)}):
            for ranks in (1, 2):
                self.assert_refused("there/link.h5", "there/link.h5", "/T of there/link.h5 is a "
                                    "link to /of/Temperature of there/state.h5: name that file",
                                    env=env, ranks=ranks)
        result = self.isotherm("compare", "there/link.h5", "there/state.h5", "--dataset",
                               "of/Temperature")
        self.assert_code(result, 2)
        self.assert_says(result, "is a link to /of of there/state.h5: name that file")

    def test_a_virtual_dataset(self):
        """HDF5 would compare zeros where a source is missing."""
        layout = h5py.VirtualLayout(SHAPE, "f8")
        layout[...] = h5py.VirtualSource("source.h5", "T", SHAPE)
        with h5py.File(self.folder / "source.h5", "w") as file:
            file["T"] = np.full(SHAPE, 300.0)
        with h5py.File(self.folder / "a.h5", "w", libver="latest") as file:
            file.create_virtual_dataset("T", layout)
        for names in (("a.h5", "source.h5"), ("source.h5", "a.h5")):
            self.assert_refused(*names, "/T of a.h5 is a virtual dataset, whose values are in T of "
                                "source.h5: name that file")


class Runs(Case):
    def config(self, **changes):
        config = problems.mixed([15, 13, 11], "float64")
        config["time"] = {"steps": 20, "dt": config["time"]["dt"]}
        config["output"] = {"snapshots": {"every": 5, "precision": "float32"},
                            "checkpoints": {"every": 10, "keep": 3}, **changes}
        return config

    def test_folders_series_and_checkpoints(self):
        one = self.solve(self.config(), output="one")
        two = self.solve(self.config(), output="two", ranks=3)
        self.assert_code(self.isotherm("compare", "one", "two", ranks=2), 0)
        names = [path.name for path in checkpoints(one.folder)]
        for name in names:
            self.assert_code(self.isotherm("compare", f"one/checkpoints/{name}",
                                           f"two/checkpoints/{name}"), 0)
        # a float64 checkpoint beside its float32 snapshot: less than half a ULP, which counts 0
        result = self.isotherm("compare", f"one/checkpoints/{names[0]}", "two", "--rtol", "6e-8")
        self.assert_code(result, 0)
        self.assert_says(result, "largest ULP difference: 0", stream="out")
        self.assert_code(self.isotherm("compare", f"one/checkpoints/{names[0]}", "two"), 1)
        with h5py.File(two.folder / "snapshots.vtkhdf", "r+") as file:
            file["/snap/2/T"][7, 3, 4] += 2.0
        result = self.isotherm("compare", "one", "two", ranks=2)
        self.assert_code(result, 3)
        self.assert_says(result, "step_0000000010.h5 does not match its checksums: block 1 of 1 is "
                         "damaged, from [z][y][x] = [0][0][0] to [10][12][14]")
        with h5py.File(two.folder / "snapshots.vtkhdf", "r+") as file:
            del file["/snap/2/checksums/T"]  # the change was meant
        result = self.isotherm("compare", "one", "two", ranks=2)
        self.assert_code(result, 1)
        center = [float(f"{x:.6g}") for x in self.center(4, 3, 7)]
        self.assert_says(result, "absolute difference: 2 K at step 10", "cell (4, 3, 7) at (",
                         *[f"{x:.6g}" for x in center], stream="out")
        self.assert_says(result, "different: 1 of 10725 cells", stream="out")

    def center(self, *cell):
        grid = self.config()["grid"]
        lower = grid.get("lower", [0.0] * 3)
        return [low + (i + 0.5) * (high - low) / n
                for i, low, high, n in zip(cell, lower, grid["upper"], grid["cells"])]

    def test_coordinates_from_wherever_a_file_has_them(self):
        config = self.config(derived={"isotherm": 600, "threshold": 450})
        for output in ("snapshots", "checkpoints"):
            config["output"][output] = {"every": 10, "precision": "float64"}
        del config["output"]["checkpoints"]["precision"]
        config["output"]["snapshots"]["derived"] = ["T_max"]
        self.solve(config, output="one")
        snapshot, checkpoint = (f"one/{kind}/step_{10:010}.h5"
                                for kind in ("snapshots", "checkpoints"))
        for words in ([snapshot, f"one/snapshots/step_{20:010}.h5"],
                      [checkpoint, f"one/checkpoints/step_{20:010}.h5"],
                      [checkpoint, f"one/checkpoints/step_{20:010}.h5", "--dataset", "T_max"]):
            result = self.isotherm("compare", *words, "--json", "result.json")
            self.assert_code(result, 1)
            found = json.loads((self.folder / "result.json").read_text())["absolute_K"]
            center = self.center(*found["cell"])
            self.assertEqual(found["step"], 10)
            for at, want in zip(found["at_m"], center, strict=True):
                self.assertAlmostEqual(at, want, places=12)
            self.assert_says(result, "cell (", ") at (", f"{center[0]:.6g}, ", " m: ", stream="out")
        # of one state the same, also where only the temperature says which it is
        for words in ([checkpoint, snapshot], [checkpoint, "one", "--dataset", "T_max"]):
            result = self.isotherm("compare", *words)
            self.assert_code(result, 0)
            self.assert_says(result, "equal in all 2145 cells", stream="out")

    @thorough
    def test_series_that_do_not_match(self):
        self.solve(self.config(), output="one")
        self.solve(self.config(snapshots={"every": 4}), output="other")
        result = self.isotherm("compare", "one", "other")
        self.assert_code(result, 2)
        self.assert_says(result, "the series differ in length: 5 states", "6 in")
        self.solve(self.config(snapshots={"every": 6}), output="third")
        result = self.isotherm("compare", "one", "third")
        self.assert_code(result, 2)
        self.assert_says(result, "state 1 is of step 5", "of step 6")

    def copy(self, run, name):
        return Path(shutil.copytree(run.folder, self.folder / name))

    def assert_unread(self, a, b, *says, **how):
        """One error, exit code 3."""
        result = self.isotherm("compare", a, b, **how)
        self.assert_code(result, 3)
        self.assert_one_error(result)
        self.assert_says(result, *says)

    def test_every_state_that_a_series_names_must_be_there(self):
        run = self.solve(self.config(), output="one")
        for step in (0, 5, 20):
            name = f"step_{step:010}.h5"
            bad = self.copy(run, f"missing_{step}")
            (bad / "snapshots" / name).unlink()
            self.assert_unread("one", bad.name, f"cannot open {bad.name}/snapshots/{name}: No such")
            # HDF5 alone would find the state of the run that is compared with
            result = isotherm("compare", ".", f"../{bad.name}", cwd=run.folder)
            self.assert_code(result, 3)
            bad = self.copy(run, f"cut_{step}")
            with open(bad / "snapshots" / name, "r+b") as file:
                file.truncate(100)
            self.assert_unread(bad.name, bad.name, f"cannot open {bad.name}/snapshots/{name}: ")
        self.assert_unread("one", "missing_5", "step_0000000005.h5", ranks=3)
        bad = self.copy(run, "other")
        shutil.copy(bad / "snapshots/step_0000000010.h5", bad / "snapshots/step_0000000015.h5")
        self.assert_unread("one", "other", "step_0000000015.h5 is of step 10", "as step 15")
        bad = self.copy(run, "short")
        with h5py.File(bad / "snapshots.vtkhdf", "r+") as file:
            del file["snap/4"]
        self.assert_unread("one", "short", "it lists 5 states and has 4")

    def test_an_index_may_be_a_link_to_another_folder(self):
        run = self.solve(self.config(), output="one")
        (self.folder / "link.vtkhdf").symlink_to(run.folder / "snapshots.vtkhdf")
        result = self.isotherm("compare", "link.vtkhdf", "one")
        self.assert_code(result, 0)
        self.assert_says(result, "equal in all 10725 cells", stream="out")

    def test_newest_checkpoints_of_other_steps(self):
        config = self.config()
        del config["output"]["snapshots"]
        one = self.solve(config, output="one")
        config["time"]["steps"] = 30
        two = self.solve(config, output="two")
        self.assert_code(self.isotherm("compare", "one", checkpoints(two.folder)[-2]), 0)
        for words in (("one", "two"), ("one", checkpoints(two.folder)[-1])):
            result = self.isotherm("compare", *words)
            self.assert_code(result, 2)
            self.assert_says(result, "is of step 20 and", "of step 30; name two files")
        named = checkpoints(one.folder)[-1], checkpoints(two.folder)[-1]
        self.assert_code(self.isotherm("compare", *named, "--atol", 1e6), 0)

    def test_damaged_checksums_do_not_let_cells_pass(self):
        run = self.solve(self.config())
        bad = run.folder / f"snapshots/step_{10:010}.h5"
        shutil.copy(bad, self.folder / "good.h5")
        with h5py.File(bad, "r") as file:
            cells = file["T"].id.get_offset()
            headers = [h5py.h5o.get_info(file[name].id).addr for name in ("checksums",
                                                                          "checksums/T")]
        for header in headers:
            data = bytearray((self.folder / "good.h5").read_bytes())
            data[cells + 3] ^= 0x80
            data[header] ^= 0x55  # the version of the header
            bad.write_bytes(data)
            self.assert_unread("good.h5", bad, f"{bad}: cannot ", "/checksums/T")

    def test_a_damaged_checkpoint_is_not_compared(self):
        run = self.solve(self.config())
        good = checkpoints(run.folder)[-1]
        bad = self.folder / "bad.h5"
        for place in (-1000, 0, 18, 30):  # cells, and three places in the seal
            data = bytearray(good.read_bytes())
            data[place] ^= 4
            bad.write_bytes(data)
            self.assert_unread(good, bad, "bad.h5", "damaged", ranks=2)

    def test_a_folder_without_its_index(self):
        run = self.solve(self.config(), output="one")
        lost = self.copy(run, "lost")
        (lost / "snapshots.vtkhdf").unlink()
        self.assert_unread("lost", "lost", "lost/snapshots.vtkhdf, which names them, is missing")
        (lost / "snapshots.vtkhdf").symlink_to("nowhere")
        self.assert_unread("lost", "lost", "cannot open lost/snapshots.vtkhdf")


if __name__ == "__main__":
    unittest.main()
