/* Interpolation and four steps of Jacobi's method in a pass over a grid that has tables along its
 * axes and closed faces, on chips that copy tiles into shared memory.
 *
 * As in ../schedule/deep/steps_staged_kernel.h a block marches in z through a tile of 24 rows of 32
 * vectors, and each of its 12 waves has 2 rows: neighbours in x come from other lanes, those in y
 * from registers or, at the rows between waves, from shared memory, in two parities, so that a
 * plane needs one barrier. The copy engine loads planes of r, and of the coarse grid, from which
 * each wave interpolates its rows of level 0 into a ring of three planes. What a level computes
 * within l cells of the tile's edge is wrong and reaches no cell that is written. */
#include "kernels/hip/field/smooth.h"

#if ARCH_HAS_TILE_COPY

constexpr int T = SMOOTH_STEPS, V = 4, ROWS = 2, WAVES = 12, THREADS = WAVES * ARCH_WAVE;
constexpr int TX = ARCH_WAVE * V, TY = WAVES * ROWS;
constexpr int HALO_X = V, HALO_Y = T - 1, STEP_X = TX - 2 * HALO_X, STEP_Y = TY - 2 * HALO_Y;
/* Tiles begin at even cells. Of level 0 there is a row more on either side. */
constexpr int ABOVE_Y = HALO_Y + 1;
/* Coarse tiles begin before: copies are of whole vectors, and faster where tiles begin at 32 bytes.
 */
constexpr int COARSE_LEFT = 4, COARSE_X = TX / 2 + 2 * COARSE_LEFT, COARSE_Y = TY / 2 + 2;
constexpr int ABOVE_X = 2 * HALO_X;
/* Planes in shared memory, requested two rounds before they are needed. */
constexpr int R_STAGES = 6, E_STAGES = 3, COARSE_STAGES = 4, AHEAD = 2;
/* For fewer, steps of other kernels take less time than planes that blocks read in vain. */
enum { LEAST_TILES = 24 };
/* In elements. */
constexpr int R_STAGE = TX * TY, E_STAGE = TX * (TY + 2),
              COARSE_STAGE = (COARSE_X * COARSE_Y + 31) / 32 * 32;
constexpr int LEVEL = 2 * WAVES * TX; /* of the first and the last row of each wave */
constexpr int AT_COARSE = R_STAGES * R_STAGE, AT_E = AT_COARSE + COARSE_STAGES * COARSE_STAGE;
constexpr int AT_EDGES = AT_E + E_STAGES * E_STAGE, AT_LINES = AT_EDGES + 2 * (T - 1) * LEVEL;
/* weights of x and, from the row before the tile on, of y, and the conductances of y */
constexpr int AT_WEIGHT_Y = AT_LINES + TX, AT_Y = AT_WEIGHT_Y + TY + 2, AT_ARRIVALS = AT_Y + 2 * TY;
constexpr int SHARED_BYTES = AT_ARRIVALS * (int)sizeof(float) + R_STAGES * 8;
static_assert(COARSE_STAGE >= COARSE_X * COARSE_Y && COARSE_STAGE % 32 == 0, "as copies need");

typedef vec16<float> cells;

struct staged_smoothing {
    arch_tile_map r, coarse;
    struct multigrid m, above; /* the grid and the coarse one */
    float weight[T], factor;
    float *out;
    int across, up; /* tiles */
    int depth;      /* planes of a block */
};

static __device__ __forceinline__ bool is_inside(const struct multigrid &m, int axis, int at)
{
    return at >= 0 && at < (int)m.layout.cells[axis];
}

static __device__ __forceinline__ pair pair_at(const struct multigrid &m, int axis, int at)
{
    return !is_inside(m, axis, at) ? pair{0, 0}
                                   : pair{multigrid_line(&m, axis, LINE_LOW, at),
                                          multigrid_line(&m, axis, LINE_HIGH, at)};
}

/* The weight, in a fine cell, of the coarse cell beside its own. */
static __device__ __forceinline__ float weight_at(const staged_smoothing &p, int axis, int at)
{
    return !is_inside(p.m, axis, at)
               ? 0
               : multigrid_line(&p.above, axis, LINE_WEIGHT_LOW + (at & 1), at >> 1);
}

static __device__ __forceinline__ cells &cells_at(float *shared)
{
    return *reinterpret_cast<cells *>(shared);
}

