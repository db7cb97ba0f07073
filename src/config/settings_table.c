/* Material properties that depend on temperature, and numbers that depend on time: tables, files
 * and polynomials in place of a number; and lists of times. */
#include "config/read/settings_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sorted.h"
#include "base/text/rows.h"

static const struct schema_unit kelvin = {"K", "a temperature", "20 degC", 0, 0};
static const struct schema_limit absolute = {
    0, 1e12, false, true, "of 0 or more", "a property is given for temperatures from 0 to 1e12 K"};
static const struct schema_unit second = {"s", "a time", "3 min", 0, 0};
static const struct schema_limit positive = {0, 1e30, true, false, "above 0", NULL};
static const struct schema_limit any_number = {-1e30, 1e30, false, false, "", NULL};
static const struct schema_key temperature_key = {
    .path = "T", .type = SCHEMA_REAL, .limit = &absolute, .unit = &kelvin};
static const struct schema_key coefficient_key = {
    .path = "coefficient", .type = SCHEMA_REAL, .limit = &any_number};

static const struct schema_key time_key = {
    .path = "t", .type = SCHEMA_REAL, .limit = &any_number, .unit = &second};
static const struct schema_key period_key = {
    .path = "period", .type = SCHEMA_REAL, .limit = &positive, .unit = &second};

bool table_is_given(const struct item *item)
{
    const struct tree *node = item->node;
    return (item->row->flags & (SCHEMA_OR_TABLE | SCHEMA_OR_FORMULA)) != 0 &&
           (node->kind == TREE_MAPPING ||
            (node->kind == TREE_LIST && node->nchildren > 0 && node->first->kind == TREE_LIST));
}

static enum status read_number(const struct item *item, const struct schema_key *key,
                               struct tree *node, double *number)
{
    struct item one = *item;
    one.row = key;
    one.base = (char *)number;
    one.node = node;
    return value_read(&one);
}

/* The values of the property: of its row in the schema, but single. */
static struct schema_key value_key(const struct item *item)
{
    struct schema_key key = *item->row;
    key.flags = 0;
    key.offset = 0;
    key.min_count = 0;
    key.max_count = 0;
    key.example = NULL;
    return key;
}

static enum status read_rows(const struct item *item, const struct tree *list,
                             struct table_setting *table)
{
    const struct schema_key key = value_key(item);
    if (!table->of_time && list->nchildren > MOST_TABLE_ROWS) {
        char what[64];
        snprintf(what, sizeof what, "%d rows of a table, of at most %d", list->nchildren,
                 MOST_TABLE_ROWS);
        return value_fail(item, what, "");
    }
    table->row = origin_memory(item->origin, (size_t)list->nchildren * sizeof *table->row);
    TRY(CHECK_MEMORY(table->row != NULL, "no memory for a table"));
    for (struct tree *row = list->first; row != NULL; row = row->next) {
        double *numbers = table->row[table->nrows];
        if (row->kind != TREE_LIST || row->nchildren != 2) {
            return value_fail(
                item, table->of_time ? "not rows [t, value]" : "not rows [temperature, value]", "");
        }
        TRY(read_number(item, table->of_time ? &time_key : &temperature_key, row->first,
                        &numbers[0]));
        TRY(read_number(item, &key, row->last, &numbers[1]));
        FAIL_IF(table->nrows > 0 && !(numbers[0] > numbers[-2]),
                value_fail(item,
                           table->of_time ? "the times of the rows do not increase"
                                          : "the temperatures of the rows do not increase",
                           ""));
        table->nrows++;
    }
    return STATUS_OK;
}

