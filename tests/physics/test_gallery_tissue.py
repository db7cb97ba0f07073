"""Hyperthermia of configs/gallery: temperature and thermal dose against Pennes' equation."""
import unittest

import h5py
import numpy as np

import references
from gallery import Example, last_row


class Hyperthermia(Example):
    POINTS = {"focus": (0, 0, 0), "beside": (0.006, 0, 0), "behind": (0, 0, 0.012),
              "far": (0.008, 0.008, 0.008)}
    OFF, END = 300, 420
    NEAR = 0.012    # cells within a cube round the focus have the dose

    def exact(self, points, ages):
        return 310.25 + references.perfused_focus(
            points, ages, 0.6, (0.006, 0.006, 0.01), 0.5, 1050.0 * 3600.0,
            5e-3 * 1000.0 * 3800.0)

    def at_probes(self, ages):
        return self.exact(np.transpose(list(self.POINTS.values())), ages)

    def rate(self, T):
        """Of the dose CEM43, min per s (Sapareto and Dewey)."""
        beyond = T - 316.15
        return np.exp2(np.where(beyond < 0, 2 * beyond, beyond)) / 60

    def dose(self, run, time):
        """The last of a time, of the cells of the octant x, y, z > 0 next to the focus, min."""
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            at = list(file["VTKHDF/Steps/Values"]).index(time)
            field = file["VTKHDF/CellData/CEM43"][at].astype(float)
            T = file["VTKHDF/CellData/T"][at].astype(float)
        n = field.shape[0]
        near = [i for i in range(n // 2, n) if (i + 0.5) * 0.06 / n - 0.03 < self.NEAR]
        return field[np.ix_(near, near, near)], T[np.ix_(near, near, near)]

    def exact_dose(self, n):
        """At the centres of the same cells at OFF and END, by the midpoint rule with steps of 1 s:
        within 1e-4."""
        x = (np.arange(n // 2) + 0.5) * 0.06 / n
        points = np.ix_(*[x[x < self.NEAR]] * 3)[::-1]    # axes z, y, x
        dose, found = 0, []
        for second in range(self.END):
            t = second + 0.5
            dose = dose + self.rate(self.exact(points, (max(0, t - self.OFF), t)))
            if second + 1 in (self.OFF, self.END):
                found.append(dose)
        return found

    def test_converges_with_the_square_of_the_spacing(self):
        hot, after, dose, most = [], [], [], []
        cells = (20, 30, 40)
        for n in cells:
            run = self.solve_example("hyperthermia", f"focus{n}", f"grid.cells=[{n}, {n}, {n}]",
                                     "output.pictures.interval=420")
            hot.append(float(np.abs(last_row(run, self.POINTS, self.OFF) -
                                    self.at_probes((0, self.OFF))).max()))
            after.append(float(np.abs(last_row(run, self.POINTS) -
                                      self.at_probes((self.END - self.OFF, self.END))).max()))
            exact = self.exact_dose(n)[-1]
            error = np.abs(self.dose(run, self.END)[0] - exact)
            dose.append(float(error.sum() / exact.sum()))
            most.append(float(error.max() / exact.max()))
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")
        self.assert_order(hot, 2, 0.2, cells)
        self.assert_order(after, 2, 0.2, cells)
        self.assert_below(hot[-1], 0.25, "largest error with 40^3 cells, K")
        self.assert_order(dose, 2, 0.2, cells)
        self.assert_below(dose[-1], 0.07, "mean error of the dose with 40^3 cells, relative")
        self.assert_below(most[-1], 0.1, "largest error of the dose, relative to the focus")

    def test_dose_between_samples(self):
        """A sample counts for the interval before it. A sum of m steps per sample differs from that
        of every step by (m - 1) dt / 2 of the rates at both ends, which cancel once it is cold."""
        dt = 2.5
        runs = {every: self.solve_example(
            "hyperthermia", f"every{every}", "grid.cells=[40, 40, 40]",
            "output.pictures.interval=420", "output.snapshots.interval=300",
            f"time.dt={dt}", f"output.derived.every={every}") for every in (1, 4)}
        hot, T = self.dose(runs[1], self.OFF)
        more = self.dose(runs[4], self.OFF)[0] - hot
        expected = 1.5 * dt * (self.rate(T) - self.rate(310.25))
        self.assert_below(np.abs(more - expected).sum() / expected.sum(), 0.02,
                          "first-order part of the sum, relative error")
        cold = self.dose(runs[1], self.END)[0]
        later = self.dose(runs[4], self.END)[0] - cold
        self.assert_below(np.abs(more).sum() / hot.sum(), 0.03, "at the end of the heating")
        self.assert_below(np.abs(later).sum() / cold.sum(), 0.006, "after the cooling")


if __name__ == "__main__":
    unittest.main()
