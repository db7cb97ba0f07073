#include "config/settings_check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/expression.h"

/* The rounding error by which a box may exceed the grid, relative to its length. */
static const double OUTSIDE_TOLERANCE = 1e-9;

/* Up to this number coordinates and sizes in bytes fit 64 bits. */
static const double MOST_CELLS = 5e17;

static bool axis_used(const struct settings *settings, int axis)
{
    return settings->grid.cells[axis] > 1;
}

const char *settings_key_below(const struct item *section, const char *name,
                               char key[TREE_KEY_BYTES])
{
    snprintf(key, TREE_KEY_BYTES, "%.190s.%.60s", section->key, name);
    return key;
}

static const struct tree *grid_node(const struct settings *settings, const char *name)
{
    return tree_child(tree_child(settings->origin->root, "grid"), name);
}

enum status settings_check_point(const struct settings *settings, const char *key,
                                 const struct tree *node)
{
    const int wanted = tree_count(grid_node(settings, "cells"));
    const int count = node != NULL ? tree_count(node) : wanted;
    if (count == wanted || count == AXIS_COUNT) {
        return STATUS_OK;
    }
    char shown[TREE_SHOW_BYTES];
    return settings_fail(settings, key, "%d entr%s (%s); give %d, as many as grid.cells%s", count,
                         count == 1 ? "y" : "ies", tree_show(node, shown), wanted,
                         wanted < AXIS_COUNT ? ", or 3" : "");
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
                             "one cell in total; give at least one axis more than one cell");
    }
    if (total > MOST_CELLS) {
        return settings_fail(settings, "grid.cells",
                             "%.3g cells in total; give at most %.0e, so that sizes fit 64 bits",
                             total, MOST_CELLS);
    }
    TRY(settings_check_point(settings, "grid.lower", grid_node(settings, "lower")));
    TRY(settings_check_point(settings, "grid.upper", grid_node(settings, "upper")));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double lower = settings->grid.lower[axis];
        const double upper = settings->grid.upper[axis];
        const char *key = grid_node(settings, "upper") != NULL ? "grid.upper" : "grid.lower";
        if (!(upper > lower)) {
            return settings_fail(settings, key,
                                 "the %s axis has no length (from %g to %g); give an upper corner "
                                 "above the lower one",
                                 axis_name((enum axis)axis), lower, upper);
        }
        const double spacing = (upper - lower) / (double)cells[axis];
        if (spacing < 16 * DBL_EPSILON * fmax(fabs(lower), fabs(upper)) || spacing < 1e-30) {
            return settings_fail(settings, key,
                                 "the cells on the %s axis would be %g m thin, too thin for "
                                 "distinct positions; give fewer cells or a longer axis",
                                 axis_name((enum axis)axis), spacing);
        }
    }
    return STATUS_OK;
}

static enum status check_formula(const struct settings *settings, const struct item *item)
{
    static const char *const position[] = {"x", "y", "z"};
    static const char *const time[] = {"t"};
    const struct schema_key *row = item->row;
    if (row->variables == NULL) {
        return STATUS_OK;
    }
    const bool of_time = strcmp(row->variables, "t") == 0;
    const size_t offset = row->type == SCHEMA_FORMULA ? row->offset : row->alternative;
    const char *text = *(char *const *)(item->base + offset);
    struct expression *expression = NULL;
    if (text == NULL) {
        return STATUS_OK;
    }
    const enum status status =
        expression_create(text, of_time ? time : position, of_time ? 1 : 3, &expression);
    expression_destroy(expression);
    if (status != STATUS_INPUT) {
        return status;
    }
    return settings_fail(settings, item->key, "not a formula: %s; give a number or a formula in %s",
                         fail_message(), row->variables);
}

/* The ends of a cylinder or layer along its axis. */
static enum status check_ends(const struct settings *settings, const struct item *item)
{
    const struct shape_setting *shape = (const struct shape_setting *)item->base;
    const double lower = settings->grid.lower[shape->axis];
    const double upper = settings->grid.upper[shape->axis];
    const char *name = axis_name(shape->axis);
    char key[TREE_KEY_BYTES];
    settings_key_below(item, "to", key);
    if (!axis_used(settings, (int)shape->axis)) {
        return STATUS_OK;
    }
    if (!(shape->from < shape->to)) {
        return settings_fail(settings, key,
                             "no length in %s (from %g to %g); give a `to` above `from`", name,
                             shape->from, shape->to);
    }
    if (shape->from >= upper || shape->to <= lower) {
        return settings_fail(settings, key,
                             "outside the grid in %s (from %g to %g); the grid is from %g to %g",
                             name, shape->from, shape->to, lower, upper);
    }
    return STATUS_OK;
}

