/* The study `jacobi`: Jacobi's iteration for -lap(u) = f in two dimensions with u = 0 outside of
 * the grid, as four kernels: A. Mishra, R. Arora, J. Chang, B. Cornille, M. Ghazimirsaeed, "Jacobi
 * Solver with HIP and OpenMP offloading", AMD lab notes. In float64. The fields change in place:
 * all are in the output. The expressions have explicit fma in a fixed order, as in heat_cell.h. */
#pragma once

#include "kernels/cell/heat_cell.h"
#include "kernels/study/study.h"

enum { JACOBI_U, JACOBI_AU, JACOBI_RES, JACOBI_RHS, JACOBI_FIELDS };

/* One iteration in this order: au = A u inside of the edge; the same at the edge; res = rhs - au
 * and u = u + factor res; and the sum of res^2 dx dy. */
enum jacobi_part {
    JACOBI_LAPLACIAN,
    JACOBI_BOUNDARY,
    JACOBI_UPDATE,
    JACOBI_NORM,
    JACOBI_ITERATION
};

/* Nodes, [ny][nx], all of them unknown. */
struct jacobi_grid {
    int64_t nx, ny; /* at least 3 */
    double over_dx2, over_dy2;
    double factor; /* 1 over the diagonal of A */
    double area;   /* dx dy */
    int64_t edge_nodes;
};

/* -lap(u) from the node c and its neighbours. */
KERNEL_INLINE double jacobi_minus_laplacian(double c, double left, double right, double down,
                                            double up, double over_dx2, double over_dy2)
{
    const double x = fma(2.0, c, -(left + right));
    const double y = fma(2.0, c, -(down + up));
    return fma(over_dx2, x, over_dy2 * y);
}

/* The same at any node; u is 0 outside of the grid. */
KERNEL_INLINE double jacobi_at_edge(const struct jacobi_grid *grid, const double *u, int64_t i,
                                    int64_t j)
{
    const double *c = u + i + j * grid->nx;
    return jacobi_minus_laplacian(*c, i > 0 ? c[-1] : 0.0, i < grid->nx - 1 ? c[1] : 0.0,
                                  j > 0 ? c[-grid->nx] : 0.0, j < grid->ny - 1 ? c[grid->nx] : 0.0,
                                  grid->over_dx2, grid->over_dy2);
}

/* The n-th node at the edge: the first row, the last, and both ends of the others. */
KERNEL_INLINE void jacobi_edge_node(const struct jacobi_grid *grid, int64_t n, int64_t *i,
                                    int64_t *j)
{
    const int64_t nx = grid->nx;
    const int64_t side = n - 2 * nx;
    *i = n < nx ? n : n < 2 * nx ? n - nx : side % 2 * (nx - 1);
    *j = n < nx ? 0 : n < 2 * nx ? grid->ny - 1 : 1 + side / 2;
}

/* The new u; *res: the residual. */
KERNEL_INLINE double jacobi_update(double u, double rhs, double au, double factor, double *res)
{
    *res = rhs - au;
    return fma(*res, factor, u);
}

/* What a node adds to the square of the norm. */
KERNEL_INLINE double jacobi_term(double res, double area)
{
    return res * res * area;
}

/* Spacing 1 / (n + 1): the unit square. */
static inline struct jacobi_grid jacobi_grid_of(const struct study_problem *problem)
{
    struct jacobi_grid grid;
    grid.nx = problem->layout.cells[AXIS_X];
    grid.ny = problem->layout.cells[AXIS_Y];
    const double dx = 1.0 / (double)(grid.nx + 1);
    const double dy = 1.0 / (double)(grid.ny + 1);
    grid.over_dx2 = 1.0 / (dx * dx);
    grid.over_dy2 = 1.0 / (dy * dy);
    grid.factor = 1.0 / (2.0 / (dx * dx) + 2.0 / (dy * dy));
    grid.area = dx * dy;
    grid.edge_nodes = 2 * grid.nx + 2 * (grid.ny - 2);
    return grid;
}

static inline double *jacobi_field(const struct study_call *call, int field)
{
    return (double *)call->d_out + call->problem->field_pitch * field;
}
