/* A box in overlapping tiles, for the schedules whose blocks compute several steps alone. */
#pragma once

#include "kernels/hip/device/cells.h"

/* The box in tiles; see tiling_around. */
struct tiling {
    int64_t lo[AXIS_COUNT], hi[AXIS_COUNT];           /* of the box */
    int64_t read_lo[AXIS_COUNT], read_hi[AXIS_COUNT]; /* cells that may be read, */
    int64_t next_lo[AXIS_COUNT], next_hi[AXIS_COUNT]; /* and with them their neighbours */
    int64_t first[AXIS_COUNT];                        /* the first cell of the first tile */
    int64_t step[AXIS_COUNT];                         /* from one tile to the next */
    int64_t count[AXIS_COUNT];                        /* tiles; in z: columns, without overlap */
    int wide_bits;                                    /* a tile has 2^wide_bits cells in x */
};

/* The cells that tile n of an axis writes. */
static __device__ __forceinline__ void core_of(const tiling &t, int axis, int64_t n, int64_t most,
                                               int halo, int64_t &begin, int64_t &end)
{
    const int64_t start = t.first[axis] + n * t.step[axis];
    begin = n == 0 ? t.lo[axis] : start + halo;
    end = n == t.count[axis] - 1 ? t.hi[axis] : start + most - halo;
}

/* Tiles of `most` cells on an axis; those that are read begin at `first`. */
static inline void divide_axis(tiling &t, int axis, int64_t most, int halo)
{
    const int64_t before = t.lo[axis] - t.read_lo[axis];
    const int64_t after = t.read_hi[axis] - t.hi[axis];
    t.first[axis] = t.lo[axis] - (before < halo ? before : halo);
    const int64_t last = t.hi[axis] + (after < halo ? after : halo);
    const int64_t cells = last - t.first[axis];
    t.step[axis] = most - 2 * halo;
    t.count[axis] = cells <= most       ? 1
                    : t.step[axis] <= 0 ? INT32_MAX /* never */
                                        : (cells - 2 * halo + t.step[axis] - 1) / t.step[axis];
}

/* The box, not yet divided. Nothing is read beyond closed faces, beyond others `halo` layers. */
static inline tiling tiling_around(const struct layout *layout, const struct coefficients *args,
                                   const struct box *box, int halo)
{
    tiling t = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        t.lo[axis] = box->lo[axis];
        t.hi[axis] = box->hi[axis];
        t.read_lo[axis] = args->closed[2 * axis] ? 0 : -(int64_t)halo;
        t.read_hi[axis] = layout->cells[axis] + (args->closed[2 * axis + 1] ? 0 : halo);
        t.next_lo[axis] = t.read_lo[axis] + (args->closed[2 * axis] ? 0 : 1);
        t.next_hi[axis] = t.read_hi[axis] - (args->closed[2 * axis + 1] ? 0 : 1);
    }
    return t;
}
