/* Several steps in one pass, on every backend that has them, against a plain loop over steps and
 * cells, bit for bit: shapes, faces, boxes, threads; and the sums over closed faces. */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/heat_cell.h"

enum { MAX_BOXES = 8, CALLS = 17 };

struct problem {
    struct layout layout;
    int nsteps;
    struct coefficients args[STEPS_MOST];
    struct box boxes[MAX_BOXES];
    int nboxes;
    void *h_in;
    void *h_out;      /* before: a pattern */
    void *h_expected; /* h_out with the cells of the boxes advanced */
    struct exact_sum sums[STEPS_MOST][FACE_COUNT];
};

static bool is_outside(const struct problem *p, const int64_t cell[AXIS_COUNT], int width)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t beyond_min = p->args[0].closed[2 * axis] ? 0 : width;
        const int64_t beyond_max = p->args[0].closed[2 * axis + 1] ? 0 : width;
        if (cell[axis] < -beyond_min || cell[axis] >= p->layout.cells[axis] + beyond_max) {
            return true;
        }
    }
    return false;
}

/* Owned cells, and the halo of open faces as deep as it must be complete, get values; of one binade
 * or of many, which exact sums add in different ways. */
static void fill_input(struct problem *p, uint64_t *random)
{
    const bool alike = random_below(random, 2) == 0;
    const double least = alike ? 260.0 : -300.0, most = alike ? 500.0 : 1000.0;
    const struct layout *l = &p->layout;
    for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
        for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
            for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                if (!is_outside(p, (const int64_t[]){i, j, k}, p->nsteps)) {
                    host_set(l, p->h_in, layout_index(l, i, j, k),
                             random_between(random, least, most));
                }
            }
        }
    }
}

static double neighbour(const struct problem *p, const struct coefficients *args,
                        const void *h_from, const int64_t cell[AXIS_COUNT], enum face face)
{
    int64_t at[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    const enum axis axis = face_axis(face);
    const int64_t last = face_side(face) == SIDE_MIN ? 0 : p->layout.cells[axis] - 1;
    if (args->closed[face] && at[axis] == last) {
        const double inside =
            host_get(&p->layout, h_from, layout_index(&p->layout, at[0], at[1], at[2]));
        return p->layout.precision == PRECISION_FLOAT64
                   ? heat_outside_float64(inside, args->a[face], args->b[face])
                   : (double)heat_outside_float32((float)inside, (float)args->a[face],
                                                  (float)args->b[face]);
    }
    at[axis] += face_side(face) == SIDE_MIN ? -1 : 1;
    return host_get(&p->layout, h_from, layout_index(&p->layout, at[0], at[1], at[2]));
}

static double advanced(const struct problem *p, const struct coefficients *args, const void *h_from,
                       const int64_t cell[AXIS_COUNT])
{
    const double c =
        host_get(&p->layout, h_from, layout_index(&p->layout, cell[0], cell[1], cell[2]));
    const double *r = args->r;
    double n[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        n[face] = neighbour(p, args, h_from, cell, (enum face)face);
    }
    return p->layout.precision == PRECISION_FLOAT64
               ? heat_cell_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], r[0], r[1], r[2])
               : (double)heat_cell_float32((float)c, (float)n[0], (float)n[1], (float)n[2],
                                           (float)n[3], (float)n[4], (float)n[5], (float)r[0],
                                           (float)r[1], (float)r[2]);
}

static bool in_boxes(const struct problem *p, int64_t i, int64_t j, int64_t k)
{
    for (int b = 0; b < p->nboxes; b++) {
        const struct box cell = {{i, j, k}, {i + 1, j + 1, k + 1}};
        if (box_contains(&p->boxes[b], &cell)) {
            return true;
        }
    }
    return false;
}

/* The sums over the cells of the boxes at closed faces, before step `l`. */
static void add_sums(struct problem *p, int l, const void *h_from)
{
    const struct box owned = layout_owned(&p->layout);
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box layer = box_inside(&owned, (enum face)face, 1);
        if (!p->args[l].closed[face]) {
            continue;
        }
        struct exact_parts parts = {{0}};
        for (int64_t k = layer.lo[2]; k < layer.hi[2]; k++) {
            for (int64_t j = layer.lo[1]; j < layer.hi[1]; j++) {
                for (int64_t i = layer.lo[0]; i < layer.hi[0]; i++) {
                    if (in_boxes(p, i, j, k)) {
                        exact_parts_add(&parts, host_get(&p->layout, h_from,
                                                         layout_index(&p->layout, i, j, k)));
                    }
                }
            }
        }
        exact_sum_add_parts(&p->sums[l][face], &parts);
    }
}

