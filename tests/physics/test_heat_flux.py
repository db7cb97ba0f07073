"""The derived field heat_flux against closed forms, on any number of ranks; test_materials.py has
random problems and another solver, and layers."""
import math
import unittest

import numpy as np

from harness import Case
from media_solver import flux_of


class HeatFlux(Case):
    """Of steady states, which have closed forms, on 1, 2, 3 and 5 ranks with the same bits."""

    def flux(self, config, name, all_ranks=(1, 2, 3, 5)):
        """That of the last step, along x, and the row of the history."""
        config = {**config, "time": {"steady": {"tolerance": 1e-12, "temperature": 1e-10}},
                  "initial": [{"uniform": {"value": 350.0}}],
                  "output": {"history": {"every": 1}, "snapshots": {
                      "every": 1, "precision": "float64", "derived": ["heat_flux"]}}}
        found = []
        for ranks in all_ranks:
            run = self.run_config(config, f"{name}{ranks}", ranks=ranks)
            found.append(flux_of(run).ravel())
            self.assertEqual(found[-1].tobytes(), found[0].tobytes(), f"{ranks} ranks")
        return found[0], run.history()[-1]

    def test_around_an_axis_and_a_point(self):
        """The flow through all shells is that of the faces, and the exact one to second order; 0.08
        and the length of the radius are not the upper end, by rounding."""
        held = {f"x_{side}": {"type": "temperature", "value": value}
                for side, value in (("min", 400.0), ("max", 300.0))}
        for geometry, power, exact in (
                ("axisymmetric", 1, 2 * math.pi * 3 * 100 / math.log(0.21 / 0.08)),
                ("spherical", 2, 4 * math.pi * 3 * 100 / (1 / 0.08 - 1 / 0.21))):
            flux, row = self.flux({
                "grid": {"cells": [52], "lower": [0.08], "upper": [0.21], "geometry": geometry},
                "material": {"conductivity": 3.0, "density": 1.0, "heat_capacity": 1.0},
                "boundary": held}, geometry)
            edges = np.linspace(0.08, 0.21, 53)
            area = 2 * math.pi * power * edges**power
            np.testing.assert_allclose(
                flux, row["flow_x_min_W"] * (1 / area[1:] + 1 / area[:-1]) / 2, rtol=1e-8)
            center = (edges[1:] + edges[:-1]) / 2
            np.testing.assert_allclose(
                flux * 2 * math.pi * power * center**power, exact, rtol=1e-3)

    def test_of_a_wall_beside_an_ambient(self):
        """It is the same in all cells, and at the surface h (T - T_a) or what else the surface
        exchanges; of equal cells and where each has a width or a conductivity of its own."""
        k, film, far = 2.0, 50.0, 0.06 / 2.0   # of 6 cm
        radiating = 350.0
        for _ in range(50):
            out = film * (radiating - 300) + 0.8 * 5.670374419e-8 * (radiating**4 - 300**4)
            slope = film + 4 * 0.8 * 5.670374419e-8 * radiating**3
            radiating -= (out - (400 - radiating) / far) / (slope + 1 / far)
        graded = {"segments": [{"to": 0.06, "cells": 6, "ratio": 0.7}, {"to": 0.1, "cells": 4}]}
        for number, (surface, q) in enumerate((
                ({"coefficient": film}, 100 / (far + 1 / film)),
                ({"coefficient": film, "emissivity": 0.8}, (400 - radiating) / far),
                ({"temperature": 320.0}, 80 / far), ({"flux": 1234.5}, 1234.5))):
            for many, (grid, factor) in enumerate((
                    ({"cells": [10], "upper": [0.1]}, None), ({"cells": [1], "x": graded}, None),
                    ({"cells": [1], "x": graded}, {"formula": "1 + 0*x"})), 2):
                material = {"name": "m", "conductivity": k, "density": 1e3, "heat_capacity": 1e3}
                if factor is not None:
                    material["conductivity_factor"] = factor
                flux, _ = self.flux({
                    "grid": grid, "materials": [material],
                    "ambients": [{"name": "air", "temperature": 300.0}],
                    "parts": [{"uniform": {"material": "m"}},
                              {"layer": {"axis": "x", "from": 0.06, "to": 0.1,
                                         "material": "air"}}],
                    "surfaces": [{"between": ["m", "air"], **surface}],
                    "boundary": {"x_min": {"type": "temperature", "value": 400.0},
                                 "x_max": {"type": "flux", "value": 0.0}}}, f"wall{number}_{many}_",
                    (1, many + (number + many) % 2))
                np.testing.assert_allclose(flux[:6], q, rtol=1e-7)
                self.assertTrue(np.isnan(flux[6:]).all())


if __name__ == "__main__":
    unittest.main()
