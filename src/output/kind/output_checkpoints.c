/* Output kind: checkpoints, captured by the step loop, written by the writer. */
#include "output/kind/output_checkpoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "model/field/derived.h"
#include "output/run_folder.h"

/* The data of the write half; settings, grid and medium do not change during a run. */
struct checkpoint_job {
    struct checkpoint_output *output;
    const struct problem *problem;
    void *const *objects; /* as in output_context */
    struct checkpoint_part part;
    struct checkpoint_state state;
};

/* By a cadence; checkpoints on request are independent of it. */
static bool is_on(const struct output_setting *requests)
{
    const struct checkpoint_setting *checkpoints = &requests->checkpoints;
    return cadence_is_on(&checkpoints->cadence) || checkpoints->walltime > 0;
}

/* Without what a killed run left in it. */
static enum status make_folder(const struct output_setting *requests)
{
    char folder[PATH_BYTES];
    TRY(path_join(requests->directory, "checkpoints", folder));
    TRY(checkpoint_remove_temporaries(requests->directory));
    return cadence_is_on(&requests->checkpoints.cadence) ? directory_make(folder) : STATUS_OK;
}

static enum status open_output(const struct output_context *in, void **object)
{
    struct checkpoint_output *built = calloc(1, sizeof *built);
    enum status status = STATUS_OK;
    if (built == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the checkpoints' names");
    } else {
        built->submitted_step = -1;
        built->directory = in->team->rank == 0 ? in->problem->output.directory : NULL;
        status = in->team->rank == 0 ? make_folder(&in->problem->output) : STATUS_OK;
    }
    *object = built;
    return status_agree(in->team->comm, status);
}

static void close_output(void *object)
{
    const struct checkpoint_output *output = object;
    if (output != NULL && output->directory != NULL && output->submitted_step >= 0 &&
        checkpoint_remove_temporaries(output->directory) != STATUS_OK) {
        log_warn("%s", fail_message());
        fail_clear();
    }
    free(object);
}

/* The rows of other files up to this step must be on disk before: a restart does not write them
 * again. Were they flushed by the step loop, it would wait for the checkpoint before. */
static enum status write_job(MPI_Comm comm, void *context, uint64_t *bytes)
{
    const struct checkpoint_job *job = context;
    const struct problem *problem = job->problem;
    const struct output_setting *requests = &problem->output;
    TRY(status_agree(comm, comm_rank(comm) == 0 ? output_flush(job->objects) : STATUS_OK));
    TRY(checkpoint_put(comm, requests->directory, &job->part, &problem->grid, &problem->medium,
                       &job->state, problem->text, requests->checkpoints.keep));
    snprintf(job->output->valid, PATH_BYTES, "%.4000s/checkpoints/step_%010lld.h5",
             requests->directory, (long long)job->state.step);
    *bytes = comm_rank(comm) == 0 ? file_size(job->output->valid) : 0;
    return STATUS_OK;
}

static enum status capture(const struct output_context *in, struct checkpoint_job *job)
{
    struct field *field = in->stepper->level->field;
    struct writer_room room;
    TRY(writer_reserve(in->writer, checkpoint_capture_bytes(field), &room));
    TRY(CHECK_MEMORY(job != NULL, "no memory for a checkpoint's description"));
    TRY(engine_settle(in->engine));
    return checkpoint_capture(field, room.copy_out, room.h_memory, &job->part);
}

enum status checkpoint_output_submit(struct checkpoint_output *output,
                                     const struct output_context *in)
{
    const struct state *state = in->state;
    uint64_t hash = 0;
    if (output->submitted_step == state->step) {
        return STATUS_OK;
    }
    TRY(diagnostics_field_hash(in->stepper, &hash));
    struct checkpoint_job *context = calloc(1, sizeof *context);
    const enum status status = status_agree(in->team->comm, capture(in, context));
    if (status != STATUS_OK || context == NULL) {
        free(context);
        return status;
    }
    context->output = output;
    context->problem = in->problem;
    context->objects = in->objects;
    context->state = (struct checkpoint_state){.step = state->step,
                                               .time = state->time,
                                               .field_hash = hash,
                                               .ledger = state->ledger,
                                               .boundary_heat = in->summary->boundary_heat,
                                               .source_heat = in->summary->source_heat};
    context->state.control = state->control;
    if (in->problem->time.adapt_every > 0 || in->problem->time.by_tolerance) {
        context->state.adapted_step = in->problem->timeline.start_step;
        context->state.adapted_time = in->problem->timeline.start_time;
        context->state.adapted_dt = in->problem->timeline.dt;
    }
    const struct writer_job job = {
        .kind = in->kind, .write = write_job, .destroy = free, .context = context};
    output->submitted_step = state->step;
    return writer_submit(in->writer, &job);
}

/* The state with which a restart began exists on disk. */
static enum status write_due(void *object, const struct output_context *in)
{
    return in->state->step > in->state->first_step ? checkpoint_output_submit(object, in)
                                                   : STATUS_OK;
}

static void list(const void *object, const struct output_context *in)
{
    const struct checkpoint_output *output = object;
    if (output->valid[0] != '\0') {
        log_info("  checkpoint   %s", output->valid);
    }
}

static uint64_t capture_bytes(const struct problem *problem, const struct box *owned)
{
    const unsigned kept = derived_kept(problem->derived);
    const bool enthalpy = problem->medium.curves != NULL;
    return is_on(&problem->output)
               ? checkpoint_part_bytes(owned, problem->precision, enthalpy, kept)
               : 0;
}

static double plan(const struct problem *problem)
{
    const struct checkpoint_setting *setting = &problem->output.checkpoints;
    const int fields = derived_count(derived_kept(problem->derived));
    const double bytes = (problem->medium.curves != NULL ? 2 : 1) *
                             (double)checkpoint_file_bytes(&problem->grid, problem->precision) +
                         fields * (double)sizeof(double) * (double)grid_total_cells(&problem->grid);
    const int64_t count =
        timeline_count_due(&problem->timeline, &setting->cadence) - 1; /* not at 0 */
    const int64_t kept = count < setting->keep ? count : setting->keep;
    char each[BYTES_TEXT];
    char all[BYTES_TEXT];
    if (count > 0) {
        printf("checkpoints    %" PRId64 " of %s, %" PRId64 " kept: at most %s at a time\n", count,
               bytes_text(bytes, each), kept, bytes_text(bytes * (double)(kept + 1), all));
    }
    if (setting->walltime > 0) {
        printf("checkpoints    %sone of %s whenever %g s have passed since the last\n",
               count > 0 ? "also " : "", bytes_text(bytes, each), setting->walltime);
    }
    return count > 0 ? bytes * (double)(kept + 1) : 0;
}

static enum status files(const struct output_setting *requests, struct path_list *found)
{
    TRY(folder_add_file(requests->directory, "postmortem.h5", found));
    return folder_add_steps(requests->directory, "checkpoints", found);
}

const struct output_kind output_checkpoints = {
    .name = "checkpoints",
    .section = {{"output.checkpoints", "checkpoints", 1000}},
    .not_at_start = true,
    .summary = SUMMARY_ALWAYS,
    .open = open_output,
    .close = close_output,
    .write = write_due,
    .list = list,
    .capture_bytes = capture_bytes,
    .plan = plan,
    .files = files,
};
