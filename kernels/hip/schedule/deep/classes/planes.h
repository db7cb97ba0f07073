/* Part of classes/steps_*.hip.cpp: planes of one class each, as layers have them. Nothing about
 * classes is copied with the planes or found in the rounds, and a plane below one of another class
 * is not treated apart. */
#pragma once

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/deep/staged/kernel.h"

#if ARCH_HAS_TILE_COPY

/* Of planes from 2 T below the field to T above it. */
template <typename S> static __host__ __device__ int planes_of(int cells)
{
    return cells + 3 * S::T;
}

/* Whether each plane of the field has one class: see classes_flag. All threads call. */
template <typename WORK>
static __device__ __forceinline__ bool have_one_class(const WORK &w, char *shared)
{
    int *const others = reinterpret_cast<int *>(shared);
    if (threadIdx.x == 0) {
        *others = 0;
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < w.cells[AXIS_Z]; k += (int)blockDim.x) {
        const uint8_t *const row = w.p.of.classes + k * w.p.of.pitch_z - w.p.of.pitch_y;
        if (*reinterpret_cast<const int64_t *>(row + CLASS_NUMBER_AT) == 0) {
            *others = 1;
        }
    }
    __syncthreads();
    return *others == 0;
}

/* Behind the table, of each plane: g in x and in y, to the plane below and to the one above; the
 * class; and sigma and q, of every step or of one where they are the same. */
template <typename S, typename WORK>
static __device__ __forceinline__ void prepare_planes(const WORK &w, char *table)
{
    typedef typename S::REAL REAL;
    const medium<REAL> &m = w.p.of;
    const int planes = planes_of<S>(w.cells[AXIS_Z]), last = w.cells[AXIS_Z] - 1;
    REAL *const to = reinterpret_cast<REAL *>(table + w.at_planes);
    for (int at = (int)threadIdx.x; at < planes; at += S::THREADS) {
        int of[3];
        for (int n = 0; n < 3; n++) {
            const int plane = min(max(at - 2 * S::T + n - 1, 0), last);
            of[n] = m.classes[plane * m.pitch_z] & m.mask;
        }
        to[4 * at] = m.table[medium_g_at(m.n, AXIS_X, of[1], of[1])];
        to[4 * at + 1] = m.table[medium_g_at(m.n, AXIS_Y, of[1], of[1])];
        to[4 * at + 2] = m.table[medium_g_at(m.n, AXIS_Z, of[1], of[0])];
        to[4 * at + 3] = m.table[medium_g_at(m.n, AXIS_Z, of[1], of[2])];
        reinterpret_cast<uint8_t *>(to + 4 * planes)[at] = (uint8_t)of[1];
        for (int l = 0; l < (w.of_sources > 0 ? S::T : 1); l++) {
            REAL *const own = reinterpret_cast<REAL *>(table + w.at_sources + l * w.of_sources);
            own[2 * at] = w.p.table[l][medium_cell_at(of[1])];
            own[2 * at + 1] = w.p.table[l][medium_cell_at(of[1]) + 1];
        }
    }
}

/* The coefficients of the cells of a plane for the step to level L. */
template <int L, typename WAVE>
static __device__ __forceinline__ void numbers_of_plane(const WAVE &my, int plane,
                                                        typename WAVE::row_numbers &to)
{
    typedef typename WAVE::REAL REAL;
    typedef pair_of<REAL> two;
    const int number = plane + 2 * WAVE::T;
    const uint32_t from = my.table + my.w.at_planes + number * 2 * (int)sizeof(two);
    const two xy = load_table(from, two());
    const two z = load_table(from + (int)sizeof(two), two());
    const two of = load_table(
        my.table + my.w.at_sources + (L - 1) * my.w.of_sources + number * (int)sizeof(two), two());
#pragma unroll
    for (int i = 0; i < WAVE::V; i++) {
        to.x[i] = to.x[i + 1] = xy.a;
        to.ym[i] = to.yp[i] = xy.b;
        to.zm[i] = z.a;
        to.zp[i] = z.b;
        to.of[i] = of;
    }
}

#endif
