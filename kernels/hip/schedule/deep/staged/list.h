/* Part of staged/steps_*.hip.cpp: the shape of tiles, and the division of a box into columns of
 * them for the blocks. */
#pragma once

#include "kernels/hip/kind/uniform.h"

#if ARCH_HAS_TILE_COPY

/* How much longer planes of a tile take at a closed face in x, at one in y, and where two meet; and
 * of a piece, whose neighbours are at other planes, so that the edges of tiles leave the L2 cache.
 * fill: planes of a column that take time and are not written, but 2 T. Measured on one H200
 * (docs/records/hip.md). */
struct deep_costs {
    double x, y, corner, fill, pieces;
};

/* T steps; STAGES planes of level 0 in shared memory; AHEAD: loads of a row before the arithmetic
 * of the row before it; REUSE: a row of level 0 is loaded once and kept for its neighbours.
 * CORRECTIONS: bit l: the step from level l corrects. */
template <typename REAL_, int T_, int STAGES_, bool AHEAD_, bool REUSE_, int ROWS_ = 4,
          unsigned CORRECTIONS_ = 0, int WAVES_ = 12>
struct deep_shape {
    typedef REAL_ REAL;
    static constexpr int T = T_, STAGES = STAGES_;
    static constexpr bool AHEAD = AHEAD_, REUSE = REUSE_;
    static constexpr unsigned CORRECTIONS = CORRECTIONS_;
    static constexpr int V = vec16<REAL>::N; /* cells of a lane in x */
    static constexpr int ROWS = ROWS_;       /* of a lane in y */
    static constexpr int WAVES = WAVES_;
    static constexpr int THREADS = WAVES * ARCH_WAVE;
    static constexpr int TX = ARCH_WAVE * V, TY = WAVES * ROWS;
    static constexpr int HALO_X = 4; /* at least T: rows of tiles begin on a 32-byte sector */
    /* planes that are requested before they are needed: at the start of a round the slowest wave
     * is in the round before, where it reads three planes */
    static constexpr int LEAD = STAGES - 4;
    /* In bytes of shared memory. Level 0 has a row more on either side of the tile, so that only
     * T - 1 rows are lost there. */
    static constexpr int ROW = TX * (int)sizeof(REAL), STAGE = (TY + 2) * ROW;
    static constexpr int HALO_Y = T - 1;
    /* Per level, in two parities: at each border of waves the row after it and the row before it,
     * which are the first and the last row of a wave, and at the ends of the tile what lies beyond
     * closed faces. No wave reads the first row of the first wave and the last row of the last one,
     * which share a place with those of the next level. */
    static constexpr int WAVE_ROWS = 2 * ROW;
    static constexpr int AFTER = 0, BEFORE = ROW; /* in the rows of a border */
    static constexpr int PARITY_ROWS = (2 * WAVES + 1) * ROW, LEVEL_ROWS = 2 * PARITY_ROWS;
    static constexpr int AT_ROWS = STAGES * STAGE;
    static constexpr int AT_REST = AT_ROWS + (T - 1) * LEVEL_ROWS + ROW;
    static constexpr int SHARED_BYTES = AT_REST + 256;
    static constexpr bool SUMMARY = false;
    static constexpr int A_OF = 1;
    static constexpr bool BITS = false;
    static constexpr bool PAIRS = true;   /* rounds come in pairs */
    static constexpr bool QUEUED = false; /* see work_list */
    static constexpr deep_costs COSTS = {0.12, 0.06, 0, 0, 1.14};
    static constexpr int CLASS_STAGES = 0, CLASS_BYTES = 0; /* of classes: none */
};

/* The same, with the summary of the cells that are written. */
template <typename S> struct summarised : S {
    static constexpr bool SUMMARY = true;
};

/* The same, of steps that differ in `a`. */
template <typename S> struct of_levels : S {
    static constexpr int A_OF = S::T;
};

/* What the code for the planes of a tile knows, a sum of these: closed faces in x; WITH_PARTS: the
 * x_max face at any place in a vector, and stores of parts of vectors. All waves of a block run the
 * same code, since several at once do not fit the instruction cache. WITH_Y it does not know: a
 * closed face in y, which only counts in the division of the work. */
