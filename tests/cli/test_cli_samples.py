"""Probes and lines: values, ranks, restarts."""
import csv
import unittest

import h5py
import numpy as np

import problems
from harness import SMALL, Case, cell_centers, checkpoints, some, thorough

CELLS = [15, 13, 11]
POINTS = {"core": [0.2, 0.17, 0.1], "edge": [0.0, 0.31, 0.0], "near": [0.005, 0.155, 0.229],
          "cell": [0.37 * 7.5 / 15, 0.31 * 6.5 / 13, 0.23 * 5.5 / 11]}
FROM, TO, COUNT = [0.0, 0.02, 0.23], [0.37, 0.31, 0.0], 23


def with_samples():
    config = problems.mixed(CELLS)
    config["output"] = {
        "history": {"every": 0}, "checkpoints": {"every": 16, "keep": 9},
        "snapshots": {"every": 3, "precision": "float64"},
        "probes": {"every": 3, "points": [{"name": n, "at": at} for n, at in POINTS.items()]},
        "lines": [{"name": "axis", "from": FROM, "to": TO, "points": COUNT,
                   "interval": 9.4 * config["time"]["dt"]},
                  {"name": "across", "from": [0.1, 0.1, 0.1], "to": [0.3, 0.1, 0.1],
                   "points": 4, "every": 9}]}
    return config


def interpolated(config, T, at):
    """Linear between centres; y is periodic in this problem, x and z end with their last cell."""
    weights = []
    for axis, n in enumerate(CELLS):
        h = config["grid"]["upper"][axis] / n
        s = at[axis] / h - 0.5
        if axis != 1:
            s = min(max(s, 0.0), n - 1.0)
        low = int(np.floor(s))
        row = np.zeros(n)
        row[low % n] += 1 - (s - low)
        row[(low + 1) % n] += s - low
        weights.append(row)
    return np.einsum("kji,k,j,i", T, weights[2], weights[1], weights[0])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    return rows[0], np.array(rows[1:], float)


def files_of(run):
    names = ["probes.csv", "axis.csv", "across.csv"]
    return {name: (run.folder / name).read_bytes() for name in names}


def series_of(run):
    with h5py.File(run.folder / "probes.h5") as file:
        return {name: {key: file[name][key][()].tobytes() for key in ("step", "time_s", "T")}
                for name in ("probes", "lines/axis", "lines/across")}


