/* Reductions of a field: extremes, exact sum, invalid cells, hash. Blocks add integers and take
 * extremes with atomics, so the result does not depend on the order; the last block writes it to
 * pinned host memory and resets the scratch memory. */
#include "kernels/hip/field/summary.h"
#include "kernels/hip/field/sweep.h"

#include "kernels/hip/host/device_hip.h"

/* MEDIUM: with the heat, cells times their weights. */
template <typename REAL, bool MEDIUM, int WEIGHTS>
static __global__ __launch_bounds__(THREADS, MEDIUM ? 2 : BLOCKS_PER_PROCESSOR) void summarise(
    const sweep<REAL> s, struct hip_scratch *scratch, struct hip_result *result)
{
    constexpr int N = vec16<REAL>::N;
    findings f = {HUGE_VAL, -HUGE_VAL, {}, 0, 0, ~0ULL, {}};
    constexpr bool MARKS = MEDIUM && WEIGHTS == BY_CLASS && PREFETCH;
    __shared__ double weights_of[MARKS ? UINT8_MAX + 1 : 1];
    for (int c = (int)threadIdx.x; MARKS && c < s.nclasses; c += THREADS) {
        weights_of[c] = s.weight[c];
    }
    __syncthreads();
    const auto weight_at = [&s](int64_t at, REAL line) {
        const double sigma = WEIGHTS == STORED ? (double)s.sigma[at] : 0;
        return WEIGHTS == BY_CLASS ? s.weight[s.classes[at] & s.class_mask]
               : WEIGHTS == BY_LINES
                   ? s.weight_factor * ((double)s.width[AXIS_X][at] * (double)line)
               : sigma > 0 ? s.weight_factor / sigma
                           : 0;
    };
    for_cells<MARKS>(
        s,
        [&](const vec16<REAL> *vectors, const uint32_t *marks, int64_t at, int stride, REAL line) {
            double weights[CHUNK] = {};
            int counted = 0; /* cells that are not of ambients */
#pragma unroll
            for (int c = 0; c < CHUNK && MEDIUM; c++) {
                weights[c] = MARKS ? weights_of[marks[c / N] >> c % N * 8 & s.class_mask]
                                   : weight_at(at + c / N * stride + c % N, line);
                counted += weights[c] != 0 ? 1 : 0;
            }
            if (MEDIUM && s.has_ambients && counted < CHUNK) {
                return counted == 0;
            }
            const bool valid = f.see_all(vectors);
#pragma unroll
            for (int c = 0; c < CHUNK && MEDIUM; c++) {
                f.heat.add(valid ? (double)vectors[c / N].v[c % N] * weights[c] : 0.0);
            }
            return valid;
        },
        [&](REAL cell, int64_t index, int64_t at, REAL line) {
            const double weight = MEDIUM ? weight_at(at, line) : 1;
            if (weight == 0) { /* an ambient */
                return;
            }
            f.see((double)cell, index);
            if (MEDIUM) {
                f.heat.add(fabs((double)cell) < EXACT_SUM_LIMIT ? (double)cell * weight : 0.0);
            }
        });
    __shared__ merged waves[THREADS / ARCH_WAVE];
    finish_summary<THREADS / ARCH_WAVE>(scratch, f, waves, result);
}

/* Summarise the products with an array of the same layout, whose cell (0, 0, 0) is `times`. */
static __global__ __launch_bounds__(THREADS, BLOCKS_PER_PROCESSOR) void summarise_products(
    const sweep<float> s, const float *times, struct hip_scratch *scratch,
    struct hip_result *result)
{
    constexpr int N = vec16<float>::N, WIDE = vec16<double>::N;
    findings f = {HUGE_VAL, -HUGE_VAL, {}, 0, 0, ~0ULL, {}};
    for_cells<false>(
        s,
        [&](const vec16<float> *vectors, const uint32_t *, int64_t at, int stride, float) {
            vec16<double> products[CHUNK / WIDE];
#pragma unroll
            for (int v = 0; v < CHUNK / N; v++) {
                const vec16<float> by = vector_at(times + at + v * stride);
#pragma unroll
                for (int c = 0; c < N; c++) {
                    products[(v * N + c) / WIDE].v[c % WIDE] =
                        (double)vectors[v].v[c] * (double)by.v[c];
                }
            }
            return f.see_all(products);
        },
        [&](float cell, int64_t index, int64_t at, float) {
            f.see((double)cell * (double)times[at], index);
        });
    __shared__ merged waves[THREADS / ARCH_WAVE];
    finish_summary<THREADS / ARCH_WAVE>(scratch, f, waves, result);
}

/* Summarise tiles whose parts are kept. A block takes tiles far from each other, as those that
 * change lie together. */
