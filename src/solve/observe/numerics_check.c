#include "solve/observe/diagnostics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "model/field/quantity.h"

struct suspect {
    double badness; /* K; below 0: none */
    double value;   /* K */
    int64_t index;  /* global */
    int rank;
};

/* The state of a search, which reads one plane after the other with its neighbours. */
struct search {
    struct stepper *stepper;
    void *values;   /* of `box`, in the precision of the field */
    struct box box; /* local indices */
    bool by_range;  /* false: by roughness */
    double low, high;
};

static double value_at(const struct search *search, int64_t i, int64_t j, int64_t k)
{
    return precision_get(search->stepper->problem->precision, search->values,
                         box_place(&search->box, i, j, k));
}

/* |T - mean of the neighbours on this rank|: a flipped bit leaves a peak, which spreads but remains
 * the roughest place for long. */
static double roughness(const struct search *search, const int64_t cell[AXIS_COUNT])
{
    double sum = 0;
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = (int)face_axis((enum face)f);
        int64_t at[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
        at[axis] += face_side((enum face)f) == SIDE_MIN ? -1 : 1;
        if (at[axis] >= search->box.lo[axis] && at[axis] < search->box.hi[axis]) {
            sum += value_at(search, at[0], at[1], at[2]);
            count++;
        }
    }
    return count > 0 ? fabs(value_at(search, cell[0], cell[1], cell[2]) - sum / count) : 0;
}

static void search_plane(const struct search *search, int64_t k, struct suspect *worst)
{
    const struct placement *placement = &search->stepper->level->field->placement;
    const struct box all = box_of_cells(placement->global_cells);
    const int64_t *offset = placement->offset;
    struct box plane = search->box;
    plane.lo[AXIS_Z] = k;
    plane.hi[AXIS_Z] = k + 1;
    for (int64_t c = 0; c < box_cells(&plane); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&plane, c, cell);
        const double value = value_at(search, cell[0], cell[1], cell[2]);
        const double badness = search->by_range ? fmax(search->low - value, value - search->high)
                                                : roughness(search, cell);
        if (badness > worst->badness) {
            *worst = (struct suspect){
                badness, value,
                box_place(&all, cell[0] + offset[0], cell[1] + offset[1], cell[2] + offset[2]),
                search->stepper->team->rank};
        }
    }
}

static enum status search_planes(struct search *search, struct suspect *worst)
{
    struct field *field = search->stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box plane = box_inside(&owned, FACE_Z_MIN, 1);
    enum status status = STATUS_OK;
    search->values = malloc(3 * (size_t)box_cells(&plane) * sizeof(double));
    TRY(CHECK_MEMORY(search->values != NULL, "no memory for a few planes of cells"));
    for (int64_t k = 0; k < owned.hi[AXIS_Z]; k++) {
        const struct box around = {.lo = {0, 0, k - 1},
                                   .hi = {owned.hi[AXIS_X], owned.hi[AXIS_Y], k + 2}};
        search->box = box_intersect(&around, &owned);
        TRY_GOTO(field_read(field, &search->box, search->values));
        search_plane(search, k, worst);
    }
done:
    free(search->values);
    return status;
}

/* Collective, agreed. The worst cell of all ranks, for messages. */
enum { PLACE_BYTES = 256 };
static enum status find_place(struct search *search, char place[PLACE_BYTES])
{
    const struct team *team = search->stepper->team;
    const struct grid *grid = &search->stepper->problem->grid;
    const struct box all = box_of_cells(grid->cells);
    struct suspect worst = {.badness = -1, .index = -1, .rank = team->rank};
    int64_t cell[AXIS_COUNT];
    TRY(stepper_drop_ahead(search->stepper));
    TRY(status_agree(team->comm, search_planes(search, &worst)));
    struct {
        double badness;
        int rank;
    } most = {worst.badness, team->rank};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, team->comm));
    TRY_MPI(MPI_Bcast(&worst, (int)sizeof worst, MPI_BYTE, most.rank, team->comm));
    box_cell(&all, worst.index, cell);
    snprintf(place, PLACE_BYTES,
             "cell (%" PRId64 ", %" PRId64 ", %" PRId64 ") at (%.6g, %.6g, %.6g) m on rank %d, "
             "with %.9g K",
             cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z], grid_center(grid, AXIS_X, cell[AXIS_X]),
             grid_center(grid, AXIS_Y, cell[AXIS_Y]), grid_center(grid, AXIS_Z, cell[AXIS_Z]),
             worst.rank, worst.value);
    return STATUS_OK;
}

static enum status check_range(struct stepper *stepper, const struct diagnostics *d)
{
    double low = 0;
    double high = 0;
    limits_range(&stepper->state->check.limits, stepper->problem->precision, &low, &high);
    if (d->min >= low && d->max <= high) {
        return STATUS_OK;
    }
    char place[PLACE_BYTES];
    struct search search = {.stepper = stepper, .by_range = true, .low = low, .high = high};
    TRY(find_place(&search, place));
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: at step %" PRId64 " (t = %g s) temperatures reach "
             "from %.9g to %.9g K, but the maximum principle allows only %.9g .. %.9g K since step "
             "%" PRId64 "; furthest out of range is %s",
             stepper->state->step, d->time, d->min, d->max, low, high, stepper->state->check.step,
             place);
    return status_agree(stepper->team->comm, status);
}

