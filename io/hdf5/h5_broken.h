/* Can the program still go on, and end in order? */
#ifndef ISOTHERM_IO_HDF5_H5_BROKEN_H
#define ISOTHERM_IO_HDF5_H5_BROKEN_H

#include <stdbool.h>

/* Not collective. True after HDF5 failed to close a file, or a file was left open because writing
 * to it failed (an I/O error past all checks of room): MPI_Finalize would then crash or hang inside
 * HDF5, so end with MPI_Abort and the exit code. */
bool h5_is_broken(void);

/* From any thread: how MPI-IO failed on this rank in the file that is open for writing; NULL: it
 * has not. The call that failed may never return: the others wait for this rank at another place.
 */
const char *h5_trouble(void);

#endif