static enum status read_polynomial(const struct item *item, struct table_setting *table)
{
    struct tree *list = (struct tree *)tree_child(item->node, "polynomial");
    struct tree *from = (struct tree *)tree_child(item->node, "from");
    struct tree *to = (struct tree *)tree_child(item->node, "to");
    FAIL_IF(from == NULL || to == NULL || list->kind != TREE_LIST || list->nchildren == 0 ||
                list->nchildren > MOST_COEFFICIENTS,
            value_fail(item, "a polynomial has 1 to 8 coefficients, and from and to", ""));
    TRY(read_number(item, &temperature_key, from, &table->from));
    TRY(read_number(item, &temperature_key, to, &table->to));
    for (struct tree *c = list->first; c != NULL; c = c->next) {
        TRY(read_number(item, &coefficient_key, c, &table->coefficient[table->ncoefficients++]));
    }
    return table->from < table->to ? STATUS_OK : value_fail(item, "`from` is not below `to`", "");
}

/* A column of a file in another unit: scale * number + zero. */
static enum status read_unit(const struct item *item, const struct schema_key *key,
                             struct tree *unit, double *scale, double *zero)
{
    const double far = 0x1p20; /* leaves the scale exact where there is no zero point */
    double value[2];
    FAIL_IF(unit->kind != TREE_SCALAR, value_fail(item, "`units` is not a list of units", ""));
    if (strcmp(unit->text, "1") == 0) {
        return STATUS_OK;
    }
    for (int i = 0; i < 2; i++) {
        char text[TREE_SHOW_BYTES];
        snprintf(text, sizeof text, "%.0f %.60s", i * far, unit->text);
        struct tree number = {.kind = TREE_SCALAR, .line = unit->line, .typed = unit->typed};
        number.text = origin_text(item->origin, text);
        TRY(CHECK_MEMORY(number.text != NULL, "no memory for a unit"));
        TRY(read_number(item, key, &number, &value[i]));
        unit->has_zero = number.has_zero;
    }
    *scale = (value[1] - value[0]) / far;
    *zero = value[0];
    return STATUS_OK;
}

static enum status read_units(const struct item *item, struct tree *units,
                              struct table_setting *table)
{
    struct schema_key key = value_key(item);
    key.limit = &any_number;
    FAIL_IF(units->kind != TREE_LIST || units->nchildren != 2 || table->file == NULL,
            value_fail(item, "`units` are those of the two columns of a file, as in [h, kW]", ""));
    TRY(read_unit(item, &time_key, units->first, &table->scale[0], &table->zero[0]));
    return read_unit(item, &key, units->last, &table->scale[1], &table->zero[1]);
}

static enum status read_file(const struct item *item, const struct tree *file,
                             struct table_setting *table)
{
    FAIL_IF(file->kind != TREE_SCALAR || file->text[0] == '\0',
            value_fail(item, "`file` is not the name of a file", ""));
    table->file = table->path = origin_text(item->origin, file->text);
    return CHECK_MEMORY(table->file != NULL, "no memory for a table");
}

/* {file or rows, between, period, units} */
static enum status read_of_time(const struct item *item, struct table_setting *table)
{
    const struct tree *file = tree_child(item->node, "file");
    const struct tree *rows = tree_child(item->node, "rows");
    const struct tree *between = tree_child(item->node, "between");
    struct tree *period = tree_child(item->node, "period");
    struct tree *units = tree_child(item->node, "units");
    const int known =
        (file != NULL) + (rows != NULL) + (between != NULL) + (period != NULL) + (units != NULL);
    FAIL_IF(
        known != item->node->nchildren || (file != NULL) == (rows != NULL),
        value_fail(item, "not a table: its keys are file or rows, and between, period, units", ""));
    TRY(file != NULL ? read_file(item, file, table) : STATUS_OK);
    FAIL_IF(rows != NULL && (rows->kind != TREE_LIST || rows->nchildren == 0),
            value_fail(item, "`rows` is not a list of rows [t, value]", ""));
    TRY(rows != NULL ? read_rows(item, rows, table) : STATUS_OK);
    TRY(period != NULL ? read_number(item, &period_key, period, &table->period) : STATUS_OK);
    TRY(units != NULL ? read_units(item, units, table) : STATUS_OK);
    table->steps =
        between != NULL && between->kind == TREE_SCALAR && strcmp(between->text, "steps") == 0;
    const bool linear =
        between == NULL || (between->kind == TREE_SCALAR && strcmp(between->text, "linear") == 0);
    return table->steps || linear ? STATUS_OK
                                  : value_fail(item, "`between` is not linear or steps", "");
}

