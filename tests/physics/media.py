"""Random problems with several materials; media_solver.py solves them."""
import random

import numpy as np

from media_solver import Problem, Unphysical, classes_of, mask_of, names_of, source_mask
from problems import FACES

LENGTHS = [0.024, 0.031, 0.018]


# ---- the problem ---------------------------------------------------------------------------------

def some_material(rng, name):
    scale = 10.0 ** rng.uniform(-1, 2.3)
    conductivity = scale
    if rng.random() < 0.4:
        conductivity = [float(f"{scale * rng.uniform(0.2, 3):.5g}") for _ in range(3)]
    else:
        conductivity = float(f"{conductivity:.5g}")
    return {"name": name, "conductivity": conductivity,
            "density": float(f"{rng.uniform(600, 9000):.5g}"),
            "heat_capacity": float(f"{rng.uniform(300, 2500):.5g}")}


def some_part(rng, lengths, name):
    used = len(lengths)
    kind = rng.choice(["box", "sphere", "cylinder", "layer", "expression"])
    axis = rng.randrange(used)
    low, high = sorted(rng.uniform(0, lengths[axis]) for _ in range(2))
    center = [rng.uniform(0, length) for length in lengths]
    if kind == "box":
        lower = [rng.uniform(0, 0.7) * length for length in lengths]
        upper = [min(x + rng.uniform(0.1, 0.6) * length, length)
                 for x, length in zip(lower, lengths)]
        shape = {"lower": lower, "upper": upper}
    elif kind == "sphere":
        shape = {"center": center, "radius": rng.uniform(0.1, 0.5) * max(lengths)}
    elif kind == "cylinder":
        shape = {"axis": "xyz"[axis], "center": center,
                 "radius": rng.uniform(0.1, 0.5) * max(lengths)}
        if rng.random() < 0.5:
            shape["from"], shape["to"] = low, high
    elif kind == "layer":
        shape = {"axis": "xyz"[axis], "from": low, "to": high}
    else:
        shape = {"where": f"{'xyz'[axis]} < {low!r} + 0.3*{'xyz'[(axis + 1) % used]}"}
    return {kind: {**shape, "material": name}}


def some_source(rng, lengths, names):
    (kind, shape), = some_part(rng, lengths, "").items()
    del shape["material"]
    if rng.random() < 0.2:
        kind, shape = "uniform", {}
    if rng.random() < 0.3:
        shape["material"] = rng.choice(names)
    size = rng.choice([-1, 1, 1]) * 10.0 ** rng.uniform(4, 7)
    if rng.random() < 0.5:
        shape["density"] = float(f"{size:.5g}")
    else:
        shape["power"] = float(f"{size * 1e-4:.5g}")
    if rng.random() < 0.5:
        shape["factor"] = rng.choice(["1 + 0.3*sin(5*t)", 0.25, "exp(-t)"])
    return {kind: shape}


def some_moving_source(rng, lengths):
    """A beam or, in 3D, also a double ellipsoid, that moves by formulas of t; watts."""
    used = len(lengths)
    radii = [float(f"{length * rng.uniform(0.1, 0.3):.4g}") for length in lengths]
    shape = {"power": rng.choice([40.0, "30*(1 + sin(9*t))"]),
             "absorptivity": rng.choice([1.0, 0.35])}
    for axis, length in zip("xyz", lengths):
        at, speed = length * rng.uniform(0.2, 0.8), length * rng.uniform(-3, 3)
        shape[axis] = rng.choice([float(f"{at:.4g}"), f"{at:.4g} + {speed:.4g}*t"])
    surface = rng.choice([f"{axis}_{side}" for axis in "xyz"[:used] for side in ("min", "max")])
    if rng.random() < 0.5:
        shape["surface"] = surface
    if used == 3 and rng.random() < 0.5:
        names = ("front", "rear", "width", "depth")
        shape.update(zip(names, radii + [1.3 * radii[0]], strict=True))
        if rng.random() < 0.3:
            shape["front_share"] = 0.6
        return {"goldak": shape}
    return {"gaussian": {**shape, "radius": radii if rng.random() < 0.5 else radii[0]}}


