/* Part of steps_staged.hip.cpp: how a wave advances its rows of a tile by all levels, plane by
 * plane. */
#ifndef ISOTHERM_KERNELS_HIP_STEPS_STAGED_MARCH_H
#define ISOTHERM_KERNELS_HIP_STEPS_STAGED_MARCH_H

#include "kernels/hip/steps_staged_list.h"
#include "kernels/hip/steps_staged_stores.h"

#if ARCH_HAS_TILE_COPY

/* T steps; STAGES planes of level 0 in shared memory; AHEAD: loads of a row before the arithmetic
 * of the row before it. */
template <typename REAL_, int T_, int STAGES_, bool AHEAD_> struct deep_shape {
    typedef REAL_ REAL;
    static constexpr int T = T_, STAGES = STAGES_;
    static constexpr bool AHEAD = AHEAD_;
    static constexpr int V = vec16<REAL>::N; /* cells of a lane in x */
    static constexpr int ROWS = 4;           /* of a lane in y */
    static constexpr int WAVES = 12;
    static constexpr int THREADS = WAVES * ARCH_WAVE;
    static constexpr int TX = ARCH_WAVE * V, TY = WAVES * ROWS;
    static constexpr int PLANE = TX * TY;
    static constexpr int HALO_X = 4; /* at least T: rows of tiles begin on a 32-byte sector */
    /* planes that are requested before they are needed: at the start of a round the slowest wave
     * is in the round before, where it reads three planes */
    static constexpr int LEAD = STAGES - 4;
    /* The first and the last row of each wave, in two parities, per level: */
    static constexpr int WAVE_ROWS = 4 * TX, LEVEL_ROWS = WAVES * WAVE_ROWS, PARITY_ROWS = 2 * TX;
    /* bytes of shared memory; the first wave may read below the ring, and the last one beyond the
     * rows: values that reach no result */
    static constexpr int AT_RING = 1024;
    static constexpr int AT_ROWS = AT_RING + STAGES * PLANE * (int)sizeof(REAL) + 1024;
    static constexpr int AT_REST = AT_ROWS + (T - 1) * LEVEL_ROWS * (int)sizeof(REAL) + 2048;
    static constexpr int SHARED_BYTES = AT_REST + 256;
};

template <typename S> struct deep_work {
    typedef typename S::REAL REAL;
    pass<REAL, S::T> p;
    all_face_values<REAL> values;
    REAL *out; /* the cell where the first tile begins, in plane 0 */
    int pitch_y;
    int64_t pitch_z;
    /* from the place of a face's cell at level 1 in plane k to that at level l in plane k - l */
    int64_t keep_x[S::T], keep_y[S::T];
    int pitch_keep_x, pitch_keep_y;
    int cells[AXIS_COUNT];
    int region[AXIS_COUNT]; /* the cell where the region of the copies begins */
    int bottom;             /* T where z_min is closed, else 0 */
    bool top;               /* z_max is closed */
    work_list list;
};

/* A column of one block: planes [begin, end) of a tile are computed up to level T. */
struct deep_column {
    int x, y;   /* first cell of the tile */
    int tx, ty; /* its number on the axes */
    int first;  /* plane that is read first */
    int begin, end;
    bool top; /* ends at the closed face z_max */

    /* The last plane before the rounds at the face z_max; and the last round of all, whose plane is
     * read like others, beyond a closed face as zeros. */
    __device__ int last_main(int steps) const
    {
        return top ? end - 1 : end - 1 + steps;
    }
    __device__ int last_round(int steps) const
    {
        return top ? end - 1 + (steps + 1) / 2 * 2 : end - 1 + steps;
    }
};

/* Item n of a block: a whole part of a column, or a piece. */
template <typename S>
static __device__ __forceinline__ deep_column deep_column_of(const deep_work<S> &w, int n)
{
    const work_list &list = w.list;
    const int tiles = list.x.count * list.y.count;
    const unsigned planes = (unsigned)(list.z_end - list.z_lo);
    deep_column c;
    int tile;
    if (n < list.whole) {
        const int item = n * list.units + (int)blockIdx.x;
        const int part = item / tiles;
        tile = item - part * tiles;
        c.begin = (int)(planes * (unsigned)part / (unsigned)list.cuts);
        c.end = (int)(planes * (unsigned)(part + 1) / (unsigned)list.cuts);
    } else {
        const piece &at = list.pieces[list.first[blockIdx.x] + n - list.whole];
        tile = (int)at.tile;
        c.begin = at.begin;
        c.end = at.end;
    }
    c.begin += list.z_lo;
    c.end += list.z_lo;
    c.ty = tile / list.x.count;
    c.tx = tile - c.ty * list.x.count;
    c.x = list.x.start(c.tx);
    c.y = list.y.start(c.ty);
    c.top = w.top && c.end == w.cells[AXIS_Z];
    c.first = w.bottom > 0 ? max(c.begin - S::T, 0) : c.begin - S::T;
    c.first -= (c.last_main(S::T) + 1 - c.first) & 1; /* rounds come in pairs: see deep_wave */
    return c;
}

