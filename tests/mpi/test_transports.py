"""Which way the halos go when MPI cannot do what it says: proofs before use, one clear line, and
exit code 4 for a requested transport that does not work. ISOTHERM_LYING_MPI names the library
that stands in for such an MPI (lying_mpi.c); device memory is that of the backend guard."""
import os
import unittest

import problems
from harness import END_AT_ONCE, Case

LIBRARY = os.environ["ISOTHERM_LYING_MPI_LIBRARY"]


class Transports(Case):
    def setUp(self):
        super().setUp()
        self.config = problems.mixed([12, 10, 14])
        self.config["time"] = {"steps": 6, "dt": self.config["time"]["dt"]}
        self.config["output"] = {"history": {"every": 0}}

    def words(self, mode, sharing):
        env = dict(END_AT_ONCE)
        if mode:
            env.update(LD_PRELOAD=LIBRARY, ISOTHERM_LYING_MPI=mode)
        if not sharing:
            env.update(LD_PRELOAD=LIBRARY, ISOTHERM_NO_SHARING="1")
        return env

    def go(self, transport, mode=None, sharing=True, ranks=2, backend="guard"):
        return self.start(self.config, "--backend", backend, ranks=ranks,
                          sets=[f"run.halo.transport={transport}"], env=self.words(mode, sharing))

    def report(self, *how, **more):
        return self.solve(self.config, "--backend", "guard", ranks=2,
                          sets=[f"run.halo.transport={how[0]}"], env=self.words(*how[1:]), **more)

    def trial(self, run, transport):
        return next(t for t in run.report["halo"]["trials"] if t["transport"] == transport)

    def test_an_mpi_that_keeps_its_word_is_used(self):
        reference = self.solve(self.config)
        run = self.report("gpu-aware", "good", True)
        self.assertEqual(run.report["field_hash"], reference.report["field_hash"])
        self.assertEqual(run.report["halo_transport"], "gpu-aware")
        run = self.report("auto", "good", True)
        self.assertEqual(run.report["field_hash"], reference.report["field_hash"])
        times = {}
        for name in ("peer", "gpu-aware", "staged"):
            trial = self.trial(run, name)
            self.assertTrue(trial["works"], trial)
            times[name] = trial["exchange_us"]
        self.assertEqual(run.report["halo_transport"], min(times, key=times.get))

    def expect_refusal(self, result, *fragments):
        self.assert_code(result, 4)
        self.assert_says(result, *fragments)
        self.assert_one_error(result)

    def test_what_was_asked_for_must_work(self):
        for mode, words in ((None, "MPI crashed in a trial process"),
                            ("zeros", "MPI transferred device memory wrong in a trial process"),
                            ("between", "are wrong, from byte"), ("tail", "are wrong, from byte")):
            with self.subTest(mode):
                result, folder = self.go("gpu-aware", mode)
                self.expect_refusal(result, '"gpu-aware" does not work here', words)
                self.assertFalse(folder.exists())
        result, _ = self.go("peer", sharing=False)
        self.expect_refusal(result, '"peer" does not work here', "memfd_create")
        result, _ = self.go("host")
        self.expect_refusal(result, '"host" needs memory that the host can read')

    def test_else_faces_are_staged_and_one_line_says_why(self):
        reference = self.solve(self.config)
        for mode in ("between", "tail"):
            with self.subTest(mode):
                run = self.report("auto", mode, False)
                self.assertEqual(run.report["halo_transport"], "staged")
                self.assertEqual(run.report["field_hash"], reference.report["field_hash"])
                for name in ("peer", "gpu-aware"):
                    self.assertFalse(self.trial(run, name)["works"])
                    self.assertTrue(self.trial(run, name)["why_not"])
                lines = [line for line in run.result.err.splitlines() if "gpu-aware" in line]
                self.assertEqual(len(lines), 1, run.result)
                self.assertIn("halos go through host memory on the node (staged)", lines[0])
                self.assertIn("are wrong, from byte", lines[0])


if __name__ == "__main__":
    unittest.main()
