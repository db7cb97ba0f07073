#include "model/space/regrid.h"

#include <math.h>

#include "base/sorted.h"

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

enum status regrid_create(const int64_t old_cells[AXIS_COUNT], const int64_t new_cells[AXIS_COUNT],
                          struct regrid *regrid)
{
    *regrid = (struct regrid){.cells = {0}};
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t divisor = common_divisor(old_cells[a], new_cells[a]);
        regrid->cells[a] = old_cells[a];
        regrid->old[a] = old_cells[a] / divisor;
        regrid->new[a] = new_cells[a] / divisor;
        FAIL_IF(regrid->old[a] > INT64_MAX / 4 / new_cells[a],
                fail(STATUS_INPUT, "%lld and %lld cells on the %s axis are too many",
                     (long long)old_cells[a], (long long)new_cells[a], axis_name((enum axis)a)));
    }
    return STATUS_OK;
}

/* Of a new cell: overlaps of this share are rounding errors of edges. */
static const double SLIVER = 1e-9;

/* The old cells that overlap new cell `index`. Positions are integers: an old cell is `new` wide, a
 * new cell `old`. */
static int64_t first_old(const struct regrid *regrid, enum axis axis, int64_t index)
{
    const double *edges = regrid->old_edges[axis];
    if (edges != NULL) {
        const double *cell = &regrid->new_edges[axis][index];
        return sorted_interval(edges, sizeof *edges, regrid->cells[axis],
                               cell[0] + SLIVER * (cell[1] - cell[0]));
    }
    return index * regrid->old[axis] / regrid->new[axis];
}

static int64_t last_old(const struct regrid *regrid, enum axis axis, int64_t index)
{
    const double *edges = regrid->old_edges[axis];
    if (edges != NULL) {
        const double *cell = &regrid->new_edges[axis][index];
        return sorted_interval(edges, sizeof *edges, regrid->cells[axis],
                               cell[1] - SLIVER * (cell[1] - cell[0]));
    }
    return ((index + 1) * regrid->old[axis] - 1) / regrid->new[axis];
}

struct box regrid_source(const struct regrid *regrid, const struct box *target)
{
    struct box source;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t first = first_old(regrid, (enum axis)a, target->lo[a]) - 1;
        const int64_t last = last_old(regrid, (enum axis)a, target->hi[a] - 1) + 1;
        source.lo[a] = first > 0 ? first : 0;
        source.hi[a] = last < regrid->cells[a] ? last + 1 : regrid->cells[a];
    }
    return source;
}

/* What the sweep along `axis` makes of `source`: new cells on it and on the axes before it. */
static struct box after_sweep(const struct box *source, const struct box *target, int axis)
{
    struct box box = *source;
    for (int a = 0; a <= axis; a++) {
        box.lo[a] = target->lo[a];
        box.hi[a] = target->hi[a];
    }
    return box;
}

int64_t regrid_buffer_cells(const struct box *source, const struct box *target)
{
    int64_t most = box_cells(source);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const struct box box = after_sweep(source, target, a);
        most = box_cells(&box) > most ? box_cells(&box) : most;
    }
    return most;
}

/* The difference across a cell; 0 at an extremum. The ends of the line are then between the values
 * of the cell and its neighbours. `distance`: of the neighbours' centres, in cells. */
static double limited_slope(double below, double here, double above, double distance)
{
    const double left = here - below;
    const double right = above - here;
    if (!(left * right > 0)) {
        return 0;
    }
    const double steepest = 2 * fmin(fabs(left), fabs(right));
    return copysign(fmin(steepest, fabs(above - below) / distance), left);
}

/* One row of cells along an axis, `stride` apart. */
struct row {
    const double *values; /* of cell `lo` */
    int64_t stride, lo, hi;
};

static double row_at(const struct row *row, int64_t index)
{
    index = index < row->lo ? row->lo : index >= row->hi ? row->hi - 1 : index;
    return row->values[(index - row->lo) * row->stride];
}

static double other_if_missing(double value, double other)
{
    return isnan(value) ? other : value;
}

