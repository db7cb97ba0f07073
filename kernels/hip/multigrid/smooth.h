/* What the kernels share that take four steps of Jacobi's method in a pass. */
#pragma once

/* first: it defines __device__ and KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/cell/multigrid_cell.h"
#include "kernels/hip/host/device_hip.h"

enum { SMOOTH_STEPS = 4 };

/* Interpolation and the steps of args, in one pass; *done: false: not of such a grid. */
enum status hip_ascend_staged(struct queue *queue, const struct ascend_args *args, bool *done);

/* Steps of Jacobi's method, as many as SMOOTH_STEPS, from d_e to d_out. */
struct smooth_pass {
    const struct multigrid *m;
    const float *weight;
    const float *d_r, *d_e;
    float *d_out;
};
/* These load the kernels of their files, those with shared memory once. */
enum status hip_load_smooth(void);
enum status hip_load_smooth_faces(void);
enum status hip_load_smooth_staged(void);
enum status hip_load_transfers(void);
enum status hip_load_cycle(void);
#define LOAD(bytes, ...) TRY(hip_load(reinterpret_cast<const void *>(__VA_ARGS__), bytes))

/* *done: false: not of such a grid. */
enum status hip_smooth_faces(struct queue *queue, const struct smooth_pass *pass, bool *done);

/* The conductances of the lower and the upper face. */
struct alignas(8) pair {
    float low, high;
};

static __device__ __forceinline__ float flow_of(const pair &g, float low, float c, float high,
                                                float heat)
{
    return fmaf(g.low, low - c, fmaf(g.high, high - c, heat));
}

/* The index of cell `at`, which may be beyond the ends of the axis, where the arrays have it. */
static __device__ __forceinline__ int source_of(const struct multigrid &m, int axis, int at)
{
    const int n = (int)m.layout.cells[axis];
    if (m.wraps[axis]) {
        const int rest = at % n;
        return rest < 0 ? rest + n : rest;
    }
    return at < -1 ? -1 : at > n ? n : at;
}

static __device__ __forceinline__ bool is_cell(const struct multigrid &m, int axis, int at)
{
    return m.wraps[axis] || (at >= 0 && at < (int)m.layout.cells[axis]);
}

static __device__ __forceinline__ pair line_pair(const struct multigrid &m, int axis, int at)
{
    const int source = source_of(m, axis, at);
    return !is_cell(m, axis, at) ? pair{0, 0}
                                 : pair{multigrid_line(&m, axis, LINE_LOW, source),
                                        multigrid_line(&m, axis, LINE_HIGH, source)};
}

/* As multigrid_flow has it. */
template <bool SINKS>
static __device__ __forceinline__ float total_of(const pair (&g)[AXIS_COUNT], float sink)
{
    const float z = g[AXIS_Z].low + g[AXIS_Z].high;
    return (SINKS ? sink + z : z) + (g[AXIS_Y].low + g[AXIS_Y].high) +
           (g[AXIS_X].low + g[AXIS_X].high);
}

/* Each processor has one block at a time: the depth with the fewest planes one after another. */
static inline int smooth_depth(int tiles, int planes, int processors)
{
    int64_t least = INT64_MAX;
    int best = planes;
    for (int parts = 1; parts == 1 || planes / parts >= 2 * SMOOTH_STEPS; parts++) {
        const int depth = (planes + parts - 1) / parts;
        const int64_t rounds = ((int64_t)tiles * parts + processors - 1) / processors;
        const int64_t time = rounds * (depth + 2 * SMOOTH_STEPS);
        if (time < least) {
            least = time;
            best = depth;
        }
    }
    return best;
}
