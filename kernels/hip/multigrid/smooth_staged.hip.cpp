/* Interpolation and four steps of Jacobi's method in a pass over a grid that has tables along its
 * axes and closed faces, on chips that copy tiles into shared memory.
 *
 * See smooth_rows.h. Each second round interpolates a coarse plane in x and y, and two fine planes
 * lie between it and the one before. Where coarse cells have one child on an axis, level 0 is
 * interpolated before, and comes in planes like r. */
#include "kernels/hip/multigrid/smooth.h"

#if ARCH_HAS_TILE_COPY

#include "kernels/hip/multigrid/smooth_staged.h"

template <bool STARTED>
static __global__ __launch_bounds__(THREADS, 1) void smooth_staged(
    const __grid_constant__ staged_smoothing p)
{
    extern __shared__ __attribute__((aligned(1024))) float shared[];
    const int tile = (int)blockIdx.x % (p.across * p.up);
    const int part = (int)blockIdx.x / (p.across * p.up);
    const int nz = (int)p.m.layout.cells[AXIS_Z];
    smoother<STARTED> my = {{p, shared}};
    my.filled = reinterpret_cast<arch_arrivals *>(shared + AT_REST);
    my.meeting = reinterpret_cast<arch_meeting *>(my.filled + R_STAGES);
    my.begin_tile(tile);
    const int x = my.tile_x, y = my.tile_y;
    /* the first round of a block is odd, and their number even */
    my.begin = part > 0 ? part * p.depth - 1 : 0;
    my.end = (part + 1) * p.depth - 1 < nz ? (part + 1) * p.depth - 1 : nz;
    const int first = part > 0 ? my.begin - T : -1;
    my.last = first + (my.end + T - first + 1) / 2 * 2;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < R_STAGES; stage++) {
            arch_arrivals_init(my.filled + stage, 1);
        }
        arch_meeting_init(my.meeting, THREADS);
        arch_arrivals_publish();
    }
    for (int n = (int)threadIdx.x; n < 2 * PARITY; n += THREADS) {
        shared[AT_EDGES + n] = 0;
    }
    my.plain = reinterpret_cast<int *>(my.meeting + 1);
    if (threadIdx.x == 0) {
        my.plain[0] = -1;
        my.plain[1] = nz;
    }
    for (int n = (int)threadIdx.x; n < TX || n < TY; n += THREADS) {
        if (n < TX && !STARTED) {
            shared[AT_WEIGHT_X + n] = weight_at(p, AXIS_X, x + n);
        }
        if (n < TY && !STARTED) {
            shared[AT_WEIGHT_Y + n] = weight_at(p, AXIS_Y, y + n);
        }
        if (n < TY) {
            reinterpret_cast<pair *>(shared + AT_Y)[n] = line_pair(p.m, AXIS_Y, y + n);
        }
    }
    __syncthreads();
    my.begin_cells(first);
    my.begin_column();
    __syncthreads();
    if (arch_is_chosen()) {
        for (int n = 0; n < AHEAD; n++) {
            my.request(first + n, n == 0);
        }
    }
    if (!STARTED) {
        arch_arrivals_wait(my.filled + ((first - 1) & (R_STAGES - 1)), 0);
        my.interpolate_coarse((first - 1) >> 1, my.low);
    }
    for (int k = first; k < my.last; k += 2) {
        if (k - T > my.plain[0] && k + 1 < my.plain[1]) {
            my.template rounds<true>(k, (unsigned)(k - first));
        } else {
            my.template rounds<false>(k, (unsigned)(k - first));
        }
    }
}

/* The cells of a grid from `layers` before the first on, in x from MAP_X * layers. */
static hipError_t map_of(const struct layout *l, const float *values, int layers, int nx, int ny,
                         arch_tile_map *map)
{
    const arch_region<float> region = {
        values + l->origin - layers * (MAP_X + l->pitch_y + l->pitch_z),
        {l->cells[0] + layers * (MAP_X + 1), l->cells[1] + 2 * layers, l->cells[2] + 2 * layers},
        l->pitch_y,
        l->pitch_z};
    return arch_tile_map_make(map, region, nx, ny);
}

/* Coarse cells have two children on each axis. */
static bool has_pairs(const struct multigrid *coarse)
{
    bool good = true;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        good = good && coarse->active[axis] && coarse->children[axis] == 2 &&
               coarse->layout.halo[axis] >= 1;
    }
    return good;
}

enum status hip_load_smooth_staged(void)
{
    static bool done = false;
    if (!done) {
        LOAD(SHARED_BYTES, smooth_staged<false>);
        LOAD(STARTED_BYTES, smooth_staged<true>);
        done = true;
    }
    return STATUS_OK;
}

enum status hip_ascend_staged(struct queue *queue, const struct ascend_args *args, bool *done)
{
    const int64_t *n = args->fine.layout.cells;
    int processors = 0;
    *done = args->nsteps == T && args->fine.d_line[0] != nullptr && has_closed_axes(&args->fine);
    if (!*done) {
        return STATUS_OK;
    }
    TRY(hip_count_processors(&processors));
    TRY(hip_load_smooth_staged());
    staged_smoothing p = {};
    p.m = args->fine;
    p.above = args->coarse;
    p.factor = args->factor;
    p.out = args->d_out;
    for (int l = 0; l < T; l++) {
        p.weight[l] = args->weight[l];
    }
    p.across = count_tiles(n[AXIS_X], TX, STEP_X);
    p.up = count_tiles(n[AXIS_Y], TY, STEP_Y);
    p.depth = (smooth_depth(p.across * p.up, (int)n[AXIS_Z] + 1, processors) + 1) / 2 * 2;
    const int64_t parts = (n[AXIS_Z] + p.depth) / p.depth;
    TRY(hip_check(map_of(&args->fine.layout, args->d_r, 0, TX, TY, &p.r), "smooth"));
    const unsigned nblocks = (unsigned)(p.across * p.up * parts);
    if (has_pairs(&args->coarse)) {
        TRY(hip_check(map_of(&args->coarse.layout, args->d_e, 1, COARSE_X, COARSE_Y, &p.coarse),
                      "smooth"));
        smooth_staged<false><<<nblocks, THREADS, SHARED_BYTES, queue->stream>>>(p);
    } else {
        const struct interpolate_args start = {args->fine, args->coarse, args->factor, args->d_e,
                                               args->d_other};
        TRY(hip_interpolate(queue, &start));
        TRY(hip_check(map_of(&args->fine.layout, args->d_other, 0, TX, TY, &p.coarse), "smooth"));
        smooth_staged<true><<<nblocks, THREADS, STARTED_BYTES, queue->stream>>>(p);
    }
    return hip_check(hipGetLastError(), "smooth");
}

#else

enum status hip_load_smooth_staged(void)
{
    return STATUS_OK;
}

enum status hip_ascend_staged(struct queue *, const struct ascend_args *, bool *done)
{
    *done = false;
    return STATUS_OK;
}

#endif
