/* Part of high_order.hip.cpp: the shape, the cells next to closed faces, and D along x. */
#pragma once

#include "kernels/hip/kind/high_order.h"
#include "kernels/hip/schedule/ring/kernel.h"

#if ARCH_HAS_TILE_COPY

/* One row of weights next to a closed face, and what it needs of the face. */
template <int R> struct alignas(16) near_row {
    double weight[2 * R];
    double given, slope, value;

    __device__ __forceinline__ double begin(double own) const
    {
        return wide_given(given, slope, value, own);
    }
};

/* All of them, in shared memory. */
template <int R> struct near_rows {
    near_row<R> row[FACE_COUNT][R];

    /* All threads call, and then wait for each other. */
    __device__ __forceinline__ void fill(const struct wide_closure (&closure)[FACE_COUNT])
    {
        for (int at = (int)threadIdx.x; at < FACE_COUNT * R; at += (int)blockDim.x) {
            const struct wide_closure &from = closure[at / R];
            near_row<R> &to = row[at / R][at % R];
            for (int cell = 0; cell < 2 * R; cell++) {
                to.weight[cell] = from.weight[at % R][cell];
            }
            to.given = from.given[at % R];
            to.slope = from.slope;
            to.value = from.value;
        }
    }
};

/* Eight waves have ROWS rows each, one more fetches, and the others close. Twelve leave 168
 * registers to a thread; in float64 those that compute take some of the others'. */
template <typename REAL, int R, int ROWS>
using high_order_tile =
    shape<REAL, 1, 16 / (int)sizeof(REAL) * ARCH_WAVE, 8 * ROWS, ROWS, 1, 3, false, R>;

template <typename REAL, int R>
struct high_order_shape : high_order_tile<REAL, R, sizeof(REAL) == sizeof(double) ? 4 : 2> {
    typedef high_order_tile<REAL, R, sizeof(REAL) == sizeof(double) ? 4 : 2> plain;
    static constexpr bool MORE_REGISTERS = sizeof(REAL) == sizeof(double);
    /* planes above the one computed in registers, with no spills in the march: a spill would be a
     * load from the L2 cache, since the stages take the L1 cache's memory */
    static constexpr int KEPT = MORE_REGISTERS && R == 4 ? ARCH_HAS_REGISTER_MOVES : 2;
    static_assert(plain::THREADS % (4 * ARCH_WAVE) == 0 && plain::WORKERS % (4 * ARCH_WAVE) == 0,
                  "registers move by four waves");
    static constexpr int SHARED_BYTES = 222 * 1024 + (int)sizeof(near_rows<R>);
    /* from a cell next to a face of x to where its D is left: in the outermost vector on that side
     * that its worker reads */
    static constexpr int AWAY = plain::BESIDE * plain::N;
    static_assert(AWAY <= plain::PAD, "the halo in x");
    static_assert(2 * R * plain::PITCH * (plain::TY + 2 * R) * sizeof(REAL) < SHARED_BYTES,
                  "the planes that a plane on a face in z needs, and one more");
};

/* The planes from R below the one computed to KEPT above it, of a thread's cells. */
template <typename S> struct planes_of {
    cells_of<S> plane[S::R + 1 + S::KEPT];
};

/* The same value, of which the compiler knows nothing. */
static __device__ __forceinline__ int again(int value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/* The cells of a worker that are next to closed faces. D of those along x and y is in the stage,
 * beyond the face: high_order_closer. */
template <typename S> struct near_cells {
    typedef typename S::REAL REAL;
    enum {
        R = S::R,
        ROWS = S::ROWS,
        X_MIN = 1,
        X_MAX = 1 << 4,
        Y_MIN = 1 << 8,
        Y_MAX = 1 << 16,
        CELLS = 15
    };
    bool in_tile;  /* the tile is next to a face of x or y */
    int away;      /* in x, from these to their D */
    unsigned next; /* X_MIN << n: the cell n of a vector is; Y_MIN << row: the row is */

    static __device__ __forceinline__ near_cells of(const grid_view<REAL> &view,
                                                    const wide_rules<REAL> &wide, const work &w,
                                                    const column &c, const place<S> &p)
    {
        const int cells_x = (int)view.cells[AXIS_X];
        const int cells_y = (int)view.cells[AXIS_Y];
        const bool *const closed = wide.closed;
        unsigned next = 0;
        for (int n = 0; n < S::N; n++) {
            next |= closed[FACE_X_MIN] && p.i + n < R ? X_MIN << n : 0;
            next |= closed[FACE_X_MAX] && p.i + n >= cells_x - R ? X_MAX << n : 0;
        }
        for (int row = 0; row < ROWS; row++) {
            next |= closed[FACE_Y_MIN] && p.j + row < R ? Y_MIN << row : 0;
            next |= closed[FACE_Y_MAX] && p.j + row >= cells_y - R ? Y_MAX << row : 0;
        }
        const bool in_tile =
            (closed[FACE_X_MIN] && c.i < R) || (closed[FACE_X_MAX] && c.i + S::TX > cells_x - R) ||
            (closed[FACE_Y_MIN] && c.j < R) || (closed[FACE_Y_MAX] && c.j + w.height > cells_y - R);
        return near_cells{in_tile, (next & X_MIN * CELLS) != 0 ? -S::AWAY : S::AWAY,
                          (unsigned)again((int)next)};
    }

    /* D along x of a row. at: its vector in the stage. */
    __device__ __forceinline__ void take_x(vec16<REAL> &dx, const REAL *at) const
    {
        vec16<REAL> given = dx;
        if ((next & (X_MIN | X_MAX) * CELLS) != 0) {
            given = vector_at(at + away);
        }
#pragma unroll
        for (int n = 0; n < S::N; n++) {
            dx.v[n] = (next & (X_MIN | X_MAX) << n) != 0 ? given.v[n] : dx.v[n];
        }
    }

    /* D along y of the rows; offset: of the worker's first cell. */
    __device__ __forceinline__ void take_y(cells_of<S> &dy, const REAL *stage, int offset) const
    {
        if (next < Y_MIN) {
            return;
        }
        /* in float64 all waves would keep the rows that they have read here, as neighbours */
        const bool reads_again = sizeof(REAL) == sizeof(double);
        const REAL *const first = stage + (reads_again ? again(offset) : offset);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if ((next & (Y_MIN << row)) != 0) {
                dy.row[row] = vector_at(first + (row - R) * S::PITCH);
            }
            if ((next & (Y_MAX << row)) != 0) {
                dy.row[row] = vector_at(first + (row + R) * S::PITCH);
            }
        }
    }

    template <typename EACH> static __device__ __forceinline__ void for_rows(EACH each)
    {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                each(row, n);
            }
        }
    }

    /* D along z. of: the row of the plane; other(n): the worker's cells in the plane n from the
     * face. */
    template <typename OTHER>
    static __device__ __forceinline__ cells_of<S> in_z(const near_row<R> &of,
                                                       const cells_of<S> &here, OTHER other)
    {
        double sum[ROWS][S::N];
        cells_of<S> dz;
        for_rows([&](int row, int n) { sum[row][n] = of.begin((double)here.row[row].v[n]); });
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            const cells_of<S> cells = other(cell);
            const double weight = of.weight[cell];
            for_rows([&](int row, int n) {
                sum[row][n] = wide_near(weight, (double)cells.row[row].v[n],
                                        (double)here.row[row].v[n], sum[row][n]);
            });
        }
        for_rows([&](int row, int n) { dz.row[row].v[n] = (REAL)sum[row][n]; });
        return dz;
    }
};

