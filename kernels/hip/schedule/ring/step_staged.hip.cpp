/* The step kernel that stages planes of tiles in shared memory.
 *
 * A block marches in z through a column of tiles. One thread makes the copy engine load the tiles
 * of the next planes, with halo, into a ring of stages; the others compute. So the bytes in flight
 * depend neither on registers nor on the number of waves. Neighbours in x and y come from shared
 * memory, those in z from registers.
 *
 * Pacing: no block fetches a plane before all have requested the planes up to a few before it. Else
 * the blocks drift apart, the edges of tiles leave the L2 cache before their neighbours read them,
 * and the memory sees scattered short rows (figures: docs/records/hip.md). A block that has waited
 * too long continues without pacing. */
#include "kernels/hip/device/cells.h"
#include "kernels/hip/schedule/ring/staged_launch.h"
#include "kernels/hip/schedule/ring/staged_sums.h"
#include "kernels/hip/schedule/ring/staged_workers.h"

#if ARCH_HAS_TILE_COPY

/* --- the kernel ------------------------------------------------------------------------------ */

template <typename S>
static __global__ __launch_bounds__(S::THREADS, S::BLOCKS) void step_staged(
    const __grid_constant__ arch_tile_map map, const grid_view<typename S::REAL> view,
    const rules<typename S::REAL> rules, const work w)
{
    /* no integer arithmetic on it: the compiler must see that it is shared memory, or loads from it
     * wait for earlier stores to global memory */
    typedef typename S::REAL REAL;
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    const stage_ring<S> ring =
        ring_begin<S>(shared, filled, emptied, w, w.waves + (rules.sums ? 1 : 0));
    if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
        march_all<S>(view, rules, ring, w);
    } else if (threadIdx.x == S::WORKERS) {
        const uint32_t bytes = S::SUBTILES * S::PITCH * (w.height + 2) * sizeof(typename S::REAL);
        fetch_all<S>(ring, w, rules.scratch->pace, bytes,
                     [&](const stage_ring<S> &at, const column &c, int plane) {
                         fetch_cells<S>(at, map, w, c, plane);
                     });
    } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE && rules.sums) {
        sum_all<S, true>(view, rules, ring, w, [&](const REAL *stage, const column &c, int) {
            return stage_view<S>{stage, w, c};
        });
    }
    if (rules.sums || w.groups > 0) {
        finish(rules, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

template <typename S>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct coefficients *args, void *d_out,
                         const void *d_in, const struct box *box, bool paced,
                         const struct hip_launch_shape *launch_shape)
{
    typedef typename S::REAL REAL;
    static int64_t blocks_at_a_time = 0; /* a process has one device */
    if (blocks_at_a_time == 0) {
        int64_t blocks = 0;
        const hipError_t error =
            blocks_of_device<S>(reinterpret_cast<const void *>(step_staged<S>), &blocks);
        if (error != hipSuccess) {
            return error;
        }
        blocks_at_a_time = blocks;
    }
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    work w = work_of<S>(box, blocks_at_a_time, S::SHARED_BYTES, paced, launch_shape);
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
    hipError_t hip_launch_step_##name(                                                             \
        hipStream_t stream, struct hip_scratch *d_scratch, const struct layout *layout,            \
        const struct coefficients *args, void *d_out, const void *d_in, const struct box *box,     \
        const struct hip_launch_shape *launch_shape)                                               \
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
                                      const struct coefficients *, void *, const void *,           \
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
