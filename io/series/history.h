/* history.csv: one line of diagnostics every n-th step. */
#ifndef ISOTHERM_IO_SERIES_HISTORY_H
#define ISOTHERM_IO_SERIES_HISTORY_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct history;

struct history_row {
    int64_t step;
    double time, dt;                        /* s */
    double min, max, mean;                  /* K */
    double heat, boundary_heat, heat_drift; /* J */
    double source_heat;                     /* J; a column of its own */
};

/* Rank 0 only. Start a new file, or (restart_step >= 0) continue the old one, as csv_open does.
 * Numbers have 17 digits and read back to the same bits. `sources`: with the column source_heat_J,
 * which an old file that has it keeps without them too. */
enum status history_open(const char *directory, bool sources, int64_t restart_step,
                         struct history **history) MUST_CHECK;
/* Rank 0 only; changes nothing. STATUS_INPUT when the columns of history.csv differ. */
enum status history_check(const char *directory, bool sources) MUST_CHECK;
enum status history_write(struct history *history, const struct history_row *row) MUST_CHECK;
/* As csv_flush. Takes NULL. */
enum status history_flush(struct history *history) MUST_CHECK;
enum status history_close(struct history *history) MUST_CHECK; /* takes NULL */

#endif