/* Advance everything that is known: step l leaves nsteps - 1 - l layers of halo. */
static void reference(struct problem *p)
{
    const struct layout *l = &p->layout;
    void *fields[2] = {host_field(l), host_field(l)};
    memcpy(fields[0], p->h_in, layout_bytes(l));
    memset(p->sums, 0, sizeof p->sums);
    for (int s = 0; s < p->nsteps; s++) {
        void *h_from = fields[s % 2];
        void *h_to = fields[(s + 1) % 2];
        const int width = p->nsteps - 1 - s;
        add_sums(p, s, h_from);
        for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
            for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
                for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                    const int64_t cell[AXIS_COUNT] = {i, j, k};
                    if (!is_outside(p, cell, width)) {
                        host_set(l, h_to, layout_index(l, i, j, k),
                                 advanced(p, &p->args[s], h_from, cell));
                    }
                }
            }
        }
    }
    memcpy(p->h_expected, p->h_out, layout_bytes(l));
    for (int64_t k = 0; k < l->cells[2]; k++) {
        for (int64_t j = 0; j < l->cells[1]; j++) {
            for (int64_t i = 0; i < l->cells[0]; i++) {
                if (in_boxes(p, i, j, k)) {
                    const int64_t at = layout_index(l, i, j, k);
                    host_set(l, p->h_expected, at, host_get(l, fields[p->nsteps % 2], at));
                }
            }
        }
    }
    free(fields[0]);
    free(fields[1]);
}

/* Faces: bit f of `closed_faces`; an axis of one cell is not used, and closed. */
static void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT],
                           unsigned closed_faces, int nsteps, enum precision precision,
                           uint64_t *random)
{
    *p = (struct problem){.nsteps = nsteps};
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = cells[axis] > 1;
        const unsigned both = used ? closed_faces >> (2 * axis) & 3 : 3;
        const double r = used ? random_between(random, 0.0, 0.16) : 0.0;
        halo[axis] = both == 3 ? 0 : nsteps + (int)random_below(random, 2);
        for (int s = 0; s < nsteps; s++) {
            p->args[s].r[axis] = r;
        }
        for (int side = 0; side < SIDE_COUNT; side++) {
            const enum face face = face_of((enum axis)axis, (enum side)side);
            const bool insulated = !used || random_below(random, 4) == 0;
            const double a = insulated ? 1.0 : random_between(random, -1.0, 1.0);
            for (int s = 0; s < nsteps; s++) {
                p->args[s].closed[face] = both >> side & 1;
                p->args[s].a[face] = a;
                p->args[s].b[face] = insulated ? 0.0 : random_between(random, -500.0, 500.0);
            }
        }
    }
    must(layout_create(cells, halo, precision, &p->layout));
    if (random_below(random, 2) == 0) {
        layout_close_rows(&p->layout);
    }
    if (halo[AXIS_X] > nsteps) { /* a subdomain that was widened into its halo */
        p->layout.origin--;
        p->layout.halo[AXIS_X]--;
        p->layout.cells[AXIS_X] += 2;
    }
    p->h_in = host_field(&p->layout);
    p->h_out = host_field(&p->layout);
    p->h_expected = host_field(&p->layout);
    memset(p->h_out, 0x5A, layout_bytes(&p->layout));
    fill_input(p, random);
}

static void problem_destroy(struct problem *p)
{
    free(p->h_in);
    free(p->h_out);
    free(p->h_expected);
}

static void check_steps(struct rig *rig, const struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    static const struct exact_sum zero[STEPS_MOST][FACE_COUNT];
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum(*d_sums)[FACE_COUNT] = rig_upload(rig, zero, sizeof zero);
    struct coefficients args[STEPS_MOST];
    memcpy(args, p->args, sizeof args);
    for (int s = 0; s < p->nsteps; s++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            args[s].d_face_sum[face] = face == FACE_Y_MAX ? NULL : &d_sums[s][face];
        }
    }
    must(ENQUEUE(rig->backend->operations, step, rig->queue, .layout = p->layout, .levels = args,
                 .nsteps = p->nsteps, .d_out = d_out, .d_in = d_in, .boxes = p->boxes,
                 .nboxes = p->nboxes));
    must(rig->backend->runtime->queue_wait(rig->queue));
    void *h_got = rig_download(rig, d_out, bytes);
    char who[64];
    snprintf(who, sizeof who, "%s, %d steps", rig->backend->name, p->nsteps);
    assert_same_field(&p->layout, h_got, p->h_expected, who);
    free(h_got);
    struct exact_sum(*sums)[FACE_COUNT] = rig_download(rig, d_sums, sizeof zero);
    for (int s = 0; s < p->nsteps; s++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            const struct exact_sum *expected = face == FACE_Y_MAX ? &zero[0][0] : &p->sums[s][face];
            assert_memory_equal(&sums[s][face], expected, sizeof *expected);
        }
    }
    free(sums);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

