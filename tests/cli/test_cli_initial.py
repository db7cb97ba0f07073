"""A run that begins with a field on another grid: `initial: file` with `interpolate: true`."""
import unittest

import h5py
import numpy as np

import problems
from harness import Case, checkpoints, some, thorough

OLD = [13, 10, 6]


def problem(cells, precision="float64", **output):
    config = problems.mixed(cells, precision)
    config["grid"].update(lower=[0, 0, 0][:len(cells)], upper=[0.4, 0.3, 0.2][:len(cells)])
    config["time"] = {"steps": 4}
    config["output"] = {"history": {"every": 1},
                        "snapshots": {"every": 2, "precision": precision},
                        "checkpoints": {"every": 2, "keep": 9}, **output}
    return config


def begin(config, path, **more):
    """The same with its initial field from a file."""
    return {**config, "initial": [{"file": {"path": str(path), "interpolate": True, **more}}],
            "time": {"steps": 1}}


def on_axis(old, n):
    """The averages of n cells of a line of cells, with limited slopes: plain and slow."""
    m = len(old)
    left, right = np.diff(old, prepend=old[:1]), np.diff(old, append=old[-1:])
    slope = np.minimum(2 * np.minimum(abs(left), abs(right)), abs(left + right) / 2)
    slope = np.where(left * right > 0, np.sign(left) * slope, 0)
    new = np.zeros(n)
    for j in range(n):
        for i in range(m):
            low, high = max(i / m, j / n), min((i + 1) / m, (j + 1) / n)
            if high > low:
                offset = (low + high) / 2 * m - i - 0.5
                new[j] += (high - low) * n * (old[i] + slope[i] * offset)
    return new


def on_grid(field, cells):
    for axis, n in zip((2, 1, 0), cells):
        field = np.apply_along_axis(on_axis, axis, field, n)
    return field


