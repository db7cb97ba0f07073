/* Cell averages of one grid from those of another one of the same domain, by lines with van Leer's
 * limited slope (docs/reference/numerics.md).
 *
 * A value depends only on old cells near it, so the parts of a grid have the same bits as the
 * whole. Where both grids have the same cells, nothing changes. */
#pragma once

#include "base/box.h"
#include "base/status.h"

struct regrid {
    int64_t cells[AXIS_COUNT]; /* of the old grid */
    /* the shortest stretch after which the cells' walls coincide again: this many cells of each */
    int64_t old[AXIS_COUNT];
    int64_t new[AXIS_COUNT];
    /* Of an axis that is graded in one of the grids: the edges of all cells in both, m, borrowed.
     * Else NULL, as regrid_create leaves them. */
    const double *old_edges[AXIS_COUNT], *new_edges[AXIS_COUNT];
};

/* STATUS_INPUT when the numbers of cells are so large that their product overflows. */
enum status regrid_create(const int64_t old_cells[AXIS_COUNT], const int64_t new_cells[AXIS_COUNT],
                          struct regrid *regrid);

/* The old cells that new ones are computed from, in global indices. */
struct box regrid_source(const struct regrid *regrid, const struct box *target);

/* The size of each buffer of regrid_fill, in values. */
int64_t regrid_buffer_cells(const struct box *source, const struct box *target);

/* Replace `source` in old[z][y][x] by `target` in values[z][y][x], with all OpenMP threads.
 * Overwrites both buffers. */
void regrid_fill(const struct regrid *regrid, const struct box *source, const struct box *target,
                 double *old, double *values);
