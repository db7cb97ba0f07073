/* The step kernel, the heat and the heat flux in a medium of classes, of every backend, against a
 * plain triple loop, bit for bit. */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/derived_cell.h"

enum { MAX_BOXES = 16 };

/* How the classes lie. */
enum pattern { PATTERN_RANDOM, PATTERN_BLOCKS, PATTERN_LAYERS, PATTERN_ONE, PATTERN_COUNT };

/* One problem, and what the reference makes of it. The medium's pointers are to host memory. */
struct problem {
    struct layout layout;
    struct step_args args;
    struct medium_args medium;
    size_t nvalues; /* of the table */
    size_t patch_bytes[FACE_COUNT];
    struct box boxes[MAX_BOXES];
    int nboxes;
    void *h_in;
    void *h_out;      /* before: a pattern */
    void *h_expected; /* h_out with the cells of the boxes advanced */
    struct exact_sum face_sum[FACE_COUNT];
};

static int class_at(const struct problem *p, int64_t i, int64_t j, int64_t k)
{
    return p->medium.d_class[layout_index(&p->medium.layout, i, j, k)];
}

static double table_at(const struct problem *p, int64_t at)
{
    return host_get(&p->layout, p->medium.d_table, at);
}

/* A neighbour of a cell as the update sees it. */
struct beyond {
    double value, g;
    bool closed;
};

