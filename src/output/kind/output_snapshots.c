/* Output kind: snapshots, of the whole grid and of regions, each with its own cadence. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/snapshot/snapshot.h"
#include "model/field/derived.h"
#include "output/output.h"
#include "output/run_folder.h"
#include "solve/observe/derive.h"

struct series_output {
    const char *name; /* borrowed */
    const struct snapshot_setting *setting;
    struct view view;
    struct snapshots *snapshots; /* NULL until opened */
};

struct snapshot_outputs {
    int count;
    struct series_output output[];
};

/* The next series that is on, from number *index, the whole grid before the regions; false after
 * the last. */
static bool next_series(const struct problem *problem, int *index, struct series_output *output)
{
    const struct output_setting *requests = &problem->output;
    for (; *index <= requests->nregions; (*index)++) {
        const struct region_setting *region = *index > 0 ? &requests->regions[*index - 1] : NULL;
        *output =
            region != NULL
                ? (struct series_output){.name = region->name, .setting = &region->file}
                : (struct series_output){.name = "snapshots", .setting = &requests->snapshots};
        if (!cadence_is_on(&output->setting->cadence)) {
            continue;
        }
        if (region != NULL) {
            view_create(&problem->grid, region, &output->view);
        } else {
            view_whole(&problem->grid, &output->view);
        }
        output->view.has_gaps = problem->medium.nambients > 0;
        (*index)++;
        return true;
    }
    return false;
}

static enum status check(const struct output_context *in)
{
    struct series_output output;
    for (int i = 0; next_series(in->problem, &i, &output);) {
        TRY(snapshots_check(in->problem->output.directory, output.name, &output.view,
                            output.setting, in->restart_step));
    }
    return STATUS_OK;
}

static void close_outputs(void *object)
{
    struct snapshot_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        snapshots_close(outputs->output[i].snapshots);
    }
    free(outputs);
}

/* On the writer's communicator, whose jobs use the files. */
static enum status open_series(const struct output_context *in, struct series_output *output)
{
    const struct problem *problem = in->problem;
    return snapshots_open(writer_about(in->writer).comm, problem->output.directory, output->name,
                          &output->view, output->setting, problem->title, problem->text,
                          in->restart_step, &output->snapshots);
}

static enum status open_outputs(const struct output_context *in, void **object)
{
    const size_t most = (size_t)in->problem->output.nregions + 1;
    struct series_output output;
    struct snapshot_outputs *outputs = calloc(1, sizeof *outputs + most * sizeof output);
    TRY(status_agree(in->team->comm, outputs == NULL
                                         ? fail(STATUS_MEMORY, "no memory for the list of outputs")
                                         : STATUS_OK));
    *object = outputs;
    for (int i = 0; next_series(in->problem, &i, &output);) {
        outputs->output[outputs->count] = output;
        TRY(open_series(in, &outputs->output[outputs->count++]));
    }
    return STATUS_OK;
}

struct snapshot_job {
    struct snapshots *snapshots;
    struct snapshot_capture capture;
};

static enum status write_job(MPI_Comm comm, void *context, uint64_t *bytes)
{
    const struct snapshot_job *job = context;
    TRY(snapshots_put(job->snapshots, &job->capture)); /* opened on `comm`, too */
    *bytes = comm_rank(comm) == 0 ? snapshots_size(job->snapshots, job->capture.step) : 0;
    return STATUS_OK;
}

static enum status capture(const struct series_output *output, const struct output_context *in,
                           struct snapshot_job *job)
{
    struct field *field = in->stepper->level->field;
    struct writer_room room;
    TRY(writer_reserve(in->writer, snapshots_capture_bytes(output->snapshots, field), &room));
    TRY(CHECK_MEMORY(job != NULL, "no memory for a snapshot's description"));
    job->snapshots = output->snapshots;
    TRY(engine_settle(in->engine));
    return snapshots_capture(output->snapshots, field, room.copy_out, in->state->step,
                             in->state->time, room.h_memory, &job->capture);
}

static enum status submit(const struct series_output *output, const struct output_context *in)
{
    struct snapshot_job *context = calloc(1, sizeof *context);
    const enum status status = status_agree(in->team->comm, capture(output, in, context));
    if (status != STATUS_OK || context == NULL) {
        free(context);
        return status;
    }
    const struct writer_job job = {
        .kind = in->kind, .write = write_job, .destroy = free, .context = context};
    return writer_submit(in->writer, &job);
}

static enum status write_due(void *object, const struct output_context *in)
{
    const struct snapshot_outputs *outputs = object;
    const int64_t step = in->state->step;
    for (int i = 0; i < outputs->count; i++) {
        const struct series_output *output = &outputs->output[i];
        if (timeline_is_due(&in->problem->timeline, &output->setting->cadence, step) &&
            snapshots_wants(output->snapshots, step)) {
            TRY(status_agree(in->team->comm,
                             derive_present(in->stepper, output->setting->derived)));
            TRY(submit(output, in));
        }
    }
    return STATUS_OK;
}

