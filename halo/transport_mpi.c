/* The transports `host` and `gpu-aware`: MPI reads and writes the packed faces in place, in host or
 * in device memory. And `staged`: through pinned host buffers, which works with every backend and
 * every MPI; a face is sent as soon as it is copied, and copied to the device as soon as it is
 * received. */
#include <stdlib.h>

#include "halo/transport.h"

struct transport_state {
    const struct transport_site *site;
    struct transport_channel *channels;
    int nchannels;
    struct requests requests;
    /* `staged` alone has these */
    void *h_send[HALO_MESSAGES_MAX];
    void *h_recv[TRANSPORT_SLOTS][HALO_MESSAGES_MAX];
    struct event *copied[HALO_MESSAGES_MAX];
};

static void mpi_close(struct transport_state *state)
{
    if (state == NULL) {
        return;
    }
    const struct transport_site *site = state->site;
    const struct runtime *runtime = site->backend->runtime;
    requests_close(&state->requests);
    for (int n = 0; n < state->nchannels; n++) {
        runtime->event_destroy(state->copied[n]);
        runtime->pinned_free(site->device, state->h_send[n]);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            runtime->pinned_free(site->device, state->h_recv[slot][n]);
        }
    }
    transport_buffers_free(site, state->channels, state->nchannels);
    free(state);
}

static enum status add_stage(struct transport_state *state, int n, struct request_buffers *buffers)
{
    const struct transport_site *site = state->site;
    const struct runtime *runtime = site->backend->runtime;
    const size_t bytes = state->channels[n].bytes;
    TRY(runtime->event_create(site->device, &state->copied[n]));
    TRY(runtime->pinned_alloc(site->device, bytes, &state->h_send[n]));
    buffers->send = state->h_send[n];
    for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
        TRY(runtime->pinned_alloc(site->device, bytes, &state->h_recv[slot][n]));
        buffers->recv[slot] = state->h_recv[slot][n];
    }
    return STATUS_OK;
}

static enum status allocate(struct transport_state *state, bool staged,
                            struct request_buffers *buffers)
{
    TRY(transport_buffers_alloc(state->site, state->channels, state->nchannels));
    for (int n = 0; n < state->nchannels; n++) {
        const struct transport_channel *channel = &state->channels[n];
        buffers[n] =
            (struct request_buffers){channel->d_send[0], {channel->d_recv[0], channel->d_recv[1]}};
        if (staged) {
            TRY(add_stage(state, n, &buffers[n]));
        }
    }
    return STATUS_OK;
}

static enum status open_either(const struct transport_site *site,
                               struct transport_channel *channels, int nchannels, bool staged,
                               struct transport_state **state)
{
    struct request_buffers buffers[HALO_MESSAGES_MAX];
    struct transport_state *built = calloc(1, sizeof *built);
    TRY(CHECK_MEMORY(built != NULL, "no memory for a halo transport"));
    built->site = site;
    built->channels = channels;
    built->nchannels = nchannels;
    enum status status = STATUS_OK;
    TRY_GOTO(allocate(built, staged, buffers));
    TRY_GOTO(requests_open(site->comm, channels, nchannels, buffers, REQUESTS_MAX_COUNT,
                           site->limit_s, &built->requests));
    *state = built;
    return STATUS_OK;
done:
    mpi_close(built);
    return status;
}

static enum status mpi_open(const struct transport_site *site, struct transport_channel *channels,
                            int nchannels, struct transport_state **state)
{
    return open_either(site, channels, nchannels, false, state);
}

static enum status staged_open(const struct transport_site *site,
                               struct transport_channel *channels, int nchannels,
                               struct transport_state **state)
{
    return open_either(site, channels, nchannels, true, state);
}

static enum status mpi_post(struct transport_state *state, int slot)
{
    return requests_post(&state->requests, slot);
}

/* MPI does not support queues: packing must be finished. */
static enum status mpi_send(struct transport_state *state, struct queue *queue, int slot)
{
    TRY(state->site->backend->runtime->queue_wait(queue));
    return requests_send(&state->requests);
}

static enum status staged_send(struct transport_state *state, struct queue *queue, int slot)
{
    const struct runtime *runtime = state->site->backend->runtime;
    for (int n = 0; n < state->nchannels; n++) {
        const struct transport_channel *channel = &state->channels[n];
        TRY(runtime->copy_to_host(queue, state->h_send[n], channel->d_send[slot], channel->bytes));
        TRY(runtime->event_record(queue, state->copied[n]));
    }
    for (int n = 0; n < state->nchannels; n++) {
        TRY(runtime->event_sync(state->copied[n]));
        TRY(requests_send_one(&state->requests, n));
    }
    return STATUS_OK;
}

static enum status mpi_finish(struct transport_state *state, struct queue *queue, int slot)
{
    return requests_wait(&state->requests);
}

static enum status staged_finish(struct transport_state *state, struct queue *queue, int slot)
{
    for (;;) {
        int n = -1;
        TRY(requests_wait_some(&state->requests, &n));
        if (n < 0) {
            return requests_wait(&state->requests);
        }
        TRY(state->site->backend->runtime->copy_to_device(queue, state->channels[n].d_recv[slot],
                                                          state->h_recv[slot][n],
                                                          state->channels[n].bytes));
    }
}

static void mpi_cancel(struct transport_state *state)
{
    requests_cancel(&state->requests);
}

#define FUNCTIONS(way)                                                                             \
    .open = way##_open, .close = mpi_close, .post = mpi_post, .send = way##_send,                  \
    .finish = way##_finish, .cancel = mpi_cancel

const struct transport transport_host = {
    .name = "host",
    .about = "MPI reads and writes the packed faces in place, in host memory",
    .needs_host_access = true,
    FUNCTIONS(mpi),
};

const struct transport transport_gpu_aware = {
    .name = "gpu-aware",
    .about = "MPI reads and writes the packed faces in place, in device memory",
    .gives_mpi_data = true,
    FUNCTIONS(mpi),
};

const struct transport transport_staged = {
    .name = "staged",
    .about = "copies the packed faces through pinned host memory",
    FUNCTIONS(staged),
};
