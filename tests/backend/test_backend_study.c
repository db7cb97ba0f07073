/* The kernels of every study on every backend against a plain triple loop, bit for bit; the
 * Laplacian's expression and its traffic model by hand-counted examples. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/study/study.h"

/* Ends of rows, of tiles of rows and of blocks of planes, and a row of more than one block. */
static const struct study_case laplacian_cases[] = {
    {.size = {3, 3, 3}},    {.size = {5, 4, 3}},    {.size = {16, 18, 10}}, {.size = {65, 19, 12}},
    {.size = {129, 34, 5}}, {.size = {258, 35, 4}}, {.size = {514, 7, 19}}, {.size = {7, 70, 3}}};

static const struct study_case xcorr_cases[] = {
    {.size = {1, 1, 1}, .radius = 1},      {.size = {255, 1, 1}, .radius = 1},
    {.size = {1000, 1, 1}, .radius = 2},   {.size = {67, 1, 1}, .radius = 4},
    {.size = {513, 1, 1}, .radius = 8},    {.size = {300, 1, 1}, .radius = 16},
    {.size = {5000, 1, 1}, .radius = 32},  {.size = {1025, 1, 1}, .radius = 64},
    {.size = {777, 1, 1}, .radius = 128},  {.size = {4100, 1, 1}, .radius = 256},
    {.size = {2049, 1, 1}, .radius = 512}, {.size = {3001, 1, 1}, .radius = 1024}};

static const struct study_case diffusion_cases[] = {
    {.size = {1, 1, 1}, .radius = 0},    {.size = {777, 1, 1}, .radius = 0},
    {.size = {3001, 1, 1}, .radius = 1}, {.size = {129, 1, 1}, .radius = 2},
    {.size = {67, 1, 1}, .radius = 3},   {.size = {515, 1, 1}, .radius = 4},
    {.size = {33, 5, 1}, .radius = 0},   {.size = {65, 34, 1}, .radius = 1},
    {.size = {258, 9, 1}, .radius = 2},  {.size = {31, 70, 1}, .radius = 3},
    {.size = {130, 19, 1}, .radius = 4}, {.size = {17, 6, 5}, .radius = 0},
    {.size = {66, 9, 7}, .radius = 1},   {.size = {35, 18, 6}, .radius = 2},
    {.size = {15, 7, 70}, .radius = 3},  {.size = {67, 10, 9}, .radius = 4}};

/* Tiles of 32 x 16 and their ends, and columns of several depths. */
static const struct study_case mhd_cases[] = {
    {.size = {32, 32, 32}}, {.size = {7, 5, 4}}, {.size = {35, 9, 6}}, {.size = {70, 19, 33}}};

static const struct study_sizes {
    const struct study *study;
    const struct study_case *cases;
    int count;
} all_sizes[] = {
    {&study_laplacian, laplacian_cases, sizeof laplacian_cases / sizeof laplacian_cases[0]},
    {&study_xcorr, xcorr_cases, sizeof xcorr_cases / sizeof xcorr_cases[0]},
    {&study_diffusion, diffusion_cases, sizeof diffusion_cases / sizeof diffusion_cases[0]},
    {&study_mhd, mhd_cases, sizeof mhd_cases / sizeof mhd_cases[0]},
};

