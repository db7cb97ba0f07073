/* Four steps of Jacobi's method in a pass of staged planes: what a wave keeps of its rows of a
 * tile, and a step. Used for tables along the axes (smooth_staged.h) and for conductances per face
 * (smooth_faces.hip.cpp).
 *
 * As in ../schedule/deep/staged/kernel.h a block marches in z through a tile, and each of its
 * waves has some of the rows: neighbours in x come from other lanes, those in y from registers or,
 * at the rows between waves, from shared memory, in two parities, so that a plane needs one
 * meeting. All levels stay in registers: a lane keeps each level in the plane that its next step is
 * at, and its difference to the plane below, which is that of the plane above one round before. The
 * copy engine loads planes. What a level computes within l cells of the tile's edge is wrong and
 * reaches no cell that is written, but at closed faces, where the values beyond the edge are 0. */
#pragma once

#include "kernels/hip/multigrid/smooth.h"

constexpr int T = SMOOTH_STEPS, V = 2, ROWS = 2, WAVES = 16;
constexpr int THREADS = WAVES * ARCH_WAVE;
static_assert((T & (T - 1)) == 0 && ROWS % 2 == 0 && V == 2, "of rings, and pairs of children");
constexpr int TX = ARCH_WAVE * V, TY = WAVES * ROWS; /* of a tile */
constexpr int STEP_X = TX - 2 * T, STEP_Y = TY - 2 * T;
/* Elements of a level in a parity: what is before the tile, the first and last row of each wave,
 * and after. */
constexpr int LEVEL = (2 * WAVES + 2) * TX;

struct alignas(4 * V) cells {
    float v[V];
};

static __device__ __forceinline__ cells &cells_at(float *shared)
{
    return *reinterpret_cast<cells *>(shared);
}

static __device__ __forceinline__ const cells &cells_at(const float *shared)
{
    return *reinterpret_cast<const cells *>(shared);
}

/* Tiles on an axis: at closed faces they have no cells beside those that they write. */
static inline int count_tiles(int64_t cells, int tile, int step)
{
    return cells > tile ? (int)((cells - tile + step - 1) / step) + 1 : 1;
}

static bool has_closed_axes(const struct multigrid *m)
{
    bool good = true;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        good = good && m->active[axis] && !m->wraps[axis] && m->layout.cells[axis] < INT32_MAX / 4;
    }
    return good;
}

/* WORK: the kernel's argument, with the members m, weight, out, across and up. */
template <typename WORK> struct staged_rows {
    const WORK &p;
    float *shared;
    arch_arrivals *filled; /* of each stage: its planes have arrived */
    arch_meeting *meeting;
    int i, j; /* my first cell */
    int lane, wave;
    unsigned inside;  /* bit per cell of my vectors and, from V, row */
    unsigned written; /* bit per row: all cells of its vector are; from ROWS on: a part */
    bool whole;       /* all cells of the wave are inside */
    int begin, end;   /* planes that are written */
    int last;         /* after the last round */
    int tile_x, tile_y;
    float *to;                 /* my first cell in the plane that is complete */
    float has_left, has_right; /* 0: the cells beside mine are beyond a face */
    cells level[T][ROWS], rise[T][ROWS];

    __device__ __forceinline__ bool has(int row, int n) const
    {
        return (inside >> n & 1) != 0 && (inside >> (V + row) & 1) != 0;
    }

    __device__ __forceinline__ void begin_tile(int tile)
    {
        tile_x = tile % p.across * STEP_X;
        tile_y = tile / p.across * STEP_Y;
        lane = (int)threadIdx.x % ARCH_WAVE;
        wave = (int)arch_first_lane_value(threadIdx.x / ARCH_WAVE);
        i = tile_x + lane * V;
        j = tile_y + wave * ROWS;
    }

    /* After begin and end are known. */
    __device__ __forceinline__ void begin_cells(int first)
    {
        const int from = tile_x > 0 ? T : 0; /* cells of the tile that are written */
        const int end_x = tile_x + TX >= (int)p.m.layout.cells[AXIS_X] ? TX : TX - T;
        inside = 0;
        written = 0;
        bool all = true, any = true;
        for (int n = 0; n < V; n++) {
            const int at = lane * V + n;
            const bool on = is_cell(p.m, AXIS_X, i + n);
            inside |= on ? 1U << n : 0U;
            all = all && on && at >= from && at < end_x;
            any = any && at >= from && at < end_x;
        }
        any = any && (inside & 1) != 0;
        for (int row = 0; row < ROWS; row++) {
            const int at = wave * ROWS + row;
            const bool on = is_cell(p.m, AXIS_Y, j + row);
            const bool here = on && (at >= T || tile_y == 0) &&
                              (at < TY - T || tile_y + TY >= (int)p.m.layout.cells[AXIS_Y]);
            inside |= on ? 1U << (V + row) : 0U;
            written |= here && all ? 1U << row : here && any ? 1U << (ROWS + row) : 0U;
        }
        whole = arch_all(inside == (1U << (V + ROWS)) - 1);
        has_left = lane > 0 ? 1 : 0;
        has_right = lane < ARCH_WAVE - 1 ? 1 : 0;
        to = p.out + p.m.layout.origin + (first - T) * p.m.layout.pitch_z + j * p.m.layout.pitch_y +
             i;
    }

    /* My cells of a row in the plane that is complete. */
    __device__ __forceinline__ void store(const cells &o, int row) const
    {
        float *const at = to + row * p.m.layout.pitch_y;
        if ((written >> row & 1) != 0) {
            cells_at(at) = o;
        } else if ((written >> (ROWS + row) & 1) != 0) { /* a part */
            for (int n = 0; n < V; n++) {
                if ((inside >> n & 1) != 0) {
                    at[n] = o.v[n];
                }
            }
        }
    }

    /* The step from level l of a row. fresh: level l in the plane above; then level l + 1. back:
     * the row after the wave's last. south: differences to the row before; then of the one after.
     */
    template <int L>
    __device__ __forceinline__ void step(int row, cells &fresh, cells &south, const cells &back,
                                         const pair (&x)[V], const pair (&y)[V], const pair (&z)[V],
                                         const cells &r, const cells &inverse)
    {
        const cells c = level[L][row];
        const float left = arch_shift_up(c.v[V - 1], 1);
        const float right = arch_shift_down(c.v[0], 1);
        float east[V + 1]; /* differences between neighbours in x */
        east[0] = fmaf(-has_left, left, c.v[0]);
        east[V] = fmaf(has_right, right, -c.v[V - 1]);
#pragma unroll
        for (int n = 1; n < V; n++) {
            east[n] = c.v[n] - c.v[n - 1];
        }
#pragma unroll
        for (int n = 0; n < V; n++) {
            const float up = fresh.v[n] - c.v[n];
            const float after =
                row < ROWS - 1 ? level[L][row < ROWS - 1 ? row + 1 : row].v[n] : back.v[n];
            const float north = after - c.v[n];
            float heat = fmaf(z[n].high, up, 0);
            heat = fmaf(z[n].low, -rise[L][row].v[n], heat);
            heat = fmaf(y[n].high, north, heat);
            heat = fmaf(y[n].low, -south.v[n], heat);
            heat = fmaf(x[n].high, east[n + 1], heat);
            heat = fmaf(x[n].low, -east[n], heat);
            const float value = fmaf(p.weight[L], (r.v[n] + heat) * inverse.v[n], c.v[n]);
            rise[L][row].v[n] = up;
            south.v[n] = north;
            level[L][row].v[n] = fresh.v[n];
            fresh.v[n] = value;
        }
    }
};
