#include "output/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/hang_monitor.h"
#include "base/comm.h"
#include "base/log.h"
#include "io/picture/picture.h"
#include "io/series/history.h"
#include "output/checkpoint_output.h"
#include "output/output_memory.h"
#include "output/postmortem.h"
#include "output/progress.h"
#include "output/report.h"
#include "output/sample_outputs.h"
#include "output/snapshot_outputs.h"
#include "output/writer.h"
#include "solve/derive.h"

struct output {
    const char *directory;   /* borrowed from the settings */
    struct history *history; /* rank 0, when asked for */
    struct writer *writer;
    struct snapshot_outputs snapshots;
    struct sample_outputs samples;
    struct checkpoint_output checkpoints;
    struct progress progress;
    struct diagnostics latest;
    bool has_latest;
    bool goes_on; /* rank 0: with the folder's own run */
    char last_picture[PATH_BYTES];
};

/* ---- opening and closing --------------------------------------------------------------------- */

enum status output_check(const struct run *run, enum output_mode mode, const char *from)
{
    return status_agree(run->comm,
                        run->rank == 0 ? run_folder_check(run->settings, mode, from) : STATUS_OK);
}

/* Rank 0; nothing is changed. Can every output go on with what is there? */
static enum status check_files(const struct run *run, const struct output *output,
                               int64_t restart_step)
{
    if (cadence_is_on(&run->settings->output.history)) {
        TRY(history_check(output->directory));
    }
    TRY(snapshot_outputs_check(run, restart_step, &output->snapshots));
    return sample_outputs_check(run);
}

static enum status make_folder(const struct output *output, const char *name,
                               const struct cadence *cadence)
{
    char folder[PATH_BYTES];
    TRY(path_join(output->directory, name, folder));
    return cadence_is_on(cadence) ? directory_make(folder) : STATUS_OK;
}

/* Rank 0. `restart_step` < 0: a new run; run_folder_check found that what is there may go. */
static enum status prepare_folder(const struct run *run, const struct output *output,
                                  enum output_mode mode, int64_t restart_step)
{
    const struct settings *settings = run->settings;
    TRY(directory_make(output->directory));
    if (restart_step < 0) {
        TRY(run_folder_clear(settings));
    } else {
        TRY(check_files(run, output, restart_step));
        TRY(run_folder_take_back(settings, restart_step, mode != OUTPUT_RETRY));
    }
    TRY(make_folder(output, "checkpoints", &settings->output.checkpoints.cadence));
    return make_folder(output, "pictures", &settings->output.pictures.cadence);
}

/* Rank 0. */
static enum status start_files(const struct run *run, enum output_mode mode, struct output *output,
                               int64_t *restart_step)
{
    output->goes_on = run_folder_goes_on(output->directory, run->restarted_from);
    *restart_step = output->goes_on ? run->first_step : -1;
    TRY(prepare_folder(run, output, mode, *restart_step));
    if (cadence_is_on(&run->settings->output.history)) {
        TRY(history_open(output->directory, *restart_step, &output->history));
    }
    return STATUS_OK;
}

static enum status open_files(struct run *run, enum output_mode mode, struct output *output)
{
    const struct settings *settings = run->settings;
    int64_t restart_step = -1;
    TRY(status_agree(run->comm, snapshot_outputs_list(settings, &run->grid, &output->snapshots)));
    TRY(status_agree(run->comm,
                     run->rank == 0 ? start_files(run, mode, output, &restart_step) : STATUS_OK));
    TRY_MPI(MPI_Bcast(&restart_step, 1, MPI_INT64_T, 0, run->comm));
    TRY(snapshot_outputs_open(run, output->writer, restart_step, &output->snapshots));
    return sample_outputs_open(run, restart_step, &output->samples);
}

/* The writer first: the files that its jobs use are opened on its communicator. */
static enum status open_all(struct run *run, enum output_mode mode, struct output *output)
{
    const bool background = run->settings->output.writer == WRITER_AUTO;
    output->directory = run->settings->output.directory;
    output->checkpoints.submitted_step = -1;
    TRY(writer_create(run->comm, run->backend, run->device, background, &output->writer));
    writer_watch(output->writer, run->watchdog);
    TRY(open_files(run, mode, output));
    return output_memory_prepare(run, &output->snapshots, output->writer);
}

enum status output_open(struct run *run, enum output_mode mode, struct output **output)
{
    *output = NULL;
    TRY(output_check(run, mode, run->restarted_from));
    struct output *made = calloc(1, sizeof *made);
    enum status status =
        made == NULL ? fail(STATUS_MEMORY, "no memory for the outputs") : STATUS_OK;
    status = status_agree(run->comm, status);
    if (status == STATUS_OK) {
        status = open_all(run, mode, made);
    }
    if (status != STATUS_OK) {
        output_close(made);
        return status;
    }
    progress_start(&made->progress, run);
    *output = made;
    return STATUS_OK;
}

