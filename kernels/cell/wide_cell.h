/* The update of one cell with a wider stencil: the expressions that every backend evaluates.
 *
 * Radius R of 2 to 4: order 2 R. Per axis D = sum over k of w_k (T-k - 2 T + T+k), and next to a
 * closed face a row of its own, weights of the differences from the 2 R cells nearest to the face.
 * T' = T + sum over axes of r D, as in heat_cell.h. The rows are differences of one flux per face,
 * with weights that are multiples of a power of two: their sums are exact, so that the heat is
 * conserved to rounding (docs/reference/numerics.md, "Wider stencils").
 *
 * Included by C and by HIP sources. */
#pragma once

#include <stdint.h>

#include "kernels/cell/inline.h"

enum { WIDE_RADIUS_LEAST = 2, WIDE_RADIUS_MOST = 4, WIDE_CELLS_MOST = 2 * WIDE_RADIUS_MOST };

/* One closed face. Cells and rows are counted from it. */
struct wide_closure {
    double weight[WIDE_RADIUS_MOST][WIDE_CELLS_MOST]; /* [row][cell] of its difference */
    double given[WIDE_RADIUS_MOST];                   /* [row] of the given value */
    double in[WIDE_CELLS_MOST];                       /* of the inward flux, as weight of row 0 */
    double in_given;
    double value; /* K: the given or ambient temperature, or q h / k of a flux q */
    double slope; /* 1: the given value counts less the own cell; 0: itself */
};

/* Of a row next to a closed face, or of the inward flux: in double for both precisions, rounded
 * once at the end. From cell 0 to cell 2 R - 1. */
KERNEL_INLINE double wide_given(double weight, double slope, double value, double own)
{
    return weight * fma(-slope, own, value);
}

KERNEL_INLINE double wide_near(double weight, double other, double own, double sum)
{
    return fma(weight, other - own, sum);
}

#define WIDE_DEFINE(NAMED, REAL, FMA)                                                              \
    /* Start with sum = 0, and from k = R to k = 1. */                                             \
    KERNEL_INLINE REAL NAMED(wide_term)(REAL w, REAL c, REAL m, REAL p, REAL sum)                  \
    {                                                                                              \
        return FMA(w, FMA((REAL)-2, c, m + p), sum);                                               \
    }                                                                                              \
    /* base: what the sum begins with, as in heat_cell.h. */                                       \
    KERNEL_INLINE REAL NAMED(wide_update)(REAL base, REAL dx, REAL dy, REAL dz, REAL rx, REAL ry,  \
                                          REAL rz)                                                 \
    {                                                                                              \
        return FMA(rx, dx, FMA(ry, dy, FMA(rz, dz, base)));                                        \
    }
WIDE_DEFINE(KERNEL_FLOAT64, double, fma)
WIDE_DEFINE(KERNEL_FLOAT32, float, fmaf)
#undef WIDE_DEFINE
