/* CSV files that grow by the rows of a step and are truncated at a restart. The first column is the
 * step. Not collective. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/file.h"
#include "base/status.h"

/* The format of a file; borrowed. */
struct csv_format {
    const char *head; /* the line of columns, and notes: lines that begin with '#' */
    int64_t rows;     /* per step */
    bool needs_notes; /* a file without notes, as 0.1.0 wrote it, has other points */
};

#define CSV_MOST_BYTES ((size_t)1 << 40)

/* Zeroed: not open. */
struct csv {
    char path[PATH_BYTES];
    int fd;
    FILE *rows; /* of the next step, in memory: `text`, `nbytes` */
    char *text;
    size_t nbytes;
    int64_t last_step; /* in the file; -1: none */
    uint64_t bytes;    /* appended since csv_open */
};

/* restart_step < 0: start a new file. Else check the file as csv_check does, and replace it without
 * the rows past `restart_step` and without incomplete steps, which a kill may leave; it then has
 * the notes. Close it after a failure too. */
enum status csv_open(const char *directory, const char *name, const struct csv_format *format,
                     int64_t restart_step, struct csv *csv);
/* The empty stream for all rows of the next step, with line ends. */
FILE *csv_rows(struct csv *csv);
/* Append them; a step that the file has is skipped. */
enum status csv_append(struct csv *csv, int64_t step);
/* Flush to disk: before a checkpoint, whose restart does not write these rows again. */
enum status csv_flush(const struct csv *csv);
void csv_close(struct csv *csv); /* takes one that is not open; a failure is a warning */

/* Changes nothing. STATUS_INPUT when the file exists and its columns or notes differ. */
enum status csv_check(const char *path, const struct csv_format *format);
/* Select the line of columns from `columns`, a group per line, in place: the first group and those
 * of the existing file, which sets has[group]; or, without a file or path, those with has[group].
 */
enum status csv_select_columns(const char *path, char *columns, bool *has);
/* Drop the rows past `step`, for any columns. A file that does not exist is fine. */
enum status csv_cut(const char *path, int64_t step);

/* The complete rows of a file, which a run may be extending. */
struct csv_table {
    char *text; /* the names of the columns, as of a temperature */
    int ncolumns;
    int64_t nrows;
    double *values; /* [nrows][ncolumns] */
};

enum { CSV_NAME_BYTES = 256 };

/* The quantity that a note of the file names is then in use, and the columns have the names that
 * they have for a temperature. STATUS_FILE when it cannot be read, or with the line that has
 * another number of columns or no numbers. Free the table, on failure too. */
enum status csv_read(const char *path, struct csv_table *table);
void csv_table_free(struct csv_table *table);
enum status csv_column_name(const struct csv_table *table, int column, char name[CSV_NAME_BYTES]);
int csv_column(const struct csv_table *table, const char *name); /* -1: none */

/* A file of the temperatures at fixed points; all borrowed. Probes have one column each, and their
 * places follow the column names in lines that begin with '#'. A line cut has one row per point,
 * with its place. */
struct series {
    const char *directory;
    const char *csv_name;     /* "probes.csv" */
    const char *const *names; /* one column per point; NULL: one row per point */
    const double *points;     /* npoints times x, y, z, m */
    int64_t npoints;
    const char *more;  /* further columns, ",NAME,NAME", after those of the points; NULL: none */
    const char *notes; /* further lines of notes; NULL: none */
    bool other_points; /* restart: the earlier run had other points, so a file needs its notes */
};

/* As csv_open. STATUS_INPUT when the file holds other points. */
enum status series_open(const struct series *series, int64_t restart_step, struct csv *csv);

/* Before a restart; changes nothing. STATUS_INPUT when the file holds other points. */
enum status series_check(const struct series *series);

/* Is it the CSV file of a line cut? */
enum status series_is_line(const char *csv_path, bool *is_line);

/* Append the rows of a step: npoints values, and those of further columns. */
enum status series_write(const struct series *series, struct csv *csv, int64_t step, double time,
                         const double *values, int64_t nvalues);
