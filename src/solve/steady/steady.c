#include "solve/steady/steady.h"

#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "model/field/field.h"

/* A step whose result is the change alone, which the ledger does not count. */
static const struct superstep_level once = {.weight = 1, .predicts = true, .corrects = true};

static enum status allocate_arrays(struct steady *s, const struct problem *problem)
{
    struct steady_grids *grids = &s->grids;
    const struct team *team = grids->team;
    struct layout field;
    if (!grids->uniform) {
        TRY(steady_grids_array(grids, 0, &s->d_p));
        return steady_grids_array(grids, 0, &s->d_q);
    }
    TRY(steady_grids_allocate(grids, 2 * sizeof *s->d_largest, (void **)&s->d_largest));
    TRY(field_layout(grids->engine->backend, &team->decomp, team->rank, problem->precision,
                     &field));
    return problem->sources.count == 0
               ? STATUS_OK
               : steady_grids_allocate(grids, layout_bytes(&field), (void **)&s->d_heat);
}

enum status steady_create(const struct problem *problem, const struct team *team,
                          struct engine *engine, const struct classes *classes,
                          struct steady **steady)
{
    *steady = NULL;
    if (problem->time.scheme != SCHEME_STEADY) {
        return STATUS_OK;
    }
    struct steady *s = calloc(1, sizeof *s);
    *steady = s;
    if (s != NULL) {
        s->imbalance = NAN;
        s->record = calloc((size_t)problem->time.steady.cycles, sizeof *s->record);
    }
    TRY(status_agree(team->comm, CHECK_MEMORY(s != NULL && s->record != NULL,
                                              "no memory for the cycles of the steady state")));
    TRY(status_agree(team->comm,
                     operator_of_level(problem, 0, problem->timeline.dt_stable, &once, &s->op)));
    TRY(steady_grids_create(problem, team, engine, classes, &s->op, &s->grids));
    return status_agree(team->comm, allocate_arrays(s, problem));
}

void steady_destroy(struct steady *steady)
{
    if (steady != NULL) {
        steady_grids_destroy(&steady->grids);
        free(steady->record);
    }
    free(steady);
}

void steady_report(const struct steady *steady, struct json *json)
{
    json_begin(json, "steady", '{');
    json_int(json, "grids", steady->grids.count);
    json_int(json, "cycles", steady->count);
    json_real(json, "error_K", steady->count > 0 ? steady->record[steady->count - 1].error : NAN);
    json_real(json, "imbalance", steady->imbalance);
    json_bool(json, "rounding_reached", steady->rounding);
    json_begin(json, "history", '[');
    for (int n = 0; n < steady->count; n++) {
        const struct steady_record *record = &steady->record[n];
        json_begin(json, NULL, '{');
        json_real(json, "residual_K_per_s", record->residual);
        json_real(json, "change_K", record->change);
        json_real(json, "rate", record->rate);
        json_real(json, "error_K", record->error);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}
