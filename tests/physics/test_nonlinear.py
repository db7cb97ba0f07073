"""Properties that depend on temperature and melting: outputs, restarts, and ways to give a table.
The random problems are in test_materials.py."""
import os
import random
import unittest

import h5py
import numpy as np

from harness import Case, checkpoints
from problems import FACES


class Melting(Case):
    """What the random problems with properties that depend on temperature leave out."""

    def config(self):
        water = {"name": "water", "density": 1000.0, "conductivity": 2.2, "heat_capacity": 2050.0,
                 "latent_heat": 3.34e5, "solidus": 273.15,
                 "liquid": {"conductivity": 0.58, "heat_capacity": 4200.0}}
        return {
            "grid": {"cells": [13, 7, 5], "upper": [0.013, 0.007, 0.005]},
            "materials": [water],
            "initial": [{"uniform": {"value": 273.15}}],
            "boundary": {"x_min": {"type": "temperature", "value": 320.0},
                         **{face: {"type": "flux", "value": 0.0} for face in FACES[1:]}},
            "time": {"steps": 400},
            "output": {"snapshots": {"every": 200, "derived": ["liquid_fraction", "heat_flux"]},
                       "history": {"every": 100}, "checkpoints": {"every": 200, "keep": 3}},
        }

    def test_values_on_faces_are_those_of_their_step(self):
        config = self.config()
        config["boundary"]["x_max"] = {"type": "convection", "coefficient": 5e4, "ambient": 400.0}
        config["output"] = {"history": {"every": 0}, "probes": {
            "every": 5, "points": [{"name": "face", "at": [0.013, 0.003, 0.002]}]}}
        rows = [(self.run_config({**config, "run": {"backend": backend}}, backend).folder
                 / "probes.csv").read_text() for backend in ("cpu", "guard")]
        self.assertEqual(*rows)

    def test_the_liquid_fraction_follows_from_the_enthalpy(self):
        run = self.run_config(self.config(), "out")
        enthalpy = run.enthalpy()
        solidus = 1000.0 * 2050.0 * 273.15
        expected = np.clip((enthalpy - solidus) / (1000.0 * 3.34e5), 0, 1)
        self.assertTrue(((expected > 0) & (expected < 1)).any())
        snapshots = [path for path in sorted(run.folder.glob("**/*.h5"))
                     if "checkpoints" not in str(path)]
        found = None
        for path in snapshots:
            with h5py.File(path, "r") as file:
                for name in ("liquid_fraction", "fields/liquid_fraction"):
                    if name in file:
                        found = file[name][()]
        self.assertIsNotNone(found, f"{snapshots}")
        np.testing.assert_allclose(found.reshape(-1, *expected.shape)[-1], expected, atol=1e-6)

    def test_a_restart_continues_from_the_enthalpy(self):
        config = self.config()
        whole = self.run_config(config, "whole")
        middle = self.folder / "whole" / "checkpoints" / "step_0000000200.h5"
        for ranks, precision in ((1, None), (3, None)):
            rest = self.run_config(config, f"rest{ranks}", "--restart", middle, ranks=ranks)
            self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
            self.assertEqual(rest.history()[-1], whole.history()[-1])
        config["materials"][0]["latent_heat"] = 3e5
        refused = self.run_config(config, "other", "--restart", middle, code=2)
        self.assertIn("latent_heat", refused.err)
        changed = self.run_config(config, "changed", "--restart", middle, "--restart-changed")
        last = changed.history()[-1]
        self.assertLess(abs(last["heat_drift_J"]), 1e-12 * last["heat_J"])

    def test_read_outs_of_melting(self):
        """In ice at its melting point, from x_min on: the columns of the melt pool, and what is
        kept of each cell, on any ranks and through a restart."""
        config = self.config()
        kept = ["melt_time", "freeze_time", "meltings", "cooling_rate"]
        config["boundary"]["x_min"]["value"] = "300 + 60*cos(pi*t/10)"
        config["materials"][0]["latent_heat"] = 2e4
        config["time"] = {"end": 40}
        config["output"] = {
            "history": {"interval": 5, "melt_pool": True}, "checkpoints": {"interval": 20},
            "derived": {"isotherm": 273.0, "cooling": [273.15, 272.65]},
            "snapshots": {"interval": 5, "precision": "float64", "derived": kept}}
        one = self.run_config(config, "one")
        rows = one.history()
        self.assertEqual(rows[0]["pool_x_m"], 0)   # at the melting point, but solid
        self.assertEqual(rows[0]["pool_volume_m3"], 0)
        self.assertTrue(any(0 < row["pool_x_m"] < 0.013 for row in rows))
        fields = self.fields(one)
        for name in kept:
            self.assertTrue(np.isfinite(fields[name][-1]).any(), name)
        self.assertEqual(set(np.unique(fields["meltings"][-1])) & {0, 1, 2}, {0, 1, 2})
        again = fields["melt_time"][-1] < fields["freeze_time"][-1]
        self.assertTrue((fields["meltings"][-1][again] >= 1).all())
        for ranks, backend in ((3, "guard"), (2, "cpu")):
            other = self.run_config(config, f"other{ranks}", "--backend", backend, ranks=ranks)
            self.assertEqual(other.history_bytes(), one.history_bytes())
            self.assertTrue(all(values.tobytes() == fields[name].tobytes()
                                for name, values in self.fields(other).items()))
        for path in checkpoints(other.folder)[1:]:
            path.unlink()
        rest = self.run_config(config, "other2", "--restart", "auto", ranks=3)
        self.assertGreater(rest.report["first_step"], 0)
        self.assertEqual(other.history_bytes(), one.history_bytes())
        for name, values in self.fields(other).items():
            self.assertEqual(values.tobytes(), fields[name].tobytes(), name)
        lead = dict(config["materials"][0], name="lead", solidus=600.6)
        config["materials"].append(lead)
        config["parts"] = [{"uniform": {"material": "water"}}]
        self.write(config, "two.yaml")
        refused = self.isotherm("run", "two.yaml", "--output", "two")
        self.assertEqual(refused.code, 2, f"{refused}")
        self.assertIn("materials melt at 273.15 and at 600.6 K; give it, in K", refused.err)

    def test_a_melting_point_is_solid_in_float32_too(self):
        """Of a temperature that float32 rounds up."""
        config = self.config()
        config["materials"][0]["solidus"] = config["initial"][0]["uniform"]["value"] = 273.16
        config["run"] = {"precision": "float32"}
        config["output"] = {"history": {"every": 1, "melt_pool": True},
                            "snapshots": {"every": 1, "derived": ["meltings"]}}
        config["time"] = {"steps": 1}
        run = self.run_config(config, "out")
        self.assertEqual([row["pool_volume_m3"] for row in run.history()], [0, 0])
        self.assertEqual(self.fields(run)["meltings"].max(), 0)

    @staticmethod
    def fields(run):
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            data = file["VTKHDF/CellData"]
            return {name: data[name][()] for name in data}

    def test_a_table_a_file_and_a_polynomial_of_a_line_are_the_same(self):
        hashes = set()
        (self.folder / "c.csv").write_text("T, c\n200, 1900\n400 2300\n")
        for given in ([[200.0, 1900.0], [400.0, 2300.0]], {"file": "c.csv"},
                      [["200 K", 1.9e3], ["126.85 degC", "2.3 kJ/(kg K)"]]):
            config = self.config()
            config["materials"][0]["heat_capacity"] = given
            run = self.run_config(config, "out", "--overwrite")
            hashes.add(run.report["field_hash"])
        self.assertEqual(len(hashes), 1)


