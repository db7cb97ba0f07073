/* The step, the conversions and the sums in a medium whose properties depend on temperature, of
 * every backend, against a plain triple loop, bit for bit. */
#include "medium_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

static void check_convert(struct rig *rig, const struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    for (int c = CONVERT_TO_ENTHALPY; c <= CONVERT_TO_TEMPERATURE; c++) {
        void *h_expected = host_field(&p->layout);
        memcpy(h_expected, p->h_out, bytes);
        nonlinear_convert(p, (enum enthalpy_conversion)c, p->h_in, h_expected);
        void *d_in = rig_upload(rig, p->h_in, bytes);
        void *d_out = rig_upload(rig, p->h_out, bytes);
        const struct device_medium medium = problem_upload(rig, p);
        struct device_medium given = medium;
        must(ENQUEUE(rig->backend->operations, convert, rig->queue, .layout = p->layout,
                     .medium = &given, .conversion = (enum enthalpy_conversion)c, .d_in = d_in,
                     .d_out = d_out));
        memset(&given, 0xFF, sizeof given);
        must(rig->backend->runtime->queue_wait(rig->queue));
        void *h_got = rig_download(rig, d_out, bytes);
        assert_memory_equal(h_got, h_expected, bytes);
        free(h_got);
        free(h_expected);
        problem_free_medium(rig, &medium);
        rig->backend->runtime->memory_free(rig->device, d_in);
        rig->backend->runtime->memory_free(rig->device, d_out);
    }
}

/* The liquid fraction, or the heat flux. */
static void check_derived(struct rig *rig, const struct problem *p, bool flux)
{
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    struct layout kept;
    must(layout_create(n, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &kept));
    const struct device_medium medium = problem_upload(rig, p);
    struct device_medium given = medium;
    struct coefficients around = {.kind = KIND_ENTHALPY};
    struct flux_squared_args args = {.layout = *l, .kept = kept, .around = &around};
    coefficients_set_medium(&around, &medium);
    for (int face = 0; face < FACE_COUNT; face++) {
        around.closed[face] = p->args.closed[face];
        args.scale[face / 2] = p->args.r[face / 2] > 0.0 ? 7.5 + 0.5 * (double)face : 0.0;
    }
    const struct operations *operations = rig->backend->operations;
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    double *h_values = host_field(&kept);
    double *d_values = rig_upload(rig, h_values, layout_bytes(&kept));
    if (flux) {
        args.d_field = d_in;
        args.d_flux = d_values;
        must(operations->flux_squared(rig->queue, &args));
    } else {
        must(ENQUEUE(operations, liquid_fraction, rig->queue, .layout = *l, .kept = kept,
                     .medium = &given, .d_field = d_in, .d_fraction = d_values));
    }
    memset(&around, 0xFF, sizeof around);
    memset(&given, 0xFF, sizeof given);
    must(rig->backend->runtime->queue_wait(rig->queue));
    free(h_values);
    h_values = rig_download(rig, d_values, layout_bytes(&kept));
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const int64_t cell[AXIS_COUNT] = {c % n[0], c / n[0] % n[1], c / (n[0] * n[1])};
        const double expected =
            flux ? nonlinear_flux_squared(p, cell, args.scale) : nonlinear_liquid(p, cell);
        assert_memory_equal(&h_values[layout_index(&kept, cell[0], cell[1], cell[2])], &expected,
                            sizeof expected);
    }
    free(h_values);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_values);
}

/* Over the boxes, which may leave cells out. */
static void check_perfusion(struct rig *rig, const struct problem *p)
{
    const struct exact_sum zero = {{0}};
    struct exact_sum wanted = {{0}};
    const struct device_medium medium = problem_upload(rig, p);
    struct device_medium given = medium;
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(&p->layout));
    struct exact_sum *d_sum = rig_upload(rig, &zero, sizeof zero);
    for (int b = 0; b < p->nboxes; b++) {
        const struct box *box = &p->boxes[b];
        const int64_t n[AXIS_COUNT] = {box_extent(box, AXIS_X), box_extent(box, AXIS_Y),
                                       box_extent(box, AXIS_Z)};
        for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
            const int64_t cell[AXIS_COUNT] = {box->lo[0] + c % n[0], box->lo[1] + c / n[0] % n[1],
                                              box->lo[2] + c / (n[0] * n[1])};
            struct exact_parts parts = {{0}};
            exact_parts_add(&parts, nonlinear_perfusion(p, cell));
            exact_sum_add_parts(&wanted, &parts);
        }
        must(ENQUEUE(rig->backend->operations, sum_perfusion, rig->queue, .layout = p->layout,
                     .medium = &given, .d_field = d_in, .box = *box, .d_sum = d_sum));
    }
    memset(&given, 0xFF, sizeof given);
    struct exact_sum *sum = rig_download(rig, d_sum, sizeof zero);
    assert_memory_equal(sum, &wanted, sizeof wanted);
    free(sum);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_sum);
}

