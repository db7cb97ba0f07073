/* The numbers, checked while the run goes on: NaN and infinities (diagnostics_take finds those),
 * the maximum principle and the heat ledger. model/limits.h says what is allowed. */
#ifndef ISOTHERM_SOLVE_NUMERICS_CHECK_H
#define ISOTHERM_SOLVE_NUMERICS_CHECK_H

#include "solve/diagnostics.h"

/* Is a check due after the present step, whatever else is written? */
bool numerics_check_is_due(const struct stepper *stepper);

/* The next step after the present one at which it is; INT64_MAX: none. */
int64_t numerics_check_next(const struct stepper *stepper);

/* Collective. Judge fresh diagnostics against those of the last check; the first one, at the first
 * state of the run, only begins. STATUS_NUMERICS, agreed, naming step, cell, place and rank.
 * Does nothing where run.watch.every is 0. */
enum status numerics_check(struct stepper *stepper,
                           const struct diagnostics *diagnostics) MUST_CHECK;

#endif
