/* The numbers of classes, their changes with the field, and the sums of faces, of every backend,
 * against a plain loop. */
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

/* --- sums of faces --------------------------------------------------------------------------- */

static const struct curve curves[] = {
    {1, {0}, {0}, {3}, {0}, 4e6, {1, 2, 3}, false, 0, 0},
    {2, {0, 2e9}, {0, 500}, {3, 9}, {0}, 5e6, {2, 1, 4}, false, 0, 0}};

static struct class_closure random_closure(uint64_t *random)
{
    const bool radiates = random_below(random, 3) == 0;
    return (struct class_closure){
        .a = random_between(random, radiates ? 1 : -1, radiates ? 2 : 1),
        .b = random_between(random, 0, 600),
        .e = radiates ? random_between(random, 0, 1e-9) : 0,
        .conductance = random_below(random, 6) == 0 ? 0 : random_between(random, 1, 50),
        .area = (int64_t)random_between(random, 0x1p35, 0x1p43),
        .exchange = {random_between(random, 0, 600), 1, radiates ? 1e-8 : 0,
                     random_below(random, 3) == 0}};
}

enum { SOURCES = 2 };

/* With members of `args` in host memory. */
static void sum_plainly(const struct problem *p, const struct sum_faces_args *args,
                        const struct face_terms *terms, __int128 *wanted)
{
    const struct layout *l = &p->layout;
    const struct box owned = layout_owned(l);
    const struct box layer = box_inside(&owned, terms->face, 1);
    const int nclasses = p->medium.nclasses;
    for (int64_t n = 0; n < box_cells(&layer); n++) {
        int64_t at[AXIS_COUNT];
        box_cell(&layer, n, at);
        const int of_class = problem_class(p, at[0], at[1], at[2]);
        const int closure =
            medium_closure(p->medium.d_patch[terms->face], p->medium.patch_pitch[terms->face], 0,
                           nclasses, terms->face, at, of_class);
        struct class_closure own =
            args->d_closures[terms->first_own >= 0 ? terms->first_own + n
                                                   : terms->first_closure + closure];
        const double inside = host_get(l, p->h_in, layout_index(l, at[0], at[1], at[2]));
        __int128 *sums = wanted + terms->first_sum + closure / nclasses * FACE_SUMS;
        if (own.conductance == 0) { /* no part of the body */
            continue;
        }
        if (p->args.kind == KIND_ENTHALPY) {
            own = class_closure_of_heat(&own, &args->d_curves[args->d_material[of_class]],
                                        terms->face / 2, inside * args->heat_per_enthalpy,
                                        terms->spacing, args->volume);
        }
        sums[FACE_AREA] += fixed_point(class_closure_area(&own));
        sums[FACE_FLOW] += fixed_point(class_closure_flow(&own, inside));
        own = class_closure_heated(own, args->d_sources + terms->first_source, terms->nsources,
                                   args->joule_per_kelvin, at[0], at[1],
                                   at[2] + args->offset[AXIS_Z]);
        sums[FACE_TEMPERATURE] +=
            fixed_point(class_closure_face(&own, inside) * class_closure_area(&own));
    }
}

static int64_t face_cells(const struct problem *p, enum face face)
{
    const struct box owned = layout_owned(&p->layout);
    const struct box layer = box_inside(&owned, face, 1);
    return box_cells(&layer);
}

/* The operation, with copies in device memory. */
static void check_operation(struct rig *rig, const struct problem *p,
                            const struct sum_faces_args *plain, size_t nclosures, size_t nsums,
                            const __int128 *wanted)
{
    const struct device_medium medium = problem_upload(rig, p);
    const struct runtime *runtime = rig->backend->runtime;
    struct device_medium given = medium;
    void *d_field = rig_upload(rig, p->h_in, layout_bytes(&p->layout));
    void *d_closures = rig_upload(rig, plain->d_closures, nclosures * sizeof *plain->d_closures);
    void *d_sources = rig_upload(rig, plain->d_sources, SOURCES * sizeof *plain->d_sources);
    void *d_sums = rig_upload(rig, plain->d_sums, nsums * sizeof *plain->d_sums);
    void *d_material = rig_upload(rig, plain->d_material, MEDIUM_CLASSES);
    void *d_curves = rig_upload(rig, curves, sizeof curves);
    struct face_terms terms[FACE_COUNT];
    struct sum_faces_args args = *plain;
    memcpy(terms, plain->faces, (size_t)plain->nfaces * sizeof *terms);
    args.faces = terms;
    args.medium = &given;
    args.d_field = d_field;
    args.d_closures = d_closures;
    args.d_sources = d_sources;
    args.d_sums = d_sums;
    args.d_enthalpy = p->args.kind == KIND_ENTHALPY ? d_field : NULL;
    args.d_material = d_material;
    args.d_curves = d_curves;
    must(rig->backend->operations->sum_faces(rig->queue, &args));
    memset(&given, 0xFF, sizeof given);
    memset(terms, 0xFF, sizeof terms);
    struct exact_sum *found = rig_download(rig, d_sums, nsums * sizeof *found);
    for (size_t n = 0; n < nsums; n++) {
        const struct exact_sum expected = fixed_digits(wanted[n]);
        assert_memory_equal(&found[n], &expected, sizeof expected);
    }
    free(found);
    problem_free_medium(rig, &medium);
    void *const made[] = {d_field, d_closures, d_sources, d_sums, d_material, d_curves};
    for (size_t n = 0; n < sizeof made / sizeof *made; n++) {
        runtime->memory_free(rig->device, made[n]);
    }
}

