#include "model/paint.h"

#include <math.h>
#include <stdlib.h>

#include <omp.h>

#include "config/expression.h"
#include "model/shape.h"

/* The minimum per thread: a thread costs a parser (30 us, or the formula of 700 cells) and a
 * wake-up. */
enum { CELLS_WORTH_A_PAINTER = 8192 };

/* A thread paints a part of each piece, with its own formula: a parser is not thread-safe. */
struct painter {
    struct expression *expression; /* NULL: the shape has none */
    enum status status;
    struct failure failure; /* if status is not STATUS_OK */
};

struct brush {
    const struct grid *grid;
    const struct shape_setting *shape;
    struct painter *painters;
    int npainters;
    int points; /* of a cell on each used axis */
};

/* What one call paints. */
struct canvas {
    const struct box *box;
    const struct box *extent; /* of values */
    enum precision precision;
    void *values;
};

/* The centre of a cell, from its global index alone: the same bits in every decomposition. */
static double center(const struct brush *brush, int axis, int64_t index)
{
    return grid_center(brush->grid, (enum axis)axis, index);
}

static bool index_inside(const struct brush *brush, int axis, int64_t index)
{
    return shape_reaches(brush->grid, brush->shape, (enum axis)axis, center(brush, axis, index));
}

struct box brush_bounds(const struct brush *brush, const struct box *box)
{
    struct box bounds = *box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        while (bounds.lo[axis] < bounds.hi[axis] && !index_inside(brush, axis, bounds.lo[axis])) {
            bounds.lo[axis]++;
        }
        while (bounds.hi[axis] > bounds.lo[axis] &&
               !index_inside(brush, axis, bounds.hi[axis] - 1)) {
            bounds.hi[axis]--;
        }
    }
    return bounds;
}

bool brush_is_partial(const struct brush *brush)
{
    return shape_is_partial(brush->shape);
}

/* Gauss-Legendre points in [-1/2, 1/2] and their weights. */
enum { POINTS_MOST = 4 };
static const struct {
    double at[POINTS_MOST], weight[POINTS_MOST];
} gauss[POINTS_MOST + 1] = {
    [1] = {{0}, {1}},
    [2] = {{-0.28867513459481288, 0.28867513459481288}, {0.5, 0.5}},
    [3] = {{-0.38729833462074169, 0, 0.38729833462074169}, {5.0 / 18, 8.0 / 18, 5.0 / 18}},
    [4] = {{-0.43056815579702629, -0.16999052179242813, 0.16999052179242813, 0.43056815579702629},
           {0.17392742256872693, 0.32607257743127307, 0.32607257743127307, 0.17392742256872693}},
};

void brush_use_means(struct brush *brush, int points)
{
    brush->points = points;
}

/* The mean of the formula over the cell around `center`. */
static enum status mean_of_cell(const struct brush *brush, struct expression *expression,
                                const double center[AXIS_COUNT], double *mean)
{
    const double *h = brush->grid->spacing;
    int n[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        n[axis] = brush->grid->used[axis] ? brush->points : 1;
    }
    *mean = 0;
    for (int p = 0; p < n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z]; p++) {
        const int point[AXIS_COUNT] = {p % n[AXIS_X], p / n[AXIS_X] % n[AXIS_Y],
                                       p / n[AXIS_X] / n[AXIS_Y]};
        double at[AXIS_COUNT];
        double weight = 1;
        double value = 0;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            at[axis] = fma(gauss[n[axis]].at[point[axis]], h[axis], center[axis]);
            weight *= gauss[n[axis]].weight[point[axis]];
        }
        TRY(shape_evaluate(brush->shape, expression, at, &value));
        *mean = fma(weight, value, *mean);
    }
    return STATUS_OK;
}

/* The value of a formula for one cell. */
static enum status evaluate(const struct brush *brush, struct expression *expression,
                            const double center[AXIS_COUNT], double *value)
{
    return brush->points > 1 && !brush->shape->is_condition
               ? mean_of_cell(brush, expression, center, value)
               : shape_evaluate(brush->shape, expression, center, value);
}

