/* Heat sources: every backend against a plain computation on the host, bit for bit. */
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3 };

/* One field, with the classes of its cells. */
struct scene {
    struct rig rig;
    struct layout layout, class_layout;
    void *h_field, *h_old;
    uint8_t *h_class;
    float *h_values;
    double sigma[CLASSES];
    uint64_t random;
};

static const int64_t shapes[][AXIS_COUNT] = {
    {37, 11, 9}, {300, 1, 1}, {5, 64, 1}, {2, 3, 70}, {70, 40, 30}};
enum { NSHAPES = sizeof shapes / sizeof shapes[0] };

static void scene_open(struct scene *scene, const struct backend *backend, const int64_t *cells,
                       enum precision precision)
{
    int halo[AXIS_COUNT];
    bool used[AXIS_COUNT];
    int64_t total = 1;
    memset(scene, 0, sizeof *scene);
    scene->random = (uint64_t)cells[0] * 977 + (uint64_t)cells[1];
    for (int a = 0; a < AXIS_COUNT; a++) {
        used[a] = cells[a] > 1;
        halo[a] = used[a] ? 1 : 0;
        total *= cells[a];
    }
    rig_open(&scene->rig, backend);
    must(layout_create(cells, halo, precision, &scene->layout));
    layout_of_classes(cells, used, 1, &scene->class_layout);
    scene->h_field = host_field(&scene->layout);
    scene->h_old = host_field(&scene->layout);
    scene->h_class = calloc(1, (size_t)scene->class_layout.elements);
    scene->h_values = calloc((size_t)total, sizeof *scene->h_values);
    assert_true(scene->h_class != NULL && scene->h_values != NULL);
    for (int64_t c = 0; c < total; c++) {
        const int64_t i = c % cells[0];
        const int64_t j = c / cells[0] % cells[1];
        const int64_t k = c / cells[0] / cells[1];
        host_set(&scene->layout, scene->h_field, layout_index(&scene->layout, i, j, k),
                 c % 7 == 0 ? -0.0 : random_between(&scene->random, 200, 900));
        host_set(&scene->layout, scene->h_old, layout_index(&scene->layout, i, j, k),
                 random_between(&scene->random, 200, 900));
        scene->h_class[layout_index(&scene->class_layout, i, j, k)] =
            (uint8_t)random_below(&scene->random, CLASSES);
        scene->h_values[c] = (float)random_between(&scene->random, -1e6, 1e6);
    }
    for (int c = 0; c < CLASSES; c++) {
        const double sigma = 1.0 / (1 + c);
        scene->sigma[c] = precision_round(precision, sigma);
    }
}

static void scene_close(struct scene *scene)
{
    free(scene->h_field);
    free(scene->h_old);
    free(scene->h_class);
    free(scene->h_values);
    rig_close(&scene->rig);
}

/* An ellipsoid askew about an axis, in the middle of the field, partly beyond the cut. */
static struct add_source_args some_source(struct scene *scene, bool half)
{
    const double angle = random_between(&scene->random, 0, 6);
    struct add_source_args args = {.offset = {1000, 20, 3}};
    struct source_shape *shape = &args.shape;
    *shape = (struct source_shape){.front = 0.3,
                                   .rear = 0.05,
                                   .side = 0.2,
                                   .deep = 0.1,
                                   .peak_front = 3.7,
                                   .peak_rear = -2.9,
                                   .half = half};
    for (int a = 0; a < AXIS_COUNT; a++) {
        shape->spacing[a] = 1 + 0.3 * a;
        shape->start[a] = -shape->spacing[a] *
                          ((double)args.offset[a] + (double)scene->layout.cells[a] / 2 + 0.1 * a);
    }
    const int w = random_below(&scene->random, AXIS_COUNT);
    const int u = (w + 1) % AXIS_COUNT;
    const int v = (w + 2) % AXIS_COUNT;
    shape->turn[0][u] = cos(angle);
    shape->turn[0][v] = sin(angle);
    shape->turn[1][u] = -sin(angle);
    shape->turn[1][v] = cos(angle);
    shape->turn[2][w] = random_below(&scene->random, 2) == 0 ? 1 : -1;
    if (random_below(&scene->random, 2) == 0) { /* sums without whole parts */
        shape->peak_front = 0.49;
        shape->peak_rear = -0.37;
    }
    return args;
}

static const struct source_curve curve = {.count = 3,
                                          .low = 250,
                                          .high = 800,
                                          .at = {250, 300, 500},
                                          .value = {1, -0.5, 2},
                                          .slope = {-0.03, 0.0125, 0.001}};

