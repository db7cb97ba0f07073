#include "solve/start/restart.h"

#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "solve/observe/diagnostics.h"
#include "solve/scheme/step_scheme.h"

struct judge {
    const struct settings *settings;
    struct settings_changes *changes;
    bool may_change;
};

static bool is_refused(const struct settings_change *change, bool may_change)
{
    return change->restart == SCHEMA_RESTART_NEVER ||
           (change->restart == SCHEMA_RESTART_ASK && !may_change);
}

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
    return fail(STATUS_INPUT, "the configuration differs from the checkpoint's: %s%s. %s", keys,
                more,
                never ? "The shape of the field cannot change: restore the value, or start a new "
                        "run from this field with `initial: file` and `interpolate: true`"
                      : "Restore the value, or add --restart-changed if the change is intended");
}

/* The changes are reported only after the file has been loaded: it may be damaged. */
static enum status judge(void *context, const char *path, const char *config_text)
{
    const struct judge *judge = context;
    struct settings_changes *changes = judge->changes;
    struct settings *before = NULL;
    settings_changes_free(changes);
    if (settings_read_text(path, config_text, NULL, 0, &before) != STATUS_OK) {
        /* another version; the attributes of the file are still checked */
        log_warn("the changes since %s was written cannot be determined: %s", path, fail_message());
        fail_clear();
        return STATUS_OK;
    }
    const enum status status = settings_compare(before, judge->settings, changes);
    settings_destroy(before);
    TRY(status);
    for (int i = 0; i < changes->count; i++) {
        if (is_refused(&changes->change[i], judge->may_change)) {
            return refuse(changes, judge->may_change);
        }
    }
    return STATUS_OK;
}

static void report_changes(const struct settings_changes *changes)
{
    char text[CHANGE_TEXT_BYTES];
    for (int i = 0; i < changes->count; i++) {
        const struct settings_change *change = &changes->change[i];
        settings_change_text(change, text);
        if (change->restart == SCHEMA_RESTART_FREE) {
            log_info("  %s", text);
        } else if (change->restart == SCHEMA_RESTART_IDLE) {
            log_info("  %s: no effect, the checkpoint holds the state", text);
        } else {
            log_warn("%s: the following steps use the new value", text);
        }
    }
}

/* The sums of the ledger belong to the coefficients of the run that wrote them. If those have
 * changed (time step, boundary value or type), the heat so far is booked and the sums restart. */
static enum status continue_ledger(struct stepper *stepper, const struct checkpoint_state *saved)
{
    const struct problem *problem = stepper->problem;
    struct ledger *ledger = &stepper->state->ledger;
    struct heat_operator op;
    *ledger = saved->ledger;
    TRY(stepper_operator_before(stepper, &op));
    const double heat = ledger_boundary_heat(ledger, problem, &op);
    if (saved->changed) {
        ledger->source_booked_J = saved->source_heat;
        ledger->source_sum = (struct exact_sum){{0}};
    }
    if (saved->changed || heat != saved->boundary_heat) {
        ledger->booked_J = saved->boundary_heat;
        memset(ledger->face_sum, 0, sizeof ledger->face_sum);
        memset(ledger->b_sum, 0, sizeof ledger->b_sum);
        ledger->surface_sum = (struct exact_sum){{0}};
    }
    return STATUS_OK;
}

/* The same temperatures now mean another heat: the difference did not pass a boundary. */
static enum status balance_ledger(struct stepper *stepper)
{
    struct diagnostics now;
    TRY(diagnostics_take(stepper, &now));
    ledger_forgive(&stepper->state->ledger, stepper->problem, now.heat_drift);
    return STATUS_OK;
}

/* Take step, time and ledger from a checkpoint whose temperatures are in the field. With the same
 * settings the run continues bitwise as if uninterrupted; with another time step or end, the new
 * steps begin at the checkpoint's time. If the heat is redefined (saved->changed), the ledger's
 * drift restarts at 0. */
static enum status continue_state(struct stepper *stepper, struct problem *problem,
                                  const struct checkpoint_state *saved)
{
    struct state *state = stepper->state;
    state->step = saved->step;
    state->first_step = saved->step;
    state->control = saved->control;
    TRY(step_scheme_restore(stepper, problem));
    if ((problem->time.adapt_every > 0 || problem->time.by_tolerance) && saved->adapted_dt > 0) {
        TRY(timeline_restore(&problem->timeline, saved->adapted_step, saved->adapted_time,
                             saved->adapted_dt));
    }
    TRY(timeline_continue(&problem->timeline, saved->step, saved->time));
    state->time = timeline_time(&problem->timeline, saved->step);
    TRY(continue_ledger(stepper, saved));
    return saved->changed ? balance_ledger(stepper) : STATUS_OK;
}

enum status restart_from(struct stepper *stepper, struct problem *problem, const char *from,
                         bool may_change, bool *found)
{
    MPI_Comm comm = stepper->team->comm;
    struct state *state = stepper->state;
    struct judge context = {
        .settings = problem->settings, .changes = &state->changes, .may_change = may_change};
    const struct checkpoint_reader reader = {.comm = comm,
                                             .field = stepper->level->field,
                                             .grid = &problem->grid,
                                             .material = &problem->medium,
                                             .judge = judge,
                                             .context = &context,
                                             .may_change = may_change};
    struct checkpoint_state saved;
    *found = true;
    if (strcmp(from, "auto") == 0) {
        TRY(checkpoint_read_newest(&reader, problem->output.directory, &saved, found,
                                   state->restarted_from));
    } else {
        TRY(checkpoint_read(&reader, from, &saved));
        snprintf(state->restarted_from, PATH_BYTES, "%s", from);
    }
    if (!*found) {
        state->restarted_from[0] = '\0';
        return STATUS_OK;
    }
    TRY(status_agree(
        comm, classes_set_ambients(stepper->level->classes, problem, stepper->level->field)));
    stepper->level->d_held[0] = NULL; /* the next field may hold anything */
    TRY(status_agree(comm, stepper_show(stepper, !saved.has_enthalpy)));
    TRY(continue_state(stepper, problem, &saved));
    log_info("restart from %s: step %lld, t = %.6g s", state->restarted_from, (long long)saved.step,
             saved.time);
    report_changes(&state->changes);
    return STATUS_OK;
}
