#!/usr/bin/env python3
"""Writes src/model/superstep/superstep_table.h: the stabilised scheme of order 2 (docs/reference/numerics.md).

The stability polynomial R of degree s has R(0) = R'(0) = R''(0) = 1, so the scheme has order 2, and
the smallest maximum of |R| on [-beta, -2 log 5]; beta is the largest number for which that maximum
is 1/5. R is found by the exchange algorithm of Remez in the Chebyshev basis: it alternates at s - 1
points, so s - 2 of its zeros are real and lie between them. The two others are a complex pair, which
follows from the two conditions of order 2 once the real factors are rounded.

The monotone scheme has only pairs: R = a + b C(1 + w z) with Gegenbauer's polynomial C of degree s and
index 3/2, which is RKG2 (T. Skaras et al., J. Comput. Phys. 425 (2021) 109879): its kernel on an
unbounded grid is positive but for a few percent.

usage: superstep_table.py > src/model/superstep/superstep_table.h        (needs NumPy)
"""
import math
from fractions import Fraction

import numpy as np
from numpy.polynomial import chebyshev

DAMPING = 0.2
RIGHT = 2 * math.log(5)
MONOTONE_MOST = 48
STAGES = (4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192)


def alternant(angles, beta):
    """The coefficients of the polynomial that alternates at these points x = cos(angle)."""
    degree = len(angles) + 1
    k = np.arange(degree + 1)
    scale = degree ** 2
    matrix = np.zeros((degree + 2, degree + 2))
    matrix[0, :-1] = 1
    matrix[1, :-1] = k ** 2 / scale
    matrix[2, :-1] = k ** 2 * (k ** 2 - 1) / (3 * scale ** 2)
    matrix[3:, :-1] = np.cos(np.outer(angles, k))
    matrix[3:, -1] = (-1.0) ** np.arange(degree - 1)
    right = np.zeros(degree + 2)
    right[:3] = 1, beta / 2 / scale, (beta / 2 / scale) ** 2
    return np.linalg.solve(matrix, right)[:-1]


def extremes(coefficients, first):
    """Angles of the extremes of alternating sign on [first, pi], as many as the degree less 1."""
    wanted = len(coefficients) - 2
    angles = np.linspace(first, math.pi, 80 * wanted)
    values = chebyshev.chebval(np.cos(angles), coefficients)
    found = []
    for i in range(len(angles)):
        inside = 0 < i < len(angles) - 1
        if inside and (values[i] - values[i - 1]) * (values[i + 1] - values[i]) > 0:
            continue
        angle = angles[i]
        if inside:  # the vertex of the parabola through three points
            bend = values[i - 1] - 2 * values[i] + values[i + 1]
            angle += (angles[1] - angles[0]) / 2 * (values[i - 1] - values[i + 1]) / bend
        value = chebyshev.chebval(math.cos(angle), coefficients)
        if found and (found[-1][1] > 0) == (value > 0):
            found[-1] = max(found[-1], (angle, value), key=lambda pair: abs(pair[1]))
        else:
            found.append((angle, value))
    while len(found) > wanted:
        found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
    return np.array([angle for angle, _ in found]), max(abs(value) for _, value in found)


def smallest_maximum(degree, beta):
    first = math.acos(1 - 2 * RIGHT / beta)
    angles = np.linspace(first, math.pi, degree - 1)
    last = math.inf
    for _ in range(60):
        coefficients = alternant(angles, beta)
        angles, largest = extremes(coefficients, first)
        if len(angles) < degree - 1:
            return None, angles, math.inf
        if abs(largest / last - 1) < 1e-12:
            break
        last = largest
    return coefficients, angles, largest


def polynomial(degree):
    low, high = 0.3 * degree ** 2, 0.6 * degree ** 2
    best = None
    for _ in range(48):
        beta = (low + high) / 2
        found = smallest_maximum(degree, beta)
        if found[2] > DAMPING:
            high = beta
        else:
            low, best = beta, found
    return low, best[0], best[1]


def real_factors(beta, coefficients, angles):
    """The w of the factors 1 + w z, from the largest to the smallest."""
    factors = []
    for low, high in zip(angles, angles[1:]):
        below = chebyshev.chebval(math.cos(low), coefficients) > 0
        for _ in range(60):
            middle = (low + high) / 2
            if (chebyshev.chebval(math.cos(middle), coefficients) > 0) == below:
                low = middle
            else:
                high = middle
        factors.append(1 / (beta * math.sin(low / 2) ** 2))
    return factors