static enum status read_mapping(const struct item *item, struct table_setting *table)
{
    const struct tree *file = tree_child(item->node, "file");
    if (table->of_time) {
        return read_of_time(item, table);
    }
    if (file != NULL && item->node->nchildren == 1) {
        return read_file(item, file, table);
    }
    return tree_child(item->node, "polynomial") != NULL && item->node->nchildren == 3
               ? read_polynomial(item, table)
               : value_fail(item, "unknown keys", "");
}

/* The rows must fit one period. */
static enum status check_rows(const struct item *item, const struct table_setting *table)
{
    const double length = table->nrows > 0 ? table->row[table->nrows - 1][0] - table->row[0][0] : 0;
    FAIL_IF(table->period > 0 && length > table->period * (1 + 1e-12),
            item_fail(item, NULL,
                      "the rows span %.9g s, more than the period of %.9g s; give a longer "
                      "period, or fewer rows",
                      length, table->period));
    const double least = item->row->limit->low;
    for (int row = 0; table->of_time && row < table->nrows; row++) {
        FAIL_IF(table->row[row][1] < least,
                item_fail(item, NULL, "%.9g at t = %.9g s; give values %s", table->row[row][1],
                          table->row[row][0], item->row->limit->text));
    }
    return STATUS_OK;
}

enum status table_read(const struct item *item)
{
    struct number_setting *number = item_number(item);
    struct table_setting *table = origin_memory(item->origin, sizeof *table);
    TRY(CHECK_MEMORY(table != NULL, "no memory for a table"));
    table->of_time = number != NULL;
    table->scale[0] = table->scale[1] = 1;
    if (number != NULL) {
        number->table = table;
        table->next = item->origin->tables;
        item->origin->tables = table;
    } else {
        memcpy(item->base + item->row->alternative, &table, sizeof(void *));
    }
    TRY(item->node->kind == TREE_MAPPING ? read_mapping(item, table)
                                         : read_rows(item, item->node, table));
    if (number != NULL) {
        number->formula =
            table->file != NULL ? table->file : origin_text(item->origin, "the table");
        TRY(CHECK_MEMORY(number->formula != NULL, "no memory for a table"));
    }
    return check_rows(item, table);
}

/* ---- files ---- */

static bool is_property(const double *row)
{
    return row[0] >= 0 && row[0] < 1e12 && row[1] > 0;
}

static bool is_density(const double *row)
{
    return row[0] >= 0 && row[0] < 1e12;
}

static enum status load(const struct item *item, struct table_setting *table)
{
    const bool is_kelvin = !table->of_time || (item->row->unit != NULL && table->zero[1] == 0 &&
                                               strcmp(item->row->unit->name, "K") == 0);
    const bool is_positive = item->row->limit->low >= 0;
    const struct rows_format format = {
        .columns = 2,
        .least = 1,
        .what = table->of_time ? "2 numbers: t, value"
                : is_positive  ? "a temperature, in K and increasing, and a value above 0"
                               : "a temperature, in K and increasing, and a value",
        .kelvin = !is_kelvin       ? NULL
                  : table->of_time ? "give temperatures in K, or units: [s, degC]"
                                   : "give temperatures in K",
        .valid = table->of_time ? NULL
                 : is_positive  ? is_property
                                : is_density};
    SCOPED_FREE double *numbers = NULL;
    int nrows = 0;
    const enum status status = rows_read(table->path, &format, &numbers, &nrows);
    if (status == STATUS_INPUT || status == STATUS_FILE) {
        (void)item_fail(item, NULL, "%s", fail_message());
        return status;
    }
    TRY(status);
    FAIL_IF(!table->of_time && nrows > MOST_TABLE_ROWS,
            item_fail(item, NULL, "%.400s: more than %d rows", table->file, MOST_TABLE_ROWS));
    table->row = origin_memory(item->origin, (size_t)nrows * sizeof *table->row);
    for (int i = 0; table->row != NULL && i < 2 * nrows; i++) {
        table->row[i / 2][i % 2] = table->scale[i % 2] * numbers[i] + table->zero[i % 2];
    }
    TRY(CHECK_MEMORY(table->row != NULL, "no memory for a table"));
    table->nrows = nrows;
    return check_rows(item, table);
}