void output_close(struct output *output)
{
    if (output == NULL) {
        return;
    }
    /* what is recorded is why the run ends */
    struct failure reason;
    fail_keep(&reason);
    if (history_close(output->history) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    writer_destroy(output->writer); /* its jobs use the files below */
    fail_restore(&reason);
    if (comm_is_broken()) {
        return; /* and so may its thread, which could not be waited for */
    }
    snapshot_outputs_close(&output->snapshots);
    sample_outputs_close(&output->samples);
    free(output);
}

/* ---- what is due ----------------------------------------------------------------------------- */

static bool is_due(const struct run *run, const struct cadence *cadence)
{
    return timeline_is_due(&run->timeline, cadence, run->step);
}

/* What is being written is finished first: it is older than the trouble, and HDF5 is the writer's
 * until then. */
enum status output_postmortem(struct output *output, struct run *run)
{
    char reason[STATUS_MESSAGE_BYTES];
    snprintf(reason, sizeof reason, "%s", fail_message());
    if (writer_finish(output->writer) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    fail_set_agreed(reason);
    return postmortem(run, output->directory, output->checkpoints.good);
}

static enum status refresh(struct output *output, struct run *run)
{
    if (output->has_latest && output->latest.step == run->step) {
        return STATUS_OK;
    }
    enum status status = diagnostics_take(run, &output->latest);
    if (status == STATUS_OK) {
        status = watch_check(run, &output->latest);
    }
    output->has_latest = status == STATUS_OK;
    return status;
}

static enum status write_history(struct output *output, struct run *run)
{
    const struct diagnostics *d = &output->latest;
    enum status status = STATUS_OK;
    if (run->rank == 0) {
        const struct history_row row = {
            .step = d->step,
            .time = d->time,
            .dt = timeline_dt(&run->timeline, run->step > 0 ? run->step - 1 : 0),
            .min = d->min,
            .max = d->max,
            .mean = d->mean,
            .heat = d->heat,
            .boundary_heat = d->boundary_heat,
            .heat_drift = d->heat_drift,
        };
        status = history_write(output->history, &row);
    }
    return status_agree(run->comm, status);
}

/* Time that the step loop spent on an output. */
static void count_time(struct output *output, struct run *run, enum phase phase,
                       enum writer_kind kind, double since)
{
    run->phase_seconds[phase] += MPI_Wtime() - since;
    writer_expose(output->writer, kind, since);
}

static enum status submit_checkpoint(struct output *output, struct run *run)
{
    const double since = MPI_Wtime();
    watchdog_at(run, PHASE_CHECKPOINTS);
    TRY(status_agree(run->comm, history_flush(output->history)));
    TRY(sample_outputs_flush(&output->samples, output->writer, run));
    TRY(checkpoint_output_submit(&output->checkpoints, output->writer, run,
                                 output->latest.boundary_heat));
    count_time(output, run, PHASE_CHECKPOINTS, WRITER_CHECKPOINTS, since);
    return STATUS_OK;
}

static enum status write_files(struct output *output, struct run *run)
{
    const struct settings *settings = run->settings;
    double since = MPI_Wtime();
    if (snapshot_outputs_due(&output->snapshots, run)) {
        watchdog_at(run, PHASE_SNAPSHOTS);
        TRY(snapshot_outputs_submit(&output->snapshots, output->writer, run));
        count_time(output, run, PHASE_SNAPSHOTS, WRITER_SNAPSHOTS, since);
    }
    since = MPI_Wtime();
    if (is_due(run, &settings->output.pictures.cadence)) {
        const double disk_since = file_disk_seconds();
        watchdog_at(run, PHASE_PICTURES);
        TRY(picture_write(run->comm, output->directory, run->field, &run->grid,
                          &settings->output.pictures, settings->title, run->step, run_time(run),
                          output->latest.min, output->latest.max, output->last_picture));
        writer_count(output->writer, WRITER_PICTURES, 1, file_size(output->last_picture), since,
                     disk_since);
        count_time(output, run, PHASE_PICTURES, WRITER_PICTURES, since);
    }
    /* last, so that the other files are complete up to the step that a restart begins at */
    if (is_due(run, &settings->output.checkpoints.cadence) && run->step > run->first_step) {
        TRY(submit_checkpoint(output, run));
    }
    return STATUS_OK;
}

enum status output_submit_checkpoint(struct output *output, struct run *run)
{
    TRY(refresh(output, run));
    return submit_checkpoint(output, run);
}

enum status output_checkpoint(struct output *output, struct run *run)
{
    TRY(output_submit_checkpoint(output, run));
    return output_wait(output, run);
}

int64_t output_checkpoint_step(const struct output *output)
{
    return output->checkpoints.submitted_step;
}

enum status output_wait(struct output *output, struct run *run)
{
    if (output == NULL) {
        return STATUS_OK;
    }
    const double since = MPI_Wtime();
    watchdog_at(run, PHASE_CHECKPOINTS);
    TRY(writer_finish(output->writer));
    run->phase_seconds[PHASE_WRITER] += MPI_Wtime() - since;
    return STATUS_OK;
}

double output_checkpoint_seconds(const struct output *output)
{
    return writer_figures(output->writer, WRITER_CHECKPOINTS).longest_s;
}

/* A summary for the progress line alone costs about half a step: seldom, then. */
enum { STEPS_BETWEEN_SUMMARIES = 50 };

static enum status show_progress(struct output *output, struct run *run)
{
    if (!progress_is_due(&output->progress, run)) {
        return STATUS_OK;
    }
    if (run->step - output->latest.step >= STEPS_BETWEEN_SUMMARIES) {
        TRY(refresh(output, run));
    }
    return progress_show(&output->progress, run, &output->latest);
}

enum status output_see_to(struct output *output, struct run *run)
{
    if (output == NULL) {
        return STATUS_OK;
    }
    TRY(writer_poll(output->writer));
    TRY(derive_sample(run));
    const struct settings *settings = run->settings;
    const bool history = is_due(run, &settings->output.history);
    const bool snapshots = snapshot_outputs_due(&output->snapshots, run);
    const bool looked_at = is_due(run, &settings->output.pictures.cadence) ||
                           is_due(run, &settings->output.checkpoints.cadence);
    /* a snapshot goes by the watch: a look of its own would cost as much as its capture, and the
     * steps would wait for it */
    if (history || looked_at || (snapshots && settings->run.watch_every == 0) ||
        !output->has_latest || run->step == run->timeline.steps || watch_is_due(run)) {
        TRY(refresh(output, run));
    }
    if (history) {
        watchdog_at(run, PLACE_HISTORY);
        TRY(write_history(output, run));
    }
    const double since = MPI_Wtime();
    if (sample_outputs_due(&output->samples, run)) {
        TRY(sample_outputs_take(&output->samples, output->writer, run));
        count_time(output, run, PHASE_PROBES, WRITER_PROBES, since);
    }
    if (snapshots || looked_at) {
        TRY(write_files(output, run));
    }
    return show_progress(output, run);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void name_files(const struct output *output, const struct run *run)
{
    const struct settings *settings = run->settings;
    const char *directory = output->directory;
    log_info("  report       %s/report.json", directory);
    if (cadence_is_on(&settings->output.history)) {
        log_info("  history      %s/history.csv", directory);
    }
    for (int i = 0; i < output->snapshots.count; i++) {
        const char *name = output->snapshots.output[i].name;
        log_info("  %-11s  %s/%s.vtkhdf  (ParaView 5.13 and later, h5py)",
                 i == 0 ? "snapshots" : "", directory, name);
        log_info("               %s/%s.xdmf    (ParaView 5.11, VisIt)", directory, name);
    }
    for (int i = 0; i < output->samples.count; i++) {
        const char *name = output->samples.output[i].name;
        log_info("  %-11s  %s/%s.csv  (and probes.h5)", name != NULL ? "line" : "probes", directory,
                 name != NULL ? name : "probes");
    }
    if (output->checkpoints.good[0] != '\0') {
        log_info("  checkpoint   %s", output->checkpoints.good);
    }
    if (output->last_picture[0] != '\0') {
        log_info("  picture      %s", output->last_picture);
    }
}

/* Rank 0. A restart that found nothing to do leaves the record of the run that did it. */
static enum status finish_report(const struct output *output, const struct run *run, uint64_t hash,
                                 double wall)
{
    char path[PATH_BYTES];
    TRY(path_join(output->directory, "report.json", path));
    if (output->goes_on && run->step == run->first_step && file_exists(path)) {
        log_info("%s stays as the run left it that came this far", path);
        return STATUS_OK;
    }
    return report_write(output->directory, run, output->writer, &output->latest, hash, wall);
}

enum status output_finish(struct output *output, struct run *run, double wall)
{
    uint64_t hash = 0;
    watchdog_at(run, PLACE_END);
    TRY(refresh(output, run));
    TRY(sample_outputs_flush(&output->samples, output->writer, run));
    TRY(run_field_hash(run, &hash));
    enum status status = STATUS_OK;
    if (run->rank == 0) {
        status = history_close(output->history);
        output->history = NULL;
        if (status == STATUS_OK) {
            status = finish_report(output, run, hash, wall);
        }
    }
    TRY(status_agree(run->comm, status));
    const int64_t steps = run->step - run->first_step;
    const struct diagnostics *d = &output->latest;
    log_transient("%s", "");
    log_info("done: step %lld, t = %.6g s; %lld steps in %.2f s, %.3g Gcell/s",
             (long long)run->step, run_time(run), (long long)steps, wall,
             wall > 0 ? (double)steps * (double)grid_total_cells(&run->grid) / wall * 1e-9 : 0.0);
    log_info("temperature  %.6g .. %.6g K, mean %.9g K; heat drift %.3g J of %.6g J", d->min,
             d->max, d->mean, d->heat_drift, d->heat);
    log_info("field hash   %016llx", (unsigned long long)hash);
    name_files(output, run);
    return STATUS_OK;
}
