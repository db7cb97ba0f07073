"""`isotherm plot`: what it draws of a folder, of two, and what it says when there is nothing."""
import ctypes
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

import numpy as np
from PIL import Image

import problems
from harness import Case, some, thorough, tree


ROOT = Path(__file__).resolve().parents[2]


def pixels(path):
    """(height, width, 3), decoded by the library that the program uses."""
    cairo = ctypes.CDLL("libcairo.so.2")
    cairo.cairo_image_surface_create_from_png.restype = ctypes.c_void_p
    cairo.cairo_image_surface_get_data.restype = ctypes.POINTER(ctypes.c_uint32)
    image = ctypes.c_void_p(cairo.cairo_image_surface_create_from_png(os.fsencode(path)))
    width, height = (getattr(cairo, f"cairo_image_surface_get_{name}")(image)
                     for name in ("width", "height"))
    assert width > 0, path
    data = cairo.cairo_image_surface_get_data(image)
    colors = np.ctypeslib.as_array(data, (height, width)).copy()
    cairo.cairo_surface_destroy(image)
    return np.stack([colors >> shift & 0xFF for shift in (16, 8, 0)], axis=-1)


def count_curves(path):
    """Each is drawn twice, in the chart and in its key; a single one has no key. The width is a
    style or an attribute, by the version of Cairo."""
    return (len(re.findall(r"stroke-width[:=]\"?2\.5\b", path.read_text())) + 1) // 2


