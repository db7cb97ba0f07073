#include "model/space/grid.h"

#include <math.h>

#include "base/sorted.h"

static double extreme_width(const struct axis_cells *cells, double (*choose)(double, double))
{
    double found = cells->widths[0];
    for (int n = 1; n < cells->nwidths; n++) {
        found = choose(found, cells->widths[n]);
    }
    return found;
}

double grid_girth(const struct grid *grid, double radius)
{
    return grid->geometry == GEOMETRY_AXISYMMETRIC ? 2 * M_PI * radius
           : grid->geometry == GEOMETRY_SPHERICAL  ? 4 * M_PI * radius * radius
                                                   : 1;
}

/* The mean over a cell of a radius. */
static double girth_of_cell(const struct grid *grid, int64_t i)
{
    const double low = grid->graded[AXIS_X].edges[i];
    const double high = grid->graded[AXIS_X].edges[i + 1];
    return grid->geometry == GEOMETRY_AXISYMMETRIC
               ? M_PI * (low + high)
               : 4 * M_PI / 3 * (low * low + low * high + high * high);
}

void grid_complete(struct grid *grid)
{
    grid->dimensions = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct axis_cells *graded = &grid->graded[axis];
        grid->used[axis] = grid->cells[axis] > 1;
        grid->dimensions += grid->used[axis] ? 1 : 0;
        grid->spacing[axis] = (grid->upper[axis] - grid->lower[axis]) / (double)grid->cells[axis];
        if (graded->widths != NULL) {
            grid->spacing[axis] = extreme_width(graded, fmin);
        }
        for (int64_t i = 0;
             graded->widths == NULL && graded->edges != NULL && i < grid->cells[axis]; i++) {
            grid->spacing[axis] = fmin(grid->spacing[axis], grid_width(grid, (enum axis)axis, i));
        }
    }
}

void grid_create(const struct settings *settings, struct grid *grid)
{
    *grid = (struct grid){0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        grid->cells[axis] = settings->grid.cells[axis];
        grid->lower[axis] = settings->grid.lower[axis];
        grid->upper[axis] = settings->grid.upper[axis];
        grid->graded[axis] = settings->grid.axis[axis].cells;
    }
    grid->geometry = settings->grid.geometry;
    grid_complete(grid);
    if (grid->geometry != GEOMETRY_CARTESIAN) {
        grid->girth = HUGE_VAL;
        for (int64_t i = 0; i < grid->cells[AXIS_X]; i++) {
            grid->girth = fmin(grid->girth, girth_of_cell(grid, i) * grid_width(grid, AXIS_X, i) /
                                                grid->spacing[AXIS_X]);
        }
    }
}

bool grid_same_edges(const struct axis_cells *a, const struct axis_cells *b, int64_t cells)
{
    bool same = (a->edges == NULL) == (b->edges == NULL);
    for (int64_t i = 0; same && a->edges != NULL && i <= cells; i++) {
        same = a->edges[i] == b->edges[i];
    }
    return same;
}

bool grid_same_axis(const struct grid *a, const struct grid *b, enum axis axis)
{
    return a->cells[axis] == b->cells[axis] && a->lower[axis] == b->lower[axis] &&
           a->upper[axis] == b->upper[axis] &&
           grid_same_edges(&a->graded[axis], &b->graded[axis], a->cells[axis]);
}

bool grid_is_graded(const struct grid *grid)
{
    bool any = false;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        any = any || grid->graded[axis].edges != NULL;
    }
    return any;
}

void grid_cut(struct grid *grid, enum axis axis, int64_t first, int64_t count, int64_t stride)
{
    struct axis_cells *graded = &grid->graded[axis];
    const double h = grid->spacing[axis];
    const double every = (double)stride;
    grid->cells[axis] = count;
    if (graded->edges == NULL) {
        grid->lower[axis] += ((double)first - 0.5 * (every - 1)) * h;
        grid->spacing[axis] = every * h;
        grid->upper[axis] = grid->lower[axis] + (double)count * grid->spacing[axis];
        return;
    }
    graded->edges += first;
    grid->lower[axis] = graded->edges[0];
    grid->upper[axis] = graded->edges[count];
    grid->spacing[axis] = HUGE_VAL;
    for (int64_t i = 0; i < count; i++) {
        grid->spacing[axis] = fmin(grid->spacing[axis], grid_width(grid, axis, i));
    }
}

double grid_width(const struct grid *grid, enum axis axis, int64_t index)
{
    const double *edges = grid->graded[axis].edges;
    return edges != NULL ? edges[index + 1] - edges[index] : grid->spacing[axis];
}

double grid_smallest_width(const struct grid *grid, enum axis axis)
{
    return grid->spacing[axis];
}

double grid_largest_width(const struct grid *grid, enum axis axis)
{
    const struct axis_cells *graded = &grid->graded[axis];
    return graded->edges != NULL ? extreme_width(graded, fmax) : grid->spacing[axis];
}

