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

static enum status queue_pass(struct stepper *stepper, int64_t steps, struct stepper_pass *p)
{
    struct state *state = stepper->state;
    TRY(stepper_find_operators(stepper, pass_length(stepper, steps), p));
    const bool last = state->step + p->pass.nsteps == stepper->summarise_at;
    p->pass.h_summary =
        last && stepper->nsources == 0 &&
                pass_may_summarise(stepper->level, operator_kind(stepper->problem), p->pass.nsteps)
            ? &state->summary
            : NULL;
    return stepper_queue_pass(stepper, p);
}

static void count_pass(struct stepper *stepper, const struct stepper_pass *p)
{
    const struct problem *problem = stepper->problem;
    struct state *state = stepper->state;
    for (int s = 0; s < p->pass.nsteps; s++) {
        ledger_add_step(&state->ledger, &p->op[s]);
        ledger_add_sources(&state->ledger, problem, &p->op[s]);
    }
    state->step += p->pass.nsteps;
    state->summary_step = p->pass.h_summary != NULL ? state->step : 0;
    state->time = timeline_time(&problem->timeline, state->step);
    atomic_store_explicit(&stepper->level->phases->step, state->step, memory_order_relaxed);
}

static enum status advance_by_pass(struct stepper *stepper, int64_t steps, int64_t *done)
{
    struct stepper_pass *ahead = &stepper->ahead;
    struct stepper_pass p;
    if (ahead->pass.nsteps > 0) {
        for (int s = 0; s < ahead->pass.nsteps; s++) { /* after a check, which renews them */
            limits_step(&stepper->state->check.limits, stepper->problem, &ahead->op[s]);
        }
        count_pass(stepper, ahead);
        *done = ahead->pass.nsteps;
        ahead->pass.nsteps = 0;
        return STATUS_OK;
    }
    TRY(book_if_sums_end(stepper));
    TRY(sleep_decide(stepper));
    TRY(queue_pass(stepper, steps, &p));
    count_pass(stepper, &p);
    *done = p.pass.nsteps;
    return STATUS_OK;
}

/* Of one stage, so that it can be dropped. Moving sources change the limits in a way of their
 * own, and tiles that sleep know their passes. A step without an operator fails in `advance`, after
 * the outputs of this one. */
static enum status queue_ahead(struct stepper *stepper, int64_t steps)
{
    const struct problem *problem = stepper->problem;
    const struct timeline *timeline = &problem->timeline;
    const struct level *level = stepper->level;
    const int64_t step = stepper->state->step;
    const struct limits limits = stepper->state->check.limits;
    const int n = pass_length(stepper, steps);
    struct stepper_pass p;
    if (step == 0 || operator_a_varies(problem) ||
        timeline_dt(timeline, step) != timeline_dt(timeline, step - 1) || stepper->nsources > 0 ||
        level->sleep.is_on || level->sleep.possible ||
        pass_share(n, level->fused, level->whole) < n) {
        return STATUS_OK;
    }
    if (operator_of_step(problem, step, &p.op[0]) != STATUS_OK) {
        fail_clear();
        return STATUS_OK;
    }
    SCOPED_PHASE(level->phases, PHASE_INTERIOR);
    TRY(queue_pass(stepper, steps, &p));
    stepper->ahead = p;
    stepper->state->check.limits = limits;
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
    .queue_ahead = queue_ahead,
};
