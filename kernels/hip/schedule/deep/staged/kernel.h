/* Part of staged/steps_*.hip.cpp: several steps in a pass, for large boxes on chips that copy tiles
 * into shared memory.
 *
 * A block of 12 waves marches in z through columns of tiles of 48 rows of 32 vectors (float32, four
 * steps: 36, 3 per wave), whose edges overlap with those of its neighbours: what a level computes
 * within l cells of an edge is wrong and reaches no cell that is written.
 *
 *      x ->        32 lanes of one vector each
 *      y    wave 0   row 0  --> written for the wave before it
 *      |             row 1
 *      v             row 2
 *                    row 3  --> written for wave 1     neighbours in x: shuffles; in y within the
 *           wave 1   row 0  --> written for wave 0     wave: registers; in z: registers, but level
 *           ...                                        0: the ring
 *
 * Level 0: the copy engine fills a ring of planes. Levels 1 to T - 1: in registers, two planes each
 * (staged/march.h). Only the first and last row of a wave go through shared memory, in two
 * parities, so a plane needs one barrier, at which waves arrive after these rows and for which they
 * wait before the next plane. Blocks do not wait for each other: a device that runs few of them at
 * a time is only slow. The host divides the work (staged/list.h). Figures:
 * docs/records/hip.md. */
#pragma once

#include "kernels/hip/schedule/deep/staged/march.h"

#if ARCH_HAS_TILE_COPY

/* --- the kernel ------------------------------------------------------------------------------ */

/* Where the thread that requests planes is; in shared memory, since it is the only one. */
struct deep_feeder {
    struct path {
        int x, y, first, last; /* indices of the region; last < first: no column */
    } now, next;
    int plane, stage;
    int class_stage; /* where classes have a ring of their own */
    int item;        /* QUEUED: the next one */
};

template <typename S, typename WORK = deep_work<S>> struct deep_block {
    const arch_tile_map &map;
    const WORK &w;
    char *shared;
    arch_arrivals *filled; /* of each stage: the plane has arrived */
    arch_arrivals *passed; /* all waves are past the middle of a round */
    deep_feeder *feeder;
    int items; /* QUEUED: of all blocks */

    __device__ __forceinline__ bool is_queued() const
    {
        return S::QUEUED && w.list.queued > 0;
    }
    __device__ __forceinline__ int first_item() const
    {
        return is_queued() ? (int)blockIdx.x : 0;
    }
    /* One thread: the item after this one. The counter is 0 when all blocks have come to the end
     * of the queue. */
    __device__ __forceinline__ void find_next(int item)
    {
        if (is_queued()) {
            item =
                (int)gridDim.x - 1 + (int)atomicInc(&w.scratch->items_taken, (unsigned)items - 1);
            feeder->item = item + 1;
        }
        set_next(item + 1);
    }
    /* All threads, after the rounds of that item: several rounds lie between this and the next
     * call of find_next, and after that one. */
    __device__ __forceinline__ int next_item(int item) const
    {
        return is_queued()
                   ? forget((int)load_bytes<4>(arch_shared_address(&feeder->item), begin_reads()))
                   : item + 1;
    }

    /* One thread: the column after the one whose planes are requested now. Computed where the
     * waves take a column, long before it is needed, since divisions in the loop over planes would
     * take its registers. */
    __device__ __forceinline__ void set_next(int item)
    {
        deep_feeder::path path = {0, 0, 0, -1};
        if (item < items) {
            const deep_column c = deep_column_of(w, item);
            const int last = S::PAIRS ? c.last_round(S::T) : c.end - 1 + S::T;
            path = {c.x - w.region[AXIS_X], c.y - 1 - w.region[AXIS_Y], c.first - w.region[AXIS_Z],
                    last - w.region[AXIS_Z]};
        }
        feeder->next = path;
    }

    __device__ __forceinline__ void begin_next()
    {
        feeder->now = feeder->next;
        feeder->plane = feeder->next.first;
    }

    /* One thread: request the next plane, if there is one. */
    __device__ __forceinline__ void request()
    {
        const int plane = feeder->plane;
        const int stage = feeder->stage;
        if (plane > feeder->now.last) {
            return;
        }
        arch_arrive_with_bytes(&filled[stage], S::STAGE + S::CLASS_BYTES);
        arch_tile_copy(shared + stage * S::STAGE, map, &filled[stage], feeder->now.x, feeder->now.y,
                       plane);
        if constexpr (S::CLASS_STAGES > 0) {
            const int to = feeder->class_stage;
            arch_tile_copy(shared + S::AT_CLASSES + to * S::CLASS_STAGE, w.class_map,
                           &filled[stage], S::class_x(feeder->now.x + w.region[AXIS_X]),
                           feeder->now.y + w.class_y, plane + w.class_z);
            feeder->class_stage = to + 1 < S::CLASS_STAGES ? to + 1 : 0;
        }
        feeder->stage = stage + 1 < S::STAGES ? stage + 1 : 0;
        feeder->plane = plane + 1;
        if (plane == feeder->now.last) {
            begin_next();
        }
    }
};

