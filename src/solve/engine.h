/* The compute resources of this rank: backend, device, queues. */
#pragma once

#include <mpi.h>

#include "kernels/backend.h"
#include "model/problem.h"

/* Passes over the field in flight on the device: enough to hide the host's time, few enough to
 * notice a stop or a failure soon. */
enum { PASSES_AHEAD = 4 };

struct engine {
    const struct backend *backend;
    const struct runtime *runtime; /* of the backend, as are operations */
    const struct operations *operations;
    char reason[256]; /* for the choice of the backend */
    struct device *device;
    struct device_info info;    /* as of engine_open, before fields are allocated */
    bool room_for_copies;       /* device memory for background copies (memory_check) */
    struct queue *bulk_queue;   /* interior kernels, reductions */
    struct queue *halo_queue;   /* pack, unpack, shell: high priority */
    struct queue *output_queue; /* copies for output: low priority */
    struct event *bulk_done;
    struct event *halo_done;
    struct event *line_done;               /* of what the diagnostics of a step read */
    struct event *pass_done[PASSES_AHEAD]; /* of every second pass, cyclic */
};

/* Collective. Choose the backend by run.backend and open the device of this rank. STATUS_INPUT
 * names the line of run.backend, or of what the backend cannot do. The outcome is agreed. */
enum status engine_open(MPI_Comm comm, const struct problem *problem, struct engine *engine);
void engine_close(struct engine *engine); /* takes a zeroed or half-opened one */

/* Only the backend, and the reason (at least 256 bytes). Not collective. */
enum status engine_choose(const struct problem *problem, const struct backend **backend, char *why,
                          size_t why_bytes);

/* Allocate device memory and copy `bytes` there. Blocks. Not collective. */
enum status engine_send(struct engine *engine, const void *h_from, size_t bytes, void **d_to);

/* Queued: later work on bulk_queue or output_queue sees all that was queued on halo_queue and
 * bulk_queue. */
enum status engine_settle(struct engine *engine);

/* Block until halo_queue and bulk_queue are empty. Not collective. */
enum status engine_wait(struct engine *engine);
