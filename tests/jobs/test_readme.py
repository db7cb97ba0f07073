"""The commands of README.md and of the task pages of the guide, typed one after the other into a
copy of the source tree.

With ISOTHERM_NEWCOMER_ROOT, the root of a bare Debian with the source in /root/isotherm, they are
typed there, and what is missing is installed (newcomer.sh).
"""
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# what a user's shell does not have: the settings of the tests
OWN = re.compile(r"^(OMPI_|OMP_|HWLOC_|ISOTHERM_(?!BINARY)|SLURM_|PMIX_)")

ROOT_OF_NEWCOMER = os.environ.get("ISOTHERM_NEWCOMER_ROOT")

# the beginning of each command, and what its output must contain
EXPECTED = {
    "bash jobscripts/local.sh": r"(?s)field hash .*\. \./env\.sh",
    ". ./env.sh": r"^$",
    "isotherm init rod": r"wrote rod\.yaml; next: isotherm run rod\.yaml",
    "isotherm check rod.yaml": r"rod\.yaml is valid: 60 cells, \d+ steps, 1 rank",
    "isotherm run rod.yaml": r"(?s)done: step \d+, t = 1800 s.*out/rod/history\.csv",
    "isotherm plot out/rod": r"(?s)out/rod/plots/history\.png.*out/rod/plots/probes\.png",
    "mpirun -n 4 isotherm run": r"done: step 959, t = 120 s",
    "isotherm compare": r"equal in all \d+ cells",
    "mpirun -n 3 isotherm run": r"(?s)3 ranks.*done: step 1199, t = 150 s; 240 steps",
    "isotherm plan": r"(?s)cells/rank +2097152 \.\. 2097152 .*time step",
    "isotherm bench kernels": r"production +\d",
    "isotherm verify": r"3D .* ok",
    "mpirun -n 2 isotherm doctor": r"host",
    # without a terminal the plan alone
    "python3 jobscripts/study.py weak": r"nothing started; --submit starts them",
}
NEEDS_A_CLUSTER = "sbatch "

# the pages of the guide, and what the output of some of their commands must contain
GUIDE = {
    "steady_state": {"tail": r",1092\.18[56]\d*,1200,-1092\.18[56]"},
    "sweep": {"cut": r"\n3000,373\.95026856958094,373\.94969972573688\n",
              "grep": r"^tip_K\n340\.27\d*\n340\.27\d*\n340\.27\d*\n$"},
    "thin_layers": {"tail": r",373\.9[45]\d*,.*,14\.[78]"},
    "surfaces": {"tail": r",458\.98084\d*\n$"},
    "fins": {"tail": r",66\.2[78]\d*,350,"},
    "time_tables": {},
    "melt_pool": {"tail": r"^288,"},
    "restart": {"grep": r'(?s)("field_hash": "\w+").*\1'},
    "cluster": {"isotherm plan": r"cells/rank +2097152 \.\. 2097152"},
    "time_schemes": {"isotherm plan": r"of 24 levels, sts2.*would take 8\.63e\+05 steps"},
    "doctor": {"mpirun": r"(?s)GB/s each way.*(no problems found|WRONG)",
               "isotherm plan": r"links/step"},
}
if ROOT_OF_NEWCOMER:    # elsewhere jobs.install does this
    GUIDE["install"] = {"isotherm --version --verbose": r"(?s)compilers.*HDF5"}


def blocks(text):
    """The code of the page: indented by four blanks."""
    return [re.sub(r"(?m)^ {4}", "", block)
            for block in re.findall(r"(?m)(?:^ {4}.*\n)+", text)]


