/* The step with a wider stencil, and passes of several steps, of every backend, against a plain
 * triple loop, bit for bit: radii, shapes, faces, boxes, threads; and the sums over closed faces.
 */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

enum { MAX_BOXES = 12 };

struct problem {
    struct layout layout;
    int nsteps;
    struct coefficients args; /* of the step that the reference makes */
    struct coefficients steps[STEPS_MOST];
    struct box boxes[MAX_BOXES];
    int nboxes;
    void *h_in;
    void *h_out; /* before: a pattern */
    void *h_expected;
    struct exact_sum face_sum[STEPS_MOST][FACE_COUNT];
};

/* Only what may be read gets values: owned cells, and the halo beyond open faces, without edges
 * for a single step. */
static void fill_input(struct problem *p, uint64_t *random)
{
    const struct layout *l = &p->layout;
    for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
        for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
            for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                int outside = 0;
                bool closed = false;
                for (int axis = 0; axis < AXIS_COUNT; axis++) {
                    const bool below = cell[axis] < 0;
                    const bool above = cell[axis] >= l->cells[axis];
                    outside += below || above;
                    closed = closed || (below && p->args.closed[2 * axis]) ||
                             (above && p->args.closed[2 * axis + 1]);
                }
                if ((outside <= 1 || p->nsteps > 1) && !closed) {
                    const double value = random_below(random, 9) == 0
                                             ? -0.0
                                             : random_between(random, -300.0, 1000.0);
                    host_set(l, p->h_in, layout_index(l, i, j, k), value);
                }
            }
        }
    }
}

static double input(const struct problem *p, const int64_t cell[AXIS_COUNT], int axis, int64_t at)
{
    int64_t other[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    other[axis] = at;
    return host_get(&p->layout, p->h_in, layout_index(&p->layout, other[0], other[1], other[2]));
}

/* Weights of the cells from a face on: a sum in double. */
static double from_face(const struct problem *p, const int64_t cell[AXIS_COUNT], int face,
                        int64_t row, const double *weight, double given)
{
    const struct wide_closure *closure = &p->args.high_order.closure[face];
    const int axis = face / 2;
    const int64_t last = p->layout.cells[axis] - 1;
    const double own = input(p, cell, axis, face % 2 == 0 ? row : last - row);
    double sum = given * fma(-closure->slope, own, closure->value);
    for (int64_t n = 0; n < 2 * p->args.high_order.radius; n++) {
        const double other = input(p, cell, axis, face % 2 == 0 ? n : last - n);
        sum = fma(weight[n], other - own, sum);
    }
    return sum;
}

static double difference(const struct problem *p, const int64_t cell[AXIS_COUNT], int axis)
{
    const int64_t from_low = cell[axis];
    const int64_t from_high = p->layout.cells[axis] - 1 - cell[axis];
    if (!p->args.high_order.used[axis]) {
        return 0;
    }
    if (p->args.closed[2 * axis] && from_low < p->args.high_order.radius) {
        const struct wide_closure *c = &p->args.high_order.closure[2 * axis];
        return from_face(p, cell, 2 * axis, from_low, c->weight[from_low], c->given[from_low]);
    }
    if (p->args.closed[2 * axis + 1] && from_high < p->args.high_order.radius) {
        const struct wide_closure *c = &p->args.high_order.closure[2 * axis + 1];
        return from_face(p, cell, 2 * axis + 1, from_high, c->weight[from_high],
                         c->given[from_high]);
    }
    const double own = input(p, cell, axis, cell[axis]);
    double sum = 0;
    for (int k = p->args.high_order.radius; k >= 1; k--) {
        const double below = input(p, cell, axis, cell[axis] - k);
        const double above = input(p, cell, axis, cell[axis] + k);
        if (p->layout.precision == PRECISION_FLOAT64) {
            sum = fma(p->args.high_order.weight[k - 1], fma(-2.0, own, below + above), sum);
        } else {
            const float both = (float)below + (float)above;
            sum = fmaf((float)p->args.high_order.weight[k - 1], fmaf(-2.0F, (float)own, both),
                       (float)sum);
        }
    }
    return sum;
}

static void reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                           __int128 sums[FACE_COUNT])
{
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double own = host_get(&p->layout, p->h_in, at);
    double d[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        d[axis] = difference(p, cell, axis);
    }
    const double *r = p->args.r;
    if (p->layout.precision == PRECISION_FLOAT64) {
        ((double *)p->h_expected)[at] = fma(r[0], d[0], fma(r[1], d[1], fma(r[2], d[2], own)));
    } else {
        ((float *)p->h_expected)[at] =
            fmaf((float)r[0], (float)d[0],
                 fmaf((float)r[1], (float)d[1], fmaf((float)r[2], (float)d[2], (float)own)));
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int64_t edge = face % 2 == 0 ? 0 : p->layout.cells[axis] - 1;
        if (p->args.high_order.used[axis] && p->args.closed[face] && cell[axis] == edge) {
            const struct wide_closure *c = &p->args.high_order.closure[face];
            sums[face] += fixed_point(from_face(p, cell, face, 0, c->in, c->in_given));
        }
    }
}

