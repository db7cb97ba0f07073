/* The steady state as one step: flexible conjugate gradients around the multigrid cycle
 * (docs/reference/numerics.md#steady-states). Products are exact sums, so the bits do not depend on
 * the number of ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "solve/observe/diagnostics.h"
#include "solve/steady/steady.h"
#include "solve/stepper.h"

struct solution {
    struct stepper *stepper;
    struct steady *steady;
    struct field *field;
    const struct layout *grid;          /* of the finest grid */
    const struct device_medium *medium; /* NULL: uniform */
    struct field_summary lack;          /* the residual: K per step */
    double largest_lack;                /* K per step */
    double scale;                       /* of the residual in the grids, which is about 1 at most */
};

static enum status agree(const struct solution *s, enum status status)
{
    return status_agree(s->stepper->team->comm, status);
}

static struct operand operand(const struct layout *layout, const void *d_values)
{
    return (struct operand){.layout = *layout, .d_values = d_values};
}

/* Collective. Of owned cells, weighted by heat capacities as in the residual of the grids. */
static enum status summarise(const struct solution *s, const struct layout *layout,
                             const void *d_values, const struct device_medium *medium,
                             struct field_summary *all)
{
    struct engine *engine = s->steady->grids.engine;
    struct field_summary mine;
    enum status status = ENQUEUE(engine->operations, summarise, engine->bulk_queue,
                                 .layout = *layout, .placement = s->field->placement,
                                 .medium = medium, .d_field = d_values, .h_summary = &mine);
    status = status == STATUS_OK ? engine_wait(engine) : status;
    TRY(status_agree(s->stepper->team->comm, status));
    if (medium == NULL) {
        mine.heat = mine.sum;
    } else {
        exact_sum_scale(&mine.heat, medium_heat_bits(&s->stepper->problem->medium));
    }
    return diagnostics_reduce(s->stepper->team->comm, &mine, all);
}

static double largest(const struct field_summary *summary)
{
    return fmax(fabs(summary->min), fabs(summary->max));
}

/* Collective. The product of two arrays of the finest grid. Overwrites d_next. */
static enum status product(const struct solution *s, const float *d_a, const float *d_b,
                           double *result)
{
    struct engine *engine = s->steady->grids.engine;
    struct field_summary all;
    TRY(agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                         .layout = s->field->layout, .d_out = s->field->d_next, .factor = 1,
                         .x = operand(s->grid, d_a), .y = operand(s->grid, d_b))));
    TRY(summarise(s, &s->field->layout, s->field->d_next, NULL, &all));
    *result = all.bad_cells == 0 ? exact_sum_value(&all.sum) : NAN;
    return STATUS_OK;
}

/* Collective. The change of the temperatures in one step of `op`, to d_next: the kernels of
 * the time steps, which begin with 0. */
static enum status find_change(struct solution *s, const struct heat_operator *op)
{
    struct engine *engine = s->steady->grids.engine;
    struct stepper_pass pass = {.pass.nsteps = 1, .levels = op->when.level};
    pass.op[0] = *op;
    TRY(agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                         .layout = s->field->layout, .d_out = s->field->d_next, .factor = 0)));
    TRY(engine_wait(engine));
    TRY(stepper_queue_pass(s->stepper, &pass));
    field_swap(s->field);
    TRY(engine_wait(engine));
    s->medium = s->stepper->problem->medium.nclasses > 0 ? &s->stepper->level->classes->args : NULL;
    return STATUS_OK;
}

static enum status find_residual(struct solution *s)
{
    TRY(find_change(s, &s->steady->op));
    TRY(summarise(s, &s->field->layout, s->field->d_next, s->medium, &s->lack));
    s->largest_lack = largest(&s->lack);
    return s->lack.bad_cells == 0
               ? STATUS_OK
               : fail(STATUS_NUMERICS, "invalid values in the solution of the steady state");
}

