/* The checks of boundary conditions and their patches. */
#include <stdio.h>
#include <string.h>

#include "config/check/settings_check.h"
#include "config/expression.h"

/* A file of rows over time. */
static enum status check_times(const struct item *item, struct shape_setting *factor,
                               const char *name)
{
    const struct cadence *times = &factor->times;
    char key[48];
    if (times->ntimes == 0) {
        return STATUS_OK;
    }
    snprintf(key, sizeof key, "%s.period", name);
    const double span = times->times[times->ntimes - 1] - times->times[0];
    FAIL_IF(factor->period > 0 && span > factor->period * (1 + 1e-12),
            item_fail(item, key,
                      "the times span %.9g s, more than the period; give a longer period, or "
                      "fewer times",
                      span));
    return times_to_table(item, times, factor->period, &factor->table);
}

/* The quantities of a condition that vary over the face. */
static enum status check_maps(const struct item *item, struct boundary_setting *boundary)
{
    static const char *const names[BOUNDARY_FACTORS][2] = {
        [BOUNDARY_VALUE] = {"value", "value_factor"},
        [BOUNDARY_COEFFICIENT] = {"coefficient", "coefficient_factor"},
        [BOUNDARY_AMBIENT] = {"ambient", "ambient_factor"},
    };
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        const struct number_setting *number = &boundary->number[n];
        struct shape_setting *factor = &boundary->factor[n];
        settings_set_factor(factor);
        TRY(check_times(item, factor, names[n][1]));
        boundary->is_map[n] =
            number->formula != NULL && number->table == NULL &&
            !expression_is_of(number->formula, &expression_place_time[AXIS_COUNT], 1);
        FAIL_IF(boundary->is_map[n] && factor->kind != INITIAL_UNIFORM,
                item_fail(item, names[n][1],
                          "`%s` is a formula of the position itself; give one of them: a formula "
                          "of x, y, z and t, or a formula of t with a factor for each cell",
                          names[n][0]));
        const char *text = boundary->is_map[n] ? number->formula : factor->expression;
        factor->varies =
            factor->table != NULL ||
            (text != NULL && !expression_is_of(text, expression_place_time, AXIS_COUNT));
    }
    return STATUS_OK;
}

/* The temperatures of a condition, of a face or a patch. */
static enum status check_condition(const struct settings *settings, const struct item *item)
{
    struct boundary_setting *boundary = (struct boundary_setting *)item->base;
    const bool differences = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    boundary->may_be_negative = differences;
    boundary->has_surroundings = tree_child(item->node, "surroundings") != NULL;
    TRY(check_maps(item, boundary));
    FAIL_IF(boundary->has_surroundings && !boundary_radiates(boundary),
            item_fail(item, "surroundings",
                      "has no effect on a face that does not radiate; add an emissivity"));
    FAIL_IF(boundary_radiates(boundary) && differences,
            item_fail(item, "emissivity",
                      "radiation needs absolute temperatures, but run.watch.temperature is "
                      "difference; give absolute ones, or convection with a linearized "
                      "coefficient"));
    return STATUS_OK;
}

SETTINGS_CHECK(face)
{
    const struct boundary_setting *boundary = (const struct boundary_setting *)item->base;
    const enum face face = (enum face)(boundary - settings->boundary);
    const enum axis axis = face_axis(face);
    const char *name = axis_name(axis);
    const bool given = boundary->kind != BOUNDARY_UNUSED;
    const bool used = settings_axis_used(settings, (int)axis);
    FAIL_IF(!used && given,
            item_fail(item, NULL, "the %s axis has one cell: leave out its faces", name));
    if (used && !given) {
        char types[SCHEMA_TEXT_BYTES];
        schema_expectation(schema_child(item_members(item), "type", 0), types);
        return item_fail(item, NULL,
                         "missing: the %s axis has %lld cells, so its faces need a boundary; give "
                         "a type: %s",
                         name, (long long)settings->grid.cells[axis], types);
    }
    const enum face opposite = face_opposite(face);
    FAIL_IF(boundary->kind == BOUNDARY_PERIODIC &&
                settings->boundary[opposite].kind != BOUNDARY_PERIODIC &&
                settings->boundary[opposite].kind != BOUNDARY_UNUSED,
            item_fail(item, NULL,
                      "periodic, but %s is not; make both faces of the %s axis periodic, or "
                      "neither",
                      face_name(opposite), name));
    return check_condition(settings, item);
}

static enum status check_shape(const struct item *item, const struct patch_setting *patch)
{
    const struct tree *upper = tree_child(tree_child(item->node, "rectangle"), "upper");
    const int shapes =
        (patch->has_rectangle ? 1 : 0) + (patch->has_disc ? 1 : 0) + (patch->where != NULL ? 1 : 0);
    FAIL_IF(
        shapes != 1,
        item_fail(item, NULL, "%d shapes; give exactly one of: rectangle, disc, where", shapes));
    for (int n = 0; upper != NULL && n < PATCH_AXES && n < tree_count(upper); n++) {
        FAIL_IF(!(patch->lower[n] < patch->upper[n]),
                item_fail(item, "rectangle.upper",
                          "the rectangle has no length (from %g to %g); give an upper corner "
                          "above the lower one",
                          patch->lower[n], patch->upper[n]));
    }
    return STATUS_OK;
}

/* A name belongs to one column of history.csv. */
static enum status check_name(const struct settings *settings, const struct item *item,
                              const struct patch_setting *patch)
{
    for (int f = 0; patch->name != NULL && f < FACE_COUNT; f++) {
        const struct boundary_setting *face = &settings->boundary[f];
        FAIL_IF(strcmp(patch->name, face_name((enum face)f)) == 0,
                item_fail(item, "name", "the name of a face; give another one"));
        for (int i = 0; i < face->npatches; i++) {
            const struct patch_setting *other = &face->patches[i];
            if (other == patch) {
                return STATUS_OK; /* those after it complain themselves */
            }
            FAIL_IF(other->name != NULL && strcmp(other->name, patch->name) == 0,
                    item_fail(item, "name", "a second patch with the name '%.100s'", patch->name));
        }
    }
    return STATUS_OK;
}

SETTINGS_CHECK(patch)
{
    const struct patch_setting *patch = (const struct patch_setting *)item->base;
    int used = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        used += settings_axis_used(settings, axis) ? 1 : 0;
    }
    FAIL_IF(
        used < 2,
        item_fail(item, NULL, "a face of a 1D problem is one cell; give the face this condition"));
    TRY(check_shape(item, patch));
    TRY(check_name(settings, item, patch));
    return check_condition(settings, item);
}
