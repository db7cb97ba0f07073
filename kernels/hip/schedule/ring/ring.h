/* Part of kernel.h: shapes, columns of tiles, and the ring of stages that the copy engine fills, at
 * the common pace of all blocks. */
#pragma once

#include "kernels/hip/device/cells.h"

#if ARCH_HAS_TILE_COPY

/* A shape: up to TY rows of SUBTILES * SUB_X cells, ROWS per thread, and BLOCKS blocks per
 * multiprocessor; a cell reads R others on every side. Each subtile has its own halo columns, since
 * the copy engine takes at most 256 cells of a row. CLOSERS: waves that prepare what workers read
 * at closed faces. CLASSES: those of a subtile follow its cells, one byte per cell, with 16 bytes
 * of halo at either end. ARRAYS: the number of other values per cell that follow these, without
 * halo but for what lies beyond upper faces in x and y. */
template <typename REAL_, int SUBTILES_, int SUB_X_, int TY_, int ROWS_, int BLOCKS_,
          int CLOSERS_ = 0, bool CLASSES = false, int R_ = 1>
struct shape {
    typedef REAL_ REAL;
    static constexpr int N = vec16<REAL>::N;
    static constexpr int SUBTILES = SUBTILES_;
    static constexpr int SUB_X = SUB_X_;
    static constexpr int TX = SUBTILES * SUB_X;
    static constexpr int TY = TY_;
    static constexpr int ROWS = ROWS_;
    static constexpr int BLOCKS = BLOCKS_;
    static constexpr int R = R_;
    static constexpr int BESIDE = (R + N - 1) / N; /* vectors on either side in x */
    static constexpr int WIDE = TX / N;            /* threads per row */
    static constexpr int WORKERS = WIDE * (TY / ROWS);
    static constexpr int CLOSERS = CLOSERS_;
    static constexpr bool SUMS = R == 1; /* over closed faces; without closers by a wave */
    /* one more wave fetches */
    static constexpr int THREADS =
        WORKERS + (1 + CLOSERS + (SUMS && CLOSERS == 0 ? 1 : 0)) * ARCH_WAVE;
    static constexpr bool MORE_REGISTERS = false; /* workers take some of the others' */
    /* 32 bytes of halo at either end: the engine splits rows with other alignments */
    static constexpr int PAD = 32 / (int)sizeof(REAL);
    static constexpr int PITCH = SUB_X + 2 * PAD;
    static constexpr bool BITS = false;
    static constexpr bool SUMMARY = false; /* of what is written; see written.h */
    static constexpr int ARRAYS = 0;
    static constexpr int FIELDS = 1;        /* 2: those of another field follow the cells */
    static constexpr bool CORRECTS = false; /* new values begin with those at view.out */
    static constexpr int CLASS_PAD = 16;
    static constexpr int CLASS_PITCH = CLASSES ? SUB_X + 2 * CLASS_PAD : 0;
    static __host__ __device__ constexpr int array_pitch(int array)
    {
        return SUB_X + (array == AXIS_X ? PAD : 0);
    }
    static constexpr int SHARED_BYTES = (BLOCKS == 1 ? 225 : 111) * 1024; /* of 228 KiB */
};

template <typename S> struct with_summary : S {
    static constexpr bool SUMMARY = true;
};

template <typename S> struct with_base : S {
    static constexpr bool CORRECTS = true;
};

/* Conductances of the lower faces of a cell, and sigma. */
template <typename S> struct with_arrays : S {
    static constexpr int ARRAYS = AXIS_COUNT + 1;
};

enum { MOST_STAGES = 24, MOST_ARRAYS = AXIS_COUNT + 1 };
/* Looks at the counter until a block stops waiting for the others, for good; about a millisecond.
 * Happens only when the device has not started all blocks. */
enum { PATIENCE = 2000 };

