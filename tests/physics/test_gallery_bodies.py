"""Bodies that are no blocks against their references: a ball beside its series, contacts between
curved shapes, surfaces from STL files and labels of voxels."""
import math
import struct
import unittest

import numpy as np

import bodies
import references
from gallery import GALLERY, Example, last_row


class SphereCooling(Example):
    """A ball with Bi = 1: the series of eigenfunctions (sin z r) / (z r), z cot z = 1 - Bi."""

    RADIUS, K, RHO_C, FILM, END = 0.02, 40.0, 7800.0 * 500.0, 2000.0, 10.0

    def exact_mean(self):
        Bi, Fo = self.FILM * self.RADIUS / self.K, self.END * self.K / self.RHO_C / self.RADIUS**2
        total = 0.0
        for n in range(20):   # z cos z = (1 - Bi) sin z has a root in each interval of pi
            low, high = n * math.pi + 1e-9, (n + 1) * math.pi - 1e-9
            for _ in range(80):
                z = (low + high) / 2
                above = (z / math.tan(z) - (1 - Bi)) > 0
                low, high = (z, high) if above else (low, z)
            bump = math.sin(z) - z * math.cos(z)
            total += 12 * bump**2 / (2 * z - math.sin(2 * z)) / z**3 * math.exp(-z * z * Fo)
        return 300 + 700 * total

    def test_converges(self):
        condition = "x^2 + y^2 + z^2 < 0.02^2"
        bodies.write_stl(self.folder / "ball.stl", bodies.ball(20))
        for cells in (12, 24):
            for shape, sets in (("sphere", ()), ("condition", (
                    f"parts[1]={{expression: {{where: '{condition}', material: steel}}}}",)),
                    ("stl", (f"parts[1]={{stl: {{path: {self.folder / 'ball.stl'}, "
                             "scale: 0.001, material: steel}}",))):
                run = self.solve_example(
                    "sphere_cooling", f"{shape}{cells}", f"grid.cells=[{cells}, {cells}, {cells}]",
                    f"time.end={self.END}", *sets)
                last = run.history()[-1]
                error = abs(last["mean_K"] - self.exact_mean()) / (self.exact_mean() - 300)
                self.assert_below(error, 0.06 / cells, f"{shape} of {cells}")
                exact = math.pi * self.RADIUS**2 / 2
                self.assert_below(abs(last["area_skin_m2"] / exact - 1), 0.2 / cells, "its area")
                self.assert_below(abs(last["heat_drift_J"]), 1e-12 * last["heat_J"], "the ledger")
                self.assertEqual(last["flow_x_max_W"], 0)

    def test_on_other_grids(self):
        """On graded axes, and as a half circle around an axis, where each slope would be a class
        of each width: the film acts on the area of the ball."""
        insulated = {"type": "flux", "value": 0.0}
        ball = "parts[1]={sphere: {center: [0, 0], radius: 20 mm, material: steel}}"
        rows = ", ".join(f"{face}: {insulated}" for face in ("x_min", "x_max", "y_min", "y_max"))
        grids = {
            "graded": (1 / 8, ["grid={cells: [1, 1, 1], x: {segments: [{to: 12 mm, cells: 6}, "
                           "{to: 24 mm, cells: 12}]}, y: {segments: [{to: 24 mm, cells: 20, "
                           "ratio: 0.95}]}, z: {segments: [{to: 24 mm, cells: 18}]}}"]),
            "axisymmetric": (1 / 2, ["grid={geometry: axisymmetric, cells: [24, 32], "
                                 "upper: [24 mm, 24 mm]}", ball, f"boundary={{{rows}}}",
                                 "output.probes.points=[{name: centre, at: [0, 0]}]"])}
        for name, (share, sets) in grids.items():
            runs = [self.solve_example("sphere_cooling", f"{name}{ranks}", *sets, ranks=ranks)
                    for ranks in (1, 3)]
            self.assertEqual(runs[1].exact("field_hash"), runs[0].exact("field_hash"))
            self.assertEqual(runs[1].history_bytes(), runs[0].history_bytes())
            row = runs[0].history()[10]
            exact, area = self.exact_mean(), row["area_skin_m2"]
            self.assert_below(abs(row["mean_K"] - exact) / (exact - 300), 0.006, name)
            of_ball = 4 * math.pi * self.RADIUS**2 * share
            self.assert_below(abs(area / of_ball - 1), 0.01, "its area")
            self.assertGreater(row["cell_area_skin_m2"], 1.25 * area)
            flow = self.FILM * area * (300 - row["T_skin_K"])
            self.assert_below(abs(row["flow_skin_W"] / flow - 1), 1e-12, "the law of the film")
            self.assert_below(abs(row["heat_drift_J"]), 1e-12 * row["heat_J"], "the ledger")


