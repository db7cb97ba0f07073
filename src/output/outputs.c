#include "output/outputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "model/field/quantity.h"
#include "output/kind/output_checkpoints.h"
#include "output/report.h"
#include "output/run_lock.h"
#include "solve/observe/derive.h"
#include "solve/observe/diagnostics.h"

/* The minimum interval of summaries for the progress line: each costs about half a step. */
enum { STEPS_BETWEEN_SUMMARIES = 50 };

struct due {
    const struct cadence *cadence; /* borrowed */
    int kind;
};

struct outputs {
    struct output_context in;
    struct writer *writer;
    void *object[OUTPUT_KINDS]; /* NULL: that kind is off */
    struct due *due;
    int ndue;
    struct progress progress;
    struct diagnostics latest;
    bool has_latest;
    bool continued;       /* rank 0: this run continues the run in the folder */
    struct run_lock lock; /* rank 0 */
};

static struct checkpoint_output *checkpoints(const struct outputs *o)
{
    return o->object[output_number(&output_checkpoints)];
}

static const struct output_context *context(struct outputs *o, int kind)
{
    o->in.kind = kind;
    return &o->in;
}

/* ---- opening and closing ---- */

enum status outputs_check(const struct team *team, const struct output_setting *requests,
                          enum output_mode mode, const char *from)
{
    enum status status = STATUS_OK;
    if (team->rank == 0) {
        TRY_GOTO(run_lock_check(requests->directory));
        TRY_GOTO(run_folder_check(requests, mode, from));
    }
done:
    return status_agree(team->comm, status);
}

static enum status list_cadences(struct outputs *o)
{
    const struct output_setting *requests = &o->in.problem->output;
    const struct cadence *cadence = NULL;
    char key[CADENCE_KEY_BYTES];
    int count = 0;
    while (settings_cadence(requests, count, key) != NULL) {
        count++;
    }
    o->due = calloc((size_t)count + 1, sizeof *o->due);
    TRY(CHECK_MEMORY(o->due != NULL, "no memory for the list of outputs"));
    for (int i = 0; i < count; i++) {
        const struct output_kind *kind = NULL;
        cadence = settings_cadence(requests, i, key);
        if (cadence_is_on(cadence) && output_section_of(key, &kind) != NULL) {
            o->due[o->ndue++] = (struct due){.cadence = cadence, .kind = output_number(kind)};
        }
    }
    return STATUS_OK;
}

