/* Part of classes/march.h: the shape of a pass in a medium of classes, and what a wave looks
 * up of its cells' classes. */
#pragma once

#include "kernels/hip/schedule/deep/classes/planes.h"

#if ARCH_HAS_TILE_COPY

template <int T, bool PLANES> constexpr int CLASSES_WAVES = T == 2 && !PLANES ? 8 : 12;

/* Two steps are HELD: see classes/held.h. PLANES: see classes/planes.h. */
template <typename REAL, int T, int STAGES, bool PLANES_ = false>
struct classes_shape : deep_shape<REAL, T, STAGES, false, false, 4, 0, CLASSES_WAVES<T, PLANES_>> {
    typedef deep_shape<REAL, T, STAGES, false, false, 4, 0, CLASSES_WAVES<T, PLANES_>> of;
    static constexpr bool PAIRS = false;
    static constexpr bool PLANES = PLANES_, HELD = T == 2 && !PLANES;
    /* look-ups by columns; with them float32 has local memory in the loop over planes */
    static constexpr bool BY_COLUMNS = !PLANES && sizeof(REAL) == sizeof(double);
    static constexpr bool QUEUED = !PLANES && !HELD; /* more in tiles with several classes */
    static constexpr deep_costs COSTS = {PLANES ? 0.06 : 0.15, PLANES ? 0.13 : 0.1, 0, 2, 1.14};
    /* no plane of the round before is read at its end, but where coefficients are held */
    static constexpr int LEAD = STAGES - (HELD ? 4 : 3);
    /* rows from a multiple of 16 cells on, with one cell on either side of the tile */
    static constexpr int CLASS_ROW = (of::TX + 17 + 15) / 16 * 16;
    static constexpr int CLASS_BYTES = PLANES ? 0 : (of::TY + 2) * CLASS_ROW;
    static constexpr int CLASS_STAGE = (CLASS_BYTES + 127) / 128 * 128;
    static constexpr int CLASS_STAGES = PLANES ? 0 : T + 3 + LEAD;
    static constexpr int AT_CLASSES = (of::AT_REST + 127) / 128 * 128;
    static constexpr int AT_REST = AT_CLASSES + CLASS_STAGES * CLASS_STAGE;
    static constexpr int AT_TABLE = AT_REST + 256;
    static constexpr int BITS_BELOW_TABLE = 4; /* where a block has its sum of bits */
    static constexpr int SHARED_BYTES = 227 * 1024;

    /* In the region of the copies of classes, which begins 16 cells before the field. */
    static __host__ __device__ constexpr int class_x(int x)
    {
        return (x + 15) & ~15;
    }
};

template <typename S> struct classes_work : deep_work<S, classes<typename S::REAL, S::T>> {
    arch_tile_map class_map;
    int class_y, class_z; /* from a plane and a row of the region of copies to those of classes */
    int pair_row, pair_axis;               /* bytes of the table: of a class, and of an axis or 0 */
    int of_pairs;                          /* bytes of the g of a step, or 0 */
    int at_numbers;                        /* where those of steps begin */
    int of_step;                           /* bytes of a step, or 0 */
    int at_planes, at_sources, of_sources; /* see prepare_planes */
    bool either;   /* the kernel for planes of one class each is launched, and another */
    uint32_t mask; /* of the classes of four cells */
};

/* How a wave looks up the coefficients of a level: cell by cell; of a column of cells, since rows
 * and planes around have the same classes; or once, since all cells have one. */
enum { EACH, COLUMNS, ONE };

