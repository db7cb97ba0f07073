/* Part of step_radius_staged.hip.cpp: the shape, and the cells next to closed faces. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_RADIUS_H
#define ISOTHERM_KERNELS_HIP_STAGED_RADIUS_H

#include "kernels/hip/radius.h"
#include "kernels/hip/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* A wave has ROWS rows; one more fetches. Twelve waves leave 168 registers to a thread, which 3
 * rows of radius 4 need. */
template <typename REAL, int ROWS>
using radius_tile = shape<REAL, 1, 16 / (int)sizeof(REAL) * ARCH_WAVE, 11 * ROWS, ROWS, 1>;

template <typename REAL, int R_>
struct radius_shape : radius_tile<REAL, sizeof(REAL) == sizeof(double) ? 3 : 2> {
    typedef radius_tile<REAL, sizeof(REAL) == sizeof(double) ? 3 : 2> plain;
    static constexpr int R = R_;
    /* planes above the one computed in registers, with no spills in the march: a spill would be a
     * load from the L2 cache, since the stages take the L1 cache's memory */
    static constexpr int FREE = (sizeof(REAL) == sizeof(double) ? 5 : 4) - R;
    static constexpr int KEPT = FREE < 2 ? FREE : 2;
    static constexpr int THREADS = plain::WORKERS + ARCH_WAVE;
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

/* The cells of a worker that are next to closed faces.
 *
 * In x only a few lanes have such cells. So half a wave sums for either face, a cell of one of the
 * wave's rows in each lane, and leaves D in the stage beyond the face: there a worker finds it
 * among the cells that it reads anyway. In y a row is the same for the whole wave. */
template <typename S> struct near_cells {
    typedef typename S::REAL REAL;
    enum { R = S::R, ROWS = S::ROWS, HALF = ARCH_WAVE / 2 };
    static_assert(R * ROWS <= HALF, "a lane per cell next to a face of x");
    const near_rows<R> *rows;
    bool in_tile, in_rows; /* next to a face of x; the wave, next to one of y */
    int i;                 /* the worker's first cell */
    int x_begin, x_end;    /* cells before x_begin and from x_end on are next to a face */
    int from_min, to_max;  /* rows from the face to the wave's first row, from there to the face */
    int y_min, y_max;      /* less than these: the wave has rows next to the face */
    /* the lane's cell next to a face of x: */
    bool valid;
    int face, inward, cell; /* in a stage; the cell on the face, and this one */
    const near_row<R> *row;

    static __device__ __forceinline__ near_cells of(const grid_view<REAL> &view,
                                                    const wide_rules<REAL> &wide,
                                                    const near_rows<R> &rows, const work &w,
                                                    const column &c, const place<S> &p, int lane)
    {
        near_cells near;
        const int cells_x = (int)view.cells[AXIS_X];
        const bool *const closed = wide.closed;
        near.rows = &rows;
        near.i = p.i;
        near.x_begin = closed[FACE_X_MIN] ? R : INT32_MIN;
        near.x_end = closed[FACE_X_MAX] ? cells_x - R : INT32_MAX;
        near.from_min = p.j;
        near.to_max = (int)view.cells[AXIS_Y] - 1 - p.j;
        near.y_min = closed[FACE_Y_MIN] ? R : INT32_MIN;
        near.y_max = closed[FACE_Y_MAX] ? R + ROWS - 1 : INT32_MIN;
        near.in_rows = near.from_min < near.y_min || near.to_max < near.y_max;
        const bool x_min = c.i < near.x_begin;
        const bool x_max = closed[FACE_X_MAX] && c.i < cells_x && c.i + S::TX > near.x_end;
        near.in_tile = x_min || x_max;
        const bool is_min = lane < HALF;
        const int depth = lane % HALF % R; /* cells from the face */
        const int row = lane % HALF / R;
        const int x = (is_min ? depth : cells_x - 1 - depth) - c.i; /* in the tile */
        near.valid = row < ROWS && (is_min ? x_min : x_max) && x >= 0 && x < S::TX;
        near.inward = !near.valid ? 0 : (is_min ? 1 : -1);
        near.cell = p.offset - (p.i - c.i) + (near.valid ? row * S::PITCH + x : 0);
        near.face = near.cell - near.inward * depth;
        near.row = &rows.row[is_min ? FACE_X_MIN : FACE_X_MAX][depth];
        return near;
    }

    template <int COUNT, typename EACH> static __device__ __forceinline__ void for_rows(EACH each)
    {
#pragma unroll
        for (int row = 0; row < COUNT; row++) {
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                each(row, n);
            }
        }
    }

    /* The lane's sum in x. */
    __device__ __forceinline__ REAL in_x(const REAL *stage) const
    {
        const double own = stage[cell];
        double sum = row->begin(own);
#pragma unroll
        for (int n = 0; n < 2 * R; n++) {
            sum = wide_near(row->weight[n], (double)stage[face + n * inward], own, sum);
        }
        return (REAL)sum;
    }

