/* Part of step_staged_medium.hip.cpp: the waves that write the values beyond closed faces. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_CLOSERS_H
#define ISOTHERM_KERNELS_HIP_STAGED_CLOSERS_H

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/ring/staged_ring.h"

#if ARCH_HAS_TILE_COPY

/* Bit f: the tile has cells on the closed face f. */
template <typename S>
static __device__ __forceinline__ unsigned closed_sides(const grid_view<typename S::REAL> &view,
                                                        const rules<typename S::REAL> &rules,
                                                        const work &w, const column &c)
{
    const int end[AXIS_COUNT] = {c.i + S::TX, c.j + w.height, 0};
    const int begin[AXIS_COUNT] = {c.i, c.j, 0};
    unsigned sides = 0;
    for (int axis = AXIS_X; axis <= AXIS_Y; axis++) {
        const bool min = rules.closed[2 * axis] && begin[axis] == 0;
        const bool max = rules.closed[2 * axis + 1] && end[axis] >= (int)view.cells[axis];
        sides |= (min ? 1U : 0U) << (2 * axis) | (max ? 2U : 0U) << (2 * axis);
    }
    return sides;
}

/* Where a cell of a tile lies in a stage; x and y count from the tile's first cell. */
template <typename S> static __device__ __forceinline__ int cell_at(const work &w, int x, int y)
{
    return x / S::SUB_X * w.sub_cells + (y + 1) * S::PITCH + S::PAD + x % S::SUB_X;
}

template <typename S> static __device__ __forceinline__ int class_at(const work &w, int x, int y)
{
    return x / S::SUB_X * w.class_sub + (y + 1) * S::CLASS_PITCH + S::CLASS_PAD + x % S::SUB_X;
}

/* The sums over the faces of one column, of a lane. */
struct closer_tallies {
    tally x, y_min, y_max; /* x: of the lane's face */
};

/* One lane of a wave that writes the values beyond closed x and y faces into the stages, where the
 * engine has left zeros, ahead of the workers: so these need no code for faces, and the tiles at
 * the edge, for which all others wait, are as fast; it also sums over these faces. A lane has a
 * cell on a face in x and some on one in y. Few instructions count here: one wave has the time of a
 * plane or two. */
template <typename S> struct closer {
    typedef typename S::REAL REAL;
    enum { IN_Y = S::TX / ARCH_WAVE, CELLS = IN_Y + 1 };
    int face_x, face_y; /* -1: none */
    const uint8_t *patch_x, *patch_y;
    int i, j; /* of the first cell on y, of the one on x */
    bool valid[CELLS];
    bool counted[CELLS];                                  /* in the box, on a face that is summed */
    int at_x, at_y, class_x, class_y, beyond_x, beyond_y; /* in a stage */
    /* the closures that were used last, mostly those of the next plane */
    int closure[CELLS]; /* -1: none */
    bool radiates;
    REAL a[CELLS], b[CELLS], e[CELLS], g[CELLS];

    /* Once for a column: face_x: of this lane; face_y: of all. */
    __device__ __forceinline__ void take(const medium<REAL> &m, const rules<REAL> &rules,
                                         const work &w, const column &c, int side_x, int side_y)
    {
        const int lane = (int)threadIdx.x % ARCH_WAVE;
        const int last_x = (int)m.cells[AXIS_X] - 1;
        const int last_y = (int)m.cells[AXIS_Y] - 1;
        const int x = side_x == FACE_X_MIN ? 0 : last_x - c.i;
        const int y = side_y == FACE_Y_MIN ? 0 : last_y - c.j;
        face_x = side_x;
        face_y = side_y;
        patch_x = side_x == FACE_X_MIN ? m.patch[FACE_X_MIN] : m.patch[FACE_X_MAX];
        patch_y = side_y == FACE_Y_MIN ? m.patch[FACE_Y_MIN] : m.patch[FACE_Y_MAX];
        i = c.i + lane;
        j = c.j + lane % S::TY;
        at_x = cell_at<S>(w, x, lane % S::TY);
        at_y = cell_at<S>(w, lane, y);
        class_x = class_at<S>(w, x, lane % S::TY);
        class_y = class_at<S>(w, lane, y);
        beyond_x = side_x == FACE_X_MIN ? -1 : 1;
        beyond_y = side_y == FACE_Y_MIN ? -S::PITCH : S::PITCH;
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            valid[n] =
                n < IN_Y ? side_y >= 0 && i + n * ARCH_WAVE <= last_x : side_x >= 0 && j <= last_y;
            const int cell_i = n < IN_Y ? i + n * ARCH_WAVE : c.i + x;
            const int cell_j = n < IN_Y ? c.j + y : j;
            const bool summed = n < IN_Y
                                    ? rules.sum[FACE_Y_MIN] != nullptr && side_y == FACE_Y_MIN ||
                                          rules.sum[FACE_Y_MAX] != nullptr && side_y == FACE_Y_MAX
                                    : rules.sum[FACE_X_MIN] != nullptr && side_x == FACE_X_MIN ||
                                          rules.sum[FACE_X_MAX] != nullptr && side_x == FACE_X_MAX;
            counted[n] = valid[n] && summed && cell_i >= w.lo[AXIS_X] && cell_i < w.hi[AXIS_X] &&
                         cell_j >= w.lo[AXIS_Y] && cell_j < w.hi[AXIS_Y];
            closure[n] = -1;
        }
    }

    /* From the place of a lane's first cell on y to that of another. */
    static __device__ __forceinline__ int in_row(int n, int sub)
    {
        return n * ARCH_WAVE / S::SUB_X * sub + n * ARCH_WAVE % S::SUB_X;
    }

    __device__ __forceinline__ void close(const medium<REAL> &m, const work &w, REAL *stage, int k,
                                          closer_tallies &sums)
    {
        const uint8_t *classes = reinterpret_cast<const uint8_t *>(stage + w.class_cells);
        int wanted[CELLS];
        bool missing = false;
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            wanted[n] = closure[n];
            if (valid[n]) {
                const int64_t pitch = n < IN_Y ? face_y == FACE_Y_MIN ? m.patch_pitch[FACE_Y_MIN]
                                                                      : m.patch_pitch[FACE_Y_MAX]
                                      : face_x == FACE_X_MIN ? m.patch_pitch[FACE_X_MIN]
                                                             : m.patch_pitch[FACE_X_MAX];
                const uint8_t *patch = n < IN_Y ? patch_y : patch_x;
                wanted[n] = classes[n < IN_Y ? class_y + in_row(n, w.class_sub) : class_x] & m.mask;
                if (patch != nullptr) {
                    wanted[n] += m.n * patch[k * pitch + (n < IN_Y ? i + n * ARCH_WAVE : j)];
                }
            }
            missing = missing || wanted[n] != closure[n];
        }
        if (missing) {
            radiates = false;
#pragma unroll
            for (int n = 0; n < CELLS; n++) {
                if (valid[n]) {
                    const int64_t from =
                        medium_closure_at(m.n, m.nclosures, n < IN_Y ? face_y : face_x, wanted[n]);
                    closure[n] = wanted[n];
                    if (counted[n]) {
                        const int own = wanted[n] % m.n;
                        g[n] = m.table[medium_g_at(m.n, n < IN_Y ? AXIS_Y : AXIS_X, own, own)];
                    }
                    a[n] = m.table[from];
                    b[n] = m.table[from + 1];
                    e[n] = m.table[from + 2];
                    radiates = radiates || e[n] != 0;
                }
            }
        }
