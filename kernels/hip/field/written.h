/* The summary of the cells that a thread of a step kernel writes. */
#pragma once

#include "kernels/hip/device/arch.h"

#if ARCH_HAS_TILE_COPY

#include "kernels/hip/field/summary.h"

/* In fewer instructions than `findings`, for fewer fields: all cells below WRITTEN_LIMIT, at most
 * WRITTEN_MOST of a thread. The sum is split at 2^-12 and 2^-46 K, by two sums that round each cell
 * to these units, exact since they stay in their binade: at most 2^18 terms of 2^18 and of 2^-13.
 * The rest is rounded to 2^-80 K cell by cell, as everywhere. */
constexpr double WRITTEN_LIMIT = 0x1p18; /* K */
constexpr double WRITTEN_MOST = 0x1p18;

template <typename REAL> struct written_cells {
    REAL min = (REAL)HUGE_VAL, max = (REAL)-HUGE_VAL;
    double high = 0x1.8p40, low = 0x1.8p6;
    long long rest = 0;

    __device__ __forceinline__ void see(bool on, REAL cell)
    {
        const double x = (double)(on ? cell : (REAL)0);
        min = on && cell < min ? cell : min;
        max = on && cell > max ? cell : max;
        const double s0 = high + x;
        const double r0 = x - (s0 - high);
        const double s1 = low + r0;
        const double r1 = r0 - (s1 - low);
        high = s0;
        low = s1;
        rest += __double_as_longlong(r1 + 0x1.8p-28) - __double_as_longlong(0x1.8p-28);
    }

    /* Of cells that are not all as above: one invalid cell, without its place. */
    __device__ findings found() const
    {
        struct tally sum = {rest, 0, 0};
        const double high_part = high - 0x1.8p40;
        sum.add(high_part);
        sum.add(low - 0x1.8p6);
        const bool all = (double)min > -WRITTEN_LIMIT && (double)max < WRITTEN_LIMIT &&
                         high_part == high_part; /* no NaN */
        return {(double)min, (double)max,       {sum.part[0], sum.part[1], sum.part[2]},
                0,           all ? 0ULL : 1ULL, ~0ULL,
                {}};
    }
};

#endif
