/* The step kernel that stages planes of tiles in shared memory, for any kind.
 *
 * A block marches in z through a column of tiles. One thread makes the copy engine load the tiles
 * of the next planes, with halo, into a ring of stages; the others compute. So the bytes in flight
 * depend neither on registers nor on the number of waves. Neighbours in x and y come from shared
 * memory, those in z from registers.
 *
 * Pacing: no block fetches a plane before all have requested the planes up to a few before it. Else
 * the blocks drift apart, the edges of tiles leave the L2 cache before their neighbours read them,
 * and the memory sees scattered short rows (figures: docs/records/hip.md). A block that has waited
 * too long continues without pacing.
 *
 * A kind K of the ring, by value to the kernel, has
 *   K::S                          the shape
 *   K::divide(call, nblocks, ring_bytes)  the work of a launch, on the host
 *   K::prepare(shared, w)         all threads call it before the ring is used
 *   K::advance(view, shared, ring, w)  the waves that compute: all columns of the block
 *   K::close(view, sums, ring, w, wave)   the S::CLOSERS waves that close faces ahead of them
 *   K::term                       see sums.h
 *   K::leave(scratch, shared, w)  with S::SUMMARY: a thread of each block, after its waves
 *   K::ENDS, K::end(scratch)      whether a thread of the last block has more to do; what */
#pragma once

#include "kernels/hip/schedule/ring/sums.h"
#include "kernels/hip/schedule/ring/workers.h"

#if ARCH_HAS_TILE_COPY

/* --- the kernel ------------------------------------------------------------------------------ */

/* The last block of the launch resets the counters and normalises the sums. */
template <typename K>
static __device__ __forceinline__ void finish(const K &kind, const face_sums &sums, const work &w)
{
    __shared__ bool is_last;
    if (!is_last_block_of_all(sums.scratch, &is_last)) {
        return;
    }
    const int patches = (w.items + (int)gridDim.x - 1) / (int)gridDim.x;
    for (int at = (int)threadIdx.x; at < patches * w.groups; at += (int)blockDim.x) {
        sums.scratch->pace[at] = 0;
    }
    normalise_face_sums(sums);
    if constexpr (K::ENDS) {
        if (threadIdx.x == 0) {
            kind.end(sums.scratch);
        }
    }
}

