/* probes.h5, for series.c alone. */
#ifndef ISOTHERM_IO_SERIES_SERIES_FILE_H
#define ISOTHERM_IO_SERIES_SERIES_FILE_H

#include "io/series/series.h"

#define SERIES_FILE_NAME "probes.h5"

/* Rows in memory, in order. */
struct series_rows {
    int64_t npoints;
    int64_t count, most;
    int64_t *step;
    double *time;   /* s */
    double *values; /* K, [count][npoints] */
};

/* Make the file where there is none, and the group in it; or cut the group's rows back to
 * `restart_step`. restart_step < 0: an old group goes. *last_step: of the last row left, -1: none.
 * STATUS_INPUT when the group is of other points. */
enum status series_file_open(const char *path, const struct series_setup *setup,
                             int64_t restart_step, int64_t *last_step) MUST_CHECK;

/* Can the group be gone on with? STATUS_INPUT when it is of other points, STATUS_FILE when the file
 * is damaged, as a kill in the midst of an append may leave it; a group or file that is not there
 * yet is fine. Changes nothing. */
enum status series_file_check(const char *path, const struct series_setup *setup) MUST_CHECK;
/* Is the group there, as far as one can see? */
bool series_file_has(const char *path, const struct series_setup *setup);
/* Drop the rows past `step` of every group. A file that is not there is fine. */
enum status series_file_cut(const char *path, int64_t step) MUST_CHECK;

/* Append, flush, close. */
enum status series_file_append(const char *path, const char *group,
                               const struct series_rows *rows) MUST_CHECK;

#endif
