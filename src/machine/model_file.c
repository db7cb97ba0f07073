#include "machine/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    double unit;
} numbers[MACHINE_NUMBERS] = {
    [MACHINE_RANKS_PER_NODE] = {"ranks_per_node", 1},
    [MACHINE_RANKS_PER_MODULE] = {"ranks_per_module", 1},
    [MACHINE_RANKS_PER_NIC] = {"ranks_per_nic", 1},
    [MACHINE_MEMORY] = {"memory_GB", 1e9},
    [MACHINE_COPY] = {"copy_GBs", 1e9},
    [MACHINE_MODULE] = {"module_GBs", 1e9},
    [MACHINE_NODE] = {"node_GBs", 1e9},
    [MACHINE_NETWORK] = {"network_GBs", 1e9},
    [MACHINE_LAUNCH] = {"launch_us", 1e-6},
    [MACHINE_WAIT] = {"wait_us", 1e-6},
    [MACHINE_LATENCY] = {"latency_us", 1e-6},
    [MACHINE_MESSAGE] = {"message_us", 1e-6},
    [MACHINE_SHELL] = {"shell", 1},
    [MACHINE_JITTER] = {"jitter", 1},
    [MACHINE_POWER] = {"power_W", 1},
    [MACHINE_TILE_ROWS] = {"tile_rows", 1},
    [MACHINE_TILE_IDLE] = {"tile_idle", 1},
};

static enum status read_number(struct settings_origin *origin, const struct tree *node,
                               const char *key, double *value)
{
    char *end = NULL;
    char shown[TREE_SHOW_BYTES];
    *value = node != NULL && node->kind == TREE_SCALAR ? strtod(node->text, &end) : NAN;
    FAIL_IF(end == NULL || *end != '\0' || end == node->text || !isfinite(*value) || *value < 0,
            origin_fail(origin, node, key, "'%s' is not a number from 0 on",
                        node != NULL ? tree_show(node, shown) : ""));
    return STATUS_OK;
}

/* [value, source] or [low, high, source] */
static enum status read_value(struct settings_origin *origin, const struct tree *node,
                              const char *key, double unit, struct machine_value *value)
{
    static const char *const origins[] = {"measured", "published", "predicted", "assumed"};
    const int count = node->kind == TREE_LIST ? node->nchildren : 0;
    FAIL_IF(count != 2 && count != 3,
            origin_fail(origin, node, key, "give [value, source] or [low, high, source]"));
    TRY(read_number(origin, tree_entry(node, 0), key, &value->low));
    TRY(read_number(origin, tree_entry(node, count - 2), key, &value->high));
    value->low *= unit;
    value->high *= unit;
    value->source = tree_entry(node, count - 1)->text;
    FAIL_IF(value->low > value->high,
            origin_fail(origin, node, key, "the lower end is above the upper one"));
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        if (strncmp(value->source, origins[i], strlen(origins[i])) == 0) {
            return STATUS_OK;
        }
    }
    return origin_fail(origin, node, key,
                       "the source '%s' does not begin with measured, published, predicted or "
                       "assumed",
                       value->source);
}

static enum status add_rate(struct settings_origin *origin, const struct tree *node,
                            const struct machine_rate *rate, struct machine_model *machine)
{
    FAIL_IF(!(rate->cells > 0 && rate->steps >= 1 && rate->per_s.low > 0),
            origin_fail(origin, node, "rates", "give steps, cells and a rate above 0"));
    FAIL_IF(machine->nrates == MACHINE_RATES_MOST,
            origin_fail(origin, node, "rates", "at most %d", MACHINE_RATES_MOST));
    machine->rate[machine->nrates++] = *rate;
    return STATUS_OK;
}

static enum status read_precision(struct settings_origin *origin, const struct tree *node,
                                  enum precision *precision)
{
    *precision = strcmp(node->text, "float32") == 0 ? PRECISION_FLOAT32 : PRECISION_FLOAT64;
    return strcmp(node->text, precision_name(*precision)) == 0
               ? STATUS_OK
               : origin_fail(origin, node, "precision", "give float64 or float32");
}

static enum status read_rate(struct settings_origin *origin, const struct tree *node,
                             struct machine_model *machine)
{
    double steps = 0;
    struct machine_rate added = {.steps = 0};
    const struct tree *medium = tree_child(node, "medium");
    const struct tree *precision = tree_child(node, "precision");
    const struct tree *rate = tree_child(node, "Gcells");
    const struct tree *planes = tree_child(node, "planes");
    FAIL_IF(medium == NULL || precision == NULL || rate == NULL ||
                node->nchildren != 5 + (planes != NULL),
            origin_fail(origin, node, "rates",
                        "give medium, precision, steps, cells and Gcells of each, and at will "
                        "planes"));
    added.medium = medium->text;
    TRY(read_precision(origin, precision, &added.precision));
    TRY(read_number(origin, tree_child(node, "steps"), "rates.steps", &steps));
    TRY(read_number(origin, tree_child(node, "cells"), "rates.cells", &added.cells));
    TRY(planes != NULL ? read_number(origin, planes, "rates.planes", &added.planes) : STATUS_OK);
    TRY(read_value(origin, rate, "rates.Gcells", 1e9, &added.per_s));
    added.steps = steps <= STEPS_MOST ? (int)steps : 0;
    return add_rate(origin, node, &added, machine);
}

/* A message of `bench halo --json` between ranks of a node, by the fastest transport: short ones
 * take the latency, with the host's wait in it; long ones give the bandwidth. */
