/* A medium whose conductances are stored per cell: medium_cell of medium_cell.h, with g = G dt of
 * each face. A cell on a closed face knows its own half cell: flow = 2 g (F - T) = q0 - q1 F - q4
 * F^4 gives the temperature F of the face. Included by C and by HIP sources.
 *
 * The table (medium_cell.h) has a heat per cell in place of sigma: it is added to the cell itself,
 * since that of a source does not depend on the size of the cell. Where widths are in lines (enum
 * graded_line graded_line) closures are those of a face of the area 1, and g there is that of such
 * a face, too.
 *
 * A graded medium has sigma 1 and for each face the share (g dt) v, g and v those of the face and
 * of the cell in the lines of its axis: the widths across cancel. The shares of two cells at a face
 * are of one flow up to a rounding each. */
#pragma once

#include "kernels/cell/medium_cell.h"

#define FACES_DEFINE(NAMED, REAL, FMA)                                                             \
    /* The value beyond a closed face, twice F less the cell. x: q0, q1, q4 in K, K per K, ..., or \
     * {F, 1, 0, 1}: a closure of the table. */                                                    \
    KERNEL_INLINE REAL NAMED(faces_outside)(REAL inside, REAL g, const REAL *x)                    \
    {                                                                                              \
        if (x[3] != 0 || g == 0) {                                                                 \
            return g == 0 ? inside : FMA((REAL)2, x[0], -inside);                                  \
        }                                                                                          \
        const REAL half = (REAL)0.5 / g;                                                           \
        const REAL share = x[1] * half;                                                            \
        const REAL given = x[0] * half;                                                            \
        if (x[2] != 0) {                                                                           \
            return NAMED(medium_outside)(inside, 1 + share, given, x[2] * half);                   \
        }                                                                                          \
        const REAL face = (inside + given) / (1 + share);                                          \
        return FMA((REAL)2, face, -inside);                                                        \
    }
FACES_DEFINE(KERNEL_FLOAT64, double, fma)
FACES_DEFINE(KERNEL_FLOAT32, float, fmaf)
#undef FACES_DEFINE
