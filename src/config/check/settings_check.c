#include "config/check/settings_check.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "config/expression.h"

/* The rounding error by which a box may exceed the grid, relative to its length. */
static const double OUTSIDE_TOLERANCE = 1e-9;

/* Up to this number coordinates and sizes in bytes fit 64 bits. */
static const double MOST_CELLS = 5e17;

/* ---- conditions that the rows of the schema state ---- */

/* `rival` and `needs`. A list has them as a whole, its first entry is blamed. */
static enum status check_others(const struct item *item)
{
    const struct schema_key *row = item->row;
    if (item->node == NULL || item->index > 0) {
        return STATUS_OK;
    }
    char other[SCHEMA_WORD_BYTES];
    /* of two keys that exclude each other the second is blamed */
    for (const char *list = row->rival; list != NULL && schema_next_word(&list, other);) {
        FAIL_IF(tree_child(item->beside, other) != NULL && schema_beside(row, other) < row,
                item_fail(item, NULL, "given together with %s; give one of them", other));
    }
    const char *needs = row->needs;
    return needs == NULL || (schema_next_word(&needs, other) && tree_child(item->beside, other))
               ? STATUS_OK
               : item_fail(item, NULL, "needs %s", row->needs);
}

/* `one_of` */
static enum status check_members(const struct item *section)
{
    char words[SCHEMA_TEXT_BYTES] = "";
    if (section->node == NULL || section->row->one_of == NULL) {
        return STATUS_OK;
    }
    char name[SCHEMA_WORD_BYTES];
    for (const char *list = section->row->one_of; schema_next_word(&list, name);) {
        if (tree_child(section->node, name) != NULL) {
            return STATUS_OK;
        }
        text_add(words, sizeof words, " nor ", "%s", name);
    }
    return item_fail(section, NULL, "neither %s; give one of them", words);
}

static enum status check_formula(const struct item *item)
{
    const struct schema_key *row = item->row;
    if (row->variables == NULL) {
        return STATUS_OK;
    }
    const int first = row->variables[0] == 't' ? AXIS_COUNT : 0;
    const int end = strstr(row->variables, "t") != NULL ? AXIS_COUNT + 1 : AXIS_COUNT;
    const struct number_setting *number = item_number(item);
    const char *text =
        number != NULL ? number->formula : *(char *const *)(item->base + row->offset);
    struct expression *expression = NULL;
    if (text == NULL || (number != NULL && number->table != NULL)) {
        return STATUS_OK;
    }
    const enum status status =
        expression_create(text, &expression_place_time[first], end - first, &expression);
    expression_destroy(expression);
    return status != STATUS_INPUT
               ? status
               : item_fail(item, NULL, "not a formula: %s; give a number or a formula in %s",
                           fail_message(), row->variables);
}

/* 20 degC is 293.15 K, and as a difference 20 K: neither is assumed. */
static enum status check_zero(const struct settings *settings, const struct item *item,
                              const struct tree *node)
{
    if (node == NULL || settings->run.temperature != TEMPERATURE_DIFFERENCE) {
        return STATUS_OK;
    }
    FAIL_IF(node->has_zero,
            item_fail(item, NULL,
                      "%s is not a difference of temperatures, which run.watch.temperature "
                      "asks for: its scale has a zero point of its own; give a difference "
                      "in K",
                      node->text));
    for (const struct tree *value = node->first; value != NULL; value = value->next) {
        TRY(check_zero(settings, item, value));
    }
    return STATUS_OK;
}

/* Keys with SCHEMA_POINT. The points of a face have no coordinate across it. */
static enum status check_point(const struct item *item, int axes)
{
    const int most = item->row->max_count;
    const int wanted = axes - (AXIS_COUNT - most);
    const int count = item->node != NULL ? tree_count(item->node) : wanted;
    if (wanted < 1 || count == wanted || count == most) {
        return STATUS_OK;
    }
    char shown[TREE_SHOW_BYTES];
    return item_fail(item, NULL, "%d entr%s (%s); give %d, %s%s", count, count == 1 ? "y" : "ies",
                     tree_show(item->node, shown), wanted,
                     most == AXIS_COUNT ? "as many as grid.cells" : "one per axis along the face",
                     most == AXIS_COUNT && wanted < most ? ", or 3" : "");
}

