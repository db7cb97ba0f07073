/* Laplacian kernels of docs/developers/laplacian_study.md, for `bench kernels` only. All evaluate
 * the expression of cpu/field/laplacian.c, in steps, since the rows of a thread share points. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/hip/host/device_hip.h"

/* Threads of a block lie in x; the study's best tile has 8 rows. */
enum { WIDE = 256, BEST_ROWS = 8 };

template <typename REAL> struct grid_points {
    int nx;                  /* points of a row */
    int j_begin, j_end;      /* the rows to be computed */
    int k_end;               /* the last plane + 1; the first is 1 */
    int64_t pitch_z;         /* points of a plane */
    REAL wx, wy, wz, centre; /* 1/h^2, and -2 times their sum */
};

/* A thread's points: M rows above each other, from (i, j, k) on. */
struct spot {
    int i, j, k;
};

/* The axes of a launch: blocks of WIDE x 1 x 1 threads in the order x, y, z or y, z, x; and blocks
 * of 128 x 1 x 8 threads, for planes larger than the cache. */
enum order { XYZ, YZX, DEEP };

template <int ORDER, int M> static __device__ __forceinline__ spot spot_of(int j_begin)
{
    const int x = (int)(ORDER == YZX ? blockIdx.z : blockIdx.x);
    const int y = (int)(ORDER == YZX ? blockIdx.x : blockIdx.y);
    const int z = (int)(ORDER == YZX ? blockIdx.y : blockIdx.z);
    return {x * (ORDER == DEEP ? 128 : (int)WIDE) + (int)threadIdx.x, j_begin + y * M,
            1 + (ORDER == DEEP ? z * 8 + (int)threadIdx.z : z)};
}

template <typename REAL>
static __device__ __forceinline__ bool is_inside(const grid_points<REAL> &g, const spot &s)
{
    return s.i > 0 && s.i < g.nx - 1 && s.k < g.k_end;
}

template <bool STREAM, typename REAL>
static __device__ __forceinline__ void put(REAL *to, REAL value)
{
    if (STREAM) {
        arch_store_stream_cell(to, value);
    } else {
        *to = value;
    }
}

/* One row after the other: the point, then its neighbours in x, y and z; the rows' own points are
 * kept for the rows above and below. */
template <typename REAL, int M>
static __device__ __forceinline__ void by_rows(REAL *__restrict__ f, const REAL *__restrict__ u,
                                               const grid_points<REAL> &g)
{
    REAL sum[M];
    REAL c = u[0];
    REAL ym = u[-g.nx];
#pragma unroll
    for (int n = 0; n < M; n++) {
        const REAL *at = u + n * g.nx;
        const REAL xm = at[-1];
        const REAL xp = at[1];
        const REAL yp = at[g.nx];
        const REAL zm = at[-g.pitch_z];
        const REAL zp = at[g.pitch_z];
        sum[n] = g.wz * zm;
        sum[n] = arch_fma(g.wy, ym, sum[n]);
        sum[n] = arch_fma(g.wx, xm, sum[n]);
        sum[n] = arch_fma(g.centre, c, sum[n]);
        sum[n] = arch_fma(g.wx, xp, sum[n]);
        sum[n] = arch_fma(g.wy, yp, sum[n]);
        sum[n] = arch_fma(g.wz, zp, sum[n]);
        ym = c;
        c = yp;
    }
#pragma unroll
    for (int n = 0; n < M; n++) {
        f[n * g.nx] = sum[n];
    }
}

/* In the order of the addresses: the plane below, the rows of this plane, the plane above. */
template <typename REAL, int M, bool STREAM>
static __device__ __forceinline__ void ascending(REAL *__restrict__ f, const REAL *__restrict__ u,
                                                 const grid_points<REAL> &g)
{
    REAL sum[M];
#pragma unroll
    for (int n = 0; n < M; n++) {
        sum[n] = g.wz * u[n * g.nx - g.pitch_z];
    }
    REAL below = u[-g.nx];
#pragma unroll
    for (int n = 0; n < M; n++) {
        const REAL *row = u + n * g.nx;
        const REAL left = row[-1];
        const REAL c = row[0];
        const REAL right = row[1];
        sum[n] = arch_fma(g.wy, below, sum[n]);
        sum[n] = arch_fma(g.wx, left, sum[n]);
        sum[n] = arch_fma(g.centre, c, sum[n]);
        sum[n] = arch_fma(g.wx, right, sum[n]);
        if (n > 0) {
            sum[n > 0 ? n - 1 : 0] = arch_fma(g.wy, c, sum[n > 0 ? n - 1 : 0]);
        }
        below = c;
    }
    sum[M - 1] = arch_fma(g.wy, u[M * g.nx], sum[M - 1]);
#pragma unroll
    for (int n = 0; n < M; n++) {
        sum[n] = arch_fma(g.wz, u[n * g.nx + g.pitch_z], sum[n]);
    }
#pragma unroll
    for (int n = 0; n < M; n++) {
        put<STREAM>(f + n * g.nx, sum[n]);
    }
}

