/* The Laplacian kernels of the study in docs/laplacian_study.md, for `bench kernels` only. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/study/study_hip.h"

/* All evaluate the expression of laplacian.c, in steps, since the rows of a thread share points. */

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

template <int M> static __device__ __forceinline__ spot spot_xyz(int j_begin)
{
    return {(int)(blockIdx.x * WIDE + threadIdx.x), j_begin + (int)blockIdx.y * M,
            1 + (int)blockIdx.z};
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
template <typename REAL, int M, bool ASCENDING, bool STREAM>
static __device__ __forceinline__ void compute(REAL *__restrict__ f, const REAL *__restrict__ u,
                                               const grid_points<REAL> &g, const spot &s)
{
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

/* 1: one point per thread. At least 8 waves a SIMD (gfx90a). */
template <typename REAL>
static __global__ void laplacian_baseline(REAL *__restrict__ f, const REAL *__restrict__ u,
                                          const grid_points<REAL> g)
{
    compute<REAL, 1, false, false>(f, u, g, spot_xyz<1>(g.j_begin));
}

/* 2: M rows per thread. At least 7 waves a SIMD. Without launch bounds the compiler leaves room for
 * blocks of 1024 threads. */
template <typename REAL, int M>
static __global__ void laplacian_tiled(REAL *__restrict__ f, const REAL *__restrict__ u,
                                       const grid_points<REAL> g)
{
    compute<REAL, M, false, false>(f, u, g, spot_xyz<M>(g.j_begin));
}

/* 3: and loads in ascending order. At least 6 waves a SIMD. */
template <typename REAL, int M>
static __global__ void laplacian_reordered(REAL *__restrict__ f, const REAL *__restrict__ u,
                                           const grid_points<REAL> g)
{
    compute<REAL, M, true, false>(f, u, g, spot_xyz<M>(g.j_begin));
}

/* 4: and the compiler is given the block size. At least 5 waves a SIMD. */
template <typename REAL, int M>
static __global__ __launch_bounds__(WIDE) void laplacian_bounded(REAL *__restrict__ f,
                                                                 const REAL *__restrict__ u,
                                                                 const grid_points<REAL> g)
{
    compute<REAL, M, true, false>(f, u, g, spot_xyz<M>(g.j_begin));
}

/* 5 and, by launches over subdomains, 7: and nontemporal stores. At least 8 waves a SIMD. */
template <typename REAL>
static __global__ __launch_bounds__(WIDE) void laplacian_streaming(REAL *__restrict__ f,
                                                                   const REAL *__restrict__ u,
                                                                   const grid_points<REAL> g)
{
    compute<REAL, BEST_ROWS, true, true>(f, u, g, spot_xyz<BEST_ROWS>(g.j_begin));
}

/* 5 in blocks of 128 x 1 x 8 threads, for planes larger than the cache. At least 8 waves a SIMD. */
template <typename REAL>
static __global__ __launch_bounds__(1024) void laplacian_deep_blocks(REAL *__restrict__ f,
                                                                     const REAL *__restrict__ u,
                                                                     const grid_points<REAL> g)
{
    const spot s = {(int)(blockIdx.x * 128 + threadIdx.x), g.j_begin + (int)blockIdx.y * BEST_ROWS,
                    1 + (int)(blockIdx.z * 8 + threadIdx.z)};
    compute<REAL, BEST_ROWS, true, true>(f, u, g, s);
}

/* 6: 5 with blocks in the order y, z, x. At least 8 waves a SIMD. */
template <typename REAL>
static __global__ __launch_bounds__(WIDE) void laplacian_yzx(REAL *__restrict__ f,
                                                             const REAL *__restrict__ u,
                                                             const grid_points<REAL> g)
{
    const spot s = {(int)(blockIdx.z * WIDE + threadIdx.x), g.j_begin + (int)blockIdx.x * BEST_ROWS,
                    1 + (int)blockIdx.y};
    compute<REAL, BEST_ROWS, true, true>(f, u, g, s);
}

/* --- launches -------------------------------------------------------------------------------- */

template <typename REAL> static grid_points<REAL> points_of(const struct study_problem *problem)
{
    const double *w = problem->parameter;
    const struct layout &layout = problem->layout;
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

/* Blocks in the order x, y, z over the rows of g. The first thread of a row is idle, which aligns
 * the others. */
template <typename REAL> static dim3 blocks_xyz(const grid_points<REAL> &g, int rows)
{
    return dim3(parts(g.nx - 1, WIDE), parts(g.j_end - g.j_begin, rows), (unsigned)(g.k_end - 1));
}

enum variant { BASELINE, TILED, REORDERED, BOUNDED, STREAMING, DEEP_BLOCKS, YZX };

/* M: rows per thread. SUBDOMAINS: launches over the rows, one after another. */
template <typename REAL, int VARIANT, int M, int SUBDOMAINS = 1>
static int launch(void *to, void *, const study_call *call)
{
    hipStream_t stream = static_cast<hipStream_t>(to);
    const grid_points<REAL> all = points_of<REAL>(call->problem);
    REAL *f = static_cast<REAL *>(call->d_out);
    const REAL *u = static_cast<const REAL *>(call->d_in);
    const unsigned planes = (unsigned)(all.k_end - 1);
    const unsigned tiles = parts(all.j_end - 1, M);
    const int rows = (int)parts(all.j_end - 1, SUBDOMAINS);
    grid_points<REAL> g = all;
    for (; g.j_begin < all.j_end; g.j_begin += rows) {
        g.j_end = g.j_begin + rows < all.j_end ? g.j_begin + rows : all.j_end;
        const dim3 blocks = blocks_xyz(g, M);
        if constexpr (VARIANT == BASELINE) {
            laplacian_baseline<REAL><<<blocks, WIDE, 0, stream>>>(f, u, g);
        } else if constexpr (VARIANT == TILED) {
            laplacian_tiled<REAL, M><<<blocks, WIDE, 0, stream>>>(f, u, g);
        } else if constexpr (VARIANT == REORDERED) {
            laplacian_reordered<REAL, M><<<blocks, WIDE, 0, stream>>>(f, u, g);
        } else if constexpr (VARIANT == BOUNDED) {
            laplacian_bounded<REAL, M><<<blocks, WIDE, 0, stream>>>(f, u, g);
        } else if constexpr (VARIANT == STREAMING) {
            laplacian_streaming<REAL><<<blocks, WIDE, 0, stream>>>(f, u, g);
        } else if constexpr (VARIANT == DEEP_BLOCKS) {
            const dim3 deep(parts(g.nx - 1, 128), tiles, parts(planes, 8));
            laplacian_deep_blocks<REAL><<<deep, dim3(128, 1, 8), 0, stream>>>(f, u, g);
        } else {
            const dim3 order(tiles, planes, parts(g.nx - 1, WIDE));
            laplacian_yzx<REAL><<<order, WIDE, 0, stream>>>(f, u, g);
        }
    }
    return hipGetLastError();
}

#define LAPLACIAN(number, about, ...)                                                              \
    study_hip("laplacian_" number, about, STUDY_BOTH(launch, __VA_ARGS__), nullptr)
const struct study_kernel laplacian_hip[] = {
    LAPLACIAN("1", "one point per thread, blocks of 256 x 1 x 1", BASELINE, 1),
    LAPLACIAN("2_m1", "loop tiling in y: m = 1 points per thread", TILED, 1),
    LAPLACIAN("2_m2", "m = 2", TILED, 2),
    LAPLACIAN("2_m4", "m = 4", TILED, 4),
    LAPLACIAN("2_m8", "m = 8", TILED, 8),
    LAPLACIAN("2_m16", "m = 16", TILED, 16),
    LAPLACIAN("3_m1", "and loads in the order of addresses: m = 1", REORDERED, 1),
    LAPLACIAN("3_m2", "m = 2", REORDERED, 2),
    LAPLACIAN("3_m4", "m = 4", REORDERED, 4),
    LAPLACIAN("3_m8", "m = 8", REORDERED, 8),
    LAPLACIAN("3_m16", "m = 16", REORDERED, 16),
    LAPLACIAN("4_m8", "and launch bounds of 256: m = 8", BOUNDED, 8),
    LAPLACIAN("4_m16", "m = 16", BOUNDED, 16),
    LAPLACIAN("5", "and nontemporal stores, m = 8", STREAMING, BEST_ROWS),
    LAPLACIAN("5_128x1x8", "the same in blocks of 128 x 1 x 8", DEEP_BLOCKS, BEST_ROWS),
    LAPLACIAN("6", "5 with blocks in the order y, z, x", YZX, BEST_ROWS),
    LAPLACIAN("7", "5 in four launches, a quarter of y each", STREAMING, BEST_ROWS, 4),
    {}};