#pragma unroll
        for (int n = 0; n < CELLS; n++) {
            REAL *at = stage + (n < IN_Y ? at_y + in_row(n, w.sub_cells) : at_x);
            if (valid[n]) {
                const REAL outside = radiates ? medium_outside(*at, a[n], b[n], e[n])
                                              : medium_outside(*at, a[n], b[n], (REAL)0);
                at[n < IN_Y ? beyond_y : beyond_x] = outside;
                if (counted[n]) {
                    tally &sum =
                        n == IN_Y ? sums.x : (face_y == FACE_Y_MIN ? sums.y_min : sums.y_max);
                    sum.add((double)g[n] * (double)(REAL)(outside - *at));
                }
            }
        }
    }
};

/* Lanes of both x faces are in one wave. */
template <typename REAL>
static __device__ __forceinline__ void closer_sums_add(const rules<REAL> &rules, bool low,
                                                       const closer_tallies &sums)
{
    const tally none = {};
    face_sum_add(rules.sum[FACE_X_MIN], low ? sums.x : none);
    face_sum_add(rules.sum[FACE_X_MAX], low ? none : sums.x);
    face_sum_add(rules.sum[FACE_Y_MIN], sums.y_min);
    face_sum_add(rules.sum[FACE_Y_MAX], sums.y_max);
}

/* One of S::CLOSERS waves, which take the planes in turn; all its lanes call. closed: of a stage:
 * its values beyond faces are written. */
template <typename S>
static __device__ __forceinline__ void close_all(const grid_view<typename S::REAL> &view,
                                                 const medium<typename S::REAL> &m,
                                                 const rules<typename S::REAL> &rules,
                                                 stage_ring<S> ring, arch_arrivals *closed,
                                                 const work &w, int wave)
{
    static_assert(2 * S::TY <= ARCH_WAVE, "one lane per row and side");
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    closer<S> mine = {};
    int turn = 0;
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        const unsigned sides = closed_sides<S>(view, rules, w, c);
        const int side_x = lane < S::TY ? FACE_X_MIN : FACE_X_MAX;
        const bool has_x = (sides >> side_x & 1) != 0 && lane % S::TY < w.height;
        const bool y_min = (sides >> FACE_Y_MIN & 1) != 0;
        const bool y_max = (sides >> FACE_Y_MAX & 1) != 0;
        closer_tallies sums = {};
        mine.take(m, rules, w, c, has_x ? side_x : -1,
                  y_min ? FACE_Y_MIN : (y_max ? FACE_Y_MAX : -1));
        for (int k = c.k_begin - 1; k <= c.k_end; k++, ring.next()) {
            turn = turn + 1 < S::CLOSERS ? turn + 1 : 0;
            if (turn != wave) {
                continue;
            }
            ring.wait();
            if (k >= c.k_begin && k < c.k_end && sides != 0) {
                mine.close(m, w, ring.stage(), k, sums);
                if (y_min && y_max) { /* a grid of few rows */
                    mine.take(m, rules, w, c, -1, FACE_Y_MAX);
                    mine.close(m, w, ring.stage(), k, sums);
                    mine.take(m, rules, w, c, has_x ? side_x : -1, FACE_Y_MIN);
                }
            }
            __syncwarp();
            if (arch_is_first_lane()) {
                arch_arrive(&closed[ring.slot]);
            }
            ring.release();
        }
        closer_sums_add(rules, lane < S::TY, sums);
    }
}

#endif

#endif
