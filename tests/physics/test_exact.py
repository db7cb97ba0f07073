"""Runs whose result is known: from the discrete scheme, from the equation, or from conservation."""
import json
import math
import unittest
from decimal import Decimal, getcontext

import numpy as np

import problems
from harness import (SMALL, Case, cell_centers, checkpoints, relative, short_dt, some, stable_dt,
                     thorough)

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def decimal_sine(x):
    """By its series; x small."""
    term, total, n = x, Decimal(0), 1
    while abs(term) > Decimal(10)**-58:
        total += term
        n += 2
        term *= -x * x / (n * (n - 1))
    return total


def fixed(value):
    return {"type": "temperature", "value": value}


def flux(value):
    return {"type": "flux", "value": value}


class SineMode(Case):
    """The product of sines is an eigenvector of the discrete scheme."""

    CELLS = [24, 18, 14]
    LENGTHS = [1.0, 0.8, 0.6]
    MATERIAL = {"conductivity": 2.5, "density": 4.0, "heat_capacity": 1.25}

    def factor(self, dt, steps):
        """(1 - 4 sum r sin^2(pi / 2n))^steps, in 60 digits from the numbers as doubles."""
        alpha = Decimal(2.5) / (Decimal(4.0) * Decimal(1.25))
        decay = Decimal(0)
        for n, length in zip(self.CELLS, self.LENGTHS):
            h = Decimal(length) / n
            decay += 4 * alpha * Decimal(dt) / h**2 * decimal_sine(PI / (2 * n))**2
        return (1 - decay)**steps

    def test_decays_by_the_factor_of_the_scheme(self):
        steps = 1000
        config = {
            "grid": {"cells": self.CELLS, "lower": [0.0] * 3, "upper": self.LENGTHS},
            "material": self.MATERIAL,
            "initial": [{"expression": {"value": "50*sin(pi*x)*sin(pi*y/0.8)*sin(pi*z/0.6)"}}],
            "boundary": {face: fixed(0.0) for face in problems.FACES},
            "output": {"checkpoints": {"every": steps}},
        }
        config["time"] = {"steps": steps, "dt": short_dt(config, 0.9)}
        run = self.solve(config, ranks=3)
        x, y, z = cell_centers(config)
        start = 50 * np.sin(np.pi * x) * np.sin(np.pi * y / 0.8) * np.sin(np.pi * z / 0.6)
        exact = start * float(self.factor(config["time"]["dt"], steps))
        error = np.abs(run.temperature() / exact - 1).max()
        self.assert_below(error, 1e-12, "largest relative error of a cell after 1,000 steps")


@thorough
class Verify(Case):
    BOUNDARIES = ["temperature", "temperature as f(t)", "flux", "convection", "periodic",
                  "flux as f(t)", "convection as f(t)", "radiation as f(t)"]

    def test_orders_on_two_ranks(self):
        result = self.isotherm("verify", "--json", "orders.json", ranks=2, limit=240)
        self.assert_code(result, 0)
        rows = json.loads((self.folder / "orders.json").read_text())["rows"]
        found = {(row["boundary"], row["dimensions"]): row for row in rows}
        for key in ((name, n) for name in self.BOUNDARIES for n in (1, 2, 3)):
            self.assertIn(key, found, "verify has no row for this boundary and dimension")
        for key, row in found.items():
            self.assert_below(abs(row["order_in_space"] - 2), 0.05, f"{key}: order in space - 2")
            self.assert_below(abs(row["order_in_time"] - 1), 0.05, f"{key}: order in time - 1")

    def test_orders_of_super_steps(self):
        for scheme, order in (("sts1", 1), ("sts2", 2), ("monotone", 2), ("implicit", 2)):
            result = self.isotherm("verify", "--scheme", scheme, "--json", f"{scheme}.json")
            self.assert_code(result, 0)
            rows = json.loads((self.folder / f"{scheme}.json").read_text())["rows"]
            self.assertEqual(len(rows), 27)
            for row in rows:
                self.assert_below(abs(row["order_in_time"] - order), 0.1, f"{scheme}: {row}")

    def test_steady_states(self):
        result = self.isotherm("verify", "--scheme", "steady", "--json", "steady.json", ranks=2)
        self.assert_code(result, 0)
        rows = {row["problem"]: row for row in
                json.loads((self.folder / "steady.json").read_text())["rows"]}
        for name in ("wall with a contact", "radiating slab"):
            self.assert_below(rows[name]["fine_error_K"], 1e-8, name)
        for name in ("slab with k(T)", "perfused tissue"):
            self.assert_below(abs(rows[name]["order"] - 2), 0.05, name)


