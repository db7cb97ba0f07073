#include "medium_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/medium_cell.h"

int problem_class(const struct problem *p, int64_t i, int64_t j, int64_t k)
{
    return p->medium.d_class[layout_index(&p->medium.layout, i, j, k)] & p->medium.mask;
}

static double table_at(const struct problem *p, int64_t at)
{
    return host_get(&p->layout, p->medium.d_table, at);
}

struct beyond problem_beyond(const struct problem *p, const int64_t cell[AXIS_COUNT],
                             enum face face)
{
    const struct device_medium *m = &p->medium;
    const enum axis axis = face_axis(face);
    const int64_t step = face_side(face) == SIDE_MIN ? -1 : 1;
    const int64_t *n = p->layout.cells;
    int64_t next[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    next[axis] += step;
    const bool outside = cell[axis] == (step < 0 ? 0 : n[axis] - 1);
    const int own = problem_class(p, cell[0], cell[1], cell[2]);
    int other = own;
    if (m->layout.halo[axis] > 0) {
        other = problem_class(p, next[0], next[1], next[2]);
    }
    struct beyond side = {.g = table_at(p, medium_g_at(m->nclasses, (int)axis, own, other))};
    if (!outside || !p->args.closed[face]) {
        side.value =
            host_get(&p->layout, p->h_in, layout_index(&p->layout, next[0], next[1], next[2]));
        return side;
    }
    const int closure =
        medium_closure(m->d_patch[face], m->patch_pitch[face], m->nclasses, (int)face, cell, own);
    const int64_t at = medium_closure_at(m->nclasses, m->nclosures, (int)face, closure);
    const double c =
        host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
    const double a = table_at(p, at);
    const double b = table_at(p, at + 1);
    const double e = table_at(p, at + 2);
    side.closed = true;
    side.value = p->layout.precision == PRECISION_FLOAT64
                     ? medium_outside_float64(c, a, b, e)
                     : (double)medium_outside_float32((float)c, (float)a, (float)b, (float)e);
    return side;
}

static void reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                           __int128 sums[FACE_COUNT])
{
    if (p->medium.nsegments > 0) {
        nonlinear_reference_cell(p, cell, sums);
        return;
    }
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double c = host_get(&p->layout, p->h_in, at);
    const int own = problem_class(p, cell[0], cell[1], cell[2]);
    const double sigma = table_at(p, medium_cell_at(own));
    const double q = table_at(p, medium_cell_at(own) + 1);
    const bool wide = p->layout.precision == PRECISION_FLOAT64;
    struct beyond s[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        s[face] = problem_beyond(p, cell, (enum face)face);
        if (s[face].closed) {
            const double difference =
                wide ? s[face].value - c : (double)((float)s[face].value - (float)c);
            sums[face] += fixed_point(s[face].g * difference);
        }
    }
    if (wide) {
        ((double *)p->h_expected)[at] = medium_cell_float64(
            c, s[0].value, s[1].value, s[2].value, s[3].value, s[4].value, s[5].value, s[0].g,
            s[1].g, s[2].g, s[3].g, s[4].g, s[5].g, sigma, q);
    } else {
        ((float *)p->h_expected)[at] = medium_cell_float32(
            (float)c, (float)s[0].value, (float)s[1].value, (float)s[2].value, (float)s[3].value,
            (float)s[4].value, (float)s[5].value, (float)s[0].g, (float)s[1].g, (float)s[2].g,
            (float)s[3].g, (float)s[4].g, (float)s[5].g, (float)sigma, (float)q);
    }
}

