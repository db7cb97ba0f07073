/* Values that are valid, but probably not what is meant. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "config/check/settings_check.h"

/* The usual range of a value with a unit. 0 and 1 are those of problems without dimensions. */
static enum status check_size(const struct item *item, double value)
{
    const struct schema_unit *unit = item->row->unit;
    const double size = fabs(value);
    if (unit->most == 0 || size == 0 || size == 1 || (size >= unit->least && size <= unit->most)) {
        return STATUS_OK;
    }
    FAIL_IF(strcmp(unit->name, "K") == 0 && value > 0 && value < unit->least,
            fail(STATUS_INPUT, "%s: %.9g K is %.9g degC; if it is in degC, give %.9g degC or %.9g",
                 item->key, value, value - 273.15, value, value + 273.15));
    return fail(STATUS_INPUT, "%s: %.9g %s is unusual (%g to %g are usual); is it in another unit?",
                item->key, value, unit->name, unit->least, unit->most);
}

static enum status check_value(const struct settings *settings, const struct item *item)
{
    const struct schema_key *row = item->row;
    const struct number_setting *number = item_number(item);
    const bool differs = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    if (item->node == NULL || row->type != SCHEMA_REAL || row->unit == NULL ||
        settings->quantity.given || (differs && strcmp(row->unit->name, "K") == 0) ||
        (number != NULL && number->formula != NULL) ||
        ((row->flags & SCHEMA_OR_TABLE) != 0 && item->node->kind != TREE_SCALAR)) {
        return STATUS_OK;
    }
    const double *value = (const double *)(item->base + row->offset);
    for (int i = 0; i < (row->max_count > 0 ? row->max_count : 1); i++) {
        TRY(check_size(item, value[i]));
    }
    return STATUS_OK;
}

/* A moving source that is much smaller than a cell. */
static enum status check_source(const struct settings *settings, const struct item *item)
{
    const struct source_setting *source = (const struct source_setting *)item->base;
    const bool goldak = source->shape.kind == SOURCE_GOLDAK;
    for (int a = 0; a < AXIS_COUNT && source->shape.kind >= SOURCE_GAUSSIAN; a++) {
        const double cell =
            (settings->grid.upper[a] - settings->grid.lower[a]) / (double)settings->grid.cells[a];
        const double radius = goldak ? source->front : source->radius[a];
        FAIL_IF(settings_axis_used(settings, a) && radius > 0 && radius < 0.1 * cell,
                fail(STATUS_INPUT,
                     "%s: its radius of %.4g m is less than a tenth of a cell along %s (%.4g m); "
                     "are the lengths of the grid in m?",
                     item->key, radius, axis_name((enum axis)a), cell));
    }
    return STATUS_OK;
}

/* A rate of cooling through a temperature at which latent heat is released. */
static enum status check_cooling(const struct settings *settings, const struct item *item)
{
    const double *cooling = settings->output.derived.cooling;
    const bool at_isotherm = cooling[0] == cooling[1];
    const unsigned derived = *(const unsigned *)(item->base + item->row->offset);
    for (int i = 0; (derived >> DERIVED_COOLING & 1U) != 0 && i < 2 * settings->nmaterials; i++) {
        const struct material_setting *material = &settings->materials[i / 2];
        const double liquidus = material->has_liquidus ? material->liquidus : material->solidus;
        const double value = at_isotherm ? settings->output.derived.isotherm : cooling[i % 2];
        FAIL_IF(
            material->melts && value <= liquidus &&
                (value > material->solidus || (at_isotherm && value == material->solidus)),
            fail(STATUS_INPUT,
                 "%s: cooling_rate uses %g K, in the melting range of %.100s (%g to %g K), where "
                 "it varies from cell to cell; give output.derived.cooling, for example [%g, %g]",
                 item->key, value, material->name, material->solidus, liquidus, material->solidus,
                 material->solidus - 100));
    }
    return STATUS_OK;
}

