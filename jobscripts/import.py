#!/usr/bin/env python3
"""The inputs of HotSpot and 3D-ICE as a configuration: `isotherm import`.

    python3 jobscripts/import.py build/cpu/isotherm ev6.flp gcc.ptrace hotspot.config

The program has this script inside and starts it. Formats: github.com/uvahotspot/HotSpot (version 7)
and github.com/esl-epfl/3d-ice (version 3).
"""
import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Resin fills the grid beside layers that are smaller than others: with air multigrid needs twice as
# many cycles. With 0.2 or 4 W/(m K) temperatures of the ev6 differ by at most 0.003 K.
FILLER = ((1.0,) * 3, 1.8e6)


class Refused(Exception):
    """A message for the user, which begins with file:line."""


@dataclass
class Block:
    name: str
    boxes: list                      # of x0, y0, x1, y1, m
    power: list = field(default_factory=list)   # W, per interval of time
    material: tuple = None


@dataclass
class Layer:
    name: str
    height: float
    material: tuple                  # conductivities in W/(m K), J/(m^3 K)
    size: tuple                      # m
    blocks: list = field(default_factory=list)
    heated: bool = False


@dataclass
class Stack:
    layers: list                     # upwards
    faces: dict                      # z_min, z_max: coefficient, ambient
    chip: tuple                      # m; its lower corner is the origin
    cells: tuple                     # of the chip
    start: float                     # K
    interval: float = 0              # s, of the powers; 0: steady
    notes: list = field(default_factory=list)


def number(word, where, least=None):
    try:
        value = float(word)
    except ValueError:
        raise Refused(f"{where}: '{word}' is not a number") from None
    if value != value or abs(value) > 1e30 or (least is not None and value < least):
        raise Refused(f"{where}: {word} is out of range")
    return value


def text_of(path):
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {error}") from None


def rows_of(path):
    """(file:line, words) of lines that are not empty; # begins a comment."""
    lines = text_of(path).splitlines()
    rows = [(f"{path}:{n}", line.split("#")[0].split()) for n, line in enumerate(lines, 1)]
    return [row for row in rows if row[1]]


# ---- HotSpot -------------------------------------------------------------------------------------

def read_materials(path):
    """name, solid or fluid, conductivity, heat capacity per volume, and a viscosity of fluids."""
    found, rows = {}, iter(rows_of(path))
    for where, (name, *_) in rows:
        try:
            kind = next(rows)
            k, c = (number(words[0], at, 1e-9) for at, words in (next(rows), next(rows)))
            if kind[1][0] == "fluid":
                next(rows)
        except (StopIteration, RuntimeError):
            raise Refused(f"{where}: the material {name} is incomplete") from None
        found[name] = ((k,) * 3, c)
    return found


def read_floorplan(path):
    """name, width, height, x, y, maybe rho c and resistivity: the blocks, the size of the chip."""
    blocks = []
    for where, words in rows_of(path):
        if len(words) not in (5, 7):
            raise Refused(f"{where}: {len(words)} words; 5 or 7 are needed: name, width, height, "
                          "left x, bottom y, heat capacity and resistivity")
        width, height, x, y = (number(word, where, 0) for word in words[1:5])
        if not (width > 0 and height > 0):
            raise Refused(f"{where}: {words[0]} has no area")
        block = Block(words[0], [(x, y, x + width, y + height)])
        if len(words) == 7:
            block.material = ((1 / number(words[6], where, 1e-9),) * 3, number(words[5], where, 1))
        blocks.append(block)
    if not blocks:
        raise Refused(f"{path}:1: no block")
    return blocks, tuple(max(block.boxes[0][n] for block in blocks) for n in (2, 3))


def read_trace(path, layers):
    (where, names), *rows = rows_of(path) or [(f"{path}:1", [])]
    heated = [block for layer in layers if layer.heated for block in layer.blocks]
    blocks = {block.name: block for block in heated}
    for name in [*names, *blocks]:
        if names.count(name) != 1 or [block.name for block in heated].count(name) != 1:
            raise Refused(f"{where}: give {name} once here, and once in the floorplans")
    for at, words in rows:
        if len(words) != len(names):
            raise Refused(f"{at}: {len(words)} numbers for {len(names)} blocks")
        for name, word in zip(names, words):
            blocks[name].power.append(number(word, at))
    if not rows:
        raise Refused(f"{where}: no row of powers")