/* Append n closures. Returns the place of the first. */
static int64_t add_closures(struct class_closure **closures, size_t *count, int64_t n,
                            uint64_t *random)
{
    const size_t first = *count;
    *count += (size_t)n;
    *closures = realloc(*closures, *count * sizeof **closures);
    assert_non_null(*closures);
    for (size_t c = first; c < *count; c++) {
        (*closures)[c] = random_closure(random);
    }
    return (int64_t)first;
}

/* Terms of the closed faces that are not left out, whose closures are appended. Returns their
 * number. The sums have room for all faces. */
static int make_terms(const struct problem *p, uint64_t *random, struct face_terms *terms,
                      struct class_closure **closures, size_t *nclosures)
{
    const int nconditions = p->medium.nclosures / p->medium.nclasses;
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        if (!p->args.closed[f] || random_below(random, 4) == 0) {
            continue;
        }
        const bool own = random_below(random, 2) == 0;
        struct face_terms *made = &terms[count++];
        *made = (struct face_terms){
            .face = (enum face)f,
            .nconditions = nconditions,
            .first_source = (int)random_below(random, SOURCES),
            .first_sum = f * nconditions * FACE_SUMS,
            .first_closure = add_closures(closures, nclosures, p->medium.nclosures, random),
            .first_own = -1,
            .spacing = 1e-3,
        };
        made->nsources = (int)random_below(random, (uint64_t)(SOURCES - made->first_source + 1));
        if (own) {
            made->first_own =
                add_closures(closures, nclosures, face_cells(p, (enum face)f), random);
        }
    }
    return count;
}

/* With closures that are those of no step; the patches of a face are its conditions. */
static void check_faces(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    uint64_t random = seed;
    for (int n = 0; n < 4; n++) {
        struct problem p;
        uint8_t materials[MEDIUM_CLASSES];
        problem_create_kind(&p, n < 2 ? KIND_CLASSES : KIND_ENTHALPY, cells, closed_faces, 1,
                            (enum precision)(n % 2), &random);
        struct heat_source sources[SOURCES] = {
            {.box = {.lo = {0, 1, 5}, .hi = {cells[0], cells[1], 5 + cells[2]}},
             .shape = {.start = {-2, -3, -7},
                       .spacing = {1, 1, 1},
                       .turn = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                       .front = 0.1,
                       .rear = 0.3,
                       .peak_front = 7,
                       .peak_rear = 7}}};
        sources[1] = sources[0];
        sources[1].shape.peak_rear = 11;
        for (int c = 0; c < p.medium.nclosures; c++) {
            materials[c % p.medium.nclasses] = (uint8_t)random_below(&random, 2);
        }
        const size_t nsums =
            FACE_COUNT * FACE_SUMS * (size_t)(p.medium.nclosures / p.medium.nclasses);
        struct exact_sum *sums = calloc(nsums, sizeof *sums);
        __int128 *wanted = calloc(nsums, sizeof *wanted);
        struct class_closure *closures = NULL;
        size_t nclosures = 0;
        (void)add_closures(&closures, &nclosures, 1, &random); /* of no face */
        struct face_terms terms[FACE_COUNT];
        const int nfaces = make_terms(&p, &random, terms, &closures, &nclosures);
        const struct sum_faces_args args = {
            .layout = p.layout,
            .faces = terms,
            .nfaces = nfaces,
            .d_closures = closures,
            .d_sources = sources,
            .d_sums = sums,
            .d_material = materials,
            .d_curves = curves,
            .heat_per_enthalpy = 4e6,
            .volume = 1e-9,
            .joule_per_kelvin = 4e-3,
            .offset = {0, 0, 5},
        };
        for (int f = 0; f < nfaces; f++) {
            sum_plainly(&p, &args, &terms[f], wanted);
        }
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            check_operation(&rig, &p, &args, nclosures, nsums, wanted);
            rig_close(&rig);
        }
        free(closures);
        free(sums);
        free(wanted);
        problem_destroy(&p);
    }
}

TEST(sums_of_faces)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {33, 17, 40}, {300, 1, 1}, {1, 95, 97}, {260, 133, 3}, {5, 6, 7}};
    rig_faces_in_all_combinations(check_faces);
    for (uint64_t seed = 0; seed < 10; seed++) {
        check_faces(shapes[seed % 5], 63, seed);
    }
}

TEST_MAIN(NULL, NULL)
