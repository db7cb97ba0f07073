/* Wider stencils: the weights of orders 4, 6 and 8 inside and next to closed faces, and their
 * longest stable step. docs/reference/numerics.md derives them. */
#pragma once

#include "config/settings.h"
#include "kernels/cell/wide_cell.h"
#include "model/medium/boundary.h"
#include "model/medium/medium.h"
#include "model/space/grid.h"

/* The cells on either side that a step reads: 1 for the 7-point stencil. */
static inline int wide_radius(const struct settings *settings)
{
    return settings->run.stencil_order > 2 ? settings->run.stencil_order / 2 : 1;
}

/* STATUS_INPUT, with the line of the configuration, when run.stencil.order is above 2 and the
 * problem is not one of a uniform medium, or an axis has too few cells. */
enum status wide_check(const struct settings *settings, const struct grid *grid);

/* w_1 .. of wide_cell.h for a field of this precision. */
void wide_weights(int radius, enum precision precision, double weight[WIDE_RADIUS_MOST]);

/* The closure of a face with these weights inside, for the conductivity k, W/(m K), and the extent
 * h, m, of a cell across the face. Not of a face that radiates. */
void wide_close(int radius, const double weight[WIDE_RADIUS_MOST], const struct boundary_state *now,
                double k, double h, struct wide_closure *closure);

/* The largest stable step of forward Euler, s. Radius 2 to 4. */
double wide_stable_dt(const struct settings *settings, const struct grid *grid,
                      const struct medium *medium);
