"""A Slurm of our own on this machine: munged, slurmctld and two slurmd that play the nodes n1 and
n2, all in one private folder and on free ports. Nothing of it outlives the test."""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue",
            "sinfo")
NODES = ("n1", "n2")
# The nodes of Frontier and LUMI-G: 64 cores of two threads, 8 of the cores kept from jobs, 8 GCDs.
CORES, KEPT_CORES, GPUS = 64, 8, 8
SBIN = "/usr/sbin:/sbin:/usr/local/sbin"

SLURM_CONF = """
ClusterName=isothermtest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# a job that is requeued starts again when its credential has expired
AuthInfo=cred_expire=5,socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=100000,default_queue_depth=50
JobRequeue=1
ReturnToService=2
MpiDefault=none
KillWait=5
MinJobAge=600
GresTypes=gpu
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}] \
Sockets=1 CoresPerSocket={cores} ThreadsPerCore=2 CoreSpecCount={kept} RealMemory=480000 \
Gres=gpu:{gpus} State=UNKNOWN
PartitionName=test Nodes=n[1-2] Default=YES MaxTime=120 State=UP
PartitionName=batch Nodes=n[1-2] MaxTime=120 State=UP
PartitionName=standard-g Nodes=n[1-2] MaxTime=2880 State=UP
"""


def missing_programs():
    path = os.environ.get("PATH", "") + ":" + SBIN
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


def dies_with_us():
    """In the child: also a test that is killed leaves no daemon behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    os.setsid()


def free_ports(count):
    """Neighbouring ports nobody listens on; slurm.conf wants a range for the nodes."""
    for base in range(17001 + os.getpid() % 997 * 10, 60000, 10):
        sockets = []
        try:
            for port in range(base, base + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return list(range(base, base + count))
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no free ports")


def processes_of(folder):
    """What runs with the configuration in that folder: jobs, their steps and ranks, daemons."""
    mark = f"SLURM_CONF={folder}/slurm.conf".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if command and (mark in words or str(folder).encode() in command):
                found.append(int(entry.name))
    return found


class Slurm:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_slurm_"))
        self.daemons = {}
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("SLURM_")},
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": os.environ.get("PATH", "") + ":" + SBIN}

    # ---- up and down -----------------------------------------------------------------------------

    def start(self):
        try:
            self._write_files()
            self._start_daemons()
        except BaseException:
            self.stop()
            raise

    def _write_files(self):
        user = pwd.getpwuid(os.getuid()).pw_name
        for name in ("state", "dev", *(f"{kind}.{node}" for kind in ("spool", "tmp")
                                       for node in NODES)):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)  # munged's socket must be reachable
        for number in range(GPUS):
            (self.folder / f"dev/gpu{number}").touch()  # Slurm only looks whether they are there
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(
            folder=self.folder, host=socket.gethostname().split(".")[0], ports=free_ports(3),
            user=user, cores=CORES, kept=KEPT_CORES, gpus=GPUS))
        (self.folder / "gres.conf").write_text(
            f"AutoDetect=off\nName=gpu File={self.folder}/dev/gpu[0-{GPUS - 1}]\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=autodetect\nCgroupAutomount=no\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def _daemon(self, name, *words):
        with open(self.folder / f"{name}.out", "wb") as out:
            self.daemons[name] = subprocess.Popen(
                [str(word) for word in words], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, preexec_fn=dies_with_us,
                cwd=self.folder)

    def _start_daemons(self):
        at = self.folder
        self._daemon("munged", "munged", "--force", "--foreground", f"--key-file={at}/munge.key",
                     f"--socket={at}/munge.socket", f"--pid-file={at}/munged.pid",
                     f"--log-file={at}/munged.log", f"--seed-file={at}/munge.seed")
        self._wait(lambda: (at / "munge.socket").exists(), "munged's socket")
        self._daemon("slurmctld", "slurmctld", "-D", "-c", "-f", at / "slurm.conf")
        for node in NODES:
            self._daemon(f"slurmd.{node}", "slurmd", "-D", "-N", node, "-f", at / "slurm.conf")
        self._wait(self._is_up, "two idle nodes")

    def _is_up(self):
        done = self.command("sinfo", "-h", "-p", "test", "-o", "%t %D", check=False)
        return done.stdout.split() == ["idle", "2"]

    def _wait(self, condition, what, limit=30):
        end = time.monotonic() + limit
        while not condition():
            dead = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                raise RuntimeError(f"Slurm does not start: no {what}; ended: {dead}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self, lines=25):
        return "\n".join(f"--- {path.name}\n" + "\n".join(
            path.read_text(errors="replace").splitlines()[-lines:])
            for path in sorted((*self.folder.glob("*.log"), *self.folder.glob("*.out"))))

    def stop(self):
        if "slurmctld" in self.daemons and self.daemons["slurmctld"].poll() is None:
            self.command("scancel", "--full", "--signal=KILL", "-u", str(os.getuid()), check=False)
        for name in reversed(list(self.daemons)):
            self.daemons[name].terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in processes_of(self.folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- jobs ------------------------------------------------------------------------------------

    def command(self, *words, check=True, env=None, cwd=None):
        done = subprocess.run([str(word) for word in words], cwd=cwd, text=True, timeout=60,
                              env={**self.environment, **(env or {})},
                              stdin=subprocess.DEVNULL, capture_output=True)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def submit(self, *words, env=None, cwd=None):
        """sbatch; the job's number."""
        done = self.command("sbatch", "--parsable", *words, env=env, cwd=cwd)
        return done.stdout.strip().split(";")[0]

    def job(self, number):
        """What scontrol knows, as a dictionary; of an array's parent that of the first task."""
        text = self.command("scontrol", "show", "job", "-o", number).stdout.splitlines()[0]
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for(self, number, states, limit=90):
        """Until the job is in one of the states; its record."""
        end = time.monotonic() + limit
        while True:
            job = self.job(number)
            if job["JobState"] in states:
                return job
            if time.monotonic() > end:
                raise AssertionError(f"job {number} is {job['JobState']} ({job['Reason']}), not "
                                     f"{states}, after {limit} s\n{self.logs()}")
            time.sleep(0.2)

    def wait_for_end(self, number, limit=90):
        """The job's record when it is over for good; a requeued one is not."""
        return self.wait_for(number, ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL",
                                      "OUT_OF_MEMORY"), limit)
