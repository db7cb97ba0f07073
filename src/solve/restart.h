/* Continue from a checkpoint. */
#ifndef ISOTHERM_SOLVE_RESTART_H
#define ISOTHERM_SOLVE_RESTART_H

#include "io/checkpoint/checkpoint.h"
#include "solve/stepper.h"

/* Collective. Load the checkpoint `from`, or for "auto" the newest valid one of the output folder,
 * and take step, time and ledger from it; the timeline of `problem`, which is the stepper's,
 * continues there. What has changed in the configuration since it was written is reported on rank 0
 * and kept in state->changes. STATUS_INPUT, naming each key with both values, where the schema says
 * that a restart cannot have it changed; `may_change`: where the state can be used all the same, it
 * passes. *found false (and STATUS_OK) when "auto" finds no checkpoint at all; nothing has been
 * done then. */
enum status restart_from(struct stepper *stepper, struct problem *problem, const char *from,
                         bool may_change, bool *found) MUST_CHECK;

#endif
