/* A tile of interpolation and four steps of Jacobi's method: see smooth_staged.hip.cpp. */
#pragma once

#include "kernels/hip/multigrid/smooth_rows.h"

/* Coarse tiles begin before: copies are of whole vectors. */
constexpr int COARSE_LEFT = 4, COARSE_X = TX / 2 + 2 * COARSE_LEFT, COARSE_Y = TY / 2 + 2;
constexpr int MAP_X = 4; /* cells of the map of the coarse grid before its first */
/* Planes in shared memory, requested two rounds before they are needed. */
constexpr int R_STAGES = 8, COARSE_STAGES = 4, AHEAD = 2;
/* In elements. */
constexpr int R_STAGE = TX * TY, COARSE_STAGE = (COARSE_X * COARSE_Y + 31) / 32 * 32;
constexpr int PARITY = T * LEVEL;
constexpr int AT_COARSE = R_STAGES * R_STAGE;
constexpr int AT_EDGES = AT_COARSE + COARSE_STAGES * COARSE_STAGE, AT_Y = AT_EDGES + 2 * PARITY;
/* conductances of y, and the weights of y and x */
constexpr int AT_WEIGHT_Y = AT_Y + 2 * TY, AT_WEIGHT_X = AT_WEIGHT_Y + TY,
              AT_INVERSE = AT_WEIGHT_X + TX;
/* of each thread's cells, in the last planes */
constexpr int INVERSE = ROWS * THREADS * V, AT_REST = AT_INVERSE + T * INVERSE;
constexpr int SHARED_BYTES = (AT_REST * (int)sizeof(float) + R_STAGES * 8 + 64 + 127) / 128 * 128;
/* of level 0, where it comes from memory */
constexpr int AT_START = SHARED_BYTES / (int)sizeof(float), START_STAGES = 4;
constexpr int STARTED_BYTES = SHARED_BYTES + START_STAGES * R_STAGE * (int)sizeof(float);

struct staged_smoothing {
    arch_tile_map r, coarse;   /* or level 0 */
    struct multigrid m, above; /* the grid and the coarse one */
    float weight[T], factor;
    float *out;
    int across, up; /* tiles */
    int depth;      /* planes of a block; even */
};

/* The weight, in a fine cell, of the coarse cell beside its own. */
static __device__ __forceinline__ float weight_at(const staged_smoothing &p, int axis, int at)
{
    return !is_cell(p.m, axis, at)
               ? 0
               : multigrid_line(&p.above, axis, LINE_WEIGHT_LOW + (at & 1), at >> 1);
}

