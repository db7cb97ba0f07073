#include "solve/observe/diagnostics.h"

#include <inttypes.h>

#include "base/comm.h"

/* Of the slots that hold any; before the first super step one, which is empty. */
static int sums_in_use(const struct stepper *stepper)
{
    return (stepper->nslots > 0 ? stepper->nslots : 1) * DEVICE_SUMS;
}

/* Queued. */
static enum status read_sums(const struct stepper *stepper)
{
    const struct level *level = stepper->level;
    return level->engine->runtime->copy_to_host(
        level->engine->bulk_queue, level->h_sums, level->d_sums,
        (size_t)sums_in_use(stepper) * sizeof *level->h_sums);
}

/* Add the sums of one level of super steps since the last reduction to the heat. */
static void close_slot(struct stepper *stepper, int slot)
{
    const struct problem *problem = stepper->problem;
    struct ledger_slot *booked = &stepper->slots[slot];
    for (int f = 0; f < FACE_COUNT; f++) {
        exact_sum_add(&booked->ledger.face_sum[f], &stepper->level->h_sums[slot * DEVICE_SUMS + f]);
    }
    exact_sum_add(&booked->ledger.surface_sum,
                  &stepper->level->h_sums[slot * DEVICE_SUMS + SURFACE_SUM]);
    stepper->state->ledger.booked_J += ledger_boundary_heat(&booked->ledger, problem, &booked->op);
    booked->ledger = (struct ledger){0};
}

/* Collective. Add what was read to the ledger, and reset the device's sums before the next pass. */
static enum status book_sums(struct stepper *stepper)
{
    const struct level *level = stepper->level;
    const int count = sums_in_use(stepper);
    struct ledger *ledger = &stepper->state->ledger;
    TRY(level->engine->runtime->copy_to_device(level->engine->bulk_queue, level->d_sums,
                                               level->h_no_sums,
                                               (size_t)count * sizeof *level->h_sums));
    TRY(exact_sums_reduce(stepper->team->comm, level->h_sums, count));
    for (int first = 0; first < count; first += DEVICE_SUMS) {
        exact_sum_add(&ledger->source_sum, &level->h_sums[first + SOURCE_SUM]);
    }
    for (int slot = 0; slot < stepper->nslots; slot++) {
        close_slot(stepper, slot);
    }
    for (int f = 0; f < FACE_COUNT && stepper->slots == NULL; f++) {
        exact_sum_add(&ledger->face_sum[f], &level->h_sums[f]);
    }
    if (stepper->slots == NULL) {
        exact_sum_add(&ledger->surface_sum, &level->h_sums[SURFACE_SUM]);
    }
    return STATUS_OK;
}

static enum status gather_rank(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    TRY(engine_settle(engine));
    TRY(read_sums(stepper));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

enum status diagnostics_gather_ledger(struct stepper *stepper)
{
    TRY(status_agree(stepper->team->comm, gather_rank(stepper)));
    return book_sums(stepper);
}

/* One wait for all: a device idles meanwhile. Of an enthalpy, its sum is the heat. */
static enum status summarise_rank(struct stepper *stepper, struct field_summary *mine)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    const bool weighted = stepper->problem->medium.nclasses > 0 && field->d_shown == NULL;
    struct field_summary enthalpy;
    struct state *state = stepper->state;
    const bool taken = state->summary_step == state->step && state->step > 0;
    struct sleep *sleep = &stepper->level->sleep;
    const bool sleeps = sleep->is_on && !sleep->tiles.all && !weighted && field->d_shown == NULL;
    TRY(engine_settle(engine));
    if (!taken) {
        TRY(ENQUEUE(engine->operations, summarise, engine->bulk_queue, .layout = field->layout,
                    .placement = field->placement,
                    .medium = weighted ? &stepper->level->classes->args : NULL,
                    .d_field = field_temperature(field), .h_summary = mine,
                    .tiles = sleeps ? &sleep->tiles : NULL, .since = sleep->summarised));
        sleep->summarised = sleeps ? sleep->tiles.step : 0;
    }
    if (field->d_shown != NULL) {
        TRY(ENQUEUE(engine->operations, summarise, engine->bulk_queue, .layout = field->layout,
                    .placement = field->placement, .d_field = field->d_now,
                    .h_summary = &enthalpy));
    }
    TRY(read_sums(stepper));
    TRY(engine->runtime->queue_wait(engine->bulk_queue));
    if (taken) {
        *mine = state->summary;
        state->summary_step = 0;
        if (mine->bad_cells > 0) {
            return summarise_rank(stepper, mine);
        }
    }
    if (field->d_shown != NULL) {
        mine->heat = enthalpy.sum;
    } else if (weighted) {
        exact_sum_scale(&mine->heat, medium_heat_bits(&stepper->problem->medium));
    }
    return STATUS_OK;
}

