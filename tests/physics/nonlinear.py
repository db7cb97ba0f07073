"""The random problems of media.py with properties that depend on temperature and perfusion, and an
enthalpy scheme in numpy to compare with.

The scheme shares the definition of a material with the program (docs/reference/numerics.md,
Properties that depend on temperature): heat, temperature and conductivity as a curve through the
given points. The rest is its own: curves by np.interp, heat in J/m^3, conductances from half cells,
between cells of one material the integral of the conductivity over temperature by trapezoids, no
fma."""
import random

import numpy as np

from media_solver import Problem, classes_of

SEGMENTS = 32


def some_rows(rng, low, high, values):
    """Of a table within a factor of the value."""
    temperatures = sorted(rng.sample(range(low, high), rng.randint(2, 6)))
    return [[float(t), float(f"{values * rng.uniform(0.5, 2):.5g}")] for t in temperatures]


def some_property(rng, value, low, high):
    kind = rng.choice(["number", "table", "table", "polynomial"])
    if kind == "table":
        return some_rows(rng, low, high, value)
    if kind == "polynomial":
        slope = value * rng.uniform(-0.8, 2) / 1000
        return {"polynomial": [float(f"{value:.5g}"), float(f"{slope:.5g}"),
                               float(f"{value * rng.uniform(0, 1) * 1e-6:.5g}")],
                "from": low, "to": high}
    return value


def change_material(material, rng):
    if rng.random() < 0.25:
        return
    k = np.max(material["conductivity"])
    if not isinstance(material["conductivity"], list):
        material["conductivity"] = some_property(rng, float(k), 200, 500)
    material["heat_capacity"] = some_property(rng, material["heat_capacity"], 200, 500)
    if rng.random() < 0.6:
        solidus = rng.choice([310.0, 330.0, 351.25, 390.0])
        material["latent_heat"] = float(f"{10 ** rng.uniform(3, 5.3):.5g}")
        material["solidus"] = solidus
        if rng.random() < 0.6:
            material["liquidus"] = solidus + rng.choice([1.5, 20.0, 60.0])
        if rng.random() < 0.6:
            material["liquid"] = {"heat_capacity": some_property(rng, 900.0, 300, 600)}
            if not (isinstance(material["conductivity"], list) and
                    not isinstance(material["conductivity"][0], list)):
                material["liquid"]["conductivity"] = some_property(rng, float(k) * 0.4, 300, 600)


def perfuse(config, rng):
    """Some materials; at least one."""
    first = rng.choice(config["materials"])
    for material in config["materials"]:
        if material is first or rng.random() < 0.4:
            material["perfusion"] = {
                "rate": rng.choice([0.0, *(float(f"{10 ** rng.uniform(-3, 1):.4g}")
                                           for _ in range(4))]),
                "blood_density": 1050.0, "blood_heat_capacity": 3617.0,
                "arterial_temperature": rng.choice([310.15, 290.0, 420.0])}
            if rng.random() < 0.5:
                material["perfusion"]["metabolic_heat"] = float(f"{10 ** rng.uniform(2, 6):.4g}")


def perfused_problem(config, seed):
    perfuse(config, random.Random(-1000 - seed))
    config["title"] = f"random perfused materials {seed}"
    return config


def add_powder(config, rng):
    """One material melts, and some of the others become it then."""
    materials = config["materials"]
    if len(materials) < 2 or rng.random() < 0.4:
        return
    solid = rng.choice(materials)
    solid.pop("perfusion", None)
    if "latent_heat" not in solid:
        solid.update(latent_heat=2e4, solidus=rng.choice([310.0, 330.0, 390.0]))
    k = solid["conductivity"]
    others = [materials[n] for n in np.unique(classes_of(config)) if materials[n] is not solid]
    for n, material in enumerate(rng.sample(others, min(len(others), rng.choice([1, 2])))):
        if isinstance(k, list) and not is_table(k):
            of_powder = [0.25 * x for x in k]   # in the same ratio
        else:
            of_powder = some_property(rng, 10 ** rng.uniform(-1, 1), 200, 400) if n == 0 else 0.7
        name = material["name"]
        material.clear()
        material.update(name=name, conductivity=of_powder, becomes=solid["name"])


def nonlinear_problem(config, seed):
    rng = random.Random(-1 - seed)
    for material in config["materials"]:
        change_material(material, rng)
    if all("latent_heat" not in m and not isinstance(m["heat_capacity"], (list, dict))
           for m in config["materials"]):
        config["materials"][0]["heat_capacity"] = some_rows(rng, 250, 450, 800.0)
    if rng.random() < 0.4:
        perfuse(config, rng)
    add_powder(config, random.Random(-5000 - seed))
    config["title"] = f"random nonlinear materials {seed}"
    return config