/* A wave's rows of a tile. STARTED: level 0 is in memory. */
template <bool STARTED> struct smoother : staged_rows<staged_smoothing> {
    int *plain; /* [2], shared: before the first and after the last plane around the middle whose
                   conductances and weights in z are those of the middle */
    pair x[V], z;
    cells inverse[ROWS];         /* in these planes */
    float weight_z[2];           /* there, in even and in odd planes of level 0 */
    cells low[ROWS], high[ROWS]; /* coarse planes between which two fine ones lie */

    __device__ __forceinline__ pair y_of(int row) const
    {
        return reinterpret_cast<const pair *>(shared + AT_Y)[wave * ROWS + row];
    }
    __device__ __forceinline__ bool is_plain(int plane) const
    {
        return plane > plain[0] && plane < plain[1];
    }
    __device__ __forceinline__ cells *inverses(int plane) const
    {
        return reinterpret_cast<cells *>(shared + AT_INVERSE + (plane & (T - 1)) * INVERSE) +
               threadIdx.x;
    }
    /* By value: a choice of addresses would put all members into local memory. */
    template <bool PLAIN> __device__ __forceinline__ cells inverse_of(int row, int plane) const
    {
        if (PLAIN || is_plain(plane)) {
            return inverse[row];
        }
        return inverses(plane)[row * THREADS];
    }
    /* Rolled: it runs seldom, and divisions would take registers. */
    __device__ __forceinline__ void find_inverses(int plane) const
    {
        const bool is_plane = is_cell(p.m, AXIS_Z, plane);
        const pair above = line_pair(p.m, AXIS_Z, plane);
#pragma unroll 1
        for (int n = 0; n < V * ROWS; n++) {
            const int row = n / V;
            const pair g[AXIS_COUNT] = {n % V == 0 ? x[0] : x[1], y_of(row), above};
            const bool on = is_plane && has(row, n % V);
            reinterpret_cast<float *>(inverses(plane) + row * THREADS)[n % V] =
                on ? multigrid_inverse(total_of<false>(g, 0)) : 0;
        }
    }

    __device__ __forceinline__ void begin_column()
    {
        for (int n = 0; n < V; n++) {
            x[n] = line_pair(p.m, AXIS_X, i + n);
        }
        const int nz = (int)p.m.layout.cells[AXIS_Z];
        z = line_pair(p.m, AXIS_Z, nz / 2);
        for (int n = 0; n < 2; n++) {
            weight_z[n] = STARTED ? 0 : weight_at(p, AXIS_Z, nz / 2 / 2 * 2 + n);
        }
        for (int k = (int)threadIdx.x; k < nz; k += THREADS) {
            const pair g = line_pair(p.m, AXIS_Z, k);
            const bool same =
                g.low == z.low && g.high == z.high &&
                (STARTED || weight_at(p, AXIS_Z, k) == (k % 2 == 0 ? weight_z[0] : weight_z[1]));
            if (!same && k < nz / 2) {
                atomicMax(&plain[0], k);
            } else if (!same) {
                atomicMin(&plain[1], k);
            }
        }
        find_inverses(nz / 2);
        for (int row = 0; row < ROWS; row++) {
            inverse[row] = inverses(nz / 2)[row * THREADS];
        }
    }

    /* A coarse plane at my cells in x and y. */
    __device__ __forceinline__ void interpolate_coarse(int plane, cells (&to_cells)[ROWS]) const
    {
        const float *const at = shared + AT_COARSE + (plane & (COARSE_STAGES - 1)) * COARSE_STAGE +
                                wave * (ROWS / 2) * COARSE_X + COARSE_LEFT + lane * (V / 2);
        const cells w = cells_at(shared + AT_WEIGHT_X + lane * V);
        cells across[ROWS / 2 + 2];
#pragma unroll
        for (int row = 0; row < ROWS / 2 + 2; row++) {
            float c[V / 2 + 2];
#pragma unroll
            for (int n = 0; n < V / 2 + 2; n++) {
                c[n] = at[row * COARSE_X + n - 1];
            }
#pragma unroll
            for (int n = 0; n < V; n++) {
                const float own = c[n / 2 + 1];
                const float beside = c[n / 2 + (n % 2 == 0 ? 0 : 2)];
                across[row].v[n] = fmaf(w.v[n], beside - own, own);
            }
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const float weight = shared[AT_WEIGHT_Y + wave * ROWS + row];
#pragma unroll
            for (int n = 0; n < V; n++) {
                const float own = across[row / 2 + 1].v[n];
                const float beside = across[row / 2 + (row % 2 == 0 ? 0 : 2)].v[n];
                to_cells[row].v[n] = fmaf(weight, beside - own, own);
            }
        }
    }

    /* Level 0 in plane k. */
    template <bool ODD, bool PLAIN>
    __device__ __forceinline__ void interpolate(int k, cells (&fresh)[ROWS]) const
    {
        const bool is_plane = PLAIN || is_cell(p.m, AXIS_Z, k);
        const float weight = PLAIN ? weight_z[ODD ? 1 : 0] : weight_at(p, AXIS_Z, k);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
#pragma unroll
            for (int n = 0; n < V; n++) {
                const float own = ODD ? low[row].v[n] : high[row].v[n];
                const float beside = ODD ? high[row].v[n] : low[row].v[n];
                fresh[row].v[n] = p.factor * fmaf(weight, beside - own, own);
            }
        }
        if (!whole || !is_plane) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
#pragma unroll
                for (int n = 0; n < V; n++) {
                    fresh[row].v[n] = is_plane && has(row, n) ? fresh[row].v[n] : 0;
                }
            }
        }
    }

    /* The step from level l in plane k - 1 - l. fresh: level l in the plane above; then level
     * l + 1. PLAIN: z is that of the middle. */
    template <int L, bool PLAIN>
    __device__ __forceinline__ void advance(int k, cells (&fresh)[ROWS], const float *now)
    {
        const float *const r =
            shared + ((k - 1 - L) & (R_STAGES - 1)) * R_STAGE + wave * ROWS * TX + lane * V;
        const pair g = PLAIN ? z : line_pair(p.m, AXIS_Z, k - 1 - L);
        const cells front = *reinterpret_cast<const cells *>(now + L * LEVEL - TX);
        const cells back = *reinterpret_cast<const cells *>(now + L * LEVEL + 2 * TX);
        cells south;
        if (L == T - 1) {
            arch_meeting_arrive(meeting);
        }
#pragma unroll
        for (int n = 0; n < V; n++) {
            south.v[n] = level[L][0].v[n] - front.v[n];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const pair y[V] = {y_of(row), y_of(row)};
            const pair of_z[V] = {g, g};
            step<L>(row, fresh[row], south, back, x, y, of_z, cells_at(r + row * TX),
                    inverse_of<PLAIN>(row, k - 1 - L));
        }
    }

    template <int L, bool PLAIN>
    __device__ __forceinline__ void advance_all(int k, cells (&fresh)[ROWS], const float *now,
                                                float *later)
    {
        if constexpr (L < T) {
            cells_at(later + L * LEVEL) = fresh[0]; /* for the next round */
            cells_at(later + L * LEVEL + TX) = fresh[ROWS - 1];
            advance<L, PLAIN>(k, fresh, now);
            advance_all<L + 1, PLAIN>(k, fresh, now, later);
        }
    }

    /* One thread: what round k reads first: r of plane k - 1, and a coarse plane every second time;
     * the first round two. */
    __device__ __forceinline__ void request(int k, bool first) const
    {
        const int count = STARTED ? 0 : first ? 2 : k & 1;
        const int stage = (k - 1) & (R_STAGES - 1);
        arch_arrive_with_bytes(filled + stage,
                               (uint32_t)sizeof(float) *
                                   (R_STAGE * (STARTED ? 2 : 1) + count * COARSE_X * COARSE_Y));
        arch_tile_copy(shared + stage * R_STAGE, p.r, filled + stage, tile_x, tile_y, k - 1);
        if (STARTED) {
            arch_tile_copy(shared + AT_START + (k & (START_STAGES - 1)) * R_STAGE, p.coarse,
                           filled + stage, tile_x, tile_y, k);
        }
        for (int n = 0; n < count; n++) {
            const int plane = ((k + 1) >> 1) - n;
            arch_tile_copy(shared + AT_COARSE + (plane & (COARSE_STAGES - 1)) * COARSE_STAGE,
                           p.coarse, filled + stage, tile_x / 2 - COARSE_LEFT + MAP_X, tile_y / 2,
                           plane + 1);
        }
    }

    /* Round `number`, which begins at plane k of level 0. PLAIN: plane k and those of the steps are
     * between the two of `plain`. */
    template <bool ODD, bool PLAIN> __device__ __forceinline__ void round(int k, unsigned number)
    {
        cells fresh[ROWS];
        float *const edges = shared + AT_EDGES + (1 + 2 * wave) * TX + lane * V;
        float *const now = edges + (ODD ? 0 : PARITY);
        float *const later = edges + (ODD ? PARITY : 0);
        arch_arrivals_wait(filled + ((k - 1) & (R_STAGES - 1)), number / R_STAGES & 1);
        if constexpr (STARTED) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                fresh[row] = cells_at(shared + AT_START + (k & (START_STAGES - 1)) * R_STAGE +
                                      (wave * ROWS + row) * TX + lane * V);
            }
        } else {
            if (ODD) {
                interpolate_coarse((k + 1) >> 1, high);
            }
            interpolate<ODD, PLAIN>(k, fresh);
        }
        if (!PLAIN && !is_plain(k - 1)) {
            find_inverses(k - 1);
        }
        arch_meeting_wait(meeting, number - 1);
        if (k + AHEAD < last && arch_is_chosen()) {
            request(k + AHEAD, false);
        }
        __syncwarp();
        advance_all<0, PLAIN>(k, fresh, now, later);
        if (k - T >= begin && k - T < end) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                store(fresh[row], row);
            }
        }
        to += p.m.layout.pitch_z;
        if (!ODD && !STARTED) {
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                low[row] = high[row];
            }
        }
        arch_reads_before_tile_copy();
    }

    /* Rounds k and k + 1; k is odd. */
    template <bool PLAIN> __device__ __forceinline__ void rounds(int k, unsigned number)
    {
        round<true, PLAIN>(k, number);
        round<false, PLAIN>(k + 1, number + 1);
    }
};
