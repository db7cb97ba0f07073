/* Part of staged/steps_*.hip.cpp: what a kernel gets, and the columns of tiles that its blocks
 * take. */
#pragma once

#include "kernels/hip/schedule/deep/staged/list.h"

#if ARCH_HAS_TILE_COPY

#include "kernels/hip/schedule/deep/sums/strips.h"

template <typename S, typename KIND = uniform<typename S::REAL, S::T, S::T, S::A_OF>>
struct deep_work {
    typedef typename S::REAL REAL;
    KIND p;
    REAL *out;      /* the cell where the first tile begins, in plane 0 */
    const REAL *in; /* cell (0, 0, 0) */
    int pitch_y;
    int64_t pitch_z;
    int cells[AXIS_COUNT];
    int region[AXIS_COUNT]; /* the cell where the region of the copies begins */
    int bottom;             /* T where z_min is closed, else 0 */
    bool top;               /* z_max is closed */
    work_list list;
    struct hip_scratch *scratch; /* of sums and a summary */
    struct hip_result *result;
    rectangle_list<S::T, 4 * FACE_COUNT> sums; /* of a few hot boxes, too */
    uint32_t *bits;
};

/* A column of one block: planes [begin, end) of a tile are computed up to level T. */
struct deep_column {
    int x, y;   /* first cell of the tile */
    int tx, ty; /* its number on the axes */
    int first;  /* plane that is read first */
    int begin, end;
    bool top; /* ends at the closed face z_max */

    /* The last plane before the rounds at the face z_max; and the last round of all, whose plane is
     * read like others, beyond a closed face as zeros. */
    __device__ int last_main(int steps) const
    {
        return top ? end - 1 : end - 1 + steps;
    }
    __device__ int last_round(int steps) const
    {
        return top ? end - 1 + (steps + 1) / 2 * 2 : end - 1 + steps;
    }
};

/* Item n of a block, a whole part of a column or a piece; QUEUED: of all blocks. */
template <typename S, typename KIND>
static __device__ __forceinline__ deep_column deep_column_of(const deep_work<S, KIND> &w, int n)
{
    const work_list &list = w.list;
    const int tiles = list.x.count * list.y.count;
    const unsigned planes = (unsigned)(list.z_end - list.z_lo);
    deep_column c;
    int tile;
    if (S::QUEUED && list.queued > 0) {
        const int part = n / tiles;
        tile = list.queued_tile(n - part * tiles);
        c.begin = list.from[part + 1];
        c.end = list.from[part];
    } else if (n < list.whole) {
        const int item = n * list.units + (int)blockIdx.x;
        const int part = item / tiles;
        tile = item - part * tiles;
        c.begin = (int)(planes * (unsigned)part / (unsigned)list.cuts);
        c.end = (int)(planes * (unsigned)(part + 1) / (unsigned)list.cuts);
    } else {
        const piece &at = list.pieces[list.first[blockIdx.x] + n - list.whole];
        tile = (int)at.tile;
        c.begin = at.begin;
        c.end = at.end;
    }
    c.begin += list.z_lo;
    c.end += list.z_lo;
    c.ty = tile / list.x.count;
    c.tx = tile - c.ty * list.x.count;
    c.x = list.x.start(c.tx);
    c.y = list.y.start(c.ty);
    c.top = w.top && c.end == w.cells[AXIS_Z];
    c.first = w.bottom > 0 ? max(c.begin - S::T, 0) : c.begin - S::T;
    if (S::PAIRS) { /* see deep_wave */
        c.first -= (c.last_main(S::T) + 1 - c.first) & 1;
    }
    return c;
}

#endif
