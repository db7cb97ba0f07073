/* libFuzzer on the configuration reader: any bytes are a configuration that is read, or one that is
 * refused with a message. Lines "#set KEY=VALUE" at the start act as --set. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"

enum { MOST_SETS = 8, SET_BYTES = 256 };

struct sets {
    char text[MOST_SETS][SET_BYTES];
    const char *list[MOST_SETS];
    int count;
};

static void find_sets(const uint8_t *data, size_t size, struct sets *sets)
{
    static const char mark[] = "#set ";
    const size_t mark_bytes = sizeof mark - 1;
    sets->count = 0;
    while (sets->count < MOST_SETS && size > mark_bytes && memcmp(data, mark, mark_bytes) == 0) {
        const uint8_t *end = memchr(data, '\n', size);
        const size_t line = end == NULL ? size : (size_t)(end - data);
        const size_t bytes = line - mark_bytes;
        char *text = sets->text[sets->count];
        snprintf(text, SET_BYTES, "%.*s", (int)bytes, (const char *)data + mark_bytes);
        sets->list[sets->count++] = text;
        data += line + (end != NULL);
        size -= line + (end != NULL);
    }
}

static void complain(const char *what)
{
    fprintf(stderr, "%s: \"%s\"\n", what, fail_message());
    abort();
}

/* Lines for a person. */
static void check_message(enum status status)
{
    const char *message = fail_message();
    if (status != STATUS_INPUT && status != STATUS_FILE) {
        complain("refused for a reason that is not the user's");
    }
    if (message[0] == '\0') {
        complain("refused without a message");
    }
    for (const char *c = message; *c != '\0'; c++) {
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f) {
            complain("a message with control characters");
        }
    }
}

/* The effective configuration, which goes into every file, is one that says the same. */
static void check_text(const struct settings *settings)
{
    struct settings *again = NULL;
    if (settings_read_text("again", settings->text, NULL, 0, &again) != STATUS_OK) {
        complain("its own text is refused");
    }
    if (strcmp(again->text, settings->text) != 0) {
        complain("its own text reads as another configuration");
    }
    settings_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sets sets;
    struct settings *settings = NULL;
    find_sets(data, size, &sets);
    const struct settings_overrides words = {.sets = sets.list, .nsets = sets.count};
    fail_clear();
    const enum status status =
        settings_read_bytes("fuzz.yaml", (const char *)data, size, &words, &settings);
    if (status != STATUS_OK) {
        check_message(status);
    } else {
        check_text(settings);
    }
    settings_destroy(settings);
    return 0;
}
