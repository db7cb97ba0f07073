#include "app/output.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/checkpoint_output.h"
#include "app/derive.h"
#include "app/output_memory.h"
#include "app/postmortem.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/sample_outputs.h"
#include "app/snapshot_outputs.h"
#include "app/watchdog.h"
#include "app/writer.h"
#include "base/comm.h"
#include "base/log.h"
#include "io/history.h"
#include "io/picture.h"

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
    char last_picture[PATH_BYTES];
};

/* ---- the folder ------------------------------------------------------------------------------ */

/* What a run leaves directly in its folder, and in the folders below it. */
static const char *const own_files[] = {"report.json", "history.csv", "probes.csv", "probes.h5",
                                        "postmortem.h5"};
static const char *const own_endings[] = {".vtkhdf", ".xdmf"};
static const char *const own_folders[] = {"checkpoints", "pictures"};
enum {
    OWN_FILES = sizeof own_files / sizeof own_files[0],
    OWN_ENDINGS = sizeof own_endings / sizeof own_endings[0],
    OWN_FOLDERS = sizeof own_folders / sizeof own_folders[0],
};

static bool is_own_entry(const char *name)
{
    return strncmp(name, "step_", 5) == 0 || strcmp(name, "latest") == 0 ||
           strcmp(name, "latest.tmp") == 0;
}

static enum status visit_folder(const char *folder, enum status (*visit)(const char *path))
{
    DIR *stream = opendir(folder);
    enum status status = STATUS_OK;
    for (struct dirent *entry = stream != NULL ? readdir(stream) : NULL;
         entry != NULL && status == STATUS_OK; entry = readdir(stream)) {
        char path[PATH_BYTES];
        if (is_own_entry(entry->d_name)) {
            status = path_join(folder, entry->d_name, path);
            status = status == STATUS_OK ? visit(path) : status;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return status;
}

/* First the files that name the others. */
static enum status visit_snapshots(const char *directory, const char *name,
                                   enum status (*visit)(const char *path))
{
    char path[PATH_BYTES];
    char file[PATH_BYTES];
    for (int i = 0; i < OWN_ENDINGS; i++) {
        snprintf(file, sizeof file, "%.200s%s", name, own_endings[i]);
        TRY(path_join(directory, file, path));
        if (file_exists(path)) {
            TRY(visit(path));
        }
    }
    TRY(path_join(directory, name, path));
    return visit_folder(path, visit);
}

/* Calls for each of the run's files in its folder; stops when `visit` fails. */
static enum status for_each_own_file(const struct settings *settings,
                                     enum status (*visit)(const char *path))
{
    const char *directory = settings->output.directory;
    char path[PATH_BYTES];
    TRY(visit_snapshots(directory, "snapshots", visit));
    for (int i = 0; i < settings->output.nregions; i++) {
        TRY(visit_snapshots(directory, settings->output.regions[i].name, visit));
    }
    for (int i = 0; i < settings->output.nlines; i++) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%.200s.csv", settings->output.lines[i].name);
        TRY(path_join(directory, name, path));
        if (file_exists(path)) {
            TRY(visit(path));
        }
    }
    for (int i = 0; i < OWN_FILES; i++) {
        TRY(path_join(directory, own_files[i], path));
        if (file_exists(path)) {
            TRY(visit(path));
        }
    }
    for (int i = 0; i < OWN_FOLDERS; i++) {
        TRY(path_join(directory, own_folders[i], path));
        TRY(visit_folder(path, visit));
    }
    return STATUS_OK;
}

/* --restart auto found no checkpoint: what a run left that ended before its first one is replaced,
 * a finished run is not. */
static enum status refuse_finished(const char *path)
{
    const char *name = strrchr(path, '/');
    if (name == NULL || strcmp(name, "/report.json") != 0) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "there is no checkpoint to restart from, and the output folder holds a finished "
                "run (%s); replace it by --overwrite instead of --restart, or choose another "
                "folder with --output",
                path);
}

static enum status refuse_file(const char *path)
{
    return fail(STATUS_INPUT,
                "the output folder already holds a run (%s); go on with it by --restart auto, "
                "replace it by --overwrite, or choose another folder with --output",
                path);
}

static enum status remove_file(const char *path)
{
    if (unlink(path) != 0) {
        return fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno));
    }
    return STATUS_OK;
}

static bool continues(const struct run *run)
{
    return run->restarted_from[0] != '\0';
}

enum status output_check(const struct run *run, enum output_mode mode)
{
    enum status status = STATUS_OK;
    if (run->rank == 0 && mode != OUTPUT_REPLACE && !continues(run)) {
        status =
            for_each_own_file(run->settings, mode == OUTPUT_FRESH ? refuse_file : refuse_finished);
    }
    return status_agree(run->comm, status);
}

static enum status prepare_folder(const struct run *run)
{
    const char *directory = run->settings->output.directory;
    TRY(directory_make(directory));
    if (!continues(run)) {
        /* output_check found that what is there may go */
        TRY(for_each_own_file(run->settings, remove_file));
    }
    for (int i = 0; i < OWN_FOLDERS; i++) {
        const bool wanted = cadence_is_on(i == 0 ? &run->settings->output.checkpoints.cadence
                                                 : &run->settings->output.pictures.cadence);
        char folder[PATH_BYTES];
        TRY(path_join(directory, own_folders[i], folder));
        if (wanted) {
            TRY(directory_make(folder));
        }
    }
    return STATUS_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static enum status open_files(struct run *run, struct output *output)
{
    const struct settings *settings = run->settings;
    const int64_t restart_step = continues(run) ? run->first_step : -1;
    enum status status = STATUS_OK;
    if (run->rank == 0) {
        status = prepare_folder(run);
        if (status == STATUS_OK && cadence_is_on(&settings->output.history)) {
            status = history_open(output->directory, restart_step, &output->history);
        }
    }
    TRY(status_agree(run->comm, status));
    TRY(status_agree(run->comm, snapshot_outputs_list(settings, &run->grid, &output->snapshots)));
    TRY(snapshot_outputs_open(run, output->writer, restart_step, &output->snapshots));
    return sample_outputs_open(run, restart_step, &output->samples);
}

/* The writer first: the files that its jobs use are opened on its communicator. */
static enum status open_all(struct run *run, struct output *output)
{
    const bool background = run->settings->output.writer == WRITER_AUTO;
    output->directory = run->settings->output.directory;
    output->checkpoints.submitted_step = -1;
    TRY(writer_create(run->comm, run->backend, run->device, background, &output->writer));
    writer_watch(output->writer, run->watchdog);
    TRY(open_files(run, output));
    return output_memory_prepare(run, &output->snapshots, output->writer);
}

enum status output_open(struct run *run, enum output_mode mode, struct output **output)
{
    *output = NULL;
    TRY(output_check(run, mode));
    struct output *made = calloc(1, sizeof *made);
    enum status status =
        made == NULL ? fail(STATUS_MEMORY, "no memory for the outputs") : STATUS_OK;
    status = status_agree(run->comm, status);
    if (status == STATUS_OK) {
        status = open_all(run, made);
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
            status =
                report_write(output->directory, run, output->writer, &output->latest, hash, wall);
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
