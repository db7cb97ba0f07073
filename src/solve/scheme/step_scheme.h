/* The scheme of the steps of `auto` with a tolerance: super steps, or implicit ones while these
 * take less work. The same choices on any number of ranks, on any backend and after a restart: no
 * measured time is in them. docs/reference/numerics.md has the rule. */
#pragma once

#include "solve/stepper.h"

/* Collective. Choose that of the next step, which is at most `most` s long; before its length.
 * `problem` is the stepper's. STATUS_MEMORY. */
enum status step_scheme_choose(struct stepper *stepper, struct problem *problem, double most);

/* Why there are no implicit steps, or no more of them; NULL: there may be. */
const char *step_scheme_never_implicit(const struct stepper *stepper);

/* Collective. After a restart: that of the last step. STATUS_MEMORY. */
enum status step_scheme_restore(struct stepper *stepper, struct problem *problem);

/* After an implicit step whose cycles did not converge, whether to try again: `auto` by super
 * steps, and where sources depend on temperature, which may run away in a long one, by shorter
 * ones. */
bool step_scheme_may_retry(const struct stepper *stepper);
/* Collective. Undo it; the next one is shorter, or super steps are taken from now on. `before`: the
 * state before it, whose field is stepper->d_saved. */
enum status step_scheme_retry(struct stepper *stepper, struct problem *problem,
                              const struct state *before);
