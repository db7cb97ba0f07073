/* The update of one cell in a medium of several classes: the expression that every backend
 * evaluates.
 *
 * Forward Euler on the 7-point stencil, T' = T + sigma S with S = q + sum over the six neighbours
 * of g (T_neighbour - T). With a reference heat capacity per volume C,
 *   g = G dt / C         G: conductance between the two cells per cell volume, W/(m^3 K); symmetric
 *   sigma = C / (rho c)  of the cell; constant over a run, whatever dt
 *   q = Q dt / C         Q: heat source of the cell, W/m^3; so g and q are in K per K and in K
 * A cell with sigma = 0 keeps its temperature: the cells of an ambient, whose q is not a source but
 * that temperature, for the sums of surfaces.
 * The same rounded g on both sides of a face, and a constant sigma, keep the heat, the sum of
 * T / sigma, up to the rounding of S. A uniform field stays exactly uniform.
 *
 * Included by C and by HIP sources. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "kernels/cell/inline.h"

/* Classes have the numbers 0 to MEDIUM_CLASSES - 1. */
enum { MEDIUM_CLASSES = 255 };

/* The table of coefficients, all in the field's precision: for `n` classes and `m` closures per
 * face (m a multiple of n: one per patch of the face and class of the cell inside)
 *   sigma, q     of each class         [n][2]
 *   g            per axis              [3][n][n]
 *   closures     of each face, {a, b, e, 0}  [6][m][4]
 * Faces whose cells have closures of their own have these behind everything else; their numbers
 * count on from those of the face. */
KERNEL_INLINE int64_t medium_cell_at(int of_class)
{
    return 2 * (int64_t)of_class;
}

KERNEL_INLINE int64_t medium_g_at(int n, int axis, int of_class, int neighbour)
{
    return 2 * (int64_t)n + ((int64_t)axis * n + of_class) * n + neighbour;
}

/* The axis and the neighbour of a medium_g_at. */
KERNEL_INLINE int medium_axis_of(int n, int pair)
{
    return (pair - 2 * n) / (n * n);
}

KERNEL_INLINE int medium_neighbour_of(int n, int pair)
{
    return (pair - 2 * n) % n;
}

KERNEL_INLINE int64_t medium_closure_at(int n, int m, int face, int closure)
{
    return 2 * (int64_t)n + 3 * (int64_t)n * n + 4 * ((int64_t)face * m + closure);
}

KERNEL_INLINE int64_t medium_table_length(int n, int m)
{
    return medium_closure_at(n, m, 6, 0);
}

/* The closure of a cell on `face`: patch, pitch and first: the face's, NULL and 0 for none; see
 * struct device_medium. */
KERNEL_INLINE int medium_closure(const uint8_t *patch, int64_t pitch, int64_t first, int n,
                                 int face, const int64_t *cell, int of_class)
{
    const int axis = face / 2;
    const int across = axis == 0 ? 1 : 0;
    const int up = axis == 2 ? 1 : 2;
    const int64_t at = cell[up] * pitch + cell[across];
    return patch == NULL ? of_class : first > 0 ? (int)(first + at) : patch[at] * n + of_class;
}

/* The place of a cell on `face` of a field of `cells`, in the order of their indices. */
KERNEL_INLINE int64_t medium_face_place(const int64_t *cells, int face, const int64_t *cell)
{
    const int across = face / 2 == 0 ? 1 : 0;
    return cell[face / 2 == 2 ? 1 : 2] * cells[across] + cell[across];
}

/* Newton steps for the temperature of a face that radiates: from the start below to rounding, for
 * any coefficients. */
enum { MEDIUM_NEWTON_STEPS = 5 };

/* x^(1/4) of a positive x, up to 6.1 % too large: the bits of a number, as an integer, are nearly
 * its logarithm. */
KERNEL_INLINE double KERNEL_FLOAT64(medium_root4)(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 2) + UINT64_C(0x2ff4000000000000); /* 3/4 of the bits of 1 */
    memcpy(&x, &bits, sizeof bits);
    return x;
}

