"""Includes go in one direction, folder by folder, and in no circle; which foreign header and which
preprocessor choice belongs where.

usage: check_layers.py SOURCE_FOLDER [--at-most N]
--at-most: pass with up to N complaints, while a tree is brought into this order.
"""
import argparse
import collections
import pathlib
import re
import sys

from source_tree import PRODUCT_FOLDERS, c_files, without_comments

# where an include is looked for; CMake makes some headers from a file of that name with .in
INCLUDE_PATH = ("src/", "", "kernels/hip/nvidia/")

# ---- the direction -------------------------------------------------------------------------------
# Sets of what may be included, each with what is below it.

BASE = {"src/base"}
CONFIG = BASE | {"src/config"}
KERNELS = BASE | {"kernels"}
MODEL = CONFIG | KERNELS | {"src/model"}
BACKENDS = {"kernels/backends"}
EVERY_BACKEND = {"kernels/cpu", "kernels/hip"}
HALO = MODEL | BACKENDS | {"halo"}
FILES = MODEL | {"io/hdf5", "io/raw"}
IO = FILES | {"io/input", "io/checkpoint", "io/snapshot", "io/series", "io/picture", "io/compare"}
MACHINE = HALO | {"src/machine"}
SOLVE = MACHINE | IO | {"src/solve"}
OUTPUT = SOLVE | {"src/output"}

# A folder, or one module of it (a header with its source file), and what it may include beside
# itself. The longest name that fits a file is its layer.
MAY_INCLUDE = {
    "src/base": BASE,
    "src/config": CONFIG,
    "kernels": KERNELS,
    "kernels/cpu": KERNELS,
    "kernels/hip": KERNELS,
    "kernels/backends": KERNELS | EVERY_BACKEND,  # the table
    "src/model": MODEL,
    "halo": HALO,
    "io/hdf5": MODEL,
    "io/raw": MODEL | {"io/hdf5"},
    "io/input": FILES,
    "io/checkpoint": FILES,
    "io/snapshot": FILES,
    "io/series": FILES,
    "io/picture": FILES,
    "io/compare": FILES | {"io/checkpoint", "io/snapshot"},
    "src/machine": MACHINE,
    "src/solve": SOLVE,
    "src/output": OUTPUT,
    "src/bench": SOLVE,
    "src/doctor": HALO | IO | MACHINE,
    "src/plot": IO,
    "src/app": OUTPUT,
    # the table of commands
    "src/app/main": OUTPUT | {"src/app", "src/bench", "src/doctor", "src/plot"},
}

# ---- foreign headers and preprocessor choices ----------------------------------------------------

# (header, the only folders for it, or those without it)
ONLY_IN = [(r"(hdf5|H5\w+)\.h", ("io", "tests/io")),
           (r"(hip|cuda)\w*[./].*", ("kernels/hip", "tests/hip_on_host")),
           (r"(png|cairo\S*)\.h", ("io/picture", "tests/io")),
           (r"(tiff|nifti)\w*\.h", ("io/input",)),
           (r"hwloc\.h", ("src/machine",)),
           (r"(yaml|libfyaml|muParserDLL|udunits2)\.h", ("src/config",))]
NOT_IN = [(r"mpi\.h", ("kernels",))]

# Preprocessor choices live here; elsewhere a table of functions chooses.
MAY_CHOOSE = re.compile(r"kernels/backends?\.c|kernels/hip/device/arch\.h|"
                        r"kernels/cpu/schedule/(stream|real)\.h|"
                        r"halo/transport_\w+\.c|src/base/precision\.h")
# What arch.h and stream.h found out may be asked for beside them.
MAY_ASK = {"kernels/hip": r"#\s*(if|elif) !?ARCH_HAS_\w+",
           "kernels/cpu": r"#\s*(if|elif) !?STREAM_HAS_\w+",
           "src/base": r"#ifdef __clang__"}  # the word for "check this"

# ---- the tree ------------------------------------------------------------------------------------

Include = collections.namedtuple("Include", "path line name quoted target")


def module_of(path):
    """A header and the source file of the same name are one module."""
    return re.sub(r"(\.hip\.cpp|\.h\.in|\.\w+)$", "", path)


def layer_of(path):
    """None for tests, which may include everything."""
    fits = [layer for layer in MAY_INCLUDE
            if path.startswith(layer + "/") or module_of(path) == layer]
    return max(fits, key=len, default=None)


def resolve(root, path, name, quoted):
    """The file that an include names, if it is one of ours."""
    beside = pathlib.PurePosixPath(path).parent / name
    if quoted and (root / beside).is_file():
        return str(beside)
    for folder in INCLUDE_PATH if quoted else INCLUDE_PATH[:2]:
        for target in (folder + name, folder + name + ".in"):
            if (root / target).is_file():
                return target
    return None


