/* From the tree to struct settings, as the schema defines it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/check/settings_check.h"
#include "config/read/settings_value.h"
#include "config/units.h"

static enum status read_section(struct item *section);

static enum status read_entries(const struct item *list)
{
    const struct tree *node = list->node;
    if (node->kind != TREE_LIST || node->nchildren == 0) {
        const bool empty = node->kind == TREE_LIST || tree_is_empty(node);
        return value_fail(list, empty ? "empty" : "not a list", "");
    }
    FAIL_IF(list->row->max_count > 0 && node->nchildren > list->row->max_count,
            item_fail(list, NULL, "%d entries; give at most %d", node->nchildren,
                      list->row->max_count));
    char *entries = origin_memory(list->origin, (size_t)node->nchildren * list->row->entry_bytes);
    FAIL_IF(entries == NULL, STATUS_MEMORY);
    memcpy(list->base + list->row->offset, &entries, sizeof entries);
    *(int *)(list->base + list->row->alternative) = node->nchildren;
    struct item entry;
    for (int i = 0; i < node->nchildren; i++) {
        entry = item_entry(list, i);
        TRY(origin_collect(list->origin, read_section(&entry)));
    }
    return STATUS_OK;
}

static enum status fail_unknown(const struct item *section, const struct tree *node)
{
    const char *members = item_members(section);
    const struct tree word = {.kind = TREE_SCALAR, .text = node->key};
    char keys[SCHEMA_TEXT_BYTES];
    char shown[TREE_SHOW_BYTES];
    const struct item item = item_below(section, NULL, tree_show(&word, shown));
    schema_list_keys(members, section->kinds, keys);
    if (schema_child(members, node->key, 0) != NULL) {
        const char *name;
        const struct schema_choice *type = item_selector(section, &name)->choices;
        while (type[1].name != NULL && SCHEMA_KIND(type->value) != section->kinds) {
            type++;
        }
        return origin_fail(section->origin, node, item.key,
                           "not a key of type %s (%s); valid keys: %s", type->name,
                           tree_show(node, shown), keys);
    }
    const char *nearest = schema_nearest_key(members, node->key);
    const char *elsewhere = nearest == NULL ? schema_key_elsewhere(node->key) : NULL;
    const char *guess = nearest != NULL ? nearest : elsewhere;
    return origin_fail(section->origin, node, item.key, "unknown key%s; %s%s%svalid keys: %s",
                       elsewhere != NULL ? " here" : "", guess != NULL ? "did you mean '" : "",
                       guess != NULL ? guess : "", guess != NULL ? "'? " : "", keys);
}

/* Refuse the section's value: "WHAT (the value); ASK its keys". */
static enum status fail_kind(const struct item *section, const char *what, const char *ask)
{
    const struct tree *node = section->node;
    char keys[SCHEMA_TEXT_BYTES];
    char shown[TREE_SHOW_BYTES];
    const bool empty = tree_is_empty(node);
    return origin_fail(section->origin, node, section->key[0] != '\0' ? section->key : NULL,
                       "%s%s%s%s; %s %s", what, empty ? "" : " (",
                       empty ? "" : tree_show(node, shown), empty ? "" : ")", ask,
                       schema_list_keys(item_members(section), 0, keys));
}

/* Collects all unknown keys; `unknown`: there were some. */
static enum status check_known(const struct item *section, bool *unknown)
{
    const struct tree *node = section->node != NULL ? section->node->first : NULL;
    *unknown = false;
    for (; node != NULL; node = node->next) {
        if (schema_child(item_members(section), node->key, section->kinds) == NULL) {
            TRY(origin_collect(section->origin, fail_unknown(section, node)));
            *unknown = true;
        }
    }
    return STATUS_OK;
}

/* A key that is not given: its default, or a failure when it is required; its rival replaces both.
 */
static enum status read_absent(const struct item *section, struct item *item)
{
    const struct schema_key *row = item->row;
    char rival[SCHEMA_WORD_BYTES];
    bool replaced = false;
    for (const char *list = row->rival; list != NULL && schema_next_word(&list, rival);) {
        replaced = replaced || tree_child(section->node, rival) != NULL;
    }
    if (section->node != NULL && (row->flags & SCHEMA_REQUIRED) != 0 && !replaced) {
        struct tree nothing = *section->node;
        struct item missing = *item;
        char more[64] = "";
        if (row->rival != NULL) {
            snprintf(more, sizeof more, ", and so is %s", row->rival);
        }
        nothing.kind = TREE_SCALAR;
        nothing.text = "";
        missing.node = &nothing;
        return value_fail(&missing, "missing", more);
    }
    if (row->type == SCHEMA_SECTION) {
        return read_section(item);
    }
    if (row->fallback == NULL || replaced) {
        return STATUS_OK;
    }
    /* read by the same code as a value from the file */
    TRY(tree_parse(item->origin, NULL, row->fallback, strlen(row->fallback), &item->node));
    return value_read(item);
}