static struct beyond side_of(const struct problem *p, const int64_t cell[AXIS_COUNT],
                             enum face face)
{
    const struct medium_args *m = &p->medium;
    const enum axis axis = face_axis(face);
    const int64_t step = face_side(face) == SIDE_MIN ? -1 : 1;
    const int64_t *n = p->layout.cells;
    int64_t next[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    next[axis] += step;
    const bool outside = next[axis] < 0 || next[axis] == n[axis];
    const int own = class_at(p, cell[0], cell[1], cell[2]);
    int other = own;
    if (m->layout.halo[axis] > 0) {
        other = class_at(p, next[0], next[1], next[2]);
    }
    struct beyond side = {.g = table_at(p, medium_g_at(m->nclasses, (int)axis, own, other))};
    if (!outside || !p->args.closed[face]) {
        side.value =
            host_get(&p->layout, p->h_in, layout_index(&p->layout, next[0], next[1], next[2]));
        return side;
    }
    int closure = own;
    if (m->d_patch[face] != NULL) {
        const int64_t place[AXIS_COUNT] = {cell[2] * n[1] + cell[1], cell[2] * n[0] + cell[0],
                                           cell[1] * n[0] + cell[0]};
        closure += m->d_patch[face][place[axis]] * m->nclasses;
    }
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
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double c = host_get(&p->layout, p->h_in, at);
    const int own = class_at(p, cell[0], cell[1], cell[2]);
    const double sigma = table_at(p, medium_cell_at(own));
    const double q = table_at(p, medium_cell_at(own) + 1);
    const bool wide = p->layout.precision == PRECISION_FLOAT64;
    struct beyond s[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        s[face] = side_of(p, cell, (enum face)face);
        if (s[face].closed) {
            const double difference =
                wide ? s[face].value - c : (double)((float)s[face].value - (float)c);
            sums[face] += (__int128)rint(ldexp(s[face].g * difference, 80));
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

/* A fixed-point number in units of 2^-80 K as digits in base 2^40. */
static struct exact_sum digits_of(__int128 value)
{
    struct exact_sum sum;
    for (int d = 0; d < 3; d++) {
        sum.digit[d] = (int64_t)(value & ((INT64_C(1) << 40) - 1));
        value >>= 40;
    }
    sum.digit[3] = (int64_t)value;
    return sum;
}

static void reference(struct problem *p)
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
        p->face_sum[face] = digits_of(sums[face]);
    }
}

/* The class of a cell, halo included; the cells beyond closed faces repeat those inside. */
static int choose_class(const struct problem *p, enum pattern pattern, const int64_t edge[],
                        int64_t i, int64_t j, int64_t k, uint64_t *random)
{
    const int n = p->medium.nclasses;
    const uint64_t x = (uint64_t)(i + 1000) / (uint64_t)edge[0];
    const uint64_t y = (uint64_t)(j + 1000) / (uint64_t)edge[1];
    const uint64_t z = (uint64_t)(k + 1000) / (uint64_t)edge[2];
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

static void fill_classes(struct problem *p, enum pattern pattern, uint64_t *random)
{
    struct medium_args *m = &p->medium;
    bool used[AXIS_COUNT];
    int64_t edge[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        used[axis] = p->args.r[axis] > 0.0;
        edge[axis] = 1 + random_below(random, 40);
    }
    layout_of_classes(p->layout.cells, used, &m->layout);
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
    m->d_class = classes;
}

/* An unused axis has closures a = 1, b = 0 and conductances that do not matter. */
static void fill_table(struct problem *p, int npatches, uint64_t *random)
{
    struct medium_args *m = &p->medium;
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
        const int64_t *cells = p->layout.cells;
        const int axis = face / 2;
        const size_t bytes = (size_t)(cells[(axis + 1) % 3] * cells[(axis + 2) % 3]);
        p->patch_bytes[face] = random_below(random, 3) > 0 && used ? bytes : 0;
        uint8_t *patch = p->patch_bytes[face] > 0 ? malloc(bytes) : NULL;
        for (size_t at = 0; at < p->patch_bytes[face]; at++) {
            patch[at] = (uint8_t)random_below(random, npatches);
        }
        m->d_patch[face] = patch;
    }
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

/* Faces: bit f of `closed_faces`; an axis of one cell with both faces closed is sometimes out of
 * use. r only says which axes are in use. */
static void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT],
                           unsigned closed_faces, int nclasses, enum pattern pattern,
                           enum precision precision, uint64_t *random)
{
    *p = (struct problem){.nboxes = 0, .medium = {.nclasses = nclasses}};
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const unsigned both = closed_faces >> (2 * axis) & 3;
        const bool in_use = cells[axis] > 1 || both != 3 || random_below(random, 2) == 0;
        halo[axis] =
            both == 3 && random_below(random, 2) == 0 ? 0 : 1 + (int)random_below(random, 3);
        halo[axis] = in_use ? halo[axis] : 0;
        p->args.r[axis] = in_use ? 1.0 : 0.0;
        p->args.closed[2 * axis] = both & 1;
        p->args.closed[2 * axis + 1] = both >> 1;
    }
    must(layout_create(cells, halo, precision, &p->layout));
    if (random_below(random, 2) == 0) {
        layout_close_rows(&p->layout);
    }
    fill_classes(p, pattern, random);
    fill_table(p, 1 + (int)random_below(random, 4), random);
    p->h_in = host_field(&p->layout);
    p->h_out = host_field(&p->layout);
    p->h_expected = host_field(&p->layout);
    memset(p->h_out, 0x5A, layout_bytes(&p->layout));
    fill_input(p, random);
}

static void problem_destroy(struct problem *p)
{
    const struct medium_args *m = &p->medium;
    for (int face = 0; face < FACE_COUNT; face++) {
        free((void *)(uintptr_t)m->d_patch[face]);
    }
    free((void *)(uintptr_t)m->d_class);
    free((void *)(uintptr_t)m->d_table);
    free((void *)(uintptr_t)m->d_weight);
    free(p->h_in);
    free(p->h_out);
    free(p->h_expected);
}

/* The problem's medium in device memory. */
static struct medium_args upload_medium(struct rig *rig, const struct problem *p)
{
    struct medium_args m = p->medium;
    m.d_class = rig_upload(rig, m.d_class, (size_t)m.layout.elements);
    m.d_table = rig_upload(rig, m.d_table, p->nvalues * precision_bytes(p->layout.precision));
    m.d_weight = rig_upload(rig, m.d_weight, (size_t)m.nclasses * sizeof *m.d_weight);
    for (int face = 0; face < FACE_COUNT; face++) {
        m.d_patch[face] =
            m.d_patch[face] == NULL ? NULL : rig_upload(rig, m.d_patch[face], p->patch_bytes[face]);
    }
    return m;
}