enum { WITH_NONE = 0, WITH_X_MIN = 1, WITH_X_MAX = 2, WITH_PARTS = 4, WITH_ALL = 7, WITH_Y = 8 };
enum { IDLE = -1 };

/* Tiles on one axis overlap by 2 HALO cells. All but the last begin `step` cells apart; the last
 * one ends at the face where that is closed and near. */
struct tile_axis {
    int lo, hi; /* of the box */
    int first, last;
    int step, count;
    int first_with, last_with; /* what there is in the first and in the last tile */

    __host__ __device__ int start(int n) const
    {
        return n == count - 1 ? last : first + n * step;
    }
    /* The cells that tile n writes. */
    __host__ __device__ int begin(int n, int halo) const
    {
        return n == 0 ? lo : first + n * step + halo;
    }
    __host__ __device__ int end(int n, int halo) const
    {
        return n == count - 1 ? hi : first + (n + 1) * step + halo;
    }
};

/* Planes of a column of tiles, counted from the box's first. */
struct piece {
    unsigned tile;
    unsigned short begin, end;
};

/* By value to the kernel, so that launches on several queues do not share it. Block b takes the
 * items b, b + units, ..., `whole` of them: an item is one of `cuts` equal parts of a column, all
 * tiles of a part before the next part. Then it takes its pieces of what is left. QUEUED, where
 * it is not known how long a tile takes: parts of decreasing length, from the upper end of the box
 * down, are items, of which a block takes the next one when it is through with its own. */
struct work_list {
    enum { MOST_UNITS = 160, MOST_PIECES = 2 * MOST_UNITS, MOST_QUEUED = 4 };
    tile_axis x, y;
    int z_lo, z_hi, z_end; /* planes of the box; those computed: to the face if that is near */
    int units, whole, cuts;
    int queued; /* the parts, or 0; part n: planes [from[n + 1], from[n]) */
    unsigned short from[MOST_QUEUED + 1];
    /* Tile n of a part: those at faces of x come first, since they take longest. */
    __host__ __device__ int queued_tile(int n) const
    {
        const int inner = x.count > 2 ? x.count - 2 : 1;
        const int at_faces = x.count > 2 ? 2 * y.count : 0;
        const int m = n - at_faces;
        return x.count <= 2   ? n
               : n < at_faces ? n / 2 * x.count + n % 2 * (x.count - 1)
                              : m / inner * x.count + 1 + m % inner;
    }
    unsigned short first[MOST_UNITS + 1]; /* piece of each block */
    piece pieces[MOST_PIECES];
};

static inline int round_down(int value, int unit)
{
    return (value >= 0 ? value : value - unit + 1) / unit * unit;
}

/* halo: layers that the tiles lose at an end within the field; in x a multiple of a vector. */
static tile_axis tile_axis_of(const struct box *box, int axis, const bool (&closed)[FACE_COUNT],
                              int cells, int most, int halo, int steps, int vector)
{
    const int align = axis == AXIS_X ? halo : 1;
    const int reach = halo < steps ? halo : steps;
    tile_axis t = {};
    t.lo = (int)box->lo[axis];
    t.hi = (int)box->hi[axis];
    const bool at_min = closed[2 * axis] && t.lo < steps;
    const bool at_max = closed[2 * axis + 1] && t.hi + steps > cells;
    const int end = at_max ? cells : t.hi + reach;
    t.first = at_min ? 0 : round_down(t.lo - reach, align);
    t.step = most - 2 * halo;
    t.count = 1;
    while (t.first + (t.count - 1) * t.step + most < end) {
        t.count++;
    }
    t.last = t.first + (t.count - 1) * t.step;
    if (at_max && !(at_min && t.count == 1)) {
        t.last = -round_down(-(cells - most), align);
        t.first = t.count == 1 ? t.last : t.first;
    }
    if (axis == AXIS_X) {
        t.first_with = (at_min ? WITH_X_MIN : 0) | (t.lo % vector != 0 ? WITH_PARTS : 0);
        t.last_with = (at_max ? WITH_X_MAX : 0) | (t.hi % vector != 0 ? WITH_PARTS : 0);
    } else {
        t.first_with = at_min ? WITH_Y : 0;
        t.last_with = at_max ? WITH_Y : 0;
    }
    return t;
}