/* A wave's rows of a tile. */
struct smoother {
    const staged_smoothing &p;
    float *shared;
    int i, j; /* my first cell */
    int lane, wave;
    unsigned inside;  /* bit per cell of my vectors and, from V, row, from the one before mine on */
    unsigned written; /* bit per row: all cells of its vector are; from ROWS on: a part */
    int begin, end;   /* planes that are written */
    float *to;        /* my first cell in the plane that is complete */
    pair x[V], z[T], z_next;         /* of z: of the planes that the steps are at */
    float inverse[ROWS][V], z_total; /* where z has this sum */
    /* levels 1 to T - 1, in the plane that the next step is at and the one below */
    cells one[T - 1][ROWS], two[T - 1][ROWS];

    /* In shared memory, to spare registers. */
    __device__ __forceinline__ pair y_of(int row) const
    {
        return reinterpret_cast<const pair *>(shared + AT_Y)[wave * ROWS + row];
    }

    __device__ __forceinline__ float total(const pair &z_pair, int row, int n) const
    {
        const pair y = y_of(row);
        return (z_pair.low + z_pair.high) + (y.low + y.high) + (x[n].low + x[n].high);
    }
    __device__ __forceinline__ bool has(int row, int n) const
    {
        return (inside >> n & 1) != 0 && (inside >> (V + 1 + row) & 1) != 0;
    }
    __device__ __forceinline__ float inverse_of(const pair &z_pair, int row, int n) const
    {
        return has(row, n) ? multigrid_inverse(total(z_pair, row, n)) : 0;
    }

    __device__ __forceinline__ void begin_column()
    {
        inside = 0;
        for (int n = 0; n < V; n++) {
            inside |= is_inside(p.m, AXIS_X, i + n) ? 1U << n : 0U;
            x[n] = pair_at(p.m, AXIS_X, i + n);
        }
        for (int row = -1; row <= ROWS; row++) {
            inside |= is_inside(p.m, AXIS_Y, j + row) ? 1U << (V + 1 + row) : 0U;
        }
        written = 0;
        for (int row = 0; row < ROWS && lane > 0 && lane < ARCH_WAVE - 1; row++) {
            const int at = wave * ROWS + row;
            if (at >= HALO_Y && at < TY - HALO_Y && (inside >> (V + 1 + row) & 1) != 0) {
                const bool all = (inside & ((1U << V) - 1)) == (1U << V) - 1;
                written |= 1U << (all ? row : ROWS + row);
            }
        }
        const pair middle = pair_at(p.m, AXIS_Z, (begin + end) / 2);
        z_total = middle.low + middle.high;
        for (int row = 0; row < ROWS; row++) {
            for (int n = 0; n < V; n++) {
                inverse[row][n] = inverse_of(middle, row, n);
            }
        }
    }

    /* A row of the coarse tile at my cells in x; w: their weights. */
    __device__ __forceinline__ cells across(const float *tile, int row, const cells &w) const
    {
        const pair *at = reinterpret_cast<const pair *>(tile + row * COARSE_X + COARSE_LEFT) + lane;
        const float before = at[-1].high;
        const pair own = at[0];
        const float after = at[1].low;
        return {fmaf(w.v[0], before - own.low, own.low), fmaf(w.v[1], own.high - own.low, own.low),
                fmaf(w.v[2], own.low - own.high, own.high),
                fmaf(w.v[3], after - own.high, own.high)};
    }
    /* Level 0 of a row, -1 to ROWS, from rows of the coarse planes. */
    template <int ROW>
    __device__ __forceinline__ void interpolate(const cells (&own)[ROWS / 2 + 2],
                                                const cells (&beside)[ROWS / 2 + 2], float weight,
                                                bool is_plane, float *to) const
    {
        constexpr int FROM = (ROW + 2) / 2, OTHER = FROM + ((ROW & 1) != 0 ? 1 : -1);
        const float w = shared[AT_WEIGHT_Y + wave * ROWS + ROW + 1];
        cells o;
#pragma unroll
        for (int n = 0; n < V; n++) {
            const float a = own[FROM].v[n];
            const float b = beside[FROM].v[n];
            const float here = fmaf(w, own[OTHER].v[n] - a, a);
            const float there = fmaf(w, beside[OTHER].v[n] - b, b);
            const float value = p.factor * fmaf(weight, there - here, here);
            o.v[n] = is_plane && has(ROW, n) ? value : 0;
        }
        cells_at(to + ROW * TX) = o;
    }
    __device__ __forceinline__ void interpolate_plane(int k, float *to) const
    {
        const bool is_plane = is_inside(p.m, AXIS_Z, k);
        const int at = k >> 1;
        const int other = (k & 1) != 0 ? at + 1 : at - 1;
        const float *const planes = shared + AT_COARSE + wave * (ROWS / 2) * COARSE_X;
        const float weight = weight_at(p, AXIS_Z, k);
        const cells w = cells_at(shared + AT_LINES + lane * V);
        cells own[ROWS / 2 + 2], beside[ROWS / 2 + 2];
#pragma unroll
        for (int row = 0; row < ROWS / 2 + 2; row++) {
            own[row] = across(planes + (at & (COARSE_STAGES - 1)) * COARSE_STAGE, row, w);
            beside[row] = across(planes + (other & (COARSE_STAGES - 1)) * COARSE_STAGE, row, w);
        }
        interpolate<0>(own, beside, weight, is_plane, to);
        interpolate<1>(own, beside, weight, is_plane, to);
        if (wave == 0) {
            interpolate<-1>(own, beside, weight, is_plane, to);
        } else if (wave == WAVES - 1) {
            interpolate<ROWS>(own, beside, weight, is_plane, to);
        }
    }

