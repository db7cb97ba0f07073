/* Part of classes/steps_*.hip.cpp: how a wave advances its rows of a tile in a medium of classes.
 *
 * As staged/march.h, but all rows of a level before the next one. A wave keeps of each level
 * the plane at hand and how much it is above the plane below: a difference of two cells serves
 * both, and roles do not swap. The classes have a ring of their own, since levels need those of
 * more planes. Where the flags of a wave's cells say that they and all around them have one class
 * in all planes at hand, the coefficients of a level are looked up once; where rows and planes have
 * the same classes, once per column of cells; else cell by cell; in a table in shared memory:
 *   g            of pairs of classes, of every axis or of one where they are the same, of every
 *                step or of one where these have the same length
 *   sigma, q     of a class    } of every step,
 *   a, b         of a closure  } or of one where they are the same */
#pragma once

#include "kernels/hip/schedule/deep/classes/lookups.h"

#if ARCH_HAS_TILE_COPY

template <typename S> struct classes_wave : classes_lookups<S> {
    typedef classes_lookups<S> of;
    typedef deep_rows<S, classes_work<S>> rows_of;
    typedef typename S::REAL REAL;
    typedef vec16<REAL> cells;
    typedef pair_of<REAL> two;
    static constexpr int T = S::T, V = S::V, ROWS = S::ROWS;
    using of::above, of::here, of::below, of::edges, of::parity, of::table;
    using of::alike, of::run, of::one, of::classes, of::x, of::y;
    using of::at, of::rise, of::class_in, of::closed, of::patch_at, of::g, of::row_of_class;
    using of::classes_below, of::load, of::numbers, of::are_alike;
    using rows_of::parts, rows_of::begin, rows_of::w;
    using rows_of::x_min, rows_of::x_max, rows_of::y_min, rows_of::y_max;

    /* Values around the rows of a level, and which classes. */
    struct level_rows {
        cells c[ROWS + 2], up[ROWS], rise[ROWS]; /* c: with the rows before and after */
        REAL left[ROWS], right[ROWS];
    };

    /* The rows of the plane at hand of level L - 1. */
    template <int L> __device__ __forceinline__ void rows_of_level(level_rows &n) const
    {
        constexpr int M = L > 1 ? L - 2 : 0;
        if (L == 1) {
#pragma unroll
            for (int r = 0; r < ROWS + 2; r++) {
                n.c[r] = load(here + (r - 1) * S::ROW);
            }
        } else {
            const uint32_t from = edges + (parity ^ S::PARITY_ROWS) + M * S::LEVEL_ROWS;
            n.c[0] = load(from + S::BEFORE);
            n.c[ROWS + 1] = load(from + S::WAVE_ROWS + S::AFTER);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                n.c[r + 1] = at[M][r];
            }
        }
    }
    template <int L> __device__ __forceinline__ void beside_row(level_rows &n, int r) const
    {
        n.left[r] = __shfl_up_sync(0xFFFFFFFFU, n.c[r + 1].v[V - 1], 1);
        n.right[r] = __shfl_down_sync(0xFFFFFFFFU, n.c[r + 1].v[0], 1);
    }
    /* But level L - 1 above, which has just been computed. */
    template <int L> __device__ __forceinline__ void above_and_below(level_rows &n, int r) const
    {
        if (L == 1) {
            n.up[r] = load(above + r * S::ROW);
            const cells low = load(below + r * S::ROW);
#pragma unroll
            for (int i = 0; i < V; i++) {
                n.rise[r].v[i] = n.c[r + 1].v[i] - low.v[i];
            }
        } else {
            n.rise[r] = rise[L > 1 ? L - 2 : 0][r];
        }
    }

    /* The class of cell i in row r, in the plane at hand of level l. */
    template <int BY>
    __device__ __forceinline__ int class_at(int l, uint32_t own, int r, int i, int token) const
    {
        const uint32_t at = S::PLANES ? own : own + r * S::CLASS_ROW + i;
        return S::PLANES || BY == EACH ? (int)load_bytes<1>(at, token) & w.p.of.mask
               : BY == ONE             ? one[l - 1]
                                       : (int)(alike >> 8 * i & 0xFF);
    }

    template <int BY>
    __device__ __forceinline__ cells close_row(const cells &inside, int face, int l, int from,
                                               uint32_t own, int r, int token) const
    {
        cells o;
#pragma unroll
        for (int i = 0; i < V; i++) {
            const int patch = face / 2 == AXIS_Z ? patch_at(face, r, i) : 0;
            o.v[i] = closed(face, from, class_at<BY>(l, own, r, i, token) + patch, inside.v[i]);
        }
        return o;
    }

    /* What closed faces of y change at level 1; at others store_edges has done so. */
    template <int WITH, int BY, int L>
    __device__ __forceinline__ void close_y(level_rows &n, uint32_t own, int token) const
    {
        constexpr bool Y = (WITH & (WITH_Y | WITH_PARTS)) != 0;
        if (Y && L == 1 && y_min) {
            n.c[0] = close_row<BY>(n.c[1], FACE_Y_MIN, 1, 0, own, 0, token);
        }
        if (Y && L == 1 && y_max) {
            n.c[ROWS + 1] = close_row<BY>(n.c[ROWS], FACE_Y_MAX, 1, 0, own, ROWS - 1, token);
        }
    }

    /* What closed faces of x and z change in the rows from `first` on. */
    template <int WITH, int BY, int L>
    __device__ __forceinline__ void close(level_rows &n, int plane, uint32_t own, int token,
                                          int first = 0, int end = ROWS) const
    {
        constexpr bool ALL = (WITH & WITH_PARTS) != 0;
        if (ALL && plane == 0 && w.p.closed[FACE_Z_MIN]) {
#pragma unroll
            for (int r = first; r < end; r++) {
                const cells o = close_row<BY>(n.c[r + 1], FACE_Z_MIN, L, L - 1, own, r, token);
#pragma unroll
                for (int i = 0; i < V; i++) {
                    n.rise[r].v[i] = n.c[r + 1].v[i] - o.v[i];
                }
            }
        }
        if (ALL && plane == w.cells[AXIS_Z] - 1 && w.p.closed[FACE_Z_MAX]) {
#pragma unroll
            for (int r = first; r < end; r++) {
                n.up[r] = close_row<BY>(n.c[r + 1], FACE_Z_MAX, L, L - 1, own, r, token);
            }
        }
        /* by all lanes, without a branch */
#pragma unroll
        for (int r = first; r < end; r++) {
            if ((WITH & WITH_X_MIN) != 0) {
                const REAL o =
                    closed(FACE_X_MIN, L - 1, class_at<BY>(L, own, r, 0, token), n.c[r + 1].v[0]);
                n.left[r] = x_min ? o : n.left[r];
            }
            if ((WITH & WITH_X_MAX) != 0) {
                int last = V - 1;
                REAL inside = n.c[r + 1].v[V - 1];
#pragma unroll
                for (int i = 0; i < V - 1 && ALL; i++) {
                    const bool is_last = (parts >> (8 + i) & 1) != 0;
                    last = is_last ? i : last;
                    inside = is_last ? n.c[r + 1].v[i] : inside;
                }
                const REAL o =
                    closed(FACE_X_MAX, L - 1, class_at<BY>(L, own, r, last, token), inside);
                n.right[r] = x_max ? o : n.right[r];
            }
        }
    }

    /* Coefficients of a row. */
    struct row_numbers {
        REAL x[V + 1], ym[V], yp[V], zm[V], zp[V];
        two of[V];
    };

    /* n: of the classes in the rows of this plane. */
    __device__ __forceinline__ void look_up(row_numbers &to, const row_numbers &before,
                                            const uint32_t (&rows)[ROWS + 2], int l, int r,
                                            uint32_t own, uint32_t lower, int token) const
    {
        const uint32_t here = rows[r + 1];
        const uint32_t low = of::template word<V>(lower + r * S::CLASS_ROW, token);
        const uint32_t high = of::template word<V>(classes_below(l - 1) + r * S::CLASS_ROW, token);
        const uint32_t left = of::template word<1>(own + r * S::CLASS_ROW - 1, token);
        const uint32_t right = of::template word<1>(own + r * S::CLASS_ROW + V, token);
#pragma unroll
        for (int i = 0; i < V; i++) {
            const uint32_t c = class_in(here, i);
            const uint32_t row = row_of_class(l - 1, c);
            const uint32_t other = i > 0 ? class_in(here, i > 0 ? i - 1 : 0) : left;
            to.x[i] = g(AXIS_X, row, other);
            if (i == V - 1) {
                to.x[V] = g(AXIS_X, row, right);
            }
            to.ym[i] = r > 0 ? before.yp[i] : g(AXIS_Y, row, class_in(rows[r], i));
            to.yp[i] = g(AXIS_Y, row, class_in(rows[r + 2], i));
            to.zm[i] = g(AXIS_Z, row, class_in(low, i));
            to.zp[i] = g(AXIS_Z, row, class_in(high, i));
            to.of[i] = load_table(numbers(l - 1) + c * (uint32_t)sizeof(two), two());
        }
    }

    /* Of all rows. */
    __device__ __forceinline__ void look_up_columns(row_numbers &to, int l, uint32_t own,
                                                    int token) const
    {
        const uint32_t left = of::template word<1>(own - 1, token),
                       right = of::template word<1>(own + V, token);
#pragma unroll
        for (int i = 0; i < V; i++) {
            const uint32_t c = class_in(alike, i), row = row_of_class(l - 1, c);
            to.x[i] = g(AXIS_X, row, i > 0 ? class_in(alike, i > 0 ? i - 1 : 0) : left);
            if (i == V - 1) {
                to.x[V] = g(AXIS_X, row, right);
            }
            to.ym[i] = to.yp[i] = g(AXIS_Y, row, c);
            to.zm[i] = to.zp[i] = g(AXIS_Z, row, c);
            to.of[i] = load_table(numbers(l - 1) + c * (uint32_t)sizeof(two), two());
        }
    }

    /* Row r one step later. rise: afterwards of the plane above. */
    template <int WITH>
    __device__ __forceinline__ cells step_row(level_rows &n, int r, const row_numbers &k) const
    {
        const cells &c = n.c[r + 1];
        REAL dx[V + 1];
        dx[0] = n.left[r] - c.v[0];
#pragma unroll
        for (int i = 1; i < V; i++) {
            dx[i] = c.v[i] - c.v[i - 1];
        }
        dx[V] = n.right[r] - c.v[V - 1];
        cells o;
#pragma unroll
        for (int i = 0; i < V; i++) {
            const bool is_last = (WITH & WITH_PARTS) != 0 && (parts >> (8 + i) & 1) != 0;
            const REAL up = n.up[r].v[i] - c.v[i];
            const REAL before = c.v[i] - n.c[r].v[i];
            const REAL after = n.c[r + 2].v[i] - c.v[i];
            o.v[i] = medium_sum(c.v[i], i > 0 ? -dx[i] : dx[0],
                                is_last ? n.right[r] - c.v[i] : dx[i + 1], -before, after,
                                -n.rise[r].v[i], up, k.x[i], k.x[i + 1], k.ym[i], k.yp[i], k.zm[i],
                                k.zp[i], k.of[i].a, k.of[i].b);
            n.rise[r].v[i] = up;
        }
        return o;
    }

    /* To shared memory: kept in a register it brought more local memory. */
    __device__ __forceinline__ void put_bits()
    {
        if constexpr (S::BITS) {
            add_wave_shared(table - S::BITS_BELOW_TABLE, rows_of::bits);
            rows_of::bits = 0;
        }
    }

    /* up: level L - 1 in the plane above, afterwards level L in this one. */
    template <int WITH, int BY, int L, typename ARRIVE>
    __device__ __forceinline__ void advance_level(cells (&up)[ROWS], int k, int token,
                                                  ARRIVE arrive)
    {
        constexpr int M = L > 1 ? L - 2 : 0; /* of the levels in registers */
        constexpr bool Y = (WITH & (WITH_Y | WITH_PARTS)) != 0;
        const int plane = k - L;
        const uint32_t own = S::PLANES ? classes + plane : classes_below(L);
        level_rows n;
        rows_of_level<L>(n);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            beside_row<L>(n, r);
        }
        if (L == T) {
            arrive();
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            n.up[r] = up[r];
            above_and_below<L>(n, r);
        }
        close_y<WITH, BY, L>(n, own, token);
        close<WITH, BY, L>(n, plane, own, token);
        row_numbers numbers_of = {};
        uint32_t rows[ROWS + 2] = {};
        if constexpr (S::PLANES) {
            numbers_of_plane<L>(*this, plane, numbers_of);
        } else if (BY == ONE) {
            const int c = one[L - 1];
            const uint32_t row = row_of_class(L - 1, c);
            const REAL gx = g(AXIS_X, row, c), gy = g(AXIS_Y, row, c), gz = g(AXIS_Z, row, c);
            const two of = load_table(numbers(L - 1) + c * (uint32_t)sizeof(two), two());
#pragma unroll
            for (int i = 0; i < V; i++) {
                numbers_of.x[i] = numbers_of.x[i + 1] = gx;
                numbers_of.ym[i] = numbers_of.yp[i] = gy;
                numbers_of.zm[i] = numbers_of.zp[i] = gz;
                numbers_of.of[i] = of;
            }
        } else if (BY == COLUMNS) {
            look_up_columns(numbers_of, L, own, token);
        } else {
#pragma unroll
            for (int r = 0; r < ROWS + 2; r++) {
                rows[r] = of::template word<V>(own + (r - 1) * S::CLASS_ROW, token);
            }
        }
        /* the plane below the first one has its classes, but no copy loads it */
        const bool bottom = (WITH & WITH_PARTS) != 0 && plane == 0 && w.p.closed[FACE_Z_MIN];
        const uint32_t lower = BY != EACH ? 0 : bottom ? own : classes_below(L + 1);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (BY == EACH) {
                const row_numbers before = numbers_of;
                look_up(numbers_of, before, rows, L, r, own, lower, token);
            }
            up[r] = step_row<WITH>(n, r, numbers_of);
            if (L == T) {
                write<WITH>(up[r], r, plane);
            }
        }
        if (L == T) {
            put_bits();
        }
        if (L > 1) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                at[M][r] = n.up[r];
                rise[M][r] = n.rise[r];
            }
        }
        if (L < T) {
            store_edges<Y, BY>(up, L, own, token);
        }
    }

    /* The first and the last row of level l, for the next round; what is beyond closed faces. */
    template <bool Y, int BY>
    __device__ __forceinline__ void store_edges(const cells (&o)[ROWS], int l, uint32_t own,
                                                int token) const
    {
        const uint32_t to = edges + parity + (l - 1) * S::LEVEL_ROWS;
        store_shared(to + S::AFTER, o[0]);
        store_shared(to + S::WAVE_ROWS + S::BEFORE, o[ROWS - 1]);
        if (Y && y_min) {
            store_shared(to + S::BEFORE, close_row<BY>(o[0], FACE_Y_MIN, l, l, own, 0, token));
        }
        if (Y && y_max) {
            store_shared(to + S::WAVE_ROWS + S::AFTER,
                         close_row<BY>(o[ROWS - 1], FACE_Y_MAX, l, l, own, ROWS - 1, token));
        }
    }

    template <int WITH> __device__ __forceinline__ void write(const cells &o, int r, int plane)
    {
        const bool all = (WITH & WITH_PARTS) != 0;
        const bool on = (rows_of::template rows<WITH>() >> r & 1) != 0 &&
                        (all ? rows_of::in_column(plane) : plane >= begin);
        char *const to = reinterpret_cast<char *>(w.out + plane * w.pitch_z) +
                         r * (w.pitch_y * (int64_t)sizeof(REAL)) + rows_of::template offset<WITH>();
        rows_of::template store_cells<WITH>(on, reinterpret_cast<REAL *>(to), o);
        if constexpr (S::BITS) { /* as count_read has it; earlier it needed registers */
            rows_of::template count_bits<WITH, -1>(on, load(here + r * S::ROW));
        }
    }

    template <int WITH, int BY, typename ARRIVE>
    __device__ __forceinline__ void advance_levels(int k, int token, ARRIVE arrive)
    {
        cells up[ROWS];
        advance_level<WITH, BY, 1>(up, k, token, arrive);
        advance_level<WITH, BY, 2>(up, k, token, arrive);
        if constexpr (T > 2) {
            advance_level<WITH, BY, 3>(up, k, token, arrive);
        }
    }

    template <int WITH, typename ARRIVE>
    __device__ __forceinline__ void advance_plane(int k, ARRIVE arrive)
    {
        const int token = begin_reads();
        int every = one[0];
#pragma unroll
        for (int n = 1; n < T; n++) {
            every |= one[n];
        }
        bool columns = false;
        if constexpr (S::BY_COLUMNS) {
            columns = every < 0 && run >= T && are_alike(classes_below(0), alike, token);
        }
        if (S::PLANES || every >= 0) {
            advance_levels<WITH, ONE>(k, token, arrive);
        } else if (S::BY_COLUMNS && columns) {
            advance_levels<WITH, S::BY_COLUMNS ? COLUMNS : EACH>(k, token, arrive);
        } else {
            advance_levels<WITH, EACH>(k, token, arrive);
        }
        if constexpr (!S::PLANES) {
            of::look_at_classes(token);
        }
    }
};

#endif
