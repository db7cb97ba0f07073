/* Interpolation and steps of Jacobi's method on a small grid, where launches take longer than
 * cells: four steps in a pass.
 *
 * A block writes a cube of 8 cells on each axis. It computes these and the four layers around them
 * that they depend on, one layer fewer with each step. A thread has the cells of a column in z, in
 * registers; neighbours in x and y come from shared memory. Beyond closed faces values remain 0;
 * beyond the end of a periodic axis are the cells of the other one. */
#include <string.h>

#include "kernels/hip/field/smooth.h"

enum { STEPS = SMOOTH_STEPS, INNER = CYCLE_SIDE, SIDE = INNER + 2 * STEPS, THREADS = SIDE * SIDE };

struct cubes {
    struct multigrid m, above; /* the grid and the coarse one */
    float weight[STEPS];
    float factor;
    const float *r;
    const float *start; /* of the grid; NULL: interpolate e */
    const float *e;
    float *out;
    int across, up; /* cubes */
};

/* The cells of a thread. */
struct cube_column {
    int64_t x, y;   /* as the arrays have it */
    int z;          /* of the first */
    unsigned cells; /* bit per cell: the grid has it */
    float r[SIDE], inverse[SIDE], e[SIDE];
};

static __device__ __forceinline__ void read_column(const cubes &p, cube_column &c)
{
#pragma unroll
    for (int n = 0; n < SIDE; n++) {
        c.r[n] = 0;
        c.e[n] = 0;
        c.inverse[n] = 0;
        if ((c.cells >> n & 1) != 0) {
            const int64_t cell[AXIS_COUNT] = {c.x, c.y, source_of(p.m, AXIS_Z, c.z + n)};
            const int64_t at = multigrid_element(&p.m.layout, cell);
            c.r[n] = p.r[at];
            c.e[n] = p.start != nullptr ? p.start[at]
                                        : p.factor * multigrid_interpolated(&p.above, p.e, cell);
        }
    }
}

/* The conductances around cell n of a column. */
template <bool LINES, bool SINKS>
static __device__ __forceinline__ void read_around(const cubes &p, const cube_column &c, int n,
                                                   const pair *z_lines, pair (&g)[AXIS_COUNT],
                                                   float &sink)
{
    if (LINES) {
        g[AXIS_Z] = z_lines[n];
        return;
    }
    const int64_t cell[AXIS_COUNT] = {c.x, c.y, source_of(p.m, AXIS_Z, c.z + n)};
    const int64_t at = multigrid_element(&p.m.layout, cell);
    const struct multigrid_around around = multigrid_around(&p.m, cell);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        g[axis] = pair{p.m.d_g[axis][at], p.m.d_g[axis][at + around.high[axis]]};
    }
    if (SINKS) {
        sink = p.m.sink * p.m.d_sink[at];
    }
}

/* Step S + 1 of a column; now, later: its places in the cube before and after. */
template <int S, bool LINES, bool SINKS>
static __device__ __forceinline__ void step_column(const cubes &p, cube_column &c,
                                                   const pair *z_lines, pair (&g)[AXIS_COUNT],
                                                   const float *now, float *later)
{
    float below = c.e[S];
#pragma unroll
    for (int n = S + 1; n < SIDE - 1 - S; n++) {
        const float e = c.e[n];
        const bool has = (c.cells >> n & 1) != 0;
        float after = 0;
        if (has) {
            float sink = 0;
            read_around<LINES, SINKS>(p, c, n, z_lines, g, sink);
            if (S == 0) {
                c.inverse[n] = multigrid_inverse(total_of<SINKS>(g, sink));
            }
            float heat = flow_of(g[AXIS_Z], below, e, c.e[n + 1], SINKS ? -sink * e : 0);
            heat = flow_of(g[AXIS_Y], now[n * THREADS - SIDE], e, now[n * THREADS + SIDE], heat);
            heat = flow_of(g[AXIS_X], now[n * THREADS - 1], e, now[n * THREADS + 1], heat);
            after = fmaf(p.weight[S], (c.r[n] + heat) * c.inverse[n], e);
        }
        below = e;
        c.e[n] = after;
        later[n * THREADS] = after;
    }
}

