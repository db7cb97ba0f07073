/* The checks of the outputs. */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "config/check/settings_check.h"

enum { NAME_BYTES = 48, NAMES_BYTES = 300 };

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

static enum status check_letters(const struct item *entry, const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (strspn(name, allowed) != strlen(name) || name[0] == '-') {
        return item_fail(
            entry, "name",
            "not a valid file name (%.60s); use letters, digits, _ and -, and do not begin with -",
            name);
    }
    return strlen(name) < NAME_BYTES
               ? STATUS_OK
               : item_fail(entry, "name", "too long (%zu characters); use at most %d", strlen(name),
                           NAME_BYTES - 1);
}

enum status settings_check_is_new(const struct item *entry,
                                  int (*compare)(const char *, const char *))
{
    const char *const name = *(char *const *)entry->base;
    for (int before = entry->index - 1; before >= 0; before--) {
        const char *other = entry->base - (size_t)(entry->index - before) * entry->row->entry_bytes;
        FAIL_IF(compare(name, *(char *const *)other) == 0,
                item_fail(entry, "name", "%s[%d] already has this name (%s); choose another",
                          entry->row->path, before, name));
    }
    return STATUS_OK;
}

SETTINGS_CHECK(file)
{
    const char *const name = *(char *const *)item->base;
    TRY(check_letters(item, name));
    FAIL_IF(is_reserved(name),
            item_fail(item, "name",
                      "reserved for the run's own files (%s); give another name than " RESERVED,
                      name));
    return settings_check_is_new(item, strcasecmp);
}

SETTINGS_CHECK(probe)
{
    TRY(check_letters(item, *(char *const *)item->base));
    return settings_check_is_new(item, strcmp);
}

enum status settings_look_up(const struct settings *settings, const struct item *item,
                             const char *below, const char *name, const char *list, size_t place,
                             const char *noun, int *number)
{
    char known[NAMES_BYTES] = "";
    bool whole = true;
    const struct schema_key *row = schema_table();
    while (strcmp(row->path, list) != 0) {
        row++;
    }
    const char *entry = *(char *const *)((const char *)settings + row->offset);
    const int count = *(const int *)((const char *)settings + row->alternative);
    FAIL_IF(count == 0, item_fail(item, below, "needs the list %ss", noun));
    for (int i = 0; i < count; i++, entry += row->entry_bytes) {
        const char *other = *(char *const *)(entry + place);
        if (other != NULL && strcmp(name, other) == 0) {
            *number = i;
            return STATUS_OK;
        }
        whole = strlen(known) < NAMES_BYTES - 50;
        if (other != NULL && whole) {
            text_add(known, sizeof known, ", ", "%.40s", other);
        }
    }
    return item_fail(item, below, "no %s has the name '%.100s'; %ss: %s%s", noun, name, noun,
                     known[0] != '\0' ? known : "none", whole ? "" : ", ...");
}

SETTINGS_CHECK(impedance_to)
{
    const struct probe_setting *probe = (const struct probe_setting *)item->base;
    int number = 0;
    FAIL_IF(probe->to != NULL && strcmp(probe->to, probe->name) == 0,
            item_fail(item, NULL, "the probe itself (%.100s); give another one", probe->to));
    return probe->to == NULL
               ? STATUS_OK
               : settings_look_up(settings, item, NULL, probe->to, "output.probes.points",
                                  offsetof(struct probe_setting, name), "probe", &number);
}

SETTINGS_CHECK(impedance)
{
    return item->node == NULL || settings->nsources > 0
               ? STATUS_OK
               : item_fail(item, NULL,
                           "there is no power to divide by; give the heat source in `sources`");
}

SETTINGS_CHECK(impedance_source)
{
    const struct probe_setting *probe = (const struct probe_setting *)item->base;
    int number = 0;
    return probe->source == NULL || settings->nsources == 0
               ? STATUS_OK
               : settings_look_up(settings, item, NULL, probe->source, "sources",
                                  offsetof(struct source_setting, name), "source", &number);
}