double grid_edge(const struct grid *grid, enum axis axis, int64_t index)
{
    const double *edges = grid->graded[axis].edges;
    return edges != NULL ? edges[index] : grid->lower[axis] + (double)index * grid->spacing[axis];
}

double grid_center(const struct grid *grid, enum axis axis, int64_t index)
{
    const double *edges = grid->graded[axis].edges;
    return edges != NULL ? (edges[index] + edges[index + 1]) / 2
                         : grid->lower[axis] + ((double)index + 0.5) * grid->spacing[axis];
}

double grid_in_cells(const struct grid *grid, enum axis axis, double position)
{
    const double *edges = grid->graded[axis].edges;
    if (edges == NULL) {
        return (position - grid->lower[axis]) / grid->spacing[axis];
    }
    const int64_t low = sorted_interval(edges, sizeof *edges, grid->cells[axis], position);
    return (double)low + (position - edges[low]) / (edges[low + 1] - edges[low]);
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
    const double block = grid->spacing[AXIS_X] * grid->spacing[AXIS_Y] * grid->spacing[AXIS_Z];
    return grid->geometry == GEOMETRY_CARTESIAN ? block : block * grid->girth;
}

double grid_cell_face(const struct grid *grid, enum axis axis)
{
    return grid_cell_volume(grid) / grid->spacing[axis];
}

double grid_largest_face(const struct grid *grid)
{
    return fmax(grid_cell_face(grid, AXIS_X),
                fmax(grid_cell_face(grid, AXIS_Y), grid_cell_face(grid, AXIS_Z)));
}

void grid_size_of(const struct grid *grid, const int64_t cell[AXIS_COUNT],
                  uint16_t size[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct axis_cells *graded = &grid->graded[axis];
        size[axis] = graded->edges != NULL ? graded->width_of[cell[axis]] : 0;
    }
}

int64_t grid_size_count(const struct grid *grid)
{
    int64_t count = 1;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        count *= grid->graded[axis].edges != NULL ? grid->graded[axis].nwidths : 1;
    }
    return count;
}

int64_t grid_size_index(const struct grid *grid, const uint16_t size[AXIS_COUNT])
{
    int64_t index = 0;
    for (int axis = AXIS_Z; axis >= AXIS_X; axis--) {
        index = index * (grid->graded[axis].edges != NULL ? grid->graded[axis].nwidths : 1) +
                size[axis];
    }
    return index;
}

double grid_size_width(const struct grid *grid, enum axis axis, const uint16_t size[AXIS_COUNT])
{
    const struct axis_cells *graded = &grid->graded[axis];
    return graded->edges != NULL ? graded->widths[size[axis]] : grid->spacing[axis];
}

/* Without the girth. */
static double share_across(const struct grid *grid, enum axis axis, const uint16_t size[AXIS_COUNT])
{
    double share = 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        share *= a != (int)axis ? grid_size_width(grid, (enum axis)a, size) / grid->spacing[a] : 1;
    }
    return share;
}

double grid_size_face(const struct grid *grid, enum axis axis, const uint16_t size[AXIS_COUNT],
                      const uint16_t neighbour[AXIS_COUNT])
{
    const double share = share_across(grid, axis, size);
    const int own = size[AXIS_X];
    const int other = neighbour[AXIS_X];
    if (grid->geometry == GEOMETRY_CARTESIAN) {
        return share;
    }
    if (axis != AXIS_X) {
        return share * (girth_of_cell(grid, own) / grid->girth);
    }
    const bool below = other < own || (other == own && own == 0);
    const double radius = grid->graded[AXIS_X].edges[below ? own : own + 1];
    return share * (grid_girth(grid, radius) / grid->girth);
}

double grid_size_volume(const struct grid *grid, const uint16_t size[AXIS_COUNT])
{
    const double share = share_across(grid, AXIS_X, size) *
                         (grid_size_width(grid, AXIS_X, size) / grid->spacing[AXIS_X]);
    return grid->geometry == GEOMETRY_CARTESIAN
               ? share
               : share * (girth_of_cell(grid, size[AXIS_X]) / grid->girth);
}

double grid_axis_width(const struct grid *grid, enum axis axis, int64_t index)
{
    const double share = grid_width(grid, axis, index) / grid->spacing[axis];
    return grid->geometry == GEOMETRY_CARTESIAN || axis != AXIS_X
               ? share
               : share * (girth_of_cell(grid, (int)index) / grid->girth);
}

double grid_axis_face(const struct grid *grid, enum axis axis, int64_t index)
{
    return grid->geometry == GEOMETRY_CARTESIAN || axis != AXIS_X
               ? 1
               : grid_girth(grid, grid->graded[AXIS_X].edges[index]) / grid->girth;
}
