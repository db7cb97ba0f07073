"""The examples in configs/ and docs/guide/your_own_problem.md: all are listed and valid, no key is
without an example, and the page's problem ends where the page says."""
import csv
import re
import unittest
from pathlib import Path

from harness import Case

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
NAMES = sorted(str(path.relative_to(CONFIGS)) for path in CONFIGS.rglob("*.yaml"))


class Examples(Case):
    def test_all_are_in_the_table(self):
        table = (CONFIGS / "README.md").read_text(encoding="utf-8")
        rows = re.findall(r"(?m)^\| \[(.*\.yaml)\]\((.*)\) \| ([123]D) \| (.*) \| \d+ s \|$", table)
        self.assertEqual(sorted(row[0] for row in rows), NAMES)
        for name, link, dimensions, _ in rows:
            self.assertEqual(name, link)
            cells = re.search(r"cells: \[(.*?)\]", (CONFIGS / name).read_text()).group(1)
            self.assertEqual(f"{cells.count(',') + 1}D", dimensions, name)

    def test_all_are_valid(self):
        for name in NAMES:
            with self.subTest(name):
                self.assert_code(self.isotherm("check", CONFIGS / name, "--ranks", 2), 0)

    def test_every_key_has_an_example(self):
        page = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")
        keys = re.findall(r"(?m)^\| `([\w\[\].*]+)` \|", page)
        self.assertGreater(len(keys), 70)
        text = "\n".join(re.sub("#.*", "", (CONFIGS / name).read_text()) for name in NAMES)
        words = set(re.findall(r"(\w+):", text))
        self.assertEqual([key for key in keys if key.split(".")[-1] not in words], [])

    def test_your_own_problem(self):
        page = (ROOT / "docs/guide/your_own_problem.md").read_text(encoding="utf-8")
        config, = re.findall(r"(?s)```yaml\n(.*?)```", page)
        verbs = "init|check|plan|run|plot|sweep"
        commands = re.findall(rf"(?m)^ {{4,6}}isotherm ((?:{verbs}) .*?)(?: {{2,}}#.*)?$", page)
        self.assertEqual(len(commands), 9, commands)
        for command in commands:
            words = [word.strip('"') for word in command.split()]
            self.assert_code(self.isotherm(*words), 0)
            if words[-1] == "wall.yaml" and words[0] == "init":
                (self.folder / "wall.yaml").write_text(config)
        with open(self.folder / "out/wall/probes.csv", newline="", encoding="ascii") as stream:
            last = list(csv.DictReader(stream))[-1]
        said = float(re.search(r"(?s)inner surface ends at .* = ([\d.]+) K", page).group(1))
        self.assertAlmostEqual(float(last["inner_K"]), said, delta=0.3)
        self.assertTrue((self.folder / "out/wall/plots/probes.png").exists())


if __name__ == "__main__":
    unittest.main()
