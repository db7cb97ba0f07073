/* Part of step_staged_medium.hip.cpp: the waves that compute in a medium of classes.
 *
 * As staged_workers.h, with the classes of the cells beside them in every stage. A wave whose cells
 * and neighbours have one class takes that class's coefficients; else each cell looks up its own.
 * The table of coefficients is in shared memory where it fits, since lookups of different lanes
 * then cost only bank conflicts. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_MEDIUM_H
#define ISOTHERM_KERNELS_HIP_STAGED_MEDIUM_H

#include "kernels/hip/medium.h"
#include "kernels/hip/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* The coefficients of each class and pair of classes. */
template <typename REAL> struct pairs {
    const REAL *table; /* sigma and q, then g of every axis */
    int n;

    __device__ REAL g(int axis, int of_class, int neighbour) const
    {
        return table[(2 + axis * n + of_class) * n + neighbour];
    }
    __device__ REAL sigma(int of_class) const
    {
        return table[2 * of_class];
    }
    __device__ REAL q(int of_class) const
    {
        return table[2 * of_class + 1];
    }
};

/* What a worker needs besides its place. */
template <typename S> struct surroundings {
    const medium<typename S::REAL> &m;
    const rules<typename S::REAL> &rules;
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
    *beyond = medium_beyond(s.m, face, cell, classes[row * S::CLASS_PITCH + i],
                            inside[p.offset + row * S::PITCH + i]);
}

/* Write the values beyond closed x and y faces next to the worker's cells, where the engine has
 * left zeros and no other worker reads. So the marching needs no code for faces, and no registers.
 */
template <typename S>
static __device__ __forceinline__ void close_sides(const surroundings<S> &s, const place<S> &p,
                                                   int k, typename S::REAL *stage,
                                                   const uint8_t *classes)
{
    typename S::REAL *at = stage + p.offset;
    const bool x_max = p.x_max >= 0 && p.x_max < S::N;
    const bool y_max = p.y_max >= 0 && p.y_max < p.rows;
#pragma unroll 1
    for (int row = 0; row < p.rows && (p.x_min || x_max); row++) {
        if (p.x_min) {
            close_cell<S>(s, p, FACE_X_MIN, row, 0, k, stage, classes, at + row * S::PITCH - 1);
        }
        if (x_max) {
            close_cell<S>(s, p, FACE_X_MAX, row, p.x_max, k, stage, classes,
                          at + row * S::PITCH + p.x_max + 1);
        }
    }
#pragma unroll 1
    for (int i = p.begin; i < p.end && p.rows > 0 && (p.y_min || y_max); i++) {
        if (p.y_min) {
            close_cell<S>(s, p, FACE_Y_MIN, 0, i, k, stage, classes, at - S::PITCH + i);
        }
        if (y_max) {
            close_cell<S>(s, p, FACE_Y_MAX, p.y_max, i, k, stage, classes,
                          at + (p.y_max + 1) * S::PITCH + i);
        }
    }
}

/* The same for a closed z face: the worker's cells of plane k, into the stage `beyond`. */
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

/* The neighbours in x and y of a row. */
template <typename S> struct neighbours {
    vec16<typename S::REAL> ym, yp;
    typename S::REAL left, right;
    int class_left, class_right;
};

template <typename S>
static __device__ __forceinline__ neighbours<S> neighbours_of(const typename S::REAL *stage,
                                                              const uint8_t *classes,
                                                              const place<S> &p, int row,
                                                              const cells_of<S> &here)
{
    const typename S::REAL *at = stage + p.offset + row * S::PITCH;
    neighbours<S> n;
    n.ym = row > 0 ? here.row[row > 0 ? row - 1 : 0] : vector_at(at - S::PITCH);
    n.yp =
        row + 1 < S::ROWS ? here.row[row + 1 < S::ROWS ? row + 1 : row] : vector_at(at + S::PITCH);
    n.left = at[-1];
    n.right = at[S::N];
    n.class_left = classes[row * S::CLASS_PITCH - 1];
    n.class_right = classes[row * S::CLASS_PITCH + S::N];
    return n;
}

template <typename S>
static __device__ __forceinline__ void store_row(typename S::REAL *to, const place<S> &p, int row,
                                                 const vec16<typename S::REAL> &out)
{
    if (p.whole) {
        *reinterpret_cast<vec16<typename S::REAL> *>(to) = out;
        return;
    }
#pragma unroll
    for (int i = 0; i < S::N; i++) {
        if (row < p.rows && i >= p.begin && i < p.end) {
            to[i] = out.v[i];
        }
    }
}

