/* Several steps in one pass in media of classes, with and without segments, on every backend that
 * has them: as many single steps of a plain loop, bit for bit, and their sums over closed faces. */
#include "medium_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

/* The problem is that of the first step; its h_expected and boxes are those of the pass. */
struct pass {
    struct problem problem;
    int nsteps;
    void *tables[STEPS_MOST]; /* of each step; the first is the problem's */
    struct exact_sum sums[STEPS_MOST][FACE_COUNT];
};

/* The number at `at` of a table, times something. */
static void scale(const struct problem *p, void *table, int64_t at, uint64_t *random)
{
    host_set(&p->layout, table, at,
             host_get(&p->layout, table, at) * random_between(random, 0.5, 1.5));
}

/* Later steps have other sources, and other values at closed faces. */
static void fill_tables(struct pass *s, uint64_t *random)
{
    const struct problem *p = &s->problem;
    const struct device_medium *m = &p->medium;
    const size_t bytes = p->nvalues * precision_bytes(p->layout.precision);
    const int given = m->nsegments > 0 ? 0 : 1;
    for (int step = 1; step < s->nsteps; step++) {
        s->tables[step] = malloc(bytes);
        assert_non_null(s->tables[step]);
        memcpy(s->tables[step], m->d_table, bytes);
        for (int c = 0; c < m->nclasses; c++) {
            scale(p, s->tables[step], medium_cell_at(c) + 1, random);
        }
        for (int face = 0; face < FACE_COUNT; face++) {
            for (int c = 0; c < m->nclosures; c++) {
                scale(p, s->tables[step],
                      medium_closure_at(m->nclasses, m->nclosures, face, c) + given, random);
            }
        }
    }
}

/* All cells that are known `width` layers into the halo. */
static struct box known_cells(const struct problem *p, int width)
{
    struct box known = layout_owned(&p->layout);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        known.lo[axis] -= p->args.closed[2 * axis] ? 0 : width;
        known.hi[axis] += p->args.closed[2 * axis + 1] ? 0 : width;
    }
    return known;
}

static void solve(struct pass *s)
{
    const size_t bytes = layout_bytes(&s->problem.layout);
    struct problem at = s->problem;
    at.h_in = host_field(&at.layout);
    memcpy(at.h_in, s->problem.h_in, bytes);
    for (int step = 0; step < s->nsteps; step++) {
        at.medium.d_table = step == 0 ? s->problem.medium.d_table : s->tables[step];
        at.nboxes = s->problem.nboxes;
        memcpy(at.boxes, s->problem.boxes, sizeof at.boxes);
        problem_solve(&at);
        memcpy(s->sums[step], at.face_sum, sizeof at.face_sum);
        if (step < s->nsteps - 1) {
            at.nboxes = 1;
            at.boxes[0] = known_cells(&at, s->nsteps - 1 - step);
            problem_solve(&at);
            memcpy(at.h_in, at.h_expected, bytes);
        }
    }
    free(at.h_in);
}

static void check_pass(struct rig *rig, const struct pass *s)
{
    static const struct exact_sum zero[STEPS_MOST][FACE_COUNT];
    const struct problem *p = &s->problem;
    const size_t bytes = layout_bytes(&p->layout);
    const size_t table_bytes = p->nvalues * precision_bytes(p->layout.precision);
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum(*d_sums)[FACE_COUNT] = rig_upload(rig, zero, sizeof zero);
    const struct device_medium medium = problem_upload(rig, p);
    struct coefficients args[STEPS_MOST];
    void *d_tables[STEPS_MOST] = {NULL};
    for (int step = 0; step < s->nsteps; step++) {
        args[step] = p->args;
        coefficients_set_medium(&args[step], &medium);
        if (step > 0) {
            d_tables[step] = rig_upload(rig, s->tables[step], table_bytes);
            args[step].medium.d_table = d_tables[step];
        }
        for (int face = 0; face < FACE_COUNT; face++) {
            args[step].d_face_sum[face] = face == FACE_Y_MAX ? NULL : &d_sums[step][face];
        }
    }
    must(ENQUEUE(rig->backend->operations, step, rig->queue, .layout = p->layout, .levels = args,
                 .nsteps = s->nsteps, .d_out = d_out, .d_in = d_in, .boxes = p->boxes,
                 .nboxes = p->nboxes));
    memset(args, 0xFF, sizeof args);
    must(rig->backend->runtime->queue_wait(rig->queue));
    char who[64];
    snprintf(who, sizeof who, "%s, %d steps", rig->backend->name, s->nsteps);
    void *h_got = rig_download(rig, d_out, bytes);
    assert_same_field(&p->layout, h_got, p->h_expected, who);
    free(h_got);
    struct exact_sum(*sums)[FACE_COUNT] = rig_download(rig, d_sums, sizeof zero);
    for (int n = 0; n < s->nsteps * FACE_COUNT; n++) {
        const int face = n % FACE_COUNT;
        const struct exact_sum *expected =
            face == FACE_Y_MAX ? &zero[0][0] : &s->sums[n / FACE_COUNT][face];
        assert_memory_equal(&sums[n / FACE_COUNT][face], expected, sizeof *expected);
    }
    free(sums);
    problem_free_medium(rig, &medium);
    for (int step = 1; step < s->nsteps; step++) {
        rig->backend->runtime->memory_free(rig->device, d_tables[step]);
    }
    rig->backend->runtime->memory_free(rig->device, d_in);
    rig->backend->runtime->memory_free(rig->device, d_out);
    rig->backend->runtime->memory_free(rig->device, d_sums);
}

