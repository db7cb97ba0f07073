#include "output/postmortem.h"

#include <stdio.h>

#include "base/comm.h"
#include "io/checkpoint/checkpoint.h"

static enum status write_state(struct run *run, const char *path, const char *reason)
{
    struct diagnostics now = {.boundary_heat = 0};
    /* with cells that are no numbers there is no ledger; with a formula that is none there is */
    const enum status status = diagnostics_take(run, &now);
    if (status == STATUS_NUMERICS) {
        fail_clear();
    } else {
        TRY(status);
    }
    struct checkpoint_state state = {.step = run->step,
                                     .time = run_time(run),
                                     .ledger = run->ledger,
                                     .boundary_heat = now.boundary_heat};
    TRY(run_field_hash(run, &state.field_hash));
    return checkpoint_write_postmortem(run->comm, path, run->field, &run->grid, &run->material,
                                       &state, run->settings->text, reason);
}

enum status postmortem(struct run *run, const char *directory, const char *last_checkpoint)
{
    char reason[900];
    char kept[700];
    char text[STATUS_MESSAGE_BYTES];
    char path[PATH_BYTES];
    snprintf(reason, sizeof reason, "%s", fail_message());
    enum status status = path_join(directory, "postmortem.h5", path);
    if (status == STATUS_OK) {
        status = write_state(run, path, reason);
    }
    if (status == STATUS_OK) {
        snprintf(kept, sizeof kept, "the state is kept in %.600s", path);
    } else {
        snprintf(kept, sizeof kept, "the state could not be kept (%.600s)", fail_message());
    }
    const char *good = last_checkpoint[0] != '\0' ? last_checkpoint : run->restarted_from;
    if (good[0] != '\0') {
        snprintf(
            text, sizeof text,
            "%s. %s; the last good checkpoint is %.350s: mend the cause and go on from it with "
            "--restart",
            reason, kept, good);
    } else {
        snprintf(text, sizeof text,
                 "%s. %s; there is no checkpoint: mend the cause and start again with --overwrite",
                 reason, kept);
    }
    fail_set_agreed(text);
    return STATUS_NUMERICS;
}