/* A column of tiles. Blocks take them in turn; those taken at the same time are a patch. */
struct column {
    int i, j, k_begin, k_end;
};

/* The work of one launch. Indices are of cells; those of tile copies count from the region. */
struct work {
    int lo[AXIS_COUNT], hi[AXIS_COUNT]; /* the box */
    int x_begin;                        /* lo[0] rounded down to a cache line */
    int region_x;                       /* cell index where the region begins: */
    int region_y, region_z;             /* in the halo where a face is open */
    int height;                         /* rows of a tile, at most TY */
    int waves;                          /* of workers for these rows */
    int depth;                          /* planes of a column */
    int tiles_x, tiles, items;          /* items: tiles * columns in z */
    int ring_bytes;                     /* of shared memory, at most */
    int stages, stage_cells, sub_cells; /* the ring: stages, cells per stage and per subtile */
    int field_cells;                    /* of a stage, of each field */
    int class_cells, class_sub;         /* cells of a stage before its classes, bytes of classes per
                                           subtile */
    int array_at[MOST_ARRAYS], array_sub[MOST_ARRAYS]; /* cells of a stage before an array, and of
                                                          the array per subtile */
    /* blocks count their progress in groups of planes, and a block may begin a group when all have
     * requested the one `lead` before it; groups: per patch, 0: no pacing */
    int group, groups, lead;
    const column *columns; /* device memory: of all items; NULL: as the other members have them */
};

template <typename S> static __device__ __forceinline__ column column_of(const work &w, int item)
{
    const int tile = item % w.tiles;
    column c;
    if (w.columns != nullptr) {
        return w.columns[item];
    }
    c.i = w.x_begin + tile % w.tiles_x * S::TX;
    c.j = w.lo[1] + tile / w.tiles_x * w.height;
    c.k_begin = w.lo[2] + item / w.tiles * w.depth;
    if (S::R > 1) { /* the last one begins earlier: all have the same depth */
        c.k_begin = min(c.k_begin, w.hi[2] - w.depth);
    }
    c.k_end = min(c.k_begin + w.depth, w.hi[2]);
    return c;
}

/* Where a cell of a tile lies in a stage; x and y count from the tile's first cell. */
template <typename S> static __device__ __forceinline__ int cell_at(const work &w, int x, int y)
{
    return x / S::SUB_X * w.sub_cells + (y + S::R) * S::PITCH + S::PAD + x % S::SUB_X;
}

/* In shared memory, as each wave goes round it. */
template <typename S> struct stage_ring {
    typename S::REAL *cells;
    arch_arrivals *filled;  /* of a stage: all its bytes have arrived, */
    arch_arrivals *closed;  /* closers have finished it, */
    arch_arrivals *emptied; /* all waves have finished reading it */
    int stages, stage_cells;
    int slot;
    unsigned round; /* only its lowest bit is used */

    __device__ typename S::REAL *stage() const
    {
        return cells + slot * stage_cells;
    }
    __device__ void next()
    {
        if (++slot == stages) {
            slot = 0;
            round++;
        }
    }
    __device__ void wait() const
    {
        arch_arrivals_wait(&filled[slot], round & 1);
    }
    __device__ void wait_for_closer() const
    {
        arch_arrivals_wait(&closed[slot], round & 1);
    }
    __device__ void close() const
    {
        __syncwarp();
        if (arch_is_first_lane()) {
            arch_arrive(&closed[slot]);
        }
    }
    __device__ void release() const
    {
        arch_reads_before_tile_copy();
        __syncwarp();
        if (arch_is_first_lane()) {
            arch_arrive(&emptied[slot]);
        }
    }
};

/* Wait until all `nblocks` blocks have counted; false when it takes too long. */
static __device__ __forceinline__ bool pace(const unsigned int *count, unsigned nblocks)
{
    for (int look = 0; look < PATIENCE; look++) {
        if (arch_read_counter(count) >= nblocks) {
            return true;
        }
    }
    return false;
}

