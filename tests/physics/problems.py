"""Problems that several tests solve, and a plain solver in numpy to compare with.

The solver shares nothing with the program but the equations: closures as ghost cells, no fma,
no blocks. It agrees with the program to rounding, not bit for bit."""
import math

import numpy as np

from harness import cell_centers, diffusivity, short_dt, spacings

FACES = ["x_min", "x_max", "y_min", "y_max", "z_min", "z_max"]
STEPS = 41


def wavy(t):
    return 350 + 40 * math.sin(900 * t)


WAVY = "350 + 40*sin(900*t)"
HOT = {"type": "temperature", "value": 320.0}
MOVING = {"type": "temperature", "value": WAVY}
HEATED = {"type": "flux", "value": 4.0e4}
COOLED = {"type": "convection", "coefficient": 900.0, "ambient": 280.0}
AROUND = {"type": "periodic"}

# All four kinds in three dimensions; in fewer dimensions as many as there is room for.
MIXED = {1: [MOVING, COOLED], 2: [MOVING, COOLED, AROUND, AROUND],
         3: [MOVING, COOLED, AROUND, AROUND, HEATED, HOT]}
LENGTHS = [0.37, 0.31, 0.23]


def base(cells, closures):
    """A configuration with an uneven start (expression, sphere, box), time left out."""
    used = len(cells)
    lengths = LENGTHS[:used]
    return {
        "title": "test",
        "grid": {"cells": list(cells), "lower": [0.0] * used, "upper": lengths},
        "material": {"conductivity": 45.0, "density": 780.0, "heat_capacity": 490.0},
        "initial": [
            {"expression": {"value": "300 + 25*sin(17*x + 0.3)*cos(11*y) + 90*z*x + 7*y"}},
            {"sphere": {"center": [0.41 * x for x in lengths], "radius": 0.09, "value": 700.0}},
            {"box": {"lower": [0.517 * x for x in lengths], "upper": [0.813 * x for x in lengths],
                     "value": 211.1}},
        ],
        "boundary": dict(zip(FACES, closures)),
    }


def mixed(cells, precision="float64", closures=None):
    """41 steps, the last one shorter; history each 5, checkpoints each 16 and at the end."""
    config = base(cells, closures or MIXED[len(cells)])
    dt = short_dt(config, 0.87)
    config["time"] = {"end": float(f"{(STEPS - 1 + 0.37) * dt:.6g}"), "dt": dt}
    config["run"] = {"precision": precision}
    config["output"] = {"history": {"every": 5}, "checkpoints": {"every": 16, "keep": 4}}
    return config


def initial_state(config):
    """What base() describes, (nz, ny, nx)."""
    x, y, z = cell_centers(config)
    field = 300 + 25 * np.sin(17 * x + 0.3) * np.cos(11 * y) + 90 * z * x + 7 * y
    _, sphere, box = (next(iter(entry.values())) for entry in config["initial"])
    used = len(config["grid"]["cells"])
    distance2 = sum((c - s)**2 for c, s in zip((x, y, z)[:used], sphere["center"]))
    field = np.where(distance2 <= sphere["radius"]**2, sphere["value"], field)
    inside = np.ones(field.shape, bool)
    for c, low, high in zip((x, y, z)[:used], box["lower"], box["upper"]):
        inside &= (c >= low) & (c < high)
    return np.where(inside, box["value"], field)


def outside(closure, edge, opposite_edge, h, conductivity, t):
    """The layer of values beyond a face; `edge` is the layer inside it."""
    kind = closure["type"]
    if kind == "temperature":
        value = wavy(t) if closure["value"] == WAVY else closure["value"]
        return 2 * value - edge
    if kind == "flux":
        return edge + closure["value"] * h / conductivity
    if kind == "convection":
        film = closure["coefficient"] * h
        return (((2 * conductivity - film) * edge + 2 * film * closure["ambient"]) /
                (2 * conductivity + film))
    return opposite_edge


def reference(config, field, steps):
    """Advance `field` by forward Euler over steps [(t, dt), ...].
    Returns the field and the heat that came in through the faces, J."""
    material = config["material"]
    capacity = material["density"] * material["heat_capacity"]
    h = spacings(config)
    volume = math.prod(h)
    came_in = 0.0
    for t, dt in steps:
        change = np.zeros_like(field)
        for axis, spacing in enumerate(h):
            number = diffusivity(config) * dt / spacing**2
            along = 2 - axis
            first, last = field.take([0], along), field.take([-1], along)
            low, high = (config["boundary"][FACES[2 * axis + side]] for side in (0, 1))
            below = outside(low, first, last, spacing, material["conductivity"], t)
            above = outside(high, last, first, spacing, material["conductivity"], t)
            padded = np.concatenate([below, field, above], along)
            change += number * np.diff(padded, 2, along)
            if low["type"] != "periodic":
                came_in += capacity * volume * number * float((below - first).sum())
                came_in += capacity * volume * number * float((above - last).sum())
        field = field + change
    return field, came_in


def step_list(config):
    """[(t, dt), ...] of mixed(): whole steps and a shorter last one."""
    dt, end = config["time"]["dt"], config["time"]["end"]
    return [(n * dt, dt) for n in range(STEPS - 1)] + [((STEPS - 1) * dt, end - (STEPS - 1) * dt)]
