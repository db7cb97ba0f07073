#include "io/series/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/series/csv.h"

enum { HEAD_BYTES = 512, ROW_BYTES = 1024 };

struct history {
    struct csv csv;
    bool faces[FACE_COUNT];
};

/* `end`: what follows the last column. */
static void print_head(const bool faces[FACE_COUNT], const char *end, char head[HEAD_BYTES])
{
    int bytes = snprintf(head, HEAD_BYTES,
                         "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J");
    for (int f = 0; f < FACE_COUNT; f++) {
        const char *name = face_name((enum face)f);
        if (faces[f]) {
            bytes += snprintf(head + bytes, (size_t)(HEAD_BYTES - bytes), ",flow_%s_W,T_%s_K", name,
                              name);
        }
    }
    snprintf(head + bytes, (size_t)(HEAD_BYTES - bytes), "%s", end);
}

/* The faces of an existing file, one after another; none when it is not a history. */
static enum status find_faces(const char *path, bool faces[FACE_COUNT])
{
    memset(faces, 0, FACE_COUNT * sizeof *faces);
    for (int f = 0; f < FACE_COUNT; f++) {
        char head[HEAD_BYTES];
        faces[f] = true;
        print_head(faces, "", head);
        TRY(csv_has_columns(path, head, &faces[f]));
    }
    return STATUS_OK;
}

enum status history_check(const char *directory)
{
    bool faces[FACE_COUNT];
    char path[PATH_BYTES];
    char head[HEAD_BYTES];
    TRY(path_join(directory, "history.csv", path));
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(find_faces(path, faces));
    print_head(faces, "\n", head);
    return csv_check(path, &(struct csv_format){.head = head, .rows = 1});
}

static enum status open_csv(const char *directory, int64_t restart_step, struct history *history)
{
    char path[PATH_BYTES];
    char head[HEAD_BYTES];
    TRY(path_join(directory, "history.csv", path));
    if (restart_step >= 0 && file_exists(path)) {
        TRY(find_faces(path, history->faces));
    }
    print_head(history->faces, "\n", head);
    return csv_open(directory, "history.csv", &(struct csv_format){.head = head, .rows = 1},
                    restart_step, &history->csv);
}

enum status history_open(const char *directory, const bool faces[FACE_COUNT], int64_t restart_step,
                         struct history **history)
{
    *history = NULL;
    struct history *opened = calloc(1, sizeof *opened);
    TRY(CHECK_MEMORY(opened != NULL, "no memory for the history"));
    memcpy(opened->faces, faces, sizeof opened->faces);
    const enum status status = open_csv(directory, restart_step, opened);
    if (status != STATUS_OK) {
        free(opened);
        return status;
    }
    *history = opened;
    return STATUS_OK;
}

bool history_has_face(const struct history *history, enum face face)
{
    return history->faces[face];
}

enum status history_write(struct history *history, const struct history_row *row)
{
    char text[ROW_BYTES];
    int bytes =
        snprintf(text, sizeof text, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g",
                 row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                 row->boundary_heat, row->heat_drift);
    for (int f = 0; f < FACE_COUNT; f++) {
        if (history->faces[f]) {
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