def read_layers(path, materials):
    """number, lateral flow, power, heat capacity and resistivity or a material, thickness,
    floorplan: a line each."""
    layers, rows = {}, iter(rows_of(path))
    for where, (index, *_) in rows:
        try:
            (at, lateral), (_, power), (of, heat) = next(rows), next(rows), next(rows)
            if lateral[0] not in "Yy":
                raise Refused(f"{at}: layers without lateral flow are not supported")
            if heat[0] in materials:
                material = materials[heat[0]]
            else:
                c = number(heat[0], of, 1)
                of, resistivity = next(rows)
                material = ((1 / number(resistivity[0], of, 1e-9),) * 3, c)
            (of, height), (at, plan) = next(rows), next(rows)
        except StopIteration:
            raise Refused(f"{where}: layer {index} is incomplete") from None
        if not plan[0].endswith(".flp"):
            raise Refused(f"{at}: {plan[0]}: microchannels are not supported")
        blocks, size = read_floorplan(Path(path).parent / plan[0])
        layers[number(index, where, 0)] = Layer(f"layer {index}", number(height[0], of, 1e-9),
                                                material, size, blocks, power[0] in "Yy")
    return [layers[index] for index in sorted(layers)]


def cells_for(spans, length, least, most):
    """The number of cells that fits the widths of blocks best, and the largest misfit in %."""
    def misfit(count):
        h = length / count
        return max(abs((round(b / h) - round(a / h)) * h / (b - a) - 1) for a, b in spans)
    count = min(range(least, most + 1), key=misfit)
    return count, 100 * misfit(count)


def read_hotspot(files, arguments):
    for needed in (".config", ".ptrace"):
        if needed not in files:
            raise Refused(f"give the {needed} file of HotSpot, too")
    config = {words[0].lstrip("-"): (where, words[-1])
              for where, words in rows_of(files[".config"])}

    def value(key, least=1e-12):
        if key not in config:
            raise Refused(f"{files['.config']}: -{key} is missing")
        return number(config[key][1], config[key][0], least)

    for key, what in (("model_secondary", "the secondary heat path"), ("leakage_used", "leakage"),
                      ("package_model_used", "the package model"), ("dtm_used", "DTM"),
                      ("use_microfluidic_cooling", "microchannels")):
        if key in config and value(key, 0) != 0:
            raise Refused(f"{config[key][0]}: {what} (-{key}) is not supported")

    materials = read_materials(files[".materials"]) if ".materials" in files else {}

    def solid(name):
        _, material = config.get(f"material_{name}", ("", ""))
        if material in materials and f"k_{name}" not in config:
            return materials[material]
        return ((value(f"k_{name}"),) * 3, value(f"p_{name}"))

    if ".lcf" in files:
        layers = read_layers(files[".lcf"], materials)
    elif ".flp" in files:
        blocks, size = read_floorplan(files[".flp"])
        layers = [Layer("silicon", value("t_chip"), solid("chip"), size, blocks, True),
                  Layer("TIM", value("t_interface"), solid("interface"), size)]
    else:
        raise Refused("give the .flp or the .lcf file of HotSpot, too")
    read_trace(files[".ptrace"], layers)
    for name in ("spreader", "sink"):
        side = value(f"s_{name}")
        if side < max(layers[-1].size) - 1e-9:
            raise Refused(f"{config[f's_{name}'][0]}: the {name} is smaller than what it cools")
        layers.append(Layer(name, value(f"t_{name}"), solid(name), (side, side)))
    size, ambient = layers[0].size, value("ambient")
    cells, fits = arguments.cells or 64, []
    for n in (0, 1):
        spans = [(block.boxes[0][n], block.boxes[0][n + 2]) for layer in layers if layer.heated
                 for block in layer.blocks]
        least = max(1, round(cells * size[n] / size[0]))
        fits.append(cells_for(spans, size[n], least, least if arguments.cells else least * 3 // 2))
    return Stack(layers, {"z_max": (1 / (value("r_convec") * value("s_sink")**2), ambient)}, size,
                 tuple(count for count, _ in fits), value("init_temp") if arguments.transient else
                 ambient, value("sampling_intvl") if arguments.transient else 0,
                 ["spreader and sink have cells; HotSpot one node over a height, and one per rim",
                  "power heats the cells farthest from the sink, where HotSpot has its node",
                  "the cells of a block, which have its power, differ from its width and height by "
                  "up to {:.0f} and {:.0f} %".format(*(off for _, off in fits)),
                  "r_convec acts evenly on the sink; its c_convec is left out"])


# ---- 3D-ICE --------------------------------------------------------------------------------------

def statements(path):
    """[(file:line, header words, [(file:line, words)])]; `//` and `/* */` are comments."""
    text = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group()),
                  text_of(path), flags=re.S)
    text = re.sub(r"//.*", "", text)
    found, end = [], 0
    for match in re.finditer(r"([^;:]*)([;:])", text):
        words = re.sub(r"[,()\"]", " ", match.group(1)).split()
        end = match.end()
        first = match.start() + len(match.group(1)) - len(match.group(1).lstrip())
        where = f"{path}:{text.count(chr(10), 0, first) + 1}"
        if words[:1] == ["output"]:
            return found
        if match.group(2) == ":":
            found.append((where, words, []))
        elif not found or not words:
            raise Refused(f"{where}: a statement without a section")
        else:
            found[-1][2].append((where, words))
    if text[end:].strip():
        raise Refused(f"{path}:{text.rstrip().count(chr(10)) + 1}: ';' is missing at the end")
    return found


