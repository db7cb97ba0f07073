/* Sums of temperatures that do not depend on the order of the terms.
 *
 * A value is split into three integers that count multiples of 1, 2^-40 and 2^-80 K. Integers add
 * without rounding, so any order, thread count, decomposition or device gives the same bits. The
 * split adds 1.5 * 2^(52+e), which leaves round(x / 2^e) in the low bits of the significand (J.
 * Demmel, H. D. Nguyen, "Parallel Reproducible Summation", IEEE Trans. Computers 64, 2015). It
 * needs round-to-nearest and no floating-point reordering (-ffp-contract=off, no -ffast-math).
 *
 * Exact for |x| < 2^40 K (1.1e12) down to multiples of 2^-80 K (8e-25). Smaller parts are rounded
 * cell by cell, so the sum is still independent of the order. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Digits in base 2^40, least significant first: digit[d] counts multiples of 2^(40 (d - 2)) K.
 * Normalised: 0 <= digit[0..2] < 2^40; digit[3] carries the sign. The struct is plain data, may be
 * summed over ranks as 4 x MPI_INT64_T (up to 2^23 ranks), and is then normalised again. */
struct exact_sum {
    int64_t digit[4];
};

/* The largest magnitude that a term may have, in K (exclusive). */
#define EXACT_SUM_LIMIT 1099511627776.0

/* Raw counters of one accumulation: no carries, so at most 2^22 terms between two
 * exact_sum_add_parts. */
struct exact_parts {
    int64_t part[3]; /* multiples of 2^-80, 2^-40, 1 */
};
enum { EXACT_PARTS_MAX_TERMS = 1 << 22 };

static inline int64_t exact_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Split `x` (|x| < EXACT_SUM_LIMIT) and add the parts to the counters. Without branches, so that
 * loops vectorize. */
static inline void exact_parts_add(struct exact_parts *parts, double x)
{
    const double magic0 = 0x1.8p52;  /* multiples of 1 */
    const double magic1 = 0x1.8p12;  /* multiples of 2^-40 */
    const double magic2 = 0x1.8p-28; /* multiples of 2^-80 */
    const double s0 = x + magic0;
    const double r0 = x - (s0 - magic0);
    const double s1 = r0 + magic1;
    const double r1 = r0 - (s1 - magic1);
    const double s2 = r1 + magic2;
    parts->part[2] += exact_bits(s0) - exact_bits(magic0);
    parts->part[1] += exact_bits(s1) - exact_bits(magic1);
    parts->part[0] += exact_bits(s2) - exact_bits(magic2);
}

/* Binades [2^e, 2^(e+1)) whose values are multiples of 2^-80 and below EXACT_SUM_LIMIT. */
enum { EXACT_LEAST_EXPONENT = -28, EXACT_MOST_EXPONENT = 39, EXACT_BINADE_MAX_TERMS = 512 };

/* Add `n` positive values of one such binade, at most EXACT_BINADE_MAX_TERMS, whose bits were
 * summed modulo 2^64: within a binade the bits count multiples of 2^(e - 52). */
static inline void exact_parts_add_binade(struct exact_parts *parts, int exponent, uint64_t bits,
                                          uint64_t n)
{
    const uint64_t one = UINT64_C(1);
    const int fraction = 52 - exponent; /* binary digits behind the point, 13 to 80 */
    const uint64_t count = bits - n * ((uint64_t)(exponent + 1022) << 52); /* below 2^62 */
    const uint64_t rest = fraction < 62 ? count & ((one << fraction) - 1) : count;
    parts->part[2] += fraction < 62 ? (int64_t)(count >> fraction) : 0;
    if (fraction <= 40) {
        parts->part[1] += (int64_t)(rest << (40 - fraction));
    } else {
        parts->part[1] += (int64_t)(rest >> (fraction - 40));
        parts->part[0] += (int64_t)((rest & ((one << (fraction - 40)) - 1)) << (80 - fraction));
    }
}

/* Carry so that the digits are normalised; the value does not change. */
static inline void exact_sum_normalise(struct exact_sum *sum)
{
    const int64_t base = INT64_C(1) << 40;
    for (int d = 0; d < 3; d++) {
        int64_t carry = sum->digit[d] / base;
        int64_t rest = sum->digit[d] % base;
        if (rest < 0) {
            rest += base;
            carry -= 1;
        }
        sum->digit[d] = rest;
        sum->digit[d + 1] += carry;
    }
}

static inline void exact_sum_add_parts(struct exact_sum *sum, const struct exact_parts *parts)
{
    for (int d = 0; d < 3; d++) {
        sum->digit[d] += parts->part[d];
    }
    exact_sum_normalise(sum);
}

static inline void exact_sum_add(struct exact_sum *sum, const struct exact_sum *other)
{
    for (int d = 0; d < 4; d++) {
        sum->digit[d] += other->digit[d];
    }
    exact_sum_normalise(sum);
}

/* Multiply by 2^bits, bits >= 0. */
static inline void exact_sum_scale(struct exact_sum *sum, int bits)
{
    for (; bits > 0; bits -= bits < 20 ? bits : 20) { /* 20 bits fit beside a digit */
        for (int d = 0; d < 4; d++) {
            sum->digit[d] *= INT64_C(1) << (bits < 20 ? bits : 20);
        }
        exact_sum_normalise(sum);
    }
}

/* The sum as a double, K; within 2 ulp, and a function of the digits alone. The sign is split off
 * first: -50 K is -2^40 + (2^40 - 50), which would round at 2^40. */
static inline double exact_sum_value(const struct exact_sum *sum)
{
    const double step = 0x1p-40;
    const int64_t sign = sum->digit[3] < 0 ? -1 : 1;
    struct exact_sum size;
    for (int d = 0; d < 4; d++) {
        size.digit[d] = sign * sum->digit[d];
    }
    exact_sum_normalise(&size);
    const double low = (double)size.digit[1] * step + (double)size.digit[0] * step * step;
    return (double)sign * ((double)size.digit[3] * 0x1p40 + ((double)size.digit[2] + low));
}
