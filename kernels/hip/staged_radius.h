/* Part of step_radius_staged.hip.cpp: the shape, and the cells next to closed faces. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_RADIUS_H
#define ISOTHERM_KERNELS_HIP_STAGED_RADIUS_H

#include "kernels/hip/radius.h"
#include "kernels/hip/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* Eight waves have ROWS rows each, one more fetches, and the others close. Up to twelve leave 168
 * registers to a thread. */
template <typename REAL, int ROWS>
using radius_tile = shape<REAL, 1, 16 / (int)sizeof(REAL) * ARCH_WAVE, 8 * ROWS, ROWS, 1>;

template <typename REAL, int R_>
struct radius_shape : radius_tile<REAL, sizeof(REAL) == sizeof(double) ? 4 : 2> {
    typedef radius_tile<REAL, sizeof(REAL) == sizeof(double) ? 4 : 2> plain;
    static constexpr int R = R_;
    /* planes above the one computed in registers, with no spills in the march: a spill would be a
     * load from the L2 cache, since the stages take the L1 cache's memory */
    static constexpr int KEPT = sizeof(REAL) == sizeof(double) && R == 4 ? 0 : 2;
    static constexpr int CLOSERS = sizeof(REAL) == sizeof(double) ? 2 : 3; /* waves */
    static constexpr int THREADS = plain::WORKERS + (1 + CLOSERS) * ARCH_WAVE;
    static constexpr int SHARED_BYTES = 222 * 1024;              /* and the rows of weights */
    static constexpr int BESIDE = (R + plain::N - 1) / plain::N; /* vectors on either side in x */
    /* from a cell next to a face of x to where its D is left: beyond the face and its vector */
    static constexpr int AWAY = R > plain::N ? R : plain::N;
    static_assert(AWAY <= plain::PAD, "the halo in x");
    static_assert(2 * R * plain::PITCH * (plain::TY + 2 * R) * sizeof(REAL) < SHARED_BYTES,
                  "the planes that a plane on a face in z needs, and one more");
};

/* The planes of the box. A column of tiles is `depth` of them high; it takes R more at either end,
 * so `work`, made for one, counts columns of depth + 2 (R - 1) planes, from 0 on. The last column
 * begins earlier than where the one below it ends, so that all have the same depth. */
struct radius_planes {
    int begin, end;   /* with R others on either side */
    int below, above; /* planes next to closed faces of z, before and after those */
    int depth;

    __device__ __forceinline__ int begin_of(const work &w, const column &c) const
    {
        return min(begin + c.k_begin / w.depth * depth, end - depth);
    }
};

/* The planes from R below the one computed to KEPT above it, of a thread's cells. */
template <typename S> struct planes_of {
    cells_of<S> plane[S::R + 1 + S::KEPT];
};

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

