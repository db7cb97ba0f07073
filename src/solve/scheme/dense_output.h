/* States within a super step, for outputs that its ends do not land on: the cubic Hermite
 * polynomial of the states and the rates of change at both ends (docs/reference/numerics.md). */
#pragma once

#include "solve/stepper.h"

/* Starts zeroed. */
struct dense_output {
    bool shows;           /* a state within the step is that of the stepper */
    struct state end;     /* the state at its end */
    double start, length; /* s, of the step */
    double time;          /* s, of the state that is shown */
    void *d_end;          /* field->d_now at the end */
};

/* Collective. After a super step: let the stepper and its level show the state at the next time of
 * an output within that step, with the ledger of that time; after the last one, again the end of
 * the step. Each gets a number of its own, so that the number of the end grows (timeline.h).
 * `problem` is the stepper's. The same bits on any number of ranks and any backend. */
enum status dense_output_next(struct stepper *stepper, struct problem *problem,
                              struct dense_output *between);
