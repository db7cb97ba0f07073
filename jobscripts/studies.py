#!/usr/bin/env python3
"""The stencil studies of docs/developers/studies.md on this machine: a folder of JSON and a page.

    python3 jobscripts/studies.py --isotherm build/hip-nvidia/isotherm --backend hip
    python3 jobscripts/studies.py --isotherm build/cpu/isotherm --backend cpu --repeats 10

The command runs `isotherm bench` xcorr, diffusion and jacobi, and the time step of the solver at
256^3 cells; where PyTorch is installed, also its convolutions, as the published study does. It
writes xcorr.json, diffusion.json, jacobi.json, step.json, torch.json and studies.md into the folder
of --output.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIX = ["hw_baseline", "hw_elementwise", "hw_pointwise",
       "sw_baseline", "sw_elementwise", "sw_pointwise"]
PRECISIONS = ("float32", "float64")
# Table 3 of the study: million updates per second and watt, by the thermal design power
PUBLISHED_PER_WATT = [
    ("xcorr", "float32", 1, 1, "391.3 | 326.4 | 500.8 | 374.1"),
    ("xcorr", "float64", 1, 1024, "3.0 | 3.1 | 4.5 | 4.1"),
    ("diffusion", "float32", 3, 1, "315.4 | 247.8 | 325.2 | 263.0"),
    ("diffusion", "float64", 3, 4, "95.9 | 85.2 | 47.4 | 44.7")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isotherm", default=os.environ.get("ISOTHERM", "isotherm"),
                        help="the program; may be several words (ISOTHERM, else isotherm)")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--size", type=int, nargs=3, help="cells (as published)")
    parser.add_argument("--radius", action="append", default=[], help="only this one (repeatable)")
    parser.add_argument("--output", type=Path, default=Path("out/studies"))
    return parser.parse_args()


def bench(args, name, path, *words):
    """The JSON of one benchmark, also written to `path`."""
    command = [*args.isotherm.split(), "bench", name, "--backend", args.backend, "--repeats",
               str(args.repeats), "--json", str(path), *words]
    begin = time.monotonic()
    done = subprocess.run(command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    print(f"bench {name}: {time.monotonic() - begin:.0f} s", flush=True)
    return json.loads(path.read_text())


def torch_times(args):
    """Rows of PyTorch's convolutions in the study's cases, or why there are none."""
    try:
        import torch
    except ImportError:
        return {"why": "PyTorch is not installed", "rows": []}
    on_gpu = torch.cuda.is_available() and args.backend != "cpu"
    device = torch.device("cuda" if on_gpu else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    functions = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d,
                 3: torch.nn.functional.conv3d}
    sizes = {1: [1 << 24], 2: [4096, 4096], 3: [256, 256, 256]}
    if args.size:
        sizes = {n: args.size[:n][::-1] for n in sizes}
    rows = []
    for precision in PRECISIONS:
        kind = getattr(torch, precision)
        for dimensions, size in sizes.items():
            for radius in range(1, 5):
                if args.radius and str(radius) not in args.radius:
                    continue
                padded = [n + 2 * radius for n in size]
                fields = torch.rand([1, 1, *padded], dtype=kind, device=device)
                weights = torch.rand([1, 1, *[2 * radius + 1] * dimensions], dtype=kind,
                                     device=device)
                with torch.inference_mode():
                    seconds = time_torch(torch, functions[dimensions], fields, weights, on_gpu,
                                         args.repeats)
                rows.append({"precision": precision, "dimensions": dimensions, "radius": radius,
                             "cells": size[::-1], "ms": 1e3 * seconds})
    return {"version": torch.__version__, "device": str(device), "rows": rows}


def time_torch(torch, convolve, fields, weights, on_gpu, repeats):
    """The median of at most 2 s, after a warm-up."""
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    seconds = []
    begin = time.monotonic()
    for n in range(-3, repeats):
        wait()
        start = time.perf_counter()
        convolve(fields, weights)
        wait()
        if n >= 0:
            seconds.append(time.perf_counter() - start)
        if seconds and time.monotonic() - begin > 2:
            break
    return statistics.median(seconds)


def dimensions(row):
    return sum(n > 1 for n in row["cells"])


def shape_words(row):
    shape = row["shape"]
    if not shape["block"][0]:
        return "-"
    bounds = f", bounds {shape['launch_bounds']}" if shape["launch_bounds"] else ""
    return "x".join(map(str, shape["block"][:dimensions(row)])) + bounds


def cases(rows, precision):
    """{(dimensions, radius): {kernel: row}} of one precision, in the order measured."""
    found = {}
    for row in rows:
        if row["precision"] == precision:
            key = (dimensions(row), row["radius"])
            found.setdefault(key, {})[row["kernel"]] = row
    return found


def table(head, lines):
    first = "| " + " | ".join(head) + " |"
    yield first
    yield "|" + "---|" * (first.count("|") - 1)
    for line in lines:
        yield "| " + " | ".join(str(word) for word in line) + " |"
    yield ""


def xcorr_tables(rows):
    for precision in PRECISIONS:
        found = cases(rows, precision)
        if not found:
            continue
        names = [name for name in next(iter(found.values())) if name != "production"]
        lines = []
        for (_, radius), kernels in found.items():
            best = min(kernels[name]["ms"] for name in names)
            ours = kernels["production"]
            lines.append([radius, *(f"{kernels[name]['ms']:.4f}" for name in names),
                          f"**{ours['ms']:.4f}**", f"{ours['percent_of_copy']:.1f}",
                          f"{best / ours['ms']:.2f}", f"{ours['cell_updates_per_s'] * 1e-9:.1f}"])
        yield f"Cross-correlation, {precision}, ms per step:\n"
        yield from table(["radius", *names, "production", "% of copy", "faster than the best",
                          "Gcell/s"], lines)


def diffusion_tables(rows, torch_rows):
    known = {(row["precision"], row["dimensions"], row["radius"]): row["ms"] for row in torch_rows}
    for precision in PRECISIONS:
        found = cases(rows, precision)
        if not found:
            continue
        names = list(next(iter(found.values())))
        lines = []
        for (dims, radius), kernels in found.items():
            ours = kernels["production"]
            torch_ms = known.get((precision, dims, radius))
            lines.append([f"{dims}D", radius, *(f"{kernels[name]['ms']:.4f}" for name in names),
                          f"{ours['percent_of_copy']:.1f}",
                          *(shape_words(kernels[name]) for name in names),
                          f"{torch_ms:.3f}" if torch_ms else "-"])
        yield f"Diffusion equation, {precision}, ms per step:\n"
        yield from table(["", "radius", *names, "% of copy",
                          *(f"shape of {name}" for name in names),
                          "PyTorch"], lines)


def jacobi_table(rows):
    """HIP beside OpenMP: the kernels of the iteration, one line per backend and mapping."""
    names = list(dict.fromkeys(row["kernel"] for row in rows))
    ways = {}
    for row in rows:
        ways.setdefault((row["backend"], row["variant"]), {})[row["kernel"]] = row
    size = "x".join(map(str, rows[0]["cells"][:2]))
    yield f"Jacobi iteration, {size}, float64, ms (GB/s; GFLOP/s):\n"
    yield from table(["backend", "variant", *names],
                     [[*way, *(f"{kernels[name]['ms']:.4f} ({kernels[name]['bandwidth_GBs']:.0f}; "
                               f"{kernels[name]['GFLOPs']:.1f})" for name in names)]
                      for way, kernels in ways.items()])


def energy_table(rows):
    lines = []
    for kind, precision, dims, radius, published in PUBLISHED_PER_WATT:
        kernels = [row for row in rows if row["kind"] == kind and row["precision"] == precision and
                   row["radius"] == radius and dimensions(row) == dims]
        if not kernels:
            continue
        ours = next(row for row in kernels if row["kernel"] == "production")
        theirs = min((row for row in kernels if row is not ours), key=lambda row: row["ms"])
        words = [f"{row['Mupdates_per_J']:.1f} ({row['watts']:.0f} W)" if row["Mupdates_per_J"]
                 else row["energy_why"] for row in (theirs, ours)]
        lines.append([f"{kind} {dims}D", precision, radius, published, theirs["kernel"], *words])
    yield "Million updates per joule:\n"
    yield from table(["case", "precision", "radius", "A100 | V100 | MI250X GCD | MI100",
                      "fastest of the study", "its figure", "production"], lines)


def main():
    args = arguments()
    args.output.mkdir(parents=True, exist_ok=True)
    words = [word for radius in args.radius for word in ("--radius", radius)]
    words += ["--size", *map(str, args.size)] if args.size else []
    xcorr = bench(args, "xcorr", args.output / "xcorr.json", *words)
    small = [word for radius in args.radius if int(radius) <= 4 for word in ("--radius", radius)]
    diffusion = bench(args, "diffusion", args.output / "diffusion.json", *small,
                      *words[2 * len(args.radius):])
    # always every backend: the study compares them
    jacobi = bench(argparse.Namespace(**{**vars(args), "backend": "auto"}), "jacobi",
                   args.output / "jacobi.json", *words[2 * len(args.radius):])
    size = args.size or [256, 256, 256]
    step = bench(args, "kernels", args.output / "step.json", "--kernel", "production", "--size",
                 *map(str, size))
    torch = torch_times(args)
    (args.output / "torch.json").write_text(json.dumps(torch, indent=1) + "\n")
    lines = [f"# The stencil studies on {xcorr['device']}", "",
             *xcorr_tables(xcorr["rows"]), *diffusion_tables(diffusion["rows"], torch["rows"])]
    lines += ["The solver's time step, radius 1 in 3D with six boundary faces:", "",
              *table(["precision", "cells", "ms", "% of copy"],
                     [[row["precision"], "x".join(map(str, row["cells"])), f"{row['ms']:.4f}",
                       f"{row['percent_of_copy']:.1f}"] for row in step["rows"]])]
    lines += jacobi_table(jacobi["rows"])
    lines += energy_table([*xcorr["rows"], *diffusion["rows"]])
    if "why" in torch:
        lines.append(f"PyTorch: {torch['why']}.")
    (args.output / "studies.md").write_text("\n".join(lines) + "\n")
    print(f"wrote {args.output}/studies.md")


if __name__ == "__main__":
    main()
