"""Predict every row of AMD's published table of Laplacian kernels and compare.

usage: calibrate.py GCD_SIM
Fails when the errors' root mean square exceeds 6 % or one of them 14 %, and when a kernel on two
queues at once is not about as slow as twice in turn, since the memory limits it."""
import json
import math
import pathlib
import sys
from multiprocessing.pool import ThreadPool

import model

MOST_RMS, MOST = 6.0, 14.0
SIZE, LANES = 8, 64
IN, OUT, SCRATCH = range(3)
BASE = 1 << 32


def cells_at(dx, dy, dz, n, extra=0):
    """Bytes of a row of a wave: LANES cells and `extra`."""
    return [(((dz * n + dy) * n + dx) * SIZE, (LANES + extra) * SIZE)]


def load(n, dx, dy, dz, extra=0):
    return ("L", IN, 0, cells_at(dx, dy, dz, n, extra))


def middle(n, row):
    """The cells of a row and both neighbours, as two loads of 8 and 16 bytes per lane."""
    return [load(n, 1, row, 0), load(n, -1, row, 0, 1)]


def program(kernel, m, n, stream, spilled):
    """Loads, waits and stores in the order of the code that clang 15 makes of the published
    kernels, whose registers equal the published ones."""
    rows = range(m)
    if kernel == 1:
        groups = [[*middle(n, 0), load(n, 0, -1, 0), load(n, 0, 1, 0), load(n, 0, 0, -1),
                   load(n, 0, 0, 1)]]
    elif kernel == 2 and m == 2:
        groups = [[load(n, 0, 0, 0), *middle(n, 1), load(n, 0, 1, -1), load(n, 0, 1, 1),
                   load(n, 0, 2, 0), load(n, -1, 0, 0), load(n, 1, 0, 0), load(n, 0, -1, 0),
                   load(n, 0, 0, -1),
                   load(n, 0, 0, 1)]]
    elif kernel == 2:  # waits for a half before the row that is loaded last
        first = [load(n, 0, row, side) for row in rows[1:] for side in (-1, 1)]
        first += [load(n, 0, m, 0), load(n, 0, 0, 0)]
        first += [x for row in rows[1:] for x in middle(n, row)]
        last = [load(n, -1, 0, 0), load(n, 1, 0, 0), load(n, 0, -1, 0), load(n, 0, 0, -1),
                load(n, 0, 0, 1)]
        groups = [first + [("W", len(first) // 2)] + last]
    else:  # three groups with a full wait after each: below, this plane, above
        groups = [[load(n, 0, row, -1) for row in rows] + [load(n, 0, -1, 0)],
                  [x for row in rows for x in middle(n, row)] + [load(n, 0, m, 0)],
                  [load(n, 0, row, 1) for row in [*rows[1:], 0]]]
    arithmetic = 8 * 4 * m // len(groups)
    operations = [("C", 60, 120)]
    for number, group in enumerate(groups):
        operations += group
        if number == len(groups) - 1 and spilled:
            operations += spill(spilled)
        operations += [("W", 0), ("C", arithmetic, arithmetic)]
    return operations + [("S", OUT, int(stream), cells_at(0, row, 0, n)) for row in rows]


SPILL_APART = 1 << 36  # what is read back has left the cache


def spill(dwords):
    """Spilled registers, 256 bytes per dword and wave, as the published counters have them: fetched
    twice (a store of a part of a line fills it first) and written once."""
    pieces = [(256 * dword, 256) for dword in range(dwords)]
    filled = [("L", SCRATCH, 0, [piece]) for piece in pieces]
    stored = [("S", SCRATCH, 0, [piece]) for piece in pieces]
    again = [("L", SCRATCH, 0, [(first + SPILL_APART, length)]) for first, length in pieces]
    return [*filled, *stored, ("W", 0), *again]


def input_of(row):
    """(text for gcd_sim, blocks of a compute unit, blocks to skip, cells of a block)."""
    n, m = row.get("cells", 512), row["m"]
    wide, deep = (2, 8) if row.get("block") else (4, 1)
    # planes that are simulated, half of them to warm up
    planes = {1: 16, 2: 20, 4: 24}.get(m, 28) if n == 512 else 8
    if row.get("order") or row.get("subdomains") or deep > 1:
        planes = 48
    rows = n // row.get("subdomains", 1)
    counts = [n // (wide * LANES), rows // m, planes // deep]
    strides = [wide * LANES * SIZE, m * n * SIZE, deep * n * n * SIZE]
    if row.get("order") == "yzx":
        counts, strides = [counts[1], counts[2], 1], [strides[1], strides[2], 0]
    waves = [[x * LANES * SIZE + z * n * n * SIZE] * 2 for z in range(deep) for x in range(wide)]
    memory = [BASE + IN * (1 << 40), BASE + OUT * (1 << 40)]
    memory_strides = [strides, strides]
    if row.get("spilled"):
        bytes_of_wave = 256 * row["spilled"]
        per_block = bytes_of_wave * wide
        waves = [[*offsets, number * bytes_of_wave] for number, offsets in enumerate(waves)]
        memory.append(BASE + SCRATCH * (1 << 40))
        memory_strides.append([per_block, per_block * counts[0], per_block * counts[0] * counts[1]])
    operations = program(row["kernel"], m, n, row.get("stream", False), row.get("spilled", 0))
    nblocks = counts[0] * counts[1] * counts[2]
    resident = max(row["waves"] * model.SIMDS // (wide * deep), 1)
    text = model.text_of(counts, memory_strides, waves, [operations], memory)
    return text, resident, nblocks // 2, wide * deep * LANES * m


def predict(arguments):
    program_path, row, numbers = arguments
    text, resident, skip, cells = input_of(row)
    found = model.simulate(program_path, text, resident=resident, skip=skip, **numbers)
    all_cells = found["blocks"] * cells
    return 2 * SIZE * all_cells / found["ns"], found["fetch"] * model.LINE / (all_cells * SIZE)


def beside_itself(program_path, row):
    """The time on two queues at once, relative to that in turn."""
    text, resident, _, _ = input_of(row)
    lines = text.splitlines()
    text = "\n".join([*lines[:1], f"needs {65536 // resident} 0", *lines[1:]]) + "\n"
    alone, both = (model.simulate(program_path, t)["ns"] for t in (text, text + text))
    return both / alone / 2


def published(data, row):
    speed = row.get("GBs", row.get("percent", 0) * data["percent_of_GBs"] / 100)
    fetch = row["fetch_GB"] / data["fetch_minimum_GB"] if "fetch_GB" in row else (
        100 / row["fetch_efficiency"])
    return speed, fetch


def main(program_path, numbers=None):
    table = pathlib.Path(__file__).parent / "published.json"
    data = json.loads(table.read_text(encoding="utf-8"))
    with ThreadPool(2) as pool:
        rows = [(program_path, row, numbers or {}) for row in data["rows"]]
        found = pool.map(predict, rows, 1)
    errors, fetch_errors = [], []
    print("| kernel | predicted GB/s | published | error % | fetched, of 1 | published | error % |")
    print("|---|---|---|---|---|---|---|")
    for row, (speed, fetch) in zip(data["rows"], found):
        true_speed, true_fetch = published(data, row)
        errors.append(100 * (speed / true_speed - 1))
        fetch_errors.append(100 * (fetch / true_fetch - 1))
        print(f"| {row['name']} | {speed:.0f} | {true_speed:.0f} | {errors[-1]:+.1f} | "
              f"{fetch:.3f} | {true_fetch:.3f} | {fetch_errors[-1]:+.1f} |")
    rms, fetch_rms = (math.sqrt(sum(x * x for x in e) / len(e)) for e in (errors, fetch_errors))
    worst = max(errors, key=abs)
    print(f"\n{len(errors)} rows: rms {rms:.1f} %, mean {sum(errors) / len(errors):+.1f} %, "
          f"worst {worst:+.1f} %; fetched rms {fetch_rms:.1f} %")
    queues = beside_itself(program_path, next(row for row in data["rows"] if row["name"] == "5"))
    print(f"kernel 5 on two queues at once: {queues:.2f} of the time in turn")
    return 1 if rms > MOST_RMS or abs(worst) > MOST or not 0.9 < queues < 1.15 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], dict(a.split("=") for a in sys.argv[2:])))
