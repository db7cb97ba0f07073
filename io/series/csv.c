#include "io/series/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static int count_commas(const char *line, const char *end)
{
    int commas = 0;
    for (const char *c = line; c < end; c++) {
        commas += *c == ',';
    }
    return commas;
}

static enum status other_columns(const char *path)
{
    return fail(STATUS_INPUT,
                "%s has other columns than the configuration asks for; move it away to go on",
                path);
}

/* Keep the header and the rows up to `restart_step`, in place. */
static enum status cut_rows(const char *path, char *text, const char *header, int64_t restart_step,
                            size_t *kept_bytes, int64_t *last_step)
{
    const size_t header_bytes = strlen(header);
    const int commas = count_commas(header, header + header_bytes);
    if (strncmp(text, header, header_bytes) != 0) {
        return other_columns(path);
    }
    char *out = text + header_bytes;
    for (char *line = out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char *after = NULL;
        const long long step = strtoll(line, &after, 10);
        if (after == line || *after != ',' || count_commas(line, end) != commas) {
            return fail(STATUS_FILE, "%s: \"%.*s\" is not a row of it; move the file away to go on",
                        path, (int)(end - line > 60 ? 60 : end - line), line);
        }
        if (step <= restart_step) {
            memmove(out, line, (size_t)(end + 1 - line));
            out += end + 1 - line;
            *last_step = step;
        }
    }
    *kept_bytes = (size_t)(out - text);
    return STATUS_OK;
}

static enum status resume(const char *path, const char *header, int64_t restart_step,
                          int64_t *last_step)
{
    char *text = NULL;
    size_t nbytes = 0;
    TRY(file_read_all(path, (size_t)1 << 40, &text, &nbytes));
    enum status status = cut_rows(path, text, header, restart_step, &nbytes, last_step);
    if (status == STATUS_OK) {
        status = file_replace(path, text, nbytes);
    }
    free(text);
    return status;
}

enum status csv_open(const char *path, const char *header, int64_t restart_step, int *fd,
                     int64_t *last_step)
{
    *fd = -1;
    *last_step = -1;
    if (restart_step >= 0 && file_exists(path)) {
        TRY(resume(path, header, restart_step, last_step));
    } else {
        TRY(file_replace(path, header, strlen(header)));
    }
    *fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return *fd >= 0 ? STATUS_OK : fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
}

enum status csv_has_header(const char *path, const char *header, bool *has)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
    }
    *has = true;
    for (const char *c = header; *has && *c != '\0'; c++) {
        *has = fgetc(stream) == *c;
    }
    fclose(stream);
    return STATUS_OK;
}

enum status csv_check(const char *path, const char *header)
{
    bool has = false;
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(csv_has_header(path, header, &has));
    return has ? STATUS_OK : other_columns(path);
}

enum status csv_cut(const char *path, int64_t step)
{
    char *text = NULL;
    size_t nbytes = 0;
    int64_t last_step = -1;
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(file_read_all(path, (size_t)1 << 40, &text, &nbytes));
    char *end = strchr(text, '\n');
    if (end == NULL) {
        free(text);
        return STATUS_OK; /* not even its columns */
    }
    end[1] = '\0';
    const enum status status = resume(path, text, step, &last_step);
    free(text);
    return status;
}