def is_table(value):
    return isinstance(value, list) and isinstance(value[0], list)


def value_of(given, T):
    if isinstance(given, dict):
        at = np.clip(T, given["from"], given["to"])
        return sum(c * at ** n for n, c in enumerate(given["polynomial"]))
    if is_table(given):
        return np.interp(T, *zip(*given))
    return (given[0] if isinstance(given, list) else given) + 0.0 * T


def knots_of(given):
    if isinstance(given, dict):
        return [float(given["from"]), float(given["to"])]
    return [row[0] for row in given] if is_table(given) else []


def mean_of(given, low, high):
    """Over temperatures, exactly: Simpson's rule on polynomials of degree 3 and less."""
    return (value_of(given, low) + 4 * value_of(given, (low + high) / 2) +
            value_of(given, high)) / 6


def is_curved(properties, c, low, high):
    def bends(given):
        return isinstance(given, dict) and low >= given["from"] and high <= given["to"]
    return value_of(c, low) != value_of(c, high) or any(bends(p) for p in properties)


def heat_of(materials, material):
    """The material whose density, heat capacity and melting it has."""
    return next(m for m in materials if m["name"] == material.get("becomes", material["name"]))


class Curve:
    def __init__(self, materials, own):
        k, material = own["conductivity"], heat_of(materials, own)
        c, of_solid = material["heat_capacity"], material["conductivity"]
        # nodes of all materials with this heat
        also = [m["conductivity"] for m in materials if heat_of(materials, m) is material]
        melts = "latent_heat" in material
        self.factor = np.ones(3)
        if isinstance(k, list) and not is_table(k):
            self.factor = np.array(k) / k[0]
        solidus = material.get("solidus", np.inf)
        liquid = material.get("liquid", {})
        phases = [(k, c, 0.0, solidus)]
        if melts:
            phases.append((liquid.get("conductivity", of_solid), liquid.get("heat_capacity", c),
                           material.get("liquidus", solidus), np.inf))
        plan = []
        for (k, c, low, high), others in zip(phases, (also, [])):
            properties = [k, c, *others]
            inside = {t for p in properties for t in knots_of(p) if low < t < high}
            ends = [low, *sorted(inside), *([high] if high < np.inf else [])]
            plan.append([(a, b, is_curved(properties, c, a, b)) for a, b in zip(ends, ends[1:])])
        count = 1 + melts + sum(len(part) for part in plan)
        curved = sum(bends for part in plan for _, _, bends in part)
        parts = 1 + (SEGMENTS - count) // curved if curved else 1
        T, H, K, rho = [0.0], [0.0], [value_of(phases[0][0], 0.0)], material["density"]
        for (k, c, low, high), intervals in zip(phases, plan):
            if low > 0:
                middle = (value_of(phases[0][1], solidus) + value_of(c, low)) / 2
                H.append(H[-1] + rho * (middle * (low - solidus) + material["latent_heat"]))
                T.append(low)
                K.append(value_of(k, low))
                self.liquidus = H[-1]
            for a, b, bends in intervals:
                n = parts if bends else 1
                for i in range(1, n + 1):
                    to = b if i == n else a + (b - a) * i / n
                    H.append(H[-1] + rho * mean_of(c, T[-1], to) * (to - T[-1]))
                    T.append(to)
                    K.append(value_of(k, to))
        far = 1e5
        last = rho * value_of(phases[-1][1], 1e9)
        self.T = np.array([-far, *T, T[-1] + far])
        self.H = np.array([-far * (H[1] / T[1] if len(T) > 1 and T[1] > 0 else last), *H,
                           H[-1] + last * far])
        self.K = np.array([K[0], *K, K[-1]])
        integral = np.cumsum([0, *(np.diff(self.T) * (self.K[1:] + self.K[:-1]) / 2)])
        self.integral = integral - integral[1]

    def enthalpy(self, T):
        """At a melting point: solid."""
        T, first = np.asarray(T), np.searchsorted(self.T, T, side="left") - 1
        share = (T - self.T[first]) / (self.T[first + 1] - self.T[first])
        return self.H[first] + share * (self.H[first + 1] - self.H[first])

    def conducted(self, H):
        """The integral of k over T from 0 K, W/m; k and T are linear between the nodes."""
        first = np.clip(np.searchsorted(self.H, H, side="right") - 1, 0, len(self.H) - 2)
        T, K = np.interp(H, self.H, self.T), np.interp(H, self.H, self.K)
        return self.integral[first] + (T - self.T[first]) * (K + self.K[first]) / 2

    def least_capacity(self):
        with np.errstate(divide="ignore"):
            return (np.diff(self.H) / np.diff(self.T)).min()


