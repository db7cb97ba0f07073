#include "solve/scheme/dense_output.h"

#include "base/comm.h"
#include "solve/observe/diagnostics.h"

/* The share of the state at the end, a number from 0 to 1. */
static double share_of_end(double part)
{
    return part * part * (3 - 2 * part);
}

/* The share of the states at both ends, in d_next. */
static enum status blend(struct stepper *stepper, double share)
{
    const struct field *field = stepper->level->field;
    TRY(engine_settle(stepper->level->engine));
    TRY(stepper_combine(stepper, field->d_next, -1, stepper->d_saved, field->d_now));
    return stepper_combine(stepper, field->d_next, share, field->d_next, stepper->d_saved);
}

/* The ledger's share of both ends. The rates of change add theirs as levels. */
static enum status blend_ledger(struct stepper *stepper, double share)
{
    const struct problem *problem = stepper->problem;
    struct ledger *ledger = &stepper->state->ledger;
    const struct ledger *before = &stepper->ledger_before;
    struct heat_operator op;
    TRY(stepper_operator_before(stepper, &op));
    const double heat = ledger_boundary_heat(before, problem, &op);
    const double sources = ledger_source_heat(before, problem);
    *ledger = (struct ledger){
        .start = ledger->start,
        .booked_J = heat + share * (ledger_boundary_heat(ledger, problem, &op) - heat),
        .source_booked_J = sources + share * (ledger_source_heat(ledger, problem) - sources)};
    return STATUS_OK;
}

/* From the state at the end of the step. The rates of change at the start,
 * and at the end before a jump of the data, are levels whose base is what there is so far. */
static enum status interpolate(struct stepper *stepper, struct dense_output *between)
{
    struct field *field = stepper->level->field;
    const double part = (between->time - between->start) / between->length;
    const double rest = 1 - part;
    const struct superstep_level rates[] = {{.weight = part * rest * rest, .corrects = true},
                                            {.weight = -(part * part * rest),
                                             .corrects = true,
                                             .p1 = 1 - 0x1p-30,
                                             .p2 = 0.5 * (1 - 0x1p-30)}};
    void *d_end = field->d_now;
    void *d_sum = field->d_next;
    TRY(blend_ledger(stepper, share_of_end(part)));
    TRY(status_agree(stepper->team->comm, blend(stepper, share_of_end(part))));
    field->d_now = stepper->d_saved;
    TRY(stepper_advance_levels(stepper, between->start, between->length, rates, 0, 1));
    field->d_now = d_end;
    field->d_next = d_sum;
    TRY(stepper_advance_levels(stepper, between->start, between->length, rates, 1, 1));
    between->d_end = d_end;
    if (stepper->d_estimate != NULL) { /* for stepper_show */
        field->d_next = stepper->d_estimate;
    }
    return diagnostics_gather_ledger(stepper);
}

enum status dense_output_next(struct stepper *stepper, struct problem *problem,
                              struct dense_output *between)
{
    struct timeline *timeline = &problem->timeline;
    struct state *state = stepper->state;
    struct field *field = stepper->level->field;
    if (timeline->why_landing != NULL) {
        return STATUS_OK;
    }
    if (between->shows) {
        *state = between->end;
        field->d_next = field->d_now;
        field->d_now = between->d_end;
        field->d_shown = NULL;
    } else {
        *between = (struct dense_output){.end = *state,
                                         .start = timeline_time(timeline, state->step - 1),
                                         .length = timeline_dt_before(timeline, state->step),
                                         .time = timeline_time(timeline, state->step - 1)};
    }
    between->time = timeline_next_between(timeline, between->time);
    between->shows = between->time < state->time - timeline_rounding(state->time);
    if (!between->shows) {
        timeline->shown_step = 0;
        return STATUS_OK;
    }
    timeline_show_between(timeline, state->step, between->time);
    between->end.step = state->step + 1;
    state->time = between->time;
    state->summary_step = 0;
    return interpolate(stepper, between);
}
