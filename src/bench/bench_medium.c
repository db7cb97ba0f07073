#include "bench/bench_parts.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"

enum pattern { LAYERS, LAYERS_X, BLOCKS, RANDOM, ALLOY, FACES, PATTERN_COUNT };
static const char *const pattern_names[PATTERN_COUNT] = {"layers", "layers_x", "blocks",
                                                         "random", "alloy",    "faces"};

static enum status read_word(const char *word, enum pattern *pattern, int *nclasses)
{
    const char *colon = strchr(word, ':');
    const size_t length = colon != NULL ? (size_t)(colon - word) : 0;
    char *end = NULL;
    const long count = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    for (int p = 0; p < PATTERN_COUNT; p++) {
        if (length == strlen(pattern_names[p]) && strncmp(word, pattern_names[p], length) == 0 &&
            *end == '\0' && count >= 1 && count <= MEDIUM_CLASSES) {
            *pattern = (enum pattern)p;
            *nclasses = (int)count;
            return STATUS_OK;
        }
    }
    return fail(STATUS_INPUT,
                "--medium %s: give layers:N, layers_x:N, blocks:N, random:N, alloy:N or faces:N, "
                "with 1 to %d classes",
                word, MEDIUM_CLASSES);
}

enum status bench_media_check(const struct option_list *words)
{
    for (int m = 0; m < words->count; m++) {
        enum pattern pattern;
        int nclasses;
        TRY(read_word(words->item[m], &pattern, &nclasses));
    }
    return STATUS_OK;
}

static int64_t clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : (i < n ? i : n - 1);
}

static uint8_t class_of(enum pattern pattern, int nclasses, const int64_t n[AXIS_COUNT], int64_t i,
                        int64_t j, int64_t k)
{
    int64_t edge = 1; /* blocks along each axis */
    while (edge * edge * edge < nclasses) {
        edge++;
    }
    switch (pattern) {
    case LAYERS:
        return (uint8_t)(k * nclasses / n[AXIS_Z]);
    case LAYERS_X:
        return (uint8_t)(i * nclasses / n[AXIS_X]);
    case BLOCKS:
    case ALLOY:
    case FACES: {
        const int64_t x = i * edge / n[AXIS_X];
        const int64_t y = j * edge / n[AXIS_Y];
        const int64_t z = k * edge / n[AXIS_Z];
        return (uint8_t)(((z * edge + y) * edge + x) % nclasses);
    }
    default:
        return (uint8_t)(heat_mix64((uint64_t)((k * n[AXIS_Y] + j) * n[AXIS_X] + i)) %
                         (uint64_t)nclasses);
    }
}

/* Host memory to fresh device memory. */
static enum status upload(struct bench_place *place, const void *h_bytes, size_t bytes,
                          void **d_bytes)
{
    TRY(bench_place_alloc(place, bytes, d_bytes));
    TRY(place->backend->runtime->copy_to_device(place->queue, *d_bytes, h_bytes, bytes));
    return place->backend->runtime->queue_wait(place->queue);
}

static enum status upload_classes(struct bench_place *place, enum pattern pattern,
                                  struct device_medium *medium)
{
    const struct layout *l = &medium->layout;
    const int64_t *n = l->cells;
    SCOPED_FREE uint8_t *classes = calloc(1, (size_t)l->elements);
    TRY(CHECK_MEMORY(classes, "the classes"));
    for (int64_t k = -l->halo[AXIS_Z]; k < n[AXIS_Z] + l->halo[AXIS_Z]; k++) {
        for (int64_t j = -l->halo[AXIS_Y]; j < n[AXIS_Y] + l->halo[AXIS_Y]; j++) {
            for (int64_t i = -1; i <= n[AXIS_X]; i++) {
                classes[layout_index(l, i, j, k)] =
                    class_of(pattern, medium->nclasses, n, clamped(i, n[AXIS_X]),
                             clamped(j, n[AXIS_Y]), clamped(k, n[AXIS_Z]));
            }
        }
    }
    medium->mask = classes_flag(l, medium->nclasses, classes);
    medium->numbered = true;
    return upload(place, classes, (size_t)l->elements, (void **)&medium->d_class);
}

static double coefficient(int64_t at)
{
    return 0.05 + 0.1 * (double)(heat_mix64((uint64_t)at) >> 11) * 0x1p-53;
}

static enum status upload_table(struct bench_place *place, enum precision precision,
                                struct device_medium *medium)
{
    const int n = medium->nclasses;
    const size_t nvalues = (size_t)medium_table_length(n, n);
    SCOPED_FREE void *table = calloc(nvalues, precision_bytes(precision));
    TRY(CHECK_MEMORY(table != NULL, "the table of coefficients"));
    for (int c = 0; c < n; c++) {
        precision_set(precision, table, medium_cell_at(c), 1.0 - coefficient(c));
        for (int other = 0; other < n; other++) {
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                precision_set(precision, table, medium_g_at(n, axis, c, other),
                              coefficient((c + 1) * (other + 1)));
            }
        }
        for (int face = 0; face < FACE_COUNT; face++) { /* a fixed temperature */
            precision_set(precision, table, medium_closure_at(n, n, face, c), -1.0);
            precision_set(precision, table, medium_closure_at(n, n, face, c) + 1, 600.0);
        }
    }
    medium->same_axes = classes_same_axes(table, precision, n);
    medium->radiating = classes_radiating(table, precision, n, n);
    return upload(place, table, nvalues * precision_bytes(precision), (void **)&medium->d_table);
}

/* A full table of segments, three of which the values of bench_fill, 300 to 314 K, lie in: solid,
 * melting and liquid, so that nearly every line of cells has two or three of them. */
