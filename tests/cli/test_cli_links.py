"""Initial fields that lie in other files than the one that is named: never another one's."""
import csv
import unittest

import h5py
import numpy as np

from test_cli_input import RIGHT, Input


class LinkedField(Input):
    """A state that a file names by a link is read from beside that file. HDF5 alone looks where
    HDF5_EXT_PREFIX says, too, and in the working directory: there are other fields here."""
    STATE = "snapshots/step_0000000000.h5"

    def setUp(self):
        super().setUp()
        self.make_state(".", 500.0)
        self.make_state("prefix", 600.0)
        self.make_state("series", 300.0)
        with h5py.File(self.folder / "series/snapshots.vtkhdf", "w") as file:
            file["snap/0"] = h5py.ExternalLink(self.STATE, "/")
        self.name("series/snapshots.vtkhdf", "/snap/0/T")

    def make_state(self, folder, value):
        (self.folder / folder / "snapshots").mkdir(parents=True)
        with h5py.File(self.folder / folder / self.STATE, "w") as file:
            file["T"] = np.full((8, 10, 12), value)

    def name(self, path, dataset):
        self.write(RIGHT.replace("  - uniform: {value: 300}",
                                 f"  - file: {{path: {path}, dataset: {dataset}}}")
                   .replace("  - box: {lower: [0.2, 0.2, 0.2], upper: [0.5, 0.5, 0.5], "
                            "value: 400}\n", ""))

    def assert_starts_from(self, value, **how):
        result = self.isotherm("run", "config.yaml", "--overwrite", "--output", "good",
                               "--set", "time.steps=1", **how)
        self.assert_code(result, 0)
        with open(self.folder / "good/history.csv", encoding="utf-8") as file:
            first = next(csv.DictReader(line for line in file if not line.startswith("#")))
        self.assertEqual((float(first["min_K"]), float(first["max_K"])), (value, value))

    def check_unread(self, *says, code=3):
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", code=code, ranks=ranks,
                               says=["config.yaml:11: initial[0].file: ", *says])

    def test_is_read_from_beside_the_file(self):
        self.assert_starts_from(300.0, ranks=3)
        self.assert_starts_from(300.0, env={"HDF5_EXT_PREFIX": str(self.folder / "prefix")})
        (self.folder / "link.vtkhdf").symlink_to("series/snapshots.vtkhdf")
        (self.folder / self.STATE).unlink()
        self.name("link.vtkhdf", "/snap/0/T")
        self.assert_starts_from(300.0, env={"HDF5_EXT_PREFIX": str(self.folder / "prefix")})

    def test_missing(self):
        (self.folder / "series" / self.STATE).unlink()
        self.check_unread(f"cannot open series/{self.STATE}: No such file")

    def test_damaged(self):
        with open(self.folder / "series" / self.STATE, "r+b") as file:
            file.truncate(100)
        self.check_unread(f"cannot open series/{self.STATE}: ")

    def test_ways_through_links(self):
        """Within the file all of them; into another file none."""
        with h5py.File(self.folder / "start.h5", "w") as file:
            file["own"] = np.full((8, 10, 12), 300.0)
            file["of/last"] = h5py.SoftLink("../../x")
            file["of/newest"] = h5py.SoftLink("named")
            file["of/named"] = h5py.SoftLink("/own")
            file["links/one"] = h5py.ExternalLink("series/snapshots.vtkhdf", "/snap/0")
            file["links/soft"] = h5py.SoftLink("/links/one/T")
            file["links/round"] = h5py.SoftLink("/links/again")
            file["links/again"] = h5py.SoftLink("/links/round")
        self.name("start.h5", "of//./newest/")
        self.assert_starts_from(300.0)
        for dataset, says in {"/links/round": ["start.h5", "too many links"],
                              "/of/last": ["start.h5"],
                              "/own/T": ["/own/T of start.h5"]}.items():
            with self.subTest(dataset):
                self.name("start.h5", dataset)
                self.check_unread(*says)
        for dataset in ("/links/one/T", "/links/soft"):
            self.name("start.h5", dataset)
            self.check_unread(f"{dataset} of start.h5 is a link to /snap/0 of "
                              "series/snapshots.vtkhdf: name that file", code=2)

    def test_a_snapshot_that_is_elsewhere(self):
        """A snapshot's own file holds its values, or is refused."""
        with h5py.File(self.folder / "series" / self.STATE, "w") as file:
            file["T"] = h5py.ExternalLink("other.h5", "/T")
        self.check_unread("T of series/" + self.STATE + " is a link to /T of "
                          "series/snapshots/other.h5", code=2)
        with h5py.File(self.folder / "series/snapshots.vtkhdf", "a") as file:
            file["fields/T/0"] = h5py.SoftLink("/snap/0/T")
        self.name("series/snapshots.vtkhdf", "/fields/T/0")
        self.check_unread("/fields/T/0 of series/snapshots.vtkhdf is a link to / of series/"
                          + self.STATE, code=2)

    def test_all_states_at_once_are_no_field(self):
        self.write(RIGHT.replace("  checkpoints: {every: 5}",
                                 "  snapshots: {every: 5, derived: [heat_flux]}"))
        self.assert_code(self.isotherm("run", "config.yaml", "--output", "old"), 0)
        for name in ("T", "heat_flux"):
            self.name("old/snapshots.vtkhdf", f"/VTKHDF/CellData/{name}")
            for command, ranks in (("run", 3), ("plan", 1)):
                self.check_refused(command, "config.yaml", ranks=ranks, says=[
                    f"/VTKHDF/CellData/{name} of old/snapshots.vtkhdf is a virtual dataset, whose "
                    f"values are in /fields/{name}/%b of the same file"])


class VirtualField(Input):
    """HDF5 looks for the sources of a virtual dataset as it does for links, and fills what it does
    not find: a run began at 0 K."""

    def setUp(self):
        super().setUp()
        self.write(RIGHT.replace("  - uniform: {value: 300}",
                                 "  - file: {path: there/start.h5, dataset: /T}"))
        (self.folder / "there").mkdir()

    def check_refused_with(self, *says):
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", ranks=ranks,
                               says=["config.yaml:11: initial[0].file: ", *says])

    def test_virtual(self):
        for source, says in {"lower.h5": "T of there/lower.h5: name that file",
                             ".": "T of the same file: name that dataset"}.items():
            layout = h5py.VirtualLayout((8, 10, 12), "f8")
            layout[...] = h5py.VirtualSource(source, "T", (8, 10, 12))
            with h5py.File(self.folder / "there/start.h5", "w", libver="latest") as file:
                file.create_virtual_dataset("T", layout)
            self.check_refused_with("/T of there/start.h5 is a virtual dataset", says)

    def test_external_values(self):
        """HDF5 would look for them in the working directory."""
        (self.folder / "values").write_bytes(np.full((8, 10, 12), 500.0).tobytes())
        with h5py.File(self.folder / "there/start.h5", "w") as file:
            file.create_dataset("T", (8, 10, 12), "f8", external=[("values", 0, 8 * 8 * 10 * 12)])
        self.check_refused_with("the values of /T of there/start.h5 are in another file")


if __name__ == "__main__":
    unittest.main()
