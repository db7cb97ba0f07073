#include "model/paint_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/paint.h"

struct source_set {
    uint64_t bits[SOURCE_WORDS];
};

struct source_painter {
    const struct problem *problem;
    struct painted {
        struct brush *brush; /* NULL: not painted */
    } * sources;
    float *marks; /* of the cells of a piece: those of one source; else 0 */
    int32_t *set; /* of each cell of a piece */
    struct source_set *sets;
    int32_t *after; /* of each set: with the source that is being painted; -1: not met */
    int32_t nsets, room;
};

enum status fail_too_many_classes(const struct settings *settings)
{
    return settings_fail(settings, "sources",
                         "more than %d combinations of a material with a set of sources; let fewer "
                         "shapes overlap, give sources of the same density and factor as one "
                         "expression, or use fewer materials",
                         MEDIUM_CLASSES);
}

static enum status grow(struct source_painter *painter)
{
    const int32_t room = painter->room > 0 ? 2 * painter->room : 64;
    struct source_set *sets = realloc(painter->sets, (size_t)room * sizeof *sets);
    painter->sets = sets != NULL ? sets : painter->sets;
    int32_t *after = realloc(painter->after, (size_t)room * sizeof *after);
    painter->after = after != NULL ? after : painter->after;
    painter->room = sets != NULL && after != NULL ? room : painter->room;
    return CHECK_MEMORY(painter->room == room, "no memory for %d sets of sources", room);
}

/* The number of a set, which is appended when it is new. */
static enum status find_set(struct source_painter *painter, const struct source_set *wanted,
                            int32_t *number)
{
    *number = 0;
    while (*number < painter->nsets &&
           memcmp(&painter->sets[*number], wanted, sizeof *wanted) != 0) {
        (*number)++;
    }
    if (*number < painter->nsets) {
        return STATUS_OK;
    }
    TRY(painter->nsets == painter->room ? grow(painter) : STATUS_OK);
    painter->sets[painter->nsets] = *wanted;
    painter->after[painter->nsets] = -1;
    painter->nsets++;
    return STATUS_OK;
}

enum status source_painter_create(const struct problem *problem, int64_t ncells,
                                  int64_t piece_cells, struct source_painter **painter)
{
    const struct settings *settings = problem->settings;
    const struct source_set none = {{0}};
    int32_t first;
    int painted = 0;
    enum status status = STATUS_OK;
    *painter = NULL;
    for (int s = 0; s < settings->nsources; s++) {
        painted += source_is_painted(&settings->sources[s]) ? 1 : 0;
    }
    if (painted == 0) {
        return STATUS_OK;
    }
    struct source_painter *built = calloc(1, sizeof *built);
    TRY(CHECK_MEMORY(built != NULL, "no memory to paint sources"));
    built->problem = problem;
    built->sources = calloc((size_t)settings->nsources, sizeof *built->sources);
    built->marks = calloc((size_t)piece_cells, sizeof *built->marks);
    built->set = malloc((size_t)piece_cells * sizeof *built->set);
    if (built->sources == NULL || built->marks == NULL || built->set == NULL) {
        TRY_GOTO(fail(STATUS_MEMORY, "no memory to paint sources"));
    }
    for (int s = 0; s < settings->nsources; s++) {
        if (source_is_painted(&settings->sources[s])) {
            TRY_GOTO(brush_create(&problem->grid, &settings->sources[s].shape, ncells,
                                  &built->sources[s].brush));
        }
    }
    TRY_GOTO(find_set(built, &none, &first));
    *painter = built;
    return STATUS_OK;
done:
    source_painter_destroy(built);
    return status;
}

void source_painter_destroy(struct source_painter *painter)
{
    if (painter == NULL) {
        return;
    }
    for (int s = 0; painter->sources != NULL && s < painter->problem->sources.count; s++) {
        brush_destroy(painter->sources[s].brush);
    }
    free(painter->sources);
    free(painter->marks);
    free(painter->set);
    free(painter->sets);
    free(painter->after);
    free(painter);
}

