"""Problems that have a steady state, and their direct solution."""
import numpy as np

from media_solver import Problem, source_mask

FLUX = {"type": "flux", "value": 0}


def layered(cells, upper, jump=50):
    """Anisotropy, contacts, sources, patches, and each linear kind of boundary."""
    materials = [{"name": "a", "conductivity": 1.0, "density": 1000, "heat_capacity": 900},
                 {"name": "b", "conductivity": [jump, 0.5 * jump, 0.2 * jump], "density": 2500,
                  "heat_capacity": 700},
                 {"name": "c", "conductivity": 4.0, "density": 1500, "heat_capacity": 1000}]
    middle = [0.5 * u for u in upper]
    box = {"lower": [0.3 * u for u in upper], "upper": [0.7 * u for u in upper]}
    config = {
        "title": "steady",
        "grid": {"cells": cells, "upper": upper},
        "materials": materials,
        "parts": [{"uniform": {"material": "a"}},
                  {"box": {**box, "material": "b"}},
                  {"layer": {"axis": "x", "from": middle[0], "to": 0.65 * upper[0],
                             "material": "c"}}],
        "contacts": [{"between": ["a", "b"], "resistance": 0.003}],
        "sources": [{"box": {**box, "density": 2e5}}],
        "initial": [{"uniform": {"value": 300}}],
        "boundary": {"x_min": {"type": "temperature", "value": 320},
                     "x_max": {"type": "convection", "coefficient": 40, "ambient": 290}},
        "time": {"steady": {"temperature": 1e-9}},
        "output": {"checkpoints": {"every": 1}},
    }
    if len(cells) > 1:
        config["boundary"].update(y_min={"type": "flux", "value": 150}, y_max=dict(FLUX))
    if len(cells) > 2:
        patch = {"type": "temperature", "value": 350, "rectangle": {
            "lower": [0.2 * u for u in upper[:2]], "upper": [0.6 * u for u in upper[:2]]}}
        config["boundary"].update(z_min={**FLUX, "patches": [patch]},
                                  z_max={"type": "convection", "coefficient": 15, "ambient": 300})
    return config


def steep(cells, upper):
    """Smoothed before and after coarser grids."""
    return layered(cells, upper, jump=5000)


def cellwise(cells, conductivities):
    """Each cell is of one of these materials: a fraction of a sine of its indices chooses it."""
    count = len(conductivities)
    phase = " + ".join(f"{by}*rint({n}*{axis} - 0.5)"
                       for by, n, axis in zip((12.9898, 78.233, 37.719), cells, "xyz"))
    config = layered(cells, [1] * len(cells))
    config["materials"] = [{"name": f"m{n}", "conductivity": k, "density": 1000,
                            "heat_capacity": 1000} for n, k in enumerate(conductivities)]
    config["parts"] = [{"uniform": {"material": "m0"}}] + [
        {"expression": {"where": f"cos(1e5*sin({phase})) < cos({n}/{count}*pi)",
                        "material": f"m{n}"}} for n in range(1, count)]
    del config["contacts"]
    return config


def factored(cells, upper):
    """The conditions of `layered` with factors of their cells, also in a patch."""
    config = layered(cells, upper)
    x_max, y_min, z_min, z_max = (config["boundary"][face]
                                  for face in ("x_max", "y_min", "z_min", "z_max"))
    x_max["coefficient_factor"] = {"formula": "1 + 30*y - 9*z"}
    x_max["ambient_factor"] = {"formula": "1 + y*z"}
    y_min["value_factor"] = {"formula": "9*z - 4*x"}
    z_min["patches"][0]["value_factor"] = {"formula": "1 + 0.5*x*y"}
    z_max["coefficient_factor"] = {"formula": "4000*(x - 0.05)*(x - 0.05)"}
    return config


def varied(cells, upper):
    """The same in materials whose properties vary from cell to cell."""
    config = (factored if len(cells) > 2 else layered)(cells, upper)
    a, b, c = config["materials"]
    where = "+".join(f"{n}*{axis}" for n, axis in zip((90, 70, 50), "xyz"[:len(cells)]))
    a["conductivity_factor"] = {"formula": f"exp(2*sin({where}))"}
    a["heat_capacity_factor"] = {"formula": f"1.5 + sin({where})"}
    b["heat_capacity_factor"] = {"formula": "0.2 + 30*x"}
    c["conductivity_factor"] = {"formula": "exp(40*x - 3)"}
    return config


