#include "solve/sleep/sleep.h"

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

enum status sleep_create(struct sleep *sleep, struct engine *engine, const struct layout *layout,
                         const bool open[FACE_COUNT], int radius)
{
    struct tiles *tiles = &sleep->tiles;
    *tiles = (struct tiles){.radius = radius};
    memcpy(tiles->open, open, sizeof tiles->open);
    divide(engine, layout, tiles);
    const size_t total = (size_t)tiles_total(tiles);
    const size_t bytes = sizeof *tiles->d_awake + total * FACE_COUNT * sizeof *tiles->d_sums +
                         total * (TILES_FOUND + sizeof *tiles->d_changed + sizeof *tiles->d_list);
    SCOPED_FREE void *h_zeros = calloc(1, bytes);
    TRY(CHECK_MEMORY(h_zeros != NULL, "no memory for tiles"));
    TRY(engine_send(engine, h_zeros, bytes, &sleep->d_memory));
    tiles->d_awake = sleep->d_memory;
    tiles->d_sums = (struct exact_sum *)(tiles->d_awake + 1);
    tiles->d_changed =
        (uint32_t *)((char *)(tiles->d_sums + total * FACE_COUNT) + total * TILES_FOUND);
    tiles->d_list = tiles->d_changed + total;
    return STATUS_OK;
}

void sleep_destroy(struct sleep *sleep, const struct engine *engine)
{
    if (sleep->d_memory != NULL) {
        engine->runtime->memory_free(engine->device, sleep->d_memory);
        sleep->d_memory = NULL;
    }
}

/* Bits that differ for the same value, or between members, only wake tiles. */
static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static bool are_same(const struct coefficients *a, const struct coefficients *b)
{
    return a->kind == b->kind && a->medium.d_table == b->medium.d_table &&
           same_bits(a->r, b->r, sizeof a->r) && same_bits(a->a, b->a, sizeof a->a) &&
           same_bits(a->b, b->b, sizeof a->b) &&
           same_bits(a->d_face_sum, b->d_face_sum, sizeof a->d_face_sum) &&
           same_bits(a->high_order.closure, b->high_order.closure, sizeof a->high_order.closure);
}

void sleep_begin_step(struct sleep *sleep, const struct coefficients *coefficients)
{
    sleep->tiles.step++;
    sleep->tiles.all = sleep->tiles.all || !are_same(&sleep->last, coefficients);
    sleep->last = *coefficients;
    sleep->passes++;
}
