/* Flexible conjugate gradients around the multigrid cycle, and Newton's method
 * (docs/reference/numerics.md#steady-states). Products are exact sums, so the bits do not depend on
 * the number of ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "solve/observe/diagnostics.h"
#include "solve/steady/solution.h"

/* Collective. d_e of the finest grid for its d_r. */
static enum status find_correction(const struct solution *s)
{
    struct steady *steady = s->steady;
    const bool algebraic = steady->solver == SOLVER_BOOMERAMG;
    return algebraic || steady->solver == SOLVER_HYPRE
               ? steady_hypre(&steady->grids, algebraic, steady->hypre_share,
                              &steady->record[steady->count].hypre)
               : steady_cycle(&steady->grids);
}

/* Collective. The direction: conjugate to the one before, with the heat that it lets flow out. */
static enum status find_direction(struct solution *s)
{
    struct steady *steady = s->steady;
    struct steady_grids *grids = &steady->grids;
    struct steady_grid *finest = &grids->grid[0];
    struct engine *engine = grids->engine;
    double share = 0;
    if (steady_is_plain(steady)) {
        share = steady_plain_share(steady, s->scale);
    } else if (steady->pq > 0) {
        struct field_summary zq;
        TRY(solution_products(s, finest->d_e, (const float *const[]){steady->d_q}, 1, &zq));
        share = -sum_of(&zq) / steady->pq;
    }
    TRY(solution_agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                                  .layout = *s->grid, .d_out = steady->d_p, .factor = share,
                                  .x = operand(s->grid, steady->d_p),
                                  .z = operand(s->grid, finest->d_e))));
    TRY(steady_grid_exchange(grids, finest, steady->d_p));
    return solution_agree(s, ENQUEUE(engine->operations, flow_out, engine->bulk_queue,
                                     .grid = finest->m, .d_e = steady->d_p, .d_out = steady->d_q));
}

/* Add a multiple of the direction, whose largest temperature is this, to the temperatures. *change:
 * K, the largest one. */
static enum status add_direction(struct solution *s, double wanted, double most_of, double *change)
{
    const struct steady *steady = s->steady;
    struct engine *engine = steady->grids.engine;
    const struct layout *layout = &s->field->layout;
    void *d_to = steady->d_temperature != NULL ? steady->d_temperature : s->field->d_now;
    /* far from the solution the linear problem says no more than where it lies */
    const double most = steady->newton.changes ? 0.5 * steady->newton.magnitude : INFINITY;
    const double factor = fmin(1, most / (fabs(wanted) * most_of)) * wanted;
    *change = fabs(factor) * most_of;
    enum status status =
        ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *layout, .d_out = d_to,
                .factor = factor, .x = operand(s->grid, steady->d_p),
                .y = operand(s->grid, steady->d_scale), .z = operand(layout, d_to));
    if (status == STATUS_OK && steady->d_temperature != NULL) {
        status = ENQUEUE(engine->operations, convert, engine->bulk_queue, .layout = *layout,
                         .medium = &s->stepper->level->classes->args,
                         .conversion = CONVERT_TO_ENTHALPY, .d_in = d_to, .d_out = s->field->d_now);
    }
    return solution_agree(s, status);
}

/* K: the largest error at which the cycles end. */
static double error_wanted(const struct solution *s)
{
    return fmax(s->goal->temperature, s->goal->share * s->steady->record[0].change);
}

/* Whether another cycle follows the next one, which divides errors by less than FASTEST. */
static bool needs_more(const struct solution *s)
{
    enum { FASTEST = 50 };
    const struct steady *steady = s->steady;
    return steady->count + 1 < s->stepper->problem->time.steady.cycles &&
           (steady->count == 0 ||
            steady->record[steady->count - 1].error > FASTEST * error_wanted(s));
}

/* Collective. Of d_r of the finest grid. */
static enum status find_squares(const struct solution *s, double scale)
{
    const float *d_r = s->steady->grids.grid[0].d_r;
    double *squares = &s->steady->record[s->steady->count].squares;
    struct field_summary all;
    if (!s->steady->squares) {
        return STATUS_OK;
    }
    TRY(solution_products(s, d_r, &d_r, 1, &all));
    *squares = sum_of(&all) / (scale * scale);
    return STATUS_OK;
}