def with_air(config, edges=None, geometry=None):
    """A hole in the body with surfaces; its x axis has these edges, or is a radius above 0."""
    hole = {"lower": [0.25 * u for u in config["grid"]["upper"]],
            "upper": [0.55 * u for u in config["grid"]["upper"]]}
    config["ambients"] = [{"name": "air", "temperature": 280}]
    config["parts"].append({"box": {**hole, "material": "air"}})
    config["surfaces"] = [{"between": [name, "air"], "coefficient": 30 + 20 * n, "area": "cells"}
                          for n, name in enumerate("abc")]
    if edges is not None:
        config["grid"]["x"] = {"edges": edges}
    if geometry is not None:
        config["grid"]["geometry"] = geometry
        config["grid"]["x"]["edges"] = [edges[1] / 2] + edges[1:]
        config["grid"]["lower"] = [edges[1] / 2] + [0] * (len(config["grid"]["cells"]) - 1)
    return config


def slab(cells, length, low, high, material):
    return {"title": "slab", "grid": {"cells": [cells], "upper": [length]},
            "materials": [{"name": "a", "density": 1800, "heat_capacity": 1700, **material}],
            "initial": [{"uniform": {"value": 300}}],
            "boundary": {"x_min": low, "x_max": high},
            "time": {"steady": {"temperature": 1e-9}},
            "output": {"checkpoints": {"every": 1}, "history": {"every": 1}}}


def plain(cells, upper):
    """A uniform medium with flat cells, sources and each linear kind of boundary."""
    config = layered(cells, upper)
    del config["parts"], config["contacts"], config["materials"]
    config["material"] = {"conductivity": 1.0, "density": 1000, "heat_capacity": 900}
    if len(cells) > 2:
        config["boundary"]["z_min"] = dict(FLUX)
    return config


def leaking(config):
    """With densities that grow and that fall with temperature, in parts and everywhere."""
    config["sources"] += [{"uniform": {"material": "b", "density": [
        [250, 1e5], [330, 2e5], [400, 5e5], [900, 2e6]], "factor": 0.3}},
                          {"uniform": {"density": [[250, 3e5], [320, 1e5], [700, -4e5]]}}]
    return config


def direct(config):
    """By elimination: but for tables of sources, for which Newton's method takes some rounds, the
    balance of each cell is affine in the temperatures."""
    if "material" in config:
        config = {**config, "materials": [{"name": "a", **config["material"]}],
                  "parts": [{"uniform": {"material": "a"}}]}
    problem = Problem(config)
    shape = problem.classes.shape
    tables = [source for source in config["sources"]
              if isinstance(next(iter(source.values()))["density"], list)]
    constant = [source for source in config["sources"] if source not in tables]

    def leakage(T):
        heat = np.zeros(shape)
        for source in tables:
            keys = next(iter(source.values()))
            mask = source_mask(config, source, problem.classes) & problem.body
            heat += np.where(mask, np.interp(T, *np.transpose(keys["density"])), 0) * keys.get(
                "factor", 1)
        return heat.ravel()

    def balance(T):
        net = sum(problem.inflow(T, 0, axis, shift) * problem.per_volume(axis, shift)
                  for axis in range(len(problem.h)) for shift in (1, -1))
        for source in constant:
            mask = source_mask(config, source, problem.classes)
            net = net + np.where(mask, next(iter(source.values()))["density"], 0.0)
        return np.where(problem.body, net, 1e6 * (problem.initial - T)).ravel()

    at_zero = balance(np.zeros(shape))
    columns = [balance(unit.reshape(shape)) - at_zero for unit in np.eye(at_zero.size)]
    matrix, T = np.array(columns).T, np.full(shape, 300.0)
    for _ in range(20 if tables else 1):
        slope = (leakage(T + 1e-4) - leakage(T - 1e-4)) / 2e-4
        rest = -at_zero - leakage(T) + slope * T.ravel()
        T = np.linalg.solve(matrix + np.diag(slope), rest).reshape(shape)
    return T


def quiet(config):
    return {key: value for key, value in config.items() if key != "output"}


def nonlinear(cells, upper):
    """Tables, perfusion, radiation and several materials."""
    config = layered(cells, upper)
    config["materials"][0].update(conductivity=[[300, 10], [900, 60]],
                                  heat_capacity=[[300, 700], [900, 1100]])
    config["materials"][1].update(conductivity=[[300, 90], [900, 40]])
    config["materials"][2]["perfusion"] = {
        "rate": 0.01, "blood_density": 1050, "blood_heat_capacity": 3600,
        "arterial_temperature": 310.15}
    config["boundary"]["x_max"].update(emissivity=0.7)
    if len(cells) > 2:
        config["boundary"]["z_max"] = {"type": "radiation", "emissivity": 0.5, "ambient": 900}
    return config
