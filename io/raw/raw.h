/* The cells of a dataset that is contiguous in its file, moved past HDF5: HDF5 makes the file and
 * says where the cells lie (h5_raw.h), and from then on every rank writes its share with plain
 * system calls, whose failures are its own and can be agreed on. Long runs, no conversion, no copy.
 *
 * Checksums: a line is `line_cells` cells in a row, one row along x; where rows are longer than
 * 65,536 cells, that many. Its checksum is XXH3 (64 bits) with the line's number as the seed. A
 * block is `block_lines` lines, its checksum the sum of theirs modulo 2^64. So they, like every
 * byte of the file, are the same whoever wrote which lines. */
#ifndef ISOTHERM_IO_RAW_RAW_H
#define ISOTHERM_IO_RAW_RAW_H

#include <mpi.h>
#include <stdint.h>

#include "base/file.h"
#include "io/raw/raw_share.h"

/* Fill in all but the offsets. */
void raw_layout(const int64_t cells[AXIS_COUNT], enum precision precision, struct raw_place *place);

/* Where the cells `box` should lie in some memory, so that they can be written without a copy
 * (file_output_write). For `bytes` of cells the memory must have raw_room_bytes. Elsewhere they are
 * written all the same. */
void *raw_align(void *memory, const int64_t cells[AXIS_COUNT], enum precision precision,
                const struct box *box);
size_t raw_room_bytes(size_t bytes);

/* Collective, agreed. Write this rank's cells `box` (its part in the dataset's indices; together
 * the ranks have all) from `values`, [z][y][x] in the place's precision, and the checksums. The
 * file is open on every rank; it is not flushed. `sums` receives the checksums on all ranks; caller
 * frees, on failure too. */
enum status raw_write(MPI_Comm comm, struct file_output *file, const struct raw_place *place,
                      const struct box *box, const void *values, uint64_t **sums) MUST_CHECK;

/* One dataset to be written. */
struct raw_part {
    const char *name;
    const void *values; /* [z][y][x], in the precision of its place */
    uint64_t *hash;     /* unless NULL, receives the field hash of what is read back */
};

/* What becomes of cells that are written. */
enum raw_after {
    RAW_READ_BACK, /* read back and compared with the checksums: a run is to go on from them */
    RAW_FORGET     /* not read soon: what caches them is given back */
};

/* Collective, agreed. Write this rank's cells of all datasets of the file, and flush them to disk.
 * Rank 0 knows the places, and all ranks afterwards. */
enum status raw_fill(MPI_Comm comm, const char *path, struct raw_place *places,
                     const struct raw_part *parts, int nparts, const struct box *box,
                     enum raw_after after) MUST_CHECK;

/* Collective, agreed. Are the dataset's cells what the checksums say? */
enum status raw_check(MPI_Comm comm, const char *path, const char *name,
                      const struct raw_place *place, const uint64_t *sums) MUST_CHECK;

/* Collective, agreed. Read everything and compare with the checksums; `name` is the dataset's.
 * STATUS_FILE, with the first damaged block, when anything differs. With `box`, that of raw_write,
 * every rank reads what it wrote. `hash`, unless NULL, receives the field hash of what was read. */
enum status raw_verify(MPI_Comm comm, int fd, const char *path, const char *name,
                       const struct raw_place *place, const struct box *box, const uint64_t *sums,
                       uint64_t *hash) MUST_CHECK;

#endif
