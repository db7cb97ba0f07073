"""Packages and containers, as far as they can be checked without Spack, Apptainer and Podman: the
Spack recipe with a model of Spack, and every list against what it must agree with."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SPACK = ROOT / "jobscripts/spack"
CONTAINERS = ROOT / "jobscripts/containers"
RECIPE = SPACK / "spack_repo/isotherm/packages/isotherm/package.py"
LINT = ROOT / "build/venv-lint/bin"
MACHINES = ("frontier", "lumi")
# of Spack's own packages, by what CMake asks for
SPACK_NAMES = {"MPI": "mpi", "HDF5": "hdf5", "yaml-0.1": "libyaml", "muparser": "muparser",
               "libxxhash": "xxhash", "hwloc": "hwloc", "cairo-png": "cairo", "cairo-svg": "cairo",
               "udunits": "udunits", "udunits2": "udunits", "libtiff-4": "libtiff",
               "niftiio": "nifticlib", "znz": "nifticlib",
               "PkgConfig": "pkgconfig"}
OF_THE_COMPILER = {"OpenMP", "Threads"}
FOR_TESTS = {"cmocka"}


def version():
    return re.search(r"project\(isotherm VERSION ([\d.]+)",
                     (ROOT / "CMakeLists.txt").read_text()).group(1)


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=100, **options)
    return done.returncode, done.stdout + done.stderr


class Recipe:
    """package.py, executed with functions that note their arguments."""

    def __init__(self):
        self.variants, self.depends, self.versions = set(), {}, {}
        self.other = []
        spack = types.ModuleType("spack.package")
        spack.variant = lambda name, **how: self.variants.add(name)
        spack.version = lambda name, **how: self.versions.update({name: how})
        spack.depends_on = self.depends_on
        for name in ("conflicts", "license", "generator"):
            setattr(spack, name, lambda *words, **how: self.other.append(words))
        systems = {"cmake": "CMakePackage", "cuda": "CudaPackage", "rocm": "ROCmPackage"}
        base = "spack_repo.builtin.build_systems"
        modules = {name: types.ModuleType(name)
                   for name in ("spack", "spack_repo", "spack_repo.builtin", base)}
        modules["spack.package"] = spack
        for name, kind in systems.items():
            modules[f"{base}.{name}"] = types.ModuleType(name)
            setattr(modules[f"{base}.{name}"], kind, type(kind, (), {
                "define": staticmethod(lambda key, value: f"-D{key}={value}"),
                "define_from_variant":
                    lambda self, key, name: f"-D{key}={self.spec.variants[name]}"}))
        with self.replaced(modules):
            names = {"__file__": str(RECIPE), "__name__": "package"}
            exec(compile(RECIPE.read_text(), RECIPE, "exec"), names)  # pylint: disable=exec-used
        self.type = names["Isotherm"]
        # of the classes that it is derived from
        self.variants |= {"cuda", "cuda_arch", "rocm", "amdgpu_target", "build_type"}

    def depends_on(self, spec, **how):
        self.depends.setdefault(re.match(r"[\w-]+", spec).group(), []).append((spec, how))

    @staticmethod
    @contextlib.contextmanager
    def replaced(modules):
        old = {name: sys.modules.get(name) for name in modules}
        sys.modules.update(modules)
        try:
            yield
        finally:
            for name, module in old.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module

    def arguments(self, *on, **variants):
        """What it passes to CMake when these variants are on."""
        package = self.type()
        clang = types.SimpleNamespace(join=lambda name: f"/llvm/bin/{name}")
        llvm = types.SimpleNamespace(prefix=types.SimpleNamespace(bin=clang))
        package.spec = type("Spec", (), {
            "__contains__": lambda _, what: what in on, "__getitem__": lambda _, name: llvm,
            "variants": {"pictures": True, "units": True, "tiff": True, "nifti": True,
                         **variants}})()
        return package.cmake_args()


class Spack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recipe = Recipe()

    def test_repository(self):
        """Spack finds a repository by its path, spack_repo/NAMESPACE."""
        repo = yaml.safe_load((SPACK / "spack_repo/isotherm/repo.yaml").read_text())["repo"]
        self.assertEqual((repo["namespace"], repo["api"]), ("isotherm", "v2.0"))
        self.assertEqual(Path(self.recipe.type.git), ROOT)
        self.assertEqual(self.recipe.versions[version()], {"tag": f"v{version()}"})

    def test_dependencies_are_those_of_cmake(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        wanted = set(re.findall(r"find_package\((\w+)", text))
        wanted |= set(re.findall(r"find_library\(\w+ (\w+)\)", text))
        for call in re.findall(r"pkg_check_modules\(\w+ ([^)]*)\)", text):
            wanted |= {word for word in call.split() if not word.isupper()}
        wanted -= OF_THE_COMPILER | FOR_TESTS
        self.assertLessEqual(wanted, set(SPACK_NAMES), "no Spack package known for them")
        names = {SPACK_NAMES[name] for name in wanted}
        self.assertEqual(set(self.recipe.depends) - {"c", "cxx", "cmake", "help2man"}, names)
        needed = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", text).group(1)
        self.assertEqual(self.recipe.depends["cmake"][0][0], f"cmake@{needed}:")

    def test_cmake_knows_its_options(self):
        text = "".join(path.read_text() for path in (
            ROOT / "CMakeLists.txt", ROOT / "cmake/hip.cmake", ROOT / "src/app/CMakeLists.txt"))
        known = set(re.findall(r"(?:option|set)\((\w+)", text))
        for on, variants in (((), {}), (("+rocm",), {"amdgpu_target": "gfx90a"}),
                             (("+cuda",), {"cuda_arch": "90"})):
            for argument in self.recipe.arguments(*on, **variants):
                name = re.match(r"-D(\w+)=", argument).group(1)
                self.assertIn(name, known, argument)
        self.assertIn("-DISOTHERM_HIP=amd", self.recipe.arguments("+rocm", amdgpu_target="x"))
        self.assertIn("-DISOTHERM_HIP=off", self.recipe.arguments())

    def test_environments(self):
        for machine in MACHINES:
            file = SPACK / machine / "spack.yaml"
            text = file.read_text()
            self.assertIn("NOT TRIED ON", text)
            spack = yaml.safe_load(text)["spack"]
            self.assertEqual((file.parent / spack["repos"]["isotherm"]).resolve(),
                             RECIPE.parents[2])
            develop = spack["develop"]["isotherm"]
            self.assertEqual((file.parent / develop["path"]).resolve(), ROOT)
            for spec in (*spack["specs"], develop["spec"]):
                name, _, rest = re.match(r"(\w+)@=?([\w.]+)(.*)", spec).groups()
                self.assertEqual(name, "isotherm")
                used = set(re.findall(r"[+~](\w+)", rest)) | set(re.findall(r"(\w+)=\w", rest))
                self.assertLessEqual(used - {"c", "cxx"}, self.recipe.variants, spec)
            # what is built must not be declared external, and the other way round
            for name, how in spack["packages"].items():
                if "externals" in how:
                    self.assertFalse(how["buildable"], name)

    def test_environments_have_the_modules_of_the_machine(self):
        modules = {"cray-mpich": "cray-mpich", "hdf5": "cray-hdf5-parallel", "hip": "rocm",
                   "hsa-rocr-dev": "rocm", "llvm-amdgpu": "rocm"}
        for machine in MACHINES:
            loaded = dict(re.findall(r"([\w-]+)/([\d.]+)",
                                     (ROOT / f"jobscripts/env_{machine}.sh").read_text()))
            spack = yaml.safe_load((SPACK / machine / "spack.yaml").read_text())["spack"]
            for name, module in modules.items():
                external = spack["packages"][name]["externals"][0]
                self.assertTrue(external["spec"].startswith(f"{name}@{loaded[module]}"), external)
                for entry in external.get("modules", []):
                    self.assertEqual(entry, f"{module}/{loaded[module]}")
            self.assertIn(f"cce@{loaded['cce']}", spack["specs"][0])


class Containers(unittest.TestCase):
    def setUp(self):
        self.file = (CONTAINERS / "Containerfile").read_text()
        self.definition = (CONTAINERS / "isotherm.def").read_text()

    def copied(self):
        """What each of the two brings into the image, except the scripts that a build needs not."""
        first = {word for line in re.findall(r"(?m)^COPY (.*) \S+$", self.file)
                 for word in line.split()}
        section = re.search(r"(?ms)^%files\n(.*?)^%", self.definition).group(1)
        return first, {line.split()[0] for line in section.splitlines() if line.strip()}

    def test_both_copy_what_the_build_needs(self):
        first, second = self.copied()
        self.assertEqual(first, second)
        for name in first:
            self.assertTrue((ROOT / name).exists(), name)
        with tempfile.TemporaryDirectory(prefix="isotherm_test_") as folder:
            for name in first:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, Path(folder) / name)
            # the commands of the image, up to the compiler
            code, said = run("cmake", "--preset", "cpu", "-DISOTHERM_CPU_ARCH=",
                             "-DISOTHERM_TESTS=OFF", cwd=folder)
            self.assertEqual(code, 0, said)
            facts = Path(folder) / "build/cpu/generated/app/build.h"
            self.assertNotRegex(facts.read_text(), "-march")
            # a variant of the Spack package
            code, said = run("cmake", "--preset", "cpu", "-DISOTHERM_CAIRO=OFF",
                             "-DISOTHERM_UDUNITS=OFF", cwd=folder)
            self.assertEqual(code, 0, said)
            for name in ("Cairo", "UDUNITS"):
                self.assertIn(f'{{"{name}", "not built in"}}', facts.read_text())

    def test_packages_are_listed_once(self):
        for text in (self.file, self.definition):
            self.assertIn("bash jobscripts/setup.sh run", text)
            self.assertNotIn("apt-get", text)

    def test_both_build_alike(self):
        steps = [re.findall(r"cmake --\w[^\n&]*", text) for text in (self.file, self.definition)]
        steps = [[re.sub(r'="[^"]*"', "=X", step).rstrip(" \\") for step in own] for own in steps]
        self.assertEqual(*steps)
        self.assertEqual(len(steps[0]), 3)

    def test_settings_of_env_local(self):
        """Those of env_local.sh; %environment and ENV cannot source it."""
        local = (ROOT / "jobscripts/env_local.sh").read_text()
        settings = set(re.findall(r"\b(OMP\w*=\w+)", local))
        self.assertEqual(set(re.findall(r"\b(OMP\w*=\w+)", self.file)), settings)
        # Apptainer runs as the user
        self.assertEqual(set(re.findall(r"\b(OMP\w*=\w+)", self.definition)),
                         {text for text in settings if "ROOT" not in text})

    def test_env_of_a_copied_tree(self):
        """env.sh leads to the program of its own folder, not of the one that it was written for."""
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "a copy"
            (tree / "jobscripts").mkdir(parents=True)
            (tree / "jobscripts/env_local.sh").write_text("echo own\n")
            script = f". '{ROOT}/jobscripts/setup.sh'; write_environment '{tree}/env.sh'"
            self.assertEqual(run("bash", "-c", script), (0, ""))
            self.assertEqual(run("bash", "-c", f". '{tree}/env.sh'"), (0, "own\n"))
            self.assertEqual(run("bash", "-c", ". ./env.sh", cwd=tree), (0, "own\n"))

    def test_shell(self):
        for section in ("post", "environment", "runscript", "test"):
            text = re.search(rf"(?ms)^%{section}\n(.*?)(?=^%|\Z)", self.definition).group(1)
            self.assertEqual(run("bash", "-n", "-c", text), (0, ""), section)
        for command in re.findall(r"(?m)^RUN ((?:.*\\\n)*.*)", self.file):
            self.assertEqual(run("sh", "-n", "-c", command), (0, ""), command)

    def test_containerfile(self):
        lint = shutil.which("hadolint", path=f"{LINT}:{os.environ['PATH']}")
        if lint is None:
            self.skipTest("no hadolint")
        self.assertEqual(run(lint, CONTAINERS / "Containerfile"), (0, ""))


class Citation(unittest.TestCase):
    def test_keys(self):
        cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        for key in ("cff-version", "message", "title", "authors"):
            self.assertTrue(cff[key], key)
        self.assertEqual(cff["version"], version())
        self.assertEqual([author["name"] for author in cff["authors"]],
                         ["The Isotherm developers"])
        self.assertTrue((ROOT / "LICENSE").read_text().startswith(cff["license"]))

    def test_schema(self):
        tool = shutil.which("cffconvert", path=f"{LINT}:{os.environ['PATH']}")
        if tool is None:
            self.skipTest("no cffconvert")
        code, said = run(tool, "--validate", "-i", ROOT / "CITATION.cff")
        self.assertEqual(code, 0, said)

    def test_release_notes(self):
        self.assertRegex((ROOT / "CHANGELOG.md").read_text(), rf"(?m)^## {version()}\b")


if __name__ == "__main__":
    unittest.main()
