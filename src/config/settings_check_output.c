/* What must hold for the outputs. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/settings_check.h"

enum { KEY_BYTES = 96, NAME_BYTES = 48 };

/* `needed`: one of the two keys has to be there. */
static enum status check_cadence(const struct settings *settings, const char *section, bool needed)
{
    char every[KEY_BYTES];
    char interval[KEY_BYTES];
    snprintf(every, sizeof every, "%s.every", section);
    snprintf(interval, sizeof interval, "%s.interval", section);
    const bool in_steps = settings_node(settings, every) != NULL;
    const bool in_time = settings_node(settings, interval) != NULL;
    if (in_steps && in_time) {
        return settings_fail(settings, interval, "given together with every; give one of them");
    }
    if (needed && !in_steps && !in_time) {
        return settings_fail(settings, section,
                             "neither every (in steps) nor interval (in s); give one of them");
    }
    return STATUS_OK;
}

/* The names of files that are there anyway, and those that would meet on a file system which does
 * not tell capitals from small letters. */
static bool is_taken(const char *name)
{
    static const char *const taken[] = {"snapshots", "probes",      "history",
                                        "report",    "checkpoints", "pictures"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (strcasecmp(name, taken[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum status check_letters(const struct settings *settings, const char *key, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (strspn(name, allowed) != strlen(name) || name[0] == '-') {
        return settings_fail(settings, key,
                             "no name for a file (%.60s); use letters, digits, _ and -, and begin "
                             "with none of -",
                             name);
    }
    if (strlen(name) >= NAME_BYTES) {
        return settings_fail(settings, key, "too long (%zu letters); use at most %d", strlen(name),
                             NAME_BYTES - 1);
    }
    return STATUS_OK;
}

static enum status check_name(const struct settings *settings, const char *key, const char *name)
{
    TRY(check_letters(settings, key, name));
    if (is_taken(name)) {
        return settings_fail(settings, key,
                             "another file of the run has this name (%s); give "
                             "another one",
                             name);
    }
    return STATUS_OK;
}

/* That entry `index` of a list has a name that none before it has; `entries` are `entry_bytes`
 * long each and begin with their name; `compare` is as strcmp. */
static enum status check_is_new(const struct settings *settings, const char *list,
                                const void *entries, size_t entry_bytes, int index,
                                int (*compare)(const char *, const char *))
{
    const char *const name = *(char *const *)((const char *)entries + (size_t)index * entry_bytes);
    for (int i = 0; i < index; i++) {
        const char *const other = *(char *const *)((const char *)entries + (size_t)i * entry_bytes);
        if (compare(name, other) == 0) {
            char key[KEY_BYTES];
            snprintf(key, sizeof key, "%s[%d].name", list, index);
            return settings_fail(settings, key,
                                 "%s[%d] has this name already (%s); give another one", list, i,
                                 name);
        }
    }
    return STATUS_OK;
}

static enum status check_slice(const struct settings *settings, const char *section,
                               const struct region_setting *region)
{
    char key[KEY_BYTES];
    const enum axis axis = region->slice_axis;
    snprintf(key, sizeof key, "%s.slice.axis", section);
    if (settings->grid.cells[axis] == 1) {
        return settings_fail(settings, key,
                             "the %s axis has one cell, so that the grid is a slice already; give "
                             "an axis with more",
                             axis_name(axis));
    }
    const double lower = region->has_box ? region->lower[axis] : settings->grid.lower[axis];
    const double upper = region->has_box ? region->upper[axis] : settings->grid.upper[axis];
    snprintf(key, sizeof key, "%s.slice.at", section);
    if (!(region->slice_at >= lower && region->slice_at <= upper)) {
        return settings_fail(
            settings, key, "the plane lies outside the %s in %s (%g); give a value from %g to %g",
            region->has_box ? "box" : "grid", axis_name(axis), region->slice_at, lower, upper);
    }
    return STATUS_OK;
}

/* A field that needs a temperature needs it given. */
static enum status check_derived(const struct settings *settings, const char *section,
                                 unsigned derived)
{
    static const struct {
        enum derived_kind kind;
        const char *name, *key;
    } needs[] = {{DERIVED_ARRIVAL, "arrival_time", "output.derived.isotherm"},
                 {DERIVED_ABOVE, "time_above", "output.derived.threshold"}};
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "%s.derived", section);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if ((derived >> (unsigned)needs[i].kind & 1U) != 0 &&
            settings_node(settings, needs[i].key) == NULL) {
            return settings_fail(settings, key, "%s needs %s, which is missing; give it, in K",
                                 needs[i].name, needs[i].key);
        }
    }
    return STATUS_OK;
}

static enum status check_region(struct settings *settings, int index)
{
    struct region_setting *region = &settings->output.regions[index];
    char section[KEY_BYTES / 2];
    char key[KEY_BYTES];
    snprintf(section, sizeof section, "output.regions[%d]", index);
    snprintf(key, sizeof key, "%s.name", section);
    TRY(check_name(settings, key, region->name));
    TRY(check_is_new(settings, "output.regions", settings->output.regions, sizeof *region, index,
                     strcasecmp));
    TRY(check_cadence(settings, section, true));
    TRY(check_derived(settings, section, region->file.derived));
    snprintf(key, sizeof key, "%s.box", section);
    region->has_box = settings_node(settings, key) != NULL;
    if (region->has_box) {
        TRY(settings_check_box(settings, key, region->lower, region->upper));
    }
    snprintf(key, sizeof key, "%s.slice", section);
    region->has_slice = settings_node(settings, key) != NULL;
    if (region->has_slice) {
        TRY(check_slice(settings, section, region));
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        /* lists may be shorter than 3 */
        region->stride[a] = region->stride[a] > 0 ? region->stride[a] : 1;
    }
    return STATUS_OK;
}

static enum status check_inside(const struct settings *settings, const char *key,
                                const double at[AXIS_COUNT])
{
    TRY(settings_check_point(settings, key));
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double lower = settings->grid.lower[a];
        const double upper = settings->grid.upper[a];
        if (settings->grid.cells[a] > 1 && !(at[a] >= lower && at[a] <= upper)) {
            return settings_fail(settings, key,
                                 "the point lies outside the grid in %s (%g); give a value from %g "
                                 "to %g",
                                 axis_name((enum axis)a), at[a], lower, upper);
        }
    }
    return STATUS_OK;
}

static enum status check_probes(const struct settings *settings)
{
    char key[KEY_BYTES];
    TRY(check_cadence(settings, "output.probes", true));
    for (int i = 0; i < settings->output.probes.npoints; i++) {
        const struct probe_setting *probe = &settings->output.probes.points[i];
        snprintf(key, sizeof key, "output.probes.points[%d].name", i);
        TRY(check_letters(settings, key, probe->name));
        TRY(check_is_new(settings, "output.probes.points", settings->output.probes.points,
                         sizeof *probe, i, strcmp));
        snprintf(key, sizeof key, "output.probes.points[%d].at", i);
        TRY(check_inside(settings, key, probe->at));
    }
    return STATUS_OK;
}

static enum status check_line(const struct settings *settings, int index)
{
    const struct line_setting *line = &settings->output.lines[index];
    char section[KEY_BYTES / 2];
    char key[KEY_BYTES];
    snprintf(section, sizeof section, "output.lines[%d]", index);
    snprintf(key, sizeof key, "%s.name", section);
    TRY(check_name(settings, key, line->name));
    TRY(check_is_new(settings, "output.lines", settings->output.lines, sizeof *line, index,
                     strcasecmp));
    TRY(check_cadence(settings, section, true));
    snprintf(key, sizeof key, "%s.from", section);
    TRY(check_inside(settings, key, line->from));
    snprintf(key, sizeof key, "%s.to", section);
    return check_inside(settings, key, line->to);
}

enum status settings_check_output(struct settings *settings)
{
    const double *range = settings->output.pictures.range;
    if (!settings->output.pictures.range_auto && !(range[0] < range[1])) {
        return settings_fail(settings, "output.pictures.range",
                             "no range (from %g to %g); give the lower temperature first", range[0],
                             range[1]);
    }
    TRY(check_cadence(settings, "output.history", false)); /* has a default */
    const struct checkpoint_setting *checkpoints = &settings->output.checkpoints;
    static const char *const sections[] = {"output.snapshots", "output.checkpoints",
                                           "output.pictures"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (settings_node(settings, sections[i]) != NULL) {
            TRY(check_cadence(settings, sections[i], i != 1 || checkpoints->walltime == 0));
        }
    }
    if (settings_node(settings, "output.snapshots") != NULL) {
        TRY(check_derived(settings, "output.snapshots", settings->output.snapshots.derived));
    }
    for (int i = 0; i < settings->output.nregions; i++) {
        TRY(check_region(settings, i));
    }
    if (settings_node(settings, "output.probes") != NULL) {
        TRY(check_probes(settings));
    }
    for (int i = 0; i < settings->output.nlines; i++) {
        TRY(check_line(settings, i));
    }
    return STATUS_OK;
}
