#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_classes(const struct problem *p)
{
    return p->medium.nclasses > 0;
}

static int radius_of(const struct problem *p)
{
    return p->args.kind == KIND_HIGH_ORDER ? p->args.high_order.radius : 1;
}

int problem_depth(const struct problem *p)
{
    return p->nsteps * radius_of(p);
}

/* Sets `closed`, and r to 1 on the axes in use. */
static void choose_axes(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                        int halo[AXIS_COUNT], uint64_t *random)
{
    const bool high_order = p->args.kind == KIND_HIGH_ORDER;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool one_cell = cells[axis] == 1;
        const unsigned both = one_cell && high_order ? 3 : closed_faces >> (2 * axis) & 3;
        const bool idle = one_cell && both == 3 && (high_order || random_below(random, 2) == 0);
        const bool no_halo = both == 3 && random_below(random, 2) == 0;
        halo[axis] = idle || no_halo ? 0 : problem_depth(p) + (int)random_below(random, 3);
        p->args.r[axis] = idle ? 0.0 : 1.0;
        p->args.closed[2 * axis] = both & 1;
        p->args.closed[2 * axis + 1] = both >> 1;
    }
}

/* A cell that a pass may read: owned or in the halo of open faces, as deep as the pass needs it; a
 * single step reads no edges. */
static bool may_be_read(const struct problem *p, const int64_t cell[AXIS_COUNT])
{
    const int64_t depth = problem_depth(p);
    int outside = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t below = -cell[axis];
        const int64_t above = cell[axis] - p->layout.cells[axis] + 1;
        if (below > (p->args.closed[2 * axis] ? 0 : depth) ||
            above > (p->args.closed[2 * axis + 1] ? 0 : depth)) {
            return false;
        }
        outside += below > 0 || above > 0;
    }
    return outside <= 1 || p->nsteps > 1;
}

/* Values of one binade or of many, which exact sums add in different ways; the rest stays. */
static void fill(struct problem *p, void *h_field, uint64_t *random)
{
    const struct layout *l = &p->layout;
    const bool alike = random_below(random, 3) == 0;
    for (int64_t k = -l->halo[2]; k < l->cells[2] + l->halo[2]; k++) {
        for (int64_t j = -l->halo[1]; j < l->cells[1] + l->halo[1]; j++) {
            for (int64_t i = -l->halo[0]; i < l->cells[0] + l->halo[0]; i++) {
                if (may_be_read(p, (const int64_t[]){i, j, k})) {
                    /* -0 too: an fma may turn it into +0 */
                    const double value = alike ? random_between(random, 260.0, 500.0)
                                         : random_below(random, 9) == 0
                                             ? -0.0
                                             : random_between(random, -300.0, 1000.0);
                    host_set(l, h_field, layout_index(l, i, j, k), value);
                }
            }
        }
    }
}

static void create_fields(struct problem *p, uint64_t *random)
{
    p->h_in = host_field(&p->layout);
    p->h_out = host_field(&p->layout);
    p->h_expected = host_field(&p->layout);
    memset(p->h_out, 0x5A, layout_bytes(&p->layout));
    fill(p, p->h_in, random);
}

static void create_layout(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                          enum precision precision, uint64_t *random)
{
    int halo[AXIS_COUNT];
    choose_axes(p, cells, closed_faces, halo, random);
    must(layout_create(cells, halo, precision, &p->layout));
    if (random_below(random, 2) == 0) {
        layout_close_rows(&p->layout);
    }
}

static void create_medium(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                          int nsteps, int nclasses, enum pattern pattern, enum precision precision,
                          uint64_t *random)
{
    *p = (struct problem){
        .nsteps = nsteps, .corrects = -1, .args.kind = KIND_CLASSES, .medium.nclasses = nclasses};
    create_layout(p, cells, closed_faces, precision, random);
    medium_fill(p, pattern, random);
    create_fields(p, random);
}

void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                    int nclasses, enum pattern pattern, enum precision precision, uint64_t *random)
{
    create_medium(p, cells, closed_faces, 1, nclasses, pattern, precision, random);
}