/* Beyond the table of a source that grows with temperature its heat is not known. */
static enum status check_run_away(const struct stepper *stepper, const struct diagnostics *d)
{
    const int s = sources_run_away(&stepper->problem->sources, d->max);
    if (s < 0) {
        return STATUS_OK;
    }
    const struct table_setting *table = stepper->problem->sources.source[s].setting->density_table;
    return fail(STATUS_NUMERICS,
                "sources[%d]: at step %" PRId64 " (t = %g s) the temperature reaches %.6g K, above "
                "the last row of its density (%.6g K), up to which the heat grows with "
                "temperature: a thermal run-away, or a table that is too short",
                s, stepper->state->step, d->time, d->max, table->row[table->nrows - 1][0]);
}

/* Rounding may take a cell at 0 K a little below it. */
static enum status check_zero(struct stepper *stepper, const struct diagnostics *d)
{
    const double share =
        stepper->problem->precision == PRECISION_FLOAT64 ? 1e-9 : 1e-3; /* of the highest */
    if (stepper->problem->run.temperature == TEMPERATURE_DIFFERENCE ||
        d->min >= fmin(BELOW_ZERO, -share * fabs(d->max))) {
        return STATUS_OK;
    }
    char place[PLACE_BYTES];
    struct search search = {.stepper = stepper, .by_range = true, .low = 0, .high = INFINITY};
    TRY(find_place(&search, place));
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: at step %" PRId64 " (t = %g s) temperatures are "
             "below 0 K; the lowest is %s. Give a smaller time.dt or time.safety, check fluxes "
             "and sources, or declare the field a difference of temperatures "
             "(run.watch.temperature: difference)",
             stepper->state->step, d->time, place);
    return status_agree(stepper->team->comm, status);
}

/* The rounding error of the ledger's own arithmetic in doubles: a few roundings of its terms. */
static double arithmetic_slack(const struct stepper *stepper, const struct diagnostics *d,
                               const struct heat_operator *op)
{
    const double start = d->heat - d->boundary_heat - d->source_heat - d->heat_drift;
    const double turnover = ledger_turnover(&stepper->state->ledger, stepper->problem, op);
    return 16 * 0x1p-53 * (fabs(d->heat) + fabs(start) + turnover);
}

static enum status check_ledger(struct stepper *stepper, const struct diagnostics *d, double slack)
{
    const struct numerics_check *check = &stepper->state->check;
    const double capacity =
        stepper->problem->medium.heat_capacity_volume * grid_cell_volume(&stepper->problem->grid);
    const double rounding = limits_rounding(&check->limits, &stepper->problem->grid,
                                            stepper->problem->precision, d->min, d->max);
    const double allowed = capacity * rounding + slack + check->slack;
    const double change = d->heat_drift - check->drift;
    if (fabs(change) <= allowed) {
        return STATUS_OK;
    }
    char place[PLACE_BYTES];
    char unit[SCHEMA_UNIT_BYTES];
    struct search search = {.stepper = stepper, .by_range = false};
    TRY(find_place(&search, place));
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: from step %" PRId64 " to step %" PRId64
             " (t = %g s) the heat changed by %.6g %s that did not pass a boundary%s, and rounding "
             "explains at most %.3g %s; the roughest place is %s",
             check->step, stepper->state->step, d->time, change, quantity_unit("J", unit),
             problem_has_sources(stepper->problem) ? " or come from a source" : "", allowed, unit,
             place);
    return status_agree(stepper->team->comm, status);
}

bool numerics_check_is_due(const struct stepper *stepper, int64_t step)
{
    const int64_t every = stepper->problem->run.watch_every;
    return every > 0 && timeline_is_multiple(&stepper->problem->timeline, every, step);
}

int64_t numerics_check_next(const struct stepper *stepper)
{
    const int64_t every = stepper->problem->run.watch_every;
    return every > 0 ? (stepper->state->step / every + 1) * every : INT64_MAX;
}

enum status numerics_check(struct stepper *stepper, const struct diagnostics *d)
{
    struct numerics_check *check = &stepper->state->check;
    struct heat_operator op;
    if (stepper->problem->run.watch_every == 0 ||
        (check->begun && check->step == stepper->state->step)) {
        return STATUS_OK;
    }
    TRY(check_zero(stepper, d));
    TRY(status_agree(stepper->team->comm, check_run_away(stepper, d)));
    TRY(stepper_operator_before(stepper, &op));
    const double slack = arithmetic_slack(stepper, d, &op);
    if (check->begun) {
        if (stepper->problem->radius == 1) { /* wider stencils have no maximum principle */
            TRY(check_range(stepper, d));
        }
        TRY(check_ledger(stepper, d, slack));
        limits_renew(&check->limits, d->min, d->max);
    } else {
        limits_begin(&check->limits, d->min, d->max);
    }
    check->begun = true;
    check->step = stepper->state->step;
    check->drift = d->heat_drift;
    check->slack = slack;
    return STATUS_OK;
}
