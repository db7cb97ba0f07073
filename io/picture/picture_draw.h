/* Pictures of samples in memory: a coloured plane or a curve. No MPI, no devices. */
#ifndef ISOTHERM_IO_PICTURE_PICTURE_DRAW_H
#define ISOTHERM_IO_PICTURE_PICTURE_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/status.h"
#include "config/settings.h"

/* What to draw. Samples are spread evenly over the lengths. */
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
    double min, max;       /* of the field, K: for the line below the picture */
    double color_range[2]; /* K; for a curve the range of the T axis */
    enum colormap colormap;
};

enum { PICTURE_MAX_SAMPLES = 1000 };

/* Draw a PNG file, written as file_replace does. In builds without Cairo this always fails. */
enum status picture_draw(const struct picture_view *view, const char *path) MUST_CHECK;

#endif
