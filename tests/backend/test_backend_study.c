/* The kernels of every study on every backend against a plain triple loop, bit for bit; the
 * Laplacian's expression and its traffic model by hand-counted examples. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/study/laplacian.h"
#include "kernels/study/studies.h"

/* Ends of rows, of tiles of rows and of blocks of planes, and a row of more than one block. */
static const int64_t sizes[][AXIS_COUNT] = {{3, 3, 3},    {5, 4, 3},    {16, 18, 10}, {65, 19, 12},
                                            {129, 34, 5}, {258, 35, 4}, {514, 7, 19}, {7, 70, 3}};

static size_t bytes_of(const struct study_problem *p)
{
    return (size_t)(p->points[0] * p->points[1] * p->points[2]) * precision_bytes(p->precision);
}

/* A point of the input. */
struct view {
    const struct study_problem *problem;
    const void *values;
    int64_t at;
};

static double get(const void *context, int x, int y, int z)
{
    const struct view *view = context;
    const int64_t *n = view->problem->points;
    const int64_t at = view->at + x + n[AXIS_X] * (y + n[AXIS_Y] * z);
    return precision_get(view->problem->precision, view->values, at);
}

static void reference(const struct study *study, const struct study_problem *p, void *f,
                      const void *u)
{
    const int64_t *n = p->points;
    const int r = study->radius;
    struct view view = {.problem = p, .values = u};
    for (int64_t k = r; k < n[AXIS_Z] - r; k++) {
        for (int64_t j = r; j < n[AXIS_Y] - r; j++) {
            for (int64_t i = r; i < n[AXIS_X] - r; i++) {
                view.at = i + n[AXIS_X] * (j + n[AXIS_Y] * k);
                precision_set(p->precision, f, view.at, study->expected(p, get, &view));
            }
        }
    }
}

static void check_kernels(struct rig *rig, const struct study *study, const struct study_problem *p,
                          const void *u, const void *before, const void *expected)
{
    const struct runtime *runtime = rig->backend->runtime;
    const struct study_kernel *kernel = study_kernels(study, rig->backend);
    void *d_u = rig_upload(rig, u, bytes_of(p));
    for (; kernel->name != NULL; kernel++) {
        void *d_f = rig_upload(rig, before, bytes_of(p));
        must(kernel->run(rig->queue, p, d_f, d_u));
        void *got = rig_download(rig, d_f, bytes_of(p));
        if (memcmp(got, expected, bytes_of(p)) != 0) {
            fail_msg("%s, %s, %s: %d x %d x %d differs", rig->backend->name, kernel->name,
                     precision_name(p->precision), (int)p->points[0], (int)p->points[1],
                     (int)p->points[2]);
        }
        free(got);
        runtime->memory_free(rig->device, d_f);
    }
    runtime->memory_free(rig->device, d_u);
}

static void check_size(struct rig *rig, const struct study *study, const int64_t size[AXIS_COUNT],
                       enum precision precision)
{
    struct study_problem p = study->setup(size, precision);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double weights[AXIS_COUNT] = {1.7, 20.3, 0.11}; /* each axis is its own */
        p.weight[axis] = weights[axis];
    }
    uint64_t random = 11;
    void *u = malloc(bytes_of(&p));
    void *before = malloc(bytes_of(&p));
    void *expected = malloc(bytes_of(&p));
    for (int64_t at = 0; at < size[0] * size[1] * size[2]; at++) {
        const bool zero = random_below(&random, 9) == 0;
        precision_set(p.precision, u, at, zero ? -0.0 : random_between(&random, -300.0, 1000.0));
        precision_set(p.precision, before, at, random_between(&random, -1.0, 1.0));
    }
    memcpy(expected, before, bytes_of(&p));
    reference(study, &p, expected, u);
    check_kernels(rig, study, &p, u, before, expected);
    free(u);
    free(before);
    free(expected);
}

static void every_kernel_gives_the_same_bits(void **state)
{
    (void)state;
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        assert_non_null(study_kernels(&study_laplacian, rig.backend)->name);
        for (int s = 0; study_at(s) != NULL; s++) {
            for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
                check_size(&rig, study_at(s), sizes[size], PRECISION_FLOAT64);
                check_size(&rig, study_at(s), sizes[size], PRECISION_FLOAT32);
            }
        }
        rig_close(&rig);
    }
}

static void studies_are_listed_once(void **state)
{
    (void)state;
    assert_ptr_equal(study_at(0), &study_laplacian);
    for (int s = 1; study_at(s) != NULL; s++) {
        for (int t = 0; t < s; t++) {
            assert_string_not_equal(study_at(s)->name, study_at(t)->name);
        }
    }
    const struct backend unknown = {.name = "unknown"};
    assert_null(study_kernels(&study_laplacian, &unknown)->name);
}

/* A quadratic function has the same Laplacian everywhere, and small integers do not round. */
static void the_expression_is_the_laplacian(void **state)
{
    (void)state;
    const struct study_problem p = {PRECISION_FLOAT64, {5, 6, 7}, {1.0, 4.0, 0.25}};
    double u[210];
    for (int at = 0; at < 210; at++) {
        const int i = at % 5;
        const int j = at / 5 % 6;
        const int k = at / 30;
        u[at] = (double)(3 * i * i + j * j - 8 * k * k + 2 * i - k + 9);
    }
    double f[210] = {0};
    reference(&study_laplacian, &p, f, u);
    assert_true(f[1 + 5 * (1 + 6 * 1)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    assert_true(f[3 + 5 * (4 + 6 * 5)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    const struct study_problem cube =
        study_laplacian.setup((const int64_t[]){5, 3, 11}, PRECISION_FLOAT64);
    assert_true(cube.weight[AXIS_X] == 16.0 && cube.weight[AXIS_Y] == 4.0 &&
                cube.weight[AXIS_Z] == 100.0);
}

static struct study_traffic traffic_of(enum precision precision, int64_t nx, int64_t ny, int64_t nz)
{
    const struct study_problem p = {.precision = precision, .points = {nx, ny, nz}};
    return study_laplacian.traffic(&p);
}

static void the_traffic_is_that_of_the_study(void **state)
{
    (void)state;
    struct study_traffic traffic = traffic_of(PRECISION_FLOAT64, 3, 3, 3);
    assert_int_equal(traffic.fetch_bytes, 7 * 8); /* a point and its neighbours */
    assert_int_equal(traffic.write_bytes, 8);
    assert_int_equal(traffic.points, 1);
    traffic = traffic_of(PRECISION_FLOAT32, 4, 5, 6);
    assert_int_equal(traffic.fetch_bytes, (120 - 8 - 4 * (2 + 3 + 4)) * 4);
    assert_int_equal(traffic.write_bytes, 2 * 3 * 4 * 4);
    /* the study's tables: 1.074 and 1.061 GB */
    traffic = traffic_of(PRECISION_FLOAT64, 512, 512, 512);
    assert_int_equal(traffic.fetch_bytes / 1000000, 1073);
    assert_int_equal(traffic.write_bytes, INT64_C(1061208000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_the_same_bits),
        cmocka_unit_test(studies_are_listed_once),
        cmocka_unit_test(the_expression_is_the_laplacian),
        cmocka_unit_test(the_traffic_is_that_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
