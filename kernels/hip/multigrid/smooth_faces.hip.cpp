/* Four steps of Jacobi's method in a pass over a grid that has conductances per face, no sinks and
 * closed ends, on chips that copy tiles into shared memory.
 *
 * See smooth_rows.h. Planes of conductances stay in shared memory until the last level has used
 * them: so a pass reads each once. The conductance between two planes is read once for both, the
 * inverse sum of a cell is computed at level 0, and it and r wait in registers for the next levels.
 * Planes are requested one round before they are needed, all in one stage. */
#include "kernels/hip/multigrid/smooth.h"

#if ARCH_HAS_TILE_COPY

#include "kernels/hip/multigrid/smooth_rows.h"

/* Elements of a plane of conductances in x, with those of the ends of rows: copies are of whole
 * vectors; and in y, with the row after the tile; and in z. */
constexpr int G_ROW = TX + 4, G_Y = TY * G_ROW, G_Z = G_Y + (TY + 1) * TX, G_STAGE = G_Z + TY * TX;
/* of level 0, with the rows before and after the tile */
constexpr int E_STAGE = (TY + 2) * TX, R_STAGE = TY * TX;
constexpr int G_STAGES = T + 1, E_STAGES = 4, R_STAGES = 2;
constexpr int PARITY = (T - 1) * LEVEL; /* of the levels after 0 */
constexpr int AT_E = G_STAGES * G_STAGE, AT_R = AT_E + E_STAGES * E_STAGE,
              AT_EDGES = AT_R + R_STAGES * R_STAGE, AT_REST = AT_EDGES + 2 * PARITY;
constexpr int SHARED_BYTES = AT_REST * (int)sizeof(float) + 64;
static_assert(SHARED_BYTES <= 227 * 1024, "of a block");

struct faces_smoothing {
    arch_tile_map e, r, g[AXIS_COUNT];
    struct multigrid m;
    float weight[T];
    float *out;
    int across, up; /* tiles */
    int depth;      /* planes of a block */
};

struct faces_smoother : staged_rows<faces_smoothing> {
    cells r[T][ROWS], inverse[T][ROWS]; /* of the planes that the levels are at */
    cells z_low[ROWS];                  /* conductances below the plane of the last level */

    /* One thread: what round `number`, which begins at plane k of level 0, reads first. */
    __device__ __forceinline__ void request(int k, unsigned number, int stage) const
    {
        arch_arrivals *const arrivals = filled + (number & 1);
        float *const g = shared + stage * G_STAGE;
        arch_arrive_with_bytes(arrivals, (uint32_t)sizeof(float) * (G_STAGE + E_STAGE + R_STAGE));
        arch_tile_copy(g, p.g[AXIS_X], arrivals, tile_x, tile_y, k - 1);
        arch_tile_copy(g + G_Y, p.g[AXIS_Y], arrivals, tile_x, tile_y, k - 1);
        arch_tile_copy(g + G_Z, p.g[AXIS_Z], arrivals, tile_x, tile_y, k);
        arch_tile_copy(shared + AT_E + (number & (E_STAGES - 1)) * E_STAGE, p.e, arrivals, tile_x,
                       tile_y - 1, k);
        arch_tile_copy(shared + AT_R + (number & 1) * R_STAGE, p.r, arrivals, tile_x, tile_y,
                       k - 1);
    }

