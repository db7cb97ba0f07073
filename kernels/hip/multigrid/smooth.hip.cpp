/* Four steps of Jacobi's method in a pass over a grid that has all cells.
 *
 * A block marches in z through a tile of WIDE by HIGH cells. When it has plane k of e, it computes
 * plane k - 1 after one step, plane k - 2 after two, ..., and plane k - 4, which it writes but for
 * four cells at each edge. A thread keeps its cells of each step, in the plane at hand and the one
 * below, in registers; neighbours in x and y come from shared memory, where each step has the plane
 * of this round and of the one before, so that one barrier per plane is enough. Beyond closed faces
 * values remain 0; beyond the end of a periodic axis are the cells of the other one. */
#include "kernels/hip/multigrid/smooth.h"

enum { STEPS = SMOOTH_STEPS, WIDE = 64, TALL = 8, THREADS = WIDE * TALL };
constexpr int ROWS = ARCH_WAVE == 64 ? 3 : 4; /* of a thread: as shared memory allows */
constexpr int HIGH = TALL * ROWS;
constexpr int PLANE = (HIGH + 2) * WIDE + 2; /* with unused neighbours of the edges */
constexpr int SHARED_BYTES = 2 * STEPS * PLANE * (int)sizeof(float);

struct smoothing {
    struct multigrid m;
    float weight[STEPS];
    const float *r, *e;
    float *out;
    int across, up; /* tiles */
    int depth;      /* planes of a block */
};

/* The cells of a thread in any plane. */
struct column {
    int at[ROWS + 1]; /* elements from the first of the plane, and those of the row after */
    int next;         /* elements to the neighbour in x */
    unsigned cells;   /* bit per row: the grid has it */
};

static __device__ __forceinline__ column column_of(const struct multigrid &m, int i, int j)
{
    const int x = source_of(m, AXIS_X, i);
    column c = {{}, source_of(m, AXIS_X, i + 1) - x, 0};
#pragma unroll
    for (int n = 0; n <= ROWS; n++) {
        c.at[n] = x + source_of(m, AXIS_Y, j + n) * (int)m.layout.pitch_y;
        if (n < ROWS && is_cell(m, AXIS_X, i) && is_cell(m, AXIS_Y, j + n)) {
            c.cells |= 1U << n;
        }
    }
    return c;
}

static __device__ __forceinline__ int64_t plane_of(const struct multigrid &m, int k)
{
    return m.layout.origin + source_of(m, AXIS_Z, k) * m.layout.pitch_z;
}

/* A value of each cell of a thread in a plane. */
struct rows {
    float of[ROWS];
};

static __device__ __forceinline__ rows read_plane(const float *values, int64_t plane,
                                                  const column &column)
{
    rows read;
#pragma unroll
    for (int n = 0; n < ROWS; n++) {
        read.of[n] = values[plane + column.at[n]];
    }
    return read;
}

/* The conductances around the cells of a thread, in a plane. HOLDS: of all planes that the steps
 * are at in registers, where there are enough and caches are small. */
template <bool LINES, bool SINKS, bool HOLDS = ARCH_WAVE == 64> struct surroundings;

template <bool HOLDS> struct surroundings<true, false, HOLDS> {
    pair x, y[ROWS], z[STEPS]; /* of the planes that the steps are at */
    pair next;                 /* of z, one round ahead */

    __device__ __forceinline__ surroundings(const struct multigrid &m, const column &, int i, int j,
                                            int k)
        : z()
    {
        next = line_pair(m, AXIS_Z, k - 1);
        x = line_pair(m, AXIS_X, i);
#pragma unroll
        for (int n = 0; n < ROWS; n++) {
            y[n] = line_pair(m, AXIS_Y, j + n);
        }
    }
    __device__ __forceinline__ void shift(const struct multigrid &m, const column &, int k)
    {
#pragma unroll
        for (int s = STEPS - 1; s > 0; s--) {
            z[s] = z[s - 1];
        }
        z[0] = next;
        next = line_pair(m, AXIS_Z, k);
    }
    __device__ __forceinline__ void enter(const struct multigrid &, int)
    {
    }
    template <int S>
    __device__ __forceinline__ void read(const struct multigrid &, const column &, int n,
                                         pair (&g)[AXIS_COUNT]) const
    {
        g[AXIS_X] = x;
        g[AXIS_Y] = y[n];
        g[AXIS_Z] = z[S];
    }
};

