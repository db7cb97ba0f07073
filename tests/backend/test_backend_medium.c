/* What is computed of a field in a medium besides its steps, on every backend, against a plain
 * triple loop, bit for bit: sums of all cells and of groups of classes, the heat flux, and where
 * properties depend on temperature the conversions, liquid fractions and perfusion. */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/derived_cell.h"

/* The heat: with an invalid cell too, which counts as 0. */
static void check_heat(struct rig *rig, const struct problem *p)
{
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    const struct placement placement = {.global_cells = {n[0], n[1], n[2]}};
    __int128 heat = 0;
    const int64_t bad = layout_index(l, n[0] - 1, n[1] / 2, n[2] / 2);
    const double kept = host_get(l, p->h_in, bad);
    host_set(l, p->h_in, bad, INFINITY);
    for (int64_t k = 0; k < n[2]; k++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t i = 0; i < n[0]; i++) {
                const int64_t at = layout_index(l, i, j, k);
                const double x =
                    host_get(l, p->h_in, at) * p->medium.d_weight[problem_class(p, i, j, k)];
                heat += at == bad ? 0 : fixed_point(x);
            }
        }
    }
    const struct exact_sum expected = fixed_digits(heat);
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    host_set(l, p->h_in, bad, kept);
    const struct device_medium medium = problem_upload(rig, p);
    struct device_medium given = medium;
    struct field_summary summary;
    struct field_summary plain;
    const struct operations *operations = rig->backend->operations;
    must(ENQUEUE(operations, summarise, rig->queue, .layout = *l, .placement = placement,
                 .medium = &given, .d_field = d_in, .h_summary = &summary));
    memset(&given, 0xFF, sizeof given);
    must(ENQUEUE(operations, summarise, rig->queue, .layout = *l, .placement = placement,
                 .d_field = d_in, .h_summary = &plain));
    must(rig->backend->runtime->queue_wait(rig->queue));
    assert_memory_equal(&summary.heat, &expected, sizeof expected);
    const struct exact_sum zero = {{0}};
    assert_memory_equal(&plain.heat, &zero, sizeof zero);
    assert_memory_equal(&plain.sum, &summary.sum, sizeof plain.sum);
    assert_int_equal(summary.bad_cells, 1);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
}

/* Of the cells of each group; called twice: the second adds. */
static void check_groups(struct rig *rig, const struct problem *p)
{
    uint64_t random = (uint64_t)p->layout.elements;
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    const struct operations *operations = rig->backend->operations;
    struct class_summary expected[MEDIUM_CLASSES];
    __int128 sums[MEDIUM_CLASSES] = {0};
    uint8_t groups[MEDIUM_CLASSES];
    const int ngroups = 1 + (int)random_below(&random, MEDIUM_CLASSES);
    for (int c = 0; c < MEDIUM_CLASSES; c++) {
        groups[c] = (uint8_t)random_below(&random, ngroups);
        expected[c] = (struct class_summary)CLASS_SUMMARY_NONE;
    }
    void *d_groups = rig_upload(rig, groups, sizeof groups);
    struct class_summary *d_summaries = rig_upload(rig, expected, sizeof expected);
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const int64_t i = c % n[0];
        const int64_t j = c / n[0] % n[1];
        const int64_t k = c / (n[0] * n[1]);
        const double value = host_get(l, p->h_in, layout_index(l, i, j, k));
        struct class_summary *e = &expected[groups[problem_class(p, i, j, k)]];
        sums[e - expected] += 2 * fixed_point(value);
        e->min_key = class_key_of(value) < e->min_key ? class_key_of(value) : e->min_key;
        e->max_key = class_key_of(value) > e->max_key ? class_key_of(value) : e->max_key;
        e->cells += 2;
    }
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    const struct device_medium medium = problem_upload(rig, p);
    for (int call = 0; call < 2; call++) {
        struct device_medium given = medium;
        must(ENQUEUE(operations, summarise_classes, rig->queue, .layout = *l, .medium = &given,
                     .d_groups = d_groups, .d_field = d_in, .d_summaries = d_summaries));
        memset(&given, 0xFF, sizeof given);
    }
    struct class_summary *got = rig_download(rig, d_summaries, sizeof expected);
    for (int g = 0; g < MEDIUM_CLASSES; g++) {
        expected[g].sum = fixed_digits(sums[g]);
        exact_sum_normalise(&got[g].sum);
        assert_int_equal(got[g].cells, expected[g].cells);
        assert_memory_equal(&got[g].sum, &expected[g].sum, sizeof got[g].sum);
        if (got[g].cells > 0) {
            assert_true(class_value_of(got[g].min_key) == class_value_of(expected[g].min_key));
            assert_true(class_value_of(got[g].max_key) == class_value_of(expected[g].max_key));
        }
    }
    free(got);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_groups);
    rig->backend->runtime->memory_free(rig->device, d_summaries);
}