template <typename K>
static __global__ __launch_bounds__(K::S::THREADS, K::S::BLOCKS) void step_ring(
    const __grid_constant__ ring_maps<typename K::S> maps,
    const grid_view<typename K::S::REAL> view, const K kind, const face_sums sums, const work w)
{
    typedef typename K::S S;
    /* no integer arithmetic on it: the compiler must see that it is shared memory, or loads from it
     * wait for earlier stores to global memory */
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals closed[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < w.stages; stage++) {
            arch_arrivals_init(&filled[stage], 1);
            arch_arrivals_init(&closed[stage], S::FIELDS);
            /* of the closers one takes each plane of a field */
            arch_arrivals_init(&emptied[stage], w.waves + (S::CLOSERS > 0 ? S::FIELDS
                                                           : sums.sums    ? 1
                                                                          : 0));
        }
        arch_arrivals_publish();
    }
    kind.prepare(shared, w);
    __syncthreads();
    const stage_ring<S> ring = {reinterpret_cast<typename S::REAL *>(shared),
                                filled,
                                closed,
                                emptied,
                                w.stages,
                                w.stage_cells,
                                0,
                                0};
    const int helper = ((int)threadIdx.x - S::WORKERS) / ARCH_WAVE - 1;
    if (threadIdx.x < S::WORKERS) {
        if (S::MORE_REGISTERS) {
            arch_raise_registers<208>();
        }
        if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
            kind.advance(view, shared, ring, w);
        }
    } else {
        if (S::MORE_REGISTERS) {
            arch_lower_registers<88>(); /* 2 * 208 + 88 = 3 * 168 */
        }
        if (threadIdx.x == S::WORKERS) {
            fetch_all<S>(ring, maps, w, sums.scratch->pace);
        } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE && helper < S::CLOSERS) {
            kind.close(view, sums, ring, w, helper);
        } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE && sums.sums) {
            if constexpr (S::SUMS && S::CLOSERS == 0) {
                sum_all<S>(view, kind, sums, ring, w);
            }
        }
    }
    if constexpr (S::SUMMARY) {
        __syncthreads();
        if (threadIdx.x == 0) {
            kind.leave(sums.scratch, shared, w);
        }
    }
    if (K::ENDS || sums.sums || w.groups > 0) {
        finish(kind, sums, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

struct ring_call {
    struct hip_step *step;
    const struct box *box;
    bool paced;
};

/* The cells that may be read: owned ones, and R layers beyond open faces. In x the region begins
 * whole vectors earlier, in the padding, since the engine needs 16-byte alignment. */
template <typename S>
static arch_region<typename S::REAL> region_of(const grid_view<typename S::REAL> &view,
                                               const bool (&closed)[FACE_COUNT], work &w,
                                               const typename S::REAL *in)
{
    arch_region<typename S::REAL> region = {};
    int *const begin[AXIS_COUNT] = {&w.region_x, &w.region_y, &w.region_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int layers = axis == AXIS_X ? S::BESIDE * S::N : S::R;
        *begin[axis] = closed[2 * axis] ? 0 : -layers;
        region.cells[axis] = view.cells[axis] + (closed[2 * axis + 1] ? 0 : S::R) - *begin[axis];
    }
    region.first = in + w.region_x + w.region_y * view.pitch_y + w.region_z * view.pitch_z;
    region.pitch_y = view.pitch_y;
    region.pitch_z = view.pitch_z;
    return region;
}

/* Planes per column without pacing. With more columns fewer blocks are idle in the last round, but
 * each column reads two extra planes. */
static int depth_of(int64_t tiles, int planes, int64_t blocks_at_a_time)
{
    const int most = planes / 8 > 1 ? planes / 8 : 1;
    double best_cost = 0;
    int best = planes;
    for (int columns = 1; columns <= most; columns++) {
        const int depth = (planes + columns - 1) / columns;
        const double rounds = (double)(tiles * columns) / (double)blocks_at_a_time;
        const double whole = (double)(int64_t)rounds;
        /* fewer blocks are faster each, since they share the memory */
        const double last = rounds - whole > 0.6 ? rounds - whole : (rounds > whole ? 0.6 : 0.0);
        const double cost = (whole + last) * (depth + 2.0);
        if (best_cost == 0 || cost < best_cost) {
            best_cost = cost;
            best = depth;
        }
    }
    return best;
}

/* The ring and the pacing, once the tiles are known. */
template <typename S> static void plan_ring(work &w, const ring_call &call, int64_t nblocks)
{
    typedef typename S::REAL REAL;
    constexpr int line = 128 / (int)sizeof(REAL);
    /* what the blocks may have requested beyond the slowest: less makes them wait for the counters,
     * more allows more drift */
    const int window_mib = call.step->shape.window_mib;
    const int64_t window_bytes = (int64_t)(window_mib > 0 ? window_mib : 13) << 20;
    const int planes = w.depth + 2 * S::R;
    /* workers read complete groups of rows, also beyond the end of the tile */
    const int rows = (w.height + S::ROWS - 1) / S::ROWS * S::ROWS + 2 * S::R;
    w.waves = S::WIDE / ARCH_WAVE * ((w.height + S::ROWS - 1) / S::ROWS);
    w.sub_cells = (S::PITCH * rows + line - 1) / line * line;
    w.field_cells = S::SUBTILES * w.sub_cells;
    w.class_cells = S::FIELDS * w.field_cells;
    w.class_sub = (S::CLASS_PITCH * rows + 127) / 128 * 128;
    w.stage_cells = w.class_cells + S::SUBTILES * w.class_sub / (int)sizeof(REAL);
    for (int array = 0; array < S::ARRAYS; array++) {
        const int more = array == AXIS_Y ? 1 : 0;
        const int cells = S::array_pitch(array) * (rows - 2 * S::R + more);
        w.array_at[array] = w.stage_cells;
        w.array_sub[array] = (cells + line - 1) / line * line;
        w.stage_cells += S::SUBTILES * w.array_sub[array];
    }
    w.stages = w.ring_bytes / (w.stage_cells * (int)sizeof(REAL));
    w.stages = w.stages < MOST_STAGES ? w.stages : (int)MOST_STAGES;
    /* A closer that takes every n-th plane knows that a stage has had its earlier plane only where
     * it took that one, too: copies of two planes may end in either order. */
    w.stages -= S::CLOSERS > 0 && S::FIELDS == 1 ? w.stages % (S::CLOSERS > 0 ? S::CLOSERS : 1) : 0;
    /* what is written counts as what is read */
    const int64_t patch_bytes =
        nblocks * S::TX * w.height * (int64_t)sizeof(REAL) * (2 + S::ARRAYS) / 2;
    const int64_t ahead = (window_bytes + patch_bytes / 2) / patch_bytes; /* planes */
    w.lead = ahead < 6 || ahead >= 8 ? 2 : 3;
    w.group = ahead < 8 ? 2 : (int)ahead / 2;
    const int most = (w.stages - (S::R > 1 ? S::R : 0)) / 2; /* a block that waits has R planes */
    w.group = w.group < most ? w.group : most;
    w.groups = call.paced ? (planes + w.group - 1) / w.group : 0;
    if ((w.items + nblocks - 1) / nblocks * w.groups > HIP_PACE_COUNTERS) {
        w.groups = 0;
    }
}

/* The work on a box, with the tiles for `nblocks` blocks and `ring_bytes` of shared memory. With
 * pacing all columns span the box in z, and the height of tiles is such that complete patches of
 * one tile per block cover it. */
template <typename S> static work work_of(const ring_call &call, int64_t nblocks, int ring_bytes)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    work w = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        w.lo[axis] = (int)call.box->lo[axis];
        w.hi[axis] = (int)call.box->hi[axis];
    }
    const int rows = w.hi[1] - w.lo[1];
    const int planes = w.hi[2] - w.lo[2];
    w.x_begin = w.lo[0] / line * line;
    w.ring_bytes = ring_bytes;
    w.tiles_x = (w.hi[0] - w.x_begin + S::TX - 1) / S::TX;
    w.height = S::TY;
    if (call.paced) {
        const int64_t high = nblocks / w.tiles_x > 1 ? nblocks / w.tiles_x : 1;
        int64_t patches = 1;
        while ((rows + high * patches - 1) / (high * patches) > S::TY) {
            patches++;
        }
        w.height = (int)((rows + high * patches - 1) / (high * patches));
    }
    w.tiles = w.tiles_x * ((rows + w.height - 1) / w.height);
    w.depth = call.paced ? planes : depth_of(w.tiles, planes, nblocks);
    w.items = w.tiles * ((planes + w.depth - 1) / w.depth);
    plan_ring<S>(w, call, nblocks);
    return w;
}

