"""Predictions for the project's kernels on one GCD of an MI250X, from their code objects.

usage: kernels.py GCD_SIM OBJECT... [--cells N] [--resident BLOCKS]... [--kernel NAME]...
       kernels.py --static TABLE OBJECT...   (of all kernels)
       kernels.py --write TABLE OBJECT...
Prints the speed of an interior wave's program over the whole field; faces are left out. With
--static the counts of the code, without a simulation; fails where a kernel has a full wait or 30
vector instructions more than the committed table says, or fewer waves. --write writes the
table."""
import argparse
import contextlib
import itertools
import json
import pathlib
import re
import struct
import sys
import tempfile
from multiprocessing.pool import ThreadPool

import model
import wave_program

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "backend"))
import check_gfx90a  # noqa: E402

KERNARG, SPACE = 1 << 36, 1 << 42
FIELDS = {name: (number + 1) * SPACE for number, name in enumerate(
    ("in", "out", "class", "buffer", "g_x", "g_y", "g_z", "sigma"))}
HALF = 1 << 40  # bytes of a field on both sides of its cell (0, 0, 0)
ALIKE = 0x80    # a class byte whose neighbours have the same class


def layout(n, size, halo=1):
    """Pitches in cells as kernels/layout.c chooses them."""
    unit = 128 // size
    pitch = -(-(unit + n + halo) // unit) * unit
    pitch += unit if pitch * size % 4096 == 0 else 0
    return pitch, pitch * (n + 2 * halo)


def grid_view(n, size, halo=1):
    pitch, plane = layout(n, size, halo)
    return struct.pack("<2Q5qQ", FIELDS["out"], FIELDS["in"], pitch, plane, n, n, n, 0)


def reals(size, count):
    return struct.pack(f"<{count}{'d' if size == 8 else 'f'}", *[0] * count)


# which faces are closed, and which steps of a pass correct
FACES = struct.pack("<6?2xI", *[True] * 6, 0)


def uniform(size, steps=1, lengths=1):
    return reals(size, 3 * lengths + 6 + 6 * steps) + FACES


def class_bytes(n):
    pitch = -(-(n + 17) // 128) * 128
    return pitch, pitch * (n + 2)


def medium(n, count=8):
    pitch, plane = class_bytes(n)
    return struct.pack("<Q2q3i?3xQ6Q6q3q", FIELDS["class"], pitch, plane, 127, count, 6, True,
                       KERNARG + 4096, *[KERNARG + 65536] * 6, *[n] * 6, n, n, n)


def classes(n, steps=1):
    return medium(n) + struct.pack(f"<{steps}Q", *[KERNARG + 4096] * steps) + FACES


def faces(n, size):
    """A conductance per axis and a heat capacity per cell, in the layout of the classes; no lines
    of graded axes."""
    arrays = struct.pack("<7Q", *[FIELDS[name] for name in ("g_x", "g_y", "g_z", "sigma")], 0, 0, 0)
    return padded([classes(n), arrays + struct.pack("<q", 1) + reals(size, 3)])


CLOSURE_DOUBLES = 47  # struct wide_closure


def wide_stencil(size):
    rules = padded([reals(size, 7) + bytes([True] * 9), bytes(8 * 6 * CLOSURE_DOUBLES)])
    return rules + struct.pack("<?7x2q", True, -(1 << 32), 1 << 32)


def radius_of(shown):
    return int((re.search(r"wide_stencil<\w+, (\d)", shown) or [0, 1])[1])


def padded(parts):
    """Arguments by value, each at a multiple of 8 bytes."""
    return b"".join(part + bytes(-len(part) % 8) for part in parts)


def face_sums(active):
    return struct.pack("<?7x7Q", active, *[KERNARG + 8192] * 7)


FOLLOWED = {"corner": False}


def middle_of(counts, steps, low=(0, 0, 0)):
    """(number of a block inside of the box, or of one at three faces, its first cell)."""
    inside = [counts[0] // 2, counts[1] // 2, counts[2] // 2 if counts[2] > 2 else 0]
    at = [0, 0, 0] if FOLLOWED["corner"] else inside
    return at, [a * step[axis] + lo for axis, (a, step, lo) in enumerate(zip(at, steps, low))]


def march_input(shown, n, size, wide, depth):
    """The launch of a kernel on n^3 cells: arguments, number of the block that is followed,
    its first cell, counts and strides of blocks in cells, first cells of a block's waves, and the
    numbers of the waves whose programs differ."""
    vector, high, radius = 16 // size, 256 // wide, radius_of(shown)
    low, rows = radius if radius > 1 else 0, n - (2 * radius if radius > 1 else 0)
    tiles = (-(-n // (wide * vector)), -(-rows // high))
    depth = min(depth, rows)
    counts = (*tiles, -(-rows // depth))
    steps = ((wide * vector, 0, 0), (0, high, 0), (0, 0, depth))
    kind = (wide_stencil(size) if radius > 1 else classes(n) if "classes" in shown else
            faces(n, size) if "faces" in shown else uniform(size))
    march = struct.pack("<8q3I4x", 0, low, low, n, low + rows, low + rows, 0, depth,
                        wide.bit_length() - 1, *tiles)
    arguments = padded([grid_view(n, size, radius), kind, face_sums("true" in shown), march])
    at, cell = middle_of(counts, steps, (0, low, low))
    block = (at[0] + tiles[0] * (at[1] + tiles[1] * at[2]), 0, 0)
    lines = 64 // wide if wide < 64 else 1
    waves = [(w % 2 * 64 * vector, w // 2, 0) if wide > 64 else (0, w * lines, 0) for w in range(4)]
    return arguments, block, cell, list(zip(counts, steps)), waves, [0]


def nonlinear_input(shown, n, size, depth=64):
    """The same of step_nonlinear, for the cells that are not on closed faces."""
    wide, tall, segments, count = 32, 14, 32, 8
    kind = int(re.search(r"form<\w+, (\d)", shown)[1])
    tile = (wide * 16 // size, tall)
    counts = (-(-(n - 1) // tile[0]), -(-(n - 2) // tall), -(-(n - 2) // depth))
    steps = ((tile[0], 0, 0), (0, tall, 0), (0, 0, depth))
    of = medium(n, 1 if kind == 0 else count) + struct.pack("<i?3x", segments, kind < 2)
    plan = struct.pack("<8q", 1, 1, 1, n - 1, n - 1, n - 1, 0, depth)
    at, cell = middle_of(counts, steps, (0, 1, 1))
    workers = wide * tall // 64
    waves = [(0, 2 * w, 0) for w in range(workers)] + [(0, 0, 0)] * 2
    return (padded([grid_view(n, size), of, plan]), at, cell, list(zip(counts, steps)), waves,
            [0] * workers + [workers, workers + 1])


def several(shown, n, size):
    """The kind of a kernel for several steps."""
    lengths = re.search(r"uniform<\w+, \d, (\d)", shown)
    return (uniform(size, steps_of(shown), int(lengths[1])) if lengths else
            classes(n, steps_of(shown)))


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
        if time < best - best // 10:
            best, depth = time, planes
    counts = (*tiles, -(-nz // depth))
    tiling = struct.pack("<27qi4x", *[0, 0, 0, n, n, nz] * 3, -halo, 0, 0, *core, depth, *counts, 0)
    steps_of_blocks = ((core[0], 0, 0), (0, core[1], 0), (0, 0, depth))
    at, cell = middle_of(counts, steps_of_blocks)
    block = (at[0] + tiles[0] * (at[1] + tiles[1] * at[2]), 0, 0)
    return (padded([grid_view(n, size), several(shown, n, size), tiling]), block, cell,
            list(zip(counts, steps_of_blocks)), [(0, wave * rows, 0) for wave in range(waves)],
            [0] + [3] * (waves - 2) + [waves - 1])  # the first and the last write fewer rows


def tile_input(shown, n, size):
    """The same of steps_tile, as tile.hip.cpp divides a cube, in tiles of 32 x 32 cells."""
    steps, wide = steps_of(shown), 32
    step = wide - 2 * steps
    tiles = -(-(n - 2 * steps) // step)
    depth = n
    while depth > 8 * steps and tiles * tiles * -(-n // depth) < 1024:
        depth = (depth + 1) // 2
    counts, steps_of_blocks = (tiles, tiles, -(-n // depth)), (
        (step, 0, 0), (0, step, 0), (0, 0, depth))
    tiling = struct.pack("<27qi4x", *[0, 0, 0, n, n, n] * 3, 0, 0, 0, step, step, depth, *counts, 5)
    at, cell = middle_of(counts, steps_of_blocks)
    block = (at[0] + tiles * (at[1] + tiles * at[2]), 0, 0)
    arguments = padded([grid_view(n, size), several(shown, n, size), tiling, bytes(8)])
    arguments += face_sums(False) * steps
    return (arguments, block, cell, list(zip(counts, steps_of_blocks)),
            [(0, 2 * wave, 0) for wave in range(8)], [*range(8)])


BOXES_PER_MOVE, BOXES_PER_LAUNCH = 26, 8


def faces_input(shown, n, size, axis):
    """The same of move_boxes and step_cell on the two layers of cells at the faces of an axis."""
    threads = 128 if "move_boxes" in shown else 256
    along, across = [a for a in range(3) if a != axis]
    steps = [[0] * 3 for _ in range(3)]
    steps[0][along], steps[1][across], steps[2][axis] = threads, 1, n - 1
    extent = [1 if a == axis else n for a in range(3)]
    pitch, plane = layout(n, size)

    def numbers(kind, most, *values):
        return struct.pack(f"<{most}{kind}", *values, *[0] * (most - len(values)))

    if "move_boxes" in shown:
        begin = numbers("I", BOXES_PER_MOVE + 1, 0, n * n, 2 * n * n)
        wide = numbers("I", BOXES_PER_MOVE, extent[0], extent[0])
        high = numbers("I", BOXES_PER_MOVE, extent[1], extent[1])
        first = numbers("q", BOXES_PER_MOVE, 0, (n - 1) * [1, pitch, plane][axis])
        buffers = numbers("q", BOXES_PER_MOVE, FIELDS["buffer"], FIELDS["buffer"] + n * n * size)
        field = FIELDS["in"]
        arguments = padded([struct.pack("<3qi", field, pitch, plane, 2) + begin + wide + high,
                            first, buffers])
    else:
        low = [[n - 1 if a == axis and side else 0 for a in range(3)] for side in range(2)]
        boxes = [x for at in low for x in (*at, *[a + e for a, e in zip(at, extent)])]
        listed = numbers("q", 6 * BOXES_PER_LAUNCH, *boxes) + numbers(
            "q", BOXES_PER_LAUNCH + 1, 0, n * n, 2 * n * n) + struct.pack("<i4x", 2)
        kind = uniform(size)[:-len(FACES)] + bytes(len(FACES))  # cuts are open
        arguments = padded([grid_view(n, size), kind, face_sums(False), listed,
                            struct.pack("<I", 1), bytes(64)])
    counts, at = (n // threads, n, 2), (n // threads // 2, n // 2, 0)
    cell = [sum(a * step[d] for a, step in zip(at, steps)) for d in range(3)]
    waves = [[64 * w if d == along else 0 for d in range(3)] for w in range(threads // 64)]
    return (arguments, (at[0] + counts[0] * at[1], 0, 0), cell, list(zip(counts, steps)), waves,
            [0] * len(waves))


def input_of(shown, n, size, shape, planes, axis=2):
    return (faces_input(shown, n, size, axis) if re.match("move_boxes|step_cell", shown) else
            rows_input(shown, n, size, planes) if "steps_rows" in shown else
            tile_input(shown, n, size) if "steps_tile" in shown else
            nonlinear_input(shown, n, size, shape[1]) if "step_nonlinear" in shown else
            march_input(shown, n, size, *shape))


def bytes_of(cells, pitches, size):
    return (cells[0] + cells[1] * pitches[0] + cells[2] * pitches[1]) * size


def program_of(code, mangled, listing, arguments, block, thread):
    start = wave_program.descriptor(code, mangled)
    memory = [(KERNARG, arguments, "argument", 0), (KERNARG + 4096, 1 << 20, "table", 0)]
    memory += [(at - HALF, 2 * HALF, name, ALIKE if name == "class" else 0)
               for name, at in FIELDS.items()]
    wave = wave_program.Wave(listing, start, KERNARG, block, (thread, 0), memory)
    return wave.run()


def steps_of(shown):
    return int((re.search(r"(?:rows_shape|steps_tile)<\w+, (\d)", shown) or [0, 1])[1])


def launch_of(kernel, n, shape, planes=None, axis=2):
    """The launch of a kernel as text for gcd_sim, and the cells that it writes."""
    shown, code, mangled, listing, numbers = kernel
    size = 4 if re.search("float|boxes<unsigned int", shown) else 8
    arguments, block, cell, grid, waves, different = input_of(shown, n, size, shape, planes or n,
                                                              axis)
    counts = [count for count, _ in grid]
    names = list(FIELDS)
    pitches = ([layout(n, size, radius_of(shown))] * 2 + [class_bytes(n), (n, n * n)] +
               [class_bytes(n)] * 4)
    sizes = [size, size, 1] + [size] * 5
    # cells of the block, its strides, and its waves, in each memory; a buffer is contiguous
    places = [(cell, [step for _, step in grid], waves)] * 3
    threads = 64 * len(waves)
    places.append(([block[0] % counts[0] * threads, block[0] // counts[0], 0],
                   [(threads, 0, 0), (0, 1, 0), (0, 0, 1)],
                   [(64 * w, 0, 0) for w in range(len(waves))]))
    places += places[:1] * 4

    def program(wave, up=0):
        """up: of a block that many further in y."""
        found = []
        at = (block[0] + up * counts[0], 0, 0)
        for operation in program_of(code, mangled, listing, arguments, at, 64 * wave):
            if operation[0] not in "LS":
                found.append(operation)
                continue
            kind, hint, pieces = operation
            name = pieces[0][0]
            if name not in names:
                continue  # tables and arguments stay in the caches
            m = names.index(name)
            from_here = [a + w + up * step for a, w, step in
                         zip(places[m][0], places[m][2][wave], places[m][1][1])]
            origin = HALF + bytes_of(from_here, pitches[m], sizes[m])
            found.append((kind, m, hint if kind == "S" else 0,
                          [(first - origin, length) for _, first, length in pieces]))
        return found

    programs = {wave: program(wave) for wave in set(different)}
    others = []
    if "steps_rows" in shown:  # whose last tile in y is seldom full; and edges have other code
        at = block[0] // counts[0] % counts[1]
        rows = n - (counts[1] - 1) * grid[1][1][1]
        others = [[program(w, counts[1] - 1 - at)
                   for w in range(min(len(waves), -(-rows // rows_of(shown)) + 1))],
                  [program(w, -at) for w in (0, *[3] * (len(waves) - 2), len(waves) - 1)]]
    depth = grid[2][1][2]
    if planes:
        counts[2] = max(1, planes // depth)
    edge = 1 << 40
    if "steps_rows" in shown:  # whose last tile in x is seldom full
        edge = (n - (counts[0] - 1) * grid[0][1][0]) * size + 64
    memories = range(len(names))
    text = model.text_of(
        counts, [[bytes_of(step, pitches[m], sizes[m]) for step in places[m][1]] for m in memories],
        [[bytes_of(places[m][2][w], pitches[m], sizes[m]) for m in memories]
         for w in range(len(waves))],
        [programs[wave] for wave in different], [(m + 1) << 36 for m in memories], edge, others)
    return text, n * n * min(counts[2] * depth, planes or n)


def predict(sim, kernel, n, resident, shape, planes=None):
    """Gcell-steps/s, and lines fetched and written per line of the field."""
    text, cells = launch_of(kernel, n, shape, planes)
    result = model.simulate(sim, text, resident=resident)
    lines = cells * (8 if "double" in kernel[0] else 4) / model.LINE
    speed = steps_of(kernel[0]) * cells / result["ns"]
    return speed, result["fetch"] / lines, result["write"] / lines


def needs_of(kernel, waves, lds=0):
    vgprs = max(-(-kernel[4]["vgpr_count"] // 8) * 8, 64)
    return f"needs {lds} {vgprs * waves}\n"


def predict_beside(sim, kernel, other, n, resident, shape, planes):
    """us: of both kernels alone; the ends of both at once, on two queues, when the other one comes
    first, and when it comes in the middle."""
    first = launch_of(kernel, n, shape, planes)[0] + needs_of(kernel, 4, 65536 // resident)
    for axis in range(3):
        text = launch_of(other, n, shape, axis=axis)[0]
        second = text + needs_of(other, text.count("\nwave "))
        alone = [model.simulate(sim, one)["ns"] / 1e3 for one in (first, second)]
        print(f"{kernel[0]} {n}^3 beside {other[0]}, faces of {'xyz'[axis]}: alone "
              f"{alone[0]:.0f} and {alone[1]:.0f} us; both at once:")
        for after in (0, 500 * alone[0]):
            both = model.simulate(sim, f"{first}{second}after {after:.0f}\n")
            print(f"  from {after / 1e3:.0f} us on: {both['first'] / 1e3:.0f} us, the other takes "
                  f"{(both['second'] - after) / 1e3:.0f}", flush=True)


MOST_INSTRUCTIONS = {"steps_rows": 35}  # of a vector, per cell and step that is written
MORE = 30  # vector instructions more than the table has: a change to be looked at
COLUMNS = ("VGPRs", "LDS", "scratch", "waves", "instructions", "waits", "per cell and step")


def counts_of_plane(code, mangled, listing, shown):
    """Per plane of an interior wave, the vector instructions (in units of 4 cycles) and the full
    waits, for all loads and stores in flight; the instructions per cell and step written."""
    size = 8 if "double" in shown else 4
    rows = 2 if "steps_tile" in shown else rows_of(shown)  # stores per plane
    n = 256 if rows > 1 else 1024
    arguments, block, _, grid, _, _ = input_of(shown, n, size, (64, 20), 96)
    thread = 192 if rows > 1 else 0
    operations = program_of(code, mangled, listing, arguments, block, thread)
    stores = [n for n, operation in enumerate(operations) if operation[0] == "S"]
    planes = operations[stores[7 * rows]:stores[15 * rows]]
    count = sum(o[1] for o in planes if o[0] == "C") / 4 / 8
    written = (grid[0][1][0] * grid[1][1][1] / 8 / 64 if rows > 1 else 16 / size) * steps_of(shown)
    return round(count), -(-planes.count(("W", 0)) // 8), round(count / written, 1)


def counts_of_loops(listing):
    """The same of the code in loops, or of all code where no loop stores."""
    inside = set()
    for n, (address, name, text) in enumerate(listing):
        to = address + 4 + 4 * wave_program.signed(int(text.split()[0]), 16) if re.match(
            "s_c?branch", name) else address + 4
        if to <= address:
            inside.update(m for m in range(n + 1) if listing[m][0] >= to)
    code = [listing[n] for n in inside]
    code = code if any("store" in name for _, name, _ in code) else listing
    cycles = [wave_program.SLOW_CYCLES if wave_program.SLOW.match(name) else wave_program.CYCLES
              for _, name, _ in code if name.startswith("v_")]
    waits = [text for _, name, text in code if name == "s_waitcnt" and "vmcnt(0)" in text]
    return sum(cycles) // 4, len(waits)


FOLLOWED_KERNELS = (r"(?!.*graded)step_march|steps_rows|step_nonlinear|"
                    r"steps_tile<\w+, ., (uniform|classes)")


def static_counts(path):
    """COLUMNS of each kernel of an object; of the Laplacians the worst of each name."""
    with tempfile.TemporaryDirectory() as folder:
        for shown, code, mangled, listing, numbers in kernels_in(path, pathlib.Path(folder)):
            counts = (counts_of_plane(code, mangled, listing, shown)
                      if re.match(FOLLOWED_KERNELS, shown) else counts_of_loops(listing))
            yield re.sub("<.*", "", shown) if shown.startswith("laplacian_") else shown, [
                numbers["vgpr_count"], numbers["group_segment_fixed_size"],
                numbers["private_segment_fixed_size"], check_gfx90a.waves(numbers), *counts]


def worse_of(counts, old, more):
    return [f"{name} {c:g}, in the table {o:g}" for name, c, o, m in zip(COLUMNS, counts, old, more)
            if (c < o if name == "waves" else c > o + m)]


def check_static(table, paths, write):
    """Compare the counts of all kernels with the committed table, or write it."""
    known = {} if write else json.loads(table.read_text(encoding="utf-8"))
    found, failed = {}, False
    with ThreadPool(2) as pool:
        for shown, counts in (pair for part in pool.map(lambda path: [*static_counts(path)], paths)
                              for pair in part):
            worst = zip(counts, found.get(shown, counts), COLUMNS)
            found[shown] = [(min if name == "waves" else max)(a, b) for a, b, name in worst]
    for shown, counts in sorted(found.items()):
        print(f"{shown}: " + ", ".join(f"{n} {c:g}" for n, c in zip(COLUMNS, counts)))
        old = known.get(shown, counts if write else [0, 0, 0, 9, 0, 0, 0])
        worse = worse_of(counts, old, (512, 0, 0, 0, MORE - 1, 0, MORE))
        most = next((most for kind, most in MOST_INSTRUCTIONS.items() if kind in shown), 1e9)
        worse += [f"more than {MOST_INSTRUCTIONS}"] if counts[-1] > most else []
        failed = failed or bool(worse)
        if worse:
            print(f"{shown}: {'; '.join(worse)}", file=sys.stderr)
    for shown in known.keys() - found.keys():
        print(f"{shown} is in the table, but not in the objects", file=sys.stderr)
        failed = True
    if write:
        lines = [f"{json.dumps(shown)}: {json.dumps(counts)}" for shown, counts in found.items()]
        table.write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n", encoding="utf-8")
    return 1 if failed else 0


def kernels_in(path, folder):
    """(what is shown, code object, mangled name, instructions, numbers) of each kernel."""
    code = check_gfx90a.code_object(path, folder)
    listings = wave_program.disassemble(check_gfx90a.tool("llvm-objdump"), code) if code else {}
    for mangled, numbers in check_gfx90a.kernels_of(code) if code else ():
        yield check_gfx90a.name_of(mangled)[1], code, mangled, listings[mangled], numbers


def main():
    if sys.argv[1] in ("--static", "--write"):
        return check_static(pathlib.Path(sys.argv[2]), sys.argv[3:], sys.argv[1] == "--write")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sim")
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--cells", type=int, action="append")
    parser.add_argument("--resident", type=int, action="append")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--beside", help="a kernel on a second queue: move_boxes or step_cell")
    parser.add_argument("--shape", default="64,64")
    parser.add_argument("--planes", type=int)
    parser.add_argument("--corner", action="store_true",
                        help="take all blocks for those in the first corner, with three faces")
    options = parser.parse_args()
    FOLLOWED["corner"] = options.corner
    shape = tuple(int(x) for x in options.shape.split(","))
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in options.objects]
        kernels = [kernel for path, folder in zip(options.objects, folders)
                   for kernel in kernels_in(path, pathlib.Path(folder))]
        other = next((k for k in kernels if options.beside and options.beside in k[0]), None)
        for kernel in kernels:
            if not any(k in kernel[0] for k in options.kernel or ["step_march"]):
                continue
            waves = 8 if "steps_rows" in kernel[0] else 4  # of a block
            most, _ = model.waves_of_simd(kernel[4]["vgpr_count"], 0, waves)
            for n, blocks in itertools.product(options.cells or [512], options.resident or [most]):
                resident = min(blocks, most)
                if other:
                    predict_beside(options.sim, kernel, other, n, resident, shape, options.planes)
                    continue
                speed, fetch, write = predict(options.sim, kernel, n, resident, shape,
                                              options.planes)
                print(f"{kernel[0]} {n}^3 {shape} {resident} blocks: {speed:.1f} Gcell-steps/s, "
                      f"fetched {fetch:.2f}, written {write:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
