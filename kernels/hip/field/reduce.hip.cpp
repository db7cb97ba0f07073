/* Reductions of a field: extremes, exact sum, invalid cells, hash. Blocks add integers and take
 * extremes with atomics, so the result does not depend on the order; the last block writes it to
 * pinned host memory and resets the scratch memory. */
#include "kernels/hip/field/summary.h"

#include "kernels/hip/host/device_hip.h"

/* AHEAD: vectors of a row that a thread loads before it looks at them. Blocks per multiprocessor:
 * of summaries as many as run at a time, since those that begin later leave most of the chip idle.
 */
enum {
    THREADS = 256,
    AHEAD = 4,
    BLOCKS_MOST = 2048,
    BLOCKS_PER_PROCESSOR = ARCH_WAVE == 32 ? 3 : 4
};

/* The owned cells by rows: `lanes` threads per row, THREADS / lanes rows per block. */
template <typename REAL> struct sweep {
    const REAL *in; /* cell (0, 0, 0) */
    int64_t cells[AXIS_COUNT];
    int64_t pitch_y, pitch_z;
    int64_t nx_global, ny_global;
    int64_t offset[AXIS_COUNT];
    unsigned lanes;
    /* of a medium; NULL: uniform */
    const uint8_t *classes; /* of cell (0, 0, 0) */
    int64_t class_pitch_y, class_pitch_z;
    int class_mask;
    const double *weight;
    const REAL *sigma; /* of cell (0, 0, 0), as the classes; nullptr: weights of classes */
    const REAL *inverse[AXIS_COUNT]; /* of a graded medium: lines, from cell 0 on */
    double weight_factor;
    bool has_ambients;
};

/* Where a cell has its weight: of its class, stored, or from the lines; then the elements of
 * classes count along a row only. */
enum { BY_CLASS, STORED, BY_LINES };

/* A thread's cells: all(vectors, element of the first one's class, elements to that of the next,
 * product of the row's lines) of the CHUNK cells of complete vectors of a row, and where there are
 * fewer or it returns false, one(cell, its global index, element of its class, product) after
 * another. */
template <typename REAL, typename ALL, typename ONE>
static __device__ __forceinline__ void for_cells(const sweep<REAL> &s, ALL all, ONE one)
{
    constexpr int N = vec16<REAL>::N;
    const int lanes = (int)s.lanes; /* numbers of cells on an axis are int on devices */
    const int cells_x = (int)s.cells[AXIS_X];
    const int cells_y = (int)s.cells[AXIS_Y];
    const int rows_per_block = THREADS / lanes;
    const int64_t first = (int64_t)blockIdx.x * rows_per_block + threadIdx.x / s.lanes;
    const int stride = (int)gridDim.x * rows_per_block;
    /* a division per row would cost more than its cells */
    const int next_k = stride / cells_y;
    const int next_j = stride % cells_y;
    int k = (int)(first / cells_y);
    for (int j = (int)(first % cells_y); k < (int)s.cells[AXIS_Z]; j += next_j, k += next_k) {
        if (j >= cells_y) {
            j -= cells_y;
            k++;
            if (k >= (int)s.cells[AXIS_Z]) {
                break;
            }
        }
        const REAL *cells = s.in + j * s.pitch_y + k * s.pitch_z;
        const int64_t row = j * s.class_pitch_y + k * s.class_pitch_z;
        const REAL line = s.inverse[0] != nullptr ? s.inverse[AXIS_Y][j] * s.inverse[AXIS_Z][k] : 0;
        for (int i = (int)(threadIdx.x % s.lanes) * N; i < cells_x; i += AHEAD * lanes * N) {
            vec16<REAL> vectors[AHEAD]; /* rows are padded to whole vectors */
#pragma unroll
            for (int v = 0; v < AHEAD; v++) {
                const int at = i + v * lanes * N;
                vectors[v] = vector_at(cells + (at < cells_x ? at : i));
            }
#pragma unroll
            for (int v = 0; v < AHEAD; v += CHUNK / N) {
                if (i + (v + CHUNK / N - 1) * lanes * N + N <= cells_x &&
                    all(&vectors[v], row + i + v * lanes * N, lanes * N, line)) {
                    continue;
                }
                const int64_t index =
                    ((s.offset[AXIS_Z] + k) * s.ny_global + s.offset[AXIS_Y] + j) * s.nx_global +
                    s.offset[AXIS_X];
#pragma unroll
                for (int c = 0; c < CHUNK; c++) {
                    const int at = i + (v + c / N) * lanes * N + c % N;
                    if (at < cells_x) {
                        one(vectors[v + c / N].v[c % N], index + at, row + at, line);
                    }
                }
            }
        }
    }
}

