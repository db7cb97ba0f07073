/* A distributed field, moved to and from a dataset of shape (nz, ny, nx) in pieces, so that host
 * memory stays bounded. All functions are collective and the outcome is agreed. All ranks make the
 * same number of HDF5 calls. */
#pragma once

#include "io/hdf5/h5.h"
#include "model/field/field.h"

/* Host memory per rank; large enough for the file system's stripes. */
enum { H5_FIELD_PIECE_BYTES = 32 << 20 };

/* Write the part `box` of a dataset, in its own indices, from host memory: [z][y][x] of the
 * dataset's type. Empty on ranks without a part, which must call too. */
enum status h5_part_write(MPI_Comm comm, hid_t dataset, const struct box *box, hid_t type,
                          const void *values, size_t piece_bytes);

/* Read it in the same way, all values exact. */
enum status h5_part_read(MPI_Comm comm, hid_t dataset, const struct box *box,
                         enum precision precision, void *values, size_t piece_bytes);

/* Read the owned cells of a dataset of the field's precision. */
enum status h5_field_read(MPI_Comm comm, hid_t dataset, struct field *field, size_t piece_bytes);
