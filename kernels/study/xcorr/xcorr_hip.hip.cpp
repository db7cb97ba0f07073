/* The cross-correlation kernels of the study in docs/developers/studies.md, for `bench xcorr` only.
 * All add the 2 r + 1 inputs of a cell in the order of their addresses. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/study/study_hip.h"

enum { VECTORS_MOST_RADIUS = 16, ELEMENTS = 4 };

/* The cells are out[0, n); cell i is the sum of in[i, i + taps). */
template <typename REAL> struct row {
    REAL *out;
    const REAL *in;
    int n;
    int taps;
};

/* Dynamic shared memory, as whole 16-byte vectors. */
template <typename REAL> static __device__ __forceinline__ REAL *tile_memory(void)
{
    extern __shared__ float4 xcorr_tile[];
    return reinterpret_cast<REAL *>(xcorr_tile);
}

/* The inputs of a block's cells from `begin` on. */
template <typename REAL>
static __device__ __forceinline__ const REAL *stage(const row<REAL> &r, int begin, int cells)
{
    REAL *tile = tile_memory<REAL>();
    const int inputs = r.n - begin < cells ? r.n - begin : cells;
    for (int k = (int)threadIdx.x; k < inputs + r.taps - 1; k += (int)blockDim.x) {
        tile[k] = r.in[begin + k];
    }
    __syncthreads();
    return tile;
}

/* RADIUS > 0: the bounds known to the compiler; longer loops are unrolled in part, or the code
 * would not fit the instruction cache. */
template <typename REAL, int RADIUS = 0>
static __device__ __forceinline__ REAL sum_of(const REAL *in, int taps)
{
    constexpr int TAPS = 2 * RADIUS + 1;
    constexpr int UNROLLED = TAPS < 128 ? TAPS : 128;
    REAL sum = in[0];
    if constexpr (RADIUS > 0) {
#pragma unroll UNROLLED
        for (int tap = 1; tap < TAPS; tap++) {
            sum += in[tap];
        }
    } else {
        for (int tap = 1; tap < taps; tap++) {
            sum += in[tap];
        }
    }
    return sum;
}

/* `in`: the first input of the first of four cells, or of the last ones. */
template <typename REAL>
static __device__ __forceinline__ void four_sums(REAL *out, const REAL *in, int taps, int cells)
{
    enum { N = ELEMENTS };
    if (cells < N) {
        for (int e = 0; e < cells; e++) {
            out[e] = sum_of(in + e, taps);
        }
        return;
    }
    REAL sum[N];
#pragma unroll
    for (int e = 0; e < N; e++) {
        sum[e] = in[e];
    }
#pragma unroll 4
    for (int tap = 1; tap < taps; tap++) {
#pragma unroll
        for (int e = 0; e < N; e++) {
            sum[e] += in[tap + e];
        }
    }
#pragma unroll
    for (int e = 0; e < N; e++) {
        out[e] = sum[e];
    }
}

/* CELLS cells per thread, with inputs from the L1 cache or from SHARED memory. */
template <int CELLS, bool SHARED, int RADIUS = 0, typename REAL>
static __device__ __forceinline__ void cached(const row<REAL> &r)
{
    const int begin = (int)(blockIdx.x * blockDim.x) * CELLS;
    const int at = (int)threadIdx.x * CELLS;
    const int i = SHARED ? begin + at : (int)(blockIdx.x * blockDim.x + threadIdx.x) * CELLS;
    const REAL *in = SHARED ? stage(r, begin, (int)blockDim.x * CELLS) + at : r.in + i;
    if (i < r.n) {
        if (CELLS == ELEMENTS) {
            four_sums(r.out + i, in, r.taps, r.n - i);
        } else {
            r.out[i] = sum_of<REAL, RADIUS>(in, r.taps);
        }
    }
}

#define DEFINE_KERNELS(name, shared)                                                               \
    template <typename REAL> static __global__ void xcorr_##name##_baseline(const row<REAL> r)     \
    {                                                                                              \
        cached<1, shared>(r);                                                                      \
    }                                                                                              \
    template <typename REAL> static __global__ void xcorr_##name##_elementwise(const row<REAL> r)  \
    {                                                                                              \
        cached<ELEMENTS, shared>(r);                                                               \
    }                                                                                              \
    template <typename REAL, int RADIUS>                                                           \
    static __global__ void xcorr_##name##_pointwise(const row<REAL> r)                             \
    {                                                                                              \
        cached<1, shared, RADIUS>(r);                                                              \
    }
