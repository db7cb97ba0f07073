/* Part of steps_staged.hip.cpp: how a wave advances its rows of a tile by all levels, plane by
 * plane. */
#pragma once

#include "kernels/hip/field/written.h"
#include "kernels/hip/schedule/deep/staged/column.h"
#include "kernels/hip/schedule/deep/staged/stores.h"

#if ARCH_HAS_TILE_COPY

/* The rows of a wave in a column of tiles, and their stores. */
template <typename S, typename WORK> struct deep_rows {
    typedef typename S::REAL REAL;
    typedef vec16<REAL> cells;
    static constexpr int V = S::V;

    const WORK &w;
    unsigned place; /* bytes from w.out to my first cell; but WITH_PARTS, the low bits: `rows` */
    unsigned parts; /* WITH_PARTS: bits of `rows`; from 4, the cells of my vectors that are written;
                     * from 8, my cell at the face x_max */
    bool x_min, x_max, y_min, y_max; /* my cells lie on these closed faces */
    int begin, end;                  /* planes that are written */
    uint32_t bits = 0;               /* S::BITS: of the cells that are written, less those read */

    /* Bit r: row r is written. */
    template <int WITH> __device__ __forceinline__ unsigned rows() const
    {
        return (WITH & WITH_PARTS) != 0 ? parts & 15U : place & 15U;
    }
    template <int WITH> __device__ __forceinline__ unsigned offset() const
    {
        return (WITH & WITH_PARTS) != 0 ? place : place & ~15U;
    }
    __device__ __forceinline__ bool in_column(int plane) const
    {
        return (unsigned)(plane - begin) < (unsigned)(end - begin);
    }

    /* The bits of the cells of a row that are written (1), or read (-1). */
    template <int WITH, int SIGN>
    __device__ __forceinline__ void count_bits(bool on, const cells &c)
    {
        if constexpr (S::BITS && (WITH & WITH_PARTS) == 0) {
            add_bits_if<SIGN>(on, bits, c);
        } else if constexpr (S::BITS) {
#pragma unroll
            for (int i = 0; i < V; i++) {
                bits += on && (parts >> (4 + i) & 1) != 0 ? (uint32_t)SIGN * bits_in(c.v[i]) : 0;
            }
        }
    }

    /* In the round that writes `plane`, of level 0 T - 1 planes further up: the columns of a tile
     * share no such plane, and leave out none but the first T - 1 of a box (hip_rest_of_bits). With
     * its own planes the loop needed another register, and local memory. */
    template <int WITH> __device__ __forceinline__ void count_read(int r, int plane, const cells &c)
    {
        if constexpr (S::BITS) {
            count_bits<WITH, -1>((rows<WITH>() >> r & 1) != 0 && plane >= begin, c);
        }
    }

    template <int WITH>
    __device__ __forceinline__ void store_cells(bool on, REAL *to, const cells &c)
    {
        count_bits<WITH, 1>(on, c);
        if ((WITH & WITH_PARTS) == 0) {
            store_stream_if(on, to, c);
        } else {
#pragma unroll
            for (int i = 0; i < V; i++) {
                store_if(on && (parts >> (4 + i) & 1) != 0, to + i, c.v[i]);
            }
        }
    }
};

/* --- a wave ---------------------------------------------------------------------------------- */

/* The levels of a wave's rows. When plane k of level 0 has arrived, level l + 1 is computed in
 * plane k - l - 1, from level l in that plane (`middle`), in the plane below (`lower`), and in the
 * one above, just computed, which overwrites the one below. So `middle` and `lower` swap roles with
 * every plane: ODD.
 *
 * What is beyond closed faces: in x it replaces what comes from the neighbour lane. In y the first
 * or the last wave writes it where it reads the rows of neighbour waves, so that no wave needs
 * registers for it. */
