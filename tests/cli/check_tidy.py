"""clang-tidy over every C file of a compilation database, in parallel. What passed once is not
looked at again until it, a header, the checks or its flags change.

usage: check_tidy.py CLANG_TIDY BUILD_FOLDER SOURCE_FOLDER
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys


def main():
    tidy, build, source = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)

    common = hashlib.sha256((source / ".clang-tidy").read_bytes())
    common.update(subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout)
    for folder in ("src", "kernels", "halo", "io", "tests"):
        for header in sorted((source / folder).rglob("*.h")):
            common.update(header.read_bytes())

    # a file that several tests compile counts once
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        entries.setdefault(entry["file"], entry)

    def check(entry):
        # the analyzer takes two thirds of the time; what it looks for in tests, the sanitizers find
        in_tests = pathlib.Path(entry["file"]).is_relative_to(source / "tests")
        less = ["--checks=-clang-analyzer-*"] if in_tests else []
        key = common.copy()
        key.update(" ".join([entry["command"], *less]).encode())
        key.update(pathlib.Path(entry["file"]).read_bytes())
        stamp = stamps / key.hexdigest()
        if stamp.exists():
            return ""
        done = subprocess.run([tidy, "--quiet", *less, "-p", str(build), entry["file"]],
                              capture_output=True, text=True)
        if done.returncode == 0:
            stamp.touch()
            return ""
        return done.stdout or done.stderr

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        complaints = [text for text in pool.map(check, entries.values()) if text]
    print("".join(complaints), end="")
    print(f"{len(entries)} files, {len(complaints)} with complaints")
    sys.exit(1 if complaints else 0)


main()
