/* Axes with cells of different widths. Included by settings.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* x, y, z; or x is the radius and y lies along the axis of rotation; or x is the radius of a
 * sphere.
 */
enum grid_geometry { GEOMETRY_CARTESIAN, GEOMETRY_AXISYMMETRIC, GEOMETRY_SPHERICAL };

/* The edges that `edges` may list, and the cells of any graded axis. */
enum { MOST_EDGES = 1025, MOST_GRADED_CELLS = 4096 };

/* Cells from the end of the segment before, or the lower end of the grid, to here. */
struct segment_setting {
    double to; /* m */
    int64_t cells;
    double ratio; /* the width of each cell over that of the cell before */
};

/* The cells of an axis; all members 0: it is uniform. The widths are the distinct ones, so that
 * equal cells have the same bits wherever they lie. */
struct axis_cells {
    const double *edges;  /* m, [cells + 1], ascending */
    const double *widths; /* m, [nwidths] */
    const uint16_t
        *width_of; /* [cells]: the number of the cell's width; of a radius the cell's own */
    int nwidths;
};

struct axis_setting {
    bool given;
    double edges[MOST_EDGES];
    struct segment_setting *segments;
    int nsegments;
    struct axis_cells cells; /* what follows from these: settings_check_axes */
};
