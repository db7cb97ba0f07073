/* Parallel access to a contiguous dataset, bypassing HDF5: HDF5 creates the file and gives the
 * place of the cells (h5_raw.h); then every rank writes its share with plain system calls, whose
 * failures are its own and can be agreed on.
 *
 * Checksums: a line is one row along x, or 65,536 cells of longer rows. Its checksum is XXH3
 * (64 bits) with the line's number as the seed. A block is `block_lines` lines, its checksum the
 * sum of theirs modulo 2^64. So the file does not depend on the number of ranks. */
#ifndef ISOTHERM_IO_RAW_RAW_H
#define ISOTHERM_IO_RAW_RAW_H

#include <mpi.h>
#include <stdint.h>

#include "base/file.h"
#include "io/raw/raw_share.h"

/* Fill in all but the offsets. */
void raw_layout(const int64_t cells[AXIS_COUNT], enum precision precision, struct raw_place *place);

/* The address in `memory` of the cells `box` for direct writes (file_output_write). For `bytes`
 * of cells the memory needs raw_room_bytes. Any other place works, only slower. */
void *raw_align(void *memory, const int64_t cells[AXIS_COUNT], enum precision precision,
                const struct box *box);
size_t raw_room_bytes(size_t bytes);

/* One dataset to be written. */
struct raw_part {
    const char *name;
    const void *values; /* [z][y][x], in the precision of its place */
    uint64_t *hash;     /* receives the field hash of the cells read back; may be NULL */
};

/* The action after writing. */
enum raw_after {
    RAW_READ_BACK, /* read back and compare with the checksums, for a restart */
    RAW_FORGET     /* release the page cache: the cells are not read soon */
};

/* Collective, agreed. Write this rank's cells `box` of all datasets of the file (in their indices;
 * the boxes of all ranks cover them), and the checksums, and flush them to disk. `places`: given on
 * rank 0, broadcast to the others. */
enum status raw_fill(MPI_Comm comm, const char *path, struct raw_place *places,
                     const struct raw_part *parts, int nparts, const struct box *box,
                     enum raw_after after) MUST_CHECK;

/* Collective, agreed. Read all cells and compare with the checksums; `name` is the dataset's.
 * STATUS_FILE, naming the first damaged block, when one differs. */
enum status raw_check(MPI_Comm comm, const char *path, const char *name,
                      const struct raw_place *place, const uint64_t *sums) MUST_CHECK;

#endif
