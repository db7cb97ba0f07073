/* Forward Euler: one pass over the field per step, overlapped with the halo exchange where that is
 * faster. */
#include "solve/diagnostics.h"
#include "solve/stepper.h"

/* Before a step of another length: book the ledger's sums with the old operator. */
static enum status book_if_dt_changes(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct timeline *timeline = &problem->timeline;
    const int64_t step = stepper->state->step;
    if (step == 0 || timeline_dt(timeline, step) == timeline_dt(timeline, step - 1)) {
        return STATUS_OK;
    }
    struct heat_operator op;
    TRY(diagnostics_gather_ledger(stepper));
    TRY(stepper_operator_before(stepper, &op));
    ledger_close(&stepper->state->ledger, &problem->grid, &problem->medium, &op);
    return STATUS_OK;
}

static enum status step_overlapped(struct stepper *stepper, const struct step_args *args)
{
    struct engine *engine = stepper->engine;
    const struct runtime *runtime = engine->runtime;
    const struct halo_plan *plan = &stepper->plan;
    struct field *field = stepper->state->field;
    struct halo_flight flight;

    phases_enter(stepper->phases, PHASE_HALO_BEGIN);
    TRY(runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(runtime->event_record(engine->halo_queue, engine->halo_done));
    TRY(halo_begin(stepper->halo, engine->halo_queue, field->d_now, &flight));

    phases_enter(stepper->phases, PHASE_INTERIOR);
    /* the interior reads cells that the previous shell wrote */
    TRY(runtime->event_wait(engine->bulk_queue, engine->halo_done));
    if (!box_is_empty(&plan->interior)) {
        TRY(engine->operations->step(engine->bulk_queue, &field->layout, args, field->d_next,
                                     field->d_now, &plan->interior, 1));
        TRY(stepper_add_sources(stepper, engine->bulk_queue, args->medium, &plan->interior, 1));
    }

    phases_enter(stepper->phases, PHASE_HALO_END);
    TRY(halo_end(&flight));

    phases_enter(stepper->phases, PHASE_SHELL);
    /* and the shell reads cells that the previous interior wrote */
    TRY(runtime->event_wait(engine->halo_queue, engine->bulk_done));
    TRY(engine->operations->step(engine->halo_queue, &field->layout, args, field->d_next,
                                 field->d_now, plan->shell, plan->nshell));
    return stepper_add_sources(stepper, engine->halo_queue, args->medium, plan->shell,
                               plan->nshell);
}

static enum status step_plain(struct stepper *stepper, const struct step_args *args)
{
    struct engine *engine = stepper->engine;
    struct field *field = stepper->state->field;
    const struct box owned = layout_owned(&field->layout);
    if (stepper->halo != NULL) {
        TRY(stepper_exchange(stepper));
        TRY(engine->runtime->event_record(engine->halo_queue, engine->halo_done));
        TRY(engine->runtime->event_wait(engine->bulk_queue, engine->halo_done));
    }
    phases_enter(stepper->phases, PHASE_INTERIOR);
    TRY(engine->operations->step(engine->bulk_queue, &field->layout, args, field->d_next,
                                 field->d_now, &owned, 1));
    return stepper_add_sources(stepper, engine->bulk_queue, args->medium, &owned, 1);
}

/* Record the end of this step, and wait for that of the step STEPS_AHEAD before. */
static enum status limit_queue_depth(struct stepper *stepper)
{
    struct engine *engine = stepper->engine;
    const struct state *state = stepper->state;
    struct event *done = engine->step_done[state->step % STEPS_AHEAD];
    phases_enter(stepper->phases, PHASE_INTERIOR);
    if (state->step - state->first_step >= STEPS_AHEAD) {
        TRY(engine->runtime->event_sync(done));
    }
    return engine->runtime->event_record(engine->bulk_queue, done);
}

static enum status step(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct team *team = stepper->team;
    struct state *state = stepper->state;
    struct heat_operator op;
    struct step_args args;
    TRY(book_if_dt_changes(stepper));
    TRY(stepper_operator(stepper, &op));
    if (problem->medium.nclasses > 0) {
        limits_step_classes(&stepper->check.limits, problem, &op);
    } else {
        limits_step(&stepper->check.limits, &problem->grid, &op);
    }
    limits_add_sources(&stepper->check.limits, problem, &op);
    TRY(stepper_find_sources(stepper, &op));
    operator_step_args(&op, problem, &team->decomp, team->rank, state->d_face_sum, &args);
    TRY(stepper_medium(stepper, &op, &args.medium));
    TRY(stepper->overlap ? step_overlapped(stepper, &args) : step_plain(stepper, &args));
    TRY(limit_queue_depth(stepper));
    ledger_add_step(&state->ledger, &op);
    ledger_add_sources(&state->ledger, problem, &op);
    field_swap(state->field);
    state->step++;
    state->time = timeline_time(&problem->timeline, state->step);
    atomic_store_explicit(&stepper->phases->step, state->step, memory_order_relaxed);
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    for (int64_t n = 0; n < steps; n++) {
        TRY(step(stepper));
    }
    phases_enter(stepper->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_euler = {
    .name = "euler",
    .order = 1,
    .fields = 2,
    .fused_substeps = 1,
    .advance = advance,
};