def some_number(rng, low, high, rough):
    """A number, or a formula of t that stays between the bounds."""
    if rng.random() < 0.5:
        return round(rng.uniform(low, high), 3)
    middle, half = (low + high) / 2, (high - low) / 2 * rng.uniform(0.1, 1)
    return f"{middle:.6g} + {half:.6g}*sin({rough:.4g}*t)"


def some_face(rng, rough):
    kind = rng.choice(["temperature", "flux", "insulated", "convection", "radiation"])
    if kind == "temperature":
        return {"type": kind, "value": some_number(rng, 250, 450, rough)}
    if kind == "radiation":
        return {"type": kind, "emissivity": round(rng.uniform(0.01, 1), 3),
                "ambient": some_number(rng, 4, 1500, rough)}
    if kind == "convection":
        face = {"type": kind, "coefficient": some_number(rng, 0, 5000, 2 * rough),
                "ambient": some_number(rng, 250, 450, rough)}
        if rng.random() < 0.5:
            face["emissivity"] = round(rng.uniform(0.01, 1), 3)
            if rng.random() < 0.5:
                face["surroundings"] = some_number(rng, 4, 1500, rough)
        return face
    return {"type": "flux", "value": some_number(rng, -2e4, 2e4, rough) if kind == "flux" else 0.0}


def some_patch(rng, number, lengths, rough):
    """On a face whose coordinates have these names and lengths."""
    names = list(lengths)
    patch = {"name": f"p{number}"} if rng.random() < 0.5 else {}
    kind = rng.choice(["rectangle", "disc", "where"])
    if kind == "rectangle":
        lower = [rng.uniform(0, 0.7) * lengths[name] for name in names]
        upper = [x + rng.uniform(0.1, 0.6) * lengths[name] for x, name in zip(lower, names)]
        patch[kind] = {"lower": lower, "upper": upper}
    elif kind == "disc":
        patch[kind] = {"center": [rng.uniform(0, lengths[name]) for name in names],
                       "radius": rng.uniform(0.1, 0.6) * max(lengths.values())}
    else:
        most = rng.uniform(0.2, 0.9) * max(lengths.values())
        patch[kind] = f"{names[0]} + {names[-1]} < {most!r}"
    return {**patch, **some_face(rng, rough)}


def some_patches(rng, boundary, lengths):
    """On some closed faces."""
    number = 0
    for face, condition in boundary.items():
        if condition["type"] == "periodic" or len(lengths) == 1 or rng.random() < 0.4:
            continue
        along = {axis: length for axis, length in zip("xyz", lengths) if axis != face[0]}
        condition["patches"] = []
        for _ in range(rng.randint(1, 4)):
            condition["patches"].append(some_patch(rng, number, along, rng.uniform(0.1, 5)))
            number += 1


def some_problem(seed):
    """A configuration without time and output."""
    return draw_problem(random.Random(seed), seed)


def solved_problem(seed, steps, change=lambda config: config, solver=None, scale=1):
    """A configuration of so many steps, on a grid `scale` times as fine as some_problem's, changed
    by a function, and what a solver (the one below) makes of it. A draw in which a cell is below
    0 K after any step is rejected for the next one: radiation from such a cell has no meaning, and
    the program ends there with an error."""
    rng = random.Random(seed)
    while True:
        config = change(draw_problem(rng, seed, scale))
        problem = (solver or Problem)(config)
        dt = float(f"{0.9 * problem.stable_dt():.6g}")
        try:
            solution = problem.solve(dt, steps)
        except Unphysical:
            continue
        config["time"] = {"steps": steps, "dt": dt}
        return config, problem, solution


