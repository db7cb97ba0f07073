/* Single values and lists, checked against the schema. */
#include "config/read/settings_value.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"

/* The unit of a value; NULL: it has none. `own`: its memory, where what diffuses is not heat. */
struct own_unit {
    struct schema_unit unit;
    char name[SCHEMA_UNIT_BYTES];
};
static const struct schema_unit *unit_of(const struct item *item, struct own_unit *own)
{
    const struct schema_unit *unit = item->row->unit;
    const struct tree *quantity = tree_child(item->origin->root, "quantity");
    const struct tree *field = tree_child(quantity, "unit");
    const struct tree *content = tree_child(quantity, "content_unit");
    if (unit == NULL || strpbrk(unit->name, "KJW") == NULL || field == NULL || content == NULL ||
        field->kind != TREE_SCALAR || content->kind != TREE_SCALAR) {
        return unit;
    }
    schema_unit_for(unit->name, field->text, content->text, own->name);
    own->unit = (struct schema_unit){.name = own->name, .quantity = own->name};
    return &own->unit;
}

static enum status fail_with_example(const struct item *item, const char *what, const char *more,
                                     const char *example)
{
    const struct schema_key *row = item->row;
    struct own_unit own;
    const struct schema_unit *unit = unit_of(item, &own);
    char shown[TREE_SHOW_BYTES + 4] = "";
    char text[TREE_SHOW_BYTES];
    char expected[SCHEMA_TEXT_BYTES];
    char keys[SCHEMA_TEXT_BYTES];
    if (item->node->kind != TREE_SCALAR || item->node->text[0] != '\0') {
        snprintf(shown, sizeof shown, " (%s)", tree_show(item->node, text));
    }
    const bool question = more[0] != '\0' && more[strlen(more) - 1] == '?';
    const bool section = row->type == SCHEMA_SECTION;
    return origin_fail(item->origin, item->node, item->key, "%s%s%s%s give %s%s%s%s%s%s%s", what,
                       shown, more, question ? "" : ";", schema_expectation(row, expected),
                       section ? " with the keys " : "",
                       section ? schema_list_keys(schema_members(row), 0, keys) : "",
                       unit != NULL ? ", in " : "", unit != NULL ? unit->name : "",
                       example != NULL ? ", such as " : "", example != NULL ? example : "");
}

enum status value_fail(const struct item *item, const char *what, const char *more)
{
    return fail_with_example(item, what, more, item->row->example);
}

enum parsed { PARSED, NOT_A_NUMBER, TOO_LOW, TOO_HIGH };

