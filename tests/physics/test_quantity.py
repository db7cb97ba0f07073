"""Diffusion that is not heat: against an exact solution and the same problem as heat; names and
units of columns, attributes and values; restarts; input that is wrong."""
import csv
import json
import math
import unittest

import h5py

from harness import Case

QUANTITY = {"name": "chloride", "symbol": "C", "unit": "kg/m^3", "content_unit": "kg"}


def cover(**more):
    """18 kg/m^3 at one end of concrete without any."""
    return {"quantity": QUANTITY, "grid": {"cells": [100], "upper": [0.1]},
            "material": {"diffusivity": 2e-12}, "initial": [{"uniform": {"value": 0.0}}],
            "boundary": {"x_min": {"type": "temperature", "value": 18.0},
                         "x_max": {"type": "flux", "value": 0}},
            "time": {"end": 1e8},
            "output": {"history": {"interval": 5e7}, "snapshots": {"interval": 5e7,
                                                                   "precision": "float64"},
                       "checkpoints": {"interval": 5e7, "keep": 3},
                       "probes": {"interval": 5e7, "points": [{"name": "T_1", "at": [0.02]}]},
                       "lines": [{"name": "depth", "interval": 5e7, "from": [0], "to": [0.1],
                                  "points": 11}]}, **more}


class Quantity(Case):
    def columns(self, path):
        with open(self.folder / path, encoding="ascii") as stream:
            return stream.readline().rstrip("\n").split(","), stream.readline()

    def test_exact_solution_and_labels(self):
        run = self.run_config(cover(), "out")
        with open(self.folder / "out/probes.csv", encoding="ascii") as stream:
            rows = list(csv.DictReader(row for row in stream if not row.startswith("#")))
        exact = 18 * math.erfc(0.02 / (2 * math.sqrt(2e-12 * 1e8)))
        self.assertAlmostEqual(float(rows[-1]["C_1_kg_per_m3"]), exact, delta=1e-2)
        names, note = self.columns("out/history.csv")
        self.assertEqual(names[:9], ["step", "time_s", "dt_s", "min_kg_per_m3", "max_kg_per_m3",
                                     "mean_kg_per_m3", "content_kg", "boundary_content_kg",
                                     "content_drift_kg"])
        self.assertIn("flow_x_min_kg_per_s", names)
        self.assertIn("C_x_min_kg_per_m3", names)
        self.assertEqual(note, "# quantity,chloride,C,kg/m^3,kg\n")
        self.assertEqual(self.columns("out/depth.csv")[0][-1], "C_kg_per_m3")
        self.assertEqual(run.report["quantity"], QUANTITY)
        with h5py.File(self.folder / "out/snapshots.vtkhdf") as file:
            label = file["VTKHDF/CellData/T"].attrs
            self.assertEqual([label[key].decode() if isinstance(label[key], bytes) else label[key]
                              for key in ("units", "long_name")], ["kg/m^3", "chloride"])
        plot = self.isotherm("plot", "out")
        if "draws no pictures" not in plot.err:
            self.assert_code(plot, 0)
            for name in ("history", "heat", "faces", "flows", "probes", "depth", "snapshots_T"):
                self.assertTrue((self.folder / f"out/plots/{name}.png").exists(), name)
        compared = self.isotherm("compare", "out", "out", "--json", "same.json")
        self.assert_says(compared, "|a-b|, kg/m^3", stream="out")
        self.assertNotIn(" K", compared.out)
        self.assertEqual(json.loads((self.folder / "same.json").read_text())["unit"], "kg/m^3")
        heat = cover()
        del heat["quantity"]
        heat["material"] = {"conductivity": 2e-12, "density": 1, "heat_capacity": 1}
        self.assertEqual(self.run_config(heat, "heat").exact("field_hash"), run.exact("field_hash"))
        self.assertEqual(self.columns("out/history.csv")[0][3], "min_kg_per_m3")
        self.assertEqual(self.columns("heat/history.csv")[0][3], "min_K")

    def test_restart_and_initial_file(self):
        whole = self.run_config(cover(), "whole")
        self.run_config(cover(time={"end": 5e7}), "part")
        part = self.run_config(cover(), "part", "--restart", "auto", ranks=2)
        self.assertEqual(part.exact("field_hash"), whole.exact("field_hash"))
        for name in ("history", "probes", "depth"):
            self.assertEqual((self.folder / f"part/{name}.csv").read_bytes(),
                             (self.folder / f"whole/{name}.csv").read_bytes(), name)
        start = {"file": {"path": "whole/snapshots.vtkhdf", "time": 1e8}}
        self.run_config(cover(initial=[start]), "again")
        heat = cover(initial=[start])
        del heat["quantity"]
        result = self.run_config(heat, "heat", code=2)
        self.assert_says(result, "units \"kg/m^3\"; temperatures in K are needed")

    def test_values_of_materials_and_below_zero(self):
        """Diffusivities of a list of materials, also as a table; values below 0 are allowed."""
        both = cover(initial=[{"uniform": {"value": -1.0}}])
        del both["material"]
        both["materials"] = [{"name": "a", "diffusivity": 2e-12},
                             {"name": "b", "diffusivity": [[0, 1e-12], [20, 3e-12]]}]
        both["parts"] = [{"uniform": {"material": "a"}},
                         {"layer": {"axis": "x", "from": 0.05, "to": 0.1, "material": "b"}}]
        self.run_config(both, "both")
        self.write({**cover(), "initial": [{"uniform": {"value": -1.0}}],
                    "run": {"watch": {"temperature": "absolute"}}})
        self.assert_code(self.isotherm("check", "config.yaml"), 2)

    def check(self, config, *expected, code=2):
        self.write(config)
        result = self.isotherm("check", "config.yaml")
        if "this build has no UDUNITS" in result.err:
            self.skipTest("no UDUNITS")
        self.assert_code(result, code)
        if code != 0:
            self.assert_says(result, "config.yaml:", *expected)

    def test_units_and_wrong_input(self):
        def flux(value):
            config = cover()
            config["boundary"]["x_max"]["value"] = value
            return config

        self.check(flux("1 g/(m^2 day)"), code=0)
        self.check(cover(initial=[{"uniform": {"value": "2 g/l"}}]), code=0)
        self.check(flux("1 W/m^2"), "boundary.x_max.value: not (kg/s)/m^2 (1 W/m^2)")
        self.check(cover(initial=[{"uniform": {"value": "20 degC"}}]), "not kg/m^3 (20 degC)",
                   "in kg/m^3")
        self.check(cover(material={"diffusivity": "2 mm/s"}), "not a diffusivity")
        self.check(cover(material={"diffusivity": 1, "density": 3}),
                   "material.diffusivity: given together with density")
        self.check(cover(material={"conductivity": 1}), "material.density: missing")
        self.check(cover(quantity={"name": "x"}), "quantity.symbol: missing")


if __name__ == "__main__":
    unittest.main()
