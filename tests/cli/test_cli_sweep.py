"""`isotherm sweep`: runs, their table, and what a second call does."""
import csv
import json
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

import problems
from harness import Case


class Sweep(Case):
    VARY = ["--vary", "grid.cells=[12],[24]", "--vary", "material.conductivity=20,40 W/(m K),80"]

    def config(self):
        config = problems.base([12], [problems.HOT] * 2)
        config["time"] = {"end": 20.0}
        config["output"] = {"directory": "out/rod", "history": {"every": 5}, "probes": {
            "every": 5, "points": [{"name": "core", "at": [0.1]}]}}
        self.write(config)

    def table(self):
        with open(self.folder / "out/rod/sweep.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_all_combinations_and_none_twice(self):
        self.config()
        result = self.isotherm("sweep", "config.yaml", *self.VARY, "--jobs", 2)
        self.assert_code(result, 0)
        self.assert_says(result, "6 runs, 0 of them complete", stream="out")
        rows = self.table()
        self.assertEqual([(row["grid.cells"], row["material.conductivity"]) for row in rows],
                         [(n, k) for n in ("[12]", "[24]") for k in ("20", "40 W/(m K)", "80")])
        folder = self.folder / "out/rod/grid.cells=[24],material.conductivity=40_W__m_K_"
        report = json.loads((folder / "report.json").read_text())
        self.assertEqual(rows[4]["field_hash"], report["field_hash"])
        last = (folder / "probes.csv").read_text().splitlines()[-1].split(",")
        self.assertEqual(rows[4]["core_K"], last[-1])
        alone = self.isotherm("run", "config.yaml", "--output", "alone", "--set", "grid.cells=[24]",
                              "--set", "material.conductivity=40")
        self.assert_code(alone, 0)
        self.assertEqual(json.loads((self.folder / "alone/report.json").read_text())["field_hash"],
                         report["field_hash"])
        written = (folder / "report.json").stat().st_mtime_ns
        result = self.isotherm("sweep", "config.yaml", *self.VARY[:2], "--vary",
                               "material.conductivity=40 W/(m K),60")
        self.assert_says(result, "4 runs, 2 of them complete", stream="out")
        self.assertEqual((folder / "report.json").stat().st_mtime_ns, written)
        self.assertEqual(len(self.table()), 4)

    def test_runs_at_the_same_time_share_no_temporary_folder(self):
        """An Open MPI that ends removes the folder in which another one makes its own."""
        program = self.folder / "program"
        program.write_text("#!/bin/sh\n[ $1 = check ] || { echo \"$TMPDIR\"; ls \"$TMPDIR\"; }\n",
                           encoding="ascii")
        program.chmod(0o755)
        script = Path(__file__).resolve().parents[2] / "jobscripts/sweep.py"
        subprocess.run([sys.executable, script, program, "c.yaml", "--output", self.folder / "out",
                        "--vary", "time.end=1,2,3", "--jobs", "2"], check=True,
                       capture_output=True)
        said = [log.read_text().split() for log in self.folder.glob("out/*/run.log")]
        self.assertEqual([len(words) for words in said], [1, 1, 1], "it exists, and is empty")
        self.assertEqual(len({words[0] for words in said}), 3)
        self.assertFalse(any(Path(words[0]).exists() for words in said))

    def test_a_changed_configuration_is_noticed(self):
        """Of a complete run, whether the file or a --set changed; the table stays."""
        self.config()
        vary = ["--vary", "time.safety=0.5,0.9"]
        self.assert_code(self.isotherm("sweep", "config.yaml", *vary), 0)
        self.assert_says(self.isotherm("sweep", "config.yaml", *vary), "2 runs, 2 of them complete",
                         stream="out")
        table = self.table()
        changed = self.isotherm("sweep", "config.yaml", *vary, "--set", "time.end=19")
        self.assert_code(changed, 2)
        self.assert_says(changed, "out/rod/time.safety=0.5: this run is complete, with another "
                         "configuration; give another --output, or remove the folder")
        self.assertEqual(self.table(), table)

    def test_an_array_takes_the_list(self):
        """The options of each run, quoted; afterwards sweep itself finds them complete."""
        self.config()
        vary = ["--vary", "material.conductivity=20,40 W/(m K)", "--output", "there it's"]
        listed = self.isotherm("sweep", "config.yaml", *vary, "--list")
        self.assertEqual(len(listed.out.splitlines()), 2)
        self.assertFalse((self.folder / "there it's").exists())
        for line in listed.out.splitlines():
            self.assert_code(self.isotherm("run", "config.yaml", *shlex.split(line)), 0)
        result = self.isotherm("sweep", "config.yaml", *vary)
        self.assert_says(result, "2 runs, 2 of them complete", stream="out")

    def test_wrong_values_and_runs_that_fail(self):
        self.config()
        for words, says in ((["--vary", "time.end"], "give KEY=A,B,..."), ([], "give --vary"),
                            (["--vary", "grid.cells=[12"], "with all brackets closed"),
                            (["--vary", "grid.cells=[12],"], "give KEY=A,B,..."),
                            (["--vary", "time.ed=1,2"], "unknown key"),
                            (["--vary", "time.end=1,-2"], "time.end=-2")):
            result = self.isotherm("sweep", "config.yaml", *words)
            self.assert_code(result, 2)
            self.assert_says(result, says)
            self.assertFalse((self.folder / "out").exists(), "all values are checked first")
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "python3").symlink_to(sys.executable)
        result = self.isotherm("sweep", "config.yaml", "--vary", "time.end=4,5", "--script", "x",
                               env={"PATH": str(tools)})
        self.assert_code(result, 2)
        self.assert_says(result, "--script: there is no command sbatch on this machine")
        (self.folder / "out/rod").mkdir(parents=True)
        (self.folder / "out/rod/time.end=4").mkdir()
        (self.folder / "out/rod/time.end=4/history.csv").mkdir()
        result = self.isotherm("sweep", "config.yaml", "--vary", "time.end=4,5")
        self.assertNotEqual(result.code, 0)
        self.assert_says(result, "time.end=4/run.log")
        self.assertEqual([row["time.end"] for row in self.table()], ["5"])


if __name__ == "__main__":
    unittest.main()
