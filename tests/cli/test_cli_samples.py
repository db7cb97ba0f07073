"""Probes and lines: values, ranks, restarts."""
import csv
import unittest

import h5py
import numpy as np

import problems
from harness import SMALL, Case, cell_centers, checkpoints, some, spacings, thorough

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


def node(config, T, t, index):
    """The value at a cell's centre or, where an index is -1 or n, at the face."""
    h, k = spacings(config), config["material"]["conductivity"]
    inside = [min(max(i, 0), n - 1) for i, n in zip(index, CELLS)]
    cell = T[inside[2], inside[1], inside[0]]
    changes, prescribed = [], []
    for axis, (i, n) in enumerate(zip(index, CELLS)):
        if not 0 <= i < n:
            closure = config["boundary"][problems.FACES[2 * axis + (i == n)]]
            face = (cell + problems.outside(closure, cell, None, h[axis], k, t)) / 2
            changes.append(face - cell)
            if closure["type"] == "temperature":
                prescribed.append(face)
    return np.mean(prescribed) if prescribed else cell + sum(changes)


def interpolated(config, T, t, at):
    """Linear between centres, and from the outermost to the face; y is periodic."""
    nodes = [((), 1.0)]
    for axis, (n, h) in enumerate(zip(CELLS, spacings(config))):
        s = at[axis] / h - 0.5
        low = int(np.floor(s))
        pair, part = (low, low + 1), s - low
        if axis == 1:
            pair = (low % n, (low + 1) % n)
        elif s < 0:
            pair, part = (-1, 0), 1 + 2 * s
        elif s >= n - 1:
            pair, part = (n - 1, n), 2 * (s - (n - 1))
        nodes = [(index + (i,), weight * w) for index, weight in nodes
                 for i, w in zip(pair, (1 - part, part))]
    return sum(w * node(config, T, t, index) for index, w in nodes if w != 0)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(line for line in stream if not line.startswith("#")))
    return rows[0], np.array(rows[1:], float)


def files_of(run):
    names = ["probes.csv", "axis.csv", "across.csv"]
    return {name: (run.folder / name).read_bytes() for name in names}


def without_notes(text):
    """As 0.1.0 wrote it."""
    return b"".join(line for line in text.splitlines(True) if not line.startswith(b"#"))


