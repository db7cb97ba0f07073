/* HDF5 and MPI-IO may never come back from a collective call that failed on one rank: that rank
 * leaves it early or waits at another place than the others. Nothing but a thread beside them can
 * end such a run (app/watchdog.h). */
#ifndef ISOTHERM_IO_HDF5_H5_STUCK_H
#define ISOTHERM_IO_HDF5_H5_STUCK_H

#include <stdbool.h>
#include <stddef.h>

/* From any thread, every second or so: is this rank in a call that will not come back? `text`
 * receives what failed, and for how many seconds. True
 * - 12 s after MPI-IO has known on this rank that a write failed, the file still open; longer than
 *   the patience of status_agree, which says more;
 * - when a collective open takes longer than 10 s and this rank cannot open the file by itself;
 * - when it can: 20 s later, or ten times what the longest open took so far. A file system that
 *   answers nobody is slow and gives no answer here, either.
 * `turn` s later in each case, so that one rank speaks after the other. */
bool h5_stuck_for_good(double turn, char *text, size_t bytes);

/* For h5.c: this process begins a collective open of a file, to write it or not, that took
 * `trial_s` when every rank did it by itself; it has come back; what was written is closed. */
void h5_stuck_open(const char *path, bool writable, double trial_s);
void h5_stuck_opened(void);
void h5_stuck_forget(void);

#endif
