/* Checks of the solution during the run: NaN and infinities (by diagnostics_take), the maximum
 * principle and the heat ledger. model/operator/limits.h defines the bounds. */
#pragma once

#include "solve/observe/diagnostics.h"

/* Whether a check is due after this step, independent of outputs. */
bool numerics_check_is_due(const struct stepper *stepper, int64_t step);

/* The next step at which a check is due; INT64_MAX: none. */
int64_t numerics_check_next(const struct stepper *stepper);

/* Collective. Check the diagnostics of the current step against those of the last check; the first
 * call only stores them. STATUS_NUMERICS, agreed, with step, cell, place and rank. No effect when
 * run.watch.every is 0. */
enum status numerics_check(struct stepper *stepper, const struct diagnostics *diagnostics);
