#include "model/space/shape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <omp.h>

#include "base/thread.h"

/* Along one axis: from `lower` to before `upper`, or within the radius of the centre. */
struct extent {
    bool is_round;
    double lower, upper;
};

static struct extent extent_of(const struct shape_setting *shape, int axis)
{
    const bool along = axis == (int)shape->axis;
    switch (shape->kind) {
    case INITIAL_SPHERE:
        return (struct extent){.is_round = true};
    case INITIAL_BOX:
        return (struct extent){false, shape->lower[axis], shape->upper[axis]};
    case INITIAL_CYLINDER:
    case INITIAL_LAYER:
        return along ? (struct extent){false, shape->from, shape->to}
                     : (struct extent){shape->kind == INITIAL_CYLINDER, -INFINITY, INFINITY};
    default:
        return (struct extent){false, -INFINITY, INFINITY};
    }
}

bool shape_reaches(const struct grid *grid, const struct shape_setting *shape, enum axis axis,
                   double center)
{
    const struct extent extent = extent_of(shape, axis);
    if (!grid->used[axis]) {
        return true;
    }
    if (extent.is_round) {
        return fabs(center - shape->center[axis]) <= shape->radius;
    }
    const bool to_the_end = extent.upper >= grid->upper[axis];
    return center >= extent.lower && (center < extent.upper || to_the_end);
}

bool shape_holds(const struct grid *grid, const struct shape_setting *shape,
                 const double center[AXIS_COUNT])
{
    if (shape->kind != INITIAL_SPHERE && shape->kind != INITIAL_CYLINDER) {
        return true;
    }
    double square = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool counts = grid->used[axis] && extent_of(shape, axis).is_round;
        const double distance = counts ? center[axis] - shape->center[axis] : 0.0;
        square += distance * distance;
    }
    return square <= shape->radius * shape->radius;
}

bool shape_is_partial(const struct shape_setting *shape)
{
    return shape->kind == INITIAL_SPHERE || shape->kind == INITIAL_CYLINDER ||
           shape->kind == PART_STL || (shape->kind == INITIAL_EXPRESSION && shape->is_condition);
}

/* The centre of the cell that is inside on this axis if any is: the nearest to the centre of a
 * round shape, else the first one. */
static double best_center(const struct grid *grid, const struct shape_setting *shape,
                          enum axis axis)
{
    const struct extent extent = extent_of(shape, axis);
    const double position =
        extent.is_round ? shape->center[axis] : fmax(extent.lower, grid->lower[axis]);
    const int64_t last = grid->cells[axis] - 1;
    const int64_t from = grid_first_from(grid, axis, position);
    const double after = grid_center(grid, axis, from < last ? from : last);
    const double before = grid_center(grid, axis, from > 0 ? from - 1 : 0);
    const bool is_after = fabs(after - position) < fabs(before - position);
    return is_after || !extent.is_round ? after : before;
}

/* Rounding is monotonic: a shape that contains any cell contains the best one on every axis. */
bool shape_has_cells(const struct grid *grid, const struct shape_setting *shape)
{
    double center[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        center[axis] = best_center(grid, shape, (enum axis)axis);
        if (!shape_reaches(grid, shape, (enum axis)axis, center[axis])) {
            return false;
        }
    }
    return shape_holds(grid, shape, center);
}

const char *shape_name(const struct shape_setting *shape)
{
    switch (shape->kind) {
    case INITIAL_SPHERE:
        return "sphere";
    case INITIAL_BOX:
        return "box";
    case INITIAL_CYLINDER:
        return "cylinder";
    case INITIAL_LAYER:
        return "layer";
    default:
        return NULL;
    }
}

enum status shape_check_cells(struct settings_origin *origin, const struct grid *grid,
                              const char *list, const struct shape_setting *shape, int entry)
{
    if (shape_has_cells(grid, shape)) {
        return STATUS_OK;
    }
    char key[48];
    char cell[96] = "";
    snprintf(key, sizeof key, "%s[%d].%s", list, entry, shape_name(shape));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->used[axis]) {
            text_add(cell, sizeof cell, " x ", "%.4g", grid_width(grid, (enum axis)axis, 0));
        }
    }
    return settings_fail_at(
        origin, key, "contains no cell centre and so has no effect; the cells are %s m large",
        cell);
}

enum status shape_formula(const struct shape_setting *shape, struct expression **expression)
{
    return expression_create(shape->expression, expression_place_time,
                             shape->varies ? AXIS_COUNT + 1 : AXIS_COUNT, expression);
}

