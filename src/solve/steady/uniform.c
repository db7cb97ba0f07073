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

/* A cycle, and meanwhile the halo of the state, where the next correction needs it. */
static enum status queue_cycle(struct stepper *stepper)
{
    TRY(stepper->steady->keeps ? STATUS_OK : level_exchange(stepper->level));
    return steady_cycle(&stepper->steady->grids);
}

/* Of the state, with the correction of the finest grid if it `changes`. While one is certain to
 * follow, every second correction is only kept, for the next time, and the residual follows it. */
static struct correct_args correction(struct stepper *stepper, bool changes, bool keeps)
{
    struct steady *steady = stepper->steady;
    struct field *field = stepper->level->field;
    const struct steady_grid *finest = &steady->grids.grid[0];
    const struct steady_grid *next = &steady->grids.grid[1];
    const bool means = steady_grids_take_means(&steady->grids);
    struct coefficients c;
    operator_coefficients(&steady->op, stepper->problem, &stepper->team->decomp,
                          stepper->team->rank, NULL, &c);
    struct correct_args args = {.layout = field->layout,
                                .grid = finest->m,
                                .d_e = changes ? finest->d_e : NULL,
                                .d_r = finest->d_r,
                                .d_mean = means ? next->d_r : NULL,
                                .coarse = next->m,
                                .d_largest = steady->d_largest};
    memcpy(args.r, c.r, sizeof args.r);
    memcpy(args.a, c.a, sizeof args.a);
    memcpy(args.closed, c.closed, sizeof args.closed);
    if (keeps) {
        args.d_lack = finest->d_r; /* in place */
        return args;
    }
    memcpy(args.b, c.b, sizeof args.b);
    args.d_in = steady->is_flat ? NULL : field->d_now;
    args.constant = steady->is_flat ? steady->grids.reference : 0;
    args.d_early = steady->keeps ? steady->d_kept : NULL;
    args.d_heat = steady->d_heat;
    args.d_out = field->d_next;
    return args;
}

/* After it is queued. */
static void take_correction(struct stepper *stepper, bool keeps)
{
    struct steady *steady = stepper->steady;
    struct steady_grid *finest = &steady->grids.grid[0];
    if (keeps) {
        float *const d_free = steady->d_kept;
        steady->d_kept = finest->d_e;
        finest->d_e = d_free;
    } else {
        field_swap(stepper->level->field);
        steady->is_flat = false;
    }
    steady->keeps = keeps;
}

/* Correct the state, and find its residual. `ahead`: the next cycle is queued before the host
 * waits. */
static enum status correct(struct stepper *stepper, bool changes, bool ahead, double *change,
                           double *lack)
{
    struct steady *steady = stepper->steady;
    struct engine *engine = steady->grids.engine;
    const struct runtime *runtime = engine->runtime;
    struct steady_grid *finest = &steady->grids.grid[0];
    const bool keeps = changes && ahead && !steady->keeps;
    const struct correct_args args = correction(stepper, changes, keeps);
    uint32_t bits[2] = {0, 0};
    float most[2];
    TRY(changes ? STATUS_OK : level_exchange(stepper->level));
    TRY(!changes || finest->complete >= finest->needed
            ? STATUS_OK
            : steady_grid_exchange(&steady->grids, finest, finest->d_e));
    enum status status = engine_settle(engine);
    TRY_GOTO(status);
    TRY_GOTO(runtime->copy_to_device(engine->bulk_queue, steady->d_largest, bits, sizeof bits));
    TRY_GOTO(engine->operations->correct(engine->bulk_queue, &args));
    if (changes) {
        take_correction(stepper, keeps);
    }
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
               : fail(STATUS_NUMERICS, "invalid values in the solution of the steady state");
}

enum status steady_improve(struct stepper *stepper, bool ahead, double *change, double *lack)
{
    TRY(stepper->steady->is_ahead ? STATUS_OK : queue_cycle(stepper));
    return correct(stepper, true, ahead, change, lack);
}

enum status steady_complete(struct stepper *stepper)
{
    struct steady *steady = stepper->steady;
    const struct layout *layout = &stepper->level->field->layout;
    double *d_now = stepper->level->field->d_now;
    const struct operand kept = operand(&steady->grids.grid[0].m.layout, steady->d_kept);
    struct combine_args to = {
        .layout = *layout, .d_out = d_now, .factor = 1, .x = kept, .z = operand(layout, d_now)};
    if (!steady->keeps) {
        return STATUS_OK;
    }
    if (steady->is_flat) {
        to.factor = steady->grids.reference;
        to.x = operand(layout, NULL);
        to.z = kept;
    }
    steady->keeps = steady->is_flat = false;
    TRY(agree(stepper,
              steady->grids.engine->operations->combine(steady->grids.engine->bulk_queue, &to)));
    return level_exchange(stepper->level);
}

enum status steady_begin(struct stepper *stepper, bool uniform_start, double *lack)
{
    struct steady_grids *grids = &stepper->steady->grids;
    double change = 0;
    stepper->steady->is_ahead = false;
    stepper->steady->keeps = stepper->steady->is_flat = false;
    TRY(find_heat(stepper));
    if (uniform_start && grids->can_start) {
        const struct layout *layout = &stepper->level->field->layout;
        const double *d_heat = stepper->steady->d_heat;
        const struct steady_grid *finest = &grids->grid[0];
        TRY(agree(stepper,
                  ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                          .layout = finest->m.layout, .d_out = finest->d_r,
                          .factor = d_heat != NULL ? 1 : 0, .x = operand(layout, d_heat))));
        TRY(steady_start(grids));
        stepper->steady->is_flat = true;
        return correct(stepper, true, true, &change, lack);
    }
    return correct(stepper, false, true, &change, lack);
}