static void check_all(const struct problem *p)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        if (p->nsteps <= rig.backend->operations->steps_most[KIND_UNIFORM]) {
            check_steps(&rig, p);
        }
        rig_close(&rig);
    }
}

/* Whole, cut at random, or interior and shell. */
static void choose_boxes(struct problem *p, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t kind = random_below(random, 3);
    struct box inner = owned;
    switch (kind) {
    case 0:
        p->nboxes = random_partition(random, &owned, 1, p->boxes);
        break;
    case 1:
        p->nboxes = (random_partition(random, &owned, MAX_BOXES, p->boxes) + 1) / 2;
        break;
    default:
        for (int face = 0; face < FACE_COUNT; face++) {
            const struct box thinner = box_shrink_face(&inner, (enum face)face, p->nsteps);
            inner = box_is_empty(&thinner) || p->args[0].closed[face] ? inner : thinner;
        }
        p->boxes[0] = inner;
        p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
    }
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, int nsteps,
                        uint64_t seed)
{
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, cells, closed_faces, nsteps, (enum precision)precision, &random);
        choose_boxes(&p, &random);
        reference(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        check_all(&p);
        problem_destroy(&p);
    }
}

TEST(small_shapes)
{
    static const int64_t nx[] = {1, 2, 5, 8, 17, 33, 64, 131};
    static const int64_t ny[] = {1, 2, 3, 9, 21};
    static const int64_t nz[] = {1, 2, 7, 15};
    uint64_t random = 1;
    for (int nsteps = 1; nsteps <= STEPS_MOST; nsteps++) {
        for (int n = 0; n < 24; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[random_below(&random, 8)],
                                               ny[random_below(&random, 5)],
                                               nz[random_below(&random, 4)]};
            check_shape(cells, (unsigned)random_below(&random, 64), nsteps, random_bits(&random));
        }
    }
}

TEST(faces_in_all_combinations)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        check_shape((const int64_t[]){18, 9, 11}, closed, 1 + (int)closed % 4, closed);
    }
}

/* Several tiles on every axis, on the backends that divide a box into tiles. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {200, 130, 40}, {129, 97, 67}, {1000, 500, 1}, {70001, 1, 1}, {130, 3, 150}, {66, 50, 130},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 0; n < 4; n++) {
            check_shape(shapes[s], n == 0 ? 63 : (unsigned)(37 * s + 11 * (size_t)n) % 64, 1 + n,
                        10 * s + (size_t)n);
        }
    }
}

/* As many steps as a tile is wide; rows that are divided, and end within a line; a pass that is
 * longer than what stays in registers. */
TEST(long_passes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {1101, 40, 9}, {1300, 1, 20}, {5, 300, 12}, {1031, 90, 1}, {9001, 1, 1}, {64, 1, 90},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 5; n <= STEPS_MOST; n++) {
            check_shape(shapes[s], n == 5 ? 63 : (unsigned)(29 * s + 13 * (size_t)n) % 64, n,
                        100 * s + (size_t)n);
        }
    }
}

/* A backend may try several divisions of a large box, one call after the other. */
TEST(every_division_of_a_large_box)
{
    uint64_t random = 5;
    struct problem p;
    problem_create(&p, (const int64_t[]){150, 130, 60}, 63, 3, PRECISION_FLOAT64, &random);
    p.boxes[0] = layout_owned(&p.layout);
    p.nboxes = 1;
    reference(&p);
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (int call = 0;
             call < CALLS && p.nsteps <= rig.backend->operations->steps_most[KIND_UNIFORM];
             call++) {
            check_steps(&rig, &p);
        }
        rig_close(&rig);
    }
    problem_destroy(&p);
}

enum contents { USUAL, OF_ALL_SIZES, INVALID, LARGE, CONTENTS };

