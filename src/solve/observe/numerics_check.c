#include "solve/observe/numerics_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"

struct suspect {
    double badness; /* K; below 0: none */
    double value;   /* K */
    int64_t index;  /* global */
    int rank;
};

/* The state of a search: a window of three planes of this rank's cells. */
struct search {
    struct stepper *stepper;
    void *values;  /* one plane in the precision of the field */
    double *plane; /* three planes, k mod 3 */
    bool by_range; /* false: by roughness */
    double low, high;
};

static const double *plane_at(const struct search *search, int64_t k)
{
    const int64_t *n = search->stepper->level->field->layout.cells;
    return search->plane + (k % 3) * n[AXIS_X] * n[AXIS_Y];
}

static enum status load_plane(const struct search *search, int64_t k)
{
    struct field *field = search->stepper->level->field;
    const int64_t cells = field->layout.cells[AXIS_X] * field->layout.cells[AXIS_Y];
    struct box box = layout_owned(&field->layout);
    box.lo[AXIS_Z] = k;
    box.hi[AXIS_Z] = k + 1;
    TRY(field_read(field, &box, search->values));
    double *to = search->plane + (k % 3) * cells;
    for (int64_t c = 0; c < cells; c++) {
        to[c] = precision_get(field->layout.precision, search->values, c);
    }
    return STATUS_OK;
}

/* |T - mean of the neighbours on this rank|: a flipped bit leaves a peak, which spreads but remains
 * the roughest place for long. */
static double roughness(const struct search *search, int64_t i, int64_t j, int64_t k)
{
    const int64_t *n = search->stepper->level->field->layout.cells;
    const double *plane = plane_at(search, k);
    const int64_t at = j * n[AXIS_X] + i;
    double sum = 0;
    int count = 0;
    const struct {
        bool owned;
        const double *plane;
        int64_t shift;
    } neighbours[2 * AXIS_COUNT] = {
        {i > 0, plane, -1},
        {i + 1 < n[AXIS_X], plane, 1},
        {j > 0, plane, -n[AXIS_X]},
        {j + 1 < n[AXIS_Y], plane, n[AXIS_X]},
        {k > 0, plane_at(search, k + 2), 0}, /* k - 1, modulo 3 */
        {k + 1 < n[AXIS_Z], plane_at(search, k + 1), 0},
    };
    for (int f = 0; f < 2 * AXIS_COUNT; f++) {
        if (neighbours[f].owned) {
            sum += neighbours[f].plane[at + neighbours[f].shift];
            count++;
        }
    }
    return count > 0 ? fabs(plane[at] - sum / count) : 0;
}

static void search_plane(const struct search *search, int64_t k, struct suspect *worst)
{
    const struct field *field = search->stepper->level->field;
    const int64_t *n = field->layout.cells;
    const int64_t *all = field->placement.global_cells;
    const int64_t *offset = field->placement.offset;
    const double *plane = plane_at(search, k);
    for (int64_t j = 0; j < n[AXIS_Y]; j++) {
        for (int64_t i = 0; i < n[AXIS_X]; i++) {
            const double value = plane[j * n[AXIS_X] + i];
            const double badness = search->by_range
                                       ? fmax(search->low - value, value - search->high)
                                       : roughness(search, i, j, k);
            if (badness > worst->badness) {
                const int64_t row = (k + offset[AXIS_Z]) * all[AXIS_Y] + j + offset[AXIS_Y];
                *worst = (struct suspect){badness, value, row * all[AXIS_X] + i + offset[AXIS_X],
                                          search->stepper->team->rank};
            }
        }
    }
}

static enum status search_planes(struct search *search, struct suspect *worst)
{
    const int64_t *n = search->stepper->level->field->layout.cells;
    const size_t cells = (size_t)(n[AXIS_X] * n[AXIS_Y]);
    search->values = malloc(cells * sizeof(double));
    search->plane = malloc(3 * cells * sizeof(double));
    enum status status = STATUS_OK;
    if (search->values == NULL || search->plane == NULL) {
        TRY_GOTO(fail(STATUS_MEMORY, "no memory for a few planes of cells"));
    }
    TRY_GOTO(load_plane(search, 0));
    for (int64_t k = 0; k < n[AXIS_Z]; k++) {
        if (k + 1 < n[AXIS_Z]) {
            TRY_GOTO(load_plane(search, k + 1));
        }
        search_plane(search, k, worst);
    }
done:
    free(search->plane);
    free(search->values);
    return status;
}

/* Collective, agreed: the worst cell of all ranks. */
static enum status find_suspect(struct search *search, struct suspect *worst)
{
    const struct team *team = search->stepper->team;
    struct suspect mine = {.badness = -1, .index = -1, .rank = team->rank};
    TRY(status_agree(team->comm, search_planes(search, &mine)));
    struct {
        double badness;
        int rank;
    } most = {mine.badness, team->rank};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, team->comm));
    TRY_MPI(MPI_Bcast(&mine, (int)sizeof mine, MPI_BYTE, most.rank, team->comm));
    *worst = mine;
    return STATUS_OK;
}

static void describe(const struct grid *grid, const struct suspect *suspect, char *text,
                     size_t bytes)
{
    const int64_t *n = grid->cells;
    const int64_t cell[AXIS_COUNT] = {suspect->index % n[AXIS_X],
                                      suspect->index / n[AXIS_X] % n[AXIS_Y],
                                      suspect->index / n[AXIS_X] / n[AXIS_Y]};
    snprintf(text, bytes,
             "cell (%" PRId64 ", %" PRId64 ", %" PRId64 ") at (%.6g, %.6g, %.6g) m on rank %d, "
             "with %.9g K",
             cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z], grid_center(grid, AXIS_X, cell[AXIS_X]),
             grid_center(grid, AXIS_Y, cell[AXIS_Y]), grid_center(grid, AXIS_Z, cell[AXIS_Z]),
             suspect->rank, suspect->value);
}

static enum status check_range(struct stepper *stepper, const struct diagnostics *d)
{
    double low = 0;
    double high = 0;
    limits_range(&stepper->state->check.limits, stepper->problem->precision, &low, &high);
    if (d->min >= low && d->max <= high) {
        return STATUS_OK;
    }
    char place[256];
    struct suspect worst;
    struct search search = {.stepper = stepper, .by_range = true, .low = low, .high = high};
    TRY(find_suspect(&search, &worst));
    describe(&stepper->problem->grid, &worst, place, sizeof place);
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: at step %" PRId64 " (t = %g s) temperatures reach "
             "from %.9g to %.9g K, but the maximum principle allows only %.9g .. %.9g K since step "
             "%" PRId64 "; furthest out of range is %s",
             stepper->state->step, d->time, d->min, d->max, low, high, stepper->state->check.step,
             place);
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
    char place[256];
    struct suspect worst;
    struct search search = {.stepper = stepper, .by_range = false};
    TRY(find_suspect(&search, &worst));
    describe(&stepper->problem->grid, &worst, place, sizeof place);
    const enum status status =
        fail(STATUS_NUMERICS,
             "invalid values in the solution: from step %" PRId64 " to step %" PRId64
             " (t = %g s) the heat changed by %.6g J that did not pass a boundary%s, and rounding "
             "explains at most %.3g J; the roughest place is %s",
             check->step, stepper->state->step, d->time, change,
             problem_has_sources(stepper->problem) ? " or come from a source" : "", allowed, place);
    return status_agree(stepper->team->comm, status);
}

bool numerics_check_is_due(const struct stepper *stepper, int64_t step)
{
    const int64_t every = stepper->problem->run.watch_every;
    return every > 0 && step % every == 0;
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