static enum status read_message(struct settings_origin *origin, const struct tree *row,
                                struct machine_model *machine)
{
    static const char from[] = "measured: bench halo";
    const double most_short = 64 << 10;
    const double least_long = 16 << 20;
    const struct tree *works = tree_child(row, "works");
    double bytes = 0;
    double us = 0;
    if (works == NULL || strcmp(works->text, "true") != 0) {
        return STATUS_OK;
    }
    TRY(read_number(origin, tree_child(row, "bytes"), "rows.bytes", &bytes));
    TRY(read_number(origin, tree_child(row, "us"), "rows.us", &us));
    const bool is_long = bytes >= least_long;
    struct machine_value *value = &machine->number[is_long ? MACHINE_NODE : MACHINE_LATENCY];
    if ((!is_long && bytes > most_short) || us == 0) {
        return STATUS_OK;
    }
    const double found = is_long ? bytes / (1e-6 * us) : 1e-6 * us;
    if (value->source != from || (is_long ? found > value->low : found < value->low)) {
        *value = (struct machine_value){found, found, from};
    }
    machine->number[MACHINE_WAIT] = (struct machine_value){0, 0, from};
    return STATUS_OK;
}

/* A row of `bench kernels --json`; those of kernels that no run uses are skipped. */
static enum status read_row(struct settings_origin *origin, const struct tree *row,
                            struct machine_model *machine)
{
    const struct tree *kernel = tree_child(row, "kernel");
    const struct tree *medium = tree_child(row, "medium");
    const struct tree *cells = tree_child(row, "cells");
    const struct tree *precision = tree_child(row, "precision");
    struct machine_rate rate = {.medium = "uniform", .steps = 1, .cells = 1};
    if (tree_child(row, "transport") != NULL) {
        return read_message(origin, row, machine);
    }
    FAIL_IF(kernel == NULL || cells == NULL || precision == NULL,
            origin_fail(origin, row, "rows", "not a row of bench kernels or bench halo"));
    char rest = '\0';
    int order = 0;
    const bool steps = sscanf(kernel->text, "steps_%d%c", &rate.steps, &rest) == 1;
    if (sscanf(kernel->text, "order_%d_steps_%d", &order, &rate.steps) > 0) {
        rate.medium = order == 4 ? "order_4" : order == 6 ? "order_6" : "order_8";
    } else if (medium != NULL && rest == '\0') {
        rate.medium = strncmp(medium->text, "alloy", 5) == 0   ? "enthalpy"
                      : strncmp(medium->text, "faces", 5) == 0 ? "faces"
                                                               : "classes";
    } else if (!steps && strcmp(kernel->text, "production") != 0) {
        return STATUS_OK;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        double extent = 0;
        TRY(read_number(origin, tree_entry(cells, axis), "rows.cells", &extent));
        rate.cells *= extent;
        rate.planes = extent;
    }
    TRY(read_number(origin, tree_child(row, "cell_updates_per_s"), "rows.cell_updates_per_s",
                    &rate.per_s.low));
    TRY(read_precision(origin, precision, &rate.precision));
    rate.per_s.high = rate.per_s.low;
    rate.per_s.source = "measured: bench kernels";
    return add_rate(origin, row, &rate, machine);
}

static enum status read_key(struct settings_origin *origin, const struct tree *node,
                            struct machine_model *machine)
{
    if (strcmp(node->key, "title") == 0) {
        snprintf(machine->title, sizeof machine->title, "%s", node->text);
        return STATUS_OK;
    }
    if (strcmp(node->key, "rates") == 0) {
        for (const struct tree *rate = node->first; rate != NULL; rate = rate->next) {
            TRY(read_rate(origin, rate, machine));
        }
        return STATUS_OK;
    }
    for (int n = 0; n < MACHINE_NUMBERS; n++) {
        if (strcmp(node->key, numbers[n].key) == 0) {
            return read_value(origin, node, node->key, numbers[n].unit, &machine->number[n]);
        }
    }
    return origin_fail(origin, node, node->key, "not a key of a machine");
}

enum status machine_model_read(const char *name, const char *bytes, size_t nbytes,
                               struct machine_model *machine)
{
    if (machine->origin == NULL) {
        machine->origin = calloc(1, sizeof *machine->origin);
        TRY(CHECK_MEMORY(machine->origin != NULL, "no memory for a machine"));
    }
    machine->origin->name = name;
    TRY(tree_parse(machine->origin, NULL, bytes, nbytes, &machine->origin->root));
    const struct tree *rows = tree_child(machine->origin->root, "rows");
    for (const struct tree *row = rows != NULL ? rows->first : NULL; row != NULL; row = row->next) {
        TRY(read_row(machine->origin, row, machine));
    }
    const struct tree *node = rows == NULL ? machine->origin->root->first : NULL;
    for (; node != NULL; node = node->next) {
        TRY(read_key(machine->origin, node, machine));
    }
    return STATUS_OK;
}

enum status machine_model_complete(const struct machine_model *machine)
{
    for (int n = 0; n < MACHINE_NUMBERS; n++) {
        const struct machine_value *value = &machine->number[n];
        FAIL_IF(value->source == NULL && n < MACHINE_POWER,
                fail(STATUS_INPUT, "%s: %s is missing: [value, source]", machine->origin->name,
                     numbers[n].key));
        /* the others divide */
        const double least = n <= MACHINE_RANKS_PER_NIC ? 1 : 0x1p-1022;
        FAIL_IF(n <= MACHINE_NETWORK && (value->low < least || value->high > 1e30),
                fail(STATUS_INPUT, "%s: %s is %g; give %s", machine->origin->name, numbers[n].key,
                     value->low, n <= MACHINE_RANKS_PER_NIC ? "1 or more" : "a number above 0"));
    }
    return STATUS_OK;
}

void machine_model_destroy(struct machine_model *machine)
{
    origin_destroy(machine->origin);
    machine->origin = NULL;
}
