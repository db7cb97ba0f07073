#include "io/series/series.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "io/series/csv.h"
#include "io/series/series_file.h"

/* Rows that wait for probes.h5: opening it and flushing it to the disk takes milliseconds. */
enum { MOST_ROWS = 100, MOST_VALUES = 1 << 20, PLACE_BYTES = 128 };

#define LINE_COLUMNS "step,time_s,distance_m,x_m,y_m,z_m,T_K"

struct series {
    char path[PATH_BYTES]; /* of probes.h5 */
    char csv_path[PATH_BYTES];
    char *group;
    int csv_fd;
    FILE *csv; /* the rows of one step in memory: `text`, `nbytes` */
    char *text;
    size_t nbytes;
    bool columns; /* a column a point */
    int64_t npoints;
    double *points;
    int64_t csv_step; /* the last one there, -1: none */
    int64_t file_step;
    struct series_rows waiting;
    uint64_t bytes; /* written, to both */
};

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory for a time series");
}

/* The first line of the CSV file; caller frees. NULL when out of memory. */
static char *make_header(const struct series_setup *setup)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    fputs(setup->names != NULL ? "step,time_s" : LINE_COLUMNS, out);
    for (int64_t p = 0; setup->names != NULL && p < setup->npoints; p++) {
        fprintf(out, ",%s_K", setup->names[p]);
    }
    fputc('\n', out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static enum status open_csv(const struct series_setup *setup, int64_t restart_step,
                            struct series *s)
{
    char *header = make_header(setup);
    if (header == NULL) {
        return no_memory();
    }
    const enum status status =
        csv_open(s->csv_path, header, restart_step, &s->csv_fd, &s->csv_step);
    free(header);
    return status;
}

static enum status make_rows(struct series *s)
{
    const size_t n = (size_t)s->npoints;
    const size_t most = MOST_VALUES / n;
    struct series_rows *rows = &s->waiting;
    rows->npoints = s->npoints;
    rows->most = most < 1 ? 1 : most < MOST_ROWS ? (int64_t)most : MOST_ROWS;
    rows->step = calloc((size_t)rows->most, sizeof *rows->step);
    rows->time = calloc((size_t)rows->most, sizeof *rows->time);
    rows->values = calloc((size_t)rows->most * n, sizeof *rows->values);
    return rows->step != NULL && rows->time != NULL && rows->values != NULL ? STATUS_OK
                                                                            : no_memory();
}

/* One line of the CSV file: its step, time and values; a column a point, or the last of a row. */
static bool parse_line(const struct series *s, char *line, int64_t *step, double *time,
                       double *values)
{
    enum { SKIPPED = 4 }; /* distance, x, y, z */
    char *next = NULL;
    *step = strtoll(line, &next, 10);
    *time = *next == ',' ? strtod(next + 1, &next) : 0;
    for (int skip = 0; !s->columns && skip < SKIPPED && *next == ','; skip++) {
        next = strpbrk(next + 1, ",\n");
        if (next == NULL) {
            return false;
        }
    }
    const int64_t count = s->columns ? s->npoints : 1;
    for (int64_t v = 0; v < count; v++) {
        if (*next != ',') {
            return false;
        }
        values[v] = strtod(next + 1, &next);
    }
    return *next == '\n';
}

/* Rows that the CSV file has and probes.h5 has not: it was damaged, or is new. */
static enum status refill_from(struct series *s, char *text)
{
    double *row = calloc((size_t)s->npoints, sizeof *row);
    enum status status = row == NULL ? no_memory() : STATUS_OK;
    int64_t got = 0;
    char *line = strchr(text, '\n');
    while (status == STATUS_OK && line != NULL && line[1] != '\0') {
        int64_t step = 0;
        double time = 0;
        line++;
        if (!parse_line(s, line, &step, &time, row + got)) {
            status = fail(STATUS_FILE, "%s has a row that cannot be read", s->csv_path);
        }
        got = s->columns ? s->npoints : got + 1;
        if (status == STATUS_OK && got == s->npoints) {
            got = 0;
            status = step > s->file_step ? series_write(s, step, time, row) : STATUS_OK;
        }
        line = strchr(line, '\n');
    }
    free(row);
    return status == STATUS_OK ? series_flush(s) : status;
}

static enum status refill(struct series *s)
{
    char *text = NULL;
    size_t nbytes = 0;
    if (s->file_step >= s->csv_step) {
        return STATUS_OK;
    }
    TRY(file_read_all(s->csv_path, (size_t)1 << 40, &text, &nbytes));
    const enum status status = refill_from(s, text);
    free(text);
    return status;
}

static enum status open_all(const struct series_setup *setup, int64_t restart_step,
                            struct series *s)
{
    const size_t bytes = (size_t)setup->npoints * 3 * sizeof *setup->points;
    TRY(path_join(setup->directory, SERIES_FILE_NAME, s->path));
    TRY(path_join(setup->directory, setup->csv_name, s->csv_path));
    s->npoints = setup->npoints;
    s->columns = setup->names != NULL;
    s->group = strdup(setup->group);
    s->points = malloc(bytes);
    if (s->group == NULL || s->points == NULL) {
        return no_memory();
    }
    memcpy(s->points, setup->points, bytes);
    s->csv = open_memstream(&s->text, &s->nbytes);
    if (s->csv == NULL) {
        return no_memory();
    }
    TRY(make_rows(s));
    TRY(series_file_open(s->path, setup, restart_step, &s->file_step));
    TRY(open_csv(setup, restart_step, s));
    return refill(s);
}

/* ",distance,x,y,z," of a point of a line, as its rows have it. */
static void print_place(const double *points, int64_t p, char text[PLACE_BYTES])
{
    const double *at = points + 3 * p;
    const double distance = hypot(hypot(at[0] - points[0], at[1] - points[1]), at[2] - points[2]);
    snprintf(text, PLACE_BYTES, ",%.9g,%.9g,%.9g,%.9g,", distance, at[0], at[1], at[2]);
}

/* The rows of a line say where they are. */
static enum status check_places(const struct series_setup *setup, const char *path)
{
    char *text = NULL;
    size_t nbytes = 0;
    int64_t p = 0;
    enum status status = STATUS_OK;
    TRY(file_read_all(path, (size_t)1 << 40, &text, &nbytes));
    const char *line = strchr(text, '\n');
    for (const char *end;
         status == STATUS_OK && line != NULL && (end = strchr(line + 1, '\n')) != NULL;
         line = end) {
        char place[PLACE_BYTES];
        const char *time = strchr(line + 1, ',');
        const char *at = time == NULL ? NULL : strchr(time + 1, ',');
        print_place(setup->points, p, place);
        if (at == NULL || strncmp(at, place, strlen(place)) != 0) {
            status = fail(STATUS_INPUT, "%s holds other points", path);
        }
        p = (p + 1) % setup->npoints;
    }
    free(text);
    return status;
}

/* Of a probe the CSV file has only the name, and probes.h5 the place. */
static enum status check_csv(const struct series_setup *setup, const char *path, bool has_group)
{
    char *header = make_header(setup);
    if (header == NULL) {
        return no_memory();
    }
    enum status status = csv_check(path, header);
    free(header);
    if (status != STATUS_OK || !file_exists(path)) {
        return status;
    }
    if (setup->names == NULL) {
        return check_places(setup, path);
    }
    if (setup->other_points && !has_group) {
        return fail(STATUS_INPUT, "%s holds other points", path);
    }
    return STATUS_OK;
}

enum status series_check(const struct series_setup *setup, bool *damaged)
{
    char path[PATH_BYTES];
    char csv_path[PATH_BYTES];
    TRY(path_join(setup->directory, SERIES_FILE_NAME, path));
    TRY(path_join(setup->directory, setup->csv_name, csv_path));
    enum status status = series_file_check(path, setup);
    *damaged = status == STATUS_FILE;
    if (status == STATUS_OK || status == STATUS_FILE) {
        status = check_csv(setup, csv_path, !*damaged && series_file_has(path, setup));
    }
    if (status == STATUS_INPUT) {
        return fail_prefix(status,
                           "the samples of %s cannot be continued (move %s and %s away, then the "
                           "restart begins new files): ",
                           setup->group + 1, csv_path, path);
    }
    return status;
}

enum status series_is_line(const char *csv_path, bool *is_line)
{
    return csv_has_header(csv_path, LINE_COLUMNS "\n", is_line);
}

enum status series_cut_file(const char *directory, int64_t step)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, SERIES_FILE_NAME, path));
    return series_file_cut(path, step);
}

