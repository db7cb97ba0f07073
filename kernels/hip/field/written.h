/* The summary of the cells that a thread of a step kernel writes: in fewer instructions than
 * `findings`, for fewer fields: all cells below WRITTEN_LIMIT, at most WRITTEN_MOST of a thread. */
#pragma once

#include "kernels/hip/device/arch.h"

#if ARCH_HAS_TILE_COPY

#include "kernels/hip/field/summary.h"

constexpr double WRITTEN_LIMIT = 0x1p18; /* K */
constexpr double WRITTEN_MOST = 0x1p18;

/* The terms are split at 2^-15 and 2^-49 K, by two sums that round each term to these units, exact
 * since they stay in their binade: fewer than 2^18 terms below 2^18 and of at most 2^-16. The rest
 * is rounded to 2^-80 K term by term, as everywhere; terms from WRITTEN_COARSE on have none, since
 * they are multiples of 2^-49. */
constexpr double WRITTEN_COARSE = 8;
struct written_sum {
    double high = 0x1.8p37, low = 0x1.8p3;
    long long rest = 0;

    template <bool RESTS = true> __device__ __forceinline__ void add(double x)
    {
        const double s0 = high + x;
        const double r0 = x - (s0 - high);
        const double s1 = low + r0;
        if constexpr (RESTS) {
            const double r1 = r0 - (s1 - low);
            rest += __double_as_longlong(r1 + 0x1.8p-28) - __double_as_longlong(0x1.8p-28);
        }
        high = s0;
        low = s1;
    }

    __device__ struct tally tally() const
    {
        struct tally sum = {rest, 0, 0};
        sum.add(high - 0x1.8p37);
        sum.add(low - 0x1.8p3);
        return sum;
    }
};

template <typename REAL> struct written_cells {
    REAL min = (REAL)HUGE_VAL, max = (REAL)-HUGE_VAL;
    written_sum sum;

    __device__ __forceinline__ void look(bool on, REAL cell)
    {
        min = on && cell < min ? cell : min;
        max = on && cell > max ? cell : max;
    }
    __device__ __forceinline__ void see(bool on, REAL cell)
    {
        look(on, cell);
        sum.add((double)(on ? cell : (REAL)0));
    }

    /* Of cells that are not all as above: one invalid cell, without its place. */
    __device__ findings found() const
    {
        const struct tally all = sum.tally();
        const bool valid = (double)min > -WRITTEN_LIMIT && (double)max < WRITTEN_LIMIT &&
                           sum.high == sum.high; /* no NaN */
        return {(double)min, (double)max,         {all.part[0], all.part[1], all.part[2]},
                0,           valid ? 0ULL : 1ULL, ~0ULL,
                {}};
    }
};

/* The same with the heat, of weights from 0 to 1. */
template <typename REAL> struct weighted_cells {
    written_cells<REAL> cells;
    written_sum heat;

    /* Have all cells so far, which were looked at, and their heats no rest? least: the least
     * weight. */
    __device__ __forceinline__ bool are_coarse(double least) const
    {
        return (double)cells.min * least > WRITTEN_COARSE; /* rounded, so 8 itself may be less */
    }
    /* After a look at it. */
    template <bool RESTS> __device__ __forceinline__ void add(bool on, REAL cell, double weight)
    {
        const double x = on ? (double)cell : 0;
        cells.sum.template add<RESTS>(x);
        heat.template add<RESTS>(x * weight);
    }
    __device__ findings found() const
    {
        findings all = cells.found();
        all.heat = heat.tally();
        return all;
    }
};

#endif
