"""Parts, patches and contacts that the grid does not resolve: errors where they would have no
effect, warnings where their cells are another size."""
import math
import unittest

import h5py
import numpy as np

from harness import Case

H = 0.2e-3  # m, the cells

# a stack of silicon on copper with room for what is added
STACK = {
    "grid": {"cells": [10, 10, 10], "upper": [10 * H] * 3},
    "materials": [
        {"name": "copper", "conductivity": 400, "density": 8900, "heat_capacity": 385},
        {"name": "silicon", "conductivity": 150, "density": 2330, "heat_capacity": 700},
        {"name": "glue", "conductivity": 2, "density": 1500, "heat_capacity": 1000},
    ],
    "parts": [{"uniform": {"material": "copper"}},
              {"layer": {"axis": "z", "from": 5 * H, "to": 10 * H, "material": "silicon"}}],
    "initial": [{"uniform": {"value": 300}}],
    "boundary": {face: {"type": "flux", "value": 0}
                 for face in ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")},
    "time": {"steps": 2},
    "output": {"history": {"every": 1}},
}


def stack(part=None, **keys):
    config = {**STACK, **keys}
    if part is not None:
        config["parts"] = STACK["parts"] + [part]
    return config


def layer(low, high):
    return {"layer": {"axis": "z", "from": low, "to": high, "material": "glue"}}


def patch(**shape):
    return {**STACK["boundary"], "z_max": {"type": "flux", "value": 0, "patches": [
        {"type": "flux", "value": 1e4, **shape}]}}


class Resolution(Case):
    def refused(self, config, *fragments):
        """By every command, with the line of the configuration."""
        name = self.write(config)
        for words in (["check", name], ["plan", name], ["run", name, "--output", "out"]):
            result = self.isotherm(*words)
            self.assert_code(result, 2)
            self.assert_says(result, f"{name}:", *fragments)

    def test_paint(self):
        config = stack(layer(4 * H, 6 * H), ambients=[{"name": "air", "temperature": 300}],
                       surfaces=[{"between": ["silicon", "air"], "coefficient": 10}])
        config["parts"].append({"box": {"lower": [0, 0, 8 * H], "upper": [5 * H, 10 * H, 10 * H],
                                        "material": "air"}})
        name = self.write(config)
        result = self.isotherm("paint", name, "--output", "painted", ranks=2)
        self.assert_code(result, 0)
        self.assertFalse((self.folder / "out").exists())
        rows = {line.split()[0]: line.split() for line in result.out.splitlines()
                if "|" not in line}
        for material, cells, thinnest in (("copper", 400, "4 cells along z"),
                                          ("glue", 200, "2 cells along z"),
                                          ("silicon", 300, "2 cells along z"),
                                          ("air", 100, "2 cells along z")):
            self.assertEqual(int(rows[material][1]), cells)
            self.assertAlmostEqual(float(rows[material][2]) / (cells * H ** 3), 1, delta=1e-5)
            self.assertEqual(" ".join(rows[material][3:]), thinnest)
        for pair, faces in (("copper | glue", 100), ("silicon | glue", 100), ("silicon | air", 70)):
            area = float(result.out.partition(pair + ": ")[2].split()[0])
            self.assertAlmostEqual(area / (faces * H * H), 1, delta=1e-5)
        with h5py.File(self.folder / "painted/snapshots/step_0000000000.h5", "r") as file:
            counts = np.bincount(file["/material"][()].astype(int).ravel())
        self.assertEqual(counts.tolist(), [400, 300, 200, 100])
        self.assert_code(self.isotherm("paint", name, "--output", "painted"), 2)
        del config["materials"], config["parts"], config["ambients"], config["surfaces"]
        config["material"] = {"conductivity": 1, "density": 1, "heat_capacity": 1}
        result = self.isotherm("paint", self.write(config))
        self.assert_code(result, 2)
        self.assert_says(result, "materials: missing; there is nothing to paint")

    def warned(self, config, *fragments):
        """By every command; the run goes on."""
        name = self.write(config)
        for words, stream in ((["check", name], "err"), (["plan", name], "out"),
                              (["run", name, "--output", "out", "--overwrite"], "err")):
            result = self.isotherm(*words)
            self.assert_code(result, 0)
            self.assert_says(result, "warning: ", *fragments, stream=stream)
            self.assertEqual(getattr(result, stream).count("warning: "), 1, result)

    def quiet(self, config):
        name = self.write(config)
        for words in (["check", name], ["plan", name]):
            result = self.isotherm(*words)
            self.assert_code(result, 0)
            self.assertNotIn("warning: parts", result.out + result.err)
            self.assertNotIn("warning: boundary", result.out + result.err)

    def test_what_fits_is_not_mentioned(self):
        self.quiet(stack())
        self.quiet(stack(layer(4 * H, 5 * H)))
        self.quiet(stack(layer(8 * H, 10 * H)))
        self.quiet(stack({"box": {"lower": [0, H, H], "upper": [10 * H, 3 * H, 4 * H],
                                  "material": "glue"}}))
        self.quiet(stack(boundary=patch(rectangle={"lower": [0, 0], "upper": [5 * H, 2 * H]})))
        self.quiet(stack(contacts=[{"between": ["copper", "silicon"], "resistance": 1e-5}]))

    def test_a_layer_thinner_than_a_cell(self):
        """0.05 mm of glue between two centres; the same where it catches one."""
        advice = ("use a finer grid, or leave this part out",
                  "'contacts': thickness / conductivity, here 2.5e-05 m^2 K/W")
        self.refused(stack(layer(5 * H, 5.25 * H)), "parts[2].layer: contains no cell centre",
                     *advice)
        self.warned(stack(layer(5.4 * H, 5.65 * H)),
                    "parts[2].layer: its thickness is 5e-05 m, that of its cells 0.0002 m (+300 %)",
                    *advice)

    def test_boxes(self):
        shape = {"lower": [0, 0, 5.1 * H], "upper": [10 * H, 10 * H, 5.3 * H], "material": "glue"}
        self.refused(stack({"box": shape}), "parts[2].box: contains no cell centre",
                     "here 2e-05 m^2 K/W")
        shape["upper"] = [4 * H, 2 * H, 6.6 * H]
        self.warned(stack({"box": shape}), "parts[2].box: its volume is 9.6e-11 m^3, that of its "
                    "cells 1.28e-10 m^3 (+33 %); use a finer grid")

    def test_round_shapes(self):
        """Against a count of the centres; of one cut by a plane of symmetry the half counts."""
        radius = 1.4 * H
        centers = [(i + 0.5) * H for i in range(10)]
        for middle, share in ((5 * H, 1), (0, 0.5)):
            inside = sum((x - middle) ** 2 + (y - 5 * H) ** 2 + (z - 5 * H) ** 2 <= radius**2
                         for x in centers for y in centers for z in centers)
            sphere = {"sphere": {"center": [middle, 5 * H, 5 * H], "radius": radius,
                                 "material": "glue"}}
            volume = share * 4 / 3 * math.pi * radius**3
            self.warned(stack(sphere),
                        f"parts[2].sphere: its volume is {volume:.4g} m^3, that of its cells "
                        f"{inside * H**3:.4g} m^3")
        self.refused(stack({"sphere": {"center": [5 * H] * 3, "radius": 0.3 * H,
                                       "material": "glue"}}), "parts[2].sphere: contains no cell")

    def test_conditions(self):
        self.refused(stack({"expression": {"where": "z > 5", "material": "glue"}}),
                     "parts[2].expression.where: contains no cell centre")

    def test_patches(self):
        self.refused(stack(boundary=patch(rectangle={"lower": [0, 0], "upper": [10 * H, 0.4 * H]})),
                     "boundary.z_max.patches[0].rectangle: contains no cell centre of the face")
        self.refused(stack(boundary=patch(disc={"center": [5 * H, 5 * H], "radius": 0.1 * H})),
                     "boundary.z_max.patches[0].disc: contains no cell centre of the face")
        self.refused(stack(boundary=patch(where="x > 5")),
                     "boundary.z_max.patches[0]: contains no cell of the face")
        self.warned(stack(boundary=patch(rectangle={"lower": [0, 0], "upper": [2 * H, 1.6 * H]})),
                    "boundary.z_max.patches[0]: its area is 1.28e-07 m^2, that of its cells "
                    "1.6e-07 m^2 (+25 %); use a finer grid")

    def test_contacts(self):
        contact = [{"between": ["copper", "glue"], "resistance": 1e-5}]
        self.refused(stack(layer(8 * H, 9 * H), contacts=contact),
                     "contacts[0].between: no cell of 'copper' is beside one of 'glue'")
        self.quiet(stack(layer(5 * H, 6 * H), contacts=contact))

    def test_contacts_of_what_others_become(self):
        """Powder that only later becomes the material of the contact."""
        melting = {"latent_heat": 1e5, "solidus": 1000, "liquidus": 1100}
        materials = [STACK["materials"][0], {**STACK["materials"][1], **melting},
                     {"name": "powder", "conductivity": 1, "becomes": "silicon"}]
        parts = [STACK["parts"][0], {"layer": {**STACK["parts"][1]["layer"], "material": "powder"}}]
        contact = [{"between": ["copper", "silicon"], "resistance": 1e-5}]
        self.quiet(stack(materials=materials, parts=parts, contacts=contact))


if __name__ == "__main__":
    unittest.main()
