/* The layout of a picture, in pixels; the origin is at the top left, y downward. */
#pragma once

#include <cairo.h>

#include "io/picture/picture_draw.h"

enum { PICTURE_MAX_TEXTS = 100, PICTURE_MAX_LINES = 160, PICTURE_TEXT_BYTES = 256 };

struct picture_place {
    int x;
    int y;
    int width;
    int height;
};

struct picture_style {
    int size; /* size of the font */
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
    int width; /* size of the image */
    int height;
    struct picture_place plot;                     /* the cells or the curves */
    struct picture_place bar;                      /* the colours of the map; empty for curves */
    struct picture_place keys[PICTURE_MAX_CURVES]; /* keys of the legend */
    int nkeys;
    struct picture_text texts[PICTURE_MAX_TEXTS];
    int ntexts;
    struct picture_line lines[PICTURE_MAX_LINES];
    int nlines;
};

/* The layout of a plane, and that of a chart. `cairo` measures the texts; any surface like the
 * target will do. */
void picture_layout(cairo_t *cairo, const struct picture_view *view, struct picture_layout *layout);
void picture_layout_chart(cairo_t *cairo, const struct picture_chart *chart,
                          struct picture_layout *layout);

/* The chart of a view that is a curve: samples[1] is 1. `curve` and `x`, of samples[0], are its
 * memory. */
enum { PICTURE_HEADINGS = 2 };
void picture_chart_of(const struct picture_view *view,
                      char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES], double *x,
                      struct picture_curve *curve, struct picture_chart *chart);

void picture_font(cairo_t *cairo, const struct picture_style *style);