template <bool SINKS> struct surroundings<false, SINKS, true> {
    /* of the next plane, and of those that the steps are at; z: of the two next ones */
    rows x[STEPS + 1], x_high[STEPS + 1], z[STEPS + 2], sinks[STEPS + 1];
    float y[STEPS + 1][ROWS + 1];

    __device__ __forceinline__ surroundings(const struct multigrid &, const column &, int, int, int)
        : x(), x_high(), z(), sinks(), y()
    {
    }
    template <int N, typename PLANE> static __device__ __forceinline__ void shift(PLANE (&of)[N])
    {
#pragma unroll
        for (int n = N - 1; n > 0; n--) {
            of[n] = of[n - 1];
        }
    }
    __device__ __forceinline__ void shift(const struct multigrid &m, const column &c, int k)
    {
        const int64_t plane = plane_of(m, k);
        shift(x);
        shift(x_high);
        shift(z);
#pragma unroll
        for (int s = STEPS; s > 0; s--) {
#pragma unroll
            for (int n = 0; n <= ROWS; n++) {
                y[s][n] = y[s - 1][n];
            }
        }
        x[0] = read_plane(m.d_g[AXIS_X], plane, c);
        x_high[0] = read_plane(m.d_g[AXIS_X] + c.next, plane, c);
        z[0] = read_plane(m.d_g[AXIS_Z], plane_of(m, k + 1), c);
#pragma unroll
        for (int n = 0; n <= ROWS; n++) {
            y[0][n] = m.d_g[AXIS_Y][plane + c.at[n]];
        }
        if constexpr (SINKS) {
            shift(sinks);
            sinks[0] = read_plane(m.d_sink, plane, c);
        }
    }
    __device__ __forceinline__ void enter(const struct multigrid &, int)
    {
    }
    template <int S>
    __device__ __forceinline__ float sink(const struct multigrid &m, const column &, int n) const
    {
        return m.sink * sinks[S + 1].of[n];
    }
    template <int S>
    __device__ __forceinline__ void read(const struct multigrid &, const column &, int n,
                                         pair (&g)[AXIS_COUNT]) const
    {
        g[AXIS_X] = pair{x[S + 1].of[n], x_high[S + 1].of[n]};
        g[AXIS_Y] = pair{y[S + 1][n], y[S + 1][n + 1]};
        g[AXIS_Z] = pair{z[S + 2].of[n], z[S + 1].of[n]};
    }
};

template <bool SINKS> struct surroundings<false, SINKS, false> {
    int64_t plane, above;

    __device__ __forceinline__ surroundings(const struct multigrid &, const column &, int, int, int)
        : plane(0), above(0)
    {
    }
    __device__ __forceinline__ void shift(const struct multigrid &, const column &, int)
    {
    }
    __device__ __forceinline__ void enter(const struct multigrid &m, int k)
    {
        plane = plane_of(m, k);
        above = plane_of(m, k + 1);
    }
    template <int S>
    __device__ __forceinline__ float sink(const struct multigrid &m, const column &c, int n) const
    {
        return m.sink * m.d_sink[plane + c.at[n]];
    }
    template <int S>
    __device__ __forceinline__ void read(const struct multigrid &m, const column &c, int n,
                                         pair (&g)[AXIS_COUNT]) const
    {
        const float *const x = m.d_g[AXIS_X] + plane;
        const float *const y = m.d_g[AXIS_Y] + plane;
        g[AXIS_X] = pair{x[c.at[n]], x[c.at[n] + c.next]};
        g[AXIS_Y] = pair{y[c.at[n]], y[c.at[n + 1]]};
        g[AXIS_Z] = pair{m.d_g[AXIS_Z][plane + c.at[n]], m.d_g[AXIS_Z][above + c.at[n]]};
    }
};

/* What a thread keeps of its cells. */
struct kept {
    rows below[STEPS], centre[STEPS]; /* after s steps, in the plane that step s + 1 is at */
    rows r[STEPS], inverse[STEPS];    /* of the planes that the steps are at */
    float z_total;                    /* of the last inverse */
};

