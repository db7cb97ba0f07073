/* Single cells, what is kept of every cell, the heat flux, and what leaves for files: every backend
 * against a plain computation on the host, bit for bit. */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/derived_cell.h"
#include "kernels/cell/extract_cell.h"

/* One field with a full halo, and the layout of what is kept of it. */
struct scene {
    struct rig rig;
    struct layout layout;
    struct layout kept;
    void *h_field;
    void *d_field;
    uint64_t random;
};

static const int64_t shapes[][AXIS_COUNT] = {{37, 11, 9}, {1, 1, 1},  {300, 1, 1},
                                             {5, 64, 1},  {2, 3, 70}, {513, 2, 3}};
enum { NSHAPES = sizeof shapes / sizeof shapes[0] };

static void fill(struct scene *scene)
{
    const int64_t *n = scene->layout.cells;
    const int *halo = scene->layout.halo;
    for (int64_t k = -halo[2]; k < n[2] + halo[2]; k++) {
        for (int64_t j = -halo[1]; j < n[1] + halo[1]; j++) {
            for (int64_t i = -halo[0]; i < n[0] + halo[0]; i++) {
                host_set(&scene->layout, scene->h_field, layout_index(&scene->layout, i, j, k),
                         random_between(&scene->random, 200, 900));
            }
        }
    }
}

static void scene_open(struct scene *scene, const struct backend *backend, const int64_t *cells,
                       enum precision precision)
{
    static const int none[AXIS_COUNT] = {0, 0, 0};
    int halo[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        halo[a] = cells[a] > 1 ? 1 : 0;
    }
    memset(scene, 0, sizeof *scene);
    scene->random = (uint64_t)cells[0] * 977 + (uint64_t)cells[1];
    rig_open(&scene->rig, backend);
    must(layout_create(cells, halo, precision, &scene->layout));
    must(layout_create(cells, none, PRECISION_FLOAT64, &scene->kept));
    scene->h_field = host_field(&scene->layout);
    fill(scene);
    scene->d_field = rig_upload(&scene->rig, scene->h_field, layout_bytes(&scene->layout));
}

static void scene_close(struct scene *scene)
{
    scene->rig.backend->runtime->memory_free(scene->rig.device, scene->d_field);
    free(scene->h_field);
    rig_close(&scene->rig);
}

static void for_each_scene(void (*check)(struct scene *scene))
{
    for (int b = 0; b < rig_backend_count(); b++) {
        for (int s = 0; s < NSHAPES; s++) {
            for (int p = 0; p < 2; p++) {
                struct scene scene;
                scene_open(&scene, rig_backend_at(b), shapes[s],
                           p == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32);
                check(&scene);
                scene_close(&scene);
            }
        }
    }
}

static void check_gather(struct scene *scene)
{
    enum { COUNT = 1000 };
    const struct layout *layout = &scene->layout;
    const size_t bytes = precision_bytes(layout->precision);
    const struct backend *backend = scene->rig.backend;
    int64_t elements[COUNT];
    for (int c = 0; c < COUNT; c++) {
        const int64_t *n = layout->cells;
        elements[c] =
            layout_index(layout, random_below(&scene->random, n[0]),
                         random_below(&scene->random, n[1]), random_below(&scene->random, n[2]));
    }
    int64_t *d_elements = rig_upload(&scene->rig, elements, sizeof elements);
    void *d_values = NULL;
    must(backend->runtime->memory_alloc(scene->rig.device, COUNT * bytes, &d_values));
    must(ENQUEUE(backend->operations, gather, scene->rig.queue, .precision = layout->precision,
                 .d_field = scene->d_field, .d_elements = d_elements, .count = COUNT,
                 .d_values = d_values));
    must(ENQUEUE(backend->operations, gather, scene->rig.queue, .precision = layout->precision,
                 .d_field = scene->d_field, .d_elements = d_elements, .count = 0,
                 .d_values = d_values));
    char *values = rig_download(&scene->rig, d_values, COUNT * bytes);
    for (size_t c = 0; c < COUNT; c++) {
        assert_memory_equal(values + c * bytes,
                            (char *)scene->h_field + (size_t)elements[c] * bytes, bytes);
    }
    free(values);
    backend->runtime->memory_free(scene->rig.device, d_values);
    backend->runtime->memory_free(scene->rig.device, d_elements);
}

