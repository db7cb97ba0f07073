/* The table of all configuration keys. Reading, checks of types and ranges, defaults, `--set` and
 * the facts of the reference page follow from it; that page says what the keys mean. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct settings;
struct item;

enum schema_type {
    SCHEMA_SECTION, /* a mapping of further keys */
    SCHEMA_LIST,    /* a list of sections */
    SCHEMA_TEXT,    /* char * */
    SCHEMA_FORMULA, /* char *, in the variables of `variables` */
    SCHEMA_NAME,    /* char *, one of `choices` */
    SCHEMA_CHOICE,  /* an enum, one of `choices` */
    SCHEMA_CHOICES, /* unsigned: a list of `choices`, SCHEMA_KIND bits of their values */
    SCHEMA_REAL,    /* double */
    SCHEMA_INT,     /* int */
    SCHEMA_LONG,    /* int64_t */
    SCHEMA_TIMES,   /* the times of a struct cadence, which is at `offset` */
};

enum schema_flag {
    SCHEMA_REQUIRED = 1,   /* wherever its section is given */
    SCHEMA_OR_AUTO = 2,    /* or the word auto: then the bool at `alternative` is set */
    SCHEMA_OR_FORMULA = 4, /* or a formula of t or a table over it: in the struct number_setting at
                              `alternative`, whose first member is at `offset` */
    SCHEMA_SELECTOR = 8,   /* its value determines which keys of the section apply (see `kinds`) */
    SCHEMA_ONES = 16,      /* numbers left out of a list are 1 */
    SCHEMA_NOTED = 32,     /* the bool at `alternative` is set if the key is given */
    SCHEMA_CADENCE = 64,   /* `offset` is that of a struct cadence, whose first member it is */
    SCHEMA_SAME = 128,     /* a single number is that of all entries */
    SCHEMA_ONE_KIND = 256, /* list: an entry is a mapping with one key, its kind (struct
                              shape_setting comes first in it) */
    SCHEMA_OR_TABLE = 512, /* or a table over temperature: then the struct table_setting * at
                              `alternative` is it */
    SCHEMA_POINT = 1024,   /* coordinates: as many as the grid has axes, or `max_count` */
    SCHEMA_FILE = 4096,    /* the path of an input file */
    SCHEMA_LABELS = 8192,  /* list: or a mapping of integers to its texts, stored as "64: bone" */
    SCHEMA_SHARED = 2048   /* left out, its value is that of a rival, which has the same place */
};

/* What a restart does when the value of this key differs from the checkpoint's. */
enum schema_restart {
    SCHEMA_RESTART_UNSAID, /* invalid: every row of the table sets one of the others */
    SCHEMA_RESTART_FREE,   /* report it */
    SCHEMA_RESTART_IDLE,   /* report that it has no effect: the key is used at step 0 only */
    SCHEMA_RESTART_WARN,   /* warn: the following steps use the new value */
    SCHEMA_RESTART_ASK,    /* refuse, unless the user confirms it */
    SCHEMA_RESTART_NEVER   /* refuse: the state cannot be used */
};

struct schema_choice {
    const char *name; /* NULL: end of the list */
    int value;
};

struct schema_limit {
    double low, high;
    bool low_open, high_open;
    const char *text;   /* follows "a number" */
    const char *reason; /* NULL: obvious */
};

struct schema_unit {
    const char *name;     /* as UDUNITS reads it */
    const char *quantity; /* "a length"; NULL: a count, which no unit converts to */
    const char *example;  /* in another unit: "5 mm" */
    double least, most;   /* usual magnitudes, for a warning; 0: any */
};

