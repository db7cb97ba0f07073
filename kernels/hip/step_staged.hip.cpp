/* The step kernel that stages planes of tiles in shared memory.
 *
 * A block marches in z through a column of tiles. One thread makes the copy engine load the tiles
 * of the next planes, with halo, into a ring of stages; the others compute. So the bytes in flight
 * depend neither on registers nor on the number of waves. Neighbours in x and y come from shared
 * memory, those in z from registers.
 *
 * Pacing: no block fetches a plane before all have requested the planes up to a few before it. Else
 * the blocks drift apart, the edges of tiles leave the L2 cache before their neighbours read them,
 * and the memory sees scattered short rows (figures: docs/hip.md). A block that has waited too long
 * continues without pacing. */
#include "kernels/hip/cells.h"
#include "kernels/hip/staged_ring.h"
#include "kernels/hip/staged_sums.h"
#include "kernels/hip/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* --- the kernel ------------------------------------------------------------------------------ */

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

template <typename S>
static __global__ __launch_bounds__(S::THREADS, S::BLOCKS) void step_staged(
    const __grid_constant__ arch_tile_map map, const grid_view<typename S::REAL> view,
    const rules<typename S::REAL> rules, const work w)
{
    /* no integer arithmetic on it: the compiler must see that it is shared memory, or loads from it
     * wait for earlier stores to global memory */
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < w.stages; stage++) {
            arch_arrivals_init(&filled[stage], 1);
            arch_arrivals_init(&emptied[stage], w.waves + (rules.sums ? 1 : 0));
        }
        arch_arrivals_publish();
    }
    __syncthreads();
    const stage_ring<S> ring = {reinterpret_cast<typename S::REAL *>(shared),
                                filled,
                                emptied,
                                w.stages,
                                w.stage_cells,
                                0,
                                0};
    if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
        march_all<S>(view, rules, ring, w);
    } else if (threadIdx.x == S::WORKERS) {
        fetch_all<S>(ring, map, w, rules.scratch->pace);
    } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE && rules.sums) {
        sum_all<S>(view, rules, ring, w);
    }
    if (rules.sums || w.groups > 0) {
        finish(rules, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

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
    w.stage_cells = S::SUBTILES * w.sub_cells;
    w.stages = S::SHARED_BYTES / (w.stage_cells * (int)sizeof(REAL));
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

/* The number of blocks that the device runs at a time; also prepares the kernel. */
template <typename S> static hipError_t blocks_of_device(int64_t *blocks)
{
    int device = 0;
    int processors = 0;
    hipError_t error = hipGetDevice(&device);
    if (error == hipSuccess) {
        error = hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device);
    }
    if (error == hipSuccess) {
        error = hipFuncSetAttribute(reinterpret_cast<const void *>(step_staged<S>),
                                    hipFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
    }
    *blocks = (int64_t)processors * S::BLOCKS;
    return error;
}

template <typename S>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct step_args *args, void *d_out,
                         const void *d_in, const struct box *box, bool paced,
                         const struct hip_launch_shape *launch_shape)
{
    typedef typename S::REAL REAL;
    static int64_t blocks_at_a_time = 0; /* a process has one device */
    if (blocks_at_a_time == 0) {
        int64_t blocks = 0;
        const hipError_t error = blocks_of_device<S>(&blocks);
        if (error != hipSuccess) {
            return error;
        }
        blocks_at_a_time = blocks;
    }
    constexpr int line = 128 / (int)sizeof(REAL);
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    work w = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        w.lo[axis] = (int)box->lo[axis];
        w.hi[axis] = (int)box->hi[axis];
    }
    w.x_begin = w.lo[0] / line * line;
    divide<S>(w, blocks_at_a_time, paced, launch_shape);
    arch_tile_map map;
    const arch_region<REAL> region = region_of<REAL>(view, rules, w);
    const hipError_t error = arch_tile_map_make(&map, region, S::PITCH, w.height + 2);
    if (error != hipSuccess) {
        return error;
    }
    const int64_t nblocks = w.items < blocks_at_a_time ? w.items : blocks_at_a_time;
    step_staged<S><<<(unsigned)nblocks, S::THREADS, S::SHARED_BYTES, stream>>>(map, view, rules, w);
    return hipGetLastError();
}

#define DEFINE_STAGED(name, subs64, subs32, rows, blocks, paced)                                   \
    hipError_t hip_launch_step_##name(hipStream_t stream, struct hip_scratch *d_scratch,           \
                                      const struct layout *layout, const struct step_args *args,   \
                                      void *d_out, const void *d_in, const struct box *box,        \
                                      const struct hip_launch_shape *launch_shape)                 \
    {                                                                                              \
        return layout->precision == PRECISION_FLOAT64                                              \
                   ? launch<shape<double, subs64, 128, 16, rows, blocks>>(                         \
                         stream, d_scratch, layout, args, d_out, d_in, box, paced, launch_shape)   \
                   : launch<shape<float, subs32, 128, 16, rows, blocks>>(                          \
                         stream, d_scratch, layout, args, d_out, d_in, box, paced, launch_shape);  \
    }
DEFINE_STAGED(staged_free, 1, 2, 4, 2, false)
DEFINE_STAGED(staged_pair, 1, 2, 4, 2, true)
DEFINE_STAGED(staged_deep, 1, 2, 4, 1, true)
DEFINE_STAGED(staged_wide, 2, 4, 4, 1, true)

#else

#define DEFINE_STAGED(name)                                                                        \
    hipError_t hip_launch_step_##name(hipStream_t, struct hip_scratch *, const struct layout *,    \
                                      const struct step_args *, void *, const void *,              \
                                      const struct box *, const struct hip_launch_shape *)         \
    {                                                                                              \
        return hipErrorNotSupported;                                                               \
    }
DEFINE_STAGED(staged_free)
DEFINE_STAGED(staged_pair)
DEFINE_STAGED(staged_deep)
DEFINE_STAGED(staged_wide)

#endif

bool hip_step_staged_is_built(void)
{
    return ARCH_HAS_TILE_COPY;
}

bool hip_step_staged_takes(const struct layout *layout, const struct box *box)
{
    enum { LEAST_X = 32, LEAST_Y = 8, LEAST_Z = 3 };
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!ARCH_HAS_TILE_COPY || layout->cells[axis] > INT32_MAX / 2) {
            return false;
        }
    }
    return box->hi[AXIS_X] - box->lo[AXIS_X] >= LEAST_X &&
           box->hi[AXIS_Y] - box->lo[AXIS_Y] >= LEAST_Y &&
           box->hi[AXIS_Z] - box->lo[AXIS_Z] >= LEAST_Z;
}