/* Most kinds have these. */
template <typename S_> struct ring_kind {
    typedef S_ S;
    typedef typename S::REAL REAL;
    static constexpr bool ENDS = false;

    static work divide(const ring_call &call, int64_t nblocks, int ring_bytes)
    {
        return work_of<S>(call, nblocks, ring_bytes);
    }
    __device__ __forceinline__ void prepare(char *, const work &) const
    {
    }
    __device__ __forceinline__ void close(const grid_view<REAL> &, const face_sums &,
                                          const stage_ring<S> &, const work &, int) const
    {
    }
};

/* The classes with one layer of halo on every axis, and from S::CLASS_PAD bytes before each row. */
template <typename S> static arch_region<uint8_t> region_of_classes(const struct device_medium *of)
{
    const struct layout *l = &of->layout;
    arch_region<uint8_t> region = {};
    region.first = of->d_class + l->origin - S::CLASS_PAD - l->pitch_y - l->pitch_z;
    region.cells[0] = S::CLASS_PAD + l->cells[0] + 1;
    region.cells[1] = l->cells[1] + 2;
    region.cells[2] = l->cells[2] + 2;
    region.pitch_y = l->pitch_y;
    region.pitch_z = l->pitch_z;
    return region;
}

/* The conductances and sigma of the cells, and of those beyond their upper faces. */
template <typename S>
static hipError_t make_maps_of_arrays(ring_maps<S> &maps, const struct device_medium *of,
                                      int height)
{
    typedef typename S::REAL REAL;
    const struct layout *l = &of->layout;
    hipError_t error = hipSuccess;
    for (int array = 0; array < S::ARRAYS && error == hipSuccess; array++) {
        const void *const values = array < AXIS_COUNT ? of->d_g[array] : of->d_sigma;
        arch_region<REAL> region = {static_cast<const REAL *>(values) + l->origin,
                                    {l->cells[0] + 1, l->cells[1] + 1, l->cells[2] + 1},
                                    l->pitch_y,
                                    l->pitch_z};
        error = arch_tile_map_make(&maps.arrays[array], region, S::array_pitch(array),
                                   height + (array == AXIS_Y ? 1 : 0));
    }
    return error;
}