template <typename REAL>
static __global__ __launch_bounds__(THREADS) void summarise_tiles(const sweep<REAL> s,
                                                                  const struct tiles tiles,
                                                                  int64_t total, uint32_t since,
                                                                  struct hip_scratch *scratch,
                                                                  struct hip_result *result)
{
    __shared__ merged of_threads[THREADS];
    merged *const kept = reinterpret_cast<merged *>(tiles.d_sums + total * FACE_COUNT);
    const auto merge_all = [&](const merged &mine) {
        of_threads[threadIdx.x] = mine;
        for (unsigned n = THREADS / 2; n > 0; n /= 2) {
            __syncthreads();
            if (threadIdx.x < n) {
                of_threads[threadIdx.x].add(of_threads[threadIdx.x + n]);
            }
        }
    };
    for (int64_t tile = blockIdx.x; tile < total; tile += gridDim.x) {
        if (since > 0 && tiles.d_changed[tile] <= since) {
            continue;
        }
        const struct box box = tiles_box(&tiles, tile);
        const int wide = (int)tiles.size[AXIS_X];
        const int64_t i = box.lo[AXIS_X] + threadIdx.x % wide;
        findings f = {HUGE_VAL, -HUGE_VAL, {}, 0, 0, ~0ULL, {}};
        for (int64_t j = box.lo[AXIS_Y] + threadIdx.x / wide;
             i < box.hi[AXIS_X] && j < box.hi[AXIS_Y]; j += THREADS / wide) {
            for (int64_t k = box.lo[AXIS_Z]; k < box.hi[AXIS_Z]; k += CHUNK) {
                constexpr int N = vec16<REAL>::N;
                vec16<REAL> cells[CHUNK / N];
                const int64_t planes = min(box.hi[AXIS_Z] - k, (int64_t)CHUNK);
#pragma unroll
                for (int c = 0; c < CHUNK; c++) {
                    const int64_t plane = k + (c < planes ? c : 0);
                    cells[c / N].v[c % N] = s.in[i + j * s.pitch_y + plane * s.pitch_z];
                }
                if (planes == CHUNK && f.see_all(cells)) {
                    continue;
                }
#pragma unroll
                for (int c = 0; c < CHUNK; c++) {
                    if (c < planes) {
                        f.see((double)cells[c / N].v[c % N],
                              ((s.offset[AXIS_Z] + k + c) * s.ny_global + s.offset[AXIS_Y] + j) *
                                      s.nx_global +
                                  s.offset[AXIS_X] + i);
                    }
                }
            }
        }
        merged mine = {key_of(f.min), key_of(f.max), f.first_bad, (long long)f.bad_cells, {}, {}};
        digits_of(f.tally(), mine.digit);
        merge_all(mine);
        if (threadIdx.x == 0) {
            kept[tile] = of_threads[0];
        }
        __syncthreads();
    }
    __syncthreads();
    merged mine = {key_of(HUGE_VAL), key_of(-HUGE_VAL), ~0ULL, 0, {}, {}};
    for (int64_t tile = blockIdx.x + (int64_t)threadIdx.x * gridDim.x; tile < total;
         tile += (int64_t)THREADS * gridDim.x) {
        mine.add(kept[tile]);
    }
    merge_all(mine);
    if (threadIdx.x == 0) {
        add_merged(scratch, of_threads[0]);
    }
    if (is_last_block(scratch)) {
        publish_summary(scratch, result);
    }
}

static __device__ __forceinline__ uint64_t bits_of(double cell)
{
    return (uint64_t)__double_as_longlong(cell);
}

