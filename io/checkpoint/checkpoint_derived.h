/* Derived fields (model/derived.h) in checkpoints: one float64 dataset per kind next to /T, bit for
 * bit. For checkpoint_write.c; reading is in checkpoint.h. */
#ifndef ISOTHERM_IO_CHECKPOINT_CHECKPOINT_DERIVED_H
#define ISOTHERM_IO_CHECKPOINT_CHECKPOINT_DERIVED_H

#include "io/checkpoint/checkpoint.h"
#include "io/raw/h5_raw.h"

/* The mask of the kinds that a checkpoint must hold. */
unsigned checkpoint_kept(const struct derived *derived); /* takes NULL */

/* As checkpoint_capture: the temperature and then each kind, each in whole cache lines. */
enum status checkpoint_capture_fields(struct field *field, struct copy_out *copy_out,
                                      char *h_memory, struct checkpoint_part *part) MUST_CHECK;

/* Rank 0: create the datasets, without values, in a file that is open through the plain driver; and
 * their places, one per kind. */
enum status checkpoint_make_derived(hid_t file, const struct grid *grid, unsigned kept,
                                    struct raw_place *places) MUST_CHECK;

#endif