/* M rows at once, or the rest at the end; all threads of a block take the same branch. */
template <int M, bool ASCENDING, bool STREAM, int ORDER, typename REAL>
static __device__ __forceinline__ void compute(REAL *__restrict__ f, const REAL *__restrict__ u,
                                               const grid_points<REAL> &g)
{
    const spot s = spot_of<ORDER, M>(g.j_begin);
    if (!is_inside(g, s)) {
        return;
    }
    const int64_t at = s.i + (int64_t)s.j * g.nx + s.k * g.pitch_z;
    if (s.j + M <= g.j_end) {
        if (ASCENDING) {
            ascending<REAL, M, STREAM>(f + at, u + at, g);
        } else {
            by_rows<REAL, M>(f + at, u + at, g);
        }
        return;
    }
    for (int n = 0; n < g.j_end - s.j; n++) {
        ascending<REAL, 1, STREAM>(f + at + (int64_t)n * g.nx, u + at + (int64_t)n * g.nx, g);
    }
}

/* Without launch bounds the compiler leaves room for blocks of 1024 threads. */
#define DEFINE_KERNEL(name, bounds, ...)                                                           \
    template <typename REAL, int M>                                                                \
    static __global__ bounds void laplacian_##name(                                                \
        REAL *__restrict__ f, const REAL *__restrict__ u, const grid_points<REAL> g)               \
    {                                                                                              \
        compute<M, __VA_ARGS__>(f, u, g);                                                          \
    }
/* 1: one point per thread. 2: M rows per thread. 3: and loads in ascending order. 4: and the
 * compiler is given the block size. 5 and, by launches over subdomains, 7: and nontemporal stores.
 * 6: 5 with blocks in the order y, z, x. With at least 8, 7, 6, 5, and for 5 to 7 8 waves a SIMD
 * (gfx90a). */
DEFINE_KERNEL(baseline, , false, false, XYZ)
DEFINE_KERNEL(tiled, , false, false, XYZ)
DEFINE_KERNEL(reordered, , true, false, XYZ)
DEFINE_KERNEL(bounded, __launch_bounds__(WIDE), true, false, XYZ)
DEFINE_KERNEL(streaming, __launch_bounds__(WIDE), true, true, XYZ)
DEFINE_KERNEL(yzx, __launch_bounds__(WIDE), true, true, YZX)
DEFINE_KERNEL(deep_blocks, __launch_bounds__(1024), true, true, DEEP)

/* --- launches -------------------------------------------------------------------------------- */

static inline unsigned parts(int64_t n, int64_t size)
{
    return (unsigned)((n + size - 1) / size);
}

template <typename REAL> static grid_points<REAL> points_of(const struct step_args *args)
{
    const double *w = args->levels->r;
    const struct layout &layout = args->layout;
    grid_points<REAL> g = {};
    g.nx = (int)layout.pitch_y;
    g.j_begin = 1;
    g.j_end = (int)layout.cells[AXIS_Y] + 1;
    g.k_end = (int)layout.cells[AXIS_Z] + 1;
    g.pitch_z = layout.pitch_z;
    g.wx = (REAL)w[AXIS_X];
    g.wy = (REAL)w[AXIS_Y];
    g.wz = (REAL)w[AXIS_Z];
    g.centre = (REAL)(-2.0 * (w[AXIS_X] + w[AXIS_Y] + w[AXIS_Z]));
    return g;
}

/* M: rows per thread. SUBDOMAINS: launches over the rows, one after another. The first thread of a
 * row is idle, which aligns the others. */
