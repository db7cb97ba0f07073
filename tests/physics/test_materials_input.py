"""Wrong input about materials: each has its message, before anything is written."""
import unittest

import numpy as np

from harness import Case
from media import some_problem
from problems import FACES


class WrongInput(Case):
    def check(self, change, *expected, code=2):
        config = some_problem(3)
        config.pop("sources", None)
        config["time"] = {"steps": 2}
        change(config)
        result = self.run_config(config, "out", code=code)
        for text in expected:
            self.assertIn(text, result.err)
        self.assertFalse((self.folder / "out").exists())

    def check_face_factors(self):
        film = {"type": "convection", "coefficient": 50.0, "ambient": 300.0}

        def face(condition=None, **keys):
            def change(config):
                config["boundary"]["x_min"] = {**(condition or film), **keys}
                config["boundary"]["x_max"] = {"type": "flux", "value": 0.0}
            return change

        key = "boundary.x_min.coefficient_factor"
        self.check(face(coefficient_factor={}), key, "neither formula nor path")
        self.check(face(coefficient_factor={"formula": "y", "path": "h.npy"}), key, "path")
        self.check(face(coefficient_factor={"formula": "y - 1"}), key, "-", "from 0 to 1e20")
        self.check(face(coefficient_factor={"formula": "1/(y - y)"}), key, "inf", "from 0 to 1e20")
        self.check(face(coefficient_factor={"formula": "u"}), key, "u")
        self.check(face(coefficient_factor={"path": "none.npy"}), "none.npy", code=3)
        np.save(self.folder / "few.npy", np.ones((2, 2)))
        self.check(face(coefficient_factor={"path": "few.npy"}), key, "few.npy", "shape")
        self.check(face(value_factor={"formula": "2"}), "boundary.x_min.value_factor")
        self.check(face(ambient_factor={"formula": "-1"}), "x_min.ambient_factor", "from 0 to")
        self.check(face({"type": "flux", "value": 1e30}, value_factor={"formula": "1e9"}),
                   "boundary.x_min", "this flux")
        self.check(face({"type": "temperature", "value": 300.0}, value_factor={"formula": "1e15"}),
                   "boundary.x_min", "too far from 0")

    def test_each_has_its_message(self):
        def unknown(config):
            config["parts"][0]["uniform"]["material"] = "m00"

        def uncovered(config):
            config["parts"] = config["parts"][1:2]

        def twice(config):
            config["materials"][1]["name"] = "m0"

        def both(config):
            config["material"] = {"conductivity": 1.0, "density": 1.0, "heat_capacity": 1.0}

        def neither(config):
            del config["materials"], config["parts"]
            config.pop("contacts", None)

        def no_parts(config):
            del config["parts"]

        def itself(config):
            config["contacts"] = [{"between": ["m0", "m0"], "resistance": 1.0}]

        def pair_twice(config):
            config["contacts"] = [{"between": ["m0", "m1"], "resistance": 1.0},
                                  {"between": ["m1", "m0"], "resistance": 2.0}]

        def unstable(config):
            config["time"] = {"steps": 2, "dt": 1e6}

        def no_file(config):
            config["parts"].append({"file": {"path": "none.h5", "materials": ["m0"]}})

        def radiating_difference(config):
            config["run"]["watch"] = {"temperature": "difference"}
            config["boundary"]["x_min"] = {"type": "radiation", "emissivity": 1, "ambient": 300}

        disc = {"disc": {"center": [0.01, 0.01], "radius": 0.3}, "type": "flux", "value": 1.0}

        def patches(*entries, **face):
            face = {"type": "flux", "value": 0.0, "patches": list(entries), **face}

            def change(config):
                config["grid"] = {"cells": [4, 4, 4]}
                config["initial"] = config["initial"][:1]
                config.pop("sources", None)
                config.pop("contacts", None)
                config["parts"] = config["parts"][:1]
                config["boundary"] = {name: {"type": "flux", "value": 0.0} for name in FACES}
                config["boundary"]["z_max"] = {key: value for key, value in face.items()
                                               if value is not None}
            return change

        shapeless = {"type": "flux", "value": 1.0}
        where = "boundary.z_max.patches"
        self.check(patches(shapeless), where + "[0]", "0 shapes", "rectangle, disc, where")
        self.check(patches({**disc, "where": "x < 1"}), where + "[0]", "2 shapes")
        self.check(patches({**disc, "type": "periodic"}), where + "[0].type", "radiation")
        self.check(patches(disc, value=None, type="periodic"), where, "not a key of type periodic")
        self.check(patches({**shapeless, "disc": {"center": [0.01], "radius": 1.0}}),
                   where + "[0].disc.center", "1 entry ([0.01]); give 2, one per axis")
        self.check(patches({**shapeless, "rectangle": {"lower": [0.0, 0.02],
                                                       "upper": [0.02, 0.01]}}),
                   where + "[0].rectangle.upper", "no length")
        self.check(patches({**disc, "name": "a"}, {**disc, "name": "a"}),
                   where + "[1].name", "second patch with the name 'a'")
        self.check(patches({**disc, "name": "x_min"}), where + "[0].name", "the name of a face")
        self.check(patches(*[disc] * 256), where, "256 entries; give at most 255")
        self.check(patches({**shapeless, "where": "sqrt(x - 1)"}), where + "[0].where",
                   "not a number")
        self.check(patches({**shapeless, "where": "u < 1"}), where + "[0].where", "u")
        self.check(patches({**disc, "value": "1/(t - t)"}), where + "[0].value", "heat flux")
        self.check_face_factors()

        def material(**keys):
            def change(config):
                config["materials"][0].update(keys)
            return change

        factor = "materials[0].conductivity_factor"
        self.check(material(conductivity_factor={}), factor, "neither formula nor path")
        self.check(material(conductivity_factor={"formula": "x", "path": "k.npy"}), factor, "path")
        self.check(material(conductivity_factor={"formula": "x - 1"}), factor, "above 0")
        self.check(material(conductivity_factor={"formula": "1/(x - x)"}), factor, "inf")
        self.check(material(conductivity_factor={"path": "none.npy"}), "none.npy", code=3)
        self.check(material(heat_capacity_factor={"formula": "2"}, conductivity=[[300.0, 1.0]]),
                   "materials", "depends on temperature")

        rising = [[300.0, 1.0], [290.0, 2.0]]
        self.check(material(heat_capacity=rising), "materials[0].heat_capacity", "do not increase")
        self.check(material(heat_capacity=[[300.0, 1.0], [310.0]]), "rows [temperature, value]")
        self.check(material(heat_capacity=[[300.0, -1.0]]), "materials[0].heat_capacity", "above 0")
        self.check(material(heat_capacity=[[float(n), 1.0] for n in range(40)]), "40 rows")
        self.check(material(heat_capacity={"polynomial": [1.0], "from": 300.0}), "unknown keys")
        self.check(material(heat_capacity={"polynomial": [1.0], "from": 300.0, "to": 200.0}),
                   "not below")
        self.check(material(heat_capacity={"polynomial": [1.0, -1.0], "from": 300.0, "to": 400.0}),
                   "materials[0]", "give values above 0")
        self.check(material(heat_capacity={"file": "none.csv"}), "none.csv", code=3)
        self.check(material(latent_heat=1e5), "materials[0].latent_heat", "solidus")
        self.check(material(latent_heat=1e5, solidus=300.0, liquidus=290.0), "liquidus", "below")
        self.check(material(latent_heat=0.0, solidus=300.0), "materials[0]", "above the solidus")
        self.check(material(solidus=300.0), "materials[0].solidus", "latent_heat")

        def blood(**keys):
            keys = {"rate": 1e-3, "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
                    "arterial_temperature": 310.0, **keys}
            return material(perfusion={key: value for key, value in keys.items()
                                       if value is not None})

        where = "materials[0].perfusion."
        self.check(blood(rate=-1.0), where + "rate", "0 or more")
        self.check(blood(rate=None), where + "rate", "missing")
        self.check(blood(rate=1e29), where + "rate", "usable")
        self.check(blood(blood_density=0.0), where + "blood_density", "above 0")
        self.check(blood(blood_heat_capacity=None), where + "blood_heat_capacity", "missing")
        self.check(blood(arterial_temperature=-3.0), where + "arterial_temperature",
                   "below absolute zero")
        self.check(blood(arterial_temperature=None), where + "arterial_temperature", "missing")
        self.check(blood(metabolic_heat=-1.0), where + "metabolic_heat", "0 or more")
        self.check(radiating_difference, "boundary.x_min.emissivity", "absolute temperatures")
        self.check(unknown, "parts[0].uniform.material", "'m00'", "m0, m1")
        self.check(uncovered, "parts", "have no material")
        self.check(twice, "materials[1]", "already has this name (m0)")
        self.check(both, "materials", "given together with material")
        self.check(neither, "material", "missing")
        self.check(no_parts, "parts", "missing")
        self.check(itself, "contacts[0].between", "itself")
        self.check(pair_twice, "contacts[1].between", "second contact")
        self.check(unstable, "time.dt", "stable")
        self.check(no_file, "file", "none.h5", code=3)

    def test_ambients_and_surfaces(self):
        air = {"name": "air", "temperature": 300.0}
        skin = {"between": ["m0", "air"], "coefficient": 10.0}

        def beside(*surfaces, ambients=(air,), part="air"):
            def change(config):
                lengths = config["grid"]["upper"]
                config["materials"] = config["materials"][:2]
                config["parts"] = [{"uniform": {"material": part}}, {"sphere": {
                    "center": [0.5 * x for x in lengths], "radius": 0.3 * lengths[0],
                    "material": "m0"}}]
                config.pop("contacts", None)
                config.update(ambients=list(ambients), surfaces=list(surfaces))
            return change

        def radiating(**keys):
            def change(config):
                beside({**skin, "emissivity": 0.5})(config)
                config.update(keys)
            return change

        def melting(config):
            beside(skin)(config)
            config["materials"][1].update(latent_heat=1e5, solidus=1500.0)

        for change, *texts in (
                (beside(skin, ambients=[{"name": "m0", "temperature": 300.0}]),
                 "ambients[0].name: 'm0' is a material"),
                (beside(skin, ambients=[{"name": "air", "temperature": -20.0}]),
                 "ambients[0].temperature", "-20"),
                (beside({**skin, "between": ["m0", "m1"]}),
                 "surfaces[0].between: 'm0' and 'm1'", "a material and an ambient"),
                (beside({**skin, "between": ["m7", "air"]}), "surfaces[0].between", "m7"),
                (beside({**skin, "between": ["m1", "air"]}),
                 "no cell of 'm1' is beside one of 'air'"),
                (radiating(parts=[{"uniform": {"material": "air"}}]),
                 "parts: all cells belong to ambients"),
                (beside(skin, {**skin, "between": ["air", "m0"]}),
                 "surfaces[1].between: a second surface"),
                (beside({**skin, "coefficient": -1.0}), "surfaces[0].coefficient"),
                (beside({"between": ["m0", "air"]}), "surfaces[0]",
                 "neither coefficient nor flux nor emissivity nor temperature"),
                (beside({**skin, "temperature": 300.0}), "surfaces[0].", "coefficient"),
                (beside({**skin, "temperature": -20.0, "coefficient": None}), "surfaces[0]"),
                (beside({**skin, "emissivity": 1.5}), "surfaces[0].emissivity", "1.5"),
                (radiating(run={"watch": {"temperature": "difference"}}),
                 "surfaces[0].emissivity", "absolute temperatures"),
                (beside({**skin, "flux": "5*x"}), "surfaces[0].flux", "5*x"),
                (beside({**skin, "flux": "1/(t - t)"}), "surfaces[0].flux", "heat flux must"),
                (beside({**skin, "coefficient": "-1 - t"}), "surfaces[0].coefficient", "-1"),
                (beside(skin, ambients=[{"name": "air", "temperature": "-5 - t"}]),
                 "ambients[0].temperature", "-5 K"),
                (beside(skin, ambients=[{"name": "air", "temperature": 300.0},
                                        {"name": "gas", "temperature": "300 + 1/t"}]),
                 "ambients[1].temperature", "inf"),
                (melting, "ambients[0]", "constant properties")):
            with self.subTest(expected=texts):
                self.check(change, *texts)


    def test_what_graded_axes_cannot_have(self):
        beam = {"gaussian": {"power": 1.0, "radius": 0.01, "x": 0.01, "y": 0.01, "z": 0.01}}
        curve = [[300, 20.0], [400, 30.0]]

        def graded(config):
            grid = config["grid"]
            cells, grid["cells"] = grid["cells"][0], [1, *grid["cells"][1:]]
            grid["x"] = {"segments": [{"to": grid["upper"][0] / 2, "cells": cells // 2},
                                      {"to": grid["upper"][0], "cells": cells, "ratio": 0.9}]}

        for more, key, what in (
                ({"sources": [beam]}, "sources[0]", "a source that moves, is read from a"),
                ({"materials": {"conductivity": curve}}, "materials", "depends on temperature"),
                ({"output": {"history": {"every": 1, "melt_pool": True}, "melting": 400.0}},
                 "output.history.melt_pool", "the size of the melt pool"),
                ({"output": {"regions": [{"name": "a", "every": 1, "stride": [2, 1, 1]}]}},
                 "output.regions[0].stride", "all of its cells are written")):
            def change(config, more=more):
                graded(config)
                config["materials"][0].update(more.get("materials", {}))
                config.update({name: more[name] for name in more if name != "materials"})
            with self.subTest(key):
                self.check(change, f": {key}: ", what)


class Properties(Case):
    """Of one material: files of tables, and numbers that are easily mistaken."""

    def check_file(self, text, *expected, code=2):
        (self.folder / "k.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        self.check_material({"conductivity": {"file": "k.csv"}}, *expected, code=code)

    def check_material(self, keys, *expected, code=2):
        material = {"name": "m", "density": 1000, "conductivity": 1, "heat_capacity": 1000, **keys}
        self.write({"grid": {"cells": [20], "upper": [0.1]}, "materials": [material],
                    "initial": [{"uniform": {"value": 300}}], "time": {"steps": 3},
                    "boundary": {face: {"type": "flux", "value": 0} for face in FACES[:2]}})
        result = self.isotherm("check", "config.yaml")
        if "this build has no UDUNITS" in result.err:
            self.skipTest("no UDUNITS")
        self.assert_code(result, code)
        if code != 0:
            self.assert_says(result, "config.yaml:", *expected)
            self.assert_one_error(result)

    def test_a_file_is_named_with_its_line_and_key(self):
        where = "materials[0].conductivity: k.csv:"
        for text, line, row in (
                ("300,1\n400,nan\n", 2, "400,nan"), ("nan,1\n400,2\n", 1, "nan,1"),
                ("T,k\n\n# a\n300,1\n\n-9,2\n", 6, "-9,2"), ("300,-1\r\n", 1, "300,-1"),
                ("300;1\n", 1, "300;1"),
                ("300,1,5\n", 1, "300,1,5"), ("300,1 W/m\n", 1, "300,1 W/m"),
                ("300,inf\n", 1, "300,inf"), ("300,1e400\n", 1, "300,1e400"),
                ("300,1\nT,k\n", 2, "T,k")):
            with self.subTest(text):
                self.check_file(text, f"{where}{line}: '{row}' is not a row", "in K")
        self.check_file("300,1\n300,2\n", f"{where}2: 300 does not exceed that of the row before")
        self.check_file("", "materials[0].conductivity: k.csv: no rows")
        for text in ("T [degC],k\n20,1\n", "T (\u00b0C),k\n20,1\n", "Celsius,k\n20,1\n"):
            self.check_file(text, f"{where}1: '{text[:4]}", "give temperatures in K")
        self.check_material({"heat_capacity": {"file": "none.csv"}},
                            "materials[0].heat_capacity", "none.csv", "No such file", code=3)
        self.check_material({"latent_heat": 1, "solidus": 350,
                             "liquid": {"conductivity": {"file": "none.csv"}}},
                            "materials[0].liquid.conductivity", "none.csv", code=3)

    def test_files_of_spreadsheets(self):
        """A byte order mark, quoted names and CR LF: no row is lost."""
        hashes = set()
        for text in ("300,1\n400,2", "\ufeff300,1\r\n400,2\r\n",
                     "\ufeff\"T [K]\",\"k [W/(m K)]\"\r\n300 \t1\r\n\r\n400,2\r\n"):
            with self.subTest(text):
                self.check_file(text, code=0)
                result = self.isotherm("run", "config.yaml", "--output", "out", "--overwrite",
                                       "--set", "boundary.x_min.value=1e4")
                self.assert_code(result, 0)
                hashes.add(result.out.split("field hash")[1].split()[0])
        self.assertEqual(len(hashes), 1)

    def test_two_conductivities(self):
        self.check_material({"conductivity": [300, 1]}, "materials[0].conductivity: two numbers",
                            "[[T, value], ...]")
        self.check_material({"conductivity": [1, 2, 3]}, code=0)
        self.check_material({"latent_heat": 1, "solidus": 350, "liquid": {"conductivity": [3, 1]}},
                            "materials[0].liquid.conductivity: two numbers")

    def test_units_of_perfusion(self):
        blood = {"blood_density": 1050, "blood_heat_capacity": 3617, "arterial_temperature": 310}
        for rate in ("30 1/min", "30 min-1", "0.5 1/s", "0.5"):
            self.check_material({"perfusion": {**blood, "rate": rate}}, code=0)
        for rate in ("0.5/min", "30 1/2", "30 1/", "30 1/m"):
            self.check_material({"perfusion": {**blood, "rate": rate}},
                                "materials[0].perfusion.rate: not a", f"({rate})")


if __name__ == "__main__":
    unittest.main()
