"""Steady states without a given temperature: of balanced fluxes and sources, and what has none."""
import copy
import unittest

import numpy as np

from harness import Case
from steady import FLUX


class Balance(Case):
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
        per_cell = copy.deepcopy(config)
        per_cell["materials"] = [{"name": "a", **per_cell.pop("material"),
                                  "heat_capacity_factor": {"formula": "0.1 + x*x"},
                                  "conductivity_factor": {"formula": "exp(3*x)"}}]
        per_cell["initial"] = [{"expression": {"value": "300 + 90*x"}}]
        run = self.solve(per_cell)
        first, last = run.history()
        self.assert_below(abs(last["heat_J"] / first["heat_J"] - 1), 1e-13, "heat")
        half = 0.025 / (10 * np.exp(3 * (np.arange(20) + 0.5) / 20))
        self.assert_below(np.abs(np.diff(run.temperature()[0, 4]) / -100 / (half[1:] + half[:-1]) -
                                 1).max(), 1e-6, "differences of T")
        config["boundary"]["x_max"] = FLUX
        result, _ = self.start(config)
        self.assert_code(result, 2)
        self.assert_says(result, "no steady state", "100 W stay in the body")
        self.check_held_air(config)
        # a source and a sink between periodic faces, by shapes and by a file
        loop = copy.deepcopy(config)
        loop["boundary"].update(x_min={"type": "periodic"}, x_max={"type": "periodic"})
        loop["sources"] = [{"layer": {"axis": "x", "from": low, "to": low + 0.1, "power": power}}
                           for low, power in ((0.0, 30), (0.5, -30))]
        T = self.solve(loop).temperature()[0, 4]
        self.assert_below(abs(T.mean() - 300), 1e-10, "mean")
        self.assert_below(abs(T.max() - T.min() - 30 / 2 * 0.45 / 10), 0.02, "by a line of nodes")
        heat = np.zeros((9, 20))
        heat[:, :2], heat[:, 10:12] = 300.0, -300.0   # W/m^3 in 0.1 m^3
        np.save(self.folder / "heat.npy", heat)
        loop["sources"] = [{"file": {"path": "heat.npy"}}]
        self.assert_below(abs(self.solve(loop, ranks=2).temperature()[0, 4] - T).max(), 1e-8, "T")
        # between faces of one temperature nothing flows that could be balanced
        given = {"type": "temperature", "value": 300}
        config["boundary"].update(x_min=given, x_max=given)
        config["initial"] = [{"expression": {"value": "300 + 25 * sin(17 * x)"}}]
        self.assert_below(np.abs(self.solve(config).temperature() - 300).max(), 1e-10, "T")

    def check_held_air(self, config):
        """A temperature that is given to cells of an ambient alone holds nothing; nor does one
        that a part of the body does not touch."""
        body = copy.deepcopy(config)
        body["materials"] = [{"name": "a", **body.pop("material")}]
        body["ambients"] = [{"name": "air", "temperature": 300}]
        body["parts"] = [{"uniform": {"material": "a"}},
                         {"layer": {"axis": "x", "from": 0, "to": 0.3, "material": "air"}}]
        body["boundary"].update(x_min={"type": "temperature", "value": 300},
                                x_max={"type": "flux", "value": 100})
        result, _ = self.start(body, ranks=2)
        self.assert_code(result, 2)
        self.assert_says(result, "no steady state", "100 W stay in the body")
        body["boundary"]["x_min"] = {"type": "convection", "coefficient": 5, "ambient": 300,
                                     "coefficient_factor": {"formula": "1 + y"}}
        result, _ = self.start(body)
        self.assert_code(result, 2)
        body["parts"][1]["layer"].update({"from": 0.3, "to": 0.5})
        result, _ = self.start(body)
        self.assert_code(result, 5)
        self.assert_says(result, "may have no path to a given or an ambient temperature")


if __name__ == "__main__":
    unittest.main()