class Perfused(Case):
    """Perfusion and metabolism, what the random problems leave out."""

    RHO_C, P, BLOOD, METABOLISM = 1050.0 * 3600.0, 0.02 * 1050.0 * 3617.0, 310.15, 5e4

    def config(self, precision="float64"):
        perfusion = {"rate": 0.02, "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
                     "arterial_temperature": self.BLOOD, "metabolic_heat": self.METABOLISM}
        return {
            "grid": {"cells": [9, 7, 5], "upper": [0.09, 0.07, 0.05]},
            "materials": [{"name": "muscle", "density": 1050.0, "conductivity": 0.5,
                           "heat_capacity": 3600.0, "perfusion": perfusion}],
            "initial": [{"uniform": {"value": 295.15}}],
            "boundary": {face: {"type": "flux", "value": 0.0} for face in FACES},
            "time": {"steps": 120, "dt": 10.0},
            "run": {"precision": precision, "watch": {"every": 1}},
            "output": {"history": {"every": 40}, "checkpoints": {"every": 60, "keep": 3}},
        }

    def test_insulated_it_follows_the_balance_of_a_cell_beyond_the_temperature_of_the_blood(self):
        T, added = 295.15, 0.0
        for _ in range(120):
            heat = 10.0 * (self.P * (self.BLOOD - T) + self.METABOLISM)
            T, added = T + heat / self.RHO_C, added + heat
        self.assertGreater(T, self.BLOOD)
        for precision, near in (("float64", 1e-13), ("float32", 1e-4)):
            run = self.run_config(self.config(precision), precision)
            self.assertLess(abs(run.temperature() / T - 1).max(), near)
            last = run.history()[-1]
            self.assertLess(abs(last["source_heat_J"] / (added * 0.09 * 0.07 * 0.05) - 1), near)
            self.assertEqual(last["source_heat_J"], run.report["source_heat_J"])
            ranks = self.run_config(self.config(precision), f"{precision}-3", ranks=3)
            self.assertEqual(ranks.exact("field_hash"), run.exact("field_hash"))
            self.assertEqual(ranks.history_bytes(), run.history_bytes())

    def test_per_cell_and_beside_an_ambient_it_is_the_same(self):
        """There it is a source with a table over temperature."""
        hot = {"sphere": {"center": [0.03, 0.03, 0.03], "radius": 0.02, "value": 330.0}}
        config = self.config()
        config["initial"].append(hot)
        plain = self.run_config(config, "plain").temperature()
        config["materials"][0]["conductivity_factor"] = {"formula": "1"}
        factor = self.run_config(config, "factor").temperature()
        self.assertLess(abs(factor / plain - 1).max(), 1e-12)
        del config["materials"][0]["conductivity_factor"]
        config["grid"] = {"cells": [11, 7, 5], "upper": [0.11, 0.07, 0.05]}
        config["ambients"] = [{"name": "air", "temperature": 250}]
        config["parts"] = [{"uniform": {"material": "muscle"}}, {"box": {
            "lower": [0.09, 0, 0], "upper": [0.11, 0.07, 0.05], "material": "air"}}]
        air = self.run_config(config, "air")
        self.assertLess(abs(air.temperature()[:, :, :9] / plain - 1).max(), 1e-12)
        middle = self.folder / "air" / "checkpoints" / "step_0000000060.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), air.exact("field_hash"))
        config["materials"][0]["perfusion"]["arterial_temperature"] = 305.0
        refused = self.run_config(config, "other", "--restart", middle, code=2)
        self.assertIn("arterial_temperature", refused.err)
        config["time"] = {"steady": {"temperature": 1e-6}}
        steady = self.run_config(config, "steady").temperature()
        balance = 305.0 + self.METABOLISM / self.P  # no heat leaves the body
        self.assertLess(abs(steady[:, :, :9] - balance).max(), 1e-6)

    def test_the_longest_stable_step_includes_the_blood(self):
        config = self.config()
        del config["time"]["dt"]
        run = self.run_config(config, "out")
        rate = self.P + sum(2 * 0.5 / h**2 for h in (0.01, 0.01, 0.01))
        self.assertAlmostEqual(run.report["dt_stable"] * rate / self.RHO_C, 1, delta=1e-12)

    def test_a_field_of_differences_to_the_blood(self):
        config = self.config()
        config["run"]["watch"]["temperature"] = "difference"
        config["materials"][0]["perfusion"]["arterial_temperature"] = 0.0
        config["initial"] = [{"uniform": {"value": 295.15 - self.BLOOD}}]
        differences = self.run_config(config, "differences").temperature()
        whole = self.run_config(self.config(), "whole").temperature()
        self.assertLess(abs(differences + self.BLOOD - whole).max(), 1e-11)

    def test_a_restart_has_the_same_bits_and_notices_other_blood(self):
        config = self.config()
        config["initial"].append({"sphere": {"center": [0.03] * 3, "radius": 0.02, "value": 330.0}})
        whole = self.run_config(config, "whole")
        middle = self.folder / "whole" / "checkpoints" / "step_0000000060.h5"
        rest = self.run_config(config, "rest", "--restart", middle, ranks=2)
        self.assertEqual(rest.exact("field_hash"), whole.exact("field_hash"))
        self.assertEqual(rest.history()[-1], whole.history()[-1])
        config["materials"][0]["perfusion"]["arterial_temperature"] = 305.0
        refused = self.run_config(config, "other", "--restart", middle, code=2)
        self.assertIn("arterial_temperature", refused.err)
        changed = self.run_config(config, "changed", "--restart", middle, "--restart-changed")
        last = changed.history()[-1]
        self.assertLess(abs(last["heat_drift_J"]), 1e-12 * last["heat_J"])


