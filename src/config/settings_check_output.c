/* The checks of the outputs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/settings_check.h"

enum { NAME_BYTES = 48, NAMES_BYTES = 300 };

SETTINGS_CHECK(cadence)
{
    char key[TREE_KEY_BYTES];
    const bool in_steps = tree_child(item->node, "every") != NULL;
    const bool in_time = tree_child(item->node, "interval") != NULL;
    const bool by_clock = tree_child(item->node, "walltime") != NULL;
    const bool by_default = schema_child(item_members(item), "every", 0)->fallback != NULL;
    if (in_steps && in_time) {
        return settings_fail(settings, settings_key_below(item, "interval", key),
                             "given together with every; give one of them");
    }
    if (item->node != NULL && !in_steps && !in_time && !by_clock && !by_default) {
        return settings_fail(settings, item->key,
                             "neither every (in steps) nor interval (in s); give one of them");
    }
    return STATUS_OK;
}

/* The run's own files and folders, run.lock among them; a folder `stop` would end the run. In
 * capitals they are the same on some file systems. */
#define RESERVED "checkpoints, history, pictures, postmortem, probes, report, run, snapshots, stop"

static bool is_reserved(const char *name)
{
    const size_t length = strlen(name);
    for (const char *word = RESERVED; word != NULL; word = strchr(word, ' ')) {
        word += word[0] == ' ';
        if (strncasecmp(word, name, length) == 0 && strcspn(word, ",") == length) {
            return true;
        }
    }
    return strcasecmp(name, "report") == 0;
}

static enum status check_letters(const struct settings *settings, const char *key, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (strspn(name, allowed) != strlen(name) || name[0] == '-') {
        return settings_fail(
            settings, key,
            "not a valid file name (%.60s); use letters, digits, _ and -, and do not begin with -",
            name);
    }
    if (strlen(name) >= NAME_BYTES) {
        return settings_fail(settings, key, "too long (%zu characters); use at most %d",
                             strlen(name), NAME_BYTES - 1);
    }
    return STATUS_OK;
}

/* Checks that no earlier entry of the list has this name. Entries begin with their name; `compare`
 * works as strcmp. */
static enum status check_is_new(const struct settings *settings, const struct item *entry,
                                int (*compare)(const char *, const char *))
{
    char key[TREE_KEY_BYTES];
    const char *const name = *(char *const *)entry->base;
    for (int before = entry->index - 1; before >= 0; before--) {
        const char *other = entry->base - (size_t)(entry->index - before) * entry->row->entry_bytes;
        if (compare(name, *(char *const *)other) == 0) {
            return settings_fail(settings, settings_key_below(entry, "name", key),
                                 "%s[%d] already has this name (%s); choose another",
                                 entry->row->path, before, name);
        }
    }
    return STATUS_OK;
}

SETTINGS_CHECK(file)
{
    char key[TREE_KEY_BYTES];
    const char *const name = *(char *const *)item->base;
    settings_key_below(item, "name", key);
    TRY(check_letters(settings, key, name));
    if (is_reserved(name)) {
        return settings_fail(
            settings, key,
            "reserved for the run's own files (%s); give another name than " RESERVED, name);
    }
    TRY(check_is_new(settings, item, strcasecmp));
    return settings_check_cadence(settings, item);
}

SETTINGS_CHECK(probe)
{
    char key[TREE_KEY_BYTES];
    TRY(check_letters(settings, settings_key_below(item, "name", key), *(char *const *)item->base));
    return check_is_new(settings, item, strcmp);
}

/* "die, board": those of `count` structs of `bytes` that have one; `first`: of the first. */
static const char *list_names(char *const *first, size_t bytes, int count, char text[NAMES_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used < NAMES_BYTES - 50; i++) {
        const char *name = *(char *const *)(const void *)((const char *)first + (size_t)i * bytes);
        if (name != NULL) {
            used += (size_t)snprintf(text + used, NAMES_BYTES - used, "%s%.40s",
                                     used > 0 ? ", " : "", name);
        }
    }
    return used > 0 ? text : "none";
}

static enum status check_reference(const struct settings *settings, const struct item *item,
                                   const struct probe_setting *probe)
{
    const struct probe_setting *points = settings->output.probes.points;
    const int npoints = settings->output.probes.npoints;
    char key[TREE_KEY_BYTES];
    char names[NAMES_BYTES];
    if (probe->to == NULL) {
        return probe->has_reference
                   ? STATUS_OK
                   : settings_fail(settings, item->key,
                                   "without a reference; give `reference`, a temperature in K, or "
                                   "`to`, the name of another probe");
    }
    settings_key_below(item, "to", key);
    if (probe->has_reference) {
        return settings_fail(settings, key, "given together with reference; give one of them");
    }
    if (strcmp(probe->to, probe->name) == 0) {
        return settings_fail(settings, key, "the probe itself (%.100s); give another one",
                             probe->to);
    }
    for (int p = 0; p < npoints; p++) {
        if (strcmp(probe->to, points[p].name) == 0) {
            return STATUS_OK;
        }
    }
    return settings_fail(settings, key, "no probe has the name '%.100s'; probes: %s", probe->to,
                         list_names(&points[0].name, sizeof *points, npoints, names));
}

