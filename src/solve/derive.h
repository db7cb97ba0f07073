/* Keeping the derived fields of a run up to date. All are collective and do nothing for a run
 * without derived fields. */
#ifndef ISOTHERM_SOLVE_DERIVE_H
#define ISOTHERM_SOLVE_DERIVE_H

#include "solve/stepper.h"

/* Once, when the state is there: make field->derived as the outputs want it; after a restart take
 * what was kept from the checkpoint. What that does not hold counts from here on. */
enum status derive_open(struct stepper *stepper) MUST_CHECK;

/* After every step, and before the first: take a sample when it is due. Queued. */
enum status derive_sample(struct stepper *stepper) MUST_CHECK;

/* The next step after the present one at which a sample is due; INT64_MAX: none. */
int64_t derive_next(const struct stepper *stepper);

/* Before an output that shows it: the heat flux of the present step, with a halo exchange of its
 * own. Queued. */
enum status derive_flux(struct stepper *stepper) MUST_CHECK;

#endif
