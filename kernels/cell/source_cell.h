/* A moving heat source in one cell: the expression that every backend evaluates. Included by C and
 * by HIP sources.
 *
 * An ellipsoid of density peak exp(-e), in K of the reference heat capacity, with
 *   e = front or rear u^2 + side v^2 + deep w^2
 * in coordinates u (front: above 0), v, w about its centre; 0 where e exceeds SOURCE_CUT, and where
 * `half` is set and w is below 0. */
#pragma once

#include <stdbool.h>

#include "kernels/cell/fixed_exp.h"

/* exp(-16) = 1.1e-7 of the peak; less than 1e-6 of the power lies beyond. */
#define SOURCE_CUT 16.0

struct source_shape {
    double start[3];   /* m, per axis: the centre of global cell 0 less half a cell, seen from the
                          centre of the source */
    double spacing[3]; /* m */
    double turn[3][3]; /* of (u, v, w): unit vectors */
    double front, rear, side, deep; /* 1/m^2 */
    double peak_front, peak_rear;   /* K */
    bool half;
};

/* For the cells of a line along x: the parts of u, v and w from y and z; and the least e, by its
 * terms that do not depend on x. */
struct source_line {
    double u, v, w, least;
};

KERNEL_INLINE struct source_line source_line_at(const struct source_shape *s, double j, double k)
{
    const double y = fma(j + 0.5, s->spacing[1], s->start[1]);
    const double z = fma(k + 0.5, s->spacing[2], s->start[2]);
    struct source_line row = {fma(s->turn[0][1], y, s->turn[0][2] * z),
                              fma(s->turn[1][1], y, s->turn[1][2] * z),
                              fma(s->turn[2][1], y, s->turn[2][2] * z), 0};
    if (s->turn[2][0] == 0) {
        row.least = s->deep * row.w * row.w;
        row.least = s->turn[1][0] == 0 ? fma(s->side * row.v, row.v, row.least) : row.least;
    }
    return row;
}

/* e of the cell of global index i in a row; *front: u is above 0. */
KERNEL_INLINE double source_exponent(const struct source_shape *s, const struct source_line *row,
                                     double i, bool *front)
{
    const double x = fma(i + 0.5, s->spacing[0], s->start[0]);
    const double u = fma(s->turn[0][0], x, row->u);
    const double v = fma(s->turn[1][0], x, row->v);
    const double w = fma(s->turn[2][0], x, row->w);
    *front = u > 0;
    const double e =
        fma((*front ? s->front : s->rear) * u, u, fma(s->side * v, v, s->deep * w * w));
    return s->half && w < 0 ? 2 * SOURCE_CUT : e;
}

/* The density where e is at most SOURCE_CUT. */
KERNEL_INLINE double source_density(const struct source_shape *s, double e, bool front)
{
    return (front ? s->peak_front : s->peak_rear) * fixed_exp(-e);
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

/* Of any cell. */
KERNEL_INLINE double source_cell(const struct source_shape *s, double i, double j, double k)
{
    bool front;
    const struct source_line row = source_line_at(s, j, k);
    const double e = source_exponent(s, &row, i, &front);
    const double heat = source_density(s, e > SOURCE_CUT ? 0 : e, front);
    return e > SOURCE_CUT ? 0 : heat; /* no branch, so that loops vectorize */
}