    /* My cells of a row in the plane that is complete. */
    __device__ __forceinline__ void store(const cells &o, int row) const
    {
        float *const at = to + row * p.m.layout.pitch_y;
        if ((written >> row & 1) != 0) {
            arch_store_stream(at, o);
        } else if ((written >> (ROWS + row) & 1) != 0) { /* a part */
            for (int n = 0; n < V; n++) {
                if ((inside >> n & 1) != 0) {
                    at[n] = o.v[n];
                }
            }
        }
    }

    /* Plane k of level 0, and plane k - l of level l. PLAIN: z has the sum z_total in each, and
     * they are planes of the grid. r: the planes that the steps are at; e: of level 0, above, here,
     * below. */
    template <bool ODD, bool PLAIN>
    __device__ __forceinline__ void advance(int k, float *const (&r)[T], float *const (&e)[3])
    {
        cells(&lower)[T - 1][ROWS] = ODD ? two : one;
        cells(&middle)[T - 1][ROWS] = ODD ? one : two;
        float *const edges = shared + AT_EDGES + lane * V;
        float *const now = edges + (ODD ? 0 : (T - 1) * LEVEL);
        float *const later = edges + (ODD ? (T - 1) * LEVEL : 0);
        const int before = wave > 0 ? wave - 1 : 0;
        const int after = wave < WAVES - 1 ? wave + 1 : wave;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const pair y = y_of(row);
            cells fresh = cells_at(e[0] + row * TX);
#pragma unroll
            for (int l = 0; l < T; l++) {
                cells c, lo, front, back;
                const cells hi = fresh;
                if (l == 0) {
                    c = cells_at(e[1] + row * TX);
                    lo = cells_at(e[2] + row * TX);
                    front = cells_at(e[1] + (row - 1) * TX);
                    back = cells_at(e[1] + (row + 1) * TX);
                } else {
                    const int of = l > 0 ? l - 1 : 0;
                    c = middle[of][row];
                    lo = lower[of][row];
                    front = row > 0 ? middle[of][row > 0 ? row - 1 : 0]
                                    : cells_at(now + of * LEVEL + (2 * before + 1) * TX);
                    back = row < ROWS - 1 ? middle[of][row < ROWS - 1 ? row + 1 : row]
                                          : cells_at(now + of * LEVEL + 2 * after * TX);
                    lower[of][row] = hi;
                }
                const cells heat_in = cells_at(r[l] + row * TX);
                const float left = arch_shift_up(c.v[V - 1], 1);
                const float right = arch_shift_down(c.v[0], 1);
#pragma unroll
                for (int n = 0; n < V; n++) {
                    float heat = flow_of(z[l], lo.v[n], c.v[n], hi.v[n], 0);
                    heat = flow_of(y, front.v[n], c.v[n], back.v[n], heat);
                    heat = flow_of(x[n], n > 0 ? c.v[n > 0 ? n - 1 : 0] : left, c.v[n],
                                   n < V - 1 ? c.v[n < V - 1 ? n + 1 : n] : right, heat);
                    const float inv = PLAIN ? inverse[row][n] : inverse_of(z[l], row, n);
                    const float value = fmaf(p.weight[l], (heat_in.v[n] + heat) * inv, c.v[n]);
                    const bool is_one = PLAIN || (is_inside(p.m, AXIS_Z, k - 1 - l) && has(row, n));
                    fresh.v[n] = is_one ? value : 0;
                }
                if (l + 1 < T && (row == 0 || row == ROWS - 1)) {
                    cells_at(later + l * LEVEL + (2 * wave + (row > 0 ? 1 : 0)) * TX) = fresh;
                }
            }
            if (k - T >= begin && k - T < end) {
                store(fresh, row);
            }
        }
    }

    __device__ __forceinline__ bool is_plain(int k) const
    {
        bool plain = is_inside(p.m, AXIS_Z, k - T) && is_inside(p.m, AXIS_Z, k - 1);
#pragma unroll
        for (int l = 0; l < T; l++) {
            plain = plain && z[l].low + z[l].high == z_total;
        }
        return plain;
    }

    template <bool ODD> __device__ __forceinline__ void round(int k, int stage, int e_stage)
    {
        float *r[T], *e[3];
#pragma unroll
        for (int l = 0; l < T; l++) {
            const int at = stage - l < 0 ? stage - l + R_STAGES : stage - l;
            r[l] = shared + at * R_STAGE + wave * ROWS * TX + lane * V;
            z[T - 1 - l] = l < T - 1 ? z[l < T - 1 ? T - 2 - l : 0] : z_next;
        }
#pragma unroll
        for (int n = 0; n < 3; n++) {
            const int at = e_stage - n < 0 ? e_stage - n + E_STAGES : e_stage - n;
            e[n] = shared + AT_E + at * E_STAGE + (1 + wave * ROWS) * TX + lane * V;
        }
        z_next = pair_at(p.m, AXIS_Z, k);
        interpolate_plane(k, e[0]);
        if (is_plain(k)) {
            advance<ODD, true>(k, r, e);
        } else {
            advance<ODD, false>(k, r, e);
        }
        to += p.m.layout.pitch_z;
    }
};