def draw_problem(rng, seed, scale=1):
    used = rng.choice([1, 2, 3, 3])
    most = {1: 60, 2: 24, 3: 15}[used]
    cells = [scale * rng.randint(2, most) for _ in range(used)]
    lengths = LENGTHS[:used]
    names = [f"m{n}" for n in range(rng.choice([1, 2, 2, 3, 5, 12, 40]))]
    parts = [{"uniform": {"material": names[0]}}]
    parts += [some_part(rng, lengths, rng.choice(names)) for _ in range(rng.randint(1, 3 * used))]
    if len(names) > 5:   # every class somewhere, cell by cell
        parts += [some_part(rng, lengths, name) for name in names]
    contacts = []
    npairs = rng.randint(0, 4) if len(names) > 1 else 0
    for pair in {tuple(sorted(rng.sample(range(len(names)), 2)))
                 for _ in range(npairs)}:
        contacts.append({"between": [names[pair[0]], names[pair[1]]],
                         "resistance": float(f"{10.0 ** rng.uniform(-6, -2):.4g}")})
    boundary = {}
    for axis in range(used):
        low, high = FACES[2 * axis], FACES[2 * axis + 1]
        if rng.random() < 0.25:
            boundary[low], boundary[high] = {"type": "periodic"}, {"type": "periodic"}
        else:
            boundary[low], boundary[high] = some_face(rng, 3.0), some_face(rng, 0.7)
    some_patches(rng, boundary, lengths)
    config = {
        "title": f"random materials {seed}",
        "grid": {"cells": cells, "lower": [0.0] * used, "upper": lengths},
        "materials": [some_material(rng, name) for name in names],
        "parts": parts,
        "initial": [{"uniform": {"value": 300.0}},
                    {"layer": {"axis": "x", "from": 0.0, "to": 0.4 * lengths[0], "value": 400.0}},
                    {"sphere": {"center": [0.6 * x for x in lengths],
                                "radius": 0.3 * lengths[0], "value": 351.25}}],
        "boundary": boundary,
        "run": {"precision": "float64"},
    }
    if contacts:
        config["contacts"] = contacts
    add_sources(config, rng)
    leave_out_what_has_no_cells(config)
    return config