static double flux_squared(const struct problem *p, const int64_t cell[AXIS_COUNT],
                           const double scale[AXIS_COUNT])
{
    const struct layout *l = &p->layout;
    if (p->args.kind == KIND_ENTHALPY) {
        return nonlinear_flux_squared(p, cell, scale);
    }
    const double c = host_get(l, p->h_in, layout_index(l, cell[0], cell[1], cell[2]));
    double q[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct beyond minus = problem_beyond(p, cell, face_of((enum axis)axis, SIDE_MIN));
        const struct beyond plus = problem_beyond(p, cell, face_of((enum axis)axis, SIDE_MAX));
        q[axis] = derived_flux_between(c, minus.value, plus.value, minus.g, plus.g, scale[axis]);
    }
    return derived_square(q[0], q[1], q[2]);
}

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

/* Temperatures of an enthalpy that is not converted: of single cells, and as a sample sees them. */
static void check_temperatures(struct rig *rig, const struct problem *p)
{
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    const int64_t count = n[0] * n[1] * n[2];
    const size_t bytes = precision_bytes(l->precision);
    const struct operations *operations = rig->backend->operations;
    struct layout kept;
    must(layout_create(n, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &kept));
    int64_t *at = malloc(2 * (size_t)count * sizeof *at); /* in the field, and in the classes */
    void *h_expected = host_field(l);
    double *h_highest = host_field(&kept);
    assert_non_null(at);
    nonlinear_convert(p, CONVERT_TO_TEMPERATURE, p->h_in, h_expected);
    for (int64_t c = 0; c < count; c++) {
        const int64_t cell[AXIS_COUNT] = {c % n[0], c / n[0] % n[1], c / (n[0] * n[1])};
        at[c] = layout_index(l, cell[0], cell[1], cell[2]);
        at[count + c] = layout_index(&p->medium.layout, cell[0], cell[1], cell[2]);
    }
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    void *d_values = rig_upload(rig, p->h_in, (size_t)count * bytes);
    int64_t *d_at = rig_upload(rig, at, 2 * (size_t)count * sizeof *at);
    const struct device_medium medium = problem_upload(rig, p);
    struct device_medium given = medium;
    struct track_args args = {.layout = *l, .kept = kept, .d_field = d_in, .medium = &given};
    args.sample.first = true;
    args.sample.d_kept[TRACK_HIGHEST] = rig_upload(rig, h_highest, layout_bytes(&kept));
    must(operations->track(rig->queue, &args));
    must(ENQUEUE(operations, gather, rig->queue, .precision = l->precision, .d_field = d_in,
                 .d_elements = d_at, .medium = &given, .d_classes = d_at + count, .count = count,
                 .d_values = d_values));
    memset(&given, 0xFF, sizeof given);
    free(h_highest);
    h_highest = rig_download(rig, args.sample.d_kept[TRACK_HIGHEST], layout_bytes(&kept));
    void *h_values = rig_download(rig, d_values, (size_t)count * bytes);
    for (int64_t c = 0; c < count; c++) {
        const double expected = host_get(l, h_expected, at[c]);
        const int64_t in_kept = layout_index(&kept, c % n[0], c / n[0] % n[1], c / (n[0] * n[1]));
        assert_true(precision_get(l->precision, h_values, c) == expected);
        assert_true(h_highest[in_kept] == expected);
    }
    free(at);
    free(h_expected);
    free(h_highest);
    free(h_values);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, args.sample.d_kept[TRACK_HIGHEST]);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_values);
    rig->backend->runtime->memory_free(rig->device, d_at);
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
    struct coefficients around = {.kind = p->args.kind};
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
    memset(&given, 0xFF, sizeof given);
    memset(&around, 0xFF, sizeof around);
    must(rig->backend->runtime->queue_wait(rig->queue));
    free(h_values);
    h_values = rig_download(rig, d_values, layout_bytes(&kept));
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const int64_t cell[AXIS_COUNT] = {c % n[0], c / n[0] % n[1], c / (n[0] * n[1])};
        const double expected =
            flux ? flux_squared(p, cell, args.scale) : nonlinear_liquid(p, cell);
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
    struct coefficients level = p->args;
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(&p->layout));
    void *d_out = rig_upload(rig, p->h_in, layout_bytes(&p->layout));
    struct exact_sum *d_sum = rig_upload(rig, &zero, sizeof zero);
    struct exact_sum *d_of_step = rig_upload(rig, &zero, sizeof zero);
    level.medium = medium;
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
    must(ENQUEUE(rig->backend->operations, step, rig->queue, .layout = p->layout, .levels = &level,
                 .nsteps = 1, .d_out = d_out, .d_in = d_in, .boxes = p->boxes, .nboxes = p->nboxes,
                 .d_perfusion = d_of_step));
    memset(&given, 0xFF, sizeof given);
    memset(&level, 0xFF, sizeof level);
    struct exact_sum *sum = rig_download(rig, d_sum, sizeof zero);
    struct exact_sum *of_step = rig_download(rig, d_of_step, sizeof zero);
    assert_memory_equal(sum, &wanted, sizeof wanted);
    assert_memory_equal(of_step, &wanted, sizeof wanted);
    free(sum);
    free(of_step);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sum);
    rig->backend->runtime->memory_free(rig->device, d_of_step);
}

