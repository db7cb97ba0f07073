/* Part of kernel.h: the wave that sums over the cells of closed faces. */
#pragma once

#include "kernels/hip/schedule/ring/ring.h"

#if ARCH_HAS_TILE_COPY

/* This lane's cells of rows. Unrolled, since one addition is a long chain. */
template <typename TERM>
static __device__ __forceinline__ void add_rows(tally &sum, const TERM &term, int i, int i_end,
                                                int j, int j_end)
{
    for (; j < j_end; j++) {
#pragma unroll 4
        for (int x = i; x < i_end; x += ARCH_WAVE) {
            sum.add(term(x, j));
        }
    }
}

/* One wave sums over the sides of its columns, plane by plane from the ring; all its lanes call. In
 * a separate wave, so that the blocks at the edge, for which all others wait, are not slower.
 * kind.term(stage, w, c, face, cell): the term of a cell in the sum of a face. */
template <typename S, typename KIND>
static __device__ __forceinline__ void sum_all(const grid_view<typename S::REAL> &view,
                                               const KIND &kind, const face_sums &sums,
                                               stage_ring<S> ring, const work &w)
{
    static_assert(S::TY <= ARCH_WAVE, "one lane per row");
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of<S>(w, item);
        tally found[FACE_COUNT] = {};
        for (int k = c.k_begin - 1; k <= c.k_end; k++, ring.next()) {
            ring.wait();
#pragma unroll
            for (int face = FACE_X_MIN; face < FACE_COUNT; face++) {
                const int axis = face / 2;
                const int layer = face % 2 == 0 ? 0 : (int)view.cells[axis] - 1;
                int lo[AXIS_COUNT] = {max(c.i, w.lo[0]), c.j, max(k, c.k_begin)};
                int hi[AXIS_COUNT] = {min(c.i + S::TX, w.hi[0]), min(c.j + w.height, w.hi[1]),
                                      min(k + 1, c.k_end)};
                if (sums.sum[face] == nullptr || layer < lo[axis] || layer >= hi[axis] ||
                    lo[AXIS_Z] >= hi[AXIS_Z]) {
                    continue;
                }
                lo[axis] = layer;
                hi[axis] = layer + 1;
                lo[axis == AXIS_X ? AXIS_Y : AXIS_X] += lane;
                hi[AXIS_Y] = axis == AXIS_X ? min(hi[AXIS_Y], lo[AXIS_Y] + 1) : hi[AXIS_Y];
                const auto term = [&](int i, int j) {
                    return kind.term(ring.stage(), w, c, face, {i, j, k});
                };
                add_rows(found[face], term, lo[AXIS_X], hi[AXIS_X], lo[AXIS_Y], hi[AXIS_Y]);
            }
            ring.release();
        }
#pragma unroll
        for (int face = FACE_X_MIN; face < FACE_COUNT; face++) {
            face_sum_add(sums.sum[face], found[face]);
        }
    }
}

#endif
