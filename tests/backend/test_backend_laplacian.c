/* The Laplacian kernels of every backend against a plain loop, bit for bit, and their expression by
 * hand. */
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points with the faces. Ends of rows, of tiles of rows and of blocks of planes, and a row of more
 * than one block. */
static const int64_t sizes[][AXIS_COUNT] = {{3, 3, 3},    {5, 4, 3},    {16, 18, 10}, {65, 19, 12},
                                            {129, 34, 5}, {258, 35, 4}, {514, 7, 19}, {7, 70, 3}};

static struct layout plain_layout(const int64_t n[AXIS_COUNT], enum precision precision)
{
    return (struct layout){.precision = precision,
                           .cells = {n[0] - 2, n[1] - 2, n[2] - 2},
                           .halo = {1, 1, 1},
                           .origin = 1 + n[0] + n[0] * n[1],
                           .pitch_y = n[0],
                           .pitch_z = n[0] * n[1],
                           .elements = n[0] * n[1] * n[2]};
}

/* The points of a cell in the order of their addresses. */
static double sum_of(const struct layout *layout, const double w[AXIS_COUNT], const void *u,
                     int64_t at)
{
    const int64_t y = layout->pitch_y;
    const int64_t z = layout->pitch_z;
    const int64_t offset[] = {-z, -y, -1, 0, 1, y, z};
    const double weight[] = {w[2], w[1], w[0], -2 * (w[0] + w[1] + w[2]), w[0], w[1], w[2]};
    double sum = -0.0;
    for (int p = 0; p < 7; p++) {
        const double point = host_get(layout, u, at + offset[p]);
        sum = layout->precision == PRECISION_FLOAT64
                  ? fma(weight[p], point, sum)
                  : (double)fmaf((float)weight[p], (float)point, (float)sum);
    }
    return sum;
}

static void apply(const struct layout *layout, const double w[AXIS_COUNT], void *f, const void *u)
{
    const struct box owned = layout_owned(layout);
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        const int64_t at = layout_index(layout, cell[0], cell[1], cell[2]);
        host_set(layout, f, at, sum_of(layout, w, u, at));
    }
}

static void check_size(struct rig *rig, const int64_t size[AXIS_COUNT], enum precision precision)
{
    const struct layout layout = plain_layout(size, precision);
    const struct box owned = layout_owned(&layout);
    const struct coefficients level = {.r = {1.7, 20.3, 0.11}}; /* each axis is its own */
    char *u = host_field(&layout);
    char *before = host_field(&layout);
    char *expected = host_field(&layout);
    uint64_t random = 11;
    for (int64_t at = 0; at < layout.elements; at++) {
        const double value = random_between(&random, -300, 1000);
        host_set(&layout, u, at, random_below(&random, 9) == 0 ? -0.0 : value);
        host_set(&layout, before, at, random_between(&random, -1, 1));
    }
    memcpy(expected, before, layout_bytes(&layout));
    apply(&layout, level.r, expected, u);
    void *d_u = rig_upload(rig, u, layout_bytes(&layout));
    for (const struct kernel_variant *v = rig->backend->operations->laplacians; v->name; v++) {
        void *d_f = rig_upload(rig, before, layout_bytes(&layout));
        must(v->step(rig->queue, &(struct step_args){.layout = layout,
                                                     .levels = &level,
                                                     .nsteps = 1,
                                                     .d_out = d_f,
                                                     .d_in = d_u,
                                                     .boxes = &owned,
                                                     .nboxes = 1}));
        char *got = rig_download(rig, d_f, layout_bytes(&layout));
        assert_same_field(&layout, got, expected, v->name);
        free(got);
        rig->backend->runtime->memory_free(rig->device, d_f);
    }
    rig->backend->runtime->memory_free(rig->device, d_u);
    free(u);
    free(before);
    free(expected);
}

TEST(every_kernel_gives_the_same_bits)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        assert_non_null(rig.backend->operations->laplacians->name);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_size(&rig, sizes[s], PRECISION_FLOAT64);
            check_size(&rig, sizes[s], PRECISION_FLOAT32);
        }
        rig_close(&rig);
    }
}

/* A quadratic function has the same Laplacian everywhere, and small integers do not round. */
TEST(the_expression_is_the_laplacian)
{
    const double w[AXIS_COUNT] = {1, 4, 0.25};
    const struct layout layout = plain_layout((const int64_t[]){5, 6, 7}, PRECISION_FLOAT64);
    double u[210];
    double f[210] = {0};
    for (int at = 0; at < 210; at++) {
        const int i = at % 5;
        const int j = at / 5 % 6;
        const int k = at / 30;
        u[at] = (double)(3 * i * i + j * j - 8 * k * k + 2 * i - k + 9);
    }
    apply(&layout, w, f, u);
    assert_true(f[1 + 5 * (1 + 6 * 1)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    assert_true(f[3 + 5 * (4 + 6 * 5)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
}

TEST_MAIN(NULL, NULL)
