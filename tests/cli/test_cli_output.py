"""Named outputs as a user meets them: regions, planes, strides; intervals in steps and in time."""
import shutil
import os
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py
import numpy as np

import problems
from harness import LIMIT_S, SMALL, Case, checkpoints, some, thorough
from live import Live

CELLS = [15, 13, 11]
INTERVAL = 0.004
KEYS = ["field_hash", "mean_K", "heat_J", "boundary_heat_J", "heat_drift_J", "steps", "time"]


def with_outputs(**output):
    """42 steps or so, some shortened to land on multiples of INTERVAL; four kinds of boundary."""
    config = problems.mixed(CELLS)
    dt = config["time"]["dt"]
    config["output"] = {
        "history": {"every": 1}, "checkpoints": {"every": 8, "keep": 9},
        "snapshots": {"interval": 5.3 * dt, "precision": "float64"},
        "regions": [
            {"name": "plane", "slice": {"axis": "z", "at": 0.11}, "interval": 3.7 * dt,
             "precision": "float64", "compress": 1},
            {"name": "corner", "box": {"lower": [0.2, 0.15, 0.1], "upper": [0.37, 0.31, 0.23]},
             "every": 4, "precision": "float64"},
            {"name": "coarse", "stride": [4, 3, 5], "every": 6},
        ], **output}
    return config


def steps_and_times(folder, name):
    """What the file says of its snapshots, in order."""
    with h5py.File(folder / f"{name}.vtkhdf") as file:
        snaps = [file[f"snap/{n}/T"] for n in range(len(file["snap"]))]
        found = [(int(T.attrs["step"]), float(T.attrs["time_s"])) for T in snaps]
        values = list(file["VTKHDF/Steps/Values"])
        if len(found) > 1:
            assert values == [time for _, time in found], (values, found)
        return found


def contents(folder, name):
    with h5py.File(folder / f"{name}.vtkhdf") as file:
        return file["VTKHDF/CellData/T"][()].tobytes()


NAMES = ["snapshots", "plane", "corner", "coarse"]


def read_all(folder, name):
    """Every step of NAME.vtkhdf and NAME.xdmf, as strictly as the readers of VTK take them."""
    with h5py.File(folder / f"{name}.vtkhdf") as file:
        group = file["VTKHDF"]
        assert group.attrs["Type"] == b"ImageData" and list(group.attrs["Version"]) == [2, 0]
        data, steps = group["CellData/T"], group["Steps"]
        times, offsets = steps["Values"][()], steps["CellDataOffsets/T"][()]
        count = len(file["snap"])
        entries = 2 if count == 1 else count
        assert steps.attrs["NSteps"] == len(times) == len(offsets) == entries, (count, times)
        extent = group.attrs["WholeExtent"]
        assert data.shape == (count, *extent[5::-2]), (data.shape, extent)
        assert np.all(np.isfinite(data[()])), "values are missing"
        snaps = [file[f"snap/{n}/T"] for n in range(count)]
        assert [T.attrs["time_s"] for T in snaps] == list(times[:count])
        for n, T in enumerate(snaps):
            np.testing.assert_array_equal(T[()], data[n])
        values, shape = data[()], data.shape[1:]
    grids = ElementTree.parse(folder / f"{name}.xdmf").findall("./Domain/Grid/Grid")
    for n, grid in enumerate(grids):
        assert float(grid.find("Time").get("Value")) == times[n]
        item = grid.find("Attribute[@Center='Cell']/DataItem")
        assert tuple(map(int, item.get("Dimensions").split())) == shape
        path, dataset = item.text.split(":")
        with h5py.File(folder / path) as file:
            np.testing.assert_array_equal(file[dataset][()], values[n])
    # two files: the one may be a snapshot ahead of the other
    assert abs(len(grids) - count) <= 1, (len(grids), count)
    return count