TEST(single_cells_are_gathered)
{
    for_each_scene(check_gather);
}

static void cool_plainly(const struct track_sample *args, double before, double t, double *since,
                         double *rate)
{
    if (before >= 700 && t < 700) {
        *since = derived_passage(args, before, t, 700);
    }
    if (before >= 550 && t < 550 && !isnan(*since)) {
        *rate = 150 / (derived_passage(args, before, t, 550) - *since);
        *since = NAN;
    }
}

static void sample_plainly(const struct scene *scene, const struct track_sample *args,
                           double *kept[TRACK_COUNT])
{
    const int64_t *n = scene->layout.cells;
    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        const int64_t i = c % n[0];
        const int64_t j = c / n[0] % n[1];
        const int64_t k = c / (n[0] * n[1]);
        const int64_t at = layout_index(&scene->kept, i, j, k);
        const double t =
            host_get(&scene->layout, scene->h_field, layout_index(&scene->layout, i, j, k));
        const double before = kept[TRACK_PREVIOUS][at]; /* NaN: compares false */
        for (int f = 0; f < TRACK_COUNT; f++) {
            const bool counts = f == TRACK_ABOVE || f == TRACK_MELTINGS || f == TRACK_DOSE;
            kept[f][at] = args->first && counts ? 0 : kept[f][at];
        }
        if (isnan(kept[TRACK_HIGHEST][at]) || t > kept[TRACK_HIGHEST][at]) {
            kept[TRACK_HIGHEST][at] = t;
        }
        if (isnan(kept[TRACK_ARRIVAL][at]) && t >= args->isotherm) {
            kept[TRACK_ARRIVAL][at] = args->time;
        }
        if (isnan(kept[TRACK_MELTED][at]) && t > args->melting) {
            kept[TRACK_MELTED][at] = args->time;
        }
        if (t > args->threshold) {
            kept[TRACK_ABOVE][at] += args->weight;
        }
        cool_plainly(args, before, t, &kept[TRACK_COOLED][at], &kept[TRACK_COOLING][at]);
        if (before > args->melting && t <= args->melting) {
            kept[TRACK_FROZEN][at] = args->time;
        }
        kept[TRACK_MELTINGS][at] += t > args->melting && !(before > args->melting) ? 1 : 0;
        kept[TRACK_DOSE][at] = fma(args->weight / 60, derived_dose_rate(t), kept[TRACK_DOSE][at]);
        kept[TRACK_PREVIOUS][at] = t;
    }
}

static void expect_equal(struct scene *scene, const double *wanted, const double *d_found)
{
    double *found = rig_download(&scene->rig, d_found, layout_bytes(&scene->kept));
    assert_memory_equal(found, wanted, layout_bytes(&scene->kept));
    free(found);
}

static double *device_field(struct scene *scene)
{
    void *d_memory = NULL;
    must(scene->rig.backend->runtime->memory_alloc(scene->rig.device, layout_bytes(&scene->kept),
                                                   &d_memory));
    return d_memory;
}

/* A sample of all fields, and one of each of some: what is not wanted is left alone. */
static void track(struct scene *scene, const struct track_sample *all, double *const d_alone[],
                  const int *some, int nsome)
{
    const struct backend *backend = scene->rig.backend;
    struct track_args args = {
        .layout = scene->layout, .kept = scene->kept, .sample = *all, .d_field = scene->d_field};
    must(backend->operations->track(scene->rig.queue, &args));
    for (int s = 0; s < nsome; s++) {
        memset((void *)args.sample.d_kept, 0, sizeof args.sample.d_kept);
        args.sample.d_kept[some[s]] = d_alone[s];
        must(backend->operations->track(scene->rig.queue, &args));
    }
    must(backend->runtime->queue_wait(scene->rig.queue));
}