void problem_create_kind(struct problem *p, enum kind kind, const int64_t cells[AXIS_COUNT],
                         unsigned closed_faces, int nsteps, enum precision precision,
                         uint64_t *random)
{
    static const int nclasses[] = {1, 2, 8, 40, 64, 130, 255};
    if (kind != KIND_UNIFORM && kind != KIND_HIGH_ORDER) {
        const int most = kind == KIND_ENTHALPY ? 6 : 7; /* the tables of segments become long */
        const int of = kind == KIND_GRADED && random_below(random, 2) == 0
                           ? 0 /* the classes are not read then */
                           : (int)random_below(random, most);
        create_medium(p, cells, closed_faces, nsteps, nclasses[of],
                      (enum pattern)random_below(random, PATTERN_COUNT), precision, random);
        if (kind == KIND_ENTHALPY) {
            problem_make_nonlinear(p, 1 << random_below(random, 6), random);
        } else if (kind != KIND_CLASSES) {
            problem_make_faces(p, kind, random);
        }
        medium_fill_own(p, random);
        medium_fill_tables(p, random);
        return;
    }
    *p = (struct problem){.nsteps = nsteps, .corrects = -1, .args.kind = kind};
    int64_t n[AXIS_COUNT] = {cells[0], cells[1], cells[2]};
    if (kind == KIND_HIGH_ORDER) {
        const int radius = 2 + (int)random_below(random, 3);
        p->args.high_order.radius = radius;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            /* between two closed faces twice the radius; else the halo counts, too */
            const int64_t least = (closed_faces >> (2 * axis) & 3) == 3 ? 2 * radius : radius;
            n[axis] = n[axis] > 1 && n[axis] < least ? least : n[axis];
        }
    }
    create_layout(p, n, closed_faces, precision, random);
    if (kind == KIND_HIGH_ORDER) {
        high_order_fill(p, random);
    } else {
        uniform_fill(p, random);
    }
    if (nsteps > 1 && p->layout.halo[AXIS_X] > problem_depth(p)) {
        /* a subdomain that was widened into its halo */
        p->layout.origin--;
        p->layout.halo[AXIS_X]--;
        p->layout.cells[AXIS_X] += 2;
    }
    create_fields(p, random);
}

void problem_destroy(struct problem *p)
{
    if (has_classes(p)) {
        medium_destroy(p);
    }
    free(p->h_in);
    free((void *)(uintptr_t)p->h_start);
    free(p->h_out);
    free(p->h_expected);
}

void problem_let_correct(struct problem *p, uint64_t *random)
{
    p->corrects = p->nsteps > 1 ? 1 + (int)random_below(random, p->nsteps - 1) : 0;
    if (p->nsteps == 1) {
        fill(p, p->h_out, random);
    }
}

void problem_compare(struct problem *p, uint64_t *random)
{
    const size_t bytes = layout_bytes(&p->layout);
    void *h_start = host_field(&p->layout);
    p->corrects = -1;
    p->boxes[0] = layout_owned(&p->layout);
    p->nboxes = 1;
    problem_solve(p);
    memcpy(h_start, p->h_in, bytes);
    memcpy(p->h_out, p->h_expected, bytes);
    fill(p, p->h_in, random);
    p->corrects = 0;
    const void *first = p->medium.d_table;
    if (p->args.kind == KIND_CLASSES) {
        p->nsteps = 2;
        medium_fill_tables(p, random);
        p->nsteps = 1;
        p->medium.d_table = p->tables[1];
    }
    problem_solve(p);
    p->medium.d_table = first;
    p->h_start = h_start;
}

/* The coefficients of each step, with tables in device memory. */
static void upload_levels(struct rig *rig, const struct problem *p,
                          const struct device_medium *medium,
                          struct coefficients levels[STEPS_MOST])
{
    const size_t bytes = p->nvalues * precision_bytes(p->layout.precision);
    for (int s = 0; s < p->nsteps; s++) {
        levels[s] = has_classes(p) ? p->args : p->levels[s];
        levels[s].corrects = s == p->corrects;
        if (has_classes(p)) {
            coefficients_set_medium(&levels[s], medium);
            levels[s].medium.d_table =
                s > 0 ? rig_upload(rig, p->tables[s], bytes) : medium->d_table;
            levels[s].medium.dt_number = s * medium->dt_number;
        }
    }
}

