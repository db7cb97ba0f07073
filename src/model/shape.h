/* The shapes of `initial` as sets of cells: those whose centre they hold. */
#ifndef ISOTHERM_MODEL_SHAPE_H
#define ISOTHERM_MODEL_SHAPE_H

#include "config/expression.h"
#include "model/grid.h"

/* Could a cell whose centre has this coordinate (m) be inside? Exact for boxes, the bounding box
 * for spheres, true for all other kinds. */
bool shape_reaches(const struct grid *grid, const struct initial_setting *shape, enum axis axis,
                   double center);

/* Is a cell with this centre (m), which the shape reaches on all axes, inside? */
bool shape_holds(const struct grid *grid, const struct initial_setting *shape,
                 const double center[AXIS_COUNT]);

/* STATUS_INPUT, with the shape's place in the configuration, when entry `entry` of `initial` holds
 * the centre of no cell, so that painting it would change nothing. Exact, and found without looking
 * at every cell. */
enum status shape_check_cells(const struct settings *settings, const struct grid *grid,
                              int entry) MUST_CHECK;

/* The formula of an INITIAL_EXPRESSION, of x, y, z. Caller destroys. */
enum status shape_formula(const struct initial_setting *shape,
                          struct expression **expression) MUST_CHECK;

/* Its value (K) at the centre of a cell (m). STATUS_INPUT, naming the place in the grid, when that
 * is no temperature. */
enum status shape_evaluate(const struct initial_setting *shape, struct expression *expression,
                           const double center[AXIS_COUNT], double *value) MUST_CHECK;

/* Try a formula in the first, the middle and the last cells along each axis. Fails as
 * shape_evaluate. */
enum status shape_try_formula(const struct initial_setting *shape,
                              const struct grid *grid) MUST_CHECK;

#endif
