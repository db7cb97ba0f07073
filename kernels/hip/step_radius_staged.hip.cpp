/* The step with a wider stencil that stages planes of tiles in shared memory, as
 * step_staged.hip.cpp does with the narrow one: the same ring and the same pace.
 *
 * A thread has a vector in each of a few rows, and its neighbours in z in registers: it reads a
 * plane of its cells when that arrives, R planes ahead of the one that it computes. Neighbours in
 * x and y come from the ring, which therefore keeps R + 1 planes. Cells next to closed faces of x
 * have their own row of weights; those next to faces of y and z are not in the box. */
#include "kernels/hip/radius.h"
#include "kernels/hip/staged_launch.h"
#include "kernels/hip/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* A wave has ROWS rows; one more fetches. Twelve waves leave 168 registers to a thread, which 3
 * rows of radius 4 need. */
template <typename REAL, int R_>
struct radius_shape : shape<REAL, 1, 16 / (int)sizeof(REAL) * ARCH_WAVE, 33, 3, 1> {
    typedef shape<REAL, 1, 16 / (int)sizeof(REAL) * ARCH_WAVE, 33, 3, 1> plain;
    static constexpr int R = R_;
    static constexpr int THREADS = plain::WORKERS + ARCH_WAVE;
    static constexpr int BESIDE = (R + plain::N - 1) / plain::N; /* vectors on either side in x */
    static_assert(R <= plain::PAD, "the halo in x");
};

/* The cells of a row of vectors around a thread's own. */
template <typename S>
static __device__ __forceinline__ void row_around(
    typename S::REAL (&row)[(2 * S::BESIDE + 1) * S::N], const typename S::REAL *at,
    const vec16<typename S::REAL> &own)
{
#pragma unroll
    for (int v = -S::BESIDE; v <= S::BESIDE; v++) {
        const vec16<typename S::REAL> cells = v == 0 ? own : vector_at(at + v * S::N);
#pragma unroll
        for (int n = 0; n < S::N; n++) {
            row[(S::BESIDE + v) * S::N + n] = cells.v[n];
        }
    }
}

/* D along x of the cells of a vector that are next to a closed face; in_tile: cells of the tile
 * before the vector; at: where it is in its stage, from: in the field. */
template <typename S>
static __device__ __forceinline__ void near_in_x(vec16<typename S::REAL> &dx,
                                                 const wide_rules<typename S::REAL> &rules,
                                                 int cells, const place<S> &p, int in_tile,
                                                 const typename S::REAL *at,
                                                 const typename S::REAL *from)
{
    constexpr int R = S::R;
    const int to_max = cells - 1 - p.i; /* from the vector's first cell */
    /* the stage may lack the last of the 2 R cells where a tile begins next to the face */
    const bool is_staged = in_tile % S::SUB_X + S::PAD >= 2 * R - 1 - to_max;
    const typename S::REAL *const max = (is_staged ? at : from) + to_max;
#pragma unroll
    for (int n = 0; n < S::N; n++) {
        const int x = p.i + n;
        const int from_max = cells - 1 - x;
        if (rules.closed[FACE_X_MIN] && x < R) {
            const struct wide_closure &closure = rules.closure[FACE_X_MIN];
            dx.v[n] = (typename S::REAL)near_sum<typename S::REAL, R>(
                closure, closure.weight[x], closure.given[x], at - p.i, 1, at[n]);
        } else if (rules.closed[FACE_X_MAX] && from_max >= 0 && from_max < R) {
            const struct wide_closure &closure = rules.closure[FACE_X_MAX];
            dx.v[n] = (typename S::REAL)near_sum<typename S::REAL, R>(
                closure, closure.weight[from_max], closure.given[from_max], max, -1, at[n]);
        }
    }
}

/* The planes from R below the one computed to R above it, of a thread's cells. */
template <typename S> struct planes_of {
    cells_of<S> plane[2 * S::R + 1];
};

