#include "solve/pass.h"

#include <string.h>

/* Steps of a pass that one kernel advances, and the layers of the halo that it advances, too: those
 * that the later steps of the pass need. */
struct stage {
    int first, nsteps;
    int beyond;
};

/* The owned cells and some layers of the halo as a subdomain of its own, for kernels that take
 * owned cells only. */
struct region {
    struct layout layout;
    int64_t shift[AXIS_COUNT]; /* from indices of the field */
    struct box cells;          /* to be advanced, in indices of the field */
};

static struct region region_of(const struct stepper *stepper, int beyond)
{
    const struct team *team = stepper->team;
    const struct layout *layout = &stepper->state->field->layout;
    /* rows begin at aligned elements; the padding before them is as long */
    const int unit = LAYOUT_ALIGN_BYTES / (int)precision_bytes(layout->precision);
    struct region r = {.layout = *layout, .cells = layout_owned(layout)};
    struct box whole = r.cells;
    for (int f = 0; f < FACE_COUNT && beyond > 0; f++) {
        const enum face face = (enum face)f;
        if (decomp_neighbour(&team->decomp, team->rank, face) >= 0) {
            whole = box_shrink_face(&whole, face, face == FACE_X_MIN ? -unit : -beyond);
            r.cells = box_shrink_face(&r.cells, face, -beyond);
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        r.shift[axis] = -whole.lo[axis];
        r.layout.cells[axis] = box_extent(&whole, (enum axis)axis);
        r.layout.halo[axis] = layout->halo[axis] > beyond ? layout->halo[axis] - beyond : 0;
    }
    r.layout.origin = layout_index(layout, whole.lo[0], whole.lo[1], whole.lo[2]);
    return r;
}

/* `args` of a stage; silent: without the sums of the ledger. */
static enum status launch(const struct stepper *stepper, struct queue *queue,
                          const struct coefficients *args, int nsteps, const struct region *region,
                          const struct box *boxes, int nboxes)
{
    const struct operations *operations = stepper->engine->operations;
    const struct field *field = stepper->state->field;
    struct box moved[FACE_COUNT];
    for (int b = 0; b < nboxes; b++) {
        moved[b] = box_shift(&boxes[b], region->shift);
    }
    if (nboxes == 0) {
        return STATUS_OK;
    }
    return nsteps == 1 ? operations->step(queue, &region->layout, args, field->d_next, field->d_now,
                                          moved, nboxes)
                       : operations->steps(queue, &region->layout, args, nsteps, field->d_next,
                                           field->d_now, moved, nboxes);
}

static bool has_sums(const struct coefficients *args)
{
    bool any = false;
    for (int face = 0; face < FACE_COUNT; face++) {
        any = any || args->d_face_sum[face] != NULL;
    }
    return any;
}

/* Advance the cells of a stage without those of `inner`. The ledger counts owned cells only: where
 * it needs sums, the cells of the halo are a launch of their own. */
static enum status advance_around(const struct stepper *stepper, struct queue *queue,
                                  const struct pass *pass, const struct stage *stage,
                                  const struct box *inner)
{
    const struct region region = region_of(stepper, stage->beyond);
    const struct coefficients *args = &pass->args[stage->first];
    const struct box owned = layout_owned(&stepper->state->field->layout);
    const bool apart = stage->beyond > 0 && has_sums(args);
    struct box boxes[FACE_COUNT];
    int nboxes = box_shell(apart ? &owned : &region.cells, inner, boxes);
    TRY(launch(stepper, queue, args, stage->nsteps, &region, boxes, nboxes));
    if (!apart) {
        return STATUS_OK;
    }
    struct coefficients silent[STEPS_MOST];
    memcpy(silent, args, (size_t)stage->nsteps * sizeof *args);
    for (int s = 0; s < stage->nsteps; s++) {
        memset(silent[s].d_face_sum, 0, sizeof silent[s].d_face_sum);
    }
    nboxes = box_shell(&region.cells, &owned, boxes);
    return launch(stepper, queue, silent, stage->nsteps, &region, boxes, nboxes);
}

static const struct box nothing = {{0, 0, 0}, {0, 0, 0}};

static enum status stage_overlapped(struct stepper *stepper, const struct pass *pass,
                                    const struct stage *stage)
{
    struct engine *engine = stepper->engine;
    const struct runtime *runtime = engine->runtime;
    const struct field *field = stepper->state->field;
    const struct device_medium *medium = coefficients_medium(&pass->args[0]);
    const struct region owned = region_of(stepper, 0);
    struct halo_flight flight;

    phases_enter(stepper->phases, PHASE_HALO_BEGIN);
    TRY(runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(runtime->event_record(engine->halo_queue, engine->halo_done));
    TRY(halo_begin(stepper->halo, engine->halo_queue, field->d_now, &flight));

    phases_enter(stepper->phases, PHASE_INTERIOR);
    /* the interior reads cells that the previous shell wrote */
    TRY(runtime->event_wait(engine->bulk_queue, engine->halo_done));
    TRY(changes_of_owned(&stepper->classes->changes, engine, field, engine->bulk_queue));
    if (!box_is_empty(&stepper->interior)) {
        TRY(launch(stepper, engine->bulk_queue, &pass->args[stage->first], stage->nsteps, &owned,
                   &stepper->interior, 1));
        TRY(stepper_add_sources(stepper, engine->bulk_queue, medium, &stepper->interior, 1));
    }

    phases_enter(stepper->phases, PHASE_HALO_END);
    TRY(halo_end(&flight));

    phases_enter(stepper->phases, PHASE_SHELL);
    /* and the shell reads cells that the previous interior wrote */
    TRY(runtime->event_wait(engine->halo_queue, engine->bulk_done));
    TRY(changes_of_halo(&stepper->classes->changes, engine, field, engine->halo_queue));
    TRY(advance_around(stepper, engine->halo_queue, pass, stage, &stepper->interior));
    struct box shell[FACE_COUNT];
    const int nshell = box_shell(&owned.cells, &stepper->interior, shell);
    return stepper_add_sources(stepper, engine->halo_queue, medium, shell, nshell);
}

bool pass_may_summarise(const struct stepper *stepper, int nsteps)
{
    const struct operations *operations = stepper->engine->operations;
    return operations->steps_summarised != NULL && !stepper->overlap && nsteps > 1 &&
           nsteps <= operations->steps_most;
}

static enum status stage_plain(struct stepper *stepper, const struct pass *pass,
                               const struct stage *stage)
{
    struct engine *engine = stepper->engine;
    const struct field *field = stepper->state->field;
    const struct box owned = layout_owned(&field->layout);
    phases_enter(stepper->phases, PHASE_INTERIOR);
    if (pass->h_summary != NULL) {
        return engine->operations->steps_summarised(engine->bulk_queue, &field->layout,
                                                    &field->placement, pass->args, pass->nsteps,
                                                    field->d_next, field->d_now, pass->h_summary);
    }
    TRY(advance_around(stepper, engine->bulk_queue, pass, stage, &nothing));
    return stepper_add_sources(stepper, engine->bulk_queue, coefficients_medium(&pass->args[0]),
                               &owned, 1);
}

/* Let later work on `to` see that on `from`. */
static enum status join(struct engine *engine, struct queue *from, struct event *done,
                        struct queue *to)
{
    TRY(engine->runtime->event_record(from, done));
    return engine->runtime->event_wait(to, done);
}

static enum status first_stage(struct stepper *stepper, const struct pass *pass,
                               const struct stage *stage)
{
    struct engine *engine = stepper->engine;
    const struct field *field = stepper->state->field;
    const struct changes *changes = &stepper->classes->changes;
    if (stepper->overlap) {
        return stage_overlapped(stepper, pass, stage);
    }
    if (stepper->halo != NULL) {
        TRY(stepper_exchange(stepper));
        TRY(join(engine, engine->halo_queue, engine->halo_done, engine->bulk_queue));
    }
    TRY(changes_of_owned(changes, engine, field, engine->bulk_queue));
    TRY(changes_of_halo(changes, engine, field, engine->bulk_queue));
    return stage_plain(stepper, pass, stage);
}

enum status pass_queue(struct stepper *stepper, const struct pass *pass)
{
    struct engine *engine = stepper->engine;
    const int most = engine->operations->steps_most > 0 ? engine->operations->steps_most : 1;
    struct stage stage = {.nsteps = pass_share(pass->nsteps, most)};
    stage.beyond = pass->nsteps - stage.nsteps;
    TRY(first_stage(stepper, pass, &stage));
    stepper->exchanges += stepper->halo != NULL;
    field_swap(stepper->state->field);
    if (stage.beyond == 0) {
        return STATUS_OK;
    }
    TRY(join(engine, engine->halo_queue, engine->halo_done, engine->bulk_queue));
    while (stage.beyond > 0) {
        stage.first += stage.nsteps;
        stage.nsteps = pass_share(stage.beyond, most);
        stage.beyond -= stage.nsteps;
        TRY(stage_plain(stepper, pass, &stage));
        field_swap(stepper->state->field);
    }
    return join(engine, engine->bulk_queue, engine->bulk_done, engine->halo_queue);
}
