"""Exact solutions that the gallery is compared with. numpy only; integrals by Gauss-Legendre."""
import functools
import math

import numpy as np

legendre_nodes = functools.lru_cache(np.polynomial.legendre.leggauss)


def legendre(function, low, high, points=400):
    """The integral of a function of an array, whose first axis is the variable's."""
    nodes, weights = legendre_nodes(points)
    at = 0.5 * (high - low) * nodes + 0.5 * (high + low)
    values = function(at)
    return np.tensordot(0.5 * (high - low) * weights, values, axes=(0, 0))


def erf(x):
    return np.vectorize(math.erf)(x)


def expint1(x):
    """E1 for x > 0 (Abramowitz and Stegun 5.1.11 and 5.1.22)."""
    if x < 1:
        total, term = -0.5772156649015329 - math.log(x), -1.0
        for n in range(1, 40):
            term *= -x / n
            total += term / n
        return total
    fraction = 0.0
    for n in range(200, 0, -1):
        fraction = n / (1 + n / (x + fraction))
    return math.exp(-x) / (x + fraction)


# ---- a stack of layers, heated by rectangles on top ----------------------------------------------

def stack_surface(points, size, layers, film, patches, ambient, modes=200):
    """The steady temperature of the top of a stack with insulated sides, K. `layers`: thickness,
    conductivity and the contact resistance below, from the bottom, which a film cools; `patches`:
    corners and flux, W/m^2. A double cosine series, the layers by their impedance."""
    lx, ly = size
    m = np.arange(modes)[:, None]
    n = np.arange(modes)[None, :]
    gamma = np.hypot(m * math.pi / lx, n * math.pi / ly)
    impedance = np.full(gamma.shape, 1 / film)
    for thickness, k, contact in layers:
        below = impedance + contact
        with np.errstate(invalid="ignore", divide="ignore"):
            tanh = np.tanh(gamma * thickness)
            through = (below + tanh / (k * gamma)) / (1 + below * k * gamma * tanh)
        impedance = np.where(gamma > 0, through, below + thickness / k)

    def factors(number, low, high, length):
        """Of the cosine series of the indicator of an interval."""
        number = number.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            wave = number * math.pi / length
            mode = 2 / length * (np.sin(wave * high) - np.sin(wave * low)) / wave
        return np.where(number > 0, mode, (high - low) / length)

    flux = np.zeros(gamma.shape)
    for (x0, y0), (x1, y1), q in patches:
        flux = flux + q * factors(m, x0, x1, lx) * factors(n, y0, y1, ly)
    amplitude = flux * impedance
    result = []
    for x, y in points:
        shape = np.cos(m * math.pi * x / lx) * np.cos(n * math.pi * y / ly)
        result.append(ambient + float((amplitude * shape).sum()))
    return np.array(result)


# ---- sources in an infinite or half-infinite medium ----------------------------------------------

def square_source(x, y, t, half, power, k, rho_c):
    """The rise at (x, y), K, of a long square bar of 2 `half` that gives `power` W/m in an infinite
    medium since t = 0."""
    alpha = k / rho_c
    density = power / (4 * half * half)

    def at_root(root):   # tau = root^2: smooth at 0
        tau = root**2
        wide = 2 * np.sqrt(alpha * tau)
        across = 0.25
        for at in (x, y):
            across = across * (erf((at + half) / wide) - erf((at - half) / wide))
        return density / rho_c * across * 2 * root

    return float(legendre(at_root, 0.0, math.sqrt(t)))


def line_source(r, t, power, k, rho_c):
    """Infinite line source: the rise at the distance r, K (Carslaw and Jaeger, 10.3)."""
    return power / (4 * math.pi * k) * expint1(r * r * rho_c / (4 * k * t))


def moving_gaussian(points, t, power, sigma, speed, start, k, rho_c, nodes=1000):
    """The rise, K, in a half space z <= 0 below a Gaussian spot on its surface that began at
    `start` at t = 0 and moves along x: the integral of Eagar and Tsai (Welding Journal 62, 1983)
    before its steady limit. `points`: x, y, z <= 0."""
    alpha = k / rho_c
    x, y, z = (np.asarray(c, float) for c in zip(*points))

    def at_root(root):   # the time since the heat was given: root^2
        tau = (root**2)[:, None]
        wide = 2 * sigma**2 + 4 * alpha * tau
        xi = x - (start + speed * (t - tau))
        kernel = np.exp(-(xi**2 + y**2) / wide) / wide
        # half space: twice the free kernel
        depth = np.exp(-z**2 / (4 * alpha * tau)) / np.sqrt(4 * math.pi * alpha * tau)
        return 2 * power / rho_c / math.pi * kernel * depth * 2 * root[:, None]

    return legendre(at_root, 0.0, math.sqrt(t), nodes)


def melt_pool(rise, limit, at, far, z=0.0):
    """Length, width and depth, m, of where a function of points has more than `limit`, on the
    plane `z`; it moves along x and is at `at` now, with its hottest point at most `far` behind."""
    def last(inside, low, high):
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if inside(middle) else (low, middle)
        return low

    along = np.linspace(at - far, at + far / 4, 161)

    def hot(points):
        return rise(points).max() > limit

    peak = along[rise([(x, 0.0, z) for x in along]).argmax()]
    front = last(lambda s: hot([(peak + s, 0.0, z)]), 0.0, far)
    back = last(lambda s: hot([(peak - s, 0.0, z)]), 0.0, far)
    half = last(lambda s: hot([(x, s, z) for x in along]), 0.0, far)
    depth = last(lambda s: hot([(x, 0.0, -s) for x in along]), 0.0, far)
    return front + back, 2 * half, depth


