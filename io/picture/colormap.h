/* Colours of a temperature. */
#ifndef ISOTHERM_IO_PICTURE_COLORMAP_H
#define ISOTHERM_IO_PICTURE_COLORMAP_H

#include <stdint.h>

#include "config/settings.h"

/* Of a value that is not finite: no map has this grey. */
enum { COLORMAP_GREY = 0x808080 };

/* 0xRRGGBB: the colour of `value` when the map spans [low, high], low < high; beyond that, the
 * end's. */
uint32_t colormap_of(enum colormap map, double value, double low, double high);

#endif
