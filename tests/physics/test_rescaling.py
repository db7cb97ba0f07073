"""Other units change no bit: metres, seconds, kelvins, joules and kilograms times powers of two
leave every mantissa as it is, in fields, ledgers, derived values and probes. A formula that adds
what has different dimensions, or leaves a factor out, fails here. The Stefan-Boltzmann constant is
the program's own, so joules follow from the other factors (J s^-1 m^-2 K^-4 stays 1); the constants
of CEM43 are in s and K, which its example keeps."""
import csv
import math
import re
import unittest
from pathlib import Path

import h5py
import numpy as np
import yaml

from harness import Case, some
from media import some_problem
from nonlinear import nonlinear_problem

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = {"degC": (1.0, 273.15), "kJ/kg": (1e3, 0.0), "min": (60.0, 0.0), "s": (1.0, 0.0),
         "ms": (1e-3, 0.0), "cm": (1e-2, 0.0), "mm": (1e-3, 0.0), "mW/(cm K)": (0.1, 0.0),
         "g/cm^3": (1e3, 0.0), "kJ/(kg degC)": (1e3, 0.0), "W m-2 K-1": (1.0, 0.0)}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


# ---- dimensions ----------------------------------------------------------------------------------

def exponent_of(unit, power):
    """The binary exponent of a unit such as "W/(m^2 K)" or "m^2 K/W", where `power` has that of m,
    s, K, J and kg."""
    total, sign = 0, 1
    for slash, name, times in re.findall(r"(/)|([A-Za-z]+)\^?(-?\d)?", unit):
        if slash:
            sign = -1
        else:
            one = power["J"] - power["s"] if name == "W" else power[name]
            total += sign * one * int(times or 1)
    return total


def keys_of_page():
    """Key: its units, and whether it may be a formula, from the reference page. A key that has two
    units depends on the type beside it."""
    page, = (ROOT / "docs").rglob("configuration.md")
    units, formulas = {}, set()
    for line in page.read_text().splitlines():
        cells = [cell.strip(" `") for cell in line.split("|")]
        if line.startswith("| `") and len(cells) == 7:
            _, key, kind, _, unit, *_ = cells
            if unit not in ("", "steps"):
                units.setdefault(key, set()).add(unit)
            if "formula" in kind:
                formulas.add(key)
    return units, formulas


class Scaled:
    """A configuration in other units, and the factors of its results."""

    UNITS, FORMULAS = keys_of_page()

    def __init__(self, **power):
        self.power = {"J": power["s"] + 2 * power["m"] + 4 * power["K"], **power}

    def factor(self, unit):
        return 2.0 ** exponent_of(unit, self.power)

    def unit_of(self, path, section):
        units = self.UNITS.get(path, {""})
        if len(units) > 1:
            return "W/m^2" if section.get("type") == "flux" else "K"
        return next(iter(units))

    def formula(self, text, unit):
        for name, of in (("t", "s"), ("x", "m"), ("y", "m"), ("z", "m")):
            text = re.sub(rf"\b{name}\b", f"({name}*{1 / self.factor(of)!r})", text)
        return f"{self.factor(unit)!r}*({text})" if exponent_of(unit, self.power) else text

    @staticmethod
    def is_number(text):
        match = NUMBER.match(text)
        return match is not None and text[match.end():].strip() in ("", *WORDS)

    def value(self, value, unit):
        """A number, or what has such in it: a list, or a table over T. YAML takes 1e-7 for text."""
        if isinstance(value, bool) or value is None or (isinstance(value, int) and not unit):
            return value
        if isinstance(value, str):
            match = NUMBER.match(value)
            if match and match.end() == len(value):
                return float(value) * self.factor(unit)
            if self.is_number(value):
                scale, shift = WORDS[value[match.end():].strip()]
                return (float(match.group()) * scale + shift) * self.factor(unit)
            return value
        if isinstance(value, list):
            if value and isinstance(value[0], list):
                return [[self.value(at, "K"), self.value(item, unit)] for at, item in value]
            return [self.value(item, unit) for item in value]
        return value * self.factor(unit)

    def over_time(self, table, unit):
        rows = [[self.value(t, "s"), self.value(item, unit)] for t, item in table["rows"]]
        return {**table, "rows": rows,
                **{key: self.value(table[key], "s") for key in ("period",) if key in table}}

    def polynomial(self, given, unit):
        """Of T, with its range."""
        return {"polynomial": [c * self.factor(unit) / self.factor("K") ** n
                               for n, c in enumerate(given["polynomial"])],
                **{end: self.value(given[end], "K") for end in ("from", "to")}}

    def section(self, section, path):
        scaled = {}
        for name, value in section.items():
            key = f"{path}.{name}".lstrip(".")
            below = re.sub(r"^(boundary|grid)\.\w+$", r"\1.*", key)
            if isinstance(value, dict) and "rows" in value:
                scaled[name] = self.over_time(value, self.unit_of(key, section))
            elif isinstance(value, dict) and "polynomial" in value:
                scaled[name] = self.polynomial(value, self.unit_of(key, section))
            elif name == "logarithmic":
                scaled[name] = {**value, **{end: self.value(value[end], "s")
                                            for end in ("from", "to")}}
            elif isinstance(value, dict):
                scaled[name] = self.section(value, below)
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                scaled[name] = [self.section(entry, f"{below}[]") for entry in value]
            elif key in self.FORMULAS and isinstance(value, list) and isinstance(value[0], list):
                scaled[name] = self.over_time({"rows": value}, self.unit_of(key, section))
            elif key in self.FORMULAS and isinstance(value, str) and not self.is_number(value):
                scaled[name] = self.formula(value, self.unit_of(key, section))
            else:
                scaled[name] = self.value(value, self.unit_of(key, section))
        return scaled

    def config(self, config):
        return self.section(config, "")