enum status series_drop_file(const char *directory)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, SERIES_FILE_NAME, path));
    if (unlink(path) != 0 && errno != ENOENT) {
        return fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno));
    }
    return STATUS_OK;
}

enum status series_open(const struct series_setup *setup, int64_t restart_step,
                        struct series **series)
{
    *series = NULL;
    struct series *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return no_memory();
    }
    s->csv_fd = -1;
    const enum status status = open_all(setup, restart_step, s);
    if (status != STATUS_OK) {
        series_close(s);
        return status;
    }
    *series = s;
    return STATUS_OK;
}

void series_close(struct series *s)
{
    if (s == NULL) {
        return;
    }
    if (s->csv != NULL) {
        fclose(s->csv);
    }
    if (s->csv_fd >= 0) {
        close(s->csv_fd); /* every row has been written */
    }
    free(s->text);
    free(s->waiting.values);
    free(s->waiting.time);
    free(s->waiting.step);
    free(s->points);
    free(s->group);
    free(s);
}

static void print_columns(const struct series *s, int64_t step, double time, const double *values)
{
    fprintf(s->csv, "%" PRId64 ",%.17g", step, time);
    for (int64_t p = 0; p < s->npoints; p++) {
        fprintf(s->csv, ",%.17g", values[p]);
    }
    fputc('\n', s->csv);
}