/* The state of a wave, and its lookups. */
template <typename S> struct classes_lookups : deep_rows<S, classes_work<S>> {
    typedef deep_rows<S, classes_work<S>> rows_of;
    typedef typename S::REAL REAL;
    typedef vec16<REAL> cells;
    typedef pair_of<REAL> two;
    static constexpr int T = S::T, V = S::V, ROWS = S::ROWS;
    using rows_of::w;

    cells at[T - 1][ROWS], rise[T - 1][ROWS]; /* levels 1 to T - 1 */
    uint32_t above, here, below, edges;       /* see deep_wave */
    uint32_t parity;                          /* bytes to the edges of this round */
    uint32_t classes, table; /* shared memory: of my first cell in stage 0; of coefficients */
    int stage;               /* bytes to the classes of the newest plane */
    int one[T];     /* the class of the wave in the plane of level n at hand; -1: several */
    uint32_t alike; /* the classes of my cells in the newest plane where its rows, and those beside
                     * them, have the same; NO_CLASSES: where they differ */
    int run;        /* planes below the newest one that have these, too */
    int x, y;       /* my first cell; for closed faces of z */

    static __device__ __forceinline__ cells load(uint32_t from)
    {
        return load_shared(from, cells{});
    }
    /* The parity of the round before this one. */
    __device__ __forceinline__ unsigned before() const
    {
        return parity == 0 ? 1 : 0;
    }
    __device__ __forceinline__ void next()
    {
        stage += S::CLASS_STAGE;
        if (stage == S::CLASS_STAGES * S::CLASS_STAGE) {
            stage = 0;
        }
        parity ^= S::PARITY_ROWS;
    }
    /* My classes n planes below the newest one. */
    __device__ __forceinline__ uint32_t classes_below(int n) const
    {
        const int from = stage - n * S::CLASS_STAGE;
        return classes + (from < 0 ? from + S::CLASS_STAGES * S::CLASS_STAGE : from);
    }
    template <int N> __device__ __forceinline__ uint32_t word(uint32_t from, int token) const
    {
        return load_bytes<N>(from, token) & w.mask & (uint32_t)(((uint64_t)1 << 8 * N) - 1);
    }
    __device__ __forceinline__ REAL g(int axis, uint32_t row, uint32_t other) const
    {
        return load_table(row + other * (int)sizeof(REAL) + axis * w.pair_axis, REAL());
    }
    __device__ __forceinline__ uint32_t row_of_class(int l, uint32_t of_class) const
    {
        return table + l * w.of_pairs + of_class * w.pair_row;
    }
    __device__ __forceinline__ uint32_t numbers(int l) const
    {
        return table + w.at_numbers + l * w.of_step;
    }
    /* Beyond a closed face, in the step from level l. */
    __device__ __forceinline__ REAL closed(int face, int l, int closure, REAL inside) const
    {
        const int at = w.p.of.n + face * w.p.of.nclosures + closure;
        const two c = load_table(numbers(l) + at * (int)sizeof(two), two());
        return medium_outside(inside, c.a, c.b, (REAL)0);
    }

    /* The patch of a face of z that cell i in row r lies on, times the number of classes. */
    __device__ __forceinline__ int patch_at(int face, int r, int i) const
    {
        const uint8_t *const patch = w.p.of.patch[face];
        int cell[] = {x + i, y + r};
#pragma unroll
        for (int a = 0; a < 2; a++) { /* the nearest one that there is */
            cell[a] = max(cell[a], w.p.closed[2 * a] ? 0 : -T);
            cell[a] = min(cell[a], w.cells[a] - 1 + (w.p.closed[2 * a + 1] ? 0 : T));
        }
        return patch == nullptr ? 0
                                : patch[cell[1] * w.p.of.patch_pitch[face] + cell[0]] * w.p.of.n;
    }

    /* Class i of a word. */
    static __device__ __forceinline__ uint32_t class_in(uint32_t word, int i)
    {
        return i == V - 1 ? word >> 8 * i : word >> 8 * i & 0xFF;
    }

    enum : uint32_t { ANY_CLASSES = 0xFFFFFFFEU, NO_CLASSES = 0xFFFFFFFFU }; /* of no word */
    /* As if all planes below, which are not needed, were as the first one. */
    __device__ __forceinline__ void begin_column()
    {
#pragma unroll
        for (int l = 0; l < T; l++) {
            one[l] = 0;
        }
        alike = ANY_CLASSES;
        run = T;
    }
    /* Whether my rows of a plane, and those beside them, have classes as `mine`. */
    __device__ __forceinline__ bool are_alike(uint32_t from, uint32_t mine, int token) const
    {
        uint32_t differing = 0;
#pragma unroll
        for (int r = -1; r <= ROWS; r++) {
            differing |= mine ^ word<V>(from + r * S::CLASS_ROW, token);
        }
        return arch_all(differing == 0);
    }

    /* At the end of a round, off its longest chain of loads: what the next one needs. */
    __device__ __forceinline__ void look_at_classes(int token)
    {
#pragma unroll
        for (int n = T - 1; n > 0; n--) {
            one[n] = one[n - 1];
        }
        const uint32_t from = classes_below(0);
        uint32_t row[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r] = load_bytes<V>(from + r * S::CLASS_ROW, token);
        }
        const uint32_t first = arch_first_lane_value(row[0]) & 0xFF;
        uint32_t differing = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            differing |= row[r] ^ first * (V == 2 ? 0x101U : 0x1010101U);
        }
        const bool same = arch_all(differing == 0 && (int)first > w.p.of.mask);
        one[0] = same ? (int)first & w.p.of.mask : -1;
        if constexpr (S::BY_COLUMNS) {
            const uint32_t mine = row[0] & w.mask;
            run = arch_all(mine == alike || alike == ANY_CLASSES) ? run + 1 : 0;
            alike = are_alike(from, mine, token) ? mine : (uint32_t)NO_CLASSES;
        }
    }
};

#endif
