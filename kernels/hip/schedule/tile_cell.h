/* tile.hip.cpp: the cells that a thread keeps, and how it advances them. */
#pragma once

#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/tiling.h"

enum { THREADS = 512, CELLS = 2, TILE_BITS = 10, TILE = 1 << TILE_BITS };
static_assert(THREADS * CELLS == TILE, "a tile");

/* The nearest of [lo, hi). */
static __device__ __forceinline__ int64_t within(int64_t i, int64_t lo, int64_t hi)
{
    return i < lo ? lo : i < hi ? i : hi - 1;
}

/* The arrays of a kind that loads, in shared memory: four planes, so that one arrives while the
 * steps use the three before. */
enum { STAGES = 4, ARRAYS = AXIS_COUNT + 1 };
template <typename REAL>
static __device__ __forceinline__ REAL *in_ring(REAL *ring, int64_t k, int array)
{
    return ring + (((k & (STAGES - 1)) * ARRAYS + array) << TILE_BITS);
}

/* One cell of a thread. */
template <typename REAL, int T, typename KIND> struct tile_cell {
    int64_t at;                 /* its index in plane 0 */
    typename KIND::place place; /* there */
    int64_t i, j;
    int own, left, right, front, back; /* places in a plane of shared memory */
    bool known, next_known, written;   /* next_known: so are its neighbours */
    bool closed[4];                    /* lies on the face */
    REAL seen[T][2]; /* level l in the plane below the one to be advanced, and in that one */
    /* Of a kind that loads: level 0 in the next plane, and the class there; the classes in this
     * plane and those before; and from where the plane after comes, of the nearest cell that may be
     * read. These pointers advance, since the compiler would compute places again in each plane. */
    REAL value;
    uint8_t byte;
    uint32_t bytes;
    const REAL *in;
    int64_t element;

    /* Plane k of level 0 and of the medium, after plane k - 1. */
    __device__ __forceinline__ void load(const grid_view<REAL> &view, const KIND &kind,
                                         const tiling &t, REAL *ring, int64_t k)
    {
        value = *in;
        bytes = bytes << 8 | byte;
        byte = kind.of.classes[element];
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            arch_copy_cell(in_ring(ring, k, axis) + own, kind.g[axis] + element);
        }
        arch_copy_cell(in_ring(ring, k, AXIS_COUNT) + own, kind.sigma + element);
        in += k + 1 < t.read_hi[2] ? view.pitch_z : 0;
        element += k < t.next_hi[2] ? kind.of.pitch_z : 0;
    }
    /* For the step from level l in plane k. */
    __device__ __forceinline__ typename KIND::loaded loaded_of(REAL *ring, int l, int64_t k) const
    {
        const REAL *x = in_ring(ring, k, AXIS_X) + own;
        const REAL *y = in_ring(ring, k, AXIS_Y);
        return {{x[0], x[1]},
                {y[own], y[back]},
                {in_ring(ring, k, AXIS_Z)[own], in_ring(ring, k + 1, AXIS_Z)[own]},
                in_ring(ring, k, AXIS_COUNT)[own],
                (uint8_t)(bytes >> 8 * (l + 1))};
    }
};

