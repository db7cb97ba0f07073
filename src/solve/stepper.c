#include "solve/stepper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/comm.h"

static int64_t shell_cells(const struct halo_plan *plan)
{
    int64_t cells = 0;
    for (int n = 0; n < plan->nshell; n++) {
        cells += box_cells(&plan->shell[n]);
    }
    return cells;
}

/* Overlap needs an interior larger than the shell. For kernels along rows, the shell of an axis
 * divided in x is strided in memory and costs more than overlap can hide (docs/kernels_cpu.md). */
static bool choose_overlap(const struct stepper *stepper)
{
    const enum overlap setting = stepper->problem->settings->run.overlap;
    if (stepper->halo == NULL || setting != OVERLAP_AUTO) {
        return stepper->halo != NULL && setting == OVERLAP_ON;
    }
    const struct box *interior = &stepper->plan.interior;
    const bool whole_rows = interior->lo[AXIS_X] == 0 &&
                            interior->hi[AXIS_X] == stepper->state->field->layout.cells[AXIS_X];
    return box_cells(interior) > shell_cells(&stepper->plan) &&
           (!backend_has(stepper->engine->backend, BACKEND_ALONG_ROWS) || whole_rows);
}

static enum status create_halo(struct stepper *stepper)
{
    const struct team *team = stepper->team;
    const struct engine *engine = stepper->engine;
    const struct settings *settings = stepper->problem->settings;
    const struct layout *layout = &stepper->state->field->layout;
    TRY(status_agree(team->comm,
                     halo_plan_create(&team->decomp, team->rank, layout, team->decomp.halo_width,
                                      HALO_FACES, &stepper->plan)));
    if (stepper->plan.nmessages == 0) {
        return STATUS_OK; /* one rank without periodic axes */
    }
    const enum status status =
        halo_create(team->comm, engine->backend, engine->device, &stepper->plan, layout,
                    &(struct halo_options){.transport = settings->run.transport}, &stepper->halo);
    if (status == STATUS_INPUT) {
        return status_agree(team->comm,
                            settings_fail(settings, "run.halo.transport", "%s", fail_message()));
    }
    return status;
}

/* Room for the moving ones, if there are any. */
static enum status sources_allocate(struct stepper *stepper)
{
    const struct sources *sources = &stepper->problem->sources;
    bool any = false;
    for (int s = 0; s < sources->count; s++) {
        any = any || !source_is_painted(sources->source[s].setting);
    }
    if (any) {
        stepper->moving = calloc((size_t)sources->count, sizeof *stepper->moving);
        return CHECK_MEMORY(stepper->moving != NULL, "no memory for moving sources");
    }
    return STATUS_OK;
}

enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct engine *engine, struct classes *classes, struct state *state,
                           struct phases *phases, struct stepper *stepper)
{
    *stepper = (struct stepper){.problem = problem,
                                .team = team,
                                .engine = engine,
                                .classes = classes,
                                .state = state,
                                .phases = phases,
                                .scheme = &scheme_euler};
    TRY(status_agree(team->comm, sources_allocate(stepper)));
    TRY(create_halo(stepper));
    stepper->overlap = choose_overlap(stepper);
    return STATUS_OK;
}

void stepper_destroy(struct stepper *stepper)
{
    free(stepper->moving);
    halo_destroy(stepper->halo);
}

enum status stepper_advance(struct stepper *stepper, int64_t steps)
{
    return stepper->scheme->advance(stepper, steps);
}

enum status stepper_exchange(struct stepper *stepper)
{
    struct engine *engine = stepper->engine;
    struct halo_flight flight;
    if (stepper->halo == NULL) {
        return STATUS_OK;
    }
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    phases_enter(stepper->phases, PHASE_HALO_BEGIN);
    TRY(halo_begin(stepper->halo, engine->halo_queue, stepper->state->field->d_now, &flight));
    phases_enter(stepper->phases, PHASE_HALO_END);
    return halo_end(&flight);
}

/* Formulas depend on t only: all ranks fail alike, so all of them agree. */
static enum status agree(const struct stepper *stepper, enum status status)
{
    return status == STATUS_OK ? status : status_agree(stepper->team->comm, status);
}

enum status stepper_operator(const struct stepper *stepper, struct heat_operator *op)
{
    return agree(stepper, operator_of_step(stepper->problem, stepper->state->step, op));
}

enum status stepper_operator_before(const struct stepper *stepper, struct heat_operator *op)
{
    return agree(stepper, operator_before(stepper->problem, stepper->state->step, op));
}

enum status stepper_medium(const struct stepper *stepper, const struct heat_operator *op,
                           const struct medium_args **args)
{
    return agree(stepper,
                 classes_update(stepper->classes, stepper->problem, stepper->engine, op, args));
}

enum status stepper_operator_per_second(const struct stepper *stepper, struct heat_operator *op)
{
    const struct problem *problem = stepper->problem;
    const int64_t step = stepper->state->step;
    if (operator_create(problem, stepper->state->time, 1, op) == STATUS_OK) {
        return STATUS_OK;
    }
    fail_clear(); /* a step from here will fail alike */
    TRY(stepper_operator_before(stepper, op));
    return operator_create(problem, timeline_time(&problem->timeline, step > 0 ? step - 1 : 0), 1,
                           op);
}

enum status stepper_find_sources(struct stepper *stepper, const struct heat_operator *op)
{
    const struct problem *problem = stepper->problem;
    for (int s = 0; stepper->moving != NULL && s < problem->sources.count; s++) {
        struct moving *moving = &stepper->moving[s];
        if (source_is_painted(problem->sources.source[s].setting)) {
            continue;
        }
        const enum status status = moving_at(problem, op, s, moving);
        if (status != STATUS_OK) {
            return agree(stepper,
                         fail_prefix(status, "after step %" PRId64 ": ", stepper->state->step));
        }
        if (!box_is_empty(&moving->box)) {
            const double rear = moving->shape.peak_rear;
            const double front = moving->shape.peak_front;
            limits_add_moving(&stepper->check.limits, &problem->medium, fmin(front, rear),
                              fmax(front, rear), (double)box_cells(&moving->box));
        }
    }
    return STATUS_OK;
}

/* Each box was computed on this queue, and the next step waits for it there. */
enum status stepper_add_sources(const struct stepper *stepper, struct queue *queue,
                                const struct medium_args *medium, const struct box *boxes,
                                int nboxes)
{
    const struct field *field = stepper->state->field;
    const int64_t *offset = field->placement.offset;
    for (int s = 0; stepper->moving != NULL && s < stepper->problem->sources.count; s++) {
        const struct moving *moving = &stepper->moving[s];
        const struct source_args args = {
            .medium = medium,
            .shape = moving->shape,
            .offset = {offset[AXIS_X], offset[AXIS_Y], offset[AXIS_Z]},
            .d_sum = &stepper->state->d_face_sum[SOURCE_SUM],
        };
        struct box local = moving->box;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            local.lo[axis] -= offset[axis];
            local.hi[axis] -= offset[axis];
        }
        for (int b = 0; b < nboxes; b++) {
            const struct box part = box_intersect(&local, &boxes[b]);
            if (!box_is_empty(&part)) {
                TRY(stepper->engine->operations->add_source(queue, &field->layout, &args,
                                                            field->d_next, &part));
            }
        }
    }
    return STATUS_OK;
}
