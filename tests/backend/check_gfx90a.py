"""What the compiled gfx90a kernels need: no scratch, no spilled vector registers, the occupancy
that they are written for, and 16-byte loads in the step kernel.

usage: check_gfx90a.py OBJECT...   (the objects of kernels/hip/*.hip.cpp of a Release build)
Prints the table of docs/records/hip.md.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TARGET = "hipv4-amdgcn-amd-amdhsa--gfx90a"
REGISTERS, GRANULE, MOST_WAVES = 512, 8, 8  # of a SIMD of gfx90a, for 64 lanes

# name: least waves a SIMD, as the kernel's comment claims; "of media": of classes and enthalpies,
# where shared memory leaves steps_tile no more; "of high order": with a wider stencil; "of
# levels": whose steps differ in length; "of stored conductances": of which a compute unit has one
# block at once; "of a correction": one of many steps. To smooth_tile shared memory leaves two.
# step_march is the production kernel there,
# laplacian_* are those of docs/developers/laplacian_study.md.
LEAST_WAVES = {"step_march": 6, "laplacian_baseline": 8, "laplacian_tiled": 7,
               "laplacian_reordered": 6, "laplacian_bounded": 5, "laplacian_streaming": 8,
               "laplacian_deep_blocks": 8, "laplacian_yzx": 8, "steps_rows": 2,
               "steps_rows of levels": 2, "steps_tile": 5, "steps_sums": 3,
               "step_march of media": 4, "steps_tile of media": 2, "steps_tile of levels": 5,
               "step_march of high order": 3, "step_march of stored conductances": 3,
               "step_march of a correction": 6, "step_awake": 3,
               "summarise of media": 2, "sum_faces": 3,
               "step_awake of media": 3, "step_awake of high order": 2,
               "correct_columns": 3, "smooth_tile": 3}
LEAST_WAVES_ELSE = 4
# Scalar registers that move to lanes of a vector register, not to memory: of step_march only in the
# variant that sums up closed faces, outside of its loop; of steps_rows, steps_tile and steps_sums
# those of all levels; of step_odd the numbers of the medium; of visit_box, track_cells, add_source,
# sum_faces, sum_surfaces_of_pass, correct_columns, summarise_tiles and step_awake the
# arguments.
SCALAR_SPILLS = {"steps_rows": 140, "steps_rows of levels": 200, "steps_tile": 70,
                 "steps_tile of media": 340, "steps_tile of levels": 130,
                 "steps_sums": 600, "compare_cells": 40, "compare_cells of media": 94,
                 "step_odd": 124, "step_cell of media": 78, "summarise of media": 12,
                 "step_cell of high order": 60, "step_march": 40, "step_march of a correction": 40,
                 "step_march of media": 104, "step_march of stored conductances": 144,
                 "step_march of high order": 14,
                 "visit_box": 4, "visit_box of media": 94,
                 "visit_box of coarse grids": 40,
                 "add_source": 56, "track_cells": 30, "sum_faces": 104,
                 "sum_surfaces_of_pass": 108,
                 "correct_columns": 32,
                 "step_awake": 220, "summarise_tiles": 50,
                 "step_awake of media": 205, "step_awake of high order": 270}
KINDS = ((r"step_march<.*(faces|graded)<", "stored conductances"),
         (r"classes<|enthalpy<|faces<|graded<|summarise<\w+, true", "media"),
         ("wide_stencil<", "high order"),
         ("coarsen_body|gather_up_body", "coarse grids"),
         ("true, true, uniform<", "a correction"), (r"uniform<\w+, ([2-4]), \1, 1>", "levels"))
WIDE_LOADS = {"step_march": 4}


def tool(name):
    for candidate in (f"{name}-15", f"{name}-16", f"{name}-17", name, f"/opt/rocm/llvm/bin/{name}"):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"{name} is not here: install llvm-15 and clang-15")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def code_object(path, folder):
    """None where a source has no kernel for this chip."""
    bundle, code = folder / "bundle", folder / "code"
    if ".hip_fatbin" not in run(tool("llvm-readelf"), "--sections", str(path)):
        return None
    run(tool("llvm-objcopy"), f"--dump-section=.hip_fatbin={bundle}", str(path), "/dev/null")
    run(tool("clang-offload-bundler"), "--unbundle", "--type=o", f"--input={bundle}",
        f"--output={code}", f"--targets={TARGET}")
    return code


def name_of(mangled):
    """The name of the kernel, and what is shown."""
    length, rest = re.match(r"_ZL?(\d+)(.*)", mangled).groups()
    return rest[:int(length)], run("c++filt", mangled).strip().split("(")[0].replace("void ", "")


def kernels_of(code):
    """One dict of numbers a kernel, with its mangled name."""
    notes = run(tool("llvm-readelf"), "--notes", str(code))
    for part in notes.split(".agpr_count:")[1:]:
        name = re.search(r"\.name: +(_Z\S+)", part)
        if name:
            numbers = {key: int(value) for key, value in re.findall(r"\.(\w+): +(\d+)\s", part)}
            yield name.group(1), numbers


def wide_loads(code, mangled):
    listing = run(tool("llvm-objdump"), "-d", f"--disassemble-symbols={mangled}", str(code))
    return listing.count("global_load_dwordx4")


def waves(numbers):
    used = -(-max(numbers["vgpr_count"], 1) // GRANULE) * GRANULE
    return min(MOST_WAVES, REGISTERS // used)


def complaints(base, numbers, loads):
    if numbers["private_segment_fixed_size"] > 0:
        yield f"{numbers['private_segment_fixed_size']} bytes of scratch"
    if numbers["vgpr_spill_count"] > 0:
        yield f"{numbers['vgpr_spill_count']} vector registers spilled"
    if numbers["sgpr_spill_count"] > SCALAR_SPILLS.get(base, 0):
        yield f"{numbers['sgpr_spill_count']} scalar registers spilled"
    if waves(numbers) < LEAST_WAVES.get(base, LEAST_WAVES_ELSE):
        yield f"only {waves(numbers)} waves a SIMD"
    if loads < WIDE_LOADS.get(base, 0):
        yield f"only {loads} loads of 16 bytes"


def main(objects):
    failed = False
    seen = set()
    print("| kernel | VGPRs | SGPRs (spilled) | LDS | scratch | waves a SIMD | 16-byte loads |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(objects):
        with tempfile.TemporaryDirectory() as name:
            code = code_object(path, pathlib.Path(name))
            for mangled, numbers in kernels_of(code) if code else ():
                base, shown = name_of(mangled)
                for kinds, kind in KINDS:
                    of_kind = f"{base} of {kind}"
                    if re.search(kinds, shown) and (
                            of_kind in LEAST_WAVES or of_kind in SCALAR_SPILLS):
                        base = of_kind
                        break
                seen.add(base)
                loads = wide_loads(code, mangled)
                print(f"| `{shown}` | {numbers['vgpr_count']} | {numbers['sgpr_count']} "
                      f"({numbers['sgpr_spill_count']}) | {numbers['group_segment_fixed_size']} | "
                      f"{numbers['private_segment_fixed_size']} | {waves(numbers)} | {loads} |")
                for complaint in complaints(base, numbers, loads):
                    print(f"{shown}: {complaint}", file=sys.stderr)
                    failed = True
    for base in set(LEAST_WAVES) - seen:
        print(f"{base}: not found", file=sys.stderr)
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