/* Add source s to the cells of one row that are marked, and clear the marks. */
static enum status add_to_row(struct source_painter *painter, int s, const float *materials,
                              int64_t first, int64_t cells)
{
    const int material = painter->problem->sources.source[s].setting->material;
    for (int64_t c = first; c < first + cells; c++) {
        const bool marked =
            painter->marks[c] != 0 && (material < 0 || materials[c] == (float)material);
        painter->marks[c] = 0;
        if (!marked) {
            continue;
        }
        const int32_t set = painter->set[c];
        if (painter->after[set] < 0) {
            struct source_set with = painter->sets[set];
            int32_t number;
            with.bits[s / 64] |= UINT64_C(1) << (s % 64);
            TRY(find_set(painter, &with, &number));
            painter->after[set] = number;
        }
        painter->set[c] = painter->after[set];
    }
    return STATUS_OK;
}

static enum status paint_source(struct source_painter *painter, int s, const struct box *box,
                                const float *materials)
{
    const struct box bounds = brush_bounds(painter->sources[s].brush, box);
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    char key[64];
    if (box_is_empty(&bounds)) {
        return STATUS_OK;
    }
    for (int32_t set = 0; set < painter->nsets; set++) {
        painter->after[set] = -1;
    }
    const enum status status =
        brush_paint(painter->sources[s].brush, &bounds, box, PRECISION_FLOAT32, painter->marks);
    if (status == STATUS_INPUT) {
        snprintf(key, sizeof key, "sources[%d].expression.where", s);
        return settings_fail_at(painter->problem->origin, key, "%s", fail_message());
    }
    TRY(status);
    for (int64_t k = bounds.lo[AXIS_Z]; k < bounds.hi[AXIS_Z]; k++) {
        for (int64_t j = bounds.lo[AXIS_Y]; j < bounds.hi[AXIS_Y]; j++) {
            const int64_t row = (k - box->lo[AXIS_Z]) * ny + j - box->lo[AXIS_Y];
            TRY(add_to_row(painter, s, materials, row * nx + bounds.lo[AXIS_X] - box->lo[AXIS_X],
                           box_extent(&bounds, AXIS_X)));
        }
    }
    return STATUS_OK;
}

/* The number of the key of a material with a set. */
static enum status find_key(const struct source_painter *painter, int material, int32_t set,
                            struct class_key *keys, int *nkeys, int *number)
{
    struct class_key wanted = {.material = material};
    memcpy(wanted.sources, painter->sets[set].bits, sizeof wanted.sources);
    for (*number = 0; *number < *nkeys; (*number)++) {
        const struct class_key *key = &keys[*number];
        if (key->material == material &&
            memcmp(key->sources, wanted.sources, sizeof wanted.sources) == 0) {
            return STATUS_OK;
        }
    }
    if (*nkeys == MEDIUM_CLASSES) {
        return fail_too_many_classes(painter->problem->settings);
    }
    keys[(*nkeys)++] = wanted;
    return STATUS_OK;
}

/* Neighbours mostly have the same key; `known` spares a search for the others: [set][material]. */
static enum status number_cells(const struct source_painter *painter, int64_t cells, float *numbers,
                                struct class_key *keys, int *nkeys)
{
    const size_t nmaterials = (size_t)painter->problem->medium.nmaterials;
    const size_t size = (size_t)painter->nsets * nmaterials;
    enum status status = STATUS_OK;
    int16_t *known = malloc(size * sizeof *known);
    TRY(CHECK_MEMORY(known != NULL, "no memory for the classes of cells"));
    memset(known, -1, size * sizeof *known);
    for (int64_t c = 0; c < cells; c++) {
        if (numbers[c] < 0) {
            continue;
        }
        int16_t *at = &known[(size_t)painter->set[c] * nmaterials + (size_t)numbers[c]];
        if (*at < 0) {
            int number = 0;
            TRY_GOTO(find_key(painter, (int)numbers[c], painter->set[c], keys, nkeys, &number));
            *at = (int16_t)number;
        }
        numbers[c] = *at;
    }
done:
    free(known);
    return status;
}

enum status source_painter_paint(struct source_painter *painter, const struct box *box,
                                 float *numbers, struct class_key *keys, int *nkeys)
{
    const int64_t cells = box_cells(box);
    memset(painter->set, 0, (size_t)cells * sizeof *painter->set);
    for (int s = 0; s < painter->problem->sources.count; s++) {
        if (painter->sources[s].brush != NULL) {
            TRY(paint_source(painter, s, box, numbers));
        }
    }
    return number_cells(painter, cells, numbers, keys, nkeys);
}
