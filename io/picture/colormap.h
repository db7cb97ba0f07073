/* Colours of a temperature. */
#ifndef ISOTHERM_IO_PICTURE_COLORMAP_H
#define ISOTHERM_IO_PICTURE_COLORMAP_H

#include <stdint.h>

#include "config/settings.h"

/* For values that are not finite; no map contains this grey. */
enum { COLORMAP_GREY = 0x808080 };

/* 0xRRGGBB: the colour of `value`, clamped to [low, high], when the map spans that, low < high. */
uint32_t colormap_of(enum colormap map, double value, double low, double high);

#endif
