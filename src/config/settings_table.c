/* Material properties that depend on temperature: tables, files and polynomials in place of a
 * number. */
#include <stdio.h>
#include <string.h>

#include "config/settings_table.h"

static const struct schema_unit kelvin = {"K", "a temperature", "20 degC"};
static const struct schema_limit absolute = {
    0, 1e12, false, true, "of 0 or more", "a property is given for temperatures from 0 to 1e12 K"};
static const struct schema_limit finite = {-1e30, 1e30, false, false, "", NULL};
static const struct schema_key temperature_key = {
    .path = "T", .type = SCHEMA_REAL, .limit = &absolute, .unit = &kelvin};
static const struct schema_key coefficient_key = {
    .path = "coefficient", .type = SCHEMA_REAL, .limit = &finite};

bool table_is_given(const struct tree *node)
{
    return node->kind == TREE_MAPPING ||
           (node->kind == TREE_LIST && node->nchildren > 0 && node->first->kind == TREE_LIST);
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

static enum status read_rows(const struct item *item, struct table_setting *table)
{
    const struct schema_key key = value_key(item);
    if (item->node->nchildren > MOST_TABLE_ROWS) {
        char what[64];
        snprintf(what, sizeof what, "%d rows of a table, of at most %d", item->node->nchildren,
                 MOST_TABLE_ROWS);
        return value_fail(item, what, "");
    }
    for (struct tree *row = item->node->first; row != NULL; row = row->next) {
        double *numbers = table->row[table->nrows];
        if (row->kind != TREE_LIST || row->nchildren != 2) {
            return value_fail(item, "not rows [temperature, value]", "");
        }
        TRY(read_number(item, &temperature_key, row->first, &numbers[0]));
        TRY(read_number(item, &key, row->last, &numbers[1]));
        if (table->nrows > 0 && !(numbers[0] > numbers[-2])) {
            return value_fail(item, "the temperatures of the rows do not increase", "");
        }
        table->nrows++;
    }
    return STATUS_OK;
}

static enum status read_polynomial(const struct item *item, struct table_setting *table)
{
    struct tree *list = (struct tree *)tree_child(item->node, "polynomial");
    struct tree *from = (struct tree *)tree_child(item->node, "from");
    struct tree *to = (struct tree *)tree_child(item->node, "to");
    if (from == NULL || to == NULL || list->kind != TREE_LIST || list->nchildren == 0 ||
        list->nchildren > MOST_COEFFICIENTS) {
        return value_fail(item, "a polynomial has 1 to 8 coefficients, and from and to", "");
    }
    TRY(read_number(item, &temperature_key, from, &table->from));
    TRY(read_number(item, &temperature_key, to, &table->to));
    for (struct tree *c = list->first; c != NULL; c = c->next) {
        TRY(read_number(item, &coefficient_key, c, &table->coefficient[table->ncoefficients++]));
    }
    return table->from < table->to ? STATUS_OK : value_fail(item, "`from` is not below `to`", "");
}

static enum status read_mapping(const struct item *item, struct table_setting *table)
{
    const struct tree *file = tree_child(item->node, "file");
    const bool polynomial = tree_child(item->node, "polynomial") != NULL;
    if (file != NULL && item->node->nchildren == 1 && file->kind == TREE_SCALAR &&
        file->text[0] != '\0') {
        table->file = origin_text(item->origin, file->text);
        return table->file != NULL ? STATUS_OK : STATUS_MEMORY;
    }
    return polynomial && item->node->nchildren == 3 ? read_polynomial(item, table)
                                                    : value_fail(item, "unknown keys", "");
}

enum status table_read(const struct item *item)
{
    struct table_setting *table = origin_memory(item->origin, sizeof *table);
    TRY(CHECK_MEMORY(table != NULL, "no memory for a table"));
    memcpy(item->base + item->row->alternative, &table, sizeof(void *));
    return item->node->kind == TREE_MAPPING ? read_mapping(item, table) : read_rows(item, table);
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
    const bool files =
        a->file == b->file || (a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0);
    return files && a->nrows == b->nrows && a->ncoefficients == b->ncoefficients &&
           a->from == b->from && a->to == b->to &&
           same_values(a->row[0], b->row[0], 2 * a->nrows) &&
           same_values(a->coefficient, b->coefficient, a->ncoefficients);
}