/* One plane of a worker in a wave with one class, but for the neighbours of the wave in x. z: the
 * planes below, here and above; `classes` at the worker's first cell. */
template <typename S>
static __device__ __forceinline__ void one_class_plane(
    const typename S::REAL *stage, const uint8_t *classes, const pairs<typename S::REAL> &of,
    const place<S> &p, const cells_of<S> (&z)[3], int own, typename S::REAL *to, int64_t pitch_y)
{
    typedef typename S::REAL REAL;
    constexpr int N = S::N;
    const REAL gx = of.g(AXIS_X, own, own);
    const REAL gy = of.g(AXIS_Y, own, own);
    const REAL gz = of.g(AXIS_Z, own, own);
    const REAL sigma = of.sigma(own);
    const REAL q = of.q(own);
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const vec16<REAL> c = z[1].row[row];
        const neighbours<S> n = neighbours_of<S>(stage, classes, p, row, z[1]);
        REAL g_left = gx;
        REAL g_right = gx;
        if (n.class_left != own) {
            g_left = of.g(AXIS_X, own, n.class_left);
        }
        if (n.class_right != own) {
            g_right = of.g(AXIS_X, own, n.class_right);
        }
        vec16<REAL> out;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const REAL around[FACE_COUNT] = {i > 0 ? c.v[i > 0 ? i - 1 : 0] : n.left,
                                             i + 1 < N ? c.v[i + 1 < N ? i + 1 : i] : n.right,
                                             n.ym.v[i],
                                             n.yp.v[i],
                                             z[0].row[row].v[i],
                                             z[2].row[row].v[i]};
            const REAL g[FACE_COUNT] = {
                i > 0 ? gx : g_left, i + 1 < N ? gx : g_right, gy, gy, gz, gz};
            out.v[i] = medium_cell(c.v[i], around, g, sigma, q);
        }
        store_row<S>(to + row * pitch_y, p, row, out);
    }
}

/* One plane of a worker; words: the classes of z. */
template <typename S>
static __device__ __forceinline__ void medium_plane(const typename S::REAL *stage,
                                                    const uint8_t *classes,
                                                    const surroundings<S> &s, const place<S> &p,
                                                    const cells_of<S> (&z)[3],
                                                    const words_of<S> (&words)[3],
                                                    typename S::REAL *to, int64_t pitch_y)
{
    typedef typename S::REAL REAL;
    constexpr int N = S::N;
    constexpr uint32_t every = N == 2 ? 0x0101U : 0x01010101U;
    const uint32_t word_ym = word_at<N>(classes - S::CLASS_PITCH);
    const uint32_t word_yp = word_at<N>(classes + S::ROWS * S::CLASS_PITCH);
    const uint32_t all = (uint32_t)class_in(arch_first_lane_value(words[1].row[0]), 0) * every;
    uint32_t differing = (word_ym ^ all) | (word_yp ^ all);
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        differing |=
            (words[0].row[row] ^ all) | (words[1].row[row] ^ all) | (words[2].row[row] ^ all);
    }
    if (arch_all(differing == 0)) {
        one_class_plane<S>(stage, classes, s.of, p, z, class_in(all, 0), to, pitch_y);
        return;
    }
    REAL gy[N]; /* to the row before */
#pragma unroll
    for (int i = 0; i < N; i++) {
        gy[i] = s.of.g(AXIS_Y, class_in(words[1].row[0], i), class_in(word_ym, i));
    }
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const uint32_t own = words[1].row[row];
        const uint32_t next_row =
            row + 1 < S::ROWS ? words[1].row[row + 1 < S::ROWS ? row + 1 : row] : word_yp;
        const vec16<REAL> c = z[1].row[row];
        const neighbours<S> n = neighbours_of<S>(stage, classes, p, row, z[1]);
        REAL gx = s.of.g(AXIS_X, class_in(own, 0), n.class_left);
        vec16<REAL> out;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int o = class_in(own, i);
            const int class_right = i + 1 < N ? class_in(own, i + 1) : n.class_right;
            const REAL around[FACE_COUNT] = {i > 0 ? c.v[i > 0 ? i - 1 : 0] : n.left,
                                             i + 1 < N ? c.v[i + 1 < N ? i + 1 : i] : n.right,
                                             n.ym.v[i],
                                             n.yp.v[i],
                                             z[0].row[row].v[i],
                                             z[2].row[row].v[i]};
            const REAL g[FACE_COUNT] = {gx,
                                        s.of.g(AXIS_X, o, class_right),
                                        gy[i],
                                        s.of.g(AXIS_Y, o, class_in(next_row, i)),
                                        s.of.g(AXIS_Z, o, class_in(words[0].row[row], i)),
                                        s.of.g(AXIS_Z, o, class_in(words[2].row[row], i))};
            out.v[i] = medium_cell(c.v[i], around, g, s.of.sigma(o), s.of.q(o));
            gx = g[FACE_X_MAX]; /* symmetric */
            gy[i] = g[FACE_Y_MAX];
        }
        store_row<S>(to + row * pitch_y, p, row, out);
    }
}

