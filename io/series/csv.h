/* CSV files that grow by the rows of a step, and are cut back at a restart. Their first column is
 * the step. Not collective. */
#ifndef ISOTHERM_IO_SERIES_CSV_H
#define ISOTHERM_IO_SERIES_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* What a file is; borrowed. */
struct csv_format {
    const char
        *head;    /* the line of columns, and notes: lines that begin with '#'; with their ends */
    int64_t rows; /* of a step */
    bool needs_notes; /* a file without notes, as 0.1.0 wrote it, is of other points */
};

#define CSV_MOST_BYTES ((size_t)1 << 40)

struct csv {
    char path[PATH_BYTES];
    int fd;
    int64_t last_step; /* that the file has; -1: none */
    uint64_t bytes;    /* appended since csv_open */
};

/* restart_step < 0: a new file; else rows past it are dropped, and so are steps that lack rows or
 * do not rise, as a kill leaves them (the file is replaced as a whole, never cut in place). It then
 * has the notes, whether it had any or not. Else as csv_check. */
enum status csv_open(const char *directory, const char *name, const struct csv_format *format,
                     int64_t restart_step, struct csv *csv) MUST_CHECK;
/* The rows of one step, with their ends, in one call; a step that the file has is skipped. */
enum status csv_append(struct csv *csv, int64_t step, const char *rows, size_t nbytes) MUST_CHECK;
/* To the disk: before a checkpoint, whose restart does not write these rows again. */
enum status csv_flush(const struct csv *csv) MUST_CHECK;
enum status csv_close(struct csv *csv) MUST_CHECK; /* takes one that is not open */

/* Nothing is changed: STATUS_INPUT when the file, if there is one, has other columns or notes. */
enum status csv_check(const char *path, const struct csv_format *format) MUST_CHECK;
/* The failure of that check; `what` differs from the configuration's. */
enum status csv_differs(const char *path, const char *what) MUST_CHECK;
/* Does the file, which is there, begin with this line? */
enum status csv_has_columns(const char *path, const char *columns, bool *has) MUST_CHECK;
/* Drop the rows past `step`, whatever the columns are. A file that is not there is fine. */
enum status csv_cut(const char *path, int64_t step) MUST_CHECK;

#endif
