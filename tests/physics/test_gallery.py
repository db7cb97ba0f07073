"""The worked examples of configs/gallery against their references: an exact solution, with the
order of the scheme on three grids, or a published figure, with the tolerance of
docs/guide/gallery.md."""
import json
import math
import unittest

import h5py
import numpy as np

import references
from gallery import Example, last_row


class LayeredWall(Example):
    def exact(self, x):
        layers = [(0.12, 1.0), (0.06, 0.1), (0.02, 45.0)]
        gap, film = 0.01, 10.0
        q = (1200 - 293) / (sum(d / k for d, k in layers) + gap + 1 / film)
        brick = 1200 - q * x / 1.0
        board = 1200 - q * (0.12 + (x - 0.12) / 0.1)
        steel = 293 + q * (1 / film + (0.2 - x) / 45.0)
        return np.where(x < 0.12, brick, np.where(x < 0.18, board, steel))

    def test_is_exact_on_any_grid(self):
        for cells, sets in ((10, ()), (20, ()), (500, ("time.steady={}",))):
            run = self.solve_example("layered_wall", f"wall{cells}", f"grid.cells={cells}", *sets)
            x = (np.arange(cells) + 0.5) * 0.2 / cells
            error = np.abs(run.temperature().ravel() / self.exact(x) - 1).max()
            self.assert_below(error, 1e-10, f"relative error with {cells} cells")


class CompositeSlab(Example):
    """Eigenfunctions sin(p x) in the copper, B cos(q (L - x)) in the concrete, with the same flux
    on both sides of the contact and a step of R times it between them."""

    LEFT = {"d": 0.04, "k": 390.0, "rho_c": 8900.0 * 385.0}
    RIGHT = {"d": 0.06, "k": 1.7, "rho_c": 2300.0 * 880.0}
    CONTACT, HOT, START, END = 0.02, 400.0, 300.0, 2400.0

    def numbers(self, root):
        return tuple(root * math.sqrt(side["rho_c"] / side["k"])
                     for side in (self.LEFT, self.RIGHT))

    def mismatch(self, root):
        p, q = self.numbers(root)
        a, b = self.LEFT, self.RIGHT
        flux = a["k"] * p * math.cos(p * a["d"])
        jump = math.sin(p * a["d"]) + self.CONTACT * flux
        return b["k"] * q * math.sin(q * b["d"]) * jump - flux * math.cos(q * b["d"])

    def roots(self, largest):
        """All up to `largest` (1/sqrt(s)), by bisection between sign changes of a fine scan."""
        found, points = [], np.linspace(1e-9, largest, 20000)
        values = [self.mismatch(point) for point in points]
        for low, high, at_low, at_high in zip(points, points[1:], values, values[1:]):
            if at_low * at_high > 0:
                continue
            for _ in range(100):
                middle = 0.5 * (low + high)
                if self.mismatch(middle) * at_low > 0:
                    low = middle
                else:
                    high = middle
            found.append(0.5 * (low + high))
        return found

    def exact(self, x, t):
        a, b = self.LEFT, self.RIGHT
        total = np.zeros_like(x)
        for root in self.roots(math.sqrt(40 / t)):   # exp(-40) is below any rounding here
            p, q = self.numbers(root)
            jump = math.sin(p * a["d"]) + self.CONTACT * a["k"] * p * math.cos(p * a["d"])
            if abs(math.cos(q * b["d"])) > 0.1:
                B = jump / math.cos(q * b["d"])
            else:
                B = a["k"] * p * math.cos(p * a["d"]) / (b["k"] * q * math.sin(q * b["d"]))
            start = a["rho_c"] * (1 - math.cos(p * a["d"])) / p + \
                b["rho_c"] * B * math.sin(q * b["d"]) / q
            square = a["rho_c"] * (a["d"] / 2 - math.sin(2 * p * a["d"]) / (4 * p)) + \
                b["rho_c"] * B**2 * (b["d"] / 2 + math.sin(2 * q * b["d"]) / (4 * q))
            shape = np.where(x < a["d"], np.sin(p * x), B * np.cos(q * (a["d"] + b["d"] - x)))
            total += start / square * math.exp(-root**2 * t) * shape
        return self.HOT + (self.START - self.HOT) * total

    def test_converges_with_the_square_of_the_spacing(self):
        errors = []
        for cells in (20, 40, 80):
            run = self.solve_example("composite_slab", f"slab{cells}", f"grid.cells={cells}")
            edges = np.linspace(0, 0.1, cells + 1)
            # means over cells, by Simpson's rule
            exact = (self.exact(edges[:-1] + 1e-12, self.END) +
                     4 * self.exact(0.5 * (edges[:-1] + edges[1:]), self.END) +
                     self.exact(edges[1:] - 1e-12, self.END)) / 6
            errors.append(float(np.abs(run.temperature().ravel() - exact).max()))
        self.assert_order(errors, 2, 0.1)
        self.assert_below(errors[-1], 0.02, "largest error with 80 cells, K")


