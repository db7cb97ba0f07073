"""Values with a unit: the same run as with plain numbers, on any number of ranks and after a
restart, and a clear refusal where there is no UDUNITS."""
import copy
import os
import unittest
from unittest import mock

import harness
import problems
from harness import END_AT_ONCE, Case, Run

PLAIN = problems.mixed([13, 11, 9])
PLAIN["time"] = {"steps": 12, "dt": 1e-5}
PLAIN["material"].update(conductivity=45, density=7850)
PLAIN["initial"] = [{"uniform": {"value": 293.15}}]
PLAIN["output"] = {"checkpoints": {"every": 6, "keep": 9}}


class Units(Case):
    def setUp(self):
        super().setUp()
        self.units = copy.deepcopy(PLAIN)
        self.units["time"]["dt"] = "10 us"
        self.units["material"].update(conductivity="0.45 W/(cm K)", density="7.85 g/cm^3")
        self.units["initial"] = [{"uniform": {"value": "20 degC"}}]

    def without_libraries(self):
        return mock.patch("harness.BINARY", os.environ["ISOTHERM_BARE"])

    def test_same_run(self):
        plain = self.solve(PLAIN)
        result, folder = self.start(self.units, ranks=3)
        if "this build has no UDUNITS" in result.err:
            self.skipTest("no UDUNITS")
        self.assert_code(result, 0)
        self.assertEqual(Run(result, folder).report["field_hash"], plain.report["field_hash"])
        # neither a change of a setting, nor a need for UDUNITS
        with self.without_libraries():
            longer = copy.deepcopy(PLAIN)
            longer["time"]["steps"] = 24
            result, _ = self.start(longer, "--restart", "auto", output=folder, ranks=2)
        self.assert_code(result, 0)
        changes = [change["key"] for change in Run(result, folder).report["restart_changes"]]
        self.assertEqual(changes, ["time.steps", "output.directory"])

    def test_one_rank_reads_the_database(self):
        """Thousands that open a few files at once burden the file system."""
        program = self.folder / "program"
        program.write_text('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] ||'
                           f' export UDUNITS2_XML_PATH=/nowhere\nexec {harness.BINARY} "$@"\n')
        program.chmod(0o755)
        plain = self.solve(PLAIN)
        with mock.patch("harness.BINARY", str(program)):
            result, folder = self.start(self.units, ranks=3)
        if "this build has no UDUNITS" in result.err:
            self.skipTest("no UDUNITS")
        self.assert_code(result, 0)
        self.assertEqual(Run(result, folder).report["field_hash"], plain.report["field_hash"])

    def test_without_udunits(self):
        with self.without_libraries():
            result, folder = self.start(self.units, ranks=3)
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "material.conductivity", "this build has no UDUNITS",
                         "0.45 W/(cm K)", "give a number above 0, in W/(m K)")
        self.assertFalse(folder.exists())

    def test_without_the_database(self):
        result, folder = self.start(self.units, ranks=3,
                                    env={**END_AT_ONCE, "UDUNITS2_XML_PATH": "/nowhere"})
        self.assert_code(result, 2)
        self.assert_one_error(result)
        self.assert_says(result, "UDUNITS")
        self.assertNotIn("ut_", result.err, "UDUNITS' own messages")
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