/* --- a wave ---------------------------------------------------------------------------------- */

/* The levels of a wave's rows. When plane k of level 0 has arrived, level l + 1 is computed in
 * plane k - l - 1, from level l in that plane (`middle`), in the plane below (`lower`), and in the
 * one above, just computed, which overwrites the one below. So `middle` and `lower` swap roles with
 * every plane: ODD. */
template <typename S> struct deep_wave {
    typedef typename S::REAL REAL;
    typedef vec16<REAL> cells;
    static constexpr int T = S::T, V = S::V, ROWS = S::ROWS;
    typedef REAL levels[T - 1][ROWS][V];

    const deep_work<S> &w;
    levels one, two;        /* levels 1 to T - 1 */
    REAL *own;              /* my cells in stage 0 of the ring */
    REAL *edges;            /* my cells of level 1 in the rows for the neighbour waves, parity 0 */
    int above, here, below; /* offsets in the ring, of the planes of level 0 */

    /* of the column */
    unsigned place; /* bytes from w.out to my first cell; the low bits: the rows that are written */
    bool x_min, x_max, y_min, y_max; /* my cells lie on these closed faces */
    int begin, end;                  /* planes that are written */
    REAL at_x[T + 1], at_y[T + 1];   /* closures of my face: b of each level, then a */
    REAL *keep_x, *keep_y;           /* for values of my face, level 1 in plane 0 */
    unsigned kept_x, kept_y;         /* the rows whose values are kept */
    int x_last;                      /* WITH_PARTS: the place of the x_max face in my vector */
    unsigned partly;                 /* WITH_PARTS: the cells of my vectors that are written */

    static __device__ __forceinline__ const cells &load(const REAL *from)
    {
        return *reinterpret_cast<const cells *>(from);
    }
    template <bool ODD> __device__ __forceinline__ levels &lower()
    {
        return ODD ? two : one;
    }
    template <bool ODD> __device__ __forceinline__ levels &middle()
    {
        return ODD ? one : two;
    }

    __device__ __forceinline__ cells closed(const cells &inside, int face, int l) const
    {
        cells c;
#pragma unroll
        for (int i = 0; i < V; i++) {
            c.v[i] = outside(inside.v[i], w.p.a[face], w.p.b[l][face]);
        }
        return c;
    }

    /* Level l in row r of the plane at hand. */
    template <bool ODD> __device__ __forceinline__ cells row_of(int l, int r)
    {
        if (l == 0) {
            return load(own + here + r * S::TX);
        }
        cells c;
#pragma unroll
        for (int i = 0; i < V; i++) {
            c.v[i] = middle<ODD>()[l - 1][r][i];
        }
        return c;
    }

    __device__ __forceinline__ bool writes(int r) const
    {
        return (place >> r & 1) != 0;
    }
    __device__ __forceinline__ bool in_column(int plane) const
    {
        return (unsigned)(plane - begin) < (unsigned)(end - begin);
    }

    template <int WITH>
    __device__ __forceinline__ void store_cells(bool on, REAL *to, const cells &c) const
    {
        if ((WITH & WITH_PARTS) == 0) {
            store_stream_if(on, to, c);
        } else if (on && partly == (1U << V) - 1) {
            store_stream_if(true, to, c);
        } else if (on) {
#pragma unroll
            for (int i = 0; i < V; i++) {
                store_if((partly >> i & 1) != 0, to + i, c.v[i]);
            }
        }
    }

    /* Keep the values of level l on my faces in x and y. */
    template <int WITH>
    __device__ __forceinline__ void keep_sides(const cells &c, int l, int r, int k) const
    {
        const bool now = in_column(k - l);
        if ((WITH & WITH_X) != 0) {
            REAL value = x_min ? c.v[0] : c.v[V - 1];
            if ((WITH & WITH_PARTS) != 0) {
#pragma unroll
                for (int i = 0; i < V - 1; i++) {
                    value = !x_min && x_last == i ? c.v[i] : value;
                }
            }
            /* both faces in x have the same pitch */
            store_row_if(((now ? kept_x : 0) >> r & 1) != 0,
                         keep_x + (int64_t)k * w.pitch_keep_x + w.keep_x[l], r, value);
        }
        if ((WITH & WITH_Y) != 0 && (r == 0 || r == ROWS - 1)) {
            store_cells<WITH>(((now ? kept_y : 0) >> r & 1) != 0,
                              keep_y + (int64_t)k * w.pitch_keep_y + w.keep_y[l], c);
        }
    }

    /* Keep the values of level l on a face in z. */
    template <int WITH>
    __device__ __forceinline__ void keep_plane(const cells &c, int face, int l, int r) const
    {
        const face_values<REAL> &to = w.values.face[face];
        const unsigned cell = (place & ~15U) / (unsigned)sizeof(REAL);
        const unsigned row = cell / (unsigned)w.pitch_y;
        const int x = w.list.x.first + (int)(cell - row * (unsigned)w.pitch_y);
        const int y = w.list.y.first + (int)row + r;
        store_cells<WITH>(to.first != nullptr && writes(r), to.at(l, x, y), c);
    }

    /* At the closed face z_min: the plane below it of the level that is in plane 0. */
    template <int WITH, bool ODD> __device__ __forceinline__ void close_bottom(int k)
    {
        if (k == 1) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                *reinterpret_cast<cells *>(own + below + r * S::TX) =
                    closed(load(own + here + r * S::TX), FACE_Z_MIN, 0);
            }
            arch_reads_before_tile_copy(); /* and this write */
        }
