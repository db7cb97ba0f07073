/* Look-up of keys in the schema, and the texts about them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/schema/schema.h"

const char *schema_members(const struct schema_key *section)
{
    return section->members != NULL ? section->members : section->path;
}

size_t schema_value_bytes(const struct schema_key *key)
{
    switch (key->type) {
    case SCHEMA_REAL:
        return sizeof(double);
    case SCHEMA_LONG:
        return sizeof(int64_t);
    case SCHEMA_TEXT:
        return sizeof(char *);
    default:
        return sizeof(int);
    }
}

const char *schema_unit_for(const char *name, const char *unit, const char *content_unit,
                            char text[SCHEMA_UNIT_BYTES])
{
    text[0] = '\0';
    for (const char *p = name; *p != '\0'; p++) {
        const char *const by = *p == 'K' ? unit : *p == 'J' || *p == 'W' ? content_unit : NULL;
        text_add(text, SCHEMA_UNIT_BYTES, "",
                 by == NULL     ? "%.1s"
                 : p[1] != '\0' ? "(%s%s)"
                 : *p == 'W'    ? "%s%s"
                                : "%s",
                 by == NULL ? p : by, *p == 'W' ? "/s" : "");
    }
    return text;
}

bool schema_is_child(const struct schema_key *key, const char *members, const char **name)
{
    const size_t length = strlen(members);
    const char *rest = key->path;
    if (length > 0) {
        if (strncmp(rest, members, length) != 0 || rest[length] != '.') {
            return false;
        }
        rest += length + 1;
    }
    *name = rest;
    return strchr(rest, '.') == NULL;
}

static bool is_child_of_kind(const struct schema_key *key, const char *members, unsigned kinds,
                             const char **name)
{
    return (key->kinds == 0 || kinds == 0 || (key->kinds & kinds) != 0) &&
           schema_is_child(key, members, name);
}

const struct schema_key *schema_child(const char *members, const char *name, unsigned kinds)
{
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        const char *own;
        if (is_child_of_kind(key, members, kinds, &own) && strcmp(own, name) == 0) {
            return key;
        }
    }
    return NULL;
}

const struct schema_key *schema_beside(const struct schema_key *key, const char *name)
{
    const char *dot = strrchr(key->path, '.');
    char members[96];
    snprintf(members, sizeof members, "%.*s", dot != NULL ? (int)(dot - key->path) : 0, key->path);
    return schema_child(members, name, 0);
}

bool schema_next_word(const char **list, char word[SCHEMA_WORD_BYTES])
{
    const int length = (int)strcspn(*list, ",");
    snprintf(word, SCHEMA_WORD_BYTES, "%.*s", length, *list);
    *list += length;
    *list += strspn(*list, ", ");
    return word[0] != '\0';
}

static void append(char text[SCHEMA_TEXT_BYTES], const char *more)
{
    text_add(text, SCHEMA_TEXT_BYTES, "", "%s", more);
}

const char *schema_list_keys(const char *members, unsigned kinds, char text[SCHEMA_TEXT_BYTES])
{
    text[0] = '\0';
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        const char *name;
        /* a name may have several rows, one for each kind */
        if (is_child_of_kind(key, members, kinds, &name) &&
            schema_child(members, name, kinds) == key) {
            text_add(text, SCHEMA_TEXT_BYTES, ", ", "%s", name);
        }
    }
    return text;
}

/* Optimal string alignment: an edit distance in which a swap of neighbouring characters counts as
 * one. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    int cost[LONGEST + 1][LONGEST + 1];
    const int na = (int)strlen(a);
    const int nb = (int)strlen(b);
    if (na > LONGEST || nb > LONGEST) {
        return LONGEST;
    }
    for (int i = 0; i <= na; i++) {
        for (int j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = cost[i - 1][j] + 1 < best ? cost[i - 1][j] + 1 : best;
            best = cost[i][j - 1] + 1 < best ? cost[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cost[i - 2][j - 2] + 1 < best) {
                best = cost[i - 2][j - 2] + 1;
            }
            cost[i][j] = best;
        }
    }
    return cost[na][nb];
}

/* A misspelling changes less than a third of the characters. */
static bool nearer(const char *word, const char *candidate, int *best)
{
    const int distance = edit_distance(word, candidate);
    const int longest = (int)(strlen(candidate) > strlen(word) ? strlen(candidate) : strlen(word));
    if (distance >= *best || 3 * distance >= longest) {
        return false;
    }
    *best = distance;
    return true;
}

