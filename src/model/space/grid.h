/* The uniform Cartesian grid. */
#pragma once

#include "base/box.h"
#include "config/settings.h"

struct grid {
    int64_t cells[AXIS_COUNT];
    bool used[AXIS_COUNT];      /* more than one cell on this axis */
    int dimensions;             /* axes in use: 1, 2 or 3 */
    double lower[AXIS_COUNT];   /* m */
    double upper[AXIS_COUNT];   /* m */
    double spacing[AXIS_COUNT]; /* m; the length of the axis where it is not in use */
};

void grid_create(const struct settings *settings, struct grid *grid);

/* The centre of cell `index` on `axis`, m. */
double grid_center(const struct grid *grid, enum axis axis, int64_t index);

/* The first cell of `axis` with its centre at `position` (m) or above; the cell count when none. */
int64_t grid_first_from(const struct grid *grid, enum axis axis, double position);

/* What viewers are given, m: an axis of one cell with the default corners, 0 and 1 m, is as thick
 * as the thinnest cell on the other axes, so that 1D and 2D problems show as a bar and a sheet. */
void grid_shown_spacing(const struct grid *grid, double spacing[AXIS_COUNT]);

int64_t grid_total_cells(const struct grid *grid);
double grid_cell_volume(const struct grid *grid); /* m^3 */
