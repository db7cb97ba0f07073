"""Steady states: against a direct solution of an independent discretisation, known values, the same
bits for ranks and backends, and what has none."""
import copy
import unittest

import numpy as np

from harness import Case, checkpoints, some, thorough
from media_solver import Problem, source_mask

FLUX = {"type": "flux", "value": 0}


def layered(cells, upper, jump=50):
    """Anisotropy, contacts, sources, patches, and each linear kind of boundary."""
    materials = [{"name": "a", "conductivity": 1.0, "density": 1000, "heat_capacity": 900},
                 {"name": "b", "conductivity": [jump, 0.5 * jump, 0.2 * jump], "density": 2500,
                  "heat_capacity": 700},
                 {"name": "c", "conductivity": 4.0, "density": 1500, "heat_capacity": 1000}]
    middle = [0.5 * u for u in upper]
    box = {"lower": [0.3 * u for u in upper], "upper": [0.7 * u for u in upper]}
    config = {
        "title": "steady",
        "grid": {"cells": cells, "upper": upper},
        "materials": materials,
        "parts": [{"uniform": {"material": "a"}},
                  {"box": {**box, "material": "b"}},
                  {"layer": {"axis": "x", "from": middle[0], "to": 0.65 * upper[0],
                             "material": "c"}}],
        "contacts": [{"between": ["a", "b"], "resistance": 0.003}],
        "sources": [{"box": {**box, "density": 2e5}}],
        "initial": [{"uniform": {"value": 300}}],
        "boundary": {"x_min": {"type": "temperature", "value": 320},
                     "x_max": {"type": "convection", "coefficient": 40, "ambient": 290}},
        "time": {"steady": {"temperature": 1e-9}},
        "output": {"checkpoints": {"every": 1}},
    }
    if len(cells) > 1:
        config["boundary"].update(y_min={"type": "flux", "value": 150}, y_max=dict(FLUX))
    if len(cells) > 2:
        patch = {"type": "temperature", "value": 350, "rectangle": {
            "lower": [0.2 * u for u in upper[:2]], "upper": [0.6 * u for u in upper[:2]]}}
        config["boundary"].update(z_min={**FLUX, "patches": [patch]},
                                  z_max={"type": "convection", "coefficient": 15, "ambient": 300})
    return config


def plain(cells, upper):
    """A uniform medium with flat cells, sources and each linear kind of boundary."""
    config = layered(cells, upper)
    del config["parts"], config["contacts"], config["materials"]
    config["material"] = {"conductivity": 1.0, "density": 1000, "heat_capacity": 900}
    if len(cells) > 2:
        config["boundary"]["z_min"] = dict(FLUX)
    return config


def direct(config):
    """By elimination: the balance of each cell is affine in the temperatures."""
    if "material" in config:
        config = {**config, "materials": [{"name": "a", **config["material"]}],
                  "parts": [{"uniform": {"material": "a"}}]}
    problem = Problem(config)
    shape = problem.classes.shape

    def balance(T):
        net = sum(problem.inflow(T, 0, axis, shift) / h
                  for axis, h in enumerate(problem.h) for shift in (1, -1))
        for source in config["sources"]:
            mask = source_mask(config, source, problem.classes)
            net = net + np.where(mask, next(iter(source.values()))["density"], 0.0)
        return net.ravel()

    at_zero = balance(np.zeros(shape))
    columns = [balance(unit.reshape(shape)) - at_zero for unit in np.eye(at_zero.size)]
    return np.linalg.solve(np.array(columns).T, -at_zero).reshape(shape)


def quiet(config):
    return {key: value for key, value in config.items() if key != "output"}


