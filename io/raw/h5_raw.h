/* Contiguous datasets with our own checksums: HDF5's side of raw.h. The checksums of /NAME are in
 * /checksums/NAME, one number per block. (HDF5 adds its own to compressed datasets.) */
#pragma once

#include "io/hdf5/h5.h"
#include "io/raw/raw.h"

/* Not collective. Create the dataset, without values, in a file that is open through the plain
 * driver. `place`: the offsets of values and checksums once the file is closed. */
enum status h5_raw_make(hid_t file, const char *name, const int64_t cells[AXIS_COUNT],
                        enum precision precision, struct raw_place *place);

/* Size in the file, without the cells themselves. */
uint64_t h5_raw_bytes(const int64_t cells[AXIS_COUNT], enum precision precision);

/* Collective, agreed. Check the cells of a dataset that has such checksums; `name` may be a link
 * into another file. STATUS_FILE, naming the damaged block, when they differ. *hash (may be
 * NULL): the field hash of the cells; 0 without checksums. */
enum status h5_raw_check(MPI_Comm comm, const char *path, const char *name, uint64_t *hash);
