/* The Jacobi iteration at one node: the expressions that every kernel evaluates. Explicit fma in a
 * fixed order, as in heat_cell.h. Included by C and by HIP sources. */
#ifndef ISOTHERM_KERNELS_STUDY_JACOBI_POINT_H
#define ISOTHERM_KERNELS_STUDY_JACOBI_POINT_H

#include "kernels/heat_cell.h"

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

#endif
