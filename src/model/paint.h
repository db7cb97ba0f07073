/* Painting of shapes onto cells in host memory, by all OpenMP threads; the same bits for any number
 * of them, and for any division of the grid. */
#ifndef ISOTHERM_MODEL_PAINT_H
#define ISOTHERM_MODEL_PAINT_H

#include "base/box.h"
#include "base/precision.h"
#include "config/settings.h"
#include "model/grid.h"

struct brush;

/* A brush for a shape (all kinds but INITIAL_FILE) and about `ncells` cells. `grid` and `shape`
 * must outlive it. */
enum status brush_create(const struct grid *grid, const struct shape_setting *shape, int64_t ncells,
                         struct brush **brush) MUST_CHECK;
/* Let a formula of temperatures give the mean over each cell, by Gauss-Legendre points: `points` (1
 * to 4) on each used axis, which is exact for polynomials of degree 2 points - 1. 1, as after
 * brush_create: the value at the centre. */
void brush_use_means(struct brush *brush, int points);
void brush_destroy(struct brush *brush); /* takes NULL */

/* The bounding box of the shape within `box`; all indices are global. */
struct box brush_bounds(const struct brush *brush, const struct box *box);

/* Whether the shape leaves some cells of its bounding box unchanged. */
bool brush_is_partial(const struct brush *brush);

/* Set the cells of the shape in `box`. `values` is the contiguous array [z][y][x] of `extent`,
 * which contains the box. STATUS_INPUT, naming the first cell in that order, when a formula gives
 * no valid value. */
enum status brush_paint(struct brush *brush, const struct box *box, const struct box *extent,
                        enum precision precision, void *values) MUST_CHECK;

#endif