void problem_solve(struct problem *p)
{
    memcpy(p->h_expected, p->h_out, layout_bytes(&p->layout));
    __int128 sums[FACE_COUNT] = {0};
    for (int b = 0; b < p->nboxes; b++) {
        const struct box *box = &p->boxes[b];
        for (int64_t k = box->lo[2]; k < box->hi[2]; k++) {
            for (int64_t j = box->lo[1]; j < box->hi[1]; j++) {
                for (int64_t i = box->lo[0]; i < box->hi[0]; i++) {
                    reference_cell(p, (const int64_t[]){i, j, k}, sums);
                }
            }
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        p->face_sum[face] = fixed_digits(sums[face]);
    }
}

/* The class of a cell, halo included; the cells beyond closed faces repeat those inside. */
static int choose_class(const struct problem *p, enum pattern pattern, const int64_t edge[],
                        int64_t i, int64_t j, int64_t k, uint64_t *random)
{
    const int n = p->medium.nclasses;
    const uint64_t x = (uint64_t)(i + 1024) / (uint64_t)edge[0];
    const uint64_t y = (uint64_t)(j + 1024) / (uint64_t)edge[1];
    const uint64_t z = (uint64_t)(k + 1024) / (uint64_t)edge[2];
    switch (pattern) {
    case PATTERN_RANDOM:
        return (int)random_below(random, n);
    case PATTERN_BLOCKS:
        return (int)((x + 3 * y + 7 * z) % (uint64_t)n);
    case PATTERN_LAYERS:
        return (int)((edge[0] % 3 == 0 ? x : edge[0] % 3 == 1 ? y : z) % (uint64_t)n);
    default:
        return n - 1;
    }
}

static void fill_classes(struct problem *p, enum pattern pattern, int depth, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    bool used[AXIS_COUNT];
    int64_t edge[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        used[axis] = p->args.r[axis] > 0.0;
        /* some of complete lines, so that classes change between lines */
        edge[axis] = random_below(random, 2) == 0 ? 1 + random_below(random, 40)
                                                  : 8 * (1 + random_below(random, 5));
    }
    layout_of_classes(p->layout.cells, used, depth, &m->layout);
    uint8_t *classes = malloc((size_t)m->layout.elements);
    assert_non_null(classes);
    memset(classes, 0xEE, (size_t)m->layout.elements);
    const struct layout *l = &m->layout;
    for (int pass = 0; pass < 2; pass++) { /* the owned cells and open halo, then closed halo */
        for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
            for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
                for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                    const int64_t cell[AXIS_COUNT] = {i, j, k};
                    int64_t inside[AXIS_COUNT] = {i, j, k};
                    for (int a = 0; a < AXIS_COUNT; a++) {
                        const bool below = cell[a] < 0 && p->args.closed[2 * a];
                        const bool above = cell[a] >= l->cells[a] && p->args.closed[2 * a + 1];
                        inside[a] = below ? 0 : above ? l->cells[a] - 1 : cell[a];
                    }
                    const bool is_inside = memcmp(cell, inside, sizeof cell) == 0;
                    if (is_inside == (pass == 0)) {
                        classes[layout_index(l, i, j, k)] =
                            is_inside ? (uint8_t)choose_class(p, pattern, edge, i, j, k, random)
                                      : classes[layout_index(l, inside[0], inside[1], inside[2])];
                    }
                }
            }
        }
    }
    m->mask = classes_flag(l, m->nclasses, classes);
    m->numbered = random_below(random, 4) > 0;
    m->d_class = classes;
}

/* Where the patches of a face begin, seen from those of its cell (0, 0): they have the halo of the
 * classes. */
static int64_t patches_before(const struct device_medium *m, enum face face)
{
    const enum axis across = face_axis(face) == AXIS_X ? AXIS_Y : AXIS_X;
    const enum axis up = face_axis(face) == AXIS_Z ? AXIS_Y : AXIS_Z;
    return m->layout.halo[up] * m->patch_pitch[face] + m->layout.halo[across];
}

static void fill_patches(struct problem *p, enum face face, int npatches, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    const struct layout *l = &m->layout;
    const enum axis across = face_axis(face) == AXIS_X ? AXIS_Y : AXIS_X;
    const enum axis up = face_axis(face) == AXIS_Z ? AXIS_Y : AXIS_Z;
    const int64_t rows = l->cells[up] + 2 * l->halo[up];
    m->patch_pitch[face] = l->cells[across] + 2 * l->halo[across];
    if (npatches == 0 || random_below(random, 3) == 0) {
        return;
    }
    p->patch_bytes[face] = (size_t)(rows * m->patch_pitch[face]);
    uint8_t *patches = malloc(p->patch_bytes[face]);
    assert_non_null(patches);
    for (size_t at = 0; at < p->patch_bytes[face]; at++) {
        patches[at] = (uint8_t)random_below(random, npatches);
    }
    m->d_patch[face] = patches + patches_before(m, face);
}

