#include "app/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/progress.h"
#include "app/report.h"
#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint.h"
#include "io/history.h"
#include "io/picture.h"
#include "io/snapshot.h"

struct output {
    const char *directory;   /* borrowed from the settings */
    struct history *history; /* rank 0, when asked for */
    struct snapshots *snapshots;
    struct progress progress;
    struct diagnostics latest;
    bool has_latest;
    char last_picture[PATH_BYTES];
    char last_checkpoint[PATH_BYTES];
};

/* ---- the folder ------------------------------------------------------------------------------ */

/* What a run leaves directly in its folder, and in the folders below it. */
static const char *const own_files[] = {"report.json", "history.csv", "snapshots.vtkhdf",
                                        "snapshots.xdmf"};
static const char *const own_folders[] = {"checkpoints", "pictures"};
enum {
    OWN_FILES = sizeof own_files / sizeof own_files[0],
    OWN_FOLDERS = sizeof own_folders / sizeof own_folders[0],
};

static bool is_own_entry(const char *name)
{
    return strncmp(name, "step_", 5) == 0 || strcmp(name, "latest") == 0 ||
           strcmp(name, "latest.tmp") == 0;
}

/* Calls for each of the run's files below `directory`; stops when `visit` fails. */
static enum status for_each_own_file(const char *directory, enum status (*visit)(const char *path))
{
    char path[PATH_BYTES];
    for (int i = 0; i < OWN_FILES; i++) {
        TRY(path_join(directory, own_files[i], path));
        if (file_exists(path)) {
            TRY(visit(path));
        }
    }
    for (int i = 0; i < OWN_FOLDERS; i++) {
        char folder[PATH_BYTES];
        TRY(path_join(directory, own_folders[i], folder));
        DIR *stream = opendir(folder);
        enum status status = STATUS_OK;
        for (struct dirent *entry = stream != NULL ? readdir(stream) : NULL;
             entry != NULL && status == STATUS_OK; entry = readdir(stream)) {
            if (is_own_entry(entry->d_name)) {
                status = path_join(folder, entry->d_name, path);
                status = status == STATUS_OK ? visit(path) : status;
            }
        }
        if (stream != NULL) {
            closedir(stream);
        }
        TRY(status);
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
        status = for_each_own_file(run->settings->output.directory,
                                   mode == OUTPUT_FRESH ? refuse_file : refuse_finished);
    }
    return status_agree(run->comm, status);
}

static enum status prepare_folder(const struct run *run)
{
    const char *directory = run->settings->output.directory;
    TRY(directory_make(directory));
    if (!continues(run)) {
        /* output_check found that what is there may go */
        TRY(for_each_own_file(directory, remove_file));
    }
    for (int i = 0; i < OWN_FOLDERS; i++) {
        const bool wanted = i == 0 ? run->settings->output.checkpoints.every > 0
                                   : run->settings->output.pictures.every > 0;
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
        if (status == STATUS_OK && settings->output.history_every > 0) {
            status = history_open(output->directory, restart_step, &output->history);
        }
    }
    TRY(status_agree(run->comm, status));
    if (settings->output.snapshots.every > 0) {
        TRY(snapshots_open(run->comm, output->directory, &run->grid, &settings->output.snapshots,
                           settings->title, settings->text, restart_step, &output->snapshots));
    }
    return STATUS_OK;
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
        made->directory = run->settings->output.directory;
        status = open_files(run, made);
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
    /* after a failure elsewhere there is nobody to tell */
    if (history_close(output->history) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    snapshots_close(output->snapshots);
    free(output);
}

/* ---- what is due ----------------------------------------------------------------------------- */

static bool is_due(const struct run *run, int64_t every)
{
    return every > 0 && (run->step % every == 0 || run->step == run->timeline.steps);
}

static enum status refresh(struct output *output, struct run *run)
{
    if (output->has_latest && output->latest.step == run->step) {
        return STATUS_OK;
    }
    TRY(diagnostics_take(run, &output->latest));
    output->has_latest = true;
    return STATUS_OK;
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

static enum status write_checkpoint(struct output *output, struct run *run)
{
    struct checkpoint_state state = {
        .step = run->step,
        .time = run_time(run),
        .ledger = run->ledger,
        .boundary_heat = output->latest.boundary_heat,
    };
    TRY(run_field_hash(run, &state.field_hash));
    TRY(checkpoint_write(run->comm, output->directory, run->field, &run->grid, &run->material,
                         &state, run->settings->text, run->settings->output.checkpoints.keep));
    snprintf(output->last_checkpoint, PATH_BYTES, "%.4000s/checkpoints/step_%010lld.h5",
             output->directory, (long long)run->step);
    return STATUS_OK;
}

static void count_phase(struct run *run, enum phase phase, double since)
{
    run->phase_seconds[phase] += MPI_Wtime() - since;
}

static enum status write_files(struct output *output, struct run *run)
{
    const struct settings *settings = run->settings;
    double since = MPI_Wtime();
    if (is_due(run, settings->output.snapshots.every)) {
        TRY(snapshots_write(output->snapshots, run->field, run->step, run_time(run)));
        count_phase(run, PHASE_SNAPSHOTS, since);
    }
    since = MPI_Wtime();
    if (is_due(run, settings->output.pictures.every)) {
        TRY(picture_write(run->comm, output->directory, run->field, &run->grid,
                          &settings->output.pictures, settings->title, run->step, run_time(run),
                          output->latest.min, output->latest.max, output->last_picture));
        count_phase(run, PHASE_PICTURES, since);
    }
    since = MPI_Wtime();
    /* last, so that the other files are complete up to the step that a restart begins at */
    if (is_due(run, settings->output.checkpoints.every) && run->step > run->first_step) {
        TRY(write_checkpoint(output, run));
        count_phase(run, PHASE_CHECKPOINTS, since);
    }
    return STATUS_OK;
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
    const struct settings *settings = run->settings;
    const bool history = is_due(run, settings->output.history_every);
    const bool files = is_due(run, settings->output.snapshots.every) ||
                       is_due(run, settings->output.pictures.every) ||
                       is_due(run, settings->output.checkpoints.every);
    if (history || files || !output->has_latest || run->step == run->timeline.steps) {
        TRY(refresh(output, run));
    }
    if (history) {
        TRY(write_history(output, run));
    }
    if (files) {
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
    if (settings->output.history_every > 0) {
        log_info("  history      %s/history.csv", directory);
    }
    if (settings->output.snapshots.every > 0) {
        log_info("  snapshots    %s/snapshots.vtkhdf  (ParaView 5.13 and later, h5py)", directory);
        log_info("               %s/snapshots.xdmf    (ParaView 5.11, VisIt)", directory);
    }
    if (output->last_checkpoint[0] != '\0') {
        log_info("  checkpoint   %s", output->last_checkpoint);
    }
    if (output->last_picture[0] != '\0') {
        log_info("  picture      %s", output->last_picture);
    }
}

enum status output_finish(struct output *output, struct run *run, double wall)
{
    uint64_t hash = 0;
    TRY(refresh(output, run));
    TRY(run_field_hash(run, &hash));
    enum status status = STATUS_OK;
    if (run->rank == 0) {
        status = history_close(output->history);
        output->history = NULL;
        if (status == STATUS_OK) {
            status = report_write(output->directory, run, &output->latest, hash, wall);
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