/* Collective. The heat of sources: what changes where all temperatures are 0. */
static enum status find_heat(struct solution *s)
{
    struct engine *engine = s->steady->grids.engine;
    const struct runtime *runtime = engine->runtime;
    const size_t bytes = layout_bytes(&s->field->layout);
    struct heat_operator op = s->steady->op;
    double *d_heat = s->steady->d_heat;
    if (d_heat == NULL) {
        return STATUS_OK;
    }
    memset(op.all.b, 0, sizeof op.all.b);
    TRY(agree(s, runtime->copy_on_device(engine->bulk_queue, d_heat, s->field->d_now, bytes)));
    TRY(agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                         .layout = s->field->layout, .d_out = s->field->d_now, .factor = 0)));
    TRY(find_change(s, &op));
    TRY(agree(s, runtime->copy_on_device(engine->bulk_queue, s->field->d_now, d_heat, bytes)));
    return agree(s, runtime->copy_on_device(engine->bulk_queue, d_heat, s->field->d_next, bytes));
}

/* Collective. In a uniform medium: add the correction d_e, NULL: 0, and find the residual, which
 * goes to the finest grid; the largest change of a temperature. `insulated`: as if only fluxes went
 * through faces. */
static enum status correct(struct solution *s, float *d_e, bool insulated, double *change)
{
    struct steady *steady = s->steady;
    struct engine *engine = steady->grids.engine;
    const struct runtime *runtime = engine->runtime;
    struct steady_grid *finest = &steady->grids.grid[0];
    struct coefficients c;
    uint32_t bits[2] = {0, 0};
    float most[2];
    operator_coefficients(&steady->op, s->stepper->problem, &s->stepper->team->decomp,
                          s->stepper->team->rank, NULL, &c);
    struct correct_args args = {.layout = s->field->layout,
                                .grid = finest->m,
                                .d_in = s->field->d_now,
                                .d_e = d_e,
                                .d_heat = steady->d_heat,
                                .d_out = s->field->d_next,
                                .d_r = finest->d_r,
                                .d_largest = steady->d_largest};
    memcpy(args.r, c.r, sizeof args.r);
    memcpy(args.a, c.a, sizeof args.a);
    memcpy(args.b, c.b, sizeof args.b);
    memcpy(args.closed, c.closed, sizeof args.closed);
    for (int f = 0; f < FACE_COUNT && insulated; f++) {
        args.b[f] = args.a[f] == 1 ? args.b[f] : 0;
        args.a[f] = 1;
    }
    TRY(level_exchange(s->stepper->level));
    if (d_e != NULL) {
        TRY(steady_grid_exchange(&steady->grids, finest, d_e));
        field_swap(s->field);
    }
    enum status status = engine_settle(engine);
    TRY_GOTO(status);
    TRY_GOTO(runtime->copy_to_device(engine->bulk_queue, steady->d_largest, bits, sizeof bits));
    TRY_GOTO(engine->operations->correct(engine->bulk_queue, &args));
    TRY_GOTO(runtime->copy_to_host(engine->bulk_queue, bits, steady->d_largest, sizeof bits));
    TRY_GOTO(runtime->queue_wait(engine->bulk_queue));
done:
    TRY(agree(s, status));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, bits, 2, MPI_UINT32_T, MPI_MAX, s->stepper->team->comm));
    memcpy(most, bits, sizeof most);
    *change = most[0];
    s->largest_lack = most[1];
    return isfinite(most[0]) && isfinite(most[1])
               ? STATUS_OK
               : fail(STATUS_NUMERICS, "invalid values in the solution of the steady state");
}

/* The residual as heat, in float32 and scaled by a power of two, to the finest grid. */
static enum status send_residual(struct solution *s)
{
    struct engine *engine = s->steady->grids.engine;
    const struct device_medium uniform = {.nclasses = 0};
    const struct device_medium weights = s->medium != NULL ? *s->medium : uniform;
    s->scale = ldexp(1, -ilogb(s->largest_lack));
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *s->grid,
                   .d_out = s->steady->grids.grid[0].d_r, .factor = s->scale,
                   .x = operand(&s->field->layout, s->field->d_next), .medium = weights);
}