template <int S, bool LINES, bool SINKS>
static __device__ __forceinline__ void step_columns(const cubes &p, cube_column &c,
                                                    const pair *z_lines, pair (&g)[AXIS_COUNT],
                                                    int tx, int ty, float *now, float *later)
{
    if constexpr (S < STEPS) {
        __syncthreads();
        if (tx > S && tx < SIDE - 1 - S && ty > S && ty < SIDE - 1 - S) {
            step_column<S, LINES, SINKS>(p, c, z_lines, g, now, later);
        }
        step_columns<S + 1, LINES, SINKS>(p, c, z_lines, g, tx, ty, later, now);
    }
}

template <bool LINES, bool SINKS>
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
    c.x = source_of(p.m, AXIS_X, i);
    c.y = source_of(p.m, AXIS_Y, j);
    c.z = cube / (p.across * p.up) * INNER - STEPS;
    c.cells = 0;
    for (int m = 0; m < SIDE; m++) {
        c.cells |= inside && is_cell(p.m, AXIS_Z, c.z + m) ? 1U << m : 0U;
    }
    if (LINES) {
        g[AXIS_X] = line_pair(p.m, AXIS_X, i);
        g[AXIS_Y] = line_pair(p.m, AXIS_Y, j);
        if (threadIdx.x < SIDE) {
            z_lines[threadIdx.x] = line_pair(p.m, AXIS_Z, c.z + (int)threadIdx.x);
        }
    }
    read_column(p, c);
#pragma unroll
    for (int m = 0; m < SIDE; m++) {
        shared[0][m * THREADS + threadIdx.x] = c.e[m];
    }
    step_columns<0, LINES, SINKS>(p, c, z_lines, g, tx, ty, shared[0] + threadIdx.x,
                                  shared[1] + threadIdx.x);
#pragma unroll
    for (int m = STEPS; m < SIDE - STEPS; m++) {
        if (written && c.z + m < (int)n[AXIS_Z]) {
            const int64_t cell[AXIS_COUNT] = {c.x, c.y, c.z + m};
            p.out[multigrid_element(&p.m.layout, cell)] = c.e[m];
        }
    }
}

template <bool LINES, bool SINKS>
static __global__ __launch_bounds__(THREADS) void smooth_cubes(const cubes p)
{
    smooth_cube<LINES, SINKS>(p, (int)blockIdx.x);
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

static __global__ __launch_bounds__(THREADS) void cycle_in_block(const struct cycle_args a)
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
        p.start = nullptr;
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
        smooth_cube<true, false>(p, 0);
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
    const bool lines = args->fine.d_line[0] != nullptr;
    auto *const kernel = lines                          ? smooth_cubes<true, false>
                         : args->fine.d_sink != nullptr ? smooth_cubes<false, true>
                                                        : smooth_cubes<false, false>;
    *done = lines ||
            (args->fine.active[AXIS_X] && args->fine.active[AXIS_Y] && args->fine.active[AXIS_Z]);
    const int across = (int)((n[AXIS_X] + INNER - 1) / INNER);
    const int up = (int)((n[AXIS_Y] + INNER - 1) / INNER);
    const int64_t high = (n[AXIS_Z] + INNER - 1) / INNER;
    cubes p = {args->fine, args->coarse, {},      args->factor, args->d_r,
               nullptr,    args->d_e,    nullptr, across,       up};
    for (int first = 0; first < args->nsteps && *done; first += STEPS) {
        memcpy(p.weight, args->weight + first, sizeof p.weight);
        p.out = first + STEPS < args->nsteps ? args->d_other : args->d_out;
        kernel<<<(unsigned)(across * up * high), THREADS, 0, queue->stream>>>(p);
        TRY(hip_check(hipGetLastError(), "smooth"));
        p.start = p.out;
    }
    return STATUS_OK;
}
