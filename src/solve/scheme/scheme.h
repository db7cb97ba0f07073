/* Time schemes. A scheme knows stages and passes; the time loop knows events and schemes. */
#pragma once

#include <stdint.h>

#include "base/status.h"

struct stepper;

struct scheme {
    const char *name; /* for report.json */

    /* Collective through the halo; queued. Advance the stepper's state by `steps` steps of the
     * problem's timeline, with its ledger and limits. */
    enum status (*advance)(struct stepper *stepper, int64_t steps);

    /* Collective; queued. Queue the first pass of the next `steps` steps, while the host still
     * works on the outputs of this one: the state counts it in `advance`. Nothing is queued where
     * that is not possible. NULL: never. */
    enum status (*queue_ahead)(struct stepper *stepper, int64_t steps);
};

extern const struct scheme scheme_euler, scheme_sts1, scheme_sts2, scheme_monotone, scheme_steady,
    scheme_implicit;