/* Collective. One cycle, and the step along the direction that it gives. */
static enum status improve(struct solution *s, double *change)
{
    struct steady *steady = s->steady;
    const struct steady_grid *finest = &steady->grids.grid[0];
    const float *const others[PRODUCTS_MOST] = {steady->d_scale, finest->d_r, steady->d_q};
    struct field_summary all[PRODUCTS_MOST];
    double pr = 0;
    if (steady->grids.uniform) {
        TRY(find_squares(s, 1));
        return steady_improve(s->stepper, needs_more(s), change, &s->largest_lack);
    }
    TRY(solution_agree(s, s->is_true ? solution_send(s, solution_scale(s)) : solution_follow(s)));
    TRY(find_squares(s, s->scale));
    TRY(find_correction(s));
    TRY(find_direction(s));
    const bool is_new = !steady_is_plain(steady) || steady->pq == 0;
    TRY(solution_products(s, steady->d_p, others, is_new ? PRODUCTS_MOST : 1, all));
    if (is_new) {
        pr = sum_of(&all[1]);
        steady->pq = sum_of(&all[2]);
    }
    s->step = steady_is_plain(steady) ? steady_plain_factor(steady, pr) : pr / steady->pq;
    s->is_true = false;
    const double factor = s->step * solution_kelvins(s);
    if (!(steady->pq > 0) || !isfinite(factor)) {
        *change = NAN; /* nothing is left but rounding errors */
        return STATUS_OK;
    }
    return add_direction(s, factor, largest(&all[0]), change);
}

/* --- Newton's method -------------------------------------------------------------------------- */

static enum status follow_state(struct solution *s)
{
    struct field_summary now;
    const struct grid *grid = &s->stepper->problem->grid;
    const struct steady *steady = s->steady;
    const void *d_shown = steady->d_temperature != NULL ? steady->d_temperature : s->field->d_now;
    if (!steady_needs_conductances(s->stepper, s->goal)) {
        return STATUS_OK;
    }
    TRY(solution_summarise(s, &s->field->layout, d_shown, NULL, &now));
    return steady_linearise(s->stepper, s->goal, fmax(fabs(now.min), fabs(now.max)),
                            exact_sum_value(&now.sum) / (double)grid_total_cells(grid));
}

/* --- when to stop ----------------------------------------------------------------------------- */

/* Whether the last cycles changed temperatures by rounding errors only. */
static enum status check_rounding(struct solution *s)
{
    enum { PATIENCE = 6 };
    const struct steady *steady = s->steady;
    struct field_summary now;
    double best = INFINITY;
    double last = INFINITY;
    for (int64_t n = 0; n < steady->count; n++) {
        double *least = n < steady->count - PATIENCE ? &best : &last;
        *least = fmin(*least, steady->record[n].change);
    }
    if (last < best / 2) {
        return STATUS_OK;
    }
    TRY(solution_summarise(s, &s->field->layout, s->field->d_now, NULL, &now));
    s->steady->rounding = best < 1e-11 * largest(&now);
    s->rounding = 0x1p-50 * largest(&now);
    return STATUS_OK;
}

/* Collective. What flows in and does not flow out, W and as a share of the heat that flows. */
static enum status find_imbalance(struct solution *s, double *watts)
{
    struct surface_diagnostics surfaces[MOST_SURFACES];
    struct face_diagnostics faces = {.surfaces = surfaces};
    const struct boundary *boundary = &s->stepper->problem->boundary;
    double inflow = 0;
    double turnover = 0;
    *watts = problem_joule_per_kelvin(s->stepper->problem) * exact_sum_value(&s->lack.heat) /
             s->goal->op.dt;
    s->field->d_shown = s->steady->d_temperature;
    TRY(faces_take(s->stepper, &faces));
    for (int f = 0; f < FACE_COUNT; f++) {
        inflow += isnan(faces.flow[f]) ? 0 : faces.flow[f];
        turnover += isnan(faces.flow[f]) ? 0 : fabs(faces.flow[f]);
    }
    for (int n = 0; n < s->stepper->problem->medium.nsurfaces; n++) {
        inflow += surfaces[n].flow;
        turnover += fabs(surfaces[n].flow);
        if (boundary_exchanges(boundary, n)) { /* a flux may leave the same face by the others */
            const struct boundary_state now =
                boundary_condition_at(&boundary->surface[n], &s->goal->op.when);
            turnover += now.fixed ? 0 : fabs(now.number[BOUNDARY_VALUE]) * surfaces[n].area;
        }
    }
    /* of sources, which may balance each other */
    turnover += fmax(fabs(*watts - inflow), source_files_gross(&s->stepper->source_files,
                                                               s->stepper->problem, &s->goal->op));
    s->steady->imbalance = turnover > 0 ? fabs(*watts) / turnover : 0;
    return STATUS_OK;
}