enum status settings_read_tables(const struct settings *settings)
{
    SCOPED_BY(item_list_free) struct item_list list = {0};
    if (settings->origin == NULL) {
        return STATUS_OK; /* a program has filled the settings */
    }
    TRY(item_list_all(settings, &list));
    for (int i = 0; i < list.count; i++) {
        const struct item *item = &list.item[i];
        struct number_setting *number = item_number(item);
        struct table_setting *table = NULL;
        if (number != NULL) {
            table = number->table;
        } else if ((item->row->flags & SCHEMA_OR_TABLE) != 0) {
            memcpy(&table, item->base + item->row->alternative, sizeof(void *));
        }
        if (table != NULL && table->file != NULL && table->row == NULL) {
            TRY(load(item, table));
        }
    }
    return STATUS_OK;
}

const struct table_setting *settings_time_tables(const struct settings *settings)
{
    return settings->origin != NULL ? settings->origin->tables : NULL;
}

/* ---- values ---- */

/* The number of rows up to x, of which the first is in [x, ...) of its period; *start: the time at
 * which that period begins. */
static int find_row(const struct table_setting *table, double x, double *start)
{
    const double after = x + (table->of_time ? 1e-12 * fabs(x) : 0); /* rounding of a kink's time */
    *start = 0;
    if (table->period > 0) {
        *start = floor((after - table->row[0][0]) / table->period) * table->period;
    }
    return (int)sorted_up_to(table->row[0], sizeof *table->row, table->nrows, after - *start) - 1;
}

double table_share(const struct table_setting *table, double x, int row[2])
{
    double start = 0;
    const int last = table->nrows - 1;
    const int found = find_row(table, x, &start);
    const bool wraps = found == last && table->period > 0;
    row[0] = row[1] = found < 0 ? 0 : found;
    if (found < 0 || table->steps || (found == last && !wraps)) {
        return 0;
    }
    row[1] = wraps ? 0 : found + 1;
    const double at = table->row[found][0];
    const double width = table->row[row[1]][0] + (wraps ? table->period : 0) - at;
    if (!(width > 0)) {
        row[0] = row[1];
        return 0;
    }
    return (x - start - at) / width;
}

double table_at(const struct table_setting *table, double x)
{
    int row[2];
    const double share = table_share(table, x, row);
    const double a = table->row[row[0]][1];
    return a + (table->row[row[1]][1] - a) * share;
}

double table_next_row(const struct table_setting *table, double t)
{
    double start = 0;
    const int row = find_row(table, t, &start) + 1;
    return row < table->nrows  ? start + table->row[row][0]
           : table->period > 0 ? start + table->period + table->row[0][0]
                               : INFINITY;
}

static bool same_values(const double *a, const double *b, int n)
{
    bool same = true;
    for (int i = 0; i < n && same; i++) {
        same = a[i] == b[i];
    }
    return same;
}

bool table_same(const struct table_setting *a, const struct table_setting *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    if ((a->file == NULL) != (b->file == NULL) ||
        (a->file != NULL && strcmp(a->file, b->file) != 0)) {
        return false;
    }
    const bool rows = a->file != NULL ||
                      (a->nrows == b->nrows && same_values(a->row[0], b->row[0], 2 * a->nrows));
    return rows && a->ncoefficients == b->ncoefficients && a->from == b->from && a->to == b->to &&
           a->steps == b->steps && a->period == b->period && same_values(a->scale, b->scale, 2) &&
           same_values(a->zero, b->zero, 2) &&
           same_values(a->coefficient, b->coefficient, a->ncoefficients);
}