/* An unused axis has closures a = 1, b = 0 and conductances that do not matter. */
static void fill_table(struct problem *p, int npatches, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    const int n = m->nclasses;
    m->nclosures = npatches * n;
    p->nvalues = (size_t)medium_table_length(n, m->nclosures);
    void *table = malloc(p->nvalues * precision_bytes(p->layout.precision));
    double *weight = malloc((size_t)n * sizeof *weight);
    assert_true(table != NULL && weight != NULL);
    for (int c = 0; c < n; c++) {
        const double sigma = random_between(random, 0.5, 2.0);
        host_set(&p->layout, table, medium_cell_at(c), sigma);
        host_set(&p->layout, table, medium_cell_at(c) + 1,
                 random_below(random, 2) == 0 ? 0.0 : random_between(random, -3.0, 3.0));
        weight[c] = 1.0 / sigma;
    }
    const bool same = random_below(random, 3) == 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        for (int a = 0; a < n; a++) {
            for (int b = 0; b <= a; b++) {
                double g = random_below(random, 9) == 0 ? 0.0 : random_between(random, 0.0, 0.08);
                g = same && axis > 0 ? host_get(&p->layout, table, medium_g_at(n, 0, a, b)) : g;
                host_set(&p->layout, table, medium_g_at(n, axis, a, b), g);
                host_set(&p->layout, table, medium_g_at(n, axis, b, a), g);
            }
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool used = p->args.r[face / 2] > 0.0;
        for (int c = 0; c < m->nclosures; c++) {
            const int64_t at = medium_closure_at(n, m->nclosures, face, c);
            const bool radiates = used && random_below(random, 3) == 0;
            const double a = radiates ? random_between(random, 1.0, 3.0)
                                      : (used ? random_between(random, -1.0, 1.0) : 1.0);
            const double b = used ? random_between(random, -300.0, 500.0) : 0.0;
            host_set(&p->layout, table, at, a);
            host_set(&p->layout, table, at + 1, b);
            host_set(&p->layout, table, at + 2,
                     radiates ? random_between(random, 1e-11, 1e-9) : 0.0);
            host_set(&p->layout, table, at + 3, 0.0);
        }
        fill_patches(p, (enum face)face, used ? npatches : 0, random);
    }
    m->same_axes = classes_same_axes(table, p->layout.precision, n);
    m->d_table = table;
    m->d_weight = weight;
}

static void fill_input(struct problem *p, uint64_t *random)
{
    const struct layout *l = &p->layout;
    for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
        for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
            for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                bool beyond = false; /* a closed face: NaN stays */
                for (int a = 0; a < AXIS_COUNT; a++) {
                    beyond = beyond || (cell[a] < 0 && p->args.closed[2 * a]) ||
                             (cell[a] >= l->cells[a] && p->args.closed[2 * a + 1]);
                }
                if (!beyond) {
                    const double value = random_below(random, 9) == 0
                                             ? -0.0
                                             : random_between(random, -300.0, 1000.0);
                    host_set(l, p->h_in, layout_index(l, i, j, k), value);
                }
            }
        }
    }
}

void problem_create_deep(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                         int nclasses, enum pattern pattern, enum precision precision, int depth,
                         uint64_t *random)
{
    *p = (struct problem){.nboxes = 0, .medium = {.nclasses = nclasses}};
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const unsigned both = closed_faces >> (2 * axis) & 3;
        const bool in_use = cells[axis] > 1 || both != 3 || random_below(random, 2) == 0;
        halo[axis] =
            both == 3 && random_below(random, 2) == 0 ? 0 : depth + (int)random_below(random, 3);
        halo[axis] = in_use ? halo[axis] : 0;
        p->args.r[axis] = in_use ? 1.0 : 0.0;
        p->args.closed[2 * axis] = both & 1;
        p->args.closed[2 * axis + 1] = both >> 1;
    }
    must(layout_create(cells, halo, precision, &p->layout));
    if (random_below(random, 2) == 0) {
        layout_close_rows(&p->layout);
    }
    fill_classes(p, pattern, depth, random);
    fill_table(p, 1 + (int)random_below(random, 4), random);
    p->h_in = host_field(&p->layout);
    p->h_out = host_field(&p->layout);
    p->h_expected = host_field(&p->layout);
    memset(p->h_out, 0x5A, layout_bytes(&p->layout));
    fill_input(p, random);
}