/* The value of a formula (K; of a condition: 0 outside) at a cell centre (m). */
static enum status shape_evaluate(const struct shape_setting *shape, struct expression *expression,
                                  const double center[AXIS_COUNT], double time, double *value)
{
    const double at[] = {center[AXIS_X], center[AXIS_Y], center[AXIS_Z], time};
    *value = expression_evaluate(expression, at);
    if (shape->is_condition || shape->is_factor) {
        return !isnan(*value)
                   ? STATUS_OK
                   : fail(STATUS_INPUT,
                          "\"%.200s\" is not a number at x = %.9g, y = %.9g, z = %.9g m",
                          shape->expression, center[AXIS_X], center[AXIS_Y], center[AXIS_Z]);
    }
    FAIL_IF(!(fabs(*value) < 1e12),
            fail(STATUS_INPUT,
                 "\"%.200s\" gives %g K at x = %.9g, y = %.9g, z = %.9g m; a temperature must "
                 "be finite and below 1e12 K",
                 shape->expression, isnan(*value) ? NAN : *value, center[AXIS_X], center[AXIS_Y],
                 center[AXIS_Z]));
    if (*value < BELOW_ZERO && !shape->may_be_negative) {
        char text[BELOW_ZERO_TEXT];
        return fail(STATUS_INPUT, "\"%.200s\" at x = %.9g, y = %.9g, z = %.9g m: %s",
                    shape->expression, center[AXIS_X], center[AXIS_Y], center[AXIS_Z],
                    settings_below_zero(*value, text));
    }
    return STATUS_OK;
}

enum status shape_try_formula(const struct shape_setting *shape, const struct grid *grid)
{
    struct expression *expression = NULL;
    TRY(shape_formula(shape, &expression));
    enum status status = STATUS_OK;
    for (int trial = 0; status == STATUS_OK && trial < 27; trial++) {
        double center[AXIS_COUNT];
        double value = 0;
        for (int axis = 0, rest = trial; axis < AXIS_COUNT; axis++, rest /= 3) {
            const int64_t last = grid->cells[axis] - 1;
            const int64_t index = rest % 3 == 2 ? last : rest % 3 * (last / 2);
            center[axis] = grid_center(grid, (enum axis)axis, index);
        }
        status = shape_evaluate(shape, expression, center, 0, &value);
    }
    expression_destroy(expression);
    return status;
}

/* ---- painting ---- */

/* The minimum per part: a part costs a parser (30 us, or the formula of 700 cells) and may wake a
 * thread. */
enum { CELLS_WORTH_A_PART = 8192 };

/* What one call paints. */
struct canvas {
    const struct brush *brush;
    const struct box *box; /* of the values */
    struct box bounds;     /* of the shape in it */
    enum precision precision;
    void *values;
};