class CylinderCooling(Example):
    """A bar with Bi = 1, as a disc of square cells in a plane: Heisler's series."""

    def test_converges(self):
        z, bessel = np.array(references.bar_roots()), references.bessel
        exact = (4 * bessel(1, z)**2 / (z**2 * (bessel(0, z)**2 + bessel(1, z)**2)) *
                 np.exp(-0.3 * z**2)).sum()
        for cells in (20, 40, 80):
            run = self.run_config({
                "grid": {"cells": [cells] * 2, "upper": [1.2] * 2},
                "materials": [{"name": "bar", "conductivity": 1.0, "density": 1.0,
                               "heat_capacity": 1.0}],
                "ambients": [{"name": "air", "temperature": 0}],
                "parts": [{"uniform": {"material": "air"}},
                          {"sphere": {"center": [0, 0], "radius": 1.0, "material": "bar"}}],
                "surfaces": [{"between": ["bar", "air"], "coefficient": 1.0, "name": "side"}],
                "initial": [{"uniform": {"value": 1.0}}],
                "boundary": {f"{axis}_{side}": {"type": "flux", "value": 0.0}
                             for axis in "xy" for side in ("min", "max")},
                "run": {"watch": {"temperature": "difference"}}, "time": {"end": 0.3},
                "output": {"history": {"every": 1000000}}}, f"disc{cells}")
            last = run.history()[-1]
            self.assert_below(abs(last["mean_K"] - exact), 0.13 / cells, f"disc of {cells}")
            self.assert_below(abs(last["area_side_m2"] / (math.pi / 2) - 1), 0.6 / cells, "area")
            self.assertGreater(last["cell_area_side_m2"], 1.25 * math.pi / 2)