/* Take a column: what does not change from plane to plane. Returns what its code must know, or
 * IDLE: no cell that is written depends on this wave's rows. all: everything. */
template <typename S, typename WORK>
static __device__ __forceinline__ int take_column(deep_rows<S, WORK> &my, const deep_column &c,
                                                  bool all)
{
    typedef typename S::REAL REAL;
    constexpr int V = S::V;
    const WORK &w = my.w;
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const int wave = (int)threadIdx.x / ARCH_WAVE;
    const int x = c.x + lane * V;
    const int y = c.y + wave * S::ROWS;
    const int x_begin = w.list.x.begin(c.tx, S::HALO_X), x_end = w.list.x.end(c.tx, S::HALO_X);
    const int y_begin = w.list.y.begin(c.ty, S::HALO_Y), y_end = w.list.y.end(c.ty, S::HALO_Y);
    const int last_x = w.cells[AXIS_X] - 1;
    const int last_y = w.cells[AXIS_Y] - 1;
    my.begin = c.begin;
    my.end = min(c.end, w.list.z_hi);
    /* not `cells == 0`: ptxas 13.0 has computed that as its opposite */
    const bool beyond = x >= x_end || x + V <= x_begin;
    unsigned cells = 0, rows = 0;
    for (int i = 0; i < V; i++) {
        cells |= x + i >= x_begin && x + i < x_end ? 1U << i : 0U;
    }
    for (int r = 0; r < S::ROWS; r++) {
        rows |= y + r >= y_begin && y + r < y_end ? 1U << r : 0U;
    }
    const bool x_min = w.p.closed[FACE_X_MIN] && c.x == 0;
    const bool x_max = w.p.closed[FACE_X_MAX] && c.x <= last_x && c.x + S::TX > last_x;
    const bool y_min = w.p.closed[FACE_Y_MIN] && c.y == 0;
    const bool y_max = w.p.closed[FACE_Y_MAX] && c.y + S::TY == last_y + 1;
    const bool parts = all || x_begin % V != 0 || x_end % V != 0 ||
                       (x_max && (x_min || (last_x + 1 - c.x) % V != 0));
    my.place =
        (unsigned)((y - w.list.y.first) * w.pitch_y + x - w.list.x.first) * (unsigned)sizeof(REAL) |
        (parts || beyond ? 0U : rows);
    my.x_min = x_min && lane == 0;
    my.x_max = x_max && x <= last_x && x + V > last_x;
    my.parts = rows | cells << 4 | (my.x_max ? 1U << (8 + last_x - x) : 0U);
    my.y_min = y_min && wave == 0;
    my.y_max = y_max && wave == S::WAVES - 1;
    if (y + S::ROWS <= y_begin - S::HALO_Y || y >= y_end + S::HALO_Y) {
        return IDLE;
    }
    return parts ? WITH_ALL : (x_min ? WITH_X_MIN : 0) | (x_max ? WITH_X_MAX : 0);
}

/* Where a block is in the ring and in the rounds. */
template <typename S, typename BLOCK = deep_block<S>, typename WAVE = deep_wave<S>>
struct deep_rounds {
    BLOCK &block;
    WAVE &my;
    /* of the stage of this round's plane: the address of its `filled`, and the parity in bit 0, in
     * one register */
    uint32_t filled;

