/* The numbers of classes and their changes with the field, of every backend, against a plain loop.
 */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

static void check_numbers(struct rig *rig, const struct problem *p, uint64_t random)
{
    const int64_t *n = p->layout.cells;
    struct layout kept;
    uint8_t numbers[MEDIUM_CLASSES];
    must(layout_create(n, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &kept));
    for (int c = 0; c < MEDIUM_CLASSES; c++) {
        numbers[c] = (uint8_t)random_below(&random, 256);
    }
    double *h_expected = host_field(&kept);
    void *d_values = rig_upload(rig, h_expected, layout_bytes(&kept));
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const int64_t cell[AXIS_COUNT] = {c % n[0], c / n[0] % n[1], c / (n[0] * n[1])};
        h_expected[layout_index(&kept, cell[0], cell[1], cell[2])] =
            numbers[problem_class(p, cell[0], cell[1], cell[2])];
    }
    void *d_numbers = rig_upload(rig, numbers, sizeof numbers);
    const struct device_medium medium = problem_upload(rig, p);
    struct device_medium given = medium;
    must(ENQUEUE(rig->backend->operations, number_classes, rig->queue, .kept = kept,
                 .medium = &given, .d_numbers = d_numbers, .d_values = d_values));
    memset(&given, 0xFF, sizeof given);
    must(rig->backend->runtime->queue_wait(rig->queue));
    double *h_got = rig_download(rig, d_values, layout_bytes(&kept));
    assert_same_field(&kept, h_got, h_expected, "numbers");
    free(h_got);
    free(h_expected);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_numbers);
    rig->backend->runtime->memory_free(rig->device, d_values);
}

/* Limits in the range of the field; one is exactly a value of it. */
static void choose_changes(const struct problem *p, double at[MEDIUM_CLASSES],
                           uint8_t to[MEDIUM_CLASSES], uint64_t *random)
{
    for (int c = 0; c < MEDIUM_CLASSES; c++) {
        const bool stays = random_below(random, 3) == 0;
        at[c] = stays ? (double)INFINITY : random_between(random, 700.0, 1100.0);
        to[c] = stays ? (uint8_t)c : (uint8_t)random_below(random, p->medium.nclasses);
    }
    const int of_class = problem_class(p, 0, 0, 0);
    at[of_class] = host_get(&p->layout, p->h_in, layout_index(&p->layout, 0, 0, 0));
    to[of_class] = (uint8_t)random_below(random, p->medium.nclasses);
}

/* By them steps find the cells that touch no other class. */
static void check_flags(const struct problem *p, const uint8_t *classes)
{
    const struct layout *l = &p->medium.layout;
    const int64_t *n = l->cells;
    const int64_t beside[] = {-1, 1, -l->pitch_y, l->pitch_y, -l->pitch_z, l->pitch_z};
    if (p->medium.mask == UINT8_MAX) {
        return;
    }
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const uint8_t *at = &classes[layout_index(l, c % n[0], c / n[0] % n[1], c / (n[0] * n[1]))];
        bool same = true;
        for (int b = 0; b < FACE_COUNT; b++) {
            same = same && ((at[beside[b]] ^ *at) & p->medium.mask) == 0;
        }
        assert_int_equal(same, *at > p->medium.mask);
    }
}