class Steady(Case):
    def test_direct_solution(self):
        cases = {"3D": layered([13, 9, 7], [0.13, 0.09, 0.07]),
                 "flat cells": layered([10, 12, 6], [1.0, 0.12, 0.02]),
                 "jump of 1000": layered([9, 8, 11], [0.09, 0.08, 0.11], jump=1000),
                 "2D": layered([31, 17], [0.3, 0.2]),
                 "1D": layered([65], [0.3]),
                 "uniform": plain([13, 9, 8], [0.13, 0.09, 0.2]),
                 "uniform, 1D": plain([65], [0.3])}
        for name, kind in (("periodic", layered), ("uniform, periodic", plain)):
            cases[name] = kind([12, 9, 8], [0.12, 0.09, 0.08])
            cases[name]["boundary"].update(y_min={"type": "periodic"}, y_max={"type": "periodic"})
        for name, config in some(cases.items(), 2):
            with self.subTest(name):
                run = self.solve(config)
                self.assertEqual(run.report["scheme"], "steady")
                error = np.abs(run.temperature() - direct(config)).max()
                self.assert_below(error, 2e-9, name)
                self.assert_below(run.report["steady"]["imbalance"], 1e-6, name)

    def test_wall_is_exact(self):
        """1200 K | 0.12 m of 1.0 | contact | 0.06 m of 0.1 | 0.02 m of 45 W/(m K) | film."""
        config = {
            "title": "wall",
            "grid": {"cells": [100], "upper": [0.2]},
            "materials": [{"name": name, "conductivity": k, "density": 1000, "heat_capacity": 1000}
                          for name, k in (("brick", 1.0), ("board", 0.1), ("steel", 45.0))],
            "parts": [{"layer": {"axis": "x", "from": 0, "to": 0.12, "material": "brick"}},
                      {"layer": {"axis": "x", "from": 0.12, "to": 0.18, "material": "board"}},
                      {"layer": {"axis": "x", "from": 0.18, "to": 0.2, "material": "steel"}}],
            "contacts": [{"between": ["brick", "board"], "resistance": 0.01}],
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {"x_min": {"type": "temperature", "value": 1200},
                         "x_max": {"type": "convection", "coefficient": 10, "ambient": 293}},
            "time": {"steady": {"temperature": 1e-9, "tolerance": 1e-11}},
            "output": {"checkpoints": {"every": 1}},
        }
        run = self.solve(config)
        q = (1200 - 293) / (0.12 + 0.01 + 0.6 + 0.02 / 45 + 0.1)
        last = run.history()[-1]
        self.assert_below(abs(last["flow_x_min_W"] / q - 1), 1e-10, "flow into the wall")
        self.assert_below(abs(last["flow_x_max_W"] / q + 1), 1e-10, "flow out of it")
        inner = 1200 - q * (np.arange(60) + 0.5) * 0.002
        self.assert_below(np.abs(run.temperature()[0, 0, :60] / inner - 1).max(), 1e-10, "brick")

    @thorough
    def test_nafems_t4(self):
        """NAFEMS T4, two-dimensional heat transfer with convection: 18.25 degC at (0.6, 0.2) m."""
        films = {"type": "convection", "coefficient": 750, "ambient": 273.15}
        config = {
            "title": "T4",
            "grid": {"cells": [120, 200], "upper": [0.6, 1.0]},
            "material": {"conductivity": 52, "density": 7850, "heat_capacity": 460},
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {"x_min": FLUX, "x_max": films, "y_max": films,
                         "y_min": {"type": "temperature", "value": 373.15}},
            "time": {"steady": {"temperature": 1e-6}},
            "output": {"probes": {"every": 1, "points": [{"name": "E", "at": [0.6, 0.2]}]}},
        }
        run = self.solve(config)
        last = (run.folder / "probes.csv").read_text().splitlines()[-1]
        self.assert_below(abs(float(last.split(",")[-1]) - 273.15 - 18.25), 0.02, "T at E")

    def test_same_bits(self):
        """Ranks share grids of 72 x 72 x 64 cells; blocks of odd sizes are copied at once."""
        for kind in (layered, plain):
            config = kind([72, 72, 64], [0.072, 0.06, 0.08])
            config["boundary"].update(x_min={"type": "periodic"}, x_max={"type": "periodic"})
            config["time"]["steady"] = {"temperature": 1e-3}
            reference = self.solve(quiet(config), sets=["run.backend=cpu"])
            for ranks, blocks, backend in some(((2, [2, 1, 1], "guard"), (3, [1, 3, 1], "cpu"),
                                                (4, [2, 1, 2], "cpu"), (5, [1, 5, 1], "cpu")), 1):
                run = self.solve(quiet(config), ranks=ranks, sets=[
                    f"run.backend={backend}", f"run.decomposition={blocks}"])
                self.assertEqual(run.exact("field_hash", "steady"),
                                 {**reference.exact("field_hash"),
                                  "steady": repr({**reference.report["steady"],
                                                  "grids": run.report["steady"]["grids"]})})

    @thorough
    def test_cycles_do_not_grow(self):
        cycles = []
        for n in (16, 32, 64):
            config = layered([n, n, n], [0.1, 0.1, 0.1])
            config["time"]["steady"] = {"temperature": 1e-6}
            cycles.append(self.solve(quiet(config)).report["steady"]["cycles"])
        self.assert_below(max(cycles) - min(cycles), 2, f"cycles {cycles}")

    def test_start_from_the_solution(self):
        config = layered([20, 15], [0.2, 0.15])
        run = self.solve(config)
        again = copy.deepcopy(config)
        again["initial"] = [{"file": {"path": str(checkpoints(run.folder)[-1])}}]
        again["time"]["steady"] = {"temperature": 1e-6}
        self.assert_below(self.solve(again).report["steady"]["cycles"], 2, "cycles")

    def test_heat_stays(self):
        """Without a given temperature: the mean of the start, if fluxes are balanced."""
        config = {"title": "bar", "grid": {"cells": [20, 9], "upper": [1, 1]},
                  "material": {"conductivity": 10, "density": 1000, "heat_capacity": 1000},
                  "initial": [{"uniform": {"value": 300}}],
                  "boundary": {"x_min": {"type": "flux", "value": 100},
                               "x_max": {"type": "flux", "value": -100},
                               "y_min": {"type": "periodic"}, "y_max": {"type": "periodic"}},
                  "time": {"steady": {"temperature": 1e-9}},
                  "output": {"checkpoints": {"every": 1}}}
        run = self.solve(config)
        expected = 300 + 10 * (0.5 - (np.arange(20) + 0.5) / 20)
        self.assert_below(np.abs(run.temperature()[0, 4] - expected).max(), 1e-10, "T")
        config["boundary"]["x_max"] = FLUX
        result, _ = self.start(config)
        self.assert_code(result, 2)
        self.assert_says(result, "no steady state", "100 W stay in the body")

    def test_too_few_cycles(self):
        config = layered([20, 15], [0.2, 0.15])
        result, folder = self.start(config, sets=["time.steady.cycles=2"])
        self.assert_code(result, 5)
        self.assert_says(result, "not reached after 2 cycles", "time.steady.cycles")
        self.assertTrue((folder / "postmortem.h5").exists())

    def test_refused(self):
        config = layered([20, 15], [0.2, 0.15])
        for key, value, says in (("run.precision", "float32", "the precision is not float64"),
                                 ("boundary.x_min.value", '"300 + t"', "varies in time"),
                                 ("boundary.x_max.emissivity", "0.5", "a face radiates"),
                                 ("time.steady.temperature", "0.1 degC", "difference")):
            result = self.isotherm("check", self.write(config), "--set", f"{key}={value}")
            self.assert_code(result, 2)
            self.assert_says(result, says)


if __name__ == "__main__":
    unittest.main()