    /* All waves are past the middle of the round before. parity: of that round. */
    __device__ __forceinline__ void begin(unsigned parity)
    {
        /* votes: else the compiler duplicates the code for lanes that leave the loop apart */
        while (!arch_all(arch_arrivals_ended(block.passed, parity))) {
        }
        if (arch_is_chosen()) {
            block.request();
        }
        __syncwarp();
    }

    __device__ __forceinline__ void arrive()
    {
        __syncwarp();
        if (arch_is_first_lane()) {
            arch_arrive(block.passed);
        }
    }

    /* The same, and the plane of this round has arrived. */
    __device__ __forceinline__ void begin_with_plane(unsigned parity)
    {
        const bool ready = arch_arrivals_ended_at(filled & ~1U, filled & 1);
        begin(parity);
        if (!arch_all(ready)) {
            while (!arch_all(arch_arrivals_ended_at(filled & ~1U, filled & 1))) {
            }
        }
    }

    /* Wait for plane k, and advance all levels. */
    template <int WITH, int TOP, bool ODD> __device__ __forceinline__ void round(int k)
    {
        begin_with_plane(ODD ? 0 : 1);
        my.template advance_plane<WITH, TOP, ODD>(k, [&]() { arrive(); });
        next();
    }

    __device__ __forceinline__ void next()
    {
        my.below = my.here;
        my.here = my.above;
        my.above += S::STAGE;
        filled += 8;
        if ((filled & ~1U) == arch_shared_address(block.passed)) {
            my.above -= S::STAGES * S::STAGE;
            filled = (filled - 8 * S::STAGES) ^ 1;
        }
    }

    /* A wave on whose rows no result depends. */
    __device__ __forceinline__ void pass_by(int first, int last)
    {
        for (int k = first; k < last; k += 2) {
            begin(1);
            arrive();
            next();
            begin(0);
            arrive();
            next();
        }
    }

    template <int WITH> __device__ __forceinline__ void march(int first, int last)
    {
        for (int k = first; k < last; k += 2) {
            round<WITH, 0, false>(k);
            round<WITH, 0, true>(k + 1);
        }
    }
};

/* All planes of a column. The rounds at closed faces in z run the code for all faces; the registers
 * that only it needs are set before and after the loop over the others. */
template <typename S>
static __device__ __forceinline__ void march_column(deep_rounds<S> &rounds, int item)
{
    constexpr int T = S::T;
    deep_wave<S> &my = rounds.my;
    if (threadIdx.x == 0) {
        rounds.block.set_next(item + 1);
    }
    {
        const deep_column c = deep_column_of(my.w, forget(item));
        const int with = forget(take_column(my, c, false));
        const int last = c.last_main(T);
        switch (with) {
        case IDLE:
            rounds.pass_by(c.first, last);
            break;
        case WITH_NONE:
            rounds.template march<WITH_NONE>(c.first, last);
            break;
        case WITH_X_MIN:
            rounds.template march<WITH_X_MIN>(c.first, last);
            break;
        case WITH_X_MAX:
            rounds.template march<WITH_X_MAX>(c.first, last);
            break;
        default:
            rounds.template march<WITH_ALL>(c.first, last);
        }
    }
    const deep_column c = deep_column_of(my.w, forget(item));
    if (c.top) {
        take_column(my, c, true);
        rounds.template round<WITH_ALL, 1, false>(c.end);
        rounds.template round<WITH_ALL, 2, true>(c.end + 1);
        if constexpr (T > 2) {
            rounds.template round<WITH_ALL, 3, false>(c.end + 2);
        }
        if constexpr (T > 2) { /* T = 3: no level, but pairs */
            rounds.template round<WITH_ALL, 4, true>(c.end + 3);
        }
    }
}

/* The strips of faces that no block has taken yet. All threads call. */
template <typename S, typename WORK>
static __device__ __forceinline__ void take_strips(const WORK &w,
                                                   sums_memory<S::T, S::THREADS> &of_sums)
{
    const grid_view<typename S::REAL> view = {
        nullptr, w.in, w.pitch_y, w.pitch_z, {w.cells[AXIS_X], w.cells[AXIS_Y], w.cells[AXIS_Z]}};
    sum_strips(view, w.p, w.sums, w.scratch, of_sums);
}

