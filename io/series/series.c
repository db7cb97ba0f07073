#include "io/series/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/field/quantity.h"

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
        if (at == NULL || strncmp(at, place, strlen(place)) != 0) {
            return csv_differs(path, "points");
        }
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