    /* The step from level l in plane k - 1 - l. fresh: level l in the plane above; then level
     * l + 1. z_high: conductances above the plane; then those below. stage: of plane k - 1. */
    template <int L>
    __device__ __forceinline__ void advance(int k, int stage, cells (&fresh)[ROWS],
                                            cells (&z_high)[ROWS], const float *before)
    {
        const int own = stage >= L ? stage - L : stage - L + G_STAGES;
        const int below = own > 0 ? own - 1 : G_STAGES - 1;
        const float *const g = shared + own * G_STAGE + lane * V;
        const float *const g_x = g + wave * ROWS * G_ROW;
        const float *const g_y = g + G_Y + wave * ROWS * TX;
        const float *const g_z = shared + below * G_STAGE + G_Z + wave * ROWS * TX + lane * V;
        const cells front = cells_at(before - TX);
        const cells back = cells_at(before + (L == 0 ? ROWS : 2) * TX);
        cells x[ROWS], y[ROWS + 1], z[ROWS], south;
        float x_end[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            x[row] = cells_at(g_x + row * G_ROW);
            x_end[row] = g_x[row * G_ROW + V];
            y[row] = cells_at(g_y + row * TX);
            z[row] = L < T - 1 ? cells_at(g_z + row * TX) : z_low[row];
        }
        y[ROWS] = cells_at(g_y + ROWS * TX);
        if (L == T - 1) { /* what shared memory had has been read */
            arch_reads_before_tile_copy();
            arch_meeting_arrive(meeting);
        }
        const unsigned on = L == 0 && is_cell(p.m, AXIS_Z, k - 1) ? inside : 0;
#pragma unroll
        for (int n = 0; n < V; n++) {
            south.v[n] = level[L][0].v[n] - front.v[n];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            pair around[AXIS_COUNT][V];
#pragma unroll
            for (int n = 0; n < V; n++) {
                around[AXIS_X][n] = {x[row].v[n], n < V - 1 ? x[row].v[V - 1] : x_end[row]};
                around[AXIS_Y][n] = {y[row].v[n], y[row + 1].v[n]};
                around[AXIS_Z][n] = {z[row].v[n], z_high[row].v[n]};
                if (L == 0) {
                    const pair of_cell[] = {around[0][n], around[1][n], around[2][n]};
                    const bool has = (on >> n & 1) != 0 && (on >> (V + row) & 1) != 0;
                    inverse[0][row].v[n] = multigrid_inverse(has ? total_of<false>(of_cell, 0) : 0);
                }
            }
            step<L>(row, fresh[row], south, back, around[AXIS_X], around[AXIS_Y], around[AXIS_Z],
                    r[L][row], inverse[L][row]);
            if (L == T - 1) {
                z_low[row] = z_high[row];
            }
            z_high[row] = z[row];
        }
    }

    template <int L>
    __device__ __forceinline__ void advance_all(int k, int stage, cells (&fresh)[ROWS],
                                                cells (&z_high)[ROWS], const float *now,
                                                float *later)
    {
        if constexpr (L < T) {
            cells_at(later + (L - 1) * LEVEL) = fresh[0]; /* for the next round */
            cells_at(later + (L - 1) * LEVEL + TX) = fresh[ROWS - 1];
            advance<L>(k, stage, fresh, z_high, now + (L - 1) * LEVEL);
            advance_all<L + 1>(k, stage, fresh, z_high, now, later);
        }
    }

    /* Round `number`, which begins at plane k of level 0. */
    __device__ __forceinline__ void round(int k, unsigned number, int stage, const float *now,
                                          float *later)
    {
        const int at = wave * ROWS * TX + lane * V;
        const float *const e = shared + AT_E + TX + at;
        const float *const e_before = e + ((number - 1) & (E_STAGES - 1)) * E_STAGE;
        cells fresh[ROWS], z_high[ROWS];
        arch_arrivals_wait(filled + (number & 1), number >> 1 & 1);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int l = T - 1; l > 0; l--) {
                r[l][row] = r[l - 1][row];
                inverse[l][row] = inverse[l - 1][row];
            }
            r[0][row] = cells_at(shared + AT_R + (number & 1) * R_STAGE + at + row * TX);
            fresh[row] = cells_at(e + (number & (E_STAGES - 1)) * E_STAGE + row * TX);
            z_high[row] = cells_at(shared + stage * G_STAGE + G_Z + at + row * TX);
        }
        arch_meeting_wait(meeting, number - 1);
        if (k + 1 < last && arch_is_chosen()) {
            request(k + 1, number + 1, stage < G_STAGES - 1 ? stage + 1 : 0);
        }
        __syncwarp();
        advance<0>(k, stage, fresh, z_high, e_before);
        advance_all<1>(k, stage, fresh, z_high, now, later);
        if (k - T >= begin) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                store(fresh[row], row);
            }
        }
        to += p.m.layout.pitch_z;
    }
};

