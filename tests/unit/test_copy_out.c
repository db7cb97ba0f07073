/* Copies beside the steps: what arrives is what was there when it was sent, whatever the steps have
 * made of it since; on every backend. */
#include "../backend/rig.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "model/field/copy_out.h"

enum { NX = 37, NY = 11, NZ = 9, CELLS = NX * NY * NZ, STEPS = 12 };

/* A field that steps overwrite: cell n is n + 1000 step in all of it. */
struct scene {
    struct rig rig;
    struct layout layout;
    void *d_field;
    void *h_step[STEPS];
    struct copy_out *copy_out;
    double *h_values; /* pinned; room for all cells twice */
};

static void scene_open(struct scene *s, const struct backend *backend, size_t room)
{
    void *h_values = NULL;
    memset(s, 0, sizeof *s);
    rig_open(&s->rig, backend);
    must(layout_create((const int64_t[]){NX, NY, NZ}, (const int[]){1, 1, 0}, PRECISION_FLOAT64,
                       &s->layout));
    for (int step = 0; step < STEPS; step++) {
        s->h_step[step] = host_field(&s->layout);
        for (int n = 0; n < CELLS; n++) {
            host_set(&s->layout, s->h_step[step],
                     layout_index(&s->layout, n % NX, n / NX % NY, n / NX / NY), n + 1000.0 * step);
        }
    }
    s->d_field = rig_upload(&s->rig, s->h_step[0], layout_bytes(&s->layout));
    must(backend->runtime->pinned_alloc(s->rig.device, 2 * CELLS * sizeof(double), &h_values));
    s->h_values = h_values;
    must(copy_out_create(backend, s->rig.device, s->rig.queue, room, &s->copy_out));
    assert_int_equal(copy_out_room(s->copy_out), room);
}

static void scene_close(struct scene *s)
{
    const struct runtime *runtime = s->rig.backend->runtime;
    copy_out_destroy(s->copy_out);
    runtime->pinned_free(s->rig.device, s->h_values);
    runtime->memory_free(s->rig.device, s->d_field);
    rig_close(&s->rig);
    for (int step = 0; step < STEPS; step++) {
        free(s->h_step[step]);
    }
}

/* Queued, as a step is. */
static void step_to(struct scene *s, int step)
{
    must(s->rig.backend->runtime->copy_to_device(s->rig.queue, s->d_field, s->h_step[step],
                                                 layout_bytes(&s->layout)));
}

static const struct extract_args everything = {
    .stride = {1, 1, 1}, .cells = {NX, NY, NZ}, .precision = PRECISION_FLOAT64};

static enum status add(struct scene *s, const struct extract_args *of, void *h_values)
{
    struct extract_args args = *of;
    args.layout = s->layout;
    args.d_field = s->d_field;
    return copy_out_add(s->copy_out, &args, h_values);
}

static void expect_step(const double *values, int step)
{
    for (int n = 0; n < CELLS; n++) {
        if (values[n] != n + 1000.0 * step) {
            fail_msg("cell %d of step %d is %g", n, step, values[n]);
        }
    }
}

static void for_each_backend(void (*check)(struct scene *s), size_t room)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct scene scene;
        scene_open(&scene, rig_backend_at(b), room);
        check(&scene);
        scene_close(&scene);
    }
}

static const size_t one_field = (CELLS * sizeof(double) + 63) / 64 * 64;

/* Steps go on while it travels; each may wait for one that is some steps old, as a run does. */
static void check_later_steps(struct scene *s)
{
    bool done = false;
    must(copy_out_begin(s->copy_out));
    assert_false(copy_out_is_under_way(s->copy_out));
    must(add(s, &everything, s->h_values));
    assert_true(copy_out_is_under_way(s->copy_out));
    for (int step = 1; step < STEPS; step++) {
        step_to(s, step);
        must(s->rig.backend->runtime->queue_wait(s->rig.queue));
        must(copy_out_done(s->copy_out, &done));
    }
    must(copy_out_wait(s->copy_out));
    expect_step(s->h_values, 0);
    must(copy_out_done(s->copy_out, &done));
    assert_true(done);
    assert_false(copy_out_is_under_way(s->copy_out));
}

TEST(later_steps_change_nothing)
{
    for_each_backend(check_later_steps, one_field);
}

/* By asking alone, without a wait of anybody's. */
static void check_asking(struct scene *s)
{
    bool done = false;
    must(copy_out_begin(s->copy_out));
    must(add(s, &everything, s->h_values));
    while (!done) {
        must(copy_out_done(s->copy_out, &done));
    }
    expect_step(s->h_values, 0);
}

TEST(it_arrives_when_it_says_so)
{
    for_each_backend(check_asking, one_field);
}

/* The room is used again: the one before must have left it. And a wait for the copy alone waits for
 * the step before it, too. */
static void check_again(struct scene *s)
{
    for (int step = 0; step < STEPS; step++) {
        double *h_values = s->h_values + (size_t)CELLS * (step % 2);
        step_to(s, step);
        must(copy_out_begin(s->copy_out));
        if (step > 0) {
            expect_step(s->h_values + (size_t)CELLS * ((step - 1) % 2), step - 1);
        }
        must(add(s, &everything, h_values));
    }
    must(copy_out_wait(s->copy_out));
    expect_step(s->h_values + (size_t)CELLS * ((STEPS - 1) % 2), STEPS - 1);
}

TEST(the_room_is_used_again)
{
    for_each_backend(check_again, one_field);
}

/* Several parts of one state, thinned out and converted, side by side in the room. */
static void check_parts(struct scene *s)
{
    const struct extract_args part = {.first = {3, 1, 0},
                                      .stride = {2, 3, 4},
                                      .cells = {17, 4, 3},
                                      .precision = PRECISION_FLOAT32};
    float *h_part = (float *)(void *)(s->h_values + CELLS);
    must(copy_out_begin(s->copy_out));
    must(add(s, &everything, s->h_values));
    must(add(s, &part, h_part));
    step_to(s, 1);
    must(s->rig.backend->runtime->queue_wait(s->rig.queue));
    /* no room for a third */
    assert_int_equal(add(s, &part, s->h_values), STATUS_MEMORY);
    must(copy_out_wait(s->copy_out));
    expect_step(s->h_values, 0);
    int at = 0;
    for (int k = 0; k < 12; k += 4) {
        for (int j = 1; j < 1 + 12; j += 3) {
            for (int i = 3; i < 3 + 34; i += 2) {
                assert_true(h_part[at++] == (float)((k * NY + j) * NX + i));
            }
        }
    }
    assert_int_equal(at, 17 * 4 * 3);
}

TEST(parts_lie_side_by_side)
{
    for_each_backend(check_parts, one_field + (17 * 4 * 3 * sizeof(float) + 63) / 64 * 64);
}

TEST(no_room_is_said)
{
    struct scene s;
    struct copy_out *none = (struct copy_out *)(void *)&s;
    scene_open(&s, backend_find("guard"), one_field);
    assert_int_equal(
        copy_out_create(s.rig.backend, s.rig.device, s.rig.queue, (size_t)1 << 60, &none),
        STATUS_MEMORY);
    assert_null(none);
    copy_out_destroy(NULL);
    scene_close(&s);
}

TEST_MAIN(NULL, NULL)