def unknown(where, words):
    return Refused(f"{where}: '{' '.join(words)}' is not supported")


def read_ice_floorplan(path, materials, slots):
    """Boxes of blocks in um, powers in W."""
    blocks = []
    for where, words, lines in statements(path):
        block, corner = Block(" ".join(words), []), None
        for at, (key, *rest) in lines:
            if key in ("position", "dimension", "rectangle"):
                sizes = [number(word, at, 0) * 1e-6 for word in rest]
                if len(sizes) != (4 if key == "rectangle" else 2):
                    raise unknown(at, [key, *rest])
                if key == "position":
                    corner = sizes
                    continue
                if key == "dimension" and corner is None or 0 in sizes[-2:]:
                    raise Refused(f"{at}: {block.name} has no area, or no position before it")
                x, y, dx, dy = sizes if key == "rectangle" else [*corner, *sizes]
                block.boxes.append((x, y, x + dx, y + dy))
            elif key == "power" and rest[:1] == ["values"]:
                block.power = [number(word, at) for word in rest[1:]]
            elif key == "material" and len(rest) == 1 and rest[0] in materials:
                block.material = materials[rest[0]]
            elif key != "discretization":
                raise unknown(at, [key, *rest])
        if not block.boxes or not block.power:
            raise Refused(f"{where}: {block.name} has no area, or no power values")
        if slots and slots != len(block.power):
            raise Refused(f"{where}: {block.name} has {len(block.power)} power values, "
                          f"blocks before it {slots}")
        slots = len(block.power)
        blocks.append(block)
    if not blocks:
        raise Refused(f"{path}:1: no block")
    return blocks, slots


