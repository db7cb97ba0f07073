#include "io/hdf5/h5_about.h"

#include <stdio.h>

#include "io/hdf5/h5.h"

struct h5_about h5_about(void)
{
    struct h5_about about = {.parallel = false};
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    h5_init();
    H5get_libversion(&major, &minor, &release);
    (void)snprintf(about.version, sizeof about.version, "%u.%u.%u", major, minor, release);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    about.parallel = H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL) >= 0 &&
                     H5Pget_driver(access) == H5FD_MPIO;
    H5Pclose(access);
    return about;
}