static bool index_inside(const struct brush *brush, int axis, int64_t index)
{
    /* of the global index alone: the same bits in every decomposition */
    return shape_reaches(brush->grid, brush->shape, (enum axis)axis,
                         grid_center(brush->grid, (enum axis)axis, index));
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

/* The mean of the formula over a cell. */
static enum status mean_of_cell(const struct brush *brush, struct expression *expression,
                                const int64_t cell[AXIS_COUNT], double *mean)
{
    double h[AXIS_COUNT];
    double center[AXIS_COUNT];
    int n[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        n[axis] = brush->grid->used[axis] ? brush->points : 1;
        h[axis] = grid_width(brush->grid, (enum axis)axis, cell[axis]);
        center[axis] = grid_center(brush->grid, (enum axis)axis, cell[axis]);
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
        TRY(shape_evaluate(brush->shape, expression, at, brush->time, &value));
        *mean = fma(weight, value, *mean);
    }
    return STATUS_OK;
}

/* The value of a formula for one cell. */
static enum status evaluate(const struct brush *brush, struct expression *expression,
                            const int64_t cell[AXIS_COUNT], const double center[AXIS_COUNT],
                            double *value)
{
    return brush->points > 1 && !brush->shape->is_condition
               ? mean_of_cell(brush, expression, cell, value)
               : shape_evaluate(brush->shape, expression, center, brush->time, value);
}

/* Paint the cells of one row from place `from` to before `to` of the bounds. */
static enum status paint_row(const struct canvas *canvas, struct expression *expression,
                             int64_t from, int64_t to)
{
    const struct brush *brush = canvas->brush;
    const struct shape_setting *shape = brush->shape;
    int64_t cell[AXIS_COUNT];
    double at[AXIS_COUNT];
    double value = shape->value;
    box_cell(&canvas->bounds, from, cell);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        at[axis] = grid_center(brush->grid, (enum axis)axis, cell[axis]);
    }
    const int64_t first = box_place(canvas->box, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
    for (int64_t i = 0; i < to - from; i++, cell[AXIS_X]++) {
        at[AXIS_X] = grid_center(brush->grid, AXIS_X, cell[AXIS_X]);
        if (!shape_holds(brush->grid, shape, at) ||
            (shape->kind == PART_STL && !solid_holds(&brush->solid, at))) {
            continue;
        }
        if (expression != NULL) {
            TRY(evaluate(brush, expression, cell, at, &value));
            if (shape->is_condition && value == 0) {
                continue;
            }
            value = shape->is_condition ? shape->value : value;
        }
        precision_set(canvas->precision, canvas->values, first + i, value);
    }
    return STATUS_OK;
}

/* Paint a contiguous part, up to its first failure. Parts are in the order of the cells, so the
 * first one that fails has the first cell that does. */
static enum status paint_part(void *context, int64_t part)
{
    const struct canvas *canvas = context;
    const struct brush *brush = canvas->brush;
    const int64_t nx = box_extent(&canvas->bounds, AXIS_X);
    const int64_t ncells = box_cells(&canvas->bounds);
    const int64_t last = ncells * (part + 1) / brush->nparts;
    for (int64_t from = ncells * part / brush->nparts, to; from < last; from = to) {
        to = (from / nx + 1) * nx;
        to = to < last ? to : last;
        TRY(paint_row(canvas, brush->formulas != NULL ? brush->formulas[part] : NULL, from, to));
    }
    return STATUS_OK;
}

enum status brush_paint(const struct brush *brush, const struct box *box, enum precision precision,
                        void *values)
{
    struct canvas canvas = {brush, box, brush_bounds(brush, box), precision, values};
    return thread_divide(brush->nparts, paint_part, &canvas);
}

enum status brush_begin(struct brush *brush, const struct grid *grid,
                        const struct shape_setting *shape, int64_t ncells, int points)
{
    const int64_t worth = ncells / CELLS_WORTH_A_PART;
    const int threads = omp_get_max_threads();
    const int most = worth < threads ? (int)worth : threads;
    *brush = (struct brush){
        .grid = grid, .shape = shape, .points = points, .nparts = most > 1 ? most : 1};
    if (shape->kind != INITIAL_EXPRESSION) {
        return STATUS_OK;
    }
    brush->formulas = calloc((size_t)brush->nparts, sizeof(struct expression *));
    TRY(CHECK_MEMORY(brush->formulas != NULL, "no memory to paint with %d threads", threads));
    /* serial: expression_create is not thread-safe */
    for (int part = 0; part < brush->nparts; part++) {
        TRY(shape_formula(shape, &brush->formulas[part]));
    }
    return STATUS_OK;
}

void brush_end(struct brush *brush)
{
    solid_destroy(&brush->solid);
    for (int part = 0; brush->formulas != NULL && part < brush->nparts; part++) {
        expression_destroy(brush->formulas[part]);
    }
    free(brush->formulas);
}

enum status shape_paint(const struct grid *grid, const struct shape_setting *shape,
                        const struct box *box, enum precision precision, void *values)
{
    SCOPED_BY(brush_end) struct brush brush;
    TRY(brush_begin(&brush, grid, shape, box_cells(box), 1));
    return brush_paint(&brush, box, precision, values);
}

enum status shape_number_labels(const struct shape_setting *part, const struct box *box,
                                float *numbers)
{
    const int64_t cells = box_cells(box);
    int count = 0;
    while (count < MOST_MATERIALS && part->names[count] != NULL) {
        count++;
    }
    for (int64_t c = 0, last = 0; c < cells; c++) {
        int64_t number = last; /* neighbours have the same label, as a rule */
        for (int n = 0; n < count && (float)part->labels[number] != numbers[c]; n++) {
            number = n;
        }
        last = number;
        FAIL_IF(
            fabsf(numbers[c]) >= 16777216,
            fail(STATUS_INPUT,
                 "%.200s has the label %.0f; labels must be below 2^24 = 16777216: renumber the "
                 "materials in the file",
                 part->path, (double)numbers[c]));
        if ((float)part->labels[number] != numbers[c]) {
            int64_t cell[AXIS_COUNT];
            box_cell(box, c, cell);
            return fail(STATUS_INPUT,
                        "%.200s holds %g at [z][y][x] = [%" PRId64 "][%" PRId64 "][%" PRId64
                        "]; `materials` has no name for this number",
                        part->path, (double)numbers[c], cell[AXIS_Z], cell[AXIS_Y], cell[AXIS_X]);
        }
        numbers[c] = (float)part->numbers[number];
    }
    return STATUS_OK;
}
