"""SIGKILL of one rank or of all, at any moment: `--restart auto` goes on, and what is there in the
end is what a run has that nobody killed.

One long run is killed and continued, killed and continued; after each kill every checkpoint, the
history and the snapshots are looked at. Most kills are placed by fault_shim.c in front of, within
or behind a call that changes a file, so that the load on the machine does not decide where they
fall; the others come from outside, after a while. ISOTHERM_TEST_KILLS: how many kills (100,
an eighth of them of a run that writes everything there is to be written; on three ranks half of the
others), ISOTHERM_TEST_SEED: other places and other outputs."""
import os
import random
import time
import unittest

from harness import checkpoints
from robust import SEED, Everything, RobustCase

KILLS = int(os.environ.get("ISOTHERM_TEST_KILLS", "100"))
OF_EVERYTHING = KILLS // 8

# (where, how many of ten)
KINDS = [("call", 4), ("rename", 1), ("unlink", 1), ("start", 1), ("moment", 3)]


class Kills:
    DRAWN = KILLS = KILLS - OF_EVERYTHING
    STEPS = 5 * KILLS + 50
    MOST = {"call": 300, "rename": 16, "unlink": 1}  # calls of that kind until the last kill

    def kill_at_call(self, draw, sort):
        """The process that makes its n-th such call dies there."""
        calls, most = "" if sort == "call" else sort, self.MOST[sort]
        # other ranks than the first make few calls, and neither rename nor remove anything
        others = [str(self.RANKS - 1)] if calls == "" else []
        victim = draw.choice(["0", "0", ""] + others)
        kind = draw.choice(["KILL", "KILL_HALF", "KILL_AFTER"])
        number = draw.randint(1, most // 4 if victim in others else most)
        what = f"{kind} at call {number} {calls or 'of any kind'} of rank {victim or 'any'}"
        job = self.begin(self.RANKS, {"CALLS": calls, "AT": number, "KIND": kind, "RANK": victim})
        return job, what

    def kill_from_outside(self, draw, delay, steps):
        """After so many more checkpoints and then some time."""
        job = self.begin(self.RANKS)
        newest = self.newest()
        while not job.is_over() and self.newest() < newest + steps:
            time.sleep(0.003)
        time.sleep(delay)
        if draw.random() < 0.5:
            job.kill_all()
            return job, f"all ranks {delay:.3f} s behind step {newest + steps}"
        rank = draw.randrange(self.RANKS)
        while not job.is_over() and not job.kill_rank(rank):
            time.sleep(0.003)
        return job, f"rank {rank} {delay:.3f} s behind step {newest + steps}"

    def newest(self):
        found = checkpoints(self.out)
        return int(found[-1].stem.removeprefix("step_")) if found else 0

    def kill(self, draw):
        kind = draw.choices([name for name, _ in KINDS], [weight for _, weight in KINDS])[0]
        if kind == "start":
            return self.kill_from_outside(draw, draw.uniform(0, 0.4), 0)
        if kind == "moment":
            return self.kill_from_outside(draw, draw.uniform(0, 0.05), draw.randint(1, 4))
        return self.kill_at_call(draw, kind)

    def expect_restart(self, result, step, what):
        if step > 0 and "steps of" in result.out:
            self.assertIn(f"restart from out/checkpoints/step_{step:010d}.h5", result.out, what)
        self.assertNotIn("skipped", result.out + result.err, what)
        self.assertNotIn(" -> ", result.out + result.err, f"{what}: nothing was changed")

    def test_kills(self):
        draw = random.Random(f"{SEED} {self.RANKS} {self.DRAWN}")
        done = 0
        while done < self.KILLS:
            before = self.newest()
            job, what = self.kill(draw)
            result = job.end()
            what = f"kill {done + 1}, {what}, at step {before}"
            self.assertNotEqual(result.code, 0, f"{what}: not killed, the run needs more steps")
            if not job.launcher_failed:
                self.assertNotIn(result.code, (None, 2, 3, 5), f"{what}:\n{result}")
            self.expect_restart(result, before, what)
            self.expect_good_checkpoints(what)
            self.assertGreaterEqual(self.newest(), before, what)
            self.expect_good_small_files(what)
            self.expect_good_series(what)
            done += 1
        self.expect_whole_run(self.begin(self.RANKS).end(), f"after {done} kills")


class TwoRanks(Kills, RobustCase):
    RANKS = 2


class ThreeRanks(Kills, RobustCase):
    """Only a rank between two others is new: the first half of the kills that are drawn."""

    RANKS = 3
    KILLS = Kills.KILLS // 2
    STEPS = Kills.STEPS // 2 + 25


class KillsOfEverything(Kills, Everything):
    DRAWN = KILLS = OF_EVERYTHING
    STEPS = 3 * OF_EVERYTHING + 20
    MOST = {"call": 900, "rename": 60, "unlink": 8}


class EverythingOnTwoRanks(KillsOfEverything, RobustCase):
    RANKS = 2


class EverythingOnThreeRanks(KillsOfEverything, RobustCase):
    RANKS = 3


if __name__ == "__main__":
    unittest.main()
