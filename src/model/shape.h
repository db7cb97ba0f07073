/* The shapes of `initial` as sets of cells: those whose centre they hold. */
#ifndef ISOTHERM_MODEL_SHAPE_H
#define ISOTHERM_MODEL_SHAPE_H

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

#endif
