/* A configuration as a tree of nodes that remember where they came from.
 *
 * Read by libyaml's document interface rather than by libcyaml's schema: libcyaml names an unknown
 * key at the position of the value before it, forgets the lines once it has loaded (so a later
 * check, such as "the box lies outside the grid", could not name its line), and knows no
 * "auto or a list" values. */
#ifndef ISOTHERM_CONFIG_SETTINGS_TREE_H
#define ISOTHERM_CONFIG_SETTINGS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAPPING };

struct tree {
    enum tree_kind kind;
    bool quoted;       /* scalar: written in quotes or as a block of text */
    int line;          /* in the file, from 1: of the key, where there is one */
    const char *text;  /* scalar: its value */
    const char *key;   /* in a mapping: its name */
    const char *typed; /* the words of the command line that it came from, as "--set time.steps=9";
                        * NULL: the file */
    int nchildren;
    struct tree *first, *last; /* child; of a list or a mapping */
    struct tree *next;         /* behind this one, with the same parent */
};

/* What a configuration was read from: all that messages need. It owns the tree, and all texts and
 * lists of the settings. */
struct settings_origin {
    const char *name; /* of the file */
    struct tree *root;
    struct settings_memory *memory;
    int failed_line; /* of the last failure recorded; 0: on the command line */
    struct settings_problem *problems;
};

/* Zeroed memory that lives as long as the origin; NULL, with the failure recorded (STATUS_MEMORY),
 * when there is none. */
void *origin_memory(struct settings_origin *origin, size_t nbytes);
char *origin_text(struct settings_origin *origin, const char *text);
void origin_destroy(struct settings_origin *origin); /* takes NULL */

/* Record STATUS_INPUT with "FILE:LINE: KEY: " or "--set TEXT: KEY: " in front (key NULL: without).
 */
enum status origin_fail(struct settings_origin *origin, const struct tree *at, const char *key,
                        const char *format, ...) PRINTF_LIKE(4, 5);

/* Several problems become one message. Put the failure just recorded aside when `status` is
 * STATUS_INPUT, and say STATUS_OK; other codes are returned as they are. */
enum status origin_collect(struct settings_origin *origin, enum status status) MUST_CHECK;
/* STATUS_INPUT with what was put aside, a line each, in the order of the file. */
enum status origin_tell(struct settings_origin *origin) MUST_CHECK;

/* Apply `key.path=value`, or an option. */
enum status origin_apply_set(struct settings_origin *origin, const char *set) MUST_CHECK;
struct settings_option;
enum status origin_apply_option(struct settings_origin *origin,
                                const struct settings_option *option) MUST_CHECK;

enum { TREE_KEY_BYTES = 256, TREE_SHOW_BYTES = 96 };

/* Parse one YAML document. `typed`, when not NULL, are the words of the command line with that
 * value, and live as long as the origin. STATUS_INPUT with the position. */
enum status tree_parse(struct settings_origin *origin, const char *typed, const char *bytes,
                       size_t nbytes, struct tree **root) MUST_CHECK;

/* The tree as YAML text; caller frees. */
enum status tree_emit(const struct tree *root, char **text) MUST_CHECK;

/* As origin_memory. */
struct tree *tree_create(struct settings_origin *origin, enum tree_kind kind, int line,
                         const char *typed);
void tree_append(struct tree *parent, struct tree *child);

/* The child of that name; NULL when there is none or the node is no mapping (or NULL). */
struct tree *tree_child(const struct tree *node, const char *key);
/* The entry of that number; NULL when there is none or the node is no list (or NULL). */
struct tree *tree_entry(const struct tree *node, int index);

/* The entries of a list; 1 for a single value. */
static inline int tree_count(const struct tree *node)
{
    return node->kind == TREE_SCALAR ? 1 : node->nchildren;
}

/* True for `key:` with nothing behind it, and for null and ~. */
bool tree_is_empty(const struct tree *node);

/* Walk along "initial[1].box.lower" (or "initial.1.box.lower") as far as it exists; `exact` tells
 * whether that was all of it. Never NULL. */
struct tree *tree_find(struct tree *root, const char *key, bool *exact);

/* One step of such a path. False when it is malformed. */
struct tree_step {
    char name[64];
    bool bracket; /* written [name] */
    int index;    /* the number that it is; -1: none */
};
bool tree_step_next(const char **path, struct tree_step *step);

/* The value as a message shows it: one line, cut where it is long. */
const char *tree_show(const struct tree *node, char text[TREE_SHOW_BYTES]);

#endif
