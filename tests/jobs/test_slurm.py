"""The job scripts under a real Slurm with two nodes, all played by this machine.

Most jobs are submitted at the start and run side by side; the tests look at what became of them."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import problems
from harness import BINARY, checkpoints, isotherm, to_yaml, wait_until
from live import ENDLESS
from slurm_rig import Slurm, missing_programs, processes_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "jobscripts"
SKIPPED = 77
# All nodes are this machine, but Open MPI shall not know. add_procs_cutoff: by default Open MPI 4.1
# learns of a process when its first message comes; over TCP, on a busy machine, one start in a
# hundred then crashes in MPI_Init (a callback that is not set yet). Told at once: none of 800.
ENVIRONMENT = {"OMPI_MCA_mpi_add_procs_cutoff": "1024",
               "ISOTHERM_ROOT": str(ROOT), "ISOTHERM": str(BINARY), "OMPI_MCA_btl": "tcp,self",
               "OMPI_MCA_pml": "ob1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
TWO_NODES = ["--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=1"]

slurm = None
folder = None
jobs = {}


def problem(steps, cells=(15, 13, 11), **output):
    config = problems.mixed(list(cells))
    config["time"] = {"steps": steps, "dt": config["time"]["dt"]}
    config["output"] = {"history": {"every": 50}, **output}
    return config


def write(name, config):
    (folder / name).write_text(to_yaml(config))
    return name


def write_rounds(margin):
    """What the next start of the job "rounds" reads, which has a minute: `margin` of its seconds
    are left when it stops, so that a slow machine has time for a signal, or little is waited."""
    config = problem(ENDLESS, (64, 48, 40), checkpoints={"every": 3, "keep": 2})
    config["run"] = {**config.get("run", {}), "walltime_margin": margin}
    write("rounds.yaml", config)


def submit(name, *words, options=TWO_NODES, script="nvidia.sbatch", **variables):
    """A job; its number goes into `jobs`, its results to `name`, its log to name.log."""
    jobs[name] = slurm.submit("--time=5", *options, f"--output={folder}/{name}.log",
                              SCRIPTS / script, *words, "--output", name,
                              env={**ENVIRONMENT, **variables}, cwd=folder)


def log(name):
    path = folder / f"{name}.log"
    return path.read_text(errors="replace") if path.exists() else ""


def report(name):
    return json.loads((folder / name / "report.json").read_text())


def latest(name):
    path = folder / name / "checkpoints/latest"
    return int(path.read_text().strip()[5:-3]) if path.exists() else -1


def field_hash(name, config):
    """Of one undisturbed run without Slurm."""
    write(f"{name}.yaml", config)
    done = isotherm("run", f"{name}.yaml", "--output", name, cwd=folder, ranks=2)
    assert_code(done, 0)
    return report(name)["field_hash"]


def assert_code(done, code):
    if done.code != code:
        raise AssertionError(f"expected exit code {code}:\n{done}")


def setUpModule():
    global slurm, folder
    folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    slurm = Slurm()
    slurm.start()
    unittest.addModuleCleanup(slurm.stop)
    # whatever happens to one of the two nodes at the end, these are done by then
    write_rounds(margin=20)
    # Slurm's own signal of such a short job comes with its next check, every 30 s: not before the
    # program stops by itself
    submit("rounds", "rounds.yaml", options=[*TWO_NODES, "--time=1", "--signal=USR2@1"])
    submit("wrong", write("wrong.yaml", {**problem(9), "tittle": "x"}))
    submit("idle", write("idle.yaml", problem(ENDLESS)), "--set", "run.walltime_margin=3000",
           ISOTHERM_TRIES="1")
    submit("stuck", write("stuck.yaml", problem(ENDLESS)), "--set", "run.watchdog.patience=4",
           "--set", "run.watchdog.grace=2", ISOTHERM_TRIES="1")
    submit("quickstart", ROOT / "configs/quickstart.yaml")
    write("sweep.yaml", problem(40))
    jobs["sweep"] = sweep().split()[-1]
    cases = folder / "cases.txt"
    cases.write_text("--set material.conductivity=45\n--set material.conductivity=40\n")
    write("array.yaml", problem(40))
    jobs["array"] = slurm.submit("--array=1-2", f"--output={folder}/array_%a.log",
                                 SCRIPTS / "array.sbatch", "array.yaml", "cases.txt",
                                 env=ENVIRONMENT, cwd=folder)


def sweep():
    """A job array for a run per value, in a folder that needs quotes; the last line of output."""
    return slurm.command(BINARY, "sweep", "sweep.yaml", "--vary",
                         "material.conductivity=45,40 W/(m K)", "--output", "it's swept",
                         "--script", SCRIPTS / "cpu.sbatch", "--sbatch",
                         "--time=5 --ntasks-per-node=1 --exclusive=user --output=sweep_%a.log",
                         env=ENVIRONMENT, cwd=folder).stdout.splitlines()[-1]


def ranks(name):
    """The processes of a job's program by rank."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if f"SLURM_JOB_ID={jobs[name]}".encode() in words and command[0] == BINARY.encode():
            rank = [word for word in words if word.startswith(b"SLURM_PROCID=")]
            found[int(rank[0].partition(b"=")[2])] = int(entry.name)
    return found


