/* Part of step_nonlinear.hip.cpp: what its threads share, their cells from plane to plane, and the
 * segments and classes in shared memory. */
#pragma once

#include "kernels/hip/kind/enthalpy.h"

/* What the medium needs: nothing of cells; their sources; their curves, in shared memory; the same,
 * in the table. */
enum pairs { ONE_CLASS, ONE_CURVE, CURVES, FAR_CURVES };

enum { WIDE = 32, CURVES_POOL = 1344 }; /* workers of a block along x; numbers, see form */

/* WIDE x TY workers of a block have a vector of cells each. Other sizes, and several rows of a
 * worker, were slower on an H200: docs/records/hip.md. */
template <typename REAL_, int KIND_, bool PERFUSED_, bool LINEAR_ = false> struct form {
    typedef REAL_ REAL;
    static constexpr int N = vec16<REAL>::N;
    static constexpr int KIND = KIND_;
    static constexpr bool PERFUSED = PERFUSED_; /* a class is */
    static constexpr bool LINEAR = LINEAR_;     /* one curve of one segment: nothing to search */
    static constexpr int BLOCKS = 2;            /* per multiprocessor */
    static constexpr int AHEAD = 3;     /* planes from the next one to that which is prefetched */
    static constexpr int TX = WIDE * N; /* cells of a tile */
    static constexpr int TY = 14;
    static constexpr int WORKERS = WIDE * TY;
    static constexpr int SIDES = (2 * (WIDE + TY) + ARCH_WAVE - 1) / ARCH_WAVE * ARCH_WAVE;
    static constexpr int THREADS = WORKERS + SIDES;
    /* numbers in shared memory: segments, then classes */
    static constexpr int POOL = KIND == ONE_CLASS ? 5 * NONLINEAR_SEGMENTS
                                : KIND == ONE_CURVE
                                    ? 5 * NONLINEAR_SEGMENTS + (LINEAR ? 5 : 1) * MEDIUM_CLASSES + 1
                                : KIND == FAR_CURVES ? 4 * (MEDIUM_CLASSES + 1)
                                                     : CURVES_POOL;
};

/* Of a segment {its beginning, theta, dtheta/du, d2theta/du2 / 2}, or of a class {r, q}; of a
 * linear curve {p, Ta, T, dT/du} of a class. */
template <typename REAL> struct alignas(16) four {
    REAL v[4];
};

/* theta of a row of a tile and of the vectors beside it: the cells of one number in their vector
 * lie side by side, so that those next to a vector are read without bank conflicts. */
template <typename REAL> struct theta_row {
    REAL cell[vec16<REAL>::N][WIDE + 2];

    __device__ __forceinline__ vec16<REAL> get(int x) const
    {
        vec16<REAL> values;
#pragma unroll
        for (int i = 0; i < vec16<REAL>::N; i++) {
            values.v[i] = cell[i][x];
        }
        return values;
    }
    __device__ __forceinline__ void set(int x, const vec16<REAL> &values)
    {
#pragma unroll
        for (int i = 0; i < vec16<REAL>::N; i++) {
            cell[i][x] = values.v[i];
        }
    }
};

/* A plane is read between the arrival at a meeting and the wait for it: with three planes, those
 * who are ahead write to none that others still read. */
enum { PLANES = ARCH_MEETS_IN_PARTS ? 3 : 2 };
template <typename F> struct shared_tile {
    theta_row<typename F::REAL> theta[PLANES][F::TY + 2]; /* by plane, modulo PLANES */
    alignas(16) typename F::REAL pool[F::POOL];
    arch_meeting meeting;
};

/* Of one launch. The cells around the box are those of the field or of its halo. */
struct plan {
    struct box box;
    int64_t x_begin; /* box.lo[0] rounded down to a vector */
    int64_t depth;   /* planes of a block */
};

/* Of a block: `planes` planes from k_lo on of the tile that begins at (i0, j0). */
struct theta_march {
    const struct plan &plan;
    int64_t i0, j0, k_lo;
    int planes;
};

/* The classes of a vector of cells, one byte per cell; nothing where they are not read. */
template <bool READ> struct class_words {
    uint32_t word[4] = {}; /* without a gap, whose copy would be one of memory */

    __device__ __forceinline__ uint32_t all() const
    {
        return word[0];
    }
};
template <> struct class_words<false> {
    __device__ __forceinline__ uint32_t all() const
    {
        return 0;
    }
};

/* The cells of a thread in a plane. */
template <typename F> struct cells_of : class_words<F::KIND != ONE_CLASS> {
    vec16<typename F::REAL> u;
};

