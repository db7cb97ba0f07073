/* The cells of a medium whose material changes: found once, then followed before each step. */
#include <math.h>

#include "solve/medium/classes.h"

/* The cells of `box` that may change. */
static struct box find_box(const struct class_map *map, const bool *may_change,
                           const struct box *box)
{
    struct box found = {{INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MIN, INT64_MIN, INT64_MIN}};
    bool any = false;
    for (int64_t c = 0; c < box_cells(box); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(box, c, cell);
        if (!may_change[map->h_class[layout_index(&map->layout, cell[0], cell[1], cell[2])]]) {
            continue;
        }
        any = true;
        for (int a = 0; a < AXIS_COUNT; a++) {
            found.lo[a] = cell[a] < found.lo[a] ? cell[a] : found.lo[a];
            found.hi[a] = cell[a] >= found.hi[a] ? cell[a] + 1 : found.hi[a];
        }
    }
    return any ? found : (struct box){{0, 0, 0}, {0, 0, 0}};
}

enum status classes_allocate_changes(struct classes *classes, const struct problem *problem,
                                     const struct team *team, struct engine *engine)
{
    const struct medium *medium = &problem->medium;
    const struct class_map *map = &classes->map;
    struct changes *changes = &classes->changes;
    const struct box owned = box_of_cells(map->layout.cells);
    double at[MEDIUM_CLASSES];
    uint8_t to[MEDIUM_CLASSES] = {0};
    bool may_change[MEDIUM_CLASSES] = {false};
    if (!medium->changes) {
        return STATUS_OK;
    }
    for (int c = 0; c < MEDIUM_CLASSES; c++) {
        at[c] = INFINITY;
        if (c < medium->nclasses) {
            at[c] = medium_changes_at(medium, problem->precision, c);
            to[c] = (uint8_t)medium_next_class(medium, c);
            may_change[c] = to[c] != c;
        }
    }
    changes->owned = find_box(map, may_change, &owned);
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct box layer = box_outside(&owned, (enum face)f, 1);
        if (decomp_neighbour(&team->decomp, team->rank, (enum face)f) >= 0) {
            changes->halo[f] = find_box(map, may_change, &layer);
        }
    }
    TRY(engine_send(engine, at, sizeof at, &changes->d_at));
    TRY(engine_send(engine, to, sizeof to, &changes->d_to));
    TRY(engine->runtime->event_create(engine->device, &changes->done));
    changes->args = (struct change_classes_args){
        .of_class = map->layout, .d_at = changes->d_at, .d_to = changes->d_to};
    return STATUS_OK;
}

static enum status follow(const struct changes *changes, struct engine *engine,
                          const struct field *field, struct queue *queue, const struct box *box)
{
    struct change_classes_args args = changes->args;
    args.layout = field->layout;
    args.d_field = field->d_now;
    args.box = *box;
    return box_is_empty(box) ? STATUS_OK : engine->operations->change_classes(queue, &args);
}

enum status classes_follow_owned(const struct classes *classes, struct engine *engine,
                                 const struct field *field, struct queue *queue)
{
    const struct changes *changes = &classes->changes;
    if (changes->done == NULL) {
        return STATUS_OK;
    }
    TRY(follow(changes, engine, field, queue, &changes->owned));
    return engine->runtime->event_record(queue, changes->done);
}

enum status classes_follow_halo(const struct classes *classes, struct engine *engine,
                                const struct field *field, struct queue *queue)
{
    const struct changes *changes = &classes->changes;
    if (changes->done == NULL) {
        return STATUS_OK;
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        TRY(follow(changes, engine, field, queue, &changes->halo[f]));
    }
    return engine->runtime->event_wait(queue, changes->done);
}
