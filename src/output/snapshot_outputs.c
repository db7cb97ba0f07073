#include "output/snapshot_outputs.h"

#include <stdlib.h>

#include "base/comm.h"
#include "solve/derive.h"

enum status snapshot_outputs_list(const struct settings *settings, const struct grid *grid,
                                  struct snapshot_outputs *outputs)
{
    const size_t most = (size_t)settings->output.nregions + 1;
    *outputs = (struct snapshot_outputs){.output = calloc(most, sizeof *outputs->output)};
    if (outputs->output == NULL) {
        return fail(STATUS_MEMORY, "no memory for the list of outputs");
    }
    if (cadence_is_on(&settings->output.snapshots.cadence)) {
        struct snapshot_output *whole = &outputs->output[outputs->count++];
        whole->name = "snapshots";
        whole->setting = &settings->output.snapshots;
        view_whole(grid, &whole->view);
    }
    for (int i = 0; i < settings->output.nregions; i++) {
        const struct region_setting *region = &settings->output.regions[i];
        if (cadence_is_on(&region->file.cadence)) {
            struct snapshot_output *part = &outputs->output[outputs->count++];
            part->name = region->name;
            part->setting = &region->file;
            view_create(grid, region, &part->view);
        }
    }
    return STATUS_OK;
}

enum status snapshot_outputs_check(const struct run *run, int64_t restart_step,
                                   const struct snapshot_outputs *outputs)
{
    for (int i = 0; i < outputs->count; i++) {
        const struct snapshot_output *output = &outputs->output[i];
        TRY(snapshots_check(run->settings->output.directory, output->name, &output->view,
                            output->setting, restart_step));
    }
    return STATUS_OK;
}

enum status snapshot_outputs_open(const struct run *run, const struct writer *writer,
                                  int64_t restart_step, struct snapshot_outputs *outputs)
{
    const struct settings *settings = run->settings;
    for (int i = 0; i < outputs->count; i++) {
        struct snapshot_output *output = &outputs->output[i];
        TRY(snapshots_open(writer_comm(writer), settings->output.directory, output->name,
                           &output->view, output->setting, settings->title, settings->text,
                           restart_step, &output->snapshots));
    }
    return STATUS_OK;
}

void snapshot_outputs_close(struct snapshot_outputs *outputs)
{
    for (int i = 0; i < outputs->count; i++) {
        snapshots_close(outputs->output[i].snapshots);
    }
    free(outputs->output);
    *outputs = (struct snapshot_outputs){0};
}

size_t snapshot_outputs_bytes(const struct snapshot_outputs *outputs, const struct field *field)
{
    size_t most = 0;
    for (int i = 0; i < outputs->count; i++) {
        const size_t bytes = snapshots_capture_bytes(outputs->output[i].snapshots, field);
        most = bytes > most ? bytes : most;
    }
    return most;
}

bool snapshot_outputs_due(const struct snapshot_outputs *outputs, const struct run *run)
{
    for (int i = 0; i < outputs->count; i++) {
        if (timeline_is_due(&run->timeline, &outputs->output[i].setting->cadence, run->step)) {
            return true;
        }
    }
    return false;
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

/* Not collective. */
static enum status capture(const struct snapshot_output *output, struct writer *writer,
                           struct run *run, struct snapshot_job *job)
{
    struct writer_room room;
    TRY(writer_reserve(writer, snapshots_capture_bytes(output->snapshots, run->field), &room));
    if (job == NULL) {
        return fail(STATUS_MEMORY, "no memory for a snapshot's description");
    }
    job->snapshots = output->snapshots;
    TRY(run_settle(run));
    return snapshots_capture(output->snapshots, run->field, room.copy_out, run->step, run_time(run),
                             room.h_memory, &job->capture);
}

static enum status submit(const struct snapshot_output *output, struct writer *writer,
                          struct run *run)
{
    struct snapshot_job *context = calloc(1, sizeof *context);
    const enum status status = status_agree(run->comm, capture(output, writer, run, context));
    if (status != STATUS_OK || context == NULL) {
        free(context);
        return status;
    }
    const struct writer_job job = {
        .kind = WRITER_SNAPSHOTS,
        .write = write_job,
        .destroy = free,
        .context = context,
    };
    return writer_submit(writer, &job);
}

enum status snapshot_outputs_submit(struct snapshot_outputs *outputs, struct writer *writer,
                                    struct run *run)
{
    for (int i = 0; i < outputs->count; i++) {
        const struct snapshot_output *output = &outputs->output[i];
        if (timeline_is_due(&run->timeline, &output->setting->cadence, run->step) &&
            snapshots_wants(output->snapshots, run->step)) {
            if (derived_wants(output->setting->derived, DERIVED_FLUX)) {
                TRY(status_agree(run->comm, derive_flux(run)));
            }
            TRY(submit(output, writer, run));
        }
    }
    return STATUS_OK;
}