/* The same value, of which the compiler knows nothing. */
static __device__ __forceinline__ int again(int value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/* The cells of a worker that are next to closed faces. D of those along x and y is in the stage,
 * beyond the face: radius_closer. */
template <typename S> struct near_cells {
    typedef typename S::REAL REAL;
    enum { R = S::R, ROWS = S::ROWS };
    bool in_tile;         /* the tile is next to a face of x or y */
    int x_begin, x_end;   /* cells of the vector before x_begin, from x_end on: next to a face */
    int away;             /* in x, from these to their D */
    int from_min, to_max; /* rows from the face to the wave's first row, from there to the face */
    int y_min, y_max;     /* less than these: the wave has rows next to the face */

    static __device__ __forceinline__ near_cells of(const grid_view<REAL> &view,
                                                    const wide_rules<REAL> &wide, const work &w,
                                                    const column &c, const place<S> &p)
    {
        near_cells near;
        const int cells_x = (int)view.cells[AXIS_X];
        const int cells_y = (int)view.cells[AXIS_Y];
        const bool *const closed = wide.closed;
        near.x_begin = closed[FACE_X_MIN] ? R - p.i : 0;
        near.x_end = closed[FACE_X_MAX] ? cells_x - R - p.i : S::N;
        near.away = near.x_begin > 0 ? -S::AWAY : S::AWAY;
        near.from_min = p.j;
        near.to_max = cells_y - 1 - p.j;
        near.y_min = closed[FACE_Y_MIN] ? R : INT32_MIN;
        near.y_max = closed[FACE_Y_MAX] ? R + ROWS - 1 : INT32_MIN;
        near.in_tile =
            (closed[FACE_X_MIN] && c.i < R) || (closed[FACE_X_MAX] && c.i + S::TX > cells_x - R) ||
            (closed[FACE_Y_MIN] && c.j < R) || (closed[FACE_Y_MAX] && c.j + w.height > cells_y - R);
        return near;
    }

    /* D along x of the cell n of a vector; at: the vector in its stage. */
    __device__ __forceinline__ void take_x(REAL &dx, const REAL *at, int n) const
    {
        if (n < x_begin || n >= x_end) {
            dx = at[n + away];
        }
    }

    /* D along y of the rows; offset: of the worker's first cell. */
    __device__ __forceinline__ void take_y(cells_of<S> &dy, const REAL *stage, int offset) const
    {
        if (from_min >= y_min && to_max >= y_max) {
            return;
        }
        /* in float64 all waves would keep the rows that they have read here, as neighbours */
        const bool reads_again = sizeof(REAL) == sizeof(double);
        const REAL *const first = stage + (reads_again ? again(offset) : offset);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (from_min + row < y_min) {
                dy.row[row] = vector_at(first + (row - R) * S::PITCH);
            } else if (to_max - row < y_max - (ROWS - 1)) {
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
template <typename S> struct radius_closer {
    typedef typename S::REAL REAL;
    enum { R = S::R, N = S::N, HIGH = ARCH_WAVE / R, TURNS = (S::TY + HIGH - 1) / HIGH };
    static_assert(S::WIDE == ARCH_WAVE, "a vector of a row per lane");
    const work &w;
    const near_rows<R> &rows;
    const bool (&closed)[FACE_COUNT];
    int last_x, last_y; /* of the field */
    int lane;

    __device__ __forceinline__ void close(REAL *stage, const column &c) const
    {
        if (closed[FACE_X_MIN] && c.i < R) {
            close_x(stage, FACE_X_MIN, -c.i, 1);
        }
        if (closed[FACE_X_MAX] && c.i + S::TX > last_x + 1 - R) {
            close_x(stage, FACE_X_MAX, last_x - c.i, -1);
        }
        if (closed[FACE_Y_MIN] && c.j < R) {
            close_y(stage, FACE_Y_MIN, -c.j, 1);
        }
        if (closed[FACE_Y_MAX] && c.j + w.height > last_y + 1 - R) {
            close_y(stage, FACE_Y_MAX, last_y - c.j, -1);
        }
    }

    /* A cell in each of a few rows. on_face: cell of the tile, perhaps outside of it. */
    __device__ __forceinline__ void close_x(REAL *stage, int face, int on_face, int inward) const
    {
        const int depth = lane % R;
        const int x = on_face + depth * inward;
        const bool valid = lane < HIGH * R && x >= 0 && x < S::TX;
        const near_row<R> &of = rows.row[face][depth];
        REAL *own[TURNS];
        double sum[TURNS];
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
            const int row = min(lane / R + turn * HIGH, w.height - 1);
            own[turn] = stage + (row + R) * S::PITCH + S::PAD + (valid ? x : R * inward);
            sum[turn] = of.begin((double)*own[turn]);
        }
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            const double weight = of.weight[cell];
#pragma unroll
            for (int turn = 0; turn < TURNS; turn++) {
                sum[turn] = wide_near(weight, (double)own[turn][(cell - depth) * inward],
                                      (double)*own[turn], sum[turn]);
            }
        }
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
            if (valid && lane / R + turn * HIGH < w.height) {
                own[turn][-S::AWAY * inward] = (REAL)sum[turn];
            }
        }
    }

    /* A vector in each of the R rows. on_face: row of the tile, perhaps outside of it. */
    __device__ __forceinline__ void close_y(REAL *stage, int face, int on_face, int inward) const
    {
        REAL *const at = stage + (on_face + R) * S::PITCH + S::PAD + lane * N;
        vec16<REAL> other[2 * R];
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            other[cell] = vector_at(at + cell * inward * S::PITCH);
        }
#pragma unroll
        for (int depth = 0; depth < R; depth++) {
            const near_row<R> &of = rows.row[face][depth];
            const int row = on_face + depth * inward;
            vec16<REAL> found;
#pragma unroll
            for (int n = 0; n < N; n++) {
                const double own = other[depth].v[n];
                double sum = of.begin(own);
#pragma unroll
                for (int cell = 0; cell < 2 * R; cell++) {
                    sum = wide_near(of.weight[cell], (double)other[cell].v[n], own, sum);
                }
                found.v[n] = (REAL)sum;
            }
            if (row >= 0 && row < w.height) {
                *reinterpret_cast<vec16<REAL> *>(at + (depth - R) * inward * S::PITCH) = found;
            }
        }
    }
};

/* One of S::CLOSERS waves, which take the planes in turn; all its lanes call. closed: of a stage:
 * what they leave is there. */
template <typename S>
static __device__ __forceinline__ void close_all(const radius_closer<S> &closer, stage_ring<S> ring,
                                                 arch_arrivals *closed, int wave)
{
    const work &w = closer.w;
    int turn = 0;
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        for (int k = c.k_begin - 1; k <= c.k_end; k++, ring.next()) {
            turn = turn + 1 < S::CLOSERS ? turn + 1 : 0;
            if (turn != wave) {
                continue;
            }
            ring.wait();
            closer.close(ring.stage(), c);
            __syncwarp();
            if (arch_is_first_lane()) {
                arch_arrive(&closed[ring.slot]);
            }
            ring.release();
        }
    }
}

/* Where a worker is. */
template <typename S> struct radius_site {
    place<S> p;
    near_cells<S> near;
    int begin, end;   /* planes with R others on either side */
    int below, above; /* next to closed faces, as in radius_planes */

    /* Computed again at every call: the planes need the registers in between. */
    static __device__ __forceinline__ radius_site of(const grid_view<typename S::REAL> &view,
                                                     const wide_rules<typename S::REAL> &wide,
                                                     const work &w, const radius_planes &planes,
                                                     int item)
    {
        const rules<typename S::REAL> unused = {};
        const column c = column_of(w, again(item), S::TX);
        radius_site site;
        site.p = place_of<S>(view, unused, w, c);
        site.p.offset += (S::R - 1) * S::PITCH;
        site.near = near_cells<S>::of(view, wide, w, c, site.p);
        site.begin = planes.begin_of(w, c);
        site.end = site.begin + planes.depth;
        site.below = site.begin == planes.begin ? planes.below : 0;
        site.above = site.end == planes.end ? planes.above : 0;
        return site;
    }
};

#endif

#endif
