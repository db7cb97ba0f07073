/* The scheme of the steps of `auto` with a tolerance: super steps, or implicit ones while these
 * take less work. The same choices on any number of ranks, on any backend and after a restart: no
 * measured time is in them. docs/reference/numerics.md has the rule. */
#pragma once

#include "solve/stepper.h"

/* Choose that of the next step, which is at most `most` s long; before its length. `problem` is the
 * stepper's. */
void step_scheme_choose(struct stepper *stepper, struct problem *problem, double most);

/* After a restart: that of the last step. */
void step_scheme_restore(struct stepper *stepper, struct problem *problem);

/* Collective. After an implicit step whose cycles did not converge: undo it, and take super steps
 * from now on. `before`: the state before it, whose field is stepper->d_saved. */
enum status step_scheme_abandon(struct stepper *stepper, struct problem *problem,
                                const struct state *before);
