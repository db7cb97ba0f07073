/* Tables of results: each value is stated once, with its key in JSON and its column of the text. */
#pragma once

#include <stdint.h>

#include "base/text/json.h"

enum { TABLE_LINE_BYTES = 1024 };

/* A zeroed one is ready for its first row. */
struct table {
    struct json *json; /* receives the present row; NULL: text only */
    bool has_heading;  /* printed, with the first row */
    char heading[TABLE_LINE_BYTES];
    char line[TABLE_LINE_BYTES];
};

/* A row becomes a line of log_info and, unless `json` is NULL, an object in the array that is open
 * there. Between begin and end, members may also be written to `json` directly. */
void table_row_begin(struct table *table, struct json *json);
void table_row_end(struct table *table);

/* The next value of the row. `key`: in JSON; NULL: not there. `heading`: of its column in the text;
 * NULL: not there. `width`: of the column; negative: aligned to the left. */
void table_text(struct table *table, const char *key, const char *heading, int width,
                const char *value);
void table_int(struct table *table, const char *key, const char *heading, int width, int64_t value);
/* In JSON only. */
void table_int3(struct table *table, const char *key, const int64_t value[3]);
/* Shows "-" for NaN and infinities. `decimals`: negative: with an exponent. */
void table_real(struct table *table, const char *key, const char *heading, int width, int decimals,
                double value);
