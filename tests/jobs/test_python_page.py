"""The commands and the code of docs/guide/python.md, with a Python that has the packages."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = "import h5netcdf, matplotlib, numpy, xarray"
SKIPPED = 77


def python():
    for name in (sys.executable, os.environ.get("ISOTHERM_H5PY_PYTHON")):
        if name and subprocess.run([name, "-c", NEEDED], stderr=subprocess.DEVNULL).returncode == 0:
            return name
    return None


class PythonPage(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.page = (ROOT / "docs/guide/python.md").read_text(encoding="utf-8")

    def execute(self, words, **how):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=240,
                              **how)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_page(self):
        commands = re.findall(r"(?m)^ {4}(isotherm .*)$", self.page.split("## Open")[0])
        self.assertEqual(len(commands), 4)
        (self.folder / "isotherm").symlink_to(os.environ["ISOTHERM_BINARY"])
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        for command in commands:
            self.execute(["bash", "-c", command], env=environment)
        code = "\n".join(re.findall(r"(?s)```python\n(.*?)```", self.page))
        said = self.execute([python(), "-W", "error::DeprecationWarning:__main__", "-c", code])
        self.assertRegex(said, r"'time': 31.*'z': 1.*'y': 96.*'x': 96.* K\n")
        fitted, configured = map(float, re.search(
            r"diffusivity (\S+) m\^2/s, configured (\S+)", said).groups())
        self.assertLess(abs(fitted / configured - 1), 0.01)
        for name in ("slice.png", "profiles.png", "chip.gif"):
            self.assertGreater((self.folder / name).stat().st_size, 5000, name)


if __name__ == "__main__":
    if python() is None:
        print("SKIP: no Python with h5netcdf, xarray and matplotlib")
        raise SystemExit(SKIPPED)
    unittest.main()
