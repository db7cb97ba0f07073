"""Derived fields: against what follows from the temperatures of every step, on any ranks, and
through a restart."""
import unittest
import xml.etree.ElementTree as ElementTree

import h5py
import numpy as np

import problems
from harness import SMALL, Case, checkpoints, spacings, some, thorough

CELLS = [15, 13, 11]
UNITS = {"T_max": b"K", "arrival_time": b"s", "time_above": b"s", "heat_flux": b"W m-2",
         "cooling_rate": b"K s-1", "melt_time": b"s", "freeze_time": b"s", "meltings": b"1",
         "CEM43": b"min"}
NAMES = list(UNITS)
ISOTHERM, THRESHOLD, MELTING = 330.0, 350.0, 340.0
COOLING = [331.0, 325.0]


def with_derived(cells=None, precision="float64", every=1, cooling=None):
    config = problems.mixed(cells or CELLS, precision)
    config["time"] = {"steps": 18, "dt": config["time"]["dt"]}
    config["output"] = {
        "history": {"every": 0}, "checkpoints": {"every": 8, "keep": 9},
        "derived": {"every": every, "isotherm": ISOTHERM, "threshold": THRESHOLD},
        "melting": MELTING,
        "snapshots": {"every": 1, "precision": "float64", "derived": NAMES},
        "regions": [{"name": "part", "every": 7, "precision": "float64", "stride": [2, 3, 1],
                     "derived": ["heat_flux", "T_max"]}]}
    if cooling:
        config["output"]["derived"]["cooling"] = cooling
    return config


def read_all(folder, name="snapshots"):
    """Times, and every field of every snapshot, (time, z, y, x)."""
    with h5py.File(folder / f"{name}.vtkhdf") as file:
        data = file["VTKHDF/CellData"]
        for field in data:
            offsets = file[f"VTKHDF/Steps/CellDataOffsets/{field}"]
            assert list(offsets) == list(range(len(offsets))), field
        return list(file["VTKHDF/Steps/Values"]), {field: data[field][()] for field in data}


def flux(config, T, t):
    """From differences across the faces; beyond a boundary what its closure says."""
    conductivity = config["material"]["conductivity"]
    squared = np.zeros(T.shape)
    for axis, h in enumerate(spacings(config)):
        kinds = [config["boundary"][f"{'xyz'[axis]}_{side}"] for side in ("min", "max")]
        along = np.moveaxis(T, 2 - axis, 0)
        low = problems.outside(kinds[0], along[0], along[-1], h, conductivity, t)
        high = problems.outside(kinds[1], along[-1], along[0], h, conductivity, t)
        whole = np.concatenate([low[None], along, high[None]])
        faces = -conductivity * (whole[1:] - whole[:-1]) / h
        squared += np.moveaxis(((faces[1:] + faces[:-1]) / 2)**2, 0, 2 - axis)
    return np.sqrt(squared)


class Kept:
    """What is kept of the samples T of the times t, by its definition."""

    def __init__(self, t, T, cooling):
        self.cooling, self.since = cooling, np.full(T.shape, np.nan)
        nothing = np.full(T.shape, np.nan)
        self.time, self.before = t, T.copy()
        self.fields = {
            "T_max": T.copy(), "arrival_time": np.where(T >= ISOTHERM, t, np.nan),
            "time_above": np.zeros(T.shape), "cooling_rate": nothing.copy(),
            "melt_time": np.where(T > MELTING, t, np.nan), "freeze_time": nothing.copy(),
            "meltings": np.where(T > MELTING, 1.0, 0.0), "CEM43": np.zeros(T.shape)}

    def sample(self, t, T):
        kept, before, weight = self.fields, self.before, t - self.time
        for name, there in (("arrival_time", T >= ISOTHERM), ("melt_time", T > MELTING)):
            kept[name][np.isnan(kept[name]) & there] = t
        kept["T_max"] = np.maximum(kept["T_max"], T)
        kept["time_above"][T > THRESHOLD] += weight
        self.cool(t, T)
        kept["freeze_time"][(before > MELTING) & ~(T > MELTING)] = t
        kept["meltings"] += ~(before > MELTING) & (T > MELTING)
        beyond = T - 316.15
        kept["CEM43"] += weight / 60 * np.where(beyond < 0, 0.25, 0.5)**-np.minimum(beyond, 100)
        self.time, self.before = t, T.copy()

    def cool(self, t, T):
        before, rate, weight = self.before, self.fields["cooling_rate"], t - self.time
        if not self.cooling:
            cooled = (before >= ISOTHERM) & (T < ISOTHERM)
            rate[cooled] = ((before - T) / weight)[cooled]
            return
        started, ended = ((before >= c) & (T < c) for c in self.cooling)
        with np.errstate(all="ignore"):
            since, until = (t - weight * ((c - T) / (before - T)) for c in self.cooling)
        self.since[started] = since[started]
        ended &= ~np.isnan(self.since)
        rate[ended] = ((self.cooling[0] - self.cooling[1]) / (until - self.since))[ended]
        self.since[ended] = np.nan