/* Returns the classes afterwards, with what the backend made of their flags. */
static uint8_t *check_changes(struct rig *rig, const struct problem *p, const struct box *box,
                              uint64_t random)
{
    const struct layout *l = &p->medium.layout;
    const size_t bytes = (size_t)l->elements;
    double at[MEDIUM_CLASSES];
    uint8_t to[MEDIUM_CLASSES];
    choose_changes(p, at, to, &random);
    uint8_t *h_classes = malloc(bytes);
    assert_non_null(h_classes);
    memcpy(h_classes, p->medium.d_class, bytes);
    struct change_classes_args change = {
        .layout = p->layout,
        .d_field = rig_upload(rig, p->h_in, layout_bytes(&p->layout)),
        .box = *box,
        .of_class = *l,
        .mask = p->medium.mask,
        .d_class = rig_upload(rig, h_classes, bytes),
        .d_at = rig_upload(rig, at, sizeof at),
        .d_to = rig_upload(rig, to, sizeof to),
    };
    uint8_t *const d_class = change.d_class;
    struct change_classes_args given = change;
    for (int64_t c = 0; c < box_cells(box); c++) {
        const int64_t nx = box_extent(box, AXIS_X);
        const int64_t ny = box_extent(box, AXIS_Y);
        const int64_t cell[AXIS_COUNT] = {box->lo[0] + c % nx, box->lo[1] + c / nx % ny,
                                          box->lo[2] + c / (nx * ny)};
        uint8_t *of_class = &h_classes[layout_index(l, cell[0], cell[1], cell[2])];
        const double value =
            host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
        const int own = *of_class & p->medium.mask;
        *of_class = value >= at[own] ? to[own] : *of_class;
    }
    must(rig->backend->operations->change_classes(rig->queue, &given));
    memset(&given, 0xFF, sizeof given);
    must(rig->backend->runtime->queue_wait(rig->queue));
    uint8_t *h_got = rig_download(rig, d_class, bytes);
    check_flags(p, h_got);
    for (size_t c = 0; c < bytes; c++) {
        assert_int_equal(h_got[c] & p->medium.mask, h_classes[c] & p->medium.mask);
    }
    free(h_classes);
    rig->backend->runtime->memory_free(rig->device, (void *)(uintptr_t)change.d_field);
    rig->backend->runtime->memory_free(rig->device, d_class);
    rig->backend->runtime->memory_free(rig->device, (void *)(uintptr_t)change.d_at);
    rig->backend->runtime->memory_free(rig->device, (void *)(uintptr_t)change.d_to);
    return h_got;
}

/* All cells, a part of them, a layer of the halo, and none. */
static void check_boxes(struct rig *rig, const struct problem *p, uint64_t random)
{
    const struct box owned = layout_owned(&p->layout);
    const struct box none = {{0, 0, 0}, {0, 0, 0}};
    struct box parts[3];
    const int nparts = random_partition(&random, &owned, 3, parts);
    free(check_changes(rig, p, &owned, random));
    free(check_changes(rig, p, &parts[random_below(&random, nparts)], random));
    free(check_changes(rig, p, &none, random));
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box layer = box_outside(&owned, (enum face)face, 1);
        if (p->layout.halo[face / 2] > 0 && p->medium.layout.halo[face / 2] > 0 &&
            !p->args.closed[face]) {
            free(check_changes(rig, p, &layer, random));
        }
    }
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
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            check_numbers(&rig, &p, random);
            check_boxes(&rig, &p, random);
            rig_close(&rig);
        }
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

/* Large enough for several threads and blocks. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {{33, 17, 40}, {20011, 1, 1}, {300, 40, 1},
                                                 {1, 95, 97},  {3, 2900, 1},  {130, 33, 9}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 2; seed++) {
            check_shape(shapes[s], (unsigned)(37 * s + 11 * seed) % 64, 100 * s + seed);
        }
    }
}

/* Cells change class before each step, in a medium whose properties depend on temperature. */
static void check_steps(const struct backend *backend, const int64_t cells[AXIS_COUNT],
                        enum precision precision, uint64_t seed)
{
    uint64_t random = seed;
    struct problem p;
    struct rig rig;
    problem_create(&p, cells, (unsigned)random_below(&random, 64), 8,
                   seed % 2 == 0 ? PATTERN_LAYERS : PATTERN_BLOCKS, precision, &random);
    problem_make_nonlinear(&p, 4, &random);
    const struct box owned = layout_owned(&p.layout);
    p.boxes[0] = owned;
    p.nboxes = 1;
    rig_open(&rig, backend);
    for (int step = 0; step < 4; step++) {
        uint8_t *changed = check_changes(&rig, &p, &owned, random_bits(&random));
        free((void *)(uintptr_t)p.medium.d_class);
        p.medium.d_class = changed;
        memcpy(p.h_out, p.h_in, layout_bytes(&p.layout)); /* the halo stays */
        problem_solve(&p);
        problem_check_step(&rig, backend->operations->step, "step after changes", &p, true);
        void *h_next = p.h_expected;
        p.h_expected = p.h_in;
        p.h_in = h_next;
    }
    rig_close(&rig);
    problem_destroy(&p);
}

/* Large enough for the fast kernels. */
TEST(steps_between_changes)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            check_steps(rig_backend_at(b), (const int64_t[]){70, 19, 13},
                        (enum precision)(seed / 2 % 2), seed);
        }
    }
}

TEST_MAIN(NULL, NULL)
