/* The shapes of `initial`, `parts` and `sources` as sets of cells: those whose centre they contain.
 */
#pragma once

#include "base/precision.h"
#include "config/expression.h"
#include "model/space/grid.h"
#include "model/space/solid.h"

/* Whether a cell with this coordinate of the centre (m) may be inside. Exact for boxes, the
 * bounding box for spheres, true for all other kinds. */
bool shape_reaches(const struct grid *grid, const struct shape_setting *shape, enum axis axis,
                   double center);

/* Whether a cell with this centre (m), which the shape reaches on all axes, is inside. */
bool shape_holds(const struct grid *grid, const struct shape_setting *shape,
                 const double center[AXIS_COUNT]);

/* Whether it leaves some cells of its bounding box unchanged. */
bool shape_is_partial(const struct shape_setting *shape);

/* Its key in the configuration; NULL for kinds without a size: formulas, files and everything. */
const char *shape_name(const struct shape_setting *shape);

/* Whether a shape contains a cell centre; true for formulas and files. Exact, without a loop over
 * all cells. */
bool shape_has_cells(const struct grid *grid, const struct shape_setting *shape);
/* STATUS_INPUT, with the line in the configuration, when a shape, entry `entry` of `list`
 * ("initial", "parts"), has none. */
enum status shape_check_cells(struct settings_origin *origin, const struct grid *grid,
                              const char *list, const struct shape_setting *shape, int entry);

/* Parse the formula of an INITIAL_EXPRESSION. Caller destroys. */
enum status shape_formula(const struct shape_setting *shape, struct expression **expression);

/* Evaluate a formula in the first, middle and last cells along each axis. STATUS_INPUT, with the
 * position, when a value is not valid. */
enum status shape_try_formula(const struct shape_setting *shape, const struct grid *grid);

/* Labels of a dataset of `parts` to the numbers of their materials: `numbers`, [z][y][x] of `box`.
 * STATUS_INPUT when a label has no material. */
enum status shape_number_labels(const struct shape_setting *part, const struct box *box,
                                float *numbers);

/* ---- painting of shapes onto cells in host memory, by all OpenMP threads; the same bits for any
 * number of them, and for any division of the grid ---- */

/* A shape (all kinds but INITIAL_FILE) to paint with. Zeroed: none. */
struct brush {
    const struct grid *grid;
    const struct shape_setting *shape;
    double time;                  /* s: t of a formula that varies */
    int points;                   /* of a cell on each used axis */
    int nparts;                   /* that threads paint */
    struct expression **formulas; /* one per part, as a parser is not thread-safe; NULL: none */
    struct solid solid;           /* of PART_STL: filled after brush_begin */
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

/* The same with a brush for this box alone, and formulas at the centres of cells. */
enum status shape_paint(const struct grid *grid, const struct shape_setting *shape,
                        const struct box *box, enum precision precision, void *values);

/* ---- the surfaces of painted shapes (area.c); not thread-safe ---- */

/* Of the face between a cell and the next one on `axis`, which `parts` paint differently: the area
 * of the shape per area of such faces, on average over a plane with the same normal n: 1 / (|nx| +
 * |ny| + |nz|), between 1/sqrt(3) and 1. The staircase of such a plane is larger by its inverse.
 * 1 where a dataset (`shape` NULL) leaves it open. */
double brush_area(const struct brush *parts, int nparts, const struct grid *grid,
                  const int64_t cell[AXIS_COUNT], enum axis axis);
