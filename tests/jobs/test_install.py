"""`cmake --install`: the tree works from another folder when source and build are gone."""
import filecmp
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["ISOTHERM_BINARY"]).parent
# what a job needs of Slurm: the options of srun go, the program is started
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
exec "$@"
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120, **options)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # a blank in its name, as users have
        cls.prefix = cls.folder / "my programs"
        cls.share = cls.prefix / "share/isotherm"
        done = run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.hidden = run("unshare", "--mount", "mount", "-t", "tmpfs", "none", ROOT).returncode == 0
        tools = cls.folder / "tools"
        tools.mkdir()
        (tools / "srun").write_text(SRUN)
        (tools / "srun").chmod(0o755)
        # for mpirun, and not below the build
        (cls.folder / "tmp").mkdir()
        cls.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}",
                           "TMPDIR": str(cls.folder / "tmp")}
        for name in ("ISOTHERM", "ISOTHERM_ROOT", "ISOTHERM_BINARY"):
            cls.environment.pop(name, None)

    def setUp(self):
        self.work = Path(tempfile.mkdtemp(dir=self.folder))

    def without_source(self, command, **variables):
        """A line of bash in a folder of its own, with an empty folder in place of the source (and
        of the build, which is below it)."""
        words = ["bash", "-c", command]
        if self.hidden:
            words = ["unshare", "--mount", "bash", "-c",
                     f"mount -t tmpfs none '{ROOT}' && exec bash -c \"$0\"", command]
        done = run(*words, cwd=self.work, env={**self.environment, **variables})
        return done.returncode, done.stdout + done.stderr

    def check(self, command, pattern, **variables):
        code, said = self.without_source(command, **variables)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, pattern)
        return said

    def test_nothing_names_the_source(self):
        for path in self.prefix.rglob("*"):
            if path.is_file():
                self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)
        if shutil.which("readelf"):
            shown = run("readelf", "-d", self.prefix / "bin/isotherm").stdout
            for folders in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown):
                for folder in folders.split(":"):
                    self.assertTrue(folder.startswith("/") and Path(folder).is_dir(), folder)

    def test_files(self):
        for name in ("bin/isotherm", "share/man/man1/isotherm.1", "share/man/man1/isotherm-run.1",
                     "share/bash-completion/completions/isotherm",
                     "share/zsh/site-functions/_isotherm", "share/isotherm/README.md",
                     "share/isotherm/docs/reference/configuration.md", "share/isotherm/LICENSE"):
            self.assertTrue((self.prefix / name).is_file(), name)
        for name in ("configs", "docs"):
            compared = filecmp.dircmp(ROOT / name, self.share / name)
            self.assertEqual((compared.left_only, compared.right_only, compared.diff_files),
                             ([], [], []))
        # only what has to know the place differs
        scripts = filecmp.dircmp(ROOT / "jobscripts", self.share / "jobscripts",
                                 ignore=["__pycache__"])
        self.assertEqual((scripts.left_only, scripts.right_only), ([], []))
        self.assertEqual({Path(name).suffix for name in scripts.diff_files}, {".sbatch"})
        self.assertEqual(run("bash", "-c", f"bash -n '{self.share}'/jobscripts/*.sbatch").stderr,
                         "")

    def test_links_of_the_pages(self):
        text = (self.share / "README.md").read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", text):
            self.assertTrue((self.share / link).exists(), link)

    def test_a_run(self):
        """As a user types it, after the file to source."""
        source = f". '{self.share}/jobscripts/env_local.sh'"
        self.check(f"{source} && isotherm --version --verbose", r"(?s)isotherm \d.*commit.*HDF5")
        self.check(f"{source} && mpirun -n 2 isotherm run '{self.share}/configs/quickstart.yaml' "
                   "--output a --set time.end=2", r"done: step \d+, t = 2 s")
        self.check(f"{source} && isotherm run '{self.share}/configs/quickstart.yaml' "
                   "--output b --set time.end=2 && isotherm compare a b", r"equal in all \d+ cells")
        if shutil.which("man"):
            self.check(f"{source} && unset MANPATH && man -w isotherm-run",
                       re.escape(str(self.prefix / "share/man/man1/isotherm-run.1")))
        self.check(f"bash -ic \"{source}; complete -p isotherm\"", "-F _isotherm isotherm")

    def test_local_script(self):
        said = self.check(f"bash '{self.share}/jobscripts/local.sh' -n 2 -- --set time.end=2",
                          r"(?s)done: step \d+, t = 2 s.*field hash.*env_local\.sh")
        self.assertNotIn("Building", said)
        report = json.loads((self.work / "out/quickstart/report.json").read_text())
        self.assertEqual(report["ranks"], 2)
        self.assertFalse((self.share / "env.sh").exists())
        # a second call replaces it
        self.check(f"bash '{self.share}/jobscripts/local.sh' -n 1 -- --set time.end=2", "done")

    def test_study(self):
        self.check(f"python3 '{self.share}/jobscripts/study.py' weak "
                   f"'{self.share}/configs/weak_scaling.yaml' --cells 16,16,16",
                   "nothing started; --submit starts them")

    def test_job_script(self):
        """Slurm runs a copy of it, anywhere."""
        copy = self.work / "slurm_script"
        shutil.copy(self.share / "jobscripts/nvidia.sbatch", copy)
        self.check(f"bash {copy} '{self.share}/configs/quickstart.yaml' --output a "
                   "--set time.end=2", r"(?s)results in a.*ended with exit code 0",
                   SLURM_JOB_ID="5", SLURM_SUBMIT_DIR=str(self.work))

    def test_destdir(self):
        """For makers of packages: the files go to DESTDIR, and name the prefix only."""
        done = run("cmake", "--install", BUILD, "--prefix", "/opt/isotherm",
                   env={**os.environ, "DESTDIR": str(self.work)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in self.work.iterdir()], ["opt"])
        script = self.work / "opt/isotherm/share/isotherm/jobscripts/lumi_cray.sbatch"
        self.assertIn("ISOTHERM_ROOT=${ISOTHERM_ROOT:-/opt/isotherm/share/isotherm}\n",
                      script.read_text())
        self.assertNotIn(str(self.work), script.read_text())