/* One lane of a wave that sums D of the cells next to closed faces of x and y, ahead of the
 * workers, and leaves it in the stage as far beyond the face, where the engine has left zeros: so
 * tiles next to faces, for which all others wait, are nearly as fast. */
template <typename S> struct high_order_closer {
    typedef typename S::REAL REAL;
    enum { R = S::R, N = S::N };
    static_assert(S::WIDE == ARCH_WAVE && S::TY <= ARCH_WAVE, "a vector of a row, or a row");
    const work &w;
    const struct wide_closure (&closure)[FACE_COUNT];
    const bool (&closed)[FACE_COUNT];
    int last_x, last_y; /* of the field */
    int lane;

    __device__ __forceinline__ void close(REAL *stage, const column &c) const
    {
        if (closed[FACE_X_MIN] && c.i < R) {
            close_x<FACE_X_MIN>(stage, -c.i, 1);
        }
        if (closed[FACE_X_MAX] && c.i + S::TX > last_x + 1 - R) {
            close_x<FACE_X_MAX>(stage, last_x - c.i, -1);
        }
        if (closed[FACE_Y_MIN] && c.j < R) {
            close_y<FACE_Y_MIN>(stage, -c.j, 1);
        }
        if (closed[FACE_Y_MAX] && c.j + w.height > last_y + 1 - R) {
            close_y<FACE_Y_MAX>(stage, last_y - c.j, -1);
        }
    }

    /* The first R cells of a row. on_face: cell of the tile, perhaps outside of it. */
    template <int FACE>
    __device__ __forceinline__ void close_x(REAL *stage, int on_face, int inward) const
    {
        const struct wide_closure &of = closure[FACE];
        const int row = min(lane, w.height - 1);
        REAL *const at = stage + (row + R) * S::PITCH + S::PAD + on_face;
        double other[2 * R];
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            other[cell] = (double)at[cell * inward];
        }
#pragma unroll
        for (int depth = 0; depth < R; depth++) {
            const int x = on_face + depth * inward;
            const REAL found = near_cell(of, depth, other);
            if (lane < w.height && x >= 0 && x < S::TX) {
                at[(depth - S::AWAY) * inward] = found;
            }
        }
    }

    static __device__ __forceinline__ REAL near_cell(const struct wide_closure &of, int depth,
                                                     const double (&other)[2 * R])
    {
        double sum = wide_given(of.given[depth], of.slope, of.value, other[depth]);
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            sum = wide_near(of.weight[depth][cell], other[cell], other[depth], sum);
        }
        return (REAL)sum;
    }

    /* A vector in each of the R rows. on_face: row of the tile, perhaps outside of it. */
    template <int FACE>
    __device__ __forceinline__ void close_y(REAL *stage, int on_face, int inward) const
    {
        REAL *const at = stage + (on_face + R) * S::PITCH + S::PAD + lane * N;
        double other[N][2 * R];
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            const vec16<REAL> cells = vector_at(at + cell * inward * S::PITCH);
#pragma unroll
            for (int n = 0; n < N; n++) {
                other[n][cell] = (double)cells.v[n];
            }
        }
#pragma unroll
        for (int depth = 0; depth < R; depth++) {
            const int row = on_face + depth * inward;
            vec16<REAL> found;
#pragma unroll
            for (int n = 0; n < N; n++) {
                found.v[n] = near_cell(closure[FACE], depth, other[n]);
            }
            if (row >= 0 && row < w.height) {
                *reinterpret_cast<vec16<REAL> *>(at + (depth - R) * inward * S::PITCH) = found;
            }
        }
    }
};

#endif