/* What was measured on one H200 (docs/records/hip.md): how many planes the ends of a column take
 * longer, at the field's first plane, and at a closed face z_max, whose code runs seldom and comes
 * from memory. */
static constexpr double OF_BOTTOM = 3, OF_TOP = 12, OF_IDLE = 0.6;

/* How much longer planes of a tile take than without faces; less where few of its waves work. */
template <typename S> static double weight_of(const work_list &w, int tile)
{
    const int tx = tile % w.x.count;
    const int ty = tile / w.x.count;
    const int with = (tx == 0 ? w.x.first_with : 0) | (tx == w.x.count - 1 ? w.x.last_with : 0) |
                     (ty == 0 ? w.y.first_with : 0) | (ty == w.y.count - 1 ? w.y.last_with : 0);
    const int y = w.y.start(ty);
    const int needed_begin = w.y.begin(ty, S::HALO_Y) - S::HALO_Y - y;
    const int needed_end = w.y.end(ty, S::HALO_Y) + S::HALO_Y - y;
    const int first = (needed_begin > 0 ? needed_begin : 0) / S::ROWS;
    const int last = ((needed_end < S::TY ? needed_end : S::TY) - 1) / S::ROWS;
    const double share = OF_IDLE + (1 - OF_IDLE) * (last + 1 - first) / S::WAVES;
    const bool at_x = (with & (WITH_X_MIN | WITH_X_MAX)) != 0, at_y = (with & WITH_Y) != 0;
    return share * (1 + (at_x ? S::COSTS.x : 0) + (at_y ? S::COSTS.y : 0) +
                    (at_x && at_y ? S::COSTS.corner : 0) + ((with & WITH_PARTS) != 0 ? 0.35 : 0));
}

/* The part of a column in which cells change. Where its end is near a closed face, to the face,
 * since a piece has no other end there. */
template <typename S>
static void limit_part(const work_list &w, const struct active_planes *active, int tile,
                       bool top_closed, int &begin, int &end)
{
    const int tx = tile % w.x.count, ty = tile / w.x.count;
    int first = 0, last = 0;
    active_planes_of(active, w.x.begin(tx, S::HALO_X), w.x.end(tx, S::HALO_X),
                     w.y.begin(ty, S::HALO_Y), w.y.end(ty, S::HALO_Y), &first, &last);
    first -= w.z_lo;
    last -= w.z_lo;
    last =
        top_closed && first < last && last > w.z_end - w.z_lo - 2 * S::T ? w.z_end - w.z_lo : last;
    begin = first > begin && first > 2 * S::T ? first : begin;
    end = last < end ? last : end;
}

/* Cut what is left of the items into pieces, so that no block takes longer than `limit`; load: of
 * each block already; active: NULL, or of the cells that change. Returns false when that is
 * impossible. */
template <typename S>
static bool cut_rest(work_list &w, const double *load, double limit, bool top_closed,
                     const struct active_planes *active)
{
    const int least = 4, steps = S::T;
    int item = w.whole * w.units;
    const int planes = w.z_end - w.z_lo;
    const int tiles = w.x.count * w.y.count;
    int unit = 0;
    int count = 0;
    double room = limit - load[0];
    w.first[0] = 0;
    for (; item < tiles * w.cuts; item++) {
        const int part = item / tiles;
        const double weight = S::COSTS.pieces * weight_of<S>(w, item % tiles);
        int begin = (int)((int64_t)planes * part / w.cuts);
        int end = (int)((int64_t)planes * (part + 1) / w.cuts);
        if (active != nullptr) {
            limit_part<S>(w, active, item % tiles, top_closed, begin, end);
        }
        while (begin < end) {
            /* planes that fill the levels before the first one is written */
            double fill = S::COSTS.fill + steps + (begin > 0 ? steps : OF_BOTTOM);
            int n = (int)(room / weight - fill);
            if (top_closed && begin + n >= planes) {
                fill += OF_TOP;
                n = (int)(room / weight - fill);
            }
            n = n < end - begin ? n : end - begin;
            if (top_closed && begin + n < planes && begin + n > planes - steps) {
                n = planes - steps - begin; /* not between the last planes and the face */
            }
            if (n <= 0 || (n < least && n < end - begin)) {
                if (++unit >= w.units) {
                    return false;
                }
                w.first[unit] = (unsigned short)count;
                room = limit - load[unit];
                continue;
            }
            if (count == work_list::MOST_PIECES) {
                return false;
            }
            w.pieces[count++] = {(unsigned)(item % tiles), (unsigned short)begin,
                                 (unsigned short)(begin + n)};
            begin += n;
            room -= weight * (n + fill);
        }
    }
    while (unit < w.units) {
        w.first[++unit] = (unsigned short)count;
    }
    return true;
}

