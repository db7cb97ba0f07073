/* Part of faces/steps_2.hip.cpp: what a wave does. */
#pragma once

#include "kernels/hip/schedule/deep/faces/shape.h"

#if ARCH_HAS_TILE_COPY

/* In a round arrive plane k of the field and of conductances in z, and plane k - 1 of the others;
 * level 1 of plane k - 1 and level 2 of plane k - 2 are computed. */
template <typename REAL> struct faces_march {
    typedef faces_shape<REAL> S;
    typedef vec16<REAL> cells;
    static constexpr int V = S::V, TX = S::TX, ROWS = S::ROWS;

    const grid_view<REAL> &view;
    const faces<REAL, T> &kind;
    const cell_heat<REAL> *heat; /* of each class in the first step, then in the second */
    int lane, wave;
    /* Planes k - 2 and k - 1 of level 0, k - 3 and k - 2 of level 1, by turns; conductances below
     * planes k - 2 and k - 1. */
    cells level[T][2][ROWS], z[2][ROWS];
    cells x[ROWS], y[ROWS + 1], sigma[ROWS]; /* of plane k - 2 */
    uint32_t bytes[ROWS];                    /* its classes */
    cells beside[2];                         /* level 0 of the rows beside mine in plane k - 1 */
    int i, j;                                /* my first cell */
    int begin, end;                          /* my cells of a row that are written */
    unsigned rows;                           /* bit per row that is */

    __device__ __forceinline__ void start(const faces_column &c)
    {
        i = c.x + lane * V;
        j = c.y + wave * ROWS;
        begin = max(c.x_begin - i, 0);
        end = min(c.x_end - i, V);
        rows = 0;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            rows |= begin < end && j + row >= c.y_begin && j + row < c.y_end ? 1U << row : 0U;
        }
    }

    static __device__ __forceinline__ bool is_written(const faces_column &c, int k)
    {
        return k >= c.k_begin && k < c.k_end;
    }
    /* What arrives in a round, as a lane reads it. */
    struct arrival {
        REAL *field; /* my row before the first one */
        const uint8_t *classes;

        __device__ __forceinline__ cells at(int offset, int row) const
        {
            return vector_at(field + offset + row * TX);
        }
        __device__ __forceinline__ uint32_t own(int row) const
        {
            uint32_t of_row = 0;
            __builtin_memcpy(&of_row, __builtin_assume_aligned(classes + row * S::CLASS_PITCH, V),
                             V);
            return of_row;
        }
    };

    /* A row and those beside it before a step; conductances of its faces, and sigma. */
    struct row_around {
        cells c, front, back, below, above;
        cells x, y_low, y_high, z_low, z_high, sigma;
        uint32_t own;
    };
    /* The row after step L. */
    template <int L> __device__ __forceinline__ cells advance(const row_around &a) const
    {
        const REAL(&dt)[AXIS_COUNT] = kind.dt[L];
        const REAL left = arch_shift_up(a.c.v[V - 1], 1), right = arch_shift_down(a.c.v[0], 1);
        const REAL x_high = arch_shift_down(a.x.v[0], 1);
        cells out;
#pragma unroll
        for (int v = 0; v < V; v++) {
            const int last = V - 1, next = v < last ? v + 1 : v;
            const REAL n[FACE_COUNT] = {v > 0 ? a.c.v[v > 0 ? v - 1 : 0] : left,
                                        v < last ? a.c.v[next] : right,
                                        a.front.v[v],
                                        a.back.v[v],
                                        a.below.v[v],
                                        a.above.v[v]};
            const REAL g[FACE_COUNT] = {
                a.x.v[v] * dt[0],     (v < last ? a.x.v[next] : x_high) * dt[0],
                a.y_low.v[v] * dt[1], a.y_high.v[v] * dt[1],
                a.z_low.v[v] * dt[2], a.z_high.v[v] * dt[2]};
            const cell_heat<REAL> of = heat[L * S::HEAT + ((int)(a.own >> 8 * v) & kind.of.mask)];
            out.v[v] = medium_cell(a.c.v[v] + of.added, a.c.v[v], n, g, a.sigma.v[v], of.q);
        }
        return out;
    }

    /* The rounds of a column take turns: A is where planes k - 2 of level 0 and k - 3 of level 1
     * are. edges: level 1 of the first and last rows of waves in plane k - 2, and room for plane
     * k - 1. */
    template <int A>
    __device__ __forceinline__ void round(int k, const faces_column &c, const arrival &now,
                                          arch_arrivals *emptied, arch_arrivals *met,
                                          const REAL *edges_of_last, REAL *edges, REAL *to)
    {
        constexpr int B = 1 - A;
        const cells front = now.at(0, 0), back = now.at(0, ROWS + 1);
        cells y_low = now.at(S::AT_Y, 0), last_front = {}, last_back = {};
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const int before = row > 0 ? row - 1 : 0, after = row + 1 < ROWS ? row + 1 : row;
            const cells above = now.at(0, row + 1), z_high = now.at(S::AT_Z, row);
            const cells x_of = now.at(S::AT_X, row), sigma_of = now.at(S::AT_SIGMA, row);
            const cells y_high = now.at(S::AT_Y, row + 1);
            const uint32_t own = now.own(row);
            if (row == ROWS - 1) {
                arch_reads_before_tile_copy();
                __syncwarp();
                if (lane == 0) {
                    arch_arrive(emptied);
                }
            }
            const cells one =
                advance<0>({level[0][B][row], row > 0 ? level[0][B][before] : beside[0],
                            row + 1 < ROWS ? level[0][B][after] : beside[1], level[0][A][row],
                            above, x_of, y_low, y_high, z[B][row], z_high, sigma_of, own});
            if (row == 0) {
                arch_arrivals_wait(met, A ^ 1U);
                last_front = vector_at(edges_of_last + max(2 * wave - 1, 0) * TX);
            }
            if (row == ROWS - 1) {
                last_back = vector_at(edges_of_last + min(2 * wave + 2, 2 * S::WAVES - 1) * TX);
            }
            const cells two = advance<1>(
                {level[1][B][row], row > 0 ? level[1][B][before] : last_front,
                 row + 1 < ROWS ? level[1][B][after] : last_back, level[1][A][row], one, x[row],
                 y[row], y[row + 1], z[A][row], z[B][row], sigma[row], bytes[row]});
            store(k - 2, c, to, row, two);
            level[0][A][row] = above;
            level[1][A][row] = one;
            z[A][row] = z_high;
            x[row] = x_of;
            sigma[row] = sigma_of;
            bytes[row] = own;
            y[row] = y_low;
            y_low = y_high;
        }
        y[ROWS] = y_low;
        beside[0] = front;
        beside[1] = back;
        *reinterpret_cast<cells *>(edges + 2 * wave * TX) = level[1][A][0];
        *reinterpret_cast<cells *>(edges + (2 * wave + 1) * TX) = level[1][A][ROWS - 1];
        __syncwarp();
        if (lane == 0) {
            arch_arrive(met);
        }
    }

    __device__ __forceinline__ void store(int k, const faces_column &c, REAL *to, int row,
                                          const cells &out) const
    {
        REAL *const at = to + row * view.pitch_y;
        if ((rows >> row & 1) == 0 || !is_written(c, k)) {
            return;
        }
        if (begin == 0 && end == V) {
            *reinterpret_cast<cells *>(at) = out;
            return;
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            if (v >= begin && v < end) {
                at[v] = out.v[v];
            }
        }
    }
};

#endif
