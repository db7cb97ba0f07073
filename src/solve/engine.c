#include "solve/engine.h"

#include "base/comm.h"
#include "kernels/backends.h"
#include "machine/machine.h"

enum status engine_choose(const struct problem *problem, const struct backend **backend, char *why,
                          size_t why_bytes)
{
    return settings_place(problem->origin,
                          backend_choose(problem->run.backend, backend, why, why_bytes),
                          "run.backend");
}

static enum status create_queues(struct engine *engine)
{
    const struct runtime *runtime = engine->runtime;
    TRY(runtime->queue_create(engine->device, QUEUE_NORMAL, &engine->bulk_queue));
    TRY(runtime->queue_create(engine->device, QUEUE_HIGH, &engine->halo_queue));
    TRY(runtime->queue_create(engine->device, QUEUE_LOW, &engine->output_queue));
    TRY(runtime->event_create(engine->device, &engine->bulk_done));
    TRY(runtime->event_create(engine->device, &engine->line_done));
    for (int n = 0; n < PASSES_AHEAD; n++) {
        TRY(runtime->event_create(engine->device, &engine->pass_done[n]));
    }
    return runtime->event_create(engine->device, &engine->halo_done);
}

enum status engine_open(MPI_Comm comm, const struct problem *problem, struct engine *engine)
{
    *engine = (struct engine){0};
    TRY(status_agree(
        comm, engine_choose(problem, &engine->backend, engine->reason, sizeof engine->reason)));
    engine->runtime = engine->backend->runtime;
    engine->operations = engine->backend->operations;
    TRY(device_open(comm, engine->backend, &engine->device, &engine->info));
    return status_agree(comm, create_queues(engine));
}

void engine_close(struct engine *engine)
{
    if (engine->device == NULL) {
        return;
    }
    const struct runtime *runtime = engine->runtime;
    runtime->queue_destroy(engine->halo_queue);
    runtime->queue_destroy(engine->bulk_queue);
    runtime->queue_destroy(engine->output_queue);
    for (int n = 0; n < PASSES_AHEAD; n++) {
        runtime->event_destroy(engine->pass_done[n]);
    }
    runtime->event_destroy(engine->halo_done);
    runtime->event_destroy(engine->bulk_done);
    runtime->event_destroy(engine->line_done);
    runtime->close(engine->device);
    *engine = (struct engine){0};
}

enum status engine_send(struct engine *engine, const void *h_from, size_t bytes, void **d_to)
{
    TRY(engine->runtime->memory_alloc(engine->device, bytes, d_to));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, *d_to, h_from, bytes));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

enum status engine_settle(struct engine *engine)
{
    const struct runtime *runtime = engine->runtime;
    TRY(runtime->event_record(engine->halo_queue, engine->halo_done));
    TRY(runtime->event_wait(engine->bulk_queue, engine->halo_done));
    TRY(runtime->event_record(engine->bulk_queue, engine->bulk_done));
    return runtime->event_wait(engine->output_queue, engine->bulk_done);
}

enum status engine_wait(struct engine *engine)
{
    TRY(engine->runtime->queue_wait(engine->halo_queue));
    return engine->runtime->queue_wait(engine->bulk_queue);
}
