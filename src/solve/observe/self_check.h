/* run.self_check: some steps are computed twice and compared bit for bit, and what steps read and
 * never write is compared with its sum. A difference is located, and the steps are computed again
 * from the last state before it (docs/reference/trust.md). */
#pragma once

#include "solve/stepper.h"

struct self_check;

/* Device memory that self_check_create needs on one rank; 0 without the check. */
uint64_t self_check_bytes(const struct problem *problem, const struct layout *layout,
                          const struct box *owned, uint64_t class_bytes);

/* Collective, agreed; before the first step. *check is NULL where run.self_check is off. The
 * stepper must outlive it. For tests, bits are flipped as the environment variable
 * ISOTHERM_FLIP_BITS says: see self_check_flips.h. */
enum status self_check_create(struct stepper *stepper, struct self_check **check);
void self_check_destroy(struct self_check *check); /* takes NULL */

/* Collective. stepper_advance, with the checks that are due; NULL: without any. Bits that differ
 * are repaired, with a warning. */
enum status self_check_advance(struct self_check *check, struct stepper *stepper, int64_t steps);

/* Collective, after STATUS_NUMERICS at the current step: compute the steps since the last state
 * that is kept again. *repaired: they gave other values, which the field now has. Else it is as
 * before, and so is the message of the failure. NULL: not repaired. */
enum status self_check_doubt(struct self_check *check, bool *repaired);

/* Not collective, the same on all ranks. STATUS_DEVICE, with the device in the message, after its
 * second fault, or when results of repeated steps never agree. The state is the last one whose
 * results agreed: write a checkpoint of it, and end the run. */
enum status self_check_verdict(const struct self_check *check);
static inline bool self_check_is_over(const struct stepper *stepper)
{
    return stepper->checked.is_over;
}
