/* Part of sums/strips.h: the counters of the sums over faces in shared memory. */
#pragma once

#include "kernels/hip/device/cells.h"

/* Of each thread and level: the counters of an exact sum (struct tally), and how many terms went
 * there one by one; and a place for a value. */
enum { PARTS = 3, SINGLE = PARTS, VALUE, PLACES };

/* What a block has in shared memory: these, and the sums of its strips as digits. */
template <int T, int THREADS> struct sums_memory {
    long long parts[T][PLACES][THREADS];
    unsigned long long digit[T][FACE_COUNT][4];
    bool is_last; /* block */

    __device__ __forceinline__ long long &mine(int l, int place)
    {
        return parts[l][place][threadIdx.x];
    }

    __device__ __forceinline__ void count(int l, double x)
    {
        tally one = {};
        one.add(x);
        for (int part = 0; part < PARTS; part++) {
            mine(l, part) += one.part[part];
        }
    }
};

/* Cells of a thread. Those of the binade of its first one are added as integers, as
 * exact_parts_add_binade of base/exact_sum.h does; a row with others goes to the counters. */
template <int T> struct binade_sums {
    enum { FRACTION_BITS = 52, LEAST = 1023 - 28, MOST = 1023 + 29, NONE = 1 << 12 };
    unsigned exponent;          /* biased, with the sign */
    unsigned long long bits[T]; /* the sums of each level, with exponents */

    static __device__ __forceinline__ unsigned exponent_of(double x)
    {
        return (unsigned)((unsigned long long)__double_as_longlong(x) >> FRACTION_BITS);
    }

    __device__ __forceinline__ void begin(double x)
    {
        const unsigned of_x = exponent_of(x);
        exponent = of_x < LEAST || of_x > MOST ? (unsigned)NONE : of_x;
    }

    /* rows: of the strip, at most ROWS_MOST, so that the sum of fractions fits. */
    template <typename MEMORY> __device__ __forceinline__ void end(MEMORY &memory, int rows) const
    {
        const unsigned long long one = 1ULL << FRACTION_BITS;
        const double unit = __longlong_as_double(
            (long long)((unsigned long long)(exponent - FRACTION_BITS) << FRACTION_BITS));
        for (int l = 0; l < T; l++) {
            memory.mine(l, VALUE) = (long long)bits[l];
        }
#pragma unroll 1
        for (int l = 0; l < T; l++) {
            const unsigned terms = (unsigned)(rows - (int)memory.mine(l, SINGLE));
            const unsigned long long sum =
                (unsigned long long)memory.mine(l, VALUE) - terms * (exponent * one) + terms * one;
            if (terms > 0) {
                memory.count(l, (double)(sum >> 32) * 0x1p32 * unit);
                memory.count(l, (double)(sum & 0xFFFFFFFFU) * unit);
            }
        }
    }
};
