/* The step kernel of every backend against a plain triple loop, bit for bit: shapes, faces, boxes,
 * threads, variants; and the sums over closed faces. */
#include "rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/heat_cell.h"

enum { MAX_BOXES = 16 };

/* One problem, and what the reference makes of it. */
struct problem {
    struct layout layout;
    struct coefficients args;
    struct box boxes[MAX_BOXES];
    int nboxes;
    void *h_in;
    void *h_out;      /* before: a pattern */
    void *h_expected; /* h_out with the cells of the boxes advanced */
    struct exact_sum face_sum[FACE_COUNT];
};

static bool is_halo_of_open_face(const struct problem *p, const int64_t cell[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if ((cell[axis] < 0 && p->args.closed[face_of((enum axis)axis, SIDE_MIN)]) ||
            (cell[axis] >= p->layout.cells[axis] &&
             p->args.closed[face_of((enum axis)axis, SIDE_MAX)])) {
            return false;
        }
    }
    return true;
}

/* Owned cells and the halo of open faces get values; beyond closed faces NaN stays. */
static void fill_input(struct problem *p, uint64_t *random)
{
    const struct layout *l = &p->layout;
    for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
        for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
            for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                if (is_halo_of_open_face(p, cell)) {
                    /* -0 too: an fma may turn it into +0 */
                    const double value = random_below(random, 9) == 0
                                             ? -0.0
                                             : random_between(random, -300.0, 1000.0);
                    host_set(l, p->h_in, layout_index(l, i, j, k), value);
                }
            }
        }
    }
}

/* The neighbour of cell (i, j, k) across `face`, as a double (exact for float32). */
static double neighbour(const struct problem *p, int64_t i, int64_t j, int64_t k, enum face face)
{
    int64_t cell[AXIS_COUNT] = {i, j, k};
    const enum axis axis = face_axis(face);
    const int64_t last = face_side(face) == SIDE_MIN ? 0 : p->layout.cells[axis] - 1;
    if (p->args.closed[face] && cell[axis] == last) {
        const double inside = host_get(&p->layout, p->h_in, layout_index(&p->layout, i, j, k));
        const double a = p->args.a[face];
        const double b = p->args.b[face];
        return p->layout.precision == PRECISION_FLOAT64
                   ? heat_outside_float64(inside, a, b)
                   : (double)heat_outside_float32((float)inside, (float)a, (float)b);
    }
    cell[axis] += face_side(face) == SIDE_MIN ? -1 : 1;
    return host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
}

static void reference_cell(struct problem *p, int64_t i, int64_t j, int64_t k)
{
    const int64_t at = layout_index(&p->layout, i, j, k);
    const double c = host_get(&p->layout, p->h_in, at);
    const double *r = p->args.r;
    double n[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        n[face] = neighbour(p, i, j, k, (enum face)face);
    }
    if (p->layout.precision == PRECISION_FLOAT64) {
        ((double *)p->h_expected)[at] =
            heat_cell_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], r[0], r[1], r[2]);
    } else {
        ((float *)p->h_expected)[at] =
            heat_cell_float32((float)c, (float)n[0], (float)n[1], (float)n[2], (float)n[3],
                              (float)n[4], (float)n[5], (float)r[0], (float)r[1], (float)r[2]);
    }
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
                    reference_cell(p, i, j, k);
                    const int64_t cell[AXIS_COUNT] = {i, j, k};
                    const double value =
                        host_get(&p->layout, p->h_in, layout_index(&p->layout, i, j, k));
                    for (int face = 0; face < FACE_COUNT; face++) {
                        const int axis = face / 2;
                        const int64_t edge = face % 2 == 0 ? 0 : p->layout.cells[axis] - 1;
                        if (p->args.closed[face] && cell[axis] == edge) {
                            sums[face] += fixed_point(value);
                        }
                    }
                }
            }
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        p->face_sum[face] = fixed_digits(sums[face]);
    }
}

/* Faces: bit f of `closed_faces`. A closed pair of faces on an axis of one cell is an axis out of
 * use every other time: no halo, no coefficient. */
