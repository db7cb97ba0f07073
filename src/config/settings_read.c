/* From the tree to struct settings, key by key as the schema says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "config/schema.h"
#include "config/settings.h"
#include "config/settings_check.h"
#include "config/settings_tree.h"
#include "config/settings_value.h"

enum { CONFIGURATION_LIMIT_BYTES = 1 << 20 };

/* Where the walk is. `base` is the struct that the offsets of the schema count from. */
struct place {
    const struct settings_origin *origin;
    char *base;
    const char *members;      /* path of this section in the schema, in front of its keys */
    char key[TREE_KEY_BYTES]; /* path of this section in the file; "" at the top */
};

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory to read the configuration");
}

static void key_below(const struct place *place, const char *name, char key[TREE_KEY_BYTES])
{
    snprintf(key, TREE_KEY_BYTES, "%.180s%s%.60s", place->key, place->key[0] != '\0' ? "." : "",
             name);
}

static enum status read_section(const struct place *place, const struct tree *node);

/* The default of a key, read by the same code as a value of the user. */
static enum status read_fallback(const struct place *place, const struct schema_key *row)
{
    struct tree *node = NULL;
    TRY(tree_parse("default", NULL, row->fallback, strlen(row->fallback), &node));
    const enum status status = value_read(place->origin, row, node, row->path, place->base);
    tree_destroy(node);
    return status;
}

static struct place enter(const struct place *place, const struct schema_key *row, const char *name)
{
    struct place inner = *place;
    inner.base = place->base + row->offset;
    inner.members = schema_members(row);
    key_below(place, name, inner.key);
    return inner;
}

static enum status read_entries(const struct place *place, const struct schema_key *row,
                                const struct tree *node, const char *key)
{
    if (node->kind != TREE_LIST || node->nchildren == 0) {
        return value_fail(place->origin, row, node, key,
                          node->kind == TREE_LIST || tree_is_empty(node) ? "empty" : "not a list",
                          "");
    }
    char *entries = calloc((size_t)node->nchildren, row->entry_bytes);
    if (entries == NULL) {
        return no_memory();
    }
    memcpy(place->base + row->offset, &entries, sizeof entries);
    *(int *)(place->base + row->alternative) = node->nchildren;
    for (int i = 0; i < node->nchildren; i++) {
        struct place entry = *place;
        entry.base = entries + (size_t)i * row->entry_bytes;
        entry.members = schema_members(row);
        snprintf(entry.key, sizeof entry.key, "%.180s[%d]", key, i);
        TRY(read_section(&entry, node->child[i]));
    }
    return STATUS_OK;
}

/* The selector of a section: the key whose value says which others apply; NULL: it has none. */
static const struct schema_key *find_selector(const char *members, const char **name)
{
    int count;
    const struct schema_key *table = schema_table(&count);
    for (int i = 0; i < count; i++) {
        if ((table[i].flags & SCHEMA_SELECTOR) != 0 && schema_is_child(&table[i], members, name)) {
            return &table[i];
        }
    }
    return NULL;
}

static const char *kind_name(const struct place *place, unsigned kinds)
{
    const char *name;
    const struct schema_key *selector = find_selector(place->members, &name);
    for (int i = 0; selector != NULL && selector->choices[i].name != NULL; i++) {
        if (SCHEMA_KIND(selector->choices[i].value) == kinds) {
            return selector->choices[i].name;
        }
    }
    return "";
}

static enum status fail_unknown(const struct place *place, const struct tree *node,
                                const char *name, unsigned kinds)
{
    char key[TREE_KEY_BYTES];
    char keys[SCHEMA_TEXT_BYTES];
    char shown[TREE_SHOW_BYTES];
    const struct tree word = {.kind = TREE_SCALAR, .text = (char *)name};
    key_below(place, tree_show(&word, shown), key);
    schema_list_keys(place->members, kinds, keys);
    if (schema_child(place->members, name, 0) != NULL) {
        return origin_fail(place->origin, node, key,
                           "not a key of type %s (%s); the keys of that type are: %s",
                           kind_name(place, kinds), tree_show(node, shown), keys);
    }
    const char *nearest = schema_nearest_key(place->members, name);
    return origin_fail(place->origin, node, key, "unknown key; %s%s%sthe keys here are: %s",
                       nearest != NULL ? "did you mean '" : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "'? " : "", keys);
}

