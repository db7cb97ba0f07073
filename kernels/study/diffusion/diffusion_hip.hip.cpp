/* The diffusion kernels of the study in docs/developers/studies.md, for `bench diffusion` only. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/study/diffusion/diffusion.h"
#include "kernels/study/study_hip.h"

enum { MARCH_THREADS = 256 };

template <typename REAL> struct block_of_cells {
    REAL *out; /* cell (0, 0, 0) */
    const REAL *in;
    int n[AXIS_COUNT];
    int pitch_y;
    int64_t pitch_z;
    REAL centre;
    REAL weight[AXIS_COUNT][DIFFUSION_MOST_RADIUS]; /* at distances 1 to 4 */
};

static __host__ __device__ constexpr int radius_of(int dimensions, int radius, int axis)
{
    return axis < dimensions ? radius : 0;
}

/* The neighbours on one axis and side, in the order of their addresses. */
template <typename REAL, int RADIUS, int SIDE>
static __device__ __forceinline__ REAL add_side(REAL sum, const REAL *at, int64_t pitch,
                                                const REAL *weight)
{
#pragma unroll
    for (int m = 0; m < RADIUS; m++) {
        const int distance = SIDE < 0 ? RADIUS - m : m + 1;
        sum = arch_fma(weight[distance - 1], at[SIDE * distance * pitch], sum);
    }
    return sum;
}

/* One cell, in global or in shared memory. */
template <typename REAL, int DIMS, int RADIUS>
static __device__ __forceinline__ REAL new_cell(const REAL *at, int pitch_y, int64_t pitch_z,
                                                const block_of_cells<REAL> &b)
{
    constexpr int RY = radius_of(DIMS, RADIUS, AXIS_Y);
    constexpr int RZ = radius_of(DIMS, RADIUS, AXIS_Z);
    REAL sum = (REAL)-0.0;
    sum = add_side<REAL, RZ, -1>(sum, at, pitch_z, b.weight[AXIS_Z]);
    sum = add_side<REAL, RY, -1>(sum, at, pitch_y, b.weight[AXIS_Y]);
    sum = add_side<REAL, RADIUS, -1>(sum, at, 1, b.weight[AXIS_X]);
    sum = arch_fma(b.centre, at[0], sum);
    sum = add_side<REAL, RADIUS, 1>(sum, at, 1, b.weight[AXIS_X]);
    sum = add_side<REAL, RY, 1>(sum, at, pitch_y, b.weight[AXIS_Y]);
    return add_side<REAL, RZ, 1>(sum, at, pitch_z, b.weight[AXIS_Z]);
}

struct spot {
    int i, j, k;
};

static __device__ __forceinline__ spot first_of_block(void)
{
    return {(int)(blockIdx.x * blockDim.x), (int)(blockIdx.y * blockDim.y),
            (int)(blockIdx.z * blockDim.z)};
}

/* Inputs from the L1 cache; SHARED: from shared memory, the cells of the block and their halo. */
template <typename REAL, int DIMS, int RADIUS, bool SHARED>
static __device__ __forceinline__ void cached(const block_of_cells<REAL> &b)
{
    extern __shared__ float4 diffusion_tile[];
    REAL *tile = reinterpret_cast<REAL *>(diffusion_tile);
    constexpr int RY = radius_of(DIMS, RADIUS, AXIS_Y);
    constexpr int RZ = radius_of(DIMS, RADIUS, AXIS_Z);
    const spot first = first_of_block();
    const int nx = (int)blockDim.x + 2 * RADIUS;
    const int ny = (int)blockDim.y + 2 * RY;
    const int nz = (int)blockDim.z + 2 * RZ;
    const REAL *from = b.in + (first.i - RADIUS) + (int64_t)(first.j - RY) * b.pitch_y +
                       (first.k - RZ) * b.pitch_z;
    if (SHARED) {
        for (int z = (int)threadIdx.z; z < nz && first.k + z < b.n[AXIS_Z] + 2 * RZ;
             z += (int)blockDim.z) {
            for (int y = (int)threadIdx.y; y < ny && first.j + y < b.n[AXIS_Y] + 2 * RY;
                 y += (int)blockDim.y) {
                for (int x = (int)threadIdx.x; x < nx && first.i + x < b.n[AXIS_X] + 2 * RADIUS;
                     x += (int)blockDim.x) {
                    tile[x + nx * (y + ny * z)] = from[x + (int64_t)y * b.pitch_y + z * b.pitch_z];
                }
            }
        }
        __syncthreads();
    }
    const int i = first.i + (int)threadIdx.x;
    const int j = first.j + (int)threadIdx.y;
    const int k = first.k + (int)threadIdx.z;
    if (i < b.n[AXIS_X] && j < b.n[AXIS_Y] && k < b.n[AXIS_Z]) {
        const int64_t at = i + (int64_t)j * b.pitch_y + k * b.pitch_z;
        const REAL *staged = tile + (int)threadIdx.x + RADIUS +
                             nx * ((int)threadIdx.y + RY + ny * ((int)threadIdx.z + RZ));
        b.out[at] = SHARED ? new_cell<REAL, DIMS, RADIUS>(staged, nx, (int64_t)nx * ny, b)
                           : new_cell<REAL, DIMS, RADIUS>(b.in + at, b.pitch_y, b.pitch_z, b);
    }
}