/* A cadence whose times lie behind the end. */
static enum status check_cadence(const struct item *item, double end)
{
    const struct cadence *cadence =
        (const struct cadence *)(item->base + item->row->offset - offsetof(struct cadence, every));
    const double last = cadence->ntimes > 0 ? cadence->times[cadence->ntimes - 1] : 0;
    const char *dot = strrchr(item->key, '.');
    if (!(cadence->interval > end) && !(last > end * (1 + 1e-12))) {
        return STATUS_OK;
    }
    const bool checkpoints = strncmp(item->key, "output.checkpoints", 18) == 0;
    FAIL_IF(last > 0, fail(STATUS_INPUT, "the times of %.*s go to %g s, beyond the %g s of the run",
                           (int)(dot - item->key), item->key, last, end));
    return fail(STATUS_INPUT,
                "%.*s.interval is %g s, more than the %g s of the run: only the %s written",
                (int)(dot - item->key), item->key, cadence->interval, end,
                checkpoints ? "last state is" : "first and last state are");
}

static enum status check_file(const struct settings *settings, const struct item *item)
{
    const char *path =
        item->row->type == SCHEMA_TEXT ? *(char *const *)(item->base + item->row->offset) : NULL;
    FAIL_IF((item->row->flags & SCHEMA_FILE) != 0 && path != NULL && !file_exists(path),
            fail(STATUS_INPUT, "%.*s: %.200s does not exist yet; a run will need it",
                 (int)(strrchr(item->key, '.') - item->key), item->key, path));
    FAIL_IF(strcmp(item->row->path, "output.directory") == 0 &&
                !directory_is_possible(settings->output.directory),
            fail(STATUS_INPUT, "%s: %.200s cannot be written; a run will fail", item->key,
                 settings->output.directory));
    return STATUS_OK;
}

bool settings_warning(const struct settings *settings, double end, bool files, int *index,
                      char text[SETTINGS_WARNING])
{
    SCOPED_BY(item_list_free) struct item_list list = {0};
    enum status status = STATUS_OK;
    if (settings->origin == NULL || item_list_all(settings, &list) != STATUS_OK) {
        fail_clear();
        return false;
    }
    while (status == STATUS_OK && *index < list.count) {
        const struct item *item = &list.item[(*index)++];
        status = (item->row->flags & SCHEMA_CADENCE) != 0
                     ? check_cadence(item, settings->time.steady.given ? INFINITY : end)
                 : strcmp(item->row->path, "sources") == 0 ? check_source(settings, item)
                 : item->row->type == SCHEMA_CHOICES       ? check_cooling(settings, item)
                                                           : check_value(settings, item);
        status = status == STATUS_OK && files ? check_file(settings, item) : status;
    }
    snprintf(text, SETTINGS_WARNING, "%s", fail_message());
    fail_clear();
    return status != STATUS_OK;
}

void settings_warn(const struct settings *settings, double end, bool files)
{
    char text[SETTINGS_WARNING];
    for (int index = 0; settings_warning(settings, end, files, &index, text);) {
        log_warn("%s", text);
    }
}

/* ---- files ---- */

enum status settings_find_files(struct settings *settings, const char *configuration)
{
    SCOPED_BY(item_list_free) struct item_list list = {0};
    const char *slash = strrchr(configuration, '/');
    TRY(item_list_all(settings, &list));
    for (int i = 0; i < list.count; i++) {
        const struct item *item = &list.item[i];
        const struct number_setting *number = item_number(item);
        struct table_setting *table = number != NULL ? number->table : NULL;
        char **path = (item->row->flags & SCHEMA_FILE) != 0
                          ? (char **)(item->base + item->row->offset)
                          : NULL;
        if ((item->row->flags & SCHEMA_OR_TABLE) != 0) {
            memcpy(&table, item->base + item->row->alternative, sizeof(void *));
        }
        path = table != NULL ? &table->path : path;
        if (path == NULL || *path == NULL) {
            continue;
        }
        if (table == NULL && path_ends_in(*path, ".npy") &&
            strncmp(item->row->path, "initial", strlen("initial")) == 0) {
            TRY(item_fail(item, NULL,
                          "%.200s is a file of NumPy, and HDF5 is needed; convert it by "
                          "python3 -c \"import h5py, numpy; h5py.File('%.*s.h5', 'w')['%s'] = "
                          "numpy.load('%.200s')\"",
                          *path, (int)strlen(*path) - 4, *path,
                          ((const struct shape_setting *)item->base)->dataset, *path));
        }
        char beside[PATH_BYTES];
        if ((*path)[0] != '/' && slash != NULL &&
            snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - configuration), configuration,
                     *path) < PATH_BYTES &&
            file_exists(beside)) {
            *path = origin_text(settings->origin, beside);
            TRY(CHECK_MEMORY(*path != NULL, "no memory for a path"));
        }
    }
    return STATUS_OK;
}