static bool is_on(const struct outputs *o, int kind)
{
    for (int d = 0; d < o->ndue; d++) {
        if (o->due[d].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Rank 0. All outputs are checked before anything is changed. */
static enum status prepare_folder(struct outputs *o, enum output_mode mode)
{
    const struct output_setting *requests = &o->in.problem->output;
    const struct state *state = o->in.state;
    o->continued = run_folder_is_continued(requests->directory, state->restarted_from);
    o->in.restart_step = o->continued ? state->first_step : -1;
    TRY(directory_make(requests->directory));
    TRY(run_lock_take(requests->directory, &o->lock));
    TRY(run_folder_check(requests, mode, state->restarted_from));
    if (!o->continued) {
        return run_folder_clear(requests);
    }
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (output_kinds[k]->check != NULL && is_on(o, k)) {
            TRY(output_kinds[k]->check(context(o, k)));
        }
    }
    return run_folder_roll_back(requests, state->first_step, mode != OUTPUT_RETRY);
}

/* Allocate memory for the largest capture before the first step. Collective. */
static enum status prepare_memory(const struct outputs *o)
{
    const struct team *team = o->in.team;
    const struct engine *engine = o->in.engine;
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    const struct output_memory need = output_memory_need(o->in.problem, &owned);
    const size_t most = (size_t)(need.host_bytes / WRITER_SLOTS);
    TRY(status_agree(team->comm, writer_prepare(o->writer, most)));
    if (!backend_has(engine->backend, BACKEND_FREE_COPIES)) {
        return STATUS_OK; /* background copies would take memory bandwidth from the steps */
    }
    return writer_copy_in_background(o->writer, engine->bulk_queue, most, engine->room_for_copies);
}

/* The writer first: its jobs' files are opened on its communicator. */
static enum status open_all(struct outputs *o, enum output_mode mode)
{
    const struct team *team = o->in.team;
    const struct engine *engine = o->in.engine;
    const bool background = o->in.problem->output.writer == WRITER_AUTO;
    TRY(status_agree(team->comm, list_cadences(o)));
    TRY(writer_create(team->comm, engine->backend, engine->device, background,
                      o->in.stepper->level->phases, &o->writer));
    o->in.writer = o->writer;
    TRY(status_agree(team->comm, team->rank == 0 ? prepare_folder(o, mode) : STATUS_OK));
    TRY_MPI(MPI_Bcast(&o->in.restart_step, 1, MPI_INT64_T, 0, team->comm));
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        o->in.stepper->level->phases->name[PHASE_OUTPUTS + k] = output_kinds[k]->name;
        TRY(output_kinds[k]->open(context(o, k), &o->object[k]));
    }
    return prepare_memory(o);
}

enum status outputs_open(struct stepper *stepper, enum output_mode mode, struct outputs **outputs)
{
    const struct team *team = stepper->team;
    *outputs = NULL;
    struct outputs *built = calloc(1, sizeof *built);
    TRY(status_agree(team->comm,
                     built == NULL ? fail(STATUS_MEMORY, "no memory for the outputs") : STATUS_OK));
    built->in = (struct output_context){.problem = stepper->problem,
                                        .team = team,
                                        .engine = stepper->level->engine,
                                        .state = stepper->state,
                                        .stepper = stepper,
                                        .restart_step = -1,
                                        .summary = &built->latest,
                                        .objects = built->object};
    const enum status status = open_all(built, mode);
    if (status != STATUS_OK) {
        outputs_close(built, status);
        return status;
    }
    progress_start(&built->progress, stepper);
    *outputs = built;
    return STATUS_OK;
}

void outputs_close(struct outputs *o, enum status status)
{
    if (o == NULL) {
        return;
    }
    struct failure reason = {.code = STATUS_OK};
    fail_keep(status, &reason);
    writer_destroy(o->writer); /* its jobs use the files closed below */
    (void)fail_restore(&reason);
    if (comm_is_broken()) {
        return; /* the writer's thread may still use them */
    }
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (o->object[k] != NULL) {
            output_kinds[k]->close(o->object[k]);
        }
    }
    run_lock_release(&o->lock);
    (void)fail_restore(&reason);
    free(o->due);
    free(o);
}

/* ---- what is due ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t outputs_next(const struct outputs *o)
{
    const struct problem *problem = o->in.problem;
    const int64_t step = o->in.state->step;
    /* to poll the writer after each pass */
    int64_t next = writer_is_busy(o->writer) ? step + o->in.stepper->passes.steps : INT64_MAX;
    for (int d = 0; d < o->ndue; d++) {
        const int64_t due = timeline_next_due(&problem->timeline, o->due[d].cadence, step);
        next = due >= 0 ? earlier(next, due) : next;
    }
    next = earlier(next, derive_next(o->in.stepper));
    next = earlier(next, numerics_check_next(o->in.stepper));
    return earlier(next, o->progress.next_step);
}

static unsigned kinds_due(const struct outputs *o, int64_t step)
{
    unsigned due = 0;
    for (int d = 0; d < o->ndue; d++) {
        if (timeline_is_due(&o->in.problem->timeline, o->due[d].cadence, step)) {
            due |= 1U << (unsigned)o->due[d].kind;
        }
    }
    return due;
}

bool outputs_summarise(const struct outputs *o, int64_t step)
{
    const unsigned due = kinds_due(o, step);
    const bool unwatched = o->in.problem->run.watch_every == 0;
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        const enum output_summary summary = output_kinds[k]->summary;
        if ((due >> (unsigned)k & 1U) != 0 &&
            (summary == SUMMARY_ALWAYS || (summary == SUMMARY_UNWATCHED && unwatched))) {
            return true;
        }
    }
    return !o->has_latest || step == o->in.problem->timeline.steps ||
           numerics_check_is_due(o->in.stepper, step);
}

bool outputs_read_line(const struct outputs *o, int64_t step)
{
    const unsigned others = kinds_due(o, step) & ~(1U << OUTPUT_KIND_history);
    return outputs_summarise(o, step) && others == 0 && derive_next(o->in.stepper) == INT64_MAX;
}

/* Collective. Compute the summary of the current step, and check it at the end of a step. */
static enum status refresh(struct outputs *o)
{
    if (o->has_latest && o->latest.step == o->in.state->step) {
        return STATUS_OK;
    }
    o->has_latest = false;
    TRY(diagnostics_take(o->in.stepper, &o->latest));
    if (!timeline_is_between(&o->in.problem->timeline, o->in.state->step)) {
        TRY(numerics_check(o->in.stepper, &o->latest));
    }
    o->has_latest = true;
    return STATUS_OK;
}

