#include "solve/observe/diagnostics.h"

#include <inttypes.h>

#include "base/comm.h"

/* Of the slots that hold any; before the first super step one, which is empty. */
static int sums_in_use(const struct stepper *stepper)
{
    return (stepper->nslots > 0 ? stepper->nslots : 1) * DEVICE_SUMS;
}

/* Queued. Read the sums, and reset the device's before the next pass. */
static enum status read_sums(const struct stepper *stepper)
{
    const struct level *level = stepper->level;
    const struct runtime *runtime = level->engine->runtime;
    struct queue *queue = level->engine->bulk_queue;
    const size_t bytes = (size_t)sums_in_use(stepper) * sizeof *level->h_sums;
    TRY(runtime->copy_to_host(queue, level->h_sums, level->d_sums, bytes));
    return runtime->copy_to_device(queue, level->d_sums, level->h_no_sums, bytes);
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

/* Collective. Add what was read to the ledger. */
static enum status book_sums(struct stepper *stepper)
{
    const struct level *level = stepper->level;
    const int count = sums_in_use(stepper);
    struct ledger *ledger = &stepper->state->ledger;
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

/* A summary of this rank, on its way. */
struct reading {
    struct field_summary summary;
    struct field_summary enthalpy; /* its sum is the heat */
    bool taken;                    /* by the pass that led to the state */
};

static bool is_weighted(const struct stepper *stepper)
{
    return stepper->problem->medium.nclasses > 0 && stepper->level->field->d_shown == NULL;
}

/* Queued. */
static enum status read_field(const struct stepper *stepper, struct reading *reading)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    struct sleep *sleep = &stepper->level->sleep;
    const bool weighted = is_weighted(stepper);
    const bool sleeps = sleep->is_on && !sleep->tiles.all && !weighted && field->d_shown == NULL;
    TRY(ENQUEUE(engine->operations, summarise, engine->bulk_queue, .layout = field->layout,
                .placement = field->placement,
                .medium = weighted ? &stepper->level->classes->args : NULL,
                .d_field = field_temperature(field), .h_summary = &reading->summary,
                .tiles = sleeps ? &sleep->tiles : NULL, .since = sleep->summarised));
    sleep->summarised = sleeps ? sleep->tiles.step : 0;
    return STATUS_OK;
}

/* Queued; one wait serves all of it, while a device idles or has the next pass. */
static enum status begin_summary(const struct stepper *stepper, struct reading *reading)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    const struct state *state = stepper->state;
    reading->taken = state->summary_step == state->step && state->step > 0;
    TRY(engine_settle(engine));
    TRY(reading->taken ? STATUS_OK : read_field(stepper, reading));
    if (field->d_shown != NULL) {
        TRY(ENQUEUE(engine->operations, summarise, engine->bulk_queue, .layout = field->layout,
                    .placement = field->placement, .d_field = field->d_now,
                    .h_summary = &reading->enthalpy));
    }
    TRY(read_sums(stepper));
    if (stepper->ahead_to > 0 && stepper->problem->medium.nclasses == 0) {
        /* that pass would keep the device from the sums at the faces */
        TRY(engine->runtime->event_record(engine->output_queue, engine->line_done));
        TRY(engine->runtime->event_wait(engine->bulk_queue, engine->line_done));
    }
    return engine->runtime->event_record(engine->bulk_queue, engine->line_done);
}

static enum status end_summary(struct stepper *stepper, struct reading *reading)
{
    struct engine *engine = stepper->level->engine;
    struct state *state = stepper->state;
    TRY(stepper_wait_for_line(stepper));
    if (reading->taken) {
        reading->summary = state->summary;
        state->summary_step = 0;
        if (reading->summary.bad_cells > 0) { /* which? */
            TRY(stepper_drop_ahead(stepper));
            TRY(read_field(stepper, reading));
            TRY(engine->runtime->queue_wait(engine->bulk_queue));
        }
    }
    if (stepper->level->field->d_shown != NULL) {
        reading->summary.heat = reading->enthalpy.sum;
    } else if (is_weighted(stepper)) {
        exact_sum_scale(&reading->summary.heat, medium_heat_bits(&stepper->problem->medium));
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
    const int64_t ahead = stepper->ahead_to - stepper->state->step;
    struct reading reading;
    enum status status = begin_summary(stepper, &reading);
    if (ahead > 0) {
        TRY(status_agree(comm, status));
        TRY(stepper->scheme->queue_ahead(stepper, ahead));
    }
    TRY(status_agree(comm, status == STATUS_OK ? end_summary(stepper, &reading) : status));
    if (stepper->problem->medium.nclasses == 0) {
        reading.summary.heat = reading.summary.sum;
    }
    return diagnostics_reduce(comm, &reading.summary, all);
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
    TRY(book_sums(stepper)); /* also of an invalid state: the device has them no longer */
    FAIL_IF(all.bad_cells > 0, fail_invalid(stepper, &all));
    if (state->step == 0) {
        state->ledger.start = all.heat;
    }
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
