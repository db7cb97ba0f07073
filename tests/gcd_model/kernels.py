"""Predictions for the project's kernels on one GCD of an MI250X, from their code objects.

usage: kernels.py GCD_SIM OBJECT... [--cells N] [--resident BLOCKS]... [--kernel NAME]...
       kernels.py --waits OBJECT...   (of step_march and steps_rows)
Prints the speed of an interior wave's program over the whole field; faces are left out. With
--waits only the full waits per plane and the vector instructions, and fails where a kernel has more
than it should."""
import argparse
import pathlib
import re
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


def uniform(size, steps=1, lengths=1):
    return reals(size, 3 * lengths + 6 + 6 * steps) + FACES


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
    """(arguments, block, counts and strides of blocks in cells, waves in cells)."""
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
    return arguments, block, [(tiles[0], (wide * vector, 0, 0)), (tiles[1], (0, high, 0)),
                              (-(-n // depth), (0, 0, depth))], waves


def rows_of(shown):
    return int((re.search(r"rows_shape<\w+, \d, (\d)", shown) or [0, 1])[1])


def rows_input(shown, n, size, nz):
    """The same of steps_rows, as rows.hip.cpp divides the box, of n x n x nz cells."""
    steps, rows, vector, waves = steps_of(shown), rows_of(shown), 16 // size, 8
    halo = 64 // size
    core = (64 * vector - 2 * halo, rows * waves - 2 * steps)
    tiles = [max(3, -(-n // core[0])), max(3, -(-(n - 2 * steps) // core[1]))]
    best = 1 << 40
    for count in range(1, nz // (2 * steps) + 1):
        planes = -(-nz // count)
        time = -(-tiles[0] * tiles[1] * count // 110) * (planes + 2 * steps)
        if time < best - best // 5:
            best, depth = time, planes
    counts = (*tiles, -(-nz // depth))
    tiling = struct.pack("<27qi4x", *[0, 0, 0, n, n, nz] * 3, -halo, 0, 0, *core, depth, *counts, 0)
    block = tiles[1] // 2 * tiles[0] + tiles[0] // 2 + counts[2] // 2 * tiles[0] * tiles[1]
    lengths = int(re.search(r"uniform<\w+, \d, (\d)", shown)[1])
    return (padded([grid_view(n, size), uniform(size, steps, lengths), tiling]), (block, 0, 0),
            list(zip(counts, ((core[0], 0, 0), (0, core[1], 0), (0, 0, depth)))),
            [(0, wave * rows, 0) for wave in range(waves)])


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


def steps_of(shown):
    return int((re.search(r"rows_shape<\w+, (\d)", shown) or [0, 1])[1])


def predict(sim, code, mangled, shown, n, resident, shape, planes=None):
    """Gcell-steps/s, and lines fetched and written per line of the field."""
    size = 8 if "double" in shown else 4
    arguments, block, grid, waves = (
        rows_input(shown, n, size, planes or n) if "steps_rows" in shown else
        march_input(shown, n, size, *shape))
    names = ["in", "out", "class"]
    pitches = [layout(n, size), layout(n, size), class_bytes(n)]
    sizes = [size, size, 1]
    number, at = block[0], [0, 0, 0]
    for count, step in grid:
        at = [a + number % count * s for a, s in zip(at, step)]
        number //= count

    def program(wave):
        found = []
        for operation in program_of(code, mangled, arguments, block, 64 * wave):
            if operation[0] not in "LS":
                found.append(operation)
                continue
            kind, hint, pieces = operation
            name = pieces[0][0]
            if name not in names:
                continue  # tables and arguments stay in the caches
            memory = names.index(name)
            from_here = [a + w for a, w in zip(at, waves[wave])]
            origin = HALF + bytes_of(from_here, pitches[memory], sizes[memory])
            found.append((kind, memory, hint if kind == "S" else 0,
                          [(first - origin, length) for _, first, length in pieces]))
        return found

    programs = [program(0)]
    if "steps_rows" in shown:  # the first and the last wave write fewer rows
        programs += [program(3)] * (len(waves) - 2) + [program(len(waves) - 1)]
    counts = [count for count, _ in grid]
    depth = grid[2][1][2]
    if planes:
        counts[2] = max(1, planes // depth)
    edge = 1 << 40
    if "steps_rows" in shown:  # whose last tile in x is seldom full
        edge = (n - (counts[0] - 1) * grid[0][1][0]) * size + 64
    text = model.text_of(
        counts, [[bytes_of(step, pitches[m], sizes[m]) for _, step in grid] for m in range(3)],
        [[bytes_of(wave, pitches[m], sizes[m]) for m in range(3)] for wave in waves], programs,
        [(m + 1) << 36 for m in range(3)], edge)
    result = model.simulate(sim, text, resident=resident)
    cells = n * n * min(counts[2] * depth, planes or n)
    lines = cells * size / model.LINE
    return steps_of(shown) * cells / result["ns"], result["fetch"] / lines, result["write"] / lines


# Full waits (for all loads and stores in flight) of an interior wave per plane. In classes the
# cells of a thread have one each, but only the first waits long.
MOST_WAITS = {"steps_rows": 1, "step_march.*uniform<": 1, "classes<double": 5, "classes<float": 9}
MOST_INSTRUCTIONS = {"steps_rows": 35}  # of a vector, per cell and step that is written


def check_waits(path):
    failed = False
    with tempfile.TemporaryDirectory() as name:
        code = check_gfx90a.code_object(path, pathlib.Path(name))
        for mangled, _ in check_gfx90a.kernels_of(code):
            shown = check_gfx90a.name_of(mangled)[1]
            kind = next((k for k in MOST_WAITS if re.search(k, shown)), None)
            if kind is None:
                continue
            size = 8 if "double" in shown else 4
            rows = rows_of(shown)
            arguments, block, grid, _ = (rows_input(shown, 256, size, 256) if rows > 1 else
                                         march_input(shown, 512, size, 64, 64))
            operations = program_of(code, mangled, arguments, block, 192 if rows > 1 else 0)
            stores = [n for n, operation in enumerate(operations) if operation[0] == "S"]
            planes = operations[stores[8 * rows]:stores[16 * rows]]
            waits = planes.count(("W", 0)) / 8
            print(f"{shown}: {waits:g} full waits per plane", end="")
            failed = failed or waits > MOST_WAITS[kind]
            if kind in MOST_INSTRUCTIONS:
                written = grid[0][1][0] * grid[1][1][1] / 8 * steps_of(shown)  # by 8 waves
                count = sum(o[1] for o in planes if o[0] == "C") / 4 / 8 * 64 / written
                print(f", {count:.1f} vector instructions per cell and step", end="")
                failed = failed or count > MOST_INSTRUCTIONS[kind]
            print()
    return 1 if failed else 0


def main():
    if sys.argv[1:2] == ["--waits"]:
        return max(check_waits(path) for path in sys.argv[2:])
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
                        speed, fetch, write = predict(
                            options.sim, code, mangled, shown, n, min(resident, most), shape,
                            options.planes)
                        print(f"{shown} {n}^3 {shape} {min(resident, most)} blocks: "
                              f"{speed:.1f} Gcell-steps/s, fetched {fetch:.2f}, "
                              f"written {write:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
