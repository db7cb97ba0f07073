/* history.csv: one line of diagnostics every n-th step. */
#ifndef ISOTHERM_IO_SERIES_HISTORY_H
#define ISOTHERM_IO_SERIES_HISTORY_H

#include "base/box.h"
#include "base/status.h"

struct history;

/* Those that a file may lack. */
struct history_columns {
    bool sources;
    bool faces[FACE_COUNT];
    const char *more; /* ",NAME,NAME": of materials and patches; borrowed; NULL: none */
};

struct history_row {
    int64_t step;
    double time, dt;                        /* s */
    double min, max, mean;                  /* K */
    double heat, boundary_heat, heat_drift; /* J */
    double source_heat;                     /* J */
    double flow[FACE_COUNT];                /* W, into the domain */
    double face_mean[FACE_COUNT];           /* K */
    const double *more;                     /* as many as columns.more has names */
};

/* Rank 0 only. Start a new file, with these columns, or (restart_step >= 0) continue the
 * old one, as csv_open does, with the columns in it: version 0.1.0 wrote none of these. Numbers
 * have 17 digits and read back to the same bits. */
enum status history_open(const char *directory, const struct history_columns *columns,
                         int64_t restart_step, struct history **history) MUST_CHECK;
/* Rank 0 only; changes nothing. STATUS_INPUT when history.csv is not a history, or has columns of
 * materials and patches that are not `more`. */
enum status history_check(const char *directory, const char *more) MUST_CHECK;
/* Those of the file. */
const struct history_columns *history_columns_of(const struct history *history);
enum status history_write(struct history *history, const struct history_row *row) MUST_CHECK;
/* As csv_flush. Takes NULL. */
enum status history_flush(struct history *history) MUST_CHECK;
enum status history_close(struct history *history) MUST_CHECK; /* takes NULL */

#endif