SETTINGS_CHECK(slice)
{
    const struct region_setting *region = (const struct region_setting *)item->base;
    const enum axis axis = region->slice_axis;
    if (item->node == NULL) {
        return STATUS_OK;
    }
    FAIL_IF(!settings_axis_used(settings, (int)axis),
            item_fail(item, "axis",
                      "the %s axis has one cell, so the grid is already a slice; give an axis "
                      "with more cells",
                      axis_name(axis)));
    return settings_check_within(
        item, "at",
        region->has_box ? "the plane lies outside the box" : "the plane lies outside the grid",
        (int)axis, region->slice_at,
        region->has_box ? region->lower[axis] : settings->grid.lower[axis],
        region->has_box ? region->upper[axis] : settings->grid.upper[axis]);
}

/* Does `what` know the temperature of melting? */
static enum status check_melting(const struct settings *settings, const struct item *item,
                                 const char *what)
{
    const double melting = settings_melting(settings);
    for (int m = 0; settings->output.melting_auto && m < settings->nmaterials; m++) {
        const struct material_setting *material = &settings->materials[m];
        FAIL_IF(material->melts && material->solidus != melting,
                item_fail(item, NULL,
                          "%s needs output.melting: materials melt at %g and at %g K; give "
                          "it, in K",
                          what, melting, material->solidus));
    }
    return !isnan(melting) ? STATUS_OK
                           : item_fail(item, NULL,
                                       "%s needs output.melting, as no material has "
                                       "latent_heat; give it, in K",
                                       what);
}

SETTINGS_CHECK(melt_pool)
{
    return settings->output.history_melt_pool == TRUTH_YES
               ? check_melting(settings, item, "melt_pool")
               : STATUS_OK;
}

static bool wants(unsigned derived, enum derived_kind kind)
{
    return (derived >> (unsigned)kind & 1U) != 0;
}

SETTINGS_CHECK(derived)
{
    static const struct {
        enum derived_kind kind;
        const char *name, *key;
    } needs[] = {{DERIVED_ARRIVAL, "arrival_time", "output.derived.isotherm"},
                 {DERIVED_COOLING, "cooling_rate", "output.derived.cooling"},
                 {DERIVED_ABOVE, "time_above", "output.derived.threshold"}};
    const unsigned derived = *(const unsigned *)(item->base + item->row->offset);
    bool melts = false;
    for (int m = 0; m < settings->nmaterials; m++) {
        melts = melts || settings->materials[m].melts;
    }
    FAIL_IF(wants(derived, DERIVED_LIQUID) && !melts,
            item_fail(item, NULL, "liquid_fraction needs a material with latent_heat"));
    FAIL_IF(wants(derived, DERIVED_MATERIAL) && settings->nmaterials + settings->nambients < 2,
            item_fail(item, NULL, "material needs two materials or more"));
    FAIL_IF(wants(derived, DERIVED_DOSE) && settings->run.temperature == TEMPERATURE_DIFFERENCE,
            item_fail(item, NULL,
                      "CEM43 needs absolute temperatures, not run.watch.temperature: difference"));
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        bool given = false;
        bool at_isotherm = false;
        (void)tree_find(settings->origin->root, needs[i].key, &given);
        (void)tree_find(settings->origin->root, "output.derived.isotherm", &at_isotherm);
        given = given || (at_isotherm && needs[i].kind == DERIVED_COOLING);
        FAIL_IF(wants(derived, needs[i].kind) && !given,
                item_fail(item, NULL, "%s needs %s, which is missing; give it, in K", needs[i].name,
                          needs[i].key));
    }
    return wants(derived, DERIVED_MELTED) || wants(derived, DERIVED_FROZEN) ||
                   wants(derived, DERIVED_MELTINGS)
               ? check_melting(settings, item, "a time or number of meltings")
               : STATUS_OK;
}

SETTINGS_CHECK(range)
{
    const double *range = (const double *)(item->base + item->row->offset);
    const bool falls = range == settings->output.derived.cooling;
    const bool is_auto = falls ? item->node == NULL : settings->output.pictures.range_auto;
    FAIL_IF(!is_auto && !(falls ? range[0] > range[1] : range[0] < range[1]),
            item_fail(item, NULL, "not a range (from %g to %g); give the %s temperature first",
                      range[0], range[1], falls ? "upper" : "lower"));
    return STATUS_OK;
}
