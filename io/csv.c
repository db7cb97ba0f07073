#include "io/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t MOST_BYTES = (size_t)1 << 40;

static int count_commas(const char *line)
{
    int commas = 0;
    for (const char *c = line; *c != '\n'; c++) {
        commas += *c == ',';
    }
    return commas;
}

enum status csv_has_columns(const char *path, const char *columns, bool *has)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
    }
    *has = true;
    for (const char *c = columns; *has && *c != '\0'; c++) {
        *has = fgetc(stream) == *c;
    }
    fclose(stream);
    return STATUS_OK;
}

enum status csv_check(const char *path, const struct csv_format *format)
{
    bool has = false;
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(csv_has_columns(path, format->columns, &has));
    return has ? STATUS_OK
               : fail(STATUS_INPUT,
                      "the columns of %s differ from those of the configuration; move the file "
                      "away to continue",
                      path);
}

/* Keep the first line and whole steps up to `restart_step`, in place: at most `rows` lines of each;
 * 0: any number. A last line without its end is what a kill left of a row. */
static enum status cut_rows(const char *path, char *text, int64_t rows, int64_t restart_step,
                            size_t *kept_bytes, int64_t *last_step)
{
    const int commas = count_commas(text);
    char *whole = strchr(text, '\n') + 1;
    char *out = whole;
    int64_t last = -1;
    int64_t found = 0; /* rows of it */
    int number = 2;
    for (char *line = out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, number++) {
        char *after = NULL;
        const long long step = strtoll(line, &after, 10);
        if (after == line || *after != ',' || count_commas(line) != commas) {
            return fail(STATUS_FILE, "%s:%d is not a row of it; move the file away to continue",
                        path, number);
        }
        if (step > restart_step || step < last || (step == last && rows > 0 && found == rows)) {
            continue;
        }
        if (step > last) {
            out = whole;
            last = step;
            found = 0;
        }
        memmove(out, line, (size_t)(end + 1 - line));
        out += end + 1 - line;
        if (++found >= rows) {
            whole = out;
            *last_step = step;
        }
    }
    *kept_bytes = (size_t)(whole - text);
    return STATUS_OK;
}

static enum status cut(const char *path, int64_t rows, int64_t restart_step, int64_t *last_step)
{
    char *text = NULL;
    size_t nbytes = 0;
    TRY(file_read_all(path, MOST_BYTES, &text, &nbytes));
    enum status status = STATUS_OK;
    if (strchr(text, '\n') != NULL) { /* else not even its columns */
        TRY_GOTO(cut_rows(path, text, rows, restart_step, &nbytes, last_step));
        TRY_GOTO(file_replace(path, text, nbytes));
    }
done:
    free(text);
    return status;
}

enum status csv_cut(const char *path, int64_t step)
{
    int64_t last_step = -1;
    return file_exists(path) ? cut(path, 0, step, &last_step) : STATUS_OK;
}

enum status csv_open(const char *directory, const char *name, const struct csv_format *format,
                     int64_t restart_step, struct csv *csv)
{
    csv->fd = -1;
    csv->last_step = -1;
    csv->bytes = 0;
    TRY(path_join(directory, name, csv->path));
    if (restart_step >= 0 && file_exists(csv->path)) {
        TRY(csv_check(csv->path, format));
        TRY(cut(csv->path, format->rows, restart_step, &csv->last_step));
    } else {
        TRY(file_replace(csv->path, format->columns, strlen(format->columns)));
    }
    csv->fd = open(csv->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return csv->fd >= 0 ? STATUS_OK
                        : fail(STATUS_FILE, "cannot open %s: %s", csv->path, strerror(errno));
}

enum status csv_append(struct csv *csv, int64_t step, const char *rows, size_t nbytes)
{
    if (step > csv->last_step) {
        /* at once: somebody may be watching, and a kill loses no row */
        TRY(file_write(csv->fd, csv->path, rows, nbytes));
        csv->last_step = step;
        csv->bytes += nbytes;
    }
    return STATUS_OK;
}

enum status csv_flush(const struct csv *csv)
{
    return file_sync(csv->fd, csv->path);
}

enum status csv_close(struct csv *csv)
{
    const int fd = csv->fd;
    csv->fd = -1;
    return fd < 0 || close(fd) == 0
               ? STATUS_OK
               : fail(STATUS_FILE, "cannot close %s: %s", csv->path, strerror(errno));
}
