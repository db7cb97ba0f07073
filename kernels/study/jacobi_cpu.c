/* The Jacobi iteration on host threads. */
#include <omp.h>

#include "kernels/cpu/tally.h"
#include "kernels/study/jacobi.h"

static void laplacian(const struct jacobi_grid *grid, double *restrict au, const double *restrict u)
{
    const int64_t nx = grid->nx;
#pragma omp parallel for schedule(static)
    for (int64_t j = 1; j < grid->ny - 1; j++) {
        const double *c = u + j * nx;
        double *out = au + j * nx;
        const double over_dx2 = grid->over_dx2;
        const double over_dy2 = grid->over_dy2;
#pragma omp simd
        for (int64_t i = 1; i < nx - 1; i++) {
            out[i] = jacobi_minus_laplacian(c[i], c[i - 1], c[i + 1], c[i - nx], c[i + nx],
                                            over_dx2, over_dy2);
        }
    }
}

static void boundary(const struct jacobi_grid *grid, double *au, const double *u)
{
    const int64_t nodes = grid->edge_nodes;
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++) {
        int64_t i = 0;
        int64_t j = 0;
        jacobi_edge_node(grid, n, &i, &j);
        au[i + j * grid->nx] = jacobi_at_edge(grid, u, i, j);
    }
}

static void update(const struct jacobi_grid *grid, double *restrict u, double *restrict res,
                   const double *restrict rhs, const double *restrict au)
{
    const int64_t nodes = grid->nx * grid->ny;
    const double factor = grid->factor;
#pragma omp parallel for simd schedule(static)
    for (int64_t n = 0; n < nodes; n++) {
        double residual = 0;
        u[n] = jacobi_update(u[n], rhs[n], au[n], factor, &residual);
        res[n] = residual;
    }
}

static void norm(const struct jacobi_grid *grid, const double *res, struct exact_sum *sum)
{
    enum { CHUNK = 512 };
    const int64_t nodes = grid->nx * grid->ny;
    const double area = grid->area;
#pragma omp parallel
    {
        struct tally tally = {.target = NULL};
        double terms[CHUNK];
#pragma omp for schedule(static)
        for (int64_t begin = 0; begin < nodes; begin += CHUNK) {
            const int64_t count = nodes - begin < CHUNK ? nodes - begin : CHUNK;
            for (int64_t n = 0; n < count; n++) {
                terms[n] = jacobi_term(res[begin + n], area);
            }
            tally_add_float64(&tally, terms, count);
        }
        tally_flush(&tally);
#pragma omp critical(jacobi_norm)
        exact_sum_add(sum, &tally.sum);
    }
}

static enum status run(struct queue *queue, const struct jacobi_grid *grid, enum jacobi_part part,
                       const struct jacobi_work *work)
{
    (void)queue;
    switch (part) {
    case JACOBI_LAPLACIAN:
        laplacian(grid, work->au, work->u);
        break;
    case JACOBI_BOUNDARY:
        boundary(grid, work->au, work->u);
        break;
    case JACOBI_UPDATE:
        update(grid, work->u, work->res, work->rhs, work->au);
        break;
    default:
        norm(grid, work->res, work->h_sum);
        break;
    }
    return STATUS_OK;
}

const struct jacobi_kernels jacobi_cpu[] = {
    {.name = "threads", .about = "OpenMP threads and SIMD", .run = run}, {.name = NULL}};