/* The time of the slowest block, in planes without faces; fills `w`, whose axes are known. whole:
 * the equal parts per block. */
template <typename S>
static double plan_list(work_list &w, int cuts, int whole, bool top_closed,
                        const struct active_planes *active)
{
    const int steps = S::T;
    const int planes = w.z_end - w.z_lo;
    double load[work_list::MOST_UNITS] = {};
    double low = 0;
    w.cuts = cuts;
    w.whole = whole;
    for (int item = 0; item < w.whole * w.units; item++) {
        double &of = load[item % w.units];
        const int part = item / (w.x.count * w.y.count);
        of += weight_of<S>(w, item % (w.x.count * w.y.count)) *
              ((double)planes / cuts + S::COSTS.fill + steps + (part > 0 ? steps : OF_BOTTOM) +
               (top_closed && part == cuts - 1 ? OF_TOP : 0));
        low = of > low ? of : low;
    }
    const int left = active != nullptr ? w.x.count * w.y.count / w.units : 0; /* all are pieces */
    double high = low + (4.0 + 2.0 * left) * (planes + 2 * steps);
    while (high - low > 0.5) {
        const double middle = (low + high) / 2;
        if (cut_rest<S>(w, load, middle, top_closed, active)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return cut_rest<S>(w, load, high, top_closed, active) ? high : INFINITY;
}

/* The parts of the columns that blocks take from a queue; of 512 planes 320, 128, 48 and 16. */
static inline void queue_parts(work_list &w)
{
    static constexpr int share[] = {20, 8, 3, 1};
    const int planes = w.z_end - w.z_lo;
    int sum = 0;
    w.queued = work_list::MOST_QUEUED;
    w.from[0] = (unsigned short)planes;
    for (int n = 0; n < w.queued; n++) {
        sum += share[n];
        w.from[n + 1] = (unsigned short)(planes - (int64_t)planes * sum / 32);
    }
}

/* The best of several numbers of cuts, and of whole parts per block: a block whose parts include a
 * tile that takes long has no time for as many as others. false: no list fits. */
template <typename S>
static bool choose_list(work_list &w, bool top_closed, const struct active_planes *active)
{
    const int planes = w.z_end - w.z_lo;
    double best_time = INFINITY;
    int best_cuts = 1;
    int best_whole = 0;
    if (active != nullptr && plan_list<S>(w, 1, 0, top_closed, active) < INFINITY) {
        return true; /* else there are too many pieces */
    }
    if (S::QUEUED && planes >= 64 * S::T) {
        queue_parts(w);
        return true;
    }
    for (int cuts = 1; cuts <= 8 && planes / cuts >= 4 * S::T; cuts++) {
        const int most = w.x.count * w.y.count * cuts / w.units;
        for (int whole = most; whole >= 0 && whole > most - 4; whole--) {
            const double time = plan_list<S>(w, cuts, whole, top_closed, nullptr);
            if (time < best_time) {
                best_time = time;
                best_cuts = cuts;
                best_whole = whole;
            }
        }
    }
    return plan_list<S>(w, best_cuts, best_whole, top_closed, nullptr) < INFINITY;
}

#endif