def leave_out_what_has_no_cells(config):
    """Parts, contacts and patches, which the program would refuse. Nothing else changes."""
    names = [material["name"] for material in config["materials"]]
    problem = Problem(config)

    def has_cells(part):
        (kind, shape), = part.items()
        left = kind != "expression" or (problem.classes == names.index(shape["material"])).any()
        return left and mask_of(config, kind, shape).any()

    def meet(contact):
        a, b = (names.index(name) for name in contact["between"])
        return any(((problem.classes == a) & (problem.neighbours(axis, shift) == b)).any()
                   for axis in range(len(problem.h)) for shift in (1, -1))

    config["parts"] = [part for part in config["parts"] if has_cells(part)]
    for n, face in enumerate(problem.faces):
        if "patches" in face:
            numbers = problem.patches(n // 2, -1 if n % 2 else 1)
            kept = [patch for number, patch in enumerate(face.pop("patches"), 1)
                    if (numbers == number).any()]
            face.update({"patches": kept} if kept else {})
    contacts = [contact for contact in config.pop("contacts", []) if meet(contact)]
    if contacts:
        config["contacts"] = contacts


def add_sources(config, rng):
    """To most problems: shapes that have cells."""
    names = [material["name"] for material in config["materials"]]
    classes = classes_of(config)
    sources = [some_source(rng, config["grid"]["upper"], names)
               for _ in range(rng.choice([0, 1, 3, 6]))]
    sources = [source for source in sources if source_mask(config, source, classes).any()]
    sources += [some_moving_source(rng, config["grid"]["upper"])
                for _ in range(rng.choice([0, 0, 1, 2]))]
    if sources:
        config["sources"] = sources


def with_sources_of_temperature(config, seed):
    """Sources of a fixed shape get densities over temperature."""
    rng = random.Random(seed)
    for source in config.get("sources", []):
        (kind, shape), = source.items()
        if kind in ("gaussian", "goldak") or rng.random() < 0.2:
            continue
        if "density" in shape and rng.random() < 0.3:
            shape["profile"] = "0.5 + 40*x - sqrt(2*y + 0.003)"
            continue
        scale = rng.choice([-1, 1, 1]) * abs(shape.pop("power", 0) * 1e4 or shape["density"])
        nodes = sorted(rng.sample(range(260, 460), rng.choice([2, 3, 6])))
        shape["density"] = [[at, float(f"{scale * rng.uniform(0.1, 2):.5g}")] for at in nodes]
        shape["density"].append([4000.0, shape["density"][-1][1]])
        if isinstance(shape.get("factor"), str):
            shape["factor"] = 0.6
    return config


def with_factors(config, seed, folder):
    """Properties of some materials vary from cell to cell, by a formula or a file."""
    rng = random.Random(seed)
    shape = config["grid"]["cells"][::-1]
    for number, material in enumerate(config["materials"][:3]):
        if number > 0 and rng.random() < 0.4:
            continue
        material["conductivity_factor"] = {"formula": "1.2 + sin(400*x + 300*y - 170*z)"}
        if seed % 3 < 2:
            path = folder / f"factor{seed}_{number}.npy"
            values = np.random.default_rng(seed).uniform(0.2, 3, shape)
            np.save(path, values.astype(rng.choice(["<f4", "<f8"])))
            material["heat_capacity_factor"] = {"path": str(path)}
    return config


def with_factors_of_many_sizes(config, seed, folder):
    """Without sources where the heat capacity varies, since these are refused."""
    config = with_factors(with_many_sizes(config, seed), seed, folder)
    if any("heat_capacity_factor" in material for material in config["materials"]):
        config.pop("sources", None)
    return config


def with_face_factors(config, seed, folder):
    """The numbers of most faces and patches get factors of their cells, by a formula or a file,
    fixed or varying in time, or become formulas of place and time."""
    rng = random.Random(seed)
    boundary, cells = config["boundary"], config["grid"]["cells"]
    conditions = [(face, condition) for face, of_face in boundary.items()
                  for condition in [of_face, *of_face.get("patches", [])]]
    for number, (face, condition) in enumerate(conditions):
        shape = [n for axis, n in zip("xyz", cells) if axis != face[0]][::-1] or [1]
        for key in ("value", "coefficient", "ambient"):
            if key not in condition or rng.random() < 0.2:
                continue
            formula, kind = "1.1 + 0.3*sin(400*x + 300*y - 170*z)", rng.randrange(5)
            if kind > 2:
                formula = formula[:-1] + f" + {rng.uniform(1, 30):.4g}*t)"
            if kind == 4:
                condition[key] = f"({condition[key]})*({formula})"
                continue
            if kind % 3 == 0:
                condition[f"{key}_factor"] = {"formula": formula}
                continue
            path = folder / f"{face}{seed}_{number}_{key}.npy"
            series = [2, *[n for n in shape if n > 1]] if kind == 2 else shape
            values = np.random.default_rng(seed + number).uniform(0.6, 1.4, series)
            np.save(path, values.astype(rng.choice(["<f4", "<f8"])))
            condition[f"{key}_factor"] = {"path": str(path)}
            if kind == 2:   # beyond the run: steps end at these times
                condition[f"{key}_factor"]["times"] = [0.0, 1e4]
    return config


def with_graded_axes(config, seed):
    """Some axes get cells of a few widths. What is not possible on them is left out."""
    rng = random.Random(seed)
    grid = config["grid"]
    used = len(grid["cells"])
    most = 3 if len(config["materials"]) > 5 or len(config.get("sources", [])) > 3 else 8
    for axis in rng.sample(range(used), rng.randint(1, used)):
        cells, length = grid["cells"][axis], grid["upper"][axis]
        kinds = rng.randint(1, max(most, 1))
        most //= kinds
        some = [10.0 ** rng.uniform(-0.7, 0.7) for _ in range(kinds)]
        sizes = [rng.choice(some) for _ in range(cells)]
        scale = length / sum(sizes)
        edges = [scale * sum(sizes[:n]) for n in range(cells)] + [length]
        grid["xyz"[axis]] = {"edges": edges}
    return leave_out_what_a_grid_cannot_have(config)


def with_many_sizes(config, seed):
    """Each cell of each axis has a width of its own; every other problem one material. Grids have
    more sizes of cells than classes where there are enough of them."""
    rng = random.Random(seed)
    grid = config["grid"]
    if seed % 4 < 2:
        config["materials"] = config["materials"][:1]
        name = config["materials"][0]["name"]
        config["parts"] = [{"uniform": {"material": name}}]
        config.pop("contacts", None)
        for source in config.get("sources", []):
            next(iter(source.values())).pop("material", None)
    for axis, (cells, length) in enumerate(zip(grid["cells"], grid["upper"])):
        sizes = [10.0 ** rng.uniform(-0.5, 0.5) for _ in range(cells)]
        scale = length / sum(sizes)
        grid["xyz"[axis]] = {"edges": [scale * sum(sizes[:n]) for n in range(cells)] + [length]}
    return leave_out_what_a_grid_cannot_have(config)


def leave_out_what_a_grid_cannot_have(config):
    """A graded one."""
    config["sources"] = [source for source in config.get("sources", [])
                         if next(iter(source)) not in ("gaussian", "goldak")]
    leave_out_what_has_no_cells(config)
    classes = classes_of(config)
    config["initial"] = [entry for entry in config["initial"]
                         if mask_of(config, *next(iter(entry.items()))).any()]
    config["sources"] = [source for source in config["sources"]
                         if source_mask(config, source, classes).any()]
    if not config["sources"]:
        del config["sources"]
    return config


def with_a_radius(config, seed):
    """Problems on one or two axes become axisymmetric or spherical."""
    rng = random.Random(seed)
    grid, boundary = config["grid"], config["boundary"]
    if len(grid["cells"]) > 2 or len(config["materials"]) > 5:
        return config
    grid["geometry"] = "spherical" if len(grid["cells"]) == 1 and seed % 2 else "axisymmetric"
    start = rng.choice([0.0, 0.3]) * grid["upper"][0]
    step = (grid["upper"][0] - start) / grid["cells"][0]
    edges = [start + n * step for n in range(grid["cells"][0])] + [grid["upper"][0]]
    grid["x"], grid["lower"][0] = {"edges": edges}, start
    for face in ("x_min", "x_max"):
        if boundary[face]["type"] == "periodic" or (face, start) == ("x_min", 0.0):
            boundary[face] = {"type": "flux", "value": 0.0}
    config["sources"] = config.get("sources", [])[:2]
    return leave_out_what_a_grid_cannot_have(config)


def with_ambients(config, seed):
    """Some of the materials, the last ones, become ambients with surfaces."""
    rng = random.Random(seed)
    materials = config["materials"]
    count = min(len(materials) - 1, rng.randint(1, 3))
    config["ambients"] = [{"name": m["name"], "temperature": round(rng.uniform(250, 450), 2)}
                          for m in materials[len(materials) - count:]]
    del materials[len(materials) - count:]
    outside = names_of(config)[len(materials):]
    names = [m["name"] for m in materials]
    config["contacts"] = [c for c in config.get("contacts", [])
                          if not set(c["between"]) & set(outside)]
    problem = Problem(config)
    config["surfaces"] = []
    for a, name in enumerate(names):
        for b, ambient in enumerate(outside, len(names)):
            meets = any(((problem.classes == a) & (problem.neighbours(axis, shift) == b)).any()
                        for axis in range(len(problem.h)) for shift in (1, -1))
            if meets and rng.random() < 0.8:
                between = [name, ambient] if rng.random() < 0.5 else [ambient, name]
                config["surfaces"].append({"between": between, "name": f"s{a}_{b}",
                                           "coefficient": rng.choice([0.0, 20.0, 3e3, 1e12]),
                                           "area": "cells"})
    config["sources"] = [
        source for source in config.get("sources", [])
        if next(iter(source.values())).get("material") not in outside and
        (next(iter(source)) in ("gaussian", "goldak") or
         (source_mask(config, source, problem.classes) & problem.body).any())]
    for key in ("contacts", "sources", "surfaces", "ambients"):
        if not config[key]:
            del config[key]
    return config


def ambients_anywhere(config, seed):
    """With graded axes, or around an axis or a point."""
    few = len(config["grid"]["cells"]) < 3 and len(config["materials"]) <= 5
    graded = with_a_radius if seed % 2 and few else with_graded_axes
    return with_ambients(graded(config, seed), seed)


def with_surfaces(config, seed):
    """Ambients with fluxes, radiation, held surfaces and numbers of time."""
    config = (ambients_anywhere if seed % 3 else with_ambients)(config, seed)
    rng = random.Random(seed + 1)
    for ambient in config.get("ambients", []):
        if rng.random() < 0.3:
            ambient["temperature"] = f"{ambient['temperature']} + 7*sin(3e3*t)"
    for surface in config.get("surfaces", []):
        kind = rng.choice(["flux", "radiation", "both", "held", "film"])
        if kind in ("flux", "both"):
            surface["flux"] = rng.choice([4e4, "2e4*(1 + sin(2e3*t))"])
        if kind in ("radiation", "both"):
            surface["emissivity"] = round(rng.uniform(0.1, 1), 3)
        if kind == "held":
            surface["temperature"] = rng.choice([350.0, "330 + 20*sin(1e3*t)"])
        if kind == "film":
            surface["coefficient"] = "500*(1.2 + sin(2e3*t))"
        if kind == "held" or (kind != "film" and rng.random() < 0.5):
            del surface["coefficient"]
    return config


def thick_body(radiates):
    """A body on three faces, which exchange heat, have a flux, and radiate or are held, between
    two ambients."""
    faces = [{"type": "temperature", "value": "500 + 50*sin(900*t)"},
             {"type": "flux", "value": 3e4}] * 2 + [
                 {"type": "convection", "coefficient": 4000, "ambient": 280},
                 {"type": "radiation", "emissivity": 0.8, "ambient": 1500} if radiates
                 else {"type": "temperature", "value": 900}]
    return {
        "grid": {"cells": [61, 52, 43], "upper": [0.061, 0.052, 0.043]},
        "materials": [{"name": "steel", "conductivity": 40, "density": 7800,
                       "heat_capacity": 500}],
        "ambients": [{"name": "air", "temperature": 300}, {"name": "oil", "temperature": 350}],
        "parts": [{"uniform": {"material": "air"}},
                  {"layer": {"axis": "x", "from": 0, "to": 0.02, "material": "oil"}},
                  {"sphere": {"center": [0.006, 0.047, 0.034], "radius": 0.039,
                              "material": "steel"}}],
        "surfaces": [{"between": ["steel", "air"], "coefficient": 2000},
                     {"between": ["steel", "oil"], "coefficient": 9000, "name": "wet"}],
        "initial": [{"uniform": {"value": 1000}},
                    {"sphere": {"center": [0.01, 0.04, 0.03], "radius": 0.01, "value": 1200}}],
        "boundary": dict(zip(("x_min", "x_max", "y_min", "y_max", "z_min", "z_max"), faces)),
        "time": {"steps": 13}}


def heated_body():
    """The same, with beams that move along its surfaces."""
    beam = {"power": 400.0, "radius": 8e-4, "y": "0.03 + 4e-3*sin(900*t)", "z": 0.02}
    return {**thick_body(False), "sources": [
        {"gaussian": {**beam, "x": "0.036 + 3e-3*sin(1100*t)"}},
        {"gaussian": {**beam, "x": 0.014, "y": 0.011, "z": "0.023 - 0.02*t",
                      "power": "300*sin(500*t)"}}]}
