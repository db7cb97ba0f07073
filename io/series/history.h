/* history.csv: one line of diagnostics every so many steps. */
#ifndef ISOTHERM_IO_SERIES_HISTORY_H
#define ISOTHERM_IO_SERIES_HISTORY_H

#include "base/status.h"

#include <stdint.h>

struct history;

struct history_row {
    int64_t step;
    double time, dt;                        /* s */
    double min, max, mean;                  /* K */
    double heat, boundary_heat, heat_drift; /* J */
};

/* Rank 0 only. Start a new file, or (restart_step >= 0) continue the old one, as csv_open does.
 * Numbers carry 17 digits, so that they read back to the same bits. */
enum status history_open(const char *directory, int64_t restart_step,
                         struct history **history) MUST_CHECK;
/* Rank 0 only; nothing is changed. STATUS_INPUT when history.csv is something else. */
enum status history_check(const char *directory) MUST_CHECK;
enum status history_write(struct history *history, const struct history_row *row) MUST_CHECK;
/* To the disk: before a checkpoint, whose restart does not write these rows again. Takes NULL. */
enum status history_flush(struct history *history) MUST_CHECK;
enum status history_close(struct history *history) MUST_CHECK; /* takes NULL */

#endif
