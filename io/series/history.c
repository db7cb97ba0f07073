#include "io/series/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/series/csv.h"

static const struct csv_format FORMAT = {
    .head = "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J\n",
    .rows = 1,
};

struct history {
    struct csv csv;
};

enum status history_check(const char *directory)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, "history.csv", path));
    return csv_check(path, &FORMAT);
}

enum status history_open(const char *directory, int64_t restart_step, struct history **history)
{
    *history = NULL;
    struct history *opened = calloc(1, sizeof *opened);
    TRY(CHECK_MEMORY(opened != NULL, "no memory for the history"));
    const enum status status =
        csv_open(directory, "history.csv", &FORMAT, restart_step, &opened->csv);
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
    const int bytes =
        snprintf(text, sizeof text, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
                 row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                 row->boundary_heat, row->heat_drift);
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
