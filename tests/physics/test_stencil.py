"""Wider stencils: the same bits any way they are run, the heat ledger, the orders that `verify`
measures, and the stable step and one step of the program against an operator in exact fractions."""
import json
import unittest
from fractions import Fraction

import numpy as np

import problems
from harness import SMALL, Case, checkpoints, short_dt, some
from test_bitwise import Bitwise, quiet

ORDERS = (4, 6, 8)
SLOWER = 0.3  # of the longest step of order 2: the stiffest closure allows 4 / 12.3
FILM = {"type": "convection", "coefficient": "900 + 500*sin(700*t)", "ambient": 280.0}


def problem(cells, order, precision="float64", closures=None):
    config = problems.mixed(cells, precision, closures)
    config["run"]["stencil"] = {"order": order}
    dt = short_dt(config, SLOWER)
    config["time"] = {"end": float(f"{(problems.STEPS - 1 + 0.37) * dt:.6g}"), "dt": dt}
    return config


class Same(Bitwise):
    CELLS = [33, 26, 21]

    def compare(self, config, ways):
        reference = self.solve(quiet(config), sets=["run.halo.overlap=off", "run.backend=cpu"])
        rounding = 1e-15 if config["run"]["precision"] == "float64" else 1e-6
        drift, heat = reference.report["heat_drift_J"], reference.report["heat_J"]
        self.assert_below(abs(drift / heat), 10 * rounding, "relative drift of the heat")
        for ranks, backend, overlap in ways:
            what = f"{ranks} ranks, {backend}, overlap {overlap}"
            self.expect_same(reference, quiet(config), what, ranks=ranks,
                             sets=[f"run.halo.overlap={overlap}", f"run.backend={backend}"])
        return reference

    def test_ways_of_running(self):
        ways = ((3, "guard", "on"), (2, "cpu", "on"), (5, "cpu", "off"), (1, "guard", "off"))
        for n, order in enumerate(some(ORDERS, 1)):
            precision = "float32" if order == 6 else "float64"
            with self.subTest(order=order):
                self.compare(problem(self.CELLS, order, precision),
                             some(ways[n:] + ways[:n], 1 if SMALL else 4)[:2])

    def test_blocks_as_thick_as_the_radius(self):
        config = problem([37, 18, 16], 8)
        reference = self.compare(config, [])
        for blocks in ([1, 4, 1], [1, 1, 4]):
            self.expect_same(reference, quiet(config), f"{blocks}", ranks=4,
                             sets=[f"run.decomposition={blocks}"])

    def test_thin_blocks_beside_a_closed_face(self):
        """Their cells read 2 radius cells of the block and its halo, which may be in flight."""
        for order, cells in some(((6, 9), (4, 6), (8, 14)), 1):
            config = problem([cells, 8, 8], order)
            reference = self.compare(config, [])
            self.expect_same(reference, quiet(config), f"{order}", ranks=2,
                             sets=["run.decomposition=[2, 1, 1]", "run.halo.overlap=on"])

    def test_fewer_dimensions_and_a_film_of_time(self):
        self.compare(problem([41, 30], 4, closures=[FILM, problems.HEATED, problems.AROUND,
                                                    problems.AROUND]), [(3, "guard", "on")])
        self.compare(problem([57], 8, closures=[FILM, problems.MOVING]), [(3, "cpu", "on")])

    def test_restart(self):
        config = problem(self.CELLS, 6)
        writing = dict(config, output=dict(config["output"], checkpoints={"every": 9, "keep": 9}))
        first = self.solve(writing, ranks=2)
        at_18 = checkpoints(first.folder)[1]
        again = self.solve(quiet(config), "--restart", at_18, ranks=3, sets=["run.backend=guard"])
        self.assertEqual(again.exact("field_hash", "boundary_heat_J", "heat_drift_J"),
                         first.exact("field_hash", "boundary_heat_J", "heat_drift_J"))
        other = quiet(problem(self.CELLS, 4))
        result, _ = self.start(other, "--restart", at_18)
        self.assert_code(result, 2)
        self.assert_says(result, "run.stencil.order")
        changed = self.solve(other, "--restart", at_18, "--restart-changed")
        drift, heat = changed.report["heat_drift_J"], changed.report["heat_J"]
        self.assert_below(abs(drift / heat), 1e-14, "relative drift after another order")

    def test_a_moving_source(self):
        config = problem(self.CELLS, 4)
        config["sources"] = [{"gaussian": {
            "power": 900.0, "x": "0.1 + 30*t", "y": 0.15, "z": 0.1, "radius": 0.05}}]
        self.compare(config, [(3, "guard", "on")])


