"""What the compiled sm_90 kernels of several steps need: no registers in local memory in the loop
over planes without faces, which nearly all tiles run. A dozen loads and stores there have cost a
third of the speed, and small changes of the source bring them. And a stack pointer that stays one:
ptxas 13.0 has computed other values in its register, R1, in kernels that use the stack afterwards,
which then access memory anywhere. And no loops over threads around tile copies: it has spilled the
predicates of such a loop, and the copy did not come. The kernels of wider stencils need no local
memory in the loops of tiles without and with faces of x and y: one load has cost a fifth. They and
two steps with conductances per cell are compiled for sm_90 and for sm_90a, where waves hand
registers to others.

usage: check_sm90.py CUOBJDUMP OBJECT...
(the objects of kernels/hip/schedule: deep/staged/steps_*.hip.cpp, deep/classes/steps_*.hip.cpp,
deep/faces/steps_2.hip.cpp, ring/faces.hip.cpp and ring/high_order.hip.cpp)
Prints the tables of docs/records/hip.md.
"""
import re
import subprocess
import sys

LEAST_LOOP = 300       # instructions: waiting loops are shorter
LEAST_ARITHMETIC = 100 # in the loop of a plane
WRITES_R1 = re.compile(r"^(?:@!?U?P\w+ )?(?!ST|BRA|SYNCS|RED)[\w.]+ (?:P\w+, )?R1\b,")
DEEP = re.compile(r"deep_shapeI([df])Li(\d)E.*?Lj(\d+)E")
CLASSES = re.compile(r"classes_shapeI([df])Li(\d)ELi(\d)ELb(\d)E")
WIDE = re.compile(r"of_high_orderI([df])Li(\d)E")
# Accesses of local memory in the loop: with lengths of steps that differ, one load of a value that
# had a register. A pass took 0.7996 and 0.7994 ms at 512^3 on an H200 then, 0.7983 and 0.7969
# before.
LOCAL = {"float64, 4 steps": 1, "float64, 4 steps, step 2 corrects": 1,
         "float64, 4 steps, step 4 corrects": 1,
         "float64, 4 steps, a per step": 2, "float64, 4 steps, step 2 corrects, a per step": 2,
         "float64, 4 steps, step 4 corrects, a per step": 1,
         # of a wave's whole column, read once in a plane
         "float64, 3 steps, classes, 4 planes": 3, "float64, 3 steps, classes, 5 planes": 3,
         "float64, 3 steps, classes, 5 planes of one class each": 2,
         # of runs with a self-check only; what it costs has not been measured
         "float32, 3 steps, bits, classes, 4 planes": 4}


