/* The Jacobi iteration of every backend and in every kind of mapping: the bits of the plain loop,
 * and convergence to the solution. */
#include "kernels/backends.h"
#include "kernels/cpu/schedule/tally.h"
#include "kernels/study/jacobi/jacobi.h"
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- the plain loop, and what is known of the solution ---- */

static void plain(const struct study_call *call, enum jacobi_part part)
{
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    double *u = jacobi_field(call, JACOBI_U);
    double *au = jacobi_field(call, JACOBI_AU);
    double *res = jacobi_field(call, JACOBI_RES);
    const double *rhs = jacobi_field(call, JACOBI_RHS);
    struct tally tally = {.target = NULL};
    for (int64_t j = 0; j < grid.ny; j++) {
        for (int64_t i = 0; i < grid.nx; i++) {
            const int64_t at = i + j * grid.nx;
            const bool inside = i > 0 && j > 0 && i < grid.nx - 1 && j < grid.ny - 1;
            if (part == JACOBI_UPDATE) {
                u[at] = jacobi_update(u[at], rhs[at], au[at], grid.factor, &res[at]);
            } else if (part == JACOBI_NORM) {
                tally_add_one(&tally, jacobi_term(res[at], grid.area));
            } else if (inside == (part == JACOBI_LAPLACIAN)) {
                au[at] = jacobi_at_edge(&grid, u, i, j);
            }
        }
    }
    tally_flush(&tally);
    if (part == JACOBI_NORM) {
        exact_sum_add(call->h_sum, &tally.sum);
    }
}

static double half_angle_square(int64_t n)
{
    const double s = sin(0.5 * pi / (double)(n + 1));
    return s * s;
}

/* An iteration from u = 0 leaves this much of the error of the solution below. */
static double rate_of(const struct jacobi_grid *grid)
{
    const double eigenvalue = 4.0 * (grid->over_dx2 * half_angle_square(grid->nx) +
                                     grid->over_dy2 * half_angle_square(grid->ny));
    return 1.0 - grid->factor * eigenvalue;
}

/* The right-hand side A v for the solution v = sin(pi x) sin(pi y), an eigenvector. */
static void make_problem(const struct jacobi_grid *grid, double *rhs, double *solution)
{
    const double eigenvalue = (1.0 - rate_of(grid)) / grid->factor;
    for (int64_t j = 0; j < grid->ny; j++) {
        const double y = sin(pi * (double)(j + 1) / (double)(grid->ny + 1));
        for (int64_t i = 0; i < grid->nx; i++) {
            const double v = y * sin(pi * (double)(i + 1) / (double)(grid->nx + 1));
            solution[i + j * grid->nx] = v;
            rhs[i + j * grid->nx] = eigenvalue * v;
        }
    }
}

/* The document's norm, sqrt(sum) / N, of what was added since `before`. */
static double norm_of(const struct jacobi_grid *grid, const struct exact_sum *before,
                      const struct exact_sum *after)
{
    struct exact_sum sum = *after;
    for (int d = 0; d < 4; d++) {
        sum.digit[d] -= before->digit[d];
    }
    exact_sum_normalise(&sum);
    return sqrt(exact_sum_value(&sum)) / (double)(grid->nx * grid->ny);
}

/* ---- the kernels ---- */

struct scene {
    struct rig *rig;
    const struct study_kernel *iteration; /* below its parts in the table */
    struct study_problem problem;
    struct jacobi_grid grid;
    double *h_fields;
    struct study_call call; /* of the kernels */
    int iterations;
    double tolerance; /* of the norm; ends the loop sooner */
    double norm;
    int done;
};

static enum status iterate(void *context)
{
    struct scene *s = context;
    s->norm = (double)INFINITY;
    for (s->done = 0; s->done < s->iterations && s->norm > s->tolerance; s->done++) {
        const struct exact_sum before = *s->call.h_sum;
        TRY(study_run(s->rig->backend, s->rig->queue, &s->call));
        s->norm = norm_of(&s->grid, &before, s->call.h_sum);
    }
    return STATUS_OK;
}

/* Iterate from and to h_fields. */
static void solve(struct scene *s)
{
    static const struct exact_sum zero;
    const struct runtime *runtime = s->rig->backend->runtime;
    const size_t bytes = study_bytes(&s->problem);
    void *h_sum = NULL;
    must(runtime->pinned_alloc(s->rig->device, sizeof zero, &h_sum));
    memcpy(h_sum, &zero, sizeof zero);
    s->call = (struct study_call){.kernel = s->iteration,
                                  .problem = &s->problem,
                                  .d_out = rig_upload(s->rig, s->h_fields, bytes),
                                  .h_sum = h_sum,
                                  .d_sum = rig_upload(s->rig, &zero, sizeof zero)};
    must(s->iteration->within != NULL ? s->iteration->within(&s->call, iterate, s) : iterate(s));
    void *found = rig_download(s->rig, s->call.d_out, bytes);
    memcpy(s->h_fields, found, bytes);
    free(found);
}

static void open_scene(struct scene *s, int64_t nx, int64_t ny)
{
    must(study_jacobi.setup(&(struct study_case){.size = {nx, ny, 1}}, &s->problem));
    s->grid = jacobi_grid_of(&s->problem);
    s->h_fields = calloc(1, study_bytes(&s->problem));
    assert_non_null(s->h_fields);
}

