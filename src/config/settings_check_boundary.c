/* The checks of boundary conditions and their patches. */
#include <stdio.h>
#include <string.h>

#include "config/settings_check.h"

/* Radiation, and what the condition radiates to. */
static enum status check_radiation(const struct settings *settings, const struct item *item)
{
    struct boundary_setting *boundary = (struct boundary_setting *)item->base;
    char key[TREE_KEY_BYTES];
    boundary->has_surroundings = tree_child(item->node, "surroundings") != NULL;
    if (boundary->has_surroundings && !boundary_radiates(boundary)) {
        return settings_fail(settings, settings_key_below(item, "surroundings", key),
                             "has no effect on a face that does not radiate; add an emissivity");
    }
    if (boundary_radiates(boundary) && settings->run.temperature == TEMPERATURE_DIFFERENCE) {
        return settings_fail(settings, settings_key_below(item, "emissivity", key),
                             "radiation needs absolute temperatures, but run.watch.temperature is "
                             "difference; give absolute ones, or convection with a linearized "
                             "coefficient");
    }
    return STATUS_OK;
}

SETTINGS_CHECK(face)
{
    const struct boundary_setting *boundary = (const struct boundary_setting *)item->base;
    const enum face face = (enum face)(boundary - settings->boundary);
    const enum axis axis = face_axis(face);
    const char *name = axis_name(axis);
    const bool given = boundary->kind != BOUNDARY_UNUSED;
    if (settings->grid.cells[axis] == 1 && given) {
        return settings_fail(settings, item->key, "the %s axis has one cell: leave out its faces",
                             name);
    }
    if (settings->grid.cells[axis] > 1 && !given) {
        char types[SCHEMA_TEXT_BYTES];
        schema_expectation(schema_child(item_members(item), "type", 0), types);
        return settings_fail(settings, item->key,
                             "missing: the %s axis has %lld cells, so its faces need a boundary; "
                             "give a type: %s",
                             name, (long long)settings->grid.cells[axis], types);
    }
    const enum face opposite = face_opposite(face);
    if (boundary->kind == BOUNDARY_PERIODIC &&
        settings->boundary[opposite].kind != BOUNDARY_PERIODIC &&
        settings->boundary[opposite].kind != BOUNDARY_UNUSED) {
        return settings_fail(settings, item->key,
                             "periodic, but %s is not; make both faces of the %s axis periodic, or "
                             "neither",
                             face_name(opposite), name);
    }
    if (boundary->npatches > MOST_PATCHES) {
        char key[TREE_KEY_BYTES];
        return settings_fail(settings, settings_key_below(item, "patches", key),
                             "%d patches; give at most %d", boundary->npatches, MOST_PATCHES);
    }
    return check_radiation(settings, item);
}

/* As many coordinates as a face of this grid has, or 2. */
static enum status check_coordinates(const struct settings *settings, const struct item *item,
                                     const char *shape, const char *name)
{
    const struct tree *cells = tree_child(tree_child(settings->origin->root, "grid"), "cells");
    const int wanted = tree_count(cells) - 1;
    const struct tree *node = tree_child(tree_child(item->node, shape), name);
    const int count = tree_count(node);
    if (count == wanted || count == PATCH_AXES) {
        return STATUS_OK;
    }
    char below[64];
    char key[TREE_KEY_BYTES];
    snprintf(below, sizeof below, "%s.%s", shape, name);
    return settings_fail(settings, settings_key_below(item, below, key),
                         "%d coordinate%s; give %d, one for each axis along the face", count,
                         count == 1 ? "" : "s", wanted);
}

static enum status check_shape(const struct settings *settings, const struct item *item)
{
    const struct patch_setting *patch = (const struct patch_setting *)item->base;
    const int shapes =
        (patch->has_rectangle ? 1 : 0) + (patch->has_disc ? 1 : 0) + (patch->where != NULL ? 1 : 0);
    if (shapes != 1) {
        return settings_fail(settings, item->key,
                             "%d shapes; give exactly one of: rectangle, disc, where", shapes);
    }
    if (patch->has_disc) {
        return check_coordinates(settings, item, "disc", "center");
    }
    if (patch->where != NULL) {
        return STATUS_OK;
    }
    TRY(check_coordinates(settings, item, "rectangle", "lower"));
    TRY(check_coordinates(settings, item, "rectangle", "upper"));
    for (int n = 0; n < PATCH_AXES; n++) {
        const bool given = tree_count(tree_child(tree_child(item->node, "rectangle"), "upper")) > n;
        if (given && !(patch->lower[n] < patch->upper[n])) {
            char key[TREE_KEY_BYTES];
            return settings_fail(
                settings, settings_key_below(item, "rectangle.upper", key),
                "the rectangle has no length (from %g to %g); give an upper corner "
                "above the lower one",
                patch->lower[n], patch->upper[n]);
        }
    }
    return STATUS_OK;
}

/* A name belongs to one column of history.csv. */
static enum status check_name(const struct settings *settings, const struct item *item)
{
    const struct patch_setting *patch = (const struct patch_setting *)item->base;
    char key[TREE_KEY_BYTES];
    if (patch->name == NULL) {
        return STATUS_OK;
    }
    settings_key_below(item, "name", key);
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct boundary_setting *face = &settings->boundary[f];
        if (strcmp(patch->name, face_name((enum face)f)) == 0) {
            return settings_fail(settings, key, "the name of a face; give another one");
        }
        for (int i = 0; i < face->npatches; i++) {
            const struct patch_setting *other = &face->patches[i];
            if (other == patch) {
                return STATUS_OK; /* those after it complain themselves */
            }
            if (other->name != NULL && strcmp(other->name, patch->name) == 0) {
                return settings_fail(settings, key, "a second patch with the name '%.100s'",
                                     patch->name);
            }
        }
    }
    return STATUS_OK;
}

SETTINGS_CHECK(patch)
{
    int used = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        used += settings->grid.cells[axis] > 1 ? 1 : 0;
    }
    if (used < 2) {
        return settings_fail(settings, item->key,
                             "a face of a 1D problem is one cell; give the face this condition");
    }
    TRY(check_shape(settings, item));
    TRY(check_name(settings, item));
    return check_radiation(settings, item);
}