def listing(cuobjdump, path):
    return subprocess.run([cuobjdump, "-sass", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def kernels_of(text):
    """Name, and its instructions as (address, text)."""
    for part in text.split("Function : ")[1:]:
        name = part.split(maxsplit=1)[0]
        yield name, [(int(address, 16), code) for address, code in
                     re.findall(r"^\s+/\*([0-9a-f]{4,6})\*/\s+(.*?);", part, re.M)]


def kernels_by_chip(text):
    """The same, after the chip that the kernel is compiled for."""
    for part in re.split(r"^arch = ", text, flags=re.M)[1:]:
        for name, code in kernels_of(part):
            yield part.split(maxsplit=1)[0], name, code


def count_of(loop, op):
    return sum(re.search(rf"\b{op}\b", text) is not None for text in loop)


def loops_of(code, least=LEAST_LOOP):
    """The instructions of each loop, the shortest first."""
    place = {address: n for n, (address, _) in enumerate(code)}
    loops = []
    for n, (address, text) in enumerate(code):
        jump = re.search(r"\bBRA\b.* 0x([0-9a-f]+)$", text.strip())
        begin = place.get(int(jump.group(1), 16)) if jump else None
        if begin is not None and n - begin > least:
            loops.append([text for _, text in code[begin:n + 1]])
    return sorted(loops, key=len)


def check_wide(cuobjdump, objects):
    """The loops over planes of tiles without and with faces have the same arithmetic, and those of
    planes on faces of z have more."""
    failed = False
    seen = {}
    print("| kernel | instructions of a plane | of one next to faces of x or y | fma and add | "
          "shared loads | local loads, stores |")
    print("|---|---|---|---|---|---|")
    for path in sorted(objects):
        for chip, name, code in kernels_by_chip(listing(cuobjdump, path)):
            shape = WIDE.search(name)
            if not shape:
                continue
            seen[chip] = seen.get(chip, 0) + 1
            storing = [(count_of(loop, "[DF](FMA|ADD)"), loop) for loop in loops_of(code, 200)
                       if count_of(loop, "STG") > 0]
            least = min(n for n, _ in storing if n > LEAST_ARITHMETIC)
            march = [loop for n, loop in storing if n == least]
            precision = "float64" if shape.group(1) == "d" else "float32"
            shown = f"{precision}, order {2 * int(shape.group(2))}, {chip}"
            local = [sum(count_of(loop, op) for loop in march) for op in ("LDL", "STL")]
            print(f"| {shown} | {' | '.join(str(len(loop)) for loop in march)} | {least} | "
                  f"{', '.join(str(count_of(loop, 'LDS')) for loop in march)} | "
                  f"{local[0]}, {local[1]} |")
            if len(march) != 2 or sum(local) > 0:
                print(f"{shown}: {len(march)} loops over planes, not 2, or local memory in them: "
                      f"{local[0]} loads, {local[1]} stores", file=sys.stderr)
                failed = True
    if "sm_90" not in seen or any(number != 6 for number in seen.values()):
        print(f"kernels of wider stencils found: {seen}, not 6 of each chip", file=sys.stderr)
        failed = True
    return failed


def check_faces(cuobjdump, objects):
    """Conductances per cell: no local memory in the loop over planes of the ring, and in two steps
    no loop over the threads that copy a tile; the stack's pointer as above."""
    failed = False
    seen = {"ring_of_faces": 0, "steps_faces": 0}
    for path in sorted(objects):
        for name, code in kernels_of(listing(cuobjdump, path)):
            found = next((word for word in seen if word in name), None)
            if found is None:
                continue
            seen[found] += 1
            least = min((loop for loop in loops_of(code) if count_of(loop, "STG") > 0
                         and count_of(loop, "[DF]FMA") > 0), key=len)
            local = count_of(least, "LDL") + count_of(least, "STL")
            written = sum(WRITES_R1.match(text) is not None for _, text in code)
            copies = sum("BRA.U.ANY" in text for _, text in code)
            print(f"{name}: {len(least)} instructions of a plane, {local} of them local")
            if written > 2 or (local if found == "ring_of_faces" else copies) > 0:
                print(f"{name}: local memory in the loop, or a loop over the threads that copy, or "
                      "the stack's pointer used for other values", file=sys.stderr)
                failed = True
    if seen != {"ring_of_faces": 6, "steps_faces": 4}:
        print(f"kernels of conductances per cell found: {seen}, not 6 and 4", file=sys.stderr)
        failed = True
    return failed


def main(cuobjdump, objects):
    failed = False
    seen = 0
    print("| kernel | instructions of two planes without faces | fma and add | shuffles | "
          "shared loads, stores | local loads, stores |")
    print("|---|---|---|---|---|---|")
    for path in sorted(objects):
        for name, code in kernels_of(listing(cuobjdump, path)):
            shape = DEEP.search(name) or CLASSES.search(name)
            if not shape:
                continue
            seen += 1
            steps = int(shape.group(2))
            loop = [loop for loop in loops_of(code) if count_of(loop, "STG") > 0][0]
            count = {op: count_of(loop, op)
                     for op in ("[DF]FMA", "[DF]ADD", "SHFL", "LDS", "STS", "LDL", "STL")}
            shown = f"{'float64' if shape.group(1) == 'd' else 'float32'}, {steps} steps"
            shown += ", summary" if "summarised" in name else ""
            shown += ", bits" if "with_bits" in name else ""
            if "classes_shape" in name:
                shown += f", classes, {shape.group(3)} planes"
                shown += " of one class each" if shape.group(4) == "1" else ""
            elif int(shape.group(3)):
                shown += f", step {int(shape.group(3)).bit_length()} corrects"
            shown += ", a per step" if "of_levels" in name else ""
            print(f"| {shown} | {len(loop)} | {count['[DF]FMA'] + count['[DF]ADD']} | "
                  f"{count['SHFL']} | {count['LDS']}, {count['STS']} | "
                  f"{count['LDL']}, {count['STL']} |")
            written = sum(WRITES_R1.match(text) is not None for _, text in code)
            stack = any(re.search(r"\b(LDL|STL)\b", text) for _, text in code)
            if stack and written > 2:  # the pointer from the constants, and its decrement
                print(f"{shown}: uses the stack and its pointer's register for other values",
                      file=sys.stderr)
                failed = True
            if any("BRA.U.ANY" in text for _, text in code):
                print(f"{shown}: a loop over the threads that copy a tile", file=sys.stderr)
                failed = True
            most = LOCAL.get(shown, LOCAL.get(shown.replace(", bits", ""), 0))
            if count["LDL"] + count["STL"] > most:
                print(f"{shown}: {count['LDL']} loads and {count['STL']} stores of local memory "
                      "in the loop", file=sys.stderr)
                failed = True
    # all but float64 with 4 steps with and without a summary; the second or the last step corrects;
    # of classes 3 of 2 steps and 3 of 3; each with the sum of bits and without, but none that
    # corrects and none of 4 steps with an `a` per step; and 2 of 2 steps and 2 of 3 for planes of
    # one class
    if seen != 2 * (11 + 6) + 10 + 6 + 4:
        print(f"{seen} kernels found, not 54", file=sys.stderr)
        failed = True
    failed = check_wide(cuobjdump, objects) or failed
    failed = check_faces(cuobjdump, objects) or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
