"""The job scripts without a Slurm: syntax, binding lists, and what follows from an exit code."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "jobscripts"
MACHINES = Path(__file__).resolve().parent / "machines"


def bits(mask):
    return {n for n in range(128) if int(mask, 16) >> n & 1}


def cores(text):
    first, _, last = text.partition("-")
    return set(range(int(first), int(last or first) + 1))


def binding(script):
    """The cores of each rank of a node, from the line bind=... of a script."""
    text = re.search(r"^bind=(\S+)$", script.read_text(), re.MULTILINE).group(1)
    if text.startswith("mask_cpu:"):
        return [bits(mask) for mask in text.removeprefix("mask_cpu:").split(",")]
    return [cores(item) for item in text.split(",")]


class Scripts(unittest.TestCase):
    def test_syntax(self):
        for script in sorted((*SCRIPTS.glob("*.sh"), *SCRIPTS.glob("*.sbatch"))):
            with self.subTest(script.name):
                done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_ranks_run_next_to_their_gcds(self):
        """Each rank inside the cores next to its GCD, on none that the system keeps, as many as
        the job asks for a task at most, and no two ranks on one core."""
        for file in sorted(MACHINES.glob("*.json")):
            machine = json.loads(file.read_text())
            for family in ("cray", "openmpi"):
                script = SCRIPTS / f"{file.stem}_{family}.sbatch"
                with self.subTest(script.name):
                    ranks = binding(script)
                    self.assertEqual(len(ranks), machine["gcds"])
                    for rank, (first, last) in enumerate(machine["cores_next_to_gcd"]):
                        self.assertLessEqual(ranks[rank], set(range(first, last + 1)), rank)
                        self.assertFalse(ranks[rank] & set(machine["kept_cores"]), rank)
                        self.assertIn(len(ranks[rank]), (6, 7))
                    self.assertEqual(len(set.union(*ranks)), sum(map(len, ranks)))

    def test_both_families_bind_alike(self):
        for machine in ("frontier", "lumi"):
            self.assertEqual(*(binding(SCRIPTS / f"{machine}_{family}.sbatch")
                               for family in ("cray", "openmpi")))

    def test_what_was_not_tried_says_so(self):
        for script in sorted((*SCRIPTS.glob("frontier_*"), *SCRIPTS.glob("lumi_*"),
                              SCRIPTS / "env_frontier.sh", SCRIPTS / "env_lumi.sh")):
            top = script.read_text().splitlines()[:5]
            self.assertTrue(any("NOT TRIED ON" in line for line in top), script.name)

    def test_bind_rank(self):
        """It becomes the program, on the cores of its entry; this machine has core 0."""
        for variable in ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"):
            done = subprocess.run(
                ["bash", SCRIPTS / "bind_rank.sh", "9999,0", "grep", "Cpus_allowed_list",
                 "/proc/self/status"], env={"PATH": os.environ["PATH"], variable: "3"},
                capture_output=True, text=True)
            self.assertEqual(done.stdout.split(), ["Cpus_allowed_list:", "0"], done.stderr)


class OutsideSlurm(unittest.TestCase):
    """A sentence, exit code 2, and nothing done."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, script, *words):
        # the usual commands, without those of Slurm
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        for name in ("bash", "dirname", "date"):
            if not (tools / name).exists():
                (tools / name).symlink_to(shutil.which(name))
        before = sorted(self.folder.rglob("*"))
        done = subprocess.run([tools / "bash", script, *words], cwd=self.folder,
                              env={"PATH": str(tools)}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"^error: .*Slurm.*\n$")
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return done.stderr

    def test_job_scripts(self):
        scripts = sorted(SCRIPTS.glob("*.sbatch"))
        self.assertGreaterEqual(len(scripts), 6)
        for script in scripts:
            with self.subTest(script.name):
                self.assertIn(f"sbatch {script} CONFIG", self.check(script, "x.yaml"))

    def test_chain(self):
        self.check(SCRIPTS / "chain.sh", "2", SCRIPTS / "nvidia.sbatch", "x.yaml", "--output", "a")


