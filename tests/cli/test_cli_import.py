"""`isotherm import`: inputs of HotSpot and 3D-ICE, against temperatures that these publish."""
import unittest

from harness import Case, Run

MATERIAL = "material silicon :\n thermal conductivity 1.3e-4 ;\n" \
           " volumetric heat capacity 1.63566e-12 ;\n"
SINK = "{} heat sink :\n heat transfer coefficient 1e-07 ;\n temperature 300.0 ;\n"
STACK = """dimensions :
 chip length 10000 , width 10000 ;
 cell length 50, width 200;   // um
die lower :
 layer 48 silicon ;
 source 2 silicon ;
die upper : source 2 silicon ; layer 48 silicon ;
stack:
 die two upper floorplan "four.flp" ;
 die one lower floorplan "all.flp" ;
solver:
 {} ;
 initial temperature 300.0 ;
output:
 T ( one, 5000, 4800, "a.txt", final );
"""
QUARTERS = """a: position 0, 0 ; dimension 5000, 5000 ; power values 12.5, 0 ;
b: rectangle (5000, 0, 5000, 5000) ; power values 0, 6.25 ;
c: rectangle (0, 5000, 5000, 5000) ; power values 0, 18.75 ;
d: rectangle (5000, 5000, 2000, 5000) ; rectangle (7000, 5000, 3000, 5000) ;
   power values 12.5, 0 ;
"""
CONFIG = """# a chip with HotSpot's package
-t_chip 0.00015
-k_chip 100.0
-p_chip 1.75e6
-t_interface 2.0e-05
-k_interface 4.0
-p_interface 4.0e6
-s_spreader 0.01
-t_spreader 0.001
-k_spreader 400.0
-p_spreader 3.55e6
-s_sink 0.02
-t_sink 0.0069
-k_sink 400.0
-p_sink 3.55e6
-r_convec 0.1
-ambient 318.15
-init_temp 330
-sampling_intvl 0.01
-model_secondary 0
"""
FLOORPLAN = "left 0.004 0.008 0 0\nright 0.004 0.008 0.004 0 1.7e6 0.02\n"
LAYERS = "0\nY\nY\n1.75e6\n0.01\n0.00015\nchip.flp\n1\nY\nN\npaste\n2e-5\nchip.flp\n"
PASTE = "paste\nsolid\n4\n4e6\nwater\nfluid\n0.6\n4e6\n9e-4\n"


