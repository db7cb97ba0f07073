#include "config/settings_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the two configurations, at the section that the walk has come to. */
struct version {
    const char *base;        /* the struct that the schema's offsets count from */
    const struct tree *node; /* what the file says of it; NULL: nothing */
    unsigned kinds;          /* the selector's value there; 0: none */
};

/* Where the walk through both is. */
struct place {
    struct settings_changes *changes;
    const struct settings_origin *origin; /* of the new one */
    const char *members;                  /* in front of the section's keys, in the schema */
    char key[TREE_KEY_BYTES];             /* and in the file; "" at the top */
    struct version before, now;
};

static enum status compare_section(const struct place *place);

/* ---- one value --------------------------------------------------------------------------------
 */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *text_at(const char *base, size_t offset)
{
    return *(const char *const *)(base + offset);
}

static size_t value_bytes(enum schema_type type)
{
    switch (type) {
    case SCHEMA_REAL:
        return sizeof(double);
    case SCHEMA_LONG:
        return sizeof(int64_t);
    case SCHEMA_CHOICES:
        return sizeof(unsigned);
    default:
        return sizeof(int);
    }
}

/* Numbers by their bits: both were made by the same reader from the same words. */
static bool same_value(const struct schema_key *row, const char *a, const char *b)
{
    if ((row->flags & SCHEMA_OR_AUTO) != 0) {
        const bool auto_a = *(const bool *)(a + row->alternative);
        const bool auto_b = *(const bool *)(b + row->alternative);
        if (auto_a || auto_b) {
            return auto_a == auto_b;
        }
    }
    if ((row->flags & SCHEMA_OR_FORMULA) != 0) {
        const char *formula_a = text_at(a, row->alternative);
        const char *formula_b = text_at(b, row->alternative);
        if (formula_a != NULL || formula_b != NULL) {
            return same_text(formula_a, formula_b);
        }
    }
    if (row->type == SCHEMA_TEXT || row->type == SCHEMA_FORMULA || row->type == SCHEMA_NAME) {
        return same_text(text_at(a, row->offset), text_at(b, row->offset));
    }
    const size_t count = row->max_count > 0 ? (size_t)row->max_count : 1;
    return memcmp(a + row->offset, b + row->offset, count * value_bytes(row->type)) == 0;
}

/* ---- what to say of it ------------------------------------------------------------------------
 */

static void show(const struct version *side, const struct schema_key *row, const char *name,
                 bool with_unit, char text[TREE_SHOW_BYTES + 16])
{
    char shown[TREE_SHOW_BYTES];
    const struct tree *node = tree_child(side->node, name);
    const char *unit = with_unit && row != NULL ? row->unit : NULL;
    const char *value = "none";
    if (row != NULL && node != NULL) {
        value = tree_show(node, shown);
    } else if (row != NULL && row->fallback != NULL) {
        value = row->fallback;
    }
    snprintf(text, TREE_SHOW_BYTES + 16, "%.95s%s%.14s", value, unit != NULL ? " " : "",
             unit != NULL ? unit : "");
}

/* Where the new value stands. */
static void locate(const struct place *place, const struct schema_key *row, const struct tree *node,
                   char text[TREE_KEY_BYTES])
{
    for (int i = 0; node != NULL && node->kind == TREE_LIST && i < node->nchildren; i++) {
        node = node->child[i]->typed != NULL ? node->child[i] : node; /* --set grid.cells[0]=4 */
    }
    if (node == NULL) {
        snprintf(text, TREE_KEY_BYTES, "%s",
                 row != NULL && row->fallback != NULL ? "the default" : "left out");
    } else if (node->typed != NULL) {
        snprintf(text, TREE_KEY_BYTES, "%.246s", node->typed);
    } else {
        snprintf(text, TREE_KEY_BYTES, "line %d of %.220s", node->line, place->origin->name);
    }
}

static enum status add_change(const struct place *place, struct settings_change **change)
{
    struct settings_changes *changes = place->changes;
    const size_t count = (size_t)changes->count + 1;
    struct settings_change *larger = realloc(changes->change, count * sizeof *larger);
    if (larger == NULL) {
        return fail(STATUS_MEMORY, "no memory to compare the configurations");
    }
    changes->change = larger;
    changes->count++;
    *change = &larger[count - 1];
    return STATUS_OK;
}

static void key_below(const struct place *place, const char *name, char key[TREE_KEY_BYTES])
{
    snprintf(key, TREE_KEY_BYTES, "%.180s%s%.60s", place->key, place->key[0] != '\0' ? "." : "",
             name);
}

/* `before` and `now` are the rows that apply on either side; NULL: none. */
static enum status tell_value(const struct place *place, const struct schema_key *before,
                              const struct schema_key *now, const char *name)
{
    struct settings_change *change = NULL;
    TRY(add_change(place, &change));
    /* as of another type of boundary: then the number alone may be the same */
    const bool with_unit = before != NULL && now != NULL && before != now;
    key_below(place, name, change->key);
    show(&place->before, before, name, with_unit, change->before);
    show(&place->now, now, name, with_unit, change->now);
    locate(place, now, tree_child(place->now.node, name), change->place);
    change->restart = now != NULL ? now->restart : before->restart;
    return STATUS_OK;
}

