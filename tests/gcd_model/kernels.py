"""Predictions for the project's kernels on one GCD of an MI250X, from their code objects.

usage: kernels.py GCD_SIM OBJECT... [--cells N] [--resident BLOCKS]... [--kernel NAME]...
       kernels.py --waits OBJECT   (of step_march)
Prints the speed of an interior wave's program over the whole field; faces are left out. With
--waits only the full waits per plane, and fails where a kernel has more than it should."""
import argparse
import pathlib
import struct
import sys
import tempfile

import model
import wave_program

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "backend"))
import check_gfx90a  # noqa: E402

KERNARG, SPACE = 1 << 36, 1 << 42
FIELDS = {"in": SPACE, "out": 2 * SPACE, "class": 3 * SPACE}
HALF = 1 << 40  # bytes of a field on both sides of its cell (0, 0, 0)
ALIKE = 0x80    # a class byte whose neighbours have the same class


def layout(n, size):
    """Pitches in cells as kernels/layout.c chooses them for a halo of 1."""
    unit = 128 // size
    pitch = -(-(unit + n + 1) // unit) * unit
    pitch += unit if pitch * size % 4096 == 0 else 0
    return pitch, pitch * (n + 2)


def grid_view(n, size):
    pitch, plane = layout(n, size)
    return struct.pack("<2Q5q", FIELDS["out"], FIELDS["in"], pitch, plane, n, n, n)


def reals(size, count):
    return struct.pack(f"<{count}{'d' if size == 8 else 'f'}", *[0] * count)


# which faces are closed, and which steps of a pass correct
FACES = struct.pack("<6?2xI", *[True] * 6, 0)


def uniform(size, steps=1):
    return reals(size, 3 + 6 + 6 * steps) + FACES


def class_bytes(n):
    pitch = -(-(n + 17) // 128) * 128
    return pitch, pitch * (n + 2)


def classes(n):
    pitch, plane = class_bytes(n)
    medium = struct.pack("<Q2q3i?3xQ", FIELDS["class"], pitch, plane, 127, 8, 6, True,
                         KERNARG + 4096)
    medium += struct.pack("<6Q6q3q", *[KERNARG + 65536] * 6, *[n] * 6, n, n, n)
    return medium + struct.pack("<Q", KERNARG + 4096) + FACES


def padded(parts):
    """Arguments by value, each at a multiple of 8 bytes."""
    return b"".join(part + bytes(-len(part) % 8) for part in parts)


def face_sums(active):
    return struct.pack("<?7x7Q", active, *[KERNARG + 8192] * 7)


def march_input(shown, n, size, wide, depth):
    """(arguments, block, thread, counts and strides of blocks in cells, waves in cells)."""
    vector = 16 // size
    high = 256 // wide
    tiles = (-(-n // (wide * vector)), -(-n // high))
    depth = min(depth, n)
    kind = classes(n) if "classes" in shown else uniform(size)
    march = struct.pack("<8q3I4x", 0, 0, 0, n, n, n, 0, depth, wide.bit_length() - 1, *tiles)
    arguments = padded([grid_view(n, size), kind, face_sums("true" in shown), march])
    block = (tiles[1] // 2 * tiles[0] + tiles[0] // 2 + tiles[0] * tiles[1], 0, 0)
    if n <= 2 * depth:  # an interior block only where there is one
        block = (tiles[1] // 2 * tiles[0] + tiles[0] // 2, 0, 0)
    rows = 64 // wide if wide < 64 else 1
    waves = [(w % 2 * 64 * vector, w // 2, 0) if wide > 64 else (0, w * rows, 0) for w in range(4)]
    return arguments, block, 0, [(tiles[0], (wide * vector, 0, 0)), (tiles[1], (0, high, 0)),
                                 (-(-n // depth), (0, 0, depth))], waves


def bytes_of(cells, pitches, size):
    return (cells[0] + cells[1] * pitches[0] + cells[2] * pitches[1]) * size


def program_of(code, mangled, arguments, block, thread):
    start = wave_program.descriptor(code, mangled)
    listing = wave_program.disassemble(check_gfx90a.tool("llvm-objdump"), code, mangled)
    memory = [(KERNARG, arguments, "argument", 0), (KERNARG + 4096, 1 << 20, "table", 0)]
    memory += [(at - HALF, 2 * HALF, name, ALIKE if name == "class" else 0)
               for name, at in FIELDS.items()]
    wave = wave_program.Wave(listing, start, KERNARG, block, (thread, 0), memory)
    return wave.run()


def predict(sim, code, mangled, shown, n, resident, shape, planes=None):
    """Gcell/s and lines fetched per line of the field."""
    size = 8 if "double" in shown else 4
    arguments, block, thread, grid, waves = march_input(shown, n, size, *shape)
    operations = program_of(code, mangled, arguments, block, thread)
    names = ["in", "out", "class"]
    pitches = [layout(n, size), layout(n, size), class_bytes(n)]
    sizes = [size, size, 1]
    number, at = block[0], [0, 0, 0]
    for count, step in grid:
        at = [a + number % count * s for a, s in zip(at, step)]
        number //= count
    found = []
    for operation in operations:
        if operation[0] not in "LS":
            found.append(operation)
            continue
        kind, hint, pieces = operation
        name = pieces[0][0]
        if name not in names:
            continue  # tables and arguments stay in the caches
        memory = names.index(name)
        origin = HALF + bytes_of(at, pitches[memory], sizes[memory])
        found.append((kind, memory, hint if kind == "S" else 0,
                      [(first - origin, length) for _, first, length in pieces]))
    counts = [count for count, _ in grid]
    if planes:
        counts[2] = max(1, planes // shape[1])
    text = model.text_of(
        counts, [[bytes_of(step, pitches[m], sizes[m]) for _, step in grid] for m in range(3)],
        [[bytes_of(wave, pitches[m], sizes[m]) for m in range(3)] for wave in waves], found,
        [(m + 1) << 36 for m in range(3)])
    result = model.simulate(sim, text, resident=resident)
    cells = n * n * min(counts[2] * shape[1], n)
    return cells / result["ns"], result["fetch"] * model.LINE / (cells * size)


# Full waits (for all loads and stores in flight) of an interior wave per plane of step_march. In
# classes the cells of a thread have one each, but only the first waits long.
MOST_WAITS = {"uniform<": 1, "classes<double": 5, "classes<float": 9}


def check_waits(path):
    failed = False
    with tempfile.TemporaryDirectory() as name:
        code = check_gfx90a.code_object(path, pathlib.Path(name))
        for mangled, _ in check_gfx90a.kernels_of(code):
            shown = check_gfx90a.name_of(mangled)[1]
            kind = next((k for k in MOST_WAITS if k in shown), None)
            if kind is None:
                continue
            arguments, block, thread, _, _ = march_input(shown, 512, 8 if "double" in shown else 4,
                                                         64, 64)
            operations = program_of(code, mangled, arguments, block, thread)
            stores = [n for n, operation in enumerate(operations) if operation[0] == "S"]
            waits = operations[stores[20]:stores[40]].count(("W", 0)) / 20
            print(f"{shown}: {waits:g} full waits per plane")
            failed = failed or waits > MOST_WAITS[kind]
    return 1 if failed else 0


def main():
    if sys.argv[1:2] == ["--waits"]:
        return check_waits(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sim")
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--cells", type=int, action="append")
    parser.add_argument("--resident", type=int, action="append")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--shape", default="64,64")
    parser.add_argument("--planes", type=int)
    options = parser.parse_args()
    shape = tuple(int(x) for x in options.shape.split(","))
    for path in options.objects:
        with tempfile.TemporaryDirectory() as name:
            code = check_gfx90a.code_object(path, pathlib.Path(name))
            for mangled, numbers in check_gfx90a.kernels_of(code):
                shown = check_gfx90a.name_of(mangled)[1]
                if not any(k in shown for k in options.kernel or ["step_march"]):
                    continue
                most, _ = model.waves_of_simd(numbers["vgpr_count"], 0, 4)
                for n in options.cells or [512]:
                    for resident in options.resident or [most]:
                        speed, fetch = predict(options.sim, code, mangled, shown, n,
                                               min(resident, most), shape, options.planes)
                        print(f"{shown} {n}^3 {shape} {min(resident, most)} blocks: "
                              f"{speed:.1f} Gcell/s, fetched {fetch:.2f}", flush=True)


    return 0


if __name__ == "__main__":
    sys.exit(main())