const char *schema_nearest_key(const char *members, const char *word)
{
    int best = 1000;
    const char *nearest = NULL;
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        const char *name;
        if (schema_is_child(key, members, &name) && nearer(word, name, &best)) {
            nearest = name;
        }
    }
    return nearest;
}

const char *schema_key_elsewhere(const char *name)
{
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        const char *dot = strrchr(key->path, '.');
        if (strcmp(dot != NULL ? dot + 1 : key->path, name) == 0) {
            return key->path;
        }
    }
    return NULL;
}

const char *schema_nearest_choice(const struct schema_choice *choices, const char *word)
{
    int best = 1000;
    const char *nearest = NULL;
    for (; choices->name != NULL; choices++) {
        if (nearer(word, choices->name, &best)) {
            nearest = choices->name;
        }
    }
    return nearest;
}

static void append_number(const struct schema_key *key, char text[SCHEMA_TEXT_BYTES])
{
    const char *noun = key->type == SCHEMA_REAL ? "number" : "integer";
    char piece[64];
    if (key->max_count == 0) {
        snprintf(piece, sizeof piece, "%s %s", key->type == SCHEMA_REAL ? "a" : "an", noun);
    } else if (key->min_count == key->max_count) {
        snprintf(piece, sizeof piece, "a list of %d %ss", key->max_count, noun);
    } else {
        snprintf(piece, sizeof piece, "a list of %d to %d %ss", key->min_count, key->max_count,
                 noun);
    }
    append(text, piece);
    if (key->limit->text[0] != '\0') {
        append(text, " ");
        append(text, key->limit->text);
    }
}

const char *schema_expectation(const struct schema_key *key, char text[SCHEMA_TEXT_BYTES])
{
    text[0] = '\0';
    if ((key->flags & SCHEMA_OR_AUTO) != 0) {
        append(text, "auto or ");
    }
    switch (key->type) {
    case SCHEMA_SECTION:
        append(text, "a section");
        break;
    case SCHEMA_LIST:
        append(text, "a list of entries");
        break;
    case SCHEMA_TEXT:
        append(text, key->max_count > 0 ? "a list of strings" : "a string");
        break;
    case SCHEMA_FORMULA:
        append(text, "a formula in ");
        append(text, key->variables);
        break;
    case SCHEMA_NAME:
    case SCHEMA_CHOICE:
    case SCHEMA_CHOICES:
        append(text, key->type == SCHEMA_CHOICES ? "a list of some of " : "one of ");
        for (const struct schema_choice *choice = key->choices; choice->name != NULL; choice++) {
            append(text, choice == key->choices ? "" : ", ");
            append(text, choice->name);
        }
        break;
    case SCHEMA_REAL:
    case SCHEMA_INT:
    case SCHEMA_LONG:
        append_number(key, text);
        break;
    case SCHEMA_TIMES:
        append(text, "a list of increasing times, or {from: TIME, to: TIME, per_decade: N}");
        break;
    }
    if ((key->flags & SCHEMA_OR_FORMULA) != 0) {
        append(text, ", a formula in ");
        append(text, key->variables);
        append(text, " or a table of t");
    }
    if ((key->flags & SCHEMA_OR_TABLE) != 0) {
        append(text, " or a table [[T, value], ...], {file: CSV}, or "
                     "{polynomial: [c0, c1, ...], from: T, to: T}");
    }
    return text;
}
