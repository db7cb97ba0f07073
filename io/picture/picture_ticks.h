/* Where an axis has its marks, and what stands there. */
#ifndef ISOTHERM_IO_PICTURE_PICTURE_TICKS_H
#define ISOTHERM_IO_PICTURE_PICTURE_TICKS_H

#include <stddef.h>
#include <stdint.h>

/* Marks at first * step, (first + 1) * step ... with step 1, 2 or 5 times a power of ten. */
struct ticks {
    double lower; /* of the axis, in `unit` */
    double upper;
    double step;
    int64_t first;
    int count;
    int digits;   /* significant ones that tell the labels apart */
    char unit[8]; /* with a prefix where lengths are far from 1 m: "mm" */
};

/* About `wanted` marks (2 at least, where the steps allow it) on the axis from lower to upper,
 * lower < upper. `unit` is "m" or "K"; K never gets a prefix. */
struct ticks ticks_choose(double lower, double upper, int wanted, const char *unit);

/* The place of mark i as a fraction of the axis. */
double ticks_fraction(const struct ticks *ticks, int i);
void ticks_label(const struct ticks *ticks, int i, char *label, size_t bytes);

#endif