def pair(factors):
    """a and alpha of 1 + a z + a alpha z^2, so that the sums of order 1 and 2 are 1 and 1/2."""
    exact = [Fraction(w) for w in factors]
    total = sum(exact)
    a = 1 - total
    products = (total ** 2 - sum(w ** 2 for w in exact)) / 2
    return float(a), float((Fraction(1, 2) - products - a * total) / a)


def gegenbauer(degree, x):
    """C of index 3/2 and its derivative."""
    before, value = 0, 1
    before_slope, slope = 0, 0
    for n in range(1, degree + 1):
        value, before, slope, before_slope = (
            ((2 * n + 1) * x * value - (n + 1) * before) / n, value,
            ((2 * n + 1) * (value + x * slope) - (n + 1) * before_slope) / n, slope)
    return value, slope


def monotone(degree):
    """beta, and a and alpha of the pairs, from the largest to the smallest."""
    first = 3 * math.comb(degree + 3, 4)
    second = 15 * math.comb(degree + 4, 6)
    w, b = first / second, second / first ** 2
    shift = (1 - b * math.comb(degree + 2, 2)) / b
    angles = math.pi * (np.arange(degree) + 0.5) / degree
    roots = np.cos(angles) + 1j * np.sin(angles) / degree * np.where(np.arange(degree) % 2, 1, -1)
    for _ in range(200):  # by Aberth's method
        value, slope = gegenbauer(degree, roots)
        newton = (value + shift) / slope
        apart = roots[:, None] - roots[None, :] + np.eye(degree)
        others = (1 / apart).sum(axis=1) - 1
        roots = roots - newton / (1 - newton * others)
    factors = sorted((w / (1 - root) for root in roots if root.imag > 0), key=abs, reverse=True)
    assert len(factors) == degree // 2
    total = sum(2 * factor.real for factor in factors)
    assert abs(total - 1) < 1e-9
    pairs = [(2 * f.real / total, abs(f) ** 2 / (2 * f.real) * total) for f in factors]
    # the products of all pairs of weights sum to 1/2: correct alpha by what rounding left
    half = ((sum(a for a, _ in pairs) ** 2 - sum(a * a for a, _ in pairs)) / 2
            + sum(a * alpha for a, alpha in pairs))
    a, alpha = pairs[0]
    pairs[0] = (a, alpha + (0.5 - half) / a)
    assert abs(half - 0.5) < 1e-9 and all(a > 0 and alpha > 0 for a, alpha in pairs)
    return 2 / w, pairs


def lebedev(n):
    """The order in which products of factors, sorted from the largest, stay small."""
    if n == 1:
        return [0]
    if n % 2 == 0:
        return [i for k in lebedev(n // 2) for i in (n - 1 - k, k)]
    return [n // 2] + [i + (i >= n // 2) for i in lebedev(n - 1)]


def print_numbers(title, numbers):
    print(f"    /* {title} */")
    for i in range(0, len(numbers), 4):
        print("    " + " ".join(f"{float(w).hex()}," for w in numbers[i:i + 4]))


def row_text(degree, at, beta, share=0.999):
    return (f"    {{{degree}, {at}, {(share * beta).hex()}}}, "
            f"/* {beta:.3f} = {beta / degree ** 2:.4f} s^2 */")


def main():
    print("/* Written by cmake/superstep_table.py, which says what the numbers are. */")
    print("/* clang-format off */")
    print("static const double superstep_factors[] = {")
    rows, at = [], 0
    for degree in STAGES:
        beta, coefficients, angles = polynomial(degree)
        factors = real_factors(beta, coefficients, angles)
        a, alpha = pair(factors)
        items = [None] + factors
        order = [items[i] for i in reversed(lebedev(len(items)))]
        assert order[0] is None and a > 0 and alpha > 0
        numbers = [alpha, a] + order[1:]
        print_numbers(degree, numbers)
        rows.append(row_text(degree, at, beta))
        at += len(numbers)
    monotone_rows = []
    for degree in (s for s in STAGES if s <= MONOTONE_MOST):
        beta, pairs = monotone(degree)
        order = [pairs[i] for i in reversed(lebedev(len(pairs)))]
        print_numbers(f"{degree}, monotone", [w for a, alpha in order for w in (alpha, a)])
        monotone_rows.append(row_text(degree, at, beta, 0.97))  # R is 1 at -beta
        at += degree
    print("};")
    for name, texts in (("rows", rows), ("monotone_rows", monotone_rows)):
        print(f"static const struct superstep_row superstep_{name}[] = {{")
        print("\n".join(texts))
        print("};")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