class Adapted(Case):
    """`time.adapt_every`: longer steps once the stiffest properties cannot occur any more."""

    def melting(self):
        water = {"name": "water", "density": 1000.0, "conductivity": 2.2, "heat_capacity": 2050.0,
                 "latent_heat": 1e5, "solidus": 273.15,
                 "liquid": {"conductivity": 0.58, "heat_capacity": 4200.0}}
        return {
            "grid": {"cells": [9, 5, 4], "upper": [0.009, 0.005, 0.004]},
            "materials": [water],
            "initial": [{"uniform": {"value": 272.0}}],
            "boundary": {"x_min": {"type": "temperature", "value": 300.0},
                         **{face: {"type": "flux", "value": 0.0} for face in FACES[1:5]},
                         "z_max": {"type": "convection", "coefficient": 900.0, "ambient": 310.0}},
            "time": {"end": 200.0, "adapt_every": 40},
            "output": {"history": {"interval": 2.0}, "checkpoints": {"every": 130, "keep": 99},
                       "derived": {"every": 20, "threshold": 280.0},
                       "snapshots": {"interval": 100.0, "derived": ["time_above"]}},
        }

    @staticmethod
    def time_above(run):
        with h5py.File(checkpoints(run.folder)[-1], "r") as file:
            return file["/time_above"][()]

    def test_steps_grow_when_the_ice_has_melted_and_are_the_same_however_it_is_run(self):
        config = self.melting()
        one = self.run_config(config, "one")
        static = self.run_config({**config, "time": {"end": 200.0}}, "static")
        rows = one.history()
        first = 0.9 * one.report["dt_stable"]
        frozen = [row for row in rows[1:] if row["min_K"] < 273.14]
        self.assertTrue(frozen and all(row["dt_s"] <= first for row in frozen))
        self.assertGreater(max(row["dt_s"] for row in rows), 3 * first)
        self.assertLess(one.report["steps"], 0.6 * static.report["steps"])
        self.assertLess(abs(one.temperature() - static.temperature()).max(), 0.05)
        last = rows[-1]
        self.assertLess(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"])
        for backend, ranks in (("cpu", 3), ("guard", 2)):
            other = self.run_config(config, f"{backend}", "--backend", backend, ranks=ranks)
            self.assertEqual(other.exact("field_hash"), one.exact("field_hash"))
            self.assertEqual(other.history_bytes(), one.history_bytes())
        middles = sorted((self.folder / "one" / "checkpoints").glob("step_*.h5"))[:-1]
        self.assertGreater(len(middles), 2)
        for n, middle in enumerate((middles[0], middles[-2], middles[-1])):
            rest = self.run_config(config, f"rest{n}", "--restart", middle, ranks=1 + n % 3)
            self.assertEqual(rest.exact("field_hash"), one.exact("field_hash"), f"{middle}")
            self.assertEqual(rest.report["steps"], one.report["steps"])
            np.testing.assert_array_equal(self.time_above(rest), self.time_above(one))
            self.assertEqual(rest.history()[-1], last)

    def test_with_longer_steps_no_cell_leaves_the_range(self):
        """With the static step cells at the edge of two such faces may, for a while."""
        longer = 0
        for seed in range(60 if "ISOTHERM_TEST_MATRIX" in os.environ else 5):
            rng = random.Random(seed)
            knots = (100, 200, 250, 290, 330, 380, 500, 900)
            materials = [{"name": name, "density": 1000.0, **{
                key: [[t, float(f"{10 ** rng.uniform(low, high):.4g}")] for t in knots]
                for key, low, high in (("conductivity", -0.5, 2), ("heat_capacity", 1.5, 3.5))}}
                for name in "ab"[:1 + seed % 2]]
            numbers = [rng.uniform(290, 340) for _ in range(5)]
            config = {
                "grid": {"cells": [11, 9], "upper": [0.011, 0.018]},
                "materials": materials,
                "parts": [{"uniform": {"material": "a"}},
                          {"sphere": {"center": [0, 0], "radius": 0.008,
                                      "material": materials[-1]["name"]}}],
                "initial": [{"uniform": {"value": numbers[0]}},
                            {"layer": {"axis": "x", "from": 0, "to": 4e-3, "value": numbers[1]}}],
                "boundary": {"x_min": {"type": "temperature", "value": numbers[2]},
                             "x_max": {"type": "convection", "coefficient": 10 ** rng.uniform(1, 6),
                                       "ambient": numbers[3]},
                             "y_min": {"type": "temperature", "value": numbers[4]},
                             "y_max": {"type": "flux", "value": 0.0}},
                "time": {"steps": 300, "adapt_every": rng.choice([1, 7, 100])},
                "output": {"history": {"every": 1}}}
            run = self.run_config(config, f"out{seed}")
            rows = run.history()
            if rows[1]["dt_s"] > 0.901 * run.report["dt_stable"]:
                longer += 1
                self.assertGreater(min(row["min_K"] for row in rows), min(numbers) - 1e-9, seed)
                self.assertLess(max(row["max_K"] for row in rows), max(numbers) + 1e-9, seed)
        self.assertGreater(longer, 2)

    def test_a_restart_into_the_cold_shortens_the_steps_at_once(self):
        config = self.melting()
        one = self.run_config(config, "one")
        middle = sorted((self.folder / "one" / "checkpoints").glob("step_*.h5"))[-2]
        config["boundary"]["z_max"]["ambient"] = 100.0
        config["output"]["history"] = {"every": 1}
        cold = self.run_config(config, "cold", "--restart", middle)
        steps = [row["dt_s"] for row in cold.history()[1:]]
        self.assertLessEqual(max(steps), 0.9 * one.report["dt_stable"] * (1 + 1e-12))
        self.assertLess(abs(cold.history()[-1]["heat_drift_J"]),
                        1e-13 * cold.history()[-1]["heat_J"])

    def test_rows_of_a_table_far_from_the_temperatures_cost_no_steps(self):
        silicon = {"name": "silicon", "density": 2330.0,
                   "conductivity": [[20.0, 4940.0], [100.0, 884.0], [290.0, 155.0], [500.0, 76.0]],
                   "heat_capacity": [[20.0, 3.4], [100.0, 259.0], [290.0, 705.0], [500.0, 830.0]]}
        config = self.melting()
        config.update(materials=[silicon], initial=[{"uniform": {"value": 295.0}}],
                      time={"steps": 50, "adapt_every": 10})
        del config["output"]["snapshots"]
        adapted = self.run_config(config, "adapted")
        self.assertGreater(adapted.report["dt"], 900 * adapted.report["dt_stable"])
        for name, change in (("formula", {"value": "300 + t"}), ("flux", {"type": "flux"})):
            config["boundary"]["x_min"] = {"type": "temperature", "value": -1.0, **change}
            run = self.run_config(config, name)
            self.assertAlmostEqual(run.report["dt"] / run.report["dt_stable"], 0.9, delta=1e-9)

    def test_each_wrong_use_has_its_message(self):
        linear = {"name": "linear", "density": 1.0, "conductivity": 1.0, "heat_capacity": 1.0}
        for expected, changes in (
                ("needs dt: auto", {"time": {"end": 1.0, "dt": 0.01, "adapt_every": 5}}),
                ("leave it out", {"materials": [linear]}),
                ("not a multiple of output.derived.every", {"time": {"end": 1.0,
                                                                     "adapt_every": 30}})):
            result = self.run_config({**self.melting(), **changes}, "out", code=2)
            self.assertIn("time.adapt_every: ", result.err)
            self.assertIn(expected, result.err)


if __name__ == "__main__":
    unittest.main()
