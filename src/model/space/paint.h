/* Painting of shapes onto cells in host memory, by all OpenMP threads; the same bits for any number
 * of them, and for any division of the grid. */
#pragma once

#include "base/precision.h"
#include "model/space/shape.h"

/* A shape (all kinds but INITIAL_FILE) to paint with. Zeroed: none. */
struct brush {
    const struct grid *grid;
    const struct shape_setting *shape;
    int points;                   /* of a cell on each used axis */
    int nparts;                   /* that threads paint */
    struct expression **formulas; /* one per part, as a parser is not thread-safe; NULL: none */
};

/* For about `ncells` cells. `grid` and `shape` must outlive it. A formula of temperatures gives the
 * mean over each cell, by Gauss-Legendre points: `points` (1 to 4) on each used axis, which is
 * exact for polynomials of degree 2 points - 1; 1: the value at the centre. End it after a failure
 * too. */
enum status brush_begin(struct brush *brush, const struct grid *grid,
                        const struct shape_setting *shape, int64_t ncells, int points);
void brush_end(struct brush *brush);

/* The bounding box of the shape within `box`; all indices are global. */
struct box brush_bounds(const struct brush *brush, const struct box *box);

/* Set the cells of the shape in `box`, of which `values` is the contiguous array [z][y][x].
 * STATUS_INPUT, naming the first cell in that order, when a formula gives no valid value. */
enum status brush_paint(const struct brush *brush, const struct box *box, enum precision precision,
                        void *values);