/* Beside the ring the kind needs `bytes` of shared memory. */
template <typename K> static hipError_t launch(const ring_call &call, const K &kind, int bytes)
{
    typedef typename K::S S;
    typedef typename S::REAL REAL;
    static int processors = 0;
    hipError_t error =
        hip_prepare(reinterpret_cast<const void *>(step_ring<K>), S::SHARED_BYTES, &processors);
    if (error != hipSuccess) {
        return error;
    }
    const struct step_args *args = call.step->args;
    const struct coefficients *coefficients = args->levels;
    grid_view<REAL> view = view_of<REAL>(&args->layout, args->d_out, args->d_in);
    view.d_bits = args->d_bits;
    call.step->has_bits = S::BITS;
    const int64_t units = (int64_t)processors * S::BLOCKS; /* blocks that run at a time */
    work w = K::divide(call, units, (S::SHARED_BYTES - bytes) / 128 * 128);
    ring_maps<S> maps = {};
    error = arch_tile_map_make(&maps.cells, region_of<S>(view, coefficients->closed, w, view.in),
                               S::PITCH, w.height + 2 * S::R);
    if constexpr (S::FIELDS > 1) {
        if (error == hipSuccess) {
            error = arch_tile_map_make(&maps.other,
                                       region_of<S>(view, coefficients->closed, w, kind.other),
                                       S::PITCH, w.height + 2 * S::R);
        }
    }
    if constexpr (S::CLASS_PITCH > 0) {
        if (error == hipSuccess) {
            error = arch_tile_map_make(&maps.classes, region_of_classes<S>(&coefficients->medium),
                                       S::CLASS_PITCH, w.height + 2);
        }
    }
    if (error == hipSuccess) {
        error = make_maps_of_arrays<S>(maps, &coefficients->medium, w.height);
    }
    if (error != hipSuccess) {
        return error;
    }
    const int64_t nblocks = w.items < units ? w.items : units;
    face_sums sums = {};
    sums.scratch = call.step->d_scratch;
    if (S::SUMS) {
        sums = face_sums_of(coefficients, sums.scratch);
    }
    step_ring<K><<<(unsigned)nblocks, S::THREADS, S::SHARED_BYTES, call.step->stream>>>(
        maps, view, kind, sums, w);
    return hipGetLastError();
}

/* The launcher `name`, by launch_kind<a precision, wide, blocks>. */
#define DEFINE_RING(name, wide, blocks, paced)                                                     \
    hipError_t hip_launch_step_##name(struct hip_step *step)                                       \
    {                                                                                              \
        const ring_call call = {step, step->boxes, paced};                                         \
        return step->args->layout.precision == PRECISION_FLOAT64                                   \
                   ? launch_kind<double, wide, blocks>(call)                                       \
                   : launch_kind<float, wide, blocks>(call);                                       \
    }

#else

#define DEFINE_RING(name, wide, blocks, paced)                                                     \
    hipError_t hip_launch_step_##name(struct hip_step *)                                           \
    {                                                                                              \
        return hipErrorNotSupported;                                                               \
    }

#endif
