/* `--set key.path=value` on the tree, and the tree back as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/schema.h"
#include "config/settings.h"
#include "config/settings_tree.h"

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory for the configuration");
}

/* Names the words typed, and the part of the path that was reached. */
static enum status fail_path(const struct settings_origin *origin, const char *typed,
                             const char *path, const char *end, const char *why)
{
    char reached[TREE_KEY_BYTES];
    const struct tree here = {.typed = typed};
    snprintf(reached, sizeof reached, "%.*s", (int)(end - path), path);
    return origin_fail(origin, &here, reached, "%s", why);
}

/* The row of the schema that a path leads to; NULL when there is none. */
static const struct schema_key *find_row(const char *path)
{
    const struct schema_key *row = NULL;
    const char *members = "";
    struct tree_step step;
    while (*path != '\0') {
        if (!tree_step_next(&path, &step)) {
            return NULL;
        }
        if (row != NULL && row->type == SCHEMA_LIST && members == row->path) {
            members = schema_members(row); /* this step was the number of the entry */
            continue;
        }
        row = schema_child(members, step.name, 0);
        if (row == NULL) {
            return NULL;
        }
        members = row->type == SCHEMA_LIST ? row->path : schema_members(row);
    }
    return row;
}

/* The slot for one step below `node`, made when it is missing; when that cannot be, `why` says why.
 */
static enum status descend(struct tree *node, const struct tree_step *step,
                           enum tree_kind fresh_kind, const char *typed, struct tree ***slot,
                           char why[160])
{
    why[0] = '\0';
    int index = -1;
    if (node->kind == TREE_LIST) {
        index = tree_step_index(step);
        if (index < 0 || index > node->nchildren) {
            snprintf(
                why, 160,
                "a list with %d entries; name one by its number, from 0 (%d adds one), not '%s'",
                node->nchildren, node->nchildren, step->name);
            return STATUS_OK;
        }
    } else if (node->kind == TREE_SCALAR) {
        char shown[TREE_SHOW_BYTES];
        snprintf(why, 160, "a single value (%.60s); it has no part '%s'", tree_show(node, shown),
                 step->name);
        return STATUS_OK;
    } else if (step->bracket) {
        snprintf(why, 160, "a section, not a list; it has no entry [%s]", step->name);
        return STATUS_OK;
    } else {
        for (index = 0; index < node->nchildren; index++) {
            if (strcmp(node->key[index], step->name) == 0) {
                break;
            }
        }
    }
    if (index == node->nchildren) {
        struct tree *fresh = tree_create(fresh_kind, 0, typed);
        if (fresh == NULL) {
            return no_memory();
        }
        const enum status status =
            tree_append(node, node->kind == TREE_LIST ? NULL : step->name, fresh);
        if (status != STATUS_OK) {
            tree_destroy(fresh);
            return status;
        }
    }
    *slot = &node->child[index];
    return STATUS_OK;
}

static void remove_child(struct tree *node, const char *key)
{
    for (int i = 0; i < node->nchildren; i++) {
        if (strcmp(node->key[i], key) == 0) {
            tree_destroy(node->child[i]);
            free(node->key[i]);
            const size_t behind = (size_t)(node->nchildren - i - 1);
            memmove(&node->child[i], &node->child[i + 1], behind * sizeof(struct tree *));
            memmove(&node->key[i], &node->key[i + 1], behind * sizeof(char *));
            node->nchildren--;
            return;
        }
    }
}

/* Setting one of two keys that exclude each other means: instead of the other. */
static void remove_rival(struct tree *root, const char *path)
{
    const struct schema_key *key = find_row(path);
    if (key == NULL || key->rival == NULL) {
        return;
    }
    const char *dot = strrchr(path, '.');
    char section[TREE_KEY_BYTES];
    snprintf(section, sizeof section, "%.*s", (int)(dot - path), path);
    bool exact;
    /* tree_find is for readers; the tree is ours to change */
    struct tree *node = (struct tree *)tree_find(root, section, &exact);
    if (exact && node->kind == TREE_MAPPING) {
        remove_child(node, key->rival);
    }
}

/* Put `value` where `path` leads; takes it over when STATUS_OK. */
static enum status graft(const struct settings_origin *origin, const char *typed, const char *path,
                         struct tree *value)
{
    struct tree **slot = NULL;
    struct tree *node = origin->root;
    const char *rest = path;
    while (*rest != '\0') {
        struct tree_step step;
        const char *here = rest;
        if (!tree_step_next(&rest, &step)) {
            return fail_path(origin, typed, path, path + strlen(path),
                             "not a key; write it like time.steps or initial[0].sphere.radius");
        }
        if (tree_is_empty(node)) {
            /* `output:` with nothing below it in the file */
            node->kind = TREE_MAPPING;
            free(node->text);
            node->text = NULL;
        }
        char why[160];
        const enum tree_kind fresh_kind = *rest == '[' ? TREE_LIST : TREE_MAPPING;
        TRY(descend(node, &step, fresh_kind, typed, &slot, why));
        if (why[0] != '\0') {
            const char *end = here > path && here[-1] == '.' ? here - 1 : here;
            return fail_path(origin, typed, path, end, why);
        }
        node = *slot;
    }
    tree_destroy(*slot);
    *slot = value;
    remove_rival(origin->root, path);
    return STATUS_OK;
}

/* "--set time.steps=9", for as long as the origin is there. */
static enum status keep_words(struct settings_origin *origin, const char *option, const char *value,
                              const char **kept)
{
    char **typed = realloc(origin->typed, ((size_t)origin->ntyped + 1) * sizeof(char *));
    if (typed == NULL) {
        return no_memory();
    }
    origin->typed = typed;
    const size_t bytes = strlen(option) + strlen(value) + 2;
    char *words = malloc(bytes);
    if (words == NULL) {
        return no_memory();
    }
    snprintf(words, bytes, "%s %s", option, value);
    typed[origin->ntyped++] = words;
    *kept = words;
    return STATUS_OK;
}