template <typename S> struct deep_wave : deep_rows<S, deep_work<S>> {
    typedef deep_rows<S, deep_work<S>> rows_of;
    typedef typename S::REAL REAL;
    typedef vec16<REAL> cells;
    static constexpr int T = S::T, V = S::V, ROWS = S::ROWS;
    typedef REAL levels[T - 1][ROWS][V];
    using rows_of::in_column;
    using rows_of::place, rows_of::parts, rows_of::begin;
    using rows_of::w, rows_of::x_min, rows_of::x_max, rows_of::y_min, rows_of::y_max;

    levels one, two;             /* levels 1 to T - 1 */
    uint32_t above, here, below; /* shared memory: my cells in three planes of level 0 */
    uint32_t edges;              /* and of level 1 in the rows of my first border, parity 0 */

    written_cells<REAL> written;

    template <bool ODD> __device__ __forceinline__ levels &lower()
    {
        return ODD ? two : one;
    }
    template <bool ODD> __device__ __forceinline__ levels &middle()
    {
        return ODD ? one : two;
    }

    static __device__ __forceinline__ cells load(uint32_t from)
    {
        return load_shared(from, vec16<REAL>{});
    }

    /* An `a` per step is loaded where it is needed: kept from plane to plane, all of them would
     * take registers of the levels. */
    __device__ __forceinline__ REAL beyond(REAL inside, int face, int l) const
    {
        if constexpr (S::A_OF > 1) {
            asm volatile("" : "+r"(l));
        }
        return outside(inside, w.p.a_of(l)[face], w.p.b[l][face]);
    }

    __device__ __forceinline__ cells closed(const cells &inside, int face, int l) const
    {
        cells c;
#pragma unroll
        for (int i = 0; i < V; i++) {
            c.v[i] = outside(inside.v[i], w.p.a_of(l)[face], w.p.b[l][face]);
        }
        return c;
    }

    /* Level l in row r of the plane at hand. */
    template <bool ODD> __device__ __forceinline__ cells row_of(int l, int r)
    {
        if (l == 0) {
            return load(here + r * S::ROW);
        }
        cells c;
#pragma unroll
        for (int i = 0; i < V; i++) {
            c.v[i] = middle<ODD>()[l - 1][r][i];
        }
        return c;
    }

    /* Level l in row r of the plane below, and then of the one that has just been computed. */
    template <bool ODD> __device__ __forceinline__ cells lower_row_of(int l, int r)
    {
        cells c;
#pragma unroll
        for (int i = 0; i < V; i++) {
            c.v[i] = lower<ODD>()[l - 1][r][i];
        }
        return c;
    }

    /* At the closed face z_min, in round 1: the plane below it of level 0. */
    __device__ __forceinline__ void close_bottom() const
    {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            store_shared(below + r * S::ROW, closed(load(here + r * S::ROW), FACE_Z_MIN, 0));
        }
        arch_reads_before_tile_copy(); /* and this write */
    }

    /* The same of level k, whose plane 0 has just been computed, for the next round, which has
     * `middle` below. At the end of a round: overwritten at the begin, that level was copied in
     * every round, and 9 values spilled. */
    template <bool ODD> __device__ __forceinline__ void close_bottom_of(int k)
    {
#pragma unroll
        for (int l = 1; l < T; l++) {
            if (k == l) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const cells o = closed(lower_row_of<ODD>(l, r), FACE_Z_MIN, l);
#pragma unroll
                    for (int i = 0; i < V; i++) {
                        middle<ODD>()[l - 1][r][i] = o.v[i];
                    }
                }
            }
        }
    }

    /* Where the first and the last row of the levels are written in this round. */
    template <bool ODD> __device__ __forceinline__ uint32_t edges_of(int l) const
    {
        return edges + (ODD ? S::PARITY_ROWS : 0) + (l - 1) * S::LEVEL_ROWS;
    }

    /* At a closed face in y: what is beyond it, of the rows that have just been computed. */
    template <int TOP, bool ODD> __device__ __forceinline__ void close_rows()
    {
#pragma unroll
        for (int l = TOP > 1 ? TOP : 1; l < T; l++) {
            if (y_min) {
                store_shared(edges_of<ODD>(l) + S::BEFORE,
                             closed(lower_row_of<ODD>(l, 0), FACE_Y_MIN, l));
            } else {
                store_shared(edges_of<ODD>(l) + S::WAVE_ROWS + S::AFTER,
                             closed(lower_row_of<ODD>(l, ROWS - 1), FACE_Y_MAX, l));
            }
        }
    }

    /* What the steps of one row need from shared memory and other lanes. */
    struct sources {
        cells above, here, below, front, back; /* of level 0 */
        REAL left[T], right[T];
    };

    /* For the step from level l. TOP: see advance_plane. */
    template <int TOP, bool ODD>
    __device__ __forceinline__ void prepare(sources &s, cells (&at_hand)[ROWS], int l, int r)
    {
        if (l + 1 < TOP) {
            return;
        }
        if (l == 0) {
            if (TOP == 0) {
                s.above = load(above + r * S::ROW);
            }
            if (!S::REUSE) {
                s.here = load(here + r * S::ROW);
                s.front = load(here + (r - 1) * S::ROW);
                s.back = load(here + (r + 1) * S::ROW);
            } else {
                if (r == ROWS - 1) {
                    at_hand[ROWS - 1] = load(here + (ROWS - 1) * S::ROW);
                    at_hand[ROWS - 2] = load(here + (ROWS - 2) * S::ROW);
                } else if (r == 0) {
                    at_hand[0] = load(here);
                    at_hand[1] = load(here + S::ROW);
                }
                s.here = at_hand[r];
                s.front = r > 0 ? at_hand[r > 0 ? r - 1 : 0] : load(here - S::ROW);
                s.back =
                    r < ROWS - 1 ? at_hand[r < ROWS - 1 ? r + 1 : r] : load(here + ROWS * S::ROW);
            }
            s.below = load(below + r * S::ROW);
            if (r == 0 && y_min) {
                s.front = closed(s.here, FACE_Y_MIN, 0);
            }
            if (r == ROWS - 1 && y_max) {
                s.back = closed(s.here, FACE_Y_MAX, 0);
            }
        }
        const cells c = l == 0 ? s.here : row_of<ODD>(l, r);
        s.left[l] = __shfl_up_sync(0xFFFFFFFFU, c.v[V - 1], 1);
        s.right[l] = __shfl_down_sync(0xFFFFFFFFU, c.v[0], 1);
    }

    /* What the sums of the step from level l begin with; c: the cells. Where the step before is
     * complete, its level is still the one below. */
    template <int TOP, bool ODD>
    __device__ __forceinline__ cells base_of(const cells &c, const cells &before, int l, int r)
    {
        if ((S::CORRECTIONS >> l & 1) == 0) {
            return c;
        }
        if (l >= TOP) {
            return before;
        }
        return l == 1 ? load(below + r * S::ROW) : lower_row_of<ODD>(l - 1, r);
    }

    /* The step from level l in row r. fresh: the levels in the planes above, which have just been
     * computed in this row. before: of the level before l, the plane at hand, which its own step
     * had below; afterwards of l for the next step. */
    template <int WITH, int TOP, bool ODD>
    __device__ __forceinline__ void advance(sources &s, cells (&fresh)[T + 1], cells &before, int l,
                                            int r, int k)
    {
        if (l + 1 < TOP) {
            return;
        }
        const uint32_t shared = edges_of<!ODD>(l);
        const cells c = l == 0 ? s.here : row_of<ODD>(l, r);
        cells lo, hi, front, back;
        if (l == 0) {
            rows_of::template count_read<WITH>(r, k - T, c);
            lo = s.below;
            front = s.front;
            back = s.back;
            hi = s.above;
        } else {
#pragma unroll
            for (int i = 0; i < V; i++) {
                lo.v[i] = lower<ODD>()[l - 1][r][i];
            }
            front = r > 0 ? row_of<ODD>(l, r > 0 ? r - 1 : 0) : load(shared + S::BEFORE);
            back = r < ROWS - 1 ? row_of<ODD>(l, r < ROWS - 1 ? r + 1 : r)
                                : load(shared + S::WAVE_ROWS + S::AFTER);
            if (l >= TOP) {
                hi = fresh[l];
#pragma unroll
                for (int i = 0; i < V; i++) {
                    lower<ODD>()[l - 1][r][i] = hi.v[i];
                }
            }
        }
        if (TOP == l + 1) {
            hi = closed(c, FACE_Z_MAX, l);
        }
        REAL left = s.left[l];
        REAL right = s.right[l];
        if ((WITH & WITH_X_MIN) != 0) {
            left = x_min ? beyond(c.v[0], FACE_X_MIN, l) : left;
        }
        if ((WITH & WITH_X_MAX) != 0 && (WITH & WITH_PARTS) == 0) {
            right = x_max ? beyond(c.v[V - 1], FACE_X_MAX, l) : right;
        }
        const cells base = base_of<TOP, ODD>(c, before, l, r);
        cells o;
#pragma unroll
        for (int i = 0; i < V; i++) {
            const REAL xm = i > 0 ? c.v[i > 0 ? i - 1 : 0] : left;
            REAL xp = i < V - 1 ? c.v[i < V - 1 ? i + 1 : i] : right;
            if ((WITH & WITH_PARTS) != 0 && (parts >> (8 + i) & 1) != 0) {
                xp = beyond(c.v[i], FACE_X_MAX, l);
            }
            o.v[i] = heat_cell(base.v[i], c.v[i], xm, xp, front.v[i], back.v[i], lo.v[i], hi.v[i],
                               w.p.r[l]);
        }
        before = lo;
        fresh[l + 1] = o;
        if (l + 1 == T) {
            write<WITH, TOP>(o, r, k - T);
        } else if (r == 0) {
            store_shared(edges_of<ODD>(l + 1) + S::AFTER, o);
        } else if (r == ROWS - 1) {
            store_shared(edges_of<ODD>(l + 1) + S::WAVE_ROWS + S::BEFORE, o);
        }
    }

    template <int WITH, int TOP>
    __device__ __forceinline__ void write(const cells &o, int r, int plane)
    {
        const bool on = (rows_of::template rows<WITH>() >> r & 1) != 0 &&
                        (TOP > 0 ? in_column(plane) : plane >= begin);
        char *const to = reinterpret_cast<char *>(w.out + plane * w.pitch_z) +
                         r * (w.pitch_y * (int64_t)sizeof(REAL)) + rows_of::template offset<WITH>();
        rows_of::template store_cells<WITH>(on, reinterpret_cast<REAL *>(to), o);
        if constexpr (S::SUMMARY) {
#pragma unroll
            for (int i = 0; i < V; i++) {
                written.see(on && ((WITH & WITH_PARTS) == 0 || (parts >> (4 + i) & 1) != 0),
                            o.v[i]);
            }
        }
    }

    /* All levels, for plane k of level 0. TOP > 0: plane k lies beyond the closed face z_max; level
     * TOP - 1 is in the last plane, and the levels below it are complete. arrive(): this wave reads
     * no more of the round before, and its first and last row are in place. */
    template <int WITH, int TOP, bool ODD, typename ARRIVE>
    __device__ __forceinline__ void advance_plane(int k, ARRIVE arrive)
    {
        if (TOP == 0 && k == 1 && w.bottom > 0) {
            close_bottom();
        }
        sources s[ROWS];
        cells at_hand[ROWS]; /* level 0, this plane */
        cells fresh[T + 1];
        cells before;
        if (S::AHEAD) {
#pragma unroll
            for (int l = 0; l < T; l++) {
                prepare<TOP, ODD>(s[0], at_hand, l, ROWS - 1);
            }
        }
#pragma unroll
        for (int n = 0; n < ROWS; n++) {
            const int r = n == 0 ? ROWS - 1 : n - 1; /* those for the neighbours first */
            if (S::AHEAD && n + 1 < ROWS) {
#pragma unroll
                for (int l = 0; l < T; l++) {
                    prepare<TOP, ODD>(s[n + 1], at_hand, l, n);
                }
            }
#pragma unroll
            for (int l = 0; l < T; l++) {
                if (!S::AHEAD) {
                    prepare<TOP, ODD>(s[n], at_hand, l, r);
                }
                advance<WITH, TOP, ODD>(s[n], fresh, before, l, r, k);
            }
            if (n == 1) {
                arrive();
            }
        }
        if (y_min || y_max) {
            close_rows<TOP, ODD>();
        }
        if (TOP == 0 && (unsigned)k < (unsigned)w.bottom) {
            close_bottom_of<ODD>(k);
            if (S::BITS && begin == 0 && k > 0) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    rows_of::template count_read<WITH>(r, 0, load(here + r * S::ROW));
                }
            }
        }
    }
};

#endif
