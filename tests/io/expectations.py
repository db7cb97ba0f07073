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


def values(expected, seed):
    """T[k][j][i] as rig_plain of io_rig.c has it."""
    nx, ny, nz = expected["cells"]
    k, j, i = numpy.meshgrid(
        numpy.arange(nz), numpy.arange(ny), numpy.arange(nx), indexing="ij")
    return 300 + 0.25 * ((i + 3 * j + 7 * k + 11 * seed) % 64)


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
