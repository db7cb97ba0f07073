/* Part of classes/steps_*.hip.cpp: two steps in a medium whose classes change from cell to cell.
 *
 * Row by row, and in a row both steps: level 2 is in the plane where level 1 was in the round
 * before, so a wave keeps the conductances of the cells of that plane. 8 waves have the registers
 * for it. The first and the last row come first, so that the neighbours need not wait for the
 * others. The planes of level 0 are read until the end of a round. */
#pragma once

#include "kernels/hip/schedule/deep/classes/march.h"

#if ARCH_HAS_TILE_COPY

template <typename S> struct held_wave : classes_wave<S> {
    typedef classes_wave<S> of;
    typedef typename S::REAL REAL;
    typedef typename of::cells cells;
    typedef typename of::row_numbers row_numbers;
    static constexpr int V = S::V, ROWS = S::ROWS;
    using of::at, of::rise, of::w, of::y_min, of::y_max;

    /* Of the plane where level 1 was in the round before. */
    REAL gx[ROWS][V + 1], gy[ROWS + 1][V], gzm[ROWS][V], gzp[ROWS][V];

    /* Look up what row r needs for level 1, but conductances in y that `new_y` has already. */
    __device__ __forceinline__ row_numbers look_up_row(REAL (&new_y)[ROWS + 1][V],
                                                       const uint32_t (&rows)[ROWS + 2], int r,
                                                       uint32_t own, uint32_t upper, bool bottom,
                                                       int token) const
    {
        row_numbers k;
        const uint32_t high = of::template word<V>(upper + r * S::CLASS_ROW, token);
        const uint32_t left = of::template word<1>(own + r * S::CLASS_ROW - 1, token);
        const uint32_t right = of::template word<1>(own + r * S::CLASS_ROW + V, token);
#pragma unroll
        for (int i = 0; i < V; i++) {
            const uint32_t c = of::class_in(rows[r + 1], i);
            const uint32_t row = of::row_of_class(0, c);
            const uint32_t before = i > 0 ? of::class_in(rows[r + 1], i > 0 ? i - 1 : 0) : left;
            k.x[i] = of::g(AXIS_X, row, before);
            if (i == V - 1) {
                k.x[V] = of::g(AXIS_X, row, right);
            }
            if (r == ROWS - 1 || r == 0) {
                new_y[r][i] = of::g(AXIS_Y, row, of::class_in(rows[r], i));
            }
            if (r != ROWS - 2) {
                new_y[r + 1][i] = of::g(AXIS_Y, row, of::class_in(rows[r + 2], i));
            }
            k.ym[i] = new_y[r][i];
            k.yp[i] = new_y[r + 1][i];
            k.zm[i] = bottom ? of::g(AXIS_Z, row, c) : gzp[r][i];
            k.zp[i] = of::g(AXIS_Z, row, of::class_in(high, i));
        }
        look_up_cells(k, rows[r + 1], 0);
        return k;
    }

    __device__ __forceinline__ void look_up_cells(row_numbers &k, uint32_t row, int l) const
    {
#pragma unroll
        for (int i = 0; i < V; i++) {
            k.of[i] = load_table(of::numbers(l) +
                                     of::class_in(row, i) * (uint32_t)sizeof(typename of::two),
                                 typename of::two());
        }
    }

    /* What row r needs for level 2. */
    __device__ __forceinline__ row_numbers held_row(int r, uint32_t row) const
    {
        row_numbers k;
#pragma unroll
        for (int i = 0; i < V; i++) {
            k.x[i] = gx[r][i];
            k.ym[i] = gy[r][i];
            k.yp[i] = gy[r + 1][i];
            k.zm[i] = gzm[r][i];
            k.zp[i] = gzp[r][i];
        }
        k.x[V] = gx[r][V];
        look_up_cells(k, row, 1);
        return k;
    }

    __device__ __forceinline__ void hold_row(int r, const row_numbers &k)
    {
#pragma unroll
        for (int i = 0; i < V; i++) {
            gx[r][i] = k.x[i];
            gzm[r][i] = k.zm[i];
            gzp[r][i] = k.zp[i];
        }
        gx[r][V] = k.x[V];
    }

    template <int WITH, typename ARRIVE>
    __device__ __forceinline__ void advance_plane(int k, ARRIVE arrive)
    {
        constexpr bool Y = (WITH & (WITH_Y | WITH_PARTS)) != 0;
        constexpr bool ALL = (WITH & WITH_PARTS) != 0;
        const int token = begin_reads();
        const uint32_t own = of::classes_below(1), lower = of::classes_below(2);
        const bool bottom = ALL && k == 1 && w.p.closed[FACE_Z_MIN];
        const bool top = ALL && k == w.cells[AXIS_Z] + 1 && w.p.closed[FACE_Z_MAX];
        typename of::level_rows n, m; /* of levels 0 and 1 */
        uint32_t rows[ROWS + 2];
        REAL new_y[ROWS + 1][V];
        cells up[ROWS];
        of::template rows_of_level<1>(n);
        of::template rows_of_level<2>(m);
        of::template close_y<WITH, EACH, 1>(n, own, token);
#pragma unroll
        for (int r = 0; r < ROWS + 2; r++) {
            rows[r] = of::template word<V>(own + (r - 1) * S::CLASS_ROW, token);
        }
#pragma unroll
        for (int order = 0; order < ROWS; order++) {
            const int r = order == 0 ? ROWS - 1 : order - 1;
            of::template beside_row<1>(n, r);
            of::template beside_row<2>(m, r);
            of::template above_and_below<1>(n, r);
            of::template above_and_below<2>(m, r);
            of::template close<WITH, EACH, 1>(n, k - 1, own, token, r, r + 1);
            of::template close<WITH, EACH, 2>(m, k - 2, lower, token, r, r + 1);
            const row_numbers now =
                look_up_row(new_y, rows, r, own, of::classes_below(0), bottom, token);
            const row_numbers then =
                held_row(r, of::template word<V>(lower + r * S::CLASS_ROW, token));
            up[r] = of::template step_row<WITH>(n, r, now);
            if (!top) {
                m.up[r] = up[r];
            }
            of::template write<WITH>(of::template step_row<WITH>(m, r, then), r, k - 2);
            hold_row(r, now);
            if (order == 1) {
                of::template store_edges<Y, EACH>(up, 1, own, token);
                arrive();
            }
        }
        of::put_bits();
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            at[0][r] = up[r];
            rise[0][r] = m.rise[r];
        }
#pragma unroll
        for (int r = 0; r <= ROWS; r++) {
#pragma unroll
            for (int i = 0; i < V; i++) {
                gy[r][i] = new_y[r][i];
            }
        }
    }
};

#endif