DEFINE_KERNELS(hw, false)
DEFINE_KERNELS(sw, true)

/* ---- production ---- */

/* For a small radius, bound by memory: VECTORS vectors of cells per thread, and the vectors on
 * either side from the L1 cache. r.in is that of cell 0 itself, aligned. */
template <typename REAL, int RADIUS, int VECTORS>
static __global__ __launch_bounds__(512) void xcorr_vectors(const row<REAL> r)
{
    constexpr int N = vec16<REAL>::N;
    constexpr int SIDE = (RADIUS + N - 1) / N; /* vectors */
    constexpr int CELLS = VECTORS * N;
    const int64_t first = (int64_t)(blockIdx.x * blockDim.x + threadIdx.x) * CELLS;
    if (first + CELLS > r.n) {
        for (int64_t i = first; i < r.n; i++) {
            r.out[i] = sum_of(r.in + i - RADIUS, r.taps);
        }
        return;
    }
    REAL in[(VECTORS + 2 * SIDE) * N];
#pragma unroll
    for (int v = 0; v < VECTORS + 2 * SIDE; v++) {
        const vec16<REAL> read =
            *reinterpret_cast<const vec16<REAL> *>(r.in + first + (v - SIDE) * N);
#pragma unroll
        for (int e = 0; e < N; e++) {
            in[v * N + e] = read.v[e];
        }
    }
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        vec16<REAL> sums;
#pragma unroll
        for (int e = 0; e < N; e++) {
            REAL sum = in[(v + SIDE) * N + e - RADIUS];
#pragma unroll
            for (int tap = 1 - RADIUS; tap <= RADIUS; tap++) {
                sum += in[(v + SIDE) * N + e + tap];
            }
            sums.v[e] = sum;
        }
        arch_store_stream(r.out + first + v * N, sums);
    }
}

/* CELLS inputs of the tile into registers. */
template <typename REAL, int CELLS>
static __device__ __forceinline__ void load_window(REAL window[CELLS], const REAL *tile)
{
    constexpr int N = vec16<REAL>::N;
#pragma unroll
    for (int v = 0; v < CELLS / N; v++) {
        const vec16<REAL> read = reinterpret_cast<const vec16<REAL> *>(tile)[v];
#pragma unroll
        for (int e = 0; e < N; e++) {
            window[v * N + e] = read.v[e];
        }
    }
}

/* The next `taps` of CELLS taps, when cell e is at low[e]. */
template <typename REAL, int CELLS, bool ALL>
static __device__ __forceinline__ void add_taps(REAL sum[CELLS], const REAL low[CELLS],
                                                const REAL high[CELLS], int taps)
{
#pragma unroll
    for (int tap = 0; tap < CELLS; tap++) {
        if (ALL || tap < taps) {
#pragma unroll
            for (int e = 0; e < CELLS; e++) {
                sum[e] += e + tap < CELLS ? low[(e + tap) % CELLS] : high[(e + tap) % CELLS];
            }
        }
    }
}

/* Bound by additions: CELLS neighbouring cells per thread, whose inputs slide through registers, so
 * that each is read once from shared memory for all of them. Threads are an odd number of vectors
 * apart, which avoids bank conflicts. */
