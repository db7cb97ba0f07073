/* Iteration over the keys of a configuration in the order of the schema. */
#include <stdio.h>
#include <stdlib.h>

#include "config/read/settings_value.h"

struct item item_top(const struct settings *settings)
{
    return (struct item){
        .origin = settings->origin, .base = (char *)settings, .node = settings->origin->root};
}

struct item item_below(const struct item *section, const struct schema_key *row, const char *name)
{
    struct item item = {.origin = section->origin,
                        .row = row,
                        .base = section->base,
                        .node = tree_child(section->node, name),
                        .beside = section->node};
    snprintf(item.key, sizeof item.key, "%.180s%s%.60s", section->key,
             section->key[0] != '\0' ? "." : "", name);
    if (row != NULL && row->type == SCHEMA_SECTION) {
        item.base += row->offset;
        item_select(&item);
    }
    return item;
}

struct item item_entry(const struct item *list, int index)
{
    struct item entry = *list;
    char *entries = *(char **)(list->base + list->row->offset);
    entry.base = entries + (size_t)index * list->row->entry_bytes;
    entry.node = tree_entry(list->node, index);
    entry.index = index;
    snprintf(entry.key, sizeof entry.key, "%.240s[%d]", list->key, index);
    item_select(&entry);
    return entry;
}

const char *item_members(const struct item *section)
{
    return section->row != NULL ? schema_members(section->row) : "";
}

const struct schema_key *item_selector(const struct item *section, const char **name)
{
    for (const struct schema_key *key = schema_table(); key->path != NULL; key++) {
        if ((key->flags & SCHEMA_SELECTOR) != 0 &&
            schema_is_child(key, item_members(section), name)) {
            return key;
        }
    }
    return NULL;
}

void item_select(struct item *section)
{
    const char *name;
    const struct schema_key *selector = item_selector(section, &name);
    section->kinds =
        selector != NULL ? SCHEMA_KIND(*(const int *)(section->base + selector->offset)) : 0;
}

bool item_next(const struct item *section, int *row, struct item *item)
{
    for (const struct schema_key *key; (key = &schema_table()[*row])->path != NULL;) {
        const char *name;
        (*row)++;
        if (!schema_is_child(key, item_members(section), &name)) {
            continue;
        }
        *item = item_below(section, key, name);
        if (key->kinds == 0 ||
            (section->kinds != 0 ? (key->kinds & section->kinds) != 0 : item->node != NULL)) {
            return true;
        }
    }
    return false;
}

enum status item_place(const struct item *item, const char *below, enum status failed)
{
    return settings_place(item->origin, failed, "%.190s%s%.60s", item->key,
                          below != NULL ? "." : "", below != NULL ? below : "");
}

static enum status append(struct item_list *list, const struct item *item)
{
    const size_t count = (size_t)list->count;
    if ((count & (count - 1)) == 0) {
        struct item *larger = realloc(list->item, (count > 0 ? 2 * count : 1) * sizeof *larger);
        TRY(CHECK_MEMORY(larger != NULL, "no memory for the configuration"));
        list->item = larger;
    }
    list->item[list->count++] = *item;
    return STATUS_OK;
}

static enum status append_all(struct item_list *list, const struct item *section)
{
    struct item item;
    for (int row = 0; item_next(section, &row, &item);) {
        if (item.row->type != SCHEMA_LIST &&
            ((item.row->flags & SCHEMA_SHARED) == 0 || item.node != NULL)) {
            TRY(append(list, &item));
        }
        if (item.row->type == SCHEMA_SECTION) {
            TRY(append_all(list, &item));
        }
        const int entries =
            item.row->type == SCHEMA_LIST ? *(const int *)(item.base + item.row->alternative) : 0;
        for (int i = 0; i < entries; i++) {
            const struct item entry = item_entry(&item, i);
            TRY(append(list, &entry));
            TRY(append_all(list, &entry));
        }
    }
    return STATUS_OK;
}

enum status item_list_all(const struct settings *settings, struct item_list *list)
{
    *list = (struct item_list){0};
    const struct item top = item_top(settings);
    return append_all(list, &top);
}

void item_list_free(struct item_list *list)
{
    free(list->item);
}