class Borehole(Example):
    POINTS = {"r1": (1, 0), "r2": (2, 0), "r3": (1.8, 2.4), "r5": (0, -5)}
    END, POWER, K, RHO_C = 7.776e6, 40.0, 2.3, 2500.0 * 880.0

    def test_converges_with_the_square_of_the_spacing(self):
        exact = np.array([283 + references.square_source(x, y, self.END, 0.25, self.POWER, self.K,
                                                         self.RHO_C)
                          for x, y in self.POINTS.values()])
        errors = []
        for cells in (96, 192, 384):
            run = self.solve_example("borehole", f"hole{cells}", f"grid.cells=[{cells}, {cells}]")
            errors.append(float(np.abs(last_row(run, self.POINTS) - exact).max()))
            drift = run.history()[-1]["heat_drift_J"]
            self.assert_below(abs(drift), 1e-13 * run.history()[-1]["heat_J"], "drift, J")
        self.assert_order(errors, 2, 0.15)
        self.assert_below(errors[-1], 2e-3, "largest error with 384 cells, K")

    def test_a_field_of_three_is_the_sum_of_line_sources(self):
        """The second one starts later, the third one rests from the 60th day on."""
        day = 86400.0
        field = {(-4, 0): (0, 90), (4, 3): (30, 90), (2, -4): (0, 60)}
        sources = []
        for (x, y), (begin, end) in field.items():
            rows = [[0, 0]] * (begin > 0) + [[begin * day, 1], [end * day, 0]]
            sources.append(f"{{box: {{lower: [{x - 0.25}, {y - 0.25}], upper: [{x + 0.25}, "
                           f"{y + 0.25}], power: 40, factor: {{rows: {rows}, between: steps}}}}}}")
        run = self.solve_example("borehole", "field", f"sources=[{', '.join(sources)}]")
        exact = np.full(len(self.POINTS), 283.0)
        for (x, y), (begin, end) in field.items():
            for i, (px, py) in enumerate(self.POINTS.values()):
                r = math.hypot(px - x, py - y)
                for since, sign in ((begin, 1), (end, -1)):
                    if since < 90:
                        exact[i] += sign * references.line_source(
                            r, self.END - since * day, self.POWER, self.K, self.RHO_C)
        error = float(np.abs(last_row(run, self.POINTS) - exact).max())
        self.assert_below(error, 0.01 * (exact.max() - 283), "largest error of the field, K")

    def test_the_line_source_is_close_from_two_metres_on(self):
        for x, y in list(self.POINTS.values())[1:]:
            bar = references.square_source(x, y, self.END, 0.25, self.POWER, self.K, self.RHO_C)
            line = references.line_source(math.hypot(x, y), self.END, self.POWER, self.K,
                                          self.RHO_C)
            self.assert_below(abs(line / bar - 1), 0.01, f"line source at {x}, {y}")


