/* Implicit steps of order 2, or of backward Euler. Order 2: two stages Y of the diagonally implicit
 * method of R. Alexander (SIAM J. Numer. Anal. 14 (1977) 1006), L-stable. Multigrid finds the Y;
 * the step itself is then explicit, T + (1 - g) tau F(Y1) + g tau F(Y2), by the kernels of the time
 * steps, so that the ledger counts what passed the faces. */
#include <math.h>

#include "base/comm.h"
#include "solve/steady/steady.h"

#define G 0.29289321881345254 /* 1 - sqrt(1/2) */
#define STAGE_1 .p1 = G, .p2 = G * G / 2
#define STAGE_2 .p1 = 1 - 0x1p-30, .p2 = 0.5 * (1 - 0x1p-30) /* before a jump at the end */

static const struct superstep_level implied[2] = {
    {.weight = G, .predicts = true, .corrects = true, STAGE_1},
    {.weight = G, .predicts = true, .corrects = true, STAGE_2},
};
static const struct superstep_level taken[2] = {
    {.weight = 1 - G, .corrects = true, STAGE_1},
    {.weight = G, .corrects = true, STAGE_2},
};

static const struct superstep_level backward = {
    .weight = 1, .predicts = true, .corrects = true, STAGE_2};
static const struct superstep_level backward_taken[1] = {{.weight = 1, .corrects = true, STAGE_2}};

static enum status copy(struct stepper *stepper, void *d_to, const void *d_from)
{
    TRY(stepper_copy(stepper, d_to, d_from));
    return status_agree(stepper->team->comm, engine_wait(stepper->level->engine));
}

/* Stage n from d_base, with d_now as the first guess; then d_now is d_base plus its share of the
 * step, and d_next the stage. */
static enum status take_stage(struct stepper *stepper, double start, double length, int n)
{
    struct steady *steady = stepper->steady;
    const bool is_backward = stepper->problem->time.backward_euler;
    struct steady_goal goal = {.d_base = steady->d_base,
                               .mass = 1,
                               .temperature = 1e-9,
                               .share = 1e-4,
                               .residual_share = 1e-4,
                               .tolerance = INFINITY};
    TRY(stepper_agree(stepper, operator_of_level(stepper->problem, start, length,
                                                 is_backward ? &backward : &implied[n], &goal.op)));
    TRY(steady_solve(stepper, &goal));
    TRY(copy(stepper, stepper->level->field->d_next, steady->d_base));
    return stepper_advance_levels(stepper, start, length, is_backward ? backward_taken : taken, n,
                                  1);
}

static enum status advance_once(struct stepper *stepper)
{
    const struct timeline *timeline = &stepper->problem->timeline;
    struct state *state = stepper->state;
    struct field *field = stepper->level->field;
    void *d_base = stepper->steady->d_base;
    const double start = timeline_time(timeline, state->step);
    const double length = timeline_dt(timeline, state->step);
    stepper->steady->newton.done = false; /* as after a restart */
    stepper->state->check.begun = false;  /* the bounds are those of explicit steps */
    TRY(stepper_book_levels(stepper, timeline_stages(timeline, state->step), length));
    TRY(copy(stepper, d_base, field->d_now));
    const int64_t cycles = stepper->steady->total;
    TRY(take_stage(stepper, start, length, 0));
    if (stepper->problem->time.backward_euler) {
        return STATUS_OK;
    }
    /* the second stage is about T + (Y1 - T) / g; from Y1, which is nearer to T, Newton's method
     * finds the colder one of two solutions where sources grow with temperature */
    TRY(engine_wait(stepper->level->engine));
    if (!sources_depend(&stepper->problem->sources)) {
        TRY(stepper_combine(stepper, d_base, 1 - 1 / G, d_base, NULL));
        TRY(stepper_combine(stepper, field->d_next, 1 / G, field->d_next, d_base));
    }
    TRY(copy(stepper, d_base, field->d_now));
    field_swap(field);
    TRY(take_stage(stepper, start, length, 1));
    state->control.step_cycles = stepper->steady->total - cycles + 1; /* with that of an estimate */
    state->control.cycles += state->control.step_cycles;
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    return stepper_advance_each(stepper, steps, advance_once);
}

const struct scheme scheme_implicit = {.name = "implicit", .advance = advance};