class Viewers(Case):
    def test_what_is_flat_is_shown_as_a_sheet(self):
        """Unless the configuration says how thick it is."""
        config = {**with_outputs(snapshots={"every": 5}), "initial": [{"uniform": {"value": 300}}],
                  "time": {"steps": 5}}
        config["output"] = {"snapshots": {"every": 5}}
        for cells, upper, shown in (([20, 10], [0.5, 0.5], [0.025, 0.05, 0.025]),
                                    ([20, 10], [0.5, 0.5, 0.2], [0.025, 0.05, 0.2]),
                                    ([20], [0.5], [0.025] * 3)):
            with self.subTest(upper=upper):
                config["grid"] = {"cells": cells, "upper": upper}
                config["boundary"] = {f"{axis}_{end}": {"type": "temperature", "value": 300}
                                      for axis in "xy"[:len(cells)] for end in ("min", "max")}
                run = self.solve(config)
                with h5py.File(run.folder / "snapshots.vtkhdf") as file:
                    group = file["VTKHDF"].attrs
                    np.testing.assert_allclose(group["Spacing"], shown, rtol=1e-15)
                    self.assertEqual(list(group["Origin"]), [0, 0, 0])
                    depth = (upper + [1, 1])[2] if len(cells) == 2 else 1
                    self.assertEqual(file.attrs["upper_m"][2], depth, "the grid is as it was")
                items = ElementTree.parse(run.folder / "snapshots.xdmf").findall(
                    "./Domain/Grid/Grid/Geometry/DataItem[@Name='Spacing']")
                for item in items:
                    np.testing.assert_allclose([float(word) for word in item.text.split()],
                                               shown[::-1], rtol=1e-15)

    def test_open_while_running(self):
        """Stopped wherever it happens to be, again and again, a run leaves files that open."""
        config = with_outputs(checkpoints={"every": 0}, history={"every": 0},
                              snapshots={"every": 1})
        config["time"] = {"steps": 100_000, "dt": config["time"]["dt"]}  # nobody waits for them
        live = Live(self, config, ranks=1)
        looks, seen, end = 0, 0, time.monotonic() + LIMIT_S
        while looks < (8 if SMALL else 20) and time.monotonic() < end:
            os.kill(live.process.pid, signal.SIGSTOP)
            _, state = os.waitpid(live.process.pid, os.WUNTRACED)  # all its threads have stopped
            self.assertTrue(os.WIFSTOPPED(state), live.text("err"))
            if all((live.folder / f"{name}.xdmf").exists() for name in ("snapshots", "coarse")):
                count = read_all(live.folder, "snapshots")
                read_all(live.folder, "coarse")
                self.assertGreaterEqual(count, seen)
                looks, seen = looks + (count > seen), count
            os.kill(live.process.pid, signal.SIGCONT)
            time.sleep(0.005)
        self.assertLess(time.monotonic(), end, "the run goes on")
        os.kill(live.process.pid, signal.SIGTERM)
        self.assert_code(live.end(), 75)
        count = read_all(live.folder, "snapshots")
        self.assertGreaterEqual(count, seen)
        self.assertEqual([step for step, _ in steps_and_times(live.folder, "snapshots")],
                         list(range(count)))

    def lines_of(self, heading):
        """The code in docs/reference/files.md behind a line of text."""
        text = (Path(__file__).resolve().parents[2] / "docs/reference/files.md").read_text()
        block = re.search(re.escape(heading) + r"\n\n((?:    .*\n)+)", text)
        self.assertIsNotNone(block, heading)
        return "\n".join(line[4:] for line in block.group(1).splitlines())

    @thorough
    def test_lines_of_the_documents(self):
        config = with_outputs(regions=[{"name": "a", "every": 9}], snapshots={"every": 9})
        run = self.solve(config)
        os.chdir(run.folder)
        self.addCleanup(os.chdir, "/")
        last = run.temperature().astype(np.float32)
        names = {}
        exec(self.lines_of("This reads the last state:"), names)
        np.testing.assert_array_equal(names["T"], last)
        self.assertEqual(names["t"], config["time"]["end"])
        exec(self.lines_of("This reads one snapshot at a time, with its step:"),
             {"print": lambda *_: None})
        try:
            import xarray  # pylint: disable=unused-import
        except ImportError:
            self.skipTest("xarray is not installed")
        names = {}
        exec(self.lines_of("h5py alone reads all states with their times, as an xarray:"), names)
        T = names["T"]
        np.testing.assert_array_equal(T.sel(t=config["time"]["end"]), last)
        self.assertEqual(T.dims, ("t", "z", "y", "x"))