/* Before the section's own check, which uses them. */
static enum status check_points(const struct settings *settings, const struct item *section)
{
    const struct tree *grid = tree_child(settings->origin->root, "grid");
    int axes = tree_count(tree_child(grid, "cells"));
    struct item item;
    for (int axis = axes; axis < AXIS_COUNT; axis++) {
        axes = settings->grid.axis[axis].given ? axis + 1 : axes;
    }
    if (section->row->type != SCHEMA_SECTION && section->row->type != SCHEMA_LIST) {
        return STATUS_OK;
    }
    for (int row = 0; item_next(section, &row, &item);) {
        TRY((item.row->flags & SCHEMA_POINT) != 0 ? check_point(&item, axes) : STATUS_OK);
    }
    return STATUS_OK;
}

/* ---- the grid, and what lies in it ---- */

static enum status check_cells(const struct settings *settings)
{
    double total = 1;
    bool any_used = false;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        total *= (double)settings->grid.cells[axis];
        any_used = any_used || settings_axis_used(settings, axis);
    }
    FAIL_IF(!any_used,
            settings_fail(settings, "grid.cells",
                          "one cell in total; give at least one axis more than one cell"));
    FAIL_IF(total > MOST_CELLS,
            settings_fail(settings, "grid.cells",
                          "%.3g cells in total; give at most %.0e, so that sizes fit 64 bits",
                          total, MOST_CELLS));
    return STATUS_OK;
}

static enum status check_grid(const struct settings *settings)
{
    const struct item top = item_top(settings);
    const struct item grid = item_below(&top, schema_child("", "grid", 0), "grid");
    TRY(check_cells(settings));
    TRY(check_points(settings, &grid));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double lower = settings->grid.lower[axis];
        const double upper = settings->grid.upper[axis];
        const char *key = tree_child(grid.node, "upper") != NULL ? "upper" : "lower";
        FAIL_IF(!(upper > lower),
                item_fail(&grid, key,
                          "the %s axis has no length (from %g to %g); give an upper corner "
                          "above the lower one",
                          axis_name((enum axis)axis), lower, upper));
        const double spacing = (upper - lower) / (double)settings->grid.cells[axis];
        FAIL_IF(spacing < 16 * DBL_EPSILON * fmax(fabs(lower), fabs(upper)) || spacing < 1e-30,
                item_fail(&grid, key,
                          "the cells on the %s axis would be %g m thin, too thin for distinct "
                          "positions; give fewer cells or a longer axis",
                          axis_name((enum axis)axis), spacing));
    }
    return STATUS_OK;
}

enum status settings_check_within(const struct item *item, const char *below, const char *what,
                                  int axis, double at, double low, double high)
{
    return at >= low && at <= high
               ? STATUS_OK
               : item_fail(item, below, "%s in %s (%g); give a value from %g to %g", what,
                           axis_name((enum axis)axis), at, low, high);
}

SETTINGS_CHECK(inside)
{
    const double *at = (const double *)(item->base + item->row->offset);
    for (int a = 0; a < tree_count(item->node); a++) {
        if (settings_axis_used(settings, a)) {
            TRY(settings_check_within(item, NULL, "the point lies outside the grid", a, at[a],
                                      settings->grid.lower[a], settings->grid.upper[a]));
        }
    }
    return STATUS_OK;
}

