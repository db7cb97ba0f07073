#include "io/series/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "io/series/csv.h"

static const char HEADER[] =
    "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J\n";
enum { COMMAS = 8 };

struct history {
    char path[PATH_BYTES];
    int fd;
    int64_t last_step; /* -1 before the first row */
};

/* The step of a row; -1 when the line (up to `end`) is no row. */
static int64_t row_step(const char *line, const char *end)
{
    int commas = 0;
    for (const char *c = line; c < end; c++) {
        commas += *c == ',';
    }
    char *after = NULL;
    const long long step = strtoll(line, &after, 10);
    return commas == COMMAS && after > line && *after == ',' ? step : -1;
}

/* Keep the header and the rows up to `restart_step`, in place. A last line without its end is
 * what a kill left of a row: dropped. */
static enum status cut_rows(const char *path, char *text, int64_t restart_step, size_t *kept_bytes,
                            int64_t *last_step)
{
    const size_t header_bytes = sizeof HEADER - 1;
    if (strncmp(text, HEADER, header_bytes) != 0) {
        return fail(STATUS_FILE,
                    "%s does not start with the header of a history; move it away to go on", path);
    }
    char *out = text + header_bytes;
    int64_t last = -1;
    int number = 2;
    for (char *line = out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, number++) {
        const int64_t step = row_step(line, end);
        if (step < 0) {
            return fail(STATUS_FILE, "%s:%d is not a row of a history; move the file away to go on",
                        path, number);
        }
        if (step <= restart_step && step > last) {
            memmove(out, line, (size_t)(end + 1 - line));
            out += end + 1 - line;
            last = step;
        }
    }
    *kept_bytes = (size_t)(out - text);
    *last_step = last;
    return STATUS_OK;
}

static enum status resume_rows(const char *path, int64_t restart_step, int64_t *last_step)
{
    char *text = NULL;
    size_t nbytes = 0;
    TRY(file_read_all(path, (size_t)1 << 32, &text, &nbytes));
    enum status status = cut_rows(path, text, restart_step, &nbytes, last_step);
    if (status == STATUS_OK) {
        status = file_replace(path, text, nbytes);
    }
    free(text);
    return status;
}

enum status history_check(const char *directory)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, "history.csv", path));
    return csv_check(path, HEADER);
}

enum status history_open(const char *directory, int64_t restart_step, struct history **history)
{
    char path[PATH_BYTES];
    int64_t last_step = -1;
    *history = NULL;
    TRY(path_join(directory, "history.csv", path));
    if (restart_step >= 0 && file_exists(path)) {
        TRY(resume_rows(path, restart_step, &last_step));
    } else {
        TRY(file_replace(path, HEADER, sizeof HEADER - 1));
    }
    struct history *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return fail(STATUS_MEMORY, "no memory for the history");
    }
    memcpy(opened->path, path, sizeof path);
    opened->last_step = last_step;
    opened->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (opened->fd < 0) {
        free(opened);
        return fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
    }
    *history = opened;
    return STATUS_OK;
}

enum status history_write(struct history *history, const struct history_row *row)
{
    if (row->step <= history->last_step) {
        return STATUS_OK;
    }
    enum { ROW_BYTES = 512 };
    char text[ROW_BYTES];
    const int bytes =
        snprintf(text, sizeof text, "%" PRId64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
                 row->step, row->time, row->dt, row->min, row->max, row->mean, row->heat,
                 row->boundary_heat, row->heat_drift);
    /* at once: somebody may be watching, and a kill loses no row */
    TRY(file_write(history->fd, history->path, text, (size_t)bytes));
    history->last_step = row->step;
    return STATUS_OK;
}

enum status history_flush(struct history *history)
{
    return history == NULL ? STATUS_OK : file_sync(history->fd, history->path);
}

enum status history_close(struct history *history)
{
    if (history == NULL) {
        return STATUS_OK;
    }
    enum status status = STATUS_OK;
    if (close(history->fd) != 0) {
        status = fail(STATUS_FILE, "cannot close %s: %s", history->path, strerror(errno));
    }
    free(history);
    return status;
}
