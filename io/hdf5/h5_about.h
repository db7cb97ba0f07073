/* What the program outside io/ asks about HDF5; without hdf5.h. */
#pragma once

#include <stdbool.h>

struct h5_about {
    char version[32]; /* of the library that is loaded */
    char built[32];   /* of the headers that the program was compiled with */
    bool parallel;    /* the MPI-IO driver is available; false while MPI is not initialized */
};

/* Not collective; also before MPI_Init. */
struct h5_about h5_about(void);

/* Not collective. True after HDF5 failed to close a file, or a file was left open because writing
 * to it failed: MPI_Finalize would then crash or hang inside HDF5, so end with MPI_Abort. */
bool h5_is_broken(void);

/* From any thread: how MPI-IO failed on this rank in the file that is open for writing; NULL: it
 * has not. The call that failed may never return. */
const char *h5_trouble(void);