template <typename REAL, int T, typename KIND>
static __device__ __forceinline__ tile_cell<REAL, T, KIND> tile_cell_of(const grid_view<REAL> &view,
                                                                        const KIND &kind,
                                                                        const tiling &t, int number,
                                                                        const int64_t (&tile)[2],
                                                                        int64_t k_first)
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
    /* a kind that loads reads beyond the tile, for values that reach no written cell */
    c.left = KIND::LOADS || x > 0 ? number - 1 : number;
    c.right = KIND::LOADS || x + 1 < wide ? number + 1 : number;
    c.front = KIND::LOADS || y > 0 ? number - wide : number;
    c.back = KIND::LOADS || y + 1 < high ? number + wide : number;
    c.known = i >= t.read_lo[0] && i < t.read_hi[0] && j >= t.read_lo[1] && j < t.read_hi[1];
    c.next_known = i >= t.next_lo[0] && i < t.next_hi[0] && j >= t.next_lo[1] && j < t.next_hi[1];
    c.written = i >= begin[0] && i < end[0] && j >= begin[1] && j < end[1];
    if constexpr (KIND::LOADS) { /* of the medium one cell more, for the upper faces of the last */
        c.in = view.in + view.at(within(i, t.read_lo[0], t.read_hi[0]),
                                 within(j, t.read_lo[1], t.read_hi[1]), k_first);
        c.element = kind.element(kind.at(within(i, t.next_lo[0], t.next_hi[0] + 1),
                                         within(j, t.next_lo[1], t.next_hi[1] + 1), k_first));
    }
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

/* Of a kind that loads: whether cells of a tile may lie on closed faces in x or y. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ bool has_sides(const grid_view<REAL> &view, const KIND &kind,
                                                 const tiling &t, const int64_t (&tile)[2])
{
    const int64_t size[2] = {(int64_t)1 << t.wide_bits, TILE >> t.wide_bits};
    bool any = false;
#pragma unroll
    for (int axis = 0; axis < 2; axis++) {
        const int64_t begin = t.first[axis] + tile[axis] * t.step[axis];
        any = any || (kind.closed[2 * axis] && begin <= 0) ||
              (kind.closed[2 * axis + 1] && begin + size[axis] >= view.cells[axis]);
    }
    return any;
}

/* One plane of one cell: `value` is the field in plane k; afterwards level T in plane k - T.
 * before, now: T planes each, of the round before and of this one; ring: see in_ring. term(l,
 * plane, face, x): of the sums of level l. Without SIDES no cell lies on a closed face, and all
 * have their neighbours. */
template <bool SIDES, typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL advance_cell(const grid_view<REAL> &view, const KIND &kind,
                                                    const tiling &t, tile_cell<REAL, T, KIND> &c,
                                                    const REAL *before, REAL *now, REAL *ring,
                                                    int64_t k, REAL value, const TERM &term)
{
    REAL base = 0; /* of the level before l, the plane of the step */
#pragma unroll
    for (int l = 0; l < T; l++) { /* the step from level l to l + 1, in plane `at` */
        const int64_t at = k - (l + 1);
        const REAL below = c.seen[l][0];
        const REAL here = c.seen[l][1];
        const REAL above = value;
        const REAL *plane = before + (l << TILE_BITS);
        const REAL first = kind.corrected(l) ? base : here;
        if constexpr (!SIDES) {
            const REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front],
                                        plane[c.back], below,          above};
            value = kind.update(l, c.loaded_of(ring, l, at), first, here, n);
        } else if (KIND::IS_EVERYWHERE ||
                   (c.next_known && at >= t.next_lo[2] && at < t.next_hi[2])) {
            bool on[FACE_COUNT];
            faces_of(view, kind, c, at, on);
            REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front],
                                  plane[c.back], below,          above};
            const auto add = [&](int face, double x) { term(l, at, face, x); };
            const typename KIND::place place = kind.moved(c.place, 0, at);
            if constexpr (KIND::LOADS) {
                typename KIND::loaded loaded = c.loaded_of(ring, l, at);
                loaded.x[1] = on[FACE_X_MAX] ? kind.upper(place, AXIS_X) : loaded.x[1];
                loaded.y[1] = on[FACE_Y_MAX] ? kind.upper(place, AXIS_Y) : loaded.y[1];
                value = advance_by_values(kind, l, place, loaded, on, first, here, n, add);
            } else {
                value = kind.advance(l, place, on, first, here, n, add);
            }
        }
        base = below;
        now[(l << TILE_BITS) + c.own] = above;
        c.seen[l][0] = here;
        c.seen[l][1] = above;
    }
    return value;
}
