/* The time step adapted to the temperatures that can occur: `time.adapt_every`. */
#pragma once

#include "solve/stepper.h"

/* Collective, after the outputs of a step; does nothing unless an adaptation is due. `problem` is
 * the stepper's. The same on any number of ranks, and in a run that continues from a checkpoint. */
enum status adaptive_step(struct stepper *stepper, struct problem *problem);

/* The step at which the next one is due; INT64_MAX: none. */
int64_t adaptive_next(const struct stepper *stepper);