/* MEDIUM: with the heat, cells times their weights. */
template <typename REAL, bool MEDIUM, int WEIGHTS>
static __global__ __launch_bounds__(THREADS, MEDIUM ? 2 : BLOCKS_PER_PROCESSOR) void summarise(
    const sweep<REAL> s, struct hip_scratch *scratch, struct hip_result *result)
{
    constexpr int N = vec16<REAL>::N;
    findings f = {HUGE_VAL, -HUGE_VAL, {}, 0, 0, ~0ULL, {}};
    const auto weight_at = [&s](int64_t at, REAL line) {
        const double sigma = WEIGHTS == STORED     ? (double)s.sigma[at]
                             : WEIGHTS == BY_LINES ? (double)(s.inverse[AXIS_X][at] * line)
                                                   : 0;
        return WEIGHTS == BY_CLASS ? s.weight[s.classes[at] & s.class_mask]
               : sigma > 0         ? s.weight_factor / sigma
                                   : 0;
    };
    for_cells(
        s,
        [&](const vec16<REAL> *vectors, int64_t at, int stride, REAL line) {
            if (MEDIUM && s.has_ambients) {
                return false;
            }
            double weights[CHUNK] = {};
#pragma unroll
            for (int c = 0; c < CHUNK && MEDIUM; c++) {
                weights[c] = weight_at(at + c / N * stride + c % N, line);
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
    for_cells(
        s,
        [&](const vec16<float> *vectors, int64_t at, int stride, float) {
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
        for (int64_t k = box.lo[AXIS_Z]; k < box.hi[AXIS_Z]; k++) {
            for (int64_t j = box.lo[AXIS_Y] + threadIdx.x / wide;
                 i < box.hi[AXIS_X] && j < box.hi[AXIS_Y]; j += THREADS / wide) {
                f.see((double)s.in[i + j * s.pitch_y + k * s.pitch_z],
                      ((s.offset[AXIS_Z] + k) * s.ny_global + s.offset[AXIS_Y] + j) * s.nx_global +
                          s.offset[AXIS_X] + i);
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
    for_cells(
        s, [](const vec16<REAL> *, int64_t, int, REAL) { return false; },
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

template <typename REAL>
static sweep<REAL> sweep_of(const struct layout *layout, const struct placement *placement,
                            const struct device_medium *medium, const void *d_field)
{
    sweep<REAL> s = {};
    s.in = static_cast<const REAL *>(d_field) + layout->origin;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.cells[axis] = layout->cells[axis];
        s.offset[axis] = placement->offset[axis];
    }
    s.pitch_y = layout->pitch_y;
    s.pitch_z = layout->pitch_z;
    s.nx_global = placement->global_cells[AXIS_X];
    s.ny_global = placement->global_cells[AXIS_Y];
    if (medium != nullptr) {
        s.classes = medium->d_class + medium->layout.origin;
        s.class_pitch_y = medium->layout.pitch_y;
        s.class_pitch_z = medium->layout.pitch_z;
        s.class_mask = medium->mask;
        s.weight = medium->d_weight;
        s.sigma = medium->d_sigma != nullptr
                      ? static_cast<const REAL *>(medium->d_sigma) + medium->layout.origin
                      : nullptr;
        s.weight_factor = medium->weight_factor;
        for (int axis = 0; axis < AXIS_COUNT && medium_is_graded(medium); axis++) {
            s.inverse[axis] = static_cast<const REAL *>(medium->d_sigma) +
                              medium_line(medium, axis, GRADED_INVERSE);
            s.class_pitch_y = s.class_pitch_z = 0;
        }
        s.has_ambients = medium->has_ambients;
    }
    s.lanes = 1;
    while (s.lanes < THREADS &&
           AHEAD * s.lanes * vec16<REAL>::N < (uint64_t)layout->cells[AXIS_X]) {
        s.lanes *= 2;
    }
    return s;
}

template <typename REAL> static unsigned blocks_of(const sweep<REAL> &s, int64_t most)
{
    const int64_t rows_per_block = THREADS / s.lanes;
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const int64_t nblocks = (rows + rows_per_block - 1) / rows_per_block;
    return (unsigned)(nblocks < most ? nblocks : most);
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
    const auto kernel = s.inverse[0] != nullptr ? summarise<REAL, true, BY_LINES>
                        : s.sigma != nullptr    ? summarise<REAL, true, STORED>
                        : medium                ? summarise<REAL, true, BY_CLASS>
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