/* One more step in a plane: `above` has the plane after it. */
template <int S, bool LINES, bool SINKS>
static __device__ __forceinline__ rows stepped(const smoothing &p,
                                               const surroundings<LINES, SINKS> &around,
                                               const column &column, kept &kept, const rows &above,
                                               const float *row, unsigned cells)
{
    const rows &centre = kept.centre[S];
    const float low_row = row[-WIDE];
    const float high_row = row[ROWS * WIDE];
    rows after;
#pragma unroll
    for (int n = 0; n < ROWS; n++) {
        pair g[AXIS_COUNT];
        around.template read<S>(p.m, column, n, g);
        float sink = 0;
        if constexpr (SINKS) {
            sink = around.template sink<S>(p.m, column, n);
        }
        if (S == 0 && (!LINES || g[AXIS_Z].low + g[AXIS_Z].high != kept.z_total)) {
            kept.inverse[0].of[n] = multigrid_inverse(total_of<SINKS>(g, sink));
        }
        const float c = centre.of[n];
        const float y_low = n > 0 ? centre.of[n > 0 ? n - 1 : 0] : low_row;
        const float y_high = n < ROWS - 1 ? centre.of[n < ROWS - 1 ? n + 1 : 0] : high_row;
        const float out = SINKS ? -sink * c : 0;
        float heat = flow_of(g[AXIS_Z], kept.below[S].of[n], c, above.of[n], out);
        heat = flow_of(g[AXIS_Y], y_low, c, y_high, heat);
        heat = flow_of(g[AXIS_X], row[n * WIDE - 1], c, row[n * WIDE + 1], heat);
        const float change = (kept.r[S].of[n] + heat) * kept.inverse[S].of[n];
        after.of[n] = cells >> n & 1 ? fmaf(p.weight[S], change, c) : 0;
    }
    return after;
}

/* Step S + 1 of plane k - 1 - S and those after it; `value` is that of plane k - S after S steps,
 * and becomes that of plane k - STEPS after all. */
template <int S, bool LINES, bool SINKS>
static __device__ __forceinline__ void advance(const smoothing &p,
                                               surroundings<LINES, SINKS> &around,
                                               const column &column, kept &kept, int k,
                                               const float *now, float *later, rows &value)
{
    if constexpr (S < STEPS) {
        const unsigned cells = is_cell(p.m, AXIS_Z, k - 1 - S) ? column.cells : 0;
        around.enter(p.m, k - 1 - S);
        const rows after =
            stepped<S, LINES, SINKS>(p, around, column, kept, value, now + S * PLANE, cells);
        if constexpr (LINES && S == 0) {
            kept.z_total = around.z[0].low + around.z[0].high;
        }
        kept.below[S] = kept.centre[S];
        kept.centre[S] = value;
#pragma unroll
        for (int n = 0; n < ROWS; n++) {
            later[S * PLANE + n * WIDE] = value.of[n];
        }
        value = after;
        advance<S + 1, LINES, SINKS>(p, around, column, kept, k, now, later, value);
    }
}

/* The planes of r and of 1 / (sum of conductances) belong to the next step. */
static __device__ __forceinline__ void shift(kept &kept, const rows &r)
{
#pragma unroll
    for (int s = STEPS - 1; s > 0; s--) {
        kept.r[s] = kept.r[s - 1];
        kept.inverse[s] = kept.inverse[s - 1];
    }
    kept.r[0] = r;
}

