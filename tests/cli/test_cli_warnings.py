"""Valid values that are probably not meant, input files beside the configuration, and keys in the
wrong section."""
import unittest

import h5py
import numpy as np

from harness import Case, Run


def rod(**more):
    return {"grid": {"cells": [20], "upper": [0.1]},
            "material": {"conductivity": 45.0, "density": 7850.0, "heat_capacity": 490.0},
            "initial": [{"uniform": {"value": 300.0}}],
            "boundary": {"x_min": {"type": "convection", "coefficient": 10.0, "ambient": 293.0},
                         "x_max": {"type": "flux", "value": 0}},
            "time": {"end": 10.0}, "output": {"history": {"interval": 5.0}}, **more}


class Warnings(Case):
    def check(self, config, *expected, command="check", code=0):
        self.write(config)
        result = self.isotherm(command, "config.yaml")
        self.assert_code(result, code)
        if expected:
            self.assert_says(result, *expected, stream="out" if command == "plan" else "err")
        else:
            self.assertNotIn("warning", result.err)
        return result

    def test_values_in_another_unit(self):
        cold = rod(initial=[{"uniform": {"value": 20}}])
        said = "initial[0].uniform.value: 20 K is -253.15 degC; if it is in degC, give 20 degC"
        for command in ("check", "plan"):
            self.check(cold, said, command=command)
        self.assert_says(self.isotherm("run", "config.yaml"), said)
        film = rod()
        film["boundary"]["x_min"]["coefficient"] = 1e9
        self.check(film, "boundary.x_min.coefficient: 1e+09 W/(m^2 K) is unusual")
        steel = rod(material={"conductivity": 45.0, "density": 7.85e6, "heat_capacity": 490.0})
        self.check(steel, "material.density: 7850000 kg/m^3 is unusual")
        beam = {"gaussian": {"radius": 5e-5, "power": 1, "x": 5.0}}
        self.check(rod(sources=[beam], grid={"cells": [20], "upper": [10]}),
                   "sources[0]: its radius of 5e-05 m is less than a tenth of a cell along x")
        self.check(rod(output={"history": {"interval": 11}}),
                   "output.history.interval is 11 s, more than the 10 s of the run")
        self.check(rod(output={"history": {"times": [1, 12]}}),
                   "the times of output.history go to 12 s, beyond the 10 s of the run")

    def test_spots_shorter_than_a_step(self):
        rows = "Mode X Y Z Power Param\n1 0.03 0 0 9 {0}\n1 0.06 0 0 0 1\n1 0.06 0 0 9 {0}\n"
        beam = {"gaussian": {"radius": 0.02, "path": "spots.txt"}}
        for seconds, said in ((0.02, ("sources[0].gaussian.path: its power is on for 0.02 s at a "
                                      "time and steps of 0.1 s take it at their middle", "0.004")),
                              (0.3, ())):
            (self.folder / "spots.txt").write_text(rows.format(seconds))
            self.check(rod(sources=[beam], time={"end": 2.0, "dt": 0.1},
                           output={"directory": f"out_{seconds}"}), *said, command="run")
            report = Run(None, self.folder / f"out_{seconds}").report
            self.assertEqual(report["source_heat_J"] > 0, not said)

    def test_usual_values_are_not_mentioned(self):
        self.check(rod())
        one = rod(material={"conductivity": 1, "density": 1, "heat_capacity": 1},
                  initial=[{"uniform": {"value": 0}}])
        self.check(one)
        self.check({**rod(initial=[{"uniform": {"value": 20}}]),
                    "run": {"watch": {"temperature": "difference"}}})

    def test_cooling_rate_in_a_melting_range(self):
        metal = {"name": "alloy", "conductivity": 25, "density": 8440, "heat_capacity": 600,
                 "latent_heat": 290e3, "solidus": 1563, "liquidus": 1623}
        for derived, used in (({"isotherm": 1563}, 1563), ({"isotherm": 1500}, None),
                              ({"cooling": [1623, 1463]}, 1623), ({"cooling": [1563, 1463]}, None),
                              ({"cooling": [1700, 1570]}, 1570)):
            config = rod(materials=[metal], output={
                "derived": derived, "snapshots": {"every": 9, "derived": ["cooling_rate"]}})
            del config["material"]
            said = (f"output.snapshots.derived: cooling_rate uses {used} K, in the melting range "
                    "of alloy (1563 to 1623 K)")
            self.check(config, *([said] if used else []))

    def test_files_and_folders(self):
        self.check(rod(initial=[{"file": {"path": "none.h5"}}]),
                   "initial[0].file: none.h5 does not exist yet")
        (self.folder / "file").write_text("")
        self.check(rod(output={"directory": "file/out"}),
                   "output.directory: file/out cannot be written")
        self.check(rod(initial=[{"file": {"path": "a.npy"}}]), "config.yaml:",
                   "initial[0].file.path: a.npy is a file of NumPy", "h5py.File('a.h5', 'w')['/T']",
                   code=2)

    def test_keys_in_the_wrong_section(self):
        self.check(rod(conductivity=3), "conductivity: unknown key here; did you mean "
                   "'material.conductivity'?", code=2)
        self.check(rod(steps=3), "steps: unknown key here; did you mean 'time.steps'?", code=2)

    def test_files_beside_the_configuration(self):
        """They come before those of the working directory, and a restart finds no difference."""
        (self.folder / "case").mkdir()
        for folder, value in (("case", 400.0), (".", 500.0)):
            with h5py.File(self.folder / folder / "start.h5", "w") as file:
                file["T"] = np.full((1, 1, 20), value)
            (self.folder / folder / "face.csv").write_text(f"0,{value}\n5,{value}\n")
        config = rod(initial=[{"file": {"path": "start.h5"}}])
        config["boundary"]["x_min"]["ambient"] = {"file": "face.csv"}
        config["output"] = {"checkpoints": {"interval": 5.0}}
        self.write(config, "case/config.yaml")
        self.write(config)
        maxima = []
        for path in ("case/config.yaml", "config.yaml"):
            result = self.isotherm("run", path, "--output", "out", "--overwrite")
            self.assert_code(result, 0)
            maxima.append(Run(result, self.folder / "out").report["max_K"])
        self.assertEqual([round(value) for value in maxima], [400, 500])
        result = self.isotherm("run", "case/config.yaml", "--output", "out", "--restart", "auto",
                               "--set", "time.end=20")
        self.assert_code(result, 0)
        self.assertNotIn("start.h5", result.out + result.err)
        self.assertNotIn("face.csv", result.out + result.err)
        result = self.isotherm("run", "case/config.yaml", "--output", "out", "--restart", "auto",
                               "--set", "time.end=30", "--set", "initial[0].file.path=./start.h5")
        self.assert_says(result, "initial[0].file.path: start.h5 -> ./start.h5", stream="out")


if __name__ == "__main__":
    unittest.main()