/* In steps that change no value; but one cell INVALID. */
static void change_contents(struct problem *p, enum contents contents, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t n[] = {owned.hi[0], owned.hi[1], owned.hi[2]};
    const int64_t cells = contents == INVALID ? 1 : box_cells(&owned);
    for (int s = 0; s < p->nsteps && contents != INVALID; s++) {
        memset(p->args[s].r, 0, sizeof p->args[s].r);
    }
    for (int64_t at = 0; at < cells; at++) {
        const int64_t cell = contents == INVALID ? random_below(random, box_cells(&owned)) : at;
        const int exponent = contents == LARGE ? 40 : (int)random_below(random, 108) - 90;
        const double sign = contents == OF_ALL_SIZES && random_below(random, 2) == 0 ? -1.0 : 1.0;
        const double value = random_below(random, 4) == 0 ? 0.5 : random_between(random, 0, 1);
        host_set(&p->layout, p->h_in,
                 layout_index(&p->layout, cell % n[0], cell / n[0] % n[1], cell / (n[0] * n[1])),
                 contents == INVALID ? NAN : sign * ldexp(value, exponent));
    }
}

/* Twice, without a wait between them: a queue's kernels share memory for their reductions. */
static void check_summary(struct rig *rig, const struct problem *p, enum contents contents)
{
    const struct operations *operations = rig->backend->operations;
    const size_t bytes = layout_bytes(&p->layout);
    const struct placement placement = {.global_cells = {1000, 900, 800}, .offset = {1, 2, 3}};
    const struct box owned = layout_owned(&p->layout);
    static const struct exact_sum zero[2][STEPS_MOST][FACE_COUNT];
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_plain = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_in, bytes);
    struct exact_sum(*d_sums)[STEPS_MOST][FACE_COUNT] = rig_upload(rig, zero, sizeof zero);
    struct coefficients args[2][STEPS_MOST];
    struct field_summary plain;
    struct field_summary got[2];
    for (int which = 0; which < 2; which++) {
        memcpy(args[which], p->args, sizeof p->args);
        for (int s = 0; s < p->nsteps; s++) {
            for (int face = 0; face < FACE_COUNT; face++) {
                args[which][s].d_face_sum[face] = &d_sums[which][s][face];
            }
        }
    }
    struct step_args step = {.layout = p->layout,
                             .levels = args[0],
                             .nsteps = p->nsteps,
                             .d_out = d_plain,
                             .d_in = d_in,
                             .boxes = &owned,
                             .nboxes = 1,
                             .placement = placement};
    must(operations->step(rig->queue, &step));
    must(ENQUEUE(operations, summarise, rig->queue, .layout = p->layout, .placement = placement,
                 .d_field = d_plain, .h_summary = &plain));
    step.d_out = d_out;
    for (int call = 0; call < 2; call++) {
        step.levels = call == 0 ? p->args : args[1];
        step.h_summary = &got[call];
        must(operations->step(rig->queue, &step));
    }
    must(rig->backend->runtime->queue_wait(rig->queue));
    for (int call = 0; call < 2; call++) {
        if (contents == USUAL || contents == OF_ALL_SIZES || got[call].bad_cells == 0) {
            assert_memory_equal(&got[call], &plain, sizeof plain);
        }
        assert_true(contents != INVALID || got[call].bad_cells > 0);
    }
    void *h_plain = rig_download(rig, d_plain, bytes);
    void *h_got = rig_download(rig, d_out, bytes);
    assert_same_field(&p->layout, h_got, h_plain, rig->backend->name);
    struct exact_sum(*sums)[STEPS_MOST][FACE_COUNT] = rig_download(rig, d_sums, sizeof zero);
    assert_memory_equal(sums[1], sums[0], sizeof sums[0]);
    free(sums);
    free(h_plain);
    free(h_got);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_plain);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

TEST(summaries_of_passes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {130, 97, 41}, {24, 12, 12}, {66, 50, 33}, {200, 48, 14}, {151, 61, 13}, {40, 3, 5},
    };
    uint64_t random = 6;
    for (int n = 0; n < 48; n++) {
        struct problem p;
        const unsigned faces = n % 5 == 0 ? 63 : (unsigned)random_below(&random, 64);
        const enum contents contents = (enum contents)(n / 6 % CONTENTS);
        problem_create(&p, shapes[n % 6], faces, 1 + (int)random_below(&random, STEPS_MOST / 2),
                       (enum precision)random_below(&random, 2), &random);
        if (contents != USUAL) {
            change_contents(&p, contents, &random);
        }
        /* not of a subdomain that was widened into its halo */
        const bool regular =
            p.layout.origin * (int64_t)precision_bytes(p.layout.precision) % LAYOUT_ALIGN_BYTES ==
            0;
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            if (regular && p.nsteps <= rig.backend->operations->steps_most[KIND_UNIFORM]) {
                check_summary(&rig, &p, contents);
            }
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

TEST_MAIN(NULL, NULL)
