#include "config/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/read/settings_tree.h"
#include "config/schema/schema.h"

void settings_destroy(struct settings *settings)
{
    if (settings == NULL) {
        return;
    }
    free(settings->text);
    origin_destroy(settings->origin);
    free(settings);
}

void settings_release(struct settings **settings)
{
    settings_destroy(*settings);
}

enum status settings_place(struct settings_origin *origin, enum status status, const char *format,
                           ...)
{
    char key[TREE_KEY_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof key, format, args);
    va_end(args);
    if (status != STATUS_INPUT && status != STATUS_FILE) {
        return status;
    }
    FAIL_IF(origin == NULL, fail_prefix(status, "%s: ", key));
    bool exact;
    const struct tree *node = tree_find(origin->root, key, &exact);
    return origin_place(origin, node, key, status);
}

const char *settings_below_zero(double kelvins, char text[BELOW_ZERO_TEXT])
{
    char celsius[64] = "; ";
    if (kelvins >= -273.15) {
        snprintf(celsius, sizeof celsius, "; did you mean %.9g (%.9g degC)? ", kelvins + 273.15,
                 kelvins);
    }
    snprintf(text, BELOW_ZERO_TEXT,
             "kelvins? %.9g K is below absolute zero%sfor a field of temperature differences give "
             "run.watch.temperature: difference",
             kelvins, celsius);
    return text;
}

const struct cadence *settings_cadence(const struct output_setting *output, int index,
                                       char key[CADENCE_KEY_BYTES])
{
    const char *section = (const char *)output;
    const size_t start = offsetof(struct settings, output);
    const struct schema_key *list = NULL; /* whose entries the next rows with [] are of */
    for (const struct schema_key *row = schema_table(); row->path != NULL; row++) {
        list = row->type == SCHEMA_LIST ? row : list;
        if ((row->flags & SCHEMA_CADENCE) == 0) {
            continue;
        }
        const bool listed = strstr(row->path, "[]") != NULL;
        const int count = listed ? *(const int *)(section + list->alternative - start) : 1;
        if (index >= count) {
            index -= count;
            continue;
        }
        if (!listed) {
            const int length = (int)(strlen(row->path) - strlen(".every"));
            snprintf(key, CADENCE_KEY_BYTES, "%.*s", length, row->path);
            return (const struct cadence *)(section + row->offset - start);
        }
        const char *entries = *(char *const *)(section + list->offset - start);
        snprintf(key, CADENCE_KEY_BYTES, "%s[%d]", list->path, index);
        return (const struct cadence *)(entries + (size_t)index * list->entry_bytes + row->offset);
    }
    return NULL;
}

bool surface_setting_exchanges(const struct surface_setting *surface)
{
    const struct boundary_setting *is = &surface->condition;
    return is->kind == BOUNDARY_TEMPERATURE || is->emissivity > 0 ||
           is->number[BOUNDARY_VALUE].formula != NULL || is->number[BOUNDARY_VALUE].value != 0 ||
           is->number[BOUNDARY_COEFFICIENT].formula != NULL ||
           is->number[BOUNDARY_AMBIENT].formula != NULL;
}

bool boundary_setting_has_factors(const struct boundary_setting *setting)
{
    bool any = false;
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        any = any || setting->is_map[n] || setting->factor[n].kind != INITIAL_UNIFORM;
    }
    return any;
}

bool boundary_setting_has_maps(const struct boundary_setting *setting)
{
    bool any = false;
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        any = any || setting->is_map[n];
    }
    return any;
}