static enum status read_member(const struct place *place, const struct schema_key *row,
                               const struct tree *node, const char *name)
{
    char key[TREE_KEY_BYTES];
    key_below(place, name, key);
    if (row->type == SCHEMA_LIST) {
        return read_entries(place, row, node, key);
    }
    if (row->type != SCHEMA_SECTION) {
        return value_read(place->origin, row, node, key, place->base);
    }
    if (node->kind != TREE_MAPPING && !tree_is_empty(node)) {
        return value_fail(place->origin, row, node, key, "not a section", "");
    }
    const struct place inner = enter(place, row, name);
    return read_section(&inner, node);
}

/* A key that the section does not give: a default, or a message when it is required.
 * `node` is NULL when the section itself is left out. */
static enum status read_absent(const struct place *place, const struct schema_key *row,
                               const struct tree *node, const char *name)
{
    char key[TREE_KEY_BYTES];
    key_below(place, name, key);
    if (node != NULL && (row->flags & SCHEMA_REQUIRED) != 0) {
        const struct tree nothing = {
            .kind = TREE_SCALAR, .text = (char *)"", .line = node->line, .typed = node->typed};
        return value_fail(place->origin, row, &nothing, key, "missing", "");
    }
    if (row->type == SCHEMA_SECTION) {
        const struct place inner = enter(place, row, name);
        return read_section(&inner, NULL);
    }
    if (row->rival != NULL && tree_child(node, row->rival) != NULL) {
        return STATUS_OK; /* the one given stands instead of the default */
    }
    return row->fallback != NULL ? read_fallback(place, row) : STATUS_OK;
}

/* The kinds that apply in a section with a selector, from its value; 0 where there is none. */
static enum status read_selector(const struct place *place, const struct tree *node,
                                 unsigned *kinds)
{
    const char *name;
    const struct schema_key *selector = find_selector(place->members, &name);
    *kinds = 0;
    if (selector == NULL || node == NULL) {
        return STATUS_OK;
    }
    const struct tree *value = tree_child(node, name);
    if (value == NULL) {
        return read_absent(place, selector, node, name);
    }
    TRY(read_member(place, selector, value, name));
    *kinds = SCHEMA_KIND(*(const int *)(place->base + selector->offset));
    return STATUS_OK;
}

/* One entry of `initial`: a mapping with exactly one key, the kind. */
static enum status read_entry(const struct place *place, const struct tree *node)
{
    char keys[SCHEMA_TEXT_BYTES];
    char shown[TREE_SHOW_BYTES];
    schema_list_keys(place->members, 0, keys);
    if (node->kind != TREE_MAPPING || node->nchildren == 0) {
        return origin_fail(
            place->origin, node, place->key, "not an entry%s%s%s; give exactly one of: %s",
            tree_is_empty(node) ? "" : " (", tree_is_empty(node) ? "" : tree_show(node, shown),
            tree_is_empty(node) ? "" : ")", keys);
    }
    const struct schema_key *first = NULL;
    for (int i = 0; i < node->nchildren; i++) {
        const struct schema_key *row = schema_child(place->members, node->key[i], 0);
        if (row == NULL) {
            return fail_unknown(place, node->child[i], node->key[i], 0);
        }
        if (first != NULL) {
            return origin_fail(place->origin, node->child[i], place->key,
                               "two kinds in one entry (%s, %s); begin a new entry with '- %s:'",
                               node->key[0], node->key[i], node->key[i]);
        }
        first = row;
    }
    struct initial_setting *entry = (struct initial_setting *)place->base;
    for (int kind = INITIAL_UNIFORM; kind <= INITIAL_FILE; kind++) {
        if (first->kinds == SCHEMA_KIND(kind)) {
            entry->kind = (enum initial_kind)kind;
        }
    }
    return read_member(place, first, node->child[0], node->key[0]);
}

/* An entry of a list that is no mapping. */
static enum status fail_no_section(const struct place *place, const struct tree *node)
{
    char keys[SCHEMA_TEXT_BYTES];
    char shown[TREE_SHOW_BYTES];
    return origin_fail(place->origin, node, place->key, "not a section (%s); give the keys: %s",
                       tree_show(node, shown), schema_list_keys(place->members, 0, keys));
}

