/* A cycle of the multigrid on the smallest grids, in a block, since launches would take longer than
 * cells. */
#include "kernels/hip/multigrid/smooth.h"

enum { STEPS = SMOOTH_STEPS, THREADS = 512 };

/* body(cell, element) for all cells. All threads call; what they have written they all see then. */
template <typename BODY>
static __device__ __forceinline__ void for_cells(const struct multigrid &m, const BODY &body)
{
    const int nx = (int)m.layout.cells[AXIS_X];
    const int ny = (int)m.layout.cells[AXIS_Y];
    const int nz = (int)m.layout.cells[AXIS_Z];
    for (int n = (int)threadIdx.x; n < nx * ny * nz; n += THREADS) {
        const int64_t cell[AXIS_COUNT] = {n % nx, n / nx % ny, n / (nx * ny)};
        body(cell, multigrid_element(&m.layout, cell));
    }
    __syncthreads();
}

/* All steps of a grid that has a thread for each cell. */
static __device__ __forceinline__ void smooth_in_block(const struct cycle_grid &grid,
                                                       const float *weight)
{
    static_assert(CYCLE_SIDE * CYCLE_SIDE * CYCLE_SIDE <= THREADS, "a cell per thread");
    const struct multigrid &m = grid.m;
    const int nx = (int)m.layout.cells[AXIS_X];
    const int ny = (int)m.layout.cells[AXIS_Y];
    const int n = (int)threadIdx.x;
    const bool mine = n < nx * ny * (int)m.layout.cells[AXIS_Z];
    const int64_t cell[AXIS_COUNT] = {n % nx, n / nx % ny, mine ? n / (nx * ny) : 0};
    const int64_t at = multigrid_element(&m.layout, cell);
    const struct multigrid_around around = multigrid_around(&m, cell);
    pair g[AXIS_COUNT];
#pragma unroll
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        g[axis] = m.active[axis] ? line_pair(m, axis, (int)cell[axis]) : pair{0, 0};
    }
    const float inverse = multigrid_inverse(total_of<false>(g, 0));
    const float r = mine ? grid.d_r[at] : 0;
    float c = mine ? grid.d_e[at] : 0;
    for (int step = 0; step < STEPS; step++) {
        const float *const from = step % 2 == 0 ? grid.d_e : grid.d_other;
        float heat = 0;
#pragma unroll
        for (int axis = AXIS_COUNT - 1; axis >= 0; axis--) {
            if (mine && m.active[axis]) {
                heat = flow_of(g[axis], from[at + around.low[axis]], c,
                               from[at + around.high[axis]], heat);
            }
        }
        c = fmaf(weight[step], (r + heat) * inverse, c);
        if (mine) {
            (step % 2 == 0 ? grid.d_other : grid.d_e)[at] = c;
        }
        __syncthreads();
    }
}

static __global__ __launch_bounds__(THREADS) void cycle_in_block(const struct cycle_args a)
{
    __shared__ struct cycle_grid grid[CYCLE_MOST];
    __shared__ float weight[STEPS];
    if (threadIdx.x < STEPS) {
        weight[threadIdx.x] = threadIdx.x < 2 ? (threadIdx.x < 1 ? a.weight[0] : a.weight[1])
                                              : (threadIdx.x < 3 ? a.weight[2] : a.weight[3]);
    }
#pragma unroll
    for (int n = 0; n < CYCLE_MOST; n++) { /* with other indices gfx90a copies all to scratch */
        if ((int)threadIdx.x == n * (THREADS / 16)) {
            grid[n].m = a.grid[n].m;
            grid[n].d_r = a.grid[n].d_r;
            grid[n].d_e = a.grid[n].d_e;
            grid[n].d_other = a.grid[n].d_other;
        }
    }
    __syncthreads();
    const int last = a.count - 1;
    for (int n = 1; n <= last; n++) {
        const struct cycle_grid &fine = grid[n - 1], &coarse = grid[n];
        for_cells(coarse.m, [&](const int64_t(&cell)[AXIS_COUNT], int64_t at) {
            coarse.d_r[at] = multigrid_mean(&fine.m, &coarse.m, fine.d_r, cell);
        });
    }
    for (int n = last; n >= 0; n--) {
        const struct cycle_grid &fine = grid[n], &coarse = grid[n < last ? n + 1 : n];
        for_cells(fine.m, [&](const int64_t(&cell)[AXIS_COUNT], int64_t at) {
            const struct multigrid_around around = multigrid_around(&fine.m, cell);
            fine.d_e[at] = n == last
                               ? multigrid_relaxed(&fine.m, nullptr, fine.d_r, 1, &around, cell, at)
                               : multigrid_interpolated(&coarse.m, coarse.d_e, cell);
        });
        if (n < last) {
            smooth_in_block(fine, weight);
        }
    }
}

enum status hip_load_cycle(void)
{
    LOAD(0, cycle_in_block);
    return STATUS_OK;
}

enum status hip_cycle(struct queue *queue, const struct cycle_args *args)
{
    cycle_in_block<<<1, THREADS, 0, queue->stream>>>(*args);
    return hip_check(hipGetLastError(), "cycle");
}
