/* Part of step_staged.hip.cpp and step_staged_medium.hip.cpp: the wave that sums over the cells of
 * closed faces. */
#ifndef ISOTHERM_KERNELS_HIP_STAGED_SUMS_H
#define ISOTHERM_KERNELS_HIP_STAGED_SUMS_H

#include "kernels/hip/schedule/ring/staged_ring.h"

#if ARCH_HAS_TILE_COPY

/* A wave's sums over the sides of a column, plane by plane from the ring. In a separate wave, so
 * that the blocks at the edge, for which all others wait, are not slower. */
struct side_tallies {
    tally x_min, x_max, y_min, y_max;
};

/* The term of a cell in the sum over a face, from a stage: in a uniform medium the cell. */
template <typename S> struct stage_view {
    const typename S::REAL *stage;
    const work &w;
    const column &c;

    __device__ double operator()(int, int i, int j) const
    {
        const int x = i - c.i;
        return (double)
            stage[x / S::SUB_X * w.sub_cells + (j - c.j + 1) * S::PITCH + S::PAD + x % S::SUB_X];
    }
};

/* This lane's cells of a row. Unrolled, since one addition is a long chain. */
template <typename VIEW>
static __device__ __forceinline__ void add_row(tally &sum, const VIEW &cell, int face, int i_begin,
                                               int i_end, int j)
{
#pragma unroll 4
    for (int i = i_begin; i < i_end; i += ARCH_WAVE) {
        sum.add(cell(face, i, j));
    }
}

/* SIDES: also the faces in x and y. */
template <typename S, bool SIDES, typename VIEW>
static __device__ __forceinline__ void add_plane(side_tallies &sums, const VIEW &cell,
                                                 const rules<typename S::REAL> &rules,
                                                 const int (&last)[AXIS_COUNT], int k)
{
    const work &w = cell.w;
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const int i_begin = max(cell.c.i, w.lo[0]);
    const int i_end = min(cell.c.i + S::TX, w.hi[0]);
    const int j = cell.c.j + lane;
    const int j_end = min(cell.c.j + w.height, w.hi[1]);
    if (SIDES && rules.sum[FACE_X_MIN] != nullptr && i_begin == 0 && j < j_end) {
        sums.x_min.add(cell(FACE_X_MIN, 0, j));
    }
    if (SIDES && rules.sum[FACE_X_MAX] != nullptr && i_end == last[0] + 1 && j < j_end) {
        sums.x_max.add(cell(FACE_X_MAX, last[0], j));
    }
    const bool y_min = SIDES && rules.sum[FACE_Y_MIN] != nullptr && cell.c.j == 0;
    const bool y_max = SIDES && rules.sum[FACE_Y_MAX] != nullptr && j_end == last[1] + 1;
    if (y_min) {
        add_row(sums.y_min, cell, FACE_Y_MIN, i_begin + lane, i_end, 0);
    }
    if (y_max) {
        add_row(sums.y_max, cell, FACE_Y_MAX, i_begin + lane, i_end, last[1]);
    }
    for (int face = FACE_Z_MIN; face <= FACE_Z_MAX; face++) {
        if (rules.sum[face] == nullptr || k != (face == FACE_Z_MIN ? 0 : last[2])) {
            continue;
        }
        tally z = {};
        for (int row = cell.c.j; row < j_end; row++) {
            add_row(z, cell, face, i_begin + lane, i_end, row);
        }
        face_sum_add(rules.sum[face], z);
    }
}

/* One wave; all its lanes call. view_of(stage, column, k): access to the terms of plane k. */
template <typename S, bool SIDES, typename VIEW_OF>
static __device__ __forceinline__ void sum_all(const grid_view<typename S::REAL> &view,
                                               const rules<typename S::REAL> &rules,
                                               stage_ring<S> ring, const work &w, VIEW_OF view_of)
{
    static_assert(S::TY <= ARCH_WAVE, "one lane per row");
    const int last[AXIS_COUNT] = {(int)view.cells[0] - 1, (int)view.cells[1] - 1,
                                  (int)view.cells[2] - 1};
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of(w, item, S::TX);
        side_tallies sums = {};
        for (int k = c.k_begin - 1; k <= c.k_end; k++, ring.next()) {
            ring.wait();
            if (k >= c.k_begin && k < c.k_end) {
                add_plane<S, SIDES>(sums, view_of(ring.stage(), c, k), rules, last, k);
            }
            ring.release();
        }
        if (SIDES) {
            face_sum_add(rules.sum[FACE_X_MIN], sums.x_min);
            face_sum_add(rules.sum[FACE_X_MAX], sums.x_max);
            face_sum_add(rules.sum[FACE_Y_MIN], sums.y_min);
            face_sum_add(rules.sum[FACE_Y_MAX], sums.y_max);
        }
    }
}

#endif

#endif
