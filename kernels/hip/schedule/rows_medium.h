/* Part of rows.hip.cpp: what a wave keeps of its cells' medium. */
#pragma once

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/tiling.h"

/* A uniform medium needs none of this. */
template <typename S, typename KIND> struct rows_medium {
    __device__ __forceinline__ void read_ahead(const KIND &, int, int, int, int)
    {
    }
    __device__ __forceinline__ void begin_plane(const KIND &)
    {
    }
    __device__ __forceinline__ void begin_level(const KIND &, int)
    {
    }
    static constexpr bool has_one(int)
    {
        return true;
    }
    template <bool ONE, typename REAL>
    __device__ __forceinline__ REAL update(const KIND &kind, const tiling &, int l, int, int,
                                           int64_t, REAL base, REAL c,
                                           const REAL (&around)[FACE_COUNT]) const
    {
        return kind.update(l, {}, base, c, around);
    }
};

template <typename S, typename REAL, int T> struct rows_medium<S, classes<REAL, T>> {
    typedef classes<REAL, T> KIND;
    uint32_t bytes[S::ROWS]; /* of the cells of level 0 in the next plane */
    /* The class of the wave's cells in the plane of level 0, and in that to be advanced of each
     * level; -1: several. And 1 + the class that `of` is of; 0: none. */
    int number[T + 1], kept[T];
    REAL of[T][5]; /* g of each axis, sigma, q */

    __device__ __forceinline__ void read_ahead(const KIND &kind, int r, int i, int j, int k)
    {
        const uint8_t *plane = kind.of.classes + k * kind.of.pitch_z;
        /* a device has no memory for planes of 2^31 cells; 64 bits take three times as long */
        const int at = j * (int)kind.of.pitch_y + i;
        bytes[r] = kept_class<REAL>::template mark_of<S::N>(0, {{}, plane + at}, true);
    }
    __device__ __forceinline__ void begin_plane(const KIND &kind)
    {
        const uint32_t all = S::N == 2 ? 0x101 : 0x1010101;
        const uint32_t own = arch_first_lane_value(bytes[0]) & UINT8_MAX;
        bool alike = (own & ~(uint32_t)kind.of.mask) != 0;
#pragma unroll
        for (int r = 0; r < S::ROWS; r++) {
            alike = alike && bytes[r] == own * all;
        }
#pragma unroll
        for (int l = T; l > 0; l--) {
            number[l] = number[l - 1];
        }
        number[0] = arch_all(alike) ? (int)own & kind.of.mask : -1;
    }
    __device__ __forceinline__ void begin_level(const KIND &kind, int l)
    {
        const int found = number[l + 1];
        if (found >= 0 && found + 1 != kept[l]) {
            const REAL *table = kind.table[l];
#pragma unroll
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                of[l][axis] = table[medium_g_at(kind.of.n, axis, found, found)];
            }
            of[l][3] = table[medium_cell_at(found)];
            of[l][4] = table[medium_cell_at(found) + 1];
            kept[l] = found + 1;
        }
    }
    __device__ __forceinline__ bool has_one(int l) const
    {
        return number[l + 1] >= 0;
    }
    /* ONE: has_one(l) */
    template <bool ONE>
    __device__ __forceinline__ REAL update(const KIND &kind, const tiling &t, int l, int i, int j,
                                           int64_t k, REAL base, REAL c,
                                           const REAL (&around)[FACE_COUNT]) const
    {
        if constexpr (ONE) {
            const REAL g[FACE_COUNT] = {of[l][0], of[l][0], of[l][1], of[l][1], of[l][2], of[l][2]};
            return medium_cell(base, c, around, g, of[l][3], of[l][4]);
        }
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        bool known = true;
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            known = known && cell[axis] >= t.next_lo[axis] && cell[axis] < t.next_hi[axis];
        }
        return known ? kind.update(l, kind.at(i, j, k), base, c, around) : c;
    }
};