/* The ends of a cylinder or layer along its axis. */
SETTINGS_CHECK(layer)
{
    const struct shape_setting *shape = (const struct shape_setting *)item->base;
    const double lower = settings->grid.lower[shape->axis];
    const double upper = settings->grid.upper[shape->axis];
    const char *name = axis_name(shape->axis);
    if (!settings_axis_used(settings, (int)shape->axis)) {
        return STATUS_OK;
    }
    FAIL_IF(!(shape->from < shape->to),
            item_fail(item, "to", "no length in %s (from %g to %g); give a `to` above `from`", name,
                      shape->from, shape->to));
    FAIL_IF(shape->from >= upper || shape->to <= lower,
            item_fail(item, "to",
                      "outside the grid in %s (from %g to %g); the grid is from %g to %g", name,
                      shape->from, shape->to, lower, upper));
    return STATUS_OK;
}

SETTINGS_CHECK(sphere)
{
    const struct shape_setting *sphere = (const struct shape_setting *)item->base;
    double distance2 = 0;
    const bool cylinder = sphere->kind == INITIAL_CYLINDER;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (settings_axis_used(settings, axis) && !(cylinder && axis == (int)sphere->axis)) {
            const double below = settings->grid.lower[axis] - sphere->center[axis];
            const double above = sphere->center[axis] - settings->grid.upper[axis];
            const double gap = fmax(fmax(below, above), 0);
            distance2 += gap * gap;
        }
    }
    FAIL_IF(sqrt(distance2) >= sphere->radius,
            item_fail(item, "center",
                      "the %s lies outside the grid (it is %g m away, the radius is %g m); give "
                      "a centre nearer to the grid or a larger radius",
                      cylinder ? "cylinder" : "sphere", sqrt(distance2), sphere->radius));
    return cylinder ? settings_check_layer(settings, item) : STATUS_OK;
}

SETTINGS_CHECK(box)
{
    const char *members = item_members(item);
    const double *from = (double *)(item->base + schema_child(members, "lower", 0)->offset);
    const double *to = (double *)(item->base + schema_child(members, "upper", 0)->offset);
    static const char outside[] = "the box lies outside the grid";
    for (int axis = 0; item->node != NULL && axis < AXIS_COUNT; axis++) {
        const double lower = settings->grid.lower[axis];
        const double upper = settings->grid.upper[axis];
        const double tolerance = OUTSIDE_TOLERANCE * (upper - lower);
        if (!settings_axis_used(settings, axis)) {
            continue;
        }
        FAIL_IF(!(from[axis] < to[axis]),
                item_fail(item, "upper",
                          "the box has no length in %s (from %g to %g); give an upper corner "
                          "above the lower one",
                          axis_name((enum axis)axis), from[axis], to[axis]));
        const bool low_out = from[axis] < lower - tolerance || from[axis] >= upper;
        const bool high_out = to[axis] > upper + tolerance || to[axis] <= lower;
        FAIL_IF(low_out || high_out, item_fail(item, low_out ? "lower" : "upper",
                                               "%s in %s (%g); give a value from %g to %g", outside,
                                               axis_name((enum axis)axis),
                                               low_out ? from[axis] : to[axis], lower, upper));
    }
    return STATUS_OK;
}

/* ---- single keys ---- */

SETTINGS_CHECK(kelvins)
{
    const double value = *(const double *)(item->base + item->row->offset);
    const struct number_setting *number = item_number(item);
    char text[BELOW_ZERO_TEXT];
    if ((number != NULL && number->formula != NULL) || value >= 0 ||
        settings->run.temperature == TEMPERATURE_DIFFERENCE) {
        return STATUS_OK;
    }
    return item->node != NULL && item->node->has_zero
               ? item_fail(item, NULL, "%s is %.9g K, below absolute zero; give 0 K or more",
                           item->node->text, value)
               : item_fail(item, NULL, "%s", settings_below_zero(value, text));
}

#define OF(member) offsetof(struct settings, member)