class ChipStack(Example):
    PATCHES = {"core0": ((0.001, 0.005), (0.004, 0.009), 1.5e6),
               "core1": ((0.006, 0.005), (0.009, 0.009), 1.0e6),
               "cache": ((0.001, 0.001), (0.007, 0.004), 2.0e5),
               "io": ((0.008, 0.001), (0.01, 0.004), 4.0e5)}
    # on faces of cells of all three grids
    PROBES = [(0.003, 0.007), (0.007, 0.007), (0.004, 0.003), (0.009, 0.002)]

    def test_converges_to_the_series_with_the_square_of_the_spacing(self):
        exact = references.stack_surface(
            self.PROBES, (0.01, 0.01), [(0.0015, 390.0, 0.0), (0.0005, 130.0, 1e-5)], 2e4,
            self.PATCHES.values(), 300.0, 1500)
        errors = []
        cells = (20, 30, 40)
        for n in cells:
            # the reference is the steady state
            scheme = ["time.steady={}"] if n > cells[0] else []
            run = self.solve_example("chip_stack", f"chip{n}",
                                     f"grid.cells=[{n}, {n}, {2 * n // 5}]",
                                     "output.snapshots.interval=6", "output.pictures.interval=6",
                                     *scheme)
            errors.append(float(np.abs(last_row(run, self.PATCHES) - exact).max()))
        self.assert_order(errors, 2, 0.15, cells)
        self.assert_below(errors[-1], 0.02, "largest error with 40 x 40 x 16 cells, K")


class LaserTrack(Example):
    POINTS = {"below": (1.05e-3, 4e-4, 5e-4), "behind": (0.85e-3, 4e-4, 5e-4),
              "beside": (0.95e-3, 5e-4, 5e-4), "far": (0.65e-3, 4e-4, 5e-4)}
    POWER, SIGMA, SPEED, START, END = 8.0, 5e-5, 0.25, 3e-4, 3e-3
    TOP, Y, K, RHO_C = 6e-4, 4e-4, 25.0, 7800.0 * 600.0

    def relative_points(self):
        return [(x, y - self.Y, z - self.TOP) for x, y, z in self.POINTS.values()]

    def eagar_tsai(self):
        return references.moving_gaussian(self.relative_points(), self.END, self.POWER, self.SIGMA,
                                          self.SPEED, self.START, self.K, self.RHO_C)

    def test_converges_to_eagar_and_tsai_with_the_square_of_the_spacing(self):
        """On the surface, too, where the beam makes it warmer than the cells."""
        exact, errors, means = 300 + self.eagar_tsai(), [], []
        top = 300 + references.moving_gaussian(
            [(self.START + self.SPEED * self.END, 0.0, 0.0)], self.END, self.POWER, self.SIGMA,
            self.SPEED, self.START, self.K, self.RHO_C)[0]
        points = [{"name": name, "at": list(at)} for name, at in self.POINTS.items()]
        points.append({"name": "top", "at": [self.START + self.SPEED * self.END, self.Y, self.TOP]})
        for n in (1, 2, 4):
            run = self.solve_example("laser_track", f"track{n}",
                                     f"grid.cells=[{32 * n}, {16 * n}, {12 * n}]",
                                     f"output.probes.points={json.dumps(points)}")
            found = last_row(run, ["top"])[0]
            means.append(run.history()[-1]["T_z_max_K"])
            errors.append(float(np.abs(last_row(run, self.POINTS) - exact).max()))
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")
        self.assert_order(errors, 2, 0.3)
        self.assert_below(errors[-1], 0.012 * (exact.max() - 300), "largest error, K")
        self.assert_below(abs(found - top), 0.01 * (top - 300), "error under the beam, K")
        self.assertAlmostEqual((means[0] - means[1]) / (means[1] - means[2]), 4, delta=0.6)

    def test_rosenthal_is_close_behind_the_beam(self):
        """Within 12 %: the heat has spread to three times the width of the beam."""
        at = self.START + self.SPEED * self.END
        far = references.rosenthal(self.relative_points()[3:], at, self.POWER, self.SPEED, self.K,
                                   self.RHO_C)
        self.assert_below(abs(far[0] / self.eagar_tsai()[3] - 1), 0.12, "Rosenthal")


