/* The step kernel, the heat and the heat flux in a medium of classes, of every backend, against a
 * plain triple loop, bit for bit. */
#include "medium_problem.h"

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

static void check_flux(struct rig *rig, const struct problem *p)
{
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    struct layout kept;
    must(layout_create(n, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &kept));
    struct coefficients around = {.kind = KIND_CLASSES};
    struct flux_squared_args args = {.layout = *l, .kept = kept, .around = &around};
    for (int face = 0; face < FACE_COUNT; face++) {
        around.closed[face] = p->args.closed[face];
        args.scale[face / 2] = p->args.r[face / 2] > 0.0 ? 7.5 + 0.5 * (double)face : 0.0;
    }
    const struct device_medium medium = problem_upload(rig, p);
    coefficients_set_medium(&around, &medium);
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    double *h_flux = host_field(&kept);
    double *d_flux = rig_upload(rig, h_flux, layout_bytes(&kept));
    args.d_field = d_in;
    args.d_flux = d_flux;
    must(rig->backend->operations->flux_squared(rig->queue, &args));
    memset(&around, 0xFF, sizeof around);
    must(rig->backend->runtime->queue_wait(rig->queue));
    free(h_flux);
    h_flux = rig_download(rig, d_flux, layout_bytes(&kept));
    for (int64_t k = 0; k < n[2]; k++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t i = 0; i < n[0]; i++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                const double c = host_get(l, p->h_in, layout_index(l, i, j, k));
                double q[AXIS_COUNT];
                for (int axis = 0; axis < AXIS_COUNT; axis++) {
                    const struct beyond minus =
                        problem_beyond(p, cell, face_of((enum axis)axis, SIDE_MIN));
                    const struct beyond plus =
                        problem_beyond(p, cell, face_of((enum axis)axis, SIDE_MAX));
                    q[axis] = derived_flux_between(c, minus.value, plus.value, minus.g, plus.g,
                                                   args.scale[axis]);
                }
                const double expected = derived_square(q[0], q[1], q[2]);
                assert_memory_equal(&h_flux[layout_index(&kept, i, j, k)], &expected,
                                    sizeof expected);
            }
        }
    }
    free(h_flux);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_flux);
}

/* `samples`: the heat and the flux instead of the variants, which hand a medium on. */
static void check_all(const struct problem *p, bool samples)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        const struct operations *operations = rig.backend->operations;
        problem_check_step(&rig, operations->step, "step", p, true);
        problem_check_step(&rig, operations->step, "step without sums", p, false);
        for (int v = 0; !samples && v < operations->nvariants; v++) {
            problem_check_step(&rig, operations->variants[v].step, operations->variants[v].name, p,
                               true);
        }
        if (samples) {
            check_heat(&rig, p);
            check_groups(&rig, p);
            check_flux(&rig, p);
        }
        rig_close(&rig);
    }
}

/* Whole, cut at random, some pieces left out, or interior and shell. */
static void choose_boxes(struct problem *p, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t kind = random_below(random, 4);
    if (kind < 3) {
        const int most[] = {1, 7, MAX_BOXES};
        p->nboxes = random_partition(random, &owned, most[kind], p->boxes);
        p->nboxes = kind == 2 ? (p->nboxes + 1) / 2 : p->nboxes;
        return;
    }
    struct box inner = owned;
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box thinner = box_shrink_face(&inner, (enum face)face, 1);
        inner = box_is_empty(&thinner) ? inner : thinner;
    }
    p->boxes[0] = inner;
    p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    static const int nclasses[] = {1, 2, 8, 64, 255};
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, cells, closed_faces, nclasses[random_below(&random, 5)],
                       (enum pattern)random_below(&random, PATTERN_COUNT),
                       (enum precision)precision, &random);
        choose_boxes(&p, &random);
        problem_solve(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        check_all(&p, true);
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

/* Large enough for several threads and for the fast kernels. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {33, 17, 40}, {20011, 1, 1}, {300, 40, 1}, {64, 100, 2}, {1, 95, 97},
        {4100, 3, 1}, {100, 130, 3}, {3, 2900, 1}, {260, 33, 9}, {400, 70, 41}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_shape(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                        100 * s + seed);
        }
    }
}

/* Every pattern and number of classes, in boxes that the fast kernels take. */
TEST(patterns_of_classes)
{
    static const int nclasses[] = {1, 2, 8, 64, 255};
    uint64_t random = 5;
    for (size_t n = 0; n < sizeof nclasses / sizeof nclasses[0]; n++) {
        for (int pattern = 0; pattern < PATTERN_COUNT; pattern++) {
            for (int precision = 0; precision < 2; precision++) {
                struct problem p;
                const bool open = random_below(&random, 2) == 0;
                problem_create(&p, (const int64_t[]){231, 37, 11}, open ? 18 : 63, nclasses[n],
                               (enum pattern)pattern, (enum precision)precision, &random);
                const struct box owned = layout_owned(&p.layout);
                p.nboxes = random_partition(&random, &owned, 1, p.boxes);
                problem_solve(&p);
                check_all(&p, false);
                problem_destroy(&p);
            }
        }
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

/* Large enough for the cpu backend to try its ways and tiles: no call may differ by a bit. */
TEST(the_first_calls_and_the_later_ones_agree)
{
    uint64_t random = 136; /* blocks of complete lines along x */
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, (const int64_t[]){500, 101, 23}, precision == 0 ? 63 : 60, 8,
                       PATTERN_BLOCKS, (enum precision)precision, &random);
        const struct box owned = layout_owned(&p.layout);
        p.nboxes = random_partition(&random, &owned, 1, p.boxes);
        problem_solve(&p);
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            for (int call = 0; call < 17; call++) {
                problem_check_step(&rig, rig.backend->operations->step, "step", &p, true);
            }
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

TEST_MAIN(NULL, NULL)