class Plot(Case):
    EVERYTHING = {"history.png", "heat.png", "faces.png", "flows.png", "probes.png", "axis.png",
                  "middle_T.png", "snapshots_T.png"}

    def config(self, cells=(24, 20, 16)):
        config = problems.mixed(list(cells))
        upper = config["grid"]["upper"]
        middle = [(a + b) / 2 for a, b in zip(config["grid"].get("lower", [0] * 3), upper)]
        config["output"].update({
            "snapshots": {"every": 20, "precision": "float64", "derived": ["T_max"]},
            "pictures": {"every": 20, "plane": "z"},
            "probes": {"every": 5, "points": [{"name": "core", "at": middle}]},
            "lines": [{"name": "axis", "from": middle, "to": upper, "points": 9, "every": 5}]})
        if len(cells) == 3:
            config["output"]["regions"] = [
                {"name": "middle", "slice": {"axis": "y", "at": middle[1]}, "every": 20}]
        return config

    @classmethod
    def setUpClass(cls):
        """One run for the tests that want no other; they work on copies."""
        first = cls("run_one")
        first.setUp()
        cls.addClassCleanup(first.doCleanups)
        cls.one = first.solve(first.config()).folder

    def run_one(self, output="out"):
        return shutil.copytree(self.one, self.folder / output)

    def plot(self, *words, code=0):
        result = self.isotherm("plot", *words)
        self.assert_code(result, code)
        return result

    def test_everything_and_nothing_else(self):
        folder = self.run_one()
        before = tree(folder)
        result = self.plot("out")
        plots = folder / "plots"
        self.assertEqual({path.name for path in plots.iterdir()}, self.EVERYTHING)
        self.assertEqual(sorted(result.out.split()),
                         sorted(f"out/plots/{name}" for name in self.EVERYTHING))
        for path in plots.iterdir():
            height, width, _ = pixels(path).shape
            self.assertTrue(300 < height < 1300 and 500 < width < 1400, path)
        after = {name: digest for name, digest in tree(folder).items() if "plots" not in name}
        self.assertEqual(after, before)
        self.plot("out")        # again, over the old ones

    def test_one_and_two_dimensions(self):
        for cells in ((40,), (24, 20)):
            with self.subTest(cells):
                name = f"d{len(cells)}"
                self.solve(self.config(cells), output=name)
                self.plot(name)
                files = {path.name for path in (self.folder / name / "plots").iterdir()}
                self.assertEqual(files, self.EVERYTHING - {"middle_T.png"})

    def test_a_plane_has_the_cells_of_the_run(self):
        """The same cells as the picture that the run has drawn of the same state. In 2D the
        colours span the same range, too: that of the field."""
        folder = self.folder / "out"
        self.solve(self.config((24, 20)), output="out")
        for time in (0, None):
            asked = [] if time is None else ["--time", time]
            self.plot("out", "snapshots", "--output", "plane.png", *asked)
            own = sorted((folder / "pictures").iterdir())[0 if time == 0 else -1]
            ours, theirs = pixels(self.folder / "plane.png"), pixels(own)
            self.assertEqual(ours.shape[0], theirs.shape[0])
            middle = (slice(200, 500), slice(200, 600))
            self.assertGreater(len(np.unique(theirs[middle].reshape(-1, 3), axis=0)), 20)
            np.testing.assert_array_equal(ours[middle], theirs[middle])

    def test_the_nearest_time_and_other_planes(self):
        self.run_one()
        images = [self.plot("out", "snapshots", "--output", f"{n}.svg", *words)
                  for n, words in enumerate((["--time", "0"], ["--time", "1e9"], [],
                                             ["--plane", "x"], ["--plane", "z=0"],
                                             ["--field", "T_max"]))]
        files = [(self.folder / f"{n}.svg").read_bytes() for n in range(len(images))]
        self.assertEqual(files[1], files[2])
        self.assertEqual(len(set(files)), len(files) - 1)
        for n in range(len(files)):
            ElementTree.parse(self.folder / f"{n}.svg")

    def test_comparison(self):
        first = self.run_one("first")
        config = self.config()
        config["initial"][0] = {"uniform": {"value": 350}}
        self.solve(config, output="second")
        self.plot("first", "--with", "second")
        files = {path.name for path in (first / "plots/comparison").iterdir()}
        self.assertEqual(files, self.EVERYTHING)
        # no difference: the neutral colour everywhere
        self.plot("first", "snapshots", "--with", "first", "--output", "same.png")
        inside = pixels(self.folder / "same.png")[200:500, 200:600].reshape(-1, 3)
        self.assertEqual({tuple(color) for color in inside}, {(0xdd, 0xdd, 0xdd)})
        self.plot("first", "snapshots", "--with", "second", "--output", "other.png")
        inside = pixels(self.folder / "other.png")[200:500, 200:600].reshape(-1, 3)
        self.assertGreater(len({tuple(color) for color in inside}), 20)

    def test_comparison_of_what_both_have(self):
        self.run_one("first")
        config = self.config((20, 20, 16))
        del config["output"]["probes"]
        self.solve(config, output="second")
        result = self.plot("first", "--with", "second")
        self.assert_says(result, "no picture of probes: second/probes.csv does not exist",
                         stream="out")
        self.assert_says(result, "no picture of snapshots: ", "different grids", stream="out")
        self.assertTrue((self.folder / "first/plots/comparison/history.png").exists())
        for what in ("probes", "snapshots"):
            self.plot("first", what, "--with", "second", code=2)

    @thorough
    def test_comparison_with_a_finer_grid(self):
        self.run_one("coarse")
        fine = self.config((24, 40, 16))
        fine["time"] = {"end": self.config()["time"]["end"], "dt": "auto"}
        self.solve(fine, output="fine")
        result = self.isotherm("compare", "coarse", "fine")
        self.assert_code(result, 1)
        self.assert_says(result, "averaged over 1 x 2 x 1 cells", stream="out")
        self.assertEqual(len(re.findall(r"^ +\d+  ", result.out, re.M)), 2, "start and end")
        for words in (["coarse", "--with", "fine"], ["fine", "--with", "coarse"]):
            self.plot(*words, "snapshots", "--output", words[0] + ".png")
            inside = pixels(self.folder / (words[0] + ".png"))[200:500, 200:600].reshape(-1, 3)
            self.assertGreater(len({tuple(color) for color in inside}), 20)

    def test_a_run_in_progress(self):
        folder = self.run_one()
        (folder / "report.json").unlink()
        for name in ("history.csv", "axis.csv", "probes.csv"):
            path = folder / name
            path.write_bytes(path.read_bytes()[:-7])    # a row that is being written
        self.plot("out")
        head = (folder / "history.csv").read_text().splitlines()[0]
        (folder / "history.csv").write_text(head + "\n")
        result = self.plot("out")
        self.assert_says(result, "no picture of history: out/history.csv has no rows yet",
                         stream="out")
        self.assert_says(self.plot("out", "history", code=2), "out/history.csv has no rows yet")

    @thorough
    def test_columns_are_found_by_name(self):
        """Earlier versions have fewer, later ones may have more, in another order."""
        folder = self.run_one()
        path = folder / "history.csv"
        rows = [row.split(",") for row in path.read_text().splitlines()]
        self.plot("out", "history", "--output", "before.svg")
        later = [[row[0], "new_K" if n == 0 else str(n), *reversed(row[1:])]
                 for n, row in enumerate(rows)]
        path.write_text("".join(",".join(row) + "\n" for row in later))
        self.plot("out", "history", "--output", "after.svg")
        self.assertEqual((self.folder / "before.svg").read_bytes(),
                         (self.folder / "after.svg").read_bytes())
        path.write_text("".join(",".join(row[:9]) + "\n" for row in rows))
        self.plot("out")
        files = {path.name for path in (folder / "plots").iterdir()}
        self.assertEqual(files, self.EVERYTHING - {"faces.png", "flows.png"})

    def test_melt_pool(self):
        """As many curves of extents as axes in use, and one of the volume; none without the
        columns: test_everything_and_nothing_else."""
        pictures = {"melt_pool.svg", "melt_pool_volume.svg"}
        for cells in ((40,), (24, 20), (24, 20, 16)):
            with self.subTest(cells):
                name = f"d{len(cells)}"
                config = self.config(cells)
                config["output"].update(melting=450, history={"every": 5, "melt_pool": True})
                self.solve(config, output=name)
                self.plot(name, "--svg")
                found = {path.name for path in (self.folder / name / "plots").glob("melt*")}
                self.assertEqual(found, pictures)
                for curves, picture in ((len(cells), "melt_pool"), (1, "melt_pool_volume")):
                    path = self.folder / name / f"plots/{picture}.svg"
                    self.assertEqual(count_curves(path), curves, picture)
        self.plot("d2", "melt_pool", "--with", "d3", "--output", "both.svg")
        self.assertEqual(count_curves(self.folder / "both.svg"), 5)
        self.run_one("none")
        self.assert_says(self.plot("none", "melt_pool", code=2), "none holds no melt_pool")

    def strokes(self, path):
        """The colours of the curves in the chart, before those of the keys."""
        found = re.findall(r'stroke(?:="|:\s*)rgb\(([^)]*)\)', path.read_text())
        return [tuple(float(c.strip(" %")) for c in color.split(",")) for color in found]

    def test_chosen_curves_times_and_units(self):
        config = self.config()
        config["sources"] = [{"box": {"lower": config["grid"].get("lower", [0] * 3),
                                      "upper": config["grid"]["upper"], "power": 5}}]
        config["output"]["probes"]["points"][0]["impedance"] = {"reference": 300}
        self.solve(config, output="out")
        self.plot("out", "history", "zth", "axis", "--svg", "--output", "several")
        self.assertEqual(sorted(path.name for path in (self.folder / "several").iterdir()),
                         ["axis.svg", "history.svg", "zth.svg"])
        self.assertEqual(count_curves(self.folder / "several/zth.svg"), 1)
        lightness = [sum(color) for color in self.strokes(self.folder / "several/axis.svg")]
        half = len(lightness) // 2
        self.assertGreater(half, 2)
        self.assertEqual(lightness[:half], sorted(lightness[:half]))
        self.plot("out", "history", "--curve", "lowest,highest", "--output", "two.svg")
        self.assertEqual(count_curves(self.folder / "two.svg"), 2)
        self.assert_says(self.plot("out", "history", "--curve", "low", code=2),
                         "out holds no history to plot")
        self.assert_says(self.plot("out", "history", "zth", "melt_pool", "--output", "some",
                                   code=2), "out holds no melt_pool to plot")
        rows = np.genfromtxt(self.folder / "out/probes.csv", delimiter=",", names=True)
        middle = repr(float(rows["time_s"][len(rows) // 2]))
        self.plot("out", "axis", "--to", middle, "--output", "first.svg")
        self.plot("out", "axis", "--from", middle, "--output", "second.svg")
        self.assertEqual(count_curves(self.folder / "first.svg") +
                         count_curves(self.folder / "second.svg"), len(rows) + 1)
        self.assert_says(self.plot("out", "axis", "--from", "1e9", code=2), "holds no axis")
        for what in ("history", "snapshots"):
            self.plot("out", what, "--output", "kelvin.svg")
            self.plot("out", what, "--celsius", "--output", "celsius.svg")
            self.assertNotEqual((self.folder / "kelvin.svg").read_bytes(),
                                (self.folder / "celsius.svg").read_bytes(), what)

    def lines_at(self, marked):
        """The first columns of the groups of marked pixels in a row."""
        found = np.flatnonzero(marked)
        return found[np.diff(found, prepend=-100) > 8]

    def plate(self, **output):
        """T = 300 + 100 x / L on 40 cells, each of 20 pixels."""
        config = problems.mixed([40, 20])
        config["grid"] = {"cells": [40, 20], "upper": [1, 0.5]}
        config["initial"] = [{"expression": {"value": "300 + 100 * x"}}]
        config["time"] = {"end": 1e-3}
        config["output"] = {"snapshots": {"every": 1}, **output}
        return config

    def test_contours(self):
        self.solve(self.plate(), output="out")
        drawn = {}
        plain = None
        for words in ("", "320,340.0,380", "5", "320", "350,"):
            asked = ["--contours", words] if words else []
            code = 2 if words.endswith(",") else 0
            result = self.plot("out", "snapshots", "--time", "0", "--output", "a.png", *asked,
                               code=code)
            if code == 2:
                self.assert_says(result, "--contours 350,: give a number of lines up to 30")
                continue
            row = pixels(self.folder / "a.png")[300, :850]      # without the bar
            plain = row if plain is None else plain
            drawn[words] = self.lines_at((row != plain).any(axis=-1))
        self.assertEqual(len(drawn["320"]), 1)
        np.testing.assert_allclose(drawn["320,340.0,380"] - drawn["320"][0], [0, 160, 480], atol=1)
        # every 20 K; the ends of the range are 301.25 and 398.75 K
        np.testing.assert_allclose(drawn["5"] - drawn["320"][0], [0, 160, 320, 480], atol=1)
        for words in ("", "x", "31,a", "400,,500", ",".join("1" * 31)):
            self.plot("out", "snapshots", "--contours", words, code=2)

    @thorough
    def test_the_outline_of_the_melt_pool(self):
        """At output.melting, in planes in K, in a colour of its own."""
        cyan = (0x40, 0xe0, 0xff)
        self.solve(self.plate(melting=350), output="out")
        for n, (words, where) in enumerate((([], [400]), (["--celsius"], [400]),
                                            (["--contours", "320"], [400]),
                                            (["--with", "out"], []))):
            name = f"{n}.png"
            self.plot("out", "snapshots", "--time", "0", "--output", name, *words)
            row = pixels(self.folder / name)[300, :850]
            found = self.lines_at((row == cyan).all(axis=-1))
            self.assertEqual(len(found), len(where), words)
            left = np.flatnonzero(row.sum(axis=-1) < 300)[0] + 1     # the frame
            np.testing.assert_allclose(found - left, where, atol=2)

    def glyphs(self, path):
        """The number of characters that are drawn."""
        return len(re.findall(r"<use ", path.read_text()))

    def test_materials_are_named(self):
        metals = [{"name": name, "conductivity": k, "density": 8000, "heat_capacity": 400}
                  for name, k in (("tin", 60), ("copper", 390), ("lead", 35))]
        config = self.plate()
        config.pop("material")
        config["materials"] = metals
        config["parts"] = [{"uniform": {"material": "tin"}},
                           {"layer": {"axis": "x", "from": 0.5, "to": 1, "material": "lead"}}]
        config["output"]["snapshots"]["derived"] = ["material"]
        self.solve(config, output="out")
        metals[2]["name"] = "plumbum"
        config["parts"][1]["layer"]["material"] = "plumbum"
        self.solve(config, output="renamed")
        for name in ("out", "renamed"):
            for end in ("png", "svg"):
                self.plot(name, "snapshots", "--field", "material", "--output", f"{name}.{end}")
        self.assertEqual(self.glyphs(self.folder / "renamed.svg") -
                         self.glyphs(self.folder / "out.svg"),
                         len("plumbum") - len("lead") + len("renamed") - len("out"))
        image = pixels(self.folder / "out.png")
        plot, legend = image[200:400, 100:800], image[:, 880:]
        used = {tuple(color) for color in plot.reshape(-1, 3)}
        self.assertEqual(len(used), 2, "two of three materials, no lines")
        for color in used:
            self.assertGreater((legend == color).all(axis=-1).sum(), 300, "its box")
        others = {tuple(color) for color in legend.reshape(-1, 3) if np.ptp(color) > 40}
        self.assertEqual(others, used, "no colour bar")

    def test_the_title_and_the_units(self):
        """The title of the configuration; per m and m^2 where that is the cross-section. The
        configuration is in the report, snapshots or checkpoints, or nowhere."""
        for cells, unit in some((((40,), "/m2"), ((24, 20), "/m")), 1):
            config = problems.mixed(list(cells))
            config["title"] = "rod"
            del config["output"]["checkpoints"]
            result = self.solve(config, output="out").result
            self.assert_says(result, "heat drift ", f" J{unit.replace('2', '^2')} of ",
                             f" J{unit.replace('2', '^2')}\n", stream="out")
            report = self.folder / "out/report.json"
            self.plot("out", "heat", "--output", "titled.svg")
            report.rename(self.folder / "report.json")
            self.plot("out", "heat", "--output", "plain.svg")
            more = self.glyphs(self.folder / "titled.svg") - self.glyphs(self.folder / "plain.svg")
            # on the axis, and at the lowest and highest value below the chart
            self.assertEqual(more, len("rod: ") + 3 * len(unit))
            shutil.rmtree(self.folder / "out")
            for name in ("snapshots", "checkpoints"):
                config["output"] = {"history": {"every": 5}, name: {"every": 30}}
                self.solve(config, output="out")
                (self.folder / "out/report.json").unlink()
                self.plot("out", "heat", "--output", "running.svg")
                self.assertEqual(self.glyphs(self.folder / "running.svg"),
                                 self.glyphs(self.folder / "titled.svg"), name)
                shutil.rmtree(self.folder / "out")
            upper = config["grid"]["upper"]
            config["grid"]["upper"] = [*upper, 0.1, 0.1][:3]
            config["grid"]["lower"] = [*config["grid"].get("lower", [0] * len(upper)), 0, 0][:3]
            self.assert_says(self.solve(config, output="out").result, " J of ", stream="out")
            shutil.rmtree(self.folder / "out")

    @thorough
    def test_a_gif(self):
        """Decoded by another program: its states, and their time."""
        if not shutil.which("convert"):
            self.skipTest("no ImageMagick")
        self.run_one()
        result = self.plot("out", "--film", "film.gif", "--celsius")
        self.assertEqual(result.out.split(), ["film.gif"])
        self.assertFalse((self.folder / "film.gif.pictures").exists())
        self.plot("out", "snapshots", "--celsius", "--output", "last.png")
        with Image.open(self.folder / "film.gif") as film:
            self.assertEqual(film.n_frames, 4)
            self.assertEqual(film.info["duration"], 100)
            self.assertEqual(film.size[::-1], pixels(self.folder / "last.png").shape[:2])
            colors = []
            for n in range(4):
                film.seek(n)
                colors.append(np.array(film.convert("RGB")))
        self.assertTrue(all((a != b).any() for a, b in zip(colors, colors[1:])))
        self.plot("out", "middle", "--film", "film.gif", "--from", "1e-9")
        with Image.open(self.folder / "film.gif") as film:
            self.assertEqual(film.n_frames, 3)
        self.assert_says(self.plot("out", "--film", "film.gif", "--from", "1e9", code=2),
                         "has no states from --from to --to")

    def test_an_mp4(self):
        if not shutil.which("ffmpeg"):
            self.skipTest("no ffmpeg")
        self.run_one()
        self.assertEqual(self.plot("out", "--film", "film.mp4").out.split(), ["film.mp4"])
        self.assertIn(b"ftyp", (self.folder / "film.mp4").read_bytes()[:32])
        self.assertFalse((self.folder / "film.mp4.pictures").exists())

    def test_a_film_without_programs(self):
        self.run_one()
        with mock.patch.dict(os.environ, PATH=str(self.folder)):
            for film, says in (("film.mp4", "ffmpeg cannot create film.mp4; is it installed?"),
                               ("film.gif", "neither ImageMagick nor ffmpeg can create film.gif")):
                result = self.isotherm("plot", "out", "--film", film)
                self.assert_code(result, 3)
                self.assert_says(result, says, f"{film}.pictures/%06d.png")
                self.assertEqual(len(list((self.folder / f"{film}.pictures").iterdir())), 4)

    @thorough
    def test_heat_of_sources(self):
        config = self.config()
        with_source = self.config()
        with_source["sources"] = [{"box": {"lower": [0, 0, 0], "upper": [0.1, 0.1, 0.1],
                                           "power": 100}}]
        self.solve(config, output="without")
        self.solve(with_source, output="with")
        for name, curves in (("without", 2), ("with", 3)):
            self.plot(name, "heat", "--output", f"{name}.svg")
            self.assertEqual(count_curves(self.folder / f"{name}.svg"), curves)

    def test_a_damaged_file_hides_no_other(self):
        folder = self.run_one()
        for name in ("axis", "history"):
            with open(folder / f"{name}.csv", "a", encoding="ascii") as stream:
                stream.write("99,1,2\n")
            result = self.plot("out", code=3)
            self.assert_says(result, f"out/{name}.csv:", "is not a valid row")
            self.assert_one_error(result)
            self.assert_says(result, "out/plots/snapshots_T.png", stream="out")

    def test_errors(self):
        self.run_one()
        self.write(self.config(), "config_1.yaml")
        (self.folder / "empty").mkdir()
        cases = {
            ("nowhere",): (3, "nowhere", "No such file"),
            ("config_1.yaml",): (2, "config_1.yaml is not a folder"),
            ("empty",): (2, "empty holds nothing to plot", "history.csv"),
            ("out", "pictures"): (2, "out holds no pictures"),
            ("out", "--with", "nowhere"): (3, "nowhere"),
            ("out", "--plane", "w"): (2, "--plane w", "x, y or z"),
            ("out", "--plane", "z=99"): (2, "--plane z=99", "from 0 to"),
            ("out", "snapshots", "--field", "T_min"): (2, "no dataset", "T_min"),
            ("out", "--output", "all.png"): (2, "--output all.png is one picture"),
            ("out", "history", "--output", "none/a.png"): (3, "none/a.png"),
            (): (2, "DIR is missing"),
        }
        for words, (code, *says) in cases.items():
            with self.subTest(words):
                result = self.plot(*words, code=code)
                self.assert_says(result, *says)
                self.assert_one_error(result)

    def test_without_cairo(self):
        self.run_one()
        with mock.patch("harness.BINARY", os.environ["ISOTHERM_BARE"]):
            result = self.plot("out", code=3)
        self.assert_says(result, "this build draws no pictures", "libcairo2-dev")


class Film(Case):
    def test_pictures_make_a_film(self):
        """The line in docs/reference/files.md: pictures sort by time and have one size."""
        text = (ROOT / "docs/reference/files.md").read_text(encoding="utf-8")
        line, = re.findall(r"(?m)^ {4}(ffmpeg .*)$", text)
        config = problems.mixed([25, 17])
        config["output"]["pictures"] = {"every": 3, "range": [200, 1200]}
        self.solve(config, output="out/quickstart")
        pictures = sorted(self.folder.glob("out/quickstart/pictures/step_*.png"))
        steps = [int(path.stem.removeprefix("step_")) for path in pictures]
        self.assertEqual(steps, [*range(0, 41, 3), 41])
        self.assertEqual(len({pixels(path).shape for path in pictures}), 1)
        if shutil.which("ffmpeg") is None:
            self.skipTest("no ffmpeg")
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"frame={len(pictures):5d}", done.stderr)
        self.assertGreater((self.folder / "film.mp4").stat().st_size, 3000)


if __name__ == "__main__":
    unittest.main()