static void close_scene(struct scene *s)
{
    const struct runtime *runtime = s->rig->backend->runtime;
    runtime->pinned_free(s->rig->device, s->call.h_sum);
    runtime->memory_free(s->rig->device, s->call.d_sum);
    runtime->memory_free(s->rig->device, s->call.d_out);
    free(s->h_fields);
}

static void check_bits(struct rig *rig, const struct study_kernel *iteration, int64_t nx,
                       int64_t ny)
{
    enum { ITERATIONS = 3 };
    struct scene s = {.rig = rig, .iteration = iteration, .iterations = ITERATIONS};
    struct exact_sum sum = {{0}};
    uint64_t random = (uint64_t)(nx * ny);
    open_scene(&s, nx, ny);
    for (int64_t n = 0; n < s.problem.field_pitch * JACOBI_FIELDS; n++) {
        const bool is_rhs = n / s.problem.field_pitch == JACOBI_RHS;
        s.h_fields[n] = random_between(&random, -1.0, 1.0) * (is_rhs ? 1e4 : 1.0);
    }
    double *expected = malloc(study_bytes(&s.problem));
    assert_non_null(expected);
    memcpy(expected, s.h_fields, study_bytes(&s.problem));
    const struct study_call call = {.problem = &s.problem, .d_out = expected, .h_sum = &sum};
    for (int n = 0; n < ITERATIONS * JACOBI_ITERATION; n++) {
        plain(&call, (enum jacobi_part)(n % JACOBI_ITERATION));
    }
    solve(&s);
    if (memcmp(s.h_fields, expected, study_bytes(&s.problem)) != 0) {
        fail_msg("%s, %s, %d x %d differs", rig->backend->name, iteration->variant, (int)nx,
                 (int)ny);
    }
    assert_memory_equal(s.call.h_sum, &sum, sizeof sum);
    free(expected);
    close_scene(&s);
}

/* For the variants that run here; returns their number. */
static int each_variant(void (*check)(struct rig *rig, const struct study_kernel *iteration))
{
    int count = 0;
    for (int e = 0; study_entry(e) != NULL; e++) {
        const struct study_entry *entry = study_entry(e);
        for (int b = 0; b < rig_backend_count() && entry->study == &study_jacobi; b++) {
            if (rig_backend_at(b) != entry->backend) {
                continue;
            }
            struct rig rig;
            rig_open(&rig, entry->backend);
            for (const struct study_kernel *k = entry->kernels; k->name != NULL; k++) {
                if (k->follows > 0) {
                    check(&rig, k);
                    count++;
                }
            }
            rig_close(&rig);
        }
    }
    return count;
}

static void check_sizes(struct rig *rig, const struct study_kernel *iteration)
{
    static const int64_t sizes[][2] = {{3, 3}, {3, 11}, {17, 3}, {67, 35}, {258, 19}, {1031, 7}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        check_bits(rig, iteration, sizes[s][0], sizes[s][1]);
    }
}

TEST(every_kernel_gives_the_bits_of_the_plain_loop)
{
    assert_true(each_variant(check_sizes) >= 1);
}

/* The error is an eigenvector: after n iterations from zero it is rate_of^n of the solution. */
static void check_convergence(struct rig *rig, const struct study_kernel *iteration)
{
    struct scene s = {.rig = rig, .iteration = iteration, .iterations = 20000, .tolerance = 1e-8};
    open_scene(&s, 64, 64);
    double solution[64 * 64];
    make_problem(&s.grid, s.h_fields + JACOBI_RHS * s.problem.field_pitch, solution);
    solve(&s);
    const double left = pow(rate_of(&s.grid), s.done);
    assert_in_range(s.done, 1000, 19999);
    assert_true(s.norm <= s.tolerance);
    assert_true(left < 1e-4);
    for (int64_t n = 0; n < 64 * 64; n++) {
        const double error = solution[n] - s.h_fields[n];
        assert_true(fabs(error - left * solution[n]) < 1e-10);
    }
    close_scene(&s);
}

TEST(it_converges_to_the_solution)
{
    assert_true(each_variant(check_convergence) >= 1);
}

static enum status setup(int64_t nx, int64_t ny, struct study_problem *problem)
{
    return study_jacobi.setup(&(struct study_case){.size = {nx, ny, 1}}, problem);
}

/* Of a known eigenvector: the solution of the differential equation to second order. */
TEST(the_problem_is_poissons)
{
    struct study_problem problem;
    double rhs[40 * 30];
    double solution[40 * 30];
    must(setup(40, 30, &problem));
    const struct jacobi_grid grid = jacobi_grid_of(&problem);
    make_problem(&grid, rhs, solution);
    const int64_t at = 14 * 40 + 19;
    assert_true(fabs(rhs[at] / solution[at] / (2 * pi * pi) - 1) < 2e-3);
    assert_int_equal(setup(2, 30, &problem), STATUS_INPUT);
    assert_int_equal(setup(INT64_C(1) << 40, INT64_C(1) << 40, &problem), STATUS_INPUT);
    must(setup(4096, 4096, &problem));
    const struct study_traffic update = study_jacobi.traffic(&problem, JACOBI_UPDATE);
    assert_int_equal(update.fetch_bytes + update.write_bytes, INT64_C(40) * 4096 * 4096);
    const struct study_traffic norm = study_jacobi.traffic(&problem, JACOBI_NORM);
    assert_int_equal(norm.fetch_bytes + norm.write_bytes, 134217728);
    assert_int_equal(study_jacobi.traffic(&problem, JACOBI_ITERATION).operations,
                     (9 + 3 + 3) * 4096 * 4096);
}

TEST_MAIN(NULL, NULL)