static enum status read_item(const struct item *section, struct item *item)
{
    if ((item->row->flags & SCHEMA_NOTED) != 0) {
        *(bool *)(section->base + item->row->alternative) = item->node != NULL;
    }
    if (item->node == NULL) {
        return read_absent(section, item);
    }
    switch (item->row->type) {
    case SCHEMA_LIST:
        return read_entries(item);
    case SCHEMA_SECTION:
        return read_section(item);
    default:
        return item->row->type == SCHEMA_TIMES ? times_read(item)
               : table_is_given(item)          ? table_read(item)
                                               : value_read(item);
    }
}

/* One entry of a SCHEMA_ONE_KIND list. */
static enum status check_shape(const struct item *entry)
{
    const struct tree *node = entry->node;
    FAIL_IF(node->kind != TREE_MAPPING || node->nchildren == 0,
            fail_kind(entry, "not an entry", "give exactly one of:"));
    for (const struct tree *kind = node->first; kind != NULL; kind = kind->next) {
        FAIL_IF(schema_child(item_members(entry), kind->key, 0) == NULL, fail_unknown(entry, kind));
    }
    FAIL_IF(node->nchildren > 1,
            origin_fail(entry->origin, node->first->next, entry->key,
                        "two kinds in one entry (%s, %s); begin a new entry with '- %s:'",
                        node->first->key, node->first->next->key, node->first->next->key));
    struct shape_setting *shape = (struct shape_setting *)entry->base;
    while (schema_child(item_members(entry), node->first->key, SCHEMA_KIND(shape->kind)) == NULL) {
        shape->kind++;
    }
    return STATUS_OK;
}

/* Without a node the section is left out: all defaults apply. */
static enum status read_section(struct item *section)
{
    const struct tree *node = section->node;
    const char *name;
    if (section->row != NULL && (section->row->flags & SCHEMA_ONE_KIND) != 0) {
        TRY(check_shape(section));
    } else if (node != NULL && node->kind != TREE_MAPPING && !tree_is_empty(node)) {
        return fail_kind(section, "not a section",
                         section->row->type == SCHEMA_SECTION ? "give a section with the keys"
                                                              : "give the keys:");
    }
    const struct schema_key *selector = item_selector(section, &name);
    if (selector != NULL && node != NULL) {
        struct item type = item_below(section, selector, name);
        TRY(read_item(section, &type));
        item_select(section);
    }
    bool unknown = false;
    TRY(check_known(section, &unknown));
    struct item item;
    for (int row = 0; item_next(section, &row, &item);) {
        /* a missing key is probably the misspelt one */
        if (item.node != NULL || !unknown || (item.row->flags & SCHEMA_REQUIRED) == 0) {
            TRY(origin_collect(section->origin, read_item(section, &item)));
        }
    }
    return STATUS_OK;
}

static enum status read_tree(struct settings *settings)
{
    struct item top = item_top(settings);
    FAIL_IF(top.node->kind != TREE_MAPPING,
            fail_kind(&top,
                      tree_is_empty(top.node) ? "the configuration is empty"
                                              : "not made of 'key: value' lines",
                      "give the keys:"));
    TRY(origin_collect(settings->origin, read_section(&top)));
    TRY(origin_report(settings->origin));
    return settings_check(settings);
}

enum status settings_read_bytes(const char *name, const char *bytes, size_t nbytes,
                                const struct settings_overrides *words, struct settings **result)
{
    enum status status = STATUS_MEMORY;
    struct settings *settings = calloc(1, sizeof *settings);
    struct settings_origin *origin = calloc(1, sizeof *origin);
    *result = NULL;
    if (settings == NULL || origin == NULL) {
        free(settings);
        free(origin);
        return fail(STATUS_MEMORY, "no memory for the configuration");
    }
    settings->origin = origin;
    origin->name = origin_text(origin, name);
    if (origin->name == NULL) {
        status = STATUS_MEMORY;
        goto done;
    }
    TRY_GOTO(tree_parse(origin, NULL, bytes, nbytes, &origin->root));
    for (int i = 0; i < words->nsets; i++) {
        TRY_GOTO(origin_collect(origin, origin_apply_set(origin, words->sets[i])));
    }
    for (int i = 0; i < words->noptions; i++) {
        TRY_GOTO(origin_collect(origin, origin_apply_option(origin, &words->options[i])));
    }
    TRY_GOTO(origin_report(origin));
    if (words->numbers != NULL) {
        struct tree *read = NULL;
        TRY_GOTO(tree_parse(origin, NULL, words->numbers, strlen(words->numbers), &read));
        tree_take_numbers(origin->root, read);
    }
    TRY_GOTO(read_tree(settings));
    TRY_GOTO(tree_emit(origin->root, &settings->text));
    *result = settings;
    settings = NULL;
done:
    units_destroy(origin->units);
    origin->units = NULL;
    settings_destroy(settings);
    return status;
}

enum status settings_read_text(const char *name, const char *text, const char *const *sets,
                               int nsets, struct settings **settings)
{
    const struct settings_overrides words = {.sets = sets, .nsets = nsets};
    return settings_read_bytes(name, text, strlen(text), &words, settings);
}
