/* HDF5 and MPI-IO may never come back from a collective call in which a write failed: the rank that
 * saw the failure leaves it early or waits at another place than the others. Nothing but a thread
 * beside them can end such a run (app/watchdog.h). */
#ifndef ISOTHERM_IO_H5_STUCK_H
#define ISOTHERM_IO_H5_STUCK_H

#include <stddef.h>

/* From any thread: for how many seconds MPI-IO has known on this rank that a write failed, while
 * the file is still open; 0 when none failed. `text` receives what failed. */
double h5_stuck_seconds(char *text, size_t bytes);

/* For h5.c: this process writes a file through MPI-IO from now on; it is closed again. */
void h5_stuck_watch(const char *path);
void h5_stuck_forget(void);

#endif
