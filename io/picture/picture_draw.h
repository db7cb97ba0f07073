/* Pictures of samples in memory: a coloured plane or curves. No MPI, no devices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/status.h"
#include "config/settings.h"

/* A plane or a curve to draw. Samples are spread evenly over the lengths. */
struct picture_view {
    const char *title; /* UTF-8 */
    int64_t step;
    double time; /* s */

    enum axis axis[2];     /* across (left to right) and up */
    int samples[2];        /* at most PICTURE_MAX_SAMPLES each; [1] is 1 for a curve */
    double lower[2];       /* m */
    double upper[2];       /* m */
    const double *values;  /* [up][across], K; the first row is the lowest */
    bool has_plane_at;     /* a plane out of a 3D field ... */
    enum axis plane_axis;  /* ... across this axis ... */
    double plane_at;       /* ... at this place, m */
    double min, max;       /* for the line below the picture, K ... */
    const char *more;      /* ... and this text after it; NULL: none */
    double color_range[2]; /* K; for a curve the range of the T axis */
    enum colormap colormap;
    const char *quantity;
    const char *unit; /* "": none */

    const char *const *names; /* the values number these, which a legend shows; NULL: no numbers */
    int nnames;
    const double *levels; /* isolines */
    int nlevels;
    bool outlined; /* the last one is in a colour of its own */
};

enum { PICTURE_MAX_SAMPLES = 1000 };

/* Draw a file, written as file_replace does: SVG if `path` ends in .svg, else PNG. In builds
 * without Cairo this always fails. */
enum status picture_draw(const struct picture_view *view, const char *path);

struct picture_curve {
    const char *name; /* in the legend */
    const double *x;  /* `count` values each; a gap where y is not finite */
    const double *y;
    int64_t count;
    uint32_t color; /* 0xRRGGBB */
    bool dashed;
};

/* Labels in m, s, J and W get the prefix or the unit of time that suits the range.
 */
struct picture_axis {
    const char *name;
    const char *unit;
    double lower;
    double upper;
    bool logarithmic; /* the range and the values are logarithms to base 10 */
};

enum { PICTURE_MAX_CURVES = 18 };

/* Curves y(x), with a legend on their right if there are several. */
struct picture_chart {
    const char *title; /* texts in UTF-8 */
    const char *note;  /* below the title */
    const char *footer;
    struct picture_axis axis[2];
    const struct picture_curve *curves;
    int ncurves; /* at most PICTURE_MAX_CURVES */
};

/* Fails as picture_draw. */
enum status picture_draw_chart(const struct picture_chart *chart, const char *path);

/* 1, 2 or 5 times a power of ten: the first that is not below `least` > 0. */
double picture_round_step(double least);

/* For values that are not finite; no map contains this grey. */
enum { COLORMAP_GREY = 0x808080 };

/* 0xRRGGBB: the colour of `value`, clamped to [low, high], when the map spans that, low < high. */
uint32_t colormap_of(enum colormap map, double value, double low, double high);
