/* The numbers, watched while the run goes on: NaN and infinities (diagnostics_take finds those),
 * the maximum principle and the heat ledger. model/limits.h says what is allowed. */
#ifndef ISOTHERM_SOLVE_NUMERICS_CHECK_H
#define ISOTHERM_SOLVE_NUMERICS_CHECK_H

#include "model/limits.h"

struct run;
struct diagnostics;

/* Part of struct run; zeroed memory has not begun. The same on all ranks. */
struct watch {
    bool begun;
    struct limits limits;
    int64_t step; /* of the last look */
    double drift; /* J, the ledger's then */
    double slack; /* J, how far arithmetic in doubles can have put it off */
};

/* Is a look due after this step, whatever else is written? */
bool watch_is_due(const struct run *run);

/* Collective. Judge fresh diagnostics against those of the last look; the first look, at the first
 * state of the run, only begins. STATUS_NUMERICS, agreed, naming step, cell, place and rank.
 * Does nothing where run.watch.every is 0. */
enum status watch_check(struct run *run, const struct diagnostics *diagnostics) MUST_CHECK;

#endif
