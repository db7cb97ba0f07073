/* Continue from a checkpoint. */
#pragma once

#include "io/checkpoint/checkpoint.h"
#include "solve/stepper.h"

/* Collective. Load the checkpoint `from`, or for "auto" the newest valid one of the output folder:
 * the field, step, time and ledger; the timeline of `problem`, which is the stepper's, continues
 * there. Changes of the configuration since then are reported on rank 0 and stored in
 * state->changes. STATUS_INPUT, naming each key with both values, for changes that the schema does
 * not allow in a restart; `may_change`: those for which the state is still usable are allowed. When
 * "auto" finds no checkpoint, *found is false, the result STATUS_OK, and nothing has changed. */
enum status restart_from(struct stepper *stepper, struct problem *problem, const char *from,
                         bool may_change, bool *found);
