/* What the HDF5 library is and can do here. */
#ifndef ISOTHERM_IO_HDF5_H5_ABOUT_H
#define ISOTHERM_IO_HDF5_H5_ABOUT_H

#include <mpi.h>
#include <stdbool.h>

struct h5_about {
    char version[32];
    bool parallel; /* its MPI-IO driver can be chosen */
};

/* Not collective. */
struct h5_about h5_about(void);

#endif