class Jobs(unittest.TestCase):
    maxDiff = None

    def ended(self, name, state, code, restarts=None):
        job = slurm.wait_for_end(jobs[name])
        self.assertEqual((job["JobState"], job["ExitCode"]), (state, f"{code}:0"), log(name))
        if restarts is not None:
            self.assertEqual(int(job["Restarts"]), restarts, log(name))
        return job

    def wait_for_step(self, name, step):
        self.assertTrue(wait_until(lambda: latest(name) > step, 90), log(name) + slurm.logs())

    def wait_for_restart(self, name, count):
        """Until the job is waiting for that restart."""
        def waits():
            job = slurm.job(jobs[name])
            return job["Restarts"] == str(count) and job["JobState"] == "PENDING"
        self.assertTrue(wait_until(waits, 90), log(name) + slurm.logs())

    def test_0_rounds_of_one_run(self):
        """Stopped by a signal to one rank, twice, in a checkpoint; by the time limit; by a signal
        to the script; and after each requeued, until the end that the file has by then."""
        self.wait_for_step("rounds", 0)
        temporary = folder / "rounds/checkpoints"
        self.assertTrue(wait_until(lambda: list(temporary.glob("*.tmp")), 20))
        write_rounds(margin=40)
        one = ranks("rounds")[1]
        os.kill(one, signal.SIGUSR2)
        os.kill(one, signal.SIGUSR2)
        self.wait_for_restart("rounds", 1)
        self.assertIn("(signal USR2)", log("rounds"))
        before = latest("rounds")

        self.wait_for_restart("rounds", 2)
        self.assertIn("s are left of the Slurm job", log("rounds"))
        self.assertGreater(latest("rounds"), before)
        before = latest("rounds")

        write_rounds(margin=20)
        self.wait_for_step("rounds", before)
        slurm.command("scancel", "--batch", "--signal=TERM", jobs["rounds"])
        self.wait_for_restart("rounds", 3)
        config = problem(latest("rounds") + 40, (64, 48, 40), checkpoints={"every": 20})
        write("rounds.yaml", config)
        self.ended("rounds", "COMPLETED", 0, restarts=3)
        self.assertEqual(log("rounds").count("exit code 75: requeued"), 3, log("rounds"))
        self.assertEqual(report("rounds")["field_hash"], field_hash("undisturbed", config))

    def test_1_quickstart_on_two_nodes(self):
        self.ended("quickstart", "COMPLETED", 0, restarts=0)
        done = report("quickstart")
        self.assertEqual((done["title"], done["ranks"]), ("quickstart", 2))
        job = slurm.job(jobs["quickstart"])
        self.assertEqual((job["NumNodes"], job["NodeList"]), ("2", "n[1-2]"))

    def test_1_a_wrong_configuration_is_not_requeued(self):
        self.ended("wrong", "FAILED", 2, restarts=0)
        self.assertIn("tittle: unknown key", log("wrong"))
        self.assertIn("not requeued: exit code 2", log("wrong"))

    def test_1_no_progress(self):
        """Its end is always too near: a checkpoint of step 0 the first time, nothing new then."""
        self.ended("idle", "FAILED", 75, restarts=1)
        self.assertIn("giving up: 1 starts", log("idle"))

    def test_1_array(self):
        for task, conductivity in ((1, "45"), (2, "40")):
            job = slurm.wait_for_end(f"{jobs['array']}_{task}")
            self.assertEqual(job["JobState"], "COMPLETED", log(f"array_{task}"))
            name = f"out/array-{jobs['array']}_{task}"
            self.assertIn(f"conductivity: {conductivity}", report(name)["config"])

    def test_1_sweep(self):
        """The same command submits nothing while its array is not done, and then has the table."""
        if slurm.job(f"{jobs['sweep']}_2")["JobState"] == "PENDING":
            self.assertEqual(sweep(), f"job {jobs['sweep']} waits or runs: nothing submitted")
        for task in (1, 2):
            job = slurm.wait_for_end(f"{jobs['sweep']}_{task}")
            self.assertEqual(job["JobState"], "COMPLETED", log(f"sweep_{task}"))
        self.assertEqual(sweep(), "it's swept/sweep.csv")
        table = (folder / "it's swept/sweep.csv").read_text().splitlines()
        self.assertEqual([row.split(",")[0] for row in table],
                         ["material.conductivity", "45", "40 W/(m K)"])

    def test_1_a_stopped_rank(self):
        """On another node than its neighbour, which can only say whom it waits for; or that it is
        in the diagnostics or the history, which wait for all, when it happens there."""
        self.assertTrue(wait_until(lambda: (folder / "stuck/history.csv").exists(), 60),
                        log("stuck"))
        time.sleep(0.5)
        stopped = ranks("stuck")[1]
        os.kill(stopped, signal.SIGSTOP)
        self.ended("stuck", "FAILED", 4, restarts=0)
        self.assertRegex(log("stuck"),
                         r"watchdog: rank 0 .* (exchanges with ranks 1|diagnostics|history)")
        self.assertTrue(wait_until(lambda: not Path(f"/proc/{stopped}").exists(), 20))

    def test_1_shapes(self):
        """The scripts fit nodes of that shape, and Slurm notices when one does not."""
        for name in ("frontier_cray", "frontier_openmpi", "lumi_cray", "lumi_openmpi"):
            with self.subTest(name):
                words = ["sbatch", "--test-only", SCRIPTS / f"{name}.sbatch", "x.yaml"]
                done = slurm.command(*words, cwd=folder)
                self.assertRegex(done.stderr, r"using 112 processors on nodes n\[1-2\]|"
                                              r"to start at .* on nodes n\[1-2\]")
                for wrong in ("--ntasks-per-node=9", "--gpus-per-node=9", "--cpus-per-task=8"):
                    done = slurm.command(*words[:2], wrong, *words[2:], cwd=folder, check=False)
                    self.assertNotEqual(done.returncode, 0, f"{wrong} is more than a node has")

    def test_2_chain(self):
        """Three jobs for one run: the first is stopped in time, the second finishes."""
        config = problem(ENDLESS, checkpoints={"every": 10**9})  # and at the end
        write("chain.yaml", config)
        done = slurm.command(
            "bash", SCRIPTS / "chain.sh", "3", SCRIPTS / "nvidia.sbatch", "chain.yaml",
            "--output=chain", cwd=folder, env={
                **ENVIRONMENT, "SBATCH_OPTIONS":
                " ".join([*TWO_NODES, f"--output={folder}/chain.log", "--time=5"])})
        first, second, third = done.stdout.split()
        self.assertEqual(slurm.job(second)["Dependency"], f"afterok:{first}(unfulfilled)")
        jobs["chain"] = first
        slurm.command("scontrol", "hold", second)  # until the configuration has an end
        self.assertTrue(wait_until(lambda: (folder / "chain/history.csv").exists(), 60))
        slurm.command("scancel", "--signal=USR2", first)
        slurm.wait_for_end(first)
        config["time"]["steps"] = latest("chain") + 40
        write("chain.yaml", config)
        slurm.command("scontrol", "release", second)
        for number in (first, second, third):
            job = slurm.wait_for_end(number)
            self.assertEqual((job["JobState"], job["Restarts"]), ("COMPLETED", "0"), log("chain"))
        self.assertIn("the next job of the chain resumes", log("chain"))
        self.assertIn("nothing is left to do", log("chain"))
        self.assertEqual(report("chain")["field_hash"], field_hash("unchained", config))

    def test_2_study(self):
        """Jobs that still wait are left alone; one that was cancelled is submitted again."""
        line = [sys.executable, SCRIPTS / "study.py", "weak", ROOT / "configs/weak_scaling.yaml",
                "--cells", "16,12,8", "--set", "time.steps=6", "--ranks", "1,2", "--repeats", "1",
                "--ranks-per-node", "1", "--isotherm", BINARY, "--output", "study",
                "--script", SCRIPTS / "nvidia.sbatch", "--minutes", "2", "--submit"]

        def numbers():
            return [(folder / f"study/runs/ranks_{n}_1/job").read_text().strip() for n in (1, 2)]
        done = slurm.command(*line, "--sbatch=--hold", env=ENVIRONMENT, cwd=folder)
        self.assertIn("2 jobs of 2 min: 0.1 node hours at most", done.stdout)
        first, second = numbers()
        slurm.command("scancel", first)
        slurm.command("scontrol", "release", second)
        done = slurm.command(*line, "--wait", env=ENVIRONMENT, cwd=folder)
        self.assertIn("2 reports, 0 to come", done.stdout)
        self.assertNotEqual(numbers()[0], first, "submitted again")
        self.assertEqual(numbers()[1], second, "left alone")
        self.assertEqual(slurm.job(second)["NumNodes"], "2")
        self.check_study("study")

    def test_2_strong_study(self):
        """The same cells on 1 and 2 nodes, in one go."""
        done = slurm.command(
            sys.executable, SCRIPTS / "study.py", "strong", ROOT / "configs/strong_scaling.yaml",
            "--cells", "16,12,8", "--set", "time.steps=6", "--ranks", "1,2", "--repeats", "1",
            "--ranks-per-node", "1", "--isotherm", BINARY, "--output", "strong",
            "--script", SCRIPTS / "nvidia.sbatch", "--minutes", "2", "--submit", "--wait",
            env=ENVIRONMENT, cwd=folder)
        self.assertIn("2 reports, 0 to come", done.stdout)
        hashes = {json.loads((folder / f"strong/runs/ranks_{n}_1/report.json").read_text())
                  ["field_hash"] for n in (1, 2)}
        self.assertEqual(len(hashes), 1, "not the same problem")
        self.check_study("strong")

    def check_study(self, name):
        lines = (folder / name / "study.csv").read_text().splitlines()
        self.assertEqual(len(lines), 1 + 2, lines)
        for figure in ("study.svg", "study.png"):
            self.assertGreater((folder / name / figure).stat().st_size, 1000, figure)

    def test_3_a_node_that_fails(self):
        """Slurm itself requeues the job, which goes on from its last checkpoint. Last: the node
        takes everything with it that runs there."""
        config = problem(ENDLESS, checkpoints={"every": 50, "keep": 2})
        submit("failing", write("failing.yaml", config))
        self.wait_for_step("failing", 0)
        slurm.command("scontrol", "update", "nodename=n2", "state=down", "reason=test")
        try:
            self.wait_for_restart("failing", 1)
            config["time"]["steps"] = latest("failing") + 40
            write("failing.yaml", config)
        finally:
            # not when the node has come back by itself
            slurm.command("scontrol", "update", "nodename=n2", "state=resume", check=False)
        self.ended("failing", "COMPLETED", 0, restarts=1)
        self.assertGreater(report("failing")["first_step"], 0)
        self.assertEqual(report("failing")["field_hash"], field_hash("unfailing", config))

    def test_4_nothing_is_left_over(self):
        """Of a Slurm with a job in it, when the test that started it fails."""
        code = """
import sys
from slurm_rig import Slurm
slurm = Slurm()
slurm.start()
print(slurm.folder, flush=True)
try:
    number = slurm.submit("--output=/dev/null", "--wrap=sleep 300")
    slurm.wait_for(number, ("RUNNING",))
    raise RuntimeError("as a test does")
finally:
    slurm.stop()
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, text=True,
                              capture_output=True, timeout=120)
        self.assertIn("as a test does", done.stderr)
        other = done.stdout.strip()
        self.assertFalse(Path(other).exists(), other)
        self.assertTrue(wait_until(lambda: not processes_of(other), 10), processes_of(other))


if __name__ == "__main__":
    lacking = missing_programs()
    if lacking:
        print(f"skipped: no Slurm on this machine ({', '.join(lacking)} not found; the packages "
              "are slurm-wlm and munge)")
        sys.exit(SKIPPED)
    unittest.main()
