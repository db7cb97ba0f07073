#include "io/series/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/series/csv.h"

enum { HEAD_BYTES = 512, ROW_BYTES = 1024, NUMBER_BYTES = 32 };

struct history {
    struct csv csv;
    struct history_columns columns;
};

/* `end`: what follows the last column. Caller frees. */
static enum status make_head(const struct history_columns *columns, const char *end, char **head)
{
    const char *more = columns->more != NULL ? columns->more : "";
    const size_t room = HEAD_BYTES + strlen(more) + strlen(end);
    *head = malloc(room);
    TRY(CHECK_MEMORY(*head != NULL, "no memory for the columns of the history"));
    size_t bytes = (size_t)snprintf(
        *head, room, "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J%s",
        columns->sources ? ",source_heat_J" : "");
    for (int f = 0; f < FACE_COUNT; f++) {
        const char *name = face_name((enum face)f);
        if (columns->faces[f]) {
            bytes += (size_t)snprintf(*head + bytes, room - bytes, ",flow_%s_W,T_%s_K", name, name);
        }
    }
    snprintf(*head + bytes, room - bytes, "%s%s", more, end);
    return STATUS_OK;
}

/* Does the existing file have these columns, and perhaps more? */
static enum status has_columns(const char *path, const struct history_columns *columns, bool *has)
{
    char *head = NULL;
    TRY(make_head(columns, "", &head));
    const enum status status = csv_has_columns(path, head, has);
    free(head);
    return status;
}

/* The columns of an existing file, one after another; none when it is not a history. `more`: those
 * of materials and patches that it may have. */
static enum status find_columns(const char *path, const char *more, struct history_columns *columns)
{
    bool has = false;
    *columns = (struct history_columns){.sources = true};
    TRY(has_columns(path, columns, &columns->sources));
    for (int f = 0; f < FACE_COUNT; f++) {
        columns->faces[f] = true;
        TRY(has_columns(path, columns, &columns->faces[f]));
    }
    columns->more = more;
    TRY(has_columns(path, columns, &has));
    columns->more = has ? more : NULL;
    return STATUS_OK;
}

enum status history_check(const char *directory, const char *more)
{
    struct history_columns columns;
    char path[PATH_BYTES];
    char *head = NULL;
    TRY(path_join(directory, "history.csv", path));
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(find_columns(path, more, &columns));
    TRY(make_head(&columns, "\n", &head));
    const enum status status = csv_check(path, &(struct csv_format){.head = head, .rows = 1});
    free(head);
    return status;
}

static enum status open_csv(const char *directory, int64_t restart_step, struct history *history)
{
    char path[PATH_BYTES];
    char *head = NULL;
    TRY(path_join(directory, "history.csv", path));
    if (restart_step >= 0 && file_exists(path)) {
        TRY(find_columns(path, history->columns.more, &history->columns));
    }
    TRY(make_head(&history->columns, "\n", &head));
    const enum status status =
        csv_open(directory, "history.csv", &(struct csv_format){.head = head, .rows = 1},
                 restart_step, &history->csv);
    free(head);
    return status;
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

static int count_names(const char *more)
{
    int count = 0;
    for (; more != NULL && *more != '\0'; more++) {
        count += *more == ',' ? 1 : 0;
    }
    return count;
}

enum status history_write(struct history *history, const struct history_row *row)
{
    const int nmore = count_names(history->columns.more);
    const size_t room = ROW_BYTES + (size_t)nmore * NUMBER_BYTES;
    char *text = malloc(room);
    TRY(CHECK_MEMORY(text != NULL, "no memory for a row of the history"));
    int bytes = snprintf(text, room, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g",
                         row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                         row->boundary_heat, row->heat_drift);
    if (history->columns.sources) {
        bytes += snprintf(text + bytes, room - (size_t)bytes, ",%.17g", row->source_heat);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (history->columns.faces[f]) {
            bytes += snprintf(text + bytes, room - (size_t)bytes, ",%.17g,%.17g", row->flow[f],
                              row->face_mean[f]);
        }
    }
    for (int n = 0; n < nmore; n++) {
        bytes += snprintf(text + bytes, room - (size_t)bytes, ",%.17g", row->more[n]);
    }
    bytes += snprintf(text + bytes, room - (size_t)bytes, "\n");
    const enum status status = csv_append(&history->csv, row->step, text, (size_t)bytes);
    free(text);
    return status;
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