enum status diagnostics_reduce(MPI_Comm comm, const struct field_summary *mine,
                               struct field_summary *all)
{
    double extremes[2] = {-mine->min, mine->max};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, comm));
    int64_t first_bad = mine->first_bad < 0 ? INT64_MAX : mine->first_bad;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &first_bad, 1, MPI_INT64_T, MPI_MIN, comm));
    enum { SUM, BAD, HEAT, SUMS };
    struct exact_sum sums[SUMS] = {
        [SUM] = mine->sum, [BAD] = {.digit = {mine->bad_cells, 0, 0, 0}}, [HEAT] = mine->heat};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 4 * SUMS, MPI_INT64_T, MPI_SUM, comm));
    exact_sum_normalise(&sums[SUM]);
    exact_sum_normalise(&sums[HEAT]);
    *all = (struct field_summary){
        .min = -extremes[0],
        .max = extremes[1],
        .sum = sums[SUM],
        .heat = sums[HEAT],
        .bad_cells = sums[BAD].digit[0],
        .first_bad = first_bad,
    };
    return STATUS_OK;
}

static enum status summarise(struct stepper *stepper, struct field_summary *all)
{
    MPI_Comm comm = stepper->team->comm;
    struct field_summary mine;
    TRY(status_agree(comm, summarise_rank(stepper, &mine)));
    if (stepper->problem->medium.nclasses == 0) {
        mine.heat = mine.sum;
    }
    return diagnostics_reduce(comm, &mine, all);
}

static int owner_of(const struct decomp *decomp, const int64_t cell[AXIS_COUNT])
{
    for (int rank = 0; rank < decomp->nranks; rank++) {
        const struct box owned = decomp_owned(decomp, rank);
        const struct box one = {.lo = {cell[0], cell[1], cell[2]},
                                .hi = {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
        if (box_contains(&owned, &one)) {
            return rank;
        }
    }
    return -1;
}

/* All ranks have the same summary and fail alike. */
static enum status fail_invalid(const struct stepper *stepper, const struct field_summary *all)
{
    const struct box domain = box_of_cells(stepper->problem->grid.cells);
    int64_t cell[AXIS_COUNT];
    box_cell(&domain, all->first_bad, cell);
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: at step %" PRId64 " (t = %g s) %" PRId64
             " cells are NaN, infinite or beyond 1.1e12 K; the first is cell (%" PRId64 ", %" PRId64
             ", %" PRId64 ") on rank %d. Check the boundary values and time.dt",
             stepper->state->step, stepper->state->time, all->bad_cells, cell[0], cell[1], cell[2],
             owner_of(&stepper->team->decomp, cell));
    return status_agree(stepper->team->comm, status);
}

enum status diagnostics_take(struct stepper *stepper, struct diagnostics *diagnostics)
{
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    TRY(stepper_show_due(stepper));
    const struct problem *problem = stepper->problem;
    const int64_t cells = grid_total_cells(&problem->grid) - medium_ambient_cells(&problem->medium);
    struct state *state = stepper->state;
    struct field_summary all;
    struct heat_operator op;
    TRY(summarise(stepper, &all));
    FAIL_IF(all.bad_cells > 0, fail_invalid(stepper, &all));
    if (state->step == 0) {
        state->ledger.start = all.heat;
    }
    TRY(book_sums(stepper));
    TRY(stepper_operator_before(stepper, &op));
    const double heat = ledger_heat(problem, &all.heat);
    const double start = ledger_heat(problem, &state->ledger.start);
    const double through = ledger_boundary_heat(&state->ledger, problem, &op);
    const double sources = ledger_source_heat(&state->ledger, problem);
    *diagnostics = (struct diagnostics){
        .step = state->step,
        .time = state->time,
        .min = all.min,
        .max = all.max,
        .mean = exact_sum_value(&all.sum) / (double)cells,
        .heat = heat,
        .boundary_heat = through,
        .source_heat = sources,
        .heat_drift = heat - start - through - sources,
    };
    if (problem->medium.graded) {
        diagnostics->mean =
            heat / (problem->medium.total_weight * problem->medium.heat_capacity_volume *
                    grid_cell_volume(&problem->grid));
        return STATUS_OK;
    }
    return grid_is_graded(&problem->grid) ? materials_mean(stepper, &diagnostics->mean) : STATUS_OK;
}

enum status diagnostics_hash_rank(struct stepper *stepper, const void *d_field, uint64_t *mine)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    TRY(engine_wait(engine));
    TRY(ENQUEUE(engine->operations, hash, engine->bulk_queue, .layout = field->layout,
                .placement = field->placement, .d_field = d_field, .h_hash = mine));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

enum status diagnostics_field_hash(struct stepper *stepper, uint64_t *hash)
{
    uint64_t mine = 0;
    TRY(status_agree(stepper->team->comm,
                     diagnostics_hash_rank(stepper, stepper->level->field->d_now, &mine)));
    TRY_MPI(MPI_Allreduce(&mine, hash, 1, MPI_UINT64_T, MPI_SUM, stepper->team->comm));
    return STATUS_OK;
}