def read_ice(path, arguments):
    materials, single, dies, faces, order, um = {}, {}, {}, {}, [], 1e-6
    sizes, times, start, slots = {}, {}, 300.0, None
    for where, header, lines in statements(path):
        kind, name = header[0] if header else "", header[-1] if header else ""
        found = {" ".join(word for word in words if not re.match(r"[-+.\d]", word)):
                 [number(word, at) for word in words if re.match(r"[-+.\d]", word)]
                 for at, words in lines if kind in ("material", "top", "bottom", "solver")}
        try:
            if kind == "material":
                k = [value * 1e6 for value in found["thermal conductivity"]]
                materials[name] = (tuple(k * 3 if len(k) == 1 else k),
                                   found["volumetric heat capacity"][0] * 1e18)
            elif header[1:] == ["heat", "sink"] and kind in ("top", "bottom"):
                faces["z_max" if kind == "top" else "z_min"] = (
                    found["heat transfer coefficient"][0] * 1e12, found["temperature"][0])
            elif kind == "dimensions":
                for at, words in lines:
                    if words[0] in ("chip", "cell") and words[1::2] == ["length", "width"]:
                        sizes[words[0]] = [number(word, at, 1e-6) * um for word in words[2::2]]
            elif kind == "layer":
                values = {words[0]: words[-1] for _, words in lines}
                single[name] = [(number(values["height"], where, 1e-6) * um,
                                 materials[values["material"]], False)]
            elif kind == "die":
                dies[name] = []
                for at, words in lines:
                    if len(words) != 3 or words[0] not in ("layer", "source"):
                        raise unknown(at, words)
                    dies[name].append((number(words[1], at, 1e-6) * um, materials[words[2]],
                                       words[0] == "source"))
            elif kind == "solver":
                for key, values in found.items():
                    if key == "transient step slot" and values[1] > 0:
                        times["slot"] = values[1]
                    elif key.startswith("transient"):
                        raise Refused(f"{where}: transient needs a step and a slot above 0")
                    start = values[0] if key == "initial temperature" else start
            elif kind == "stack":
                order = lines
            else:
                raise unknown(where, header)
        except (KeyError, IndexError) as error:
            raise Refused(f"{where}: {' '.join(header)}: {error} is missing or unknown") from None
    if sorted(sizes) != ["cell", "chip"] or not order:
        raise Refused(f"{path}: dimensions (chip, cell) or the stack are missing")
    chip, layers = tuple(sizes["chip"]), []
    for at, words in order:
        if words[0] == "layer" and words[-1] not in single and len(words) > 2:
            words = words[:3]
        if words[0] not in ("die", "layer") or len(words) < 3:
            raise unknown(at, words)
        parts = (dies if words[0] == "die" else single).get(words[2])
        if parts is None:
            raise Refused(f"{at}: {words[2]} is unknown")
        for height, material, heated in parts:
            layer = Layer(words[1], height, material, chip, heated=heated)
            if heated:
                if words[3:4] != ["floorplan"] or len(words) < 5:
                    raise unknown(at, words)
                layer.blocks, slots = read_ice_floorplan(Path(path).parent / words[4], materials,
                                                         slots)
                for block in layer.blocks:
                    block.name = f"{words[1]}_{block.name}"
            layers.insert(0, layer)
    if not faces:
        raise Refused(f"{path}: no heat sink")
    cells = ([arguments.cells, max(1, round(arguments.cells * chip[1] / chip[0]))]
             if arguments.cells else [max(1, round(a / b)) for a, b in zip(chip, sizes["cell"])])
    for block in (block for layer in layers for block in layer.blocks if "slot" not in times):
        block.power = block.power[:1]   # as 3D-ICE
    return Stack(layers, faces, chip, tuple(cells), start, times.get("slot", 0))


# ---- the configuration ---------------------------------------------------------------------------

def digits(value):
    return f"{value:.10g}" if abs(value) > 1e-12 else "0"


def words_of(values):
    return "[" + ", ".join(digits(value) for value in values) + "]"


def segments(chip, widths, cells):
    """The lower end, and segments of equal cells: those of the chip, and larger ones around it."""
    sides = sorted({round((width - chip) / 2, 12) for width in widths} | {0.0})
    around = [(outer - inner, max(1, round((outer - inner) / (3.0**(n + 1) * chip / cells))))
              for n, (inner, outer) in enumerate(zip(sides, sides[1:]))]
    at, rows = -sides[-1], []
    for length, count in [*reversed(around), (chip, cells), *around]:
        at += length
        rows.append(f"{{to: {digits(at)}, cells: {count}}}")
    return -sides[-1], rows


def box_words(corner, low, high):
    return (f"lower: {words_of([*corner[:2], low])}, upper: {words_of([*corner[2:], high])}")


def table(block, stack, folder):
    if not stack.interval:
        return sum(block.power) / len(block.power), ""
    folder.mkdir(exist_ok=True)
    path = folder / (re.sub(r"[^\w-]", "_", block.name) + ".csv")
    path.write_text("".join(f"{digits(row * stack.interval)},{value!r}\n" for row, value in
                            enumerate(block.power)), encoding="utf-8")
    return 1, f", factor: {{file: {folder.name}/{path.name}, between: steps}}"


