/* Moving sources, and those of files: where one is in a step, and what the kernel must know of it.
 */
#pragma once

#include "kernels/cell/source_cell.h"
#include "model/operator/operator.h"

/* Entry `s` of `sources`, which is not painted, in the step of `op`: at its middle.
 * STATUS_NUMERICS, the same on all ranks, when a formula has no finite value. Not collective. */
enum status moving_at(const struct problem *problem, const struct heat_operator *op, int s,
                      struct heat_source *source);

/* The power of a beam or a double ellipsoid in the step of `op`, W, with what its shape has outside
 * the grid. Fails as moving_at. */
enum status moving_power(const struct problem *problem, const struct heat_operator *op, int s,
                         double *watts);
