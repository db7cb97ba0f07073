/* Go on from a checkpoint. */
#include "app/restart.h"

#include <string.h>

#include "base/log.h"

/* ---- what has changed -------------------------------------------------------------------------
 */

struct judge {
    struct run *run;
    bool may_change;
};

static bool is_refused(const struct settings_change *change, bool may_change)
{
    return change->restart == SCHEMA_RESTART_NEVER ||
           (change->restart == SCHEMA_RESTART_ASK && !may_change);
}

/* One message for all keys: what they were and are, and what to do. */
static enum status refuse(const struct settings_changes *changes, bool may_change)
{
    char keys[STATUS_MESSAGE_BYTES - 512] = "";
    char text[CHANGE_TEXT_BYTES];
    bool never = false;
    int left_out = 0;
    for (int i = 0; i < changes->count; i++) {
        const struct settings_change *change = &changes->change[i];
        if (!is_refused(change, may_change)) {
            continue;
        }
        const size_t used = strlen(keys);
        never = never || change->restart == SCHEMA_RESTART_NEVER;
        settings_change_text(change, text);
        if (used + strlen(text) + 3 > sizeof keys) {
            left_out++;
        } else {
            snprintf(keys + used, sizeof keys - used, "%s%s", used > 0 ? "; " : "", text);
        }
    }
    char more[48] = "";
    if (left_out > 0) {
        snprintf(more, sizeof more, " and %d more", left_out);
    }
    return fail(STATUS_INPUT, "the configuration is not the one it was written with: %s%s. %s",
                keys, more,
                never ? "A state keeps its cells: set them back, or begin a new run from a field "
                        "of the new shape with `initial: file`"
                      : "Set it back, or give --restart-changed as well if that is what you mean");
}

/* Of a file that may yet turn out to be damaged: nothing is told before it is loaded. */
static enum status judge(void *context, const char *path, const char *config_text)
{
    const struct judge *judge = context;
    struct settings_changes *changes = &judge->run->changes;
    struct settings *before = NULL;
    settings_changes_free(changes);
    if (settings_read_text(path, config_text, NULL, 0, &before) != STATUS_OK) {
        /* of another version; the file's attributes are still checked */
        log_warn("what has changed since %s was written cannot be told: %s", path, fail_message());
        fail_clear();
        return STATUS_OK;
    }
    const enum status status = settings_compare(before, judge->run->settings, changes);
    settings_destroy(before);
    TRY(status);
    for (int i = 0; i < changes->count; i++) {
        if (is_refused(&changes->change[i], judge->may_change)) {
            return refuse(changes, judge->may_change);
        }
    }
    return STATUS_OK;
}

static void tell(const struct settings_changes *changes)
{
    char text[CHANGE_TEXT_BYTES];
    for (int i = 0; i < changes->count; i++) {
        const struct settings_change *change = &changes->change[i];
        settings_change_text(change, text);
        if (change->restart == SCHEMA_RESTART_FREE) {
            log_info("  %s", text);
        } else if (change->restart == SCHEMA_RESTART_IDLE) {
            log_info("  %s: without effect, the state is the checkpoint's", text);
        } else {
            log_warn("%s: what follows is computed with the new value", text);
        }
    }
}

/* ---- the ledger -------------------------------------------------------------------------------
 */

/* The ledger's sums count with the coefficients of the run that wrote them. With others (the time
 * step, a boundary value or its type was changed) what came so far is booked, and new sums start.
 */
static enum status continue_ledger(struct run *run, const struct checkpoint_state *state)
{
    struct closure closure;
    double r[AXIS_COUNT];
    run->ledger = state->ledger;
    TRY(step_coefficients(run, run->step > 0 ? run->step - 1 : 0, &closure, r));
    const double heat = ledger_boundary_heat(&run->ledger, &run->grid, &run->material, &closure, r);
    if (state->changed || heat != state->boundary_heat) {
        run->ledger.booked_J = state->boundary_heat;
        memset(run->ledger.face_sum, 0, sizeof run->ledger.face_sum);
        memset(run->ledger.b_sum, 0, sizeof run->ledger.b_sum);
    }
    return STATUS_OK;
}

/* The same temperatures are another heat now: what the change alone added came through nothing. */
static enum status balance_ledger(struct run *run)
{
    struct diagnostics now;
    TRY(diagnostics_take(run, &now));
    ledger_forgive(&run->ledger, &run->grid, &run->material, now.heat_drift);
    return STATUS_OK;
}

enum status run_continue(struct run *run, const struct checkpoint_state *state)
{
    run->step = state->step;
    run->first_step = state->step;
    TRY(timeline_continue(&run->timeline, run->settings, state->step, state->time));
    TRY(continue_ledger(run, state));
    return state->changed ? balance_ledger(run) : STATUS_OK;
}

enum status restart_from(struct run *run, const char *from, bool may_change, bool *found)
{
    struct judge context = {.run = run, .may_change = may_change};
    const struct checkpoint_terms terms = {
        .judge = judge, .context = &context, .may_change = may_change};
    struct checkpoint_state state;
    *found = true;
    if (strcmp(from, "auto") == 0) {
        TRY(checkpoint_read_newest(run->comm, run->settings->output.directory, run->field,
                                   &run->grid, &run->material, &terms, &state, found,
                                   run->restarted_from));
    } else {
        TRY(checkpoint_read(run->comm, from, run->field, &run->grid, &run->material, &terms,
                            &state));
        snprintf(run->restarted_from, PATH_BYTES, "%s", from);
    }
    if (!*found) {
        run->restarted_from[0] = '\0';
        return STATUS_OK;
    }
    TRY(run_continue(run, &state));
    log_info("restart from %s: step %lld, t = %.6g s", run->restarted_from, (long long)state.step,
             state.time);
    tell(&run->changes);
    return STATUS_OK;
}