/* On the host; returns the exact sum. */
static struct exact_sum add_plainly(struct scene *scene, const struct add_source_args *args,
                                    const struct box *box)
{
    const int64_t *n = scene->layout.cells;
    const bool single = scene->layout.precision == PRECISION_FLOAT32;
    struct exact_sum sum = {{0}};
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++) {
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++) {
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++) {
                double heat =
                    source_cell(&args->shape, (double)(args->offset[0] + i),
                                (double)(args->offset[1] + j), (double)(args->offset[2] + k));
                if (args->d_values != NULL) {
                    heat =
                        args->shape.peak_front * (double)scene->h_values[(k * n[1] + j) * n[0] + i];
                }
                if (args->d_curve != NULL) {
                    heat *=
                        source_curve_at(&curve, host_get(&scene->layout, scene->h_old,
                                                         layout_index(&scene->layout, i, j, k)));
                }
                heat = precision_round(scene->layout.precision, heat);
                const int of_class = scene->h_class[layout_index(&scene->class_layout, i, j, k)];
                const double sigma = args->medium != NULL ? scene->sigma[of_class] : 1;
                const int64_t at = layout_index(&scene->layout, i, j, k);
                const double before = host_get(&scene->layout, scene->h_field, at);
                const double after = single ? (double)fmaf((float)sigma, (float)heat, (float)before)
                                            : fma(sigma, heat, before);
                /* without heat it keeps its bits, of -0 too */
                host_set(&scene->layout, scene->h_field, at, heat != 0 ? after : before);
                struct exact_parts parts = {{0}};
                exact_parts_add(&parts, heat);
                exact_sum_add_parts(&sum, &parts);
            }
        }
    }
    return sum;
}

static void upload_medium(struct scene *scene, struct device_medium *medium)
{
    char table[2 * CLASSES * sizeof(double)] = {0};
    for (int c = 0; c < CLASSES; c++) {
        precision_set(scene->layout.precision, table, medium_cell_at(c), scene->sigma[c]);
    }
    *medium =
        (struct device_medium){.layout = scene->class_layout, .nclasses = CLASSES, .mask = 0x7f};
    medium->d_class = rig_upload(&scene->rig, scene->h_class, (size_t)scene->class_layout.elements);
    medium->d_table = rig_upload(&scene->rig, table, sizeof table);
}

enum source_kind { SHAPE, HALF, OF_CLASSES, VALUES, CURVE, KINDS };

static void check(struct scene *scene, enum source_kind kind)
{
    const struct runtime *runtime = scene->rig.backend->runtime;
    struct device *device = scene->rig.device;
    const size_t bytes = layout_bytes(&scene->layout);
    const struct box owned = layout_owned(&scene->layout);
    const struct exact_sum zero = {{0}};
    struct exact_sum wanted = {{0}};
    struct device_medium medium = {0};
    struct box pieces[4];
    const int npieces = random_partition(&scene->random, &owned, 4, pieces);
    struct add_source_args args = some_source(scene, kind == HALF);
    if (kind == OF_CLASSES) {
        upload_medium(scene, &medium);
        args.medium = &medium;
    } else if (kind >= VALUES) {
        args.shape.peak_front = 1.7e-6;
        args.d_values = rig_upload(&scene->rig, scene->h_values,
                                   (size_t)box_cells(&owned) * sizeof *scene->h_values);
    }
    if (kind == CURVE) {
        args.d_curve = rig_upload(&scene->rig, &curve, sizeof curve);
        args.d_old = rig_upload(&scene->rig, scene->h_old, bytes);
    }
    void *d_field = rig_upload(&scene->rig, scene->h_field, bytes);
    args.layout = scene->layout;
    args.d_field = d_field;
    args.d_sum = rig_upload(&scene->rig, &zero, sizeof zero);
    for (int p = 0; p + 1 < npieces; p++) { /* the last piece is left as it is */
        const struct exact_sum sum = add_plainly(scene, &args, &pieces[p]);
        exact_sum_add(&wanted, &sum);
        args.box = pieces[p];
        must(scene->rig.backend->operations->add_source(scene->rig.queue, &args));
    }
    void *found = rig_download(&scene->rig, d_field, bytes);
    struct exact_sum *sum = rig_download(&scene->rig, args.d_sum, sizeof zero);
    assert_memory_equal(found, scene->h_field, bytes);
    assert_memory_equal(sum, &wanted, sizeof wanted);
    free(found);
    free(sum);
    runtime->memory_free(device, d_field);
    runtime->memory_free(device, args.d_sum);
    runtime->memory_free(device, (void *)(uintptr_t)args.d_values);
    runtime->memory_free(device, (void *)(uintptr_t)args.d_curve);
    runtime->memory_free(device, (void *)(uintptr_t)args.d_old);
    runtime->memory_free(device, (void *)(uintptr_t)medium.d_class);
    runtime->memory_free(device, (void *)(uintptr_t)medium.d_table);
}

TEST(test_sources)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        for (int n = 0; n < 2 * NSHAPES * KINDS; n++) {
            struct scene scene;
            scene_open(&scene, rig_backend_at(b), shapes[n / 2 % NSHAPES],
                       n % 2 == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32);
            check(&scene, (enum source_kind)(n / 2 / NSHAPES));
            scene_close(&scene);
        }
    }
}

TEST_MAIN(NULL, NULL)
