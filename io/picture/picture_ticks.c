#include "io/picture/picture_ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct prefix {
    const char *unit;
    double limit; /* for lengths of this many m and more */
    double per_metre;
};

static const struct prefix prefixes[] = {
    {"km", 1e4, 1e-3}, {"m", 1e-2, 1.0}, {"mm", 1e-5, 1e3}, {"um", 1e-8, 1e6}, {"nm", 0.0, 1e9},
};

static const struct prefix *choose_prefix(double size)
{
    const struct prefix *prefix = prefixes;
    while (size < prefix->limit) {
        prefix++;
    }
    return prefix;
}

/* The smallest of 1, 2, 5, 10, 20 ... that is not below `least`. */
static double nice_step(double least)
{
    const double power = pow(10.0, floor(log10(least)));
    const double factor = least / power;
    /* a rounding error above 2 is still 2 */
    const double slack = 1.0 + 1e-9;
    if (factor <= 1.0 * slack) {
        return power;
    }
    if (factor <= 2.0 * slack) {
        return 2.0 * power;
    }
    return factor <= 5.0 * slack ? 5.0 * power : 10.0 * power;
}

struct ticks ticks_choose(double lower, double upper, int wanted, const char *unit)
{
    struct ticks ticks = {0};
    double factor = 1.0;
    snprintf(ticks.unit, sizeof ticks.unit, "%s", unit);
    const double largest = fmax(fabs(lower), fabs(upper));
    if (strcmp(unit, "m") == 0) {
        const struct prefix *prefix = choose_prefix(largest);
        snprintf(ticks.unit, sizeof ticks.unit, "%s", prefix->unit);
        factor = prefix->per_metre;
    }
    ticks.lower = lower * factor;
    ticks.upper = upper * factor;
    ticks.step = nice_step((ticks.upper - ticks.lower) / (wanted > 2 ? wanted : 2));
    ticks.first = (int64_t)ceil(ticks.lower / ticks.step - 1e-9);
    ticks.count = (int)((int64_t)floor(ticks.upper / ticks.step + 1e-9) - ticks.first) + 1;
    const double decades = floor(log10(largest * factor)) - floor(log10(ticks.step) + 1e-9);
    /* %g prints no more than needed; beyond 12 digits the labels would not fit anyway */
    ticks.digits = (int)fmin(fmax(decades + 1.0, 6.0), 12.0);
    return ticks;
}

double ticks_fraction(const struct ticks *ticks, int i)
{
    const double value = (double)(ticks->first + i) * ticks->step;
    return fmin(fmax((value - ticks->lower) / (ticks->upper - ticks->lower), 0.0), 1.0);
}

void ticks_label(const struct ticks *ticks, int i, char *label, size_t bytes)
{
    snprintf(label, bytes, "%.*g", ticks->digits, (double)(ticks->first + i) * ticks->step);
}
