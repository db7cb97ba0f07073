"""Man pages and shell completion of the build folder: complete, valid, and of use in a shell."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = Path(os.environ["ISOTHERM_BINARY"])
SHARE = BINARY.parent / "share"
BASH = SHARE / "bash-completion/completions/isotherm"
ZSH = SHARE / "zsh/site-functions/_isotherm"

# stand for zsh's own, which work only while a line is edited
ZSH_STUBS = r"""
compset() {
    [[ $PREFIX == ${~3}* ]] || return 1
    IPREFIX=${PREFIX%%=*}= PREFIX=${PREFIX#*=}
}
compadd() { local name=${@[-1]}; print -l -- "${(@P)name}" }
_describe() { local name=${@[-1]}; print -l -- "${(@P)name}" }
_files() { print -- "files $*" }
"""


def output(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=60, **options)
    return done.returncode, done.stdout + done.stderr


def commands():
    """As the program lists them, so that none is forgotten."""
    return re.findall(r"^  (\w+) +\S", output(BINARY, "--help")[1], re.M)


def options(*command):
    """Of its help page, with the names that follow each."""
    page = output(BINARY, *command, "--help")[1]
    return dict(re.findall(r"^  (--[\w-]+) *(.*)$", page, re.M))

BENCHMARKS = ["kernels", "halo", "io", "steady"]

@unittest.skipIf(shutil.which("help2man") is None, "no help2man")
class Pages(unittest.TestCase):
    def test_a_page_for_each_command(self):
        pages = {page.name for page in (SHARE / "man/man1").iterdir()}
        names = [*commands(), *(f"bench-{name}" for name in BENCHMARKS)]
        self.assertEqual(pages, {"isotherm.1", *(f"isotherm-{name}.1" for name in names)})

    def check(self, *words):
        if shutil.which(words[0]) is None:
            self.skipTest(f"no {words[0]}")
        for page in sorted((SHARE / "man/man1").iterdir()):
            _, said = output(*words, page)
            # a page names the version instead
            said = [line for line in said.splitlines() if "missing date" not in line]
            self.assertEqual(said, [], page.name)

    def test_groff_accepts_them(self):
        self.check("groff", "-ww", "-man", "-Tutf8", "-z")

    def test_mandoc_accepts_them(self):
        self.check("mandoc", "-T", "lint", "-W", "warning")

    def test_they_say_what_help_says(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        for words in (*([name] for name in commands()), *(["bench", name] for name in BENCHMARKS)):
            name = "-".join(words)
            _, page = output("groff", "-man", "-Tascii", "-P-cbu", "-rLL=200n",
                             SHARE / f"man/man1/isotherm-{name}.1")
            heads = re.findall(r"^[A-Z ]+$", page, re.M)
            self.assertEqual([head for head in heads if head != "NAME"],
                             ["SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"], name)
            examples = output(BINARY, *words, "--help")[1].partition("Examples:\n")[2]
            for example in examples.splitlines():
                self.assertIn(example.strip(), page, "each on a line of its own")
            page = " ".join(page.split())
            self.assertIn(f"isotherm-{name} - ", page)
            for option, text in options(*words).items():
                self.assertIn(option, page)
                self.assertIn(" ".join(text.split()[-3:]), page, f"{name} {option}")
        _, page = output("groff", "-man", "-Tascii", "-P-cbu", "-rLL=200n",
                         SHARE / "man/man1/isotherm.1")
        for name in commands():
            self.assertIn(f"isotherm-{name}(1)", page)
        self.assertRegex(page, r"75 +stopped early: submit again")


class Completion(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="isotherm_test_"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("a.yaml", "b.yml", "c.txt"):
            (self.folder / name).touch()
        (self.folder / "sub").mkdir()

    def bash(self, *words):
        """What Tab offers at the end of these words; bash splits words at '=' for a function."""
        split = [part for word in ("isotherm", *words)
                 for part in (re.split(r"(=)", word) if word else [""])
                 if part or not word or word.endswith("=")]
        quoted = " ".join(f"'{word}'" for word in split)
        code, said = output("bash", "-c", f"""
            set -u
            . '{BASH}'
            COMP_WORDS=({quoted}) COMP_CWORD={len(split) - 1}
            _isotherm
            printf '%s\\n' "${{COMPREPLY[@]}}" """, cwd=self.folder)
        self.assertEqual(code, 0, said)
        return set(said.split())

    def test_bash_syntax(self):
        self.assertEqual(output("bash", "-n", BASH), (0, ""))
        if shutil.which("shellcheck") is not None:
            self.assertEqual(output("shellcheck", "-s", "bash", BASH), (0, ""))
        # the name under which bash calls it
        said = output("bash", "-c", f". '{BASH}'; complete -p isotherm")[1]
        self.assertIn("-F _isotherm isotherm", said)

    def test_bash_commands_and_options(self):
        self.assertEqual(self.bash(""), set(commands()))
        self.assertEqual(self.bash("r"), {"run"})
        self.assertEqual(self.bash("--v"), {"--version"})
        self.assertEqual(self.bash("--version", ""), {"--verbose"})
        for name in commands():
            self.assertEqual(self.bash(name, "--"), set(options(name)), name)
        self.assertEqual(self.bash("bench", ""), set(BENCHMARKS))
        self.assertIn("--tune", self.bash("bench", "kernels", "--t"))
        self.assertEqual(self.bash("bench", "halo", "--t"), set())
        self.assertEqual(self.bash("nonsense", ""), set())

    def test_bash_values(self):
        listed = options("run")["--backend"]
        known = set(re.findall(r"[\w-]+", listed[listed.index("auto"):listed.index(" (")]))
        self.assertEqual(self.bash("run", "--backend", ""), known)
        self.assertEqual(self.bash("run", "--backend=c"), {"cpu"})
        self.assertEqual(self.bash("run", "--restart", "au"), {"auto"})
        self.assertIn("c.txt", self.bash("run", "--restart", ""))
        self.assertEqual(self.bash("run", "--output", ""), {"sub"})
        self.assertEqual(self.bash("bench", "kernels", "--precision", "f"), {"float64", "float32"})
        self.assertEqual(self.bash("plan", "--ranks", ""), set())

    def test_bash_files(self):
        self.assertEqual(self.bash("run", ""), {"a.yaml", "b.yml", "sub/"})
        self.assertEqual(self.bash("run", "--overwrite", "a"), {"a.yaml"})
        self.assertLessEqual({"a.yaml", "c.txt", "sub"}, self.bash("compare", "a.yaml", ""))

    def test_bash_keys(self):
        self.assertEqual(self.bash("run", "--set", "time.s"),
                         {"time.steps=", "time.safety=", "time.scheme=", "time.stages=",
                          "time.steady.temperature=", "time.steady.tolerance=",
                          "time.steady.cycles=", "time.steady.solver="})
        self.assertEqual(self.bash("plan", "--set", "boundary.z_max.a"),
                         {"boundary.z_max.ambient=", "boundary.z_max.ambient_factor.formula=",
                          "boundary.z_max.ambient_factor.path=",
                          "boundary.z_max.ambient_factor.dataset=",
                          "boundary.z_max.ambient_factor.times=",
                          "boundary.z_max.ambient_factor.period="})
        # bash replaces what follows the '='
        self.assertEqual(self.bash("run", "a.yaml", "--set", "run.precision="),
                         {"float64", "float32"})
        self.assertEqual(self.bash("run", "--set=run.precision=float3"), {"float32"})
        self.assertEqual(self.bash("run", "--set", "initial[0].sphere.r"),
                         {"initial[0].sphere.radius="})

    def zsh(self, *words):
        text = " ".join(f"'{word}'" for word in ("isotherm", *words))
        code, said = output("zsh", "-f", "-c", f"""{ZSH_STUBS}
            words=({text}) CURRENT=$#words PREFIX=${{words[-1]}} IPREFIX=
            . '{ZSH}'""")
        self.assertEqual(code, 0, said)
        return said.splitlines()

    def test_zsh(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        self.assertEqual(output("zsh", "-n", ZSH), (0, ""))
        self.assertEqual([line.partition(":")[0] for line in self.zsh("")], commands())
        for name in commands():
            self.assertEqual({line.partition(":")[0] for line in self.zsh(name, "-")},
                             set(options(name)), name)
        self.assertEqual(self.zsh("bench", ""), BENCHMARKS)
        self.assertEqual(self.zsh("run", ""), ["files -g *.y(a|)ml"])
        self.assertIn("cpu", self.zsh("run", "--backend", ""))
        self.assertIn("cpu", self.zsh("run", "--backend="))
        self.assertIn("time.steps", self.zsh("run", "--set", "time.s"))
        self.assertEqual(self.zsh("run", "--set", "run.precision=f"), ["float64", "float32"])
        self.assertEqual(self.zsh("--version", ""), ["--verbose"])


if __name__ == "__main__":
    unittest.main()