class MeltTrack(Example):
    """The melt pool of the history: of the laser track, with more power and no latent heat, beside
    Eagar and Tsai; and of an alloy beside what NIST measured."""

    POWER, MELTING = 60.0, 900.0
    # W, m/s; width and depth measured, um (B. Lane et al., 2020, Table 3)
    MEASURED = {"A": (137.9, 0.4, 147.9, 42.5), "B": (179.2, 0.8, 123.5, 36.0),
                "C": (179.2, 1.2, 106.0, 29.6)}

    @staticmethod
    def pool(run):
        return np.array([run.history()[-1][f"pool_{axis}_m"] for axis in "xyz"])

    def test_converges_to_eagar_and_tsai(self):
        """The uppermost cells have their centres half a cell below the surface: the extents there
        converge faster than those on the surface, which are of first order."""
        track = LaserTrack

        def rise(points):
            return references.moving_gaussian(points, track.END, 0.4 * self.POWER, track.SIGMA,
                                              track.SPEED, track.START, track.K, track.RHO_C, 200)

        at = track.START + track.SPEED * track.END
        surface, inside = [], []
        for n in (1, 2, 3):
            run = self.solve_example(
                "laser_track", f"pool{n}", f"grid.cells=[{32 * n}, {16 * n}, {12 * n}]",
                "output.history.melt_pool=true", f"output.melting={self.MELTING}",
                f"sources[0].gaussian.power={self.POWER}", "output.pictures.interval=3e-3")
            for errors, z in ((surface, 0.0), (inside, -25e-6 / n)):
                exact = references.melt_pool(rise, self.MELTING - 300, at, 6e-4, z)
                errors.append(np.abs(self.pool(run) / exact - 1))
            cells = run.history()[-1]["pool_volume_m3"] / (50e-6 / n)**3
            self.assertAlmostEqual(cells, round(cells), 6)
        for axis in (0, 1):
            self.assert_order([error[axis] for error in surface], 1.3, 0.3, (1, 2, 3))
            self.assertLess(inside[-1][axis], 0.005)
        self.assertLess(surface[-1][2], 0.02)

    def test_is_close_to_the_track_that_nist_measured(self):
        """Within 12 % of the width and 25 % of the depth: conduction alone."""
        for name, (power, speed, width, depth) in self.MEASURED.items():
            end = 0.9e-3 / speed
            run = self.solve_example(
                "melt_track", f"case{name}", f"sources[0].gaussian.power={power}",
                f'sources[0].gaussian.x="1.5e-4 + {speed}*t"', f"time.end={end}",
                f"output.history.interval={end / 2}", f"output.snapshots.interval={end}",
                f"output.pictures.interval={end}")
            length, found_width, found_depth = 1e6 * self.pool(run)
            self.assertLess(abs(found_width / width - 1), 0.12, f"case {name}")
            self.assertLess(abs(found_depth / depth - 1), 0.25, f"case {name}")
            self.assertGreater(length, 2 * found_width)
            with h5py.File(run.folder / "snapshots.vtkhdf") as file:
                rate = file["VTKHDF/CellData/cooling_rate"][-1][-1, 12]
            steady = rate[20:][np.isfinite(rate[20:])]   # of the cells behind the pool
            self.assertGreater(steady.size, 8)
            self.assertLess(steady.std() / steady.mean(), 0.05, f"rates of cooling {steady}")
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")


