/* The transport `staged`: through pinned host buffers. Works with every backend and every MPI. */
#include <stdlib.h>

#include "halo/requests.h"

struct transport_state {
    const struct backend *backend;
    struct device *device;
    const struct transport_channel *channels;
    int nchannels;
    int slot;
    void *h_send[FACE_COUNT];
    void *h_recv[TRANSPORT_SLOTS][FACE_COUNT];
    struct requests requests;
};

static enum status staged_supports(const struct backend *backend)
{
    (void)backend;
    return STATUS_OK;
}

static void staged_close(struct transport_state *state)
{
    if (state == NULL) {
        return;
    }
    requests_close(&state->requests);
    for (int n = 0; n < state->nchannels; n++) {
        state->backend->pinned_free(state->device, state->h_send[n]);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            state->backend->pinned_free(state->device, state->h_recv[slot][n]);
        }
    }
    free(state);
}

static enum status staged_allocate(struct transport_state *state, struct request_buffers *buffers)
{
    for (int n = 0; n < state->nchannels; n++) {
        const size_t bytes = state->channels[n].bytes;
        TRY(state->backend->pinned_alloc(state->device, bytes, &state->h_send[n]));
        buffers[n].send = state->h_send[n];
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            TRY(state->backend->pinned_alloc(state->device, bytes, &state->h_recv[slot][n]));
            buffers[n].recv[slot] = state->h_recv[slot][n];
        }
    }
    return STATUS_OK;
}

static enum status staged_open(MPI_Comm comm, const struct backend *backend, struct device *device,
                               const struct transport_channel *channels, int nchannels,
                               struct transport_state **state)
{
    struct request_buffers buffers[FACE_COUNT];
    struct transport_state *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return fail(STATUS_MEMORY, "no memory for a halo transport");
    }
    built->backend = backend;
    built->device = device;
    built->channels = channels;
    built->nchannels = nchannels;
    enum status status = STATUS_OK;
    TRY_GOTO(staged_allocate(built, buffers));
    TRY_GOTO(
        requests_open(comm, channels, nchannels, buffers, REQUESTS_MAX_COUNT, &built->requests));
    *state = built;
    return STATUS_OK;
done:
    staged_close(built);
    return status;
}

static enum status staged_post(struct transport_state *state, int slot)
{
    state->slot = slot;
    return requests_post(&state->requests, slot);
}

static enum status staged_send(struct transport_state *state, struct queue *queue)
{
    for (int n = 0; n < state->nchannels; n++) {
        const struct transport_channel *channel = &state->channels[n];
        TRY(state->backend->copy_to_host(queue, state->h_send[n], channel->d_send, channel->bytes));
    }
    TRY(state->backend->queue_wait(queue));
    return requests_send(&state->requests);
}

static enum status staged_finish(struct transport_state *state, struct queue *queue)
{
    TRY(requests_wait(&state->requests));
    for (int n = 0; n < state->nchannels; n++) {
        const struct transport_channel *channel = &state->channels[n];
        TRY(state->backend->copy_to_device(queue, channel->d_recv[state->slot],
                                           state->h_recv[state->slot][n], channel->bytes));
    }
    return STATUS_OK;
}

static void staged_cancel(struct transport_state *state)
{
    requests_cancel(&state->requests);
}

const struct transport transport_staged = {
    .name = "staged",
    .about = "copies the packed faces through pinned host memory",
    .supports = staged_supports,
    .open = staged_open,
    .close = staged_close,
    .post = staged_post,
    .send = staged_send,
    .finish = staged_finish,
    .cancel = staged_cancel,
};
