/* The state of a run on one rank besides the level: ledger, limits, step and time. */
#pragma once

#include "base/file.h"
#include "config/settings_changes.h"
#include "kernels/operations.h"
#include "model/operator/ledger.h"
#include "model/operator/limits.h"
#include "model/superstep/superstep.h"

/* The state of numerics_check.h between checks, the same on all ranks. */
struct numerics_check {
    bool begun;
    struct limits limits; /* updated by every step */
    int64_t step;         /* of the last check */
    double drift;         /* J, of the ledger at that step */
    double slack;         /* J, its rounding error */
};

/* Starts zeroed, at step 0. */
struct state {
    struct ledger ledger;        /* of all ranks, as of the last reduction */
    struct numerics_check check; /* of all ranks */
    struct step_control control;
    bool is_flat; /* at the start: all cells have one temperature */
    int64_t step; /* steps done */
    double time;  /* s, after these steps */
    /* Of step summary_step, 0: of none. Taken by the pass that led there; valid once the bulk queue
     * was waited for. */
    struct field_summary summary;
    int64_t summary_step;

    int64_t first_step;              /* 0, or the checkpoint's */
    char restarted_from[PATH_BYTES]; /* that checkpoint; "" for a new run */
    struct settings_changes changes; /* since it was written; rank 0 */
};