/* They, from plane to plane. Rows and vectors that do not exist are those next to them. */
template <typename F> struct theta_column {
    typedef typename F::REAL REAL;
    const REAL *in;
    const uint8_t *classes;

    __device__ __forceinline__ void begin(const grid_view<REAL> &view, const medium<REAL> &m,
                                          const plan &of, int64_t i, int64_t j, int64_t k)
    {
        constexpr int64_t N = F::N;
        const int64_t least = of.box.lo[0] == 0 ? -N : (of.box.lo[0] - 1) / N * N;
        const int64_t most = of.box.hi[0] / N * N;
        const int64_t x = i < least ? least : i > most ? most : i;
        const int64_t y = j < of.box.hi[1] ? j : of.box.hi[1];
        in = view.in + view.at(x, y, k);
        classes = m.classes + (x + y * m.pitch_y + k * m.pitch_z);
    }
    __device__ __forceinline__ void read(cells_of<F> &cells) const
    {
        cells.u = vector_at(in);
        if constexpr (F::KIND != ONE_CLASS) {
            cells.word[0] = F::N == 2 ? *reinterpret_cast<const uint16_t *>(classes)
                                      : *reinterpret_cast<const uint32_t *>(classes);
        }
    }
    /* The plane AHEAD of the next one. */
    __device__ __forceinline__ void prefetch(const grid_view<REAL> &view) const
    {
        arch_prefetch(in + F::AHEAD * view.pitch_z);
    }
    /* To the next plane, if it is to be read: no branch around the loads, which then begin
     * early. */
    __device__ __forceinline__ void step(const grid_view<REAL> &view, const medium<REAL> &m,
                                         bool more)
    {
        in += more ? view.pitch_z : 0;
        classes += more ? m.pitch_z : 0;
    }
};

/* The numbers of segments and classes. */
template <typename F> struct lookup {
    typedef typename F::REAL REAL;
    const nonlinear<REAL> &m;
    const four<REAL> *segment; /* of all curves */
    const four<REAL> *numbers; /* of each class */
    const REAL *begin, *q;
    REAL r[AXIS_COUNT], only_q; /* of class 0 */

    /* A class that exists, even of a byte that is not a cell's. */
    __device__ __forceinline__ int class_in(uint32_t word, int i) const
    {
        return min((int)(word >> (8 * i)) & m.of.mask, m.of.n - 1);
    }
    __device__ __forceinline__ vec16<REAL> theta(const cells_of<F> &cells) const
    {
        vec16<REAL> values;
        if constexpr (F::KIND == FAR_CURVES) {
#pragma unroll
            for (int c = 0; c < F::N; c++) {
                const int of_class = class_in(cells.all(), c);
                values.v[c] = nonlinear_theta(m.segments() + nonlinear_pitch(m.count) * of_class,
                                              m.count, cells.u.v[c]);
            }
        } else {
            int at[F::N];
#pragma unroll
            for (int c = 0; c < F::N; c++) {
                at[c] = F::KIND < CURVES ? 0 : class_in(cells.all(), c) * m.count;
            }
#pragma unroll
            for (int half = NONLINEAR_SEGMENTS / 2; half > 0; half /= 2) {
                if (!F::LINEAR && (F::KIND < CURVES || half < m.count)) {
#pragma unroll
                    for (int c = 0; c < F::N; c++) {
                        at[c] += cells.u.v[c] >= begin[at[c] + half] ? half : 0;
                    }
                }
            }
#pragma unroll
            for (int c = 0; c < F::N; c++) {
                const four<REAL> of = segment[at[c]];
                values.v[c] = nonlinear_theta_of(cells.u.v[c] - of.v[0], of.v[1], of.v[2], of.v[3]);
            }
        }
        return values;
    }
};

/* All threads of the block call; a barrier must follow. */
template <typename F>
static __device__ __forceinline__ lookup<F> lookup_of(const nonlinear<typename F::REAL> &m,
                                                      shared_tile<F> &tile)
{
    typedef typename F::REAL REAL;
    /* one curve: as many as there may be, so that the search needs no branches */
    const int most = F::LINEAR ? 1 : F::KIND < CURVES ? (int)NONLINEAR_SEGMENTS : m.count;
    const int curves = F::KIND == FAR_CURVES ? 0 : F::KIND == CURVES ? m.of.n : 1;
    four<REAL> *segment = reinterpret_cast<four<REAL> *>(tile.pool);
    four<REAL> *numbers = segment + curves * most;
    REAL *begin = reinterpret_cast<REAL *>(numbers + (F::KIND < CURVES && !F::LINEAR ? 0 : m.of.n));
    REAL *q = begin + curves * most;
    for (int s = threadIdx.x; s < curves * most; s += F::THREADS) {
        const int in_curve = s % most;
        const REAL *of = m.segments() + nonlinear_pitch(m.count) * (s / most);
        const REAL *values = of + m.count + NONLINEAR_SEGMENT * in_curve;
        if (in_curve < m.count) {
            begin[s] = of[in_curve];
            segment[s] = {{of[in_curve], values[4], values[5], values[6]}};
        } else {
            begin[s] = (REAL)NAN; /* no value is there */
        }
    }
    for (int c = threadIdx.x; c < m.of.n; c += F::THREADS) {
        const REAL *of = m.numbers() + NONLINEAR_NUMBERS * c + NONLINEAR_R;
        const REAL of_q = m.of.table[medium_cell_at(c) + 1];
        if (F::KIND >= CURVES) {
            numbers[c] = {{of[0], of[1], of[2], of_q}};
        } else if (F::KIND == ONE_CURVE) {
            q[c] = of_q;
        }
        if (F::LINEAR) {
            const REAL *values = m.segments() + 1;
            const REAL *tissue = of - NONLINEAR_R;
            numbers[c] = {
                {tissue[NONLINEAR_PERFUSION], tissue[NONLINEAR_BLOOD], values[0], values[1]}};
        }
    }
    const REAL *r = m.numbers() + NONLINEAR_R;
    return {m, segment, numbers, begin, q, {r[0], r[1], r[2]}, m.of.table[medium_cell_at(0) + 1]};
}
