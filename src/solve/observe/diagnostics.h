/* Properties of the whole field at one step, reduced over all ranks: the same bits on all of
 * them. */
#pragma once

#include "solve/stepper.h"

struct diagnostics {
    int64_t step;
    double time;           /* s */
    double min, max, mean; /* K */
    double heat;           /* J */
    double boundary_heat;  /* J, entered through the boundary since step 0 */
    double source_heat;    /* J, by sources since step 0 */
    double heat_drift;     /* J, heat - heat at the start - boundary_heat - source_heat */
};

/* Collective. Wait for all queues and reduce the ledger and the summary of the field.
 * STATUS_NUMERICS, agreed, with step, cell and rank, when a cell is NaN, infinite or beyond 1.1e12
 * K. */
enum status diagnostics_take(struct stepper *stepper, struct diagnostics *diagnostics);

/* Collective. Add the sums on the devices to the ledger and reset them to zero. */
enum status diagnostics_gather_ledger(struct stepper *stepper);

/* Collective. 64 bits over global indices and temperatures; see kernels/cell/heat_cell.h. */
enum status diagnostics_field_hash(struct stepper *stepper, uint64_t *hash);
