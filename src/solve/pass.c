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
    int beyond;                /* layers of the halo among them */
};

static struct region region_of(const struct stepper *stepper, int beyond)
{
    const struct team *team = stepper->team;
    const struct layout *layout = &stepper->state->field->layout;
    /* rows begin at aligned elements; the padding before them is as long */
    const int unit = LAYOUT_ALIGN_BYTES / (int)precision_bytes(layout->precision);
    struct region r = {.layout = *layout, .cells = layout_owned(layout), .beyond = beyond};
    struct box whole = r.cells;
    for (int f = 0; f < FACE_COUNT && beyond > 0; f++) {
        const enum face face = (enum face)f;
        if (decomp_neighbour(&team->decomp, team->rank, face) >= 0) {
            const int rows = (beyond + unit - 1) / unit * unit;
            whole = box_shrink_face(&whole, face, face == FACE_X_MIN ? -rows : -beyond);
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

/* The coefficients of a region; `silent`: without the sums of the ledger. */
static struct coefficients coefficients_in(const struct region *region,
                                           const struct coefficients *of_owned, bool silent)
{
    const int64_t *shift = region->shift;
    struct coefficients c = *of_owned;
    struct device_medium *m = &c.medium;
    if (silent) {
        memset(c.d_face_sum, 0, sizeof c.d_face_sum);
    }
    if (coefficients_medium(of_owned) == NULL) {
        return c;
    }
    m->layout.origin = layout_index(&m->layout, -shift[AXIS_X], -shift[AXIS_Y], -shift[AXIS_Z]);
    m->numbered = m->numbered && region->beyond == 0; /* rows of the halo have no numbers */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m->layout.cells[axis] = region->layout.cells[axis];
        m->layout.halo[axis] -= m->layout.halo[axis] > region->beyond ? region->beyond : 0;
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis normal = face_axis((enum face)f);
        const enum axis across = normal == AXIS_X ? AXIS_Y : AXIS_X;
        const enum axis up = normal == AXIS_Z ? AXIS_Y : AXIS_Z;
        if (m->d_patch[f] != NULL) {
            m->d_patch[f] -= shift[up] * m->patch_pitch[f] + shift[across];
        }
    }
    return c;
}

/* Advance boxes (in indices of the field) by the steps of a stage, then heat them. */
static enum status launch(const struct stepper *stepper, struct queue *queue,
                          const struct pass *pass, const struct stage *stage,
                          const struct region *region, bool silent, const struct box *boxes,
                          int nboxes)
{
    const struct operations *operations = stepper->engine->operations;
    const struct field *field = stepper->state->field;
    struct coefficients levels[STEPS_MOST];
    struct box moved[FACE_COUNT];
    if (nboxes == 0) {
        return STATUS_OK;
    }
    for (int b = 0; b < nboxes; b++) {
        moved[b] = box_shift(&boxes[b], region->shift);
    }
    for (int s = 0; s < stage->nsteps; s++) {
        levels[s] = coefficients_in(region, &pass->levels[stage->first + s], silent);
    }
    TRY(stage->nsteps == 1 ? operations->step(queue, &region->layout, levels, field->d_next,
                                              field->d_now, moved, nboxes)
                           : operations->steps(queue, &region->layout, levels, stage->nsteps,
                                               field->d_next, field->d_now, moved, nboxes));
    const struct heated heated = {.level = stage->first,
                                  .counts = !silent,
                                  .coefficients = &levels[0],
                                  .layout = &region->layout,
                                  .shift = region->shift,
                                  .boxes = moved,
                                  .nboxes = nboxes};
    return stepper_add_sources(stepper, queue, &heated);
}

/* Does the ledger need sums over owned cells? */
static bool has_sums(const struct stepper *stepper, const struct coefficients *c)
{
    bool any = stepper->moving != NULL;
    for (int face = 0; face < FACE_COUNT; face++) {
        any = any || c->d_face_sum[face] != NULL;
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
    const struct box owned = layout_owned(&stepper->state->field->layout);
    struct box boxes[FACE_COUNT];
    int nboxes = 0;
    if (stage->beyond == 0 || !has_sums(stepper, &pass->levels[stage->first])) {
        nboxes = box_shell(&region.cells, inner, boxes);
        return launch(stepper, queue, pass, stage, &region, false, boxes, nboxes);
    }
    nboxes = box_shell(&owned, inner, boxes);
    TRY(launch(stepper, queue, pass, stage, &region, false, boxes, nboxes));
    nboxes = box_shell(&region.cells, &owned, boxes);
    return launch(stepper, queue, pass, stage, &region, true, boxes, nboxes);
}

static const struct box nothing = {{0, 0, 0}, {0, 0, 0}};

static enum status stage_overlapped(struct stepper *stepper, const struct pass *pass,
                                    const struct stage *stage)
{
    struct engine *engine = stepper->engine;
    const struct runtime *runtime = engine->runtime;
    const struct field *field = stepper->state->field;
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
        TRY(launch(stepper, engine->bulk_queue, pass, stage, &owned, false, &stepper->interior, 1));
    }

    phases_enter(stepper->phases, PHASE_HALO_END);
    TRY(halo_end(&flight));

    phases_enter(stepper->phases, PHASE_SHELL);
    /* and the shell reads cells that the previous interior wrote */
    TRY(runtime->event_wait(engine->halo_queue, engine->bulk_done));
    TRY(changes_of_halo(&stepper->classes->changes, engine, field, engine->halo_queue));
    return advance_around(stepper, engine->halo_queue, pass, stage, &stepper->interior);
}

bool pass_may_summarise(const struct stepper *stepper, int nsteps)
{
    return stepper->engine->operations->steps_summarised != NULL && !stepper->overlap &&
           stepper->problem->medium.nclasses == 0 && nsteps > 1 &&
           nsteps <= steps_fused(stepper->problem, stepper->engine->backend);
}

static enum status stage_plain(struct stepper *stepper, const struct pass *pass,
                               const struct stage *stage)
{
    struct engine *engine = stepper->engine;
    const struct field *field = stepper->state->field;
    phases_enter(stepper->phases, PHASE_INTERIOR);
    if (pass->h_summary != NULL) {
        return engine->operations->steps_summarised(engine->bulk_queue, &field->layout,
                                                    &field->placement, pass->levels, pass->nsteps,
                                                    field->d_next, field->d_now, pass->h_summary);
    }
    return advance_around(stepper, engine->bulk_queue, pass, stage, &nothing);
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
    const int most = steps_fused(stepper->problem, engine->backend);
    const int radius = stepper->problem->radius;
    struct stage stage = {.nsteps = pass_share(pass->nsteps, most)};
    stage.beyond = radius * (pass->nsteps - stage.nsteps);
    TRY(first_stage(stepper, pass, &stage));
    stepper->exchanges += stepper->halo != NULL;
    field_swap(stepper->state->field);
    if (stage.nsteps == pass->nsteps) {
        return STATUS_OK;
    }
    TRY(join(engine, engine->halo_queue, engine->halo_done, engine->bulk_queue));
    while (stage.first + stage.nsteps < pass->nsteps) {
        stage.first += stage.nsteps;
        stage.nsteps = pass_share(pass->nsteps - stage.first, most);
        stage.beyond = radius * (pass->nsteps - stage.first - stage.nsteps);
        TRY(changes_of_owned(&stepper->classes->changes, engine, stepper->state->field,
                             engine->bulk_queue));
        TRY(stage_plain(stepper, pass, &stage));
        field_swap(stepper->state->field);
    }
    return join(engine, engine->bulk_queue, engine->bulk_done, engine->halo_queue);
}
