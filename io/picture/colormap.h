/* Colours of a temperature. */
#ifndef ISOTHERM_IO_PICTURE_COLORMAP_H
#define ISOTHERM_IO_PICTURE_COLORMAP_H

#include <stdint.h>

struct color {
    uint8_t red;
    uint8_t green;
    uint8_t blue;
};

enum { COLORMAP_SIZE = 256 };

/* Inferno by S. van der Walt and N. Smith (CC0): equal steps look equally large, lightness grows
 * all the way, so that it reads the same in grey and to the colour-blind. */
extern const struct color colormap_inferno[COLORMAP_SIZE];

/* The colour of `value` when the map spans [low, high], low < high; beyond that, the end's.
 * Grey when the value is not finite: inferno has no grey. */
struct color colormap_of(double value, double low, double high);

#endif
