/* The transports `host` and `gpu-aware`: MPI reads and writes the packed faces in place, in host or
 * in device memory. */
#include <stdlib.h>

#include "halo/requests.h"

struct transport_state {
    const struct transport_site *site;
    struct transport_channel *channels;
    int nchannels;
    struct requests requests;
};

static enum status host_supports(const struct backend *backend)
{
    if (!backend_has(backend, BACKEND_HOST_ACCESS)) {
        return fail(
            STATUS_DEVICE,
            "the halo transport \"host\" needs memory that the host can read, unlike that of "
            "the backend \"%s\"; \"staged\" works, and \"gpu-aware\" with a GPU-aware MPI",
            backend->name);
    }
    return STATUS_OK;
}

static enum status gpu_aware_supports(const struct backend *backend)
{
    (void)backend;
    return STATUS_OK;
}

static void mpi_close(struct transport_state *state)
{
    if (state != NULL) {
        requests_close(&state->requests);
        transport_buffers_free(state->site, state->channels, state->nchannels);
        free(state);
    }
}

static enum status mpi_open(const struct transport_site *site, struct transport_channel *channels,
                            int nchannels, struct transport_state **state)
{
    struct request_buffers buffers[HALO_MESSAGES_MAX];
    struct transport_state *built = calloc(1, sizeof *built);
    TRY(CHECK_MEMORY(built != NULL, "no memory for a halo transport"));
    built->site = site;
    built->channels = channels;
    built->nchannels = nchannels;
    enum status status = STATUS_OK;
    TRY_GOTO(transport_buffers_alloc(site, channels, nchannels));
    for (int n = 0; n < nchannels; n++) {
        buffers[n].send = channels[n].d_send[0];
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            buffers[n].recv[slot] = channels[n].d_recv[slot];
        }
    }
    TRY_GOTO(requests_open(site->comm, channels, nchannels, buffers, REQUESTS_MAX_COUNT,
                           site->limit_s, &built->requests));
    *state = built;
    return STATUS_OK;
done:
    mpi_close(built);
    return status;
}

static enum status mpi_post(struct transport_state *state, int slot)
{
    return requests_post(&state->requests, slot);
}

/* MPI does not support queues: packing must be finished. */
static enum status mpi_send(struct transport_state *state, struct queue *queue, int slot)
{
    (void)slot;
    TRY(state->site->backend->runtime->queue_wait(queue));
    return requests_send(&state->requests);
}

static enum status mpi_finish(struct transport_state *state, struct queue *queue, int slot)
{
    (void)queue;
    (void)slot;
    return requests_wait(&state->requests);
}

static void mpi_cancel(struct transport_state *state)
{
    requests_cancel(&state->requests);
}

const struct transport transport_host = {
    .name = "host",
    .about = "MPI reads and writes the packed faces in place, in host memory",
    .supports = host_supports,
    .open = mpi_open,
    .close = mpi_close,
    .post = mpi_post,
    .send = mpi_send,
    .finish = mpi_finish,
    .cancel = mpi_cancel,
};

const struct transport transport_gpu_aware = {
    .name = "gpu-aware",
    .about = "MPI reads and writes the packed faces in place, in device memory",
    .gives_mpi_data = true,
    .supports = gpu_aware_supports,
    .open = mpi_open,
    .close = mpi_close,
    .post = mpi_post,
    .send = mpi_send,
    .finish = mpi_finish,
    .cancel = mpi_cancel,
};