/* Paint the cells `from` to before `to` of the canvas, in [z][y][x] order, which lie in one row. */
static enum status paint_row(const struct brush *brush, struct expression *expression,
                             const struct canvas *canvas, int64_t from, int64_t to)
{
    const struct shape_setting *shape = brush->shape;
    const struct box *box = canvas->box;
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t j = box->lo[AXIS_Y] + from / nx % ny;
    const int64_t k = box->lo[AXIS_Z] + from / nx / ny;
    const struct box *extent = canvas->extent;
    const int64_t rows =
        (k - extent->lo[AXIS_Z]) * box_extent(extent, AXIS_Y) + j - extent->lo[AXIS_Y];
    const int64_t first = rows * box_extent(extent, AXIS_X) - extent->lo[AXIS_X]; /* of cell 0 */
    const int64_t begin = box->lo[AXIS_X] + from % nx;
    double at[AXIS_COUNT] = {0, center(brush, AXIS_Y, j), center(brush, AXIS_Z, k)};
    double value = shape->value;
    for (int64_t i = begin; i < begin + to - from; i++) {
        const int64_t element = first + i;
        at[AXIS_X] = center(brush, AXIS_X, i);
        if (!shape_holds(brush->grid, shape, at)) {
            continue;
        }
        if (expression != NULL) {
            TRY(evaluate(brush, expression, at, &value));
            if (shape->is_condition && value == 0) {
                continue;
            }
            value = shape->is_condition ? shape->value : value;
        }
        precision_set(canvas->precision, canvas->values, element, value);
    }
    return STATUS_OK;
}

/* Paint the contiguous share of one painter, up to its first failure. */
static enum status paint_share(const struct brush *brush, int part, const struct canvas *canvas)
{
    const int64_t nx = box_extent(canvas->box, AXIS_X);
    const int64_t ncells = box_cells(canvas->box);
    const int64_t last = ncells * (part + 1) / brush->npainters;
    for (int64_t from = ncells * part / brush->npainters, to; from < last; from = to) {
        to = (from / nx + 1) * nx;
        to = to < last ? to : last;
        TRY(paint_row(brush, brush->painters[part].expression, canvas, from, to));
    }
    return STATUS_OK;
}

/* Shares are in the order of the cells, so the first failed share has the first failed cell. */
enum status brush_paint(struct brush *brush, const struct box *box, const struct box *extent,
                        enum precision precision, void *values)
{
    const struct canvas canvas = {box, extent, precision, values};
#pragma omp parallel for schedule(static, 1) num_threads(brush->npainters)
    for (int part = 0; part < brush->npainters; part++) {
        struct painter *painter = &brush->painters[part];
        painter->status = paint_share(brush, part, &canvas);
        if (painter->status != STATUS_OK) {
            fail_keep(&painter->failure);
        }
    }
    for (int part = 0; part < brush->npainters; part++) {
        if (brush->painters[part].status != STATUS_OK) {
            fail_restore(&brush->painters[part].failure);
            return brush->painters[part].status;
        }
    }
    return STATUS_OK;
}

void brush_destroy(struct brush *brush)
{
    if (brush == NULL) {
        return;
    }
    for (int part = 0; part < brush->npainters; part++) {
        expression_destroy(brush->painters[part].expression);
    }
    free(brush->painters);
    free(brush);
}

/* One painter per thread, fewer when there is little work. */
static enum status painters_create(struct brush *brush, int64_t ncells)
{
    const int64_t worth = ncells / CELLS_WORTH_A_PAINTER;
    const int threads = omp_get_max_threads();
    const int most = worth < threads ? (int)worth : threads;
    const int npainters = most > 1 ? most : 1;
    brush->painters = calloc((size_t)npainters, sizeof *brush->painters);
    if (brush->painters == NULL) {
        return fail(STATUS_MEMORY, "no memory to paint with %d threads", npainters);
    }
    brush->npainters = npainters;
    if (brush->shape->kind == INITIAL_EXPRESSION) {
        /* serial: expression_create is not thread-safe */
        for (int part = 0; part < npainters; part++) {
            TRY(shape_formula(brush->shape, &brush->painters[part].expression));
        }
    }
    return STATUS_OK;
}

enum status brush_create(const struct grid *grid, const struct shape_setting *shape, int64_t ncells,
                         struct brush **brush)
{
    if (shape->kind == INITIAL_FILE) {
        return fail(STATUS_INPUT, "an initial file is read, not painted");
    }
    struct brush *built = calloc(1, sizeof *built);
    enum status status = STATUS_OK;
    TRY(CHECK_MEMORY(built != NULL, "no memory to paint a shape"));
    built->grid = grid;
    built->shape = shape;
    built->points = 1;
    TRY_GOTO(painters_create(built, ncells));
    *brush = built;
    return STATUS_OK;
done:
    brush_destroy(built);
    return status;
}
