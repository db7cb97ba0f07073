/* Forward Euler: passes of several steps over the field, overlapped with the halo exchange where
 * that is faster. */
#include "solve/observe/diagnostics.h"
#include "solve/sleep/sleep_control.h"
#include "solve/stepper.h"

/* Before a step of another length or another `a`: book the ledger's sums with the old operator. */
static enum status book_if_sums_end(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct timeline *timeline = &problem->timeline;
    const int64_t step = stepper->state->step;
    if (step == 0 || (timeline_dt(timeline, step) == timeline_dt(timeline, step - 1) &&
                      !operator_a_varies(problem))) {
        return STATUS_OK;
    }
    struct heat_operator op;
    TRY(diagnostics_gather_ledger(stepper));
    TRY(stepper_operator_before(stepper, &op));
    ledger_close(&stepper->state->ledger, problem, &op);
    return STATUS_OK;
}

/* The number of steps of the next pass. They have the same length and `a`, since the ledger is
 * booked where these change. */
static int pass_length(const struct stepper *stepper, int64_t steps)
{
    enum { AHEAD = 3 }; /* passes, enough to divide the steps as if all were looked at */
    const struct timeline *timeline = &stepper->problem->timeline;
    const bool single = stepper->level->sleep.is_on || operator_a_varies(stepper->problem);
    const int most = single ? 1 : stepper->passes.steps;
    const int64_t first = stepper->state->step;
    const int64_t window = steps < AHEAD * most ? steps : AHEAD * most;
    int64_t alike = 1;
    while (alike < window && timeline_dt(timeline, first + alike) == timeline_dt(timeline, first)) {
        alike++;
    }
    return pass_share(alike, most, stepper->level->whole);
}

static enum status advance_by_pass(struct stepper *stepper, int64_t steps, int64_t *done)
{
    const struct problem *problem = stepper->problem;
    struct state *state = stepper->state;
    struct stepper_pass p;
    TRY(book_if_sums_end(stepper));
    TRY(sleep_decide(stepper));
    TRY(stepper_find_operators(stepper, pass_length(stepper, steps), &p));
    const bool last = state->step + p.pass.nsteps == stepper->summarise_at;
    p.pass.h_summary =
        last && stepper->nsources == 0 &&
                pass_may_summarise(stepper->level, operator_kind(problem), p.pass.nsteps)
            ? &state->summary
            : NULL;
    TRY(stepper_queue_pass(stepper, &p));
    for (int s = 0; s < p.pass.nsteps; s++) {
        ledger_add_step(&state->ledger, &p.op[s]);
        ledger_add_sources(&state->ledger, problem, &p.op[s]);
    }
    state->step += p.pass.nsteps;
    state->summary_step = p.pass.h_summary != NULL ? state->step : 0;
    state->time = timeline_time(&problem->timeline, state->step);
    atomic_store_explicit(&stepper->level->phases->step, state->step, memory_order_relaxed);
    *done = p.pass.nsteps;
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    int64_t done = 0;
    for (int64_t left = steps; left > 0; left -= done) {
        TRY(advance_by_pass(stepper, left, &done));
    }
    phases_enter(stepper->level->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_euler = {
    .name = "euler",
    .advance = advance,
};
