/* Part of step_staged.hip.cpp: the waves that compute, from the ring to memory. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_WORKERS_H
#define ISOTHERM_KERNELS_HIP_STAGED_WORKERS_H

#include "kernels/hip/schedule/ring/staged_ring.h"

#if ARCH_HAS_TILE_COPY

/* A worker's position in a tile: one vector in each of ROWS rows. */
template <typename S> struct place {
    int offset;     /* of its first vector in a stage, in cells */
    int i, j;       /* in the field */
    int begin, end; /* cells of the vector in the box */
    int rows;       /* rows in the box */
    bool x_min;     /* the first cell lies on a closed x face */
    int x_max;      /* the cell on a closed x face; -1: none */
    bool y_min;     /* the first row lies on a closed y face */
    int y_max;      /* the row on a closed y face; -1: none */
    bool whole;     /* all cells are in the box */
};

template <typename S> struct cells_of {
    vec16<typename S::REAL> row[S::ROWS];
};

template <typename S>
static __device__ __forceinline__ place<S> place_of(const grid_view<typename S::REAL> &view,
                                                    const rules<typename S::REAL> &rules,
                                                    const work &w, const column &c)
{
    const int x = (int)threadIdx.x % S::WIDE * S::N;
    const int y = (int)threadIdx.x / S::WIDE * S::ROWS;
    place<S> p;
    p.offset = x / S::SUB_X * w.sub_cells + (y + 1) * S::PITCH + S::PAD + x % S::SUB_X;
    p.i = c.i + x;
    p.j = c.j + y;
    p.begin = max(w.lo[0] - p.i, 0);
    p.end = min(w.hi[0] - p.i, S::N);
    p.rows = min(min(w.hi[1] - p.j, w.height - y), S::ROWS);
    p.x_min = rules.closed[FACE_X_MIN] && p.i == 0;
    p.x_max = rules.closed[FACE_X_MAX] ? (int)view.cells[0] - 1 - p.i : -1;
    p.y_min = rules.closed[FACE_Y_MIN] && p.j == 0;
    p.y_max = rules.closed[FACE_Y_MAX] ? (int)view.cells[1] - 1 - p.j : -1;
    p.whole = p.begin == 0 && p.end == S::N && p.rows == S::ROWS;
    return p;
}

template <typename S>
static __device__ __forceinline__ cells_of<S> own_cells(const typename S::REAL *stage,
                                                        const place<S> &p)
{
    cells_of<S> cells;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        cells.row[row] = vector_at(stage + p.offset + row * S::PITCH);
    }
    return cells;
}

template <typename S>
static __device__ __forceinline__ cells_of<S> beyond_plane(const rules<typename S::REAL> &rules,
                                                           int face, const cells_of<S> &inside)
{
    cells_of<S> cells;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        cells.row[row] = beyond_vector(rules, face, inside.row[row]);
    }
    return cells;
}

/* SIDES: the tile lies on a closed face in x or y. */
template <typename S, bool SIDES>
static __device__ __forceinline__ vec16<typename S::REAL> step_row(
    const typename S::REAL *stage, const rules<typename S::REAL> &rules, const place<S> &p, int row,
    const cells_of<S> &below, const cells_of<S> &here, const cells_of<S> &above)
{
    typedef typename S::REAL REAL;
    constexpr int N = S::N;
    const REAL *at = stage + p.offset + row * S::PITCH;
    const vec16<REAL> c = here.row[row];
    vec16<REAL> ym = row > 0 ? here.row[row > 0 ? row - 1 : 0] : vector_at(at - S::PITCH);
    vec16<REAL> yp =
        row + 1 < S::ROWS ? here.row[row + 1 < S::ROWS ? row + 1 : row] : vector_at(at + S::PITCH);
    REAL left = at[-1];
    const REAL right = at[N];
    if (SIDES) {
        if (row == 0 && p.y_min) {
            ym = beyond_vector(rules, FACE_Y_MIN, c);
        }
        if (row == p.y_max) {
            yp = beyond_vector(rules, FACE_Y_MAX, c);
        }
        left = p.x_min ? beyond(rules, FACE_X_MIN, c.v[0]) : left;
    }
    vec16<REAL> out;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const REAL xm = i > 0 ? c.v[i > 0 ? i - 1 : 0] : left;
        REAL xp = i + 1 < N ? c.v[i + 1 < N ? i + 1 : i] : right;
        if (SIDES) {
            xp = i == p.x_max ? beyond(rules, FACE_X_MAX, c.v[i]) : xp;
        }
        out.v[i] = heat_cell(c.v[i], xm, xp, ym.v[i], yp.v[i], below.row[row].v[i],
                             above.row[row].v[i], rules.r);
    }
    return out;
}

/* Ordinary stores: streaming ones were slower (docs/records/hip.md). */
template <typename S>
static __device__ __forceinline__ void store_plane(typename S::REAL *to, int64_t pitch_y,
                                                   const place<S> &p, const cells_of<S> &out)
{
    if (p.whole) {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
            *reinterpret_cast<vec16<typename S::REAL> *>(to + row * pitch_y) = out.row[row];
        }
        return;
    }
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
        for (int i = 0; i < S::N; i++) {
            if (row < p.rows && i >= p.begin && i < p.end) {
                to[row * pitch_y + i] = out.row[row].v[i];
            }
        }
    }
}

/* Planes k_begin to k_end of a column. */
template <typename S, bool SIDES>
static __device__ __forceinline__ void march(const grid_view<typename S::REAL> &view,
                                             const rules<typename S::REAL> &rules,
                                             stage_ring<S> &ring, const place<S> &p,
                                             const column &c)
{
    typedef typename S::REAL REAL;
    const int z_max = rules.closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
    ring.wait();
    cells_of<S> below = own_cells<S>(ring.stage(), p);
    ring.release();
    ring.next();
    ring.wait();
    cells_of<S> here = own_cells<S>(ring.stage(), p);
    if (rules.closed[FACE_Z_MIN] && c.k_begin == 0) {
        below = beyond_plane<S>(rules, FACE_Z_MIN, here);
    }
    REAL *to = view.out + view.at(p.i, p.j, c.k_begin);
    for (int k = c.k_begin; k < c.k_end; k++, to += view.pitch_z) {
        const stage_ring<S> now = ring;
        ring.next();
        ring.wait();
        cells_of<S> above = own_cells<S>(ring.stage(), p);
        if (k == z_max) {
            above = beyond_plane<S>(rules, FACE_Z_MAX, here);
        }
        cells_of<S> out;
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
            out.row[row] = step_row<S, SIDES>(now.stage(), rules, p, row, below, here, above);
        }
        now.release();
        store_plane<S>(to, view.pitch_y, p, out);
        below = here;
        here = above;
    }
    ring.release();
    ring.next();
}

template <typename S>
static __device__ __forceinline__ void march_all(const grid_view<typename S::REAL> &view,
                                                 const rules<typename S::REAL> &rules,
                                                 stage_ring<S> ring, const work &w)
{
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        const place<S> p = place_of<S>(view, rules, w, c);
        const bool sides = (rules.closed[FACE_X_MIN] && c.i == 0) ||
                           (rules.closed[FACE_Y_MIN] && c.j == 0) ||
                           (rules.closed[FACE_X_MAX] && c.i + S::TX >= (int)view.cells[0]) ||
                           (rules.closed[FACE_Y_MAX] && c.j + w.height >= (int)view.cells[1]);
        if (sides) {
            march<S, true>(view, rules, ring, p, c);
        } else {
            march<S, false>(view, rules, ring, p, c);
        }
    }
}

#endif

#endif
