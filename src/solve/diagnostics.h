/* What is known of the whole field at one step: collected from all ranks, the same bits on all. */
#ifndef ISOTHERM_SOLVE_DIAGNOSTICS_H
#define ISOTHERM_SOLVE_DIAGNOSTICS_H

#include "solve/stepper.h"

struct diagnostics {
    int64_t step;
    double time;           /* s */
    double min, max, mean; /* K */
    double heat;           /* J */
    double boundary_heat;  /* J, in through the boundary since step 0 */
    double heat_drift;     /* J, heat - heat at the start - boundary_heat */
};

/* Collective. Wait for all queues and collect the ledger and the field's summary.
 * STATUS_NUMERICS, agreed, naming step, cell and rank, when a cell is NaN, infinite or beyond
 * 1.1e12 K. */
enum status diagnostics_take(struct stepper *stepper, struct diagnostics *diagnostics) MUST_CHECK;

/* Collective. Add the device's face sums to the ledger and start them again from zero. */
enum status diagnostics_gather_ledger(struct stepper *stepper) MUST_CHECK;

/* Collective. 64 bits over global indices and temperatures; see kernels/heat_cell.h. */
enum status diagnostics_field_hash(struct stepper *stepper, uint64_t *hash) MUST_CHECK;

#endif
