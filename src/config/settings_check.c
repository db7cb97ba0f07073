#include "config/settings_check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/expression.h"
#include "config/settings_tree.h"

enum { KEY_BYTES = 64 };

/* How far a box may reach out of the grid by rounding, of the grid's length. */
static const double OUTSIDE_TOLERANCE = 1e-9;

/* Coordinates and sizes in bytes then fit 64 bits. */
static const double MOST_CELLS = 5e17;

const struct tree *settings_node(const struct settings *settings, const char *key)
{
    bool exact;
    const struct tree *node = tree_find(settings->origin->root, key, &exact);
    return exact ? node : NULL;
}

static bool axis_used(const struct settings *settings, int axis)
{
    return settings->grid.cells[axis] > 1;
}

enum status settings_check_point(const struct settings *settings, const char *key)
{
    const struct tree *node = settings_node(settings, key);
    const int wanted = settings_node(settings, "grid.cells")->nchildren;
    if (node == NULL || node->nchildren == wanted || node->nchildren == AXIS_COUNT) {
        return STATUS_OK;
    }
    char shown[TREE_SHOW_BYTES];
    return settings_fail(settings, key, "%d entr%s (%s); give %d, as many as grid.cells%s",
                         node->nchildren, node->nchildren == 1 ? "y" : "ies",
                         tree_show(node, shown), wanted, wanted < AXIS_COUNT ? ", or 3" : "");
}

static enum status check_grid(const struct settings *settings)
{
    const int64_t *cells = settings->grid.cells;
    double total = 1;
    bool any_used = false;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        total *= (double)cells[axis];
        any_used = any_used || axis_used(settings, axis);
    }
    if (!any_used) {
        return settings_fail(settings, "grid.cells",
                             "one cell in all; give at least one axis more than one cell");
    }
    if (total > MOST_CELLS) {
        return settings_fail(settings, "grid.cells",
                             "%.3g cells in all; give at most %.0e, so that sizes fit 64 bits",
                             total, MOST_CELLS);
    }
    TRY(settings_check_point(settings, "grid.lower"));
    TRY(settings_check_point(settings, "grid.upper"));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double lower = settings->grid.lower[axis];
        const double upper = settings->grid.upper[axis];
        const char *key =
            settings_node(settings, "grid.upper") != NULL ? "grid.upper" : "grid.lower";
        if (!(upper > lower)) {
            return settings_fail(settings, key,
                                 "the %s axis has no length (from %g to %g); give an upper corner "
                                 "above the lower one",
                                 axis_name((enum axis)axis), lower, upper);
        }
        const double spacing = (upper - lower) / (double)cells[axis];
        if (spacing < 16 * DBL_EPSILON * fmax(fabs(lower), fabs(upper)) || spacing < 1e-30) {
            return settings_fail(settings, key,
                                 "the cells on the %s axis would be %g m thin, too thin to tell "
                                 "their positions apart; give fewer cells or a longer axis",
                                 axis_name((enum axis)axis), spacing);
        }
    }
    return STATUS_OK;
}

static enum status check_formula(const struct settings *settings, const char *key, const char *text,
                                 const char *const *names, int nnames, const char *variables)
{
    struct expression *expression = NULL;
    const enum status status = expression_create(text, names, nnames, &expression);
    expression_destroy(expression);
    if (status != STATUS_INPUT) {
        return status;
    }
    char reason[STATUS_MESSAGE_BYTES];
    snprintf(reason, sizeof reason, "%s", fail_message());
    return settings_fail(settings, key, "not a formula: %s; give a number or a formula in %s",
                         reason, variables);
}

static enum status check_sphere(const struct settings *settings, int entry)
{
    const struct initial_setting *sphere = &settings->initial[entry];
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "initial[%d].sphere.center", entry);
    TRY(settings_check_point(settings, key));
    double distance2 = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (axis_used(settings, axis)) {
            const double below = settings->grid.lower[axis] - sphere->center[axis];
            const double above = sphere->center[axis] - settings->grid.upper[axis];
            const double gap = fmax(fmax(below, above), 0);
            distance2 += gap * gap;
        }
    }
    if (sqrt(distance2) >= sphere->radius) {
        return settings_fail(settings, key,
                             "the sphere lies outside the grid (it is %g m away, the radius is %g "
                             "m); give a centre nearer to the grid or a larger radius",
                             sqrt(distance2), sphere->radius);
    }
    return STATUS_OK;
}