bool problem_fits(const struct problem *p, const struct operations *operations)
{
    const enum kind kind = p->args.kind;
    bool fits = p->nsteps <= operations->steps_most[kind];
    const bool share = kind == KIND_UNIFORM && operations->steps_share_a != NULL &&
                       operations->steps_share_a(kind);
    for (int n = FACE_COUNT; share && n < p->nsteps * FACE_COUNT; n++) {
        fits =
            fits && p->levels[n / FACE_COUNT].a[n % FACE_COUNT] == p->levels[0].a[n % FACE_COUNT];
    }
    return fits;
}

void problem_check_compare(struct rig *rig, const struct problem *p)
{
    void (*release)(struct device *, void *) = rig->backend->runtime->memory_free;
    const size_t bytes = layout_bytes(&p->layout);
    const uint64_t none[DIFFERENCE_KEYS] = {0};
    uint64_t expected[DIFFERENCE_KEYS] = {0};
    void *d_a = rig_upload(rig, p->h_in, bytes);
    void *d_b = rig_upload(rig, p->h_start, bytes);
    void *d_work = rig_upload(rig, p->h_in, bytes);
    uint64_t *d_keys = rig_upload(rig, none, sizeof none);
    struct device_medium medium = {0};
    struct coefficients levels[STEPS_MOST];
    if (has_classes(p)) {
        medium = problem_upload(rig, p);
    }
    upload_levels(rig, p, &medium, levels);
    levels[1] = levels[0];
    levels[0].corrects = false;
    void *d_table = NULL; /* of the second step */
    if (p->tables[1] != NULL) {
        d_table = rig_upload(rig, p->tables[1], p->nvalues * precision_bytes(p->layout.precision));
        levels[1].medium.d_table = d_table;
        levels[1].medium.dt_number = medium.dt_number;
    }
    must(ENQUEUE(rig->backend->operations, compare, rig->queue, .layout = p->layout,
                 .levels = levels, .nsteps = 2, .d_a = d_a, .d_b = d_b, .d_work = d_work,
                 .d_keys = d_keys));
    for (int64_t c = 0; c < box_cells(&p->boxes[0]); c++) {
        const int64_t *n = p->layout.cells;
        const int64_t at = layout_index(&p->layout, c % n[0], c / n[0] % n[1], c / (n[0] * n[1]));
        const double a = host_get(&p->layout, p->h_in, at);
        const double of_cell[] = {fabs(a - host_get(&p->layout, p->h_expected, at)), a, -a};
        for (int key = 0; key < DIFFERENCE_KEYS; key++) {
            const uint64_t of = class_key_of(of_cell[key]);
            expected[key] = of > expected[key] ? of : expected[key];
        }
    }
    must(rig->backend->runtime->queue_wait(rig->queue));
    uint64_t *got = rig_download(rig, d_keys, sizeof none);
    assert_memory_equal(got, expected, sizeof expected);
    free(got);
    if (has_classes(p)) {
        problem_free_medium(rig, &medium);
    }
    release(rig->device, d_table);
    release(rig->device, d_a);
    release(rig->device, d_b);
    release(rig->device, d_work);
    release(rig->device, d_keys);
}

void problem_choose_boxes(struct problem *p, uint64_t *random)
{
    static const int most[] = {1, 7, MAX_BOXES};
    const struct box owned = layout_owned(&p->layout);
    const int64_t way = random_below(random, 4);
    if (p->nsteps > 1 && random_below(random, 3) == 0) {
        const int n = random_partition(random, &owned, most[1], p->boxes);
        p->without = p->boxes[random_below(random, n)];
    }
    if (way < 3) {
        p->nboxes = random_partition(random, &owned, most[way], p->boxes);
        p->nboxes = way == 2 ? (p->nboxes + 1) / 2 : p->nboxes;
        return;
    }
    const bool closed_too = random_below(random, 2) == 0;
    struct box inner = owned;
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct box thinner = box_shrink_face(&inner, (enum face)face, problem_depth(p));
        const bool stays = box_is_empty(&thinner) || (p->args.closed[face] && !closed_too);
        inner = stays ? inner : thinner;
    }
    p->boxes[0] = inner;
    p->nboxes = 1 + box_shell(&owned, &inner, p->boxes + 1);
}