/* D along y of all rows; k by k, so that few of the rows beside them are in registers at a time. */
template <typename S>
static __device__ __forceinline__ cells_of<S> differences_in_y(
    const wide_rules<typename S::REAL> &rules, const cells_of<S> &here,
    const typename S::REAL *first)
{
    typedef vec16<typename S::REAL> cells;
    constexpr int R = S::R, ROWS = S::ROWS;
    cells before[R]; /* rows */
    cells after[R];
    cells_of<S> dy = {};
#pragma unroll
    for (int k = 0; k < R; k++) {
        before[k] = vector_at(first + (k - R) * S::PITCH);
        after[k] = vector_at(first + (ROWS + k) * S::PITCH);
    }
#pragma unroll
    for (int k = R; k >= 1; k--) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells m =
                row >= k ? here.row[row >= k ? row - k : 0] : before[row >= k ? 0 : R + row - k];
            const cells p = row + k < ROWS ? here.row[row + k < ROWS ? row + k : 0]
                                           : after[row + k < ROWS ? 0 : row + k - ROWS];
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                dy.row[row].v[n] =
                    wide_term(rules.w[k - 1], here.row[row].v[n], m.v[n], p.v[n], dy.row[row].v[n]);
            }
        }
    }
    return dy;
}

/* NEAR: some cells of the tile are next to a closed face of x, `near` those of this thread. from:
 * its first cell in the field, i: that of the tile. */
template <typename S, bool NEAR>
static __device__ __forceinline__ cells_of<S> step_rows(const wide_rules<typename S::REAL> &rules,
                                                        const planes_of<S> &z,
                                                        const grid_view<typename S::REAL> &view,
                                                        const place<S> &p, int i, bool near,
                                                        const typename S::REAL *stage,
                                                        const typename S::REAL *from)
{
    typedef typename S::REAL REAL;
    constexpr int R = S::R, N = S::N, BESIDE = S::BESIDE;
    const REAL *const first = stage + p.offset;
    const cells_of<S> &here = z.plane[R];
    cells_of<S> out = differences_in_y<S>(rules, here, first);
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const REAL *const at = first + row * S::PITCH;
        REAL around[(2 * BESIDE + 1) * N];
        vec16<REAL> dx;
        row_around<S>(around, at, here.row[row]);
#pragma unroll
        for (int n = 0; n < N; n++) {
            REAL sum = 0;
#pragma unroll
            for (int k = R; k >= 1; k--) {
                sum = wide_term(rules.w[k - 1], here.row[row].v[n], around[BESIDE * N + n - k],
                                around[BESIDE * N + n + k], sum);
            }
            dx.v[n] = sum;
        }
        if (NEAR && near) {
            near_in_x<S>(dx, rules, (int)view.cells[AXIS_X], p, p.i - i, at,
                         from + row * view.pitch_y);
        }
#pragma unroll
        for (int n = 0; n < N; n++) {
            REAL dz = 0;
#pragma unroll
            for (int k = R; k >= 1; k--) {
                dz = wide_term(rules.w[k - 1], here.row[row].v[n], z.plane[R - k].row[row].v[n],
                               z.plane[R + k].row[row].v[n], dz);
            }
            out.row[row].v[n] =
                wide_update(here.row[row].v[n], dx.v[n], out.row[row].v[n], dz, rules.r);
        }
    }
    return out;
}

/* All planes of a column: from k_begin - 1 + R to k_end + 1 - R, see radius_work. `ring`: at its
 * first plane, which is R before the first one computed. */
