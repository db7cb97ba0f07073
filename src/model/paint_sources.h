/* Which painted sources each cell has, and so the class of each cell. */
#ifndef ISOTHERM_MODEL_PAINT_SOURCES_H
#define ISOTHERM_MODEL_PAINT_SOURCES_H

#include "model/problem.h"

struct source_painter;

/* For about `ncells` cells, in pieces of at most `piece_cells`. NULL in *painter: no painted
 * sources. */
enum status source_painter_create(const struct problem *problem, int64_t ncells,
                                  int64_t piece_cells, struct source_painter **painter) MUST_CHECK;
void source_painter_destroy(struct source_painter *painter); /* takes NULL */

/* Replace the materials of the cells of `box`, [z][y][x], by indices of `keys`, and append the keys
 * that it lacks. Cells without a material (below 0) stay so. STATUS_INPUT when there are
 * too many keys, or a formula gives no valid value. */
enum status source_painter_paint(struct source_painter *painter, const struct box *box,
                                 float *numbers, struct class_key *keys, int *nkeys) MUST_CHECK;

enum status fail_too_many_classes(const struct settings *settings);

#endif
