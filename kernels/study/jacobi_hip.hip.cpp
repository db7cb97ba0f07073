/* The Jacobi iteration: a node per thread, the norm in strides, blocks of 256 threads. */
#include "kernels/hip/cells.h"

#include "kernels/study/jacobi_hip.h"

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

static unsigned blocks_for(int64_t items)
{
    return (unsigned)((items + THREADS - 1) / THREADS);
}

hipError_t hip_launch_jacobi(hipStream_t stream, struct hip_scratch *d_scratch,
                             const struct jacobi_grid *grid, enum jacobi_part part,
                             const struct jacobi_work *work)
{
    const int64_t nodes = grid->nx * grid->ny;
    const unsigned blocks = blocks_for(nodes);
    const unsigned norm_blocks = blocks < NORM_BLOCKS ? blocks : (unsigned)NORM_BLOCKS;
    switch (part) {
    case JACOBI_LAPLACIAN:
        if (grid->ny - 2 > 65535) { /* of the second dimension of a launch */
            return hipErrorInvalidValue;
        }
        jacobi_laplacian<<<dim3(blocks_for(grid->nx - 2), (unsigned)(grid->ny - 2)), THREADS, 0,
                           stream>>>(*grid, work->au, work->u);
        break;
    case JACOBI_BOUNDARY:
        jacobi_boundary<<<blocks_for(grid->edge_nodes), THREADS, 0, stream>>>(*grid, work->au,
                                                                              work->u);
        break;
    case JACOBI_UPDATE:
        jacobi_update_all<<<blocks, THREADS, 0, stream>>>(nodes, grid->factor, work->u, work->res,
                                                          work->rhs, work->au);
        break;
    default:
        jacobi_norm_of<<<norm_blocks, THREADS, 0, stream>>>(nodes, grid->area, work->res,
                                                            work->d_sum, d_scratch);
        break;
    }
    return hipGetLastError();
}