static __global__ __launch_bounds__(THREADS,
                                    1) void smooth_faces(const __grid_constant__ faces_smoothing p)
{
    extern __shared__ __attribute__((aligned(1024))) float shared[];
    const int part = (int)blockIdx.x / (p.across * p.up);
    const int nz = (int)p.m.layout.cells[AXIS_Z];
    faces_smoother my = {{p, shared}};
    my.filled = reinterpret_cast<arch_arrivals *>(shared + AT_REST);
    my.meeting = reinterpret_cast<arch_meeting *>(my.filled + 2);
    my.begin_tile((int)blockIdx.x % (p.across * p.up));
    my.begin = part * p.depth;
    my.end = my.begin + p.depth < nz ? my.begin + p.depth : nz;
    my.last = my.end + T;
    const int first = part > 0 ? my.begin - T : 0;
    if (threadIdx.x == 0) {
        arch_arrivals_init(my.filled, 1);
        arch_arrivals_init(my.filled + 1, 1);
        arch_meeting_init(my.meeting, THREADS);
        arch_arrivals_publish();
    }
    /* what planes before the first have is multiplied by 0 */
    for (int n = (int)threadIdx.x; n < AT_REST; n += THREADS) {
        shared[n] = 0;
    }
    arch_reads_before_tile_copy();
    __syncthreads();
    if (arch_is_chosen()) {
        my.request(first, 0, 0);
    }
    __syncwarp();
    my.begin_cells(first);
    float *now = shared + AT_EDGES + (1 + 2 * my.wave) * TX + my.lane * V;
    float *later = now + PARITY;
    int stage = 0;
    for (int k = first; k < my.last; k++) {
        my.round(k, (unsigned)(k - first), stage, now, later);
        stage = stage < G_STAGES - 1 ? stage + 1 : 0;
        float *const swap = now;
        now = later;
        later = swap;
    }
}

/* Of the cells of a grid, and `more` planes after them on an axis. */
static hipError_t map_of(const struct layout *l, const float *values, int axis, int more, int nx,
                         int ny, arch_tile_map *map)
{
    arch_region<float> region = {
        values + l->origin, {l->cells[0], l->cells[1], l->cells[2]}, l->pitch_y, l->pitch_z};
    region.cells[axis] += more;
    return arch_tile_map_make(map, region, nx, ny);
}

enum status hip_load_smooth_faces(void)
{
    static bool done = false;
    if (!done) {
        LOAD(SHARED_BYTES, smooth_faces);
        done = true;
    }
    return STATUS_OK;
}

enum status hip_smooth_faces(struct queue *queue, const struct smooth_pass *pass, bool *done)
{
    const struct multigrid *m = pass->m;
    const struct layout *l = &m->layout;
    int processors = 0;
    *done = m->d_line[0] == nullptr && m->d_sink == nullptr && has_closed_axes(m);
    if (!*done) {
        return STATUS_OK;
    }
    TRY(hip_count_processors(&processors));
    TRY(hip_load_smooth_faces());
    faces_smoothing p = {};
    p.m = *m;
    p.out = pass->d_out;
    for (int s = 0; s < T; s++) {
        p.weight[s] = pass->weight[s];
    }
    p.across = count_tiles(l->cells[AXIS_X], TX, STEP_X);
    p.up = count_tiles(l->cells[AXIS_Y], TY, STEP_Y);
    p.depth = smooth_depth(p.across * p.up, (int)l->cells[AXIS_Z], processors);
    TRY(hip_check(map_of(l, pass->d_e, 0, 0, TX, TY + 2, &p.e), "smooth"));
    TRY(hip_check(map_of(l, pass->d_r, 0, 0, TX, TY, &p.r), "smooth"));
    TRY(hip_check(map_of(l, m->d_g[0], AXIS_X, 1, G_ROW, TY, &p.g[0]), "smooth"));
    TRY(hip_check(map_of(l, m->d_g[1], AXIS_Y, 1, TX, TY + 1, &p.g[1]), "smooth"));
    TRY(hip_check(map_of(l, m->d_g[2], AXIS_Z, 1, TX, TY, &p.g[2]), "smooth"));
    const int64_t parts = (l->cells[AXIS_Z] + p.depth - 1) / p.depth;
    smooth_faces<<<(unsigned)(p.across * p.up * parts), THREADS, SHARED_BYTES, queue->stream>>>(p);
    return hip_check(hipGetLastError(), "smooth");
}

#else

enum status hip_load_smooth_faces(void)
{
    return STATUS_OK;
}

enum status hip_smooth_faces(struct queue *, const struct smooth_pass *, bool *done)
{
    *done = false;
    return STATUS_OK;
}

#endif
