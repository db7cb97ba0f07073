/* Part of uniform.hip.cpp and compare.hip.cpp: what a worker of the ring does in a uniform medium.
 */
#pragma once

#include "kernels/hip/kind/uniform.h"
#include "kernels/hip/schedule/ring/kernel.h"

#if ARCH_HAS_TILE_COPY

/* SIDES: the tile lies on a closed face in x or y. */
template <typename S, bool SIDES> struct uniform_worker {
    typedef typename S::REAL REAL;
    const uniform<REAL, 1> &kind;
    const place<S> &p;

    __device__ __forceinline__ void wait(const stage_ring<S> &ring) const
    {
        ring.wait();
    }
    __device__ __forceinline__ void begin(const REAL *, const REAL *) const
    {
    }
    __device__ __forceinline__ cells_of<S> beyond(int face, int, const cells_of<S> &inside,
                                                  const REAL *, REAL *) const
    {
        cells_of<S> cells;
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                cells.row[row].v[i] = kind.beyond(0, {}, face, inside.row[row].v[i]);
            }
        }
        return cells;
    }

    __device__ __forceinline__ void advance(const REAL *now, const REAL *,
                                            const cells_of<S> (&z)[3], cells_of<S> &out) const
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++) {
            const row_values<S> v = values_of<S>(now, p, row, z);
#pragma unroll
            for (int i = 0; i < S::N; i++) {
                REAL n[FACE_COUNT];
                v.around(i, n);
                if (SIDES) {
                    const bool on[] = {i == 0 && p.x_min, i == p.x_max, row == 0 && p.y_min,
                                       row == p.y_max};
#pragma unroll
                    for (int face = FACE_X_MIN; face <= FACE_Y_MAX; face++) {
                        const REAL outside = kind.beyond(0, {}, face, v.c.v[i]);
                        n[face] = on[face] ? outside : n[face]; /* a selection, not a branch */
                    }
                }
                out.row[row].v[i] = kind.update(0, {}, out.row[row].v[i], v.c.v[i], n);
            }
        }
    }
};

#endif