/* The plain loop: cell by cell, each from a copy of its neighbourhood alone. */
static void reference(const struct study *study, const struct study_problem *p, void *f,
                      const void *before, const void *u)
{
    const enum precision precision = p->layout.precision;
    const size_t width = precision_bytes(precision);
    const int *halo = p->layout.halo;
    const int64_t nx = 2 * halo[AXIS_X] + 1;
    const int64_t ny = 2 * halo[AXIS_Y] + 1;
    const int64_t nz = 2 * halo[AXIS_Z] + 1;
    struct study_problem cell = *p;
    cell.layout = (struct layout){.precision = precision,
                                  .cells = {1, 1, 1},
                                  .halo = {halo[0], halo[1], halo[2]},
                                  .origin = (nx * ny * nz) / 2,
                                  .pitch_y = nx,
                                  .pitch_z = nx * ny};
    cell.field_pitch = nx * ny * nz;
    char *in = malloc(study_bytes(&cell));
    char *out = malloc(study_bytes(&cell));
    const struct study_call call = {
        .kernel = study->host, .problem = &cell, .d_out = out, .d_in = in};
    const int64_t *n = p->layout.cells;
    for (int64_t c = 0; c < n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z]; c++) {
        const int64_t k = c / n[AXIS_X] / n[AXIS_Y];
        const int64_t at = layout_index(&p->layout, c % n[AXIS_X], c / n[AXIS_X] % n[AXIS_Y], k);
        for (int64_t row = 0; row < ny * nz * p->nfields; row++) {
            const int64_t from = at - halo[AXIS_X] + row / ny / nz * p->field_pitch +
                                 (row % ny - halo[AXIS_Y]) * p->layout.pitch_y +
                                 (row / ny % nz - halo[AXIS_Z]) * p->layout.pitch_z;
            memcpy(in + (size_t)(row * nx) * width, (const char *)u + (size_t)from * width,
                   (size_t)nx * width);
        }
        for (int64_t field = 0; field < p->nfields; field++) {
            precision_set(precision, out, field * cell.field_pitch + cell.layout.origin,
                          precision_get(precision, before, field * p->field_pitch + at));
        }
        study->host->rows[precision](&call, 0, 1);
        for (int64_t field = 0; field < p->nfields; field++) {
            precision_set(
                precision, f, field * p->field_pitch + at,
                precision_get(precision, out, field * cell.field_pitch + cell.layout.origin));
        }
    }
    free(in);
    free(out);
}

struct arrays {
    char *u, *before, *expected;
};

/* Every shape that may be searched. */
static void check_kernel(struct rig *rig, const struct study_kernel *kernel,
                         const struct study_problem *p, const struct arrays *arrays, void *d_u)
{
    struct study_shape shapes[STUDY_MOST_SHAPES];
    const int nshapes = study_shapes(kernel, p, shapes);
    assert_in_range(nshapes, 0, STUDY_MOST_SHAPES);
    for (int s = 0; s < nshapes; s++) {
        void *d_f = rig_upload(rig, arrays->before, study_bytes(p));
        const struct study_call call = {
            .kernel = kernel, .problem = p, .shape = shapes[s], .d_out = d_f, .d_in = d_u};
        must(study_run(rig->backend, rig->queue, &call));
        char *got = rig_download(rig, d_f, study_bytes(p));
        if (memcmp(got, arrays->expected, study_bytes(p)) != 0) {
            fail_msg("%s, %s, %s: %d x %d x %d, radius %d, shape %d x %d x %d (%d, %d) differs",
                     rig->backend->name, kernel->name, precision_name(p->layout.precision),
                     (int)p->layout.cells[0], (int)p->layout.cells[1], (int)p->layout.cells[2],
                     p->radius, shapes[s].block[0], shapes[s].block[1], shapes[s].block[2],
                     shapes[s].bounds, shapes[s].items);
        }
        free(got);
        rig->backend->runtime->memory_free(rig->device, d_f);
    }
}

static double between(uint64_t *random, const struct study *study, int field)
{
    const double lo = study->value != NULL ? study->value(field, 0) : -300.0;
    const double hi = study->value != NULL ? study->value(field, 100) : 1000.0;
    return random_between(random, lo, hi);
}

