/* What a thread of `compare` has seen, and its way to the keys. */
#pragma once

#include "kernels/hip/device/arch.h"

#include "kernels/class_summary.h"
#include "kernels/operations.h"

struct extremes {
    unsigned long long difference = 0; /* bits of the largest, in the order of the numbers */
    double low = HUGE_VAL, high = -HUGE_VAL;

    __device__ __forceinline__ void see(double a, double b)
    {
        const unsigned long long bits = (unsigned long long)__double_as_longlong(fabs(a - b));
        difference = bits > difference ? bits : difference;
        low = a < low ? a : low;
        high = a > high ? a : high;
    }

    /* Those of a place of the ring that are in the box. */
    template <typename PLACE, typename CELLS>
    __device__ __forceinline__ void see_all(const PLACE &p, const CELLS &a, const CELLS &b)
    {
#pragma unroll
        for (int row = 0; row < (int)(sizeof a.row / sizeof a.row[0]); row++) {
#pragma unroll
            for (int i = 0; i < a.row[0].N; i++) {
                if (p.whole || (row < p.rows && i >= p.begin && i < p.end)) {
                    see((double)a.row[row].v[i], (double)b.row[row].v[i]);
                }
            }
        }
    }

    /* All lanes of a wave call. */
    __device__ __forceinline__ void raise(unsigned long long *keys) const
    {
        const bool any = low <= high;
        unsigned long long key[DIFFERENCE_KEYS] = {
            class_key_of(__longlong_as_double((long long)difference)), any ? class_key_of(high) : 0,
            any ? class_key_of(-low) : 0};
#pragma unroll
        for (int n = 0; n < DIFFERENCE_KEYS; n++) {
            for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
                const unsigned long long other = arch_shift_down(key[n], lanes);
                key[n] = other > key[n] ? other : key[n];
            }
            if (arch_is_first_lane() &&
                key[n] > *const_cast<volatile unsigned long long *>(&keys[n])) {
                atomicMax(&keys[n], key[n]);
            }
        }
    }
};
