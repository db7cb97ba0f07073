#include "kernels/study/jacobi.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/cpu/tally.h"

static const double pi = 3.14159265358979323846;

const char *const jacobi_part_name[JACOBI_PARTS] = {
    [JACOBI_LAPLACIAN] = "laplacian",
    [JACOBI_BOUNDARY] = "boundary",
    [JACOBI_UPDATE] = "update",
    [JACOBI_NORM] = "norm",
};

enum status jacobi_create(int64_t nx, int64_t ny, struct jacobi_grid *grid)
{
    const int64_t most = INT32_MAX; /* so that the number of nodes is exact */
    if (nx < 3 || ny < 3 || nx > most / ny) {
        return fail(STATUS_INPUT,
                    "--size %" PRId64 " %" PRId64 ": bench jacobi takes 3 x 3 to 2^31 nodes", nx,
                    ny);
    }
    const double dx = 1.0 / (double)(nx + 1);
    const double dy = 1.0 / (double)(ny + 1);
    *grid = (struct jacobi_grid){.nx = nx,
                                 .ny = ny,
                                 .over_dx2 = 1.0 / (dx * dx),
                                 .over_dy2 = 1.0 / (dy * dy),
                                 .factor = 1.0 / (2.0 / (dx * dx) + 2.0 / (dy * dy)),
                                 .area = dx * dy,
                                 .edge_nodes = 2 * nx + 2 * (ny - 2)};
    return STATUS_OK;
}

static double half_angle_square(int64_t n)
{
    const double s = sin(0.5 * pi / (double)(n + 1));
    return s * s;
}

double jacobi_rate(const struct jacobi_grid *grid)
{
    const double eigenvalue = 4.0 * (grid->over_dx2 * half_angle_square(grid->nx) +
                                     grid->over_dy2 * half_angle_square(grid->ny));
    return 1.0 - grid->factor * eigenvalue;
}

void jacobi_make_problem(const struct jacobi_grid *grid, double *rhs, double *solution)
{
    const double eigenvalue = (1.0 - jacobi_rate(grid)) / grid->factor;
    for (int64_t j = 0; j < grid->ny; j++) {
        const double y = sin(pi * (double)(j + 1) / (double)(grid->ny + 1));
        for (int64_t i = 0; i < grid->nx; i++) {
            const double v = y * sin(pi * (double)(i + 1) / (double)(grid->nx + 1));
            solution[i + j * grid->nx] = v;
            rhs[i + j * grid->nx] = eigenvalue * v;
        }
    }
}

void jacobi_plain(const struct jacobi_grid *grid, enum jacobi_part part,
                  const struct jacobi_work *work)
{
    struct tally tally = {.target = NULL};
    for (int64_t j = 0; j < grid->ny; j++) {
        for (int64_t i = 0; i < grid->nx; i++) {
            const int64_t at = i + j * grid->nx;
            const bool inside = i > 0 && j > 0 && i < grid->nx - 1 && j < grid->ny - 1;
            if (part == JACOBI_UPDATE) {
                work->u[at] = jacobi_update(work->u[at], work->rhs[at], work->au[at], grid->factor,
                                            &work->res[at]);
            } else if (part == JACOBI_NORM) {
                tally_add_one(&tally, jacobi_term(work->res[at], grid->area));
            } else if (inside == (part == JACOBI_LAPLACIAN)) {
                work->au[at] = jacobi_at_edge(grid, work->u, i, j);
            }
        }
    }
    tally_flush(&tally);
    if (part == JACOBI_NORM) {
        exact_sum_add(work->h_sum, &tally.sum);
    }
}

double jacobi_norm(const struct jacobi_grid *grid, const struct exact_sum *before,
                   const struct exact_sum *after)
{
    struct exact_sum sum = *after;
    for (int d = 0; d < 4; d++) {
        sum.digit[d] -= before->digit[d];
    }
    exact_sum_normalise(&sum);
    return sqrt(exact_sum_value(&sum)) / (double)(grid->nx * grid->ny);
}

/* Values read and written, and operations, per node. */
static const struct {
    double values, operations;
} costs[JACOBI_PARTS] = {
    [JACOBI_LAPLACIAN] = {2, 9}, /* u; au */
    [JACOBI_BOUNDARY] = {3, 9},  /* u at the edge and one line further in; au */
    [JACOBI_UPDATE] = {5, 3},    /* rhs, au, u; res, u */
    [JACOBI_NORM] = {1, 3},      /* res */
};

static double nodes_of(const struct jacobi_grid *grid, enum jacobi_part part)
{
    const double inside = (double)((grid->nx - 2) * (grid->ny - 2));
    const double all = (double)(grid->nx * grid->ny);
    return part == JACOBI_LAPLACIAN ? inside : part == JACOBI_BOUNDARY ? all - inside : all;
}

double jacobi_bytes(const struct jacobi_grid *grid, enum jacobi_part part)
{
    return nodes_of(grid, part) * costs[part].values * (double)sizeof(double);
}

double jacobi_operations(const struct jacobi_grid *grid, enum jacobi_part part)
{
    return nodes_of(grid, part) * costs[part].operations;
}
