/* What is kept of every cell over time (model/derived.h), in checkpoints: a dataset of float64 for
 * each kind beside /T, bit for bit. For checkpoint_write.c; reading is in checkpoint.h. */
#ifndef ISOTHERM_IO_CHECKPOINT_CHECKPOINT_DERIVED_H
#define ISOTHERM_IO_CHECKPOINT_CHECKPOINT_DERIVED_H

#include "io/checkpoint/checkpoint.h"
#include "io/raw/h5_raw.h"
#include "model/view.h"

/* The kinds that a checkpoint has to hold: all that have a memory. */
unsigned checkpoint_kept(const struct derived *derived); /* takes NULL */

/* This rank's cells to h_memory, the temperature and then one kind after the other, each in whole
 * lines of the cache; as checkpoint_capture. */
enum status checkpoint_capture_fields(struct field *field, struct copy_out *copy_out,
                                      char *h_memory, struct checkpoint_part *part) MUST_CHECK;

/* Rank 0: the datasets, without values, in a file that is open through the plain driver; and their
 * places, one a kind. */
enum status checkpoint_make_derived(hid_t file, const struct grid *grid, unsigned kept,
                                    struct raw_place *places) MUST_CHECK;

#endif