/* Only heat that leaves as it comes has a steady state without a given temperature. */
static enum status refuse_unbalanced(struct solution *s)
{
    const struct problem *problem = s->stepper->problem;
    MPI_Comm comm = s->stepper->team->comm;
    double watts = 0;
    TRY(find_imbalance(s, &watts));
    if (s->steady->imbalance > 1e-9) {
        return status_agree(
            comm, settings_fail_at(problem->origin, "boundary",
                                   "there is no steady state: at t = %.9g s no face has a given or "
                                   "an ambient temperature, and %.6g W stay in the body; give one, "
                                   "or balance fluxes and sources",
                                   s->stepper->state->time, watts));
    }
    return problem->medium.curves == NULL
               ? STATUS_OK
               : status_agree(comm, settings_fail_at(
                                        problem->origin, "boundary",
                                        "the steady state is not unique: no face has a given or an "
                                        "ambient temperature, and properties depend on "
                                        "temperature; give one"));
}

static enum status is_reached(struct solution *s, bool *reached)
{
    const struct steady_goal *goal = s->goal;
    const struct steady *steady = s->steady;
    const bool uniform = steady->grids.uniform;
    double watts = 0;
    *reached = s->largest_lack == 0 || steady->rounding;
    if (steady->count > 0 && !*reached) {
        const double scale = steady->record[0].change;
        const double error = steady->record[steady->count - 1].error;
        *reached = error <= error_wanted(s);
        TRY(*reached && !s->is_true && !uniform ? solution_residual(s) : STATUS_OK);
        *reached =
            *reached && s->largest_lack <= fmax(goal->temperature, goal->residual_share * scale);
    }
    const double lack = s->largest_lack;
    if (*reached && (uniform || !s->is_true)) {
        TRY(solution_residual(s));
    }
    if (*reached && isfinite(goal->tolerance)) {
        TRY(find_imbalance(s, &watts));
        /* without flows of heat, too, where no step changes a temperature */
        *reached = steady->imbalance <= goal->tolerance || lack <= s->rounding;
    }
    return STATUS_OK;
}

/* Whether the next cycle needs the residual of the state: between, that of float32 follows the
 * steps, and its rounding errors are small beside what four of them leave. */
static bool is_due(const struct solution *s)
{
    enum { EVERY = 4 };
    const struct steady *steady = s->steady;
    return steady->newton.changes || steady->solver != SOLVER_MULTIGRID ||
           steady->count % EVERY == 0;
}

static enum status iterate(struct solution *s, bool held, bool uniform_start)
{
    struct steady *steady = s->steady;
    const bool uniform = steady->grids.uniform;
    for (;;) {
        bool reached = false;
        double change = 0;
        const bool is_first = steady->count == 0;
        const bool starts = is_first && !uniform && uniform_start && steady->grids.can_start;
        TRY((uniform && (held || !is_first)) || !is_due(s) ||
                    (starts && held && steady->grids.has_reference)
                ? STATUS_OK
                : solution_residual(s));
        if (is_first && !held) {
            TRY(refuse_unbalanced(s));
        }
        if (is_first && uniform) {
            TRY(steady_begin(s->stepper, uniform_start, &s->largest_lack));
        }
        if (starts) {
            TRY(solution_start(s));
        }
        TRY(is_reached(s, &reached));
        if (reached) {
            return STATUS_OK;
        }
        if (steady->count == s->stepper->problem->time.steady.cycles || steady->rounding) {
            return steady_fail_slow(s->stepper, s->goal);
        }
        const double residual = uniform || s->is_true ? s->largest_lack / s->goal->op.dt : NAN;
        TRY(follow_state(s));
        TRY(improve(s, &change));
        if (isnan(change)) {
            steady->rounding = true;
            if (!s->goal->is_steady && steady->pq < 0 && /* a run-away, not rounding */
                sources_depend(&s->stepper->problem->sources)) {
                return steady_fail_slow(s->stepper, s->goal);
            }
        } else {
            steady_judge(steady, change, residual, s->goal->is_steady && !steady->quiet);
            TRY(steady_is_plain(steady) ? STATUS_OK : check_rounding(s));
        }
    }
}

/* Collective. The heat of 1 K in all cells, in units of the summary's. */
static enum status find_weight(const struct solution *s, double *weight)
{
    struct engine *engine = s->steady->grids.engine;
    struct field_summary all;
    *weight = s->medium != NULL ? s->stepper->problem->medium.total_weight
                                : (double)grid_total_cells(&s->stepper->problem->grid);
    if (s->steady->d_weight == NULL) {
        return STATUS_OK;
    }
    TRY(solution_agree(s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                                  .layout = s->field->layout, .d_out = s->field->d_next,
                                  .factor = 1)));
    TRY(solution_summarise(s, &s->field->layout, s->field->d_next, s->medium, &all));
    *weight = exact_sum_value(&all.heat);
    return STATUS_OK;
}