template <typename REAL, int CELLS>
static __global__ __launch_bounds__(512) void xcorr_window(const row<REAL> r)
{
    constexpr int N = vec16<REAL>::N;
    REAL *tile = tile_memory<REAL>();
    vec16<REAL> *vectors = reinterpret_cast<vec16<REAL> *>(tile);
    const int block_cells = (int)blockDim.x * CELLS;
    const int begin = (int)blockIdx.x * block_cells;
    const int cells = r.n - begin < block_cells ? r.n - begin : block_cells;
    const vec16<REAL> *from = reinterpret_cast<const vec16<REAL> *>(r.in + begin);
    for (int v = (int)threadIdx.x; v * N < cells + r.taps - 1; v += (int)blockDim.x) {
        vectors[v] = from[v];
    }
    __syncthreads();
    REAL sum[CELLS];
    REAL even[CELLS];
    REAL odd[CELLS];
    const int at = (int)threadIdx.x * CELLS;
    const REAL *next = tile + at;
#pragma unroll
    for (int e = 0; e < CELLS; e++) {
        sum[e] = (REAL)-0.0; /* -0 + x is x, also for x = -0 */
    }
    int taps = r.taps;
    load_window<REAL, CELLS>(even, next);
    KERNEL_NO_UNROLL
    for (; taps >= 2 * CELLS; taps -= 2 * CELLS) {
        load_window<REAL, CELLS>(odd, next + CELLS);
        add_taps<REAL, CELLS, true>(sum, even, odd, CELLS);
        load_window<REAL, CELLS>(even, next + 2 * CELLS);
        add_taps<REAL, CELLS, true>(sum, odd, even, CELLS);
        next += 2 * CELLS;
    }
    load_window<REAL, CELLS>(odd, next + CELLS);
    add_taps<REAL, CELLS, false>(sum, even, odd, taps);
    load_window<REAL, CELLS>(even, next + 2 * CELLS);
    add_taps<REAL, CELLS, false>(sum, odd, even, taps - CELLS);
    __syncthreads();
#pragma unroll
    for (int v = 0; v < CELLS / N; v++) {
        vec16<REAL> sums;
#pragma unroll
        for (int e = 0; e < N; e++) {
            sums.v[e] = sum[v * N + e];
        }
        vectors[at / N + v] = sums;
    }
    __syncthreads();
    for (int v = (int)threadIdx.x; (v + 1) * N <= cells; v += (int)blockDim.x) {
        reinterpret_cast<vec16<REAL> *>(r.out + begin)[v] = vectors[v];
    }
    const int rest = cells / N * N + (int)threadIdx.x;
    if (rest < cells) {
        r.out[begin + rest] = tile[rest];
    }
}

/* --- launches -------------------------------------------------------------------------------- */

template <typename REAL> static row<REAL> row_of(const study_call *call)
{
    const struct study_problem *problem = call->problem;
    return {static_cast<REAL *>(call->d_out) + problem->layout.origin,
            static_cast<const REAL *>(call->d_in) + problem->layout.origin - problem->radius,
            (int)problem->layout.cells[AXIS_X], 2 * problem->radius + 1};
}

/* CELLS per thread. */
template <typename REAL, void (*KERNEL)(row<REAL>), int CELLS, bool SHARED>
static int launch(void *to, void *, const study_call *call)
{
    const row<REAL> r = row_of<REAL>(call);
    const int threads = call->shape.block[AXIS_X];
    const unsigned blocks = parts(r.n, (int64_t)threads * CELLS);
    const size_t bytes = SHARED ? sizeof(REAL) * (size_t)(threads * CELLS + r.taps - 1) : 0;
    KERNEL<<<blocks, threads, bytes, static_cast<hipStream_t>(to)>>>(r);
    return hipGetLastError();
}

template <typename REAL, int RADIUS> static int launch_vectors(void *to, const study_call *call)
{
    const int vectors = call->shape.items;
    const int threads = call->shape.block[AXIS_X];
    const auto kernel = vectors == 1   ? xcorr_vectors<REAL, RADIUS, 1>
                        : vectors == 2 ? xcorr_vectors<REAL, RADIUS, 2>
                                       : xcorr_vectors<REAL, RADIUS, 4>;
    row<REAL> r = row_of<REAL>(call);
    r.in += RADIUS;
    kernel<<<parts(r.n, (int64_t)threads * vectors * vec16<REAL>::N), threads, 0,
             static_cast<hipStream_t>(to)>>>(r);
    return hipGetLastError();
}

template <typename REAL, int CELLS> static int launch_window(void *to, const study_call *call)
{
    const row<REAL> r = row_of<REAL>(call);
    const int threads = call->shape.block[AXIS_X];
    const size_t bytes = sizeof(REAL) * ((size_t)(threads + 3) * CELLS + (size_t)r.taps);
    xcorr_window<REAL, CELLS>
        <<<parts(r.n, threads * CELLS), threads, bytes, static_cast<hipStream_t>(to)>>>(r);
    return hipGetLastError();
}