class Bodies(Example):
    """From STL files."""

    def test_heat_sink(self):
        """The fin formula with the rounded length of a fin, in series with the plate."""
        bodies.write_stl(self.folder / "heat_sink.stl", bodies.heat_sink())
        self.assertEqual((self.folder / "heat_sink.stl").read_bytes(),
                         (GALLERY / "heat_sink.stl").read_bytes())
        last = self.solve_example("heat_sink", "sink").history()[-1]
        film, k, thick, deep = 50.0, 200.0, 2e-3, 2e-3
        m = math.sqrt(2 * film / (k * thick))
        fin = math.sqrt(2 * film * deep * k * thick * deep) * math.tanh(m * (20e-3 + thick / 2))
        flow = 1 / (1 / (2 * (fin + film * deep * 4e-3)) + 4e-3 / (k * 12e-3 * deep)) * 50
        self.assert_below(abs(last["flow_fins_W"] / -flow - 1), 0.005, "the heat of the fins")
        self.assert_below(abs(last["area_fins_m2"] / 1.84e-4 - 1), 1e-12, "their area")

    def cube(self, part, **how):
        cells = how.pop("cells", [10, 9, 8])
        d = len(cells)
        config = {"grid": {"cells": cells, "lower": [-1.0] * d, "upper": [1.0] * d},
                  "materials": [{"name": name, "conductivity": k, "density": 1.0,
                                 "heat_capacity": 1.0} for name, k in (("a", 1.0), ("b", 9.0))],
                  "parts": [{"uniform": {"material": "a"}}, part],
                  "initial": [{"expression": {"value": "300 + 50*x*y + 20*z"}}],
                  "time": {"steps": 5},
                  "boundary": {f"{axis}_{side}": {"type": "flux", "value": 0.0}
                               for axis in "xyz"[:d] for side in ("min", "max")}}
        config["boundary"]["x_min"].update(how.pop("x_min", {}))
        return self.run_config(config, how.pop("output"), **how)

    def test_placed_as_a_box(self):
        """Some planes of the box go through centres of cells: the lower ones are inside."""
        box = {"lower": [-0.5, -0.2, -0.25], "upper": [0.5, 0.8, 0.75], "material": "b"}
        expected = self.cube({"box": box}, output="box").report["field_hash"]
        bodies.write_stl(self.folder / "cube1.stl", bodies.cube(1000.0))
        bodies.write_text(self.folder / "cube3.stl", bodies.cube(1000.0))
        for number, (turn, move) in enumerate((
                ([0, 0, 0], [-0.5, -0.2, -0.25]), ([0, 0, 90], [0.5, -0.2, -0.25]),
                ([180, 0, 0], [-0.5, 0.8, 0.75]), ([0, -90, 0], [0.5, -0.2, -0.25]))):
            for ranks in (1, 3):    # from a binary and from a text file
                part = {"stl": {"path": f"cube{ranks}.stl", "scale": 0.001, "turn": turn,
                                "move": move, "material": "b"}}
                run = self.cube(part, output=f"cube{number}_{ranks}", ranks=ranks)
                self.assertEqual(run.report["field_hash"], expected, f"turned by {turn}")

    def test_messages(self):
        cube = bodies.cube()
        bodies.write_stl(self.folder / "cube.stl", cube)
        bodies.write_stl(self.folder / "hole.stl", cube[1:])
        (self.folder / "text.stl").write_text("no body" * 100)
        for name, more, *words in (
                ("hole.stl", {}, "parts[1].stl.path", "has holes: 3 of the edges of its 11"),
                ("text.stl", {}, "parts[1].stl.path", "is not an STL file"),
                ("cube.stl", {"move": [5.0, 0.0, 0.0]}, "parts[1].stl:", "from 5 to 6 m in x",
                 "`scale`"),
                ("cube.stl", {"scale": 0.001}, "parts[1].stl", "no cell centre")):
            part = {"stl": {"path": name, "material": "b", **more}}
            result = self.cube(part, output="refused", code=2)
            for word in words:
                self.assertIn(word, result.err)


    def test_labels_of_numpy(self):
        labels = np.full((8, 9, 10), 7)
        labels[3:7, 4:8, 3:8] = -2
        expected = self.cube({"box": {"lower": [-0.4, -0.1, -0.25], "upper": [0.6, 0.7, 0.75],
                                      "material": "b"}}, output="box").report["field_hash"]
        part = {"file": {"path": "labels.npy", "materials": {7: "a", -2: "b"}}}
        path = self.folder / "labels.npy"
        for number, kind in enumerate(("<i1", "<i2", "<i8")):
            np.save(path, labels.astype(kind))
            run = self.cube(part, output=f"labels{number}", ranks=2)
            self.assertEqual(run.report["field_hash"], expected, kind)
        for array, word in ((labels.astype(float), "array of integers"),
                            (labels.astype(">i4"), "little-endian"),
                            (np.asfortranarray(labels), "Fortran order"),
                            (labels[1:], "has the shape (7, 9, 10); the grid needs (8, 9, 10)"),
                            (labels + 1, "holds 8 at")):
            np.save(path, array)
            self.assertIn(word, self.cube(part, output="refused", code=2).err)
        self.check_tiff(np.where(labels == 7, 7, 300), expected)
        np.save(path, labels)
        path.write_bytes(path.read_bytes()[:-8])
        self.assertIn("copy the file again", self.cube(part, output="refused", code=3).err)


    def check_tiff(self, labels, expected):
        part = {"file": {"path": "labels.tif", "materials": {7: "a", 300: "b"}}}
        bodies.write_tiff(self.folder / "labels.tif", labels)
        if "libtiff not" in " ".join(self.isotherm("--version", "--verbose").out.split()):
            self.assertIn("no libtiff", self.cube(part, output="tiff", code=2).err)
            return
        self.assertEqual(self.cube(part, output="tiff").report["field_hash"], expected)
        for array, word in ((labels[1:], "has 7 pages; the grid needs 8"),
                            (labels[:, :, 1:], "page 0 of labels.tif has 9 x 9 pixels"),
                            (labels + 1, "holds 8 at")):
            bodies.write_tiff(self.folder / "labels.tif", array)
            self.assertIn(word, self.cube(part, output="refused", code=2).err)

    def test_labels_of_nifti(self):
        labels = np.full((8, 9, 10), 7)
        labels[3:7, 4:8, 3:8] = 30
        path = self.folder / "labels.nii"
        part = {"file": {"path": path.name, "materials": {7: "a", 30: "b"}}}
        bodies.write_nifti(path, labels.astype("u1"))
        if "niftiio not" in " ".join(self.isotherm("--version", "--verbose").out.split()):
            self.assertIn("no niftiio", self.cube(part, output="nifti", code=2).err)
            return
        expected = self.cube({"box": {"lower": [-0.4, -0.1, -0.25], "upper": [0.6, 0.7, 0.75],
                                      "material": "b"}}, output="box").report["field_hash"]
        mm = {"voxel": (200.0, 2000 / 9, 250.0), "unit": 2}
        for number, (kind, more) in enumerate((
                ("u1", {}), ("i1", mm), ("<i2", {}), (">u2", mm), (">i4", {}), ("<u4", {}),
                ("<i8", {}), (">u8", {}), ("<f4", mm), (">f8", {}))):
            bodies.write_nifti(path, labels.astype(kind), **more)
            run = self.cube(part, output=f"nifti{number}", ranks=1 + number % 3)
            self.assertEqual(run.report["field_hash"], expected, kind)
        packed = {"file": {**part["file"], "path": "labels.nii.gz"}}
        scaled = ((labels + 5) * 10).astype("<i2")    # 0.1 n - 5
        bodies.write_nifti(self.folder / "labels.nii.gz", scaled, scale=(0.1, -5.0))
        run = self.cube(packed, output="packed", ranks=2)
        self.assertEqual(run.report["field_hash"], expected, "compressed and scaled")
        for array, more, word in (
                (labels[1:].astype("u1"), {}, "10 x 9 x 7 voxels and 1 volume"),
                (labels.astype("<c8"), {}, "the datatype COMPLEX64"),
                (scaled, {"scale": (0.0, -5.0)}, "holds 120 at"),
                (labels + 0.5, {}, "holds 7.5 at [z][y][x] = [0][0][0]"),
                (np.where(labels == 7, np.nan, 1).astype("<f4"), {}, "holds nan at"),
                ((labels * 2**24).astype("<u4"), {}, "the label 117440512; labels must be below"),
                (labels.astype("u1"), {**mm, "unit": 3},
                 "are 0.0002 m long in x, the cells of the grid 0.2 m")):
            bodies.write_nifti(path, array, **more)
            self.assertIn(word, self.cube(part, output="refused", code=2).err)
        (self.folder / "labels.nii.gz").write_bytes(
            (self.folder / "labels.nii.gz").read_bytes()[:-12])
        bodies.write_nifti(path, labels.astype("u1"))
        path.write_bytes(path.read_bytes()[:-1])
        for short in (part, packed):
            self.assertIn("copy the file again", self.cube(short, output="short", code=3).err)
        bodies.write_nifti(path, labels.astype("u1"))
        whole = path.read_bytes()
        for at, word in ((108, struct.pack("<f", 340)), (344, b"ni1\0"), (344, bytes(4))):
            path.write_bytes(whole[:at] + word + whole[at + 4:])
            self.assertIn("not a single file of NIfTI-1",
                          self.cube(part, output="header", code=2).err)
        path.write_bytes(b"no volume" * 100)
        self.assertIn("is not a file of NIfTI-1", self.cube(part, output="text", code=3).err)
        self.check_orientations(labels, expected)

    def check_orientations(self, labels, expected):
        """Volumes of the same body whose axes are exchanged and run downwards."""
        lengths = np.array([200.0, 2000 / 9, 250.0])
        name = ("labels.nii", "labels.nii.gz")
        part = {"file": {"materials": {7: "a", 30: "b"}}}

        def stored(axes, signs):
            values = labels.transpose(2, 1, 0).transpose(axes)[
                tuple(slice(None, None, sign) for sign in signs)]
            form = np.zeros((3, 3))
            form[list(axes), range(3)] = signs * lengths[list(axes)]
            return values.transpose(2, 1, 0).astype("<i2"), lengths[list(axes)], form

        for number, (axes, signs) in enumerate((
                ((0, 1, 2), (-1, -1, 1)), ((0, 1, 2), (-1, 1, 1)), ((1, 2, 0), (1, -1, 1)),
                ((2, 0, 1), (-1, -1, -1)), ((1, 0, 2), (1, 1, -1)), ((2, 1, 0), (-1, 1, 1)))):
            values, voxel, form = stored(axes, signs)
            part["file"]["path"] = name[number % 2]
            bodies.write_nifti(self.folder / name[number % 2], values, voxel, 2, sform=form,
                               quaternion=(0.0, 0.0, 0.0))   # the sform counts
            run = self.cube(part, output=f"turned{number}", ranks=1 + number)
            self.assertEqual(run.report["field_hash"], expected, f"{axes} {signs}")
            self.assertNotIn("tilted", run.result.err)
        part["file"]["path"] = name[0]
        path = self.folder / name[0]
        values, voxel, form = stored((0, 1, 2), (-1, -1, 1))
        bodies.write_nifti(path, values, voxel, 2, quaternion=(0.0, 0.0, 1.0))   # half a turn
        self.assertEqual(self.cube(part, output="qform").report["field_hash"], expected)
        turn = math.radians(10)
        turn = np.array([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0],
                         [0, 0, 1]])
        bodies.write_nifti(path, values, voxel, 2, sform=turn @ form)
        run = self.cube(part, output="tilted", ranks=2)
        self.assertEqual(run.report["field_hash"], expected)
        self.assertEqual(run.result.err.count("labels.nii are tilted by 10 degrees in its sf"), 1)
        values, voxel, form = stored((1, 0, 2), (1, 1, 1))
        for more, word in (
                ({"sform": 2 * form}, "0.222222 m long in y by pixdim, but 0.444444 m by its sf"),
                ({"sform": form[[1, 0, 2]]},
                 "9 x 10 x 8 voxels and 1 volume(s) in the orientation of its sform"),
                ({"sform": 0 * form}, "the sform of labels.nii has no direction for its axis 0")):
            bodies.write_nifti(path, values, voxel, 2, **more)
            self.assertIn(word, self.cube(part, output="refused", code=2).err)
        layer = labels[4:5]   # needs no direction across it
        bodies.write_nifti(path, layer[:, ::-1].astype("u1"), voxel,
                           sform=[[1, 0, 0], [0, -1, 0], [0, 0, 0]])
        turned = self.cube(part, output="layer", cells=[10, 9])
        bodies.write_nifti(path, layer.astype("u1"))
        plain = self.cube(part, output="plain", cells=[10, 9])
        self.assertEqual(turned.report["field_hash"], plain.report["field_hash"])
        refused = self.cube({"uniform": {"material": "b"}}, output="face", code=2, x_min={
            "value": 1.0, "value_factor": {"path": path.name}})
        self.assertIn("give the map of a face as an array of NumPy", refused.err)


