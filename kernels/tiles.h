/* Tiles of the owned cells of a subdomain, for steps that leave out those that cannot change
 * (docs/developers/sleeping_tiles.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/cell/inline.h"

/* Bytes of a part of a summary. */
enum { TILES_FOUND = 96 };

/* In device memory, initially 0. The counts are those of odd and of even steps. */
struct tiles_awake {
    uint64_t advanced; /* tiles, of all steps */
    uint32_t count[2];
    struct exact_sum sum[FACE_COUNT]; /* of GPUs: of d_sums over all tiles */
};

/* Tile n covers the cells from n size to before (n + 1) size on each axis; the last is cut off. */
struct tiles {
    int64_t cells[AXIS_COUNT]; /* owned */
    int64_t size[AXIS_COUNT];  /* at least twice the stencil's radius; along x 32 or 64 */
    int64_t count[AXIS_COUNT]; /* below 2^32 in all */
    bool open[FACE_COUNT];     /* beyond this face lies the halo */
    int radius;                /* of the stencil */
    uint32_t step;             /* the number of this step, from 1 on */
    bool all;                  /* no tile is left out */
    uint32_t *d_changed;       /* [tiles], initially 0: the last step that changed a bit */
    uint32_t *d_list;          /* [tiles]: those that this step advances */
    struct tiles_awake *d_awake;
    struct exact_sum *d_sums; /* [tiles][FACE_COUNT]: of the last step that advanced the tile; then
                                 TILES_FOUND bytes of each tile, its part of a summary */
};

static inline int64_t tiles_total(const struct tiles *tiles)
{
    return tiles->count[AXIS_X] * tiles->count[AXIS_Y] * tiles->count[AXIS_Z];
}

KERNEL_INLINE struct box tiles_box(const struct tiles *tiles, int64_t tile)
{
    struct box box;
    uint32_t rest = (uint32_t)tile; /* divisions of 64 bits are slow */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const uint32_t count = (uint32_t)tiles->count[axis];
        const int64_t n = rest % count;
        const int64_t end = (n + 1) * tiles->size[axis];
        rest /= count;
        box.lo[axis] = n * tiles->size[axis];
        box.hi[axis] = end < tiles->cells[axis] ? end : tiles->cells[axis];
    }
    return box;
}

/* True if the tile or one beside it changed in the step before this one, or if the tile reads the
 * halo, of which nothing is known. */
KERNEL_INLINE bool tiles_wake(const struct tiles *tiles, int64_t tile)
{
    const uint32_t before = tiles->step - 1;
    const struct box box = tiles_box(tiles, tile);
    bool wakes = tiles->all || tiles->d_changed[tile] >= before;
    int64_t stride = 1;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (box.lo[axis] > 0) {
            wakes = wakes || tiles->d_changed[tile - stride] >= before;
        }
        if (box.hi[axis] < tiles->cells[axis]) {
            wakes = wakes || tiles->d_changed[tile + stride] >= before;
        }
        wakes = wakes || (tiles->open[2 * axis] && box.lo[axis] < tiles->radius) ||
                (tiles->open[2 * axis + 1] && box.hi[axis] + tiles->radius > tiles->cells[axis]);
        stride *= tiles->count[axis];
    }
    return wakes;
}

/* The tiles that a box meets, as a box of tiles. */
static inline struct box tiles_meet(const struct tiles *tiles, const struct box *box)
{
    struct box of_tiles;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        of_tiles.lo[axis] = box->lo[axis] / tiles->size[axis];
        of_tiles.hi[axis] = (box->hi[axis] + tiles->size[axis] - 1) / tiles->size[axis];
    }
    return of_tiles;
}

static inline int64_t tiles_number(const struct tiles *tiles, int64_t x, int64_t y, int64_t z)
{
    return x + tiles->count[AXIS_X] * (y + tiles->count[AXIS_Y] * z);
}
