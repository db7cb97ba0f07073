/* Parallel access to a contiguous dataset, bypassing HDF5: HDF5 creates the file and gives the
 * place of the cells (h5_raw.h); then every rank writes its share with plain system calls, whose
 * failures are its own and can be agreed on. Checksums do not depend on the number of ranks
 * (docs/developers/files_design.md). */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

/* The place of a dataset in its file, and its blocks. It has no pointers: rank 0 broadcasts it. */
struct raw_place {
    uint64_t offset;           /* offset of the cells, bytes from the beginning of the file */
    uint64_t sums_offset;      /* offset of the checksums, 8 bytes per block */
    int64_t cells[AXIS_COUNT]; /* shape (nz, ny, nx) */
    int64_t line_cells, block_lines, blocks;
    enum precision precision;
    int64_t value_bytes; /* size of a cell */
};

static inline int64_t raw_cells(const struct raw_place *place)
{
    return place->cells[AXIS_X] * place->cells[AXIS_Y] * place->cells[AXIS_Z];
}

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
    RAW_READ_BACK, /* read back and compare with the checksums, for a restart; not flushed yet */
    RAW_FORGET     /* flush, and release the page cache: the cells are not read soon */
};

/* Collective, agreed. Write this rank's cells `box` of all datasets of the file (in their indices;
 * the boxes of all ranks cover them), and the checksums. `places`: given on rank 0, broadcast to
 * the others. */
enum status raw_fill(MPI_Comm comm, const char *path, struct raw_place *places,
                     const struct raw_part *parts, int nparts, const struct box *box,
                     enum raw_after after);

/* Collective, agreed. Read all cells and compare with the checksums; `name` is the dataset's, or
 * NULL for the bytes of a file that the caller names.
 * STATUS_FILE, naming the first damaged block, when one differs. *hash (may be NULL): the field
 * hash of the cells. */
enum status raw_check(MPI_Comm comm, const char *path, const char *name,
                      const struct raw_place *place, const uint64_t *sums, uint64_t *hash);

/* Collective, agreed. Read all cells; `sums` receives the checksum of each block. */
enum status raw_sum(MPI_Comm comm, const char *path, const struct raw_place *place, uint64_t *sums,
                    uint64_t *hash);

/* ---- for raw.c and raw_share.c ---- */

/* The division of a dataset's cells among ranks: every rank reads or writes a run of cells that is
 * contiguous in the file, its share. Where the ranks' own blocks are such runs (cut along the
 * slowest axis only), each writes its own. Otherwise the cells are first exchanged, piece by piece,
 * so that every rank writes long runs. */

/* Cells, by flat index (k ny + j) nx + i. */
struct raw_run {
    int64_t begin, end;
};

struct raw_shares {
    int nranks, rank;
    struct box *boxes;    /* cells in the memory of each rank */
    struct raw_run *runs; /* share of each rank: whole lines */
    bool own;             /* the two are the same: no exchange */
};

/* Collective, agreed. `box`: the cells of this rank; the boxes of all ranks cover the dataset. Free
 * with raw_shares_free, on failure too. */
enum status raw_shares_create(MPI_Comm comm, const struct raw_place *place, const struct box *box,
                              struct raw_shares *shares);
void raw_shares_free(struct raw_shares *shares);

/* The flat index of a box's first cell. */
int64_t raw_run_begin(const struct raw_place *place, const struct box *box);

/* Not collective. The share of number `n` of `count` even ones. */
struct raw_run raw_share_even(const struct raw_place *place, int64_t n, int64_t count);

/* Collective. Exchange the cells of piece `number`, of `cells` cells, of every rank's share.
 * `values` are this rank's own, [z][y][x]; `piece` receives its piece; `room` is a buffer of the
 * same size. */
enum status raw_exchange(MPI_Comm comm, const struct raw_shares *shares,
                         const struct raw_place *place, int64_t number, int64_t cells,
                         const void *values, void *room, void *piece);

/* Piece `number` of a run; empty behind its end. */
struct raw_run raw_run_piece(const struct raw_run *run, int64_t number, int64_t cells);
