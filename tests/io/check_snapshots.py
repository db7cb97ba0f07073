#!/usr/bin/env python3
"""Read every case that test_snapshot.c left with h5py, as a user would.

usage: check_snapshots.py FOLDER
"""
import ctypes
import os
import shutil
import sys
import tempfile

import h5py
import numpy

import expectations

try:
    import xarray
except ImportError:
    xarray = None
try:
    import h5netcdf
except ImportError:
    h5netcdf = None

xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
xxh3.restype = ctypes.c_uint64
xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]

check = expectations.Checks()


def check_data(name, file, expected):
    virtual = file["/VTKHDF/CellData/T"]
    count = len(expected["snapshots"])
    nx, ny, nz = expected["cells"]
    check.that(virtual.shape == (count, nz, ny, nx), name, "shape", virtual.shape)
    check.that(virtual.dtype == expected["precision"], name, "type", virtual.dtype)
    check.that(virtual.attrs["units"] == b"K", name, "units of the virtual dataset")
    check.that(len(file["/snap"]) == count, name, "groups", list(file["/snap"]))
    check.that(len(file["/fields/T"]) == count, name, "fields", list(file["/fields/T"]))
    for n, snapshot in enumerate(expected["snapshots"]):
        wanted = expectations.values(expected, snapshot["seed"])
        data = file[f"/snap/{n}/T"]
        check.that(numpy.array_equal(data[...], wanted, equal_nan=True), name, n, "values")
        check.that(numpy.array_equal(virtual[n], wanted, equal_nan=True), name, n,
                   "virtual values")
        check.that(data.attrs["step"] == snapshot["step"], name, n, "step")
        check.that(data.attrs["time_s"] == snapshot["time"], name, n, "time")
        check.that(data.attrs["units"] == b"K", name, n, "units")
        check.that(data.attrs["long_name"] == b"temperature", name, n, "long_name")
        compressed = expected["compress"] > 0
        check.that(data.fletcher32 == compressed, name, n, "fletcher32")
        check.that((data.compression == "gzip") == compressed, name, n, "gzip")
        check.that(data.shuffle == compressed, name, n, "shuffle")
        check.that((data.chunks is None) == (not compressed), name, n, "contiguous")


def check_missing(name, folder, expected):
    """What cannot be opened reads as NaN or not at all, and never as a temperature. In a copy,
    since other tests read the folder at the same time."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        with h5py.File(f"{copy}/snapshots.vtkhdf", "r") as file:
            virtual = file["/VTKHDF/CellData/T"]
            shape = virtual.shape
            os.remove(f"{copy}/snapshots/step_{expected['snapshots'][-1]['step']:010d}.h5")
            try:
                check.that(numpy.isnan(virtual[-1]).all(), name, "a missing file", virtual[-1])
            except OSError as refusal:  # HDF5 2.0
                check.that(True, name, refusal)
            check.that(virtual.shape == shape, name, "shape", virtual.shape)


def check_xarray(name, file, expected):
    """As docs/reference/files.md says."""
    if xarray is None:
        return
    times = file["VTKHDF/Steps/Values"][:len(file["steps"])]
    found = xarray.DataArray(file["VTKHDF/CellData/T"], {"t": times}, ["t", "z", "y", "x"])
    last = expected["snapshots"][-1]
    wanted = expectations.values(expected, last["seed"])
    check.that(numpy.array_equal(found.sel(t=last["time"]), wanted, equal_nan=True), name,
               "through xarray")


def check_derived(name, file, expected):
    for field, added in expectations.fields(expected)[1:]:
        virtual = file[f"/VTKHDF/CellData/{field}"]
        offsets = list(file[f"/VTKHDF/Steps/CellDataOffsets/{field}"])
        check.that(offsets == list(file["/VTKHDF/Steps/CellDataOffsets/T"]), name, field, offsets)
        for n, snapshot in enumerate(expected["snapshots"]):
            wanted = expectations.values(expected, snapshot["seed"] + added, field)
            check.that(numpy.array_equal(virtual[n], wanted, equal_nan=True), name, n, field)


def check_gaps(name, file, expected):
    """The ghost types of VTK: 32 hides a cell."""
    cells = file["/VTKHDF/CellData"]
    check.that(("vtkGhostType" in cells) == expected["gaps"], name, "ghost types", list(cells))
    if expected["gaps"]:
        data = cells["vtkGhostType"]
        check.that(data.dtype == numpy.uint8, name, "ghost types", data.dtype)
        wanted = 32 * expectations.gaps(expected)
        check.that(numpy.array_equal(data[0], wanted), name, "ghost types", data[0])
        offsets = list(file["/VTKHDF/Steps/CellDataOffsets/vtkGhostType"])
        check.that(offsets == [0] * file["/VTKHDF/Steps"].attrs["NSteps"], name, offsets)


def check_own_files(name, folder, expected):
    """A snapshot's file says by itself what it is."""
    found = sorted(path.name for path in (folder / "snapshots").glob("step_0*"))
    steps = [snapshot["step"] for snapshot in expected["snapshots"]]
    check.that(found == [f"step_{step:010d}.h5" for step in steps], name, "files", found)
    for file_name in found:
        with h5py.File(folder / "snapshots" / file_name, "r") as file:
            check_root(name, file)
            check.that(list(file.attrs["cells"]) == expected["cells"], name, "cells")
            objects = {"configuration", "x", "y", "z", "time",
                       *(field for field, _ in expectations.fields(expected))}
            if expected["compress"] == 0:
                objects.add("checksums")
            check.that(set(file) == objects, name, file_name, list(file))
            if "checksums" in file:
                check_checksums(name, file)
            check_coordinates(name, file, expected)
        if xarray is not None and h5netcdf is not None:
            check_opened_by_xarray(name, folder / "snapshots" / file_name, expected)