/* Collective. The direction of conjugate gradients from the correction of a cycle, and the step
 * along it. NAN: nothing is left but rounding errors. */
static enum status find_direction(struct solution *s, double *step)
{
    struct steady *steady = s->steady;
    struct steady_grids *grids = &steady->grids;
    struct steady_grid *finest = &grids->grid[0];
    struct engine *engine = grids->engine;
    double zq = 0;
    double pr = 0;
    if (steady->pq > 0) {
        TRY(product(s, finest->d_e, steady->d_q, &zq));
    }
    TRY(agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *s->grid,
                         .d_out = steady->d_p, .factor = steady->pq > 0 ? -zq / steady->pq : 0,
                         .x = operand(s->grid, steady->d_p), .z = operand(s->grid, finest->d_e))));
    TRY(steady_grid_exchange(grids, finest, steady->d_p));
    TRY(agree(s, ENQUEUE(engine->operations, flow_out, engine->bulk_queue, .grid = finest->m,
                         .d_e = steady->d_p, .d_out = steady->d_q)));
    TRY(product(s, steady->d_p, finest->d_r, &pr));
    TRY(product(s, steady->d_p, steady->d_q, &steady->pq));
    const double length = ldexp(
        pr / steady->pq, s->medium != NULL ? medium_heat_bits(&s->stepper->problem->medium) : 0);
    *step = steady->pq > 0 && isfinite(length) ? length : NAN;
    return STATUS_OK;
}

/* Collective. In a uniform medium: the first residual, of a uniform start after full multigrid. */
static enum status start(struct solution *s, bool uniform_start)
{
    struct steady_grids *grids = &s->steady->grids;
    struct engine *engine = grids->engine;
    double change = 0;
    TRY(find_heat(s));
    if (uniform_start && grids->can_start) {
        TRY(agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                             .layout = s->field->layout, .d_out = s->field->d_now,
                             .factor = grids->reference)));
        TRY(correct(s, NULL, true, &change));
        TRY(steady_start(grids));
        TRY(correct(s, NULL, false, &change));
        s->steady->cold = s->largest_lack / s->steady->op.dt;
        TRY(steady_start_finest(grids));
        return correct(s, grids->grid[0].d_e, false, &change);
    }
    return correct(s, NULL, false, &change);
}

/* Collective. One cycle, and its correction: in a uniform medium as it is, and then the residual is
 * that after it. */
static enum status improve(struct solution *s, double *change)
{
    struct steady_grids *grids = &s->steady->grids;
    struct engine *engine = grids->engine;
    struct field_summary direction;
    double step = 1;
    if (grids->uniform) {
        TRY(steady_cycle(grids));
        return correct(s, grids->grid[0].d_e, false, change);
    }
    TRY(agree(s, send_residual(s)));
    TRY(steady_cycle(grids));
    TRY(find_direction(s, &step));
    TRY(summarise(s, s->grid, s->steady->d_p, NULL, &direction));
    const double kelvins = step / s->scale;
    *change = fabs(kelvins) * largest(&direction);
    if (isnan(*change)) {
        return STATUS_OK;
    }
    return agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                            .layout = s->field->layout, .d_out = s->field->d_now, .factor = kelvins,
                            .x = operand(s->grid, s->steady->d_p),
                            .z = operand(&s->field->layout, s->field->d_now)));
}

/* --- when to stop ----------------------------------------------------------------------------- */

/* The change of a cycle bounds the error after it while the rate is below 1/2. */
static void judge(struct steady *steady, double change, double residual)
{
    struct steady_record *record = &steady->record[steady->count];
    const int back = steady->count < 2 ? steady->count : 2;
    const double rate = pow(change / record[-back].change, 1.0 / back);
    *record = (struct steady_record){.residual = residual, .change = change, .rate = NAN};
    record->error = change == 0 ? 0 : INFINITY;
    if (back > 0 && change > 0) {
        record->rate = rate;
        record->error = rate < 1 ? change * fmax(1, rate / (1 - rate)) : INFINITY;
    }
    record->seconds = clock_seconds() - steady->began;
    steady->count++;
    if (!steady->quiet) {
        log_info("cycle %d: temperatures change by at most %.3g K, estimated error %.3g K",
                 steady->count, change, record->error);
    }
}

