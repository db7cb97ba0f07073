#include "solve/sleep.h"

#include <stdlib.h>
#include <string.h>

enum { TINY = 1 << 18 }; /* cells of a block of small tiles */

static void divide(const struct engine *engine, const struct layout *layout, struct tiles *tiles)
{
    const struct box owned = layout_owned(layout);
    const bool tiny = box_cells(&owned) < TINY && !backend_has(engine->backend, BACKEND_GPU);
    const int64_t wide = layout->precision == PRECISION_FLOAT64 ? 32 : 64;
    const int64_t size[AXIS_COUNT] = {tiny ? 8 : wide, tiny ? 8 : 16, tiny ? 8 : 16};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        tiles->cells[axis] = layout->cells[axis];
        tiles->size[axis] = size[axis];
        tiles->count[axis] = (layout->cells[axis] + size[axis] - 1) / size[axis];
    }
}

static enum status zeros(struct engine *engine, size_t bytes, void **d_memory)
{
    SCOPED_FREE void *h_zeros = calloc(1, bytes);
    TRY(CHECK_MEMORY(h_zeros != NULL, "no memory for tiles"));
    return engine_send(engine, h_zeros, bytes, d_memory);
}

enum status sleep_create(struct sleep *sleep, struct engine *engine, const struct layout *layout,
                         const bool open[FACE_COUNT], int radius)
{
    struct tiles *tiles = &sleep->tiles;
    *tiles = (struct tiles){.radius = radius};
    memcpy(tiles->open, open, sizeof tiles->open);
    divide(engine, layout, tiles);
    const size_t total = (size_t)tiles_total(tiles);
    const size_t bytes[SLEEP_MEMORIES] = {total * sizeof *tiles->d_changed,
                                          total * sizeof *tiles->d_list, sizeof *tiles->d_awake,
                                          total * FACE_COUNT * sizeof *tiles->d_sums};
    enum status status = STATUS_OK;
    for (int n = 0; n < SLEEP_MEMORIES && status == STATUS_OK; n++) {
        status = zeros(engine, bytes[n], &sleep->d_memory[n]);
    }
    tiles->d_changed = sleep->d_memory[0];
    tiles->d_list = sleep->d_memory[1];
    tiles->d_awake = sleep->d_memory[2];
    tiles->d_sums = sleep->d_memory[3];
    return status;
}

void sleep_destroy(struct sleep *sleep, const struct engine *engine)
{
    for (int n = 0; n < SLEEP_MEMORIES; n++) {
        if (sleep->d_memory[n] != NULL) {
            engine->runtime->memory_free(engine->device, sleep->d_memory[n]);
            sleep->d_memory[n] = NULL;
        }
    }
}

static bool are_same(const struct coefficients *a, const struct coefficients *b)
{
    return a->kind == b->kind && memcmp(a->r, b->r, sizeof a->r) == 0 &&
           memcmp(a->a, b->a, sizeof a->a) == 0 && memcmp(a->b, b->b, sizeof a->b) == 0 &&
           a->medium.d_table == b->medium.d_table &&
           memcmp(a->d_face_sum, b->d_face_sum, sizeof a->d_face_sum) == 0 &&
           memcmp(a->high_order.closure, b->high_order.closure, sizeof a->high_order.closure) == 0;
}

void sleep_begin_step(struct sleep *sleep, const struct coefficients *coefficients)
{
    sleep->tiles.step++;
    sleep->tiles.all = sleep->tiles.all || !are_same(&sleep->last, coefficients);
    sleep->last = *coefficients;
    sleep->passes++;
}