/* One thread: what round k reads first: r of plane k - 1, and a coarse plane every second time. */
static __device__ __forceinline__ void request(const staged_smoothing &p, float *shared,
                                               arch_arrivals *filled, int x, int y, int k,
                                               int stage, bool first)
{
    const int count = first ? 2 : k & 1;
    arch_arrive_with_bytes(filled + stage,
                           (uint32_t)sizeof(float) * (R_STAGE + count * COARSE_X * COARSE_Y));
    arch_tile_copy(shared + stage * R_STAGE, p.r, filled + stage, x, y, k - 1);
    for (int n = 0; n < count; n++) {
        const int plane = ((k + 1) >> 1) - n;
        arch_tile_copy(shared + AT_COARSE + (plane & (COARSE_STAGES - 1)) * COARSE_STAGE, p.coarse,
                       filled + stage, x / 2 - COARSE_LEFT + V, y / 2 - 1 + 1, plane + 1);
    }
}

/* Of the tile whose first cell is (x, y); a barrier must follow. */
static __device__ __forceinline__ void fill_lines(const staged_smoothing &p, float *shared, int x,
                                                  int y)
{
    const int n = (int)threadIdx.x;
    if (n < TX) {
        shared[AT_LINES + n] = weight_at(p, AXIS_X, x + n);
    }
    if (n < TY + 2) {
        shared[AT_WEIGHT_Y + n] = weight_at(p, AXIS_Y, y - 1 + n);
    }
    if (n < TY) {
        reinterpret_cast<pair *>(shared + AT_Y)[n] = pair_at(p.m, AXIS_Y, y + n);
    }
}

