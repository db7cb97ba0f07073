/* Time series: the temperatures at fixed points, step after step, in a CSV file. Rank 0 alone works
 * here.
 *
 * Probes have a column each, and lines that begin with '#' behind the columns' names say where they
 * are. A line cut has a row for each point, with its place. */
#ifndef ISOTHERM_IO_SERIES_SERIES_H
#define ISOTHERM_IO_SERIES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct series;

/* What one series is. All borrowed until series_open returns. */
struct series_setup {
    const char *directory;
    const char *csv_name;     /* "probes.csv" */
    const char *const *names; /* a column a point; NULL: a line a point */
    const double *points;     /* npoints times x, y, z, m */
    int64_t npoints;
    bool other_points; /* a restart: the run before had others, and so has a file without places */
};

/* Not collective. Start a new file, or continue that of an earlier run: rows past `restart_step`
 * are dropped. `restart_step` < 0: a new one. STATUS_INPUT when the file holds other points. */
enum status series_open(const struct series_setup *setup, int64_t restart_step,
                        struct series **series) MUST_CHECK;

/* Before series_open of a restart; nothing is changed. STATUS_INPUT when the file is of other
 * points. */
enum status series_check(const struct series_setup *setup) MUST_CHECK;

/* Is it the CSV file of a line cut? */
enum status series_is_line(const char *csv_path, bool *is_line) MUST_CHECK;

/* Add the rows of a step, at once; a step that is there already is skipped. */
enum status series_write(struct series *series, int64_t step, double time,
                         const double *values) MUST_CHECK;
uint64_t series_bytes(const struct series *series); /* added since series_open */
/* To the disk. */
enum status series_flush(struct series *series) MUST_CHECK;
void series_close(struct series *series); /* takes NULL; does not flush */

#endif
