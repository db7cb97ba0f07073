"""Write wrappers for all functions of MPI that return an error code: faults.c says what they do.

usage: make_faults.py OUTPUT COMPILER [ARGUMENTS...]      (mpi.h is what the compiler makes of it)
"""
import re
import subprocess
import sys

# What reports a failure, ends the program, or may be asked at any time must work; MPI_Pcontrol
# takes any number of arguments.
SPARED = {"MPI_Abort", "MPI_Error_class", "MPI_Error_string", "MPI_Finalized", "MPI_Initialized",
          "MPI_Pcontrol"}


def argument_name(text):
    """The last word before any brackets: `const int counts[]`, `void *buffer`."""
    return re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", text.strip()).group(1)


def wrapper(name, arguments):
    names = [] if arguments.strip() == "void" else [
        argument_name(text) for text in arguments.split(",")]
    return (f"int {name}({arguments})\n{{\n"
            f'    const int code = fault_of_call("{name}", __builtin_return_address(0));\n'
            f"    return code != MPI_SUCCESS ? code : P{name}({', '.join(names)});\n}}\n")


def main():
    output, compiler = sys.argv[1], sys.argv[2:]
    done = subprocess.run([*compiler, "-E", "-P", "-"], input="#include <mpi.h>\n", text=True,
                          capture_output=True, check=True)
    text = " ".join(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", done.stdout).split())
    found = re.findall(r"\bint (MPI_[A-Z]\w*) ?\(([^()]*)\) ?;", text)
    wrappers = {name: wrapper(name, " ".join(arguments.split())) for name, arguments in found
                if name not in SPARED}
    with open(output, "w", encoding="utf-8") as stream:
        stream.write("#include <mpi.h>\n#include \"faults.h\"\n\n" +
                     "\n".join(wrappers[name] for name in sorted(wrappers)))


main()