class Refused(Case):
    def expect(self, change, *words, order=4, cells=(20, 20, 20)):
        config = problem(list(cells), order)
        change(config)
        result, _ = self.start(config)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, *words)

    def test_what_is_not_uniform(self):
        def radiate(config):
            config["boundary"]["x_min"] = {"type": "radiation", "emissivity": 0.8,
                                           "ambient": 290.0}

        def heat(config):
            config["sources"] = [{"box": {"lower": [0.1] * 3, "upper": [0.2] * 3,
                                          "density": 1e5}}]

        def divide(config):
            material = dict(config.pop("material"), name="a")
            config["materials"] = [material, dict(material, name="b", conductivity=3.0)]
            config["parts"] = [{"uniform": {"material": "a"}},
                               {"layer": {"axis": "z", "from": 0.1, "to": 0.2, "material": "b"}}]

        self.expect(radiate, "boundary.x_min", "order 2 only", "order is 4")
        self.expect(heat, "sources[0]", "order 2 only")
        self.expect(divide, "materials", "order 2 only")

    def test_orders_and_sizes(self):
        self.expect(lambda config: None, "grid.cells", "y has 7 cells", "8", order=8,
                    cells=(20, 7, 20))
        self.expect(lambda config: None, "run.stencil.order", "5", "2, 4, 6", order=5)
        self.expect(lambda config: config["run"].update(decomposition=[1, 1, 1]),
                    "grid.cells", "3", order=4, cells=(3, 20, 20))

    def test_blocks_thinner_than_the_radius(self):
        config = problem([16, 16, 16], 8)
        result, _ = self.start(config, ranks=5, sets=["run.decomposition=[1, 1, 5]"])
        self.assert_code(result, 2)
        self.assert_says(result, "run.decomposition", "halo")


class Orders(Case):
    def test_verify(self):
        for order in some(ORDERS, 1):
            result = self.isotherm("verify", "--order", order, "--json", "orders.json")
            self.assert_code(result, 0)
            rows = json.loads((self.folder / "orders.json").read_text())["rows"]
            self.assertEqual(len(rows), 18)
            for row in rows:
                self.assert_below(order - 0.6, row["order_in_space"], f"lowest order of {row}")

    def test_an_unknown_order(self):
        result = self.isotherm("verify", "--order", "5")
        self.assert_code(result, 2)
        self.assert_says(result, "5", "2, 4, 6, 8")


# ---- the operator in fractions -------------------------------------------------------------------