#define DEFINE_KERNELS(name, shared)                                                               \
    template <typename REAL, int DIMS, int RADIUS>                                                 \
    static __global__ void diffusion_##name(const block_of_cells<REAL> b)                          \
    {                                                                                              \
        cached<REAL, DIMS, RADIUS, shared>(b);                                                     \
    }                                                                                              \
    template <typename REAL, int DIMS, int RADIUS, int BOUNDS>                                     \
    static __global__ __launch_bounds__(BOUNDS) void diffusion_##name##_bounded(                   \
        const block_of_cells<REAL> b)                                                              \
    {                                                                                              \
        cached<REAL, DIMS, RADIUS, shared>(b);                                                     \
    }
DEFINE_KERNELS(hw, false)
DEFINE_KERNELS(sw, true)

/* ---- production ---- */

template <typename REAL> static __device__ __forceinline__ vec16<REAL> load16(const REAL *from)
{
    return *reinterpret_cast<const vec16<REAL> *>(from);
}

template <typename REAL>
static __device__ __forceinline__ void add16(vec16<REAL> &sum, REAL weight,
                                             const vec16<REAL> &cells)
{
#pragma unroll
    for (int e = 0; e < vec16<REAL>::N; e++) {
        sum.v[e] = arch_fma(weight, cells.v[e], sum.v[e]);
    }
}

/* The neighbours in y of a vector of cells. */
template <typename REAL, int RADIUS, int SIDE>
static __device__ __forceinline__ void add_rows(vec16<REAL> &sum, const REAL *at, int64_t pitch,
                                                const REAL *weight)
{
#pragma unroll
    for (int m = 0; m < RADIUS; m++) {
        const int distance = SIDE < 0 ? RADIUS - m : m + 1;
        add16(sum, weight[distance - 1], load16(at + SIDE * distance * pitch));
    }
}

/* The cells themselves and their neighbours in x, by whole vectors. */
template <typename REAL, int RADIUS>
static __device__ __forceinline__ void add_row(vec16<REAL> &sum, const REAL *at,
                                               const vec16<REAL> &own,
                                               const block_of_cells<REAL> &b)
{
    constexpr int N = vec16<REAL>::N;
    constexpr int SIDE = (RADIUS + N - 1) / N; /* vectors */
    REAL row[(2 * SIDE + 1) * N];
#pragma unroll
    for (int v = 0; v < 2 * SIDE + 1; v++) {
        const vec16<REAL> read = v == SIDE ? own : load16(at + (v - SIDE) * N);
#pragma unroll
        for (int e = 0; e < N; e++) {
            row[v * N + e] = read.v[e];
        }
    }
#pragma unroll
    for (int tap = -RADIUS; tap <= RADIUS; tap++) {
        const REAL weight = tap == 0 ? b.centre : b.weight[AXIS_X][(tap < 0 ? -tap : tap) - 1];
#pragma unroll
        for (int e = 0; e < N; e++) {
            sum.v[e] = arch_fma(weight, row[SIDE * N + e + tap], sum.v[e]);
        }
    }
}

/* Marching along z in three dimensions, along y in two, with the neighbours on that axis in
 * registers; 16 bytes of cells per thread along x, `items` of them along the march. */
template <typename REAL, int DIMS, int RADIUS>
static __global__ __launch_bounds__(MARCH_THREADS) void diffusion_march(
    const block_of_cells<REAL> b, const int items)
{
    constexpr int N = vec16<REAL>::N;
    constexpr int MARCH = DIMS > 1 ? RADIUS : 0;
    constexpr int RY = DIMS == 3 ? RADIUS : 0;
    constexpr int AXIS = DIMS == 3 ? AXIS_Z : AXIS_Y;
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x) * N;
    const int j = DIMS == 3 ? (int)(blockIdx.y * blockDim.y + threadIdx.y) : 0;
    const int begin = (int)(DIMS == 3 ? blockIdx.z : blockIdx.y) * items;
    const int end = begin + items < b.n[AXIS] ? begin + items : b.n[AXIS];
    const int64_t pitch = DIMS == 3 ? b.pitch_z : b.pitch_y;
    const int64_t first = i + (int64_t)j * b.pitch_y + begin * pitch;
    if (i >= b.n[AXIS_X] || (DIMS == 3 && j >= b.n[AXIS_Y])) {
        return;
    }
    const REAL *at = b.in + first;
    REAL *to = b.out + first;
    if (i + N > b.n[AXIS_X]) { /* the end of a row */
        for (int k = begin; k < end; k++, at += pitch, to += pitch) {
            for (int e = 0; i + e < b.n[AXIS_X]; e++) {
                to[e] = new_cell<REAL, DIMS, RADIUS>(at + e, b.pitch_y, b.pitch_z, b);
            }
        }
        return;
    }
    vec16<REAL> column[2 * MARCH + 1]; /* the neighbours on the axis of the march */