/* After the last column: sums and the summary, where they are asked for. All threads call. */
template <typename S>
static __device__ __forceinline__ void finish_block(const deep_work<S> &w, const deep_wave<S> &my,
                                                    char *shared)
{
    typedef sums_memory<S::T, S::THREADS> memory;
    static_assert(sizeof(memory) <= S::AT_ROWS, "in the memory of tiles");
    memory &of_sums = *reinterpret_cast<memory *>(shared);
    const bool sums = w.sums.strips > 0;
    if (!S::SUMMARY && !sums) {
        return;
    }
    __syncthreads(); /* the memory of tiles is free */
    if constexpr (S::SUMMARY) {
        merge<S::WAVES>(w.scratch, my.written.found(), reinterpret_cast<merged *>(shared));
        __syncthreads();
    }
    if (sums) {
        take_strips<S>(w, of_sums);
    }
    if (is_last_block_of_all(w.scratch, &of_sums.is_last)) {
        if (sums) {
            normalise_sums<S::T>(w.sums, w.scratch);
        }
        if constexpr (S::SUMMARY) {
            if (threadIdx.x == 0) {
                publish_summary(w.scratch, w.result);
            }
        }
    }
}

/* The arrivals of a block; a barrier must follow. */
template <typename S, typename BLOCK>
static __device__ __forceinline__ void init_arrivals(const BLOCK &block)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < S::STAGES; stage++) {
            arch_arrivals_init(&block.filled[stage], 1);
        }
        arch_arrivals_init(block.passed, S::WAVES);
        arch_arrivals_publish();
    }
}

/* The first planes. */
template <typename S, typename BLOCK>
static __device__ __forceinline__ void request_first(BLOCK &block)
{
    if (arch_is_chosen()) {
        block.feeder->stage = 0;
        if (S::CLASS_STAGES > 0) {
            block.feeder->class_stage = 0;
        }
        block.set_next(block.first_item());
        block.begin_next();
        for (int round = 0; round < S::LEAD; round++) {
            block.request();
        }
    }
}

/* Where a wave is in shared memory. */
template <typename S, typename WAVE>
static __device__ __forceinline__ void place_wave(WAVE &my, const char *shared)
{
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const int wave = (int)threadIdx.x / ARCH_WAVE;
    const uint32_t first = arch_shared_address(shared) + lane * 16;
    my.edges = first + S::AT_ROWS + wave * S::WAVE_ROWS;
    my.above = first + (1 + wave * S::ROWS) * S::ROW;
    my.here = my.above + (S::STAGES - 1) * S::STAGE;
    my.below = my.here - S::STAGE;
}

/* Long, since all state of a wave is in registers from the first column to the last. 12 waves with
 * 168 registers: one block per multiprocessor. */
template <typename S>
static __global__ __launch_bounds__(S::THREADS,
                                    1) void steps_staged(const __grid_constant__ arch_tile_map map,
                                                         const __grid_constant__ deep_work<S> w)
{
    extern __shared__ __attribute__((aligned(1024))) char shared[];
    arch_arrivals *const arrivals = reinterpret_cast<arch_arrivals *>(shared + S::AT_REST);
    const work_list &list = w.list;
    deep_block<S> block = {
        map,
        w,
        shared,
        arrivals,
        arrivals + S::STAGES,
        reinterpret_cast<deep_feeder *>(arrivals + S::STAGES + 1),
        list.whole + list.first[blockIdx.x + 1] - list.first[blockIdx.x],
    };
    init_arrivals<S>(block);
    __syncthreads();
    request_first<S>(block);
    deep_wave<S> my = {{w}};
    place_wave<S>(my, shared);
    deep_rounds<S> rounds = {block, my, arch_shared_address(block.filled)};
    for (int item = 0; item < block.items; item++) {
        march_column(rounds, item);
    }
    if constexpr (S::BITS) {
        add_bits_of_wave(w.bits, my.bits);
    }
    finish_block<S>(w, my, shared);
}

#endif
