/* The steady state as one step. */
#include <math.h>

#include "solve/observe/diagnostics.h"
#include "solve/steady/steady.h"

enum status steady_find(struct stepper *stepper)
{
    const struct steady_setting *setting = &stepper->problem->time.steady;
    return steady_solve(stepper, &(struct steady_goal){.op = stepper->steady->op,
                                                       .temperature = setting->temperature,
                                                       .residual_share = INFINITY,
                                                       .tolerance = setting->tolerance,
                                                       .is_steady = true});
}

/* The ledger starts from the steady state: the heat before has no meaning. */
static enum status advance(struct stepper *stepper, int64_t steps)
{
    struct state *state = stepper->state;
    struct diagnostics found;
    TRY(steady_find(stepper));
    state->step++;
    state->summary_step = 0;
    state->time = timeline_time(&stepper->problem->timeline, state->step);
    state->check.begun = false;
    TRY(stepper_show(stepper, false));
    TRY(diagnostics_take(stepper, &found));
    ledger_forgive(&state->ledger, stepper->problem, found.heat_drift);
    phases_enter(stepper->level->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_steady = {
    .name = "steady",
    .advance = advance,
};