static void free_medium(struct rig *rig, const struct medium_args *m)
{
    void (*release)(struct device *, void *) = rig->backend->runtime->memory_free;
    release(rig->device, (void *)(uintptr_t)m->d_class);
    release(rig->device, (void *)(uintptr_t)m->d_table);
    release(rig->device, (void *)(uintptr_t)m->d_weight);
    for (int face = 0; face < FACE_COUNT; face++) {
        release(rig->device, (void *)(uintptr_t)m->d_patch[face]);
    }
}

/* ---- checks ---- */

static void check_output(const struct problem *p, const void *h_got, const char *who)
{
    const size_t bytes = precision_bytes(p->layout.precision);
    const int64_t *n = p->layout.cells;
    for (int64_t at = 0; at < p->layout.elements; at++) {
        const size_t byte = (size_t)at * bytes;
        if (memcmp((const char *)h_got + byte, (const char *)p->h_expected + byte, bytes) != 0) {
            fail_msg("%s, %s, %d x %d x %d cells: element %d of the owned part is %a, not %a", who,
                     precision_name(p->layout.precision), (int)n[0], (int)n[1], (int)n[2],
                     (int)(at - p->layout.origin), host_get(&p->layout, h_got, at),
                     host_get(&p->layout, p->h_expected, at));
        }
    }
}

/* Run one step function and compare the whole of `out`, halo and padding too. The host's arguments
 * are overwritten before the queue is waited for. */
static void check_step(struct rig *rig, step_function *step, const char *name,
                       const struct problem *p, bool sums)
{
    const size_t bytes = layout_bytes(&p->layout);
    const struct exact_sum zero[FACE_COUNT] = {{{0}}};
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum *d_sums = rig_upload(rig, zero, sizeof zero);
    const struct medium_args medium = upload_medium(rig, p);
    struct medium_args given = medium;
    struct step_args args = p->args;
    args.medium = &given;
    for (int face = 0; face < FACE_COUNT; face++) {
        args.d_face_sum[face] = sums && face != FACE_Y_MAX ? d_sums + face : NULL;
    }
    must(step(rig->queue, &p->layout, &args, d_out, d_in, p->boxes, p->nboxes));
    memset(&given, 0xFF, sizeof given);
    must(rig->backend->runtime->queue_wait(rig->queue));

    char who[64];
    snprintf(who, sizeof who, "%s %s", rig->backend->name, name);
    void *h_got = rig_download(rig, d_out, bytes);
    if (memcmp(h_got, p->h_expected, bytes) != 0) {
        check_output(p, h_got, who);
    }
    free(h_got);
    struct exact_sum *got = rig_download(rig, d_sums, sizeof zero);
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool summed = args.d_face_sum[face] != NULL;
        assert_memory_equal(&got[face], summed ? &p->face_sum[face] : &zero[face], sizeof *got);
    }
    free(got);
    free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

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
                    host_get(l, p->h_in, at) * p->medium.d_weight[class_at(p, i, j, k)];
                heat += at == bad ? 0 : (__int128)rint(ldexp(x, 80));
            }
        }
    }
    const struct exact_sum expected = digits_of(heat);
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    host_set(l, p->h_in, bad, kept);
    const struct medium_args medium = upload_medium(rig, p);
    struct medium_args given = medium;
    struct field_summary summary;
    struct field_summary plain;
    const struct operations *operations = rig->backend->operations;
    must(operations->summarise(rig->queue, l, &placement, &given, d_in, &summary));
    memset(&given, 0xFF, sizeof given);
    must(operations->summarise(rig->queue, l, &placement, NULL, d_in, &plain));
    must(rig->backend->runtime->queue_wait(rig->queue));
    assert_memory_equal(&summary.heat, &expected, sizeof expected);
    const struct exact_sum zero = {{0}};
    assert_memory_equal(&plain.heat, &zero, sizeof zero);
    assert_memory_equal(&plain.sum, &summary.sum, sizeof plain.sum);
    assert_int_equal(summary.bad_cells, 1);
    free_medium(rig, &medium);
    rig->backend->runtime->memory_free(rig->device, d_in);
}

