"""Materials that become others when they are molten: powder and the track of a laser in it. The
random problems are in test_materials.py."""
import unittest

import h5py
import numpy as np

from harness import Case, checkpoints
from problems import FACES

ALLOY = {"name": "alloy", "density": 8000.0, "conductivity": [[300.0, 10.0], [1500.0, 28.0]],
         "heat_capacity": [[300.0, 450.0], [1500.0, 700.0]], "latent_heat": 2.7e5,
         "solidus": 1600.0, "liquidus": 1800.0,
         "liquid": {"conductivity": 30.0, "heat_capacity": 750.0}}
POWDER = {"name": "powder", "conductivity": [[300.0, 0.2], [900.0, 0.4]], "becomes": "alloy"}
INSULATED = {face: {"type": "flux", "value": 0.0} for face in FACES}


class Track(Case):
    """Powder on two sides of a plate and a beam that is switched off, on periodic y."""

    def config(self, precision="float64"):
        return {
            "grid": {"cells": [20, 9, 8], "upper": [2.0e-3, 0.9e-3, 0.8e-3]},
            "materials": [ALLOY, POWDER],
            "parts": [{"uniform": {"material": "alloy"}},
                      {"layer": {"axis": "z", "from": 6e-4, "to": 8e-4, "material": "powder"}},
                      {"layer": {"axis": "x", "from": 0.0, "to": 2e-4, "material": "powder"}}],
            # above the liquidus both conduct alike: only so a change shows at once
            "contacts": [{"between": ["alloy", "powder"], "resistance": 1e-5}],
            "initial": [{"uniform": {"value": 400.0}}],
            "sources": [{"goldak": {
                "front": 2e-4, "rear": 2e-4, "width": 2e-4, "depth": 3e-4, "power": 40.0,
                "x": "2e-4 + 0.03*t", "y": 4.5e-4, "z": 8e-4, "factor": "t < 0.03"}},
                {"layer": {"axis": "z", "from": 5e-4, "to": 7e-4, "density": 1e8}}],
            "boundary": {**INSULATED, "y_min": {"type": "periodic"}, "y_max": {"type": "periodic"},
                         "z_max": {"type": "convection", "coefficient": 50.0, "ambient": 300.0},
                         "z_min": {"type": "temperature", "value": 350.0}},
            "time": {"end": 0.08},
            "run": {"precision": precision},
            "output": {
                "history": {"interval": 0.01, "materials": True},
                "checkpoints": {"interval": 0.02, "keep": 9},
                "snapshots": {"interval": 0.02, "precision": "float64",
                              "derived": ["material", "heat_flux", "T_max"]}},
        }

    @staticmethod
    def fields(run):
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            data = file["VTKHDF/CellData"]
            return {name: data[name][()] for name in data}

    def test_what_has_melted_stays_the_other_material(self):
        run = self.run_config(self.config(), "out")
        rows = run.history()
        fields = self.fields(run)
        painted, last = fields["material"][0], fields["material"][-1]
        powder = painted == 1
        self.assertEqual(set(np.unique(painted)), {0, 1})
        np.testing.assert_array_equal(powder & (fields["T_max"][-1] >= ALLOY["liquidus"]),
                                      powder & (last == 0))
        track = powder & (last == 0)
        self.assertGreater(track.sum(), 20)
        self.assertGreater((powder & (last == 1) & (fields["T_max"][-1] > ALLOY["solidus"])).sum(),
                           0, "cells that were not quite molten stay powder")
        self.assertTrue((fields["T"][-1][track] < ALLOY["solidus"]).all())
        self.assertTrue((np.diff(fields["material"], axis=0) <= 0).all())
        heats = [row["heat_alloy_J"] + row["heat_powder_J"] for row in rows]
        np.testing.assert_allclose(heats, [row["heat_J"] for row in rows], rtol=1e-13)
        self.assertLess(abs(rows[-1]["heat_drift_J"]), 1e-13 * rows[-1]["heat_J"])

    def test_the_same_bits_however_it_is_run_and_restarted(self):
        for precision in ("float64", "float32"):
            config = self.config(precision)
            # else each step is followed by a sample, for which the classes change
            config["output"]["snapshots"]["derived"].remove("T_max")
            one = self.run_config(config, "one", "--overwrite")
            fields = self.fields(one)
            for ranks, backend, overlap in ((1, "guard", "on"), (4, "guard", "on"),
                                            (6, "cpu", "off"), (3, "cpu", "on")):
                other = self.run_config(config, "other", "--overwrite", "--backend", backend,
                                        "--set", f"run.halo.overlap={overlap}", ranks=ranks)
                self.assertEqual(other.exact("field_hash"), one.exact("field_hash"))
                self.assertEqual(other.history_bytes(), one.history_bytes(), f"{ranks} {backend}")
                for name, values in self.fields(other).items():
                    self.assertEqual(values.tobytes(), fields[name].tobytes(), name)
            for n in (2, 1):  # hot, and when the track is solid
                path = checkpoints(other.folder)[n]
                ranks = 1 + 3 * (n % 2)
                rest = self.run_config(config, "rest", "--overwrite", "--restart", path,
                                       ranks=ranks)
                self.assertEqual(rest.exact("field_hash"), one.exact("field_hash"), path)
                self.assertEqual(rest.history_bytes().splitlines()[-1],
                                 one.history_bytes().splitlines()[-1])
                for name, values in self.fields(rest).items():
                    self.assertEqual(values[-1].tobytes(), fields[name][-1].tobytes(), name)

    def test_the_heat_flux_at_the_moment_of_a_change_is_that_of_one_rank(self):
        config = self.config()
        config["time"] = {"steps": 90}
        config["output"] = {"snapshots": {"every": 1, "precision": "float64",
                                          "derived": ["heat_flux", "material"]}}
        one = self.fields(self.run_config(config, "one"))
        self.assertGreater((np.diff(one["material"], axis=0) != 0).any(axis=(1, 2, 3)).sum(), 9)
        other = self.fields(self.run_config(config, "other", "--backend", "guard", ranks=4))
        self.assertEqual(other["heat_flux"].tobytes(), one["heat_flux"].tobytes())

    def test_a_checkpoint_of_powder_that_stayed_starts_as_painted(self):
        config = self.config()
        del config["output"]["snapshots"]
        plain = dict(ALLOY, name="powder", conductivity=POWDER["conductivity"])
        stays = {**config, "materials": [ALLOY, plain]}
        first = self.run_config(stays, "first")
        path = checkpoints(first.folder)[0]
        with h5py.File(path) as file:
            self.assertNotIn("material", file)
        result = self.run_config(config, "out", "--restart", path, code=2)
        self.assertIn("becomes", result.err)
        rest = self.run_config(config, "out", "--restart", path, "--restart-changed")
        self.assertIn("the checkpoint has no material", rest.result.err)
        last = rest.history()[-1]
        self.assertLess(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"])


class Powder(Case):
    def config(self, materials):
        return {"grid": {"cells": [6, 5, 4], "upper": [6e-3, 5e-3, 4e-3]}, "materials": materials,
                "parts": [{"uniform": {"material": "powder"}}],
                "initial": [{"uniform": {"value": 400.0}}], "boundary": INSULATED,
                "time": {"steps": 10}, "output": {"history": {"every": 5}}}

    def test_the_stable_step_is_that_of_what_it_becomes(self):
        """And with a contact between the two, which melting closes."""
        alloy = self.run_config({**self.config([dict(ALLOY, name="powder")])}, "alloy")
        config = self.config([POWDER, ALLOY])
        for n, contacts in enumerate(([], [{"between": ["powder", "alloy"], "resistance": 1e-3}])):
            run = self.run_config({**config, **({"contacts": contacts} if contacts else {})},
                                  f"powder{n}")
            self.assertAlmostEqual(run.report["dt_stable"] / alloy.report["dt_stable"], 1,
                                   delta=1e-12)

    def test_temperature_is_the_same_function_of_the_heat(self):
        """With tables and polynomials, whose intervals are divided into parts."""
        bent = {**ALLOY, "heat_capacity": {"polynomial": [430.0, 0.2], "from": 300, "to": 1700}}
        T = [[float(t), 0.2 + 1e-7 * t**2] for t in range(310, 900, 97)]
        config = self.config([bent, {**POWDER, "conductivity": T}])
        config["initial"] = [{"expression": {"value": "300 + 3e5*x"}}]
        config["time"] = {"steps": 1, "dt": 1e-20}
        enthalpies = []
        for name in ("powder", "alloy"):
            config["parts"][0]["uniform"]["material"] = name
            config["output"] = {"checkpoints": {"every": 1}}
            run = self.run_config(config, name)
            with h5py.File(checkpoints(run.folder)[-1]) as file:
                enthalpies.append(file["H"][()])
        hot = run.temperature() > ALLOY["liquidus"]
        self.assertTrue(hot.any() and not hot.all())
        np.testing.assert_allclose(*enthalpies, rtol=1e-15)

    def test_each_wrong_use_has_its_message(self):
        plain = {"name": "plain", "density": 1.0, "conductivity": 1.0, "heat_capacity": 1.0}
        blood = {"rate": 0.1, "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
                 "arterial_temperature": 310.0}
        for key, expected, materials in (
                ("density", "given together with becomes", [{**POWDER, "density": 4.0}, ALLOY]),
                ("liquid", "given together with becomes",
                 [{**POWDER, "liquid": {"conductivity": 1.0}}, ALLOY]),
                ("perfusion", "given together with becomes",
                 [{**POWDER, "perfusion": blood}, ALLOY]),
                ("becomes", "no material has the name 'steel'",
                 [{**POWDER, "becomes": "steel"}, ALLOY]),
                ("becomes", "the material itself", [{**POWDER, "becomes": "powder"}, ALLOY]),
                ("becomes", "has no latent_heat", [{**POWDER, "becomes": "plain"}, plain]),
                ("becomes", "has a perfusion", [POWDER, {**ALLOY, "perfusion": blood}]),
                ("becomes", "becomes another material, too",
                 [POWDER, {**POWDER, "name": "dust", "becomes": "powder"}, ALLOY]),
                ("density", "missing", [{"name": "powder", "conductivity": 1.0}, ALLOY])):
            result = self.run_config(self.config(materials), "out", code=2)
            self.assert_one_error(result)
            self.assertIn(f".{key}: ", result.err)
            self.assertIn(expected, result.err)
        stretched = [{**POWDER, "conductivity": [1.0, 1.0, 2.0]}, ALLOY]
        self.write(self.config(stretched), "case.yaml")
        self.assertIn("or in what it becomes", self.isotherm("check", "case.yaml").err)
        single = self.config([dict(ALLOY, name="powder")])
        single["output"]["snapshots"] = {"every": 5, "derived": ["material"]}
        self.write(single, "case.yaml")
        self.assertIn("two materials or more", self.isotherm("check", "case.yaml").err)


class Numbers(Case):
    def test_of_materials_that_stay(self):
        config = {"grid": {"cells": [8, 6], "upper": [8e-3, 6e-3]},
                  "materials": [{"name": name, "density": 1e3, "conductivity": k,
                                 "heat_capacity": 1e3} for name, k in (("a", 1.0), ("b", 2.0))],
                  "parts": [{"uniform": {"material": "a"}},
                            {"layer": {"axis": "x", "from": 0.0, "to": 3e-3, "material": "b"}}],
                  "initial": [{"uniform": {"value": 300.0}}],
                  "boundary": {face: {"type": "flux", "value": 0.0} for face in FACES[:4]},
                  "time": {"steps": 4},
                  "output": {"checkpoints": {"every": 2},
                             "snapshots": {"every": 2, "derived": ["material"]}}}
        run = self.run_config(config, "out", ranks=2)
        found = Track.fields(run)["material"]
        np.testing.assert_array_equal(found, np.broadcast_to(
            np.where(np.arange(8) < 3, 1.0, 0.0), found.shape))
        self.run_config(config, "rest", "--restart", checkpoints(run.folder)[0])


if __name__ == "__main__":
    unittest.main()