class CurvedContact(Example):
    """A heated core in a shell with a contact between them and a film around it; r / a and ln."""

    CORE, OUTER, K, RESISTANCE, FILM, DENSITY = 0.5, 1.0, 2.0, 0.4, 3.0, 10.0

    def shape(self, radius, dimensions, **more):
        if dimensions == 3:
            return {"sphere": {"center": [0.0] * 3, "radius": radius, **more}}
        return {"cylinder": {"axis": "z", "center": [0.0] * 2, "radius": radius, "from": 0.0,
                             "to": 1.0, **more}}

    def config(self, cells, d):
        def material(name):
            return {"name": name, "conductivity": self.K, "density": 1.0, "heat_capacity": 1.0}
        return {
            "grid": {"cells": [cells] * d, "upper": [1.2] * d},
            "materials": [material("core"), material("shell")],
            "ambients": [{"name": "air", "temperature": 300.0}],
            "parts": [{"uniform": {"material": "air"}}, self.shape(self.OUTER, d, material="shell"),
                      self.shape(self.CORE, d, material="core")],
            "contacts": [{"between": ["core", "shell"], "resistance": self.RESISTANCE,
                          "area": "shape"}],
            "surfaces": [{"between": ["shell", "air"], "coefficient": self.FILM}],
            "sources": [self.shape(self.CORE, d, power=self.DENSITY * (
                math.pi * self.CORE**2 / 4 if d == 2 else math.pi * self.CORE**3 / 6))],
            "initial": [{"uniform": {"value": 300.0}}],
            "boundary": {f"{axis}_{side}": {"type": "flux", "value": 0.0}
                         for axis in "xyz"[:d] for side in ("min", "max")},
            "time": {"end": 6.0},
            "output": {"probes": {"every": 100000,
                                  "points": [{"name": "middle", "at": [0.0] * d}]}}}

    def test_steady_state(self):
        a, b, k = self.CORE, self.OUTER, self.K
        for d, cells, bound, factor in ((2, 24, 0.01, None), (2, 48, 0.005, None),
                                        (3, 12, 0.02, None), (2, 24, 0.01, "3 - x*0")):
            shell = math.log(b / a) if d == 2 else 1 / a - 1 / b
            flow = self.DENSITY * a**d / d    # per r^(d - 1)
            rise = (flow / (self.FILM * b**(d - 1)) + flow * shell / k +
                    flow * self.RESISTANCE / a**(d - 1) + self.DENSITY * a * a / (2 * d * k))
            config = self.config(cells, d)
            if factor:    # of which the conductivity is a third
                for material in config["materials"]:
                    material.update(conductivity=k / 3, conductivity_factor={"formula": factor})
            run = self.run_config(config, f"core{d}_{cells}_{factor is None}")
            found = last_row(run, ["middle"])[0] - 300
            self.assert_below(abs(found / rise - 1), bound, f"{d}D, {cells} cells")