template <typename S, bool NEAR>
static __device__ __forceinline__ void march_radius(const grid_view<typename S::REAL> &view,
                                                    const wide_rules<typename S::REAL> &rules,
                                                    stage_ring<S> &ring, const place<S> &p,
                                                    const column &c)
{
    constexpr int R = S::R;
    const int begin = c.k_begin - 1 + R;
    const int end = c.k_end + 1 - R;
    const int cells = (int)view.cells[AXIS_X];
    const bool near = NEAR && ((rules.closed[FACE_X_MIN] && p.i < R) ||
                               (rules.closed[FACE_X_MAX] && p.i + S::N > cells - R));
    planes_of<S> z;
    stage_ring<S> front = ring;
#pragma unroll
    for (int n = 0; n < 2 * R; n++) {
        front.wait();
        z.plane[n + 1] = own_cells<S>(front.stage(), p);
        front.next();
        if (n < R) {
            ring.release();
            ring.next();
        }
    }
    const typename S::REAL *from = view.in + view.at(p.i, p.j, begin);
    typename S::REAL *to = view.out + view.at(p.i, p.j, begin);
    for (int k = begin; k < end; k++, from += view.pitch_z, to += view.pitch_z) {
#pragma unroll
        for (int n = 0; n < 2 * R; n++) {
            z.plane[n] = z.plane[n + 1];
        }
        front.wait();
        z.plane[2 * R] = own_cells<S>(front.stage(), p);
        front.next();
        const cells_of<S> out =
            step_rows<S, NEAR>(rules, z, view, p, c.i, near, ring.stage(), from);
        ring.release();
        ring.next();
        store_plane<S>(to, view.pitch_y, p, out);
    }
#pragma unroll
    for (int n = 0; n < R; n++) {
        ring.release();
        ring.next();
    }
}

template <typename S>
static __device__ __forceinline__ void march_all_radius(const grid_view<typename S::REAL> &view,
                                                        const wide_rules<typename S::REAL> &wide,
                                                        const rules<typename S::REAL> &rules,
                                                        stage_ring<S> ring, const work &w)
{
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        place<S> p = place_of<S>(view, rules, w, c);
        p.offset += (S::R - 1) * S::PITCH;
        const bool near = (wide.closed[FACE_X_MIN] && c.i < S::R) ||
                          (wide.closed[FACE_X_MAX] && c.i + S::TX > (int)view.cells[AXIS_X] - S::R);
        if (near) {
            march_radius<S, true>(view, wide, ring, p, c);
        } else {
            march_radius<S, false>(view, wide, ring, p, c);
        }
    }
}

