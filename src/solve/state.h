/* The state of the solution on one rank: field, ledger, step and time. */
#ifndef ISOTHERM_SOLVE_STATE_H
#define ISOTHERM_SOLVE_STATE_H

#include "base/file.h"
#include "config/settings_changes.h"
#include "machine/team.h"
#include "model/field.h"
#include "model/ledger.h"
#include "solve/engine.h"

/* The sums of the ledger on the device: those of the faces, then that of moving sources. Behind
 * them lies one for cells of other ranks, which is never read. */
enum { SOURCE_SUM = FACE_COUNT, LEDGER_SUMS, UNCOUNTED_SUM = LEDGER_SUMS, DEVICE_SUMS };

struct state {
    struct field *field;
    struct exact_sum *d_face_sum; /* DEVICE_SUMS sums of this rank since the last reduction */
    struct ledger ledger;         /* of all ranks, as of the last reduction */
    int64_t step;                 /* steps done */
    double time;                  /* s, after these steps */
    /* Of step summary_step, 0: of none. Taken by the pass that led there; valid once the bulk queue
     * was waited for. */
    struct field_summary summary;
    int64_t summary_step;

    int64_t first_step;              /* 0, or the checkpoint's */
    char restarted_from[PATH_BYTES]; /* that checkpoint; "" for a new run */
    struct settings_changes changes; /* since it was written; rank 0 */
};

/* At step 0, with a field of NaN. `engine` must outlive the state. Not collective. */
enum status state_create(struct engine *engine, const struct team *team, enum precision precision,
                         struct state *state) MUST_CHECK;
void state_destroy(struct engine *engine, struct state *state); /* takes a half-built one */

#endif
