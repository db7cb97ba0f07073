#include "solve/level.h"

#include <string.h>

enum status level_create(struct engine *engine, struct classes *classes, struct phases *phases,
                         const struct team *team, enum precision precision, int radius, int fused,
                         int nslots, struct level *level)
{
    const size_t bytes = (size_t)nslots * DEVICE_SUMS * sizeof *level->h_sums;
    void *d_sums = NULL;
    void *h_sums = NULL;
    *level = (struct level){.engine = engine,
                            .classes = classes,
                            .phases = phases,
                            .decomp = &team->decomp,
                            .rank = team->rank,
                            .radius = radius,
                            .fused = fused,
                            .nslots = nslots};
    TRY(field_create(engine->backend, engine->device, engine->output_queue, &team->decomp,
                     team->rank, precision, &level->field));
    TRY(engine->runtime->pinned_alloc(engine->device, 2 * bytes, &h_sums));
    level->h_sums = memset(h_sums, 0, 2 * bytes);
    level->h_no_sums = level->h_sums + nslots * DEVICE_SUMS;
    const enum status status = engine_send(engine, level->h_sums, bytes, &d_sums);
    level->d_sums = (struct exact_sum *)d_sums;
    return status;
}

void level_destroy(struct level *level)
{
    sleep_destroy(&level->sleep, level->engine);
    for (int n = 0; n < 2; n++) {
        if (level->hot.d_field[n] != NULL) {
            level->engine->runtime->memory_free(level->engine->device, level->hot.d_field[n]);
        }
    }
    halo_destroy(level->halo);
    field_destroy(level->field);
    if (level->h_sums != NULL) {
        level->engine->runtime->pinned_free(level->engine->device, level->h_sums);
        level->engine->runtime->memory_free(level->engine->device, level->d_sums);
    }
}

static void divide(struct level *level, bool thick)
{
    const struct box owned = layout_owned(&level->field->layout);
    level->interior = owned;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const int64_t extent = box_extent(&owned, face_axis(face));
        const int64_t least = level->plan.width;
        int64_t width = thick && extent / 4 > least ? extent / 4 : least;
        /* the cells next to a closed face read 2 radius cells, of a thin block those of the halo */
        if (extent < least + level->radius &&
            decomp_neighbour(level->decomp, level->rank, face_opposite(face)) < 0) {
            width = extent;
        }
        if (decomp_neighbour(level->decomp, level->rank, face) >= 0) {
            level->interior = box_shrink_face(&level->interior, face, width);
        }
    }
    if (box_is_empty(&level->interior)) {
        level->interior = (struct box){{0, 0, 0}, {0, 0, 0}};
    }
}

/* Overlap needs an interior larger than the shell. For kernels along rows, the shell of an axis
 * divided in x is strided in memory and costs more than overlap can hide
 * (docs/records/kernels_cpu.md). */
bool level_may_overlap(const struct level *level, enum overlap setting)
{
    if (level->halo == NULL || setting != OVERLAP_AUTO) {
        return level->halo != NULL && setting == OVERLAP_ON;
    }
    const struct box *interior = &level->interior;
    const struct box owned = layout_owned(&level->field->layout);
    const bool whole_rows = interior->lo[AXIS_X] == 0 && interior->hi[AXIS_X] == owned.hi[AXIS_X];
    return 2 * box_cells(interior) > box_cells(&owned) &&
           (!backend_has(level->engine->backend, BACKEND_ALONG_ROWS) || whole_rows);
}

void level_choose_overlap(struct level *level, enum overlap setting, bool thick)
{
    divide(level, false);
    level->overlap = level_may_overlap(level, setting);
    divide(level, thick);
}

enum status level_use_plan(struct level *level, const struct halo_plan *plan)
{
    if (level->halo != NULL && plan->width != level->plan.width) {
        struct halo *halo = NULL;
        TRY(halo_create_like(level->halo, plan, &halo));
        halo_destroy(level->halo);
        level->halo = halo;
    }
    level->plan = *plan;
    return STATUS_OK;
}

enum status level_exchange(struct level *level)
{
    struct engine *engine = level->engine;
    struct halo_flight flight;
    if (level->halo == NULL) {
        return STATUS_OK;
    }
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    phases_enter(level->phases, PHASE_HALO_BEGIN);
    TRY(halo_begin(level->halo, engine->halo_queue, level->field->d_now, &flight));
    phases_enter(level->phases, PHASE_HALO_END);
    return halo_end(&flight);
}