class Import(Case):
    def put(self, **files):
        for name, text in files.items():
            self.write(text, name.replace("_", ".", 1))

    def convert(self, *words, code=0):
        for path in [*self.folder.glob("imported.yaml"), *self.folder.glob("imported_power/*")]:
            path.unlink()
        if (self.folder / "imported_power").exists():
            (self.folder / "imported_power").rmdir()
        result = self.isotherm("import", *words)
        self.assert_code(result, code)
        return result

    def solve(self, output, *sets):
        words = [word for item in sets for word in ("--set", item)]
        self.assert_code(self.isotherm("run", "imported.yaml", "--output", output, *words), 0)
        return Run(None, self.folder / output)

    def test_3d_ice(self):
        """Its own results (test/solid/steady of its repository): T of two cells in three cases."""
        points = "output.probes.points=[{name: one, at: [0.005025, 0.0049, 1e-6]}, " \
                 "{name: two, at: [2.5e-5, 1e-4, 9.9e-5]}]"
        self.put(four_flp=QUARTERS,
                 all_flp="b:\n position 0, 0 ;\n dimension 10000, 10000 ;\n power values 50, 0;\n")
        for sides, expected in ((("top", "bottom"), (303.745, 305.004)),
                                (("bottom",), (307.441, 310.388)), (("top",), (307.821, 310.008))):
            self.put(case_stk=MATERIAL + "".join(map(SINK.format, sides)) + STACK.format("steady"))
            self.convert("case.stk")
            run = self.solve("_".join(sides), points)
            row = (run.folder / "probes.csv").read_text().splitlines()[-1].split(",")
            for found, right in zip(map(float, row[2:4]), expected):
                self.assertLess(abs(found - right), 0.005, f"{sides}: {row}, {expected}")
        self.put(case_stk=MATERIAL + SINK.format("top") + STACK.format("transient step 1, slot 2"))
        self.convert("case.stk", "--cells", 10)
        self.assertEqual((self.folder / "imported_power/two_c.csv").read_text(), "0,0.0\n2,18.75\n")
        run = self.solve("transient", "time.end=2.5")
        self.assertAlmostEqual(run.report["source_heat_J"], 75 * 2 + 25 * 0.5, 6)

    def test_hotspot(self):
        """A uniform power on a chip as large as its package: resistances in series."""
        config = CONFIG.replace("s_spreader 0.01", "s_spreader 0.008").replace(
            "s_sink 0.02", "s_sink 0.008")
        self.put(chip_flp=FLOORPLAN.replace(" 1.7e6 0.02", ""), chip_lcf=LAYERS,
                 p_ptrace="right left\n10 20\n20 10\n", hot_config=config, m_materials=PASTE)
        area = 0.008**2
        drop = 30 * (0.1 + (0.00015 / 100 * 7 / 8 + 2e-5 / 4 + 0.0079 / 400) / area)
        for inputs in (("chip.flp",), ("chip.lcf", "m.materials")):
            result = self.convert(*inputs, "p.ptrace", "hot.config", "--cells", 8)
            self.assert_says(result, "note: spreader", "imported.yaml is valid", stream="out")
            last = self.solve(inputs[0].replace(".", "_")).history()[-1]
            # half of a cell between the node of the heated cells and their mean
            self.assertLess(abs(last["max_K"] - 318.15 - drop), 1e-3, inputs)
        self.put(chip_flp=FLOORPLAN, hot_config=CONFIG)
        self.convert("chip.flp", "p.ptrace", "hot.config", "--cells", 8, "--transient")
        text = (self.folder / "imported.yaml").read_text()
        for words in ("name: right, density: 1000, heat_capacity: 1700, conductivity: 50}",
                      "- uniform: {material: resin}",
                      "lower: [-0.006, -0.006, 0]", "- uniform: {value: 330}", "end: 0.02",
                      "upper: [0.009, 0.009, 0.00117]", "coefficient: 25000, ambient: 318.15"):
            self.assertIn(words, text)
        power = (self.folder / "imported_power/left.csv").read_text()
        self.assertEqual(power, "0,20.0\n0.01,10.0\n")
        self.solve("package")
        self.put(chip_flp="left 0.0027 0.008 0 0\nright 0.0053 0.008 0.0027 0\n")
        self.assert_says(self.convert("chip.flp", "p.ptrace", "hot.config"), "by up to 0 and 0 %",
                         stream="out")   # 80 cells fit, 64 would not
        self.assertIn("{to: 0.008, cells: 80}", (self.folder / "imported.yaml").read_text())

    def test_refuses(self):
        good = {"chip_flp": FLOORPLAN, "p_ptrace": "left right\n1 2\n", "hot_config": CONFIG,
                "chip_lcf": LAYERS, "m_materials": PASTE}
        for name, old, new, message in (
                ("chip_flp", "0 0\n", "0 x\n", "chip.flp:1: 'x' is not a number"),
                ("chip_flp", " 0 1.7e6", " 1.7e6", "chip.flp:2: 6 words; 5 or 7"),
                ("chip_flp", "left", "up", "p.ptrace:1: "),
                ("p_ptrace", "1 2", "1", "p.ptrace:2: 1 numbers for 2 blocks"),
                ("p_ptrace", "left right\n1", "left right left\n1 2",
                 "p.ptrace:1: give left once here"),
                ("chip_flp", "right", "left", "left once here, and once in the floorplans"),
                ("hot_config", "-t_sink", "-sink", "hot.config: -t_sink is missing"),
                ("hot_config", "secondary 0", "secondary 1", "hot.config:20: the secondary heat"),
                ("hot_config", "sink 0.02", "sink 0.001", "the sink is smaller than"),
                ("chip_lcf", "paste", "glue", "chip.lcf:11: 'glue' is not a number"),
                ("chip_lcf", "2e-5\nchip.flp", "2e-5\na.csv", "chip.lcf:13: a.csv: microchannels"),
                ("m_materials", "9e-4\n", "", "m.materials:5: the material water is incomplete")):
            self.put(**{**good, name: good[name].replace(old, new, 1)})
            inputs = (["chip.lcf", "m.materials"] if name in ("chip_lcf", "m_materials") else
                      ["chip.flp"])
            self.assert_says(self.convert(*inputs, "p.ptrace", "hot.config", code=2), message)
        stack = MATERIAL + SINK.format("top") + STACK.format("steady")
        self.put(all_flp="b: position 0, 0 ; dimension 9, 9 ; power values 1 ;", four_flp=QUARTERS)
        for old, new, message in (
                ("die two upper", "channel two ; die t upper", "case.stk:15: 'channel two'"),
                ("source 2 silicon", "source 2 copper", "case.stk:10: die lower: 'copper'"),
                ("die one", "die one", "a has 2 power values"),
                ("48 silicon", "x silicon", "case.stk:11: 'x' is not a number"),
                ("steady", "transient step 1", "transient needs a step and a slot above 0"),
                ("steady", "transient step 1, slot 0", "and a slot above 0")):
            self.put(case_stk=stack.replace(old, new, 1))
            self.assert_says(self.convert("case.stk", code=2), message.replace(
                "a has 2", "b has 1"))
        for text, message in (
                ("b: position 0, 0 ; dimension 0, 9 ; power values 1 ;", "flp:1: b has no area"),
                ("b: dimension 9, 9 ; power values 1 ;", "or no position before it"),
                ("", "all.flp:1: no block")):
            self.put(all_flp=text, case_stk=stack.replace("four.flp", "all.flp"))
            self.assert_says(self.convert("case.stk", code=2), message)
        (self.folder / "imported_power").mkdir()
        self.put(**good)
        result = self.isotherm("import", "chip.flp", "p.ptrace", "hot.config", "--transient")
        self.assert_says(result, "imported_power exists already")
        self.assertFalse((self.folder / "imported.yaml").exists())
        self.put(imported_yaml="")
        result = self.isotherm("import", "case.stk")
        self.assert_says(result, "imported.yaml exists already")
        self.assert_says(self.convert("case.stl", code=2), "case.stl: valid endings")


if __name__ == "__main__":
    unittest.main()
