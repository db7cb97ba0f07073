/* Updates of the derived fields during a run. All functions are collective, and have no effect
 * without derived fields. */
#pragma once

#include "solve/stepper.h"

/* Once, when the state exists: create field->derived for the outputs; after a restart restore it
 * from the checkpoint. A kind that is missing there starts at the current step. */
enum status derive_open(struct stepper *stepper);

/* After every step, and before the first: take a sample if it is due. Queued. */
enum status derive_sample(struct stepper *stepper);

/* The next step at which a sample is due; INT64_MAX: none. */
int64_t derive_next(const struct stepper *stepper);

/* Before an output of the fields in `mask`: those of the current step alone. Of the heat flux after
 * a halo exchange. Queued. */
enum status derive_present(struct stepper *stepper, unsigned mask);

/* The square of the heat flux of the current step, W^2/m^4, to its derived field, after a halo
 * exchange: on each axis the mean of the fluxes through the two faces of a cell. Blocks where cells
 * have sizes or properties of their own, or surfaces exchange more than a constant coefficient has
 * it: it is then found on the host. */
enum status derive_flux(struct stepper *stepper);
