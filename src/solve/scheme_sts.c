/* Super steps of the stabilised schemes: a chain of levels, each a pass of one step of its own
 * length. The temperatures between the first and the last level are those of no time. */
#include "solve/observe/diagnostics.h"
#include "solve/stepper.h"

/* r differs by level, and the ledger's sums are in units of it. So each level has sums of its own,
 * over all super steps of this length. */
static enum status book_if_levels_change(struct stepper *stepper, int nlevels, double length)
{
    if (stepper->nslots == nlevels && stepper->slot_length == length) {
        return STATUS_OK;
    }
    if (stepper->nslots > 0) {
        TRY(diagnostics_gather_ledger(stepper));
    }
    stepper->nslots = nlevels;
    stepper->slot_length = length;
    return STATUS_OK;
}

static enum status advance_level(struct stepper *stepper, double start, double length,
                                 const struct superstep_level *level, int slot)
{
    const struct problem *problem = stepper->problem;
    struct ledger_slot *booked = &stepper->slots[slot];
    struct stepper_pass pass = {.pass.nsteps = 1, .slot = slot, .level = level};
    TRY(stepper_agree(stepper, operator_of_level(problem, start, length, level, &pass.op[0])));
    TRY(stepper_queue_pass(stepper, &pass));
    booked->op = pass.op[0];
    if (!level->predicts) {
        ledger_add_step(&booked->ledger, &pass.op[0]);
        ledger_add_sources(&stepper->state->ledger, problem, &pass.op[0]);
    }
    return STATUS_OK;
}

static enum status advance_once(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct timeline *timeline = &problem->timeline;
    struct state *state = stepper->state;
    struct superstep superstep;
    const double start = timeline_time(timeline, state->step);
    const double length = timeline_dt(timeline, state->step);
    superstep_levels(problem->time.scheme, timeline_stages(timeline, state->step),
                     problem_is_linear(problem), &superstep);
    TRY(book_if_levels_change(stepper, superstep.nlevels, length));
    for (int l = 0; l < superstep.nlevels; l++) {
        TRY(advance_level(stepper, start, length, &superstep.level[l], l));
    }
    state->step++;
    state->summary_step = 0;
    state->time = timeline_time(timeline, state->step);
    atomic_store_explicit(&stepper->level->phases->step, state->step, memory_order_relaxed);
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    for (int64_t step = 0; step < steps; step++) {
        TRY(advance_once(stepper));
    }
    phases_enter(stepper->level->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_sts1 = {.name = "sts1", .advance = advance};
const struct scheme scheme_sts2 = {.name = "sts2", .advance = advance};