#pragma unroll
    for (int m = 0; m < 2 * MARCH; m++) {
        column[m + 1] = load16(at + (m - MARCH) * pitch);
    }
    KERNEL_NO_UNROLL
    for (int k = begin; k < end; k++, at += pitch, to += pitch) {
#pragma unroll
        for (int m = 0; m < 2 * MARCH; m++) {
            column[m] = column[m + 1];
        }
        column[2 * MARCH] = load16(at + MARCH * pitch);
        vec16<REAL> sum;
#pragma unroll
        for (int e = 0; e < N; e++) {
            sum.v[e] = (REAL)-0.0;
        }
#pragma unroll
        for (int m = 0; m < MARCH; m++) {
            add16(sum, b.weight[AXIS][MARCH - m - 1], column[m]);
        }
        add_rows<REAL, RY, -1>(sum, at, b.pitch_y, b.weight[AXIS_Y]);
        add_row<REAL, RADIUS>(sum, at, column[MARCH], b);
        add_rows<REAL, RY, 1>(sum, at, b.pitch_y, b.weight[AXIS_Y]);
#pragma unroll
        for (int m = 0; m < MARCH; m++) {
            add16(sum, b.weight[AXIS][m], column[MARCH + 1 + m]);
        }
        arch_store_stream(to, sum);
    }
}

/* --- launches -------------------------------------------------------------------------------- */

template <typename REAL>
static block_of_cells<REAL> cells_of(const struct study_problem *problem, void *d_out,
                                     const void *d_in)
{
    const struct layout &layout = problem->layout;
    block_of_cells<REAL> b = {};
    b.out = static_cast<REAL *>(d_out) + layout.origin;
    b.in = static_cast<const REAL *>(d_in) + layout.origin;
    b.pitch_y = (int)layout.pitch_y;
    b.pitch_z = layout.pitch_z;
    b.centre = (REAL)problem->parameter[0];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        b.n[axis] = (int)layout.cells[axis];
        for (int d = 1; d <= layout.halo[axis]; d++) {
            b.weight[axis][d - 1] = (REAL)problem->parameter[diffusion_weight_at(axis, d)];
        }
    }
    return b;
}

static size_t shared_bytes(const struct study_problem *problem, const int block[AXIS_COUNT])
{
    size_t bytes = precision_bytes(problem->layout.precision);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bytes *= (size_t)(block[axis] + 2 * problem->layout.halo[axis]);
    }
    return bytes;
}

/* Hardware- or software-managed caching, and the march. */
enum variant { HW, SW, MARCH };

template <typename REAL, int VARIANT, int DIMS, int RADIUS>
static void launch_radius(hipStream_t stream, const block_of_cells<REAL> &b, const study_call *call)
{
    const study_shape &shape = call->shape;
    const int *block = shape.block;
    const unsigned wide =
        parts(b.n[AXIS_X], block[AXIS_X] * (VARIANT == MARCH ? vec16<REAL>::N : 1));
    const unsigned rows = parts(b.n[AXIS_Y], block[AXIS_Y]);
    if constexpr (VARIANT == MARCH) {
        const unsigned deep = parts(b.n[DIMS == 3 ? AXIS_Z : AXIS_Y], shape.items);
        const dim3 blocks(wide, DIMS == 3 ? rows : deep, DIMS == 3 ? deep : 1);
        diffusion_march<REAL, DIMS, RADIUS>
            <<<blocks, threads_of(shape), 0, stream>>>(b, shape.items);
    } else {
        static void (*const kernels[2][3])(block_of_cells<REAL>) = {
            {diffusion_hw<REAL, DIMS, RADIUS>, diffusion_hw_bounded<REAL, DIMS, RADIUS, 256>,
             diffusion_hw_bounded<REAL, DIMS, RADIUS, 512>},
            {diffusion_sw<REAL, DIMS, RADIUS>, diffusion_sw_bounded<REAL, DIMS, RADIUS, 256>,
             diffusion_sw_bounded<REAL, DIMS, RADIUS, 512>}};
        const size_t bytes = VARIANT == SW ? shared_bytes(call->problem, block) : 0;
        const auto kernel = kernels[VARIANT == SW][shape.bounds / 256];
        const dim3 blocks(wide, rows, parts(b.n[AXIS_Z], block[AXIS_Z]));
        kernel<<<blocks, threads_of(shape), bytes, stream>>>(b);
    }
}

