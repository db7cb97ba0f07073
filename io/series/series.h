/* Time series: the temperatures at fixed points, step after step. Each goes into a group of
 * probes.h5 and into a CSV file of its own. Rank 0 alone works here.
 *
 *     /                   attributes title, isotherm_version
 *     /configuration      the effective configuration
 *     /GROUP/step (n)  /GROUP/time_s (n)  /GROUP/T (n, points)
 *     /GROUP/position (points, 3)  /GROUP/name (points), where points have names
 *
 * A row is in the CSV file when series_write returns. probes.h5 gets rows by the hundred, and all
 * with series_flush. HDF5 changes files in place, so a kill may damage it; the CSV files are what
 * a restart trusts. */
#ifndef ISOTHERM_IO_SERIES_SERIES_H
#define ISOTHERM_IO_SERIES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct series;

/* What one series is. All borrowed until series_open returns. */
struct series_setup {
    const char *directory;
    const char *group;        /* "/probes" */
    const char *csv_name;     /* "probes.csv" */
    const char *const *names; /* a column a point; NULL: a line a point */
    const double *points;     /* npoints times x, y, z, m */
    int64_t npoints;
    bool other_points; /* a restart: the run before had others, so its CSV file is of those */
    const char *title;
    const char *config_text;
};

/* Not collective. Start anew, or go on with the files of an earlier run: rows past `restart_step`
 * are dropped. `restart_step` < 0: anew. STATUS_INPUT when the file holds other points. */
enum status series_open(const struct series_setup *setup, int64_t restart_step,
                        struct series **series) MUST_CHECK;

/* Before series_open of a restart, for each series; nothing is changed. STATUS_INPUT when probes.h5
 * or the CSV file is of other points; *damaged true when probes.h5 cannot be read. Then remove it
 * (series_drop_file): series_open fills a new one from the CSV files, whose numbers have all
 * digits.
 */
enum status series_check(const struct series_setup *setup, bool *damaged) MUST_CHECK;
enum status series_drop_file(const char *directory) MUST_CHECK;

/* Take back the rows past `step` of all series in the folder's probes.h5; their CSV files are for
 * csv_cut. */
enum status series_cut_file(const char *directory, int64_t step) MUST_CHECK;
/* Is it the CSV file of a line cut? */
enum status series_is_line(const char *csv_path, bool *is_line) MUST_CHECK;

/* Add a row; a step that is there already is skipped. */
enum status series_write(struct series *series, int64_t step, double time,
                         const double *values) MUST_CHECK;
/* What series_write and series_flush have added to both files since series_open; of probes.h5 the
 * values alone. */
uint64_t series_bytes(const struct series *series);
/* True when as many rows wait for probes.h5 as one should have in memory. */
bool series_is_full(const struct series *series);
/* Write what waits to probes.h5, and flush both files to the disk. */
enum status series_flush(struct series *series) MUST_CHECK;
void series_close(struct series *series); /* takes NULL; does not flush */

#endif