def read_includes(root, path, lines):
    for n, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            name, quoted = found.group(2), found.group(1) == '"'
            yield Include(path, n, name, quoted, resolve(root, path, name, quoted))


def below(path, folders):
    return path.startswith(tuple(folder + "/" for folder in folders))


def check_include(include):
    for header, folders in ONLY_IN:
        if re.fullmatch(header, include.name) and not below(include.path, folders):
            yield f"<{include.name}> belongs in {' or '.join(folders)}"
    for header, folders in NOT_IN:
        if re.fullmatch(header, include.name) and below(include.path, folders):
            yield f"<{include.name}> does not belong in {' or '.join(folders)}"
    if include.target is None:
        if include.quoted:
            yield f'"{include.name}" is not a file of this project; write <{include.name}>'
        return
    if not include.quoted:
        yield f'write "{include.name}": it is a file of this project'
    layer, other = layer_of(include.path), layer_of(include.target)
    if layer is not None and other != layer and other not in MAY_INCLUDE[layer]:
        yield f'{layer} must not include "{include.target}" ({other or "no layer"})'


def check_conditionals(path, lines):
    if MAY_CHOOSE.fullmatch(path):
        return
    ask = next((ask for folder, ask in MAY_ASK.items() if below(path, (folder,))), None)
    directives = [(n, line.strip()) for n, line in enumerate(lines, 1) if
                  line.lstrip().startswith("#")]
    for at, (n, line) in enumerate(directives):
        found = re.match(r"#\s*(ifn?def|if|elif)\b\s*(.*)", line)
        if not found or "__cplusplus" in line or (ask and re.fullmatch(ask, line)):
            continue
        following = directives[at + 1][1] if at + 1 < len(directives) else ""
        # a guard, or the default of a macro that may be given
        name = found.group(2).strip()
        if found.group(1) == "ifndef" and re.match(rf"#\s*define\s+{re.escape(name)}\b", following):
            continue
        yield n, f"conditional '{line}': choose in a table of functions, not with #if"


# ---- circles -------------------------------------------------------------------------------------

def module_graph(includes):
    """{module: {included module: the first include of it}}"""
    graph = collections.defaultdict(dict)
    for include in includes:
        if include.target is None or not below(include.path, PRODUCT_FOLDERS):
            continue
        a, b = module_of(include.path), module_of(include.target)
        if a != b:
            graph[a].setdefault(b, include)
            graph[b]  # known, even if it includes nothing
    return graph


def path_between(graph, start, end):
    """The shortest, [start, ..., end] with at least one include; None without one."""
    queue = collections.deque([[start]])
    seen = set()
    while queue:
        path = queue.popleft()
        for following in sorted(graph[path[-1]]):
            if following == end:
                return [*path, end]
            if following not in seen:
                seen.add(following)
                queue.append([*path, following])
    return None


def circles(graph):
    """Groups of modules that all include each other, directly or not: [(modules, the shortest
    circle among them)]."""
    reached = {}
    for start in graph:
        seen, todo = set(), [start]
        while todo:
            for following in graph[todo.pop()]:
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        reached[start] = seen
    found = []
    left = sorted(module for module in graph if module in reached[module])
    while left:
        group = [module for module in left
                 if module in reached[left[0]] and left[0] in reached[module]]
        found.append((group, min((path_between(graph, module, module) for module in group),
                                 key=len)))
        left = [module for module in left if module not in group]
    return found


def check_circles(includes):
    graph = module_graph(includes)
    for group, circle in circles(graph):
        first = graph[circle[0]][circle[1]]
        yield (f"{first.path}:{first.line}: circle of includes among {len(group)} modules; "
               f"the shortest: {' -> '.join(circle)}")


# ---- all of it -----------------------------------------------------------------------------------

def check_tree(root):
    """(number of files, complaints)"""
    complaints, includes = [], []
    files = c_files(root)
    for file in files:
        path = file.relative_to(root).as_posix()
        lines = without_comments(file.read_text()).splitlines()
        here = list(read_includes(root, path, lines))
        includes += here
        complaints += [f"{path}:{include.line}: {text}"
                       for include in here for text in check_include(include)]
        if below(path, PRODUCT_FOLDERS):
            complaints += [f"{path}:{n}: {text}" for n, text in check_conditionals(path, lines)]
            if layer_of(path) is None:
                complaints.append(f"{path}:1: no layer has this folder; see MAY_INCLUDE in "
                                  "tests/cli/check_layers.py")
    return len(files), complaints + list(check_circles(includes))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--at-most", type=int, default=0)
    arguments = parser.parse_args()
    count, complaints = check_tree(arguments.root)
    print("\n".join(complaints + [f"{count} files, {len(complaints)} complaints"]))
    sys.exit(1 if len(complaints) > arguments.at_most else 0)


if __name__ == "__main__":
    main()
