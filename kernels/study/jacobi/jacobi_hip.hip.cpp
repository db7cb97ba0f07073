/* The Jacobi iteration: a node per thread, the norm in strides, blocks of 256 threads. */
#include "kernels/hip/device/cells.h"

#include "kernels/study/jacobi/jacobi.h"
#include "kernels/study/study_hip.h"

enum { THREADS = 256, NORM_BLOCKS = 2048 };

static __device__ __forceinline__ int64_t thread_number()
{
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

static __global__ __launch_bounds__(THREADS) void jacobi_laplacian(const struct jacobi_grid grid,
                                                                   double *au, const double *u)
{
    const int64_t i = 1 + thread_number();
    const int64_t at = i + (int64_t)(1 + blockIdx.y) * grid.nx;
    if (i < grid.nx - 1) {
        au[at] = jacobi_minus_laplacian(u[at], u[at - 1], u[at + 1], u[at - grid.nx],
                                        u[at + grid.nx], grid.over_dx2, grid.over_dy2);
    }
}

static __global__ __launch_bounds__(THREADS) void jacobi_boundary(const struct jacobi_grid grid,
                                                                  double *au, const double *u)
{
    const int64_t n = thread_number();
    if (n < grid.edge_nodes) {
        int64_t i = 0;
        int64_t j = 0;
        jacobi_edge_node(&grid, n, &i, &j);
        au[i + j * grid.nx] = jacobi_at_edge(&grid, u, i, j);
    }
}

static __global__ __launch_bounds__(THREADS) void jacobi_update_all(int64_t nodes, double factor,
                                                                    double *u, double *res,
                                                                    const double *rhs,
                                                                    const double *au)
{
    const int64_t n = thread_number();
    if (n < nodes) {
        double residual;
        u[n] = jacobi_update(u[n], rhs[n], au[n], factor, &residual);
        res[n] = residual;
    }
}

/* Exact sums, so the result depends neither on the order nor on the number of blocks. */
static __global__ __launch_bounds__(THREADS) void jacobi_norm_of(int64_t nodes, double area,
                                                                 const double *res,
                                                                 struct exact_sum *sum,
                                                                 struct hip_scratch *scratch)
{
    tally mine = {};
    for (int64_t n = thread_number(); n < nodes; n += (int64_t)gridDim.x * THREADS) {
        mine.add(jacobi_term(res[n], area));
    }
    face_sum_add(sum, mine);
    if (is_last_block(scratch)) {
        face_sum_normalise(sum);
    }
}

static int launch(void *to, void *scratch, const study_call *call)
{
    hipStream_t stream = static_cast<hipStream_t>(to);
    const jacobi_grid grid = jacobi_grid_of(call->problem);
    const int64_t nodes = grid.nx * grid.ny;
    const unsigned blocks = parts(nodes, THREADS);
    const unsigned norm_blocks = blocks < NORM_BLOCKS ? blocks : (unsigned)NORM_BLOCKS;
    double *u = jacobi_field(call, JACOBI_U);
    double *au = jacobi_field(call, JACOBI_AU);
    double *res = jacobi_field(call, JACOBI_RES);
    const double *rhs = jacobi_field(call, JACOBI_RHS);
    switch (call->kernel->part) {
    case JACOBI_LAPLACIAN:
        jacobi_laplacian<<<dim3(parts(grid.nx - 2, THREADS), (unsigned)(grid.ny - 2)), THREADS, 0,
                           stream>>>(grid, au, u);
        break;
    case JACOBI_BOUNDARY:
        jacobi_boundary<<<parts(grid.edge_nodes, THREADS), THREADS, 0, stream>>>(grid, au, u);
        break;
    case JACOBI_UPDATE:
        jacobi_update_all<<<blocks, THREADS, 0, stream>>>(nodes, grid.factor, u, res, rhs, au);
        break;
    default:
        jacobi_norm_of<<<norm_blocks, THREADS, 0, stream>>>(
            nodes, grid.area, res, call->d_sum, static_cast<struct hip_scratch *>(scratch));
        return hipMemcpyAsync(call->h_sum, call->d_sum, sizeof *call->h_sum, hipMemcpyDeviceToHost,
                              stream);
    }
    return hipGetLastError();
}

static study_kernel part(const char *name, int number)
{
    study_kernel kernel =
        study_hip(name, "HIP kernels, blocks of 256 threads", launch, nullptr, nullptr);
    kernel.part = number;
    kernel.variant = "hip";
    kernel.follows = number == JACOBI_ITERATION ? JACOBI_ITERATION : 0;
    return kernel;
}

const struct study_kernel jacobi_hip[] = {
    part("laplacian", JACOBI_LAPLACIAN), part("boundary", JACOBI_BOUNDARY),
    part("update", JACOBI_UPDATE),       part("norm", JACOBI_NORM),
    part("iteration", JACOBI_ITERATION), {}};
