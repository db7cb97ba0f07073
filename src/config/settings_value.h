/* The keys of a configuration at their places: in the schema, in the file and in the structs. */
#ifndef ISOTHERM_CONFIG_SETTINGS_VALUE_H
#define ISOTHERM_CONFIG_SETTINGS_VALUE_H

#include "config/schema.h"
#include "config/settings.h"
#include "config/settings_tree.h"

/* One key; also a section, one entry of a list, or the whole (row NULL). */
struct item {
    struct settings_origin *origin;
    const struct schema_key *row;
    char *base; /* what row->offset counts from; for sections and entries: their keys' offsets */
    struct tree *node;        /* in the file; NULL: left out */
    char key[TREE_KEY_BYTES]; /* "initial[1].sphere.radius" */
    int index;                /* of an entry */
    unsigned kinds;           /* of a section's keys only these apply: SCHEMA_KIND bits; 0: any */
};

struct item item_top(const struct settings *settings);
/* The key `row` of a section, which its file calls `name`. */
struct item item_below(const struct item *section, const struct schema_key *row, const char *name);
struct item item_entry(const struct item *list, int index);
int item_count(const struct item *list); /* of entries */

/* The path in front of a section's keys. */
const char *item_members(const struct item *section);
/* The key of the section whose value says which others apply; NULL: it has none. */
const struct schema_key *item_selector(const struct item *section, const char **name);
/* Sets `kinds` from the selector's value, which has been read. */
void item_select(struct item *section);
/* One key of the section after the other, in the order of the schema: those that apply, and of the
 * shapes of `initial` the one that is there. *row starts at 0. False behind the last. */
bool item_next(const struct item *section, int *row, struct item *item);

/* All keys of the settings, each section and entry in front of its own; caller frees. */
struct item_list {
    struct item *item;
    int count;
};
enum status item_list_all(const struct settings *settings, struct item_list *list) MUST_CHECK;

/* Check the value of the item against its row, any type but sections and lists of them, and store
 * it. STATUS_INPUT with what would be right. */
enum status value_read(const struct item *item) MUST_CHECK;

/* Record STATUS_INPUT: "KEY: WHAT (the value)MORE; give what the row expects". */
enum status value_fail(const struct item *item, const char *what, const char *more);

#endif
