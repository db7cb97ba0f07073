/* Part of step_staged.hip.cpp and step_staged_medium.hip.cpp: the division of a box into tiles, and
 * the end of the kernel. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_LAUNCH_H
#define ISOTHERM_KERNELS_HIP_STAGED_LAUNCH_H

#include "kernels/hip/schedule/ring/staged_ring.h"

#if ARCH_HAS_TILE_COPY

/* The ring of a block; one stage is emptied by `readers` waves. All threads call. */
template <typename S>
static __device__ __forceinline__ stage_ring<S> ring_begin(char *shared, arch_arrivals *filled,
                                                           arch_arrivals *emptied, const work &w,
                                                           int readers)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < w.stages; stage++) {
            arch_arrivals_init(&filled[stage], 1);
            arch_arrivals_init(&emptied[stage], readers);
        }
        arch_arrivals_publish();
    }
    __syncthreads();
    return stage_ring<S>{reinterpret_cast<typename S::REAL *>(shared),
                         filled,
                         emptied,
                         w.stages,
                         w.stage_cells,
                         0,
                         0};
}

/* The last block of the launch resets the counters and normalises the sums. */
template <typename REAL>
static __device__ __forceinline__ void finish(const rules<REAL> &rules, const work &w)
{
    __shared__ bool is_last;
    const bool last = is_last_block(rules.scratch); /* true in one thread */
    if (threadIdx.x == 0) {
        is_last = last;
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    const int patches = (w.items + (int)gridDim.x - 1) / (int)gridDim.x;
    for (int at = (int)threadIdx.x; at < patches * w.groups; at += (int)blockDim.x) {
        rules.scratch->pace[at] = 0;
    }
    if (threadIdx.x == 0) {
        normalise_face_sums(rules);
    }
}

/* The cells that may be read: owned ones, and one layer beyond open faces. In x the region begins
 * one vector earlier, in the padding, since the engine needs 16-byte alignment. */
template <typename REAL>
static arch_region<REAL> region_of(const grid_view<REAL> &view, const rules<REAL> &rules, work &w)
{
    arch_region<REAL> region = {};
    int *const begin[AXIS_COUNT] = {&w.region_x, &w.region_y, &w.region_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int layers = axis == AXIS_X ? vec16<REAL>::N : 1;
        *begin[axis] = rules.closed[2 * axis] ? 0 : -layers;
        region.cells[axis] = view.cells[axis] + (rules.closed[2 * axis + 1] ? 0 : 1) - *begin[axis];
    }
    region.first = view.in + w.region_x + w.region_y * view.pitch_y + w.region_z * view.pitch_z;
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
template <typename S>
static void plan_ring(work &w, int64_t nblocks, bool paced, const struct hip_launch_shape *shape)
{
    typedef typename S::REAL REAL;
    constexpr int line = 128 / (int)sizeof(REAL);
    /* what the blocks may have requested beyond the slowest: less makes them wait for the counters,
     * more allows more drift */
    const int64_t window_bytes = (int64_t)(shape->window_mib > 0 ? shape->window_mib : 13) << 20;
    const int planes = w.depth + 2;
    /* workers read complete groups of rows, also beyond the end of the tile */
    const int rows = (w.height + S::ROWS - 1) / S::ROWS * S::ROWS + 2;
    w.waves = S::WIDE / ARCH_WAVE * ((w.height + S::ROWS - 1) / S::ROWS);
    w.sub_cells = (S::PITCH * rows + line - 1) / line * line;
    w.class_cells = S::SUBTILES * w.sub_cells;
    w.class_sub = (S::CLASS_PITCH * rows + 127) / 128 * 128;
    w.stage_cells = w.class_cells + S::SUBTILES * w.class_sub / (int)sizeof(REAL);
    w.stages = w.ring_bytes / (w.stage_cells * (int)sizeof(REAL));
    w.stages = w.stages < MOST_STAGES ? w.stages : (int)MOST_STAGES;
    const int64_t patch_bytes = nblocks * S::TX * w.height * (int64_t)sizeof(REAL);
    const int64_t ahead = (window_bytes + patch_bytes / 2) / patch_bytes; /* planes */
    w.lead = ahead < 6 || ahead >= 8 ? 2 : 3;
    w.group = ahead < 8 ? 2 : (int)ahead / 2;
    w.group = w.group < w.stages / 2 ? w.group : w.stages / 2;
    w.groups = paced ? (planes + w.group - 1) / w.group : 0;
    if ((w.items + nblocks - 1) / nblocks * w.groups > HIP_PACE_COUNTERS) {
        w.groups = 0;
    }
}

/* Divide the box into columns. With pacing all columns span the box in z, and the height of tiles
 * is such that complete patches of one tile per block cover it. */
template <typename S>
static void divide(work &w, int64_t nblocks, bool paced, const struct hip_launch_shape *shape)
{
    const int rows = w.hi[1] - w.lo[1];
    const int planes = w.hi[2] - w.lo[2];
    w.tiles_x = (w.hi[0] - w.x_begin + S::TX - 1) / S::TX;
    w.height = S::TY;
    if (paced) {
        const int64_t high = nblocks / w.tiles_x > 1 ? nblocks / w.tiles_x : 1;
        int64_t patches = 1;
        while ((rows + high * patches - 1) / (high * patches) > S::TY) {
            patches++;
        }
        w.height = (int)((rows + high * patches - 1) / (high * patches));
    }
    w.tiles = w.tiles_x * ((rows + w.height - 1) / w.height);
    w.depth = paced ? planes : depth_of(w.tiles, planes, nblocks);
    w.items = w.tiles * ((planes + w.depth - 1) / w.depth);
    plan_ring<S>(w, nblocks, paced, shape);
}

/* The work on a box, with the tiles for `nblocks` blocks and `ring_bytes` of shared memory. */
template <typename S>
static work work_of(const struct box *box, int64_t nblocks, int ring_bytes, bool paced,
                    const struct hip_launch_shape *shape)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    work w = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        w.lo[axis] = (int)box->lo[axis];
        w.hi[axis] = (int)box->hi[axis];
    }
    w.x_begin = w.lo[0] / line * line;
    w.ring_bytes = ring_bytes;
    divide<S>(w, nblocks, paced, shape);
    return w;
}

/* The number of blocks of this kernel that the device runs at a time; also prepares it. */
template <typename S> static hipError_t blocks_of_device(const void *kernel, int64_t *blocks)
{
    int device = 0;
    int processors = 0;
    hipError_t error = hipGetDevice(&device);
    if (error == hipSuccess) {
        error = hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device);
    }
    if (error == hipSuccess) {
        error = hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize,
                                    S::SHARED_BYTES);
    }
    *blocks = (int64_t)processors * S::BLOCKS;
    return error;
}

#endif

#endif
