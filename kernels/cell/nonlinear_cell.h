/* The update of one cell in a medium whose properties depend on temperature: the expression that
 * every backend evaluates.
 *
 * The field is the enthalpy per volume over a reference heat capacity, u in K; temperature T and
 * conductivity k are piecewise linear functions of it. With C, dt, h and Q as in medium_cell.h,
 *   u' = u + S,  S = q + p (Ta - T) + sum over the six neighbours of g (T_neighbour - T)
 *   g = 1 / (w / k + c + w' / k')    w = C h^2 / (2 dt), c = C h dt^-1 times a contact resistance
 * Between two cells of one curve, Kirchhoff's transform takes the place of T: theta, the integral
 * of k over T from the first node, is a quadratic function of u in a segment, and the term is
 *   r (theta_neighbour - theta)      r = 1 / (2 w)
 * The same bits of g or r on both sides of a face keep the heat, the sum of u, up to the rounding
 * of S.
 *
 * Included by C and by HIP sources. */
#pragma once

#include <stdbool.h>

#include "kernels/cell/medium_cell.h"

/* The most segments per class; a table has a power of 2 of them. */
enum { NONLINEAR_SEGMENTS = 32 };

/* The table of coefficients begins like that of medium_cell.h, with sigma = 1, c in place of g, or
 * NONLINEAR_ONE_CURVE between classes of the same curve without contact, and closures {s0, s1, s4,
 * fixed}: of a face of temperature F the inward flow is, in K per step,
 *   s0 - s1 F - s4 F^4    or, with fixed = 1, F is s0
 * Then follow, for `s` segments,
 *   of each class {w in x, y, z, p, Ta, u at the solidus, 1 / (u of melting) or 0, 0,
 *                  r in x, y, z, 0}                                                      [n][12]
 *   of each class: where its segments begin, u [s]; of each segment, at its beginning,
 *                  {T, dT/du, k, dk/du, theta, dtheta/du, d2theta/du2 / 2, 0}            [s][8]
 * k is in units of the largest one of all materials. So theta <= T <= u: what is lost in rounding
 * theta is less than what is lost in rounding u', in float32 too. */
enum {
    NONLINEAR_W,
    NONLINEAR_PERFUSION = 3,
    NONLINEAR_BLOOD,
    NONLINEAR_SOLIDUS,
    NONLINEAR_MELTING,
    NONLINEAR_R = 8,
    NONLINEAR_NUMBERS = 12
};
enum { NONLINEAR_SEGMENT = 8, NONLINEAR_ONE_CURVE = -1 };

KERNEL_INLINE int64_t nonlinear_class_at(int n, int m, int of_class)
{
    return medium_table_length(n, m) + (int64_t)NONLINEAR_NUMBERS * of_class;
}

/* From the segments of a class to those of the next one. */
KERNEL_INLINE int64_t nonlinear_pitch(int s)
{
    return (int64_t)(1 + NONLINEAR_SEGMENT) * s;
}

KERNEL_INLINE int64_t nonlinear_segments_at(int n, int m, int s, int of_class)
{
    return nonlinear_class_at(n, m, n) + nonlinear_pitch(s) * of_class;
}

KERNEL_INLINE int64_t nonlinear_table_length(int n, int m, int s)
{
    return nonlinear_segments_at(n, m, s, n);
}

