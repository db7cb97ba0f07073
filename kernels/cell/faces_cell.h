/* A medium whose conductances are stored per cell: medium_cell of medium_cell.h, with g = G dt of
 * each face. A cell on a closed face knows its own half cell: flow = 2 g (F - T) = q0 - q1 F - q4
 * F^4 gives the temperature F of the face. Included by C and by HIP sources.
 *
 * The table (medium_cell.h) has a heat per cell in place of sigma: it is added to the cell itself,
 * since that of a source does not depend on the size of the cell. Where widths are in lines (enum
 * graded_line graded_line) closures are those of a face of the area 1, and g there is that of such
 * a face, too.
 *
 * A graded medium has sigma 1, no q, and for each face the share (g dt) v, g and v those of the
 * face and of the cell in the lines of its axis: the widths across cancel. The shares of two cells
 * at a face are of one flow up to a rounding each. */
#pragma once

#include "kernels/cell/medium_cell.h"

/* The coefficients of a closure at a face of conductance g: the temperature of the face is
 * (of_inside times the cell + given) / divisor, or, where radiated is not 0, that of
 * medium_outside. */
enum { FACES_GIVEN, FACES_DIVISOR, FACES_RADIATED, FACES_OF_INSIDE, FACES_NUMBERS };

#define FACES_DEFINE(NAMED, REAL, FMA)                                                             \
    /* x: q0, q1, q4 in K, K per K, ..., or {F, 1, 0, 1}: a closure of the table. */               \
    KERNEL_INLINE void NAMED(faces_close)(REAL g, const REAL *x, REAL *to)                         \
    {                                                                                              \
        if (x[3] != 0 || g == 0) {                                                                 \
            to[FACES_GIVEN] = g == 0 ? 0 : x[0];                                                   \
            to[FACES_DIVISOR] = 1;                                                                 \
            to[FACES_RADIATED] = 0;                                                                \
            to[FACES_OF_INSIDE] = g == 0 ? 1 : 0;                                                  \
            return;                                                                                \
        }                                                                                          \
        const REAL half = (REAL)0.5 / g;                                                           \
        to[FACES_GIVEN] = x[0] * half;                                                             \
        to[FACES_DIVISOR] = 1 + x[1] * half;                                                       \
        to[FACES_RADIATED] = x[2] * half;                                                          \
        to[FACES_OF_INSIDE] = 1;                                                                   \
    }                                                                                              \
    /* The value beyond a closed face, twice its temperature less the cell. of: by faces_close;    \
     * radiated: its FACES_RADIATED, or 0 if none radiates. */                                     \
    KERNEL_INLINE REAL NAMED(faces_beyond)(REAL inside, const REAL *of, REAL radiated)             \
    {                                                                                              \
        if (radiated != 0) {                                                                       \
            return NAMED(medium_outside)(inside, of[FACES_DIVISOR], of[FACES_GIVEN], radiated);    \
        }                                                                                          \
        const REAL sum = FMA(of[FACES_OF_INSIDE], inside, of[FACES_GIVEN]);                        \
        return FMA((REAL)2, sum / of[FACES_DIVISOR], -inside);                                     \
    }                                                                                              \
    KERNEL_INLINE REAL NAMED(faces_outside)(REAL inside, REAL g, const REAL *x)                    \
    {                                                                                              \
        REAL of[FACES_NUMBERS];                                                                    \
        NAMED(faces_close)(g, x, of);                                                              \
        return NAMED(faces_beyond)(inside, of, of[FACES_RADIATED]);                                \
    }
FACES_DEFINE(KERNEL_FLOAT64, double, fma)
FACES_DEFINE(KERNEL_FLOAT32, float, fmaf)
#undef FACES_DEFINE
