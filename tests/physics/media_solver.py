"""A plain solver in numpy for problems with several materials, to compare the program with.

It shares nothing with the program but the equations: materials painted by masks, a conductance per
face from the properties of its two cells, ghost values at closed faces, enthalpy balances in W, no
fma, no blocks. It agrees with the program to rounding, not bit for bit."""
import itertools
import math

import h5py
import numpy as np

from harness import cell_centers, spacings
from problems import FACES

STEFAN_BOLTZMANN = 5.670374419e-8


def mask_of(config, kind, shape):
    """The cells of a shape, (nz, ny, nx)."""
    x, y, z = cell_centers(config)
    at = {"x": x, "y": y, "z": z}
    used = len(config["grid"]["cells"])
    everywhere = np.ones(np.broadcast(x, y, z).shape, bool)
    upper = dict(zip("xyz", config["grid"]["upper"]))

    def between(axis, low, high):
        return (at[axis] >= low) & ((at[axis] < high) | (high >= upper[axis]))

    if kind == "uniform":
        return everywhere
    if kind == "box":
        inside = everywhere
        for axis, low, high in zip("xyz"[:used], shape["lower"], shape["upper"]):
            inside = inside & between(axis, low, high)
        return inside
    if kind == "layer":
        return everywhere & between(shape["axis"], shape["from"], shape["to"])
    if kind in ("sphere", "cylinder"):
        along = shape.get("axis")
        square = sum((at[axis] - c) ** 2
                     for axis, c in zip("xyz"[:used], shape["center"]) if axis != along)
        inside = everywhere & (square <= shape["radius"] ** 2)
        if "from" in shape:
            inside = inside & between(along, shape["from"], shape["to"])
        return inside
    names = {**at, "sin": np.sin}
    return everywhere & eval(shape["where"], {"__builtins__": {}}, names)


def painted(config, parts, value_of):
    x, y, z = cell_centers(config)
    field = np.full(np.broadcast(x, y, z).shape, np.nan)
    for part in parts:
        (kind, shape), = part.items()
        field[mask_of(config, kind, shape)] = value_of(shape)
    return field


def names_of(config):
    return [entry["name"] for entry in config["materials"] + config.get("ambients", [])]


def classes_of(config):
    names = names_of(config)
    return painted(config, config["parts"],
                   lambda shape: names.index(shape["material"])).astype(int)


def source_mask(config, source, classes):
    (kind, shape), = source.items()
    mask = mask_of(config, kind, shape)
    if "material" in shape:
        names = [material["name"] for material in config["materials"]]
        mask = mask & (classes == names.index(shape["material"]))
    return mask


def formula(value, t):
    names = {"sin": math.sin, "exp": math.exp, "t": t}
    return eval(value, {"__builtins__": {}}, names) if isinstance(value, str) else value


def widths(config):
    """m, of each axis in use: a number, or of a graded axis those of its cells."""
    found = list(spacings(config))
    for axis, name in enumerate("xyz"[:len(found)]):
        if name in config["grid"]:
            shape = [1, 1, 1]
            shape[2 - axis] = -1
            found[axis] = np.diff(config["grid"][name]["edges"]).reshape(shape)
    return found


def girths(config):
    """m^2 per m^2 of a cell of a radius, (nz, ny, nx), and of its lower and upper face."""
    kind, edges = config["grid"].get("geometry"), None
    if kind is not None:
        edges = np.array(config["grid"]["x"]["edges"])
    if kind == "axisymmetric":
        return np.pi * (edges[:-1] + edges[1:]), 2 * np.pi * edges[:-1], 2 * np.pi * edges[1:]
    if kind == "spherical":
        return (4 * np.pi / 3 * np.diff(edges**3) / np.diff(edges), 4 * np.pi * edges[:-1]**2,
                4 * np.pi * edges[1:]**2)
    return 1.0, 1.0, 1.0


