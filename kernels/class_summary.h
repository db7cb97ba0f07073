/* What is found of the cells of one group of classes. Extremes are kept as integers in the order of
 * the doubles, which every backend can compare atomically. Included by C and by HIP sources. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/exact_sum.h"
#include "kernels/cell/inline.h"

struct class_summary {
    uint64_t min_key, max_key; /* class_key_of the extremes */
    struct exact_sum sum;      /* not normalised */
    int64_t cells;
};

/* Of no cell: what others are added to. */
#define CLASS_SUMMARY_NONE                                                                         \
    {                                                                                              \
        .min_key = UINT64_MAX, .max_key = 0                                                        \
    }

KERNEL_INLINE uint64_t class_key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Of a key that class_key_of made; -0 is reported as 0, which compares equal. */
KERNEL_INLINE double class_value_of(uint64_t key)
{
    const uint64_t bits = key >> 63 != 0 ? key & ~((uint64_t)1 << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value + 0.0;
}