def perfused_focus(points, ages, power, radii, k, rho_c, perfusion):
    """The rise, K, in infinite perfused tissue (W/(m^3 K)) of a Gaussian focus with these radii to
    1/e^2, whose heat is between `ages` old, s: Pennes' equation, by its Green's function.
    `points`: arrays of x, y and z that broadcast (numpy.ix_ for a grid)."""
    alpha = k / rho_c

    def at_age(age):
        age = age.reshape(-1, *[1] * np.ndim(points[0]))
        rise = power / rho_c * np.exp(-perfusion / rho_c * age)
        for x, radius in zip(points, radii):
            square = radius**2 / 4 + 2 * alpha * age
            rise = rise * (np.exp(-x**2 / (2 * square)) / np.sqrt(2 * math.pi * square))
        return rise

    return legendre(at_age, *ages)


def rosenthal(points, at, power, speed, k, rho_c):
    """The steady rise, K, below a point source on the surface of a half space that moves along x
    and is at `at` now (D. Rosenthal, 1946)."""
    alpha = k / rho_c
    x, y, z = (np.asarray(c, float) for c in zip(*points))
    xi = x - at
    distance = np.sqrt(xi**2 + y**2 + z**2)
    return power / (2 * math.pi * k * distance) * np.exp(-speed * (distance + xi) / (2 * alpha))


def face_conductances(k, width, contact=None):
    """W/(m^2 K) between neighbours on the first axis: two half cells and a contact in series.
    `width`: of all cells, or an array of theirs."""
    half = 0.5 * (np.zeros(len(k)) + width)[(...,) + (None,) * (k.ndim - 1)] / k
    return 1 / (half[1:] + half[:-1] + (0.0 if contact is None else contact))


def steady_state(conductivity, spacing, heat, films, contacts=None, tolerance=1e-13):
    """The steady temperatures of cells, K, by conjugate gradients with a diagonal preconditioner.
    `conductivity`: an array (nz, ny, nx) per axis x, y, z; `spacing`: per axis, of all cells or an
    array of theirs; `heat`: W/m^3;
    `films`: (axis, end 0 or -1) -> (coefficient, ambient), others are insulated; `contacts`: per
    axis the resistances of the inner faces, m^2 K/W, with that axis first, or None."""
    widths = [np.zeros(n) + width for n, width in zip(heat.shape[::-1], spacing)]
    volume = np.einsum("k,j,i->kji", *widths[::-1])
    diagonal, right, axes = np.zeros(heat.shape), heat * volume, []
    for axis, (k, width) in enumerate(zip(conductivity, widths)):
        front = 2 - axis                       # the position of the axis in the arrays
        first = np.moveaxis(k, front, 0)
        area = np.moveaxis(volume, front, 0)[0] / width[0]
        between = face_conductances(first, width, contacts and contacts[axis]) * area
        moved = np.moveaxis(diagonal, front, 0)
        moved[1:] += between
        moved[:-1] += between
        for end in (0, -1):
            if (axis, end) in films:
                coefficient, ambient = films[axis, end]
                g = area / (1 / coefficient + 0.5 * width[end] / first[end])
                moved[end] += g
                np.moveaxis(right, front, 0)[end] += g * ambient
        axes.append((front, between))

    def apply(T):
        out = diagonal * T
        for front, between in axes:
            moved, values = np.moveaxis(out, front, 0), np.moveaxis(T, front, 0)
            moved[1:] -= between * values[:-1]
            moved[:-1] -= between * values[1:]
        return out

    T = np.full(heat.shape, np.mean([ambient for _, ambient in films.values()]))
    residual = right - apply(T)
    direction = residual / diagonal
    product = float((residual * direction).sum())
    least = tolerance**2 * float((right**2 / diagonal).sum())
    while product > least:
        image = apply(direction)
        step = product / float((direction * image).sum())
        T += step * direction
        residual -= step * image
        scaled = residual / diagonal
        product, before = float((residual * scaled).sum()), product
        direction = scaled + product / before * direction
    return T


def wall_response(layers, outside, inside, frequency):
    """The complex temperature of the inner surface per kelvin of the air outside that swings with
    `frequency`, rad/s, above 0; the air inside is steady. `layers`: thickness, conductivity and
    rho c, from the outside; `outside` and `inside`: coefficients of the films (Carslaw and Jaeger,
    3.7: matrices of temperature and flux)."""
    matrix = np.array([[1, 1 / outside], [0, 1]], complex)
    for d, k, rho_c in layers:
        q = np.sqrt(1j * frequency * rho_c / k)
        matrix = matrix @ [[np.cosh(q * d), np.sinh(q * d) / (k * q)],
                           [k * q * np.sinh(q * d), np.cosh(q * d)]]
    matrix = matrix @ [[1, 1 / inside], [0, 1]]
    return 1 / inside / matrix[0, 1]


def bessel(n, x):
    """J_n, from its integral."""
    angle = (np.arange(400) + 0.5) * np.pi / 400
    return np.cos(n * angle - np.multiply.outer(x, np.sin(angle))).mean(axis=-1)


def bar_roots():
    """The first roots of z J1(z) = J0(z): of a bar with a Biot number of 1."""
    zeros = [0.0, 3.8317, 7.0156, 10.1735, 13.3237, 16.4706]   # of J1: each before a root
    tops = [2.4048, 5.5201, 8.6537, 11.7915, 14.9309, 18.0711]   # of J0
    roots = []
    for n, (low, high) in enumerate(zip(zeros, tops)):
        for _ in range(60):
            middle = (low + high) / 2
            inside = (middle * bessel(1, middle) - bessel(0, middle)) * (-1)**n < 0
            low, high = (middle, high) if inside else (low, middle)
        roots.append(low)
    return roots