class SteadyProfile(Case):
    """Between a convective face and a heated one the profile is linear: k T' = q, and
    q = hc (T(0) - Ta). The scheme has it exactly."""

    COEFFICIENT, AMBIENT, FLUX, CONDUCTIVITY = 35.0, 290.0, 1200.0, 2.5

    def profile(self, distance):
        return (self.AMBIENT + self.FLUX / self.COEFFICIENT +
                self.FLUX / self.CONDUCTIVITY * distance)

    def problem(self, cells, axis, start, steps):
        lengths = [0.5, 0.4, 0.3][:len(cells)]
        closures = [flux(0.0)] * (2 * len(cells))
        closures[2 * axis] = {"type": "convection", "coefficient": self.COEFFICIENT,
                              "ambient": self.AMBIENT}
        closures[2 * axis + 1] = flux(self.FLUX)
        return {
            "grid": {"cells": cells, "lower": [0.0] * len(cells), "upper": lengths},
            "material": {"conductivity": self.CONDUCTIVITY, "density": 4.0, "heat_capacity": 1.25},
            "initial": [{"expression": {"value": start}}],
            "boundary": dict(zip(problems.FACES, closures)),
            "time": {"steps": steps},
            "output": {"checkpoints": {"every": steps}},
        }

    def check(self, config, axis, **how):
        field = self.solve(config, **how).temperature()
        exact = self.profile(cell_centers(config)[axis])
        error = np.abs(field / exact - 1).max()
        self.assert_below(error, 1e-10, f"relative error of the steady profile along {'xyz'[axis]}")

    def exact_start(self, axis):
        surface = self.AMBIENT + self.FLUX / self.COEFFICIENT
        return f"{surface!r} + {self.FLUX / self.CONDUCTIVITY!r}*{'xyz'[axis]}"

    def test_stays_along_each_axis(self):
        for axis in some(range(3), 1):
            with self.subTest(axis="xyz"[axis]):
                config = self.problem([13, 11, 9], axis, self.exact_start(axis), 1000)
                self.check(config, axis, ranks=2)

    @thorough
    def test_is_reached_from_a_uniform_start(self):
        self.check(self.problem([8], 0, "400", 12000), 0)


class Conservation(Case):
    """No heat is lost or made."""

    STEPS = 1000 if SMALL else 10000

    def drift(self, closure, **how):
        config = problems.base([20, 16, 12], [closure] * 6)
        config["time"] = {"steps": self.STEPS, "safety": 0.95}
        config["output"] = {"history": {"every": 50}}
        run = self.solve(config, **how)
        rows = run.history()
        self.assertGreater(rows[0]["max_K"] - rows[0]["min_K"], 300, "the start is uneven")
        self.assertLess(rows[-1]["max_K"] - rows[-1]["min_K"], 1, "the heat has spread")
        self.assertEqual(rows[-1]["step"], self.STEPS)
        return max(relative(row["heat_J"], rows[0]["heat_J"]) for row in rows)

    @thorough
    def test_insulated_box(self):
        self.assert_below(self.drift(flux(0.0)), 1e-12, "drift of the heat, as a share of it")

    def test_periodic_box(self):
        drift = self.drift(problems.AROUND, ranks=2)
        self.assert_below(drift, 1e-12, "drift of the heat, as a share of it")


