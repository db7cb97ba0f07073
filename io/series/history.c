#include "io/series/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/series/csv.h"

#define COLUMNS "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J"
#define WITH_SOURCES COLUMNS ",source_heat_J\n"

static const struct csv_format FORMATS[] = {{.head = COLUMNS "\n", .rows = 1},
                                            {.head = WITH_SOURCES, .rows = 1}};

struct history {
    struct csv csv;
    bool sources;
};

/* A file that has the column of sources keeps it. */
static enum status find_format(const char *path, bool *sources)
{
    return *sources || !file_exists(path) ? STATUS_OK
                                          : csv_has_columns(path, WITH_SOURCES, sources);
}

enum status history_check(const char *directory, bool sources)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, "history.csv", path));
    TRY(find_format(path, &sources));
    return csv_check(path, &FORMATS[sources]);
}

enum status history_open(const char *directory, bool sources, int64_t restart_step,
                         struct history **history)
{
    *history = NULL;
    char path[PATH_BYTES];
    TRY(path_join(directory, "history.csv", path));
    if (restart_step >= 0) {
        TRY(find_format(path, &sources));
    }
    struct history *opened = calloc(1, sizeof *opened);
    TRY(CHECK_MEMORY(opened != NULL, "no memory for the history"));
    opened->sources = sources;
    const enum status status =
        csv_open(directory, "history.csv", &FORMATS[sources], restart_step, &opened->csv);
    if (status != STATUS_OK) {
        free(opened);
        return status;
    }
    *history = opened;
    return STATUS_OK;
}

enum status history_write(struct history *history, const struct history_row *row)
{
    enum { ROW_BYTES = 512 };
    char text[ROW_BYTES];
    int bytes =
        snprintf(text, sizeof text, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g",
                 row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                 row->boundary_heat, row->heat_drift);
    if (history->sources) {
        bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, ",%.17g", row->source_heat);
    }
    text[bytes++] = '\n';
    return csv_append(&history->csv, row->step, text, (size_t)bytes);
}

enum status history_flush(struct history *history)
{
    return history == NULL ? STATUS_OK : csv_flush(&history->csv);
}

enum status history_close(struct history *history)
{
    if (history == NULL) {
        return STATUS_OK;
    }
    const enum status status = csv_close(&history->csv);
    free(history);
    return status;
}