class Samples(Case):
    def check_values(self, config, run):
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            whole = {int(s["T"].attrs["step"]): s["T"][()] for s in file["snap"].values()}
        head, rows = rows_of(run.folder / "probes.csv")
        self.assertEqual(head, ["step", "time_s"] + [f"{name}_K" for name in POINTS])
        self.assertEqual([int(step) for step in rows[:, 0]], sorted(whole))
        for row in rows:
            wanted = [interpolated(config, whole[int(row[0])], row[1], at)
                      for at in POINTS.values()]
            np.testing.assert_allclose(row[2:], wanted, rtol=1e-13)
            k, j, i = 5, 6, 7  # the point in the very centre of a cell has its value
            self.assertEqual(row[-1], whole[int(row[0])][k, j, i])
        head, rows = rows_of(run.folder / "across.csv")
        self.assertEqual(head, ["step", "time_s", "distance_m", "x_m", "y_m", "z_m", "T_K"])
        np.testing.assert_allclose(rows[:4, 2], [0, 0.2 / 3, 0.4 / 3, 0.2], atol=1e-9)
        np.testing.assert_allclose(rows[:4, 3], [0.1, 0.1 + 0.2 / 3, 0.1 + 0.4 / 3, 0.3], atol=1e-9)
        for row in rows[rows[:, 0] % 9 == 0]:
            wanted = interpolated(config, whole[int(row[0])], row[1], row[3:6])
            self.assertAlmostEqual(row[6], wanted, delta=1e-4)  # its position has 9 digits

    def check_files(self, config, run):
        """They name the exact points, and docs/reference/files.md shows how to read them."""
        lines = (run.folder / "probes.csv").read_text().splitlines()
        notes = [line[2:].split(",") for line in lines if line[0] == "#"]
        self.assertEqual(lines[1:len(notes) + 1], ["# " + ",".join(note) for note in notes])
        self.assertEqual(notes[0], ["probe", "x_m", "y_m", "z_m"])
        self.assertEqual({name: [float(x) for x in at] for name, *at in notes[1:]}, POINTS)
        self.assertIn(["core", "0.2", "0.17", "0.1"], notes)
        table = np.genfromtxt(run.folder / "probes.csv", delimiter=",", names=True)
        _, rows = rows_of(run.folder / "probes.csv")
        self.assertEqual(table.dtype.names[:3], ("step", "time_s", "core_K"))
        np.testing.assert_array_equal(table["near_K"], rows[:, 4])
        _, rows = rows_of(run.folder / "axis.csv")
        self.assertEqual(len(rows) % COUNT, 0)
        np.testing.assert_array_equal(rows[[0, -1], 3:6], [FROM, TO])
        np.testing.assert_array_equal(np.diff(rows.reshape(-1, COUNT, 7)[:, :, :2], axis=1), 0)
        times, interval = rows[::COUNT, 1], config["output"]["lines"][0]["interval"]
        self.assertEqual(list(times[:-1]), [n * interval for n in range(len(times) - 1)])
        self.assertEqual(times[-1], config["time"]["end"])

    def restart(self, config, run, ranks=1):
        """From the oldest checkpoint."""
        for path in checkpoints(run.folder)[1:]:
            path.unlink()
        again = self.solve(config, "--restart", "auto", output=run.folder.name, ranks=ranks)
        self.assertEqual(again.report["first_step"], 16)
        return again

    def test_values_ranks_restarts(self):
        config = with_samples()
        reference = self.solve(config)
        self.check_values(config, reference)
        self.check_files(config, reference)
        for ranks, backend in some(((3, "guard"), (2, "cpu"), (5, "cpu")), 1):
            run = self.solve(config, "--backend", backend, ranks=ranks)
            self.assertEqual(files_of(run), files_of(reference), f"{ranks} ranks")
        if SMALL:
            return
        files, folder = files_of(reference), reference.folder
        (folder / "axis.csv").write_bytes(files["axis.csv"][:-9])  # cut by a kill
        self.assertEqual(files_of(self.restart(config, reference, ranks=2)), files)
        # of 0.1.0: a file without notes gets them; its probes.h5 stays until --overwrite
        (folder / "probes.csv").write_bytes(without_notes(files["probes.csv"]))
        (folder / "probes.h5").write_bytes(b"old")
        self.assertEqual(files_of(self.restart(config, reference)), files)
        self.assertEqual((folder / "probes.h5").read_bytes(), b"old")
        # a file that was lost begins with the checkpoint's step
        (folder / "probes.csv").unlink()
        (folder / "axis.csv").write_bytes(b"")
        result, _ = self.start(config, "--restart", "auto", output=folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "the columns of", "axis.csv differ")
        (folder / "axis.csv").unlink()
        again = files_of(self.restart(config, reference))
        self.assertEqual(again["across.csv"], files["across.csv"])
        for name in ("probes.csv", "axis.csv"):
            _, rows = rows_of(folder / name)
            (self.folder / "whole.csv").write_bytes(files[name])
            _, whole = rows_of(self.folder / "whole.csv")
            np.testing.assert_array_equal(rows, whole[whole[:, 0] >= rows[0, 0]])
            self.assertGreaterEqual(rows[0, 0], 16)
        self.solve(config, "--overwrite", output=folder.name)
        self.assertFalse((folder / "probes.h5").exists())
        self.assertEqual(files_of(reference), files)

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
        h, k = spacings(config)[0], config["material"]["conductivity"]
        low, high = (at_y[end] + problems.outside(config["boundary"][face], at_y[end], None, h, k,
                                                  rows[-1, 1])
                     for end, face in ((0, "x_min"), (-1, "x_max")))
        np.testing.assert_allclose(
            rows[-22:, 6], np.interp(rows[-22:, 3], [0, *x[0, 0], 0.37],
                                     [low / 2, *at_y, high / 2]), rtol=1e-6)

    @thorough
    def test_other_points_are_refused_at_a_restart(self):
        config = with_samples()
        config["time"] = {"steps": 18, "dt": config["time"]["dt"]}
        run = self.solve(config)
        config["output"]["probes"]["points"][0]["at"] = [0.1, 0.1, 0.1]
        result, _ = self.start(config, "--restart", "auto", output=run.folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "the points of", "probes.csv differ", "move the file elsewhere")
        self.assert_one_error(result)


if __name__ == "__main__":
    unittest.main()