template <typename S>
static __global__ __launch_bounds__(S::THREADS, 1) void step_radius_staged(
    const __grid_constant__ arch_tile_map map, const grid_view<typename S::REAL> view,
    const wide_rules<typename S::REAL> wide, const rules<typename S::REAL> rules, const work w)
{
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    const stage_ring<S> ring = ring_begin<S>(shared, filled, emptied, w, w.waves);
    if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
        march_all_radius<S>(view, wide, rules, ring, w);
    } else if (threadIdx.x == S::WORKERS) {
        const uint32_t bytes =
            S::SUBTILES * S::PITCH * (w.height + 2 * S::R) * sizeof(typename S::REAL);
        fetch_all<S>(ring, w, rules.scratch->pace, bytes,
                     [&](const stage_ring<S> &at, const column &c, int plane) {
                         for (int sub = 0; sub < S::SUBTILES; sub++) {
                             arch_tile_copy(
                                 at.stage() + sub * w.sub_cells, map, &at.filled[at.slot],
                                 c.i + sub * S::SUB_X - S::PAD - w.region_x,
                                 c.j - S::R - w.region_y, c.k_begin - 1 + plane - w.region_z);
                         }
                     });
    }
    if (w.groups > 0) {
        finish(rules, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Columns of all planes at a common pace. They get R - 1 planes more at either end, so that a ring
 * made for one plane of halo fetches R; a stage has R rows of halo. */
template <typename S>
static work radius_work(const struct box *box, int64_t nblocks,
                        const struct hip_launch_shape *launch_shape)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    struct box planes = *box;
    planes.lo[AXIS_Z] -= S::R - 1;
    planes.hi[AXIS_Z] += S::R - 1;
    work w = work_of<S>(&planes, nblocks, S::SHARED_BYTES, true, launch_shape);
    const int rows = (w.height + S::ROWS - 1) / S::ROWS * S::ROWS + 2 * S::R;
    w.sub_cells = (S::PITCH * rows + line - 1) / line * line;
    w.stage_cells = S::SUBTILES * w.sub_cells;
    w.stages = w.ring_bytes / (w.stage_cells * (int)sizeof(typename S::REAL));
    w.stages = w.stages < MOST_STAGES ? w.stages : (int)MOST_STAGES;
    const int ahead = w.stages - S::R; /* a block that waits has these planes */
    w.group = w.group < ahead / 2 ? w.group : ahead / 2;
    w.groups = w.groups > 0 ? (w.depth + 2 + w.group - 1) / w.group : 0;
    if ((w.items + nblocks - 1) / nblocks * w.groups > HIP_PACE_COUNTERS) {
        w.groups = 0;
    }
    return w;
}

/* The cells that may be read: owned ones, and R layers beyond open faces; in x whole vectors, in
 * the padding. */
template <typename S>
static arch_region<typename S::REAL> radius_region(const grid_view<typename S::REAL> &view,
                                                   const struct wide_args *args, work &w)
{
    arch_region<typename S::REAL> region = {};
    int *const begin[AXIS_COUNT] = {&w.region_x, &w.region_y, &w.region_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int layers = axis == AXIS_X ? S::BESIDE * S::N : S::R;
        *begin[axis] = args->closed[2 * axis] ? 0 : -layers;
        region.cells[axis] =
            view.cells[axis] + (args->closed[2 * axis + 1] ? 0 : S::R) - *begin[axis];
    }
    region.first = view.in + w.region_x + w.region_y * view.pitch_y + w.region_z * view.pitch_z;
    region.pitch_y = view.pitch_y;
    region.pitch_z = view.pitch_z;
    return region;
}

template <typename REAL, int R>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct wide_args *args, void *d_out,
                         const void *d_in, const struct box *box)
{
    typedef radius_shape<REAL, R> S;
    static const struct hip_launch_shape launch_shape = {};
    static int64_t blocks_at_a_time = 0; /* a process has one device */
    if (blocks_at_a_time == 0) {
        const hipError_t error = blocks_of_device<S>(
            reinterpret_cast<const void *>(step_radius_staged<S>), &blocks_at_a_time);
        if (error != hipSuccess) {
            blocks_at_a_time = 0;
            return error;
        }
    }
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    rules<REAL> rules = {};
    rules.scratch = d_scratch;
    work w = radius_work<S>(box, blocks_at_a_time, &launch_shape);
    arch_tile_map map;
    const arch_region<REAL> region = radius_region<S>(view, args, w);
    const hipError_t error = arch_tile_map_make(&map, region, S::PITCH, w.height + 2 * R);
    if (error != hipSuccess) {
        return error;
    }
    const int64_t nblocks = w.items < blocks_at_a_time ? w.items : blocks_at_a_time;
    step_radius_staged<S><<<(unsigned)nblocks, S::THREADS, S::SHARED_BYTES, stream>>>(
        map, view, wide_rules_of<REAL>(args), rules, w);
    return hipGetLastError();
}

hipError_t hip_launch_radius_staged(hipStream_t stream, struct hip_scratch *d_scratch,
                                    const struct layout *layout, const struct wide_args *args,
                                    void *d_out, const void *d_in, const struct box *box)
{
    typedef hipError_t launcher(hipStream_t, struct hip_scratch *, const struct layout *,
                                const struct wide_args *, void *, const void *, const struct box *);
    static launcher *const launchers[2][WIDE_RADIUS_MOST - 1] = {
        {launch<double, 2>, launch<double, 3>, launch<double, 4>},
        {launch<float, 2>, launch<float, 3>, launch<float, 4>}};
    const int precision = layout->precision == PRECISION_FLOAT64 ? 0 : 1;
    return launchers[precision][args->radius - WIDE_RADIUS_LEAST](stream, d_scratch, layout, args,
                                                                  d_out, d_in, box);
}

#else

hipError_t hip_launch_radius_staged(hipStream_t, struct hip_scratch *, const struct layout *,
                                    const struct wide_args *, void *, const void *,
                                    const struct box *)
{
    return hipErrorNotSupported;
}

#endif
