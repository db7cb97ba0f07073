/* The Jacobi iteration of every backend and in every kind of mapping: the bits of the plain loop,
 * and convergence to the solution. */
#include "kernels/backends.h"
#include "kernels/study/studies.h"
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { U, AU, RES, RHS, ARRAYS };

struct scene {
    struct rig *rig;
    const struct jacobi_kernels *kernels;
    struct jacobi_grid grid;
    size_t bytes;
    double *h_array[ARRAYS];
    double *array[ARRAYS]; /* the kernels' */
    void *h_sum;
    void *d_sum;
    int iterations;
    double tolerance; /* of the norm; ends the loop sooner */
    double norm;
    int done;
};

static struct jacobi_work work_of(double *const array[ARRAYS], void *h_sum, void *d_sum)
{
    return (struct jacobi_work){.u = array[U],
                                .au = array[AU],
                                .res = array[RES],
                                .rhs = array[RHS],
                                .h_sum = h_sum,
                                .d_sum = d_sum};
}

static enum status iterate(void *context)
{
    struct scene *s = context;
    const struct jacobi_work work = work_of(s->array, s->h_sum, s->d_sum);
    s->norm = (double)INFINITY;
    for (s->done = 0; s->done < s->iterations && s->norm > s->tolerance; s->done++) {
        const struct exact_sum before = *work.h_sum;
        for (int part = 0; part < JACOBI_PARTS; part++) {
            TRY(s->kernels->run(s->rig->queue, &s->grid, (enum jacobi_part)part, &work));
        }
        TRY(s->rig->backend->runtime->queue_wait(s->rig->queue));
        s->norm = jacobi_norm(&s->grid, &before, work.h_sum);
    }
    return STATUS_OK;
}

/* Iterate from and to h_array. */
static void solve(struct scene *s)
{
    const struct runtime *runtime = s->rig->backend->runtime;
    const struct exact_sum zero = {{0}};
    must(runtime->pinned_alloc(s->rig->device, sizeof zero, &s->h_sum));
    memcpy(s->h_sum, &zero, sizeof zero);
    s->d_sum = rig_upload(s->rig, &zero, sizeof zero);
    for (int a = 0; a < ARRAYS; a++) {
        s->array[a] = rig_upload(s->rig, s->h_array[a], s->bytes);
    }
    const struct jacobi_work work = work_of(s->array, s->h_sum, s->d_sum);
    must(s->kernels->within != NULL ? s->kernels->within(s->rig->queue, &s->grid, &work, iterate, s)
                                    : iterate(s));
    for (int a = 0; a < ARRAYS; a++) {
        double *found = rig_download(s->rig, s->array[a], s->bytes);
        memcpy(s->h_array[a], found, s->bytes);
        free(found);
        runtime->memory_free(s->rig->device, s->array[a]);
    }
}

static void open_scene(struct scene *s, int64_t nx, int64_t ny)
{
    must(jacobi_create(nx, ny, &s->grid));
    s->bytes = (size_t)(nx * ny) * sizeof(double);
    for (int a = 0; a < ARRAYS; a++) {
        s->h_array[a] = calloc(1, s->bytes);
        assert_non_null(s->h_array[a]);
    }
}

static void close_scene(struct scene *s)
{
    s->rig->backend->runtime->pinned_free(s->rig->device, s->h_sum);
    s->rig->backend->runtime->memory_free(s->rig->device, s->d_sum);
    for (int a = 0; a < ARRAYS; a++) {
        free(s->h_array[a]);
    }
}

static void check_bits(struct rig *rig, const struct jacobi_kernels *kernels, int64_t nx,
                       int64_t ny)
{
    enum { ITERATIONS = 3 };
    struct scene s = {.rig = rig, .kernels = kernels, .iterations = ITERATIONS};
    double *expected[ARRAYS];
    struct exact_sum sum = {{0}};
    uint64_t random = (uint64_t)(nx * ny);
    open_scene(&s, nx, ny);
    for (int a = 0; a < ARRAYS; a++) {
        for (int64_t n = 0; n < nx * ny; n++) {
            s.h_array[a][n] = random_between(&random, -1.0, 1.0) * (a == RHS ? 1e4 : 1.0);
        }
        expected[a] = malloc(s.bytes);
        assert_non_null(expected[a]);
        memcpy(expected[a], s.h_array[a], s.bytes);
    }
    const struct jacobi_work work = work_of(expected, &sum, NULL);
    for (int n = 0; n < ITERATIONS * JACOBI_PARTS; n++) {
        jacobi_plain(&s.grid, (enum jacobi_part)(n % JACOBI_PARTS), &work);
    }
    solve(&s);
    for (int a = 0; a < ARRAYS; a++) {
        if (memcmp(s.h_array[a], expected[a], s.bytes) != 0) {
            fail_msg("%s, %s, %d x %d: array %d differs", rig->backend->name, kernels->name,
                     (int)nx, (int)ny, a);
        }
        free(expected[a]);
    }
    assert_memory_equal(s.h_sum, &sum, sizeof sum);
    close_scene(&s);
}

