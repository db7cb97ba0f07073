/* Fields and materials from HDF5 files that the configuration names. */
#pragma once

#include <mpi.h>

#include "model/field/field.h"
#include "model/space/grid.h"

/* Collective. Fill the owned cells by an entry of kind INITIAL_FILE: from a dataset of shape
 * (nz, ny, nx) of any HDF5 file, in K, integer or floating point of any size, converted by HDF5.
 * For nz = 1 also (ny, nx), for ny = nz = 1 also (nx). Each rank reads the part that it needs.
 * STATUS_FILE when it cannot be read, STATUS_INPUT (message without origin) for a wrong shape,
 * domain or type, values that are not finite or beyond 1e12 K. */
enum status field_file_read(MPI_Comm comm, const struct shape_setting *source, struct field *field,
                            const struct grid *grid);

/* Not collective, needs no MPI. The integers of a `parts` entry, or the values of a source or a
 * factor, from a file of HDF5, NumPy, TIFF or NIfTI, of `box` (global indices) only. */
enum status field_file_read_box(const struct shape_setting *source, const struct grid *grid,
                                const struct box *box, float *values);

/* Not collective, needs no MPI. The checks of field_file_read, except those of the values. */
enum status field_file_check(const struct shape_setting *source, const struct grid *grid);
