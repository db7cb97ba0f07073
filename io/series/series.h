/* Time series: the temperatures at fixed points in a CSV file. For rank 0 only.
 *
 * Probes have one column each, and their places follow the column names in lines that begin with
 * '#'. A line cut has one row per point, with its place. */
#ifndef ISOTHERM_IO_SERIES_SERIES_H
#define ISOTHERM_IO_SERIES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct series;

/* All borrowed until series_open returns. */
struct series_setup {
    const char *directory;
    const char *csv_name;     /* "probes.csv" */
    const char *const *names; /* one column per point; NULL: one row per point */
    const double *points;     /* npoints times x, y, z, m */
    int64_t npoints;
    const char *const *more; /* further columns, after those of the points */
    int64_t nmore;
    const char *notes; /* further lines of notes; NULL: none */
    bool other_points; /* restart: the earlier run had other points, so a file needs its notes */
};

/* Not collective. Start a new file (`restart_step` < 0), or continue that of an earlier run without
 * the rows past `restart_step`. STATUS_INPUT when the file holds other points. */
enum status series_open(const struct series_setup *setup, int64_t restart_step,
                        struct series **series) MUST_CHECK;

/* Before a restart; changes nothing. STATUS_INPUT when the file holds other points. */
enum status series_check(const struct series_setup *setup) MUST_CHECK;

/* Is it the CSV file of a line cut? */
enum status series_is_line(const char *csv_path, bool *is_line) MUST_CHECK;

/* Append the rows of a step: npoints values and nmore. A step that the file has is skipped. */
enum status series_write(struct series *series, int64_t step, double time,
                         const double *values) MUST_CHECK;
uint64_t series_bytes(const struct series *series); /* added since series_open */
/* Flush to disk. */
enum status series_flush(struct series *series) MUST_CHECK;
void series_close(struct series *series); /* takes NULL; does not flush */

#endif