static void check_track(struct scene *scene)
{
    enum { SAMPLES = 6, SOME = 3 };
    static const int some[SOME] = {TRACK_HIGHEST, TRACK_MELTED, TRACK_DOSE};
    const struct runtime *runtime = scene->rig.backend->runtime;
    struct track_sample args = {
        .isotherm = 700, .threshold = 650, .melting = 600, .cooling = {700, 550}};
    double *kept[TRACK_COUNT];
    double *d_alone[SOME];
    for (int f = 0; f < TRACK_COUNT; f++) {
        kept[f] = host_field(&scene->kept);
        args.d_kept[f] = device_field(scene);
    }
    for (int s = 0; s < SOME; s++) {
        d_alone[s] = device_field(scene);
    }
    for (int s = 0; s < SAMPLES; s++) {
        fill(scene);
        /* exactly at the temperatures, as at a melting point */
        host_set(&scene->layout, scene->h_field, layout_index(&scene->layout, 0, 0, 0),
                 s % 2 == 0 ? 600 : 700);
        must(runtime->copy_to_device(scene->rig.queue, scene->d_field, scene->h_field,
                                     layout_bytes(&scene->layout)));
        args.first = s == 0;
        args.weight = s == 0 ? 0 : 0.1 / s;
        args.time = 0.37 * s;
        track(scene, &args, d_alone, some, SOME);
        sample_plainly(scene, &args, kept);
    }
    for (int s = 0; s < SOME; s++) {
        expect_equal(scene, kept[some[s]], d_alone[s]);
        runtime->memory_free(scene->rig.device, d_alone[s]);
    }
    for (int f = 0; f < TRACK_COUNT; f++) {
        expect_equal(scene, kept[f], args.d_kept[f]);
        runtime->memory_free(scene->rig.device, args.d_kept[f]);
        free(kept[f]);
    }
}

TEST(samples_are_kept)
{
    for_each_scene(check_track);
}

TEST(doses_follow_sapareto_and_dewey)
{
    assert_true(derived_dose_rate(43 + 273.15) == 1);
    for (int n = -800; n <= 270; n++) {
        const double beyond = 0.37 * n;
        const double wanted = pow(beyond < 0 ? 0.25 : 0.5, -beyond);
        assert_true(fabs(derived_dose_rate(316.15 + beyond) / wanted - 1) < 2e-12);
    }
    assert_true(derived_dose_rate(3000) == derived_dose_rate(416.15));
    assert_true(derived_dose_rate(-1e9) > 0);
}

/* Values that every precision holds: then the plain formula has no rounding of its own. */
static double plain_flux_squared(const struct scene *scene, const struct flux_squared_args *args,
                                 int64_t i, int64_t j, int64_t k)
{
    const int64_t at[AXIS_COUNT] = {i, j, k};
    double squared = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        double side[SIDE_COUNT];
        for (int s = 0; s < SIDE_COUNT; s++) {
            const enum face face = face_of((enum axis)a, (enum side)s);
            const int64_t edge = s == SIDE_MIN ? 0 : scene->layout.cells[a] - 1;
            int64_t next[AXIS_COUNT] = {i, j, k};
            next[a] += s == SIDE_MIN ? -1 : 1;
            const bool closed = at[a] == edge && args->around->closed[face];
            const int64_t *from = closed ? at : next;
            side[s] = host_get(&scene->layout, scene->h_field,
                               layout_index(&scene->layout, from[0], from[1], from[2]));
            side[s] = closed ? args->around->a[face] * side[s] + args->around->b[face] : side[s];
        }
        const double q = args->scale[a] * (side[SIDE_MIN] - side[SIDE_MAX]);
        squared += q * q;
    }
    return squared;
}