    /* For all lanes. */
    __device__ __forceinline__ void leave_x(REAL *stage, REAL found) const
    {
        if (valid) {
            stage[cell - S::AWAY * inward] = found;
        }
        __syncwarp();
    }

    __device__ __forceinline__ bool at_min(int n) const
    {
        return i + n < x_begin;
    }

    __device__ __forceinline__ bool at_max(int n) const
    {
        return i + n >= x_end;
    }

    /* Replaces D along y of the rows next to a face. first: the worker's first cell in its stage.
     */
    __device__ __forceinline__ void in_y(cells_of<S> &dy, const cells_of<S> &here,
                                         const REAL *first) const
    {
        if (from_min < y_min) {
            in_y_at(dy, here, first - from_min * S::PITCH, S::PITCH, rows->row[FACE_Y_MIN],
                    from_min, 1);
        }
        if (to_max < y_max) {
            in_y_at(dy, here, first + to_max * S::PITCH, -S::PITCH, rows->row[FACE_Y_MAX], to_max,
                    -1);
        }
    }

    /* on_face: the cell on the face; depth: of the first row, counted from the face, and so on. */
    static __device__ __forceinline__ void in_y_at(cells_of<S> &dy, const cells_of<S> &here,
                                                   const REAL *on_face, int inward,
                                                   const near_row<R> *of_depth, int depth, int step)
    {
        constexpr int TOGETHER = sizeof(REAL) == sizeof(double) ? ROWS : 1; /* no spills */
#pragma unroll
        for (int first = 0; first < ROWS; first += TOGETHER) {
            const near_row<R> *of_row[TOGETHER];
            double sum[TOGETHER][S::N];
#pragma unroll
            for (int row = 0; row < TOGETHER; row++) {
                of_row[row] = &of_depth[min(max(depth + (first + row) * step, 0), R - 1)];
            }
            for_rows<TOGETHER>([&](int row, int n) {
                sum[row][n] = of_row[row]->begin((double)here.row[first + row].v[n]);
            });
#pragma unroll
            for (int cell = 0; cell < 2 * R; cell++) {
                const vec16<REAL> other = vector_at(on_face + cell * inward);
                for_rows<TOGETHER>([&](int row, int n) {
                    sum[row][n] = wide_near(of_row[row]->weight[cell], (double)other.v[n],
                                            (double)here.row[first + row].v[n], sum[row][n]);
                });
            }
            for_rows<TOGETHER>([&](int row, int n) {
                const int at = depth + (first + row) * step;
                REAL &found = dy.row[first + row].v[n];
                found = at >= 0 && at < R ? (REAL)sum[row][n] : found;
            });
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
        for_rows<ROWS>([&](int row, int n) { sum[row][n] = of.begin((double)here.row[row].v[n]); });
#pragma unroll
        for (int cell = 0; cell < 2 * R; cell++) {
            const cells_of<S> cells = other(cell);
            const double weight = of.weight[cell];
            for_rows<ROWS>([&](int row, int n) {
                sum[row][n] = wide_near(weight, (double)cells.row[row].v[n],
                                        (double)here.row[row].v[n], sum[row][n]);
            });
        }
        for_rows<ROWS>([&](int row, int n) { dz.row[row].v[n] = (REAL)sum[row][n]; });
        return dz;
    }
};

/* Where a worker is. */
template <typename S> struct radius_site {
    place<S> p;
    near_cells<S> near;
    int begin, end;   /* planes with R others on either side */
    int below, above; /* next to closed faces, as in radius_planes */

    /* The same value, of which the compiler knows nothing. */
    static __device__ __forceinline__ int again(int value)
    {
        asm volatile("" : "+r"(value));
        return value;
    }

    /* Computed again at every call: the planes need the registers in between. */
    static __device__ __forceinline__ radius_site of(const grid_view<typename S::REAL> &view,
                                                     const wide_rules<typename S::REAL> &wide,
                                                     const near_rows<S::R> &rows, const work &w,
                                                     const radius_planes &planes, int item)
    {
        const rules<typename S::REAL> unused = {};
        const column c = column_of(w, again(item), S::TX);
        radius_site site;
        site.p = place_of<S>(view, unused, w, c);
        site.p.offset += (S::R - 1) * S::PITCH;
        site.near =
            near_cells<S>::of(view, wide, rows, w, c, site.p, again((int)threadIdx.x) % ARCH_WAVE);
        site.begin = planes.begin_of(w, c);
        site.end = site.begin + planes.depth;
        site.below = site.begin == planes.begin ? planes.below : 0;
        site.above = site.end == planes.end ? planes.above : 0;
        return site;
    }
};

#endif

#endif