static void print_lines(const struct series *s, int64_t step, double time, const double *values)
{
    for (int64_t p = 0; p < s->npoints; p++) {
        char place[PLACE_BYTES];
        print_place(s->points, p, place);
        fprintf(s->csv, "%" PRId64 ",%.17g%s%.17g\n", step, time, place, values[p]);
    }
}

/* At once: somebody may be watching, and a kill loses no row. */
static enum status write_rows(struct series *s, int64_t step, double time, const double *values)
{
    rewind(s->csv);
    if (s->columns) {
        print_columns(s, step, time, values);
    } else {
        print_lines(s, step, time, values);
    }
    if (fflush(s->csv) != 0 || ferror(s->csv) != 0) {
        return no_memory();
    }
    return file_write(s->csv_fd, s->csv_path, s->text, s->nbytes);
}

enum status series_write(struct series *s, int64_t step, double time, const double *values)
{
    struct series_rows *rows = &s->waiting;
    if (step > s->csv_step) {
        TRY(write_rows(s, step, time, values));
        s->csv_step = step;
        s->bytes += s->nbytes;
    }
    if (step > s->file_step) {
        if (series_is_full(s)) {
            TRY(series_flush(s));
        }
        rows->step[rows->count] = step;
        rows->time[rows->count] = time;
        memcpy(rows->values + rows->count * s->npoints, values,
               (size_t)s->npoints * sizeof *values);
        rows->count++;
        s->file_step = step;
    }
    return STATUS_OK;
}

uint64_t series_bytes(const struct series *s)
{
    return s->bytes;
}

bool series_is_full(const struct series *s)
{
    return s->waiting.count == s->waiting.most;
}

enum status series_flush(struct series *s)
{
    if (s->waiting.count == 0) {
        return STATUS_OK;
    }
    const enum status status = series_file_append(s->path, s->group, &s->waiting);
    if (status != STATUS_OK) {
        return fail_prefix(status, "the samples of %s could not be written to %s: ", s->group + 1,
                           s->path);
    }
    /* step, time and temperatures */
    s->bytes += (uint64_t)s->waiting.count * (uint64_t)(s->npoints + 2) * sizeof(double);
    s->waiting.count = 0;
    return file_sync(s->csv_fd, s->csv_path);
}
