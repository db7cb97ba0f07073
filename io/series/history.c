#include "io/series/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/series/csv.h"

enum { HEAD_BYTES = 512, ROW_BYTES = 1024 };

struct history {
    struct csv csv;
    struct history_columns columns;
};

/* `end`: what follows the last column. */
static void print_head(const struct history_columns *columns, const char *end,
                       char head[HEAD_BYTES])
{
    int bytes =
        snprintf(head, HEAD_BYTES,
                 "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J%s",
                 columns->sources ? ",source_heat_J" : "");
    for (int f = 0; f < FACE_COUNT; f++) {
        const char *name = face_name((enum face)f);
        if (columns->faces[f]) {
            bytes += snprintf(head + bytes, (size_t)(HEAD_BYTES - bytes), ",flow_%s_W,T_%s_K", name,
                              name);
        }
    }
    snprintf(head + bytes, (size_t)(HEAD_BYTES - bytes), "%s", end);
}

/* Does the existing file have these columns, and perhaps more? Sets *column to the answer. */
static enum status find_column(const char *path, const struct history_columns *columns,
                               bool *column)
{
    char head[HEAD_BYTES];
    *column = true;
    print_head(columns, "", head);
    return csv_has_columns(path, head, column);
}

/* The columns of an existing file, one after another; none when it is not a history. */
static enum status find_columns(const char *path, struct history_columns *columns)
{
    *columns = (struct history_columns){0};
    TRY(find_column(path, columns, &columns->sources));
    for (int f = 0; f < FACE_COUNT; f++) {
        TRY(find_column(path, columns, &columns->faces[f]));
    }
    return STATUS_OK;
}

enum status history_check(const char *directory)
{
    struct history_columns columns;
    char path[PATH_BYTES];
    char head[HEAD_BYTES];
    TRY(path_join(directory, "history.csv", path));
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(find_columns(path, &columns));
    print_head(&columns, "\n", head);
    return csv_check(path, &(struct csv_format){.head = head, .rows = 1});
}

static enum status open_csv(const char *directory, int64_t restart_step, struct history *history)
{
    char path[PATH_BYTES];
    char head[HEAD_BYTES];
    TRY(path_join(directory, "history.csv", path));
    if (restart_step >= 0 && file_exists(path)) {
        TRY(find_columns(path, &history->columns));
    }
    print_head(&history->columns, "\n", head);
    return csv_open(directory, "history.csv", &(struct csv_format){.head = head, .rows = 1},
                    restart_step, &history->csv);
}

enum status history_open(const char *directory, const struct history_columns *columns,
                         int64_t restart_step, struct history **history)
{
    *history = NULL;
    struct history *opened = calloc(1, sizeof *opened);
    TRY(CHECK_MEMORY(opened != NULL, "no memory for the history"));
    opened->columns = *columns;
    const enum status status = open_csv(directory, restart_step, opened);
    if (status != STATUS_OK) {
        free(opened);
        return status;
    }
    *history = opened;
    return STATUS_OK;
}

const struct history_columns *history_columns_of(const struct history *history)
{
    return &history->columns;
}

enum status history_write(struct history *history, const struct history_row *row)
{
    char text[ROW_BYTES];
    int bytes =
        snprintf(text, sizeof text, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g",
                 row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                 row->boundary_heat, row->heat_drift);
    if (history->columns.sources) {
        bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, ",%.17g", row->source_heat);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (history->columns.faces[f]) {
            bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, ",%.17g,%.17g",
                              row->flow[f], row->face_mean[f]);
        }
    }
    bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, "\n");
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
