/* Go on from a checkpoint. */
#include "app/restart.h"

#include <string.h>

/* The ledger's sums count with the coefficients of the run that wrote them. With others (the time
 * step, a boundary value or its type was changed) what came so far is booked, and new sums start.
 */
static enum status continue_ledger(struct run *run, const struct checkpoint_state *state)
{
    struct closure closure;
    double r[AXIS_COUNT];
    run->ledger = state->ledger;
    TRY(step_coefficients(run, run->step > 0 ? run->step - 1 : 0, &closure, r));
    const double heat = ledger_boundary_heat(&run->ledger, &run->grid, &run->material, &closure, r);
    if (heat != state->boundary_heat) {
        run->ledger.booked_J = state->boundary_heat;
        memset(run->ledger.face_sum, 0, sizeof run->ledger.face_sum);
        memset(run->ledger.b_sum, 0, sizeof run->ledger.b_sum);
    }
    return STATUS_OK;
}

enum status run_continue(struct run *run, const struct checkpoint_state *state)
{
    run->step = state->step;
    run->first_step = state->step;
    TRY(timeline_continue(&run->timeline, run->settings, state->step, state->time));
    return continue_ledger(run, state);
}
