/* Newton's method around the cycles of a steady state: the conductances and sinks of the grids
 * follow the state (docs/reference/numerics.md#steady-states). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "model/medium/moving.h"
#include "solve/steady/steady.h"

/* Of d_now, with the halo. */
static enum status read_state(struct stepper *stepper, struct steady_point *point)
{
    const struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    double *h_field = malloc(layout_bytes(&field->layout));
    TRY(CHECK_MEMORY(h_field != NULL, "no memory for a copy of the state"));
    point->h_field = h_field;
    point->layout = field->layout;
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, h_field, field->d_now,
                                      layout_bytes(&field->layout)));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* What sources that depend on temperature give less per K: a sink, [z][y][x] of the owned cells.
 * What others give more is left to the residual, so that the grids keep a positive matrix. */
static enum status read_slopes(struct stepper *stepper, const struct heat_operator *op,
                               struct steady_point *point)
{
    const double half = 1e-3; /* K: of the difference for a slope */
    const struct engine *engine = stepper->level->engine;
    const struct problem *problem = stepper->problem;
    const struct box owned = layout_owned(&point->layout);
    const size_t bytes = (size_t)box_cells(&owned) * sizeof(float);
    SCOPED_FREE float *values = malloc(bytes);
    float *h_slopes = calloc(1, bytes);
    point->h_slopes = h_slopes;
    TRY(CHECK_MEMORY(values != NULL && h_slopes != NULL, "no memory for the slopes of sources"));
    for (int s = 0; s < problem->sources.count; s++) {
        const struct source_setting *setting = problem->sources.source[s].setting;
        struct heat_source source;
        struct source_curve curve;
        if (setting->density_table == NULL) {
            continue;
        }
        TRY(moving_at(problem, op, s, &source));
        source_curve_of(setting, &curve);
        TRY(engine->runtime->copy_to_host(engine->bulk_queue, values,
                                          stepper->source_files.file[s].d_values, bytes));
        TRY(engine->runtime->queue_wait(engine->bulk_queue));
#pragma omp parallel for
        for (int64_t c = 0; c < box_cells(&owned); c++) {
            int64_t at[AXIS_COUNT];
            box_cell(&owned, c, at);
            const double T = point->h_field[layout_index(&point->layout, at[0], at[1], at[2])];
            const double change =
                source_curve_at(&curve, T + half) - source_curve_at(&curve, T - half);
            h_slopes[c] -=
                (float)(source.shape.peak_front * (double)values[c] * change / (2 * half));
        }
    }
    return STATUS_OK;
}

enum status steady_linearise(struct stepper *stepper, const struct steady_goal *goal,
                             double magnitude, double mean)
{
    struct steady *s = stepper->steady;
    struct steady_point point = {.nominal = mean, .is_first = goal->is_steady && s->count == 0};
    struct heat_operator op = goal->op;
    const bool mixes = steady_mixes_sinks(stepper->problem);
    const double mass = goal->mass * s->unit;
    op.dt = s->op.dt;
    memcpy(op.all.r, s->op.all.r, sizeof op.all.r);
    enum status status = read_state(stepper, &point);
    if (status == STATUS_OK && sources_depend(&stepper->problem->sources)) {
        status = read_slopes(stepper, &op, &point);
    }
    status = status_agree(stepper->team->comm, status);
    if (status == STATUS_OK) {
        status = steady_grids_linearise(&s->grids, s->classes, &op, &point, mixes ? mass : 1,
                                        s->d_scale);
    }
    free((void *)point.h_field);
    free((void *)point.h_slopes);
    s->pq = 0;
    s->newton.done = true;
    s->newton.mass = mass;
    s->newton.cycles = 0;
    s->newton.moved = 0;
    s->newton.magnitude = magnitude;
    return status;
}

bool steady_needs_conductances(const struct stepper *stepper, const struct steady_goal *goal)
{
    enum { LEAST_CYCLES = 3 };
    const struct steady *steady = stepper->steady;
    const struct steady_record *last = &steady->record[steady->count > 0 ? steady->count - 1 : 0];
    const bool is_slow = steady->count > 0 && last->rate > 0.4;
    const double moved = steady->newton.moved / steady->newton.magnitude;
    if (steady_mixes_sinks(stepper->problem) && steady->newton.mass != goal->mass * steady->unit) {
        return true;
    }
    if (!steady->newton.done) {
        return steady->newton.changes || steady->newton.varies;
    }
    if (steady->newton.cycles < LEAST_CYCLES) {
        return steady->newton.changes && moved > 0.05;
    }
    return steady->newton.changes && moved > (is_slow ? 1e-4 : 1e-3);
}
