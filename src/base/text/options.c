#include "base/text/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The arguments still to be read; `attached` is the value of --name=value. */
struct cursor {
    int argc;
    char **argv;
    int next;
    const char *attached;
    const char *option;
};

static enum status take_word(struct cursor *cursor, const char **word)
{
    if (cursor->attached != NULL) {
        *word = cursor->attached;
        cursor->attached = NULL;
        return STATUS_OK;
    }
    FAIL_IF(cursor->next >= cursor->argc,
            fail(STATUS_INPUT, "%s needs a value; see --help", cursor->option));
    *word = cursor->argv[cursor->next++];
    return STATUS_OK;
}

static enum status take_count(struct cursor *cursor, int64_t *count)
{
    const char *word = NULL;
    TRY(take_word(cursor, &word));
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(word, &end, 10);
    FAIL_IF(end == word || *end != '\0' || errno != 0 || value < 1,
            fail(STATUS_INPUT, "%s: '%s' is not a positive integer", cursor->option, word));
    *count = value;
    return STATUS_OK;
}

static enum status take_real(struct cursor *cursor, double *number)
{
    const char *word = NULL;
    TRY(take_word(cursor, &word));
    char *end = NULL;
    const double value = strtod(word, &end);
    FAIL_IF(end == word || *end != '\0' || !(value >= 0),
            fail(STATUS_INPUT, "%s: '%s' is not a non-negative number", cursor->option, word));
    *number = value;
    return STATUS_OK;
}

static enum status take_value(struct cursor *cursor, const struct option *option)
{
    switch (option->kind) {
    case OPTION_FLAG:
        FAIL_IF(cursor->attached != NULL, fail(STATUS_INPUT, "%s takes no value", option->name));
        *(bool *)option->target = true;
        return STATUS_OK;
    case OPTION_STRING:
        return take_word(cursor, (const char **)option->target);
    case OPTION_NAME:
        return take_word(cursor, &((struct option_name *)option->target)->name);
    case OPTION_LIST: {
        struct option_list *list = (struct option_list *)option->target;
        FAIL_IF(
            list->count == OPTIONS_MAX_LIST,
            fail(STATUS_INPUT, "%s may be given at most %d times", option->name, OPTIONS_MAX_LIST));
        return take_word(cursor, &list->item[list->count++]);
    }
    case OPTION_COUNT:
        return take_count(cursor, (int64_t *)option->target);
    case OPTION_REAL:
        return take_real(cursor, (double *)option->target);
    case OPTION_SIZE:
        for (int i = 0; i < 3; i++) {
            TRY(take_count(cursor, (int64_t *)option->target + i));
        }
        return STATUS_OK;
    case OPTION_END:
        break;
    }
    return fail(STATUS_INPUT, "%s cannot be used", option->name);
}

static enum status unknown_option(const struct command_line *line, const char *word)
{
    char known[512] = "--help";
    for (const struct option *o = line->options; o->kind != OPTION_END; o++) {
        if (options_shown(line, o)) {
            text_add(known, sizeof known, ", ", "%s", o->name);
        }
    }
    return fail(STATUS_INPUT, "unknown option '%s'; valid options: %s", word, known);
}

static enum status parse_option(const struct command_line *line, struct cursor *cursor)
{
    const char *word = cursor->argv[cursor->next++];
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    for (const struct option *o = line->options; o->kind != OPTION_END; o++) {
        if (options_shown(line, o) && strlen(o->name) == length &&
            strncmp(o->name, word, length) == 0) {
            cursor->attached = equals != NULL ? equals + 1 : NULL;
            cursor->option = o->name;
            return take_value(cursor, o);
        }
    }
    return unknown_option(line, word);
}

enum status options_parse(const struct command_line *line, int argc, char **argv)
{
    struct cursor cursor = {.argc = argc, .argv = argv};
    int noperands = 0;
    while (cursor.next < argc) {
        if (strncmp(argv[cursor.next], "-", 1) == 0 && argv[cursor.next][1] != '\0') {
            TRY(parse_option(line, &cursor));
        } else if (noperands < line->max_operands) {
            line->operands[noperands++] = argv[cursor.next++];
        } else {
            return fail(STATUS_INPUT, "unexpected argument '%s'; usage: %s", argv[cursor.next],
                        line->usage);
        }
    }
    FAIL_IF(noperands < line->min_operands,
            fail(STATUS_INPUT, "%s is missing; usage: %s", line->operand, line->usage));
    return STATUS_OK;
}

bool options_shown(const struct command_line *line, const struct option *option)
{
    return line->only == NULL || strstr(line->only, option->name) != NULL;
}

void options_help(const struct command_line *line, FILE *stream)
{
    fprintf(stream, "Usage: %s\n\n%s\n\nOptions:\n", line->usage, line->about);
    for (const struct option *o = line->options; o->kind != OPTION_END; o++) {
        char left[64];
        if (!options_shown(line, o)) {
            continue;
        }
        snprintf(left, sizeof left, "%s %s", o->name, o->argument);
        const struct option_name *name = o->kind == OPTION_NAME ? o->target : NULL;
        fprintf(stream, "  %-25s  %s%s\n", left, name != NULL ? name->known() : "", o->help);
    }
    fprintf(stream, "  %-25s  %s\n", "--help", "show this help");
    fprintf(stream, "\nExamples:\n%s\n", line->example);
}