/* The kernel that is compiled for the problem's dimensions and radius. */
template <typename REAL, int VARIANT, int DIMS = 1, int RADIUS = 0>
static int launch(void *to, void *scratch, const study_call *call)
{
    if (diffusion_dimensions(call->problem) > DIMS) {
        if constexpr (DIMS < 3) {
            return launch<REAL, VARIANT, DIMS + 1>(to, scratch, call);
        }
    } else if (call->problem->radius > RADIUS) {
        if constexpr (RADIUS < DIFFUSION_MOST_RADIUS) {
            return launch<REAL, VARIANT, DIMS, RADIUS + 1>(to, scratch, call);
        }
    }
    const block_of_cells<REAL> b = cells_of<REAL>(call->problem, call->d_out, call->d_in);
    launch_radius<REAL, VARIANT, DIMS, RADIUS>(static_cast<hipStream_t>(to), b, call);
    return hipGetLastError();
}

/* --- shapes ---------------------------------------------------------------------------------- */

enum { MOST_SHARED_BYTES = 48 << 10 }; /* of a block, without a request for more */

/* By the dimensions. */
static const int blocks_1d[][AXIS_COUNT] = {{64, 1, 1},  {128, 1, 1},  {192, 1, 1}, {256, 1, 1},
                                            {512, 1, 1}, {1024, 1, 1}, {0, 0, 0}};
static const int blocks_2d[][AXIS_COUNT] = {
    {32, 2, 1},  {32, 4, 1},  {32, 8, 1}, {32, 16, 1}, {32, 32, 1}, {64, 1, 1},
    {64, 2, 1},  {64, 4, 1},  {64, 8, 1}, {128, 1, 1}, {128, 2, 1}, {128, 4, 1},
    {256, 1, 1}, {256, 2, 1}, {16, 8, 1}, {16, 16, 1}, {0, 0, 0}};
static const int blocks_3d[][AXIS_COUNT] = {
    {32, 2, 2}, {32, 4, 2}, {32, 2, 4},  {32, 4, 4},  {32, 8, 1}, {32, 8, 2}, {32, 8, 4},
    {64, 2, 1}, {64, 2, 2}, {64, 4, 1},  {64, 4, 2},  {64, 4, 4}, {64, 1, 4}, {16, 4, 4},
    {16, 8, 2}, {8, 8, 8},  {128, 2, 1}, {128, 1, 2}, {0, 0, 0}};
static const int (*const all_blocks[])[AXIS_COUNT] = {blocks_1d, blocks_2d, blocks_3d};

template <bool SHARED>
static int shapes_of(const struct study_problem *problem, struct study_shape *shapes)
{
    int count = 0;
    for (const int(*at)[AXIS_COUNT] = all_blocks[diffusion_dimensions(problem) - 1]; (*at)[0] > 0;
         at++) {
        const int *block = *at;
        if (SHARED && shared_bytes(problem, block) > MOST_SHARED_BYTES) {
            continue;
        }
        for (const int bounds : {0, 256, 512}) {
            if (bounds == 0 || block[0] * block[1] * block[2] <= bounds) {
                shapes[count++] = {{block[0], block[1], block[2]}, bounds, 1};
            }
        }
    }
    return count;
}

/* Threads along x have 16 bytes of cells each; items: cells along the slowest axis. */
static int shapes_march(const struct study_problem *problem, struct study_shape *shapes)
{
    static const int blocks[][2] = {{16, 8}, {16, 16}, {32, 4}, {32, 8}, {64, 2}, {64, 4}};
    const int dimensions = diffusion_dimensions(problem);
    int count = 0;
    for (int threads = 64; dimensions < 3 && threads <= MARCH_THREADS; threads *= 2) {
        for (int items = dimensions == 1 ? 1 : 4; items <= (dimensions == 1 ? 1 : 64); items *= 2) {
            shapes[count++] = {{threads, 1, 1}, MARCH_THREADS, items};
        }
    }
    for (const auto &block : blocks) {
        for (int items = 4; dimensions == 3 && items <= 128; items *= 2) {
            shapes[count++] = {{block[0], block[1], 1}, MARCH_THREADS, items};
        }
    }
    return count;
}

const struct study_kernel diffusion_hip[] = {
    study_hip("hw", "one cell per thread, inputs from the L1 cache", STUDY_BOTH(launch, HW),
              shapes_of<false>),
    study_hip("sw", "and from shared memory, the block's cells with their halo",
              STUDY_BOTH(launch, SW), shapes_of<true>),
    study_hip("production", "16-byte accesses, marching along the slowest axis",
              STUDY_BOTH(launch, MARCH), shapes_march),
    {}};