class Samples(Case):
    def check_values(self, config, run):
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            whole = {int(s["T"].attrs["step"]): s["T"][()] for s in file["snap"].values()}
        head, rows = rows_of(run.folder / "probes.csv")
        self.assertEqual(head, ["step", "time_s"] + [f"{name}_K" for name in POINTS])
        self.assertEqual([int(step) for step in rows[:, 0]], sorted(whole))
        for row in rows:
            wanted = [interpolated(config, whole[int(row[0])], at) for at in POINTS.values()]
            np.testing.assert_allclose(row[2:], wanted, rtol=1e-14)
        k, j, i = 5, 6, 7  # the point in the very centre of a cell has its value
        self.assertAlmostEqual(rows[4][-1], whole[12][k, j, i], delta=1e-10)
        head, rows = rows_of(run.folder / "across.csv")
        self.assertEqual(head, ["step", "time_s", "distance_m", "x_m", "y_m", "z_m", "T_K"])
        np.testing.assert_allclose(rows[:4, 2], [0, 0.2 / 3, 0.4 / 3, 0.2], atol=1e-9)
        np.testing.assert_allclose(rows[:4, 3], [0.1, 0.1 + 0.2 / 3, 0.1 + 0.4 / 3, 0.3], atol=1e-9)
        for row in rows[rows[:, 0] % 9 == 0]:
            self.assertAlmostEqual(row[6], interpolated(config, whole[int(row[0])], row[3:6]),
                                   delta=1e-4)  # its position has 9 digits

    def check_file(self, config, run):
        with h5py.File(run.folder / "probes.h5") as file:
            self.assertEqual(file.attrs["title"], b"test")
            self.assertTrue(file.attrs["isotherm_version"])
            self.assertIn(b"probes:", file["configuration"][()])
            probes, line = file["probes"], file["lines/axis"]
            self.assertEqual([n.decode() for n in probes["name"]], list(POINTS))
            self.assertEqual(probes["T"].attrs["units"], b"K")
            self.assertEqual(probes["T"].attrs["long_name"], b"temperature")
            np.testing.assert_array_equal(probes["position"], list(POINTS.values()))
            self.assertEqual(line["T"].shape, (len(line["step"]), COUNT))
            self.assertEqual([list(line["position"][0]), list(line["position"][-1])], [FROM, TO])
            interval = config["output"]["lines"][0]["interval"]
            wanted = [n * interval for n in range(len(line["step"]) - 1)]
            self.assertEqual(list(line["time_s"])[:-1], wanted)
            self.assertEqual(line["time_s"][-1], config["time"]["end"])
            _, rows = rows_of(run.folder / "probes.csv")
            np.testing.assert_array_equal(probes["T"], rows[:, 2:])
            np.testing.assert_array_equal(probes["step"], rows[:, 0])
            np.testing.assert_array_equal(probes["time_s"], rows[:, 1])

    def test_values_ranks_restarts(self):
        config = with_samples()
        reference = self.solve(config)
        self.check_values(config, reference)
        self.check_file(config, reference)
        for ranks, backend in some(((3, "guard"), (5, "cpu")), 1):
            run = self.solve(config, "--backend", backend, ranks=ranks)
            self.assertEqual(files_of(run), files_of(reference), f"{ranks} ranks")
            self.assertEqual(series_of(run), series_of(reference), f"{ranks} ranks")
        if SMALL:
            return
        files, series = files_of(reference), series_of(reference)
        for path in checkpoints(reference.folder)[1:]:
            path.unlink()
        (reference.folder / "axis.csv").write_bytes(files["axis.csv"][:-9])  # cut by a kill
        again = self.solve(config, "--restart", "auto", output=reference.folder.name, ranks=2)
        self.assertEqual(again.report["first_step"], 16)
        self.assertEqual(files_of(again), files)
        self.assertEqual(series_of(again), series)
        # probes.h5, which is changed in place, is not trusted: from the CSV files, to the last bit
        path = again.folder / "probes.h5"
        whole = path.read_bytes()
        for damage in (whole[:len(whole) // 2], whole[:3000] + bytes(5000) + whole[8000:]):
            for checkpoint in checkpoints(again.folder)[1:]:
                checkpoint.unlink()
            path.write_bytes(damage)
            again = self.solve(config, "--restart", "auto", output=again.folder.name)
            self.assert_says(again.result, "probes.h5 is damaged", "anew from the CSV files")
            self.assertEqual(files_of(again), files)
            self.assertEqual(series_of(again), series)

    @thorough
    def test_two_dimensions(self):
        config = problems.mixed([21, 17], "float32")
        config["time"] = {"steps": 3, "dt": config["time"]["dt"]}
        config["output"] = {"lines": [{"name": "cut", "from": [0, 0.1], "to": [0.37, 0.1],
                                       "points": 22, "every": 3}],
                            "checkpoints": {"every": 3}}
        run = self.solve(config, ranks=3)
        _, rows = rows_of(run.folder / "cut.csv")
        T = run.temperature()[0].astype(float)
        x, y, _ = cell_centers(config)
        y = y[0, :, 0]
        j = int(np.searchsorted(y, 0.1)) - 1
        part = (0.1 - y[j]) / (y[j + 1] - y[j])
        at_y = (1 - part) * T[j] + part * T[j + 1]
        np.testing.assert_allclose(rows[-22:, 6], np.interp(rows[-22:, 3], x[0, 0], at_y),
                                   rtol=1e-6)

    @thorough
    def test_other_points_are_refused_at_a_restart(self):
        config = with_samples()
        config["time"] = {"steps": 18, "dt": config["time"]["dt"]}
        run = self.solve(config)
        config["output"]["probes"]["points"][0]["at"] = [0.1, 0.1, 0.1]
        result, _ = self.start(config, "--restart", "auto", output=run.folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "the samples of probes cannot be continued", "probes.h5",
                         "other points")
        self.assert_one_error(result)


if __name__ == "__main__":
    unittest.main()
