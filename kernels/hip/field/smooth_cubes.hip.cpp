/* Interpolation and four steps of Jacobi's method in a pass over a small grid that has tables along
 * its axes, where launches take longer than cells; and a cycle on the smallest grids in a block.
 *
 * A block writes a cube of 8 cells on each axis. It computes these and the four layers around them
 * that they depend on, one layer fewer with each step. A thread has the cells of a column in z, in
 * registers; neighbours in x and y come from shared memory. Beyond closed faces values remain 0;
 * beyond the end of a periodic axis are the cells of the other one. */
#include <string.h>

#include "kernels/hip/field/smooth.h"

enum { STEPS = SMOOTH_STEPS, INNER = CYCLE_SIDE, SIDE = INNER + 2 * STEPS, THREADS = SIDE * SIDE };

constexpr int LEAST = ARCH_WAVE == 64 ? 4 : 2; /* waves of a SIMD, or blocks */

struct cubes {
    struct multigrid m, above; /* the grid and the coarse one */
    float weight[STEPS];
    float factor;
    const float *r;
    const float *e; /* of the coarse one */
    float *out;
    int across, up; /* cubes */
};

/* The cells of a thread. */
struct cube_column {
    int64_t x, y;   /* as the arrays have it; 0: the grid has none */
    int z;          /* of the first */
    unsigned cells; /* bit per cell: the grid has it */
    float r[SIDE], inverse[SIDE], e[SIDE];
};

/* Cell n of a column, or another one of the grid: without branches many reads are under way. */
static __device__ __forceinline__ int64_t find_cell(const cubes &p, const cube_column &c, int n,
                                                    int64_t (&cell)[AXIS_COUNT])
{
    cell[AXIS_X] = c.x;
    cell[AXIS_Y] = c.y;
    cell[AXIS_Z] = is_cell(p.m, AXIS_Z, c.z + n) ? source_of(p.m, AXIS_Z, c.z + n) : 0;
    return multigrid_element(&p.m.layout, cell);
}

static __device__ __forceinline__ void read_column(const cubes &p, cube_column &c)
{
#pragma unroll
    for (int n = 0; n < SIDE; n++) {
        const bool has = (c.cells >> n & 1) != 0;
        c.r[n] = c.e[n] = 0;
        if (has || ARCH_WAVE < 64) { /* for all reads at once gfx90a has too few registers */
            int64_t cell[AXIS_COUNT];
            const int64_t at = find_cell(p, c, n, cell);
            const float e = p.factor * multigrid_interpolated(&p.above, p.e, cell);
            c.r[n] = p.r[at];
            c.e[n] = has ? e : 0;
        }
    }
}

/* Step S + 1 of a column; now, later: its places in the cube before and after. */
template <int S>
static __device__ __forceinline__ void step_column(const cubes &p, cube_column &c,
                                                   const pair *z_lines, pair (&g)[AXIS_COUNT],
                                                   const float *now, float *later)
{
    float below = c.e[S];
    float z_total = -1;
#pragma unroll
    for (int n = S + 1; n < SIDE - 1 - S; n++) {
        const float e = c.e[n];
        g[AXIS_Z] = z_lines[n];
        if (S == 0) {
            const float z = g[AXIS_Z].low + g[AXIS_Z].high;
            c.inverse[n] =
                z == z_total ? c.inverse[n - 1] : multigrid_inverse(total_of<false>(g, 0));
            z_total = z;
        }
        float heat = flow_of(g[AXIS_Z], below, e, c.e[n + 1], 0);
        heat = flow_of(g[AXIS_Y], now[n * THREADS - SIDE], e, now[n * THREADS + SIDE], heat);
        heat = flow_of(g[AXIS_X], now[n * THREADS - 1], e, now[n * THREADS + 1], heat);
        const float after = fmaf(p.weight[S], (c.r[n] + heat) * c.inverse[n], e);
        below = e;
        c.e[n] = (c.cells >> n & 1) != 0 ? after : 0;
        later[n * THREADS] = c.e[n];
    }
}

template <int S>
static __device__ __forceinline__ void step_columns(const cubes &p, cube_column &c,
                                                    const pair *z_lines, pair (&g)[AXIS_COUNT],
                                                    int tx, int ty, float *now, float *later)
{
    if constexpr (S < STEPS) {
        __syncthreads();
        if (tx > S && tx < SIDE - 1 - S && ty > S && ty < SIDE - 1 - S) {
            step_column<S>(p, c, z_lines, g, now, later);
        }
        step_columns<S + 1>(p, c, z_lines, g, tx, ty, later, now);
    }
}

