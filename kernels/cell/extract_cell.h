/* Conversions of one value for a file, with the bits that the host gives. Devices differ in two
 * cases: the payload of a converted NaN, and the rounding of roots. Included by C and by HIP
 * sources. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"

KERNEL_INLINE uint64_t extract_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* To the nearest float; a NaN keeps its sign and upper digits. */
KERNEL_INLINE float extract_narrow(double value)
{
    if (value == value) {
        return (float)value;
    }
    const uint64_t wide = extract_bits(value);
    const uint32_t sign = (uint32_t)(wide >> 32) & UINT32_C(0x80000000);
    const uint32_t bits = sign | UINT32_C(0x7fc00000) | (uint32_t)(wide >> 29 & 0x3fffff);
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    return narrow;
}

KERNEL_INLINE double extract_widen(float value)
{
    if (value == value) {
        return (double)value;
    }
    uint32_t narrow;
    memcpy(&narrow, &value, sizeof narrow);
    const uint64_t bits = (uint64_t)(narrow & UINT32_C(0x80000000)) << 32 |
                          UINT64_C(0x7ff8000000000000) | (uint64_t)(narrow & 0x3fffff) << 29;
    double wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

/* The float64 before (-1) or after (+1) a positive one. */
KERNEL_INLINE double extract_beside(double value, int step)
{
    const uint64_t bits = extract_bits(value) + (uint64_t)(int64_t)step;
    double beside;
    memcpy(&beside, &bits, sizeof beside);
    return beside;
}

/* The correctly rounded root of `square`, from a guess within a few units of the last digit: the r
 * with r (r before) < square <= r (r after) (B. Tuckerman's test; the sign of an fma is exact).
 * square: 2^-600 to the largest. */
KERNEL_INLINE double extract_nearest_root(double square, double guess)
{
    while (fma(guess, extract_beside(guess, -1), -square) >= 0) {
        guess = extract_beside(guess, -1);
    }
    while (fma(guess, extract_beside(guess, 1), -square) < 0) {
        guess = extract_beside(guess, 1);
    }
    return guess;
}

/* Of a square: not negative. */
KERNEL_INLINE double extract_root(double square)
{
    if (!(square > 0 && square <= 0x1.fffffffffffffp+1023)) {
        return square; /* 0, infinite, NaN */
    }
    const bool is_small = square < 0x1p-600; /* the test's fma could underflow */
    const double scaled = is_small ? square * 0x1p+600 : square;
    const double root = extract_nearest_root(scaled, sqrt(scaled));
    return is_small ? root * 0x1p-300 : root;
}