/* Kernels that are compiled for a radius. */
enum variant { HW, SW, VECTORS };

template <typename REAL, int VARIANT, int RADIUS = 1>
static int launch_radius(void *to, void *scratch, const study_call *call)
{
    if (RADIUS != call->problem->radius) {
        if constexpr (RADIUS < 1024) {
            return launch_radius<REAL, VARIANT, 2 * RADIUS>(to, scratch, call);
        }
        return hipErrorInvalidValue;
    }
    if constexpr (VARIANT == HW) {
        return launch<REAL, xcorr_hw_pointwise<REAL, RADIUS>, 1, false>(to, scratch, call);
    } else if constexpr (VARIANT == SW) {
        return launch<REAL, xcorr_sw_pointwise<REAL, RADIUS>, 1, true>(to, scratch, call);
    } else if constexpr (RADIUS <= VECTORS_MOST_RADIUS) {
        return launch_vectors<REAL, RADIUS>(to, call);
    }
    return hipErrorInvalidValue;
}

/* Vectors have launch bounds, and the window none; see shapes_production. */
template <typename REAL>
static int launch_production(void *to, void *scratch, const study_call *call)
{
    constexpr int N = vec16<REAL>::N;
    const int cells = call->shape.items;
    return call->shape.bounds > 0 ? launch_radius<REAL, VECTORS>(to, scratch, call)
           : cells == 3 * N       ? launch_window<REAL, 3 * N>(to, call)
           : cells == 5 * N       ? launch_window<REAL, 5 * N>(to, call)
                                  : launch_window<REAL, 7 * N>(to, call);
}

/* --- shapes ---------------------------------------------------------------------------------- */

/* The kernels of a radius are those of the powers of 2. */
static bool takes(const struct study_problem *problem)
{
    return problem->radius > 0 && (problem->radius & (problem->radius - 1)) == 0;
}

static int add_blocks(struct study_shape *shapes, int count, int items, int most_threads)
{
    for (const int threads : {64, 128, 192, 256, 384, 512, 768, 1024}) {
        if (threads <= most_threads) {
            shapes[count++] = {{threads, 1, 1}, 0, items};
        }
    }
    return count;
}

template <int CELLS>
static int shapes_of(const struct study_problem *problem, struct study_shape *shapes)
{
    return takes(problem) ? add_blocks(shapes, 0, CELLS, 1024) : 0;
}

static int shapes_production(const struct study_problem *problem, struct study_shape *shapes)
{
    const int n = problem->layout.precision == PRECISION_FLOAT64 ? 2 : 4; /* cells of 16 bytes */
    int count = 0;
    if (!takes(problem)) {
        return 0;
    }
    if (problem->radius <= VECTORS_MOST_RADIUS) {
        for (int vectors = 1; vectors <= 4; vectors *= 2) {
            for (int threads = 128; threads <= 512; threads *= 2) {
                shapes[count++] = {{threads, 1, 1}, 512, vectors};
            }
        }
    }
    if (problem->radius >= n) {
        count = add_blocks(shapes, count, 3 * n, 512);
        count = add_blocks(shapes, count, 5 * n, 256);
        count = add_blocks(shapes, count, 7 * n, 256);
    }
    return count;
}

#define XCORR(name, about, cells, shared)                                                          \
    study_hip(#name, about, launch<double, xcorr_##name<double>, cells, shared>,                   \
              launch<float, xcorr_##name<float>, cells, shared>, shapes_of<cells>)
const struct study_kernel xcorr_hip[] = {
    XCORR(hw_baseline, "one cell per thread", 1, false),
    XCORR(hw_elementwise, "four neighbouring cells per thread", ELEMENTS, false),
    study_hip("hw_pointwise", "loop over the stencil unrolled", STUDY_BOTH(launch_radius, HW),
              shapes_of<1>),
    XCORR(sw_baseline, "inputs in shared memory", 1, true),
    XCORR(sw_elementwise, "and four neighbouring cells", ELEMENTS, true),
    study_hip("sw_pointwise", "and the loop unrolled", STUDY_BOTH(launch_radius, SW), shapes_of<1>),
    study_hip("production", "16-byte accesses, the window of the stencil in registers",
              launch_production<double>, launch_production<float>, shapes_production),
    {}};
