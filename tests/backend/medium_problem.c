#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/faces_cell.h"

int problem_class(const struct problem *p, int64_t i, int64_t j, int64_t k)
{
    return p->medium.d_class[layout_index(&p->medium.layout, i, j, k)] & p->medium.mask;
}

bool problem_is_of_layers(const struct problem *p)
{
    const int64_t *n = p->layout.cells;
    int64_t changes = 0;
    bool plain = p->medium.radiating == 0 && p->medium.first_closure[FACE_Z_MIN] == 0 &&
                 p->medium.first_closure[FACE_Z_MAX] == 0;
    for (int face = 0; face < FACE_Z_MIN; face++) {
        plain = plain && p->medium.d_patch[face] == NULL;
    }
    for (int64_t k = 0; k < n[AXIS_Z] && plain; k++) {
        for (int64_t at = 0; at < n[AXIS_X] * n[AXIS_Y] && plain; at++) {
            plain =
                problem_class(p, at % n[AXIS_X], at / n[AXIS_X], k) == problem_class(p, 0, 0, k);
        }
        changes += k > 0 && problem_class(p, 0, 0, k) != problem_class(p, 0, 0, k - 1);
    }
    return plain && changes > 0 && 4 * changes < n[AXIS_Z];
}

static double table_at(const struct problem *p, int64_t at)
{
    return host_get(&p->layout, p->medium.d_table, at);
}

/* Rounded as kernels of the precision do. */
static double times(const struct problem *p, double a, double b)
{
    return p->layout.precision == PRECISION_FLOAT64 ? a * b : (double)((float)a * (float)b);
}

/* The conductance of a face of a cell where they are stored or products of lines, and of one with
 * the area 1. */
static double stored_g(const struct problem *p, const int64_t cell[AXIS_COUNT], enum face face,
                       double *unit)
{
    const struct device_medium *m = &p->medium;
    const int axis = (int)face_axis(face);
    const int side = face_side(face) == SIDE_MIN ? 0 : 1;
    const enum precision precision = p->layout.precision;
    if (p->args.kind == KIND_GRADED) {
        *unit = times(p, medium_line_at(m, precision, axis, GRADED_CONDUCTANCE, cell[axis] + side),
                      m->dt);
        return times(p, *unit, medium_lines_at(m, precision, axis, GRADED_WIDTH, cell));
    }
    const int64_t stride[AXIS_COUNT] = {1, m->layout.pitch_y, m->layout.pitch_z};
    const int64_t at = layout_index(&m->layout, cell[0], cell[1], cell[2]);
    const double g =
        m->d_g[axis] != NULL
            ? times(p, host_get(&p->layout, m->d_g[axis], at + side * stride[axis]), m->dt)
            : 0;
    *unit =
        m->has_lines ? times(p, g, medium_lines_at(m, precision, axis, GRADED_INVERSE, cell)) : g;
    return g;
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
    const bool stored = p->args.kind == KIND_FACES || p->args.kind == KIND_GRADED;
    double unit = 0;
    if (stored) {
        side.g = stored_g(p, cell, face, &unit);
    }
    if (!outside || !p->args.closed[face]) {
        side.value =
            host_get(&p->layout, p->h_in, layout_index(&p->layout, next[0], next[1], next[2]));
        return side;
    }
    const int closure = medium_closure(m->d_patch[face], m->patch_pitch[face],
                                       m->first_closure[face], m->nclasses, (int)face, cell, own);
    const int64_t at = medium_closure_at(m->nclasses, m->nclosures, (int)face, closure);
    const double c =
        host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
    const double a = table_at(p, at);
    const double b = table_at(p, at + 1);
    const double e = table_at(p, at + 2);
    side.closed = true;
    if (stored) {
        const double x[] = {a, b, e, table_at(p, at + 3)};
        const float narrow[] = {(float)a, (float)b, (float)e, (float)x[3]};
        side.value = p->layout.precision == PRECISION_FLOAT64
                         ? faces_outside_float64(c, unit, x)
                         : (double)faces_outside_float32((float)c, (float)unit, narrow);
        return side;
    }
    side.value = p->layout.precision == PRECISION_FLOAT64
                     ? medium_outside_float64(c, a, b, e)
                     : (double)medium_outside_float32((float)c, (float)a, (float)b, (float)e);
    return side;
}