template <typename REAL, int M, int ORDER, int SUBDOMAINS>
static void launch(void (*kernel)(REAL *, const REAL *, grid_points<REAL>), hipStream_t stream,
                   const struct step_args *args)
{
    const grid_points<REAL> all = points_of<REAL>(args);
    const unsigned planes = (unsigned)(all.k_end - 1);
    const int rows = (int)parts(all.j_end - 1, SUBDOMAINS);
    grid_points<REAL> g = all;
    for (; g.j_begin < all.j_end; g.j_begin += rows) {
        g.j_end = g.j_begin + rows < all.j_end ? g.j_begin + rows : all.j_end;
        const unsigned wide = parts(g.nx - 1, ORDER == DEEP ? 128 : (int)WIDE);
        const unsigned tiles = parts(g.j_end - g.j_begin, M);
        const dim3 blocks = ORDER == YZX    ? dim3(tiles, planes, wide)
                            : ORDER == DEEP ? dim3(wide, tiles, parts(planes, 8))
                                            : dim3(wide, tiles, planes);
        kernel<<<blocks, ORDER == DEEP ? dim3(128, 1, 8) : dim3(WIDE), 0, stream>>>(
            static_cast<REAL *>(args->d_out), static_cast<const REAL *>(args->d_in), g);
    }
}

template <void (*OF_DOUBLE)(double *, const double *, grid_points<double>),
          void (*OF_FLOAT)(float *, const float *, grid_points<float>), int M, int ORDER,
          int SUBDOMAINS = 1>
static enum status run(struct queue *queue, const struct step_args *args)
{
    /* offsets of up to 16 rows have 32 bits */
    enum { MOST_X = INT32_MAX / 64, MOST_BLOCKS = 65535 };
    const int64_t *n = args->layout.cells;
    if (n[AXIS_X] > MOST_X || n[AXIS_Y] > MOST_BLOCKS || n[AXIS_Z] > MOST_BLOCKS) {
        return hip_check(hipErrorInvalidValue,
                         "laplacian: more than 33554431 x 65535 x 65535 cells");
    }
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch<double, M, ORDER, SUBDOMAINS>(OF_DOUBLE, queue->stream, args);
    } else {
        launch<float, M, ORDER, SUBDOMAINS>(OF_FLOAT, queue->stream, args);
    }
    return hip_check(hipGetLastError(), "laplacian");
}

/* By a function: clang compiles a table of constants for the device, too. */
static kernel_variant variant(const char *name, const char *about, step_function *step)
{
    return {name, about, step, 0};
}
#define LAPLACIAN(number, about, kernel, m, ...)                                                   \
    variant("laplacian_" number, about,                                                            \
            run<laplacian_##kernel<double, m>, laplacian_##kernel<float, m>, m, __VA_ARGS__>)
const struct kernel_variant hip_laplacians[] = {
    LAPLACIAN("1", "one point per thread, blocks of 256 x 1 x 1", baseline, 1, XYZ),
    LAPLACIAN("2_m1", "loop tiling in y: m = 1 points per thread", tiled, 1, XYZ),
    LAPLACIAN("2_m2", "m = 2", tiled, 2, XYZ),
    LAPLACIAN("2_m4", "m = 4", tiled, 4, XYZ),
    LAPLACIAN("2_m8", "m = 8", tiled, 8, XYZ),
    LAPLACIAN("2_m16", "m = 16", tiled, 16, XYZ),
    LAPLACIAN("3_m1", "and loads in the order of addresses: m = 1", reordered, 1, XYZ),
    LAPLACIAN("3_m2", "m = 2", reordered, 2, XYZ),
    LAPLACIAN("3_m4", "m = 4", reordered, 4, XYZ),
    LAPLACIAN("3_m8", "m = 8", reordered, 8, XYZ),
    LAPLACIAN("3_m16", "m = 16", reordered, 16, XYZ),
    LAPLACIAN("4_m8", "and launch bounds of 256: m = 8", bounded, 8, XYZ),
    LAPLACIAN("4_m16", "m = 16", bounded, 16, XYZ),
    LAPLACIAN("5", "and nontemporal stores, m = 8", streaming, BEST_ROWS, XYZ),
    LAPLACIAN("5_128x1x8", "the same in blocks of 128 x 1 x 8", deep_blocks, BEST_ROWS, DEEP),
    LAPLACIAN("6", "5 with blocks in the order y, z, x", yzx, BEST_ROWS, YZX),
    LAPLACIAN("7", "5 in four launches, a quarter of y each", streaming, BEST_ROWS, XYZ, 4),
    {}};