static __device__ __forceinline__ void smooth_cube(const cubes &p, int cube)
{
    __shared__ float shared[2][SIDE * THREADS];
    __shared__ pair z_lines[SIDE];
    const int64_t *n = p.m.layout.cells;
    const int tx = (int)threadIdx.x % SIDE;
    const int ty = (int)threadIdx.x / SIDE;
    const int i = cube % p.across * INNER - STEPS + tx;
    const int j = cube / p.across % p.up * INNER - STEPS + ty;
    const bool inside = is_cell(p.m, AXIS_X, i) && is_cell(p.m, AXIS_Y, j);
    const bool written = tx >= STEPS && tx < SIDE - STEPS && ty >= STEPS && ty < SIDE - STEPS &&
                         i < (int)n[AXIS_X] && j < (int)n[AXIS_Y];
    cube_column c;
    pair g[AXIS_COUNT];
    c.x = inside ? source_of(p.m, AXIS_X, i) : 0;
    c.y = inside ? source_of(p.m, AXIS_Y, j) : 0;
    c.z = cube / (p.across * p.up) * INNER - STEPS;
    c.cells = 0;
    for (int m = 0; m < SIDE; m++) {
        c.cells |= inside && is_cell(p.m, AXIS_Z, c.z + m) ? 1U << m : 0U;
    }
    g[AXIS_X] = line_pair(p.m, AXIS_X, i);
    g[AXIS_Y] = line_pair(p.m, AXIS_Y, j);
    if (threadIdx.x < SIDE) {
        z_lines[threadIdx.x] = line_pair(p.m, AXIS_Z, c.z + (int)threadIdx.x);
    }
    read_column(p, c);
#pragma unroll
    for (int m = 0; m < SIDE; m++) {
        shared[0][m * THREADS + threadIdx.x] = c.e[m];
    }
    step_columns<0>(p, c, z_lines, g, tx, ty, shared[0] + threadIdx.x, shared[1] + threadIdx.x);
#pragma unroll
    for (int m = STEPS; m < SIDE - STEPS; m++) {
        if (written && c.z + m < (int)n[AXIS_Z]) {
            const int64_t cell[AXIS_COUNT] = {c.x, c.y, c.z + m};
            p.out[multigrid_element(&p.m.layout, cell)] = c.e[m];
        }
    }
}

static __global__ __launch_bounds__(THREADS, LEAST) void smooth_cubes(const cubes p)
{
    smooth_cube(p, (int)blockIdx.x);
}

/* By all threads: word by word. */
template <typename VALUE>
static __device__ __forceinline__ void copy_words(VALUE &to, const VALUE &from)
{
    for (unsigned n = threadIdx.x; n < sizeof to / sizeof(uint32_t); n += THREADS) {
        reinterpret_cast<uint32_t *>(&to)[n] = reinterpret_cast<const uint32_t *>(&from)[n];
    }
}

static __device__ __forceinline__ void average_cube(const struct cycle_grid &fine,
                                                    const struct cycle_grid &coarse)
{
    const int nx = (int)coarse.m.layout.cells[AXIS_X];
    const int ny = (int)coarse.m.layout.cells[AXIS_Y];
    const int nz = (int)coarse.m.layout.cells[AXIS_Z];
    for (int n = (int)threadIdx.x; n < nx * ny * nz; n += THREADS) {
        const int64_t cell[AXIS_COUNT] = {n % nx, n / nx % ny, n / (nx * ny)};
        coarse.d_r[multigrid_element(&coarse.m.layout, cell)] =
            multigrid_mean(&fine.m, &coarse.m, fine.d_r, cell);
    }
}

static __global__ __launch_bounds__(THREADS, LEAST) void cycle_in_block(const struct cycle_args a)
{
    __shared__ struct cycle_grid grid[CYCLE_MOST];
    __shared__ cubes p;
#pragma unroll
    for (int n = 0; n < CYCLE_MOST; n++) { /* with other indices gfx90a copies all to scratch */
        if ((int)threadIdx.x == n * (THREADS / 16)) {
            grid[n].m = a.grid[n].m;
            grid[n].d_r = a.grid[n].d_r;
            grid[n].d_e = a.grid[n].d_e;
        }
    }
    if (threadIdx.x < STEPS) {
        p.weight[threadIdx.x] = threadIdx.x < 2 ? (threadIdx.x < 1 ? a.weight[0] : a.weight[1])
                                                : (threadIdx.x < 3 ? a.weight[2] : a.weight[3]);
    }
    __syncthreads();
    for (int n = 1; n < a.count; n++) {
        average_cube(grid[n - 1], grid[n]);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const struct cycle_grid &last = grid[a.count - 1];
        const int64_t cell[AXIS_COUNT] = {0, 0, 0};
        const struct multigrid_around around = multigrid_around(&last.m, cell);
        last.d_e[last.m.layout.origin] =
            multigrid_relaxed(&last.m, nullptr, last.d_r, 1, &around, cell, last.m.layout.origin);
        p.factor = 1;
        p.across = p.up = 1;
    }
    for (int n = a.count - 2; n >= 0; n--) {
        copy_words(p.m, grid[n].m);
        copy_words(p.above, grid[n + 1].m);
        if (threadIdx.x == 0) {
            p.r = grid[n].d_r;
            p.e = grid[n + 1].d_e;
            p.out = grid[n].d_e;
        }
        __syncthreads();
        smooth_cube(p, 0);
        __syncthreads();
    }
}

enum status hip_cycle(struct queue *queue, const struct cycle_args *args)
{
    cycle_in_block<<<1, THREADS, 0, queue->stream>>>(*args);
    return hip_check(hipGetLastError(), "cycle");
}

enum status hip_ascend_cubes(struct queue *queue, const struct ascend_args *args, bool *done)
{
    const int64_t *n = args->fine.layout.cells;
    const int across = (int)((n[AXIS_X] + INNER - 1) / INNER);
    const int up = (int)((n[AXIS_Y] + INNER - 1) / INNER);
    const int64_t high = (n[AXIS_Z] + INNER - 1) / INNER;
    cubes p = {args->fine,  args->coarse, {}, args->factor, args->d_r, args->d_e,
               args->d_out, across,       up};
    *done = args->fine.d_line[0] != nullptr && args->nsteps == STEPS;
    if (!*done) {
        return STATUS_OK;
    }
    memcpy(p.weight, args->weight, sizeof p.weight);
    smooth_cubes<<<(unsigned)(across * up * high), THREADS, 0, queue->stream>>>(p);
    return hip_check(hipGetLastError(), "smooth");
}