static bool is_left_out(const struct problem *p, const int64_t at[AXIS_COUNT])
{
    const struct box cell = {{at[0], at[1], at[2]}, {at[0] + 1, at[1] + 1, at[2] + 1}};
    return box_contains(&p->without, &cell);
}

static bool in_boxes(const struct problem *p, const int64_t at[AXIS_COUNT])
{
    for (int b = 0; b < p->nboxes; b++) {
        const struct box *box = &p->boxes[b];
        bool inside = true;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            inside = inside && at[axis] >= box->lo[axis] && at[axis] < box->hi[axis];
        }
        if (inside) {
            return true;
        }
    }
    return false;
}

/* One step of the cells of `boxes`; the sums are over those of the problem's boxes. */
static void advance(struct problem *p, const struct box *boxes, int nboxes,
                    struct exact_sum face_sum[FACE_COUNT])
{
    static reference_cell *const update[KIND_COUNT] = {
        [KIND_UNIFORM] = uniform_reference_cell,    [KIND_CLASSES] = medium_reference_cell,
        [KIND_ENTHALPY] = nonlinear_reference_cell, [KIND_HIGH_ORDER] = high_order_reference_cell,
        [KIND_FACES] = medium_reference_cell,       [KIND_GRADED] = medium_reference_cell,
    };
    __int128 sums[2][FACE_COUNT] = {{0}};
    memcpy(p->h_expected, p->h_out, layout_bytes(&p->layout));
    for (int b = 0; b < nboxes; b++) {
        int64_t cell[AXIS_COUNT];
        for (cell[2] = boxes[b].lo[2]; cell[2] < boxes[b].hi[2]; cell[2]++) {
            for (cell[1] = boxes[b].lo[1]; cell[1] < boxes[b].hi[1]; cell[1]++) {
                for (cell[0] = boxes[b].lo[0]; cell[0] < boxes[b].hi[0]; cell[0]++) {
                    const bool counts =
                        (boxes == p->boxes || in_boxes(p, cell)) && !is_left_out(p, cell);
                    update[p->args.kind](p, cell, sums[counts ? 1 : 0]);
                }
            }
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        face_sum[face] = fixed_digits(sums[1][face]);
    }
}

/* Step s leaves nsteps - 1 - s times the radius layers of halo. */
void problem_solve(struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    struct problem at = *p;
    at.h_in = host_field(&p->layout);
    memcpy(at.h_in, p->h_in, bytes);
    void *h_before = host_field(&p->layout);
    memcpy(h_before, p->h_out, bytes);
    for (int s = 0; s < p->nsteps - 1; s++) {
        struct box known = layout_owned(&p->layout);
        for (int face = 0; face < FACE_COUNT; face++) {
            const int width = (p->nsteps - 1 - s) * radius_of(p);
            known = box_shrink_face(&known, (enum face)face, p->args.closed[face] ? 0 : -width);
        }
        at.args = has_classes(p) ? at.args : p->levels[s];
        at.h_base = s == p->corrects ? h_before : at.h_in;
        advance(&at, &known, 1, p->face_sum[s]);
        memcpy(h_before, at.h_in, bytes);
        memcpy(at.h_in, at.h_expected, bytes);
        at.medium.d_table = p->tables[s + 1];
    }
    at.args = has_classes(p) ? at.args : p->levels[p->nsteps - 1];
    at.h_base = p->nsteps - 1 == p->corrects ? h_before : at.h_in;
    advance(&at, at.boxes, at.nboxes, p->face_sum[p->nsteps - 1]);
    free(at.h_in);
    free(h_before);
}

void problem_solve_owned(struct problem *p)
{
    p->boxes[0] = layout_owned(&p->layout);
    p->nboxes = 1;
    problem_solve(p);
}

/* The sum that the step adds to d_bits. */
static uint32_t expected_bits(const struct problem *p)
{
    const size_t width = precision_bytes(p->layout.precision);
    uint32_t sum = 0;
    for (int b = 0; b < p->nboxes; b++) {
        for (int64_t n = 0; n < box_cells(&p->boxes[b]); n++) {
            int64_t cell[AXIS_COUNT];
            uint32_t words[2][2] = {{0}};
            box_cell(&p->boxes[b], n, cell);
            if (is_left_out(p, cell)) {
                continue;
            }
            const size_t at = (size_t)layout_index(&p->layout, cell[0], cell[1], cell[2]) * width;
            memcpy(words[0], (const char *)p->h_expected + at, width);
            memcpy(words[1], (const char *)p->h_in + at, width);
            sum += words[0][0] + words[0][1] - words[1][0] - words[1][1];
        }
    }
    return sum;
}

void problem_check_step(struct rig *rig, step_function *step, const char *name,
                        const struct problem *p, bool sums)
{
    static const struct exact_sum zero[STEPS_MOST][FACE_COUNT];
    static int calls = 0;
    const uint32_t before = 36;
    /* other kernels may take them than without */
    const bool bits = step == rig->backend->operations->step && ++calls % 2 == 0;
    void (*release)(struct device *, void *) = rig->backend->runtime->memory_free;
    const size_t bytes = layout_bytes(&p->layout);
    void *d_in = rig_upload(rig, p->h_in, bytes);
    void *d_out = rig_upload(rig, p->h_out, bytes);
    struct exact_sum(*d_sums)[FACE_COUNT] = rig_upload(rig, zero, sizeof zero);
    uint32_t *d_bits = rig_upload(rig, &before, sizeof before);
    struct device_medium medium = {0};
    if (has_classes(p)) {
        medium = problem_upload(rig, p);
    }
    struct coefficients levels[STEPS_MOST];
    void *d_tables[STEPS_MOST] = {NULL};
    upload_levels(rig, p, &medium, levels);
    for (int s = 0; s < p->nsteps; s++) {
        d_tables[s] = s > 0 && has_classes(p) ? (void *)(uintptr_t)levels[s].medium.d_table : NULL;
        for (int face = 0; face < FACE_COUNT; face++) {
            levels[s].d_face_sum[face] = sums && face != FACE_Y_MAX ? &d_sums[s][face] : NULL;
        }
    }
    must(step(rig->queue, &(struct step_args){.layout = p->layout,
                                              .levels = levels,
                                              .nsteps = p->nsteps,
                                              .d_out = d_out,
                                              .d_in = d_in,
                                              .boxes = p->boxes,
                                              .nboxes = p->nboxes,
                                              .without = &p->without,
                                              .nwithout = !box_is_empty(&p->without),
                                              .d_bits = bits ? d_bits : NULL}));
    memset(levels, 0xFF, sizeof levels);
    must(rig->backend->runtime->queue_wait(rig->queue));

    char who[64];
    snprintf(who, sizeof who, "%s %s, kind %d, %d steps, %d corrects", rig->backend->name, name,
             p->args.kind, p->nsteps, p->corrects);
    void *h_got = rig_download(rig, d_out, bytes);
    for (int64_t n = 0; n < box_cells(&p->without); n++) { /* whatever a backend leaves there */
        int64_t cell[AXIS_COUNT];
        box_cell(&p->without, n, cell);
        const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
        precision_set(p->layout.precision, h_got, at,
                      precision_get(p->layout.precision, p->h_expected, at));
    }
    assert_same_field(&p->layout, h_got, p->h_expected, who);
    free(h_got);
    struct exact_sum(*got)[FACE_COUNT] = rig_download(rig, d_sums, sizeof zero);
    for (int n = 0; n < p->nsteps * FACE_COUNT; n++) {
        const int face = n % FACE_COUNT;
        const bool summed = sums && face != FACE_Y_MAX;
        assert_memory_equal(&got[n / FACE_COUNT][face],
                            summed ? &p->face_sum[n / FACE_COUNT][face] : &zero[0][0],
                            sizeof zero[0][0]);
    }
    free(got);
    uint32_t *got_bits = rig_download(rig, d_bits, sizeof before);
    if (*got_bits != before + (bits ? expected_bits(p) : 0)) {
        print_error("%s: the sum of bits\n", who);
    }
    assert_int_equal(*got_bits, before + (bits ? expected_bits(p) : 0));
    free(got_bits);
    release(rig->device, d_bits);
    if (has_classes(p)) {
        problem_free_medium(rig, &medium);
    }
    for (int s = 0; s < p->nsteps; s++) {
        release(rig->device, d_tables[s]);
    }
    release(rig->device, d_in);
    release(rig->device, d_out);
    release(rig->device, d_sums);
}