class Interpolate(Case):
    def first_state(self, run):
        with h5py.File(run.folder / "snapshots/step_0000000000.h5") as file:
            return file["T"][()]

    def check(self, cells, field, path, ranks=1, precision="float64", **more):
        run = self.solve(begin(problem(cells, precision), path, **more), ranks=ranks)
        state = self.first_state(run)
        expected = on_grid(field.astype(float), (cells + [1, 1])[:3])
        digits = 1e-13 if precision == "float64" else 1e-6
        np.testing.assert_allclose(state, expected, rtol=digits)
        bounds = field.astype(precision)
        self.assertTrue(bounds.min() <= state.min() and state.max() <= bounds.max())
        mean = run.history()[0]["mean_K"]
        self.assert_below(abs(mean / field.mean(dtype=float) - 1), digits / 10, "change of heat")
        self.assertEqual(run.history()[0]["time_s"], 0)
        return run.report["field_hash"]

    def test_from_a_checkpoint(self):
        """Refined, by a broken ratio, coarsened: the same bits on any number of ranks."""
        old = self.solve(problem(OLD), ranks=2)
        path, field = checkpoints(old.folder)[-1], old.temperature()
        for cells, precision, counts in some((([26, 20, 12], "float64", (3, 1, 2, 5)),
                                              ([17, 15, 7], "float64", (1, 5)),
                                              ([5, 5, 3], "float64", (1, 3)),
                                              ([17, 20, 3], "float32", (1, 3))), 1):
            hashes = {self.check(cells, field, path, ranks, precision)
                      for ranks in some(counts, 2)}
            self.assertEqual(len(hashes), 1, cells)

    @thorough
    def test_from_snapshots(self):
        old = self.solve(problem(OLD, "float32"), ranks=3)
        series = old.folder / "snapshots.vtkhdf"
        for row in old.history()[::2]:
            with h5py.File(old.folder / f"snapshots/step_{row['step']:010.0f}.h5") as file:
                field = file["T"][()]
            self.check([15, 20, 12], field, series, 2, time=float(f"{row['time_s']:.7g}"))
        self.check([15, 20, 12], field, old.folder / "snapshots/step_0000000004.h5")
        # the state at a time without another grid
        same = begin(problem(OLD), series, time=row["time_s"], interpolate=False)
        np.testing.assert_array_equal(self.first_state(self.solve(same, ranks=2)), field)

    @thorough
    def test_from_any_file(self):
        rng = np.random.default_rng(3)
        path = self.folder / "start.h5"
        for old, cells in (([9], [30]), ([30], [7]), ([9, 8], [18, 5]), ([4, 6], [9, 12])):
            drawn = 300 + rng.integers(0, 400, old[::-1]) / 4
            for kind in ("f8", ">f4", "i2", ">u8"):
                field = drawn.astype(kind).astype(float)
                with h5py.File(path, "w") as file:
                    file["T"] = drawn.astype(kind)
                self.check(cells, field.reshape((1, 1, *field.shape)[-3:]), path, ranks=3)

    @thorough
    def test_in_pieces(self):
        """Old cells that need more memory than a rank has for a piece: it reads several."""
        values = np.random.default_rng(4).integers(1, 255, 16_000_000, np.uint8)
        with h5py.File(self.folder / "start.h5", "w") as file:
            file["T"] = values
        run = self.solve(begin(problem([8]), "start.h5"))
        np.testing.assert_allclose(self.first_state(run)[0, 0], values.reshape(8, -1).mean(1),
                                   rtol=1e-12)

    def refused(self, config, *says):
        for command in ("run", "plan"):
            result = self.isotherm(command, self.write(config), "--set",
                                   "output.directory=refused", ranks=3 if command == "run" else 1)
            self.assert_code(result, 2)
            self.assert_one_error(result)
            self.assert_says(result, "initial[0].file", *says)
        self.assertFalse((self.folder / "refused").exists())

    def test_graded_axes(self):
        """From and to cells of other widths, also as many: the heat stays, the order is 2. Around
        an axis and a centre cells count with the volumes of their rings and shells."""
        for geometry in ("cartesian", "axisymmetric", "spherical"):
            with self.subTest(geometry):
                self.check_graded(geometry)

    def check_graded(self, geometry):
        power = {"cartesian": 1, "axisymmetric": 2, "spherical": 3}[geometry]
        rows = 1 if geometry == "spherical" else 4
        points, weights = np.polynomial.legendre.leggauss(8)

        def edges(n, bend):
            s = np.linspace(0, 1, n + 1)
            return list(0.4 * (s + bend * np.sin(2 * np.pi * s) / (2 * np.pi)))

        def means(e):
            low, high = np.array(e[:-1])[:, None], np.array(e[1:])[:, None]
            r = (low + high) / 2 + (high - low) / 2 * points
            share = weights * r ** (power - 1)
            return 300 + 50 * (share * np.cos(7 * r)).sum(axis=1) / share.sum(axis=1)

        def config(x):
            grid = {"cells": [40 if x is None else 1, rows][:1 + (rows > 1)],
                    "upper": [0.4, 0.3][:1 + (rows > 1)], "geometry": geometry,
                    **({} if x is None else {"x": {"edges": x}})}
            return {"grid": grid,
                    "material": {"conductivity": 1, "density": 1, "heat_capacity": 1},
                    "boundary": {f: {"type": "flux", "value": 0}
                                 for f in problems.FACES[:4 if rows > 1 else 2]},
                    "output": {"checkpoints": {"every": 1}}}

        def error_and_heat(old, new, name):
            with h5py.File(self.folder / "old.h5", "w") as file:
                data = file.create_dataset("T", data=np.tile(means(old), (rows, 1)))
                data.attrs["lower_m"] = [0, 0, 0]
                data.attrs["upper_m"] = [0.4, 0.3 if rows > 1 else 1.0, 1.0]
                data.attrs["x_edges_m"] = old
            start = {**begin(config(new), self.folder / "old.h5"),
                     "time": {"steps": 1, "dt": 1e-12}}
            run = self.run_config(start, name, "--overwrite")
            whole = np.linspace(0, 0.4, 41) if new is None else np.array(new)
            T = run.temperature().reshape(rows, -1)[rows // 2]
            inside = slice(2, -2)
            heat = ((T * np.diff(whole ** power)).sum() /
                    (means(old) * np.diff(np.array(old) ** power)).sum())
            ranks = self.run_config(start, f"{name}3", "--overwrite", ranks=3)
            self.assertEqual(ranks.exact("field_hash"), run.exact("field_hash"))
            return abs(T - means(whole))[inside].mean(), abs(heat - 1)

        for n, bend in ((None, 0), (40, -0.5), (31, 0.7)):
            new = None if n is None else edges(n, bend)
            errors = []
            for old in (20, 40, 80):
                error, heat = error_and_heat(edges(old, 0.5), new, f"to_{n}")
                self.assertLess(heat, 1e-9, f"{n} from {old}")
                errors.append(error)
            self.assertGreater(np.log2(errors[0] / errors[2]) / 2, 1.7, f"{n}: {errors}")
        self.assertLess(error_and_heat(edges(40, 0.5), edges(40, 0.5), "same")[0], 1e-8)

    def test_refused(self):
        old = self.solve(problem(OLD))
        path, series = checkpoints(old.folder)[-1], old.folder / "snapshots.vtkhdf"
        fine = problem([26, 20, 12])
        self.refused(begin(fine, path, interpolate=False), "(6, 10, 13)", "(12, 20, 26)",
                     "`interpolate: true` converts it")
        other = problem([26, 20, 12])
        other["grid"]["upper"][1] = 0.31
        for name in (path, old.folder / "snapshots/step_0000000002.h5"):
            self.refused(begin(other, name), "covers 0 to 0.3 m in y, the grid 0 to 0.31 m",
                         "the same domain")
        self.refused(begin(fine, path, time=0), "not a series of snapshots; leave out `time`")
        times = [row["time_s"] for row in old.history()]
        self.refused(begin(fine, series, time=0.6 * times[2]),
                     "no state at t =", f"the nearest is at t = {times[2]:.9g} s")
        with h5py.File(self.folder / "deep.h5", "w") as file:
            file["T"] = np.full((2, 2, 2, 2), 300.0)
            file["none"] = np.zeros((0, 4))
            file["text"] = "no numbers"
        self.refused(begin(fine, "deep.h5"), "has the shape (2, 2, 2, 2); the grid needs")
        self.refused(begin(fine, "deep.h5", dataset="none"), "has the shape (0, 4)")
        self.refused(begin(fine, "deep.h5", dataset="text"), "does not hold numbers")
        self.refused(begin(fine, path, interpolate="maybe"), "interpolate", "one of false, true")

    def test_values_are_checked(self):
        with h5py.File(self.folder / "start.h5", "w") as file:
            file["T"] = np.full((6, 10, 13), 300.0)
            file["T"][5, 9, 12] = np.nan
        result, _ = self.start(begin(problem([26, 20, 12]), "start.h5"), ranks=3)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "initial[0].file", "holds nan at [z][y][x] = [5][9][12]")


if __name__ == "__main__":
    unittest.main()
