#include "solve/steady/solution.h"

#include "base/comm.h"
#include "solve/observe/diagnostics.h"

enum status solution_agree(const struct solution *s, enum status status)
{
    return status_agree(s->stepper->team->comm, status);
}

enum status solution_summarise(const struct solution *s, const struct layout *layout,
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

enum status solution_products(const struct solution *s, const float *d_a, const float *const d_b[],
                              int count, struct field_summary all[])
{
    struct engine *engine = s->steady->grids.engine;
    struct field_summary mine[PRODUCTS_MOST];
    enum status status = STATUS_OK;
    for (int n = 0; n < count && status == STATUS_OK; n++) {
        status = ENQUEUE(engine->operations, summarise, engine->bulk_queue, .layout = *s->grid,
                         .placement = s->field->placement, .d_field = d_a, .d_times = d_b[n],
                         .h_summary = &mine[n]);
    }
    status = status == STATUS_OK ? engine_wait(engine) : status;
    TRY(status_agree(s->stepper->team->comm, status));
    for (int n = 0; n < count; n++) {
        TRY(diagnostics_reduce(s->stepper->team->comm, &mine[n], &all[n]));
    }
    return STATUS_OK;
}

const struct device_medium *solution_weights(const struct solution *s)
{
    const struct medium *medium = &s->stepper->problem->medium;
    return medium->nclasses > 0 && medium->curves == NULL ? &s->stepper->level->classes->args
                                                          : NULL;
}

enum status solution_residual(struct solution *s)
{
    TRY(steady_residual(s->stepper, s->goal));
    s->medium = solution_weights(s);
    TRY(solution_summarise(s, &s->field->layout, s->field->d_next, s->medium, &s->lack));
    s->largest_lack = largest(&s->lack);
    s->is_true = true;
    return s->lack.bad_cells == 0
               ? STATUS_OK
               : status_agree(
                     s->stepper->team->comm,
                     fail(STATUS_NUMERICS, "invalid values in the solution of the steady state"));
}

double solution_kelvins(const struct solution *s)
{
    return ldexp(s->steady->unit / s->scale,
                 s->medium != NULL ? medium_heat_bits(&s->stepper->problem->medium) : 0);
}

double solution_scale(const struct solution *s)
{
    return ldexp(1, -ilogb(s->largest_lack));
}

enum status solution_send(struct solution *s, double scale)
{
    struct engine *engine = s->steady->grids.engine;
    const struct device_medium uniform = {.nclasses = 0};
    const float *d_weight = s->steady->d_weight;
    const struct device_medium weights =
        s->medium != NULL && d_weight == NULL ? *s->medium : uniform;
    s->scale = scale;
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *s->grid,
                   .d_out = s->steady->grids.grid[0].d_r, .factor = s->scale,
                   .x = operand(&s->field->layout, s->field->d_next),
                   .y = operand(s->grid, d_weight), .medium = weights);
}

enum status solution_follow(const struct solution *s)
{
    struct engine *engine = s->steady->grids.engine;
    float *d_r = s->steady->grids.grid[0].d_r;
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *s->grid,
                   .d_out = d_r, .factor = -s->step, .x = operand(s->grid, s->steady->d_q),
                   .z = operand(s->grid, d_r));
}

enum status solution_start(struct solution *s)
{
    struct steady_grids *grids = &s->steady->grids;
    const struct layout *layout = &s->field->layout;
    struct combine_args to = {
        .layout = *layout, .d_out = s->field->d_now, .factor = grids->reference};
    if (grids->has_reference) {
        TRY(solution_agree(s, grids->engine->operations->combine(grids->engine->bulk_queue, &to)));
        TRY(solution_residual(s));
    }
    if (s->largest_lack == 0) {
        return STATUS_OK;
    }
    s->scale = 1;
    TRY(solution_agree(s, solution_send(s, solution_kelvins(s)))); /* e is in K */
    TRY(steady_start(grids));
    to.factor = 1;
    to.x = operand(s->grid, grids->grid[0].d_e);
    to.z = operand(layout, s->field->d_now);
    TRY(solution_agree(s, grids->engine->operations->combine(grids->engine->bulk_queue, &to)));
    return solution_residual(s);
}