struct schema_key {
    const char *path;    /* "grid.cells", "boundary.*.type" (any face), "initial[].sphere.radius" */
    const char *members; /* section: the prefix of its keys, if not `path` */
    enum schema_type type;
    unsigned flags;
    size_t offset;      /* in struct settings, in one entry or in one face; section: of its keys */
    size_t alternative; /* OR_AUTO, OR_FORMULA, OR_TABLE, NOTED; list: of the int that counts the
                           entries */
    size_t entry_bytes; /* list: of the struct of one entry, an array of which `offset` points to */
    enum schema_restart restart; /* keys, lists, and sections that `kinds` select */
    unsigned kinds; /* 0: always; else SCHEMA_KIND bits of the selector for which it applies */
    int min_count;  /* values in a list; 0: a single value */
    int max_count;  /* list: of entries; 0: any number */
    const struct schema_limit *limit;
    const struct schema_choice *choices;
    const char *variables; /* of a formula: "x, y, z" */
    const char *fallback;  /* the default, as in the YAML file; NULL: none */
    const char *rival;     /* the keys of the same section that exclude this one, and of which one
                              may be given in its place */
    const char *needs;     /* the key of the same section without which this one has no meaning;
                              after a comma: more for the message */
    const char *one_of;    /* section, list: the keys, "end, steps", of which one must be given */
    /* a check after all keys have been read; list: of each entry */
    enum status (*check)(const struct settings *settings, const struct item *item);
    const struct schema_unit *unit; /* NULL: a number without one */
    const char *example;
};

#define SCHEMA_KIND(kind) (1U << (unsigned)(kind))

enum { SCHEMA_TEXT_BYTES = 400 };

/* The longest SCHEMA_TEXT: fits a path, and an attribute of an HDF5 file (an object's attributes
 * have 64 KiB). */
enum { SCHEMA_LONGEST_TEXT = 4000 };

/* In the order of the reference page; a row without a path is behind the last one. */
const struct schema_key *schema_table(void);

/* The key of that name in the section whose keys have the prefix `members` ("": the top level) and
 * that applies to `kinds` (0: any); NULL when there is none. */
const struct schema_key *schema_child(const char *members, const char *name, unsigned kinds);

/* The key of that name in the same section. */
const struct schema_key *schema_beside(const struct schema_key *key, const char *name);

/* True when `key` is directly below `members`; *name is then its last part. */
bool schema_is_child(const struct schema_key *key, const char *members, const char **name);

/* True for a value that is taken verbatim: a string or a formula. */
static inline bool schema_takes_text(const struct schema_key *key)
{
    return key->type == SCHEMA_TEXT || key->type == SCHEMA_FORMULA ||
           (key->flags & SCHEMA_OR_FORMULA) != 0;
}

/* The unit of a key where what diffuses has `unit` and its content `content_unit`: W/m^2 becomes
 * (mol/s)/m^2, for example. */
enum { SCHEMA_UNIT_BYTES = 300 };
const char *schema_unit_for(const char *name, const char *unit, const char *content_unit,
                            char text[SCHEMA_UNIT_BYTES]);

/* The size of one value. */
size_t schema_value_bytes(const struct schema_key *key);

/* The prefix of a section's keys. */
const char *schema_members(const struct schema_key *section);

/* "conductivity, density, heat_capacity": the keys of a section that apply to `kinds`. */
const char *schema_list_keys(const char *members, unsigned kinds, char text[SCHEMA_TEXT_BYTES]);

/* The key or choice most similar to `word`, NULL when none is. */
const char *schema_nearest_key(const char *members, const char *word);
/* The first key of this name in any section, such as "material.density"; NULL: none. */
const char *schema_key_elsewhere(const char *name);
const char *schema_nearest_choice(const struct schema_choice *choices, const char *word);

/* The next word of a list such as "end, steps"; false after the last. */
enum { SCHEMA_WORD_BYTES = 64 };
bool schema_next_word(const char **list, char word[SCHEMA_WORD_BYTES]);

/* "a number above 0", "auto or a list of 1 to 3 integers of 1 or more": what a value must be. */
const char *schema_expectation(const struct schema_key *key, char text[SCHEMA_TEXT_BYTES]);