class NonlinearProblem(Problem):
    """Its state is H, J/m^3; T and k follow from it."""

    def __init__(self, config):
        materials = config["materials"]
        names = [material["name"] for material in materials]
        self.curves = [Curve(materials, material) for material in materials]
        self.next = np.array([names.index(m.get("becomes", m["name"])) for m in materials])
        plain = [{**material, "density": 1.0, "heat_capacity": curve.least_capacity(),
                  "conductivity": list(curve.K.max() * curve.factor)}
                 for material, curve in zip(materials, self.curves)]
        super().__init__({**config, "materials": plain})   # for the stable step
        blood = [material.get("perfusion", {}) for material in config["materials"]]
        self.perfusion = np.array([p.get("rate", 0.0) * p.get("blood_density", 0.0) *
                                   p.get("blood_heat_capacity", 0.0) for p in blood])[self.classes]
        self.arterial = np.array([p.get("arterial_temperature", 0.0) for p in blood])[self.classes]
        self.metabolic = np.array([p.get("metabolic_heat", 0.0) for p in blood])[self.classes]
        self.limit = super().stable_dt()
        self.H = self.each(lambda curve, T: curve.enthalpy(T), self.initial)
        self.evaluate()

    def stable_dt(self):
        return self.limit

    def conductances(self, axis, shift):
        """The largest of what the cells are or become."""
        painted, found = self.classes, []
        both = (lambda m: m), (lambda m: self.next[m])
        other = self.neighbours(axis, shift)
        for own, beyond in ((f(painted), g(other)) for f in both for g in both):
            half = self.h[axis] / 2
            found.append(1 / (half / self.k[own, axis] + half / self.k[beyond, axis] +
                              self.resistance[own, beyond]))
        return np.maximum.reduce(found)

    def each(self, function, values):
        out = np.empty(self.classes.shape)
        for number, curve in enumerate(self.curves):
            mask = self.classes == number
            out[mask] = function(curve, values[mask])
        return out

    def evaluate(self):
        self.classes = self.classes.copy()
        for number, (curve, next_one) in enumerate(zip(self.curves, self.next)):
            if next_one != number:
                self.classes[(self.classes == number) & (self.H >= curve.liquidus)] = next_one
        self.T = self.each(lambda curve, H: np.interp(H, curve.H, curve.T), self.H)
        K = self.each(lambda curve, H: np.interp(H, curve.H, curve.K), self.H)
        factors = np.array([curve.factor for curve in self.curves])[self.classes]
        self.K, self.factors = K[..., None] * factors, factors
        self.integral = self.each(lambda curve, H: curve.conducted(H), self.H)
        for axis in range(len(self.h)):
            self.lows[axis] = self.coupling(axis, 1)
            self.highs[axis] = self.coupling(axis, -1)

    def coupling(self, axis, shift):
        k = self.K[..., axis]
        other, beyond = self.beside(self.classes, axis, shift), self.beside(k, axis, shift)
        return 1 / (self.h[axis] / (2 * k) + self.h[axis] / (2 * beyond) +
                    self.resistance[self.classes, other])

    def between(self, T, axis, shift):
        """Within one material that of the steady problem between the two centres."""
        other = self.beside(self.classes, axis, shift)
        within = (other == self.classes) & (self.resistance[self.classes, other] == 0)
        difference = self.beside(self.integral, axis, shift) - self.integral
        return np.where(within, self.factors[..., axis] * difference / self.h[axis],
                        super().between(T, axis, shift))

    def conductivity(self, axis, edge):
        return self.K[edge][..., axis]

    def solve(self, dt, steps):
        entered = added = 0.0
        for n in range(steps):
            power = np.zeros_like(self.H)
            for axis, h in enumerate(self.h):
                for shift in (1, -1):
                    flow = self.inflow(self.T, n * dt, axis, shift)
                    power += flow / h
                    if not self.is_periodic(axis):
                        entered += dt * flow[self.edge(axis, shift)].sum() / h
            source = self.source((n + 0.5) * dt, dt) + self.metabolic + \
                self.perfusion * (self.arterial - self.T)
            added += dt * source.sum()
            self.H = self.H + dt * (power + source)
            self.evaluate()
        return self.T, entered, added

    def heat_of(self, mask, T):
        return self.H[mask].sum()
