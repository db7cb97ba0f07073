/* Go on from a checkpoint. */
#ifndef ISOTHERM_APP_RESTART_H
#define ISOTHERM_APP_RESTART_H

#include "app/run.h"
#include "io/checkpoint.h"

/* Take step, clock and ledger from a checkpoint whose temperatures are in the field already.
 * With the same settings the run goes on bit for bit as if it had never stopped; with another
 * time step or end, the new steps begin at the checkpoint's time. The same on all ranks. */
enum status run_continue(struct run *run, const struct checkpoint_state *state) MUST_CHECK;

#endif
