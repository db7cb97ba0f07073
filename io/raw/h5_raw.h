/* Contiguous datasets with checksums of our own: HDF5's side of raw.h. The checksums of /NAME are
 * in /checksums/NAME, one number a block. Compressed datasets have HDF5's, and are not made here.
 */
#ifndef ISOTHERM_IO_RAW_H5_RAW_H
#define ISOTHERM_IO_RAW_H5_RAW_H

#include "io/hdf5/h5.h"
#include "io/raw/raw.h"

/* Not collective. Make the dataset in a file that is open through the plain driver, without
 * values, and say where they and their checksums are to lie once the file is closed. */
enum status h5_raw_make(hid_t file, const char *name, const int64_t cells[AXIS_COUNT],
                        enum precision precision, struct raw_place *place) MUST_CHECK;

/* What they take in the file beside the cells themselves. */
uint64_t h5_raw_bytes(const int64_t cells[AXIS_COUNT], enum precision precision);

/* Collective, agreed. Where the dataset has checksums of ours: is every cell as it was written?
 * `name` may lead through links into another file. STATUS_FILE, with the place, when not. */
enum status h5_raw_check(MPI_Comm comm, const char *path, const char *name) MUST_CHECK;

#endif
