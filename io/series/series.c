#include "io/series/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/series/csv.h"

enum { PLACE_BYTES = 128 };

#define LINE_COLUMNS "step,time_s,distance_m,x_m,y_m,z_m,T_K\n"

struct series {
    struct csv csv;
    FILE *rows; /* of one step in memory: `text`, `nbytes` */
    char *text;
    size_t nbytes;
    bool columns; /* one column per point */
    int64_t npoints, nmore;
    double *points;
};

static enum status no_memory(void)
{
    return fail(STATUS_MEMORY, "no memory for a time series");
}

/* ---- the format of the file ------------------------------------------------------------------ */

/* The fewest digits that read back to the same number. */
static void print_number(FILE *out, double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", number);
    fprintf(out, strtod(text, NULL) == number ? ",%.15g" : ",%.17g", number);
}

/* Notes with the places of probes; the rows of a line cut have their own. */
static void print_head(FILE *out, const struct series_setup *setup)
{
    if (setup->names == NULL) {
        fputs(LINE_COLUMNS, out);
        return;
    }
    fputs("step,time_s", out);
    for (int64_t p = 0; p < setup->npoints; p++) {
        fprintf(out, ",%s_K", setup->names[p]);
    }
    for (int64_t m = 0; m < setup->nmore; m++) {
        fprintf(out, ",%s", setup->more[m]);
    }
    fputs("\n# probe,x_m,y_m,z_m\n", out);
    for (int64_t p = 0; p < setup->npoints; p++) {
        fprintf(out, "# %s", setup->names[p]);
        for (int a = 0; a < 3; a++) {
            print_number(out, setup->points[3 * p + a]);
        }
        fputc('\n', out);
    }
    fputs(setup->notes != NULL ? setup->notes : "", out);
}

/* The caller frees *head, on failure too. */
static enum status make_format(const struct series_setup *setup, char **head,
                               struct csv_format *format)
{
    size_t bytes = 0;
    FILE *out = open_memstream(head, &bytes);
    if (out == NULL) {
        return no_memory();
    }
    print_head(out, setup);
    const bool failed = fclose(out) != 0;
    *format = (struct csv_format){.head = *head,
                                  .rows = setup->names != NULL ? 1 : setup->npoints,
                                  .needs_notes = setup->names != NULL && setup->other_points};
    return failed ? no_memory() : STATUS_OK;
}

enum status series_is_line(const char *csv_path, bool *is_line)
{
    return csv_has_columns(csv_path, LINE_COLUMNS, is_line);
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* ",distance,x,y,z," of a point of a line. */
static void print_place(const double *points, int64_t p, char text[PLACE_BYTES])
{
    const double *at = points + 3 * p;
    const double distance = hypot(hypot(at[0] - points[0], at[1] - points[1]), at[2] - points[2]);
    snprintf(text, PLACE_BYTES, ",%.9g,%.9g,%.9g,%.9g,", distance, at[0], at[1], at[2]);
}

/* Compare the places in the rows of a line. */
static enum status check_places(const struct series_setup *setup, const char *path)
{
    char *text = NULL;
    size_t nbytes = 0;
    int64_t p = 0;
    enum status status = STATUS_OK;
    TRY(file_read_all(path, CSV_MOST_BYTES, &text, &nbytes));
    const char *line = strchr(text, '\n');
    for (const char *end;
         status == STATUS_OK && line != NULL && (end = strchr(line + 1, '\n')) != NULL;
         line = end) {
        char place[PLACE_BYTES];
        const char *time = strchr(line + 1, ',');
        const char *at = time == NULL ? NULL : strchr(time + 1, ',');
        print_place(setup->points, p, place);
        if (at == NULL || strncmp(at, place, strlen(place)) != 0) {
            status = csv_differs(path, "points");
        }
        p = (p + 1) % setup->npoints;
    }
    free(text);
    return status;
}

enum status series_check(const struct series_setup *setup)
{
    char path[PATH_BYTES];
    char *head = NULL;
    struct csv_format format;
    enum status status = STATUS_OK;
    TRY_GOTO(path_join(setup->directory, setup->csv_name, path));
    TRY_GOTO(make_format(setup, &head, &format));
    TRY_GOTO(csv_check(path, &format));
    if (setup->names == NULL && file_exists(path)) {
        status = check_places(setup, path);
    }
done:
    free(head);
    return status;
}

static enum status open_all(const struct series_setup *setup, int64_t restart_step,
                            struct series *s)
{
    const size_t bytes = (size_t)setup->npoints * 3 * sizeof *setup->points;
    char *head = NULL;
    struct csv_format format;
    s->npoints = setup->npoints;
    s->nmore = setup->nmore;
    s->columns = setup->names != NULL;
    s->points = malloc(bytes);
    s->rows = open_memstream(&s->text, &s->nbytes);
    if (s->points == NULL || s->rows == NULL) {
        return no_memory();
    }
    memcpy(s->points, setup->points, bytes);
    enum status status = STATUS_OK;
    TRY_GOTO(make_format(setup, &head, &format));
    TRY_GOTO(csv_open(setup->directory, setup->csv_name, &format, restart_step, &s->csv));
done:
    free(head);
    return status;
}

enum status series_open(const struct series_setup *setup, int64_t restart_step,
                        struct series **series)
{
    *series = NULL;
    struct series *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return no_memory();
    }
    s->csv.fd = -1;
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
    if (s->rows != NULL) {
        fclose(s->rows);
    }
    if (s->csv.fd >= 0) {
        close(s->csv.fd); /* all rows are written, and the last ones flushed */
    }
    free(s->text);
    free(s->points);
    free(s);
}

static void print_columns(const struct series *s, int64_t step, double time, const double *values)
{
    fprintf(s->rows, "%" PRId64 ",%.17g", step, time);
    for (int64_t p = 0; p < s->npoints + s->nmore; p++) {
        fprintf(s->rows, ",%.17g", values[p]);
    }
    fputc('\n', s->rows);
}

static void print_lines(const struct series *s, int64_t step, double time, const double *values)
{
    for (int64_t p = 0; p < s->npoints; p++) {
        char place[PLACE_BYTES];
        print_place(s->points, p, place);
        fprintf(s->rows, "%" PRId64 ",%.17g%s%.17g\n", step, time, place, values[p]);
    }
}

enum status series_write(struct series *s, int64_t step, double time, const double *values)
{
    rewind(s->rows);
    if (s->columns) {
        print_columns(s, step, time, values);
    } else {
        print_lines(s, step, time, values);
    }
    if (fflush(s->rows) != 0 || ferror(s->rows) != 0) {
        return no_memory();
    }
    return csv_append(&s->csv, step, s->text, s->nbytes);
}

uint64_t series_bytes(const struct series *s)
{
    return s->csv.bytes;
}

enum status series_flush(struct series *s)
{
    return csv_flush(&s->csv);
}
