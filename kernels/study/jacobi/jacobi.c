#include "kernels/study/jacobi/jacobi.h"

#include <inttypes.h>

#include "kernels/cpu/schedule/tally.h"

/* Plain arrays without padding, as in the document. */
static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    enum { ALIGNED = LAYOUT_ALIGN_BYTES / sizeof(double) };
    const int64_t most = INT32_MAX; /* so that the number of nodes is exact */
    const int64_t nx = wanted->size[AXIS_X];
    const int64_t ny = wanted->size[AXIS_Y];
    if (nx < 3 || ny < 3 || nx > most / ny) {
        return fail(STATUS_INPUT,
                    "--size %" PRId64 " %" PRId64 ": bench jacobi takes 3 x 3 to 2^31 nodes", nx,
                    ny);
    }
    *problem = (struct study_problem){.nfields = JACOBI_FIELDS, .radius = 1};
    problem->layout = (struct layout){.precision = PRECISION_FLOAT64,
                                      .cells = {nx, ny, 1},
                                      .pitch_y = nx,
                                      .pitch_z = nx * ny,
                                      .elements = nx * ny};
    problem->field_pitch = (nx * ny + ALIGNED - 1) / ALIGNED * ALIGNED;
    return STATUS_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void laplacian(const struct study_call *call, int64_t begin, int64_t end)
{
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    const int64_t nx = grid.nx;
    for (int64_t n = begin; n < end; n++) {
        const struct study_piece piece = study_piece(call->problem, n);
        const double *restrict c = jacobi_field(call, JACOBI_U) + piece.at;
        double *restrict au = jacobi_field(call, JACOBI_AU) + piece.at;
        const int64_t last = piece.i + piece.cells == nx ? piece.cells - 1 : piece.cells;
        if (piece.j == 0 || piece.j == grid.ny - 1) {
            continue;
        }
#pragma omp simd
        for (int64_t i = larger(1 - piece.i, 0); i < last; i++) {
            au[i] = jacobi_minus_laplacian(c[i], c[i - 1], c[i + 1], c[i - nx], c[i + nx],
                                           grid.over_dx2, grid.over_dy2);
        }
    }
}

/* Whole rows at the first and the last, both ends of the others. */
static void boundary(const struct study_call *call, int64_t begin, int64_t end)
{
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    const double *u = jacobi_field(call, JACOBI_U);
    double *au = jacobi_field(call, JACOBI_AU);
    for (int64_t n = begin; n < end; n++) {
        const struct study_piece piece = study_piece(call->problem, n);
        const bool whole = piece.j == 0 || piece.j == grid.ny - 1;
        const int64_t last = piece.i + piece.cells;
        for (int64_t i = piece.i; i < last; i = whole ? i + 1 : larger(i + 1, grid.nx - 1)) {
            if (whole || i == 0 || i == grid.nx - 1) {
                au[i + piece.j * grid.nx] = jacobi_at_edge(&grid, u, i, piece.j);
            }
        }
    }
}

static void update(const struct study_call *call, int64_t begin, int64_t end)
{
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    for (int64_t n = begin; n < end; n++) {
        const struct study_piece piece = study_piece(call->problem, n);
        double *restrict u = jacobi_field(call, JACOBI_U) + piece.at;
        double *restrict res = jacobi_field(call, JACOBI_RES) + piece.at;
        const double *restrict au = jacobi_field(call, JACOBI_AU) + piece.at;
        const double *restrict rhs = jacobi_field(call, JACOBI_RHS) + piece.at;
#pragma omp simd
        for (int64_t i = 0; i < piece.cells; i++) {
            double residual = 0;
            u[i] = jacobi_update(u[i], rhs[i], au[i], grid.factor, &residual);
            res[i] = residual;
        }
    }
}

static void norm(const struct study_call *call, int64_t begin, int64_t end)
{
    enum { CHUNK = 512 };
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    struct tally tally = {.target = NULL};
    double terms[CHUNK];
    for (int64_t n = begin; n < end; n++) {
        const struct study_piece piece = study_piece(call->problem, n);
        const double *res = jacobi_field(call, JACOBI_RES) + piece.at;
        for (int64_t first = 0; first < piece.cells; first += CHUNK) {
            const int64_t left = piece.cells - first;
            const int64_t count = left < CHUNK ? left : CHUNK;
            for (int64_t i = 0; i < count; i++) {
                terms[i] = jacobi_term(res[first + i], grid.area);
            }
            tally_add_float64(&tally, terms, count);
        }
    }
    tally_flush(&tally);
#pragma omp critical(jacobi_norm)
    exact_sum_add(call->h_sum, &tally.sum);
}

/* Values read and written, and operations, per node. */
static struct study_traffic traffic(const struct study_problem *problem, int part)
{
    static const struct {
        uint64_t read, written, operations;
    } costs[JACOBI_ITERATION] = {
        [JACOBI_LAPLACIAN] = {1, 1, 9},
        [JACOBI_BOUNDARY] = {2, 1, 9}, /* u at the edge and one line further in */
        [JACOBI_UPDATE] = {3, 2, 3},
        [JACOBI_NORM] = {1, 0, 3},
    };
    const struct jacobi_grid grid = jacobi_grid_of(problem);
    struct study_traffic traffic = {.points = study_cells(problem)};
    for (int p = 0; p < JACOBI_ITERATION; p++) {
        const uint64_t edge = (uint64_t)grid.edge_nodes;
        const uint64_t nodes = p == JACOBI_BOUNDARY    ? edge
                               : p == JACOBI_LAPLACIAN ? traffic.points - edge
                                                       : traffic.points;
        if (part == p || part == JACOBI_ITERATION) {
            traffic.fetch_bytes += nodes * costs[p].read * sizeof(double);
            traffic.write_bytes += nodes * costs[p].written * sizeof(double);
            traffic.operations += nodes * costs[p].operations;
        }
    }
    return traffic;
}

static bool published(int index, enum precision precision, struct study_case *found)
{
    *found = (struct study_case){{4096, 4096, 1}, precision, 1};
    return index == 0 && precision == PRECISION_FLOAT64;
}

/* In [0, 1]: with the jump to 0 at the edge, squares of residuals can be summed exactly. */
static double value(int field, int phase)
{
    return (double)phase / 100.0;
}

#define PART(title, function, number)                                                              \
    {                                                                                              \
        .name = title, .about = "OpenMP threads and SIMD", .rows = {function}, .part = number,     \
        .variant = "threads"                                                                       \
    }
const struct study study_jacobi = {.name = "jacobi",
                                   .reads_output = true,
                                   .compares = true,
                                   .setup = setup,
                                   .traffic = traffic,
                                   .published = published,
                                   .value = value,
                                   .host = {PART("laplacian", laplacian, JACOBI_LAPLACIAN),
                                            PART("boundary", boundary, JACOBI_BOUNDARY),
                                            PART("update", update, JACOBI_UPDATE),
                                            PART("norm", norm, JACOBI_NORM),
                                            {.name = "iteration",
                                             .about = "all four, with the norm on the host",
                                             .follows = 4,
                                             .part = JACOBI_ITERATION,
                                             .variant = "threads"}}};