/* Without a given temperature the heat stays. */
static enum status restore_heat(const struct solution *s, const struct field_summary *before)
{
    struct engine *engine = s->steady->grids.engine;
    struct field_summary after;
    double weight = 0;
    TRY(find_weight(s, &weight));
    TRY(solution_summarise(s, &s->field->layout, s->field->d_now, s->medium, &after));
    const double lost = exact_sum_value(&before->heat) - exact_sum_value(&after.heat);
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = s->field->layout,
                   .d_out = s->field->d_now, .factor = lost / weight,
                   .z = operand(&s->field->layout, s->field->d_now));
}

/* Of an enthalpy, find its temperatures; and start without a direction. */
static enum status begin(const struct solution *s)
{
    struct steady *steady = s->steady;
    struct engine *engine = steady->grids.engine;
    steady->began = clock_seconds();
    steady->count = 0;
    steady->pq = 0;
    steady->unit = steady->op.dt / s->goal->op.dt;
    steady->rounding = false;
    steady->imbalance = NAN;
    const bool mixes = steady_mixes_sinks(s->stepper->problem);
    for (int n = 0; n < steady->grids.count && !mixes; n++) {
        steady->grids.grid[n].m.sink = (float)(s->goal->mass * steady->unit);
    }
    if (steady->d_temperature == NULL) {
        return STATUS_OK;
    }
    TRY(ENQUEUE(engine->operations, convert, engine->bulk_queue, .layout = s->field->layout,
                .medium = &s->stepper->level->classes->args, .conversion = CONVERT_TO_TEMPERATURE,
                .d_in = s->field->d_now, .d_out = steady->d_temperature));
    return engine_wait(engine);
}

enum status steady_solve(struct stepper *stepper, const struct steady_goal *goal)
{
    struct solution s = {.stepper = stepper,
                         .steady = stepper->steady,
                         .goal = goal,
                         .field = stepper->level->field,
                         .grid = &stepper->steady->grids.grid[0].m.layout};
    bool held = true;
    struct field_summary before = {.min = 0}; /* of a flat state: also when it is not looked at */
    const bool is_flat = stepper->state->is_flat;
    stepper->state->is_flat = false;
    TRY(goal->is_steady ? steady_is_held(stepper, &goal->op, &held) : STATUS_OK);
    TRY(status_agree(stepper->team->comm, begin(&s)));
    if (goal->is_steady && (!held || !is_flat)) {
        s.medium = solution_weights(&s);
        TRY(solution_summarise(&s, &s.field->layout, s.field->d_now, s.medium, &before));
    }
    TRY(iterate(&s, held, goal->is_steady && before.min == before.max));
    if (!held) {
        TRY(restore_heat(&s, &before));
    }
    if (s.steady->rounding && goal->is_steady) {
        log_warn("the steady state: rounding errors prevent a smaller error than %.3g K",
                 s.steady->count > 0 ? s.steady->record[s.steady->count - 1].change : 0);
    }
    if (goal->is_steady && !s.steady->quiet) {
        log_info("steady state after %" PRId64 " cycles in %.3g s", s.steady->count,
                 clock_seconds() - s.steady->began);
    }
    return engine_wait(s.steady->grids.engine);
}

enum status steady_damped(struct stepper *stepper, const void *d_other, double *difference)
{
    struct steady *steady = stepper->steady;
    struct engine *engine = steady->grids.engine;
    struct solution s = {.stepper = stepper,
                         .steady = steady,
                         .field = stepper->level->field,
                         .grid = &steady->grids.grid[0].m.layout};
    const struct layout *layout = &s.field->layout;
    struct field_summary e;
    s.medium = solution_weights(&s);
    TRY(solution_agree(&s, ENQUEUE(engine->operations, combine, engine->bulk_queue,
                                   .layout = *layout, .d_out = s.field->d_next, .factor = -1,
                                   .x = operand(layout, s.field->d_now),
                                   .z = operand(layout, d_other))));
    TRY(solution_summarise(&s, layout, s.field->d_next, NULL, &s.lack));
    *difference = s.largest_lack = largest(&s.lack);
    if (*difference == 0 || s.lack.bad_cells > 0) {
        return STATUS_OK;
    }
    TRY(solution_agree(&s, solution_send(&s, solution_scale(&s))));
    TRY(steady_cycle(&steady->grids));
    TRY(solution_summarise(&s, s.grid, steady->grids.grid[0].d_e, NULL, &e));
    *difference = largest(&e) * solution_kelvins(&s);
    return STATUS_OK;
}
