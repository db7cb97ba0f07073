/* Time series: the temperatures at fixed points in a CSV file. For rank 0 only.
 *
 * Probes have one column each, and their places follow the column names in lines that begin with
 * '#'. A line cut has one row per point, with its place. */
#pragma once

#include "io/series/csv.h"

/* The file of such a series; all borrowed. */
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