/* Collective. `write`: of the kind, or an alternative for the same files. */
static enum status write_kind(struct outputs *o, int kind,
                              enum status (*write)(void *object, const struct output_context *in))
{
    const double since = MPI_Wtime();
    SCOPED_PHASE(o->in.stepper->level->phases, PHASE_OUTPUTS + kind);
    TRY(output_kinds[kind]->reads_enthalpy ? STATUS_OK : stepper_show_due(o->in.stepper));
    TRY(write(o->object[kind], context(o, kind)));
    writer_expose(o->writer, kind, since);
    return STATUS_OK;
}

/* Collective. */
static enum status queue_kinds(struct outputs *o, unsigned due)
{
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if ((due >> (unsigned)k & 1U) != 0 && o->object[k] != NULL &&
            output_kinds[k]->queue != NULL) {
            TRY(stepper_show_due(o->in.stepper));
            TRY(output_kinds[k]->queue(o->object[k], context(o, k)));
        }
    }
    return STATUS_OK;
}

/* Collective. */
static enum status show_progress(struct outputs *o)
{
    const struct stepper *stepper = o->in.stepper;
    if (o->in.state->step < o->progress.next_step ||
        timeline_is_between(&o->in.problem->timeline, o->in.state->step) ||
        o->in.state->step >= o->in.problem->timeline.steps) {
        return STATUS_OK;
    }
    if (o->in.state->step - o->latest.step >= STEPS_BETWEEN_SUMMARIES) {
        TRY(refresh(o));
    }
    return progress_show(&o->progress, stepper, &o->latest);
}

enum status outputs_write(struct outputs *o)
{
    TRY(writer_poll(o->writer));
    SCOPED_PHASE(o->in.stepper->level->phases, PHASE_DIAGNOSTICS);
    const unsigned due = kinds_due(o, o->in.state->step);
    if (outputs_summarise(o, o->in.state->step)) {
        TRY(queue_kinds(o, due));
        TRY(refresh(o)); /* before a sample is taken of values that may be invalid */
    }
    TRY(derive_sample(o->in.stepper));
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if ((due >> (unsigned)k & 1U) != 0 && o->object[k] != NULL) {
            TRY(write_kind(o, k, output_kinds[k]->write));
        }
    }
    return show_progress(o);
}

/* ---- checkpoints on request ---- */

static enum status submit_checkpoint(void *object, const struct output_context *in)
{
    return checkpoint_output_submit(object, in);
}

enum status outputs_checkpoint(struct outputs *o, bool wait)
{
    const int kind = output_number(&output_checkpoints);
    TRY(refresh(o));
    TRY(write_kind(o, kind, submit_checkpoint));
    SCOPED_PHASE(o->in.stepper->level->phases, PHASE_OUTPUTS + kind);
    return wait ? writer_finish(o->writer) : STATUS_OK;
}

int64_t outputs_checkpoint_step(const struct outputs *o)
{
    return checkpoints(o)->submitted_step;
}

double outputs_checkpoint_seconds(const struct outputs *o)
{
    return writer_figures(o->writer, output_number(&output_checkpoints)).longest_s;
}

enum status outputs_keep_folder(struct outputs *o)
{
    return run_lock_touch(&o->lock);
}

/* ---- the end ---- */

enum status outputs_wait(struct outputs *o)
{
    SCOPED_PHASE(o->in.stepper->level->phases, PHASE_WRITER);
    return writer_finish(o->writer);
}

static enum status write_state(struct stepper *stepper, const char *reason, char path[PATH_BYTES])
{
    const struct problem *problem = stepper->problem;
    const struct state *state = stepper->state;
    struct diagnostics now = {.boundary_heat = 0};
    TRY(path_join(problem->output.directory, "postmortem.h5", path));
    /* invalid cells leave no ledger; an invalid boundary formula does */
    const enum status status = diagnostics_take(stepper, &now);
    if (status == STATUS_NUMERICS) {
        fail_clear();
    } else {
        TRY(status);
    }
    struct checkpoint_state saved = {.step = state->step,
                                     .time = state->time,
                                     .ledger = state->ledger,
                                     .boundary_heat = now.boundary_heat,
                                     .source_heat = now.source_heat};
    TRY(diagnostics_field_hash(stepper, &saved.field_hash));
    return checkpoint_write_postmortem(stepper->team->comm, path, stepper->level->field,
                                       &problem->grid, &problem->medium, &saved, problem->text,
                                       reason);
}