/* `node` is NULL when the section is left out: then all its defaults apply. */
static enum status read_section(const struct place *place, const struct tree *node)
{
    int count;
    const struct schema_key *table = schema_table(&count);
    if (strcmp(place->members, "initial[]") == 0) {
        return read_entry(place, node);
    }
    if (node != NULL && node->kind != TREE_MAPPING && !tree_is_empty(node)) {
        return fail_no_section(place, node);
    }
    unsigned kinds = 0;
    TRY(read_selector(place, node, &kinds));
    for (int i = 0; node != NULL && i < node->nchildren; i++) {
        const struct schema_key *row = schema_child(place->members, node->key[i], kinds);
        if (row == NULL) {
            return fail_unknown(place, node->child[i], node->key[i], kinds);
        }
        TRY(read_member(place, row, node->child[i], node->key[i]));
    }
    for (int i = 0; i < count; i++) {
        const char *name;
        const bool applies = table[i].kinds == 0 || (table[i].kinds & kinds) != 0;
        if (applies && schema_is_child(&table[i], place->members, &name) &&
            tree_child(node, name) == NULL) {
            TRY(read_absent(place, &table[i], node, name));
        }
    }
    return STATUS_OK;
}

/* ---- the whole ---- */

static enum status read_tree(struct settings *settings)
{
    const struct settings_origin *origin = settings->origin;
    if (origin->root->kind != TREE_MAPPING) {
        char shown[TREE_SHOW_BYTES];
        char keys[SCHEMA_TEXT_BYTES];
        const bool empty = tree_is_empty(origin->root);
        return origin_fail(origin, origin->root, NULL, "%s%s%s; give the keys: %s",
                           empty ? "the configuration is empty"
                                 : "not made of 'key: value' lines (",
                           empty ? "" : tree_show(origin->root, shown), empty ? "" : ")",
                           schema_list_keys("", 0, keys));
    }
    const struct place top = {.origin = origin, .base = (char *)settings, .members = ""};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        /* lists may be shorter than 3 */
        settings->grid.cells[axis] = 1;
        settings->grid.upper[axis] = 1;
        settings->run.decomposition[axis] = 1;
    }
    TRY(read_section(&top, origin->root));
    return settings_check(settings);
}

enum status settings_read_bytes(const char *name, const char *bytes, size_t nbytes,
                                const struct settings_words *words, struct settings **result)
{
    enum status status = STATUS_OK;
    struct settings *settings = calloc(1, sizeof *settings);
    *result = NULL;
    if (settings == NULL || (settings->origin = calloc(1, sizeof *settings->origin)) == NULL ||
        (settings->origin->name = strdup(name)) == NULL) {
        status = no_memory();
        goto done;
    }
    TRY_GOTO(tree_parse(settings->origin->name, NULL, bytes, nbytes, &settings->origin->root));
    for (int i = 0; i < words->nsets; i++) {
        TRY_GOTO(origin_apply_set(settings->origin, words->sets[i]));
    }
    for (int i = 0; i < words->noptions; i++) {
        TRY_GOTO(origin_apply_option(settings->origin, &words->options[i]));
    }
    TRY_GOTO(read_tree(settings));
    TRY_GOTO(tree_emit(settings->origin->root, &settings->text));
    *result = settings;
    settings = NULL;
done:
    settings_destroy(settings);
    return status;
}

enum status settings_read_text(const char *name, const char *text, const char *const *sets,
                               int nsets, struct settings **settings)
{
    const struct settings_words words = {.sets = sets, .nsets = nsets};
    return settings_read_bytes(name, text, strlen(text), &words, settings);
}

enum status settings_read(const char *path, const char *const *sets, int nsets,
                          struct settings **settings)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    *settings = NULL;
    TRY(file_read_all(path, CONFIGURATION_LIMIT_BYTES, &bytes, &nbytes));
    enum status status = STATUS_OK;
    if (nbytes > CONFIGURATION_LIMIT_BYTES) {
        status = fail(STATUS_FILE, "%s is larger than %d bytes: not what was expected", path,
                      CONFIGURATION_LIMIT_BYTES);
    } else {
        const struct settings_words words = {.sets = sets, .nsets = nsets};
        status = settings_read_bytes(path, bytes, nbytes, &words, settings);
    }
    free(bytes);
    return status;
}
