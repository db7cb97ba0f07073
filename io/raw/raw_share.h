/* The division of a dataset's cells among ranks: every rank reads or writes a run of cells that is
 * contiguous in the file, its share. Where the ranks' own blocks are such runs (cut along the
 * slowest axis only), each writes its own. Otherwise the cells are first exchanged, piece by piece,
 * so that every rank writes long runs. For raw.c. */
#ifndef ISOTHERM_IO_RAW_RAW_SHARE_H
#define ISOTHERM_IO_RAW_RAW_SHARE_H

#include <mpi.h>

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
};

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
                              struct raw_shares *shares) MUST_CHECK;
void raw_shares_free(struct raw_shares *shares);

/* The flat index of a box's first cell. */
int64_t raw_run_begin(const struct raw_place *place, const struct box *box);

/* Not collective. Even shares, for reading. */
struct raw_run raw_share_even(const struct raw_place *place, int rank, int nranks);

/* Collective. Exchange the cells of piece `number`, of `cells` cells, of every rank's share.
 * `values` are this rank's own, [z][y][x]; `piece` receives its piece; `room` is a buffer of the
 * same size. */
enum status raw_exchange(MPI_Comm comm, const struct raw_shares *shares,
                         const struct raw_place *place, int64_t number, int64_t cells,
                         const void *values, void *room, void *piece) MUST_CHECK;

/* Piece `number` of a run; empty behind its end. */
struct raw_run raw_run_piece(const struct raw_run *run, int64_t number, int64_t cells);

#endif