def ambients_of(config):
    return {ambient["name"]: ambient["temperature"] for ambient in config.get("ambients", [])}


def exchanges(config, surface):
    """Whether a surface is more than convection with two numbers."""
    ambient = [T for name, T in ambients_of(config).items() if name in surface["between"]]
    return {"flux", "emissivity", "temperature"} & set(surface) or \
        str in map(type, [surface["coefficient"], *ambient])


class Unphysical(Exception):
    """A temperature below 0 K."""


class Problem:
    """The configuration as arrays. Axis 0 of the lists is x; arrays are (nz, ny, nx)."""

    perfusion = 0.0   # W/(m^3 K)

    def __init__(self, config):
        names = names_of(config)
        self.config = config
        self.classes = self.painted = classes_of(config)
        self.initial = painted(config, config["initial"], lambda shape: shape["value"])
        k = np.array([np.broadcast_to(m["conductivity"], 3) for m in config["materials"]])
        rho_c = np.array([m["density"] * m["heat_capacity"] for m in config["materials"]])
        ambients, first = config.get("ambients", []), len(k)
        k = np.concatenate([k, np.full((len(ambients), 3), np.inf)])   # their faces are as warm
        rho_c = np.concatenate([rho_c, np.full(len(ambients), np.inf)])
        self.body, self.body_classes = self.classes < first, first
        for number, ambient in enumerate(ambients, first):
            self.initial[self.classes == number] = formula(ambient["temperature"], 0.0)
        resistance = np.zeros((len(names), len(names)))
        resistance[first:] = resistance[:, first:] = np.inf
        for surface in config.get("surfaces", []):
            a, b = (names.index(name) for name in surface["between"])
            if not exchanges(config, surface):
                with np.errstate(divide="ignore"):
                    resistance[a, b] = resistance[b, a] = np.divide(1, surface["coefficient"])
        for contact in config.get("contacts", []):
            a, b = (names.index(name) for name in contact["between"])
            resistance[a, b] = resistance[b, a] = contact["resistance"]
        self.factor = self.factors("conductivity_factor")
        self.k, self.resistance = k, resistance
        self.rho_c = rho_c[self.classes] * self.factors("heat_capacity_factor")
        self.h = widths(config)
        self.centers = cell_centers(config)
        graded = any(np.ndim(h) > 0 for h in self.h)
        self.unit = 1.0 if graded else math.prod(self.h)   # m^3; unused axes are 1 m long
        self.girth = girths(config)
        self.share = np.broadcast_to(math.prod(self.h) * self.girth[0] / self.unit,
                                     self.initial.shape)
        self.faces = [config["boundary"][face] for face in FACES[:2 * len(self.h)]]
        self.lows = [self.conductances(axis, 1) for axis in range(len(self.h))]
        self.highs = [self.conductances(axis, -1) for axis in range(len(self.h))]

    def factors(self, key):
        """Of each cell, (nz, ny, nx)."""
        x, y, z = cell_centers(self.config)
        factor = np.ones(self.classes.shape)
        for number, material in enumerate(self.config["materials"]):
            if key in material:
                names = {"x": x, "y": y, "z": z, "sin": np.sin, "exp": np.exp}
                values = eval(material[key]["formula"], {"__builtins__": {}}, names) \
                    if "formula" in material[key] else np.load(material[key]["path"])
                values = np.broadcast_to(values, factor.shape).astype(np.float32)
                factor[self.classes == number] = values[self.classes == number]
        return factor

    def beside(self, field, axis, shift):
        """Of each cell the neighbour below (shift 1) or above (-1), around the end."""
        return np.roll(field, shift, axis=2 - axis)

    def is_periodic(self, axis):
        return self.faces[2 * axis]["type"] == "periodic"

    def edge(self, axis, shift):
        """The cells at the lower (shift 1) or upper (-1) end."""
        where = [slice(None)] * 3
        where[2 - axis] = slice(0, 1) if shift == 1 else slice(-1, None)
        return tuple(where)

    def neighbours(self, axis, shift, of=None):
        """Their classes, or other numbers; at a closed end that of the cell itself."""
        of = self.classes if of is None else of
        other, edge = self.beside(of, axis, shift).copy(), self.edge(axis, shift)
        if not self.is_periodic(axis):
            other[edge] = of[edge]
        return other

    def conductances(self, axis, shift):
        """To the neighbour, W/(m^2 K)."""
        half = np.broadcast_to(self.h[axis] / 2, self.classes.shape)
        other, other_half = self.neighbours(axis, shift), self.neighbours(axis, shift, half)
        other_k = self.k[other, axis] * self.neighbours(axis, shift, self.factor)
        return 1 / (half / (self.k[self.classes, axis] * self.factor) + other_half / other_k +
                    self.resistance[self.classes, other])

    def at(self, edge, values):
        return np.broadcast_to(values, self.classes.shape)[edge]

    def per_volume(self, axis, shift):
        """The area of the lower (shift 1) or upper faces of cells over their volumes, 1/m."""
        girth = self.girth[1 if shift == 1 else 2] / self.girth[0] if axis == 0 else 1.0
        return girth / self.h[axis]

    def area(self, axis, shift, edge=...):
        """m^2, of faces of cells across an axis."""
        return self.at(edge, self.share * self.unit * self.per_volume(axis, shift))

    def conductivity(self, axis, edge):
        return self.k[self.classes[edge], axis] * self.factor[edge]

    def at_surface(self, surface, axis, shift):
        """The cells beside its faces."""
        a, b = sorted(names_of(self.config).index(name) for name in surface["between"])
        return (self.classes == a) & (self.neighbours(axis, shift) == b)

    def stable_dt(self):
        rate = sum(flows[axis] * self.per_volume(axis, shift) for axis in range(len(self.h))
                   for flows, shift in ((self.lows, 1), (self.highs, -1)))
        for surface in self.config.get("surfaces", []):
            for axis, shift in itertools.product(range(len(self.h)), (1, -1)):
                if exchanges(self.config, surface):   # as at a closed face
                    at = self.at_surface(surface, axis, shift)
                    k = np.where(at, self.conductivity(axis, ...), 0.0)
                    rate = rate + k * self.per_volume(axis, shift) / self.h[axis]
        return 1 / (((rate + self.perfusion) / self.rho_c).max() +
                    self.source_slope() / self.rho_c.min())

    def face_value(self, face, inside, k, h, t, beam=0.0):
        """The temperature of a closed face, from its half cell, what is outside, and the flux of a
        source on it."""
        numbers = ("value", "coefficient", "ambient", "emissivity", "surroundings")
        at = {key: formula(face[key], t) * face.get(f"{key}_factor", 1.0)
              for key in numbers if key in face}
        if face["type"] == "temperature":
            return at["value"]
        if face["type"] == "flux":
            return inside + (at["value"] + beam) * h / (2 * k)
        film, ambient = at.get("coefficient", 0.0), at["ambient"]
        radiated = STEFAN_BOLTZMANN * at.get("emissivity", 0.0)
        slope = 2 * k / h + film
        given = 2 * k / h * inside + film * ambient + radiated * at.get("surroundings", ambient)**4
        given = given + beam
        T = given / slope
        if radiated > 0:   # Newton from above: monotonic
            T = np.minimum(T, (given / radiated) ** 0.25)
            for _ in range(40):
                T = T - (slope * T + radiated * T**4 - given) / (slope + 4 * radiated * T**3)
        return T

    def with_factors(self, face, edge, t):
        """A condition with the numbers and the factors of the cells at the edge."""
        at = {name: np.broadcast_to(values, self.classes.shape)[edge]
              for name, values in zip("xyz", self.centers)}
        names = {**at, "t": t, "sin": np.sin, "exp": np.exp}
        face = dict(face)
        for key in ("value", "coefficient", "ambient"):
            if isinstance(face.get(key), str):
                face[key] = eval(face[key], {"__builtins__": {}}, names)
        for key in [key for key in face if key.endswith("_factor")]:
            if "path" in face[key]:
                values = np.float32(np.load(face[key]["path"])).astype(float)
                if "times" in face[key]:
                    (start, end), (first, last) = face[key]["times"], values
                    values = first + (last - first) * ((t - start) / (end - start))
                values = values.reshape(at["x"].shape)
            else:
                values = eval(face[key]["formula"], {"__builtins__": {}}, names)
                if "t" not in face[key]["formula"]:
                    values = np.float32(values).astype(float)
            face[key] = values
        return face

    def between(self, T, axis, shift):
        """The heat flow from the neighbour on one side into each cell, W/m^2."""
        return (self.lows if shift == 1 else self.highs)[axis] * (self.beside(T, axis, shift) - T)

    def inflow(self, T, t, axis, shift, beam=0.0):
        flow = self.between(T, axis, shift)   # and through closed faces and surfaces
        for surface in self.config.get("surfaces", []):
            if exchanges(self.config, surface):
                at, temperatures = self.at_surface(surface, axis, shift), ambients_of(self.config)
                k, h = self.conductivity(axis, at), self.at(at, self.h[axis])
                condition = {"type": "temperature", "value": surface.get("temperature")} \
                    if "temperature" in surface else {"type": "convection", "ambient": next(
                        temperatures[name] for name in surface["between"] if name in temperatures),
                        **surface}
                face = self.face_value(condition, T[at], k, h, t, formula(surface.get("flux", 0.0),
                                                                          t))
                flow[at] = 2 * k / h * (face - T[at])
        if not self.is_periodic(axis):
            edge = self.edge(axis, shift)
            k = np.where(self.body[edge], self.conductivity(axis, edge), 1.0)
            condition, h = self.faces[2 * axis + (shift == -1)], self.at(edge, self.h[axis])
            face = self.face_value(self.with_factors(condition, edge, t), T[edge], k, h, t, beam)
            patches = self.patches(axis, shift)
            for number, patch in enumerate(condition.get("patches", []), 1):
                face = np.where(patches == number,
                                self.face_value(self.with_factors(patch, edge, t), T[edge], k, h, t,
                                                beam), face)
            flow[edge] = np.where(self.body[edge], 2 * k / h * (face - T[edge]), 0.0)
        return flow

    def heat_flux(self, T, t):
        """Its magnitude at the centres of cells, W/m^2: on each axis the mean of both faces."""
        return np.sqrt(sum((self.inflow(T, t, axis, 1) - self.inflow(T, t, axis, -1))**2 / 4
                           for axis in range(len(self.h))))

    def gaussian(self, shape, at):
        """Density per W."""
        radii = np.broadcast_to(shape["radius"], len(self.h))
        square, volume = 0.0, math.prod(self.h) / math.prod(self.h[:len(radii)])
        inside = np.ones(self.initial.shape, bool)
        for axis, (name, radius) in enumerate(zip("xyz", radii)):
            surface = shape.get("surface", "")
            if surface.startswith(name):
                mask = np.zeros(self.initial.shape, bool)
                mask[self.edge(axis, 1 if surface.endswith("min") else -1)] = True
                inside &= mask
                volume *= self.h[axis]
            else:
                square = square + ((self.centers[axis] - at[axis]) / radius) ** 2
                volume *= radius * math.sqrt(math.pi / 2)
        return np.where(inside & (2 * square <= 16), np.exp(-2 * square), 0.0) / volume

    def goldak(self, shape, at, before, after):
        face = shape.get("surface", "z_max")
        normal = "xyz".index(face[0])
        ahead = np.array(after) - np.array(before)
        ahead[normal] = 0
        if not ahead.any():
            ahead[(normal + 1) % 3] = 1
        ahead = ahead / np.linalg.norm(ahead)
        inward = np.zeros(3)
        inward[normal] = 1 if face.endswith("min") else -1
        place = [center - x for center, x in zip(self.centers, at)]
        u, v, w = (sum(p * e for p, e in zip(place, unit))
                   for unit in (ahead, np.cross(inward, ahead), inward))
        share = shape.get("front_share", shape["front"] / (shape["front"] + shape["rear"]))
        length = np.where(u > 0, shape["front"], shape["rear"])
        e = 3 * ((u / length) ** 2 + (v / shape["width"]) ** 2 + (w / shape["depth"]) ** 2)
        peak = 12 * math.sqrt(3) * np.where(u > 0, share, 1 - share) / (
            length * shape["width"] * shape["depth"] * math.pi ** 1.5)
        return np.where((e <= 16) & (w >= 0), peak * np.exp(-e), 0.0)

    def moving(self, kind, shape, t, dt):
        places = [[formula(shape.get(axis, 0.0), time) for axis in "xyz"]
                  for time in (t, t - dt / 2, t + dt / 2)]
        density = self.gaussian(shape, places[0]) if kind == "gaussian" else \
            self.goldak(shape, *places)
        return formula(shape["power"], t) * shape.get("absorptivity", 1.0) * density

    def beam(self, t, axis, shift):
        """W/m^3 of the sources on a face in the cells inside it."""
        face = "xyz"[axis] + ("_min" if shift == 1 else "_max")
        shapes = [source["gaussian"] for source in self.config.get("sources", [])
                  if source.get("gaussian", {}).get("surface") == face]
        return sum((self.moving("gaussian", shape, t, 0.0) * formula(shape.get("factor", 1.0), t)
                    for shape in shapes), np.zeros_like(self.initial))

    def source_slope(self):
        """The largest change of sources per kelvin, W/(m^3 K)."""
        tables = [(shape["density"], shape.get("factor", 1.0))
                  for source in self.config.get("sources", []) for shape in source.values()
                  if isinstance(shape.get("density"), list)]
        return sum(abs(factor * np.diff([row[1] for row in rows]) /
                       np.diff([row[0] for row in rows])).max() for rows, factor in tables)

    def source(self, t, dt, T=None):
        """W/m^3 in the step about t from the temperatures T."""
        total = np.zeros_like(self.initial)
        for source in self.config.get("sources", []):
            (kind, shape), = source.items()
            if kind in ("gaussian", "goldak"):
                total += self.moving(kind, shape, t, dt) * formula(shape.get("factor", 1.0), t)
                continue
            mask = source_mask(self.config, source, self.painted) & self.body
            density = shape["density"] if "density" in shape else \
                shape["power"] / (self.share[mask].sum() * self.unit)
            if "profile" in shape:
                x, y, z = (np.broadcast_to(at, mask.shape)[mask] for at in self.centers)
                names = {"x": x, "y": y, "z": z, "sqrt": np.sqrt}
                values = eval(shape["profile"], {"__builtins__": {}}, names)
                density = density * np.float32(values).astype(float)
            if isinstance(density, list):
                density = np.interp(T[mask], *np.transpose(density))
            total[mask] += density * formula(shape.get("factor", 1.0), t)
        return np.where(self.body, total, 0.0)

    def patches(self, axis, shift):
        """The number of the patch of each cell inside a closed face, from 1; 0 outside."""
        edge = self.edge(axis, shift)
        at = {name: np.broadcast_to(values, self.classes.shape)[edge]
              for name, values in zip("xyz", cell_centers(self.config))}
        numbers = np.zeros(self.classes[edge].shape, int)
        names = [name for name in "xyz"[:len(self.h)] if name != "xyz"[axis]]
        for number, patch in enumerate(self.faces[2 * axis + (shift == -1)].get("patches", []), 1):
            if "rectangle" in patch:
                inside = np.ones(numbers.shape, bool)
                bounds = zip(names, patch["rectangle"]["lower"], patch["rectangle"]["upper"])
                for name, low, high in bounds:
                    inside &= (at[name] >= low) & (at[name] < high)
            elif "disc" in patch:
                inside = sum((at[name] - c)**2 for name, c in zip(names, patch["disc"]["center"])
                             ) <= patch["disc"]["radius"]**2
            else:
                inside = eval(patch["where"], {"__builtins__": {}}, at)
            numbers[inside] = number
        return numbers

    def through(self, T, t, axis, shift):
        """The heat flow in W through a closed face, and its temperature, mean and cell by cell."""
        edge = self.edge(axis, shift)
        flow = self.inflow(T, t, axis, shift)[edge]
        area, h = self.area(axis, shift, edge), self.at(edge, self.h[axis])
        k = np.where(self.body[edge], self.conductivity(axis, edge), np.nan)
        beam = self.beam(t, axis, shift)[edge] * h
        face = T[edge] + self.inflow(T, t, axis, shift, beam)[edge] * h / (2 * k)
        return (flow * area).sum(), self.mean(face, area), face

    @staticmethod
    def mean(values, weights):
        """The mean of the values that are numbers."""
        known = np.isfinite(values) & (weights > 0)
        return np.average(values[known], weights=weights[known]) if known.any() else np.nan

    def surface(self, surface, T, t):
        """Its heat flow in W, its area, and its mean temperature."""
        flow = area = warmth = 0.0
        for axis in range(len(self.h)):
            for shift in (1, -1):
                at = self.at_surface(surface, axis, shift)
                into = self.inflow(T, t, axis, shift)[at]
                face, h = self.area(axis, shift, at), self.at(at, self.h[axis])
                flow += (into * face).sum()
                area += face.sum()
                k = self.conductivity(axis, at)
                warmth += ((T[at] + into * h / (2 * k)) * face).sum()
        return flow, area, warmth / area

    def solve(self, dt, steps):
        """The temperature after the steps, and the heat that entered through the faces and from
        sources, J per m^3 of a cell, on a graded grid J. Unphysical where a cell is below 0 K
        after a step."""
        T, entered, added = self.initial.copy(), 0.0, 0.0
        for n in range(steps):
            power = np.zeros_like(T)
            for axis in range(len(self.h)):
                for shift in (1, -1):
                    flow = self.inflow(T, n * dt, axis, shift) * self.per_volume(axis, shift)
                    power += flow
                    beside = self.body & (self.neighbours(axis, shift) >= self.body_classes)
                    heat = flow * self.share
                    entered += dt * heat[beside].sum()
                    if not self.is_periodic(axis):
                        entered += dt * heat[self.edge(axis, shift)].sum()
            source = self.source((n + 0.5) * dt, dt, T)
            added += dt * (source * self.share).sum()
            T = T + dt * (power + source) / self.rho_c   # of an ambient: infinite
            if not T.min() >= 0:
                raise Unphysical(f"{T.min():.6g} K after step {n + 1}")
        return T, entered, added

    def heat_of(self, mask, T):
        return (self.rho_c * T * self.share)[mask & self.body].sum()


def flux_of(run):
    """The last heat flux of the snapshots."""
    with h5py.File(run.folder / "snapshots.vtkhdf") as file:
        return file["VTKHDF/CellData/heat_flux"][-1]


def check_flux(case, problem, run, t):
    """Compare it with that of the run's temperatures; returns it."""
    flux, T = flux_of(run), run.temperature()
    largest = max((problem.conductivity(axis, ...)[problem.body] / np.min(h)).max()
                  for axis, h in enumerate(problem.h)) * abs(T).max()
    np.testing.assert_allclose(flux[problem.body], problem.heat_flux(T, t)[problem.body],
                               rtol=1e-10, atol=1e-13 * largest)
    case.assertTrue(np.isnan(flux[~problem.body]).all())
    return flux
