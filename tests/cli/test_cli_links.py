"""Initial fields that lie in other files than the one that is named: never another one's."""
import csv
import fcntl
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

    def check_unread(self, *says):
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", code=3, ranks=ranks,
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
        with h5py.File(self.folder / "start.h5", "w") as file:
            file["of/last"] = h5py.SoftLink("../../x")
            file["of/newest"] = h5py.SoftLink("named")
            file["of/named"] = h5py.SoftLink("/links/one")
            file["links/one"] = h5py.ExternalLink("series/snapshots.vtkhdf", "/snap/0")
            file["links/round"] = h5py.SoftLink("/links/again")
            file["links/again"] = h5py.SoftLink("/links/round")
            file["links/self"] = h5py.ExternalLink("start.h5", "/links/self")
        self.name("start.h5", "of//./newest/T/")
        self.assert_starts_from(300.0)
        for dataset, says in {"/links/round": ["start.h5", "circle"],
                              "/links/self": ["start.h5", "circle"],
                              "/of/last": ["start.h5"],
                              "/of/newest/U": ["/U of series/snapshots/step"],
                              "/of/newest/T/U": ["/T/U of series/snapshots/step"]}.items():
            with self.subTest(dataset):
                self.name("start.h5", dataset)
                self.check_unread(*says)
        (self.folder / "series" / self.STATE).unlink()
        self.name("start.h5", "/of/newest/T")
        self.check_unread(f"cannot open series/{self.STATE}: No such file")

    def test_all_states_at_once_are_no_field(self):
        self.write(RIGHT.replace("  checkpoints: {every: 5}",
                                 "  snapshots: {every: 5, derived: [heat_flux]}"))
        self.assert_code(self.isotherm("run", "config.yaml", "--output", "old"), 0)
        for name in ("T", "heat_flux"):
            self.name("old/snapshots.vtkhdf", f"/VTKHDF/CellData/{name}")
            for command, ranks in (("run", 3), ("plan", 1)):
                self.check_refused(command, "config.yaml", ranks=ranks, says=[
                    f"the dataset /VTKHDF/CellData/{name} of old/snapshots.vtkhdf has the shape "
                    "(2, 8, 10, 12); the grid needs"])


class VirtualField(Input):
    """HDF5 looks for the sources of a virtual dataset as it does for links, and fills what it does
    not find: a run began at 0 K."""
    HALVES = ("lower.h5", "upper.h5")

    def setUp(self):
        super().setUp()
        self.write(RIGHT.replace("  - uniform: {value: 300}",
                                 "  - file: {path: there/start.h5, dataset: /T}"))
        for folder, value in ((".", 500.0), ("there", 300.0)):
            (self.folder / folder).mkdir(exist_ok=True)
            for name in self.HALVES:
                with h5py.File(self.folder / folder / name, "w") as file:
                    file["T"] = np.full((4, 10, 12), value)
        self.join(*self.HALVES)

    def join(self, *names, dataset="T"):
        layout = h5py.VirtualLayout((8, 10, 12), "f8")
        for n, name in enumerate(names):
            layout[4 * n:4 * n + 4] = h5py.VirtualSource(name, dataset, (4, 10, 12))
        with h5py.File(self.folder / "there/start.h5", "w", libver="latest") as file:
            file["own"] = np.full((4, 10, 12), 300.0)
            file["link"] = h5py.ExternalLink("lower.h5", "/T")
            file["soft"] = h5py.SoftLink("/own")
            file.create_virtual_dataset("T", layout)

    def check_unread(self, *says, code, **how):
        for command, ranks in (("run", 3), ("plan", 1)):
            self.check_refused(command, "config.yaml", code=code, ranks=ranks,
                               says=["config.yaml:11: initial[0].file: ", *says], **how)

    def assert_starts(self):
        result = self.isotherm("run", "config.yaml", "--overwrite", "--set", "time.steps=1",
                               ranks=3)
        self.assert_code(result, 0)
        with open(self.folder / "out/history.csv", encoding="utf-8") as file:
            first = next(csv.DictReader(line for line in file if not line.startswith("#")))
        self.assertEqual((float(first["min_K"]), float(first["max_K"])), (300.0, 400.0))

    def test_all_sources_there(self):
        self.assert_starts()
        for dataset in ("own", "soft"):
            self.join(".", ".", dataset=dataset)
            self.assert_starts()
        # the file itself under another name, which HDF5 then opens once more
        (self.folder / "there/same.h5").hardlink_to(self.folder / "there/start.h5")
        self.join("same.h5", "same.h5", dataset="own")
        self.assert_starts()

    def test_a_source_is_missing(self):
        (self.folder / "there/upper.h5").unlink()
        self.check_unread("cannot open there/upper.h5: No such file", code=3)
        self.join("lower.h5", "lower.h5", dataset="U")
        self.check_unread("U of there/lower.h5", code=3)

    def test_a_source_that_hdf5_cannot_open(self):
        with open(self.folder / "there/upper.h5", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.check_refused("run", "config.yaml", code=3, env={"HDF5_USE_FILE_LOCKING": "TRUE"},
                               says=["initial[0].file: cannot open there/upper.h5"])

    def test_sources_that_hdf5_may_find_elsewhere(self):
        self.check_unread("HDF5_VDS_PREFIX", code=2, env={"HDF5_VDS_PREFIX": str(self.folder)})
        self.join(".", ".", dataset="link")
        self.check_unread("by a link from there/lower.h5", code=2)
        with h5py.File(self.folder / "there/start.h5", "r+", libver="latest") as file:
            layout = h5py.VirtualLayout((8, 10, 12), "f8")
            layout[...] = h5py.VirtualSource(".", "T", (8, 10, 12))
            file.create_virtual_dataset("again", layout)
        self.write((self.folder / "config.yaml").read_text().replace("/T", "/again"))
        self.check_unread("/T of there/start.h5", "is a virtual dataset, too", code=2)

    def test_a_pattern(self):
        slab = (4, 10, 12)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple((8, 10, 12), (h5py.h5s.UNLIMITED, 10, 12))
        space.select_hyperslab((0, 0, 0), (h5py.h5s.UNLIMITED, 1, 1), slab, slab)
        creation.set_virtual(space, b"part_%b.h5", b"T", h5py.h5s.create_simple(slab))
        for n in range(2):
            (self.folder / "there" / self.HALVES[n]).rename(self.folder / f"there/part_{n}.h5")
        with h5py.File(self.folder / "there/start.h5", "w", libver="latest") as file:
            h5py.h5d.create(file.id, b"T", h5py.h5t.IEEE_F64LE, space, creation)
        self.check_unread("T of part_%b.h5", "pattern", code=2)


if __name__ == "__main__":
    unittest.main()
