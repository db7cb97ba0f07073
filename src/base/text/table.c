#include "base/text/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

void table_row_begin(struct table *table, struct json *json)
{
    table->json = json;
    table->heading[0] = table->line[0] = ' ';
    table->heading[1] = table->line[1] = '\0';
    if (json != NULL) {
        json_begin(json, NULL, '{');
    }
}

static void append(char *line, int width, const char *text)
{
    text_add(line, TABLE_LINE_BYTES, " ", "%*s", width, text);
}

static void print(char *line)
{
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    line[length] = '\0';
    log_info("%s", line);
}

void table_row_end(struct table *table)
{
    if (!table->has_heading) {
        print(table->heading);
        table->has_heading = true;
    }
    print(table->line);
    if (table->json != NULL) {
        json_end(table->json, '}');
    }
}

static void put(struct table *table, const char *heading, int width, const char *text)
{
    if (heading != NULL) {
        append(table->heading, width, heading);
        append(table->line, width, text);
    }
}

void table_text(struct table *table, const char *key, const char *heading, int width,
                const char *value)
{
    put(table, heading, width, value);
    if (table->json != NULL && key != NULL) {
        json_string(table->json, key, value);
    }
}

void table_int(struct table *table, const char *key, const char *heading, int width, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    put(table, heading, width, text);
    if (table->json != NULL && key != NULL) {
        json_int(table->json, key, value);
    }
}

void table_real(struct table *table, const char *key, const char *heading, int width, int decimals,
                double value)
{
    char text[64];
    snprintf(text, sizeof text, decimals < 0 ? "%.*e" : "%.*f", abs(decimals), value);
    put(table, heading, width, isfinite(value) ? text : "-");
    if (table->json != NULL && key != NULL) {
        json_real(table->json, key, value);
    }
}

void table_int3(struct table *table, const char *key, const int64_t value[3])
{
    if (table->json != NULL) {
        json_int3(table->json, key, value);
    }
}