class Exchange(Example):
    """An eighth of a ball whose temperature is uniform (its Biot number is below 0.01): what its
    surface exchanges, against the solution of an ordinary differential equation."""

    RADIUS, RHO_C, START = 0.02, 4e6, 900.0

    def ball(self, name, surface, end, ambient=0.0, **more):
        config = {
            "grid": {"cells": [20] * 3, "upper": [0.025] * 3},
            "materials": [{"name": "metal", "conductivity": 500.0, "density": 8000.0,
                           "heat_capacity": self.RHO_C / 8000}],
            "ambients": [{"name": "air", "temperature": ambient}],
            "parts": [{"uniform": {"material": "air"}},
                      {"sphere": {"center": [0.0] * 3, "radius": self.RADIUS,
                                  "material": "metal"}}],
            "surfaces": [{"between": ["metal", "air"], "name": "skin", **surface}],
            "initial": [{"uniform": {"value": self.START}}],
            "boundary": {f"{axis}_{side}": {"type": "flux", "value": 0.0}
                         for axis in "xyz" for side in ("min", "max")},
            "time": {"end": end}, "output": {"history": {"every": 100000}}}
        self.config = {**config, **more}
        return self.run_config(self.config, name)

    def test_flux(self):
        """Constant, and one that a table switches off."""
        for name, flux, share in (("steady", 1e5, 1.0), ("formula", "1e5*(t < 2)", 0.5), (
                "table", {"rows": [[0, 1e5], [2, 0]], "between": "steps"}, 0.5)):
            last = self.ball(name, {"flux": flux}, 4.0).history()[-1]
            rise = 3 * 1e5 * 4.0 * share / (self.RHO_C * self.RADIUS)
            self.assert_below(abs((last["mean_K"] - self.START) / rise - 1), 0.01, name)
            self.assertLess(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"])
            now = 1e5 if name == "steady" else 0.0
            self.assertAlmostEqual(last["flow_skin_W"], now * last["area_skin_m2"], delta=1e-9)

    def test_radiation_into_the_cold(self):
        """dT/dt = -3 eps sigma T^4 / (rho c R)"""
        rate = 9 * 0.8 * 5.670374419e-8 / (self.RHO_C * self.RADIUS)
        for scheme in ({}, {"scheme": "sts2", "dt": 0.5}, {"scheme": "implicit", "dt": 4.0}):
            name = scheme.get("scheme", "euler")
            last = self.ball(name, {"emissivity": 0.8}, 40.0,
                             time={"end": 40.0, **scheme}).history()[-1]
            fall = self.START - (self.START**-3 + rate * 40.0) ** (-1 / 3)
            self.assert_below(abs((self.START - last["mean_K"]) / fall - 1), 0.01, name)
            self.assertLess(abs(last["heat_drift_J"]), 1e-13 * last["heat_J"])

    def test_steady_balance(self):
        """q = h (T - Ta) + eps sigma (T^4 - Ta^4)"""
        run = self.ball("balance", {"flux": 1e5, "coefficient": 50.0, "emissivity": 0.8}, 1.0,
                        300.0, time={"steady": {}}, output={"checkpoints": {"every": 1000}})
        T = run.temperature()[0, 0, 0]
        given = 50 * (T - 300) + 0.8 * 5.670374419e-8 * (T**4 - 300.0**4)
        self.assert_below(abs(given / 1e5 - 1), 1e-8, "balance")

    def test_ambient_in_time(self):
        """dT/dt = (Ta - T) / tau, Ta = T0 + r t"""
        tau = self.RHO_C * self.RADIUS / (3 * 100.0)
        last = self.ball("ramp", {"coefficient": 100.0}, 60.0, "900 + 2*t").history()[-1]
        rise = 2 * (60 - tau * (1 - math.exp(-60 / tau)))
        self.assert_below(abs((last["mean_K"] - self.START) / rise - 1), 0.01, "ramp")

    def test_ways(self):
        """One hash whatever a pass is asked to do, and a restart with another emissivity."""
        output = {"history": {"every": 10}, "checkpoints": {"every": 40}}
        surface = {"emissivity": 0.8, "coefficient": 800.0}
        one = self.ball("one", surface, 1.0, 300.0, time={"steps": 60}, output=output)
        for name, ranks, how in (("asleep", 1, "run.sleeping_tiles=on"),
                                 ("passes", 2, "run.steps_per_pass=3")):
            other = self.run_config(self.config, name, "--set", how, "--set",
                                    f"run.decomposition=[1, {ranks}, 1]", ranks=ranks)
            self.assertEqual(other.exact("field_hash"), one.exact("field_hash"), name)
        self.config["surfaces"][0]["emissivity"] = 0.4
        file = sorted((self.folder / "one" / "checkpoints").glob("step_*"))[0]
        again = self.run_config(self.config, "again", "--restart", file)
        self.assertNotEqual(again.exact("field_hash"), one.exact("field_hash"))
        self.assertLess(abs(again.history()[-1]["heat_drift_J"]), 1e-9)

    def test_held_surface(self):
        """A bar between a surface and a face: a straight line."""
        bar = self.config_of_bar()
        T = self.run_config(bar, "bar").temperature()[0, 0, :8]
        exact = [500 - 200 * (1 - (n + 0.5) / 8) for n in range(8)]
        self.assert_below(abs(T - exact).max(), 1e-5, "bar")

    @staticmethod
    def config_of_bar():
        return {"grid": {"cells": [10], "upper": [1.0]},
                "materials": [{"name": "bar", "conductivity": 5.0, "density": 1.0,
                               "heat_capacity": 1.0}],
                "ambients": [{"name": "air", "temperature": 400.0}],
                "parts": [{"uniform": {"material": "air"}},
                          {"box": {"lower": [0.0], "upper": [0.8], "material": "bar"}}],
                "surfaces": [{"between": ["bar", "air"], "temperature": 500.0}],
                "initial": [{"uniform": {"value": 300.0}}],
                "boundary": {"x_min": {"type": "temperature", "value": 300.0},
                             "x_max": {"type": "flux", "value": 0.0}},
                "time": {"steady": {}}, "output": {"checkpoints": {"every": 1000}}}


if __name__ == "__main__":
    unittest.main()
