#include "model/space/grid.h"

#include <math.h>

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

double grid_center(const struct grid *grid, enum axis axis, int64_t index)
{
    return grid->lower[axis] + ((double)index + 0.5) * grid->spacing[axis];
}

int64_t grid_first_from(const struct grid *grid, enum axis axis, double position)
{
    int64_t low = 0; /* all cells below are before `position` */
    int64_t high = grid->cells[axis];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (grid_center(grid, axis, middle) < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void grid_shown_spacing(const struct grid *grid, double spacing[AXIS_COUNT])
{
    double smallest = HUGE_VAL;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->cells[axis] > 1) {
            smallest = fmin(smallest, grid->spacing[axis]);
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool has_default = grid->lower[axis] == 0 && grid->upper[axis] == 1;
        const bool is_free = grid->cells[axis] == 1 && has_default && isfinite(smallest);
        spacing[axis] = is_free ? smallest : grid->spacing[axis];
    }
}

int64_t grid_total_cells(const struct grid *grid)
{
    return grid->cells[AXIS_X] * grid->cells[AXIS_Y] * grid->cells[AXIS_Z];
}

double grid_cell_volume(const struct grid *grid)
{
    return grid->spacing[AXIS_X] * grid->spacing[AXIS_Y] * grid->spacing[AXIS_Z];
}