/* A decimal number and nothing else; the same in every locale. */
static enum parsed parse_real(const char *text, const struct schema_limit *limit, double *value)
{
    const size_t length = strlen(text);
    /* strtod also accepts nan, inf, hexadecimal and leading blanks */
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

/* Also 2e2 and 200.0. */
static enum parsed parse_integer(const char *text, const struct schema_limit *limit, int64_t *value)
{
    const size_t length = strlen(text);
    if (length > 0 && strspn(text, "0123456789+-") != length) {
        double real = 0;
        const enum parsed parsed = parse_real(text, limit, &real);
        *value = fabs(real) <= 0x1p53 ? (int64_t)real : 0;
        return parsed != NOT_A_NUMBER && real != rint(real) ? NOT_A_NUMBER : parsed;
    }
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);
    if (length == 0 || *end != '\0') {
        return NOT_A_NUMBER;
    }
    *value = number;
    /* values that strtoll clips exceed every limit; a double would round 2^53 + 1 */
    return number < (int64_t)limit->low    ? TOO_LOW
           : number > (int64_t)limit->high ? TOO_HIGH
                                           : PARSED;
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

/* The violated bound, unless the schema has a reason. A lower bound is left out where the
 * expectation states it. */
static enum status fail_range(const struct item *item, enum parsed parsed)
{
    const struct schema_limit *limit = item->row->limit;
    char bound[160] = "";
    if (limit->reason != NULL) {
        snprintf(bound, sizeof bound, ": %s", limit->reason);
    } else if (parsed == TOO_HIGH) {
        snprintf(bound, sizeof bound, ": the largest is %.16g", limit->high);
    } else if (limit->text[0] == '\0') {
        snprintf(bound, sizeof bound, ": the smallest is %.16g", limit->low);
    }
    return value_fail(item, "out of range", bound);
}

/* The unit in a number with one; NULL for any other text, a formula for example. */
static const char *find_unit(const char *text)
{
    enum { LONGEST_NUMBER = 300 };
    static const char digits[] = "0123456789";
    const char *p = text + (*text == '+' || *text == '-');
    const size_t whole = strspn(p, digits);
    p += whole;
    const size_t decimals = *p == '.' ? strspn(p + 1, digits) : 0;
    p += *p == '.' ? decimals + 1 : 0;
    if (whole + decimals == 0) {
        return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
        const size_t length = strspn(exponent, digits);
        p = length > 0 ? exponent + length : p;
    }
    const bool fits = p - text <= LONGEST_NUMBER;
    p += strspn(p, " \t");
    const char *begin = p; /* of what has to be a letter: 1/min is a unit, 0.5/min is none */
    begin += isblank((unsigned char)p[-1]) && strncmp(p, "1/", 2) == 0 ? 2 : 0;
    const bool letter =
        isalpha((unsigned char)*begin) || (unsigned char)*begin >= 0x80; /* UTF-8: °C */
    /* 0x10 and 1e- are mistyped numbers: no unit begins so */
    const bool mistyped =
        strchr("xX", *p) != NULL || (strchr("eE", *p) != NULL && !isalpha((unsigned char)p[1]));
    return fits && letter && !mistyped ? p : NULL;
}

enum { NUMBER_BYTES = 32 };

/* "5 mm": gives the node the number with which the configuration is stored. */
static enum status read_with_unit(const struct item *item, const char *name)
{
    struct own_unit own;
    const struct schema_unit *unit = unit_of(item, &own);
    struct tree *node = item->node;
    char text[NUMBER_BYTES];
    double value = 0;
    double again = 0;
    FAIL_IF(unit == NULL, value_fail(item, "a number with a unit, where none belongs", ""));
    if (node->si != NULL) {
        return STATUS_OK; /* another rank has converted it */
    }
    const enum status status =
        units_convert(&item->origin->units, node->text, name, unit, &value, &node->has_zero);
    TRY(status == STATUS_INPUT
            ? fail_with_example(item, fail_message(), "", units_supported() ? unit->example : NULL)
            : status);
    snprintf(text, NUMBER_BYTES, "%.15g", value);
    if (parse_real(text, item->row->limit, &again) == NOT_A_NUMBER || again != value) {
        snprintf(text, NUMBER_BYTES, "%.17g", value);
    }
    node->si = origin_text(item->origin, text);
    return node->si != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status read_number(const struct item *item, void *at)
{
    const struct schema_key *row = item->row;
    const char *text = item->node->text;
    const char *unit = find_unit(text);
    char more[64] = "";
    if (unit != NULL && row->type == SCHEMA_REAL) {
        TRY(read_with_unit(item, unit));
        text = item->node->si;
    } else if (unit != NULL && row->rival != NULL) {
        snprintf(more, sizeof more, ": '%.*s' takes a time", (int)strcspn(row->rival, ","),
                 row->rival);
    }
    const enum parsed parsed = parse_number(row, text, at);
    FAIL_IF(parsed == NOT_A_NUMBER,
            value_fail(item, row->type == SCHEMA_REAL ? "not a number" : "not an integer", more));
    return parsed == PARSED ? STATUS_OK : fail_range(item, parsed);
}

static enum status store_text(const struct item *item, const char *text, char **at)
{
    *at = origin_text(item->origin, text);
    return *at != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status read_word(const struct item *item, void *at)
{
    const struct schema_key *row = item->row;
    for (const struct schema_choice *choice = row->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, item->node->text) != 0) {
            continue;
        }
        if (row->type == SCHEMA_NAME) {
            return store_text(item, choice->name, at);
        }
        *(int *)at = choice->value;
        return STATUS_OK;
    }
    const char *nearest = schema_nearest_choice(row->choices, item->node->text);
    char more[64] = "";
    if (nearest != NULL) {
        snprintf(more, sizeof more, ", did you mean '%s'?", nearest);
    }
    return value_fail(item, "unknown", more);
}

static enum status read_text(const struct item *item, char **at)
{
    const size_t length = strlen(item->node->text);
    if (item->row->type == SCHEMA_TEXT && length > SCHEMA_LONGEST_TEXT) {
        char more[64];
        snprintf(more, sizeof more, ": %zu bytes, of at most %d", length, SCHEMA_LONGEST_TEXT);
        return value_fail(item, "too long", more);
    }
    return store_text(item, item->node->text, at);
}

static enum status read_single(const struct item *item, void *at)
{
    static const char *const not_one[] = {
        [SCHEMA_TEXT] = "not a string",         [SCHEMA_FORMULA] = "not a formula",
        [SCHEMA_NAME] = "not a single word",    [SCHEMA_CHOICE] = "not a single word",
        [SCHEMA_CHOICES] = "not a single word", [SCHEMA_REAL] = "not a single value",
        [SCHEMA_INT] = "not a single value",    [SCHEMA_LONG] = "not a single value",
        [SCHEMA_TIMES] = "not a list of times"};
    FAIL_IF(item->node->kind != TREE_SCALAR, value_fail(item, not_one[item->row->type], ""));
    FAIL_IF(item->node->text[0] == '\0', value_fail(item, "empty", ""));
    switch (item->row->type) {
    case SCHEMA_NAME:
    case SCHEMA_CHOICE:
    case SCHEMA_CHOICES:
        return read_word(item, at);
    case SCHEMA_TEXT:
    case SCHEMA_FORMULA:
        return read_text(item, at);
    default:
        return read_number(item, at);
    }
}

/* "64: bone", so that a restart compares the label, too. */
static enum status store_label(const struct item *item, char **at)
{
    char text[TREE_SHOW_BYTES];
    struct tree named = *item->node;
    struct item labelled = *item;
    FAIL_IF(named.kind == TREE_SCALAR &&
                snprintf(text, sizeof text, "%s: %s", named.key, named.text) >= (int)sizeof text,
            value_fail(item, "too long", ""));
    named.text = text;
    labelled.node = &named;
    return read_single(&labelled, at);
}

/* A list of numbers; of choices as bits. One value may be given without brackets. */
static enum status read_list(const struct item *item, char *at)
{
    const struct schema_key *row = item->row;
    const bool choices = row->type == SCHEMA_CHOICES;
    const int count = tree_count(item->node);
    struct item entry = *item;
    const bool labels = item->node->kind == TREE_MAPPING && (row->flags & SCHEMA_LABELS) != 0;
    if (item->node->kind == TREE_LIST || labels) {
        entry.node = item->node->first;
    } else if (item->node->kind == TREE_MAPPING || tree_is_empty(item->node) ||
               row->min_count > 1) {
        return value_fail(item, tree_is_empty(item->node) ? "empty" : "not a list", "");
    }
    if (!choices && (count < row->min_count || count > row->max_count)) {
        char what[64];
        snprintf(what, sizeof what, "%d %s", count, count == 1 ? "entry" : "entries");
        return value_fail(item, what, "");
    }
    unsigned bits = 0;
    for (int i = 0; i < count; i++, entry.node = entry.node->next) {
        int choice = 0;
        TRY(labels ? store_label(&entry, (char **)at)
                   : read_single(&entry, choices ? (void *)&choice : at));
        bits |= SCHEMA_KIND(choice);
        at += choices ? 0 : schema_value_bytes(row);
    }
    for (int i = count; (row->flags & SCHEMA_SAME) != 0 && count == 1 && i < row->max_count; i++) {
        memcpy(at, at - schema_value_bytes(row), schema_value_bytes(row));
        at += schema_value_bytes(row);
    }
    if (choices) {
        memcpy(at, &bits, sizeof bits);
    }
    return STATUS_OK;
}

enum status value_read(const struct item *item)
{
    const struct schema_key *row = item->row;
    const struct tree *node = item->node;
    char *at = item->base + row->offset;
    for (int i = 0; (row->flags & SCHEMA_ONES) != 0 && i < row->max_count; i++) {
        (void)parse_number(row, "1", at + (size_t)i * schema_value_bytes(row));
    }
    if ((row->flags & SCHEMA_OR_AUTO) != 0) {
        const bool is_auto = node->kind == TREE_SCALAR && strcmp(node->text, "auto") == 0;
        *(bool *)(item->base + row->alternative) = is_auto;
        if (is_auto) {
            return STATUS_OK;
        }
    }
    if (item_number(item) != NULL && node->kind == TREE_SCALAR && node->text[0] != '\0' &&
        find_unit(node->text) == NULL && parse_number(row, node->text, at) == NOT_A_NUMBER) {
        return store_text(item, node->text, &item_number(item)->formula);
    }
    return row->max_count > 0 || row->type == SCHEMA_CHOICES ? read_list(item, at)
                                                             : read_single(item, at);
}
