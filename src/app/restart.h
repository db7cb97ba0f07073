/* Go on from a checkpoint. */
#ifndef ISOTHERM_APP_RESTART_H
#define ISOTHERM_APP_RESTART_H

#include "io/checkpoint/checkpoint.h"
#include "solve/solver.h"

/* Collective. Load the checkpoint `from`, or for "auto" the newest good one of the output folder,
 * and take step, clock and ledger from it. What has changed in the configuration since it was
 * written is told on rank 0 and kept in run->changes. STATUS_INPUT, naming each key with both
 * values, where the schema says that a restart cannot have it changed; `may_change`: where the
 * state can be used all the same, it passes. *found false (and STATUS_OK) when "auto" finds no
 * checkpoint at all; nothing has been done then. */
enum status restart_from(struct run *run, const char *from, bool may_change,
                         bool *found) MUST_CHECK;

/* Collective. Take step, clock and ledger from a checkpoint whose temperatures are in the field
 * already. With the same settings the run goes on bit for bit as if it had never stopped; with
 * another time step or end, the new steps begin at the checkpoint's time. Where the state means
 * another heat than it did (state->changed), the ledger's drift counts from here. */
enum status run_continue(struct run *run, const struct checkpoint_state *state) MUST_CHECK;

#endif