enum status settings_check_box(const struct settings *settings, const char *key,
                               const double box_lower[AXIS_COUNT],
                               const double box_upper[AXIS_COUNT])
{
    char key_lower[KEY_BYTES];
    char key_upper[KEY_BYTES];
    snprintf(key_lower, sizeof key_lower, "%s.lower", key);
    snprintf(key_upper, sizeof key_upper, "%s.upper", key);
    TRY(settings_check_point(settings, key_lower));
    TRY(settings_check_point(settings, key_upper));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!axis_used(settings, axis)) {
            continue;
        }
        const char *name = axis_name((enum axis)axis);
        const double lower = settings->grid.lower[axis];
        const double upper = settings->grid.upper[axis];
        const double tolerance = OUTSIDE_TOLERANCE * (upper - lower);
        if (!(box_lower[axis] < box_upper[axis])) {
            return settings_fail(settings, key_upper,
                                 "the box has no length in %s (from %g to %g); give an upper "
                                 "corner above the lower one",
                                 name, box_lower[axis], box_upper[axis]);
        }
        const bool low_out = box_lower[axis] < lower - tolerance || box_lower[axis] >= upper;
        const bool high_out = box_upper[axis] > upper + tolerance || box_upper[axis] <= lower;
        if (low_out || high_out) {
            return settings_fail(settings, low_out ? key_lower : key_upper,
                                 "the box lies outside the grid in %s (%g); give a value from %g "
                                 "to %g",
                                 name, low_out ? box_lower[axis] : box_upper[axis], lower, upper);
        }
    }
    return STATUS_OK;
}

static enum status check_initial(const struct settings *settings)
{
    static const char *const position[] = {"x", "y", "z"};
    for (int i = 0; i < settings->ninitial; i++) {
        const struct initial_setting *entry = &settings->initial[i];
        if (entry->kind == INITIAL_SPHERE) {
            TRY(check_sphere(settings, i));
        } else if (entry->kind == INITIAL_BOX) {
            char key[KEY_BYTES];
            snprintf(key, sizeof key, "initial[%d].box", i);
            TRY(settings_check_box(settings, key, entry->lower, entry->upper));
        } else if (entry->kind == INITIAL_EXPRESSION) {
            char key[KEY_BYTES];
            snprintf(key, sizeof key, "initial[%d].expression.value", i);
            TRY(check_formula(settings, key, entry->expression, position, 3, "x, y, z"));
        }
    }
    return STATUS_OK;
}

static enum status check_face(const struct settings *settings, enum face face)
{
    static const char *const time[] = {"t"};
    const struct boundary_setting *boundary = &settings->boundary[face];
    const enum axis axis = face_axis(face);
    const char *name = axis_name(axis);
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "boundary.%s", face_name(face));
    const bool given = boundary->kind != BOUNDARY_UNUSED;
    if (!axis_used(settings, axis) && given) {
        return settings_fail(settings, key, "the %s axis has one cell: leave out its faces", name);
    }
    if (axis_used(settings, axis) && !given) {
        return settings_fail(settings, key,
                             "missing: the %s axis has %lld cells, so its faces need a boundary; "
                             "give a type: temperature, flux, convection or periodic",
                             name, (long long)settings->grid.cells[axis]);
    }
    const enum face opposite = face_opposite(face);
    if (boundary->kind == BOUNDARY_PERIODIC &&
        settings->boundary[opposite].kind != BOUNDARY_PERIODIC &&
        settings->boundary[opposite].kind != BOUNDARY_UNUSED) {
        return settings_fail(settings, key,
                             "periodic, but %s is not; make both faces of the %s axis periodic, or "
                             "neither",
                             face_name(opposite), name);
    }
    if (boundary->expression != NULL) {
        snprintf(key, sizeof key, "boundary.%s.value", face_name(face));
        TRY(check_formula(settings, key, boundary->expression, time, 1, "t"));
    }
    return STATUS_OK;
}

static enum status check_time(struct settings *settings)
{
    const bool end = settings_node(settings, "time.end") != NULL;
    const bool steps = settings_node(settings, "time.steps") != NULL;
    if (end && steps) {
        return settings_fail(settings, "time.steps",
                             "given together with time.end; give one of them");
    }
    if (!end && !steps) {
        return settings_fail(settings, "time", "neither end nor steps; give one of them");
    }
    settings->time.by_steps = steps;
    return STATUS_OK;
}

static enum status check_material(const struct settings *settings)
{
    const double volumetric = settings->material.density * settings->material.heat_capacity;
    const double diffusivity = settings->material.conductivity / volumetric;
    if (!isnormal(volumetric) || !isnormal(diffusivity)) {
        return settings_fail(settings, "material",
                             "the diffusivity k / (rho c) is no usable number (%g m^2/s); give "
                             "values in SI units",
                             diffusivity);
    }
    return STATUS_OK;
}

enum status settings_check(struct settings *settings)
{
    TRY(check_grid(settings));
    TRY(check_material(settings));
    TRY(check_initial(settings));
    for (int face = 0; face < FACE_COUNT; face++) {
        TRY(check_face(settings, (enum face)face));
    }
    TRY(check_time(settings));
    TRY(settings_check_output(settings));
    return STATUS_OK;
}
