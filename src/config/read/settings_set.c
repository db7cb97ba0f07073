/* `--set key.path=value` on the tree. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "config/read/settings_tree.h"
#include "config/schema/schema.h"
#include "config/settings.h"

/* The place in tree and schema that an argument of the command line names. */
struct target {
    struct settings_origin *origin;
    struct tree words; /* the argument, for messages */
    const char *path;
    const struct schema_key *row; /* NULL: not in the schema */
    struct tree *node, *parent;
};

static enum status fail_path(const struct target *target, const char *end, const char *why)
{
    char reached[TREE_KEY_BYTES];
    snprintf(reached, sizeof reached, "%.*s", (int)(end - target->path), target->path);
    return origin_fail(target->origin, &target->words, reached, "%s", why);
}

/* One step down, to a child that exists or is created. `end` of the path so far. */
static enum status descend(struct target *target, const struct tree_step *step, const char *end,
                           enum tree_kind fresh_kind)
{
    struct tree *node = target->node;
    char why[160];
    char shown[TREE_SHOW_BYTES];
    if (tree_is_empty(node)) {
        node->kind = TREE_MAPPING; /* `output:` without keys in the file */
    }
    if (node->kind == TREE_LIST && (step->index < 0 || step->index > node->nchildren)) {
        snprintf(why, sizeof why,
                 "a list with %d entr%s; give a number from 0 (%d adds an entry), not '%s'",
                 node->nchildren, node->nchildren == 1 ? "y" : "ies", node->nchildren, step->name);
        return fail_path(target, end, why);
    }
    if (node->kind == TREE_SCALAR) {
        snprintf(why, sizeof why, "a single value (%.60s); it has no part '%s'",
                 tree_show(node, shown), step->name);
        return fail_path(target, end, why);
    }
    if (node->kind == TREE_MAPPING && step->bracket) {
        snprintf(why, sizeof why, "a section, not a list; it has no entry [%s]", step->name);
        return fail_path(target, end, why);
    }
    target->parent = node;
    target->node =
        node->kind == TREE_LIST ? tree_entry(node, step->index) : tree_child(node, step->name);
    if (target->node == NULL) {
        struct tree *fresh = tree_create(target->origin, fresh_kind, 0, target->words.typed);
        FAIL_IF(fresh == NULL || (fresh->key = origin_text(target->origin, step->name)) == NULL,
                STATUS_MEMORY);
        tree_append(node, fresh);
        target->node = fresh;
    }
    return STATUS_OK;
}

/* Follow the path in the tree, which grows as needed, and in the schema. */
static enum status follow(struct target *target)
{
    const char *members = "";
    target->node = target->origin->root;
    for (const char *rest = target->path; *rest != '\0';) {
        struct tree_step step;
        const char *here = rest;
        FAIL_IF(!tree_step_next(&rest, &step),
                fail_path(target, target->path + strlen(target->path),
                          "not a key; write it like time.steps or initial[0].sphere.radius"));
        TRY(descend(target, &step, here > target->path && here[-1] == '.' ? here - 1 : here,
                    *rest == '[' ? TREE_LIST : TREE_MAPPING));
        if (target->row != NULL && target->row->type == SCHEMA_LIST &&
            members == target->row->path) {
            members = schema_members(target->row); /* this step was the index of the entry */
        } else if (members != NULL) {
            target->row = schema_child(members, step.name, 0);
            members = target->row == NULL                ? NULL
                      : target->row->type == SCHEMA_LIST ? target->row->path
                                                         : schema_members(target->row);
        }
    }
    return STATUS_OK;
}

/* Setting one of two exclusive keys removes the other. */
static void remove_rival(struct tree *section, const char *key)
{
    struct tree *before = NULL;
    for (struct tree *child = section->first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            *(before != NULL ? &before->next : &section->first) = child->next;
            section->last = section->last == child ? before : section->last;
            section->nchildren--;
            return;
        }
        before = child;
    }
}

/* YAML, but strings and formulas are taken verbatim unless they are quoted: `? 1 : 2` and `a # b`
 * have another meaning in YAML, and the shell has removed one level of quotes. */
static enum status parse_value(const struct target *target, const char *text, struct tree **value)
{
    const struct schema_key *row = target->row;
    if (row == NULL || !schema_takes_text(row) || strchr("\"'[{", text[0]) != NULL) {
        return tree_parse(target->origin, target->words.typed, text, strlen(text), value);
    }
    *value = tree_create(target->origin, TREE_SCALAR, 0, target->words.typed);
    FAIL_IF(*value == NULL || ((*value)->text = origin_text(target->origin, text)) == NULL,
            STATUS_MEMORY);
    return STATUS_OK;
}

static enum status replace(struct target *target, const char *text, struct tree *value)
{
    TRY(follow(target));
    if (value == NULL) {
        TRY(parse_value(target, text, &value));
    }
    value->key = target->node->key;
    value->next = target->node->next;
    *target->node = *value;
    const char *rivals = target->row != NULL ? target->row->rival : NULL;
    char rival[SCHEMA_WORD_BYTES];
    while (rivals != NULL && schema_next_word(&rivals, rival) &&
           target->parent->kind == TREE_MAPPING) {
        remove_rival(target->parent, rival);
    }
    return STATUS_OK;
}

/* Store "--set time.steps=9" in the origin. The argument goes into files, with the
 * configuration. */
static enum status keep_words(struct target *target, const char *option, const char *value)
{
    const size_t nbytes = strlen(option) + strlen(value) + 2;
    char *words = origin_memory(target->origin, nbytes);
    FAIL_IF(words == NULL, STATUS_MEMORY);
    snprintf(words, nbytes, "%s %s", option, value);
    target->words.typed = words;
    for (const char *p = value; *p != '\0'; p += utf8_length(p)) {
        if (utf8_length(p) == 0) {
            const unsigned byte = (unsigned char)*p;
            log_clean(words);
            return origin_fail(target->origin, &target->words, NULL,
                               "not valid UTF-8: byte 0x%02x at column %zu; give UTF-8", byte,
                               (size_t)(p - value) + 1);
        }
    }
    return STATUS_OK;
}

enum status origin_apply_set(struct settings_origin *origin, const char *set)
{
    const char *equals = strchr(set, '=');
    char path[TREE_KEY_BYTES];
    struct target target = {.origin = origin, .path = path};
    TRY(keep_words(&target, "--set", set));
    FAIL_IF(equals == NULL || equals == set || equals - set >= TREE_KEY_BYTES,
            origin_fail(origin, &target.words, NULL,
                        "not of the form key.path=value, such as --set time.steps=100"));
    snprintf(path, sizeof path, "%.*s", (int)(equals - set), set);
    return replace(&target, equals + 1, NULL);
}

enum status origin_apply_option(struct settings_origin *origin,
                                const struct settings_option *option)
{
    struct target target = {.origin = origin, .path = option->key};
    TRY(keep_words(&target, option->name, option->value));
    struct tree *value = tree_create(origin, TREE_SCALAR, 0, target.words.typed);
    FAIL_IF(value == NULL || (value->text = origin_text(origin, option->value)) == NULL,
            STATUS_MEMORY);
    value->quoted = true; /* a folder may be called null */
    return replace(&target, NULL, value);
}