/* Advance the cells of the boxes by one step. */
static void reference_step(struct problem *p, struct exact_sum face_sum[FACE_COUNT])
{
    __int128 sums[FACE_COUNT] = {0};
    memcpy(p->h_expected, p->h_out, layout_bytes(&p->layout));
    for (int b = 0; b < p->nboxes; b++) {
        const struct box *box = &p->boxes[b];
        int64_t cell[AXIS_COUNT];
        for (cell[2] = box->lo[2]; cell[2] < box->hi[2]; cell[2]++) {
            for (cell[1] = box->lo[1]; cell[1] < box->hi[1]; cell[1]++) {
                for (cell[0] = box->lo[0]; cell[0] < box->hi[0]; cell[0]++) {
                    reference_cell(p, cell, sums);
                }
            }
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        face_sum[face] = fixed_digits(sums[face]);
    }
}

/* The sums are over the boxes, but all cells that later steps read are advanced. */
static void reference(struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    struct problem at = *p;
    at.h_in = host_field(&p->layout);
    memcpy(at.h_in, p->h_in, bytes);
    for (int step = 0; step < p->nsteps; step++) {
        const int width = (p->nsteps - 1 - step) * p->args.high_order.radius;
        at.args = p->steps[step];
        at.nboxes = p->nboxes;
        memcpy(at.boxes, p->boxes, sizeof at.boxes);
        reference_step(&at, p->face_sum[step]);
        if (width > 0) {
            struct exact_sum all[FACE_COUNT];
            at.nboxes = 1;
            at.boxes[0] = layout_owned(&p->layout);
            for (int face = 0; face < FACE_COUNT; face++) {
                at.boxes[0] = box_shrink_face(&at.boxes[0], (enum face)face,
                                              p->args.closed[face] ? 0 : -width);
            }
            reference_step(&at, all);
            memcpy(at.h_in, at.h_expected, bytes);
        }
    }
    free(at.h_in);
}

/* Any weights: the kernel does not know what they mean. */
static void random_closure(struct wide_closure *closure, int radius, uint64_t *random)
{
    memset(closure, 0, sizeof *closure);
    for (int row = 0; row < radius; row++) {
        for (int cell = 0; cell < 2 * radius; cell++) {
            closure->weight[row][cell] = cell == row ? 0 : random_between(random, -2, 2);
        }
        closure->given[row] = random_between(random, -2, 2);
    }
    for (int cell = 1; cell < 2 * radius; cell++) {
        closure->in[cell] = random_between(random, -2, 2);
    }
    closure->in_given = random_between(random, -2, 2);
    closure->value = random_between(random, -500, 500);
    closure->slope = (double)random_below(random, 2);
}

/* Bit f of `closed_faces`. An axis of one cell is not used; any other is long enough. */
static void problem_create(struct problem *p, int radius, int nsteps,
                           const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                           enum precision precision, uint64_t *random)
{
    *p = (struct problem){.nsteps = nsteps,
                          .args = {.kind = KIND_HIGH_ORDER, .high_order.radius = radius}};
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = cells[axis] > 1;
        const unsigned both = used ? closed_faces >> (2 * axis) & 3 : 3;
        halo[axis] = both == 3 ? 0 : radius * nsteps + (int)random_below(random, 2);
        p->args.high_order.used[axis] = used;
        p->args.r[axis] = used ? random_between(random, 0.0, nsteps > 1 ? 0.01 : 0.1) : 0;
        for (int side = 0; side < SIDE_COUNT; side++) {
            p->args.closed[2 * axis + side] = both >> side & 1;
            random_closure(&p->args.high_order.closure[2 * axis + side], radius, random);
        }
    }
    for (int k = 0; k < radius; k++) {
        p->args.high_order.weight[k] = precision_round(precision, random_between(random, -2, 2));
    }
    for (int step = 0; step < nsteps; step++) {
        p->steps[step] = p->args;
        for (int face = 0; face < FACE_COUNT && step > 0; face++) {
            p->steps[step].high_order.closure[face].value = random_between(random, -500, 500);
        }
    }
    must(layout_create(cells, halo, precision, &p->layout));
    if (random_below(random, 2) == 0) {
        layout_close_rows(&p->layout);
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

/* The whole of `out`, halo and padding too, and the sums; but not those of one face. */
static void check_backend(struct rig *rig, const struct problem *p)
{
    const struct operations *operations = rig->backend->operations;
    const size_t bytes = layout_bytes(&p->layout);
    static const struct exact_sum zero[STEPS_MOST][FACE_COUNT];
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum(*d_sums)[FACE_COUNT] = rig_upload(rig, zero, sizeof zero);
    struct coefficients args[STEPS_MOST];
    memcpy(args, p->steps, sizeof args);
    for (int n = 0; n < p->nsteps * FACE_COUNT; n++) {
        const int face = n % FACE_COUNT;
        args[n / FACE_COUNT].d_face_sum[face] =
            face == FACE_Y_MAX ? NULL : &d_sums[n / FACE_COUNT][face];
    }
    must(ENQUEUE(operations, step, rig->queue, .layout = p->layout, .levels = args,
                 .nsteps = p->nsteps, .d_out = d_out, .d_in = d_in, .boxes = p->boxes,
                 .nboxes = p->nboxes));
    must(rig->backend->runtime->queue_wait(rig->queue));
    void *h_got = rig_download(rig, d_out, bytes);
    assert_same_field(&p->layout, h_got, p->h_expected, rig->backend->name);
    free(h_got);
    struct exact_sum(*sums)[FACE_COUNT] = rig_download(rig, d_sums, sizeof zero);
    for (int n = 0; n < p->nsteps * FACE_COUNT; n++) {
        const int face = n % FACE_COUNT;
        const struct exact_sum *expected =
            face == FACE_Y_MAX ? &zero[0][0] : &p->face_sum[n / FACE_COUNT][face];
        assert_memory_equal(&sums[n / FACE_COUNT][face], expected, sizeof *expected);
    }
    free(sums);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

/* Whole, cut at random, or interior and shell. */
static void choose_boxes(struct problem *p, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t way = random_below(random, 3);
    if (way < 2) {
        p->nboxes = random_partition(random, &owned, way == 0 ? 1 : 7, p->boxes);
        return;
    }
    struct box inner = owned;
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box thinner =
            box_shrink_face(&inner, (enum face)face, p->nsteps * p->args.high_order.radius);
        inner = box_is_empty(&thinner) ? inner : thinner;
    }
    p->boxes[0] = inner;
    p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
}

static void check_pass(int radius, int nsteps, const int64_t cells[AXIS_COUNT],
                       unsigned closed_faces, uint64_t seed)
{
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, radius, nsteps, cells, closed_faces, (enum precision)precision, &random);
        choose_boxes(&p, &random);
        reference(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            if (nsteps <= rig.backend->operations->steps_most[KIND_HIGH_ORDER]) {
                check_backend(&rig, &p);
            }
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

static void check(int radius, const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    check_pass(radius, 1, cells, closed_faces, seed);
}

TEST(faces_in_all_combinations)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        const int radius = 2 + (int)(closed % 3);
        check(radius,
              (const int64_t[]){2 * radius + closed % 5, 2 * radius + closed % 3, 2 * radius},
              closed, 1000 + closed);
    }
}

/* Lines of a cache, chunks of a row, tiles, several threads; axes out of use; tiles of staged
 * planes that begin next to a face, and columns of them. */
TEST(shapes_of_all_kinds)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {33, 17, 12}, {70, 9, 8},    {8, 8, 8},     {130, 40, 11}, {1100, 8, 9},  {31, 1, 1},
        {1, 29, 1},   {1, 1, 27},    {3000, 1, 1},  {1, 40, 33},   {70, 1, 40},   {65, 30, 1},
        {100, 90, 9}, {9, 1200, 8},  {20011, 1, 1}, {8, 9, 200},   {600, 30, 10}, {64, 64, 10},
        {65, 35, 17}, {131, 50, 18}, {67, 9, 40}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int radius = 2; radius <= 4; radius++) {
            const uint64_t seed = 10 * s + (uint64_t)radius;
            check(radius, shapes[s], (unsigned)(seed * 37 % 64), seed);
            check(radius, shapes[s], 63, seed + 1000);
        }
    }
}

