/* The state of the solution on one rank: fields, ledger, step and time, and where it came from. */
#ifndef ISOTHERM_SOLVE_STATE_H
#define ISOTHERM_SOLVE_STATE_H

#include "base/file.h"
#include "config/settings_changes.h"
#include "machine/team.h"
#include "model/field.h"
#include "model/ledger.h"
#include "solve/engine.h"

struct state {
    struct field *field;
    struct exact_sum *d_face_sum; /* FACE_COUNT sums of this rank since the last gathering */
    struct ledger ledger;         /* of all ranks, as of the last gathering */
    int64_t step;                 /* steps done */
    double time;                  /* s, after them */

    int64_t first_step;              /* 0, or the checkpoint's */
    char restarted_from[PATH_BYTES]; /* that checkpoint; "" for a fresh run */
    struct settings_changes changes; /* since it was written; rank 0 */
};

/* Step 0, the field full of NaN. `engine` must outlive the state. Not collective. */
enum status state_create(struct engine *engine, const struct team *team, enum precision precision,
                         struct state *state) MUST_CHECK;
void state_destroy(struct engine *engine, struct state *state); /* takes a half-built one */

#endif