class Regions(Case):
    def test_times(self):
        """Every multiple of an interval is a step's time, exactly, and in the file."""
        config = with_outputs()
        dt = config["time"]["dt"]
        config["output"]["checkpoints"] = {"interval": 7.7 * dt, "keep": 99}
        config["output"]["pictures"] = {"interval": 9.1 * dt}
        run = self.solve(config)
        history = {row["step"]: row["time_s"] for row in run.history()}
        end = config["time"]["end"]
        for name, interval in (("snapshots", config["output"]["snapshots"]["interval"]),
                               ("plane", config["output"]["regions"][0]["interval"])):
            wanted = [k * interval for k in range(100) if k * interval < end] + [end]
            found = steps_and_times(run.folder, name)
            self.assertEqual([time for _, time in found], wanted, name)
            for step, time in found:
                self.assertEqual(history[step], time, f"{name}, step {step}")
        for kind, files, first in (("checkpoints", checkpoints(run.folder), 1), ("pictures", sorted(
                (run.folder / "pictures").iterdir()), 0)):
            interval = config["output"][kind]["interval"]
            wanted = [k * interval for k in range(first, 100) if k * interval < end] + [end]
            self.assertEqual([history[int(path.stem[5:])] for path in files], wanted, kind)
        # the same steps, told of seldom
        config["output"]["history"] = {"interval": 11.3 * dt}
        rows = self.solve(config, ranks=2).history()
        times = [k * 11.3 * dt for k in range(100) if k * 11.3 * dt < end] + [end]
        self.assertEqual([row["time_s"] for row in rows], times)
        steps = int(run.report["steps"])
        for name, every in (("corner", 4), ("coarse", 6)):
            wanted = sorted(set(range(0, steps + 1, every)) | {steps})
            self.assertEqual([s for s, _ in steps_and_times(run.folder, name)], wanted, name)
        self.assertGreater(steps, problems.STEPS)
        lengths = [row["dt_s"] for row in run.history()[1:]]
        self.assertTrue(all(0 < dt <= run.report["dt"] for dt in lengths))
        self.assert_below(abs(run.report["heat_drift_J"] / run.report["heat_J"]), 1e-13, "drift")

    def test_parts_of_the_whole(self):
        """Each region holds what the whole snapshot of the same step holds there."""
        config = with_outputs(snapshots={"every": 2, "precision": "float64"})
        run = self.solve(config, ranks=2)
        parts = {"plane": np.s_[5:6, :, :], "corner": np.s_[5:, 6:, 8:],
                 "coarse": np.s_[::5, ::3, ::4]}
        with h5py.File(run.folder / "snapshots.vtkhdf") as file:
            whole = {int(s["T"].attrs["step"]): s["T"][()] for s in file["snap"].values()}
        for name, part in parts.items():
            common = 0
            with h5py.File(run.folder / f"{name}.vtkhdf") as file:
                for snap in file["snap"].values():
                    step = int(snap["T"].attrs["step"])
                    if step in whole:
                        common += 1
                        values = whole[step][part].astype(snap["T"].dtype)
                        np.testing.assert_array_equal(snap["T"][()], values, f"{name} {step}")
                self.assertEqual(file.attrs["title"], b"test")
                self.assertIn(b"regions:", file["configuration"][()])
            self.assertGreater(common, 2, name)

    def test_ranks_and_restarts(self):
        """The same bytes of temperature on any rank count, and when the run is interrupted."""
        config = with_outputs()
        reference = self.solve(config)
        for ranks in some((3, 5), 1):
            run = self.solve(config, ranks=ranks)
            self.assertEqual(run.exact(*KEYS), reference.exact(*KEYS))
            self.assertEqual(run.history_bytes(), reference.history_bytes())
            for name in NAMES:
                self.assertEqual(contents(run.folder, name), contents(reference.folder, name))
        # from a checkpoint in the middle of the files, on other ranks: nothing doubled or lost
        for path in checkpoints(reference.folder)[2:]:
            path.unlink()
        again = self.solve(config, "--restart", "auto", output=reference.folder.name, ranks=2)
        self.assertEqual(again.report["first_step"], 16)
        self.assertEqual(again.exact(*KEYS), reference.exact(*KEYS))
        if SMALL:
            return
        fresh = self.solve(config)
        self.assertEqual(again.history_bytes(), fresh.history_bytes())
        for name in NAMES:
            self.assertEqual(steps_and_times(again.folder, name),
                             steps_and_times(fresh.folder, name))
            self.assertEqual(contents(again.folder, name), contents(fresh.folder, name))

    @thorough
    def test_folder(self):
        """A region's file is the run's: refused, replaced."""
        config = with_outputs(checkpoints={"every": 0}, history={"every": 0})
        config["time"] = {"steps": 2, "dt": config["time"]["dt"]}
        run = self.solve(config)
        for name in ("report.json", "snapshots.vtkhdf", "snapshots.xdmf"):
            (run.folder / name).unlink()
        shutil.rmtree(run.folder / "snapshots")
        result, _ = self.start(config, output=run.folder.name)
        self.assert_code(result, 2)
        self.assert_says(result, "already holds a run", ".vtkhdf", "--overwrite")
        self.solve(config, "--overwrite", output=run.folder.name)
        self.assertEqual(len(steps_and_times(run.folder, "corner")), 2)

    @thorough
    def test_plan(self):
        config = with_outputs()
        name = self.write(config)
        result = self.isotherm("plan", name)
        self.assert_code(result, 0)
        self.assert_says(result, "landing on", "snapshots ", "plane ", "corner ", "coarse ",
                         stream="out")


