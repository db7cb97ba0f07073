"""What test_snapshot.c put into each folder (expect.json), for the scripts that check it."""
import json
import pathlib

import numpy


def cases(top):
    """(folder, expectation) for every case below `top`."""
    found = sorted(pathlib.Path(top).glob("*/expect.json"))
    if not found:
        raise SystemExit(f"{top} holds no cases: has test_snapshot run?")
    return [(path.parent, json.loads(path.read_text())) for path in found]


def chosen_cells(expected, axis):
    """The indices of the cells along an axis that a region has, from its definition."""
    n, edges = expected["grid"][axis], numpy.array(expected["edges"][axis])
    region = expected["region"] or {}
    cells = numpy.arange(n)
    centers = (edges[:-1] + edges[1:]) / 2
    if region.get("axis") == axis:
        return cells[(edges[:-1] <= region["at"]) & (region["at"] < edges[1:])]
    if "lower" in region and n > 1:
        cells = cells[(centers >= region["lower"][axis]) & (centers < region["upper"][axis])]
    return cells[cells % region.get("stride", [1, 1, 1])[axis] == 0]


def geometry(expected):
    """Corners and spacing that put the centre of each cell of the region where it belongs."""
    lower, spacing = [], []
    for axis in range(3):
        cells = chosen_cells(expected, axis)
        h = expected["spacing"][axis]
        step = (expected["region"] or {}).get("stride", [1, 1, 1])[axis]
        if (expected["region"] or {}).get("axis") == axis:
            step = 1
        center = expected["lower"][axis] + (cells[0] + 0.5) * h
        lower.append(center - 0.5 * step * h)
        spacing.append(step * h)
    return lower, spacing


def is_graded(expected):
    return any(not numpy.allclose(numpy.diff(edges), edges[1] - edges[0])
               for edges in expected["edges"])


def edges(expected, axis):
    """The edges of the cells of the region, which on a graded grid are neighbours."""
    if is_graded(expected):
        cells = chosen_cells(expected, axis)
        return numpy.array(expected["edges"][axis])[cells[0]:cells[-1] + 2]
    lower, spacing = geometry(expected)
    return lower[axis] + numpy.arange(expected["cells"][axis] + 1) * spacing[axis]


def indices(expected):
    """k, j, i of the cells of the region."""
    return numpy.meshgrid(chosen_cells(expected, 2), chosen_cells(expected, 1),
                          chosen_cells(expected, 0), indexing="ij")


def gaps(expected):
    """Which cells of the region are of an ambient."""
    k, j, i = indices(expected)
    return (i + 2 * j + 3 * k) % 5 == 0 if expected["gaps"] else numpy.zeros(i.shape, bool)


def values(expected, seed, name="T"):
    """T[k][j][i] as rig_plain of io_rig.c has it, in the cells of the region."""
    k, j, i = indices(expected)
    found = 300 + 0.25 * ((i + 3 * j + 7 * k + 11 * seed) % 64)
    return numpy.where(gaps(expected), numpy.nan, found) if name != "material" else found


def fields(expected):
    """(name, what is added to the seed) of T and of the derived fields."""
    return [("T", 0), *expected["derived"].items()]


class Checks:
    """Counts what does not hold, and says where."""

    def __init__(self):
        self.failed = 0

    def that(self, holds, *what):
        if not holds:
            self.failed += 1
            print("FAILED:", *what)

    def finish(self, count):
        print(f"{count} cases, {self.failed} failures")
        raise SystemExit(1 if self.failed else 0)
