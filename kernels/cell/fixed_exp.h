/* exp(x) with the same bits on every backend: a library's has others on each. Included by C and by
 * HIP sources.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2: Taylor's polynomial of degree 13,
 * whose remainder is 4e-18, with explicit fma in a fixed order. Within 1 ulp of the true value
 * (tests/unit/test_fixed_exp.c). For -708 <= x <= 709, where results are normal numbers. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "kernels/cell/inline.h"

KERNEL_INLINE double fixed_exp(double x)
{
    const double shift = 0x1.8p52; /* leaves round(y) in the low bits of y + shift */
    const double shifted = fma(x, 0x1.71547652b82fep0, shift);
    const double n = shifted - shift;
    /* ln 2 in two parts; the first ends in zeros, so that n times it is exact */
    const double r = fma(n, -0x1.a39ef35793c76p-33, fma(n, -0x1.62e42feep-1, x));
    double p = 1.0 / 6227020800.0;
    p = fma(p, r, 1.0 / 479001600.0);
    p = fma(p, r, 1.0 / 39916800.0);
    p = fma(p, r, 1.0 / 3628800.0);
    p = fma(p, r, 1.0 / 362880.0);
    p = fma(p, r, 1.0 / 40320.0);
    p = fma(p, r, 1.0 / 5040.0);
    p = fma(p, r, 1.0 / 720.0);
    p = fma(p, r, 1.0 / 120.0);
    p = fma(p, r, 1.0 / 24.0);
    p = fma(p, r, 1.0 / 6.0);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    uint64_t bits;
    uint64_t exponent;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 52; /* the low bits of `shifted` are n, modulo 2^12 */
    memcpy(&p, &bits, sizeof p);
    return p;
}