#pragma unroll
        for (int l = 1; l < T; l++) {
            if (k == l + 1) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const cells c = row_of<ODD>(l, r);
                    const cells o = closed(c, FACE_Z_MIN, l);
#pragma unroll
                    for (int i = 0; i < V; i++) {
                        lower<ODD>()[l - 1][r][i] = o.v[i];
                    }
                    if (begin == 0) {
                        keep_plane<WITH>(c, FACE_Z_MIN, l, r);
                    }
                }
            }
        }
    }

    /* What the steps of one row need from shared memory and other lanes. */
    struct sources {
        cells above, here, below, front, back; /* of level 0 */
        REAL left[T], right[T];
    };

    /* For the step from level l. TOP: see advance_plane. */
    template <int TOP, bool ODD> __device__ __forceinline__ void prepare(sources &s, int l, int r)
    {
        if (l + 1 < TOP) {
            return;
        }
        if (l == 0) {
            if (TOP == 0) {
                s.above = load(own + above + r * S::TX);
            }
            s.here = row_of<ODD>(0, r);
            s.below = load(own + below + r * S::TX);
            s.front = load(own + here + (r - 1) * S::TX);
            s.back = load(own + here + (r + 1) * S::TX);
        }
        const cells c = l == 0 ? s.here : row_of<ODD>(l, r);
        s.left[l] = __shfl_up_sync(0xFFFFFFFFU, c.v[V - 1], 1);
        s.right[l] = __shfl_down_sync(0xFFFFFFFFU, c.v[0], 1);
    }

    /* The step from level l in row r. fresh: the levels in the planes above, which have just been
     * computed in this row. */
    template <int WITH, int TOP, bool ODD>
    __device__ __forceinline__ void advance(sources &s, cells (&fresh)[T + 1], int l, int r, int k)
    {
        if (l + 1 < TOP) {
            return;
        }
        const REAL *const before = edges + (ODD ? 0 : S::PARITY_ROWS) + (l - 1) * S::LEVEL_ROWS;
        const cells c = l == 0 ? s.here : row_of<ODD>(l, r);
        cells lo, hi, front, back;
        if (l == 0) {
            lo = s.below;
            front = s.front;
            back = s.back;
            hi = s.above;
        } else {
#pragma unroll
            for (int i = 0; i < V; i++) {
                lo.v[i] = lower<ODD>()[l - 1][r][i];
            }
            front = r > 0 ? row_of<ODD>(l, r > 0 ? r - 1 : 0) : load(before - S::WAVE_ROWS + S::TX);
            back = r < ROWS - 1 ? row_of<ODD>(l, r < ROWS - 1 ? r + 1 : r)
                                : load(before + S::WAVE_ROWS);
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
            if (l > 0 && end == w.cells[AXIS_Z]) {
                keep_plane<WITH>(c, FACE_Z_MAX, l, r);
            }
        }
        REAL left = s.left[l];
        REAL right = s.right[l];
        close_sides<WITH>(c, l, r, left, right, front, back);
        cells o;
#pragma unroll
        for (int i = 0; i < V; i++) {
            const REAL xm = i > 0 ? c.v[i > 0 ? i - 1 : 0] : left;
            REAL xp = i < V - 1 ? c.v[i < V - 1 ? i + 1 : i] : right;
            if ((WITH & WITH_PARTS) != 0 && x_max && x_last == i) {
                xp = outside(c.v[i], at_x[T], at_x[l]);
            }
            o.v[i] = heat_cell(c.v[i], xm, xp, front.v[i], back.v[i], lo.v[i], hi.v[i], w.p.r);
        }
        fresh[l + 1] = o;
        if (l + 1 < T) {
            hand_over<WITH, ODD>(o, l + 1, r, k);
        } else {
            write<WITH, TOP>(o, r, k - T);
        }
    }

    template <int WITH>
    __device__ __forceinline__ void close_sides(const cells &c, int l, int r, REAL &left,
                                                REAL &right, cells &front, cells &back) const
    {
        if ((WITH & WITH_X) != 0) {
            left = x_min ? outside(c.v[0], at_x[T], at_x[l]) : left;
        }
        if ((WITH & WITH_X) != 0 && (WITH & WITH_PARTS) == 0) {
            right = x_max ? outside(c.v[V - 1], at_x[T], at_x[l]) : right;
        }
        if ((WITH & WITH_Y) != 0) {
#pragma unroll
            for (int i = 0; i < V; i++) {
                if (r == 0 && y_min) {
                    front.v[i] = outside(c.v[i], at_y[T], at_y[l]);
                }
                if (r == ROWS - 1 && y_max) {
                    back.v[i] = outside(c.v[i], at_y[T], at_y[l]);
                }
            }
        }
    }

    /* A row of level l for the neighbour waves, and for the sums. */
    template <int WITH, bool ODD>
    __device__ __forceinline__ void hand_over(const cells &o, int l, int r, int k) const
    {
        const uint32_t to = arch_shared_address(edges + (ODD ? S::PARITY_ROWS : 0)) +
                            (l - 1) * S::LEVEL_ROWS * (int)sizeof(REAL);
        if (r == 0) {
            store_shared(to, o);
        }
        if (r == ROWS - 1) {
            store_shared(to + S::TX * (int)sizeof(REAL), o);
        }
        if (WITH != WITH_NONE) {
            keep_sides<WITH>(o, l, r, k);
        }
    }

    template <int WITH, int TOP>
    __device__ __forceinline__ void write(const cells &o, int r, int plane) const
    {
        const bool on = writes(r) && (TOP > 0 ? in_column(plane) : plane >= begin);
        char *const to = reinterpret_cast<char *>(w.out + plane * w.pitch_z) +
                         r * (w.pitch_y * (int64_t)sizeof(REAL)) + (place & ~15U);
        store_cells<WITH>(on, reinterpret_cast<REAL *>(to), o);
    }

    /* All levels, for plane k of level 0. TOP > 0: plane k lies beyond the closed face z_max; level
     * TOP - 1 is in the last plane, and the levels below it are complete. arrive(): this wave reads
     * no more of the round before, and its first and last row are in place. */
    template <int WITH, int TOP, bool ODD, typename ARRIVE>
    __device__ __forceinline__ void advance_plane(int k, ARRIVE arrive)
    {
        /* In the code for every tile: without a branch here that may overwrite `lower`, the
         * compiler copies that level at the begin of each round and spills 9 values */
        if (TOP == 0 && (unsigned)(k - 1) < (unsigned)w.bottom) {
            close_bottom<WITH, ODD>(k);
        }
        sources s[ROWS];
        cells fresh[T + 1];
        if (S::AHEAD) {
#pragma unroll
            for (int l = 0; l < T; l++) {
                prepare<TOP, ODD>(s[0], l, ROWS - 1);
            }
        }
#pragma unroll
        for (int n = 0; n < ROWS; n++) {
            const int r = n == 0 ? ROWS - 1 : n - 1; /* those for the neighbours first */
            if (S::AHEAD && n + 1 < ROWS) {
#pragma unroll
                for (int l = 0; l < T; l++) {
                    prepare<TOP, ODD>(s[n + 1], l, n);
                }
            }
#pragma unroll
            for (int l = 0; l < T; l++) {
                if (!S::AHEAD) {
                    prepare<TOP, ODD>(s[n], l, r);
                }
                advance<WITH, TOP, ODD>(s[n], fresh, l, r, k);
            }
            if (n == 1) {
                arrive();
            }
        }
    }
};

#endif

#endif
