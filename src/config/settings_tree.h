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
    char *text;          /* scalar: its value */
    bool quoted;         /* scalar: written in quotes or as a block of text */
    char **key;          /* mapping: the children's names */
    struct tree **child; /* list and mapping */
    int nchildren;
    int line;          /* in the file, from 1: of the key, where there is one */
    const char *typed; /* the words of the command line that it came from, as "--set time.steps=9"
                        * (borrowed); NULL: the file */
};

/* The tree, the file's name and the words typed instead: all that messages need. */
struct settings_origin {
    char *name;
    struct tree *root;
    char **typed;
    int ntyped;
};

enum { TREE_KEY_BYTES = 256, TREE_SHOW_BYTES = 96 };

/* Parse one YAML document. `name` stands for the file; `typed`, when not NULL, are the words of
 * the command line with that value, and must outlive the tree. STATUS_INPUT with the position. */
enum status tree_parse(const char *name, const char *typed, const char *bytes, size_t nbytes,
                       struct tree **root) MUST_CHECK;
void tree_destroy(struct tree *node); /* takes NULL */

/* NULL when out of memory. */
struct tree *tree_create(enum tree_kind kind, int line, const char *typed);

/* Take `child` over as the last one of a mapping (under a copy of `key`) or of a list (NULL).
 * On failure the child still belongs to the caller. */
enum status tree_append(struct tree *parent, const char *key, struct tree *child) MUST_CHECK;

/* The child of that name; NULL when there is none or the node is no mapping (or NULL). */
struct tree *tree_child(const struct tree *node, const char *key);

/* True for `key:` with nothing behind it, and for null and ~. */
bool tree_is_empty(const struct tree *node);

/* Walk along "initial[1].box.lower" (or "initial.1.box.lower") as far as it exists; `exact` tells
 * whether that was all of it. Never NULL. */
const struct tree *tree_find(const struct tree *root, const char *key, bool *exact);

/* One step of such a path. False when it is malformed; *path then stands at the bad place. */
struct tree_step {
    char name[64];
    bool bracket; /* written [name] */
};
bool tree_step_next(const char **path, struct tree_step *step);

/* The number in a step that selects from a list; -1 when it is none. */
int tree_step_index(const struct tree_step *step);

/* The value as a message shows it: one line, cut where it is long. */
const char *tree_show(const struct tree *node, char text[TREE_SHOW_BYTES]);

/* The tree as YAML text; caller frees. */
enum status tree_emit(const struct tree *root, char **text) MUST_CHECK;

/* Apply `key.path=value`, or an option; the words are kept by `origin`. */
enum status origin_apply_set(struct settings_origin *origin, const char *set) MUST_CHECK;
struct settings_option;
enum status origin_apply_option(struct settings_origin *origin,
                                const struct settings_option *option) MUST_CHECK;
void origin_destroy(struct settings_origin *origin); /* takes NULL */

/* Record STATUS_INPUT with "FILE:LINE: KEY: " or "--set TEXT: KEY: " in front (key NULL: without).
 */
enum status origin_fail(const struct settings_origin *origin, const struct tree *at,
                        const char *key, const char *format, ...) PRINTF_LIKE(4, 5);

#endif