class RadiatingSlab(Example):
    FLUX, EMISSIVITY, AMBIENT, K, LENGTH = 1e5, 0.8, 300.0, 40.0, 0.02

    def test_the_steady_state_is_exact_on_any_grid(self):
        front = (self.FLUX / (self.EMISSIVITY * 5.670374419e-8) + self.AMBIENT**4) ** 0.25
        at_once = ("time.steady={temperature: 1e-8}",)
        for cells, sets in ((8, ()), (16, ()), (32, ()), (16, at_once), (500, at_once)):
            run = self.solve_example("radiating_slab", f"slab{cells}-{len(sets)}",
                                     f"grid.cells={cells}", *sets)
            x = (np.arange(cells) + 0.5) * self.LENGTH / cells
            exact = front + self.FLUX / self.K * (self.LENGTH - x)
            error = np.abs(run.temperature().ravel() / exact - 1).max()
            self.assert_below(error, 1e-10, f"relative error with {cells} cells")
            self.assert_below(abs(last_row(run, ["front"])[0] / front - 1), 1e-10, "front")

    def test_converges_on_the_way_with_the_square_of_the_spacing(self):
        fronts = []
        for cells in (8, 16, 32, 64):
            run = self.solve_example("radiating_slab", f"way{cells}", f"grid.cells={cells}",
                                     "time.end=200", "output.checkpoints.interval=200")
            fronts.append(last_row(run, ["front", "back"]))
        steps = [float(np.abs(a - b).max()) for a, b in zip(fronts, fronts[1:])]
        self.assert_order(steps, 2, 0.2)


class Freezing(Example):
    """Two phases in a half space: erf below the front, erfc above it."""

    SOLID, LIQUID, LATENT, RHO = (2.2, 2050.0), (0.58, 4200.0), 334e3, 1000.0
    PLATE, MELTING, START, END = 263.15, 273.15, 275.15, 10800.0

    def front(self):
        """lambda, by bisection of Stefan's condition."""
        (ks, cs), (kl, cl) = self.SOLID, self.LIQUID
        ratio = math.sqrt(ks / cs / (kl / cl))
        drop = self.MELTING - self.PLATE
        low, high = 1e-6, 3.0
        for _ in range(200):
            x = 0.5 * (low + high)
            solid = math.exp(-x**2) / math.erf(x)
            liquid = (kl / ks * ratio * (self.START - self.MELTING) / drop *
                      math.exp(-(x * ratio)**2) / math.erfc(x * ratio))
            needed = x * self.LATENT * math.sqrt(math.pi) / (cs * drop)
            low, high = (x, high) if solid - liquid > needed else (low, x)
        return low, 2 * low * math.sqrt(ks / (self.RHO * cs) * self.END)

    def exact(self, x):
        (ks, cs), (kl, cl) = self.SOLID, self.LIQUID
        root, front = self.front()
        erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)
        at = x / (2 * math.sqrt(ks / (self.RHO * cs) * self.END))
        far = x / (2 * math.sqrt(kl / (self.RHO * cl) * self.END))
        ratio = math.sqrt(ks / cs / (kl / cl))
        solid = self.PLATE + (self.MELTING - self.PLATE) * erf(at) / math.erf(root)
        liquid = self.START - (self.START - self.MELTING) * erfc(far) / math.erfc(root * ratio)
        return np.where(x < front, solid, liquid)

    def test_follows_neumann(self):
        _, front = self.front()
        fronts, errors = [], []
        for cells in (60, 120, 240):
            run = self.solve_example("freezing", f"front{cells}", f"grid.cells=[{cells}]")
            h = 0.24 / cells
            T = run.temperature().ravel()
            solidus = self.RHO * self.SOLID[1] * self.MELTING
            liquid = np.clip((run.enthalpy().ravel() - solidus) / (self.RHO * self.LATENT), 0, 1)
            fronts.append(abs((1 - liquid).sum() * h / front - 1))
            errors.append(float(np.abs(T - self.exact((np.arange(cells) + 0.5) * h)).mean()))
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")
        self.assert_order(fronts, 1.85, 0.2)
        self.assert_below(fronts[-1], 0.0008, "relative error of the front with 240 cells")
        self.assert_below(errors[-1], 0.004, "mean error with 240 cells, K")