class LongPaths(Case):
    def test_the_longest(self):
        """MPI-IO opens checkpoints and compressed snapshots; one byte more is refused at once."""
        for length in (211, 212):
            config = with_outputs(snapshots={"every": 4, "compress": 1})
            del config["output"]["regions"]
            config["time"] = {"steps": 8, "dt": config["time"]["dt"]}
            output = "o" * length
            result, folder = self.start(config, output=output, ranks=2)
            if length == 212:
                self.assert_code(result, 2)
                self.assert_says(result, "output folder has 212 bytes", "at most 211")
                self.assertFalse(folder.exists())
                continue
            self.assert_code(result, 0)
            config["time"]["steps"] = 12
            self.solve(config, "--restart", "auto", output=output, ranks=2)
        deep = self.folder / ("d" * 100) / ("e" * 150) / "old.h5"
        deep.parent.mkdir(parents=True)
        deep.write_bytes(checkpoints(self.folder / ("o" * 211))[0].read_bytes())
        result, _ = self.start(config, "--restart", str(deep), output="new")
        self.assertIn(result.code, (2, 3), result)
        self.assert_says(result, "too long for MPI-IO")


class Room(Case):
    """On file systems of their own, as far as they can be mounted."""

    def run_on(self, kind, options, compress, cells=64):
        """A field that gzip makes a hundred times smaller; 2 MiB without."""
        config = problems.mixed([cells] * 3)
        config["initial"] = [{"uniform": {"value": 300.0}}]
        config["time"] = {"steps": 1, "dt": 1e-6}
        config["output"] = {"history": {"every": 0},
                            "snapshots": {"every": 1, "precision": "float64", "compress": compress}}
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", kind, "-o", options, "none", disk],
                          stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest(f"a {kind} cannot be mounted here")
        try:
            return self.start(config, output="disk/run", ranks=1)[0]
        finally:
            subprocess.run(["umount", "-l", disk], check=True)

    def test_free_space_is_not_known(self):
        self.assert_code(self.run_on("ramfs", "mode=700", 0), 0)

    def test_compressed(self):
        """Refused only where they could hardly fit."""
        self.assert_code(self.run_on("tmpfs", "size=1M", 1), 0)
        for size, compress in (("1M", 0), ("128k", 1)):
            result = self.run_on("tmpfs", f"size={size}", compress)
            self.assert_code(result, 3)
            self.assert_one_error(result)
            self.assert_says(result, "no room: disk/run", "free", "are needed")


if __name__ == "__main__":
    unittest.main()
