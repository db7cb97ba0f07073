/* The study `mhd` at one point: one substep of a Runge-Kutta method of order 3 with 2 N storage for
 * the equations of compressible, non-ideal magnetohydrodynamics in non-conservative form
 * (docs/developers/studies_mhd.md): sixth-order central differences, mixed derivatives from the two
 * diagonals. Explicit fma in a fixed order (see heat_cell.h). Included by C and by HIP sources. */
#pragma once

#include <stddef.h>

#include "kernels/cell/fixed_exp.h"
#include "kernels/cell/heat_cell.h"

/* Logarithmic density, velocity, specific entropy, magnetic vector potential. */
enum mhd_field { MHD_LNRHO, MHD_UX, MHD_UY, MHD_UZ, MHD_S, MHD_AX, MHD_AY, MHD_AZ, MHD_FIELDS };
enum { MHD_RADIUS = 3 };

/* As fixed_exp, for -87 <= x <= 88: degree 7, whose remainder is 6e-9. */
KERNEL_INLINE float mhd_exp_float32(float x)
{
    const float shift = 0x1.8p23F;
    const float shifted = fmaf(x, 0x1.715476p0F, shift);
    const float n = shifted - shift;
    const float r = fmaf(n, -0x1.7f7d1cp-20F, fmaf(n, -0x1.62e4p-1F, x));
    float p = 1.0F / 5040.0F;
    p = fmaf(p, r, 1.0F / 720.0F);
    p = fmaf(p, r, 1.0F / 120.0F);
    p = fmaf(p, r, 1.0F / 24.0F);
    p = fmaf(p, r, 1.0F / 6.0F);
    p = fmaf(p, r, 0.5F);
    p = fmaf(p, r, 1.0F);
    p = fmaf(p, r, 1.0F);
    uint32_t bits;
    uint32_t exponent;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

KERNEL_INLINE double mhd_exp_float64(double x)
{
    return fixed_exp(x);
}

#define MHD_REAL double
#define MHD(name) mhd_##name##_float64
#define MHD_FMA fma
#include "kernels/study/mhd/mhd_expression.h"
#undef MHD_REAL
#undef MHD
#undef MHD_FMA
#define MHD_REAL float
#define MHD(name) mhd_##name##_float32
#define MHD_FMA fmaf
#include "kernels/study/mhd/mhd_expression.h"
#undef MHD_REAL
#undef MHD
#undef MHD_FMA