/* With its boxes, on all backends. */
static void check_boxes(struct problem *p, int nthreads)
{
    problem_solve(p);
    omp_set_num_threads(nthreads);
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        problem_check_step(&rig, rig.backend->operations->step, "step", p, true);
        problem_check_step(&rig, rig.backend->operations->step, "without sums", p, false);
        check_convert(&rig, p);
        check_derived(&rig, p, false);
        check_derived(&rig, p, true);
        check_perfusion(&rig, p);
        rig_close(&rig);
    }
}

static void check_problem(struct problem *p, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int most[] = {1, 7, MAX_BOXES};
    const int64_t kind = random_below(random, 3);
    p->nboxes = random_partition(random, &owned, most[kind], p->boxes);
    p->nboxes = kind == 2 ? (p->nboxes + 1) / 2 : p->nboxes;
    check_boxes(p, 1 + (int)random_below(random, 3));
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    static const int nclasses[] = {1, 2, 8, 40, 130};
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, cells, closed_faces, nclasses[random_below(&random, 5)],
                       (enum pattern)random_below(&random, PATTERN_COUNT),
                       (enum precision)precision, &random);
        problem_make_nonlinear(&p, 1 << random_below(&random, 6), &random);
        check_problem(&p, &random);
        problem_destroy(&p);
    }
}

TEST(shapes_of_all_kinds)
{
    static const int64_t nx[] = {1, 2, 3, 7, 8, 17, 64, 125, 126, 127, 128, 513};
    static const int64_t ny[] = {1, 2, 3, 6, 7, 13};
    static const int64_t nz[] = {1, 2, 3, 7};
    uint64_t random = 1;
    for (size_t x = 0; x < sizeof nx / sizeof nx[0]; x++) {
        for (int n = 0; n < 8; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[x], ny[random_below(&random, 6)],
                                               nz[random_below(&random, 4)]};
            check_shape(cells, (unsigned)random_below(&random, 64), random_bits(&random));
        }
    }
}

TEST(faces_in_all_combinations)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        check_shape((const int64_t[]){18, 5, 3}, closed, closed);
        check_shape((const int64_t[]){1 + closed % 3, 3 - closed % 2, 1}, closed, closed);
    }
}

/* Large enough for several threads and for the fast kernels. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {{33, 17, 40}, {20011, 1, 1}, {300, 40, 1},
                                                 {64, 100, 2}, {260, 33, 9},  {231, 37, 21}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_shape(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                        100 * s + seed);
        }
    }
}

/* Enough rows and planes for threads to take them over from each other. */
TEST(single_boxes_of_many_rows)
{
    for (int n = 0; n < 4; n++) {
        uint64_t random = (uint64_t)n;
        struct problem p;
        problem_create(&p, (const int64_t[]){20, 307, 35}, n < 2 ? 63 : 21, 2, PATTERN_BLOCKS,
                       (enum precision)(n % 2), &random);
        problem_make_nonlinear(&p, 8, &random);
        const struct box owned = layout_owned(&p.layout);
        p.nboxes = 1;
        p.boxes[0] = n < 2 ? owned : box_shrink_face(&owned, FACE_Z_MIN, 2);
        check_boxes(&p, 2 + n / 2);
        problem_destroy(&p);
    }
}

/* Let single cells at the ends of lines have class 0, and the field be smooth. */
static void make_odd(struct problem *p, uint64_t *random)
{
    const struct layout *l = &p->layout;
    const struct layout *of_class = &p->medium.layout;
    const int64_t *n = l->cells;
    uint8_t *classes = (void *)(uintptr_t)p->medium.d_class;
    for (int64_t k = 0; k < n[AXIS_Z]; k++) {
        for (int64_t j = 0; j < n[AXIS_Y]; j++) {
            for (int64_t i = 0; i < n[AXIS_X]; i++) {
                uint8_t *at = classes + layout_index(of_class, i, j, k);
                const bool inside = i > 0 && i < n[AXIS_X] - 1 && j > 0 && j < n[AXIS_Y] - 1 &&
                                    k > 0 && k < n[AXIS_Z] - 1;
                const bool odd =
                    inside && (i % 8 == 0 || i % 8 == 7) && random_below(random, 80) == 0;
                *at = odd ? 0 : *at & p->medium.mask;
            }
        }
    }
    p->medium.mask = classes_flag(of_class, p->medium.nclasses, classes);
    for (int64_t at = 0; at < l->elements; at++) {
        if (!isnan(host_get(l, p->h_in, at))) {
            host_set(l, p->h_in, at, 400.0 + 390.0 * sin(0.01 * (double)at));
        }
    }
}

TEST(odd_cells_in_long_rows)
{
    static const int64_t shapes[][AXIS_COUNT] = {{136, 9, 5}, {512, 7, 4}, {200, 30, 3}};
    uint64_t random = 1;
    for (int n = 0; n < 18; n++) {
        struct problem p;
        problem_create(&p, shapes[n % 3], n % 2 == 0 ? 63 : (unsigned)random_below(&random, 64),
                       n % 6 < 4 ? 2 : 1, PATTERN_ONE, (enum precision)(n / 3 % 2), &random);
        problem_make_nonlinear(&p, 32, &random);
        make_odd(&p, &random);
        check_problem(&p, &random);
        problem_destroy(&p);
    }
}

TEST_MAIN(NULL, NULL)
