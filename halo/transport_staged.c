/* The transport `staged`: through pinned host buffers. Works with every backend and every MPI. A
 * face is sent as soon as it is copied, and copied to the device as soon as it is received. */
#include <stdlib.h>

#include "halo/requests.h"

struct transport_state {
    const struct transport_site *site;
    struct transport_channel *channels;
    int nchannels;
    void *h_send[HALO_MESSAGES_MAX];
    void *h_recv[TRANSPORT_SLOTS][HALO_MESSAGES_MAX];
    struct event *copied[HALO_MESSAGES_MAX];
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
    const struct transport_site *site = state->site;
    requests_close(&state->requests);
    for (int n = 0; n < state->nchannels; n++) {
        site->backend->runtime->event_destroy(state->copied[n]);
        site->backend->runtime->pinned_free(site->device, state->h_send[n]);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            site->backend->runtime->pinned_free(site->device, state->h_recv[slot][n]);
        }
    }
    transport_buffers_free(site, state->channels, state->nchannels);
    free(state);
}

static enum status staged_allocate(struct transport_state *state, struct request_buffers *buffers)
{
    const struct transport_site *site = state->site;
    const struct runtime *runtime = site->backend->runtime;
    TRY(transport_buffers_alloc(site, state->channels, state->nchannels));
    for (int n = 0; n < state->nchannels; n++) {
        const size_t bytes = state->channels[n].bytes;
        TRY(runtime->event_create(site->device, &state->copied[n]));
        TRY(runtime->pinned_alloc(site->device, bytes, &state->h_send[n]));
        buffers[n].send = state->h_send[n];
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            TRY(runtime->pinned_alloc(site->device, bytes, &state->h_recv[slot][n]));
            buffers[n].recv[slot] = state->h_recv[slot][n];
        }
    }
    return STATUS_OK;
}

static enum status staged_open(const struct transport_site *site,
                               struct transport_channel *channels, int nchannels,
                               struct transport_state **state)
{
    struct request_buffers buffers[HALO_MESSAGES_MAX];
    struct transport_state *built = calloc(1, sizeof *built);
    TRY(CHECK_MEMORY(built != NULL, "no memory for a halo transport"));
    built->site = site;
    built->channels = channels;
    built->nchannels = nchannels;
    enum status status = STATUS_OK;
    TRY_GOTO(staged_allocate(built, buffers));
    TRY_GOTO(requests_open(site->comm, channels, nchannels, buffers, REQUESTS_MAX_COUNT,
                           site->limit_s, &built->requests));
    *state = built;
    return STATUS_OK;
done:
    staged_close(built);
    return status;
}

static enum status staged_post(struct transport_state *state, int slot)
{
    return requests_post(&state->requests, slot);
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
