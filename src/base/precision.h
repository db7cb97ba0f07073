/* The two floating-point formats that a field can have. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum precision { PRECISION_FLOAT64, PRECISION_FLOAT32 };

static inline size_t precision_bytes(enum precision precision)
{
    return precision == PRECISION_FLOAT64 ? sizeof(double) : sizeof(float);
}

/* "float64" or "float32", as in the configuration. */
static inline const char *precision_name(enum precision precision)
{
    return precision == PRECISION_FLOAT64 ? "float64" : "float32";
}

/* `value` rounded to this format. */
static inline double precision_round(enum precision precision, double value)
{
    return precision == PRECISION_FLOAT64 ? value : (double)(float)value;
}

/* Element `at` of an array in this format. */
static inline double precision_get(enum precision precision, const void *values, int64_t at)
{
    return precision == PRECISION_FLOAT64 ? ((const double *)values)[at]
                                          : (double)((const float *)values)[at];
}

/* Its bits. */
static inline uint64_t precision_bits(enum precision precision, const void *values, int64_t at)
{
    uint64_t wide;
    uint32_t narrow;
    if (precision == PRECISION_FLOAT64) {
        memcpy(&wide, (const char *)values + (size_t)at * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)values + (size_t)at * sizeof narrow, sizeof narrow);
    return narrow;
}

static inline void precision_set(enum precision precision, void *values, int64_t at, double value)
{
    if (precision == PRECISION_FLOAT64) {
        ((double *)values)[at] = value;
    } else {
        ((float *)values)[at] = (float)value;
    }
}
