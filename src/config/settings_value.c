/* Single values and lists of numbers, checked as the schema says. */
#include "config/settings_value.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory to read the configuration");
}

enum status value_fail(const struct settings_origin *origin, const struct schema_key *row,
                       const struct tree *node, const char *key, const char *what, const char *more)
{
    char shown[TREE_SHOW_BYTES + 4] = "";
    char text[TREE_SHOW_BYTES];
    char expected[SCHEMA_TEXT_BYTES];
    char keys[SCHEMA_TEXT_BYTES];
    if (node->kind != TREE_SCALAR || node->text[0] != '\0') {
        snprintf(shown, sizeof shown, " (%s)", tree_show(node, text));
    }
    const bool question = more[0] != '\0' && more[strlen(more) - 1] == '?';
    const bool section = row->type == SCHEMA_SECTION;
    return origin_fail(
        origin, node, key, "%s%s%s%s give %s%s%s%s%s%s%s", what, shown, more, question ? "" : ";",
        schema_expectation(row, expected), section ? " with the keys " : "",
        section ? schema_list_keys(schema_members(row), 0, keys) : "",
        row->unit != NULL ? ", in " : "", row->unit != NULL ? row->unit : "",
        row->example != NULL ? ", such as " : "", row->example != NULL ? row->example : "");
}

enum parsed { PARSED, NOT_A_NUMBER, TOO_LOW, TOO_HIGH };

/* A decimal number and nothing else; the same in every locale. */
static enum parsed parse_real(const char *text, const struct schema_limit *limit, double *value)
{
    const size_t length = strlen(text);
    /* strtod alone would take nan, inf, hexadecimal and leading blanks */
    if (length == 0 || strspn(text, "0123456789+-.eE") != length) {
        return NOT_A_NUMBER;
    }
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = NULL;
    *value = plain != (locale_t)0 ? strtod_l(text, &end, plain) : strtod(text, &end);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
    if (*end != '\0') {
        return NOT_A_NUMBER;
    }
    const bool low = limit->low_open ? *value > limit->low : *value >= limit->low;
    const bool high = limit->high_open ? *value < limit->high : *value <= limit->high;
    return !low ? TOO_LOW : !high ? TOO_HIGH : PARSED;
}

static enum parsed parse_integer(const char *text, const struct schema_limit *limit, int64_t *value)
{
    const size_t length = strlen(text);
    if (length == 0 || strspn(text, "0123456789+-") != length) {
        return NOT_A_NUMBER;
    }
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);
    if (*end != '\0') {
        return NOT_A_NUMBER;
    }
    *value = number;
    /* what strtoll cuts off lies beyond every limit; a double would round 2^53 + 1 */
    return number < (int64_t)limit->low    ? TOO_LOW
           : number > (int64_t)limit->high ? TOO_HIGH
                                           : PARSED;
}

static size_t number_bytes(const struct schema_key *row)
{
    return row->type == SCHEMA_REAL  ? sizeof(double)
           : row->type == SCHEMA_INT ? sizeof(int)
                                     : sizeof(int64_t);
}

static enum parsed parse_number(const struct schema_key *row, const char *text, void *at)
{
    if (row->type == SCHEMA_REAL) {
        double value = 0;
        const enum parsed parsed = parse_real(text, row->limit, &value);
        *(double *)at = value;
        return parsed;
    }
    int64_t value = 0;
    const enum parsed parsed = parse_integer(text, row->limit, &value);
    if (row->type == SCHEMA_LONG) {
        *(int64_t *)at = value;
    } else if (parsed == PARSED) {
        *(int *)at = (int)value;
    }
    return parsed;
}

/* The bound that a value broke, unless the schema has a reason that says it. A lower one stands
 * among what would be right, where there is one that a user would think of. */
static enum status fail_range(const struct settings_origin *origin, const struct schema_key *row,
                              const struct tree *node, const char *key, enum parsed parsed)
{
    const struct schema_limit *limit = row->limit;
    char bound[160] = "";
    if (limit->reason != NULL) {
        snprintf(bound, sizeof bound, ": %s", limit->reason);
    } else if (parsed == TOO_HIGH) {
        snprintf(bound, sizeof bound, ": the largest is %.16g", limit->high);
    } else if (limit->text[0] == '\0') {
        snprintf(bound, sizeof bound, ": the least is %.16g", limit->low);
    }
    return value_fail(origin, row, node, key, "out of range", bound);
}

static enum status read_number(const struct settings_origin *origin, const struct schema_key *row,
                               const struct tree *node, const char *key, void *at)
{
    if (node->kind != TREE_SCALAR) {
        return value_fail(origin, row, node, key, "not a single value", "");
    }
    if (node->text[0] == '\0') {
        return value_fail(origin, row, node, key, "empty", "");
    }
    const enum parsed parsed = parse_number(row, node->text, at);
    switch (parsed) {
    case NOT_A_NUMBER:
        return value_fail(origin, row, node, key,
                          row->type == SCHEMA_REAL ? "not a number" : "not a whole number", "");
    case TOO_LOW:
    case TOO_HIGH:
        return fail_range(origin, row, node, key, parsed);
    case PARSED:
        break;
    }
    return STATUS_OK;
}

