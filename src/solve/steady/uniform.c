/* Steady states of a uniform medium: refinement of float64 temperatures by cycles in float32
 * (docs/reference/numerics.md#steady-states). */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "solve/steady/steady.h"

static enum status agree(const struct stepper *stepper, enum status status)
{
    return status_agree(stepper->team->comm, status);
}

/* Collective. The heat of sources: what changes in a step where all temperatures are 0. */
static enum status find_heat(struct stepper *stepper)
{
    struct steady *steady = stepper->steady;
    struct field *field = stepper->level->field;
    struct engine *engine = steady->grids.engine;
    const struct runtime *runtime = engine->runtime;
    const size_t bytes = layout_bytes(&field->layout);
    double *d_heat = steady->d_heat;
    struct steady_goal goal = {.op = steady->op};
    if (d_heat == NULL) {
        return STATUS_OK;
    }
    memset(goal.op.all.b, 0, sizeof goal.op.all.b);
    TRY(agree(stepper, runtime->copy_on_device(engine->bulk_queue, d_heat, field->d_now, bytes)));
    TRY(agree(stepper, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                               .layout = field->layout, .d_out = field->d_now, .factor = 0)));
    TRY(steady_residual(stepper, &goal));
    TRY(agree(stepper, runtime->copy_on_device(engine->bulk_queue, field->d_now, d_heat, bytes)));
    return agree(stepper,
                 runtime->copy_on_device(engine->bulk_queue, d_heat, field->d_next, bytes));
}

/* A cycle, and meanwhile the halo of the state. */
static enum status queue_cycle(struct stepper *stepper)
{
    TRY(level_exchange(stepper->level));
    return steady_cycle(&stepper->steady->grids);
}

/* Correct the state, or one where all temperatures are *constant. `ahead`: the next cycle is queued
 * before the host waits. */
static enum status correct(struct stepper *stepper, float *d_e, const double *constant, bool ahead,
                           double *change, double *lack)
{
    struct steady *steady = stepper->steady;
    struct field *field = stepper->level->field;
    struct engine *engine = steady->grids.engine;
    const struct runtime *runtime = engine->runtime;
    struct steady_grid *finest = &steady->grids.grid[0];
    const struct steady_grid *next = &steady->grids.grid[1];
    struct coefficients c;
    uint32_t bits[2] = {0, 0};
    float most[2];
    operator_coefficients(&steady->op, stepper->problem, &stepper->team->decomp,
                          stepper->team->rank, NULL, &c);
    struct correct_args args = {.layout = field->layout,
                                .grid = finest->m,
                                .d_in = constant != NULL ? NULL : field->d_now,
                                .constant = constant != NULL ? *constant : 0,
                                .d_e = d_e,
                                .d_heat = steady->d_heat,
                                .d_out = field->d_next,
                                .d_r = finest->d_r,
                                .coarse = next->m,
                                .d_largest = steady->d_largest};
    memcpy(args.r, c.r, sizeof args.r);
    memcpy(args.a, c.a, sizeof args.a);
    memcpy(args.b, c.b, sizeof args.b);
    memcpy(args.closed, c.closed, sizeof args.closed);
    if (steady_grids_take_means(&steady->grids)) {
        args.d_mean = next->d_r;
    }
    TRY(constant != NULL || d_e != NULL ? STATUS_OK : level_exchange(stepper->level));
    if (d_e != NULL) {
        TRY(finest->complete >= finest->needed ? STATUS_OK
                                               : steady_grid_exchange(&steady->grids, finest, d_e));
        field_swap(field);
    }
    enum status status = engine_settle(engine);
    TRY_GOTO(status);
    TRY_GOTO(runtime->copy_to_device(engine->bulk_queue, steady->d_largest, bits, sizeof bits));
    TRY_GOTO(engine->operations->correct(engine->bulk_queue, &args));
    TRY_GOTO(engine_settle(engine));
    TRY_GOTO(ahead ? queue_cycle(stepper) : STATUS_OK);
    TRY_GOTO(runtime->copy_to_host(engine->output_queue, bits, steady->d_largest, sizeof bits));
    TRY_GOTO(runtime->queue_wait(engine->output_queue));
    steady->is_ahead = ahead;
done:
    TRY(agree(stepper, status));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, bits, 2, MPI_UINT32_T, MPI_MAX, stepper->team->comm));
    memcpy(most, bits, sizeof most);
    *change = most[0];
    *lack = most[1];
    return isfinite(most[0]) && isfinite(most[1])
               ? STATUS_OK
               : status_agree(
                     stepper->team->comm,
                     fail(STATUS_NUMERICS, "invalid values in the solution of the steady state"));
}

enum status steady_improve(struct stepper *stepper, bool ahead, double *change, double *lack)
{
    TRY(stepper->steady->is_ahead ? STATUS_OK : queue_cycle(stepper));
    return correct(stepper, stepper->steady->grids.grid[0].d_e, NULL, ahead, change, lack);
}

enum status steady_begin(struct stepper *stepper, bool uniform_start, double *lack)
{
    struct steady_grids *grids = &stepper->steady->grids;
    double change = 0;
    stepper->steady->is_ahead = false;
    TRY(find_heat(stepper));
    if (uniform_start && grids->can_start) {
        const struct layout *layout = &stepper->level->field->layout;
        const double *d_heat = stepper->steady->d_heat;
        const struct steady_grid *finest = &grids->grid[0];
        TRY(agree(stepper,
                  d_heat == NULL
                      ? STATUS_OK
                      : ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                                .layout = finest->m.layout, .d_out = finest->d_r, .factor = 1,
                                .x = operand(layout, d_heat))));
        TRY(steady_start(grids));
        return correct(stepper, finest->d_e, &grids->reference, true, &change, lack);
    }
    return correct(stepper, NULL, NULL, true, &change, lack);
}