static void check_case(struct rig *rig, const struct study *study, const struct study_case *wanted)
{
    struct study_problem p;
    must(study->setup(wanted, &p));
    for (int axis = 0; study == &study_laplacian && axis < AXIS_COUNT; axis++) {
        const double weights[AXIS_COUNT] = {1.7, 20.3, 0.11}; /* each axis is its own */
        p.parameter[axis] = weights[axis];
    }
    uint64_t random = 11;
    const size_t bytes = study_bytes(&p);
    struct arrays arrays = {malloc(bytes), malloc(bytes), malloc(bytes)};
    for (int64_t at = 0; at < p.field_pitch * p.nfields; at++) {
        const int field = (int)(at / p.field_pitch);
        const bool zero = random_below(&random, 9) == 0;
        const double value = between(&random, study, field);
        precision_set(p.layout.precision, arrays.u, at,
                      zero && study->value == NULL ? -0.0 : value);
        precision_set(p.layout.precision, arrays.before, at,
                      study->reads_output ? between(&random, study, p.nfields + field)
                                          : random_between(&random, -1.0, 1.0));
    }
    memcpy(arrays.expected, arrays.before, bytes);
    reference(study, &p, arrays.expected, arrays.before, arrays.u);
    void *d_u = rig_upload(rig, arrays.u, bytes);
    const struct study_kernel *kernel = study_kernels(study, rig->backend);
    for (; kernel->name != NULL; kernel++) {
        check_kernel(rig, kernel, &p, &arrays, d_u);
    }
    rig->backend->runtime->memory_free(rig->device, d_u);
    free(arrays.u);
    free(arrays.before);
    free(arrays.expected);
}

static void check_study(struct rig *rig, const struct study_sizes *sizes)
{
    assert_non_null(study_kernels(sizes->study, rig->backend)->name);
    for (int s = 0; s < sizes->count; s++) {
        struct study_case wanted = sizes->cases[s];
        for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
            wanted.precision = (enum precision)p;
            check_case(rig, sizes->study, &wanted);
        }
    }
}

TEST(every_kernel_gives_the_same_bits)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (size_t s = 0; s < sizeof all_sizes / sizeof all_sizes[0]; s++) {
            check_study(&rig, &all_sizes[s]);
        }
        rig_close(&rig);
    }
}

TEST(studies_are_listed_once)
{
    assert_ptr_equal(study_at(0), &study_laplacian);
    int count = 1;
    for (; study_at(count) != NULL; count++) {
        for (int t = 0; t < count; t++) {
            assert_string_not_equal(study_at(count)->name, study_at(t)->name);
        }
    }
    assert_int_equal(count, sizeof all_sizes / sizeof all_sizes[0] + 1); /* and jacobi */
    const struct backend unknown = {.name = "unknown"};
    assert_null(study_kernels(&study_laplacian, &unknown)->name);
}

/* A quadratic function has the same Laplacian everywhere, and small integers do not round. */
TEST(the_expression_is_the_laplacian)
{
    struct study_problem p;
    must(study_laplacian.setup(&(struct study_case){.size = {5, 6, 7}}, &p));
    p.parameter[AXIS_X] = 1.0;
    p.parameter[AXIS_Y] = 4.0;
    p.parameter[AXIS_Z] = 0.25;
    double u[210];
    for (int at = 0; at < 210; at++) {
        const int i = at % 5;
        const int j = at / 5 % 6;
        const int k = at / 30;
        u[at] = (double)(3 * i * i + j * j - 8 * k * k + 2 * i - k + 9);
    }
    double f[210] = {0};
    reference(&study_laplacian, &p, f, f, u);
    assert_true(f[1 + 5 * (1 + 6 * 1)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    assert_true(f[3 + 5 * (4 + 6 * 5)] == 6.0 + 4.0 * 2.0 - 0.25 * 16.0);
    must(study_laplacian.setup(&(struct study_case){.size = {5, 3, 11}}, &p));
    assert_true(p.parameter[AXIS_X] == 16.0 && p.parameter[AXIS_Y] == 4.0 &&
                p.parameter[AXIS_Z] == 100.0);
}

static struct study_traffic traffic_of(enum precision precision, int64_t nx, int64_t ny, int64_t nz)
{
    struct study_problem p;
    must(study_laplacian.setup(&(struct study_case){{nx, ny, nz}, precision, 0}, &p));
    return study_laplacian.traffic(&p, 0);
}

TEST(the_traffic_is_that_of_the_study)
{
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

TEST_MAIN(NULL, NULL)