static void check_flux(struct scene *scene)
{
    const struct backend *backend = scene->rig.backend;
    const int64_t *n = scene->layout.cells;
    struct coefficients around = {.a = {-1, 0.5, 1, -1, 0.25, 1}, .b = {600, 300, 0, 800, 100, 32}};
    struct flux_squared_args args = {.layout = scene->layout,
                                     .kept = scene->kept,
                                     .around = &around,
                                     .d_field = scene->d_field,
                                     .d_flux = device_field(scene)};
    for (int a = 0; a < AXIS_COUNT; a++) {
        const bool used = n[a] > 1;
        args.scale[a] = used ? 3.25 / (a + 1) : 0;
        /* the upper face of y open where there is a halo */
        around.closed[2 * a] = true;
        around.closed[2 * a + 1] = !used || a != AXIS_Y;
        if (!used) {
            around.a[2 * a] = around.a[2 * a + 1] = 1;
            around.b[2 * a] = around.b[2 * a + 1] = 0;
        }
    }
    must(backend->operations->flux_squared(scene->rig.queue, &args));
    double *flux = rig_download(&scene->rig, args.d_flux, layout_bytes(&scene->kept));
    for (int64_t k = 0; k < n[2]; k++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t i = 0; i < n[0]; i++) {
                const double wanted = plain_flux_squared(scene, &args, i, j, k);
                const double found = flux[layout_index(&scene->kept, i, j, k)];
                assert_true(fabs(found - wanted) <= 1e-12 * wanted);
            }
        }
    }
    free(flux);
    backend->runtime->memory_free(scene->rig.device, args.d_flux);
}

TEST(heat_flux_is_that_of_the_faces)
{
    for_each_scene(check_flux);
}

/* All backends agree to the last bit with the first of them. */
TEST(backends_agree_on_the_flux)
{
    for (int s = 0; s < NSHAPES; s++) {
        double *wanted = NULL;
        for (int b = 0; b < rig_backend_count(); b++) {
            struct scene scene;
            scene_open(&scene, rig_backend_at(b), shapes[s], PRECISION_FLOAT64);
            struct coefficients around = {.kind = KIND_UNIFORM};
            const struct flux_squared_args args = {.layout = scene.layout,
                                                   .kept = scene.kept,
                                                   .around = &around,
                                                   .scale = {1.1, 0.7, 1.3},
                                                   .d_field = scene.d_field,
                                                   .d_flux = device_field(&scene)};
            for (int f = 0; f < FACE_COUNT; f++) {
                around.closed[f] = true;
                around.a[f] = 0.3 * f - 1;
                around.b[f] = 100.1 * f;
            }
            must(scene.rig.backend->operations->flux_squared(scene.rig.queue, &args));
            double *flux = rig_download(&scene.rig, args.d_flux, layout_bytes(&scene.kept));
            scene.rig.backend->runtime->memory_free(scene.rig.device, args.d_flux);
            if (b == 0) {
                wanted = flux;
            } else {
                assert_memory_equal(flux, wanted, layout_bytes(&scene.kept));
                free(flux);
            }
            scene_close(&scene);
        }
        free(wanted);
    }
}

/* Where conversions are hard: ties, what is too small or too large for a float, NaNs. */
static double hard_value(uint64_t *random, bool is_square)
{
    static const double values[] = {
        0,       1,       0x1p-149, 0x1.8p-149,  0x1p-1074,
        1 / 3.0, 0x1p200, 0x1p-610, 0x1.8p-1060, 0x1.fffffffffffffp1023};
    enum { NVALUES = sizeof values / sizeof values[0] };
    const uint64_t bits = random_bits(random) >> 1; /* positive */
    double any;
    memcpy(&any, &bits, sizeof any);
    switch (random_below(random, 4)) {
    case 0:
        return values[random_below(random, NVALUES)];
    case 1: /* half way between two floats */
        return (double)(float)random_between(random, 1, 2) + 0x1p-24;
    case 2:
        return is_square && isnan(any) ? 2 : any;
    default:
        return is_square ? random_between(random, 0, 1e9) : -any;
    }
}

static void fill_hard(struct scene *scene, bool squares)
{
    const int64_t *n = scene->layout.cells;
    for (int64_t k = 0; k < n[2]; k++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t i = 0; i < n[0]; i++) {
                const double value = hard_value(&scene->random, squares);
                host_set(&scene->layout, scene->h_field, layout_index(&scene->layout, i, j, k),
                         value);
            }
        }
    }
    must(scene->rig.backend->runtime->copy_to_device(scene->rig.queue, scene->d_field,
                                                     scene->h_field, layout_bytes(&scene->layout)));
    must(scene->rig.backend->runtime->queue_wait(scene->rig.queue));
}