def centers(expected, axis):
    edges = expectations.edges(expected, axis)
    return (edges[:-1] + edges[1:]) / 2


def check_coordinates(name, file, expected):
    """As dimension scales, of which netCDF's readers make coordinates."""
    for field, _ in expectations.fields(expected):
        data = file[field]
        scales = [[scale.name for scale in axis.values()] for axis in data.dims]
        check.that(scales == [["/z"], ["/y"], ["/x"]], name, field, "scales", scales)
        check.that(data.attrs["coordinates"] == b"time", name, field, "coordinates")
        check.that(file["time"][()] == data.attrs["time_s"], name, field, "time")
    for axis, scale in enumerate("xyz"):
        data = file[scale]
        check.that(numpy.allclose(data, centers(expected, axis), rtol=1e-13, atol=1e-14), name,
                   scale, data[...])
        check.that(data.attrs["units"] == b"m", name, scale, "units")


def check_opened_by_xarray(name, path, expected):
    """As docs/reference/files.md says."""
    with xarray.open_dataset(path, engine="h5netcdf") as found:
        field = found["T"]
        check.that(field.dims == ("z", "y", "x"), name, "dimensions", field.dims)
        check.that(field.attrs["units"] == "K", name, "units", field.attrs)
        check.that(field.attrs["long_name"] == "temperature", name, "long_name", field.attrs)
        missing = int(expectations.gaps(expected).sum())
        check.that(int(field.isnull().sum()) == missing, name, "missing values", field)
        check.that(("_FillValue" in field.encoding) == expected["gaps"], name, field.encoding)
        check.that(float(field["time"]) == field.attrs["time_s"], name, "time", field["time"])
        check.that(field["time"].attrs["units"] == "s", name, "units of time")
        for axis, scale in enumerate("xyz"):
            check.that(numpy.allclose(field[scale], centers(expected, axis), rtol=1e-13,
                                      atol=1e-14), name, scale, field[scale])
            check.that(field[scale].attrs["units"] == "m", name, scale, "units")


def check_checksums(name, file):
    """By their definition."""
    sums, data = file["checksums/T"], file["T"][...]
    lines = data.reshape(-1, min(data.shape[2], 65536))
    length = sums.attrs["block_lines"]
    check.that(sums.attrs["line_cells"] == lines.shape[1], name, "line_cells")
    check.that(len(sums) == -(-len(lines) // length), name, "blocks", len(sums))
    for block in range(len(sums)):
        wanted = 0
        for line in range(block * length, min((block + 1) * length, len(lines))):
            text = lines[line].tobytes()
            wanted += xxh3(text, len(text), line)
        check.that(int(sums[block]) == wanted % 2**64, name, "checksum of block", block)


def check_root(name, file):
    title = file.attrs["title"]
    check.that(title.decode() == 'a <title> & "more", 20 °C', name, "title", title)
    check.that(len(file.attrs["isotherm_version"]) > 2, name, "version")
    check.that(file.attrs["format"] == 2, name, "format")
    check.that(file["configuration"][()].startswith(b"title: for the test\n"), name,
               "configuration")


def check_steps(name, file, expected):
    times = [s["time"] for s in expected["snapshots"]]
    offsets = list(range(len(times)))
    if len(times) == 1:  # see write_steps in snapshot_index.c
        times, offsets = 2 * times, 2 * offsets
    steps = file["/VTKHDF/Steps"]
    check.that(steps.attrs["NSteps"] == len(times), name, "NSteps", steps.attrs["NSteps"])
    check.that(list(file["/steps"]) == [s["step"] for s in expected["snapshots"]], name, "steps")
    check.that(list(steps["Values"]) == times, name, "Values", list(steps["Values"]))
    check.that(list(steps["CellDataOffsets/T"]) == offsets, name, "offsets")


def check_header(name, file, expected):
    group = file["/VTKHDF"].attrs
    nx, ny, nz = expected["cells"]
    check_root(name, file)
    if expectations.is_graded(expected):
        check.that(group["Type"] == b"RectilinearGrid", name, "Type", group["Type"])
        check.that(list(group["Dimensions"]) == [nx + 1, ny + 1, nz + 1], name, "Dimensions")
        return
    check.that(list(group["Version"]) == [2, 0], name, "Version")
    check.that(group["Type"] == b"ImageData", name, "Type", group["Type"])
    check.that(list(group["WholeExtent"]) == [0, nx, 0, ny, 0, nz], name, "WholeExtent")
    lower, spacing = expectations.geometry(expected)
    check.that(numpy.allclose(group["Origin"], lower, rtol=0, atol=1e-14), name, "Origin")
    check.that(numpy.allclose(group["Spacing"], spacing, rtol=1e-14), name, "Spacing")
    if expected["region"] is None:  # to the last bit
        check.that(list(group["Origin"]) == expected["lower"], name, "exact Origin")
        check.that(list(group["Spacing"]) == expected["spacing"], name, "exact Spacing")


def main():
    print("h5py", h5py.version.version, "HDF5", h5py.version.hdf5_version, "xarray",
          xarray and xarray.__version__, "h5netcdf", h5netcdf and h5netcdf.__version__)
    cases = expectations.cases(sys.argv[1])
    for folder, expected in cases:
        with h5py.File(folder / "snapshots.vtkhdf", "r") as file:
            check_data(folder.name, file, expected)
            check_xarray(folder.name, file, expected)
            check_derived(folder.name, file, expected)
            check_gaps(folder.name, file, expected)
            check_steps(folder.name, file, expected)
            check_header(folder.name, file, expected)
        check_own_files(folder.name, folder, expected)
        check_missing(folder.name, folder, expected)
    check.finish(len(cases))


main()
