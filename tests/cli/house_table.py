"""The size of the house: lines and files of each folder, and the modules that most depend on others
or that most others depend on. For developers, before and after a change of the layout.

usage: house_table.py SOURCE_FOLDER
"""
import collections
import pathlib
import sys

import check_layers
from source_tree import PRODUCT_FOLDERS, c_files, without_comments

WORST = 5


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def reached(graph):
    """{a: all that a leads to, over any number of includes}"""
    found = {}
    for start in graph:
        found[start], todo = set(), [start]
        while todo:
            for following in graph.get(todo.pop(), ()):
                if following not in found[start]:
                    found[start].add(following)
                    todo.append(following)
    return found


def print_ranking(title, sets):
    print(f"\n{title}")
    for name, others in sorted(sets.items(), key=lambda item: (-len(item[1]), item[0]))[:WORST]:
        print(f"{len(others):7}  {name}")


def main():
    root = pathlib.Path(sys.argv[1])
    lines, code, count = (collections.Counter() for _ in range(3))
    includes, sources = [], c_files(root, PRODUCT_FOLDERS)
    for file in sources:
        path = file.relative_to(root).as_posix()
        text = file.read_text()
        bare = without_comments(text).splitlines()
        lines[folder_of(path)] += len(text.splitlines())
        code[folder_of(path)] += sum(1 for line in bare if line.strip())
        count[folder_of(path)] += 1
        includes += check_layers.read_includes(root, path, bare)

    print(f"{'lines':>7} {'code':>7} {'files':>6}  folder (.c .h .cpp; code: without comments and "
          "empty lines)")
    for folder in sorted(lines):
        print(f"{lines[folder]:7} {code[folder]:7} {count[folder]:6}  {folder}")
    print(f"{sum(lines.values()):7} {sum(code.values()):7} {len(sources):6}  all")

    included_by, includes_of = collections.defaultdict(set), collections.defaultdict(set)
    for include in includes:
        if include.target is not None:
            included_by[include.target].add(include.path)
            includes_of[include.path].add(include.target)
    graph = check_layers.module_graph(includes)
    print_ranking("files that include a header (fan-in)", included_by)
    print_ranking("files that include a header, directly or through others", reached(included_by))
    print_ranking("headers of ours that a file includes (fan-out)", includes_of)
    print_ranking("headers of ours that a file reads, including nested ones", reached(includes_of))
    print_ranking("modules that a module includes (header and source file together)",
                  {module: set(others) for module, others in graph.items()})
    circles = check_layers.circles(graph)
    print(f"\ncircles of includes between modules: {len(circles)}")
    for group, shortest in sorted(circles, key=lambda item: -len(item[0])):
        print(f"{len(group):7}  {' -> '.join(shortest)}")


main()
