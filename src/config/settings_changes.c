#include "config/settings_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/read/settings_value.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *text_at(const char *base, size_t offset)
{
    return *(const char *const *)(base + offset);
}

/* Numbers are compared bitwise: the same reader made both. */
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
        const struct number_setting *number_a = (const void *)(a + row->alternative);
        const struct number_setting *number_b = (const void *)(b + row->alternative);
        if (number_a->formula != NULL || number_b->formula != NULL) {
            return same_text(number_a->formula, number_b->formula) &&
                   table_same(number_a->table, number_b->table);
        }
    }
    if ((row->flags & SCHEMA_OR_TABLE) != 0) {
        const void *other_a = text_at(a, row->alternative);
        const void *other_b = text_at(b, row->alternative);
        if (other_a != NULL || other_b != NULL) {
            return table_same(other_a, other_b);
        }
    }
    if (row->type == SCHEMA_TIMES) {
        return times_same((const void *)(a + row->offset), (const void *)(b + row->offset));
    }
    const size_t count = row->max_count > 0 ? (size_t)row->max_count : 1;
    if (row->type == SCHEMA_TEXT || row->type == SCHEMA_FORMULA || row->type == SCHEMA_NAME) {
        bool same = true;
        for (size_t i = 0; i < count; i++) {
            const size_t offset = row->offset + i * sizeof(char *);
            same = same && same_text(text_at(a, offset), text_at(b, offset));
        }
        return same;
    }
    return memcmp(a + row->offset, b + row->offset, count * schema_value_bytes(row)) == 0;
}

/* The value as written; `item` NULL: the key does not apply. */
static void show(const struct item *item, bool with_unit, char text[TREE_SHOW_BYTES + 16])
{
    char shown[TREE_SHOW_BYTES];
    const char *value = "none";
    if (item != NULL && item->node != NULL) {
        value = tree_show(item->node, shown);
    } else if (item != NULL && item->row->fallback != NULL) {
        value = item->row->fallback;
    }
    /* a text with a unit has its own */
    with_unit = with_unit && item != NULL && item->row->unit != NULL &&
                (item->node == NULL || item->node->si == NULL);
    snprintf(text, TREE_SHOW_BYTES + 16, "%.95s%s%.14s", value, with_unit ? " " : "",
             with_unit ? item->row->unit->name : "");
}

static void locate(const struct item *item, char text[TREE_KEY_BYTES])
{
    const struct tree *node = item != NULL ? item->node : NULL;
    if (node == NULL) {
        snprintf(text, TREE_KEY_BYTES, "%s",
                 item != NULL && item->row->fallback != NULL ? "the default" : "left out");
        return;
    }
    const char *typed = node->typed;
    for (const struct tree *entry = node->first; node->kind == TREE_LIST && entry != NULL;
         entry = entry->next) {
        typed = entry->typed != NULL ? entry->typed : typed; /* --set grid.cells[0]=4 */
    }
    if (typed != NULL) {
        snprintf(text, TREE_KEY_BYTES, "%.246s", typed);
    } else {
        snprintf(text, TREE_KEY_BYTES, "line %d of %.220s", node->line, item->origin->name);
    }
}

/* NULL: not on that side. */
static enum status add_change(struct settings_changes *changes, const struct item *before,
                              const struct item *now)
{
    const size_t count = (size_t)changes->count + 1;
    struct settings_change *larger = realloc(changes->change, count * sizeof *larger);
    TRY(CHECK_MEMORY(larger != NULL, "no memory to compare the configurations"));
    changes->change = larger;
    changes->count++;
    struct settings_change *change = &larger[count - 1];
    const struct item *either = now != NULL ? now : before;
    /* another type of boundary: the number alone may be the same */
    const bool units = before != NULL && now != NULL && before->row != now->row;
    snprintf(change->key, sizeof change->key, "%s", either->key);
    show(before, units, change->before);
    show(now, units, change->now);
    locate(now, change->place);
    change->restart = either->row->restart;
    return STATUS_OK;
}

static bool has_key(const struct item_list *list, const char *key)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static int skip(const struct item_list *list, int index)
{
    const char *key = list->item[index].key;
    const size_t length = strlen(key);
    do {
        index++;
    } while (index < list->count && strncmp(list->item[index].key, key, length) == 0 &&
             list->item[index].key[length] == '.');
    return index;
}

static bool differ(const struct item *before, const struct item *now)
{
    if ((now->row->flags & SCHEMA_FILE) != 0 && before->node != NULL && now->node != NULL) {
        return !same_text(before->node->text, now->node->text); /* as given, not as found */
    }
    const bool single = now->row->type != SCHEMA_SECTION && now->row->type != SCHEMA_LIST;
    return before->row != now->row || (single && !same_value(now->row, before->base, now->base));
}

/* A section that no file has is in a list because its parent may have it. */
static bool is_given(const struct item *item)
{
    return item->row->type != SCHEMA_SECTION || item->node != NULL;
}

/* Both lists are in the order of the schema. */
static enum status compare(const struct item_list *before, const struct item_list *now,
                           struct settings_changes *changes)
{
    int b = 0;
    int n = 0;
    while (b < before->count || n < now->count) {
        const struct item *old = b < before->count ? &before->item[b] : NULL;
        const struct item *new = n < now->count ? &now->item[n] : NULL;
        if (old != NULL && new != NULL && strcmp(old->key, new->key) == 0) {
            TRY(differ(old, new) ? add_change(changes, old, new) : STATUS_OK);
            b++;
            n++;
        } else if (old != NULL && !has_key(now, old->key)) {
            TRY(is_given(old) ? add_change(changes, old, NULL) : STATUS_OK);
            b = skip(before, b);
        } else {
            TRY(is_given(new) ? add_change(changes, NULL, new) : STATUS_OK);
            n = skip(now, n);
        }
    }
    return STATUS_OK;
}

enum status settings_compare(const struct settings *before, const struct settings *now,
                             struct settings_changes *changes)
{
    SCOPED_BY(item_list_free) struct item_list old = {0};
    SCOPED_BY(item_list_free) struct item_list new = {0};
    *changes = (struct settings_changes){0};
    TRY(item_list_all(before, &old));
    TRY(item_list_all(now, &new));
    const enum status status = compare(&old, &new, changes);
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