class Derived(Case):
    def check(self, config, run, every=1):
        times, fields = read_all(run.folder)
        T = fields["T"]
        # the closures are rounded to the precision of the run
        tolerance = 1e-9 if config["run"]["precision"] == "float64" else 1e-5
        kept = None
        for step, time in enumerate(times):
            if kept is None:
                kept = Kept(time, T[0], config["output"]["derived"].get("cooling"))
            elif step % every == 0:
                kept.sample(time, T[step])
            for name, values in kept.fields.items():
                if name == "CEM43" or (name == "cooling_rate" and kept.cooling):
                    np.testing.assert_allclose(fields[name][step], values, rtol=1e-12)
                else:
                    np.testing.assert_array_equal(fields[name][step], values, f"{name} {step}")
            np.testing.assert_allclose(fields["heat_flux"][step], flux(config, T[step], time),
                                       rtol=tolerance, atol=1e3 * tolerance,
                                       err_msg=f"flux {step}")
        # the problem makes all of them say something
        last = kept.fields
        for name in ("arrival_time", "melt_time", "freeze_time", "cooling_rate"):
            self.assertTrue(np.any(np.isnan(last[name])) and np.any(last[name] > times[3]), name)
        above = last["time_above"]
        self.assertTrue(np.any(above == 0) and np.any((above > 0) & (above < times[-1])))
        self.assertLessEqual({0, 1, 2} if every == 1 else {0, 1}, set(np.unique(last["meltings"])))
        return times, fields

    def check_files(self, run):
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            for name, units in UNITS.items():
                data = file[f"snap/3/{name}"]
                self.assertEqual(data.attrs["units"], units)
                self.assertTrue(data.attrs["long_name"])
                self.assertEqual(len(file[f"snap/3/checksums/{name}"]), 1)
                self.assertEqual(data.attrs["step"], 3)
        grid = ElementTree.parse(run.folder / "snapshots.xdmf").find("./Domain/Grid/Grid")
        self.assertEqual([a.get("Name") for a in grid.findall("Attribute")], ["T"] + NAMES)
        _, part = read_all(run.folder, "part")
        _, whole = read_all(run.folder)
        self.assertEqual(sorted(part), ["T", "T_max", "heat_flux"])
        for name, values in part.items():
            np.testing.assert_array_equal(values[1], whole[name][7][:, ::3, ::2], name)

    def test_values_ranks_restarts(self):
        self.check(with_derived(), self.solve(with_derived(), output="at_isotherm"))
        config = with_derived(cooling=COOLING)
        reference = self.solve(config)
        _, fields = self.check(config, reference)
        self.check_files(reference)
        wanted = {name: values.tobytes() for name, values in fields.items()}
        for ranks, backend in some(((3, "guard"), (4, "cpu")), 1):
            run = self.solve(config, "--backend", backend, ranks=ranks)
            _, found = read_all(run.folder)
            for name in wanted:
                self.assertEqual(found[name].tobytes(), wanted[name], f"{name}, {ranks} ranks")
            self.assertEqual(run.report["field_hash"], reference.report["field_hash"])
        if SMALL:
            return
        for path in checkpoints(run.folder)[1:]:
            path.unlink()
        again = self.solve(config, "--restart", "auto", output=run.folder.name, ranks=2)
        self.assertEqual(again.report["first_step"], 8)
        _, found = read_all(again.folder)
        for name in wanted:
            self.assertEqual(found[name].tobytes(), wanted[name], f"{name} after a restart")

    @thorough
    def test_every_few_steps(self):
        """Also through a restart between two samples, and in float32."""
        config = with_derived(precision="float32", every=5, cooling=COOLING)
        run = self.solve(config, ranks=2)
        _, fields = self.check(config, run, every=5)
        for path in checkpoints(run.folder)[1:]:
            path.unlink()
        again = self.solve(config, "--restart", "auto", output=run.folder.name, ranks=3)
        _, found = read_all(again.folder)
        for name, values in fields.items():
            self.assertEqual(found[name].tobytes(), values.tobytes(), f"{name} after a restart")

    @thorough
    def test_fewer_dimensions(self):
        for cells in ([21, 17], [40]):
            config = with_derived(cells)
            del config["output"]["regions"]
            config["time"]["steps"] = 5
            run = self.solve(config, ranks=3)
            times, fields = read_all(run.folder)
            np.testing.assert_allclose(fields["heat_flux"][-1],
                                       flux(config, fields["T"][-1], times[-1]), rtol=1e-9,
                                       atol=1e-6)
            np.testing.assert_array_equal(fields["T_max"][-1], fields["T"].max(axis=0))

    @thorough
    def test_switched_on_at_a_restart(self):
        """What the checkpoint does not hold counts from there on, and the run says so."""
        config = with_derived()
        with_none = dict(config, output=dict(config["output"], snapshots={"every": 1}, regions=[
            {"name": "other", "every": 50}]))
        run = self.solve(with_none)
        result, _ = self.start(config, "--restart", checkpoints(run.folder)[0], output="new")
        self.assert_code(result, 0)
        self.assert_says(result, "has no T_max: it starts at step 8")
        times, fields = read_all(self.folder / "new")
        np.testing.assert_array_equal(fields["T_max"][-1], fields["T"].max(axis=0))
        self.assertTrue(np.nanmin(fields["arrival_time"][-1]) >= times[0] > 0)
        self.assertEqual(fields["time_above"][0].max(), 0)
        # and a folder with other fields is not gone on with
        result, _ = self.start(config, "--restart", "auto", output=run.folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "snapshots without T_max")


if __name__ == "__main__":
    unittest.main()
