/* Part of faces/steps_2.hip.cpp: what a wave does. */
#pragma once

#include "kernels/hip/schedule/deep/faces/shape.h"

#if ARCH_HAS_TILE_COPY

/* In a round arrive plane k of the field and of conductances in z, and plane k - 1 of the others;
 * level 1 of plane k - 1 and level 2 of plane k - 2 are computed. At closed faces the values beyond
 * a wave's cells are found before its rows: of x by a lane for each row and step. */
template <typename REAL> struct faces_march {
    typedef faces_shape<REAL> S;
    typedef vec16<REAL> cells;
    static constexpr int V = S::V, TX = S::TX, ROWS = S::ROWS;

    const grid_view<REAL> &view;
    const faces<REAL, T> &kind;
    const tiling &t;
    const tile_sinks<T> &sinks;
    const cell_heat<REAL> *heat; /* of each class in the first step, then in the second */
    struct tally *sum_x, *sum_y; /* mine: of my cell at faces of x, see close_x; of each step */
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
    int side, side_face;                     /* my row at a closed face of y; -1: none */

    __device__ __forceinline__ void start(const faces_column &c)
    {
        i = c.x + lane * V;
        j = c.y + wave * ROWS;
        begin = max(c.x_begin - i, 0);
        end = min(c.x_end - i, V);
        rows = 0;
        side = -1;
        side_face = FACE_Y_MIN;
        *sum_x = {};
#pragma unroll
        for (int l = 0; l < T; l++) {
            sum_y[l] = {};
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const bool low = (c.sides >> FACE_Y_MIN & 1) != 0 && j + row == 0;
            const bool high = (c.sides >> FACE_Y_MAX & 1) != 0 && j + row + 1 == (int)view.cells[1];
            rows |= begin < end && j + row >= c.y_begin && j + row < c.y_end ? 1U << row : 0U;
            side = low || high ? row : side;
            side_face = high ? FACE_Y_MAX : side_face;
        }
    }

    /* Add to the sums of the faces. */
    __device__ __forceinline__ void finish() const
    {
        const int item = lane / ROWS;
#pragma unroll
        for (int n = 0; n < 2 * T; n++) {
            face_sum_add(sinks.of[n % T].sum[FACE_X_MIN + n / T], item == n ? *sum_x : tally{});
        }
#pragma unroll
        for (int n = 0; n < 2 * T; n++) {
            const int face = FACE_Y_MIN + n / T;
            face_sum_add(sinks.of[n % T].sum[face], face == side_face ? sum_y[n % T] : tally{});
        }
    }

    /* A row or a cell whose number the compiler does not know. */
    static __device__ __forceinline__ cells row_of(const cells *from, int count, int row)
    {
        cells found = from[0];
#pragma unroll
        for (int r = 1; r < count; r++) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                found.v[v] = row >= r ? from[r].v[v] : found.v[v];
            }
        }
        return found;
    }
    static __device__ __forceinline__ REAL cell_of(const cells &from, int at)
    {
        REAL found = from.v[0];
#pragma unroll
        for (int v = 1; v < V; v++) {
            found = at >= v ? from.v[v] : found;
        }
        return found;
    }

    static __device__ __forceinline__ bool is_written(const faces_column &c, int k)
    {
        return k >= c.k_begin && k < c.k_end;
    }
    /* A cell whose value after a step is needed, as its neighbours may be read. */
    __device__ __forceinline__ bool is_next(int axis, int at) const
    {
        return at >= (int)t.next_lo[axis] && at < (int)t.next_hi[axis];
    }

    /* Beyond closed faces of N cells, each before its step; g: conductances of the faces times the
     * length of the step. As faces_outside, but without a branch per cell, so that the divisions of
     * all run at the same time, and without them where no lane needs one. All lanes call. */
    template <int N>
    __device__ __forceinline__ void find_beyond(int face, edge_cells<REAL, N> &e) const
    {
        const medium<REAL> &m = kind.of;
        REAL given[N], slope[N], half[N], sum[N];
        bool fixed[N], divides = false;
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int closure =
                e.on[n] ? medium_closure(m.patch[face], m.patch_pitch[face], m.first_closure[face],
                                         m.n, face, e.cell[n], (int)(e.own[n] & m.mask))
                        : 0;
            const REAL *const of = (e.step[n] == 0 ? kind.table[0] : kind.table[1]) +
                                   medium_closure_at(m.n, m.nclosures, face, closure);
            fixed[n] = of[3] != 0 || e.g[n] == 0;
            given[n] = e.g[n] == 0 ? (REAL)0 : of[0];
            slope[n] = of[1];
            half[n] = 1;
            divides = divides || (e.on[n] && !fixed[n] && (of[0] != 0 || of[1] != 0));
        }
        divides = arch_any(divides);
