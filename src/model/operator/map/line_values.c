#include "model/operator/map/line_values.h"

#include <math.h>
#include <stdlib.h>

/* A cell of an axis, or the one that stands for it beyond an end. */
static int64_t cell_at(const struct problem *problem, enum axis axis, int64_t i)
{
    const int64_t n = problem->grid.cells[axis];
    if (problem->boundary.periodic[axis]) {
        return (i % n + n) % n;
    }
    return i < 0 ? 0 : (i < n ? i : n - 1);
}

/* Of the lower face of a cell, with the other widths 1, 1/s. */
static double conductance_at(const struct problem *problem, enum axis axis, int64_t i)
{
    const struct grid *grid = &problem->grid;
    const int64_t n = grid->cells[axis];
    const double k = problem->medium.materials[0].conductivity[axis];
    const double low = grid_width(grid, axis, cell_at(problem, axis, i - 1));
    const double high = grid_width(grid, axis, cell_at(problem, axis, i));
    const double area = grid_axis_face(grid, axis, i < 0 ? 0 : (i < n ? i : n));
    const double c = problem->medium.heat_capacity_volume * grid_smallest_width(grid, axis);
    return grid->used[axis] ? area * k / (c * (low / 2 + high / 2)) : 0;
}

static double value_of(const struct problem *problem, enum axis axis, enum graded_line line,
                       int64_t i)
{
    const double width = grid_axis_width(&problem->grid, axis, cell_at(problem, axis, i));
    return line == GRADED_CONDUCTANCE
               ? (problem->medium.graded ? conductance_at(problem, axis, i) : 0)
               : (line == GRADED_WIDTH ? width : 1 / width);
}

static int64_t count_of(const struct layout *layout)
{
    int64_t count = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        count += GRADED_LINES * line_length(layout, a);
    }
    return count;
}

uint64_t line_values_bytes(const struct problem *problem, const struct box *owned, int depth)
{
    int64_t count = 0;
    for (int a = 0; a < AXIS_COUNT && problem->medium.lines; a++) {
        count += GRADED_LINES * (box_extent(owned, (enum axis)a) + 2 * (int64_t)depth + 1);
    }
    return (uint64_t)count * precision_bytes(problem->precision);
}

enum status line_values_create(const struct problem *problem, const struct layout *layout,
                               const int64_t offset[AXIS_COUNT], struct line_values *lines)
{
    const size_t bytes = precision_bytes(problem->precision);
    int64_t at = 0;
    *lines =
        (struct line_values){.precision = problem->precision,
                             .bytes = (size_t)count_of(layout) * bytes,
                             .medium = {.layout = *layout, .has_lines = true, .weight_factor = 1}};
    lines->values = calloc(1, lines->bytes);
    TRY(CHECK_MEMORY(lines->values != NULL, "no memory for the widths of cells"));
    lines->medium.d_sigma = lines->values;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t length = line_length(layout, a);
        for (int64_t n = 0; n < GRADED_LINES * length; n++, at++) {
            const int64_t i = offset[a] + n % length - layout->halo[a];
            precision_set(problem->precision, lines->values, at,
                          value_of(problem, (enum axis)a, (enum graded_line)(n / length), i));
        }
    }
    return STATUS_OK;
}

void line_values_destroy(struct line_values *lines)
{
    free(lines->values);
    lines->values = NULL;
}

double line_rate(const struct problem *problem)
{
    double rate = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        double most = 0;
        for (int64_t i = 0; i < problem->grid.cells[a]; i++) {
            const enum axis axis = (enum axis)a;
            most = fmax(most,
                        (conductance_at(problem, axis, i) + conductance_at(problem, axis, i + 1)) /
                            grid_axis_width(&problem->grid, axis, i));
        }
        rate += most;
    }
    return rate;
}