/* The copy engine reads these: a field, the other one, the classes and the arrays where there are
 * any. */
template <typename S> struct ring_maps {
    arch_tile_map cells, other, classes, arrays[S::ARRAYS > 0 ? S::ARRAYS : 1];
};

/* Start the copies of one plane of a column, from R planes before the column on. */
template <typename S>
static __device__ __forceinline__ void fetch(const stage_ring<S> &ring, const ring_maps<S> &maps,
                                             const work &w, const column &c, int plane)
{
    for (int sub = 0; sub < S::SUBTILES; sub++) {
        arch_tile_copy(ring.stage() + sub * w.sub_cells, maps.cells, &ring.filled[ring.slot],
                       c.i + sub * S::SUB_X - S::PAD - w.region_x, c.j - S::R - w.region_y,
                       c.k_begin - S::R + plane - w.region_z);
    }
    for (int sub = 0; sub < S::SUBTILES && S::FIELDS > 1; sub++) {
        arch_tile_copy(ring.stage() + w.field_cells + sub * w.sub_cells, maps.other,
                       &ring.filled[ring.slot], c.i + sub * S::SUB_X - S::PAD - w.region_x,
                       c.j - S::R - w.region_y, c.k_begin - S::R + plane - w.region_z);
    }
    uint8_t *const classes = reinterpret_cast<uint8_t *>(ring.stage() + w.class_cells);
    for (int sub = 0; sub < S::SUBTILES && S::CLASS_PITCH > 0; sub++) {
        arch_tile_copy(classes + sub * w.class_sub, maps.classes, &ring.filled[ring.slot],
                       c.i + sub * S::SUB_X, c.j, c.k_begin + plane);
    }
#pragma unroll
    for (int array = 0; array < S::ARRAYS; array++) {
        for (int sub = 0; sub < S::SUBTILES; sub++) {
            arch_tile_copy(ring.stage() + w.array_at[array] + sub * w.array_sub[array],
                           maps.arrays[array], &ring.filled[ring.slot], c.i + sub * S::SUB_X, c.j,
                           c.k_begin - S::R + plane);
        }
    }
}

/* One thread: keep the ring full. */
template <typename S>
static __device__ __forceinline__ void fetch_all(stage_ring<S> ring, const ring_maps<S> &maps,
                                                 const work &w, unsigned int *counters)
{
    uint32_t bytes = S::SUBTILES * (w.height + 2 * S::R) *
                     (S::FIELDS * S::PITCH * (int)sizeof(typename S::REAL) + S::CLASS_PITCH);
    for (int array = 0; array < S::ARRAYS; array++) {
        bytes += S::SUBTILES * S::array_pitch(array) * (w.height + (array == AXIS_Y ? 1 : 0)) *
                 (int)sizeof(typename S::REAL);
    }
    bool patient = true;
    const int group = w.groups > 0 ? w.group : INT32_MAX;
    for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
        const column c = column_of<S>(w, item);
        const int patch = item / (int)gridDim.x;
        const unsigned nblocks = min((int)gridDim.x, w.items - patch * (int)gridDim.x);
        unsigned int *count = counters + (int64_t)patch * w.groups;
        int before = 0;   /* groups before this one */
        int in_group = 0; /* planes of the group before this one */
        for (int plane = 0; plane < c.k_end - c.k_begin + 2 * S::R; plane++, ring.next()) {
            arch_arrivals_wait(&ring.emptied[ring.slot], (ring.round & 1) ^ 1);
            if (patient && before >= w.lead && in_group == 0) {
                patient = pace(count + before - w.lead, nblocks);
            }
            arch_arrive_with_bytes(&ring.filled[ring.slot], bytes);
            fetch(ring, maps, w, c, plane);
            if (++in_group == group) {
                atomicAdd(count + before, 1U);
                in_group = 0;
                before++;
            }
        }
    }
}

#endif