template <bool LINES, bool SINKS>
static __global__ __launch_bounds__(THREADS) void smooth_tile(const smoothing p)
{
    extern __shared__ __attribute__((aligned(16))) float shared[];
    const struct multigrid &m = p.m;
    const int tile = (int)blockIdx.x % (p.across * p.up);
    const int tx = (int)threadIdx.x % WIDE;
    const int ty = (int)threadIdx.x / WIDE * ROWS;
    const int i = tile % p.across * (WIDE - 2 * STEPS) - STEPS + tx;
    const int j = tile / p.across * (HIGH - 2 * STEPS) - STEPS + ty;
    const int nz = (int)m.layout.cells[AXIS_Z];
    const int begin = (int)blockIdx.x / (p.across * p.up) * p.depth;
    const int end = begin + p.depth < nz ? begin + p.depth : nz;
    const int first = m.wraps[AXIS_Z] || begin > STEPS ? begin - STEPS : -1;
    const bool written = tx >= STEPS && tx < WIDE - STEPS && i < (int)m.layout.cells[AXIS_X];
    const column column = column_of(m, i, j);
    surroundings<LINES, SINKS> around(m, column, i, j, first);
    kept kept = {};
    kept.z_total = -1;
    float *now = shared + 1 + (ty + 1) * WIDE + tx;
    float *later = now + STEPS * PLANE;
    rows e_next = read_plane(p.e, plane_of(m, first), column);
    rows r_next = {};
    for (int n = 0; n < STEPS * ROWS; n++) {
        now[n / ROWS * PLANE + n % ROWS * WIDE] = 0;
    }
    __syncthreads();
    for (int k = first; k < end + STEPS; k++) {
        rows value = e_next;
        shift(kept, r_next);
        around.shift(m, column, k);
        r_next = read_plane(p.r, plane_of(m, k), column);
        e_next = read_plane(p.e, plane_of(m, k + 1), column);
        advance<0, LINES, SINKS>(p, around, column, kept, k, now, later, value);
        const int64_t done = m.layout.origin + (k - STEPS) * m.layout.pitch_z;
#pragma unroll
        for (int n = 0; n < ROWS; n++) {
            if (k - STEPS >= begin && written && ty + n >= STEPS && ty + n < HIGH - STEPS &&
                j + n < (int)m.layout.cells[AXIS_Y]) {
                p.out[done + column.at[n]] = value.of[n];
            }
        }
        __syncthreads();
        float *const swap = now;
        now = later;
        later = swap;
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* With fewer cells, kernels of one step each take less time than planes that blocks read in vain.
 */
static const int64_t fewest_cells = 1 << 18;

typedef void smooth_kernel(const smoothing p);

static smooth_kernel *kernel_of(const struct multigrid &m)
{
    return m.d_line[0] != nullptr ? smooth_tile<true, false>
           : m.d_sink != nullptr  ? smooth_tile<false, true>
                                  : smooth_tile<false, false>;
}

enum status hip_load_smooth(void)
{
    static bool done = false;
    if (!done) {
        LOAD(SHARED_BYTES, smooth_tile<true, false>);
        LOAD(SHARED_BYTES, smooth_tile<false, false>);
        LOAD(SHARED_BYTES, smooth_tile<false, true>);
        done = true;
    }
    return STATUS_OK;
}

static enum status smooth(struct queue *queue, const struct smooth_pass *pass)
{
    const int64_t *n = pass->m->layout.cells;
    int processors = 0;
    bool done = false;
    TRY(hip_smooth_faces(queue, pass, &done));
    if (done) {
        return STATUS_OK;
    }
    TRY(hip_count_processors(&processors));
    TRY(hip_load_smooth());
    smoothing p = {*pass->m, {}, pass->d_r, pass->d_e, pass->d_out, 0, 0, 0};
    for (int s = 0; s < STEPS; s++) {
        p.weight[s] = pass->weight[s];
    }
    p.across = (int)((n[AXIS_X] + WIDE - 2 * STEPS - 1) / (WIDE - 2 * STEPS));
    p.up = (int)((n[AXIS_Y] + HIGH - 2 * STEPS - 1) / (HIGH - 2 * STEPS));
    p.depth = smooth_depth(p.across * p.up, (int)n[AXIS_Z], processors);
    const int64_t parts = (n[AXIS_Z] + p.depth - 1) / p.depth;
    const unsigned nblocks = (unsigned)(p.across * p.up * parts);
    smooth_kernel *const kernel = kernel_of(p.m);
    kernel<<<nblocks, THREADS, SHARED_BYTES, queue->stream>>>(p);
    return hip_check(hipGetLastError(), "smooth");
}

static enum status relax(struct queue *queue, const struct ascend_args *args, int step,
                         const float *d_e, float *d_out)
{
    const struct relax_args one = {args->fine, args->weight[step], args->d_r, d_e, d_out};
    return hip_relax(queue, &one);
}

enum status hip_ascend(struct queue *queue, const struct ascend_args *args)
{
    const struct layout *layout = &args->fine.layout;
    const bool *active = args->fine.active;
    const bool fused = active[AXIS_X] && active[AXIS_Y] && active[AXIS_Z] &&
                       layout->cells[0] * layout->cells[1] * layout->cells[2] >= fewest_cells &&
                       layout->pitch_z < INT32_MAX;
    bool done = false;
    TRY(fused ? hip_ascend_staged(queue, args, &done) : STATUS_OK);
    if (done) {
        return STATUS_OK;
    }
    const int passes = fused ? args->nsteps / STEPS : args->nsteps;
    float *d_to = passes % 2 == 0 ? args->d_out : args->d_other;
    float *d_from = nullptr;
    const struct interpolate_args start = {args->fine, args->coarse, args->factor, args->d_e, d_to};
    TRY(hip_interpolate(queue, &start));
    for (int n = 0; n < passes; n++) {
        d_from = d_to;
        d_to = d_to == args->d_out ? args->d_other : args->d_out;
        const struct smooth_pass pass = {&args->fine, args->weight + n * STEPS, args->d_r, d_from,
                                         d_to};
        TRY(fused ? smooth(queue, &pass) : relax(queue, args, n, d_from, d_to));
    }
    return STATUS_OK;
}