def solve(matrix, right):
    """Gauss and Jordan, without rounding."""
    rows = [list(row) + list(extra) for row, extra in zip(matrix, right)]
    n = len(rows)
    for c in range(n):
        pivot = next(r for r in range(c, n) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [value / rows[c][c] for value in rows[c]]
        for r in range(n):
            if r != c:
                rows[r] = [a - rows[r][c] * b for a, b in zip(rows[r], rows[c])]
    return [row[n:] for row in rows]


def closure_fluxes(radius, value, slope):
    """The flux at faces 0 .. radius - 1 as weights of 2 radius - 1 means and of g in value T +
    slope T' = g: of the polynomial with those means."""
    n = 2 * radius - 1
    matrix = [[Fraction((c + 1)**(d + 1) - c**(d + 1), d + 1) for d in range(n + 1)]
              for c in range(n)]
    matrix.append([Fraction(value), Fraction(slope)] + [Fraction(0)] * (n - 1))
    unit = [[Fraction(int(r == c)) for c in range(n + 1)] for r in range(n + 1)]
    coefficients = solve(matrix, unit)
    return [[sum(d * Fraction(f)**(d - 1) * coefficients[d][c] for d in range(1, n + 1))
             for c in range(n + 1)] for f in range(radius)]


def inner_flux(radius):
    """The same of a face far inside: weights of the means before and after it."""
    cells = range(-radius, radius)
    matrix = [[Fraction((c + 1)**(d + 1) - c**(d + 1), d + 1) for d in range(2 * radius)]
              for c in cells]
    unit = [[Fraction(int(r == c)) for c in range(2 * radius)] for r in range(2 * radius)]
    return solve(matrix, unit)[1]


def operator(radius, cells, low, high):
    """D = A T + b (g_low, g_high); low and high: (value, slope) of the conditions, inward."""
    flux = np.zeros((cells + 1, cells + 2))
    inner = [float(w) for w in inner_flux(radius)]
    for face in range(radius, cells + 1 - radius):
        flux[face, face - radius:face + radius] = inner
    for f, row in enumerate(closure_fluxes(radius, *low)):
        flux[f, :2 * radius - 1] = [float(w) for w in row[:-1]]
        flux[f, cells] = float(row[-1])
    for f, row in enumerate(closure_fluxes(radius, *high)):
        flux[cells - f, :cells] = 0
        flux[cells - f, cells - 2 * radius + 1:cells] = [-float(w) for w in row[-2::-1]]
        flux[cells - f, cells + 1] = -float(row[-1])
    both = flux[1:] - flux[:-1]
    return both[:, :cells], both[:, cells:]


HELD, INSULATED = (1, 0), (0, 1)


def film(biot):
    return (-Fraction(biot), 1)


class Operator(Case):
    def line(self, order, cells, low, high, steps=1):
        config = {"grid": {"cells": [cells], "lower": [0.0], "upper": [1.0]},
                  "material": {"conductivity": 2.0, "density": 4.0, "heat_capacity": 0.5},
                  "initial": [{"expression": {"value": "300 + 40*sin(7*x) + 9*cos(31*x)"}}],
                  "boundary": {"x_min": low, "x_max": high},
                  "time": {"steps": steps, "dt": "auto"},
                  "output": {"checkpoints": {"every": 100}},
                  "run": {"stencil": {"order": order}}}
        return self.solve(config)

    def test_the_spectrum(self):
        """All eigenvalues are real and not positive, and the stable step is that of the largest."""
        gentle = [INSULATED, film(Fraction(1, 50)), film(1)]
        stiff = [HELD, film(30), INSULATED]
        for order in ORDERS:
            radius = order // 2
            for kinds, face in ((gentle, {"type": "flux", "value": 0.0}),
                                (stiff, {"type": "temperature", "value": 300.0})):
                largest = 0
                for cells in (*range(order, order + 3), 24):
                    for low, high in ((a, b) for a in kinds for b in kinds):
                        found = np.linalg.eigvals(operator(radius, cells, low, high)[0])
                        self.assert_below(np.abs(found.imag).max(), 1e-9, "imaginary part")
                        self.assert_below(found.real.max(), 1e-9, "growth")
                        largest = max(largest, -found.real.min())
                run = self.line(order, 40, face, face)
                limit = 2 * (1 / 40)**2 / run.report["dt_stable"]
                self.assert_below(largest, limit, f"order {order}: stiffness")
                self.assert_below(limit, 1.02 * largest, f"order {order}: limit")

    def test_a_step(self):
        temperature = {"type": "temperature", "value": 310.0}
        flux = {"type": "flux", "value": 50.0}
        convection = {"type": "convection", "coefficient": 30.0, "ambient": 280.0}
        cells = 24
        biot = Fraction(30, 2 * cells)
        ends = {"temperature": (temperature, HELD, 310.0),
                "flux": (flux, INSULATED, -50.0 / 2.0 / cells),
                "convection": (convection, film(biot), -float(biot) * 280.0)}
        for order, low, high in ((4, "temperature", "flux"), (6, "convection", "temperature"),
                                 (8, "flux", "convection"), (8, "temperature", "temperature")):
            setting = [ends[low], ends[high]]
            before = self.line(order, cells, setting[0][0], setting[1][0], 1)
            after = self.line(order, cells, setting[0][0], setting[1][0], 2)
            a, b = operator(order // 2, cells, setting[0][1], setting[1][1])
            start = before.temperature().ravel()
            r = before.report["dt"] * cells**2
            expected = start + r * (a @ start + b @ [setting[0][2], setting[1][2]])
            error = np.abs(after.temperature().ravel() - expected).max()
            self.assert_below(error, 1e-10, f"order {order}, {low} and {high}: largest error, K")


if __name__ == "__main__":
    unittest.main()