/* What a cell of a graded medium takes of the difference at a face. */
static double graded_share(const struct problem *p, const int64_t cell[AXIS_COUNT], enum face face)
{
    const int axis = (int)face_axis(face);
    double unit;
    (void)stored_g(p, cell, face, &unit);
    return times(p, unit,
                 medium_line_at(&p->medium, p->layout.precision, axis, GRADED_INVERSE, cell[axis]));
}

void medium_reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                           __int128 sums[FACE_COUNT])
{
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double c = host_get(&p->layout, p->h_in, at);
    const int own = problem_class(p, cell[0], cell[1], cell[2]);
    const bool graded = p->args.kind == KIND_GRADED;
    const double first = table_at(p, medium_cell_at(own));
    const double sigma = graded ? 1
                         : p->args.kind == KIND_FACES
                             ? host_get(&p->layout, p->medium.d_sigma,
                                        layout_index(&p->medium.layout, cell[0], cell[1], cell[2]))
                             : first;
    const double q = graded ? 0 : table_at(p, medium_cell_at(own) + 1);
    const double added = graded || p->args.kind == KIND_FACES ? first : 0;
    const bool wide = p->layout.precision == PRECISION_FLOAT64;
    struct beyond s[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        s[face] = problem_beyond(p, cell, (enum face)face);
        if (s[face].closed) {
            const double difference =
                wide ? s[face].value - c : (double)((float)s[face].value - (float)c);
            sums[face] += fixed_point(s[face].g * difference);
        }
        s[face].g = graded ? graded_share(p, cell, (enum face)face) : s[face].g;
    }
    const double start = problem_base(p, at);
    const double base = wide ? start + added : (double)((float)start + (float)added);
    if (wide) {
        ((double *)p->h_expected)[at] = medium_cell_float64(
            base, c, s[0].value, s[1].value, s[2].value, s[3].value, s[4].value, s[5].value, s[0].g,
            s[1].g, s[2].g, s[3].g, s[4].g, s[5].g, sigma, q);
    } else {
        ((float *)p->h_expected)[at] = medium_cell_float32(
            (float)base, (float)c, (float)s[0].value, (float)s[1].value, (float)s[2].value,
            (float)s[3].value, (float)s[4].value, (float)s[5].value, (float)s[0].g, (float)s[1].g,
            (float)s[2].g, (float)s[3].g, (float)s[4].g, (float)s[5].g, (float)sigma, (float)q);
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
static void fill_table(struct problem *p, int npatches, bool affine, uint64_t *random)
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
            const bool radiates = used && !affine && random_below(random, 3) == 0;
            const double a = radiates ? random_between(random, 1.0, 3.0)
                                      : (used ? random_between(random, -1.0, 1.0) : 1.0);
            const double b = used ? random_between(random, -300.0, 500.0) : 0.0;
            host_set(&p->layout, table, at, a);
            host_set(&p->layout, table, at + 1, b);
            host_set(&p->layout, table, at + 2,
                     radiates ? random_between(random, 1e-11, 1e-9) : 0.0);
            host_set(&p->layout, table, at + 3, 0.0);
        }
        const bool has_patches = used && (!affine || face / 2 == AXIS_Z);
        fill_patches(p, (enum face)face, has_patches ? npatches : 0, random);
    }
    m->same_axes = classes_same_axes(table, p->layout.precision, n);
    m->radiating = classes_radiating(table, p->layout.precision, n, m->nclosures);
    m->d_table = table;
    m->d_weight = weight;
}

void medium_fill(struct problem *p, enum pattern pattern, uint64_t *random)
{
    fill_classes(p, pattern, p->nsteps, random);
    const int npatches = 1 + (int)random_below(random, 4);
    fill_table(p, npatches, random_below(random, 2) == 0, random);
}

/* Give the cells of some of the faces with patches closures of their own, behind the table: those
 * of any closure, with other numbers. */
void medium_fill_own(struct problem *p, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    const int64_t bytes = (int64_t)precision_bytes(p->layout.precision);
    for (int face = 0; face < FACE_COUNT; face++) {
        const int64_t first = medium_closure_at(m->nclasses, m->nclosures, face, 0);
        if (m->d_patch[face] == NULL || random_below(random, 2) == 0) {
            continue;
        }
        const int64_t closure = ((int64_t)p->nvalues - first + 3) / 4;
        const int64_t rows = closure + (int64_t)p->patch_bytes[face];
        void *table = realloc((void *)(uintptr_t)m->d_table, (size_t)((first + 4 * rows) * bytes));
        assert_non_null(table);
        for (int64_t row = closure; row < rows; row++) {
            const int64_t from = first + 4 * random_below(random, m->nclosures);
            for (int n = 0; n < 4; n++) {
                host_set(&p->layout, table, first + 4 * row + n,
                         host_get(&p->layout, table, from + n));
            }
            const bool stored = p->args.kind == KIND_FACES || p->args.kind == KIND_GRADED;
            const int given = m->nsegments > 0 || stored ? 0 : 1;
            host_set(&p->layout, table, first + 4 * row + given,
                     host_get(&p->layout, table, from + given) * random_between(random, 0.7, 1.1));
        }
        m->d_table = table;
        m->first_closure[face] = closure + patches_before(m, (enum face)face);
        p->nvalues = (size_t)(first + 4 * rows);
    }
}