static void check_problem(struct problem *p, uint64_t *random)
{
    problem_choose_boxes(p, random);
    omp_set_num_threads(1 + (int)random_below(random, 3));
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        check_derived(&rig, p, true);
        if (p->args.kind == KIND_CLASSES) {
            check_heat(&rig, p);
            check_groups(&rig, p);
        } else {
            check_convert(&rig, p);
            check_temperatures(&rig, p);
            check_derived(&rig, p, false);
            check_perfusion(&rig, p);
        }
        rig_close(&rig);
    }
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    uint64_t random = seed;
    for (int n = 0; n < 4; n++) {
        struct problem p;
        problem_create_kind(&p, n < 2 ? KIND_CLASSES : KIND_ENTHALPY, cells, closed_faces, 1,
                            (enum precision)(n % 2), &random);
        check_problem(&p, &random);
        problem_destroy(&p);
    }
}

TEST(shapes_of_all_kinds)
{
    rig_shapes_of_all_kinds(check_shape);
}

TEST(faces_in_all_combinations)
{
    rig_faces_in_all_combinations(check_shape);
}

/* Large enough for several threads, which take rows and planes over from each other. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {33, 17, 40}, {20011, 1, 1}, {300, 40, 1}, {64, 100, 2}, {1, 95, 97},   {127, 6, 7},
        {4100, 3, 1}, {100, 130, 3}, {3, 2900, 1}, {260, 33, 9}, {231, 37, 21}, {20, 307, 35}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 2; seed++) {
            if (!rig_leaves_out(s, seed)) {
                check_shape(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                            100 * s + seed);
            }
        }
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

/* Of steps, too. */
TEST(odd_cells_in_long_rows)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {136, 9, 5}, {512, 7, 4}, {200, 30, 3}, {140, 21, 12}};
    uint64_t random = 1;
    for (int n = 0; n < 24; n++) {
        struct problem p;
        problem_create(&p, shapes[n % 4], n % 2 == 0 ? 63 : (unsigned)random_below(&random, 64),
                       n % 6 < 4 ? 2 : 1, PATTERN_ONE, (enum precision)(n / 4 % 2), &random);
        problem_make_nonlinear(&p, n % 4 < 2 ? 32 : 1, &random);
        make_odd(&p, &random);
        check_problem(&p, &random);
        problem_solve(&p);
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            problem_check_step(&rig, rig.backend->operations->step, "step", &p, true);
            problem_check_step(&rig, rig.backend->operations->step, "without sums", &p, false);
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

/* Whether two rows and their neighbours have the same classes; flags of neighbours may differ. */
static bool have_same_classes(const struct device_medium *m, const uint8_t *a, const uint8_t *b)
{
    const int64_t beside[] = {0, -m->layout.pitch_y, m->layout.pitch_y, -m->layout.pitch_z,
                              m->layout.pitch_z};
    bool same = ((a[-1] ^ b[-1]) & m->mask) == 0;
    for (size_t n = 0; n < sizeof beside / sizeof beside[0]; n++) {
        for (int64_t i = 0; i < m->layout.cells[AXIS_X] + (n == 0 ? 1 : 0); i++) {
            same = same && ((a[beside[n] + i] ^ b[beside[n] + i]) & m->mask) == 0;
        }
    }
    return same;
}

TEST(rows_of_one_number_have_the_same_classes)
{
    uint64_t random = 29;
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++) {
        for (int closed = 0; closed < 64; closed += 21) {
            struct problem p;
            problem_create(&p, (const int64_t[]){19, 13, 11}, (unsigned)closed, 3,
                           (enum pattern)pattern, PRECISION_FLOAT64, &random);
            const struct device_medium *m = &p.medium;
            for (int64_t row = 0; row < 13 * 11; row++) {
                const uint8_t *c = m->d_class + layout_index(&m->layout, 0, row % 13, row / 13);
                const int64_t first = classes_row_number(c) - 1;
                assert_in_range(first, 0, row);
                assert_true(have_same_classes(
                    m, c, m->d_class + layout_index(&m->layout, 0, first % 13, first / 13)));
                assert_true(pattern != PATTERN_ONE || first == 0);
            }
            problem_destroy(&p);
        }
    }
}

TEST_MAIN(NULL, NULL)
