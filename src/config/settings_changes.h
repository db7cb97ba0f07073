/* The changes from one configuration to another: for a restart, whose checkpoint holds its
 * configuration. */
#pragma once

#include "config/read/settings_tree.h"
#include "config/schema/schema.h"
#include "config/settings.h"

struct settings_change {
    char key[TREE_KEY_BYTES];
    /* as written; a default as in the schema; "none" without a value */
    char before[TREE_SHOW_BYTES + 16];
    char now[TREE_SHOW_BYTES + 16];
    char place[TREE_KEY_BYTES]; /* of the new value: "line 12 of FILE", "--set KEY=VALUE" */
    enum schema_restart restart;
};

struct settings_changes {
    struct settings_change *change; /* in the order of the schema */
    int count;
};

/* Compare the effective values, defaults included: 1e-2 equals 0.01, and a default that is written
 * out is not a change. List entries are compared number by number, formulas as strings. Not
 * collective. `changes` is empty on failure; free it. */
enum status settings_compare(const struct settings *before, const struct settings *now,
                             struct settings_changes *changes);
void settings_changes_free(struct settings_changes *changes); /* takes an empty one */

/* "time.end: 0.01 -> 0.02 (line 12 of config.yaml)" */
enum { CHANGE_TEXT_BYTES = 800 };
const char *settings_change_text(const struct settings_change *change,
                                 char text[CHANGE_TEXT_BYTES]);
