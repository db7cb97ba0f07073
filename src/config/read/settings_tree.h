/* A configuration as a tree of nodes that record their source.
 *
 * Read with libyaml's document interface, not with libcyaml's schema: libcyaml reports an unknown
 * key at the position of the value before it, drops line numbers after loading (later checks need
 * them), and does not support values of the kind "auto or a list". libfyaml's emitter lays out text
 * in another way, and the effective configuration is part of every file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAPPING };

struct tree {
    enum tree_kind kind;
    bool quoted;       /* scalar: in quotes or a block scalar */
    int line;          /* in the file, from 1; of the key if there is one */
    const char *text;  /* scalar: its value */
    const char *si;    /* scalar with a unit, when it has been read: the number in the key's unit */
    bool has_zero;     /* the unit has a zero point of its own, as degC has */
    const char *key;   /* in a mapping: its name */
    const char *typed; /* the argument of the command line it came from, such as "--set
                          time.steps=9"; NULL: the file */
    int nchildren;
    struct tree *first, *last; /* child; of a list or a mapping */
    struct tree *next;         /* with the same parent */
};

/* The source of a configuration, for messages. Owns the tree and all strings and lists of the
 * settings. */
struct settings_origin {
    const char *name; /* of the file */
    struct tree *root;
    struct settings_memory *memory;
    struct units *units;          /* NULL until a value with a unit has been converted */
    struct table_setting *tables; /* over time: the last one read */
    int failed_line;              /* of the last failure; 0: on the command line */
    struct settings_problem *problems;
};

/* Zeroed memory with the lifetime of the origin. NULL when out of memory, with STATUS_MEMORY
 * recorded. */
void *origin_memory(struct settings_origin *origin, size_t nbytes);
char *origin_text(struct settings_origin *origin, const char *text);
void origin_destroy(struct settings_origin *origin); /* takes NULL */

/* Record STATUS_INPUT, prefixed with "FILE:LINE: KEY: " or "--set TEXT: KEY: " (NULL: no key). */
#define origin_fail(origin, at, key, ...)                                                          \
    origin_place(origin, at, key, fail(STATUS_INPUT, __VA_ARGS__))
/* The same of the message of a failure that has just been recorded; returns its code. */
enum status origin_place(struct settings_origin *origin, const struct tree *at, const char *key,
                         enum status failed);

/* Collects several problems for one message: when `status` is STATUS_INPUT, stores the recorded
 * failure and returns STATUS_OK. Returns other codes unchanged. */
enum status origin_collect(struct settings_origin *origin, enum status status);
/* STATUS_INPUT with the collected problems, one per line, in the order of the file. */
enum status origin_report(struct settings_origin *origin);

/* Apply `key.path=value`, or an option. */
enum status origin_apply_set(struct settings_origin *origin, const char *set);
struct settings_option;
enum status origin_apply_option(struct settings_origin *origin,
                                const struct settings_option *option);

enum { TREE_KEY_BYTES = 256, TREE_SHOW_BYTES = 96 };

/* Parse one YAML document. `typed`: the argument of the command line with that value, which must
 * live as long as the origin; NULL: from the file. STATUS_INPUT with the position. */
enum status tree_parse(struct settings_origin *origin, const char *typed, const char *bytes,
                       size_t nbytes, struct tree **root);

/* The tree as YAML text; caller frees. */
enum status tree_emit(const struct tree *root, char **text);

/* As origin_memory. */
struct tree *tree_create(struct settings_origin *origin, enum tree_kind kind, int line,
                         const char *typed);
void tree_append(struct tree *parent, struct tree *child);

/* NULL when there is no such child or `node` is not a mapping (or NULL). */
struct tree *tree_child(const struct tree *node, const char *key);
/* NULL when there is no such entry or `node` is not a list (or NULL). */
struct tree *tree_entry(const struct tree *node, int index);

/* The entries of a list; 1 for a single value. */
static inline int tree_count(const struct tree *node)
{
    return node->kind == TREE_SCALAR ? 1 : node->nchildren;
}

/* True for `key:` without a value, null and ~. */
bool tree_is_empty(const struct tree *node);

/* Follow "initial[1].box.lower" (or "initial.1.box.lower") as far as it exists; `exact`: to its
 * end. Never NULL. */
struct tree *tree_find(struct tree *root, const char *key, bool *exact);

/* One step of such a path. False when it is malformed. */
struct tree_step {
    char name[64];
    bool bracket; /* written [name] */
    int index;    /* -1: not a number */
};
bool tree_step_next(const char **path, struct tree_step *step);

/* Give the scalars those texts as `si` in which a tree of the same shape differs. */
void tree_take_numbers(struct tree *node, const struct tree *from);

/* The value for a message: one line, truncated. */
const char *tree_show(const struct tree *node, char text[TREE_SHOW_BYTES]);
