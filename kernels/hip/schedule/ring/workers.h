/* Part of kernel.h: the waves that compute, from the ring to memory. */
#pragma once

#include "kernels/hip/schedule/ring/ring.h"

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
                                                    const bool (&closed)[FACE_COUNT], const work &w,
                                                    const column &c)
{
    const int x = (int)threadIdx.x % S::WIDE * S::N;
    const int y = (int)threadIdx.x / S::WIDE * S::ROWS;
    place<S> p;
    p.offset = cell_at<S>(w, x, y);
    p.i = c.i + x;
    p.j = c.j + y;
    p.begin = max(w.lo[0] - p.i, 0);
    p.end = min(w.hi[0] - p.i, S::N);
    p.rows = min(min(w.hi[1] - p.j, w.height - y), S::ROWS);
    p.x_min = closed[FACE_X_MIN] && p.i == 0;
    p.x_max = closed[FACE_X_MAX] ? (int)view.cells[0] - 1 - p.i : -1;
    p.y_min = closed[FACE_Y_MIN] && p.j == 0;
    p.y_max = closed[FACE_Y_MAX] ? (int)view.cells[1] - 1 - p.j : -1;
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

/* The values around the cells of a row. */
template <typename S> struct row_values {
    vec16<typename S::REAL> c, ym, yp, zm, zp;
    typename S::REAL left, right;

    /* The neighbours of cell i, in the order of the faces. */
    __device__ __forceinline__ void around(int i, typename S::REAL (&n)[FACE_COUNT]) const
    {
        n[FACE_X_MIN] = i > 0 ? c.v[i > 0 ? i - 1 : 0] : left;
        n[FACE_X_MAX] = i + 1 < S::N ? c.v[i + 1 < S::N ? i + 1 : i] : right;
        n[FACE_Y_MIN] = ym.v[i];
        n[FACE_Y_MAX] = yp.v[i];
        n[FACE_Z_MIN] = zm.v[i];
        n[FACE_Z_MAX] = zp.v[i];
    }
};

/* z: the planes below, here and above. */
template <typename S>
static __device__ __forceinline__ row_values<S> values_of(const typename S::REAL *stage,
                                                          const place<S> &p, int row,
                                                          const cells_of<S> (&z)[3])
{
    const typename S::REAL *at = stage + p.offset + row * S::PITCH;
    row_values<S> v;
    v.c = z[1].row[row];
    v.ym = row > 0 ? z[1].row[row > 0 ? row - 1 : 0] : vector_at(at - S::PITCH);
    v.yp =
        row + 1 < S::ROWS ? z[1].row[row + 1 < S::ROWS ? row + 1 : row] : vector_at(at + S::PITCH);
    v.zm = z[0].row[row];
    v.zp = z[2].row[row];
    v.left = at[-1];
    v.right = at[S::N];
    return v;
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

/* Rows consist of vectors; those outside the box may not exist. */
template <typename S>
static __device__ __forceinline__ void load_plane(const typename S::REAL *from, int64_t pitch_y,
                                                  const place<S> &p, cells_of<S> &cells)
{
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        if (row < p.rows && p.begin < p.end) {
            cells.row[row] = vector_at(from + row * pitch_y);
        }
    }
}

/* The sum of the bits of the cells of a place that are in the box. */
template <typename S>
static __device__ __forceinline__ uint32_t bits_in(const place<S> &p, const cells_of<S> &cells)
{
    uint32_t sum = 0;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
        for (int i = 0; i < S::N; i++) {
            const bool mine = p.whole || (row < p.rows && i >= p.begin && i < p.end);
            sum += mine ? bits_in(cells.row[row].v[i]) : 0;
        }
    }
    return sum;
}

/* Planes k_begin to k_end of a column. A worker of a kind has
 *   wait(ring)                          for a stage, and for what it reads beyond faces there
 *   begin(below, here)                  the stages of the first two planes
 *   beyond(face, k, inside, from, to)   its cells beyond a closed face of z, from those of plane k
 *                                       in the stage `from`; `to`: the stage beyond
 *   advance(now, above, z, out)         the new values, from what their sums begin with; z: the
 *                                       planes below, here and above */
template <typename S, typename WORKER>
static __device__ __forceinline__ void march(const grid_view<typename S::REAL> &view,
                                             const bool (&closed)[FACE_COUNT], WORKER &&my,
                                             stage_ring<S> &ring, const place<S> &p,
                                             const column &c)
{
    typedef typename S::REAL REAL;
    const int z_max = closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
    cells_of<S> z[3];
    my.wait(ring);
    const stage_ring<S> first = ring;
    ring.next();
    my.wait(ring);
    z[1] = own_cells<S>(ring.stage(), p);
    my.begin(first.stage(), ring.stage());
    z[0] = own_cells<S>(first.stage(), p);
    if (closed[FACE_Z_MIN] && c.k_begin == 0) {
        z[0] = my.beyond(FACE_Z_MIN, 0, z[1], ring.stage(), first.stage());
    }
    first.release();
    uint32_t bits = 0;
    REAL *to = view.out + view.at(p.i, p.j, c.k_begin);
    cells_of<S> base = z[1]; /* requested a plane ahead */
    if constexpr (S::CORRECTS) {
        load_plane<S>(to, view.pitch_y, p, base);
    }
    for (int k = c.k_begin; k < c.k_end; k++, to += view.pitch_z) {
        cells_of<S> out = z[1];
        if constexpr (S::CORRECTS) {
            out = base;
            load_plane<S>(k + 1 < c.k_end ? to + view.pitch_z : to, view.pitch_y, p, base);
        }
        const stage_ring<S> now = ring;
        ring.next();
        my.wait(ring);
        z[2] = own_cells<S>(ring.stage(), p);
        if (k == z_max) {
            z[2] = my.beyond(FACE_Z_MAX, k, z[1], now.stage(), ring.stage());
        }
        my.advance(now.stage(), ring.stage(), z, out);
        now.release();
        store_plane<S>(to, view.pitch_y, p, out);
        if constexpr (S::BITS) {
            bits += bits_in<S>(p, out) - bits_in<S>(p, z[1]);
        }
        z[0] = z[1];
        z[1] = z[2];
    }
    if constexpr (S::BITS) {
        add_bits_of_wave(view.d_bits, bits);
    }
    ring.release();
    ring.next();
}

/* Bit f: the tile has cells on the closed face f of x or y. */
template <typename S>
static __device__ __forceinline__ unsigned closed_sides(const grid_view<typename S::REAL> &view,
                                                        const bool (&closed)[FACE_COUNT],
                                                        const work &w, const column &c)
{
    return (closed[FACE_X_MIN] && c.i == 0 ? 1U << FACE_X_MIN : 0U) |
           (closed[FACE_X_MAX] && c.i + S::TX >= (int)view.cells[0] ? 1U << FACE_X_MAX : 0U) |
           (closed[FACE_Y_MIN] && c.j == 0 ? 1U << FACE_Y_MIN : 0U) |
           (closed[FACE_Y_MAX] && c.j + w.height >= (int)view.cells[1] ? 1U << FACE_Y_MAX : 0U);
}

#endif
