"""Boundary values that vary over a face and in time: formulas of place and time, and files of maps
over time. test_materials.py compares random ones with another solver."""
import unittest

import h5py
import numpy as np

from harness import Case

LENGTHS = [0.024, 0.031, 0.018]
MOVING = "300 + 60*sin(150*x + 120*y - 0.9*t)"
WAYS = (("guard", 2), ("cpu", 3), ("guard", 5), ("cpu", 8))


def box(cells, condition, **more):
    """Convection at the last face, no flow through the others; steps of 0.05 s."""
    faces = [f"{axis}_{side}" for axis in "xyz"[:len(cells)] for side in ("min", "max")]
    boundary = {face: {"type": "flux", "value": 0} for face in faces}
    boundary[faces[-1]] = {"type": "convection", "coefficient": 900, "ambient": 300, **condition}
    return {"grid": {"cells": cells, "upper": LENGTHS[:len(cells)]},
            "material": {"conductivity": 30.0, "density": 7800.0, "heat_capacity": 600.0},
            "initial": [{"uniform": {"value": 320.0}}], "boundary": boundary,
            "run": {"precision": "float64"},
            "time": {"steps": 24, "dt": 0.05}, "output": {"history": {"every": 6}}, **more}


SCHEMES = ({"steps": 24, "dt": 0.05}, {"end": 6, "dt": 1.0, "scheme": "sts2"},
           {"end": 6, "dt": 0.8, "scheme": "sts1"},
           {"end": 6, "dt": 1.5, "scheme": "sts2", "monotone": True},
           {"end": 6, "dt": 0.5, "scheme": "implicit"},
           {"end": 6, "dt": 0.5, "scheme": "implicit", "backward_euler": True})


