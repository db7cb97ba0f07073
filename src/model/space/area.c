#include <math.h>

#include "model/space/shape.h"

/* Whether a point (m) is inside, as for the centre of a cell. */
static bool brush_holds(const struct brush *brush, const double at[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!shape_reaches(brush->grid, brush->shape, (enum axis)axis, at[axis])) {
            return false;
        }
    }
    return shape_holds(brush->grid, brush->shape, at) &&
           (brush->shape->kind != PART_STL || solid_holds(&brush->solid, at)) &&
           (brush->formulas == NULL || expression_evaluate(brush->formulas[0], at) != 0);
}

/* The place of the surface, in cells of `axis` from the face, on the line through `at` along this
 * axis; one of the ends, beyond the neighbouring cells, where it does not cross the line. */
static double crossing(const struct brush *brush, const double at[AXIS_COUNT], enum axis axis,
                       double h, bool inside_below)
{
    enum { HALVINGS = 16 };
    double end[2] = {-0.5, 0.5};
    bool inside[2];
    double point[AXIS_COUNT] = {at[AXIS_X], at[AXIS_Y], at[AXIS_Z]};
    for (int trial = 0; trial < 2; trial++) {
        for (int side = 0; side < 2; side++) {
            point[axis] = at[axis] + end[side] * h;
            inside[side] = brush_holds(brush, point);
        }
        if (inside[0] != inside[1]) {
            break;
        }
        end[0] -= trial == 0 ? 1 : 0;
        end[1] += trial == 0 ? 1 : 0;
    }
    if (inside[0] == inside[1]) {
        return inside[0] == inside_below ? end[1] : end[0];
    }
    for (int n = 0; n < HALVINGS; n++) {
        const double middle = (end[0] + end[1]) / 2;
        point[axis] = at[axis] + middle * h;
        end[brush_holds(brush, point) == inside[0] ? 0 : 1] = middle;
    }
    return (end[0] + end[1]) / 2;
}

/* The normal of a condition at the face `at`, from how far the surface rises along `axis` between
 * lines on both sides. */
static void find_normal(const struct brush *brush, const double at[AXIS_COUNT], enum axis axis,
                        const double h[AXIS_COUNT], double normal[AXIS_COUNT])
{
    const double apart = 0.125; /* of a cell */
    double below[AXIS_COUNT] = {at[AXIS_X], at[AXIS_Y], at[AXIS_Z]};
    below[axis] -= h[axis] / 2;
    const bool inside_below = brush_holds(brush, below);
    if (brush->shape->kind == PART_STL) {
        double surface[AXIS_COUNT] = {at[AXIS_X], at[AXIS_Y], at[AXIS_Z]};
        surface[axis] += crossing(brush, at, axis, h[axis], inside_below) * h[axis];
        solid_normal(&brush->solid, surface, normal);
        return;
    }
    for (int other = 0; other < AXIS_COUNT; other++) {
        double height[2] = {0, 0};
        for (int side = 0; side < 2 && other != (int)axis && brush->grid->used[other]; side++) {
            double line[AXIS_COUNT] = {at[AXIS_X], at[AXIS_Y], at[AXIS_Z]};
            line[other] += (side - 0.5) * 2 * apart * h[other];
            height[side] = crossing(brush, line, axis, h[axis], inside_below);
        }
        normal[other] = (height[1] - height[0]) * h[axis] / (2 * apart * h[other]);
    }
    normal[axis] = 1;
}

/* The part whose surface lies between two cells: the last one that has one of them only. NULL: a
 * dataset, whose surfaces are not known. */
static const struct brush *find_part(const struct brush *parts, int nparts,
                                     double at[2][AXIS_COUNT])
{
    for (int p = nparts - 1; p >= 0 && parts[p].shape != NULL; p--) {
        const bool low = brush_holds(&parts[p], at[0]);
        const bool high = brush_holds(&parts[p], at[1]);
        if (low || high) {
            return low != high ? &parts[p] : NULL;
        }
    }
    return NULL;
}

double brush_area(const struct brush *parts, int nparts, const struct grid *grid,
                  const int64_t cell[AXIS_COUNT], enum axis axis)
{
    double at[2][AXIS_COUNT];
    double face[AXIS_COUNT];
    double h[AXIS_COUNT];
    double normal[AXIS_COUNT] = {0};
    for (int a = 0; a < AXIS_COUNT; a++) {
        at[0][a] = grid_center(grid, (enum axis)a, cell[a]);
        at[1][a] = grid_center(grid, (enum axis)a, cell[a] + (a == (int)axis ? 1 : 0));
        h[a] = a == (int)axis ? at[1][a] - at[0][a] : grid_width(grid, (enum axis)a, cell[a]);
        face[a] = (at[0][a] + at[1][a]) / 2;
    }
    const struct brush *part = find_part(parts, nparts, at);
    if (part == NULL || !shape_is_partial(part->shape)) {
        return 1;
    }
    const struct shape_setting *shape = part->shape;
    const bool is_cylinder = shape->kind == INITIAL_CYLINDER;
    if (is_cylinder && axis == shape->axis) {
        return 1;
    }
    if (is_cylinder || shape->kind == INITIAL_SPHERE) {
        for (int a = 0; a < AXIS_COUNT; a++) {
            const bool is_round = grid->used[a] && !(is_cylinder && a == (int)shape->axis);
            normal[a] = is_round ? face[a] - shape->center[a] : 0;
        }
    } else {
        find_normal(part, face, axis, h, normal);
    }
    const double x = fabs(normal[AXIS_X]);
    const double y = fabs(normal[AXIS_Y]);
    const double z = fabs(normal[AXIS_Z]);
    if (!(x + y + z > 0)) {
        return 1;
    }
    return sqrt(x * x + y * y + z * z) / (x + y + z);
}
