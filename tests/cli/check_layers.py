"""Who may include whom: base <- config, kernels <- model <- halo, io <- app; and which foreign
header or preprocessor conditional belongs where.

usage: check_layers.py SOURCE_FOLDER
"""
import pathlib
import re
import sys

from source_tree import LAYER_FOLDERS, c_files, without_comments

MAY_INCLUDE = {
    "base": {"base"},
    "config": {"base", "config"},
    "kernels": {"base", "kernels"},
    "model": {"base", "config", "kernels", "model"},
    "halo": {"base", "config", "kernels", "model", "halo"},
    "io": {"base", "config", "kernels", "model", "io"},
    **{layer: set(LAYER_FOLDERS)
       for layer in ("machine", "solve", "output", "bench", "doctor", "app")},
}

# (header, the only folders for it, or those without it)
ONLY_IN = [(r"(hdf5|H5\w+)\.h", ("io", "tests/io")),
           (r"(hip|cuda)\w*[./].*", ("kernels/hip",)),
           (r"png\.h", ("io", "tests/io")),
           (r"hwloc\.h", ("src/machine", "src/app")),
           (r"(yaml|muParserDLL)\.h", ("src/config",))]
NOT_IN = [(r"mpi\.h", ("kernels",))]

# Preprocessor choices live here; elsewhere a table of functions chooses.
MAY_CHOOSE = re.compile(r"kernels/(backend\.c|cpu/|hip/)|halo/transport_|src/base/precision\.h")


def layer_of(path):
    for layer, folder in LAYER_FOLDERS.items():
        if path.startswith(folder + "/"):
            return layer
    return None


def check_include(path, name, quoted, root):
    layer = layer_of(path)
    for header, folders in ONLY_IN:
        if re.fullmatch(header, name) and not path.startswith(tuple(f + "/" for f in folders)):
            yield f"<{name}> belongs in {' or '.join(folders)}"
    for header, folders in NOT_IN:
        if re.fullmatch(header, name) and path.startswith(tuple(f + "/" for f in folders)):
            yield f"<{name}> does not belong in {' or '.join(folders)}"
    if not quoted:
        return
    beside = pathlib.PurePosixPath(path).parent / name
    if (root / beside).is_file():
        target = str(beside)
    else:
        # the include path; CMake makes some headers from a file of that name with .in
        candidates = [folder + name for folder in ("src/", "", "kernels/hip/nvidia/")]
        target = next((t for t in candidates
                       if (root / t).is_file() or (root / (t + ".in")).is_file()), None)
    if target is None:
        yield f'"{name}" is no file of ours; write <{name}>'
    elif layer is not None and layer_of(target) not in MAY_INCLUDE[layer]:
        yield f'{layer} must not include "{name}"'


def check_conditionals(path, lines):
    if MAY_CHOOSE.match(path):
        return
    directives = [(n, line.strip()) for n, line in enumerate(lines, 1) if
                  line.lstrip().startswith("#")]
    for at, (n, line) in enumerate(directives):
        found = re.match(r"#\s*(ifn?def|if|elif)\b\s*(.*)", line)
        if not found or "__cplusplus" in line:
            continue
        following = directives[at + 1][1] if at + 1 < len(directives) else ""
        # a guard, or the default of a macro that may be given
        name = found.group(2).strip()
        if found.group(1) == "ifndef" and re.match(rf"#\s*define\s+{re.escape(name)}\b", following):
            continue
        yield n, f"conditional '{line}': choose in a table of functions, not with #if"


def main():
    root = pathlib.Path(sys.argv[1])
    complaints = []
    count = 0
    for file in c_files(root):
        path = file.relative_to(root).as_posix()
        lines = without_comments(file.read_text()).splitlines()
        count += 1
        for n, line in enumerate(lines, 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if found:
                complaints += [f"{path}:{n}: {text}" for text in
                               check_include(path, found.group(2), found.group(1) == '"', root)]
        if layer_of(path) is not None:
            complaints += [f"{path}:{n}: {text}" for n, text in check_conditionals(path, lines)]
    print("\n".join(complaints + [f"{count} files, {len(complaints)} complaints"]))
    sys.exit(1 if complaints else 0)


main()