SETTINGS_CHECK(sphere)
{
    const struct shape_setting *sphere = (const struct shape_setting *)item->base;
    char key[TREE_KEY_BYTES];
    settings_key_below(item, "center", key);
    TRY(settings_check_point(settings, key, tree_child(item->node, "center")));
    double distance2 = 0;
    const bool cylinder = sphere->kind == INITIAL_CYLINDER;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (axis_used(settings, axis) && !(cylinder && axis == (int)sphere->axis)) {
            const double below = settings->grid.lower[axis] - sphere->center[axis];
            const double above = sphere->center[axis] - settings->grid.upper[axis];
            const double gap = fmax(fmax(below, above), 0);
            distance2 += gap * gap;
        }
    }
    if (sqrt(distance2) >= sphere->radius) {
        return settings_fail(settings, key,
                             "the %s lies outside the grid (it is %g m away, the radius is %g "
                             "m); give a centre nearer to the grid or a larger radius",
                             cylinder ? "cylinder" : "sphere", sqrt(distance2), sphere->radius);
    }
    return cylinder ? check_ends(settings, item) : STATUS_OK;
}

SETTINGS_CHECK(layer)
{
    return check_ends(settings, item);
}

SETTINGS_CHECK(box)
{
    const char *members = item_members(item);
    const double *box_lower = (double *)(item->base + schema_child(members, "lower", 0)->offset);
    const double *box_upper = (double *)(item->base + schema_child(members, "upper", 0)->offset);
    char key_lower[TREE_KEY_BYTES];
    char key_upper[TREE_KEY_BYTES];
    if (item->node == NULL) {
        return STATUS_OK;
    }
    settings_key_below(item, "lower", key_lower);
    settings_key_below(item, "upper", key_upper);
    TRY(settings_check_point(settings, key_lower, tree_child(item->node, "lower")));
    TRY(settings_check_point(settings, key_upper, tree_child(item->node, "upper")));
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

SETTINGS_CHECK(kelvins)
{
    const struct schema_key *row = item->row;
    const double value = *(const double *)(item->base + row->offset);
    const bool formula = (row->flags & SCHEMA_OR_FORMULA) != 0 &&
                         *(char *const *)(item->base + row->alternative) != NULL;
    char text[BELOW_ZERO_TEXT];
    const bool has_zero = item->node != NULL && item->node->has_zero;
    if (formula || value >= 0 || settings->run.temperature == TEMPERATURE_DIFFERENCE) {
        return STATUS_OK;
    }
    if (has_zero) {
        return settings_fail(settings, item->key,
                             "%s is %.9g K, below absolute zero; give 0 K or "
                             "more",
                             item->node->text, value);
    }
    return settings_fail(settings, item->key, "%s", settings_below_zero(value, text));
}

SETTINGS_CHECK(time)
{
    const bool end = tree_child(item->node, "end") != NULL;
    if (end && settings->time.by_steps) {
        return settings_fail(settings, "time.steps",
                             "given together with time.end; give one of them");
    }
    if (settings->time.adapt_every > 0 && !settings->time.dt_auto) {
        return settings_fail(settings, "time.adapt_every", "needs dt: auto");
    }
    if (!end && !settings->time.by_steps) {
        return settings_fail(settings, "time", "neither end nor steps; give one of them");
    }
    return STATUS_OK;
}

/* 20 degC is 293.15 K, and as a difference 20 K: neither is assumed. */
static enum status check_zero(const struct settings *settings, const struct item *item)
{
    const struct tree *node = item->node;
    const bool list = node != NULL && node->kind == TREE_LIST;
    for (const struct tree *value = list ? node->first : node; value != NULL;
         value = list ? value->next : NULL) {
        if (value->has_zero && settings->run.temperature == TEMPERATURE_DIFFERENCE) {
            return settings_fail(settings, item->key,
                                 "%s is not a difference of temperatures, which run.watch."
                                 "temperature asks for: its scale has a zero point of its own; "
                                 "give a difference in K",
                                 value->text);
        }
    }
    return STATUS_OK;
}

static enum status check_item(const struct settings *settings, const struct item *item)
{
    TRY(check_formula(settings, item));
    TRY(check_zero(settings, item));
    return item->row->check != NULL ? item->row->check(settings, item) : STATUS_OK;
}

enum status settings_check(struct settings *settings)
{
    struct item_list list;
    enum status status = STATUS_OK;
    TRY(check_grid(settings)); /* the other checks use it */
    TRY(settings_check_medium(settings));
    TRY(item_list_all(settings, &list));
    for (int i = 0; i < list.count; i++) {
        const struct item *item = &list.item[i];
        TRY_GOTO(origin_collect(settings->origin, check_item(settings, item)));
    }
    status = origin_report(settings->origin);
    const bool may_be_negative = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    for (int i = 0; i < settings->ninitial; i++) {
        settings->initial[i].may_be_negative = may_be_negative;
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        struct boundary_setting *boundary = &settings->boundary[face];
        boundary->may_be_negative = may_be_negative;
        for (int i = 0; i < boundary->npatches; i++) {
            boundary->patches[i].condition.may_be_negative = may_be_negative;
        }
    }
done:
    free(list.item);
    return status;
}
