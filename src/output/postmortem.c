#include "output/postmortem.h"

#include <stdio.h>

#include "base/comm.h"
#include "io/checkpoint/checkpoint.h"
#include "solve/diagnostics.h"

static enum status write_state(struct stepper *stepper, const char *path, const char *reason)
{
    const struct problem *problem = stepper->problem;
    const struct state *state = stepper->state;
    struct diagnostics now = {.boundary_heat = 0};
    /* with cells that are no numbers there is no ledger; with a formula that is none there is */
    const enum status status = diagnostics_take(stepper, &now);
    if (status == STATUS_NUMERICS) {
        fail_clear();
    } else {
        TRY(status);
    }
    struct checkpoint_state saved = {.step = state->step,
                                     .time = state->time,
                                     .ledger = state->ledger,
                                     .boundary_heat = now.boundary_heat};
    TRY(diagnostics_field_hash(stepper, &saved.field_hash));
    return checkpoint_write_postmortem(stepper->team->comm, path, state->field, &problem->grid,
                                       &problem->medium, &saved, problem->settings->text, reason);
}

enum status postmortem(struct stepper *stepper, const char *last_checkpoint)
{
    char reason[900];
    char kept[700];
    char text[STATUS_MESSAGE_BYTES];
    char path[PATH_BYTES];
    snprintf(reason, sizeof reason, "%s", fail_message());
    enum status status =
        path_join(stepper->problem->settings->output.directory, "postmortem.h5", path);
    if (status == STATUS_OK) {
        status = write_state(stepper, path, reason);
    }
    if (status == STATUS_OK) {
        snprintf(kept, sizeof kept, "the state is kept in %.600s", path);
    } else {
        snprintf(kept, sizeof kept, "the state could not be kept (%.600s)", fail_message());
    }
    const char *valid =
        last_checkpoint[0] != '\0' ? last_checkpoint : stepper->state->restarted_from;
    if (valid[0] != '\0') {
        snprintf(
            text, sizeof text,
            "%s. %s; the last valid checkpoint is %.350s: fix the cause and resume from it with "
            "--restart",
            reason, kept, valid);
    } else {
        snprintf(text, sizeof text,
                 "%s. %s; there is no checkpoint: fix the cause and start again with --overwrite",
                 reason, kept);
    }
    fail_set_agreed(text);
    return STATUS_NUMERICS;
}
