/* Part of step_staged_medium.hip.cpp: the waves that compute in a medium of classes.
 *
 * As staged_workers.h, with the classes of the cells beside them in every stage. A wave whose cells
 * all have the flag of one class (CLASS_FLAG) has its coefficients in registers; else each cell
 * looks up its own. The table of coefficients is in shared memory where it fits, since lookups of
 * different lanes then cost only bank conflicts. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_MEDIUM_H
#define ISOTHERM_KERNELS_HIP_STAGED_MEDIUM_H

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/ring/staged_closers.h"
#include "kernels/hip/schedule/ring/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* The coefficients of each class and pair of classes. */
template <typename REAL> struct pairs {
    struct alignas(2 * sizeof(REAL)) cell {
        REAL sigma, q;
    };
    const REAL *table; /* sigma and q, then g of every axis */
    int n;
    int from[AXIS_COUNT]; /* where the g of an axis begin */

    __device__ REAL g(int axis, int of_class, int neighbour) const
    {
        return table[from[axis] + of_class * n + neighbour];
    }
    __device__ cell of(int of_class) const
    {
        return reinterpret_cast<const cell *>(table)[of_class];
    }
};

template <typename REAL>
static __device__ __forceinline__ pairs<REAL> pairs_of(const REAL *table, int n, bool same_axes)
{
    const int step = same_axes ? 0 : n * n;
    return {table, n, {2 * n, 2 * n + step, 2 * n + 2 * step}};
}

/* What a worker needs besides its place. */
template <typename S> struct surroundings {
    const medium<typename S::REAL> &m;
    const ::rules<typename S::REAL> &rules;
    pairs<typename S::REAL> of;
    int class_offset; /* of the worker's first cell in the classes of a stage, in bytes */
};

/* The classes of a vector in each row, one byte per cell. */
template <typename S> struct words_of {
    uint32_t row[S::ROWS];
};

template <int N> static __device__ __forceinline__ uint32_t word_at(const uint8_t *classes)
{
    return N == 2 ? *reinterpret_cast<const uint16_t *>(classes)
                  : *reinterpret_cast<const uint32_t *>(classes);
}

static __device__ __forceinline__ int class_in(uint32_t word, int i)
{
    return (int)(word >> (8 * i) & 0xFF);
}

template <typename S>
static __device__ __forceinline__ const uint8_t *classes_in(const typename S::REAL *stage,
                                                            const work &w, const surroundings<S> &s)
{
    return reinterpret_cast<const uint8_t *>(stage + w.class_cells) + s.class_offset;
}

template <typename S>
static __device__ __forceinline__ words_of<S> own_classes(const uint8_t *classes)
{
    words_of<S> words;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        words.row[row] = word_at<S::N>(classes + row * S::CLASS_PITCH);
    }
    return words;
}

/* One cell beyond a closed face, from the one inside, both in stages. */
template <typename S>
static __device__ __forceinline__ void close_cell(const surroundings<S> &s, const place<S> &p,
                                                  int face, int row, int i, int k,
                                                  const typename S::REAL *inside,
                                                  const uint8_t *classes, typename S::REAL *beyond)
{
    const int64_t cell[AXIS_COUNT] = {p.i + i, p.j + row, k};
    *beyond = medium_beyond(s.m, face, cell, classes[row * S::CLASS_PITCH + i] & s.m.mask,
                            inside[p.offset + row * S::PITCH + i]);
}

/* Write the values beyond a closed z face: the worker's cells of plane k, into the stage `beyond`.
 * By the workers, since it is rare. */
template <typename S>
static __device__ __forceinline__ void close_plane(const surroundings<S> &s, const place<S> &p,
                                                   int face, int k, const typename S::REAL *stage,
                                                   const uint8_t *classes, typename S::REAL *beyond)
{
#pragma unroll 1
    for (int row = 0; row < p.rows; row++) {
#pragma unroll 1
        for (int i = p.begin; i < p.end; i++) {
            close_cell<S>(s, p, face, row, i, k, stage, classes,
                          beyond + p.offset + row * S::PITCH + i);
        }
    }
}

/* The values around the cells of a row. */
template <typename S> struct row_values {
    vec16<typename S::REAL> c, ym, yp, zm, zp;
    typename S::REAL left, right;

    __device__ void around(int i, typename S::REAL (&n)[FACE_COUNT]) const
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

/* The inside of a region: its classes, and the coefficients of all cells. */
template <typename S> struct region {
    uint32_t all; /* the flagged class in every byte; 0: none */
    typename S::REAL gx, gy, gz, sigma, q;
};

/* Whether all cells of the wave in the box lie inside the region. */
template <typename S>
static __device__ __forceinline__ bool lies_in(uint32_t all, const words_of<S> &words,
                                               const place<S> &p, uint32_t in_box)
{
    uint32_t differing = 0;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        differing |= row < p.rows ? words.row[row] ^ all : 0;
    }
    return arch_all((differing & in_box) == 0);
}

