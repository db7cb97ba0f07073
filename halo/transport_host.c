/* The transport `host`: the backend's memory is the host's own, so MPI works on it in place. */
#include <stdlib.h>

#include "halo/requests.h"

struct transport_state {
    const struct backend *backend;
    struct requests requests;
};

static enum status host_supports(const struct backend *backend)
{
    if (!backend->host_accessible) {
        return fail(STATUS_DEVICE,
                    "the halo transport \"host\" needs memory that the host can read, and that of "
                    "the backend \"%s\" is not; \"staged\" works",
                    backend->name);
    }
    return STATUS_OK;
}

static void host_close(struct transport_state *state)
{
    if (state != NULL) {
        requests_close(&state->requests);
        free(state);
    }
}

static enum status host_open(MPI_Comm comm, const struct backend *backend, struct device *device,
                             const struct transport_channel *channels, int nchannels,
                             struct transport_state **state)
{
    (void)device;
    struct request_buffers buffers[FACE_COUNT];
    struct transport_state *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return fail(STATUS_MEMORY, "no memory for a halo transport");
    }
    built->backend = backend;
    for (int n = 0; n < nchannels; n++) {
        buffers[n].send = channels[n].d_send;
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            buffers[n].recv[slot] = channels[n].d_recv[slot];
        }
    }
    const enum status status =
        requests_open(comm, channels, nchannels, buffers, REQUESTS_MAX_COUNT, &built->requests);
    if (status != STATUS_OK) {
        host_close(built);
        return status;
    }
    *state = built;
    return STATUS_OK;
}

static enum status host_post(struct transport_state *state, int slot)
{
    return requests_post(&state->requests, slot);
}

static enum status host_send(struct transport_state *state, struct queue *queue)
{
    TRY(state->backend->queue_wait(queue));
    return requests_send(&state->requests);
}

static enum status host_finish(struct transport_state *state, struct queue *queue)
{
    (void)queue;
    return requests_wait(&state->requests);
}

static void host_cancel(struct transport_state *state)
{
    requests_cancel(&state->requests);
}

const struct transport transport_host = {
    .name = "host",
    .about = "MPI reads and writes the packed faces in place",
    .supports = host_supports,
    .open = host_open,
    .close = host_close,
    .post = host_post,
    .send = host_send,
    .finish = host_finish,
    .cancel = host_cancel,
};