/* Blocks as thick as the radius, between neighbours or with one closed face. */
TEST(thin_blocks)
{
    for (int radius = 2; radius <= 4; radius++) {
        for (unsigned n = 0; n < 27; n++) {
            const unsigned closed = (n % 3) | (n / 3 % 3) << 2 | (n / 9) << 4;
            check(radius, (const int64_t[]){radius, radius + n % 2, radius}, closed, n);
        }
    }
}

TEST(passes_of_several_steps)
{
    static const int64_t shapes[][AXIS_COUNT] = {{33, 17, 12}, {70, 9, 8},   {130, 20, 11},
                                                 {1, 29, 1},   {1100, 8, 9}, {65, 30, 1},
                                                 {70, 1, 20},  {9, 60, 17}};
    uint64_t random = 3;
    for (int nsteps = 2; nsteps <= STEPS_MOST; nsteps++) {
        for (int radius = 2; radius <= 4; radius++) {
            const unsigned faces = (unsigned)random_below(&random, 64);
            check_pass(radius, nsteps, shapes[random_below(&random, 8)], faces,
                       random_bits(&random));
            check_pass(radius, nsteps, shapes[random_below(&random, 8)], 63, random_bits(&random));
            check_pass(radius, nsteps, (const int64_t[]){radius, radius + 1, 2 * radius},
                       1 + faces % 2, random_bits(&random));
        }
    }
}

TEST_MAIN(NULL, NULL)
