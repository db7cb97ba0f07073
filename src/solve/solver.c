/* Build the objects of a simulation, and the time loop. */
#include "solve/solver.h"

#include <stdlib.h>

#include "app/hang_monitor.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/log.h"
#include "model/problem.h"
#include "output/output.h"
#include "solve/memory_check.h"

double run_time(const struct run *run)
{
    return timeline_time(&run->timeline, run->step);
}

static enum status open_device(struct run *run)
{
    int node_rank = 0;
    int node_size = 1;
    TRY(comm_node_rank(run->comm, &node_rank, &node_size));
    enum status status = run->backend->runtime->open(node_rank, node_size, &run->device);
    if (status == STATUS_OK) {
        status = run->backend->runtime->info(run->device, &run->device_info);
    }
    return status_agree(run->comm, status);
}

static enum status create_queues(struct run *run)
{
    TRY(run->backend->runtime->queue_create(run->device, QUEUE_NORMAL, &run->bulk_queue));
    TRY(run->backend->runtime->queue_create(run->device, QUEUE_HIGH, &run->halo_queue));
    TRY(run->backend->runtime->queue_create(run->device, QUEUE_LOW, &run->output_queue));
    TRY(run->backend->runtime->event_create(run->device, &run->bulk_done));
    for (int n = 0; n < STEPS_AHEAD; n++) {
        TRY(run->backend->runtime->event_create(run->device, &run->step_done[n]));
    }
    return run->backend->runtime->event_create(run->device, &run->halo_done);
}

static enum status create_memory(struct run *run)
{
    static const struct exact_sum zeros[FACE_COUNT];
    TRY(field_create(run->backend, run->device, run->output_queue, &run->decomp, run->rank,
                     run->settings->run.precision, &run->field));
    void *d_sums = NULL;
    TRY(run->backend->runtime->memory_alloc(run->device, sizeof zeros, &d_sums));
    run->d_face_sum = (struct exact_sum *)d_sums;
    TRY(run->backend->runtime->copy_to_device(run->bulk_queue, run->d_face_sum, zeros,
                                              sizeof zeros));
    return run->backend->runtime->queue_wait(run->bulk_queue);
}

static enum status create_halo(struct run *run)
{
    TRY(status_agree(run->comm, halo_plan_create(&run->decomp, run->rank, &run->field->layout,
                                                 run->decomp.halo_width, HALO_FACES, &run->plan)));
    if (run->plan.nmessages == 0) {
        return STATUS_OK; /* one rank without periodic axes: the same on all ranks, being one */
    }
    const enum status status =
        halo_create(run->comm, run->backend, run->device, &run->plan, &run->field->layout,
                    &(struct halo_wishes){.transport = run->settings->run.transport}, &run->halo);
    if (status == STATUS_INPUT) {
        return status_agree(
            run->comm, settings_fail(run->settings, "run.halo.transport", "%s", fail_message()));
    }
    return status;
}

/* What follows from the settings and the rank count alone. */
static enum status describe(struct run *run)
{
    const struct settings *settings = run->settings;
    grid_create(settings, &run->grid);
    material_create(settings, &run->material);
    TRY(timeline_create(settings, &run->grid, &run->material, &run->timeline));
    TRY(boundary_create(settings, &run->boundary));
    TRY(boundary_check(settings, &run->boundary, &run->grid, &run->material));
    TRY(choose_decomp(settings, &run->grid, &run->boundary, run->nranks, &run->decomp));
    return choose_backend(settings, &run->backend, run->backend_reason, sizeof run->backend_reason);
}

static int64_t shell_cells(const struct halo_plan *plan)
{
    int64_t cells = 0;
    for (int n = 0; n < plan->nshell; n++) {
        cells += box_cells(&plan->shell[n]);
    }
    return cells;
}

/* Where the shell is as large as the interior there is little to hide behind. On a CPU the shell of
 * an axis cut in x is strided in memory and costs more than overlap can hide
 * (docs/kernels_cpu.md); elsewhere overlap does not lose. */
static bool choose_overlap(const struct run *run)
{
    if (run->halo == NULL || run->settings->run.overlap == OVERLAP_OFF) {
        return false;
    }
    const struct box *interior = &run->plan.interior;
    const bool whole_rows =
        interior->lo[AXIS_X] == 0 && interior->hi[AXIS_X] == run->field->layout.cells[AXIS_X];
    if (run->settings->run.overlap == OVERLAP_ON) {
        return true;
    }
    return box_cells(interior) > shell_cells(&run->plan) &&
           (!run->backend->host_accessible || whole_rows);
}

static enum status build(struct run *run)
{
    TRY(status_agree(run->comm, describe(run)));
    TRY(open_device(run));
    TRY(run_place(run));
    TRY(memory_check(run, &run->room_for_copies));
    enum status status = create_queues(run);
    if (status == STATUS_OK) {
        status = create_memory(run);
    }
    TRY(status_agree(run->comm, status));
    TRY(create_halo(run));
    run->overlap = choose_overlap(run);
    return STATUS_OK;
}

enum status run_create(MPI_Comm comm, const struct settings *settings, struct run **run)
{
    *run = NULL;
    struct run *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return fail(STATUS_MEMORY, "no memory for the run's own data");
    }
    made->settings = settings;
    made->comm = comm;
    made->ordered = MPI_COMM_NULL;
    made->rank = comm_rank(comm);
    made->nranks = comm_size(comm);
    const enum status status = build(made);
    if (status != STATUS_OK) {
        run_destroy(made);
        return status;
    }
    *run = made;
    return STATUS_OK;
}

void run_destroy(struct run *run)
{
    if (run == NULL) {
        return;
    }
    watchdog_destroy(run->watchdog);
    stop_destroy(run->stop);
    halo_destroy(run->halo);
    field_destroy(run->field);
    if (run->device != NULL) {
        const struct runtime *runtime = run->backend->runtime;
        runtime->queue_destroy(run->halo_queue);
        runtime->queue_destroy(run->bulk_queue);
        runtime->queue_destroy(run->output_queue);
        runtime->memory_free(run->device, run->d_face_sum);
        for (int n = 0; n < STEPS_AHEAD; n++) {
            runtime->event_destroy(run->step_done[n]);
        }
        runtime->event_destroy(run->halo_done);
        runtime->event_destroy(run->bulk_done);
        runtime->close(run->device);
    }
    boundary_destroy(&run->boundary);
    timeline_destroy(&run->timeline);
    placement_free(&run->placement);
    settings_changes_free(&run->changes);
    free(run->rank_facts);
    comm_free(&run->ordered);
    free(run);
}

enum status run_settle(struct run *run)
{
    TRY(run->backend->runtime->event_record(run->halo_queue, run->halo_done));
    TRY(run->backend->runtime->event_wait(run->bulk_queue, run->halo_done));
    TRY(run->backend->runtime->event_record(run->bulk_queue, run->bulk_done));
    return run->backend->runtime->event_wait(run->output_queue, run->bulk_done);
}

enum status run_advance(struct run *run, struct output *output)
{
    TRY(output_see_to(output, run));
    TRY(stop_see_to(run, output));
    while (run->step < run->timeline.steps) {
        TRY(step_advance(run));
        TRY(output_see_to(output, run));
        TRY(stop_see_to(run, output));
    }
    return output_wait(output, run); /* a part of the run's time */
}
