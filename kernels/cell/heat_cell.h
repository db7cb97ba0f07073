/* The update of one cell: the expression that every backend evaluates.
 *
 * Forward Euler on the 7-point Laplacian, T' = T + sum over axes of r (T- - 2 T + T+), with
 * r = alpha dt / h^2. Explicit fma in a fixed order, with -ffp-contract=off, gives the same bits on
 * any machine. The difference form keeps a uniform field exactly uniform, and its rounding does not
 * drift the heat.
 *
 * Included by C and by HIP sources. */
#pragma once

#include <stdint.h>

#include "kernels/cell/inline.h"

#define HEAT_DEFINE(name, REAL, FMA)                                                               \
    /* base: what the sum begins with, the cell unless it corrects; c: the cell; xm..zp: its six   \
     * neighbours, K; rx, ry, rz: alpha dt / h^2 per axis. */                                      \
    KERNEL_INLINE REAL heat_cell_##name(REAL base, REAL c, REAL xm, REAL xp, REAL ym, REAL yp,     \
                                        REAL zm, REAL zp, REAL rx, REAL ry, REAL rz)               \
    {                                                                                              \
        const REAL dx = FMA((REAL)-2, c, xm + xp);                                                 \
        const REAL dy = FMA((REAL)-2, c, ym + yp);                                                 \
        const REAL dz = FMA((REAL)-2, c, zm + zp);                                                 \
        return FMA(rx, dx, FMA(ry, dy, FMA(rz, dz, base)));                                        \
    }                                                                                              \
    /* The value beyond a boundary face: an affine map of the cell inside it (see                  \
     * model/medium/boundary.h). */                                                                \
    KERNEL_INLINE REAL heat_outside_##name(REAL inside, REAL a, REAL b)                            \
    {                                                                                              \
        return FMA(a, inside, b);                                                                  \
    }
HEAT_DEFINE(float64, double, fma)
HEAT_DEFINE(float32, float, fmaf)
#undef HEAT_DEFINE

/* Finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): a bijection of 64 bits in
 * which every input bit changes about half of the output bits. */
KERNEL_INLINE uint64_t heat_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x;
}

/* One cell's term of `field_hash`: `index` is the cell's global index (k ny + j) nx + i, `bits`
 * the bits of its temperature (float32: zero-extended). The hash is the sum modulo 2^64. */
KERNEL_INLINE uint64_t heat_cell_hash(uint64_t index, uint64_t bits)
{
    return heat_mix64(bits ^ heat_mix64(index + UINT64_C(0x9e3779b97f4a7c15)));
}
