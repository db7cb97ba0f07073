/* The Cartesian grid: of each axis the cells are equal, or have widths of their own. */
#pragma once

#include "base/box.h"
#include "config/settings.h"

struct grid {
    int64_t cells[AXIS_COUNT];
    bool used[AXIS_COUNT];    /* more than one cell on this axis */
    int dimensions;           /* axes in use: 1, 2 or 3 */
    double lower[AXIS_COUNT]; /* m */
    double upper[AXIS_COUNT]; /* m */
    /* m: for grid.c, and for kernels of uniform grids, of which it is the width; of a graded axis
     * the smallest width, of an unused one its length. Others call grid_width. */
    double spacing[AXIS_COUNT];
    struct axis_cells graded[AXIS_COUNT]; /* borrowed from the settings; zeros: equal cells */
    enum grid_geometry geometry;
    double girth; /* of a radius: the least volume of a cell over the product of smallest widths */
};

void grid_create(const struct settings *settings, struct grid *grid);

/* The other members from cells, lower, upper and graded; for outputs, of these the edges. */
void grid_complete(struct grid *grid);

/* Whether two axes of as many cells are graded alike, or both not; two grids have the same cells on
 * `axis`. */
bool grid_same_edges(const struct axis_cells *a, const struct axis_cells *b, int64_t cells);
bool grid_same_axis(const struct grid *a, const struct grid *b, enum axis axis);

/* Whether any axis is graded. */
bool grid_is_graded(const struct grid *grid);

/* For outputs, which need no sizes of cells: let the axis have `count` cells: cell `first` and each
 * `stride`-th after it, with their centres; `stride` is 1 where the axis is graded. */
void grid_cut(struct grid *grid, enum axis axis, int64_t first, int64_t count, int64_t stride);

/* The width of cell `index` on `axis`, m; the smallest and the largest one. */
double grid_width(const struct grid *grid, enum axis axis, int64_t index);
double grid_smallest_width(const struct grid *grid, enum axis axis);
double grid_largest_width(const struct grid *grid, enum axis axis);

/* The lower edge of cell `index` on `axis`, m; of the cell count the upper end of the axis. */
double grid_edge(const struct grid *grid, enum axis axis, int64_t index);

/* The centre of cell `index` on `axis`, m. */
double grid_center(const struct grid *grid, enum axis axis, int64_t index);

/* A position (m) on `axis` in cells from the lower end: linear in each cell. */
double grid_in_cells(const struct grid *grid, enum axis axis, double position);

/* The first cell of `axis` with its centre at `position` (m) or above; the cell count when none. */
int64_t grid_first_from(const struct grid *grid, enum axis axis, double position);

/* What viewers are given, m: an axis of one cell with the default corners, 0 and 1 m, is as thick
 * as the thinnest cell on the other axes, so that 1D and 2D problems show as a bar and a sheet. */
void grid_shown_spacing(const struct grid *grid, double spacing[AXIS_COUNT]);

int64_t grid_total_cells(const struct grid *grid);

/* The area through which a unit of the other axes' lengths is crossed at this radius, m; cartesian:
 * 1. */
double grid_girth(const struct grid *grid, double radius);

/* The volume of a cell of the smallest width on each axis, or of the smallest cell around an axis,
 * m^3: of all cells where all are equal. Heat is counted in units of it. */
double grid_cell_volume(const struct grid *grid);

/* The area of a face across `axis` of such a cell, m^2; the length of the grid times its width. */
double grid_cell_face(const struct grid *grid, enum axis axis);

/* The largest of these three. */
double grid_largest_face(const struct grid *grid);

/* ---- the size of a cell as a number per axis: classes of cells have one
 * (model/medium/medium.h) ---- */

/* The numbers of the widths of a cell; 0 where all cells are equal. */
void grid_size_of(const struct grid *grid, const int64_t cell[AXIS_COUNT],
                  uint16_t size[AXIS_COUNT]);

/* All cells have one of `count` sizes; `index` numbers them. */
int64_t grid_size_count(const struct grid *grid);
int64_t grid_size_index(const struct grid *grid, const uint16_t size[AXIS_COUNT]);

double grid_size_width(const struct grid *grid, enum axis axis, const uint16_t size[AXIS_COUNT]);

/* The volume of a cell of this size over grid_cell_volume, and the area of its face across `axis`
 * to a neighbour over grid_cell_face: exactly 1 where all cells are equal. `neighbour`: the same
 * for a closed face. */
double grid_size_volume(const struct grid *grid, const uint16_t size[AXIS_COUNT]);
double grid_size_face(const struct grid *grid, enum axis axis, const uint16_t size[AXIS_COUNT],
                      const uint16_t neighbour[AXIS_COUNT]);

/* The factor of an axis in the volume of a cell and in the areas of its faces along the axis: the
 * width over the smallest one, times that of the mean radius. And its factor in the area of the
 * lower face of cell `index` across it; of the cell count the upper end. Volumes and areas are the
 * products over all axes. */
double grid_axis_width(const struct grid *grid, enum axis axis, int64_t index);
double grid_axis_face(const struct grid *grid, enum axis axis, int64_t index);