/* ---- times ---- */

static enum status read_decades(const struct item *item, struct cadence *cadence)
{
    static const struct schema_limit few = {1e-3, 1e6, false, false, "from 0.001 to 1e6", NULL};
    const struct schema_key count_key = {.path = "per_decade", .type = SCHEMA_REAL, .limit = &few};
    static const char *const names[] = {"from", "to", "per_decade"};
    const struct schema_key *const keys[] = {&period_key, &period_key, &count_key};
    double value[3];
    for (int i = 0; i < 3; i++) {
        struct tree *node = tree_child(item->node, names[i]);
        FAIL_IF(node == NULL || item->node->nchildren != 3,
                value_fail(item, "not the keys from, to and per_decade", ""));
        TRY(read_number(item, keys[i], node, &value[i]));
    }
    const double intervals = floor(log10(value[1] / value[0]) * value[2] * (1 + 1e-12));
    FAIL_IF(
        !(value[0] < value[1]) || intervals > 1e6,
        value_fail(item, value[0] < value[1] ? "too many times" : "`from` is not below `to`", ""));
    cadence->times = origin_memory(item->origin, ((size_t)intervals + 2) * sizeof(double));
    TRY(CHECK_MEMORY(cadence->times != NULL, "no memory for times"));
    for (int i = 0; i <= (int)intervals; i++) {
        cadence->times[cadence->ntimes++] = value[0] * pow(10, i / value[2]);
    }
    double *last = &cadence->times[cadence->ntimes - 1];
    cadence->ntimes += *last < value[1] * (1 - 1e-9);
    cadence->times[cadence->ntimes - 1] = value[1];
    return STATUS_OK;
}

enum status times_read(const struct item *item)
{
    struct cadence *cadence = (struct cadence *)(item->base + item->row->offset);
    if (item->node->kind == TREE_MAPPING) {
        return read_decades(item, cadence);
    }
    FAIL_IF(item->node->kind != TREE_LIST || item->node->nchildren == 0,
            value_fail(item, "not a list of times", ""));
    struct schema_key key = period_key;
    key.limit = item->row->limit != NULL ? item->row->limit : key.limit;
    cadence->times = origin_memory(item->origin, (size_t)item->node->nchildren * sizeof(double));
    TRY(CHECK_MEMORY(cadence->times != NULL, "no memory for times"));
    for (struct tree *node = item->node->first; node != NULL; node = node->next) {
        double *time = &cadence->times[cadence->ntimes++];
        TRY(read_number(item, &key, node, time));
        FAIL_IF(cadence->ntimes > 1 && !(time[0] > time[-1]),
                value_fail(item, "the times do not increase", ""));
    }
    return STATUS_OK;
}

enum status times_to_table(const struct item *item, const struct cadence *times, double period,
                           struct table_setting **made)
{
    struct table_setting *table = origin_memory(item->origin, sizeof *table);
    TRY(CHECK_MEMORY(table != NULL, "no memory for times"));
    table->row = origin_memory(item->origin, (size_t)times->ntimes * sizeof *table->row);
    TRY(CHECK_MEMORY(table->row != NULL, "no memory for times"));
    table->of_time = true;
    table->period = period;
    table->next = item->origin->tables;
    item->origin->tables = *made = table;
    for (; table->nrows < times->ntimes; table->nrows++) {
        table->row[table->nrows][0] = times->times[table->nrows];
        table->row[table->nrows][1] = 0;
    }
    return STATUS_OK;
}

bool times_same(const struct cadence *a, const struct cadence *b)
{
    return a->ntimes == b->ntimes && same_values(a->times, b->times, a->ntimes);
}
