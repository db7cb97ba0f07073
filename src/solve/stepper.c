#include "solve/stepper.h"

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
    TRY(create_halo(stepper));
    stepper->overlap = choose_overlap(stepper);
    return STATUS_OK;
}

void stepper_destroy(struct stepper *stepper)
{
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