static enum status read_numbers(const struct settings_origin *origin, const struct schema_key *row,
                                const struct tree *node, const char *key, char *at)
{
    if (row->max_count == 0) {
        return read_number(origin, row, node, key, at);
    }
    if (node->kind != TREE_LIST) {
        return value_fail(origin, row, node, key, tree_is_empty(node) ? "empty" : "not a list", "");
    }
    if (node->nchildren < row->min_count || node->nchildren > row->max_count) {
        char what[64];
        snprintf(what, sizeof what, "%d %s", node->nchildren,
                 node->nchildren == 1 ? "entry" : "entries");
        return value_fail(origin, row, node, key, what, "");
    }
    for (int i = 0; i < node->nchildren; i++) {
        TRY(read_number(origin, row, node->child[i], key, at + (size_t)i * number_bytes(row)));
    }
    return STATUS_OK;
}

static enum status store_text(const char *text, char **at)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        return no_memory();
    }
    free(*at);
    *at = copy;
    return STATUS_OK;
}

static enum status read_word(const struct settings_origin *origin, const struct schema_key *row,
                             const struct tree *node, const char *key, void *at)
{
    if (node->kind != TREE_SCALAR) {
        return value_fail(origin, row, node, key, "not a single word", "");
    }
    for (const struct schema_choice *choice = row->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, node->text) != 0) {
            continue;
        }
        if (row->type == SCHEMA_NAME) {
            return store_text(choice->name, at);
        }
        *(int *)at = choice->value;
        return STATUS_OK;
    }
    if (node->text[0] == '\0') {
        return value_fail(origin, row, node, key, "empty", "");
    }
    const char *nearest = schema_nearest_choice(row->choices, node->text);
    char more[64] = "";
    if (nearest != NULL) {
        snprintf(more, sizeof more, ", did you mean '%s'?", nearest);
    }
    return value_fail(origin, row, node, key, "unknown", more);
}

static enum status read_words(const struct settings_origin *origin, const struct schema_key *row,
                              const struct tree *node, const char *key, unsigned *at)
{
    if (node->kind != TREE_LIST) {
        return value_fail(origin, row, node, key, tree_is_empty(node) ? "empty" : "not a list", "");
    }
    *at = 0;
    for (int i = 0; i < node->nchildren; i++) {
        union { /* what a word may be stored as */
            int value;
            char *text;
        } word = {0};
        TRY(read_word(origin, row, node->child[i], key, &word));
        *at |= SCHEMA_KIND(word.value);
    }
    return STATUS_OK;
}

static enum status read_text(const struct settings_origin *origin, const struct schema_key *row,
                             const struct tree *node, const char *key, char **at)
{
    if (node->kind != TREE_SCALAR) {
        return value_fail(origin, row, node, key,
                          row->type == SCHEMA_TEXT ? "not a text" : "not a formula", "");
    }
    if (node->text[0] == '\0') {
        return value_fail(origin, row, node, key, "empty", "");
    }
    if (row->type == SCHEMA_TEXT && strlen(node->text) > SCHEMA_LONGEST_TEXT) {
        char more[64];
        snprintf(more, sizeof more, ": %zu bytes, of at most %d", strlen(node->text),
                 SCHEMA_LONGEST_TEXT);
        return value_fail(origin, row, node, key, "too long", more);
    }
    return store_text(node->text, at);
}

enum status value_read(const struct settings_origin *origin, const struct schema_key *row,
                       const struct tree *node, const char *key, char *base)
{
    char *at = base + row->offset;
    if ((row->flags & SCHEMA_OR_AUTO) != 0) {
        const bool is_auto = node->kind == TREE_SCALAR && strcmp(node->text, "auto") == 0;
        *(bool *)(base + row->alternative) = is_auto;
        if (is_auto) {
            return STATUS_OK;
        }
    }
    if ((row->flags & SCHEMA_OR_FORMULA) != 0 && node->kind == TREE_SCALAR &&
        node->text[0] != '\0' && parse_number(row, node->text, at) == NOT_A_NUMBER) {
        return store_text(node->text, (char **)(base + row->alternative));
    }
    switch (row->type) {
    case SCHEMA_NAME:
    case SCHEMA_CHOICE:
        return read_word(origin, row, node, key, at);
    case SCHEMA_CHOICES:
        return read_words(origin, row, node, key, (unsigned *)at);
    case SCHEMA_TEXT:
    case SCHEMA_FORMULA:
        return read_text(origin, row, node, key, (char **)at);
    default:
        return read_numbers(origin, row, node, key, at);
    }
}
