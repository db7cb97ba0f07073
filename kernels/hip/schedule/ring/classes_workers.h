/* Part of classes.hip.cpp and compare.hip.cpp: the waves that compute in a medium of classes.
 *
 * The classes of the cells are beside them in every stage. A wave whose cells
 * all have the flag of one class (CLASS_FLAG) has its coefficients in registers; else each cell
 * looks up its own. The table of coefficients is in shared memory where it fits, since lookups of
 * different lanes then cost only bank conflicts. */
#pragma once

#include "kernels/hip/field/written.h"
#include "kernels/hip/schedule/ring/classes_closers.h"

#if ARCH_HAS_TILE_COPY

/* Copy a table behind the ring, and set the classes of rows that no tile has to 0, for lookups of
 * lanes outside the box. */
template <typename S>
static __device__ __forceinline__ void prepare_classes(char *shared, const work &w,
                                                       const typename S::REAL *from, int length)
{
    typedef typename S::REAL REAL;
    REAL *table = reinterpret_cast<REAL *>(shared + w.ring_bytes);
    for (int at = (int)threadIdx.x; at < length; at += (int)blockDim.x) {
        table[at] = from[at];
    }
    const int words = S::SUBTILES * w.class_sub / 4;
    for (int stage = 0; stage < w.stages; stage++) {
        uint32_t *classes = reinterpret_cast<uint32_t *>(reinterpret_cast<REAL *>(shared) +
                                                         stage * w.stage_cells + w.class_cells);
        for (int at = (int)threadIdx.x; at < words; at += (int)blockDim.x) {
            classes[at] = 0;
        }
    }
    arch_reads_before_tile_copy();
}

/* The bytes of the cells of a place that are in the box. */
template <typename S> static __device__ __forceinline__ uint32_t bytes_in_box(const place<S> &p)
{
    uint32_t bytes = 0;
    for (int i = p.begin; i < p.end; i++) {
        bytes |= 0xFFU << (8 * i);
    }
    return bytes;
}

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
static __device__ __forceinline__ words_of<S> own_classes(const uint8_t *classes)
{
    words_of<S> words;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        words.row[row] = word_at<S::N>(classes + row * S::CLASS_PITCH);
    }
    return words;
}

/* The inside of a region: its classes, and the coefficients of all cells. */
template <typename S> struct region {
    uint32_t all; /* the flagged class in every byte; 0: none */
    typename S::REAL g[AXIS_COUNT], sigma, q;
};

/* The summary of what a thread writes. weights: in shared memory, of each class; least: of them. */
template <typename S, bool ON = S::SUMMARY> struct seen_cells {
    const double *weights;
    double least;
    weighted_cells<typename S::REAL> found;

    __device__ __forceinline__ void begin(const double *of_classes, int nclasses)
    {
        weights = of_classes;
        least = 1;
        for (int c = 0; c < nclasses; c++) {
            least = weights[c] < least ? weights[c] : least;
        }
    }
    static __device__ __forceinline__ bool is_mine(const place<S> &p, int row, int i)
    {
        return p.whole || (row < p.rows && i >= p.begin && i < p.end);
    }
    template <bool RESTS>
    __device__ __forceinline__ void add(const place<S> &p, const words_of<S> &words, int mask,
                                        const cells_of<S> &out)
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                const double weight = weights[class_in(words.row[row], i) & mask];
                found.template add<RESTS>(is_mine(p, row, i), out.row[row].v[i], weight);
            }
        }
    }
    __device__ __forceinline__ void see(const place<S> &p, const words_of<S> &words, int mask,
                                        const cells_of<S> &out)
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                found.cells.look(is_mine(p, row, i), out.row[row].v[i]);
            }
        }
        if (found.are_coarse(least)) {
            add<false>(p, words, mask, out);
        } else {
            add<true>(p, words, mask, out);
        }
    }
};

template <typename S> struct seen_cells<S, false> {
    __device__ __forceinline__ void see(const place<S> &, const words_of<S> &, int,
                                        const cells_of<S> &)
    {
    }
};

