#include "model/space/shape.h"

#include <math.h>
#include <stdio.h>

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
           (shape->kind == INITIAL_EXPRESSION && shape->is_condition);
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
    size_t used = 0;
    snprintf(key, sizeof key, "%s[%d].%s", list, entry, shape_name(shape));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->used[axis]) {
            used += (size_t)snprintf(cell + used, sizeof cell - used, "%s%.4g",
                                     used > 0 ? " x " : "", grid->spacing[axis]);
        }
    }
    return settings_fail_at(
        origin, key, "contains no cell centre and so has no effect; the cells are %s m large",
        cell);
}

enum status shape_formula(const struct shape_setting *shape, struct expression **expression)
{
    static const char *const variables[] = {"x", "y", "z"};
    return expression_create(shape->expression, variables, 3, expression);
}

enum status shape_evaluate(const struct shape_setting *shape, struct expression *expression,
                           const double center[AXIS_COUNT], double *value)
{
    *value = expression_evaluate(expression, center);
    if (shape->is_condition) {
        return !isnan(*value)
                   ? STATUS_OK
                   : fail(STATUS_INPUT,
                          "\"%.200s\" is not a number at x = %.9g, y = %.9g, z = %.9g m",
                          shape->expression, center[AXIS_X], center[AXIS_Y], center[AXIS_Z]);
    }
    if (!(fabs(*value) < 1e12)) {
        return fail(STATUS_INPUT,
                    "\"%.200s\" gives %g K at x = %.9g, y = %.9g, z = %.9g m; a temperature must "
                    "be finite and below 1e12 K",
                    shape->expression, isnan(*value) ? NAN : *value, center[AXIS_X], center[AXIS_Y],
                    center[AXIS_Z]);
    }
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
        status = shape_evaluate(shape, expression, center, &value);
    }
    expression_destroy(expression);
    return status;
}