class Commit(unittest.TestCase):
    """What the build says of its commit: from git, from an archive, or that it is unknown."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("cmake", "src/app"):
            (self.folder / name).mkdir(parents=True)
        shutil.copy(ROOT / "src/app/commit.h.in", self.folder / "src/app")
        shutil.copy(ROOT / "cmake/commit.txt", self.folder / "cmake")
        shutil.copy(ROOT / ".gitattributes", self.folder)

    def commit(self, source=None):
        source = source or self.folder
        header = self.folder / "commit.h"
        done = run("cmake", "-D", f"SOURCE={source}", "-D", f"OUTPUT={header}", "-P",
                   ROOT / "cmake/commit.cmake")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return re.search(r'ISOTHERM_COMMIT "(.*)"', header.read_text()).group(1)

    def git(self, *words):
        done = run("git", "-C", self.folder, "-c", "user.name=x", "-c", "user.email=x@localhost",
                   *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_unknown(self):
        self.assertEqual(self.commit(), "unknown")

    def test_git_and_archive(self):
        if shutil.which("git") is None:
            self.skipTest("no git")
        self.git("init", "-q")
        self.git("add", ".gitattributes", "cmake", "src")
        self.git("commit", "-qm", "x")
        head = self.git("rev-parse", "HEAD")[:12]
        self.assertEqual(self.commit(), head)
        # unpacked below a repository: that one's commit is another
        archive = self.folder / "archive"
        archive.mkdir()
        self.git("archive", "--format=tar", "-o", self.folder / "a.tar", "HEAD")
        self.assertEqual(run("tar", "-xf", self.folder / "a.tar", "-C", archive).returncode, 0)
        (self.folder / "src/app/commit.h.in").write_text("\n#define ISOTHERM_COMMIT \"@commit@\"\n")
        self.assertEqual(self.commit(archive), head)
        self.assertEqual(self.commit(), head + ", modified")


if __name__ == "__main__":
    unittest.main()
