/* Part of classes/steps_*.hip.cpp: the kernel. */
#pragma once

#include "kernels/hip/schedule/deep/classes/held.h"

#if ARCH_HAS_TILE_COPY

template <typename S> using wave_of = std::conditional_t<S::HELD, held_wave<S>, classes_wave<S>>;
template <typename S>
using classes_rounds = deep_rounds<S, deep_block<S, classes_work<S>>, wave_of<S>>;

/* The rounds of planes k to end. */
template <int WITH, typename S>
static __device__ __forceinline__ void march_rounds(classes_rounds<S> &rounds, int k, int end)
{
    wave_of<S> &my = rounds.my;
#pragma unroll 1
    for (; k < end; k++) {
        if constexpr (WITH == IDLE) {
            rounds.begin(my.before());
            rounds.arrive();
        } else {
            rounds.begin_with_plane(my.before());
            my.template advance_plane<WITH>(k, [&]() { rounds.arrive(); });
        }
        rounds.next();
        my.next();
    }
}

/* All planes of a column; those at closed faces in z by the code for all faces. */
template <typename S>
static __device__ __forceinline__ void march_classes(classes_rounds<S> &rounds, int item,
                                                     uint32_t first_class)
{
    constexpr int T = S::T;
    /* QUEUED: the rounds before the last ones are where the next item is found */
    constexpr int LAST = S::QUEUED ? 8 : 0, PARTS = S::QUEUED ? 4 : 3;
    wave_of<S> &my = rounds.my;
    my.begin_column();
#pragma unroll 1
    for (int part = 0; part < PARTS; part++) {
        const deep_column c = deep_column_of(my.w, forget(item));
        /* in short columns at z_min, which no queue has, the last plane is requested in part 0 */
        if (part == (S::QUEUED && c.end - c.first > T ? 2 : 0) && threadIdx.x == 0) {
            rounds.block.find_next(item);
        }
        const bool *const closed = my.w.p.closed;
        const bool y = (closed[FACE_Y_MIN] && c.y == 0) ||
                       (closed[FACE_Y_MAX] && c.y + S::TY == my.w.cells[AXIS_Y]);
        const bool ends = part == 0 || part == PARTS - 1;
        const int found = take_column(my, c, ends);
        const int with = forget(y && found >= 0 && found < WITH_PARTS ? found | WITH_Y : found);
        const int low = my.w.bottom > 0 && c.first == 0 ? T + 1 : c.first;
        const int high = c.top ? c.end : c.end + T;
        const int late = max(low, high - LAST);
        const int begin = part == 0 ? c.first : part == 1 ? low : part < PARTS - 1 ? late : high;
        const int end = part == 0 ? low : part == 1 ? late : part < PARTS - 1 ? high : c.end + T;
        /* the first lane of a tile that begins before the field has no class that is needed */
        const int skipped = threadIdx.x % ARCH_WAVE == 0 && c.x < 0 ? S::HALO_X : 0;
        my.classes = S::PLANES ? first_class
                               : first_class + (uint32_t)(c.x + 16 - S::class_x(c.x) + skipped);
        switch (with) {
        case IDLE:
            march_rounds<IDLE>(rounds, begin, end);
            break;
        case WITH_NONE:
            march_rounds<WITH_NONE>(rounds, begin, end);
            break;
        case WITH_Y: /* a body of its own: its code costs others 4 % */
            march_rounds<WITH_Y>(rounds, begin, end);
            break;
        case WITH_X_MIN:
            march_rounds<WITH_X_MIN>(rounds, begin, end);
            break;
        case WITH_X_MAX:
            march_rounds<WITH_X_MAX>(rounds, begin, end);
            break;
        case WITH_X_MIN | WITH_Y: /* by the code for all faces corners took 1.7 times as long */
            march_rounds<WITH_X_MIN | WITH_Y>(rounds, begin, end);
            break;
        case WITH_X_MAX | WITH_Y:
            march_rounds<WITH_X_MAX | WITH_Y>(rounds, begin, end);
            break;
        default:
            my.x = c.x + (int)threadIdx.x % ARCH_WAVE * S::V;
            my.y = c.y + (int)threadIdx.x / ARCH_WAVE * S::ROWS;
            march_rounds<WITH_ALL>(rounds, begin, end);
        }
    }
}

template <typename S> static __device__ __forceinline__ uint32_t *bits_of_block(char *shared)
{
    return reinterpret_cast<uint32_t *>(shared + S::AT_TABLE - S::BITS_BELOW_TABLE);
}

/* The table of coefficients; and no classes that it does not have, which lookups without effect
 * would read. All threads call. */
