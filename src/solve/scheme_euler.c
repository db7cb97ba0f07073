/* Forward Euler: passes of several steps over the field, overlapped with the halo exchange where
 * that is faster. */
#include "solve/diagnostics.h"
#include "solve/pass.h"

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

/* The number of steps of the next pass. They have the same length, since the ledger is booked where
 * that changes. */
static int pass_length(const struct stepper *stepper, int64_t steps)
{
    enum { AHEAD = 3 }; /* passes, enough to divide the steps as if all were looked at */
    const struct timeline *timeline = &stepper->problem->timeline;
    const int most = stepper->passes.steps;
    const int64_t first = stepper->state->step;
    const int64_t window = steps < AHEAD * most ? steps : AHEAD * most;
    int64_t alike = 1;
    while (alike < window && timeline_dt(timeline, first + alike) == timeline_dt(timeline, first)) {
        alike++;
    }
    return pass_share(alike, most);
}

struct euler_pass {
    struct pass pass;
    struct heat_operator op[STEPS_MOST];
};

/* Fewer steps where a later one has no operator: its own pass then fails. */
static enum status find_operators(const struct stepper *stepper, int nsteps, struct euler_pass *p)
{
    TRY(stepper_operator(stepper, &p->op[0]));
    int n = 1;
    while (n < nsteps &&
           operator_of_step(stepper->problem, stepper->state->step + n, &p->op[n]) == STATUS_OK) {
        n++;
    }
    if (n < nsteps) {
        fail_clear();
    }
    p->pass.nsteps = n;
    return STATUS_OK;
}

static void widen_limits(struct stepper *stepper, const struct heat_operator *op)
{
    const struct problem *problem = stepper->problem;
    if (problem->medium.nclasses > 0) {
        limits_step_classes(&stepper->check.limits, problem, op);
    } else {
        limits_step(&stepper->check.limits, &problem->grid, op);
    }
    limits_add_sources(&stepper->check.limits, problem, op);
}

/* Record the end of this pass, and wait for that of the pass PASSES_AHEAD before. */
static enum status limit_queue_depth(struct stepper *stepper)
{
    struct engine *engine = stepper->engine;
    struct event *done = engine->pass_done[stepper->passes_queued % PASSES_AHEAD];
    phases_enter(stepper->phases, PHASE_INTERIOR);
    if (stepper->passes_queued >= PASSES_AHEAD) {
        TRY(engine->runtime->event_sync(done));
    }
    stepper->passes_queued++;
    return engine->runtime->event_record(engine->bulk_queue, done);
}

/* The coefficients of one step of the pass, and its sources. */
static enum status set_level(struct stepper *stepper, struct euler_pass *p, int level)
{
    const struct team *team = stepper->team;
    const struct heat_operator *op = &p->op[level];
    struct coefficients *c = &p->pass.levels[level];
    const struct device_medium *medium = NULL;
    widen_limits(stepper, op);
    TRY(stepper_agree(stepper, operator_coefficients(op, stepper->problem, &team->decomp,
                                                     team->rank, stepper->state->d_face_sum, c)));
    TRY(stepper_find_sources(stepper, op, level));
    TRY(stepper_medium(stepper, op, &medium));
    coefficients_set_medium(c, medium);
    return STATUS_OK;
}

static enum status queue_pass(struct stepper *stepper, struct euler_pass *p)
{
    for (int level = 0; level < p->pass.nsteps; level++) {
        TRY(set_level(stepper, p, level));
    }
    TRY(pass_queue(stepper, &p->pass));
    return limit_queue_depth(stepper);
}

static enum status advance_by_pass(struct stepper *stepper, int64_t steps, int64_t *done)
{
    const struct problem *problem = stepper->problem;
    struct state *state = stepper->state;
    struct euler_pass p;
    TRY(book_if_dt_changes(stepper));
    TRY(find_operators(stepper, pass_length(stepper, steps), &p));
    const bool last = state->step + p.pass.nsteps == stepper->summarise_at;
    p.pass.h_summary = last && pass_may_summarise(stepper, p.pass.nsteps) ? &state->summary : NULL;
    TRY(queue_pass(stepper, &p));
    for (int s = 0; s < p.pass.nsteps; s++) {
        ledger_add_step(&state->ledger, &p.op[s]);
        ledger_add_sources(&state->ledger, problem, &p.op[s]);
    }
    state->step += p.pass.nsteps;
    state->summary_step = p.pass.h_summary != NULL ? state->step : 0;
    state->time = timeline_time(&problem->timeline, state->step);
    atomic_store_explicit(&stepper->phases->step, state->step, memory_order_relaxed);
    *done = p.pass.nsteps;
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    int64_t done = 0;
    for (int64_t left = steps; left > 0; left -= done) {
        TRY(advance_by_pass(stepper, left, &done));
    }
    phases_enter(stepper->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_euler = {
    .name = "euler",
    .order = 1,
    .fields = 2,
    .fused_substeps = STEPS_MOST,
    .advance = advance,
};