/* Whether the last cycles changed temperatures by rounding errors only. */
static enum status check_rounding(struct solution *s)
{
    enum { PATIENCE = 6 };
    const struct steady *steady = s->steady;
    struct field_summary now;
    double best = INFINITY;
    double last = INFINITY;
    for (int n = 0; n < steady->count; n++) {
        double *least = n < steady->count - PATIENCE ? &best : &last;
        *least = fmin(*least, steady->record[n].change);
    }
    if (last < best / 2) {
        return STATUS_OK;
    }
    TRY(summarise(s, &s->field->layout, s->field->d_now, NULL, &now));
    s->steady->rounding = best < 1e-11 * largest(&now);
    return STATUS_OK;
}

/* Collective. What flows in and does not flow out, W and as a share of the heat that flows. */
static enum status find_imbalance(struct solution *s, double *watts)
{
    struct face_diagnostics faces = {.patches = NULL};
    double inflow = 0;
    double turnover = 0;
    *watts = problem_joule_per_kelvin(s->stepper->problem) * exact_sum_value(&s->lack.heat) /
             s->steady->op.dt;
    TRY(faces_take(s->stepper, &faces));
    for (int f = 0; f < FACE_COUNT; f++) {
        inflow += isnan(faces.flow[f]) ? 0 : faces.flow[f];
        turnover += isnan(faces.flow[f]) ? 0 : fabs(faces.flow[f]);
    }
    turnover += fabs(*watts - inflow); /* of sources */
    s->steady->imbalance = turnover > 0 ? fabs(*watts) / turnover : 0;
    return STATUS_OK;
}

/* Whether a face fixes the temperatures. */
static bool is_held(const struct problem *problem, const struct instant *when)
{
    bool held = false;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < problem->boundary.nconditions[f]; p++) {
            const struct boundary_state now =
                boundary_at(&problem->boundary, &problem->grid, (enum face)f, p, when);
            const struct face_exchange exchange = boundary_exchange(&now);
            held = held || exchange.fixed || exchange.s1 > 0;
        }
    }
    return held;
}

/* Only heat that leaves as it comes has a steady state without a given temperature. */
static enum status refuse_unbalanced(struct solution *s)
{
    double watts = 0;
    TRY(find_imbalance(s, &watts));
    return s->steady->imbalance <= 1e-9
               ? STATUS_OK
               : status_agree(s->stepper->team->comm,
                              settings_fail_at(s->stepper->problem->origin, "boundary",
                                               "there is no steady state: no face has a given or "
                                               "an ambient temperature, and %.6g W stay in the "
                                               "body; give one, or balance fluxes and sources",
                                               watts));
}

static enum status is_reached(struct solution *s, bool *reached)
{
    const struct steady_setting *setting = &s->stepper->problem->time.steady;
    const struct steady *steady = s->steady;
    double watts = 0;
    *reached =
        s->largest_lack == 0 || steady->rounding ||
        (steady->count > 0 && steady->record[steady->count - 1].error <= setting->temperature);
    if (*reached && steady->grids.uniform) {
        TRY(find_residual(s));
    }
    if (*reached) {
        TRY(find_imbalance(s, &watts));
        *reached = steady->imbalance <= setting->tolerance;
    }
    return STATUS_OK;
}

static enum status fail_slow(const struct solution *s)
{
    const struct steady *steady = s->steady;
    const struct steady_record *last = &steady->record[steady->count - 1];
    char balance[80] = "";
    if (!isnan(steady->imbalance)) {
        snprintf(balance, sizeof balance, "; %.3g of the heat that flows in does not flow out",
                 steady->imbalance);
    }
    return status_agree(
        s->stepper->team->comm,
        fail(STATUS_NUMERICS,
             "the steady state is not reached after %d cycles%s: the last one changed temperatures "
             "by %.3g K, %.2f times the change before%s. Raise time.steady.cycles, or "
             "time.steady.temperature and tolerance",
             steady->count, steady->rounding ? ", and rounding errors prevent more" : "",
             last->change, last->rate, balance));
}