template <typename S>
static __device__ __forceinline__ void prepare_classes(const classes_work<S> &w, char *shared)
{
    typedef typename S::REAL REAL;
    const medium<REAL> &m = w.p.of;
    const int n = m.n, pairs = w.at_numbers / (int)sizeof(REAL);
    const int of_pairs = w.of_pairs > 0 ? w.of_pairs / (int)sizeof(REAL) : pairs;
    REAL *const table = reinterpret_cast<REAL *>(shared + S::AT_TABLE);
    for (int at = (int)threadIdx.x; at < pairs; at += S::THREADS) {
        table[at] = w.p.table[at / of_pairs][2 * n + at % of_pairs];
    }
    for (int l = 0; l < (w.of_step > 0 ? S::T : 1); l++) {
        REAL *const to = table + pairs + l * (w.of_step / (int)sizeof(REAL));
        for (int at = (int)threadIdx.x; at < 2 * n; at += S::THREADS) {
            to[at] = w.p.table[l][at];
        }
        for (int at = (int)threadIdx.x; at < 2 * FACE_COUNT * m.nclosures; at += S::THREADS) {
            to[2 * n + at] = w.p.table[l][medium_closure_at(n, m.nclosures, 0, at / 2) + at % 2];
        }
    }
    if (S::BITS && threadIdx.x == 0) {
        *bits_of_block<S>(shared) = 0;
    }
    if constexpr (S::PLANES) {
        prepare_planes<S>(w, shared + S::AT_TABLE);
    }
    uint32_t *const classes = reinterpret_cast<uint32_t *>(shared + S::AT_CLASSES);
    for (int at = (int)threadIdx.x; at < S::CLASS_STAGES * S::CLASS_STAGE / 4; at += S::THREADS) {
        classes[at] = 0;
    }
    arch_reads_before_tile_copy();
}

/* After the last column: the sums. Not inlined: the march would have fewer registers. All threads
 * call. */
template <typename S>
static __device__ __attribute__((noinline)) void sum_faces(const classes_work<S> &w, char *shared)
{
    typedef sums_memory<S::T, S::THREADS> memory;
    static_assert(sizeof(memory) <= S::AT_ROWS, "in the memory of tiles");
    memory &of_sums = *reinterpret_cast<memory *>(shared);
    __syncthreads(); /* the memory of tiles is free */
    take_strips<S>(w, of_sums);
    if (is_last_block_of_all(w.scratch, &of_sums.is_last)) {
        normalise_sums<S::T>(w.sums, w.scratch);
    }
}

template <typename S>
static __global__ __launch_bounds__(S::THREADS,
                                    1) void steps_classes(const __grid_constant__ arch_tile_map map,
                                                          const __grid_constant__ classes_work<S> w)
{
    extern __shared__ __attribute__((aligned(1024))) char shared[];
    arch_arrivals *const arrivals = reinterpret_cast<arch_arrivals *>(shared + S::AT_REST);
    deep_block<S, classes_work<S>> block = {
        map,
        w,
        shared,
        arrivals,
        arrivals + S::STAGES,
        reinterpret_cast<deep_feeder *>(arrivals + S::STAGES + 1),
        S::QUEUED && w.list.queued > 0
            ? w.list.x.count * w.list.y.count * w.list.queued
            : w.list.whole + w.list.first[blockIdx.x + 1] - w.list.first[blockIdx.x],
    };
    if (w.either && have_one_class(w, shared) != S::PLANES) {
        return;
    }
    init_arrivals<S>(block);
    prepare_classes(w, shared);
    __syncthreads();
    request_first<S>(block);
    wave_of<S> my = {{{{w}}}};
    place_wave<S>(my, shared);
    /* behind the barrier, which loads from the table could else precede */
    my.table = arch_shared_address(shared) + S::AT_TABLE + begin_reads();
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const int wave = (int)threadIdx.x / ARCH_WAVE;
    const uint32_t first_class =
        S::PLANES ? my.table + w.at_planes + 2 * S::T +
                        planes_of<S>(w.cells[AXIS_Z]) * 4 * (int)sizeof(typename S::REAL)
                  : arch_shared_address(shared) + S::AT_CLASSES + lane * S::V +
                        (1 + wave * S::ROWS) * S::CLASS_ROW;
    classes_rounds<S> rounds = {block, my, arch_shared_address(block.filled)};
    int item = block.first_item();
    while (item < block.items) {
        march_classes(rounds, item, first_class);
        item = block.next_item(item);
    }
    if constexpr (S::BITS) {
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(w.bits, *bits_of_block<S>(shared));
        }
    }
    if (w.sums.strips > 0) {
        sum_faces<S>(w, shared);
    }
}

#endif