static void list(const void *object, const struct output_context *in)
{
    const struct snapshot_outputs *outputs = object;
    const char *directory = in->problem->output.directory;
    for (int i = 0; i < outputs->count; i++) {
        const char *name = outputs->output[i].name;
        log_info("  %-11s  %s/%s.vtkhdf  (ParaView %s and later, h5py)", i == 0 ? "snapshots" : "",
                 directory, name, grid_is_graded(&outputs->output[i].view.grid) ? "6.2" : "5.13");
        log_info("               %s/%s.xdmf    (ParaView 5.11, VisIt)", directory, name);
    }
}

static uint64_t capture_bytes(const struct problem *problem, const struct box *owned)
{
    struct series_output output;
    uint64_t most = 0;
    for (int i = 0; next_series(problem, &i, &output);) {
        const uint64_t needed = snapshot_capture_bytes(&output.view, output.setting, owned);
        most = needed > most ? needed : most;
    }
    return most;
}

static double plan(const struct problem *problem)
{
    struct series_output output;
    double total = 0;
    for (int i = 0; next_series(problem, &i, &output);) {
        char each[BYTES_TEXT];
        char all[BYTES_TEXT];
        const int64_t count = timeline_count_due(&problem->timeline, &output.setting->cadence);
        const double bytes = (double)snapshot_file_bytes(&output.view.grid, output.setting);
        printf("%-14s %" PRId64 " of %s%s = %s\n", output.name, count, bytes_text(bytes, each),
               output.setting->compress > 0 ? " before compression" : "",
               bytes_text(bytes * (double)count, all));
        total += bytes * (double)count;
    }
    return total;
}

static const char *const endings[] = {".vtkhdf", ".xdmf"};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

/* True for NAME.vtkhdf or NAME.xdmf next to a folder NAME, of any configuration. */
static bool is_series(const char *directory, const char *entry, char name[256])
{
    char path[PATH_BYTES];
    struct stat about;
    for (int i = 0; i < ENDINGS; i++) {
        if (path_ends_in(entry, endings[i])) {
            snprintf(name, 256, "%.*s", (int)(strlen(entry) - strlen(endings[i])), entry);
            return path_join(directory, name, path) == STATUS_OK && stat(path, &about) == 0 &&
                   S_ISDIR(about.st_mode);
        }
    }
    return false;
}

/* First the files that refer to the others. */
static enum status add_series(const char *directory, const char *name, struct path_list *found)
{
    for (int i = 0; i < ENDINGS; i++) {
        char file[PATH_BYTES];
        snprintf(file, sizeof file, "%.200s%s", name, endings[i]);
        TRY(folder_add_file(directory, file, found));
    }
    return folder_add_steps(directory, name, found);
}

/* Includes the series of these outputs, even if incomplete. */
static enum status files(const struct output_setting *requests, struct path_list *found)
{
    const char *directory = requests->directory;
    SCOPED_BY(path_list_free) struct path_list names = {0};
    char name[256];
    TRY(directory_list(directory, &names));
    for (int i = 0; i < names.count; i++) {
        TRY(is_series(directory, names.path[i], name) ? add_series(directory, name, found)
                                                      : STATUS_OK);
    }
    TRY(add_series(directory, "snapshots", found));
    for (int i = 0; i < requests->nregions; i++) {
        TRY(add_series(directory, requests->regions[i].name, found));
    }
    return STATUS_OK;
}

static bool is_written(const struct output_setting *requests, const char *name)
{
    if (strcmp(name, "snapshots") == 0) {
        return cadence_is_on(&requests->snapshots.cadence);
    }
    for (int i = 0; i < requests->nregions; i++) {
        const struct region_setting *region = &requests->regions[i];
        if (strcmp(name, region->name) == 0) {
            return cadence_is_on(&region->file.cadence);
        }
    }
    return false;
}

static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    const char *directory = requests->directory;
    SCOPED_BY(path_list_free) struct path_list names = {0};
    char name[256];
    TRY(directory_list(directory, &names));
    for (int i = 0; i < names.count; i++) {
        if (path_ends_in(names.path[i], ".vtkhdf") && is_series(directory, names.path[i], name) &&
            !is_written(requests, name)) {
            TRY(folder_report_uncut(name, snapshots_cut(directory, name, step)));
        }
    }
    return STATUS_OK;
}

extern const struct output_kind output_snapshots;
const struct output_kind output_snapshots = {
    .name = "snapshots",
    .section = {{"output.snapshots", "snapshots", 1000},
                {"output.regions", "snapshots of a region", 1000}},
    /* relies on run.watch: a check of its own would cost as much as the capture, and delay the
     * steps */
    .summary = SUMMARY_UNWATCHED,
    .check = check,
    .open = open_outputs,
    .close = close_outputs,
    .write = write_due,
    .list = list,
    .capture_bytes = capture_bytes,
    .plan = plan,
    .files = files,
    .roll_back = roll_back,
};