/* See march. */
template <typename S> struct classes_worker : beside_closers {
    typedef typename S::REAL REAL;
    static constexpr int N = S::N, ROWS = S::ROWS;
    static constexpr bool KEEPS = S::FIELDS == 1; /* else there are too few registers */

    const medium<REAL> &m;
    class_pairs<REAL> of;
    const work &w;
    const place<S> &p;
    int class_offset;              /* of the first cell in the classes of a stage, in bytes */
    uint32_t in_box;               /* bytes of the cells in the box */
    struct exact_sum *const *sums; /* of the faces of z; NULL: none */
    seen_cells<S> *seen;           /* may be NULL without S::SUMMARY */
    words_of<S> words = {};        /* of the plane at hand */
    words_of<S> below = {};        /* of the plane below, unless KEEPS */
    cells_of<S> gz = {};           /* with KEEPS: to the plane below, unless was_inside */
    region<S> r = {};
    bool was_inside = false;

    __device__ __forceinline__ const uint8_t *classes_in(const REAL *stage) const
    {
        return reinterpret_cast<const uint8_t *>(stage + w.class_cells) + class_offset;
    }
    __device__ __forceinline__ int class_of(uint32_t word, int i) const
    {
        return class_in(word, i) & m.mask;
    }

    __device__ __forceinline__ void begin(const REAL *from, const REAL *here)
    {
        words = own_classes<S>(classes_in(here));
        const words_of<S> other = own_classes<S>(classes_in(from));
        below = other;
#pragma unroll
        for (int row = 0; row < ROWS && KEEPS; row++) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                gz.row[row].v[i] =
                    of.g(AXIS_Z, class_of(words.row[row], i), class_of(other.row[row], i));
            }
        }
    }

    /* In the stage, since it is rare; with the sum over the face. All lanes of a wave call. */
    __device__ __forceinline__ cells_of<S> beyond(int face, int k, const cells_of<S> &,
                                                  const REAL *from, REAL *to) const
    {
        return beyond_in(m, face, k, classes_in(from), from, to);
    }
    __device__ __forceinline__ cells_of<S> beyond_in(const medium<REAL> &of_field, int face, int k,
                                                     const uint8_t *classes, const REAL *from,
                                                     REAL *to) const
    {
        struct exact_sum *const sum = S::SUMS ? sums[face - FACE_Z_MIN] : nullptr;
        tally found = {};
#pragma unroll 1
        for (int row = 0; row < p.rows; row++) {
#pragma unroll 1
            for (int i = p.begin; i < p.end; i++) {
                const int64_t cell[AXIS_COUNT] = {p.i + i, p.j + row, k};
                const int at = p.offset + row * S::PITCH + i;
                const int of_class = classes[row * S::CLASS_PITCH + i] & m.mask;
                to[at] = medium_beyond(of_field, face, cell, of_class, from[at]);
                if (sum != nullptr) {
                    found.add(medium_face_term(of_field, face, of_class, to[at], from[at]));
                }
            }
        }
        face_sum_add(sum, found);
        return own_cells<S>(to, p);
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *above,
                                            const cells_of<S> (&z)[3], cells_of<S> &out)
    {
        const words_of<S> words_above = own_classes<S>(classes_in(above));
        const REAL gz_before = r.g[AXIS_Z];
        if (is_inside()) {
            advance_inside(now, {r.sigma, r.q}, z, out);
            was_inside = true;
        } else {
            if (was_inside) { /* then all cells here have its class */
#pragma unroll
                for (int row = 0; row < ROWS; row++) {
#pragma unroll
                    for (int i = 0; i < N; i++) {
                        gz.row[row].v[i] = gz_before;
                    }
                }
                was_inside = false;
            }
            advance_between(now, classes_in(now), of, words_above, z, out);
        }
        seen->see(p, words, m.mask, out);
        words = words_above;
    }

    /* Whether all cells of the wave in the box lie inside the region of these classes. */
    __device__ __forceinline__ bool lies_in(uint32_t all) const
    {
        uint32_t differing = 0;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            differing |= row < p.rows ? words.row[row] ^ all : 0;
        }
        return arch_all((differing & in_box) == 0);
    }

    /* The same of `r`, or of another region, which becomes `r`. */
    __device__ __forceinline__ bool is_inside()
    {
        constexpr uint32_t every = N == 2 ? 0x0101U : 0x01010101U;
        if (r.all != 0 && lies_in(r.all)) {
            return true;
        }
        const int first = class_in(arch_first_lane_value(words.row[0]), 0);
        if (first <= m.mask || !lies_in((uint32_t)first * every)) {
            return false;
        }
        const int own = first & m.mask;
        r.all = (uint32_t)first * every;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            r.g[axis] = of.g(axis, own, own);
        }
        r.sigma = of.of(own).sigma;
        r.q = of.of(own).q;
        return true;
    }

    /* One plane inside the region. */
    __device__ __forceinline__ void advance_inside(const REAL *field,
                                                   const typename class_pairs<REAL>::cell &cell,
                                                   const cells_of<S> (&z)[3],
                                                   cells_of<S> &out) const
    {
        const REAL g[FACE_COUNT] = {r.g[0], r.g[0], r.g[1], r.g[1], r.g[2], r.g[2]};
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const row_values<S> v = values_of<S>(field, p, row, z);
#pragma unroll
            for (int i = 0; i < N; i++) {
                REAL around[FACE_COUNT];
                v.around(i, around);
                out.row[row].v[i] =
                    medium_cell(out.row[row].v[i], v.c.v[i], around, g, cell.sigma, cell.q);
            }
        }
    }

    /* One plane elsewhere; gz becomes that to the plane above. */
    __device__ __forceinline__ void advance_between(const REAL *field, const uint8_t *classes,
                                                    const class_pairs<REAL> &of,
                                                    const words_of<S> &above,
                                                    const cells_of<S> (&z)[3], cells_of<S> &out)
    {
        const uint32_t word_ym = word_at<N>(classes - S::CLASS_PITCH);
        const uint32_t word_yp = word_at<N>(classes + ROWS * S::CLASS_PITCH);
        REAL gy[N]; /* to the row before */
#pragma unroll
        for (int i = 0; i < N; i++) {
            gy[i] = of.g(AXIS_Y, class_of(words.row[0], i), class_of(word_ym, i));
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint32_t own = words.row[row];
            const uint32_t next_row =
                row + 1 < ROWS ? words.row[row + 1 < ROWS ? row + 1 : row] : word_yp;
            const row_values<S> v = values_of<S>(field, p, row, z);
            const int class_left = classes[row * S::CLASS_PITCH - 1] & m.mask;
            const int class_right = classes[row * S::CLASS_PITCH + N] & m.mask;
            REAL gx = of.g(AXIS_X, class_of(own, 0), class_left);
#pragma unroll
            for (int i = 0; i < N; i++) {
                const int o = class_of(own, i);
                const int right = i + 1 < N ? class_of(own, i + 1) : class_right;
                const REAL g[FACE_COUNT] = {gx,
                                            of.g(AXIS_X, o, right),
                                            gy[i],
                                            of.g(AXIS_Y, o, class_of(next_row, i)),
                                            KEEPS ? gz.row[row].v[i]
                                                  : of.g(AXIS_Z, o, class_of(below.row[row], i)),
                                            of.g(AXIS_Z, o, class_of(above.row[row], i))};
                REAL around[FACE_COUNT];
                v.around(i, around);
                const typename class_pairs<REAL>::cell cell = of.of(o);
                out.row[row].v[i] =
                    medium_cell(out.row[row].v[i], v.c.v[i], around, g, cell.sigma, cell.q);
                gx = g[FACE_X_MAX]; /* symmetric */
                gy[i] = g[FACE_Y_MAX];
                gz.row[row].v[i] = g[FACE_Z_MAX];
            }
        }
    }
};

#endif
