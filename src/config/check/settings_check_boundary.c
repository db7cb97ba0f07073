/* The checks of boundary conditions and their patches. */
#include <string.h>

#include "config/check/settings_check.h"

/* The temperatures of a condition, of a face or a patch. */
static enum status check_condition(const struct settings *settings, const struct item *item)
{
    struct boundary_setting *boundary = (struct boundary_setting *)item->base;
    const bool differences = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    boundary->may_be_negative = differences;
    boundary->has_surroundings = tree_child(item->node, "surroundings") != NULL;
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        settings_set_factor(&boundary->factor[n]);
    }
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
