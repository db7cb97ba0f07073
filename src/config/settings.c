#include "config/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/settings_tree.h"

void settings_destroy(struct settings *settings)
{
    if (settings == NULL) {
        return;
    }
    free(settings->text);
    origin_destroy(settings->origin);
    free(settings);
}

enum status settings_fail(const struct settings *settings, const char *key, const char *format, ...)
{
    char message[STATUS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (settings->origin == NULL) {
        /* not read from a file, as in `verify` */
        return fail(STATUS_INPUT, "%s: %s", key, message);
    }
    bool exact;
    const struct tree *node = tree_find(settings->origin->root, key, &exact);
    return origin_fail(settings->origin, node, key, "%s", message);
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

const struct cadence *settings_cadence(const struct settings *settings, int index,
                                       char key[CADENCE_KEY_BYTES])
{
    const struct {
        const char *key;
        const struct cadence *cadence;
    } single[] = {
        {"output.snapshots", &settings->output.snapshots.cadence},
        {"output.history", &settings->output.history},
        {"output.probes", &settings->output.probes.cadence},
        {"output.checkpoints", &settings->output.checkpoints.cadence},
        {"output.pictures", &settings->output.pictures.cadence},
    };
    const int nsingle = (int)(sizeof single / sizeof single[0]);
    if (index < nsingle) {
        snprintf(key, CADENCE_KEY_BYTES, "%s", single[index].key);
        return single[index].cadence;
    }
    index -= nsingle;
    if (index < settings->output.nregions) {
        snprintf(key, CADENCE_KEY_BYTES, "output.regions[%d]", index);
        return &settings->output.regions[index].file.cadence;
    }
    index -= settings->output.nregions;
    if (index < settings->output.nlines) {
        snprintf(key, CADENCE_KEY_BYTES, "output.lines[%d]", index);
        return &settings->output.lines[index].cadence;
    }
    return NULL;
}