#define NONLINEAR_DEFINE(name, NAMED, REAL, FMA)                                                   \
    struct nonlinear_##name {                                                                      \
        REAL temperature, conductivity, theta;                                                     \
    };                                                                                             \
    /* The number of the segment of a cell, from the segments of its class. */                     \
    KERNEL_INLINE int NAMED(nonlinear_segment)(const REAL *segments, int count, REAL u)            \
    {                                                                                              \
        int s = 0;                                                                                 \
        for (int half = count / 2; half > 0; half /= 2) {                                          \
            s += u >= segments[s + half] ? half : 0;                                               \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    /* Is it s? */                                                                                 \
    KERNEL_INLINE bool NAMED(nonlinear_is_in)(const REAL *segments, int count, int s, REAL u)      \
    {                                                                                              \
        return (s == 0 || u >= segments[s]) && !(s + 1 < count && u >= segments[s + 1]);           \
    }                                                                                              \
    /* theta in a segment of these numbers. */                                                     \
    KERNEL_INLINE REAL NAMED(nonlinear_theta_of)(REAL beyond, REAL theta, REAL slope, REAL half)   \
    {                                                                                              \
        return FMA(FMA(half, beyond, slope), beyond, theta);                                       \
    }                                                                                              \
    /* Of a cell in segment s. */                                                                  \
    KERNEL_INLINE struct nonlinear_##name NAMED(nonlinear_in)(const REAL *segments, int count,     \
                                                              int s, REAL u)                       \
    {                                                                                              \
        const REAL *of = segments + count + (int64_t)NONLINEAR_SEGMENT * s;                        \
        const REAL beyond = u - segments[s];                                                       \
        const struct nonlinear_##name at = {                                                       \
            FMA(of[1], beyond, of[0]), FMA(of[3], beyond, of[2]),                                  \
            NAMED(nonlinear_theta_of)(beyond, of[4], of[5], of[6])};                               \
        return at;                                                                                 \
    }                                                                                              \
    KERNEL_INLINE struct nonlinear_##name NAMED(nonlinear_at)(const REAL *segments, int count,     \
                                                              REAL u)                              \
    {                                                                                              \
        return NAMED(nonlinear_in)(segments, count, NAMED(nonlinear_segment)(segments, count, u),  \
                                   u);                                                             \
    }                                                                                              \
    /* theta alone. */                                                                             \
    KERNEL_INLINE REAL NAMED(nonlinear_theta)(const REAL *segments, int count, int s, REAL u)      \
    {                                                                                              \
        const REAL *of = segments + count + (int64_t)NONLINEAR_SEGMENT * s;                        \
        return NAMED(nonlinear_theta_of)(u - segments[s], of[4], of[5], of[6]);                    \
    }                                                                                              \
    /* u of a cell from its temperature; at a melting point it is solid. */                        \
    KERNEL_INLINE REAL NAMED(nonlinear_enthalpy)(const REAL *segments, int count, REAL t)          \
    {                                                                                              \
        int s = 0;                                                                                 \
        for (int half = count / 2; half > 0; half /= 2) {                                          \
            s += t > segments[count + (int64_t)NONLINEAR_SEGMENT * (s + half)] ? half : 0;         \
        }                                                                                          \
        const REAL *of = segments + count + (int64_t)NONLINEAR_SEGMENT * s;                        \
        return of[1] > 0 ? segments[s] + (t - of[0]) / of[1] : segments[s];                        \
    }                                                                                              \
    /* g between two cells; the same bits from either side. */                                     \
    KERNEL_INLINE REAL NAMED(nonlinear_g)(REAL k, REAL w, REAL other_k, REAL other_w,              \
                                          REAL contact)                                            \
    {                                                                                              \
        const REAL product = k * other_k;                                                          \
        const REAL halves = w * other_k + other_w * k;                                             \
        /* the same bits without resistance */                                                     \
        return product / (contact == 0 ? halves : FMA(contact, product, halves));                  \
    }                                                                                              \
    /* Between two cells: g, and what it multiplies, from the numbers of their classes along       \
     * `axis` and the pair's entry in the table; the same bits, but for the sign, from either      \
     * side. */                                                                                    \
    KERNEL_INLINE REAL NAMED(nonlinear_between)(                                                   \
        int axis, const REAL *of_class, struct nonlinear_##name own, const REAL *of_other,         \
        struct nonlinear_##name other, REAL contact, REAL *difference)                             \
    {                                                                                              \
        if (contact < 0) {                                                                         \
            *difference = other.theta - own.theta;                                                 \
            return of_class[NONLINEAR_R + axis];                                                   \
        }                                                                                          \
        *difference = other.temperature - own.temperature;                                         \
        return NAMED(nonlinear_g)(own.conductivity, of_class[axis], other.conductivity,            \
                                  of_other[axis], contact);                                        \
    }                                                                                              \
    /* F - T of a closed face, for a half cell of conductance half = k / w. */                     \
    KERNEL_INLINE REAL NAMED(nonlinear_face)(const REAL *closure, REAL half, REAL t)               \
    {                                                                                              \
        const REAL own = closure[3] == 0 ? half : (REAL)0;                                         \
        if (closure[2] == 0) {                                                                     \
            return FMA(-closure[1], t, closure[0]) / (own + closure[1]);                           \
        }                                                                                          \
        return NAMED(medium_radiating)(FMA(half, t, closure[0]), own + closure[1], closure[2]) -   \
               t;                                                                                  \
    }                                                                                              \
    /* q and perfusion: what S begins with. Without perfusion T is not needed. */                  \
    KERNEL_INLINE REAL NAMED(nonlinear_source)(const REAL *of_class, REAL q, REAL t)               \
    {                                                                                              \
        const REAL p = of_class[NONLINEAR_PERFUSION];                                              \
        return p == 0 ? q : FMA(p, of_class[NONLINEAR_BLOOD] - t, q);                              \
    }                                                                                              \
    /* The heat of perfusion, for the ledger. */                                                   \
    KERNEL_INLINE double NAMED(nonlinear_perfusion)(const REAL *of_class, REAL t)                  \
    {                                                                                              \
        const REAL difference = of_class[NONLINEAR_BLOOD] - t;                                     \
        return (double)of_class[NONLINEAR_PERFUSION] * (double)difference;                         \
    }                                                                                              \
    /* S, from g and the difference of T or theta of each face. */                                 \
    KERNEL_INLINE REAL NAMED(nonlinear_sum)(REAL gxm, REAL gxp, REAL gym, REAL gyp, REAL gzm,      \
                                            REAL gzp, REAL xm, REAL xp, REAL ym, REAL yp, REAL zm, \
                                            REAL zp, REAL source)                                  \
    {                                                                                              \
        const REAL z = FMA(gzm, zm, FMA(gzp, zp, source));                                         \
        const REAL y = FMA(gym, ym, FMA(gyp, yp, z));                                              \
        return FMA(gxm, xm, FMA(gxp, xp, y));                                                      \
    }                                                                                              \
    KERNEL_INLINE REAL NAMED(nonlinear_liquid)(const REAL *of_class, REAL u)                       \
    {                                                                                              \
        const REAL part = (u - of_class[NONLINEAR_SOLIDUS]) * of_class[NONLINEAR_MELTING];         \
        return part < 0 ? (REAL)0 : part > 1 ? (REAL)1 : part;                                     \
    }
NONLINEAR_DEFINE(float64, KERNEL_FLOAT64, double, fma)
NONLINEAR_DEFINE(float32, KERNEL_FLOAT32, float, fmaf)
#undef NONLINEAR_DEFINE