static __global__ __launch_bounds__(THREADS, 1) void smooth_staged(
    const __grid_constant__ staged_smoothing p)
{
    extern __shared__ __attribute__((aligned(1024))) float shared[];
    arch_arrivals *const filled = reinterpret_cast<arch_arrivals *>(shared + AT_ARRIVALS);
    const int tile = (int)blockIdx.x % (p.across * p.up);
    const int x = tile % p.across * STEP_X - ABOVE_X;
    const int y = tile / p.across * STEP_Y - ABOVE_Y;
    const int nz = (int)p.m.layout.cells[AXIS_Z];
    smoother my = {p, shared};
    my.lane = (int)threadIdx.x % ARCH_WAVE;
    my.wave = (int)threadIdx.x / ARCH_WAVE;
    my.i = x + my.lane * V;
    my.j = y + my.wave * ROWS;
    my.begin = (int)blockIdx.x / (p.across * p.up) * p.depth;
    my.end = my.begin + p.depth < nz ? my.begin + p.depth : nz;
    const int first = my.begin > T ? my.begin - T : -1;
    const int last = first + (my.end + T - first + 1) / 2 * 2; /* rounds come in pairs */
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < R_STAGES; stage++) {
            arch_arrivals_init(filled + stage, 1);
        }
        arch_arrivals_publish();
    }
    fill_lines(p, shared, x, y);
    __syncthreads();
    if (arch_is_chosen()) {
        for (int n = 0; n < AHEAD; n++) {
            request(p, shared, filled, x, y, first + n, n, n == 0);
        }
    }
    my.to = p.out + p.m.layout.origin + (first - T) * p.m.layout.pitch_z +
            my.j * p.m.layout.pitch_y + my.i;
    my.begin_column();
    int stage = 0;
    int e_stage = 0;
    unsigned parity = 0;
    for (int k = first; k < last; k++) {
        const int next = stage + AHEAD < R_STAGES ? stage + AHEAD : stage + AHEAD - R_STAGES;
        if (k + AHEAD < last && arch_is_chosen()) {
            request(p, shared, filled, x, y, k + AHEAD, next, false);
        }
        __syncwarp();
        arch_arrivals_wait(filled + stage, parity);
        if (((k - first) & 1) != 0) {
            my.round<true>(k, stage, e_stage);
        } else {
            my.round<false>(k, stage, e_stage);
        }
        arch_reads_before_tile_copy();
        __syncthreads();
        e_stage = e_stage + 1 < E_STAGES ? e_stage + 1 : 0;
        if (++stage == R_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
}

/* The cells of a grid from `layers` before the first on, in x from V * layers. */
static hipError_t map_of(const struct layout *l, const float *values, int layers, int nx, int ny,
                         arch_tile_map *map)
{
    const arch_region<float> region = {
        values + l->origin - layers * (V + l->pitch_y + l->pitch_z),
        {l->cells[0] + layers * (V + 1), l->cells[1] + 2 * layers, l->cells[2] + 2 * layers},
        l->pitch_y,
        l->pitch_z};
    return arch_tile_map_make(map, region, nx, ny);
}

/* Grids whose coarse cells have two children on each axis. */
static bool takes(const struct ascend_args *args)
{
    const int64_t *n = args->fine.layout.cells;
    bool good = args->nsteps == T && args->fine.d_line[0] != nullptr && n[AXIS_X] < INT32_MAX / 4 &&
                n[AXIS_Y] < INT32_MAX / 4 && n[AXIS_Z] < INT32_MAX / 4;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        good = good && args->fine.active[axis] && args->coarse.active[axis] &&
               !args->fine.wraps[axis] && args->coarse.children[axis] == 2 &&
               args->coarse.layout.halo[axis] >= 1;
    }
    return good;
}

enum status hip_ascend_staged(struct queue *queue, const struct ascend_args *args, bool *done)
{
    const int64_t *n = args->fine.layout.cells;
    int processors = 0;
    static bool prepared = false;
    const int across = (int)((n[AXIS_X] + ABOVE_X - HALO_X + STEP_X - 1) / STEP_X);
    const int up = (int)((n[AXIS_Y] + STEP_Y) / STEP_Y); /* the first has a row less */
    *done = across * up >= LEAST_TILES && takes(args);
    if (!*done) {
        return STATUS_OK;
    }
    TRY(hip_count_processors(&processors));
    if (!prepared) {
        TRY_HIP(hipFuncSetAttribute, reinterpret_cast<const void *>(smooth_staged),
                hipFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
        prepared = true;
    }
    staged_smoothing p = {};
    p.m = args->fine;
    p.above = args->coarse;
    p.factor = args->factor;
    p.out = args->d_out;
    for (int l = 0; l < T; l++) {
        p.weight[l] = args->weight[l];
    }
    p.across = across;
    p.up = up;
    p.depth = smooth_depth(p.across * p.up, (int)n[AXIS_Z], processors);
    const int64_t parts = (n[AXIS_Z] + p.depth - 1) / p.depth;
    TRY(hip_check(map_of(&args->fine.layout, args->d_r, 0, TX, TY, &p.r), "smooth"));
    TRY(hip_check(map_of(&args->coarse.layout, args->d_e, 1, COARSE_X, COARSE_Y, &p.coarse),
                  "smooth"));
    smooth_staged<<<(unsigned)(p.across * p.up * parts), THREADS, SHARED_BYTES, queue->stream>>>(p);
    return hip_check(hipGetLastError(), "smooth");
}

#else

enum status hip_ascend_staged(struct queue *, const struct ascend_args *, bool *done)
{
    *done = false;
    return STATUS_OK;
}

#endif