/* An entry that only one of two lists has; NULL: that one is not there. */
static enum status tell_entry(const struct place *place, const struct schema_key *row,
                              const char *key, const struct tree *before, const struct tree *now)
{
    struct settings_change *change = NULL;
    char shown[TREE_SHOW_BYTES];
    TRY(add_change(place, &change));
    snprintf(change->key, sizeof change->key, "%s", key);
    snprintf(change->before, sizeof change->before, "%s",
             before != NULL ? tree_show(before, shown) : "none");
    snprintf(change->now, sizeof change->now, "%s", now != NULL ? tree_show(now, shown) : "none");
    locate(place, NULL, now, change->place);
    change->restart = row->restart;
    return STATUS_OK;
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

static const struct tree *entry_node(const struct version *side, const char *name, int index)
{
    const struct tree *list = tree_child(side->node, name);
    return list != NULL && list->kind == TREE_LIST && index < list->nchildren ? list->child[index]
                                                                              : NULL;
}

static int entry_count(const struct version *side, const struct schema_key *row)
{
    return *(const int *)(side->base + row->alternative);
}

static struct version enter_entry(const struct version *side, const struct schema_key *row,
                                  const char *name, int index)
{
    const char *entries = *(const char *const *)(side->base + row->offset);
    return (struct version){.base = entries + (size_t)index * row->entry_bytes,
                            .node = entry_node(side, name, index)};
}

static enum status compare_list(const struct place *place, const struct schema_key *row,
                                const char *name)
{
    const int nbefore = entry_count(&place->before, row);
    const int nnow = entry_count(&place->now, row);
    char key[TREE_KEY_BYTES];
    key_below(place, name, key);
    for (int i = 0; i < nbefore || i < nnow; i++) {
        struct place entry = *place;
        entry.members = schema_members(row);
        snprintf(entry.key, sizeof entry.key, "%.240s[%d]", key, i);
        if (i < nbefore && i < nnow) {
            entry.before = enter_entry(&place->before, row, name, i);
            entry.now = enter_entry(&place->now, row, name, i);
            TRY(compare_section(&entry));
        } else {
            TRY(tell_entry(place, row, entry.key, entry_node(&place->before, name, i),
                           entry_node(&place->now, name, i)));
        }
    }
    return STATUS_OK;
}

static struct version enter_section(const struct version *side, const struct schema_key *row,
                                    const char *name)
{
    return (struct version){.base = side->base + row->offset, .node = tree_child(side->node, name)};
}

/* The row of that name on one side; NULL when it does not apply there. Of the sections that say
 * what kind an entry is, the one that the entry has. */
static const struct schema_key *find_row(const char *members, const char *name,
                                         const struct version *side)
{
    const struct schema_key *row = schema_child(members, name, side->kinds);
    if (row != NULL && row->type == SCHEMA_SECTION && row->kinds != 0) {
        return tree_child(side->node, name) != NULL ? row : NULL;
    }
    return row;
}

static enum status compare_member(const struct place *place, const char *name)
{
    const struct schema_key *before = find_row(place->members, name, &place->before);
    const struct schema_key *now = find_row(place->members, name, &place->now);
    if (before == NULL && now == NULL) {
        return STATUS_OK;
    }
    if (before != now) {
        return tell_value(place, before, now, name);
    }
    if (now->type == SCHEMA_LIST) {
        return compare_list(place, now, name);
    }
    if (now->type == SCHEMA_SECTION) {
        struct place inner = *place;
        inner.before = enter_section(&place->before, now, name);
        inner.now = enter_section(&place->now, now, name);
        inner.members = schema_members(now);
        key_below(place, name, inner.key);
        return compare_section(&inner);
    }
    return same_value(now, place->before.base, place->now.base)
               ? STATUS_OK
               : tell_value(place, before, now, name);
}

static unsigned selected(const char *base, const struct schema_key *selector)
{
    return SCHEMA_KIND(*(const int *)(base + selector->offset));
}

static enum status compare_section(const struct place *place)
{
    int count;
    const struct schema_key *table = schema_table(&count);
    struct place section = *place;
    const char *name = NULL;
    for (int i = 0; i < count; i++) {
        if ((table[i].flags & SCHEMA_SELECTOR) != 0 &&
            schema_is_child(&table[i], place->members, &name)) {
            section.before.kinds = selected(place->before.base, &table[i]);
            section.now.kinds = selected(place->now.base, &table[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        /* a name may have one row for each kind that it applies to: look at it once */
        if (schema_is_child(&table[i], place->members, &name) &&
            schema_child(place->members, name, 0) == &table[i]) {
            TRY(compare_member(&section, name));
        }
    }
    return STATUS_OK;
}

enum status settings_compare(const struct settings *before, const struct settings *now,
                             struct settings_changes *changes)
{
    *changes = (struct settings_changes){0};
    const struct place top = {
        .changes = changes,
        .origin = now->origin,
        .members = "",
        .before = {.base = (const char *)before, .node = before->origin->root},
        .now = {.base = (const char *)now, .node = now->origin->root},
    };
    const enum status status = compare_section(&top);
    if (status != STATUS_OK) {
        settings_changes_free(changes);
    }
    return status;
}

void settings_changes_free(struct settings_changes *changes)
{
    free(changes->change);
    *changes = (struct settings_changes){0};
}

const char *settings_change_text(const struct settings_change *change, char text[CHANGE_TEXT_BYTES])
{
    snprintf(text, CHANGE_TEXT_BYTES, "%s: %s -> %s (%s)", change->key, change->before, change->now,
             change->place);
    return text;
}
