/* HDF5 and MPI-IO may never return from a collective call that failed on one rank. Only another
 * thread can end such a run (app/hang_monitor.h). */
#ifndef ISOTHERM_IO_HDF5_H5_STUCK_H
#define ISOTHERM_IO_HDF5_H5_STUCK_H

#include <stdbool.h>
#include <stddef.h>

/* From any thread, about once a second: is this rank in a call that will not return? `text`
 * receives what failed, and for how many seconds. True
 * - 12 s after a write failed on this rank, with the file still open: longer than the limit of
 *   status_agree, whose message has the details;
 * - when a collective open takes longer than 10 s and this rank cannot open the file by itself;
 * - when it can: 20 s later, or ten times the longest open so far. A file system that is slow for
 *   all ranks gives no answer here either.
 * `turn` s later in each case, so that the ranks report one after the other. */
bool h5_stuck_for_good(double turn, char *text, size_t bytes);

/* For h5.c: a collective open begins, which took `trial_s` when every rank tried it by itself; it
 * has returned; the file that was written is closed. */
void h5_stuck_open(const char *path, bool writable, double trial_s);
void h5_stuck_opened(void);
void h5_stuck_forget(void);

#endif