static void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT],
                           unsigned closed_faces, enum precision precision, uint64_t *random)
{
    *p = (struct problem){.nboxes = 0};
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const unsigned both = closed_faces >> (2 * axis) & 3;
        const bool in_use = cells[axis] > 1 || both != 3 || random_below(random, 2) == 0;
        halo[axis] =
            both == 3 && random_below(random, 2) == 0 ? 0 : 1 + (int)random_below(random, 3);
        halo[axis] = in_use ? halo[axis] : 0;
        p->args.r[axis] = in_use ? random_between(random, 0.0, 0.17) : 0.0;
        for (int side = 0; side < SIDE_COUNT; side++) {
            const enum face face = face_of((enum axis)axis, (enum side)side);
            p->args.closed[face] = both >> side & 1;
            const bool insulated = !in_use || random_below(random, 4) == 0;
            p->args.a[face] = insulated ? 1.0 : random_between(random, -1.0, 1.0);
            p->args.b[face] = insulated ? 0.0 : random_between(random, -500.0, 500.0);
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

/* Run one step function on the problem and compare the whole of `out`, halo and padding too. */
static void check_step(struct rig *rig, step_function *step, const char *name,
                       const struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    const size_t sums_bytes = sizeof p->face_sum;
    const struct exact_sum zero[FACE_COUNT] = {{{0}}};
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum *d_sums = rig_upload(rig, zero, sums_bytes);
    struct coefficients args = p->args;
    for (int face = 0; face < FACE_COUNT; face++) {
        args.d_face_sum[face] = d_sums + face;
    }
    args.d_face_sum[FACE_Y_MAX] = NULL;
    must(step(rig->queue, &(struct step_args){.layout = p->layout,
                                              .levels = &args,
                                              .nsteps = 1,
                                              .d_out = d_out,
                                              .d_in = d_in,
                                              .boxes = p->boxes,
                                              .nboxes = p->nboxes}));
    must(rig->backend->runtime->queue_wait(rig->queue));

    char who[64];
    snprintf(who, sizeof who, "%s %s", rig->backend->name, name);
    void *h_got = rig_download(rig, d_out, bytes);
    assert_same_field(&p->layout, h_got, p->h_expected, who);
    free(h_got);
    struct exact_sum *sums = rig_download(rig, d_sums, sums_bytes);
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct exact_sum *expected = face == FACE_Y_MAX ? &zero[face] : &p->face_sum[face];
        assert_memory_equal(&sums[face], expected, sizeof *expected);
    }
    free(sums);
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

/* Every launch shape, chosen for the first box: speed may depend on it, bits may not. */
static void check_launch_shapes(struct rig *rig, const struct problem *p)
{
    const char *const *names = NULL;
    const int nshapes = rig->backend->operations->step_shapes != NULL
                            ? rig->backend->operations->step_shapes(&names)
                            : 0;
    int64_t extent[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        extent[axis] = box_extent(&p->boxes[0], (enum axis)axis);
    }
    for (int shape = 0; shape < nshapes; shape++) {
        must(rig->backend->operations->step_shape(rig->device, p->layout.precision, extent, shape));
        check_step(rig, rig->backend->operations->step, names[shape], p);
    }
}

static void check_all(const struct problem *p)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        check_step(&rig, rig.backend->operations->step, "step", p);
        for (int v = 0; v < rig.backend->operations->nvariants; v++) {
            check_step(&rig, rig.backend->operations->variants[v].step,
                       rig.backend->operations->variants[v].name, p);
        }
        check_launch_shapes(&rig, p);
        rig_close(&rig);
    }
}

/* Whole, cut at random, some pieces left out, or interior and shell. */
static void choose_boxes(struct problem *p, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    switch (random_below(random, 4)) {
    case 0:
        p->nboxes = random_partition(random, &owned, 1, p->boxes);
        break;
    case 1:
        p->nboxes = random_partition(random, &owned, 7, p->boxes);
        break;
    case 2:
        p->nboxes = (random_partition(random, &owned, MAX_BOXES, p->boxes) + 1) / 2;
        break;
    default: {
        struct box inner = owned;
        for (int face = 0; face < FACE_COUNT; face++) {
            const struct box thinner = box_shrink_face(&inner, (enum face)face, 1);
            inner = box_is_empty(&thinner) ? inner : thinner;
        }
        p->boxes[0] = inner;
        p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
    }
    }
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, cells, closed_faces, (enum precision)precision, &random);
        choose_boxes(&p, &random);
        reference(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        check_all(&p);
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

/* Large enough for several threads; few rows are cut along x, few planes inside a plane. */
TEST(shapes_for_several_threads)
{
    static const int64_t shapes[][AXIS_COUNT] = {{33, 17, 40},  {20011, 1, 1}, {300, 40, 1},
                                                 {64, 100, 2},  {1, 95, 97},   {4100, 3, 1},
                                                 {100, 130, 3}, {1, 1, 9000},  {3, 2900, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_shape(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                        100 * s + seed);
        }
    }
}

/* Large enough for the cpu backend to try its ways and tiles: no call may differ by a bit. */
TEST(the_first_calls_and_the_later_ones_agree)
{
    uint64_t random = 123;
    struct problem p;
    problem_create(&p, (const int64_t[]){500, 101, 23}, 63, PRECISION_FLOAT64, &random);
    const struct box owned = layout_owned(&p.layout);
    p.nboxes = random_partition(&random, &owned, 1, p.boxes);
    reference(&p);
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (int call = 0; call < 17; call++) {
            check_step(&rig, rig.backend->operations->step, "step", &p);
        }
        rig_close(&rig);
    }
    problem_destroy(&p);
}

/* The same field in 1 and in 13 boxes, on 1 and 3 threads: the same face sums, by digits. */
TEST(face_sums_do_not_depend_on_the_partition)
{
    uint64_t random = 77;
    struct problem p;
    problem_create(&p, (const int64_t[]){31, 30, 29}, 63, PRECISION_FLOAT64, &random);
    const struct box owned = layout_owned(&p.layout);
    p.nboxes = random_partition(&random, &owned, 1, p.boxes);
    reference(&p);
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        check_all(&p);
        p.nboxes = random_partition(&random, &owned, 13, p.boxes);
    }
    problem_destroy(&p);
}

TEST_MAIN(NULL, NULL)
