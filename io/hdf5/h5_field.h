/* A distributed field, moved to and from a dataset of shape (nz, ny, nx) in pieces, so that host
 * memory stays bounded. All functions are collective and the outcome is agreed. All ranks make the
 * same number of HDF5 calls. */
#pragma once

#include "io/hdf5/h5.h"
#include "model/field/field.h"

/* Host memory per rank; large enough for the file system's stripes. */
enum { H5_FIELD_PIECE_BYTES = 32 << 20 };

/* Write the part `box` of a dataset, in its own indices, from host memory: [z][y][x] in the
 * dataset's precision. Empty on ranks without a part, which must call too. */
enum status h5_part_write(MPI_Comm comm, hid_t dataset, const struct box *box,
                          enum precision precision, const void *values, size_t piece_bytes);

/* Read it in the same way, all values exact. */
enum status h5_part_read(MPI_Comm comm, hid_t dataset, const struct box *box,
                         enum precision precision, void *values, size_t piece_bytes);

/* Read the owned cells of a dataset of the field's precision. */
enum status h5_field_read(MPI_Comm comm, hid_t dataset, struct field *field, size_t piece_bytes);

/* The cuts of one rank's block. */
struct pieces {
    int64_t cells[AXIS_COUNT];  /* of this rank */
    int64_t extent[AXIS_COUNT]; /* of a piece, the same on all ranks */
    int64_t groups[AXIS_COUNT]; /* pieces per axis on the rank with most cells */
    int64_t count;              /* product of the groups */
    int64_t piece_cells;        /* of the largest piece on this rank */
};

/* Collective. Cut into pieces of at most `cells_limit` cells: whole planes, else whole rows. */
enum status pieces_create(MPI_Comm comm, const int64_t cells[AXIS_COUNT], int64_t cells_limit,
                          struct pieces *pieces);
/* The piece in local indices; empty where this rank has fewer of them. */
struct box pieces_box(const struct pieces *pieces, int64_t index);