class Reference(Case):
    """Mixed boundaries, all kinds of initial shapes, a shorter last step: against plain numpy."""

    def check(self, cells, ranks, closures):
        config = problems.mixed(cells, closures=closures)
        run = self.solve(config, ranks=ranks)
        steps = problems.step_list(config)
        start = problems.initial_state(config)
        field, came_in = problems.reference(config, start, steps)
        error = np.abs(run.temperature() / field - 1).max()
        self.assert_below(error, 2e-13, "relative difference from the reference")
        self.assertGreater(abs(came_in), 1e-3 * run.report["heat_J"], "heat came in")
        self.assert_below(relative(run.report["boundary_heat_J"], came_in), 1e-10,
                          "boundary_heat_J against the reference")
        self.assert_below(abs(run.report["heat_drift_J"]) / run.report["heat_J"], 1e-13,
                          "heat_drift_J as a share of heat_J")
        self.assert_below(relative(run.report["mean_K"], field.mean()), 1e-13, "mean_K")
        self.assert_below(relative(run.report["min_K"], field.min()), 2e-13, "min_K")
        self.assert_below(relative(run.report["max_K"], field.max()), 2e-13, "max_K")
        self.assertEqual((run.report["steps"], run.report["time"]),
                         (problems.STEPS, config["time"]["end"]))

    def test_problems(self):
        p = problems
        fluxes = [p.HEATED, p.MOVING, p.COOLED, p.HEATED]
        other_way_round = [p.HEATED, p.HOT, p.COOLED, p.MOVING, p.AROUND, p.AROUND]
        for cells, ranks, closures in some((([17, 13, 11], 3, None), ([31, 19], 3, None),
                                            ([43], 2, None), ([16, 21], 2, fluxes),
                                            ([11, 12, 15], 4, other_way_round)), 2):
            with self.subTest(cells):
                self.check(cells, ranks, closures)

    @thorough
    def test_every_row_of_the_history_balances(self):
        config = problems.mixed([17, 13, 11])
        config["output"]["history"]["every"] = 1
        rows = self.solve(config, ranks=2).history()
        self.assertEqual([row["step"] for row in rows], list(range(problems.STEPS + 1)))
        for row in rows:
            share = abs(row["heat_drift_J"]) / row["heat_J"]
            self.assert_below(share, 1e-13, f"drift at step {row['step']} as a share of the heat")
            kept = row["heat_J"] - rows[0]["heat_J"] - row["boundary_heat_J"]
            self.assert_below(abs(kept) / row["heat_J"], 1e-13, "heat_J less what came in")


class Restart(Case):
    """The ledger goes on where the checkpoint left it."""

    KEYS = ["time", "heat_J", "boundary_heat_J", "heat_drift_J", "mean_K", "min_K", "max_K",
            "field_hash"]

    def test_goes_on_as_if_nothing_had_happened(self):
        config = problems.mixed([17, 13, 11])
        whole = self.solve(config, ranks=2)
        for middle in some(checkpoints_before_the_end(whole), 1):
            with self.subTest(checkpoint=middle.name):
                rest = self.solve(config, "--restart", middle, ranks=3)
                self.assertEqual(rest.exact(*self.KEYS), whole.exact(*self.KEYS))
                self.assertEqual(rest.report["first_step"], int(middle.stem.split("_")[1]))
                self.assertEqual(rest.report["restarted_from"], str(middle))

    def test_a_run_that_is_made_longer_keeps_its_balance(self):
        """The first part ends with a shorter step, so the second starts off the beat."""
        config = problems.mixed([17, 13, 11])
        first = self.solve(config, ranks=2)
        config["time"]["end"] *= 1.5
        last = checkpoints(first.folder)[-1]
        rest = self.solve(config, "--restart", last, ranks=2)
        self.assertEqual(rest.report["time"], config["time"]["end"])
        self.assert_below(abs(rest.report["heat_drift_J"]) / rest.report["heat_J"], 1e-13,
                          "heat_drift_J as a share of heat_J")
        start = problems.initial_state(config)
        dt, middle = config["time"]["dt"], first.report["time"]
        steps = problems.step_list({"time": {"dt": dt, "end": middle}})
        count = math.ceil((config["time"]["end"] - middle) / dt - 1e-9)
        steps += [(middle + n * dt, dt) for n in range(count - 1)]
        steps += [(middle + (count - 1) * dt, config["time"]["end"] - middle - (count - 1) * dt)]
        field, came_in = problems.reference(config, start, steps)
        self.assertEqual(rest.report["steps"], len(steps))
        self.assert_below(relative(rest.report["mean_K"], field.mean()), 1e-13, "mean_K")
        self.assert_below(relative(rest.report["boundary_heat_J"], came_in), 1e-10,
                          "boundary_heat_J against the reference")


def checkpoints_before_the_end(run):
    last = run.report["steps"]
    return [path for path in checkpoints(run.folder) if int(path.stem.split("_")[1]) < last]


@thorough
class Symmetry(Case):
    def test_a_mirrored_problem_stays_mirrored_bit_for_bit(self):
        """Spacings are powers of two and the centre is 0, so that centres are exact mirrors."""
        cells = [22, 18, 14]
        half = [n / 128 for n in cells]
        config = problems.base(cells, [problems.COOLED, problems.COOLED, problems.MOVING,
                                       problems.MOVING, problems.HEATED, problems.HEATED])
        config["grid"].update(lower=[-x for x in half], upper=half)
        config["initial"] = [
            {"expression": {"value": "300 + 50*cos(90*x*x)*exp(-30*y*y) + 2000*z*z*x*x"}},
            {"sphere": {"center": [0.0] * 3, "radius": 0.06, "value": 900.0}}]
        config["time"] = {"steps": 60}
        config["output"] = {"checkpoints": {"every": 60}}
        field = self.solve(config, ranks=3).temperature()
        self.assertGreater(field.max() - field.min(), 50, "the field is not flat")
        for name, mirrored in zip("xyz", (field[:, :, ::-1], field[:, ::-1], field[::-1])):
            self.assertTrue(np.array_equal(field, mirrored), f"not the mirror of itself in {name}")