/* What an old cell gives to a new one: the length of the overlap, the place of its middle from that
 * of the old cell, in old cells, and the distance of the old neighbours' centres, in old cells. */
struct overlap {
    double length, offset, distance;
};

static struct overlap overlap_of(const struct regrid *regrid, enum axis axis, int64_t index,
                                 int64_t i)
{
    const double *old = regrid->old_edges[axis];
    if (old == NULL) {
        const int64_t width = regrid->new[axis];
        const int64_t begin = index * regrid->old[axis];
        const int64_t end = begin + regrid->old[axis];
        const int64_t from = i * width > begin ? i * width : begin;
        const int64_t to = (i + 1) * width < end ? (i + 1) * width : end;
        return (struct overlap){(double)(to - from),
                                (double)(from + to - (2 * i + 1) * width) / (2 * (double)width), 2};
    }
    const double *cell = &regrid->new_edges[axis][index];
    const int64_t last = regrid->cells[axis] - 1;
    const double width = old[i + 1] - old[i];
    const double below = i > 0 ? old[i] - old[i - 1] : width;
    const double above = i < last ? old[i + 2] - old[i + 1] : width;
    const double from = fmax(cell[0], old[i]);
    const double to = fmin(cell[1], old[i + 1]);
    return (struct overlap){to - from, ((from - old[i]) - (old[i + 1] - to)) / (2 * width),
                            1 + (below + above) / (2 * width)};
}

/* Sums differences from one of the values: a uniform field stays exactly uniform. The bounds are
 * for the last bits. The mean is over the cells that have values; NaN without any. */
static double mean_over(const struct row *row, const struct regrid *regrid, enum axis axis,
                        int64_t index)
{
    const int64_t first = first_old(regrid, axis, index);
    const int64_t last = last_old(regrid, axis, index);
    double base = row_at(row, first);
    for (int64_t i = first + 1; i <= last && isnan(base); i++) {
        base = row_at(row, i);
    }
    double sum = 0;
    double low = base;
    double high = base;
    double length = 0;
    for (int64_t i = first; i <= last; i++) {
        const double here = row_at(row, i);
        const double below = other_if_missing(row_at(row, i - 1), here);
        const double above = other_if_missing(row_at(row, i + 1), here);
        if (isnan(here)) {
            continue;
        }
        const struct overlap part = overlap_of(regrid, axis, index, i);
        const double slope = limited_slope(below, here, above, part.distance);
        length += part.length;
        sum += part.length * (here - base + slope * part.offset);
        low = fmin(low, fmin(here, fmin(below, above)));
        high = fmax(high, fmax(here, fmax(below, above)));
    }
    return isnan(base) ? base : fmin(fmax(base + sum / length, low), high);
}

static void sweep(const struct regrid *regrid, enum axis axis, const struct box *from,
                  const struct box *to, const double *in, double *out)
{
    int64_t stride = 1;
    int64_t planes = 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        stride *= a < (int)axis ? box_extent(from, (enum axis)a) : 1;
        planes *= a > (int)axis ? box_extent(from, (enum axis)a) : 1;
    }
    const int64_t nfrom = box_extent(from, axis);
    const int64_t nto = box_extent(to, axis);
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t p = 0; p < planes; p++) {
        for (int64_t n = 0; n < nto; n++) {
            for (int64_t s = 0; s < stride; s++) {
                const struct row row = {.values = in + p * nfrom * stride + s,
                                        .stride = stride,
                                        .lo = from->lo[axis],
                                        .hi = from->hi[axis]};
                out[(p * nto + n) * stride + s] = mean_over(&row, regrid, axis, to->lo[axis] + n);
            }
        }
    }
}

void regrid_fill(const struct regrid *regrid, const struct box *source, const struct box *target,
                 double *old, double *values)
{
    const struct box after_x = after_sweep(source, target, AXIS_X);
    const struct box after_y = after_sweep(source, target, AXIS_Y);
    sweep(regrid, AXIS_X, source, &after_x, old, values);
    sweep(regrid, AXIS_Y, &after_x, &after_y, values, old);
    sweep(regrid, AXIS_Z, &after_y, target, old, values);
}
