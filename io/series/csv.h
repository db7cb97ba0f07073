/* CSV files that grow by a row a time, and are cut back at a restart. Not collective. */
#ifndef ISOTHERM_IO_SERIES_CSV_H
#define ISOTHERM_IO_SERIES_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Open `path` for appending rows whose first column is the step. `header` is the first line, with
 * its end. restart_step < 0: a new file; else rows past it are dropped, and a last line without
 * its end, which a kill left. *last_step: of the last row, -1 when there is none. STATUS_INPUT
 * when the file starts with another header. */
enum status csv_open(const char *path, const char *header, int64_t restart_step, int *fd,
                     int64_t *last_step) MUST_CHECK;

/* Nothing is changed: STATUS_INPUT when the file, if there is one, starts with another header. */
enum status csv_check(const char *path, const char *header) MUST_CHECK;
/* Does the file, which is there, start with it? */
enum status csv_has_header(const char *path, const char *header, bool *has) MUST_CHECK;
/* Drop the rows past `step`, whatever the columns are. A file that is not there is fine. */
enum status csv_cut(const char *path, int64_t step) MUST_CHECK;

#endif
