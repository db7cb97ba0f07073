/* The Laplacian kernels of every backend against a plain triple loop, bit for bit, and the traffic
 * model by hand-counted examples. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/laplacian_point.h"

/* Ends of rows, of tiles of rows and of blocks of planes, and a row of more than one block. */
static const int64_t sizes[][AXIS_COUNT] = {{3, 3, 3},    {5, 4, 3},    {16, 18, 10}, {65, 19, 12},
                                            {129, 34, 5}, {258, 35, 4}, {514, 7, 19}, {7, 70, 3}};

static size_t bytes_of(const struct laplacian *l)
{
    return (size_t)(l->points[0] * l->points[1] * l->points[2]) * precision_bytes(l->precision);
}

static double get(const struct laplacian *l, const void *values, int64_t at)
{
    return l->precision == PRECISION_FLOAT64 ? ((const double *)values)[at]
                                             : (double)((const float *)values)[at];
}

static void put(const struct laplacian *l, void *values, int64_t at, double value)
{
    if (l->precision == PRECISION_FLOAT64) {
        ((double *)values)[at] = value;
    } else {
        ((float *)values)[at] = (float)value;
    }
}

static double reference_point(const struct laplacian *l, const void *u, int64_t at)
{
    const int64_t y = l->points[AXIS_X];
    const int64_t z = y * l->points[AXIS_Y];
    const double *w = l->inverse_h2;
    const double wc = -2.0 * (w[0] + w[1] + w[2]);
    const double n[7] = {get(l, u, at),     get(l, u, at - 1), get(l, u, at + 1), get(l, u, at - y),
                         get(l, u, at + y), get(l, u, at - z), get(l, u, at + z)};
    if (l->precision == PRECISION_FLOAT64) {
        return laplacian_float64(n[0], n[1], n[2], n[3], n[4], n[5], n[6], w[0], w[1], w[2], wc);
    }
    return (double)laplacian_float32((float)n[0], (float)n[1], (float)n[2], (float)n[3],
                                     (float)n[4], (float)n[5], (float)n[6], (float)w[0],
                                     (float)w[1], (float)w[2], (float)wc);
}

static void reference(const struct laplacian *l, void *f, const void *u)
{
    for (int64_t k = 1; k < l->points[2] - 1; k++) {
        for (int64_t j = 1; j < l->points[1] - 1; j++) {
            for (int64_t i = 1; i < l->points[0] - 1; i++) {
                const int64_t at = i + l->points[0] * (j + l->points[1] * k);
                put(l, f, at, reference_point(l, u, at));
            }
        }
    }
}

static void check_variants(struct rig *rig, const struct laplacian *l, const void *u,
                           const void *before, const void *expected)
{
    const struct backend *backend = rig->backend;
    void *d_u = rig_upload(rig, u, bytes_of(l));
    for (int v = 0; v < backend->nlaplacians; v++) {
        void *d_f = rig_upload(rig, before, bytes_of(l));
        must(backend->laplacians[v].run(rig->queue, l, d_f, d_u));
        void *got = rig_download(rig, d_f, bytes_of(l));
        if (memcmp(got, expected, bytes_of(l)) != 0) {
            fail_msg("%s, %s, %s: %d x %d x %d differs", backend->name, backend->laplacians[v].name,
                     precision_name(l->precision), (int)l->points[0], (int)l->points[1],
                     (int)l->points[2]);
        }
        free(got);
        backend->runtime->memory_free(rig->device, d_f);
    }
    backend->runtime->memory_free(rig->device, d_u);
}

static void check_size(struct rig *rig, const int64_t size[AXIS_COUNT], enum precision precision)
{
    const struct laplacian l = {.precision = precision,
                                .points = {size[0], size[1], size[2]},
                                .inverse_h2 = {1.7, 20.3, 0.11}};
    uint64_t random = 11;
    void *u = malloc(bytes_of(&l));
    void *before = malloc(bytes_of(&l));
    void *expected = malloc(bytes_of(&l));
    for (int64_t at = 0; at < size[0] * size[1] * size[2]; at++) {
        const bool zero = random_below(&random, 9) == 0;
        put(&l, u, at, zero ? -0.0 : random_between(&random, -300.0, 1000.0));
        put(&l, before, at, random_between(&random, -1.0, 1.0));
    }
    memcpy(expected, before, bytes_of(&l));
    reference(&l, expected, u);
    check_variants(rig, &l, u, before, expected);
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
        assert_true(rig.backend->nlaplacians >= 1);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_size(&rig, sizes[s], PRECISION_FLOAT64);
            check_size(&rig, sizes[s], PRECISION_FLOAT32);
        }
        rig_close(&rig);
    }
}

/* A quadratic function has the same Laplacian everywhere, and small integers do not round. */
static void the_expression_is_the_laplacian(void **state)
{
    (void)state;
    struct laplacian l = {PRECISION_FLOAT64, {5, 6, 7}, {1.0, 4.0, 0.25}};
    double u[210];
    for (int at = 0; at < 210; at++) {
        const int i = at % 5;
        const int j = at / 5 % 6;
        const int k = at / 30;
        u[at] = (double)(3 * i * i + j * j - 8 * k * k + 2 * i - k + 9);
    }
    double f[210] = {0};
    reference(&l, f, u);
    assert_true(f[1 + 5 * (1 + 6 * 1)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    assert_true(f[3 + 5 * (4 + 6 * 5)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
}

static void the_traffic_is_that_of_the_study(void **state)
{
    (void)state;
    struct laplacian l = {PRECISION_FLOAT64, {3, 3, 3}, {1, 1, 1}};
    assert_int_equal(laplacian_fetch_bytes(&l), 7 * 8); /* a point and its neighbours */
    assert_int_equal(laplacian_write_bytes(&l), 8);
    l = (struct laplacian){PRECISION_FLOAT32, {4, 5, 6}, {1, 1, 1}};
    assert_int_equal(laplacian_fetch_bytes(&l), (120 - 8 - 4 * (2 + 3 + 4)) * 4);
    assert_int_equal(laplacian_write_bytes(&l), 2 * 3 * 4 * 4);
    /* the study's tables: 1.074 and 1.061 GB */
    l = (struct laplacian){PRECISION_FLOAT64, {512, 512, 512}, {1, 1, 1}};
    assert_int_equal(laplacian_fetch_bytes(&l) / 1000000, 1073);
    assert_int_equal(laplacian_write_bytes(&l), INT64_C(1061208000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_the_same_bits),
        cmocka_unit_test(the_expression_is_the_laplacian),
        cmocka_unit_test(the_traffic_is_that_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