/* What keys of `time`, and the self-check, need of each other. */
SETTINGS_CHECK(time)
{
    const struct time_setting *t = &settings->time;
    const enum time_scheme scheme = t->scheme;
    const bool sts = scheme == SCHEME_STS1 || scheme == SCHEME_STS2;
    const bool varies = t->tolerance > 0 || t->max_error > 0;
    const bool open = t->dt_auto && !varies;
    const bool may_vary =
        scheme == SCHEME_STS2 || scheme == SCHEME_IMPLICIT || scheme == SCHEME_AUTO;
    const bool rounds =
        settings->run.precision == PRECISION_FLOAT32 && t->tolerance > 0 && t->tolerance < 1e-5;
    const bool checks = settings->run.self_check != 0;
    const struct {
        size_t offset; /* of the value of the key that is blamed */
        bool wrong;
        const char *what;
    } rules[] = {
        {OF(time.adapt_every), t->adapt_every != 0 && !t->dt_auto, "needs dt: auto"},
        {OF(time.scheme), sts && t->stages == 0 && open,
         "super steps need `stages`, `dt` or `tolerance`"},
        {OF(time.scheme), scheme == SCHEME_IMPLICIT && open,
         "implicit steps need `dt` or `tolerance`"},
        {OF(time.scheme), scheme != SCHEME_EULER && t->adapt_every != 0,
         "adapt_every needs scheme: euler"},
        {OF(time.stages), t->stages != 0 && !sts, "needs scheme: sts1 or sts2"},
        {OF(time.monotone), t->monotone && (scheme != SCHEME_STS2 || varies),
         "needs scheme: sts2 with a `dt` or `stages`"},
        {OF(time.backward_euler), t->backward_euler && (scheme != SCHEME_IMPLICIT || varies),
         "needs scheme: implicit with a `dt`"},
        {OF(time.tolerance), rounds,
         "the rounding errors of float32 hide such errors; at least 1e-5"},
        {OF(time.tolerance), t->tolerance != 0 && !may_vary,
         "needs scheme: sts2, implicit or auto"},
        {OF(time.max_error), t->max_error != 0 && !may_vary,
         "needs scheme: sts2, implicit or auto"},
        {OF(time.until_rate), t->until_rate > 0 && !varies, "needs a tolerance or max_error"},
        {OF(time.until_distance), t->until_distance > 0 && !varies,
         "needs a tolerance or max_error"},
        {OF(run.self_check),
         checks && (varies || scheme == SCHEME_IMPLICIT || scheme == SCHEME_STEADY ||
                    scheme == SCHEME_AUTO),
         "needs steps of a given length: scheme euler, sts1, sts2 or monotone, without tolerance"},
    };
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        FAIL_IF(rules[r].wrong && rules[r].offset == item->row->offset,
                item_fail(item, NULL, "%s", rules[r].what));
    }
    return STATUS_OK;
}

/* ---- all of them ---- */

static enum status check_item(const struct settings *settings, const struct item *item)
{
    TRY(check_others(item));
    TRY(check_members(item));
    TRY(check_formula(item));
    if (item->row->type != SCHEMA_SECTION && item->row->type != SCHEMA_LIST) {
        TRY(check_zero(settings, item, item->node));
    }
    TRY(check_points(settings, item));
    return item->row->check != NULL ? item->row->check(settings, item) : STATUS_OK;
}

enum status settings_check(struct settings *settings)
{
    SCOPED_BY(item_list_free) struct item_list list = {0};
    bool given = false;
    (void)tree_find(settings->origin->root, "run.watch.temperature", &given);
    if (settings->quantity.given && !given) {
        settings->run.temperature = TEMPERATURE_DIFFERENCE;
    }
    TRY(settings_check_axes(settings)); /* the other checks use the grid */
    TRY(check_grid(settings));
    TRY(item_list_all(settings, &list));
    for (int i = 0; i < list.count; i++) {
        const struct item *item = &list.item[i];
        TRY(origin_collect(settings->origin, check_item(settings, item)));
    }
    for (int i = 0; i < settings->ninitial; i++) {
        settings->initial[i].may_be_negative = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    }
    TRY(origin_report(settings->origin));
    return settings_give_perfusion(settings);
}
