"""check_layers.py finds what is planted in a small tree, and nothing in a clean one."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_layers  # noqa: E402

CLEAN = {
    "src/base/status.h": "#ifndef S\n#define S\n#endif\n",
    "src/base/version.h.in": "",
    "src/base/status.c": '#include "base/status.h"\n#include "base/version.h"\n',
    "src/config/settings.c": '#include "base/status.h"\n#include <yaml.h>\n',
    "kernels/runtime.h": '#include "base/status.h"\n',
    "kernels/backend.h": "",
    "kernels/backends.c": '#include "kernels/cpu/backend_cpu.h"\n#ifdef WITH_HIP\n#endif\n',
    "kernels/cpu/backend_cpu.h": '#include "kernels/runtime.h"\n',
    "kernels/cpu/kind/uniform_rows.h": "#if STREAM_HAS_WIDE\n#endif\n",
    "kernels/hip/step.hip.cpp": '#include <hip/hip_runtime.h>\n#include "device/arch.h"\n',
    "kernels/hip/device/arch.h": "#ifdef __HIP_PLATFORM_AMD__\n#endif\n",
    "src/model/space/grid.h": '#include "kernels/runtime.h"\n',
    "halo/plan.h": '#include "model/space/grid.h"\n',
    "io/hdf5/h5.h": '#include <hdf5.h>\n#include <mpi.h>\n',
    "io/snapshot/snapshot.c": '#include "io/hdf5/h5.h"\n#include "model/space/grid.h"\n',
    "src/machine/machine.c": '#include <hwloc.h>\n',
    "src/solve/state.h": '#include "halo/plan.h"\n#include "io/hdf5/h5.h"\n',
    "src/output/output.h": '#include "solve/state.h"\n',
    "src/bench/bench.h": '#include "solve/state.h"\n',
    "src/doctor/doctor.h": "",
    "src/app/simulate.c": '#include "output/output.h"\n',
    "src/app/main.c": '#include "bench/bench.h"\n#include "doctor/doctor.h"\n',
    "tests/io/test_h5.c": '#include <hdf5.h>\n#include "src/base/status.h"\n',
}


class CheckLayers(unittest.TestCase):
    def complaints(self, planted):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**CLEAN, **planted}.items():
                file = Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_layers.check_tree(Path(folder))[1]

    def expect(self, path, text, *words):
        """One complaint, about that file."""
        found = self.complaints({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(path + ":"), found)
        for word in words:
            self.assertIn(word, found[0])

    def test_clean(self):
        self.assertEqual(self.complaints({}), [])

    def test_directions(self):
        for path, header, layers in (
                ("src/base/log.c", "config/settings.h", "src/config"),
                ("src/config/text.c", "model/space/grid.h", "src/model"),
                ("kernels/layout.c", "kernels/cpu/backend_cpu.h", "kernels/cpu"),
                ("src/model/field/view.c", "kernels/cpu/backend_cpu.h", "kernels/cpu"),
                ("halo/exchange.c", "io/hdf5/h5.h", "io/hdf5"),
                ("io/raw/raw.c", "halo/plan.h", "halo"),
                ("io/hdf5/h5_field.c", "io/raw/raw.h", "io/raw"),
                ("io/snapshot/xdmf.c", "io/checkpoint/checkpoint.h", "io/checkpoint"),
                ("src/solve/engine.c", "output/output.h", "src/output"),
                ("src/machine/team.c", "solve/state.h", "src/solve"),
                ("src/output/writer.c", "app/stop.h", "src/app"),
                ("src/app/command/command_run.c", "bench/bench.h", "src/bench"),
                ("src/bench/bench_io.c", "output/output.h", "src/output"),
                ("src/doctor/pairs.c", "solve/state.h", "src/solve")):
            with self.subTest(path):
                folder = "" if header.startswith(("io/", "halo/", "kernels/")) else "src/"
                planted = {folder + header: CLEAN.get(folder + header, "")}
                planted[path] = f'/* why */ int a;\n#include "{header}"\n'
                found = self.complaints(planted)
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"{path}:2: {check_layers.layer_of(path)} must not include", found[0])
                self.assertIn(f"({layers})", found[0])

    def test_circle(self):
        """Through the source files of two modules; a third way round is longer."""
        found = self.complaints({
            "src/model/a.c": '#include "model/b.h"\n', "src/model/a.h": "",
            "src/model/b.h": "", "src/model/b.c": '#include "model/a.h"\n#include "model/c.h"\n',
            "src/model/c.h": '#include "model/a.h"\n', "src/model/d.h": '#include "model/a.h"\n'})
        self.assertEqual(found, [
            "src/model/a.c:1: circle of includes among 3 modules; the shortest: "
            "src/model/a -> src/model/b -> src/model/a"])

    def test_circle_in_another_folder(self):
        """Where folder by folder the direction is right."""
        found = self.complaints({
            "kernels/hip/x.h": '#include "y.h"\n', "kernels/hip/y.hip.cpp": '#include "x.h"\n',
            "kernels/hip/y.h": ""})
        self.assertEqual(len(found), 1, found)
        self.assertIn("kernels/hip/x -> kernels/hip/y -> kernels/hip/x", found[0])

    def test_commented_out(self):
        self.assertEqual(self.complaints({
            "src/base/box.c":
                '/* #include "model/space/grid.h"\n#if 0 */\n// #include "app/main.h"\n'}),
            [])

    def test_foreign_headers(self):
        for path, header in (("src/output/report.c", "hdf5.h"), ("halo/plan.c", "H5Fpublic.h"),
                             ("kernels/cpu/step.c", "mpi.h"), ("kernels/cpu/step.c", "hip/hip.h"),
                             ("src/solve/engine.c", "cuda_runtime.h"), ("src/app/a.c", "hwloc.h"),
                             ("src/model/formula.c", "muParserDLL.h"),
                             ("io/snapshot/xdmf.c", "cairo/cairo.h"),
                             ("io/raw/raw.c", "udunits2.h"),
                             ("src/model/formula.c", "libfyaml.h"), ("src/base/a.c", "png.h")):
            with self.subTest(path, header=header):
                self.expect(path, f"#include <{header}>\n", f"<{header}>", "belong")

    def test_names_of_our_files(self):
        self.expect("src/base/log.c", '#include "stdio.h"\n', "write <stdio.h>")
        self.expect("src/base/log.c", "#include <base/status.h>\n", 'write "base/status.h"')

    def test_choices(self):
        self.expect("src/base/log.c", "#ifdef __linux__\n#endif\n", "choose in a table")
        self.expect("kernels/hip/launch.h", "#if defined(__CUDACC__)\n#endif\n", "choose")
        self.expect("src/base/log.c", "#if STREAM_HAS_WIDE\n#endif\n", "choose")

    def test_new_folder(self):
        self.expect("src/misc/misc.c", "", "no layer")
        self.expect("io/misc.c", "", "no layer")


if __name__ == "__main__":
    unittest.main()
