#include "model/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/settings_tree.h"

void settings_destroy(struct settings *settings)
{
    if (settings == NULL) {
        return;
    }
    for (int i = 0; i < settings->ninitial; i++) {
        free(settings->initial[i].expression);
        free(settings->initial[i].path);
        free(settings->initial[i].dataset);
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        free(settings->boundary[face].expression);
    }
    free(settings->initial);
    free(settings->title);
    free(settings->run.backend);
    free(settings->run.transport);
    free(settings->output.directory);
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
        /* settings that a program filled in itself, as verify does */
        return fail(STATUS_INPUT, "%s: %s", key, message);
    }
    bool exact;
    const struct tree *node = tree_find(settings->origin->root, key, &exact);
    return origin_fail(settings->origin, node, key, "%s", message);
}
