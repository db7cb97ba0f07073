/* history.csv: one line of diagnostics every n-th step. */
#ifndef ISOTHERM_IO_SERIES_HISTORY_H
#define ISOTHERM_IO_SERIES_HISTORY_H

#include "base/box.h"
#include "base/status.h"

struct history;

struct history_row {
    int64_t step;
    double time, dt;                        /* s */
    double min, max, mean;                  /* K */
    double heat, boundary_heat, heat_drift; /* J */
    double flow[FACE_COUNT];                /* W, into the domain */
    double face_mean[FACE_COUNT];           /* K */
};

/* Rank 0 only. Start a new file, with columns of these faces, or (restart_step >= 0) continue the
 * old one, as csv_open does, with the columns in it: version 0.1.0 wrote no faces. Numbers have 17
 * digits and read back to the same bits. */
enum status history_open(const char *directory, const bool faces[FACE_COUNT], int64_t restart_step,
                         struct history **history) MUST_CHECK;
/* Rank 0 only; changes nothing. STATUS_INPUT when history.csv is not a history. */
enum status history_check(const char *directory) MUST_CHECK;
/* Has it the columns of a face? */
bool history_has_face(const struct history *history, enum face face);
enum status history_write(struct history *history, const struct history_row *row) MUST_CHECK;
/* As csv_flush. Takes NULL. */
enum status history_flush(struct history *history) MUST_CHECK;
enum status history_close(struct history *history) MUST_CHECK; /* takes NULL */

#endif