class Maps(Case):
    def same(self, a, b, schemes=SCHEMES):
        """Two conditions that are the same in all cells, by each scheme."""
        for scheme in schemes:
            hashes = [self.run_config(box([9, 7, 8], condition, time=scheme), name,
                                      "--overwrite").exact("field_hash", "boundary_heat_J")
                      for name, condition in (("a", a), ("b", b))]
            self.assertEqual(*hashes, scheme)

    def test_the_times_of_formulas(self):
        """A map without place has the bits of a formula of the time: in each level of a super step
        and in both of an implicit step it is taken at the same times."""
        ambient, film = "300 + 60*sin(0.9*t)", "900 + 500*sin(1.3*t)"
        ones = {"coefficient_factor": {"formula": "1"}}
        self.same({"ambient": ambient, "coefficient": film, **ones},
                  {"ambient": f"{ambient} + 0*x", "coefficient": f"{film} + 0*y"})
        self.same({"ambient": ambient, **ones},
                  {"ambient_factor": {"formula": f"{ambient} + 0*y"}, "ambient": 1}, SCHEMES[1:2])

    def test_the_range_of_a_tolerance(self):
        """It is that of the whole run, also where a map varies by a formula: the same steps."""
        ambient = "320 + 40*t*sin(0.9*t)"
        ones = {"coefficient_factor": {"formula": "1"}}
        self.same({"ambient": ambient, **ones}, {"ambient": f"{ambient} + 0*x", **ones},
                  [{"end": 6, "scheme": "sts2", "tolerance": 3e-3},
                   {"end": 6, "scheme": "implicit", "tolerance": 3e-3}])

    def test_the_times_of_files(self):
        """Maps over time with the rows of a table."""
        rows = [[0, 300], [1.7, 380], [2.3, 290], [4, 300]]
        np.save(self.folder / "maps.npy", [np.full((7, 9), value) for _, value in rows])
        ones = {"ambient_factor": {"formula": "1"}}
        for period, length in (({}, 4), ({"period": 4.0}, 6)):
            factor = {"path": "maps.npy", "times": [t for t, _ in rows], **period}
            schemes = [{**scheme, "end": length} for scheme in SCHEMES[1:5:3]] + [SCHEMES[0]]
            self.same({"ambient": {"rows": rows, **period}, **ones},
                      {"ambient": 1, "ambient_factor": factor}, schemes)

    def test_a_file_over_time_in_two_and_one_dimensions(self):
        for cells, shape in (([9, 7], (3, 9)), ([9], (3,)), ([9, 7, 8], (3, 7, 9))):
            values = np.random.default_rng(1).uniform(280, 390, shape).astype(np.float32)
            np.save(self.folder / "maps.npy", values)
            flux = [{"ambient": 1, "coefficient": 1e9, "ambient_factor": {
                "path": "maps.npy", "times": [0, 0.5, 1.2]}}]
            run = self.run_config(box(cells, *flux), f"of{len(cells)}")
            last = run.history()[-1]
            face = "xyz"[len(cells) - 1] + "_max"
            # so warm a film keeps the face at the ambient's temperature
            self.assertLess(abs(last[f"T_{face}_K"] / values[-1].mean() - 1), 1e-5)

    def test_the_bits_of_any_ranks_backend_and_restart(self):
        maps = np.random.default_rng(2).uniform(0.5, 2, (4, 8, 9))
        with h5py.File(self.folder / "film.h5", "w") as file:
            file["film"] = maps
        condition = {"ambient": MOVING, "coefficient_factor": {
            "path": "film.h5", "dataset": "/film", "times": [0, 2, 2.5, 6]}}
        for time, precision in (({"end": 2.6, "dt": 0.05}, "float32"), (SCHEMES[1], "float64"),
                                (SCHEMES[4], "float64")):
            config = box([9, 8, 16], condition, time=time, run={"precision": precision})
            config["boundary"]["x_min"] = {"type": "flux", "value": "1e5*exp(-1e5*(y - 5e-3*t)^2)"}
            config["boundary"]["y_min"] = {"type": "periodic"}
            config["boundary"]["y_max"] = {"type": "periodic"}
            config["output"]["checkpoints"] = {"every": 2, "keep": 99}
            one = self.run_config(config, "one", "--overwrite")
            self.assertLess(abs(one.report["heat_drift_J"]),
                            (1e-13 if precision == "float64" else 1e-6) * one.report["heat_J"])
            for backend, ranks in WAYS:
                other = self.run_config(config, "other", "--overwrite", "--backend", backend,
                                        ranks=ranks)
                self.assertEqual(other.exact("field_hash"), one.exact("field_hash"), ranks)
                self.assertEqual(other.history_bytes(), one.history_bytes(), ranks)
            middle = sorted((self.folder / "one/checkpoints").glob("step_*.h5"))[1]
            rest = self.run_config(config, "rest", "--overwrite", "--restart", middle, ranks=2)
            self.assertEqual(rest.exact("field_hash"), one.exact("field_hash"))

    def test_second_order_in_time(self):
        """Of super steps and implicit ones, with all that varies: the error falls by four."""
        condition = {"ambient": MOVING, "coefficient": "3000*(1 + 0.8*sin(200*x - 1.1*t))"}

        def mean(scheme, dt):
            time = {"end": 4, "dt": dt, "scheme": scheme}
            config = box([8, 6, 5], condition, time=time, output={"checkpoints": {"every": 1000}})
            return self.run_config(config, "run", "--overwrite").temperature()
        exact = mean("sts2", 0.04)
        for scheme, dt in (("sts2", 0.5), ("implicit", 0.25)):
            errors = [abs(mean(scheme, dt / n) - exact).max() for n in (1, 2)]
            self.assertGreater(errors[0] / errors[1], 3, scheme)

    def test_a_steady_state_of_a_formula_of_the_place(self):
        """A linear temperature along the plate, which the faces impose."""
        config = box([12, 10], {"type": "temperature", "value": "300 + 1000*x"},
                     output={"checkpoints": {"every": 1}})
        del config["boundary"]["y_max"]["coefficient"], config["boundary"]["y_max"]["ambient"]
        config["boundary"]["y_min"] = {"type": "temperature", "value": "300 + 1000*x"}
        config["boundary"]["x_min"] = {"type": "temperature", "value": 300}
        config["boundary"]["x_max"] = {"type": "temperature", "value": 324}
        config["time"] = {"steady": {"temperature": 1e-7}}
        T = self.run_config(config, "steady").temperature()
        x = (np.arange(12) + 0.5) * 0.002
        self.assertLess(abs(T - (300 + 1000 * x)).max(), 1e-6)

    def test_plan_counts_maps(self):
        """Those of a time axis in float32, four times of the mixed ones, the map at t = 0."""
        cells, maps = [60, 50, 4], 40
        np.save(self.folder / "maps.npy", np.ones((maps, 50, 60)))
        factor = {"path": "maps.npy", "times": list(range(maps))}
        short = {"steps": 24, "dt": 0.002}
        self.write(box(cells, {"coefficient_factor": factor}, time=short))
        result = self.isotherm("plan", "config.yaml")
        self.assert_code(result, 0)
        # bytes of patch and class; three factors; four times, of one factor; a piece; the maps
        per_cell = 2 + 3 * 8 + 4 * 8 + 8 + 4 * maps
        shown = float(result.out.split(" kB on the host for patches")[0].split()[-1])
        self.assert_below(abs(shown * 1e3 / (60 * 50 * per_cell) - 1), 0.08, "with the halo")
        self.write(box(cells, {}, time=short))
        self.assertNotIn("for patches", self.isotherm("plan", "config.yaml").out)

    def refused(self, condition, *expected, code=2, ranks=1, **more):
        self.write(box([9, 7, 8], condition, **more))
        command = ["run", "--overwrite"] if code == 5 else ["check"]
        result = self.isotherm(*command, "config.yaml", ranks=ranks)
        self.assert_code(result, code)
        self.assert_says(result, *expected)

    def test_wrong_maps(self):
        np.save(self.folder / "maps.npy", np.ones((3, 7, 9)))
        face = "boundary.z_max."
        file = {"path": "maps.npy", "times": [0, 1, 2]}
        factor = {"coefficient": 1, "coefficient_factor": file}
        self.refused({"ambient": "300 + q*x"}, face + "ambient", "unknown name \"q\"",
                     "a formula in x, y, z, t")
        self.refused({"ambient": "300 + x", "ambient_factor": {"formula": "2"}},
                     face + "ambient_factor", "a formula of the position itself")
        self.refused({"emissivity": 1, "surroundings": "300*x"}, face + "surroundings",
                     "a formula in t")
        self.refused(factor, face + "coefficient_factor.times", "do not span the run",
                     "to 2.5 s", time={"end": 2.5})
        self.refused({**factor, "coefficient_factor": {**file, "period": 1.5}},
                     face + "coefficient_factor.period", "span 2 s, more than the period")
        self.refused({**factor, "coefficient_factor": {"formula": "2", "times": [0, 1]}},
                     face + "coefficient_factor.times", "path")
        self.refused({**factor, "coefficient_factor": {**file, "times": [0, 9]}},
                     face + "coefficient_factor", "(3, 7, 9)", "(2, 7, 9)")
        self.refused({"ambient": "300 - 2e5*x + t"}, face + "ambient", "give values from 0")
        late = {"ambient": "300 - 300*t*x/0.012"}
        for ranks in (1, 3):
            self.refused(late, face + "ambient: at t = 0.55 s", "give values from 0", code=5,
                         ranks=ranks, time={"steps": 30, "dt": 0.05})
        moving = {"ambient": MOVING}
        self.refused(moving, "boundary", "a boundary condition varies in time",
                     time={"steady": {"temperature": 1e-7}})
        maps = np.ones((3, 7, 9))
        maps[1, 3, 4] = -1
        np.save(self.folder / "maps.npy", maps)
        self.refused(factor, face + "coefficient_factor", "-1 at x =", "from 0 to 1e20")

    def test_a_steady_start_with_a_film_that_begins_later(self):
        """What holds the temperatures is found at the start: a film of 0 there does not, whatever
        comes later, and heat that comes in has nowhere to go."""
        film = np.zeros((3, 7, 9))
        film[1:] = 2
        np.save(self.folder / "late.npy", film)
        np.save(self.folder / "early.npy", film[::-1])
        start = [{"uniform": {"value": 320.0}}, {"steady": {}}]
        for name, hot in (("late", False), ("early", False), ("late", True), ("early", True)):
            factor = {"path": f"{name}.npy", "times": [0, 1, 2]}
            config = box([9, 7, 8], {"coefficient_factor": factor}, initial=start)
            if hot:
                config["boundary"]["x_min"]["value"] = 500
            label = f"{name}_{hot}"
            if hot and name == "late":
                for ranks in (1, 3):
                    result = self.run_config(config, label, code=2, ranks=ranks)
                    self.assert_says(result, "no steady state: at t = 0 s", "stay in the body")
                continue
            for ranks in (1, 3):
                first = self.run_config(config, label, "--overwrite", ranks=ranks).history()[0]
                power = 500 * LENGTHS[1] * LENGTHS[2] if hot else 0
                area = LENGTHS[0] * LENGTHS[1]
                mean = 320 if name == "late" else 300 + power / area / 1800
                face = first["T_z_max_K"]
                self.assert_below(abs(face - mean), 1e-6, f"{label}: {face} {mean}")


if __name__ == "__main__":
    unittest.main()