void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                    int nclasses, enum pattern pattern, enum precision precision, uint64_t *random)
{
    problem_create_deep(p, cells, closed_faces, nclasses, pattern, precision, 1, random);
}

void problem_destroy(struct problem *p)
{
    const struct device_medium *m = &p->medium;
    for (int face = 0; face < FACE_COUNT; face++) {
        if (m->d_patch[face] != NULL) {
            free((uint8_t *)(uintptr_t)m->d_patch[face] - patches_before(m, (enum face)face));
        }
    }
    free((void *)(uintptr_t)m->d_class);
    free((void *)(uintptr_t)m->d_table);
    free((void *)(uintptr_t)m->d_weight);
    free(p->h_in);
    free(p->h_out);
    free(p->h_expected);
}

struct device_medium problem_upload(struct rig *rig, const struct problem *p)
{
    struct device_medium m = p->medium;
    m.d_class = rig_upload(rig, m.d_class, (size_t)m.layout.elements);
    m.d_table = rig_upload(rig, m.d_table, p->nvalues * precision_bytes(p->layout.precision));
    m.d_weight = rig_upload(rig, m.d_weight, (size_t)m.nclasses * sizeof *m.d_weight);
    for (int face = 0; face < FACE_COUNT; face++) {
        if (m.d_patch[face] != NULL) {
            const int64_t before = patches_before(&m, (enum face)face);
            m.d_patch[face] =
                (uint8_t *)rig_upload(rig, m.d_patch[face] - before, p->patch_bytes[face]) + before;
        }
    }
    return m;
}

void problem_free_medium(struct rig *rig, const struct device_medium *m)
{
    void (*release)(struct device *, void *) = rig->backend->runtime->memory_free;
    release(rig->device, (void *)(uintptr_t)m->d_class);
    release(rig->device, (void *)(uintptr_t)m->d_table);
    release(rig->device, (void *)(uintptr_t)m->d_weight);
    for (int face = 0; face < FACE_COUNT; face++) {
        if (m->d_patch[face] != NULL) {
            release(rig->device,
                    (uint8_t *)(uintptr_t)m->d_patch[face] - patches_before(m, (enum face)face));
        }
    }
}

void problem_check_step(struct rig *rig, step_function *step, const char *name,
                        const struct problem *p, bool sums)
{
    const size_t bytes = layout_bytes(&p->layout);
    const struct exact_sum zero[FACE_COUNT] = {{{0}}};
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum *d_sums = rig_upload(rig, zero, sizeof zero);
    const struct device_medium medium = problem_upload(rig, p);
    struct coefficients args = p->args;
    coefficients_set_medium(&args, &medium);
    for (int face = 0; face < FACE_COUNT; face++) {
        args.d_face_sum[face] = sums && face != FACE_Y_MAX ? d_sums + face : NULL;
    }
    must(step(rig->queue, &(struct step_args){.layout = p->layout,
                                              .levels = &args,
                                              .nsteps = 1,
                                              .d_out = d_out,
                                              .d_in = d_in,
                                              .boxes = p->boxes,
                                              .nboxes = p->nboxes}));
    memset(&args.medium, 0xFF, sizeof args.medium);
    must(rig->backend->runtime->queue_wait(rig->queue));

    char who[64];
    snprintf(who, sizeof who, "%s %s", rig->backend->name, name);
    void *h_got = rig_download(rig, d_out, bytes);
    assert_same_field(&p->layout, h_got, p->h_expected, who);
    free(h_got);
    struct exact_sum *got = rig_download(rig, d_sums, sizeof zero);
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool summed = args.d_face_sum[face] != NULL;
        assert_memory_equal(&got[face], summed ? &p->face_sum[face] : &zero[face], sizeof *got);
    }
    free(got);
    problem_free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}