static void set_alloy(enum precision precision, const struct device_medium *m, int of_class,
                      void *table)
{
    const int64_t numbers = nonlinear_class_at(m->nclasses, m->nclosures, of_class);
    const int64_t at = nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, of_class);
    double t = 0;
    double k = 1.0;
    double theta = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double w = 5.0 + 0.1 * of_class;
        precision_set(precision, table, numbers + NONLINEAR_W + axis, w);
        precision_set(precision, table, numbers + NONLINEAR_R + axis, 1 / (2 * w));
    }
    for (int s = 0; s < m->nsegments; s++) {
        const int melting = m->nsegments / 2;
        const double begin = s < melting    ? 305.0 * s / melting
                             : s == melting ? 305.0
                                            : 310.0 + 20.0 * (s - melting - 1);
        const double end = s < melting    ? 305.0 * (s + 1) / melting
                           : s == melting ? 310.0
                                          : 310.0 + 20.0 * (s - melting);
        const double slope = s == melting ? 0.1 : 0.8;
        const double k_slope = s == melting ? -0.08 : s < melting ? 0.001 : -0.0005;
        const double values[NONLINEAR_SEGMENT] = {
            t, slope, k, k_slope, theta, slope * k, slope * k_slope / 2};
        precision_set(precision, table, at + s, begin);
        for (int v = 0; v < NONLINEAR_SEGMENT; v++) {
            precision_set(precision, table, at + m->nsegments + NONLINEAR_SEGMENT * (int64_t)s + v,
                          values[v]);
        }
        theta += slope * (end - begin) * (k + k_slope * (end - begin) / 2);
        t += slope * (end - begin);
        k += k_slope * (end - begin);
    }
}

static enum status upload_alloy(struct bench_place *place, enum precision precision,
                                struct device_medium *medium)
{
    const int n = medium->nclasses;
    medium->nsegments = NONLINEAR_SEGMENTS;
    medium->one_curve = n == 1;
    const size_t nvalues = (size_t)nonlinear_table_length(n, n, medium->nsegments);
    SCOPED_FREE void *table = calloc(nvalues, precision_bytes(precision));
    TRY(CHECK_MEMORY(table != NULL, "the table of coefficients"));
    for (int c = 0; c < n; c++) {
        precision_set(precision, table, medium_cell_at(c), 1.0);
        set_alloy(precision, medium, c, table);
        for (int i = 0; i < AXIS_COUNT * n; i++) { /* contact resistances */
            precision_set(precision, table, medium_g_at(n, i / n, c, i % n),
                          c == i % n ? NONLINEAR_ONE_CURVE : 0.5);
        }
        for (int face = 0; face < FACE_COUNT; face++) { /* a fixed temperature */
            precision_set(precision, table, medium_closure_at(n, n, face, c), 300.0);
            precision_set(precision, table, medium_closure_at(n, n, face, c) + 1, 1.0);
            precision_set(precision, table, medium_closure_at(n, n, face, c) + 3, 1.0);
        }
    }
    return upload(place, table, nvalues * precision_bytes(precision), (void **)&medium->d_table);
}

/* Conductances and 1/sigma differ from cell to cell; all arrays have equal values, which a kernel
 * cannot know. Faces have a fixed temperature. */
static enum status upload_faces(struct bench_place *place, enum precision precision,
                                struct device_medium *medium)
{
    const int n = medium->nclasses;
    const struct layout *l = &medium->layout;
    const size_t bytes = (size_t)l->elements * precision_bytes(precision);
    const size_t nvalues = (size_t)medium_table_length(n, n);
    SCOPED_FREE void *values = malloc(bytes);
    SCOPED_FREE void *table = calloc(nvalues, precision_bytes(precision));
    TRY(CHECK_MEMORY(values != NULL && table != NULL, "the conductances"));
    for (int64_t at = 0; at < l->elements; at++) {
        precision_set(precision, values, at, coefficient(at));
    }
    for (int i = 0; i < FACE_COUNT * n; i++) {
        const int64_t at = medium_closure_at(n, n, i / n, i % n);
        precision_set(precision, table, at, 300.0);
        precision_set(precision, table, at + 1, 1.0);
        precision_set(precision, table, at + 3, 1.0);
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (l->cells[axis] > 1) {
            TRY(upload(place, values, bytes, (void **)&medium->d_g[axis]));
        }
    }
    medium->dt = 1.0;
    medium->weight_factor = 1.0;
    medium->radiating = classes_radiating(table, precision, n, n);
    TRY(upload(place, values, bytes, (void **)&medium->d_sigma));
    return upload(place, table, nvalues * precision_bytes(precision), (void **)&medium->d_table);
}

static enum status create(struct bench_place *place, const struct layout *field, const char *word,
                          struct device_medium *medium)
{
    enum pattern pattern;
    bool used[AXIS_COUNT];
    TRY(read_word(word, &pattern, &medium->nclasses));
    medium->nclosures = medium->nclasses;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        used[axis] = field->cells[axis] > 1;
    }
    layout_of_classes(field->cells, used, 1, &medium->layout);
    TRY(upload_classes(place, pattern, medium));
    return pattern == ALLOY   ? upload_alloy(place, field->precision, medium)
           : pattern == FACES ? upload_faces(place, field->precision, medium)
                              : upload_table(place, field->precision, medium);
}

enum status bench_media_create(struct bench_place *place, const struct layout *field,
                               const struct option_list *words,
                               struct device_medium media[OPTIONS_MAX_LIST])
{
    for (int m = 0; m < words->count; m++) {
        TRY(create(place, field, words->item[m], &media[m]));
    }
    return STATUS_OK;
}