/* Planes k_begin to k_end of a column; `sides`: the tile lies on a closed face in x or y. */
template <typename S>
static __device__ __forceinline__ void march_medium(const grid_view<typename S::REAL> &view,
                                                    const surroundings<S> &s, const work &w,
                                                    stage_ring<S> &ring, const place<S> &p,
                                                    const column &c, bool sides)
{
    typedef typename S::REAL REAL;
    const int z_max = s.rules.closed[FACE_Z_MAX] ? (int)view.cells[2] - 1 : -1;
    cells_of<S> z[3]; /* below, here, above */
    words_of<S> words[3];
    ring.wait();
    const stage_ring<S> first = ring;
    words[0] = own_classes<S>(classes_in<S>(first.stage(), w, s));
    ring.next();
    ring.wait();
    z[1] = own_cells<S>(ring.stage(), p);
    words[1] = own_classes<S>(classes_in<S>(ring.stage(), w, s));
    if (s.rules.closed[FACE_Z_MIN] && c.k_begin == 0) {
        close_plane<S>(s, p, FACE_Z_MIN, 0, ring.stage(), classes_in<S>(ring.stage(), w, s),
                       first.stage());
    }
    z[0] = own_cells<S>(first.stage(), p);
    first.release();
    REAL *to = view.out + view.at(p.i, p.j, c.k_begin);
    for (int k = c.k_begin; k < c.k_end; k++, to += view.pitch_z) {
        const stage_ring<S> now = ring;
        const uint8_t *classes = classes_in<S>(now.stage(), w, s);
        ring.next();
        ring.wait();
        words[2] = own_classes<S>(classes_in<S>(ring.stage(), w, s));
        if (k == z_max) {
            close_plane<S>(s, p, FACE_Z_MAX, k, now.stage(), classes, ring.stage());
        }
        z[2] = own_cells<S>(ring.stage(), p);
        if (sides) {
            close_sides<S>(s, p, k, now.stage(), classes);
            z[1] = own_cells<S>(now.stage(), p); /* may have cells beyond a face */
        }
        medium_plane<S>(now.stage(), classes, s, p, z, words, to, view.pitch_y);
        now.release();
        z[0] = z[1];
        z[1] = z[2];
        words[0] = words[1];
        words[1] = words[2];
    }
    ring.release();
    ring.next();
}

template <typename S>
static __device__ __forceinline__ void march_medium_all(const grid_view<typename S::REAL> &view,
                                                        const medium<typename S::REAL> &m,
                                                        const pairs<typename S::REAL> &of,
                                                        const rules<typename S::REAL> &rules,
                                                        stage_ring<S> ring, const work &w)
{
    const int x = (int)threadIdx.x % S::WIDE * S::N;
    const int y = (int)threadIdx.x / S::WIDE * S::ROWS;
    const surroundings<S> s = {m, rules, of,
                               x / S::SUB_X * w.class_sub + (y + 1) * S::CLASS_PITCH +
                                   S::CLASS_PAD + x % S::SUB_X};
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        const place<S> p = place_of<S>(view, rules, w, c);
        const bool sides = (rules.closed[FACE_X_MIN] && c.i == 0) ||
                           (rules.closed[FACE_Y_MIN] && c.j == 0) ||
                           (rules.closed[FACE_X_MAX] && c.i + S::TX >= (int)view.cells[0]) ||
                           (rules.closed[FACE_Y_MAX] && c.j + w.height >= (int)view.cells[1]);
        march_medium<S>(view, s, w, ring, p, c, sides);
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
        const int x = i - c.i;
        const int y = j - c.j + 1;
        const int sub = x / S::SUB_X;
        const typename S::REAL inside =
            stage[sub * w.sub_cells + y * S::PITCH + S::PAD + x % S::SUB_X];
        const uint8_t *classes = reinterpret_cast<const uint8_t *>(stage + w.class_cells);
        const int of_class =
            classes[sub * w.class_sub + y * S::CLASS_PITCH + S::CLASS_PAD + x % S::SUB_X];
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        return medium_face_term(m, face, of_class, medium_beyond(m, face, cell, of_class, inside),
                                inside);
    }
};

#endif

#endif
