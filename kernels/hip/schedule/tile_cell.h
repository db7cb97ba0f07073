/* tile.hip.cpp: the cells that a thread keeps, and how it advances them. */
#pragma once

#include "kernels/hip/kind/enthalpy.h"
#include "kernels/hip/kind/high_order.h"
#include "kernels/hip/schedule/tiling.h"

enum { THREADS = 512, CELLS = 2, TILE_BITS = 10 };
static_assert(THREADS * CELLS == 1 << TILE_BITS, "a tile");

/* T steps of a kind on tiles. */
template <int T, typename KIND> struct tile_form {
    static constexpr int FIRST = KIND::R > 1 ? 1 : 0; /* the lowest on the tile */
    static constexpr int LEVELS = T - FIRST;          /* that neighbours are read from there */
    static constexpr int DELAY = 2 * KIND::R - 1;     /* planes from a level to the next one */
    static constexpr int HALO = LEVELS * KIND::R;     /* cells of level FIRST around a box */
    /* Cells that a tile loses at an edge. The last few rows before a closed face read more. */
    static constexpr int LOST = HALO + KIND::R - 1;
};

/* One cell of a thread. */
template <typename REAL, int T, typename KIND> struct tile_cell {
    int64_t at;                 /* its index in plane 0 */
    typename KIND::place place; /* there */
    int64_t i, j;
    int own, left, right, front, back; /* places in a plane of shared memory */
    bool known, next_known, written;   /* next_known: so are its neighbours */
    bool closed[4];                    /* lies on the face */
    /* Level FIRST + n in the plane to be advanced and in the one before, and what is seen of it
     * there and in the planes around it, but for the last one. */
    REAL here[tile_form<T, KIND>::LEVELS], before[tile_form<T, KIND>::LEVELS];
    REAL seen[tile_form<T, KIND>::LEVELS][2 * tile_form<T, KIND>::DELAY];
};

/* Does the tile hold all cells that a cell reads on an axis? at: its place among `extent`. Of the
 * kinds that read the cells beside it: else no cell needs it. */
template <typename KIND>
static __device__ __forceinline__ bool holds_around(const KIND &, int, int64_t, int64_t, int, int)
{
    return true;
}

template <typename REAL, int R, int T>
static __device__ __forceinline__ bool holds_around(const wide_stencil<REAL, R, T> &kind, int axis,
                                                    int64_t cell, int64_t cells, int at, int extent)
{
    return at >= kind.reach(axis, 0, cell, cells) && at + kind.reach(axis, 1, cell, cells) < extent;
}

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
    core_of(t, AXIS_X, tile[0], wide, tile_form<T, KIND>::LOST, begin[0], end[0]);
    core_of(t, AXIS_Y, tile[1], high, tile_form<T, KIND>::LOST, begin[1], end[1]);
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
    c.next_known = i >= t.next_lo[0] && i < t.next_hi[0] && j >= t.next_lo[1] && j < t.next_hi[1] &&
                   holds_around(kind, AXIS_X, i, view.cells[0], x, wide) &&
                   holds_around(kind, AXIS_Y, j, view.cells[1], y, high);
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

/* The value of level l + 1 of a cell in plane k, from lines of level l along the axes. base: what
 * its sum begins with. */
template <typename REAL, int T, int R, typename X, typename Y, typename Z, typename TERM>
static __device__ __forceinline__ REAL advance_wide(
    const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind,
    const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, int l, int64_t k,
    const bool (&on)[FACE_COUNT], REAL base, const X &x, const Y &y, const Z &z, const TERM &term)
{
    const REAL own = z(0);
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int inward = face % 2 == 0 ? 1 : -1;
        if (on[face]) {
            const struct wide_closure &closure = kind.closure[face];
            term(l, k, face, near_sum(kind, l, face, closure.in, closure.in_given, own, [&](int n) {
                     return face / 2 == AXIS_X   ? x(n * inward)
                            : face / 2 == AXIS_Y ? y(n * inward)
                                                 : z(n * inward);
                 }));
        }
    }
    return advance_along(kind, l, base, own, {c.i, c.j, k}, view.cells, x, y, z);
}