class Factors(Case):
    """Conductivities per cell."""

    def test_a_wall_by_factors_is_exact(self):
        k = [45.0, 0.0390625, 1.75]
        q = 100 / sum(0.04 / value for value in k)
        joints = 400 - q * np.cumsum([0] + [0.04 / value for value in k])
        steady = (f"x < 0.04 ? 400 - {q / k[0]!r}*x : (x < 0.08 ? {float(joints[1])!r} - "
                  f"{q / k[1]!r}*(x - 0.04) : 300 + {q / k[2]!r}*(0.12 - x))")
        factor = f"x < 0.04 ? {k[0]} : (x < 0.08 ? {k[1]} : {k[2]})"
        material = {"name": "wall", "conductivity": 1.0, "density": 1000.0, "heat_capacity": 1.0}
        config = {
            "grid": {"cells": [12], "upper": [0.12]},
            "materials": [{**material, "conductivity_factor": {"formula": factor}}],
            "initial": [{"expression": {"value": steady}}],
            "boundary": {"x_min": {"type": "temperature", "value": 400.0},
                         "x_max": {"type": "temperature", "value": 300.0}},
            "time": {"steps": 2000},
            "output": {"checkpoints": {"every": 2000}},
        }
        exact = np.interp((np.arange(12) + 0.5) * 0.01, [0, 0.04, 0.08, 0.12], joints)
        self.assertLess(abs(self.run_config(config, "by_factors").temperature() - exact).max(),
                        1e-10)
        config["initial"] = [{"expression": {"value": "300 + 4000*x*(0.12 - x)"}}]
        config["materials"] = [material]
        uniform = self.run_config(config, "uniform").temperature()
        config["materials"] = [{**material, "conductivity_factor": {"formula": "1"}}]
        one = self.run_config(config, "one").temperature()
        self.assertLess(abs(one / uniform - 1).max(), 1e-12)


class RadiatingSlab(Case):
    """T = 600 + 300 exp(-alpha m^2 t) cos(m x), held at the end of x by radiation alone, to
    surroundings whose temperature follows from it."""

    def error(self, cells, precision="float64"):
        k, rho_c, length, emissivity, m = 2.0, 2e6, 0.05, 0.7, 20.0
        decay = f"exp(-{k / rho_c * m**2!r}*t)"
        face = f"(600 + {300 * math.cos(m * length)!r}*{decay})"
        slope = f"{-k * 300 * m * math.sin(m * length) / (emissivity * 5.670374419e-8)!r}*{decay}"
        end = 400.0
        config = {
            "grid": {"cells": [cells], "upper": [length]},
            "material": {"conductivity": k, "density": 2000.0, "heat_capacity": 1000.0},
            "initial": [{"expression": {"value": f"600 + 300*cos({m}*x)"}}],
            "boundary": {"x_min": {"type": "flux", "value": 0.0},
                         "x_max": {"type": "radiation", "emissivity": emissivity,
                                   "ambient": f"({face}^4 + {slope})^0.25"}},
            "time": {"end": end, "dt": end / round(0.4 * cells**2)},
            "run": {"precision": precision},
            "output": {"checkpoints": {"every": 10**6}},
        }
        run = self.run_config(config, f"slab{cells}{precision}")
        self.assertLess(abs(run.history()[-1]["heat_drift_J"]),
                        1e-13 * run.history()[-1]["heat_J"] if precision == "float64" else 1e3)
        h = length / cells
        x = (np.arange(cells) + 0.5) * h
        mean = math.sin(m * h / 2) / (m * h / 2) * np.cos(m * x)
        exact = 600 + 300 * math.exp(-k / rho_c * m**2 * end) * mean
        return abs(run.temperature().ravel() - exact).max()

    def test_is_of_second_order(self):
        errors = [self.error(cells) for cells in (16, 32, 64)]
        for coarse, fine in zip(errors, errors[1:]):
            self.assertAlmostEqual(math.log2(coarse / fine), 2, delta=0.1, msg=f"{errors}")
        self.assertLess(errors[0], 0.2)
        self.assertLess(self.error(16, "float32"), 0.2)


if __name__ == "__main__":
    unittest.main()
