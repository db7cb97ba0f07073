/* Which painted sources each cell has, and so the class of each cell. */
#ifndef ISOTHERM_MODEL_MEDIUM_PAINT_SOURCES_H
#define ISOTHERM_MODEL_MEDIUM_PAINT_SOURCES_H

#include "model/problem.h"
#include "model/space/paint.h"

/* Zeroed: no painted sources. */
struct source_painter {
    const struct problem *problem;
    struct brush *brushes; /* one per source; of those that are not painted none */
    float *marks;          /* of the cells of a piece: those of one source; else 0 */
    struct painted_key {
        struct class_key key;
        int32_t with; /* the number of the key with the source that is being painted; -1: not met */
        int number;   /* in the list of those that cells have in the end; -1: not in it */
    } * keys;         /* first the materials */
    int32_t nkeys, room;
};

/* For about `ncells` cells, in pieces of at most `piece_cells`. End it after a failure too. */
enum status source_painter_begin(struct source_painter *painter, const struct problem *problem,
                                 int64_t ncells, int64_t piece_cells) MUST_CHECK;
void source_painter_end(struct source_painter *painter);

/* Replace the materials of the cells of `box`, [z][y][x], by indices of `keys`, and append the keys
 * that it lacks; without painted sources do nothing. Cells without a material (below 0) stay so.
 * STATUS_INPUT when there are too many keys, or a formula gives no valid value. */
enum status source_painter_paint(struct source_painter *painter, const struct box *box,
                                 float *numbers, struct class_key *keys, int *nkeys) MUST_CHECK;

enum status fail_too_many_classes(const struct settings *settings);

#endif