/* The cell in plane k of level FIRST, at element `at` of the field. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL first_of(const grid_view<REAL> &view, const KIND &,
                                                const tile_cell<REAL, T, KIND> &, int64_t at,
                                                int64_t, const TERM &)
{
    return view.in[at];
}

template <typename REAL, int T, int R, typename TERM>
static __device__ __forceinline__ REAL first_of(
    const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind,
    const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, int64_t at, int64_t k, const TERM &term)
{
    const REAL *own = view.in + at;
    bool on[FACE_COUNT];
    faces_of(view, kind, c, k, on);
    return advance_wide(view, kind, c, 0, k, on, *own, wide_line<REAL>{own, 1},
                        wide_line<REAL>{own, view.pitch_y}, wide_line<REAL>{own, view.pitch_z},
                        term);
}

/* The cell in plane k of level l + 1; base: what its sum begins with; z: what is seen of level l in
 * the planes around it. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL next_of(const grid_view<REAL> &view, const KIND &kind,
                                               const tiling &, const tile_cell<REAL, T, KIND> &c,
                                               const REAL *plane, int l, int64_t k,
                                               const bool (&on)[FACE_COUNT], REAL base, REAL here,
                                               const REAL (&z)[3], const TERM &term)
{
    REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front], plane[c.back], z[0], z[2]};
    return kind.advance(l, kind.moved(c.place, 0, k), on, base, here, z[1], n,
                        [&](int face, double x) { term(l, k, face, x); });
}

template <typename REAL, int T, int R, typename TERM>
static __device__ __forceinline__ REAL
next_of(const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind, const tiling &t,
        const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, const REAL *plane, int l, int64_t k,
        const bool (&on)[FACE_COUNT], REAL, REAL here, const REAL (&z)[4 * R - 1], const TERM &term)
{
    static_assert(T == 2, "the level before one on the tile is the field");
    const REAL *own = plane + c.own;
    const auto along_z = [&](int64_t n) {
        REAL value = z[0];
#pragma unroll /* no indexing of registers by a variable */
        for (int p = 1; p < 4 * R - 1; p++) {
            value = p - (2 * R - 1) == n ? z[p] : value;
        }
        return value;
    };
    const REAL base = kind.corrected(l) ? view.in[c.at + k * view.pitch_z] : here;
    return advance_wide(view, kind, c, l, k, on, base, wide_line<REAL>{own, 1},
                        wide_line<REAL>{own, (int64_t)1 << t.wide_bits}, along_z, term);
}

/* One plane of one cell: `value` is level FIRST in plane k; afterwards level T in plane
 * k - DELAY LEVELS. before, now: LEVELS planes each, of the round before and of this one; of what
 * is seen of the cells. term(l, plane, face, x): of the sums of level l. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL advance_cell(const grid_view<REAL> &view, const KIND &kind,
                                                    const tiling &t, tile_cell<REAL, T, KIND> &c,
                                                    const REAL *before, REAL *now, int64_t k,
                                                    REAL value, const TERM &term)
{
    typedef tile_form<T, KIND> F;
    constexpr int DELAY = F::DELAY;
    REAL base = 0; /* of the level before l, the plane of the step */
#pragma unroll
    for (int n = 0; n < F::LEVELS; n++) { /* the step from level l to l + 1, in plane `at` */
        const int l = F::FIRST + n;
        const int64_t at = k - DELAY * (n + 1);
        const int64_t last = at + DELAY;
        const bool is_last = last >= t.read_lo[2] && last < t.read_hi[2];
        const bool is_here = at >= t.next_lo[2] && at < t.next_hi[2];
        REAL z[2 * DELAY + 1];
#pragma unroll
        for (int p = 0; p < 2 * DELAY; p++) {
            z[p] = c.seen[n][p];
        }
        z[2 * DELAY] = value;
        if constexpr (!KIND::SEES_FIELD) {
            if (c.known && is_last) {
                z[2 * DELAY] = kind.seen(kind.moved(c.place, 0, last), value);
            }
        }
        const REAL here = KIND::SEES_FIELD ? z[DELAY] : c.here[n];
        bool on[FACE_COUNT];
        faces_of(view, kind, c, at, on);
        c.here[n] = value;
        if (KIND::IS_EVERYWHERE || (c.next_known && is_here)) {
            value = next_of<REAL, T>(view, kind, t, c, before + (n << TILE_BITS), l, at, on,
                                     kind.corrected(l) ? base : here, here, z, term);
        }
        base = KIND::SEES_FIELD ? z[0] : c.before[n];
        c.before[n] = here;
        now[(n << TILE_BITS) + c.own] = z[DELAY + 1];
#pragma unroll
        for (int p = 0; p < 2 * DELAY; p++) {
            c.seen[n][p] = z[p + 1];
        }
    }
    return value;
}