# ---- tests ---------------------------------------------------------------------------------------

def with_all_axes(config):
    """Lengths of unused axes are 1 m, if left out: what is per m or per m^2 has them, too."""
    grid = config["grid"]
    axes = len(grid["cells"]) if "geometry" in grid else 3
    for end, rest in (("lower", 0.0), ("upper", 1.0)):
        given = grid.get(end, [])
        given = given if isinstance(given, list) else [given]
        grid[end] = [*given, *[rest] * (axes - len(given))]
    for number, axis in enumerate("xyz"):   # a graded one has its own ends
        if axis in grid:
            ends = grid[axis].get("edges") or [grid["lower"][number],
                                               grid[axis]["segments"][-1]["to"]]
            grid["lower"][number], grid["upper"][number] = ends[0], ends[-1]
    return config


def columns(path):
    """Name: numbers."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(line for line in stream if not line.startswith("#")))
    return {name: np.array(column, dtype=float)
            for name, *column in zip(*rows, strict=True)
            if name not in ("step", "face", "name", "rejected", "levels")}


def coarse(cells):
    """At most 4,000 cells, at least 4 per axis."""
    divisor = 1
    while math.prod(max(min(n, 4), n // divisor) for n in cells) > 4000:
        divisor += 1
    return [max(min(n, 4), n // divisor) for n in cells]


class Rescaling(Case):
    POWERS = {"m": 5, "s": -7, "K": 2, "kg": 3}
    # CEM43; the default of a tolerance in K; kg/m^3 in the place of K, and kg in that of J
    KEPT = {"hyperthermia": {"s": 0, "K": 0}, "steady_start": {"K": 0},
            "chloride": {"K": POWERS["kg"] - 3 * POWERS["m"], "J": POWERS["kg"]}}

    def assert_close(self, what, expected, found, size):
        """To some roundings: sums count multiples of 2^-80, whatever the unit, and positions have
        nine digits."""
        close = np.allclose(found, expected, rtol=0, atol=(size or 1) * 1e-12, equal_nan=True)
        self.assertTrue(close, f"{what}: {expected[-3:]} expected, found {found[-3:]}")

    def assert_tables_scaled(self, plain, other, scaled, timeless):
        for path in sorted(plain.glob("*.csv")):
            before, after = columns(path), columns(other / path.name)
            self.assertEqual(before.keys(), after.keys())
            heat = np.abs(before.get("heat_J", before.get("content_kg", 0))).max()
            for name, numbers in before.items():
                if timeless and name in ("time_s", "dt_s"):   # of a steady state: 1 s
                    continue
                unit = name.replace("_per_", "/").rpartition("_")[2]
                factor = scaled.factor(unit)
                size = {"J": heat, "kg": heat, "m": 1e4}.get(unit, 0) or np.nanmax(
                    np.abs(numbers), initial=0)
                self.assert_close(f"{path.name}: {name}", numbers * factor, after[name],
                                  factor * size)

    def assert_fields_scaled(self, plain, other, scaled, timeless):
        pairs = list(zip(sorted(plain.rglob("*.h5")), sorted(other.rglob("*.h5")), strict=True))
        self.assertTrue(pairs)
        for before, after in pairs:
            with h5py.File(before, "r") as first, h5py.File(after, "r") as second:
                for name in set(first) - ({"time"} if timeless else set()):
                    if isinstance(first[name], h5py.Dataset) and "units" in first[name].attrs:
                        unit = first[name].attrs["units"]
                        unit = unit.decode() if isinstance(unit, bytes) else unit
                        factor = scaled.factor({"1": "", "min": ""}.get(unit, unit))
                        self.assertTrue(np.array_equal(first[name][()] * factor, second[name][()],
                                                       equal_nan=True), f"{before.name}: {name}")

    def with_field(self, config, units):
        """A file as the initial field or a source's density is written in these units, too; an STL
        file has none."""
        for source in config.get("sources", []):
            density = next(iter(source.values())).get("density")
            if isinstance(density, dict) and "file" in density:
                table = np.loadtxt(ROOT / "configs/gallery" / density["file"], delimiter=",",
                                   comments=("#", "T"))
                table *= [units.factor("K"), units.factor("W/m^3")]
                density["file"] = f"density_{units.power['K']}.csv"
                np.savetxt(self.folder / density["file"], table, fmt="%.17g", delimiter=",")
        for part in config.get("parts", []):
            if "stl" in part:
                part["stl"].update(path=str(ROOT / "configs/gallery" / part["stl"]["path"]),
                                   scale=part["stl"]["scale"] * units.factor("m"))
        for entry in config["initial"]:
            if "file" in entry:
                shape = config["grid"]["cells"][::-1]
                field = 300.0 + np.arange(math.prod(shape)).reshape(shape) ** 0.7
                entry["file"].update(path=f"start_{units.power['K']}.h5", dataset="/T")
                with h5py.File(self.folder / entry["file"]["path"], "w") as file:
                    file["T"] = field * units.factor("K")
        return config

    def check(self, config, **power):
        scaled = Scaled(**{**self.POWERS, **power})
        with_all_axes(config)
        config.setdefault("output", {}).pop("directory", None)
        config["output"].pop("pictures", None)
        config["output"].setdefault("checkpoints", {"every": 10**6})
        folders = [self.solve(self.with_field(units.config(config), units)).folder
                   for units in (Scaled(m=0, s=0, K=0, kg=0, J=0), scaled)]
        timeless = "steady" in config["time"]
        self.assert_tables_scaled(*folders, scaled, timeless)
        self.assert_fields_scaled(*folders, scaled, timeless)

    def test_examples(self):
        for path in some(sorted((ROOT / "configs").rglob("*.yaml")), 4):
            config = yaml.safe_load(path.read_text())
            with self.subTest(path.stem):
                if path.stem != "steady_start":   # its layers need the cells
                    config["grid"]["cells"] = coarse(config["grid"]["cells"])
                self.check(config, **self.KEPT.get(path.stem, {}))

    def test_random_problems(self):
        """Every second one melts. With probes, a line, and all derived fields but CEM43."""
        for seed in some(range(10), 4):
            with self.subTest(seed=seed):
                config = some_problem(seed)
                fields = ["T_max", "arrival_time", "time_above", "heat_flux", "cooling_rate"]
                fields += ["material"] * (len(config["materials"]) > 1)
                if seed % 2:
                    nonlinear_problem(config, seed)
                    fields += ["melt_time", "freeze_time", "meltings"]
                    fields += ["liquid_fraction"] * any("latent_heat" in material
                                                        for material in config["materials"])
                ends = config["grid"]["upper"]
                inside = [0.37 * end for end in ends]
                self.check({**config, "time": {"steps": 20}, "output": {
                    "history": {"every": 5, "materials": True},
                    "probes": {"every": 5, "points": [{"name": "inside", "at": inside},
                                                      {"name": "corner", "at": ends}]},
                    "lines": [{"name": "line", "from": inside, "to": ends, "points": 7,
                               "every": 10}],
                    "melting": 352.0,
                    "derived": {"isotherm": 340.0, "cooling": [345.0, 335.0], "threshold": 330.0},
                    "snapshots": {"every": 10, "precision": "float64", "derived": fields}}})


if __name__ == "__main__":
    unittest.main()