/* Whole, cut at random, or interior and shell. */
static void choose_boxes(struct problem *p, int nsteps, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t way = random_below(random, 3);
    if (way < 2) {
        p->nboxes = random_partition(random, &owned, way == 0 ? 1 : MAX_BOXES, p->boxes);
        p->nboxes = (p->nboxes + 1) / 2;
        return;
    }
    struct box inner = owned;
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box thinner = box_shrink_face(&inner, (enum face)face, nsteps);
        inner = box_is_empty(&thinner) || p->args.closed[face] ? inner : thinner;
    }
    p->boxes[0] = inner;
    p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
}

static void check(enum kind kind, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                  int nsteps, enum precision precision, uint64_t seed)
{
    static const int nclasses[] = {1, 2, 8, 40, 130};
    uint64_t random = seed;
    struct pass s = {.nsteps = nsteps};
    struct problem *p = &s.problem;
    problem_create_deep(p, cells, closed_faces, nclasses[random_below(&random, 5)],
                        (enum pattern)random_below(&random, PATTERN_COUNT), precision, nsteps,
                        &random);
    if (kind == KIND_ENTHALPY) {
        problem_make_nonlinear(p, 1 << random_below(&random, 6), &random);
    }
    fill_tables(&s, &random);
    choose_boxes(p, nsteps, &random);
    omp_set_num_threads(1 + (int)random_below(&random, 3));
    bool solved = false;
    for (int b = 0; b < rig_backend_count(); b++) {
        if (nsteps <= rig_backend_at(b)->operations->steps_most[kind]) {
            struct rig rig;
            if (!solved) {
                solve(&s);
                solved = true;
            }
            rig_open(&rig, rig_backend_at(b));
            check_pass(&rig, &s);
            rig_close(&rig);
        }
    }
    for (int step = 1; step < nsteps; step++) {
        free(s.tables[step]);
    }
    problem_destroy(p);
}

static void check_kinds(const int64_t cells[AXIS_COUNT], unsigned closed_faces, int nsteps,
                        uint64_t seed)
{
    for (int n = 0; n < 4; n++) {
        check(n < 2 ? KIND_CLASSES : KIND_ENTHALPY, cells, closed_faces, nsteps,
              (enum precision)(n % 2), 4 * seed + (uint64_t)n);
    }
}

TEST(small_shapes)
{
    static const int64_t nx[] = {1, 2, 5, 8, 17, 33, 64, 131};
    static const int64_t ny[] = {1, 2, 3, 9, 21};
    static const int64_t nz[] = {1, 2, 7, 15};
    uint64_t random = 1;
    for (int nsteps = 1; nsteps <= STEPS_MOST; nsteps++) {
        for (int n = 0; n < 12; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[random_below(&random, 8)],
                                               ny[random_below(&random, 5)],
                                               nz[random_below(&random, 4)]};
            check_kinds(cells, (unsigned)random_below(&random, 64), nsteps, random_bits(&random));
        }
    }
}

TEST(faces_in_all_combinations)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        check_kinds((const int64_t[]){18, 9, 11}, closed, 1 + (int)closed % 4, closed);
    }
}

/* Several tiles on every axis, on the backends that divide a box into tiles. */
TEST(large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {200, 70, 40}, {1000, 60, 1}, {9001, 1, 1}, {130, 3, 90}, {66, 50, 70}, {1300, 8, 20},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 0; n < 2; n++) {
            check_kinds(shapes[s], n == 0 ? 63 : (unsigned)(37 * s + 11) % 64, 2 + n + (int)s % 2,
                        10 * s + (size_t)n);
        }
    }
}

TEST_MAIN(NULL, NULL)