static enum status iterate(struct solution *s, const struct field_summary *before, bool held)
{
    struct steady *steady = s->steady;
    const int64_t most = s->stepper->problem->time.steady.cycles;
    const bool uniform = steady->grids.uniform;
    for (;;) {
        bool reached = false;
        double change = 0;
        TRY(uniform && (steady->count > 0 || held) ? STATUS_OK : find_residual(s));
        if (steady->count == 0 && !held) {
            TRY(refuse_unbalanced(s));
        }
        if (steady->count == 0 && uniform) {
            TRY(start(s, before->min == before->max));
        }
        TRY(is_reached(s, &reached));
        if (reached) {
            return STATUS_OK;
        }
        if (steady->count == most || steady->rounding) {
            return fail_slow(s);
        }
        const double residual = s->largest_lack / steady->op.dt;
        TRY(improve(s, &change));
        if (isnan(change)) {
            steady->rounding = true;
        } else {
            judge(steady, change, residual);
            TRY(check_rounding(s));
        }
    }
}

/* Without a given temperature the heat stays. */
static enum status restore_heat(const struct solution *s, const struct field_summary *before)
{
    const struct medium *medium = &s->stepper->problem->medium;
    struct engine *engine = s->steady->grids.engine;
    const double cells = (double)grid_total_cells(&s->stepper->problem->grid);
    struct field_summary after;
    TRY(summarise(s, &s->field->layout, s->field->d_now, s->medium, &after));
    const double lost = exact_sum_value(&before->heat) - exact_sum_value(&after.heat);
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = s->field->layout,
                   .d_out = s->field->d_now,
                   .factor = lost / (s->medium != NULL ? medium->total_weight : cells),
                   .z = operand(&s->field->layout, s->field->d_now));
}

static enum status solve(struct stepper *stepper)
{
    struct solution s = {.stepper = stepper,
                         .steady = stepper->steady,
                         .field = stepper->level->field,
                         .grid = &stepper->steady->grids.grid[0].m.layout};
    s.steady->began = clock_seconds();
    const bool held = is_held(stepper->problem, &s.steady->op.when);
    struct field_summary before;
    s.medium = stepper->problem->medium.nclasses > 0 ? &stepper->level->classes->args : NULL;
    TRY(summarise(&s, &s.field->layout, s.field->d_now, s.medium, &before));
    TRY(iterate(&s, &before, held));
    if (!held) {
        TRY(restore_heat(&s, &before));
    }
    if (s.steady->rounding) {
        log_warn("the steady state: rounding errors prevent a smaller error than %.3g K",
                 s.steady->count > 0 ? s.steady->record[s.steady->count - 1].change : 0);
    }
    if (!s.steady->quiet) {
        log_info("steady state after %d cycles in %.3g s", s.steady->count,
                 clock_seconds() - s.steady->began);
    }
    return engine_wait(s.steady->grids.engine);
}

/* The ledger starts from the steady state: the heat before has no meaning. */
static enum status advance(struct stepper *stepper, int64_t steps)
{
    struct state *state = stepper->state;
    struct diagnostics found;
    (void)steps;
    TRY(solve(stepper));
    state->step++;
    state->summary_step = 0;
    state->time = timeline_time(&stepper->problem->timeline, state->step);
    state->check.begun = false;
    TRY(diagnostics_take(stepper, &found));
    ledger_forgive(&state->ledger, stepper->problem, found.heat_drift);
    phases_enter(stepper->level->phases, PHASE_OTHER);
    return STATUS_OK;
}

const struct scheme scheme_steady = {
    .name = "steady",
    .advance = advance,
};
