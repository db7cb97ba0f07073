/* The keys of a configuration: their place in the schema, in the file and in the structs. */
#pragma once

#include "config/read/settings_tree.h"
#include "config/schema/schema.h"
#include "config/settings.h"

/* A key, a section, an entry of a list, or the configuration (row NULL). */
struct item {
    struct settings_origin *origin;
    const struct schema_key *row;
    char
        *base; /* what row->offset counts from; section, entry: what its keys' offsets count from */
    struct tree *node;         /* in the file; NULL: left out */
    const struct tree *beside; /* the section in the file that has the key; NULL: left out */
    char key[TREE_KEY_BYTES];  /* "initial[1].sphere.radius" */
    int index;                 /* of an entry */
    unsigned kinds;            /* of a section's keys those that apply: SCHEMA_KIND bits; 0: any */
};

struct item item_top(const struct settings *settings);
/* The key `row` of a section, called `name` in the file. */
struct item item_below(const struct item *section, const struct schema_key *row, const char *name);
struct item item_entry(const struct item *list, int index);

/* The prefix of a section's keys. */
const char *item_members(const struct item *section);
/* The key of the section whose value determines which others apply; NULL: none. */
const struct schema_key *item_selector(const struct item *section, const char **name);
/* Sets `kinds` from the selector's value, which has been read. */
void item_select(struct item *section);
/* The next key of the section, in the order of the schema: those that apply, and of `initial` the
 * given kind. *row starts at 0. False after the last. */
bool item_next(const struct item *section, int *row, struct item *item);

/* The number that may be a formula of t or a table over it; NULL: it may not. */
static inline struct number_setting *item_number(const struct item *item)
{
    return (item->row->flags & SCHEMA_OR_FORMULA) != 0
               ? (struct number_setting *)(item->base + item->row->alternative)
               : NULL;
}

/* Record STATUS_INPUT about the item, or about a key `below` it ("liquid.conductivity"; NULL: the
 * item). */
#define item_fail(item, below, ...) item_place(item, below, fail(STATUS_INPUT, __VA_ARGS__))
enum status item_place(const struct item *item, const char *below, enum status failed);

/* All keys, each section and entry before its own keys; caller frees, also on failure. */
struct item_list {
    struct item *item;
    int count;
};
enum status item_list_all(const struct settings *settings, struct item_list *list);
void item_list_free(struct item_list *list);

/* Check the value against its row (any type but sections and lists of them) and store it.
 * STATUS_INPUT with what would be right. */
enum status value_read(const struct item *item);

/* Record STATUS_INPUT: "KEY: WHAT (the value)MORE; give what the row expects". */
enum status value_fail(const struct item *item, const char *what, const char *more);

/* ---- a number that may also be a table over temperature (SCHEMA_OR_TABLE) or over time
 * (SCHEMA_OR_FORMULA); times of outputs ---- */

/* Whether a value is meant as a table: a mapping, or a list of lists, where a table may stand. */
bool table_is_given(const struct item *item);

/* Read it into a new struct table_setting, to which the number at row->alternative then points. */
enum status table_read(const struct item *item);

bool table_same(const struct table_setting *a, const struct table_setting *b); /* take NULL */

/* Read the times of a cadence: a list, or {from, to, per_decade}. */
enum status times_read(const struct item *item);
/* A table over time with rows at these times and no values: with the others, so that steps end at
 * them. STATUS_MEMORY. */
enum status times_to_table(const struct item *item, const struct cadence *times, double period,
                           struct table_setting **made);
bool times_same(const struct cadence *a, const struct cadence *b);
