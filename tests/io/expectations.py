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
    n, lower, h = expected["grid"][axis], expected["lower"][axis], expected["spacing"][axis]
    region = expected["region"] or {}
    cells = numpy.arange(n)
    centers = lower + (cells + 0.5) * h
    if region.get("axis") == axis:
        return cells[(lower + cells * h <= region["at"]) & (region["at"] < lower + (cells + 1) * h)]
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


def values(expected, seed):
    """T[k][j][i] as rig_plain of io_rig.c has it, in the cells of the region."""
    k, j, i = numpy.meshgrid(chosen_cells(expected, 2), chosen_cells(expected, 1),
                             chosen_cells(expected, 0), indexing="ij")
    return 300 + 0.25 * ((i + 3 * j + 7 * k + 11 * seed) % 64)


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
