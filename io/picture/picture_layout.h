/* The layout of a picture, in pixels; the origin is at the top left, y downward. */
#ifndef ISOTHERM_IO_PICTURE_PICTURE_LAYOUT_H
#define ISOTHERM_IO_PICTURE_PICTURE_LAYOUT_H

#include <cairo.h>

#include "io/picture/picture_draw.h"

enum { PICTURE_MAX_TEXTS = 80, PICTURE_MAX_LINES = 120, PICTURE_TEXT_BYTES = 256 };

struct picture_place {
    int x;
    int y;
    int width;
    int height;
};

struct picture_style {
    int size; /* of the font */
    cairo_font_weight_t weight;
    uint32_t color; /* 0xRRGGBB */
};

/* One line of text; no two of them touch. */
struct picture_text {
    char text[PICTURE_TEXT_BYTES];
    const struct picture_style *style;
    struct picture_place place; /* with room for the tallest and the deepest letters */
    int baseline;
};

/* A tick, a border or a line of the grid. */
struct picture_line {
    struct picture_place place;
    uint32_t color;
};

struct picture_layout {
    int width; /* of the image */
    int height;
    struct picture_place plot; /* the cells or the curve */
    struct picture_place bar;  /* the colours of the map; empty for a curve */
    struct picture_text texts[PICTURE_MAX_TEXTS];
    int ntexts;
    struct picture_line lines[PICTURE_MAX_LINES];
    int nlines;
};

/* `cairo` measures the texts: any surface like the one that is drawn on. */
void picture_layout(cairo_t *cairo, const struct picture_view *view, struct picture_layout *layout);

void picture_font(cairo_t *cairo, const struct picture_style *style);

#endif