static enum status write_postmortem(struct stepper *stepper, const char *reason,
                                    const char *last_checkpoint)
{
    char kept[700];
    char text[STATUS_MESSAGE_BYTES];
    char path[PATH_BYTES];
    if (write_state(stepper, reason, path) == STATUS_OK) {
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

/* Jobs in flight are finished first: they are older than the failure, and use HDF5 until then. A
 * checkpoint that was given up makes room. */
enum status outputs_postmortem(struct outputs *o)
{
    char reason[900];
    snprintf(reason, sizeof reason, "%s", fail_message());
    if (writer_finish(o->writer) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    if (o->in.team->rank == 0 &&
        checkpoint_remove_temporaries(o->in.problem->output.directory) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    return write_postmortem(o->in.stepper, reason, checkpoints(o)->valid);
}

/* Rank 0. A restart without further steps keeps the report of the earlier run. */
static enum status write_report(const struct outputs *o, uint64_t hash, const struct run_cost *cost)
{
    const struct state *state = o->in.state;
    const char *directory = o->in.problem->output.directory;
    char path[PATH_BYTES];
    TRY(path_join(directory, "report.json", path));
    if (o->continued && state->step == state->first_step && file_exists(path)) {
        log_info("%s kept: an earlier run had already reached this step", path);
        return STATUS_OK;
    }
    return report_write(path, o->in.stepper, o->writer, &o->latest, hash, cost);
}

/* Small steps in float32 round away what they add. */
static enum status warn_of_drift(const struct outputs *o)
{
    const struct problem *problem = o->in.problem;
    const double drift = fabs(o->latest.heat_drift);
    struct heat_operator op;
    TRY(stepper_operator_before(o->in.stepper, &op));
    const double through = ledger_turnover(&o->in.state->ledger, problem, &op);
    if (through > 0 && drift > 0.01 * through) {
        char unit[SCHEMA_UNIT_BYTES];
        log_warn("rounding changed the heat by %.3g %s, %.3g %% of the %.3g %s that passed the "
                 "boundary or came from sources; %s",
                 drift, quantity_unit("J", unit), 100 * drift / through, through, unit,
                 problem->precision == PRECISION_FLOAT32 ? "use run.precision: float64"
                                                         : "the steps are very small");
    }
    return STATUS_OK;
}

static void print_result(struct outputs *o, uint64_t hash, double wall)
{
    const struct problem *problem = o->in.problem;
    const struct diagnostics *d = &o->latest;
    const int64_t steps = o->in.state->step - o->in.state->first_step;
    const double cells = (double)grid_total_cells(&problem->grid);
    if (problem->time.scheme != SCHEME_STEADY) {
        log_info("done: step %lld, t = %.6g s; %lld step%s in %.2f s, %.3g Gcell/s",
                 (long long)o->in.state->step, o->in.state->time, (long long)steps,
                 steps == 1 ? "" : "s", wall, wall > 0 ? (double)steps * cells / wall * 1e-9 : 0.0);
    }
    const struct quantity_setting *q = quantity_used();
    char unit[SCHEMA_UNIT_BYTES];
    log_info("%-12s %.6g .. %.6g %s, mean %.9g %s; %s drift %.3g %s of %.6g %s", q->name, d->min,
             d->max, q->unit, d->mean, q->unit, quantity_content(), d->heat_drift,
             quantity_unit("J", unit), d->heat, unit);
    log_info("field hash   %016llx", (unsigned long long)hash);
    log_info("  report       %s/report.json", problem->output.directory);
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (o->object[k] != NULL) {
            output_kinds[k]->list(o->object[k], context(o, k));
        }
    }
}

enum status outputs_finish(struct outputs *o, const struct run_cost *cost)
{
    const struct team *team = o->in.team;
    uint64_t hash = 0;
    phases_enter(o->in.stepper->level->phases, PHASE_END);
    TRY(refresh(o));
    TRY(status_agree(team->comm, team->rank == 0 ? output_flush(o->object) : STATUS_OK));
    TRY(diagnostics_field_hash(o->in.stepper, &hash));
    TRY(status_agree(team->comm, team->rank == 0 ? write_report(o, hash, cost) : STATUS_OK));
    print_result(o, hash, cost->wall_s);
    return warn_of_drift(o);
}