/* The number at `at` of a table, times something. */
static void scale(const struct problem *p, void *table, int64_t at, uint64_t *random)
{
    host_set(&p->layout, table, at,
             host_get(&p->layout, table, at) * random_between(random, 0.5, 1.5));
}

/* As of a step of another length. */
static void scale_pairs(const struct problem *p, void *table, double factor)
{
    const int n = p->medium.nclasses;
    for (int64_t i = 0; i < (int64_t)AXIS_COUNT * n * n; i++) {
        const int64_t at = medium_g_at(n, 0, 0, 0) + i;
        host_set(&p->layout, table, at, factor * host_get(&p->layout, table, at));
    }
}

/* Later steps have other sources, and other values at closed faces; those of half of the passes in
 * classes have other lengths. */
void medium_fill_tables(struct problem *p, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    const size_t bytes = p->nvalues * precision_bytes(p->layout.precision);
    const int given = m->nsegments > 0 ? 0 : 1;
    m->dt_number = given == 1 && random_below(random, 2) == 0 ? 1 : 0;
    for (int step = 1; step < p->nsteps; step++) {
        void *table = malloc(bytes);
        assert_non_null(table);
        memcpy(table, m->d_table, bytes);
        if (m->dt_number > 0) {
            scale_pairs(p, table, random_between(random, 0.1, 1.0));
        }
        for (int c = 0; c < m->nclasses; c++) {
            scale(p, table, medium_cell_at(c) + 1, random);
        }
        for (int i = 0; i < FACE_COUNT * m->nclosures; i++) {
            const int face = i / m->nclosures;
            scale(p, table,
                  medium_closure_at(m->nclasses, m->nclosures, face, i % m->nclosures) + given,
                  random);
        }
        p->tables[step] = table;
    }
}

void medium_destroy(struct problem *p)
{
    const struct device_medium *m = &p->medium;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        free((void *)(uintptr_t)m->d_g[axis]);
    }
    free((void *)(uintptr_t)m->d_sigma);
    for (int face = 0; face < FACE_COUNT; face++) {
        if (m->d_patch[face] != NULL) {
            free((uint8_t *)(uintptr_t)m->d_patch[face] - patches_before(m, (enum face)face));
        }
    }
    free((void *)(uintptr_t)m->d_class);
    free((void *)(uintptr_t)m->d_table);
    free((void *)(uintptr_t)m->d_weight);
    for (int step = 1; step < STEPS_MOST; step++) {
        free(p->tables[step]);
    }
}

struct device_medium problem_upload(struct rig *rig, const struct problem *p)
{
    struct device_medium m = p->medium;
    m.d_class = rig_upload(rig, m.d_class, (size_t)m.layout.elements);
    m.d_table = rig_upload(rig, m.d_table, p->nvalues * precision_bytes(p->layout.precision));
    m.d_weight = rig_upload(rig, m.d_weight, (size_t)m.nclasses * sizeof *m.d_weight);
    const size_t bytes = (size_t)m.layout.elements * precision_bytes(p->layout.precision);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m.d_g[axis] = m.d_g[axis] != NULL ? rig_upload(rig, m.d_g[axis], bytes) : NULL;
    }
    m.d_sigma = m.d_sigma != NULL ? rig_upload(rig, m.d_sigma,
                                               (size_t)problem_sigma_count(&p->medium) *
                                                   precision_bytes(p->layout.precision))
                                  : NULL;
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
    release(rig->device, (void *)(uintptr_t)m->d_sigma);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        release(rig->device, (void *)(uintptr_t)m->d_g[axis]);
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        if (m->d_patch[face] != NULL) {
            release(rig->device,
                    (uint8_t *)(uintptr_t)m->d_patch[face] - patches_before(m, (enum face)face));
        }
    }
}