class FreezePipe(Example):
    """A line sink: exponential integrals in both phases, with the front at 2 lambda sqrt(a t)."""

    SOLID, LIQUID, LATENT, RHO = (2.2, 2050.0), (0.58, 4200.0), 334e3, 1000.0
    POWER, MELTING, START, END = 200.0, 273.15, 275.15, 2.4e5
    POINTS = {"ice": 0.12, "water": 0.3}

    def front(self):
        """lambda, by bisection of the heat balance of the front."""
        (ks, cs), (kl, cl) = self.SOLID, self.LIQUID
        solid, liquid = ks / (self.RHO * cs), kl / (self.RHO * cl)
        low, high = 1e-6, 3.0
        for _ in range(200):
            x = 0.5 * (low + high)
            z = x**2 * solid / liquid
            gain = self.POWER / (4 * math.pi) * math.exp(-x**2) - \
                kl * (self.START - self.MELTING) * math.exp(-z) / references.expint1(z)
            low, high = (x, high) if gain > x**2 * solid * self.RHO * self.LATENT else (low, x)
        return low, 2 * low * math.sqrt(solid * self.END)

    def exact(self, r):
        (ks, cs), (kl, cl) = self.SOLID, self.LIQUID
        root, front = self.front()
        E1 = references.expint1
        if r < front:
            solid = E1(r**2 * self.RHO * cs / (4 * ks * self.END)) - E1(root**2)
            return self.MELTING - self.POWER / (4 * math.pi * ks) * solid
        at_front = E1(root**2 * ks / cs / (kl / cl))
        return self.START - (self.START - self.MELTING) / at_front * \
            E1(r**2 * self.RHO * cl / (4 * kl * self.END))

    def test_the_front_is_a_circle_that_follows_the_line_sink(self):
        _, front = self.front()
        for n in (20, 40, 60):
            run = self.solve_example("freeze_pipe", f"pipe{n}", f"grid.cells=[{n}, {n}]",
                                     "output.pictures.interval=2.4e5")
            h = 0.8 / n
            solidus = self.RHO * self.SOLID[1] * self.MELTING
            ice = 1 - np.clip((run.enthalpy()[0] - solidus) / (self.RHO * self.LATENT), 0, 1)
            # the square pipe shifts it by 0.0005 at most
            self.assert_below(abs(math.sqrt(4 * ice.sum() / math.pi) * h / front - 1), 0.02 / n,
                              f"relative error of the front with {n} x {n} cells")
            for radius in (ice[0].sum() * h, np.diag(ice).sum() * h * math.sqrt(2)):
                self.assert_below(abs(radius - front), 0.5 * h, "front on an axis, diagonal, m")
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")
        names = ["ice", "ice_askew", "water", "water_askew"]
        exact = np.array([self.exact(r) for r in (0.12, 0.084 * 2**0.5, 0.3, 0.21 * 2**0.5)])
        error = np.abs(last_row(run, names) - exact)
        self.assert_below(error[:2].max(), 0.05, "error in the ice, K")
        self.assert_below(error[2:].max(), 0.06, "error in the water, K")


