/* What is kept of every cell over time (model/derived.h), in checkpoints: a dataset of float64 for
 * each kind beside /T, bit for bit. For checkpoint_write.c; reading is in checkpoint.h. */
#ifndef ISOTHERM_IO_CHECKPOINT_DERIVED_H
#define ISOTHERM_IO_CHECKPOINT_DERIVED_H

#include "io/checkpoint.h"
#include "io/h5.h"
#include "model/view.h"

/* The kinds that a checkpoint has to hold: all that have a memory. */
unsigned checkpoint_kept(const struct derived *derived); /* takes NULL */

/* This rank's cells to h_memory, one kind after the other, box_cells(&part->cells) each. Blocks. */
enum status checkpoint_capture_derived(struct field *field, double *h_memory,
                                       struct checkpoint_part *part) MUST_CHECK;

/* Rank 0: the datasets, without values. */
enum status checkpoint_make_derived(hid_t file, const struct grid *grid, unsigned kept) MUST_CHECK;
/* Collective, agreed: the values; and whether those in the file are those in memory. */
enum status checkpoint_put_derived(MPI_Comm comm, hid_t file,
                                   const struct checkpoint_part *part) MUST_CHECK;
enum status checkpoint_verify_derived(MPI_Comm comm, hid_t file,
                                      const struct checkpoint_part *part) MUST_CHECK;

#endif