class Player(unittest.TestCase):
    """A copy of the source tree and a user's shell in it."""

    @classmethod
    def setUpClass(cls):
        if ROOT_OF_NEWCOMER:
            cls.folder = Path(ROOT_OF_NEWCOMER) / "root/isotherm"
            return
        cls.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("README.md", "CMakeLists.txt", "configs", "jobscripts", "docs"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, cls.folder / name)
        # local.sh builds: here the build has been done, and nothing is to be installed
        build = cls.folder / "build/cpu"
        build.mkdir(parents=True)
        (build / "isotherm").symlink_to(os.environ["ISOTHERM_BINARY"])
        tools = cls.folder / "tools"
        tools.mkdir()
        for name, code in (("cmake", 0), ("apt-get", 1), ("sudo", 1)):
            (tools / name).write_text(f"#!/bin/sh\nexit {code}\n")
            (tools / name).chmod(0o755)
        cls.environment = {key: value for key, value in os.environ.items() if not OWN.match(key)}
        cls.environment["PATH"] = f"{tools}:{os.environ['PATH']}"

    def shell(self, command):
        if not ROOT_OF_NEWCOMER:
            return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=240)
        began = time.monotonic()
        done = subprocess.run(["chroot", ROOT_OF_NEWCOMER, "env", "-i", "HOME=/root", "TERM=dumb",
                               "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                               "bash", "-c", f"cd /root/isotherm && {command}"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        print(f"$ {command}\n{done.stdout}{done.stderr}"
              f"[exit code {done.returncode}, {time.monotonic() - began:.0f} s]\n", flush=True)
        return done


class Readme(Player):
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    def check_command(self, line, started):
        found = [text for text in EXPECTED if line.startswith(text)]
        self.assertEqual(len(found), 1, f"no expectation for: {line}")
        done = self.shell(line if not started else f". ./env.sh && {line}")
        said = done.stdout + done.stderr
        # doctor's finding about this machine is no mistake of the page
        allowed = (0, 1) if "doctor" in line else (0,)
        self.assertIn(done.returncode, allowed, f"{line}\n{said}")
        self.assertRegex(said, EXPECTED[found[0]], line)
        return found[0]

    def check_python(self, block):
        code = block + "print(T.shape, t[-1])"
        if ROOT_OF_NEWCOMER:
            self.assertEqual(self.shell("apt-get -q -y install python3-h5py").returncode, 0)
            done = self.shell(f"python3 -c {shlex.quote(code)}")
        elif importlib.util.find_spec("h5py") is None:
            return
        else:
            done = subprocess.run([sys.executable, "-c", code], cwd=self.folder,
                                  capture_output=True, text=True)
        self.assertEqual(done.stdout, "(9, 64, 96, 128) 120.0\n", done.stderr)

    def test_commands(self):
        seen = set()
        for block in blocks(self.text):
            if block.startswith("import "):
                self.check_python(block)
                continue
            for line in block.splitlines():
                if not line.startswith(NEEDS_A_CLUSTER):
                    seen.add(self.check_command(line, bool(seen)))
        self.assertEqual(seen, set(EXPECTED), "no longer in the README")
        report = json.loads((self.folder / "out/first/report.json").read_text())
        self.assertEqual((report["first_step"], report["time"]), (959, 150))

    def test_files_and_links_exist(self):
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
            for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")
            named = re.findall(r"`((?:src|kernels|halo|io|tests|configs|jobscripts|docs|cmake)/"
                               r"[\w/.-]+\.\w+)`", page.read_text(encoding="utf-8"))
            for path in (name for name in named if "NAME" not in name):
                self.assertTrue((ROOT / path).exists(), f"{page.name}: {path}")


class Guide(Player):
    """The shell has the program; README.md's first command has built it."""

    def check_page(self, name, expected):
        page = (ROOT / f"docs/guide/{name}.md").read_text(encoding="utf-8")
        commands = [line for block in blocks(re.sub(r"(?s)```.*?```", "", page))
                    for line in block.splitlines()
                    if not line.startswith((NEEDS_A_CLUSTER, "python3 "))]   # README.md has it
        seen = set()
        for line in commands:
            done = self.shell(f". jobscripts/env_local.sh && {line}")
            said = done.stdout + done.stderr
            # doctor's finding about this machine is no mistake of the page
            self.assertIn(done.returncode, (0, 1) if "doctor" in line else (0,), f"{line}\n{said}")
            for beginning in (text for text in expected if line.startswith(text)):
                self.assertRegex(said, expected[beginning], line)
                seen.add(beginning)
        self.assertEqual(seen, set(expected), "no longer in the page")
        self.check_excerpts(page, set(re.findall(r"configs/[\w/]+\.yaml", page)))
        if any("isotherm run" in line for line in commands):
            self.assertRegex(page, rf"!\[.*\]\(pictures/{name}\.png\)")

    def check_excerpts(self, page, names):
        """Each line that a page shows of a configuration is in one that it names."""
        lines = {line.strip() for name in names for line in (ROOT / name).read_text().splitlines()}
        for block in re.findall(r"(?s)```yaml\n(.*?)```", page):
            for line in block.splitlines():
                self.assertIn(line.strip(), lines)

    def test_pages(self):
        for name, expected in GUIDE.items():
            with self.subTest(name):
                self.check_page(name, expected)


if __name__ == "__main__":
    unittest.main()
