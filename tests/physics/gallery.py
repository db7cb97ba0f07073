"""What the tests of the gallery share."""
import math
from pathlib import Path

import numpy as np

from harness import Case, Run

GALLERY = Path(__file__).resolve().parent.parent.parent / "configs" / "gallery"


class Example(Case):
    def solve_example(self, name, output, *sets, ranks=1):
        words = [word for item in sets for word in ("--set", item)]
        result = self.isotherm("run", GALLERY / f"{name}.yaml", "--output", output, *words,
                               ranks=ranks)
        self.assertEqual(result.code, 0, f"expected exit code 0:\n{result}")
        return Run(result, self.folder / output)

    def assert_order(self, errors, order, tolerance, cells=(1, 2, 4, 8)):
        """Of errors on grids with these numbers of cells on an axis."""
        for coarse, fine, few, many in zip(errors, errors[1:], cells, cells[1:]):
            found = math.log(coarse / fine) / math.log(many / few)
            self.assertLess(abs(found - order), tolerance, f"order {found:.3f} from {errors}")


def last_row(run, names, time=None):
    """Or that of a time."""
    rows = [line.split(",") for line in (run.folder / "probes.csv").read_text().splitlines()
            if not line.startswith("#")]
    row = next((row for row in rows[1:] if float(row[1]) == time), rows[-1])
    last = dict(zip((name.removesuffix("_K") for name in rows[0]), row))
    return np.array([float(last[name]) for name in names])
