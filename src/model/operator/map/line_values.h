/* The lines of graded axes (kernels/coefficients.h) for the cells of a block and its halo. */
#pragma once

#include "kernels/coefficients.h"
#include "model/problem.h"

/* Host memory, as a device_medium of the precision has it. */
struct line_values {
    enum precision precision;
    void *values; /* of x, y and z */
    size_t bytes;
    struct device_medium medium; /* the same as a graded one of its layout */
};

/* The size of all lines of a block with `depth` layers around it; 0: there are none. */
uint64_t line_values_bytes(const struct problem *problem, const struct box *owned, int depth);

/* Cell 0 of `layout` is the cell `offset` of the grid. Conductances are those of the only material
 * of a graded medium, else 0; beyond a closed end cells are as the last one. STATUS_MEMORY. */
enum status line_values_create(const struct problem *problem, const struct layout *layout,
                               const int64_t offset[AXIS_COUNT], struct line_values *lines);
void line_values_destroy(struct line_values *lines); /* takes a zeroed one */

/* The volume of a cell (local indices) over that of the smallest one, as kernels have it. */
static inline double line_values_volume(const struct line_values *lines, int64_t i, int64_t j,
                                        int64_t k)
{
    return medium_cell_weight(&lines->medium, lines->precision, 0, (const int64_t[]){i, j, k});
}

/* Of a graded medium: the largest sum of conductances of a cell over its heat capacity, 1/s. */
double line_rate(const struct problem *problem);