/* The same, or inside another region, which becomes `r`. */
template <typename S>
static __device__ __forceinline__ bool is_inside(region<S> &r, const words_of<S> &words,
                                                 const surroundings<S> &s, const place<S> &p,
                                                 uint32_t in_box)
{
    constexpr uint32_t every = S::N == 2 ? 0x0101U : 0x01010101U;
    if (r.all != 0 && lies_in<S>(r.all, words, p, in_box)) {
        return true;
    }
    const int first = class_in(arch_first_lane_value(words.row[0]), 0);
    if (first <= s.m.mask || !lies_in<S>((uint32_t)first * every, words, p, in_box)) {
        return false;
    }
    const int own = first & s.m.mask;
    r.all = (uint32_t)first * every;
    r.gx = s.of.g(AXIS_X, own, own);
    r.gy = s.of.g(AXIS_Y, own, own);
    r.gz = s.of.g(AXIS_Z, own, own);
    r.sigma = s.of.of(own).sigma;
    r.q = s.of.of(own).q;
    return true;
}

/* One plane of a worker inside a region. */
template <typename S>
static __device__ __forceinline__ void plane_inside(const typename S::REAL *stage,
                                                    const place<S> &p, const cells_of<S> (&z)[3],
                                                    const region<S> &r, cells_of<S> &out)
{
    typedef typename S::REAL REAL;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const row_values<S> v = values_of<S>(stage, p, row, z);
#pragma unroll
        for (int i = 0; i < S::N; i++) {
            const REAL g[FACE_COUNT] = {r.gx, r.gx, r.gy, r.gy, r.gz, r.gz};
            REAL around[FACE_COUNT];
            v.around(i, around);
            out.row[row].v[i] = medium_cell(v.c.v[i], around, g, r.sigma, r.q);
        }
    }
}

/* One plane of a worker elsewhere; words: the classes here and above; gz: to the plane below, and
 * then to the one above. */
template <typename S>
static __device__ __forceinline__ void plane_between(const typename S::REAL *stage,
                                                     const uint8_t *classes,
                                                     const surroundings<S> &s, const place<S> &p,
                                                     const cells_of<S> (&z)[3],
                                                     const words_of<S> (&words)[2], cells_of<S> &gz,
                                                     cells_of<S> &out)
{
    typedef typename S::REAL REAL;
    constexpr int N = S::N;
    const int mask = s.m.mask;
    const uint32_t word_ym = word_at<N>(classes - S::CLASS_PITCH);
    const uint32_t word_yp = word_at<N>(classes + S::ROWS * S::CLASS_PITCH);
    REAL gy[N]; /* to the row before */
#pragma unroll
    for (int i = 0; i < N; i++) {
        gy[i] = s.of.g(AXIS_Y, class_in(words[0].row[0], i) & mask, class_in(word_ym, i) & mask);
    }
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const uint32_t own = words[0].row[row];
        const uint32_t next_row =
            row + 1 < S::ROWS ? words[0].row[row + 1 < S::ROWS ? row + 1 : row] : word_yp;
        const row_values<S> v = values_of<S>(stage, p, row, z);
        const int class_left = classes[row * S::CLASS_PITCH - 1] & mask;
        const int class_right = classes[row * S::CLASS_PITCH + N] & mask;
        REAL gx = s.of.g(AXIS_X, class_in(own, 0) & mask, class_left);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int o = class_in(own, i) & mask;
            const int right = i + 1 < N ? class_in(own, i + 1) & mask : class_right;
            const REAL g[FACE_COUNT] = {gx,
                                        s.of.g(AXIS_X, o, right),
                                        gy[i],
                                        s.of.g(AXIS_Y, o, class_in(next_row, i) & mask),
                                        gz.row[row].v[i],
                                        s.of.g(AXIS_Z, o, class_in(words[1].row[row], i) & mask)};
            REAL around[FACE_COUNT];
            v.around(i, around);
            const typename pairs<REAL>::cell cell = s.of.of(o);
            out.row[row].v[i] = medium_cell(v.c.v[i], around, g, cell.sigma, cell.q);
            gx = g[FACE_X_MAX]; /* symmetric */
            gy[i] = g[FACE_Y_MAX];
            gz.row[row].v[i] = g[FACE_Z_MAX];
        }
    }
}

/* The conductances between two planes. */
template <typename S>
static __device__ __forceinline__ cells_of<S> g_between(const surroundings<S> &s,
                                                        const words_of<S> &here,
                                                        const words_of<S> &other)
{
    cells_of<S> g;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
        for (int i = 0; i < S::N; i++) {
            g.row[row].v[i] = s.of.g(AXIS_Z, class_in(here.row[row], i) & s.m.mask,
                                     class_in(other.row[row], i) & s.m.mask);
        }
    }
    return g;
}

