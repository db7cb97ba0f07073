/* Numbers in ascending order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many of `count` numbers, the first of which is *first and which are `stride` bytes apart, are
 * at most x. */
static inline int64_t sorted_up_to(const double *first, size_t stride, int64_t count, double x)
{
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const double *at = (const void *)((const char *)first + (size_t)middle * stride);
        low = *at <= x ? middle + 1 : low;
        high = *at <= x ? high : middle;
    }
    return low;
}

/* The last of `count` intervals between such numbers that begins at x or below; the first when none
 * does. */
static inline int64_t sorted_interval(const double *first, size_t stride, int64_t count, double x)
{
    const int64_t begun = sorted_up_to(first, stride, count, x);
    return begun > 0 ? begun - 1 : 0;
}