SETTINGS_CHECK(impedance)
{
    const struct probe_setting *probe = (const struct probe_setting *)item->base;
    const struct source_setting *sources = settings->sources;
    char key[TREE_KEY_BYTES];
    char names[NAMES_BYTES];
    if (!probe->has_impedance) {
        return STATUS_OK;
    }
    TRY(check_reference(settings, item, probe));
    if (settings->nsources == 0) {
        return settings_fail(settings, item->key,
                             "there is no power to divide by; give the heat source in `sources`");
    }
    for (int s = 0; s < settings->nsources; s++) {
        const char *name = sources[s].name;
        if (probe->source == NULL || (name != NULL && strcmp(probe->source, name) == 0)) {
            return STATUS_OK;
        }
    }
    return settings_fail(settings, settings_key_below(item, "source", key),
                         "no source has the name '%.100s'; names of sources: %s", probe->source,
                         list_names(&sources[0].name, sizeof *sources, settings->nsources, names));
}

SETTINGS_CHECK(slice)
{
    const struct region_setting *region = (const struct region_setting *)item->base;
    char key[TREE_KEY_BYTES];
    if (item->node == NULL) {
        return STATUS_OK;
    }
    const enum axis axis = region->slice_axis;
    settings_key_below(item, "axis", key);
    if (settings->grid.cells[axis] == 1) {
        return settings_fail(settings, key,
                             "the %s axis has one cell, so the grid is already a slice; give an "
                             "axis with more cells",
                             axis_name(axis));
    }
    const double lower = region->has_box ? region->lower[axis] : settings->grid.lower[axis];
    const double upper = region->has_box ? region->upper[axis] : settings->grid.upper[axis];
    settings_key_below(item, "at", key);
    if (!(region->slice_at >= lower && region->slice_at <= upper)) {
        return settings_fail(
            settings, key, "the plane lies outside the %s in %s (%g); give a value from %g to %g",
            region->has_box ? "box" : "grid", axis_name(axis), region->slice_at, lower, upper);
    }
    return STATUS_OK;
}

/* Does `what` know the temperature of melting? */
static enum status check_melting(const struct settings *settings, const char *key, const char *what)
{
    const double melting = settings_melting(settings);
    for (int m = 0; settings->output.melting_auto && m < settings->nmaterials; m++) {
        const struct material_setting *material = &settings->materials[m];
        if (material->melts && material->solidus != melting) {
            return settings_fail(settings, key,
                                 "%s needs output.melting: materials melt at %g and at %g K; give "
                                 "it, in K",
                                 what, melting, material->solidus);
        }
    }
    return !isnan(melting) ? STATUS_OK
                           : settings_fail(settings, key,
                                           "%s needs output.melting, as no material has "
                                           "latent_heat; give it, in K",
                                           what);
}

SETTINGS_CHECK(melt_pool)
{
    return settings->output.history_melt_pool == TRUTH_YES
               ? check_melting(settings, item->key, "melt_pool")
               : STATUS_OK;
}

static bool is_given(const struct settings *settings, const char *key)
{
    bool given = false;
    (void)tree_find(settings->origin->root, key, &given);
    return given;
}

SETTINGS_CHECK(derived)
{
    static const struct {
        enum derived_kind kind;
        const char *name, *key;
    } needs[] = {{DERIVED_ARRIVAL, "arrival_time", "output.derived.isotherm"},
                 {DERIVED_COOLING, "cooling_rate", "output.derived.isotherm"},
                 {DERIVED_ABOVE, "time_above", "output.derived.threshold"}};
    const unsigned derived = *(const unsigned *)(item->base + item->row->offset);
    const unsigned melting = 1U << DERIVED_MELTED | 1U << DERIVED_FROZEN | 1U << DERIVED_MELTINGS;
    bool melts = false;
    for (int m = 0; m < settings->nmaterials; m++) {
        melts = melts || settings->materials[m].melts;
    }
    if ((derived >> (unsigned)DERIVED_LIQUID & 1U) != 0 && !melts) {
        return settings_fail(settings, item->key,
                             "liquid_fraction needs a material with latent_heat");
    }
    if ((derived >> (unsigned)DERIVED_MATERIAL & 1U) != 0 && settings->nmaterials < 2) {
        return settings_fail(settings, item->key, "material needs two materials or more");
    }
    if ((derived >> (unsigned)DERIVED_DOSE & 1U) != 0 &&
        settings->run.temperature == TEMPERATURE_DIFFERENCE) {
        return settings_fail(settings, item->key,
                             "CEM43 needs absolute temperatures, not run.watch.temperature: "
                             "difference");
    }
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if ((derived >> (unsigned)needs[i].kind & 1U) != 0 && !is_given(settings, needs[i].key)) {
            return settings_fail(settings, item->key,
                                 "%s needs %s, which is missing; give it, in K", needs[i].name,
                                 needs[i].key);
        }
    }
    return (derived & melting) != 0
               ? check_melting(settings, item->key, "a time or number of meltings")
               : STATUS_OK;
}

SETTINGS_CHECK(inside)
{
    const double *at = (const double *)(item->base + item->row->offset);
    TRY(settings_check_point(settings, item->key, item->node));
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double lower = settings->grid.lower[a];
        const double upper = settings->grid.upper[a];
        if (settings->grid.cells[a] > 1 && !(at[a] >= lower && at[a] <= upper)) {
            return settings_fail(settings, item->key,
                                 "the point lies outside the grid in %s (%g); give a value from %g "
                                 "to %g",
                                 axis_name((enum axis)a), at[a], lower, upper);
        }
    }
    return STATUS_OK;
}

SETTINGS_CHECK(range)
{
    const double *range = settings->output.pictures.range;
    if (!settings->output.pictures.range_auto && !(range[0] < range[1])) {
        return settings_fail(settings, item->key,
                             "not a range (from %g to %g); give the lower temperature first",
                             range[0], range[1]);
    }
    return STATUS_OK;
}
