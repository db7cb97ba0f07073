/* CSV files that grow by a row a time, and are cut back at a restart. Not collective. */
#ifndef ISOTHERM_IO_CSV_H
#define ISOTHERM_IO_CSV_H

#include <stdint.h>

#include "base/status.h"

/* Open `path` for appending rows whose first column is the step. `header` is the first line, with
 * its end. restart_step < 0: a new file; else rows past it are dropped, and a last line without
 * its end, which a kill left. *last_step: of the last row, -1 when there is none. STATUS_FILE
 * when the file starts with another header. */
enum status csv_open(const char *path, const char *header, int64_t restart_step, int *fd,
                     int64_t *last_step) MUST_CHECK;

#endif
