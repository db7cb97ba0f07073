/* What the tests of pictures need: a picture decoded again, and where its parts should be. */
#pragma once

#include "io_rig.h"

#include "io/picture/picture_layout.h"

/* The caller destroys it. */
cairo_surface_t *decode(const char *path);

/* 0xRRGGBB */
uint32_t pixel_at(cairo_surface_t *image, int x, int y);

int lightness(uint32_t color); /* 0 to 765 */

void layout_of(const struct picture_view *view, struct picture_layout *layout);