class Permafrost(Example):
    """Lunardini: erf in the frozen and the partly frozen zone, erfc in the thawed one, whose ends
    are at 2 psi sqrt(a1 t) and 2 gamma sqrt(a4 t)."""

    K, RHO_C, LATENT = (3.464352, 2.941352, 2.418352), 1680 * 410.93, 1680 * 40768.896
    SURFACE, FROZEN, THAWED, START, END = 267.15, 269.15, 273.15, 277.15, 86400.0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        span = self.THAWED - self.FROZEN
        capacities = (self.RHO_C, self.RHO_C + self.LATENT / span, self.RHO_C)
        self.a = [k / c for k, c in zip(self.K, capacities)]
        low, high = 1e-9, 5.0
        for _ in range(200):
            psi = 0.5 * (low + high)
            low, high = (psi, high) if self.excess(psi) < 0 else (low, psi)
        self.psi = low
        self.excess(low)

    def excess(self, psi):
        """Of the heat that enters the outer end of the partly frozen zone, per kelvin; sets gamma
        from what leaves its inner end."""
        (k1, k2, k3), (a1, a4, a3) = self.K, self.a
        inner = psi * math.sqrt(a1 / a4)
        span = self.THAWED - self.FROZEN
        self.width = (k2 / k1 * math.sqrt(a1 / a4) * span / (self.FROZEN - self.SURFACE) *
                      math.erf(psi) * math.exp(psi**2 - inner**2))
        if math.erf(inner) + self.width >= 1:
            return 1.0
        low, high = 0.0, 6.0
        for _ in range(100):
            self.gamma = 0.5 * (low + high)
            wide = math.erf(self.gamma) < math.erf(inner) + self.width
            low, high = (self.gamma, high) if wide else (low, self.gamma)
        far = self.gamma * math.sqrt(a4 / a3)
        return (k3 * (self.START - self.THAWED) / math.erfc(far) * math.exp(-far**2) /
                math.sqrt(a3) - k2 * span / self.width * math.exp(-self.gamma**2) / math.sqrt(a4))

    def exact(self, x):
        erf, (a1, a4, a3) = np.vectorize(math.erf), self.a
        at = [x / (2 * math.sqrt(a * self.END)) for a in (a1, a4, a3)]
        frozen = self.SURFACE + (self.FROZEN - self.SURFACE) * erf(at[0]) / math.erf(self.psi)
        partly = self.THAWED + (self.THAWED - self.FROZEN) * \
            (erf(at[1]) - math.erf(self.gamma)) / self.width
        thawed = self.START - (self.START - self.THAWED) * (1 - erf(at[2])) / \
            math.erfc(self.gamma * math.sqrt(a4 / a3))
        return np.where(at[0] < self.psi, frozen, np.where(at[1] < self.gamma, partly, thawed))

    def test_follows_lunardini(self):
        ends = [2 * self.psi * math.sqrt(self.a[0] * self.END),
                2 * self.gamma * math.sqrt(self.a[1] * self.END)]
        fronts, errors = [], []
        for cells in (200, 400, 800):
            run = self.solve_example("permafrost", f"ground{cells}", f"grid.cells=[{cells}]")
            h = 4 / cells
            x, T = (np.arange(cells) + 0.5) * h, run.temperature().ravel()
            found = [np.interp(level, T, x) for level in (self.FROZEN, self.THAWED)]
            fronts.append([abs(a / b - 1) for a, b in zip(found, ends)])
            errors.append(float(np.abs(T - self.exact(x)).mean()))
            last = run.history()[-1]
            self.assert_below(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"], "drift, J")
        self.assert_order([inner for inner, _ in fronts], 1, 0.1)
        self.assert_below(fronts[-1][0], 0.003, "frozen zone with 800 cells, relative error")
        self.assert_below(fronts[-1][1], 0.0012, "thawed zone with 800 cells, relative error")
        for coarse, fine in zip(errors, errors[1:]):
            self.assert_below(fine, 0.6 * coarse, "mean error, K")


class HotPlate(Example):
    def test_converges_with_the_square_of_the_spacing(self):
        k0, b = 34.5, -0.015

        def integral(T):
            return k0 * T + b / 2 * T**2

        errors = []
        at_once = "time.steady={temperature: 1e-8}"
        for cells, more in ((20, ()), (40, ()), (80, ()), (160, (at_once,)), (320, (at_once,))):
            run = self.solve_example("hot_plate", f"plate{cells}", f"grid.cells=[{cells}]", *more)
            x = (np.arange(cells) + 0.5) / cells
            at = integral(1500) + (integral(300) - integral(1500)) * x
            exact = (-k0 + np.sqrt(k0**2 + 2 * b * at)) / b
            errors.append(float(np.abs(run.temperature().ravel() - exact).max()))
        self.assert_order(errors, 2, 0.15)


if __name__ == "__main__":
    unittest.main()