template <typename S>
static __device__ __forceinline__ void fill(cells_of<S> &cells, typename S::REAL value)
{
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
        for (int i = 0; i < S::N; i++) {
            cells.row[row].v[i] = value;
        }
    }
}

/* Planes k_begin to k_end of a column. wait(ring): for a stage and the values beyond faces. */
template <typename S, typename WAIT>
static __device__ __forceinline__ void march_medium(const grid_view<typename S::REAL> &view,
                                                    const surroundings<S> &s, const work &w,
                                                    stage_ring<S> &ring, const place<S> &p,
                                                    const column &c, WAIT wait)
{
    typedef typename S::REAL REAL;
    const int z_max = s.rules.closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
    uint32_t in_box = 0; /* bytes */
    for (int i = p.begin; i < p.end; i++) {
        in_box |= 0xFFU << (8 * i);
    }
    cells_of<S> z[3];     /* below, here, above */
    words_of<S> words[2]; /* here, above */
    region<S> r = {};
    wait(ring);
    const stage_ring<S> first = ring;
    ring.next();
    wait(ring);
    const uint8_t *classes = classes_in<S>(ring.stage(), w, s);
    z[1] = own_cells<S>(ring.stage(), p);
    words[0] = own_classes<S>(classes);
    cells_of<S> gz = g_between<S>(s, words[0], own_classes<S>(classes_in<S>(first.stage(), w, s)));
    if (s.rules.closed[FACE_Z_MIN] && c.k_begin == 0) {
        close_plane<S>(s, p, FACE_Z_MIN, 0, ring.stage(), classes, first.stage());
    }
    z[0] = own_cells<S>(first.stage(), p);
    first.release();
    REAL *to = view.out + view.at(p.i, p.j, c.k_begin);
    bool was_inside = false;
    for (int k = c.k_begin; k < c.k_end; k++, to += view.pitch_z) {
        const stage_ring<S> now = ring;
        ring.next();
        wait(ring);
        if (k == z_max) {
            close_plane<S>(s, p, FACE_Z_MAX, k, now.stage(), classes_in<S>(now.stage(), w, s),
                           ring.stage());
        }
        z[2] = own_cells<S>(ring.stage(), p);
        words[1] = own_classes<S>(classes_in<S>(ring.stage(), w, s));
        cells_of<S> out;
        const REAL gz_before = r.gz;
        if (is_inside<S>(r, words[0], s, p, in_box)) {
            plane_inside<S>(now.stage(), p, z, r, out);
            was_inside = true;
        } else {
            if (was_inside) { /* then all cells here have its class */
                fill<S>(gz, gz_before);
                was_inside = false;
            }
            plane_between<S>(now.stage(), classes_in<S>(now.stage(), w, s), s, p, z, words, gz,
                             out);
        }
        now.release();
        store_plane<S>(to, view.pitch_y, p, out);
        z[0] = z[1];
        z[1] = z[2];
        words[0] = words[1];
    }
    ring.release();
    ring.next();
}

template <typename S>
static __device__ __forceinline__ void march_medium_all(const grid_view<typename S::REAL> &view,
                                                        const medium<typename S::REAL> &m,
                                                        const pairs<typename S::REAL> &of,
                                                        const rules<typename S::REAL> &rules,
                                                        stage_ring<S> ring, arch_arrivals *closed,
                                                        const work &w)
{
    const int x = (int)threadIdx.x % S::WIDE * S::N;
    const int y = (int)threadIdx.x / S::WIDE * S::ROWS;
    const surroundings<S> s = {m, rules, of,
                               x / S::SUB_X * w.class_sub + (y + 1) * S::CLASS_PITCH +
                                   S::CLASS_PAD + x % S::SUB_X};
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        const place<S> p = place_of<S>(view, rules, w, c);
        const bool sides = closed_sides<S>(view, rules, w, c) != 0;
        march_medium<S>(view, s, w, ring, p, c, [&](const stage_ring<S> &at) {
            at.wait();
            if (sides) {
                arch_arrivals_wait(&closed[at.slot], at.round & 1);
            }
        });
    }
}

/* The term of a cell in the sum over a closed face, for staged_sums.h. */
template <typename S> struct medium_view {
    const typename S::REAL *stage;
    const work &w;
    const column &c;
    const medium<typename S::REAL> &m;
    int k;

    __device__ double operator()(int face, int i, int j) const
    {
        const typename S::REAL inside = stage[cell_at<S>(w, i - c.i, j - c.j)];
        const uint8_t *classes = reinterpret_cast<const uint8_t *>(stage + w.class_cells);
        const int of_class = classes[class_at<S>(w, i - c.i, j - c.j)] & m.mask;
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        return medium_face_term(m, face, of_class, medium_beyond(m, face, cell, of_class, inside),
                                inside);
    }
};

#endif

#endif