#pragma unroll
        for (int n = 0; n < N && divides; n++) {
            half[n] = (REAL)0.5 / (fixed[n] ? (REAL)1 : e.g[n]);
        }
#pragma unroll
        for (int n = 0; n < N; n++) {
            const bool inside_too = e.g[n] == 0 || !fixed[n];
            given[n] = fixed[n] ? given[n] : given[n] * half[n];
            slope[n] = fixed[n] ? (REAL)1 : 1 + slope[n] * half[n];
            sum[n] = arch_fma(inside_too ? (REAL)1 : (REAL)0, e.inside[n], given[n]);
        }
#pragma unroll
        for (int n = 0; n < N && divides; n++) {
            sum[n] = sum[n] / slope[n];
        }
#pragma unroll
        for (int n = 0; n < N; n++) {
            e.outside[n] = arch_fma((REAL)2, sum[n], -e.inside[n]);
        }
    }

    /* To the sums over faces that are mine. */
    template <int N>
    __device__ __forceinline__ void add(const edge_cells<REAL, N> &e, int n, tally &sum) const
    {
        sum.add(e.counts[n] ? (double)e.g[n] * (double)(REAL)(e.outside[n] - e.inside[n]) : 0.0);
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

    /* Beyond the faces of x: each lane has a cell of the wave, [face][step][row]. All lanes call.
     */
    template <int B>
    __device__ __forceinline__ REAL close_x(int k, const faces_column &c, const arrival &now) const
    {
        edge_cells<REAL, 1> e = {};
        int face = FACE_X_MIN;
#pragma unroll 1
        for (int high = 0; high < 2; high++) {
            if ((c.sides >> (FACE_X_MIN + high) & 1) == 0) {
                continue;
            }
            const int at = high ? (int)view.cells[0] - 1 : 0;
            const int from = (at - c.x) / V, of_lane = (at - c.x) % V;
            const int g_from = (at + high - c.x) / V, g_of_lane = (at + high - c.x) % V;
#pragma unroll
            for (int n = 0; n < T * ROWS; n++) {
                const int l = n / ROWS, row = n % ROWS;
                const REAL inside = arch_lane_value(cell_of(level[l][B][row], of_lane), from);
                const cells x_of = l == 0 ? now.at(S::AT_X, row) : x[row];
                const REAL g = arch_lane_value(cell_of(x_of, g_of_lane), g_from) * kind.dt[l][0];
                const uint32_t own =
                    arch_lane_value((l == 0 ? now.own(row) : bytes[row]) >> 8 * of_lane, from);
                if (lane == high * T * ROWS + n) {
                    const bool is_row = j + row >= c.y_begin && j + row < c.y_end;
                    face = FACE_X_MIN + high;
                    e.step[0] = l;
                    e.inside[0] = inside;
                    e.g[0] = g;
                    e.own[0] = own;
                    e.cell[0][0] = at;
                    e.cell[0][1] = j + row;
                    e.cell[0][2] = k - 1 - l;
                    e.on[0] = is_next(AXIS_Y, j + row) && is_next(AXIS_Z, k - 1 - l);
                    e.counts[0] =
                        is_row && at >= c.x_begin && at < c.x_end && is_written(c, k - 1 - l);
                }
            }
        }
        find_beyond(face, e);
        if (sinks.any) {
            add(e, 0, *sum_x);
        }
        return e.outside[0];
    }

    /* Beyond my row at a face of y, before each step. */
    template <int B>
    __device__ __forceinline__ void close_y(int k, const faces_column &c, const arrival &now,
                                            cells (&outside)[T]) const
    {
        const int high = side_face - FACE_Y_MIN;
        edge_cells<REAL, T * V> e;
#pragma unroll
        for (int l = 0; l < T; l++) {
            const int plane = k - 1 - l;
            const cells row = row_of(level[l][B], ROWS, side);
            const cells g =
                l == 0 ? now.at(S::AT_Y, side + high) : row_of(y, ROWS + 1, side + high);
            uint32_t own = l == 0 ? now.own(side) : bytes[0];
#pragma unroll
            for (int r = 1; r < ROWS && l > 0; r++) {
                own = side >= r ? bytes[r] : own;
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int n = l * V + v;
                e.step[n] = l;
                e.inside[n] = row.v[v];
                e.g[n] = g.v[v] * kind.dt[l][1];
                e.own[n] = own >> 8 * v;
                e.cell[n][0] = i + v;
                e.cell[n][1] = j + side;
                e.cell[n][2] = plane;
                e.on[n] = is_next(AXIS_X, i + v) && is_next(AXIS_Z, plane);
                e.counts[n] =
                    v >= begin && v < end && (rows >> side & 1) != 0 && is_written(c, plane);
            }
        }
        find_beyond(side_face, e);
#pragma unroll
        for (int l = 0; l < T; l++) {
            tally sum = sum_y[l];
#pragma unroll
            for (int v = 0; v < V; v++) {
                outside[l].v[v] = e.outside[l * V + v];
                add(e, l * V + v, sum);
            }
            sum_y[l] = sum;
        }
    }

    /* Beyond the faces of z: in the plane below, or in the stage. */
    template <int A>
    __device__ __forceinline__ void close_z(int k, const faces_column &c, const arrival &now)
    {
        constexpr int B = 1 - A;
#pragma unroll 1
        for (int w = 0; w < 2 * T; w++) {
            const int l = w / 2, high = w % 2, plane = k - 1 - l;
            const bool low_here = high == 0 && kind.closed[FACE_Z_MIN] && plane == 0;
            const bool high_here =
                high == 1 && kind.closed[FACE_Z_MAX] && plane == (int)view.cells[2] - 1;
            if (!low_here && !high_here) {
                continue;
            }
            struct tally found = {};
#pragma unroll 1
            for (int n = 0; n < ROWS * V; n++) {
                const int row = n / V, v = n % V;
                const cells inside =
                    l == 0 ? row_of(level[0][B], ROWS, row) : row_of(level[1][B], ROWS, row);
                const cells arrived = now.at(S::AT_Z, row), of_b = row_of(z[B], ROWS, row),
                            of_a = row_of(z[A], ROWS, row);
                const cells g = l == 0 ? (high ? arrived : of_b) : high ? of_b : of_a;
                uint32_t own = now.own(row);
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    own = l == 1 && row >= r ? bytes[r] : own;
                }
                edge_cells<REAL, 1> e = {
                    {l},
                    {cell_of(inside, v)},
                    {cell_of(g, v) * (l == 0 ? kind.dt[0][2] : kind.dt[1][2])},
                    {},
                    {own >> 8 * v},
                    {{i + v, j + row, plane}},
                    {is_next(AXIS_X, i + v) && is_next(AXIS_Y, j + row)},
                    {v >= begin && v < end && (rows >> row & 1) != 0 && is_written(c, plane)}};
                find_beyond(FACE_Z_MIN + high, e);
                add(e, 0, found);
                const REAL outside = e.outside[0];
                if (high) {
                    now.field[(row + 1) * TX + v] = outside;
                }
#pragma unroll /* no equality with an index: the compiler would index registers by n */
                for (int m = 0; m < ROWS * V; m++) {
                    REAL &zero = level[0][A][m / V].v[m % V], &one = level[1][A][m / V].v[m % V];
                    zero = !high && l < 1 && m >= n ? outside : zero;
                    one = !high && l >= 1 && m >= n ? outside : one;
                }
            }
            struct exact_sum *sum = nullptr;
#pragma unroll
            for (int m = 0; m < 2 * T; m++) {
                sum = w >= m ? sinks.of[m / 2].sum[FACE_Z_MIN + m % 2] : sum;
            }
            face_sum_add(sum, found);
        }
    }

    /* A row and those beside it before a step; conductances of its faces, and sigma. */
    struct row_around {
        cells c, front, back, below, above;
        cells x, y_low, y_high, z_low, z_high, sigma;
        uint32_t own;
    };
    /* The row after step L. */
    template <int L, bool SIDES>
    __device__ __forceinline__ cells advance(const row_around &a, const faces_column &c, int row,
                                             REAL from_x) const
    {
        const REAL(&dt)[AXIS_COUNT] = kind.dt[L];
        REAL left = arch_shift_up(a.c.v[V - 1], 1), right = arch_shift_down(a.c.v[0], 1);
        const REAL x_high = arch_shift_down(a.x.v[0], 1);
        REAL low = 0, high = 0;
        bool at_low = false;
        int at_high = -1;
        if constexpr (SIDES) {
            low = arch_lane_value(from_x, L * ROWS + row);
            high = arch_lane_value(from_x, (T + L) * ROWS + row);
            at_low = (c.sides >> FACE_X_MIN & 1) != 0 && i == 0;
            at_high = (c.sides >> FACE_X_MAX & 1) != 0 ? (int)view.cells[0] - 1 - i : -1;
            left = at_low ? low : left;
        }
        cells out;
#pragma unroll
        for (int v = 0; v < V; v++) {
            const int last = V - 1, next = v < last ? v + 1 : v;
            const REAL after = v < last ? a.c.v[next] : right;
            const REAL n[FACE_COUNT] = {v > 0 ? a.c.v[v > 0 ? v - 1 : 0] : left,
                                        SIDES && v == at_high ? high : after,
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
    template <int A, bool SIDES>
    __device__ __forceinline__ void round(int k, const faces_column &c, const arrival &now,
                                          arch_arrivals *emptied, arch_arrivals *met,
                                          const REAL *edges_of_last, REAL *edges, REAL *to)
    {
        constexpr int B = 1 - A;
        const bool is_top = SIDES && kind.closed[FACE_Z_MAX] && k - 1 == (int)view.cells[2];
        REAL from_x = 0;
        cells from_y[T] = {};
        if constexpr (SIDES) {
            close_z<A>(k, c, now);
            if ((c.sides & (1U << FACE_X_MIN | 1U << FACE_X_MAX)) != 0) {
                from_x = close_x<B>(k, c, now);
            }
            if (side >= 0) {
                close_y<B>(k, c, now, from_y);
            }
        }
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
            const bool is_low = SIDES && row == side && side_face == FACE_Y_MIN;
            const bool is_high = SIDES && row == side && side_face == FACE_Y_MAX;
            const cells one = advance<0, SIDES>({level[0][B][row],
                                                 is_low    ? from_y[0]
                                                 : row > 0 ? level[0][B][before]
                                                           : beside[0],
                                                 is_high          ? from_y[0]
                                                 : row + 1 < ROWS ? level[0][B][after]
                                                                  : beside[1],
                                                 level[0][A][row], above, x_of, y_low, y_high,
                                                 z[B][row], z_high, sigma_of, own},
                                                c, row, from_x);
            if (row == 0) {
                arch_arrivals_wait(met, A ^ 1U);
                last_front = vector_at(edges_of_last + max(2 * wave - 1, 0) * TX);
            }
            if (row == ROWS - 1) {
                last_back = vector_at(edges_of_last + min(2 * wave + 2, 2 * S::WAVES - 1) * TX);
            }
            const cells two =
                advance<1, SIDES>({level[1][B][row],
                                   is_low    ? from_y[1]
                                   : row > 0 ? level[1][B][before]
                                             : last_front,
                                   is_high          ? from_y[1]
                                   : row + 1 < ROWS ? level[1][B][after]
                                                    : last_back,
                                   level[1][A][row], is_top ? above : one, x[row], y[row],
                                   y[row + 1], z[A][row], z[B][row], sigma[row], bytes[row]},
                                  c, row, from_x);
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