/* By the compiler's own conversions; of a NaN too, whose bits no formula may change. */
static size_t extract_plainly(const struct scene *scene, const struct extract_args *args,
                              void *values)
{
    const bool from_float64 = scene->layout.precision == PRECISION_FLOAT64;
    size_t at = 0;
    for (int64_t k = 0; k < args->cells[2]; k++) {
        for (int64_t j = 0; j < args->cells[1]; j++) {
            for (int64_t i = 0; i < args->cells[0]; i++, at++) {
                const int64_t from = layout_index(
                    &scene->layout, args->first[0] + i * args->stride[0],
                    args->first[1] + j * args->stride[1], args->first[2] + k * args->stride[2]);
                if (!from_float64) {
                    const float value = ((const float *)scene->h_field)[from];
                    if (args->precision == PRECISION_FLOAT32) {
                        ((float *)values)[at] = value;
                    } else {
                        ((double *)values)[at] = (double)value;
                    }
                    continue;
                }
                const double value = ((const double *)scene->h_field)[from];
                const double wanted = args->root ? sqrt(value) : value;
                if (args->precision == PRECISION_FLOAT32) {
                    ((float *)values)[at] = (float)wanted;
                } else {
                    ((double *)values)[at] = wanted;
                }
            }
        }
    }
    return at * precision_bytes(args->precision);
}

static void check_one_extract(struct scene *scene, struct extract_args *args)
{
    const struct backend *backend = scene->rig.backend;
    const size_t most = (size_t)(args->cells[0] * args->cells[1] * args->cells[2] + 1) * 8;
    char *wanted = malloc(most);
    assert_non_null(wanted);
    memset(wanted, 0xFF, most); /* what lies behind stays as it is */
    (void)extract_plainly(scene, args, wanted);
    must(backend->runtime->memory_alloc(scene->rig.device, most, &args->d_values));
    must(backend->operations->extract(scene->rig.queue, args));
    char *found = rig_download(&scene->rig, args->d_values, most);
    assert_memory_equal(found, wanted, most);
    backend->runtime->memory_free(scene->rig.device, args->d_values);
    free(found);
    free(wanted);
}

static void check_extract(struct scene *scene)
{
    const int64_t *n = scene->layout.cells;
    for (int form = 0; form < 16; form++) {
        struct extract_args args = {
            .layout = scene->layout,
            .d_field = scene->d_field,
            .root = form % 4 == 3 && scene->layout.precision == PRECISION_FLOAT64,
            .precision = form % 2 == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32};
        if (form % 8 == 2 && scene->layout.precision == PRECISION_FLOAT64) {
            args.root = true;
        }
        for (int a = 0; a < AXIS_COUNT; a++) {
            args.first[a] = form < 4 ? 0 : random_below(&scene->random, n[a]);
            args.stride[a] = form < 8 ? 1 : 1 + random_below(&scene->random, 4);
            args.cells[a] = (n[a] - args.first[a] + args.stride[a] - 1) / args.stride[a];
        }
        fill_hard(scene, args.root);
        check_one_extract(scene, &args);
    }
}

TEST(cells_leave_with_the_hosts_bits)
{
    for_each_scene(check_extract);
}

/* What a device that rounds roots otherwise would guess. */
TEST(a_root_is_the_nearest_from_any_guess)
{
    uint64_t random = 5;
    for (int round = 0; round < 200000; round++) {
        const int64_t exponent = random_below(&random, 600);
        double square = ldexp(random_between(&random, 1, 2), (int)exponent - 300);
        if (round % 3 == 0) { /* beside a square, and beside a power of two */
            const double root = round % 2 == 0 ? ldexp(1, (int)exponent / 2 - 150)
                                               : ldexp(random_between(&random, 1, 2), 3);
            square = extract_beside(root * root, (int)random_below(&random, 5) - 2);
        }
        const double wanted = sqrt(square);
        for (int off = -3; off <= 3; off++) {
            const double found = extract_nearest_root(square, extract_beside(wanted, off));
            assert_true(found == wanted);
        }
        assert_true(extract_root(square) == wanted);
    }
}

TEST_MAIN(NULL, NULL)