static __device__ __forceinline__ uint64_t bits_of(float cell)
{
    return (uint32_t)__float_as_int(cell);
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void hash(const sweep<REAL> s,
                                                       struct hip_scratch *scratch,
                                                       struct hip_result *result)
{
    uint64_t sum = 0;
    for_cells<false>(
        s, [](const vec16<REAL> *, const uint32_t *, int64_t, int, REAL) { return false; },
        [&sum](REAL cell, int64_t index, int64_t, REAL) {
            sum += heat_cell_hash((uint64_t)index, bits_of(cell));
        });
    const long long all = arch_wave_sum((long long)sum);
    if (arch_is_first_lane()) {
        atomicAdd(&scratch->hash, (unsigned long long)all);
    }
    if (is_last_block(scratch)) {
        result->hash = seen(&scratch->hash);
        reset(scratch);
        __threadfence_system();
    }
}

static __global__ __launch_bounds__(THREADS) void reset_all(struct hip_scratch *scratch)
{
    for (int at = (int)threadIdx.x; at < HIP_PACE_COUNTERS; at += THREADS) {
        scratch->pace[at] = 0;
    }
    if (threadIdx.x == 0) {
        reset(scratch);
        scratch->blocks_done = 0;
        scratch->strips_taken = 0;
        scratch->items_taken = 0;
    }
}

static enum status launch_products(struct queue *queue, const struct summarise_args *args,
                                   struct hip_result *result)
{
    int processors = 0;
    TRY(hip_count_processors(&processors));
    sweep<float> s = sweep_of<float>(&args->layout, &args->placement, nullptr, args->d_field);
    s.class_pitch_y = s.pitch_y; /* what it says of classes is of the other array */
    s.class_pitch_z = s.pitch_z;
    summarise_products<<<blocks_of(s, (int64_t)processors * BLOCKS_PER_PROCESSOR), THREADS, 0,
                         queue->stream>>>(s, args->d_times + args->layout.origin, queue->d_scratch,
                                          result);
    return hip_check(hipGetLastError(), "summarise_products");
}

template <typename REAL>
static enum status launch_summarise(struct queue *queue, const struct summarise_args *args,
                                    struct hip_result *result)
{
    int processors = 0;
    TRY(hip_count_processors(&processors));
    const sweep<REAL> s =
        sweep_of<REAL>(&args->layout, &args->placement, args->medium, args->d_field);
    const bool medium = args->medium != nullptr;
    if (args->tiles != nullptr) {
        static_assert(sizeof(merged) == TILES_FOUND, "a part of a summary");
        summarise_tiles<REAL><<<(unsigned)processors * 8, THREADS, 0, queue->stream>>>(
            s, *args->tiles, tiles_total(args->tiles), args->since, queue->d_scratch, result);
        return hip_check(hipGetLastError(), "summarise_tiles");
    }
    const unsigned nblocks =
        blocks_of(s, (int64_t)processors * (medium ? 2 : BLOCKS_PER_PROCESSOR));
    const auto kernel = s.width[0] != nullptr ? summarise<REAL, true, BY_LINES>
                        : s.sigma != nullptr  ? summarise<REAL, true, STORED>
                        : medium              ? summarise<REAL, true, BY_CLASS>
                                              : summarise<REAL, false, BY_CLASS>;
    kernel<<<nblocks, THREADS, 0, queue->stream>>>(s, queue->d_scratch, result);
    return hip_check(hipGetLastError(), "summarise");
}

/* A row of a box after another per block. minus: nullptr: none. */
template <typename REAL>
static __global__ __launch_bounds__(THREADS) void add_bits(const grid_view<REAL> plus,
                                                           const REAL *minus, const struct box box,
                                                           uint32_t *d_bits)
{
    const unsigned ny = (unsigned)(box.hi[AXIS_Y] - box.lo[AXIS_Y]);
    const unsigned rows = ny * (unsigned)(box.hi[AXIS_Z] - box.lo[AXIS_Z]);
    uint32_t sum = 0;
    for (unsigned row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64_t first = plus.at(0, box.lo[AXIS_Y] + row % ny, box.lo[AXIS_Z] + row / ny);
        for (int64_t i = box.lo[AXIS_X] + threadIdx.x; i < box.hi[AXIS_X]; i += THREADS) {
            sum += plus.in != nullptr ? bits_in(plus.in[first + i]) : 0;
            sum -= minus != nullptr ? bits_in(minus[first + i]) : 0;
        }
    }
    add_bits_of_wave(d_bits, sum);
}

template <typename REAL>
static enum status launch_add_bits(struct queue *queue, const struct add_bits_args *args)
{
    const void *const plus = args->d_plus, *const minus = args->d_minus;
    grid_view<REAL> view = view_of<REAL>(&args->layout, nullptr, plus);
    view.in = plus != nullptr ? view.in : nullptr;
    const REAL *const other =
        minus != nullptr ? static_cast<const REAL *>(minus) + args->layout.origin : nullptr;
    const int64_t most = BLOCKS_MOST;
    for (int b = 0; b < args->nboxes; b++) {
        const struct box *box = &args->boxes[b];
        const int64_t rows = box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
        if (!box_is_empty(box)) {
            const unsigned blocks = (unsigned)(rows < most ? rows : most);
            add_bits<REAL><<<blocks, THREADS, 0, queue->stream>>>(view, other, *box, args->d_bits);
        }
    }
    return hip_check(hipGetLastError(), "add_bits");
}

enum status hip_add_bits(struct queue *queue, const struct add_bits_args *args)
{
    return in_precision(args->layout.precision,
                        [&](auto real) { return launch_add_bits<decltype(real)>(queue, args); });
}

hipError_t hip_launch_scratch_reset(hipStream_t stream, struct hip_scratch *d_scratch)
{
    reset_all<<<1, THREADS, 0, stream>>>(d_scratch);
    return hipGetLastError();
}

enum status hip_summarise(struct queue *queue, const struct summarise_args *args)
{
    struct hip_result *result = nullptr;
    TRY(hip_result_begin(queue, &result));
    TRY(args->d_times != nullptr ? launch_products(queue, args, result)
                                 : in_precision(args->layout.precision, [&](auto real) {
                                       return launch_summarise<decltype(real)>(queue, args, result);
                                   }));
    hip_result_deliver(queue, args->h_summary, &result->summary, sizeof result->summary);
    return STATUS_OK;
}

enum status hip_hash(struct queue *queue, const struct hash_args *args)
{
    struct hip_result *result = nullptr;
    TRY(hip_result_begin(queue, &result));
    TRY(in_precision(args->layout.precision, [&](auto real) {
        const auto s =
            sweep_of<decltype(real)>(&args->layout, &args->placement, nullptr, args->d_field);
        const unsigned nblocks = blocks_of(s, BLOCKS_MOST);
        hash<<<nblocks, THREADS, 0, queue->stream>>>(s, queue->d_scratch, result);
        return hip_check(hipGetLastError(), "hash");
    }));
    hip_result_deliver(queue, args->h_hash, &result->hash, sizeof result->hash);
    return STATUS_OK;
}