class Machines(unittest.TestCase):
    """The files to source, with a `module` that notes what is loaded."""

    def source(self, name, fails="%", **variables):
        module = f"""module() {{ shift; echo "$*"; [[ "$*" != *{fails}* ]]; }}"""
        return subprocess.run(
            ["bash", "-c", f"set -u; {module}; . {SCRIPTS}/{name} x.yaml || exit; "
             "echo CC=$CC HSA=$HSA_ENABLE_SDMA GPU=${MPICH_GPU_SUPPORT_ENABLED:-none} PATH=$PATH"],
            env={"PATH": os.environ["PATH"], **variables}, capture_output=True, text=True)

    def test_versions(self):
        for name in ("env_frontier.sh", "env_lumi.sh"):
            done = self.source(name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for module in ("cce", "cray-mpich", "rocm", "cray-hdf5-parallel"):
                self.assertRegex(done.stdout, rf"\b{module}/\d+\.\d+")
            self.assertIn("craype-accel-amd-gfx90a", done.stdout)
            self.assertIn("CC=cc HSA=0 GPU=1", done.stdout)
            self.assertRegex((SCRIPTS / name).read_text(), r"Versions as of .*\d{4}")

    def test_openmpi(self):
        for name in ("env_frontier.sh", "env_lumi.sh"):
            done = self.source(name, ISOTHERM_MPI="openmpi", OPENMPI_DIR="/my/mpi")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("cray-mpich", done.stdout)
            self.assertIn("CC=mpicc HSA=0 GPU=none PATH=/my/mpi/bin:", done.stdout)

    def test_errors(self):
        for name in ("env_frontier.sh", "env_lumi.sh"):
            self.assertEqual(self.source(name, fails="rocm").returncode, 2)
            for variables, text in (({"ISOTHERM_MPI": "openmpi"}, "OPENMPI_DIR"),
                                    ({"ISOTHERM_MPI": "intel"}, "cray or openmpi")):
                done = self.source(name, **variables)
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr)
            done = subprocess.run(["bash", "-c", f". {SCRIPTS}/{name}"], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no command 'module'", done.stderr)

    def test_job_scripts_use_them(self):
        for machine in ("frontier", "lumi"):
            for family in ("cray", "openmpi"):
                text = (SCRIPTS / f"{machine}_{family}.sbatch").read_text()
                self.assertIn(f"ISOTHERM_MPI={family}\n", text)
                self.assertIn(f'. "$ISOTHERM_ROOT/jobscripts/env_{machine}.sh" || exit 2', text)
                self.assertNotIn("module load", text)


JOB = """
set -uo pipefail
. "$ISOTHERM_ROOT/jobscripts/job_common.sh"
job_start cpu "$@"
job_run env
"""
# stands for `isotherm`: leaves a checkpoint when PROGRESS names one, and ends with CODE
PROGRAM = """#!/usr/bin/env bash
trap 'echo heard USR2; exit 75' USR2
echo "words: $*"
echo "end: ${SLURM_JOB_END_TIME:-none}"
while [[ $# -gt 1 ]]; do [[ $1 != --output ]] || out=$2; shift; done
mkdir -p "$out/checkpoints"
[[ -z $PROGRESS ]] || echo "$PROGRESS" >"$out/checkpoints/latest"
[[ -z ${SLOW:-} ]] || for ((i = 0; i < 600; i++)); do sleep 0.1; done
[[ -z ${NOTE:-} ]] || echo "$NOTE" >"$ISOTHERM_EXIT_FILE"
exit "$CODE"
"""


class Verdict(unittest.TestCase):
    """job_common.sh with a program and a scontrol of ours."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.put("job.sh", JOB)
        self.put("isotherm", PROGRAM)
        self.put("scontrol", 'echo "$*" >>"$0.log"')
        self.put("squeue", "echo 2033-05-18T03:33:20")

    def put(self, name, text):
        (self.folder / name).write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}")
        (self.folder / name).chmod(0o755)

    def words(self, code, progress="", **variables):
        env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "ISOTHERM_ROOT": str(ROOT),
               "ISOTHERM": str(self.folder / "isotherm"), "SLURM_JOB_ID": "77", "TZ": "UTC",
               "CODE": str(code), "PROGRESS": progress, **variables}
        return {"args": ["bash", "job.sh", "my.config.yaml"], "env": env, "cwd": self.folder}

    def run_job(self, code, progress="", **variables):
        """The script's exit code, its words, and whether it asked for a requeue."""
        log = self.folder / "scontrol.log"
        log.unlink(missing_ok=True)
        done = subprocess.run(**self.words(code, progress, **variables), capture_output=True,
                              text=True, timeout=60)
        asked = log.read_text().split() if log.exists() else []
        self.assertIn(asked, ([], ["requeue", "77"]))
        return done.returncode, done.stdout + done.stderr, bool(asked)

    def test_each_exit_code(self):
        for code, wanted in {0: False, 2: False, 3: False, 5: False, 75: True, 4: True,
                             137: True, 143: True, 1: False}.items():
            with self.subTest(code):
                ended, text, again = self.run_job(code, f"step_{code}.h5")
                self.assertEqual((ended, again), (code, wanted), text)

    def test_the_programs_own_code_counts(self):
        """srun says 137 when it had to kill a rank after another one had found a wrong file."""
        ended, text, again = self.run_job(137, "step_1.h5", NOTE="3")
        self.assertEqual((ended, again), (3, False), text)
        self.assertEqual(list(self.folder.glob("*.exit")), [])

    def test_gives_up_without_progress(self):
        turns = [self.run_job(75, "step_1.h5")[2] for _ in range(4)]
        self.assertEqual(turns, [True, True, True, False], "3 starts bring nothing new")
        shutil.rmtree(self.folder / "out")
        turns = [self.run_job(75, f"step_{n}.h5")[2] for n in range(6)]
        self.assertEqual(turns, [True] * 6, "it gets on")
        shutil.rmtree(self.folder / "out")
        turns = [self.run_job(4, ISOTHERM_TRIES="2") for _ in range(2)]
        self.assertEqual([turn[2] for turn in turns], [True, False], "not even a checkpoint")
        self.assertIn("giving up: 2 starts", turns[1][1])

    def test_the_stop_file_is_obeyed(self):
        self.run_job(75, "step_1.h5")
        (self.folder / "out/my.config-77/stop").touch()
        ended, text, again = self.run_job(75, "step_2.h5")
        self.assertEqual((ended, again), (75, False))
        self.assertIn("remove it to continue", text)

    def test_chain(self):
        for code, wanted in {75: 0, 2: 2, 0: 0}.items():
            ended, text, again = self.run_job(code, f"step_{code}.h5", ISOTHERM_CHAIN="1")
            self.assertEqual((ended, again), (wanted, False), text)

    def test_words_and_end(self):
        _, text, _ = self.run_job(0, SLURM_ARRAY_JOB_ID="70", SLURM_ARRAY_TASK_ID="5")
        self.assertIn("words: run my.config.yaml --output out/my.config-70_5 --restart auto", text)
        self.assertIn("end: 2000000000", text, "from squeue, since Slurm 22.05 does not tell it")
        _, text, _ = self.run_job(0, SLURM_JOB_END_TIME="123")
        self.assertIn("end: 123", text)

    def test_signals_are_handed_on(self):
        """TERM and USR2 to the script reach the program as USR2, and its own end counts."""
        for number in (signal.SIGTERM, signal.SIGUSR2):
            job = subprocess.Popen(**self.words(0, f"step_{number}.h5", SLOW="1"), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            latest = self.folder / "out/my.config-77/checkpoints/latest"
            while not latest.exists() or f"step_{number}." not in latest.read_text():
                time.sleep(0.05)
            job.send_signal(number)
            text, _ = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 75, text)
            self.assertIn("heard USR2", text)

    def test_no_program(self):
        ended, text, again = self.run_job(0, ISOTHERM="/nowhere/isotherm")
        self.assertEqual((ended, again), (2, False))
        self.assertIn("/nowhere/isotherm", text)


if __name__ == "__main__":
    unittest.main()