def configuration(stack, arguments, files, powers):
    names, target = {}, Path(arguments.output)

    def name_of(material, wish):
        wish = re.sub(r"\W", "_", wish)
        while wish in names.values():
            wish += "_"
        return names.setdefault(material, wish)

    per_layer = arguments.layer_cells or (1 if ".stk" in files else 4)
    x, y = (segments(stack.chip[n], [layer.size[n] for layer in stack.layers], stack.cells[n])
            for n in (0, 1))
    parts, sources, points, z, at = [], [], [], [], 0.0
    if any(layer.size != stack.layers[-1].size for layer in stack.layers):
        parts.append(f"uniform: {{material: {name_of(FILLER, 'resin')}}}")
    for layer in stack.layers:
        top = at + layer.height
        z.append(f"{{to: {digits(top)}, cells: {per_layer}}}   # {layer.name}")
        edge = [(chip - size) / 2 for chip, size in zip(stack.chip, layer.size)]
        corner = (*edge, *(low + size for low, size in zip(edge, layer.size)))
        parts.append(f"box: {{{box_words(corner, at, top)}, "
                     f"material: {name_of(layer.material, layer.name)}}}")
        heated_to = at + layer.height / per_layer
        for block in layer.blocks:
            if block.material and block.material != layer.material:
                parts += [f"box: {{{box_words(box, at, top)}, "
                          f"material: {name_of(block.material, block.name)}}}"
                          for box in block.boxes]
            if not layer.heated:
                continue
            areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in block.boxes]
            power, factor = table(block, stack, powers)
            label = re.sub(r"[^\w-]", "_", block.name)
            sources += [f"box: {{{box_words(box, at, heated_to)}, name: {label}, "
                        f"power: {digits(power * area / sum(areas))}{factor}}}"
                        for box, area in zip(block.boxes, areas) if power != 0]
            x0, y0, x1, y1 = block.boxes[0]
            points.append(f"{{name: {label}, "
                          f"at: {words_of([(x0 + x1) / 2, (y0 + y1) / 2, (at + heated_to) / 2])}}}")
        at = top
    faces = [f"{face}: " + ("{{type: convection, coefficient: {}, ambient: {}}}".format(
        *map(digits, stack.faces[face])) if face in stack.faces else "{type: flux, value: 0}")
             for face in ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")]
    slots = max(len(block.power) for layer in stack.layers for block in layer.blocks)
    every = f"interval: {digits(stack.interval)}" if stack.interval else "every: 1"
    lines = [f"# By isotherm import from {', '.join(Path(path).name for path in files.values())}.",
             *(f"# {note}." for note in stack.notes), f"title: {target.stem}",
             "grid:", "  cells: [1, 1, 1]   # the axes have segments",
             f"  lower: {words_of([x[0], y[0], 0])}"]
    for axis, rows in (("x", x[1]), ("y", y[1]), ("z", z)):
        lines += [f"  {axis}:", "    segments:", *(f"      - {row}" for row in rows)]
    lines += ["materials:   # density 1000: only its product with the heat capacity counts"]
    for (k, c), name in names.items():
        lines.append(f"  - {{name: {name}, density: 1000, heat_capacity: {digits(c / 1000)}, "
                     f"conductivity: {digits(k[0]) if len(set(k)) == 1 else words_of(k)}}}")
    lines += ["parts:", *(f"  - {part}" for part in parts), "sources:",
              *(f"  - {source}" for source in sources), "initial:",
              f"  - uniform: {{value: {digits(stack.start)}}}", "boundary:",
              *(f"  {face}" for face in faces), "time:"]
    lines += ([f"  end: {digits(slots * stack.interval)}", "  scheme: sts2", "  tolerance: 0.01"]
              if stack.interval else ["  steady: {temperature: 1.0e-5}"])
    lines += ["output:", f"  directory: out/{target.stem}", f"  history: {{{every}}}",
              "  probes:", f"    {every}", "    points:", *(f"      - {point}" for point in points),
              f"  snapshots: {{{every}{', derived: [material]' if len(names) > 1 else ''}}}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", default="imported.yaml")
    parser.add_argument("--cells", type=int, default=0)
    parser.add_argument("--layer-cells", type=int, default=0)
    parser.add_argument("--transient", action="store_true")
    arguments = parser.parse_args()
    try:
        files = {}
        for path in arguments.files:
            ending = Path(path).suffix
            if ending not in (".stk", ".flp", ".ptrace", ".config", ".lcf", ".materials"):
                raise Refused(f"{path}: valid endings: .stk .flp .ptrace .config .lcf .materials")
            if ending in files:
                raise Refused(f"{path}: {files[ending]} has the same ending")
            files[ending] = path
        target = Path(arguments.output)
        if target.exists():
            raise Refused(f"{target} exists already; give another --output")
        stack = (read_ice(files[".stk"], arguments) if ".stk" in files else
                 read_hotspot(files, arguments))
        powers = target.with_name(f"{target.stem}_power")
        if stack.interval and powers.exists():
            raise Refused(f"{powers} exists already; give another --output")
        target.write_text(configuration(stack, arguments, files, powers), "utf-8")
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("".join(f"note: {note}\n" for note in stack.notes), end="")
    print(f"wrote {arguments.output}; next: isotherm run {arguments.output}", flush=True)
    return subprocess.run([arguments.program, "check", arguments.output], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
