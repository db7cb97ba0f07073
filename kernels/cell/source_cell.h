/* A moving heat source in one cell: the expression that every backend evaluates. Included by C and
 * by HIP sources.
 *
 * An ellipsoid of density peak exp(-e), in K of the reference heat capacity, with
 *   e = front or rear u^2 + side v^2 + deep w^2
 * in coordinates u (front: above 0), v, w about its centre; 0 where e exceeds SOURCE_CUT, and where
 * `half` is set and w is below 0. w is along an axis of the grid, u and v across it, so that
 *   peak exp(-e) = peak exp(-(front or rear u^2 + side v^2)) exp(-deep w^2)
 * is the product of a part which is the same for all cells of a line along w, and of one which is
 * the same for all cells of a plane across it. Both are rounded, then their product is. */
#pragma once

#include <stdbool.h>

#include "kernels/cell/fixed_exp.h"

/* exp(-16) = 1.1e-7 of the peak; less than 1e-6 of the power lies beyond. */
#define SOURCE_CUT 16.0

struct source_shape {
    double start[3];   /* m, per axis: the centre of global cell 0 less half a cell, seen from the
                          centre of the source */
    double spacing[3]; /* m */
    double turn[3][3]; /* of (u, v, w): unit vectors; w: of one axis */
    double front, rear, side, deep; /* 1/m^2 */
    double peak_front, peak_rear;   /* K */
    bool half;
};

/* A factor of the density, and its share of e; a factor whose e exceeds SOURCE_CUT is 0. */
struct source_part {
    double e, factor;
};

KERNEL_INLINE double source_at(const struct source_shape *s, int axis, double cell)
{
    return fma(cell + 0.5, s->spacing[axis], s->start[axis]);
}

KERNEL_INLINE struct source_part source_part_of(double e, double peak)
{
    /* no branch, so that loops vectorize */
    const double factor = peak * fixed_exp(e > SOURCE_CUT ? 0 : -e);
    const struct source_part part = {e, e > SOURCE_CUT ? 0 : factor};
    return part;
}

/* The part of the cells of a line along w, by one of them: (i, j, k), global. */
KERNEL_INLINE struct source_part source_across(const struct source_shape *s, double i, double j,
                                               double k)
{
    const double x = source_at(s, 0, i), y = source_at(s, 1, j), z = source_at(s, 2, k);
    const double u = fma(s->turn[0][0], x, fma(s->turn[0][1], y, s->turn[0][2] * z));
    const double v = fma(s->turn[1][0], x, fma(s->turn[1][1], y, s->turn[1][2] * z));
    return source_part_of(fma((u > 0 ? s->front : s->rear) * u, u, s->side * v * v),
                          u > 0 ? s->peak_front : s->peak_rear);
}

/* The part of those of a plane across w. */
KERNEL_INLINE struct source_part source_along(const struct source_shape *s, double i, double j,
                                              double k)
{
    const double x = source_at(s, 0, i), y = source_at(s, 1, j), z = source_at(s, 2, k);
    const double w = fma(s->turn[2][0], x, fma(s->turn[2][1], y, s->turn[2][2] * z));
    return source_part_of(s->half && w < 0 ? 2 * SOURCE_CUT : s->deep * w * w, 1);
}

KERNEL_INLINE double source_heat(const struct source_part *across, const struct source_part *along)
{
    return across->e + along->e > SOURCE_CUT ? 0 : across->factor * along->factor;
}

/* The heat of any cell, K. */
KERNEL_INLINE double source_cell(const struct source_shape *s, double i, double j, double k)
{
    const struct source_part across = source_across(s, i, j, k);
    const struct source_part along = source_along(s, i, j, k);
    return source_heat(&across, &along);
}

/* The axis of w; for hosts. */
static inline int source_axis(const struct source_shape *s)
{
    return s->turn[2][0] != 0 ? 0 : s->turn[2][1] != 0 ? 1 : 2;
}

/* A density as a piecewise linear function of temperature, constant below `low` and above `high`:
 * value + slope (T - at) from node i on, W/m^3. Plain data. */
enum { SOURCE_NODES = 30 };
struct source_curve {
    int count; /* of nodes, at least 1; at[0] is `low` */
    double low, high;
    double at[SOURCE_NODES], value[SOURCE_NODES], slope[SOURCE_NODES];
};

KERNEL_INLINE double source_curve_at(const struct source_curve *curve, double kelvins)
{
    const double above = kelvins < curve->low ? curve->low : kelvins;
    const double t = above > curve->high ? curve->high : above;
    int n = 0;
    while (n + 1 < curve->count && t >= curve->at[n + 1]) {
        n++;
    }
    return fma(curve->slope[n], t - curve->at[n], curve->value[n]);
}