KERNEL_INLINE float KERNEL_FLOAT32(medium_root4)(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 2) + UINT32_C(0x2fa00000);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

#define MEDIUM_DEFINE(NAMED, REAL, FMA)                                                            \
    /* base: what the sum begins with, as in heat_cell.h; dxm..dzp: each neighbour less the        \
     * cell. */                                                                                    \
    KERNEL_INLINE REAL NAMED(medium_sum)(REAL base, REAL dxm, REAL dxp, REAL dym, REAL dyp,        \
                                         REAL dzm, REAL dzp, REAL gxm, REAL gxp, REAL gym,         \
                                         REAL gyp, REAL gzm, REAL gzp, REAL sigma, REAL q)         \
    {                                                                                              \
        const REAL z = FMA(gzm, dzm, FMA(gzp, dzp, q));                                            \
        const REAL y = FMA(gym, dym, FMA(gyp, dyp, z));                                            \
        const REAL x = FMA(gxm, dxm, FMA(gxp, dxp, y));                                            \
        return FMA(sigma, x, base);                                                                \
    }                                                                                              \
    KERNEL_INLINE REAL NAMED(medium_cell)(REAL base, REAL c, REAL xm, REAL xp, REAL ym, REAL yp,   \
                                          REAL zm, REAL zp, REAL gxm, REAL gxp, REAL gym,          \
                                          REAL gyp, REAL gzm, REAL gzp, REAL sigma, REAL q)        \
    {                                                                                              \
        return NAMED(medium_sum)(base, xm - c, xp - c, ym - c, yp - c, zm - c, zp - c, gxm, gxp,   \
                                 gym, gyp, gzm, gzp, sigma, q);                                    \
    }                                                                                              \
    /* The temperature F of a face that radiates, from a F + e F^4 = sum. */                       \
    KERNEL_INLINE REAL NAMED(medium_radiating)(REAL sum, REAL a, REAL e)                           \
    {                                                                                              \
        /* each term alone gives a value above F, the smaller one at most 1.46 times it */         \
        REAL face = sum / a;                                                                       \
        const REAL root = sum > 0 ? NAMED(medium_root4)(sum / e) : face;                           \
        face = root < face ? root : face;                                                          \
        KERNEL_NO_UNROLL                                                                           \
        for (int n = 0; n < MEDIUM_NEWTON_STEPS; n++) {                                            \
            const REAL cube = e * face * face * face;                                              \
            const REAL rest = FMA(a, face, FMA(cube, face, -sum));                                 \
            face = face - rest / FMA((REAL)4, cube, a);                                            \
        }                                                                                          \
        return face;                                                                               \
    }                                                                                              \
    /* The value beyond a closed face. e = 0: a inside + b. Else the face radiates: its            \
     * temperature F solves a F + e F^4 = inside + b, and the value is 2 F - inside. */            \
    KERNEL_INLINE REAL NAMED(medium_outside)(REAL inside, REAL a, REAL b, REAL e)                  \
    {                                                                                              \
        if (e == 0) {                                                                              \
            return FMA(a, inside, b);                                                              \
        }                                                                                          \
        const REAL face = NAMED(medium_radiating)(inside + b, a, e);                               \
        return FMA((REAL)2, face, -inside);                                                        \
    }
MEDIUM_DEFINE(KERNEL_FLOAT64, double, fma)
MEDIUM_DEFINE(KERNEL_FLOAT32, float, fmaf)
#undef MEDIUM_DEFINE

/* The temperature of a closed face. */
KERNEL_INLINE double KERNEL_FLOAT64(medium_face)(double inside, double a, double b, double e)
{
    return e == 0 ? 0.5 * fma(1 + a, inside, b)
                  : 0.5 * (inside + KERNEL_FLOAT64(medium_outside)(inside, a, b, e));
}
