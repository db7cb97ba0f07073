#include "output/checkpoint_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "base/file.h"
#include "io/checkpoint/checkpoint.h"

/* All that the write half needs; settings, grid and material stay as they are during a run. */
struct checkpoint_job {
    struct checkpoint_output *output;
    const struct run *run;
    struct checkpoint_part part;
    struct checkpoint_state state;
};

static enum status write_job(MPI_Comm comm, void *context, uint64_t *bytes)
{
    const struct checkpoint_job *job = context;
    const struct run *run = job->run;
    const struct settings *settings = run->settings;
    TRY(checkpoint_put(comm, settings->output.directory, &job->part, &run->grid, &run->material,
                       &job->state, settings->text, settings->output.checkpoints.keep));
    snprintf(job->output->good, PATH_BYTES, "%.4000s/checkpoints/step_%010lld.h5",
             settings->output.directory, (long long)job->state.step);
    *bytes = comm_rank(comm) == 0 ? file_size(job->output->good) : 0;
    return STATUS_OK;
}

/* Not collective. */
static enum status capture(struct writer *writer, struct run *run, struct checkpoint_job *job)
{
    struct writer_room room;
    TRY(writer_reserve(writer, checkpoint_capture_bytes(run->field), &room));
    if (job == NULL) {
        return fail(STATUS_MEMORY, "no memory for a checkpoint's description");
    }
    TRY(run_settle(run));
    return checkpoint_capture(run->field, room.copy_out, room.h_memory, &job->part);
}

enum status checkpoint_output_submit(struct checkpoint_output *output, struct writer *writer,
                                     struct run *run, double boundary_heat)
{
    if (output->submitted_step == run->step) {
        return STATUS_OK;
    }
    uint64_t hash = 0;
    TRY(run_field_hash(run, &hash));
    struct checkpoint_job *context = calloc(1, sizeof *context);
    const enum status status = status_agree(run->comm, capture(writer, run, context));
    if (status != STATUS_OK || context == NULL) {
        free(context);
        return status;
    }
    context->output = output;
    context->run = run;
    context->state = (struct checkpoint_state){.step = run->step,
                                               .time = run_time(run),
                                               .field_hash = hash,
                                               .ledger = run->ledger,
                                               .boundary_heat = boundary_heat};
    const struct writer_job job = {
        .kind = WRITER_CHECKPOINTS,
        .write = write_job,
        .destroy = free,
        .context = context,
    };
    output->submitted_step = run->step;
    return writer_submit(writer, &job);
}
