/* tile.hip.cpp: the cells that a thread keeps, and how it advances them. */
#pragma once

#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/tiling.h"

enum { THREADS = 512, CELLS = 2, TILE_BITS = 10 };
static_assert(THREADS * CELLS == 1 << TILE_BITS, "a tile");

/* One cell of a thread. */
template <typename REAL, int T, typename KIND> struct tile_cell {
    int64_t at;                 /* its index in plane 0 */
    typename KIND::place place; /* there */
    int64_t i, j;
    int own, left, right, front, back; /* places in a plane of shared memory */
    bool known, next_known, written;   /* next_known: so are its neighbours */
    bool closed[4];                    /* lies on the face */
    REAL seen[T][2]; /* level l in the plane below the one to be advanced, and in that one */
};

template <typename REAL, int T, typename KIND>
static __device__ __forceinline__ tile_cell<REAL, T, KIND> tile_cell_of(const grid_view<REAL> &view,
                                                                        const KIND &kind,
                                                                        const tiling &t, int number,
                                                                        const int64_t (&tile)[2])
{
    const int wide = 1 << t.wide_bits;
    const int high = 1 << (TILE_BITS - t.wide_bits);
    const int x = number & (wide - 1);
    const int y = number >> t.wide_bits;
    int64_t begin[2];
    int64_t end[2];
    core_of(t, AXIS_X, tile[0], wide, T, begin[0], end[0]);
    core_of(t, AXIS_Y, tile[1], high, T, begin[1], end[1]);
    tile_cell<REAL, T, KIND> c = {};
    const int64_t i = t.first[0] + tile[0] * t.step[0] + x;
    const int64_t j = t.first[1] + tile[1] * t.step[1] + y;
    c.at = view.at(i, j, 0);
    c.place = kind.at(i, j, 0);
    c.i = i;
    c.j = j;
    c.own = number;
    c.left = x > 0 ? number - 1 : number;
    c.right = x + 1 < wide ? number + 1 : number;
    c.front = y > 0 ? number - wide : number;
    c.back = y + 1 < high ? number + wide : number;
    c.known = i >= t.read_lo[0] && i < t.read_hi[0] && j >= t.read_lo[1] && j < t.read_hi[1];
    c.next_known = i >= t.next_lo[0] && i < t.next_hi[0] && j >= t.next_lo[1] && j < t.next_hi[1];
    c.written = i >= begin[0] && i < end[0] && j >= begin[1] && j < end[1];
    c.closed[FACE_X_MIN] = kind.closed[FACE_X_MIN] && i == 0;
    c.closed[FACE_X_MAX] = kind.closed[FACE_X_MAX] && i == view.cells[0] - 1;
    c.closed[FACE_Y_MIN] = kind.closed[FACE_Y_MIN] && j == 0;
    c.closed[FACE_Y_MAX] = kind.closed[FACE_Y_MAX] && j == view.cells[1] - 1;
    return c;
}

/* Lies the cell in plane k on closed faces? */
template <typename REAL, int T, typename KIND>
static __device__ __forceinline__ void faces_of(const grid_view<REAL> &view, const KIND &kind,
                                                const tile_cell<REAL, T, KIND> &c, int64_t k,
                                                bool (&on)[FACE_COUNT])
{
#pragma unroll
    for (int face = 0; face < 4; face++) {
        on[face] = c.closed[face];
    }
    on[FACE_Z_MIN] = kind.closed[FACE_Z_MIN] && k == 0;
    on[FACE_Z_MAX] = kind.closed[FACE_Z_MAX] && k == view.cells[2] - 1;
}

/* One plane of one cell: `value` is the field in plane k; afterwards level T in plane k - T.
 * before, now: T planes each, of the round before and of this one. term(l, plane, face, x): of the
 * sums of level l. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL advance_cell(const grid_view<REAL> &view, const KIND &kind,
                                                    const tiling &t, tile_cell<REAL, T, KIND> &c,
                                                    const REAL *before, REAL *now, int64_t k,
                                                    REAL value, const TERM &term)
{
    REAL base = 0; /* of the level before l, the plane of the step */
#pragma unroll
    for (int l = 0; l < T; l++) { /* the step from level l to l + 1, in plane `at` */
        const int64_t at = k - (l + 1);
        const REAL below = c.seen[l][0];
        const REAL here = c.seen[l][1];
        const REAL above = value;
        bool on[FACE_COUNT];
        faces_of(view, kind, c, at, on);
        if (KIND::IS_EVERYWHERE || (c.next_known && at >= t.next_lo[2] && at < t.next_hi[2])) {
            const REAL *plane = before + (l << TILE_BITS);
            REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front],
                                  plane[c.back], below,          above};
            value = kind.advance(l, kind.moved(c.place, 0, at), on, kind.corrected(l) ? base : here,
                                 here, n, [&](int face, double x) { term(l, at, face, x); });
        }
        base = below;
        now[(l << TILE_BITS) + c.own] = above;
        c.seen[l][0] = here;
        c.seen[l][1] = above;
    }
    return value;
}