static void check_flux(struct rig *rig, const struct problem *p)
{
    const struct layout *l = &p->layout;
    const int64_t *n = l->cells;
    struct layout kept;
    must(layout_create(n, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &kept));
    struct flux_args args = {.medium = NULL};
    for (int face = 0; face < FACE_COUNT; face++) {
        args.closed[face] = p->args.closed[face];
        args.scale[face / 2] = p->args.r[face / 2] > 0.0 ? 7.5 + face / 2 : 0.0;
    }
    const struct medium_args medium = upload_medium(rig, p);
    struct medium_args given = medium;
    args.medium = &given;
    void *d_in = rig_upload(rig, p->h_in, layout_bytes(l));
    double *h_flux = host_field(&kept);
    double *d_flux = rig_upload(rig, h_flux, layout_bytes(&kept));
    must(rig->backend->operations->flux_squared(rig->queue, l, &kept, &args, d_in, d_flux));
    memset(&given, 0xFF, sizeof given);
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
                        side_of(p, cell, face_of((enum axis)axis, SIDE_MIN));
                    const struct beyond plus = side_of(p, cell, face_of((enum axis)axis, SIDE_MAX));
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
    free_medium(rig, &medium);
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
        check_step(&rig, operations->step, "step", p, true);
        check_step(&rig, operations->step, "step without sums", p, false);
        for (int v = 0; !samples && v < operations->nvariants; v++) {
            check_step(&rig, operations->variants[v].step, operations->variants[v].name, p, true);
        }
        if (samples) {
            check_heat(&rig, p);
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
        reference(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        check_all(&p, true);
        problem_destroy(&p);
    }
}

static void shapes_of_all_kinds(void **state)
{
    (void)state;
    static const int64_t nx[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 513, 2100};
    static const int64_t ny[] = {1, 2, 3, 5, 9};
    static const int64_t nz[] = {1, 2, 3, 7};
    uint64_t random = 1;
    for (size_t x = 0; x < sizeof nx / sizeof nx[0]; x++) {
        for (size_t n = 0; n < 6; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[x],
                                               ny[random_below(&random, nx[x] > 100 ? 2 : 5)],
                                               nz[random_below(&random, nx[x] > 100 ? 2 : 4)]};
            check_shape(cells, (unsigned)random_below(&random, 64), random_bits(&random));
        }
    }
}

static void faces_in_all_combinations(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 64; closed++) {
        check_shape((const int64_t[]){18, 5, 3}, closed, closed);
        check_shape((const int64_t[]){1 + closed % 3, 3 - closed % 2, 1}, closed, closed);
    }
}

/* Large enough for several threads and for the fast kernels. */
static void large_shapes(void **state)
{
    (void)state;
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
static void patterns_of_classes(void **state)
{
    (void)state;
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
                reference(&p);
                check_all(&p, false);
                problem_destroy(&p);
            }
        }
    }
}

/* Large enough for the cpu backend to try its ways and tiles: no call may differ by a bit. */
static void the_first_calls_and_the_later_ones_agree(void **state)
{
    (void)state;
    uint64_t random = 123;
    struct problem p;
    problem_create(&p, (const int64_t[]){500, 101, 23}, 63, 8, PATTERN_BLOCKS, PRECISION_FLOAT64,
                   &random);
    const struct box owned = layout_owned(&p.layout);
    p.nboxes = random_partition(&random, &owned, 1, p.boxes);
    reference(&p);
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (int call = 0; call < 17; call++) {
            check_step(&rig, rig.backend->operations->step, "step", &p, true);
        }
        rig_close(&rig);
    }
    problem_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_all_kinds),
        cmocka_unit_test(faces_in_all_combinations),
        cmocka_unit_test(large_shapes),
        cmocka_unit_test(patterns_of_classes),
        cmocka_unit_test(the_first_calls_and_the_later_ones_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
