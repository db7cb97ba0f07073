#include "model/grid.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* Counts of steps stay exact in a double, so that n dt has one rounding. */
#define MAX_STEPS 9007199254740992.0 /* 2^53 */

void grid_create(const struct settings *settings, struct grid *grid)
{
    *grid = (struct grid){0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        grid->cells[axis] = settings->grid.cells[axis];
        grid->used[axis] = settings->grid.cells[axis] > 1;
        grid->dimensions += grid->used[axis] ? 1 : 0;
        grid->lower[axis] = settings->grid.lower[axis];
        grid->upper[axis] = settings->grid.upper[axis];
        grid->spacing[axis] =
            (grid->upper[axis] - grid->lower[axis]) / (double)settings->grid.cells[axis];
    }
}

void material_create(const struct settings *settings, struct material *material)
{
    const double rho_c = settings->material.density * settings->material.heat_capacity;
    *material = (struct material){
        .conductivity = settings->material.conductivity,
        .heat_capacity_volume = rho_c,
        .diffusivity = settings->material.conductivity / rho_c,
    };
}

double grid_center(const struct grid *grid, enum axis axis, int64_t index)
{
    return grid->lower[axis] + ((double)index + 0.5) * grid->spacing[axis];
}

int64_t grid_total_cells(const struct grid *grid)
{
    return grid->cells[AXIS_X] * grid->cells[AXIS_Y] * grid->cells[AXIS_Z];
}

double grid_cell_volume(const struct grid *grid)
{
    return grid->spacing[AXIS_X] * grid->spacing[AXIS_Y] * grid->spacing[AXIS_Z];
}

double grid_stable_dt(const struct grid *grid, const struct material *material)
{
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->used[axis]) {
            sum += 1 / (grid->spacing[axis] * grid->spacing[axis]);
        }
    }
    return 1 / (2 * material->diffusivity * sum);
}

static enum status choose_dt(const struct settings *settings, double dt_stable, double *dt)
{
    if (!(dt_stable > 0) || !isfinite(dt_stable)) {
        return settings_fail(settings, "material.conductivity",
                             "the largest stable time step would be %g s: the grid's spacing and "
                             "the material's diffusivity are out of all proportion",
                             dt_stable);
    }
    *dt = settings->time.dt_auto ? settings->time.safety * dt_stable : settings->time.dt;
    /* a dt copied from a printed stable limit may be above it by its last digits */
    if (*dt > dt_stable * (1 + 1e-12)) {
        return settings_fail(settings, settings->time.dt_auto ? "time.safety" : "time.dt",
                             "the time step %.17g s is unstable on this grid; the largest stable "
                             "one is %.17g s (`dt: auto` chooses it)",
                             *dt, dt_stable);
    }
    return STATUS_OK;
}

/* Count the steps of length dt from start_step and start_time on. */
static enum status count_by_steps(const struct settings *settings, struct timeline *timeline)
{
    const int64_t steps = settings->time.steps;
    if ((double)steps > MAX_STEPS) {
        return settings_fail(settings, "time.steps", "%" PRId64 " steps; at most 2^53 = %.0f",
                             steps, MAX_STEPS);
    }
    const int64_t left = steps > timeline->start_step ? steps - timeline->start_step : 0;
    timeline->steps = timeline->start_step + left;
    timeline->end = timeline->start_time + (double)left * timeline->dt;
    timeline->dt_last = timeline->dt;
    return STATUS_OK;
}

static enum status count_to_end(const struct settings *settings, struct timeline *timeline)
{
    const double left = fmax(settings->time.end - timeline->start_time, 0);
    const double quotient = left / timeline->dt;
    if (!(quotient <= MAX_STEPS - (double)timeline->start_step)) {
        return settings_fail(settings, "time.end",
                             "reaching %g s in steps of %g s takes %g of them; at most 2^53 = %.0f",
                             settings->time.end, timeline->dt, quotient, MAX_STEPS);
    }
    /* rounding in end and dt must not add a sliver of a step */
    const double steps = ceil(quotient - fmin(quotient * 1e-12, 1e-3));
    timeline->end = fmax(settings->time.end, timeline->start_time);
    timeline->steps = timeline->start_step + (int64_t)steps;
    const double rest = fma(-(steps - 1), timeline->dt, left);
    /* a whole step but for the rounding of the inputs: then all steps are alike */
    const bool whole = !(fabs(rest - timeline->dt) > 4 * DBL_EPSILON * settings->time.end);
    timeline->dt_last = whole || rest <= 0 ? timeline->dt : rest;
    return STATUS_OK;
}

static enum status count_steps(const struct settings *settings, struct timeline *timeline)
{
    return settings->time.by_steps ? count_by_steps(settings, timeline)
                                   : count_to_end(settings, timeline);
}

enum status timeline_create(const struct settings *settings, const struct grid *grid,
                            const struct material *material, struct timeline *timeline)
{
    struct timeline built = {.dt_stable = grid_stable_dt(grid, material)};
    TRY(choose_dt(settings, built.dt_stable, &built.dt));
    TRY(count_steps(settings, &built));
    *timeline = built;
    return STATUS_OK;
}

enum status timeline_continue(struct timeline *timeline, const struct settings *settings,
                              int64_t step, double time)
{
    if (step <= timeline->steps && timeline_time(timeline, step) == time) {
        return STATUS_OK;
    }
    timeline->start_step = step;
    timeline->start_time = time;
    return count_steps(settings, timeline);
}

double timeline_time(const struct timeline *timeline, int64_t step)
{
    return step >= timeline->steps
               ? timeline->end
               : timeline->start_time + (double)(step - timeline->start_step) * timeline->dt;
}

double timeline_dt(const struct timeline *timeline, int64_t step)
{
    return step >= timeline->steps - 1 ? timeline->dt_last : timeline->dt;
}