/* YAML, but texts and formulas are taken as they stand unless they are quoted: `? 1 : 2` and
 * `a # b` mean something else in YAML, and the shell has taken one level of quotes already. */
static enum status parse_value(const struct settings_origin *origin, const char *typed,
                               const char *path, const char *text, struct tree **value)
{
    const struct schema_key *row = find_row(path);
    if (row == NULL || !schema_takes_text(row) || strchr("\"'[{", text[0]) != NULL) {
        return tree_parse(origin->name, typed, text, strlen(text), value);
    }
    struct tree *node = tree_create(TREE_SCALAR, 0, typed);
    if (node == NULL || (node->text = strdup(text)) == NULL) {
        tree_destroy(node);
        return no_memory();
    }
    *value = node;
    return STATUS_OK;
}

/* Takes `value` over. */
static enum status graft_or_drop(const struct settings_origin *origin, const char *typed,
                                 const char *path, struct tree *value)
{
    const enum status status = graft(origin, typed, path, value);
    if (status != STATUS_OK) {
        tree_destroy(value);
    }
    return status;
}

enum status origin_apply_set(struct settings_origin *origin, const char *set)
{
    const char *typed = NULL;
    TRY(keep_words(origin, "--set", set, &typed));
    const char *equals = strchr(set, '=');
    if (equals == NULL || equals == set || equals - set >= TREE_KEY_BYTES) {
        const struct tree here = {.typed = typed};
        return origin_fail(
            origin, &here, NULL,
            "not of the form key.path=value; write for example --set time.steps=100");
    }
    char path[TREE_KEY_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)(equals - set), set);
    struct tree *value = NULL;
    TRY(parse_value(origin, typed, path, equals + 1, &value));
    return graft_or_drop(origin, typed, path, value);
}

enum status origin_apply_option(struct settings_origin *origin,
                                const struct settings_option *option)
{
    const char *typed = NULL;
    TRY(keep_words(origin, option->name, option->value, &typed));
    struct tree *value = tree_create(TREE_SCALAR, 0, typed);
    if (value == NULL || (value->text = strdup(option->value)) == NULL) {
        tree_destroy(value);
        return no_memory();
    }
    value->quoted = true; /* a folder may be called null */
    return graft_or_drop(origin, typed, option->key, value);
}

/* ---- the tree as text ---- */

static int add_node(yaml_document_t *document, const struct tree *node);

static bool only_scalars(const struct tree *node)
{
    for (int i = 0; i < node->nchildren; i++) {
        if (node->child[i]->kind != TREE_SCALAR) {
            return false;
        }
    }
    return true;
}

/* The emitter turns to quotes of another kind where these cannot hold the text: in that order, so
 * that emitting what was read back gives the same text. */
static int add_scalar(yaml_document_t *document, const char *text, bool quoted)
{
    return yaml_document_add_scalar(document, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                    quoted ? YAML_SINGLE_QUOTED_SCALAR_STYLE
                                           : YAML_PLAIN_SCALAR_STYLE);
}

static int add_list(yaml_document_t *document, const struct tree *node)
{
    const int list = yaml_document_add_sequence(
        document, NULL, only_scalars(node) ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    for (int i = 0; list != 0 && i < node->nchildren; i++) {
        const int item = add_node(document, node->child[i]);
        if (item == 0 || yaml_document_append_sequence_item(document, list, item) == 0) {
            return 0;
        }
    }
    return list;
}

/* libyaml's document functions return 0 when out of memory. */
static int add_node(yaml_document_t *document, const struct tree *node)
{
    if (node->kind == TREE_SCALAR) {
        return add_scalar(document, node->text, node->quoted);
    }
    if (node->kind == TREE_LIST) {
        return add_list(document, node);
    }
    const int mapping = yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
    for (int i = 0; mapping != 0 && i < node->nchildren; i++) {
        const int key = add_scalar(document, node->key[i], false);
        const int value = key != 0 ? add_node(document, node->child[i]) : 0;
        if (value == 0 || yaml_document_append_mapping_pair(document, mapping, key, value) == 0) {
            return 0;
        }
    }
    return mapping;
}

struct buffer {
    char *bytes;
    size_t used;
};

static int buffer_write(void *data, unsigned char *bytes, size_t nbytes)
{
    struct buffer *buffer = data;
    char *larger = realloc(buffer->bytes, buffer->used + nbytes + 1);
    if (larger == NULL) {
        return 0;
    }
    memcpy(larger + buffer->used, bytes, nbytes);
    buffer->bytes = larger;
    buffer->used += nbytes;
    larger[buffer->used] = '\0';
    return 1;
}

enum status tree_emit(const struct tree *root, char **text)
{
    yaml_emitter_t emitter;
    yaml_document_t document;
    struct buffer buffer = {0};
    *text = NULL;
    if (yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1) == 0) {
        return no_memory();
    }
    if (add_node(&document, root) == 0 || yaml_emitter_initialize(&emitter) == 0) {
        yaml_document_delete(&document);
        return no_memory();
    }
    yaml_emitter_set_output(&emitter, buffer_write, &buffer);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    /* dump takes the document over and deletes it */
    const bool whole = yaml_emitter_open(&emitter) != 0 &&
                       yaml_emitter_dump(&emitter, &document) != 0 &&
                       yaml_emitter_close(&emitter) != 0;
    yaml_emitter_delete(&emitter);
    if (!whole || buffer.bytes == NULL) {
        free(buffer.bytes);
        return no_memory();
    }
    *text = buffer.bytes;
    return STATUS_OK;
}
