/* The summary that a pass makes of its result, on every backend: as `summarise` makes it. */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum contents { USUAL, OF_ALL_SIZES, INVALID, LARGE, CONTENTS };

/* In steps that change no value; but one cell INVALID. */
static void change_contents(struct problem *p, enum contents contents, uint64_t *random)
{
    const struct box owned = layout_owned(&p->layout);
    const int64_t n[] = {owned.hi[0], owned.hi[1], owned.hi[2]};
    const int64_t cells = contents == INVALID ? 1 : box_cells(&owned);
    for (int s = 0; s < p->nsteps && contents != INVALID; s++) {
        memset(p->levels[s].r, 0, sizeof p->levels[s].r);
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

/* Twice, without a wait between them: a queue's kernels share memory for their reductions. The
 * first one is there after a wait for what is before the second. */
static void check_summary(struct rig *rig, struct problem *p, enum contents contents)
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
    struct device_medium medium = {.d_class = NULL};
    struct field_summary plain;
    struct field_summary got[2];
    struct event *mark;
    must(rig->backend->runtime->event_create(rig->device, &mark));
    if (p->args.kind == KIND_CLASSES) {
        medium = problem_upload(rig, p);
        p->levels[0] = p->args;
        p->levels[0].medium = medium;
    }
    for (int which = 0; which < 2; which++) {
        memcpy(args[which], p->levels, sizeof p->levels);
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
                 .medium = medium.d_class != NULL ? &medium : NULL, .d_field = d_plain,
                 .h_summary = &plain));
    step.d_out = d_out;
    for (int call = 0; call < 2; call++) {
        step.levels = call == 0 ? p->levels : args[1];
        step.h_summary = &got[call];
        must(operations->step(rig->queue, &step));
        must(call == 0 ? rig->backend->runtime->event_record(rig->queue, mark) : STATUS_OK);
    }
    must(rig->backend->runtime->queue_wait_for(rig->queue, mark));
    const struct field_summary first = got[0];
    must(rig->backend->runtime->queue_wait(rig->queue));
    assert_memory_equal(&got[0], &first, sizeof first);
    rig->backend->runtime->event_destroy(mark);
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
    if (medium.d_class != NULL) {
        problem_free_medium(rig, &medium);
    }
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
    for (int n = 0; n < 72; n++) {
        struct problem p;
        const unsigned faces = n % 5 == 0 ? 63 : (unsigned)random_below(&random, 64);
        const enum contents contents = (enum contents)(n / 6 % CONTENTS);
        const enum kind kind = n < 48 ? KIND_UNIFORM : KIND_CLASSES; /* these in one step */
        problem_create_kind(&p, kind, shapes[n % 6], faces,
                            n < 48 ? 1 + (int)random_below(&random, STEPS_MOST / 2) : 1,
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
            if (regular && problem_fits(&p, rig.backend->operations)) {
                check_summary(&rig, &p, contents);
            }
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

TEST_MAIN(NULL, NULL)
