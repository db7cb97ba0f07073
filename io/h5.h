/* Parallel HDF5, wrapped: its error stack becomes our messages, and its handles close themselves
 * in the right order. The only header that shows hdf5.h, and only to the files of io/. */
#ifndef ISOTHERM_IO_H5_H
#define ISOTHERM_IO_H5_H

#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

/* Turn off HDF5's own printing. Call once per process; repeated calls do nothing. */
void h5_init(void);

/* STATUS_FILE with `format` and the innermost reason of HDF5's error stack. */
enum status h5_fail(const char *format, ...) PRINTF_LIKE(1, 2);

/* Collective open/create with the MPI-IO driver. `userblock` bytes are left free at the front of
 * a new file (0, or a power of two >= 512). */
enum status h5_create_parallel(MPI_Comm comm, const char *path, hsize_t userblock,
                               hid_t *file) MUST_CHECK;
enum status h5_open_parallel(MPI_Comm comm, const char *path, bool writable,
                             hid_t *file) MUST_CHECK;
/* Collective. Flush (which syncs to disk) and close; reports the first failure. */
enum status h5_close_flushed(hid_t file, const char *path) MUST_CHECK;

hid_t h5_type(enum precision precision); /* in memory and in files */

/* Collective write / read of one rank's box of a 3D dataset of shape (nz, ny, nx); `values` is
 * contiguous [z][y][x] in `precision`; `first` is the slowest index in front (t) when the dataset
 * is 4D, -1 when it is 3D. */
enum status h5_write_box(hid_t dataset, const struct box *box, enum precision precision,
                         const void *values) MUST_CHECK;
enum status h5_read_box(hid_t dataset, const struct box *box, enum precision precision,
                        void *values) MUST_CHECK;

/* Attributes on `object`, created or replaced. Strings are fixed-length ASCII. */
enum status h5_attribute_string(hid_t object, const char *name, const char *value) MUST_CHECK;
enum status h5_attribute_double(hid_t object, const char *name, const double *values,
                                int count) MUST_CHECK; /* count 0: scalar */
enum status h5_attribute_int(hid_t object, const char *name, const int64_t *values, int count,
                             hid_t file_type) MUST_CHECK;
enum status h5_get_double(hid_t object, const char *name, double *values, int count) MUST_CHECK;
enum status h5_get_int(hid_t object, const char *name, int64_t *values, int count) MUST_CHECK;

#endif
