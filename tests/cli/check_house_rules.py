"""The house rules that can be counted: sizes of files, functions and lines, functions that we do
without, who may end the program, and scripts that name no hosts.

usage: check_house_rules.py SOURCE_FOLDER
"""
import pathlib
import re
import sys

from source_tree import PRODUCT_FOLDERS, c_files, files, scripts, without_comments

FILE_LINES = 500
FUNCTION_LINES = 80
COLUMNS = 100

BANNED = {
    "strcpy": "snprintf", "strcat": "snprintf", "sprintf": "snprintf", "vsprintf": "vsnprintf",
    "gets": "fgets", "atoi": "strtol", "atol": "strtol", "atof": "strtod", "strtok": "strtok_r",
    "system": "a library", "alloca": "malloc",
}
ENDS_THE_PROGRAM = ("exit", "_exit", "quick_exit", "abort", "MPI_Abort", "comm_abort")
# the watchdog: when it has to end the program, main hangs; wall_time.c ends a process of its own;
# comm.c: where MPI does not tell a rank's number
MAY_END_THE_PROGRAM = ("src/app/main.c", "src/app/hang_monitor.c", "src/app/stop.c",
                       "src/app/command/wall_time.c", "src/base/comm.c", "src/base/comm.h")
# the second one reads it from files of equal cells
KNOWS_THE_SPACING = ("src/model/space/grid.c", "io/snapshot/snapshot_read.c")


def check_size(lines):
    if len(lines) > FILE_LINES:
        yield FILE_LINES, f"{len(lines)} lines; {FILE_LINES} are enough"
    for n, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield n, f"{len(line)} columns; {COLUMNS} are enough"
        if line.rstrip() != line:
            yield n, "blanks at the end"


def check_functions(lines):
    """The formatter puts the braces of a function, and only those, alone in the first column."""
    start = None
    for n, line in enumerate(lines, 1):
        if line == "{":
            start = n
        elif line == "}" and start is not None:
            if n - start - 1 > FUNCTION_LINES:
                yield start, f"a function of {n - start - 1} lines; {FUNCTION_LINES} are enough"
            start = None


def check_calls(path, lines):
    for n, line in enumerate(lines, 1):
        for name in re.findall(r"(?<![\w.>])(\w+)\s*\(", line):
            if name in BANNED:
                yield n, f"{name}: use {BANNED[name]}"
            may_end = path in MAY_END_THE_PROGRAM or "tests/" in path
            if name in ENDS_THE_PROGRAM and not may_end:
                yield n, f"{name}: only main ends the program; return a status"
            if name == "assert" and path.startswith("tests/"):
                yield n, "assert compiles away: use cmocka's checks"


def check_spacing(path, lines):
    """The cells of an axis may have different widths: grid_width."""
    knows = path in KNOWS_THE_SPACING or not path.startswith(PRODUCT_FOLDERS)
    for n, line in enumerate(lines, 1):
        if not knows and re.search(r"grid(->|\.)spacing\b", line):
            yield n, "spacing of a grid: use grid_width"


def check_hosts(lines):
    """Where packages come from is set on the machine, by those who run it."""
    for n, line in enumerate(lines, 1):
        if re.search(r"\w://\w", line):
            yield n, "a script names no hosts"


def main():
    root = pathlib.Path(sys.argv[1])
    complaints = []

    def report(file, found):
        complaints.extend(f"{file.relative_to(root)}:{n}: {text}" for n, text in found)

    sources = c_files(root)
    for file in sources:
        text = file.read_text()
        report(file, check_size(text.splitlines()))
        report(file, check_functions(text.splitlines()))
        path = file.relative_to(root).as_posix()
        code = without_comments(text, strings=True).splitlines()
        report(file, check_calls(path, code))
        report(file, check_spacing(path, code))
    ours = scripts(root) + files(root, ("tests", "jobscripts"), ".py")
    for file in ours:
        lines = file.read_text().splitlines()
        report(file, check_size(lines))
        report(file, check_hosts(lines))
    print("\n".join(complaints + [f"{len(sources) + len(ours)} files, "
                                  f"{len(complaints)} complaints"]))
    sys.exit(1 if complaints else 0)


main()
