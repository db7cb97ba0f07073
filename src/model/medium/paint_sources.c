#include "model/medium/paint_sources.h"

#include <stdio.h>
#include <stdlib.h>

enum status fail_too_many_classes(const struct settings *settings)
{
    return settings_fail(settings, "sources",
                         "more than %d combinations of a material with a set of sources; let fewer "
                         "shapes overlap, give sources of the same density and factor as one "
                         "expression, or use fewer materials",
                         MEDIUM_CLASSES);
}

/* The number of a key, which is appended when it is new. */
static enum status find_key(struct source_painter *painter, const struct class_key *wanted,
                            int32_t *number)
{
    *number = 0;
    while (*number < painter->nkeys &&
           class_key_compare(&painter->keys[*number].key, wanted) != 0) {
        (*number)++;
    }
    if (*number < painter->nkeys) {
        return STATUS_OK;
    }
    if (painter->nkeys == painter->room) {
        const int32_t room = painter->room > 0 ? 2 * painter->room : 64;
        struct painted_key *keys = realloc(painter->keys, (size_t)room * sizeof *keys);
        TRY(CHECK_MEMORY(keys != NULL, "no memory for %d sets of sources", room));
        painter->keys = keys;
        painter->room = room;
    }
    painter->keys[painter->nkeys++] = (struct painted_key){*wanted, -1, -1};
    return STATUS_OK;
}

enum status source_painter_begin(struct source_painter *painter, const struct problem *problem,
                                 int64_t ncells, int64_t piece_cells)
{
    const struct settings *settings = problem->settings;
    int painted = 0;
    *painter = (struct source_painter){.problem = problem};
    for (int s = 0; s < settings->nsources; s++) {
        painted += source_is_painted(&settings->sources[s]) ? 1 : 0;
    }
    if (painted == 0) {
        return STATUS_OK;
    }
    painter->brushes = calloc((size_t)settings->nsources, sizeof *painter->brushes);
    painter->marks = calloc((size_t)piece_cells, sizeof *painter->marks);
    TRY(CHECK_MEMORY(painter->brushes != NULL && painter->marks != NULL,
                     "no memory to paint sources"));
    for (int s = 0; s < settings->nsources; s++) {
        if (source_is_painted(&settings->sources[s])) {
            TRY(brush_begin(&painter->brushes[s], &problem->grid, &settings->sources[s].shape,
                            ncells, 1));
        }
    }
    for (int m = 0; m < problem->medium.nmaterials; m++) {
        int32_t number;
        TRY(find_key(painter, &(struct class_key){.material = m}, &number));
    }
    return STATUS_OK;
}

void source_painter_end(struct source_painter *painter)
{
    for (int s = 0; painter->brushes != NULL && s < painter->problem->settings->nsources; s++) {
        brush_end(&painter->brushes[s]);
    }
    free(painter->brushes);
    free(painter->marks);
    free(painter->keys);
}

/* Add source s to the cells of one row that are marked, and clear the marks. */
static enum status add_to_row(struct source_painter *painter, int s, int64_t first, int64_t cells,
                              float *numbers)
{
    const int material = painter->problem->sources.source[s].setting->material;
    for (int64_t c = first; c < first + cells; c++) {
        const bool marked = painter->marks[c] != 0;
        painter->marks[c] = 0;
        if (!marked || numbers[c] < 0) {
            continue;
        }
        const int32_t number = (int32_t)numbers[c];
        struct class_key key = painter->keys[number].key;
        if (material >= 0 && key.material != material) {
            continue;
        }
        if (painter->keys[number].with < 0) {
            int32_t with;
            key.sources[s / 64] |= UINT64_C(1) << (s % 64);
            TRY(find_key(painter, &key, &with));
            painter->keys[number].with = with;
        }
        numbers[c] = (float)painter->keys[number].with;
    }
    return STATUS_OK;
}

static enum status paint_source(struct source_painter *painter, int s, const struct box *box,
                                float *numbers)
{
    const struct brush *brush = &painter->brushes[s];
    const struct box bounds = brush_bounds(brush, box);
    const enum status status = brush_paint(brush, box, PRECISION_FLOAT32, painter->marks);
    TRY(settings_place(painter->problem->origin, status, "sources[%d].expression.where", s));
    for (int32_t key = 0; key < painter->nkeys; key++) {
        painter->keys[key].with = -1;
    }
    for (int64_t k = bounds.lo[AXIS_Z]; k < bounds.hi[AXIS_Z]; k++) {
        for (int64_t j = bounds.lo[AXIS_Y]; j < bounds.hi[AXIS_Y]; j++) {
            TRY(add_to_row(painter, s, box_place(box, bounds.lo[AXIS_X], j, k),
                           box_extent(&bounds, AXIS_X), numbers));
        }
    }
    return STATUS_OK;
}

/* Of the painter's keys only those that a cell has in the end count. */
static enum status number_cells(const struct source_painter *painter, int64_t cells, float *numbers,
                                struct class_key *keys, int *nkeys)
{
    for (int64_t c = 0; c < cells; c++) {
        if (numbers[c] < 0) {
            continue;
        }
        struct painted_key *of = &painter->keys[(int32_t)numbers[c]];
        if (of->number < 0 && *nkeys == MEDIUM_CLASSES) {
            return fail_too_many_classes(painter->problem->settings);
        }
        if (of->number < 0) {
            of->number = *nkeys;
            keys[(*nkeys)++] = of->key;
        }
        numbers[c] = (float)of->number;
    }
    return STATUS_OK;
}

enum status source_painter_paint(struct source_painter *painter, const struct box *box,
                                 float *numbers, struct class_key *keys, int *nkeys)
{
    if (painter->marks == NULL) {
        return STATUS_OK;
    }
    for (int s = 0; s < painter->problem->settings->nsources; s++) {
        if (painter->brushes[s].shape != NULL) {
            TRY(paint_source(painter, s, box, numbers));
        }
    }
    return number_cells(painter, box_cells(box), numbers, keys, nkeys);
}