/* For the models that run here. */
static void each_model(void (*check)(struct rig *rig, const struct jacobi_kernels *kernels))
{
    int count = 0;
    for (int m = 0; study_jacobi(m) != NULL; m++) {
        const struct jacobi_model *model = study_jacobi(m);
        for (int b = 0; b < rig_backend_count(); b++) {
            if (rig_backend_at(b) == model->backend) {
                struct rig rig;
                rig_open(&rig, model->backend);
                check(&rig, model->kernels);
                rig_close(&rig);
                count++;
            }
        }
    }
    assert_true(count >= 2);
}

static void check_sizes(struct rig *rig, const struct jacobi_kernels *kernels)
{
    static const int64_t sizes[][2] = {{3, 3}, {3, 11}, {17, 3}, {67, 35}, {258, 19}, {1031, 7}};
    for (; kernels->name != NULL; kernels++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_bits(rig, kernels, sizes[s][0], sizes[s][1]);
        }
    }
}

static void every_kernel_gives_the_bits_of_the_plain_loop(void **state)
{
    (void)state;
    each_model(check_sizes);
}

/* The error is an eigenvector: after n iterations from zero it is jacobi_rate^n of the solution. */
static void check_convergence(struct rig *rig, const struct jacobi_kernels *kernels)
{
    struct scene s = {.rig = rig, .kernels = kernels, .iterations = 20000, .tolerance = 1e-8};
    open_scene(&s, 64, 64);
    double *solution = malloc(s.bytes);
    assert_non_null(solution);
    jacobi_make_problem(&s.grid, s.h_array[RHS], solution);
    solve(&s);
    const double left = pow(jacobi_rate(&s.grid), s.done);
    assert_in_range(s.done, 1000, 19999);
    assert_true(s.norm <= s.tolerance);
    assert_true(left < 1e-4);
    for (int64_t n = 0; n < 64 * 64; n++) {
        const double error = solution[n] - s.h_array[U][n];
        assert_true(fabs(error - left * solution[n]) < 1e-10);
    }
    free(solution);
    close_scene(&s);
}

static void it_converges_to_the_solution(void **state)
{
    (void)state;
    each_model(check_convergence);
}

/* Of a known eigenvector: the solution of the differential equation to second order. */
static void the_problem_is_poissons(void **state)
{
    (void)state;
    const double pi = acos(-1.0);
    struct jacobi_grid grid;
    double rhs[40 * 30];
    double solution[40 * 30];
    must(jacobi_create(40, 30, &grid));
    jacobi_make_problem(&grid, rhs, solution);
    const int64_t at = 14 * 40 + 19;
    assert_true(fabs(rhs[at] / solution[at] / (2 * pi * pi) - 1) < 2e-3);
    assert_int_equal(jacobi_create(2, 30, &grid), STATUS_INPUT);
    assert_int_equal(jacobi_create(INT64_C(1) << 40, INT64_C(1) << 40, &grid), STATUS_INPUT);
    must(jacobi_create(4096, 4096, &grid));
    assert_int_equal((int64_t)(jacobi_bytes(&grid, JACOBI_UPDATE) / (4096.0 * 4096.0)), 40);
    assert_int_equal((int64_t)jacobi_bytes(&grid, JACOBI_NORM), 134217728);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_the_bits_of_the_plain_loop),
        cmocka_unit_test(it_converges_to_the_solution),
        cmocka_unit_test(the_problem_is_poissons),
    };
    return cmocka_run_group_tests_name("backend: jacobi", tests, NULL, NULL);
}
