#include "io/series/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/rows.h"
#include "model/field/quantity.h"

static int count(const char *from, const char *to, char what)
{
    int found = 0;
    for (const char *c = from; c < to; c++) {
        found += *c == what;
    }
    return found;
}

/* The end of the columns and notes; `text` itself without a complete line. */
static const char *end_of_head(const char *text)
{
    const char *rows = text;
    for (const char *end; (end = strchr(rows, '\n')) != NULL && (rows == text || *rows == '#');) {
        rows = end + 1;
    }
    return rows;
}

/* Are these the next bytes of the stream? */
static bool are_next(FILE *stream, const char *text, size_t nbytes)
{
    size_t n = 0;
    while (n < nbytes && fgetc(stream) == text[n]) {
        n++;
    }
    return n == nbytes;
}

/* Does the existing file begin with this line? */
static enum status has_columns(const char *path, const char *columns, bool *has)
{
    FILE *stream = NULL;
    TRY(file_open_stream(path, &stream));
    *has = are_next(stream, columns, strlen(columns));
    fclose(stream);
    return STATUS_OK;
}

enum status csv_select_columns(const char *path, char *columns, bool *has)
{
    const bool exists = path != NULL && file_exists(path);
    char *end = columns; /* of the selected ones */
    for (char *group = columns, *next; *group != '\0'; group = next, has++) {
        const size_t length = strcspn(group, "\n");
        next = group + length + 1;
        memmove(end, group, length);
        end[length] = '\0';
        if (exists) {
            TRY(has_columns(path, columns, has));
        }
        end += *has || end == columns ? length : 0;
    }
    memcpy(end, "\n", 2);
    return STATUS_OK;
}

static enum status differs(const char *path, const char *what)
{
    return fail(STATUS_INPUT,
                "the %s of %s differ from those of the configuration; move the file elsewhere to "
                "continue",
                what, path);
}

enum status csv_check(const char *path, const struct csv_format *format)
{
    const char *notes = strchr(format->head, '\n') + 1;
    const size_t columns = (size_t)(notes - format->head);
    SCOPED_FREE char *text = NULL;
    size_t nbytes = 0;
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(file_read_all(path, CSV_MOST_BYTES, &text, &nbytes));
    TRY(rows_check(path, text, nbytes));
    FAIL_IF(strncmp(text, format->head, columns) != 0, differs(path, "columns"));
    const char *found = text + columns;
    const size_t length = strlen(notes);
    const bool same = *found == '#' ? strncmp(found, notes, length) == 0 && found[length] != '#'
                                    : !format->needs_notes;
    return same ? STATUS_OK : differs(path, "points");
}

/* The end of the row that begins at `line`, and its step; NULL after the last complete row.
 * `number` of the line in the file, for the message. */
static enum status next_row(const char *path, int number, int commas, const char *line,
                            char **end_of_row, long long *step)
{
    char *after = NULL;
    char *end = strchr(line, '\n');
    *end_of_row = end;
    if (end == NULL) {
        return STATUS_OK;
    }
    *step = strtoll(line, &after, 10);
    FAIL_IF(after == line || *after != ',' || count(line, end, ',') != commas,
            fail(STATUS_FILE, "%s:%d is not a valid row; move the file elsewhere to continue", path,
                 number));
    return STATUS_OK;
}

/* Keep complete steps up to `restart_step`, in place: at most `rows` lines of each; 0: any number.
 * `text` follows the head. An incomplete last line, left by a kill, is dropped. */
