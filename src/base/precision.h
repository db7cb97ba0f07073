/* The two floating-point formats that a field can have. */
#ifndef ISOTHERM_BASE_PRECISION_H
#define ISOTHERM_BASE_PRECISION_H

#include <stddef.h>

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

#endif