static enum status cut_rows(const char *path, const char *head, char *text, int64_t rows,
                            int64_t restart_step, size_t *kept_bytes, int64_t *last_step)
{
    const int commas = count(head, strchr(head, '\n'), ',');
    int number = count(head, text, '\n');
    char *whole = text;
    char *out = text;
    int64_t last = -1;
    int64_t found = 0; /* rows of that step */
    char *end = NULL;
    long long step = 0;
    for (char *line = out;; line = end + 1) {
        TRY(next_row(path, ++number, commas, line, &end, &step));
        if (end == NULL) {
            break;
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

/* `head`: the new one; NULL: keep the old one. */
static enum status cut(const char *path, const char *head, int64_t rows, int64_t restart_step,
                       int64_t *last_step)
{
    SCOPED_FREE char *text = NULL;
    SCOPED_FREE char *whole = NULL;
    size_t nbytes = 0;
    TRY(file_read_all(path, CSV_MOST_BYTES, &text, &nbytes));
    const size_t old_bytes = (size_t)(end_of_head(text) - text);
    const size_t head_bytes = head != NULL ? strlen(head) : old_bytes;
    TRY(rows_check(path, text, nbytes));
    if (old_bytes > 0) { /* else not even the line of columns is complete */
        TRY(cut_rows(path, text, text + old_bytes, rows, restart_step, &nbytes, last_step));
        whole = malloc(head_bytes + nbytes);
        TRY(CHECK_MEMORY(whole != NULL, "no memory for the rows of %s", path));
        memcpy(whole, head != NULL ? head : text, head_bytes);
        memcpy(whole + head_bytes, text + old_bytes, nbytes);
        TRY(file_replace(path, whole, head_bytes + nbytes));
    }
    return STATUS_OK;
}

enum status csv_cut(const char *path, int64_t step)
{
    int64_t last_step = -1;
    return file_exists(path) ? cut(path, NULL, 0, step, &last_step) : STATUS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum status read_rows(struct rows *rows, struct csv_table *table)
{
    char *last = strrchr(rows->text, '\n');
    FAIL_IF(last == NULL || !rows_next(rows),
            fail(STATUS_FILE, "%s has no line of columns yet", rows->name));
    last[1] = '\0'; /* a run may be writing the row after it */
    const char *end = rows->line + strlen(rows->line);
    table->ncolumns = count(rows->line, end, ',') + 1;
    quantity_use_note(rows->next);
    table->text = quantity_columns(rows->line, true);
    const size_t cells = (size_t)count(rows->next, last + 1, '\n') * (size_t)table->ncolumns;
    table->values = malloc((cells + 1) * sizeof *table->values);
    TRY(CHECK_MEMORY(table->text != NULL && table->values != NULL, "no memory for the rows of %s",
                     rows->name));
    while (rows_next(rows)) {
        double *row = table->values + table->nrows++ * table->ncolumns;
        FAIL_IF(!rows_numbers(rows, table->ncolumns, row),
                fail(STATUS_FILE, "%s:%d is not a valid row", rows->name, rows->number));
    }
    return STATUS_OK;
}

enum status csv_read(const char *path, struct csv_table *table)
{
    SCOPED_BY(rows_close) struct rows rows;
    *table = (struct csv_table){.nrows = 0};
    TRY(rows_open(path, CSV_MOST_BYTES, &rows));
    return read_rows(&rows, table);
}

void csv_table_free(struct csv_table *table)
{
    free(table->text);
    free(table->values);
    *table = (struct csv_table){.nrows = 0};
}

enum status csv_column_name(const struct csv_table *table, int column, char name[CSV_NAME_BYTES])
{
    const char *at = table->text;
    for (int c = 0; c < column; c++) {
        at = strchr(at, ',') + 1;
    }
    const size_t length = strcspn(at, ",");
    FAIL_IF(length >= CSV_NAME_BYTES,
            fail(STATUS_FILE, "the column name %.60s... is too long", at));
    snprintf(name, CSV_NAME_BYTES, "%.*s", (int)length, at);
    return STATUS_OK;
}

int csv_column(const struct csv_table *table, const char *name)
{
    char found[CSV_NAME_BYTES];
    for (int c = 0; c < table->ncolumns; c++) {
        if (csv_column_name(table, c, found) == STATUS_OK && strcmp(found, name) == 0) {
            return c;
        }
    }
    return -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum status csv_open(const char *directory, const char *name, const struct csv_format *format,
                     int64_t restart_step, struct csv *csv)
{
    *csv = (struct csv){.fd = -1, .last_step = -1};
    csv->rows = open_memstream(&csv->text, &csv->nbytes);
    TRY(CHECK_MEMORY(csv->rows != NULL, "no memory for the rows of %s", name));
    TRY(path_join(directory, name, csv->path));
    if (restart_step >= 0 && file_exists(csv->path)) {
        TRY(csv_check(csv->path, format));
        TRY(cut(csv->path, format->head, format->rows, restart_step, &csv->last_step));
    } else {
        TRY(file_replace(csv->path, format->head, strlen(format->head)));
    }
    return file_open(csv->path, O_WRONLY | O_APPEND | O_NOFOLLOW, &csv->fd);
}

FILE *csv_rows(struct csv *csv)
{
    rewind(csv->rows);
    return csv->rows;
}

enum status csv_append(struct csv *csv, int64_t step)
{
    const bool complete = fflush(csv->rows) == 0 && ferror(csv->rows) == 0;
    TRY(CHECK_MEMORY(complete, "no memory for the rows of %s", csv->path));
    if (step > csv->last_step) {
        /* unbuffered: for viewers, and so that a kill loses no row */
        TRY(file_write(csv->fd, csv->path, csv->text, csv->nbytes));
        csv->last_step = step;
        csv->bytes += csv->nbytes;
    }
    return STATUS_OK;
}

enum status csv_flush(const struct csv *csv)
{
    return file_sync(csv->fd, csv->path);
}

void csv_close(struct csv *csv)
{
    if (csv->rows == NULL) {
        return;
    }
    fclose(csv->rows);
    free(csv->text);
    if (csv->fd >= 0 && close(csv->fd) != 0) {
        log_warn("cannot close %s: %s", csv->path, strerror(errno));
    }
    *csv = (struct csv){0};
}

enum { PLACE_BYTES = 128 };

#define LINE_COLUMNS "step,time_s,distance_m,x_m,y_m,z_m,"

/* ---- the format of the file ------------------------------------------------------------------ */

/* The fewest digits that read back to the same number. */
static void print_number(FILE *out, double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", number);
    fprintf(out, strtod(text, NULL) == number ? ",%.15g" : ",%.17g", number);
}

static void print_columns(FILE *out, const struct series *series)
{
    fputs(series->names == NULL ? LINE_COLUMNS "T_K" : "step,time_s", out);
    for (int64_t p = 0; series->names != NULL && p < series->npoints; p++) {
        fprintf(out, ",%s_K", series->names[p]);
    }
    fprintf(out, "%s\n", series->more != NULL ? series->more : "");
}

/* Notes with the places of probes; the rows of a line cut have their own. */
static void print_notes(FILE *out, const struct series *series)
{
    char note[QUANTITY_NOTE_BYTES];
    fputs(quantity_note(note), out);
    if (series->names == NULL) {
        return;
    }
    fputs("# probe,x_m,y_m,z_m\n", out);
    for (int64_t p = 0; p < series->npoints; p++) {
        fprintf(out, "# %s", series->names[p]);
        for (int a = 0; a < 3; a++) {
            print_number(out, series->points[3 * p + a]);
        }
        fputc('\n', out);
    }
    fputs(series->notes != NULL ? series->notes : "", out);
}

/* The caller frees *head, on failure too. */
static enum status make_format(const struct series *series, char **head, struct csv_format *format)
{
    char *columns = NULL;
    size_t bytes = 0;
    FILE *names = open_memstream(&columns, &bytes);
    FILE *out = open_memstream(head, &bytes);
    bool complete = names != NULL && out != NULL;
    if (complete) {
        print_columns(names, series);
        complete = fclose(names) == 0;
        char *own = quantity_columns(columns, false);
        complete = complete && own != NULL && fputs(own, out) >= 0;
        free(own);
        print_notes(out, series);
    }
    free(columns);
    complete = out != NULL && fclose(out) == 0 && complete;
    *format = (struct csv_format){.head = *head,
                                  .rows = series->names != NULL ? 1 : series->npoints,
                                  .needs_notes = series->names != NULL && series->other_points};
    return CHECK_MEMORY(complete, "no memory for the columns of %s", series->csv_name);
}

enum status series_is_line(const char *csv_path, bool *is_line)
{
    return has_columns(csv_path, LINE_COLUMNS, is_line);
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
static enum status check_places(const struct series *series, const char *path)
{
    SCOPED_FREE char *text = NULL;
    size_t nbytes = 0;
    int64_t p = 0;
    TRY(file_read_all(path, CSV_MOST_BYTES, &text, &nbytes));
    const char *line = strchr(text, '\n');
    while (line != NULL && line[1] == '#') {
        line = strchr(line + 1, '\n');
    }
    for (const char *end; line != NULL && (end = strchr(line + 1, '\n')) != NULL; line = end) {
        char place[PLACE_BYTES];
        const char *time = strchr(line + 1, ',');
        const char *at = time == NULL ? NULL : strchr(time + 1, ',');
        print_place(series->points, p, place);
        FAIL_IF(at == NULL || strncmp(at, place, strlen(place)) != 0, differs(path, "points"));
        p = (p + 1) % series->npoints;
    }
    return STATUS_OK;
}

enum status series_check(const struct series *series)
{
    char path[PATH_BYTES];
    SCOPED_FREE char *head = NULL;
    struct csv_format format;
    TRY(path_join(series->directory, series->csv_name, path));
    TRY(make_format(series, &head, &format));
    TRY(csv_check(path, &format));
    return series->names == NULL && file_exists(path) ? check_places(series, path) : STATUS_OK;
}

enum status series_open(const struct series *series, int64_t restart_step, struct csv *csv)
{
    SCOPED_FREE char *head = NULL;
    struct csv_format format;
    TRY(make_format(series, &head, &format));
    return csv_open(series->directory, series->csv_name, &format, restart_step, csv);
}

enum status series_write(const struct series *series, struct csv *csv, int64_t step, double time,
                         const double *values, int64_t nvalues)
{
    FILE *out = csv_rows(csv);
    for (int64_t v = 0; v < nvalues; v++) {
        char place[PLACE_BYTES] = ",";
        if (v == 0 || series->names == NULL) {
            fprintf(out, "%s%" PRId64 ",%.17g", v > 0 ? "\n" : "", step, time);
        }
        if (series->names == NULL) {
            print_place(series->points, v, place);
        }
        fprintf(out, "%s%.17g", place, values[v]);
    }
    fputc('\n', out);
    return csv_append(csv, step);
}
