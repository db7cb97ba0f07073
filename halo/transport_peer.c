/* The transport `peer`: within a node the packing kernel stores directly into the neighbour's
 * receive buffer, and flags in device memory report that a face is complete. The host never waits.
 * docs/developers/halo.md explains why two slots are enough. */
#include <stdlib.h>

#include "base/comm.h"
#include "halo/transport.h"

enum {
    ALIGN_BYTES = 256, /* buffers are aligned to memory transactions */
    FLAG_BYTES = 64,   /* one cache line per flag: neighbours write them at the same time */
};

/* The place for one message, sent to the neighbour that stores it. */
struct offer {
    struct shared_handle handle;
    uint64_t recv_at[TRANSPORT_SLOTS];
    uint64_t flag_at;
};

struct transport_state {
    const struct transport_site *site;
    struct transport_channel *channels;
    int nchannels;
    uint32_t exchange;               /* number of the last one sent */
    void *d_mine;                    /* receive buffers and flags */
    struct shared_handle handle;     /* handle of d_mine */
    void *d_peer[HALO_MESSAGES_MAX]; /* memory of the channel's peer; the first such channel maps */
    uint32_t *d_flag_here[HALO_MESSAGES_MAX];
    uint32_t *d_flag_there[HALO_MESSAGES_MAX];
    struct offer offer[HALO_MESSAGES_MAX]; /* ours, and then the peer's */
};

/* The first channel to the same peer. */
static int first_to(const struct transport_state *state, int n)
{
    int first = 0;
    while (state->channels[first].peer != state->channels[n].peer) {
        first++;
    }
    return first;
}

static bool is_self(const struct transport_state *state, int n)
{
    return state->channels[n].peer == comm_rank(state->site->comm);
}

static void peer_close(struct transport_state *state)
{
    if (state == NULL) {
        return;
    }
    const struct transport_site *site = state->site;
    for (int n = 0; n < state->nchannels; n++) {
        if (first_to(state, n) == n && !is_self(state, n)) {
            site->backend->runtime->shared_close(site->device, state->d_peer[n]);
        }
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            state->channels[n].d_send[slot] = NULL;
            state->channels[n].d_recv[slot] = NULL;
        }
    }
    site->backend->runtime->shared_free(site->device, state->d_mine);
    free(state);
}

static uint64_t take(uint64_t *used, size_t bytes)
{
    const uint64_t at = *used;
    *used += (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    return at;
}

/* One allocation for all buffers and flags, and so one handle. */
static enum status allocate(struct transport_state *state)
{
    const struct transport_site *site = state->site;
    uint64_t used = 0;
    for (int n = 0; n < state->nchannels; n++) {
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            state->offer[n].recv_at[slot] = take(&used, state->channels[n].bytes);
        }
    }
    for (int n = 0; n < state->nchannels; n++) {
        state->offer[n].flag_at = used;
        used += FLAG_BYTES;
    }
    if (state->nchannels == 0) {
        return STATUS_OK;
    }
    TRY(site->backend->runtime->shared_alloc(site->device, used, &state->d_mine, &state->handle));
    char *mine = state->d_mine;
    for (int n = 0; n < state->nchannels; n++) {
        state->offer[n].handle = state->handle;
        state->d_flag_here[n] = (uint32_t *)(void *)(mine + state->offer[n].flag_at);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            state->channels[n].d_recv[slot] = mine + state->offer[n].recv_at[slot];
        }
    }
    return STATUS_OK;
}

/* Send every offer to the peer of its channel, with the tag of its message. */
static enum status swap_offers(struct transport_state *state)
{
    MPI_Request requests[2 * HALO_MESSAGES_MAX];
    SCOPED_FREE struct offer *theirs = calloc((size_t)state->nchannels + 1, sizeof *theirs);
    int code = theirs != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    int count = 0;
    for (int n = 0; n < state->nchannels && code == MPI_SUCCESS; n++) {
        const struct transport_channel *channel = &state->channels[n];
        code = MPI_Irecv(&theirs[n], (int)sizeof theirs[n], MPI_BYTE, channel->peer,
                         channel->send_tag, state->site->comm, &requests[count++]);
    }
    for (int n = 0; n < state->nchannels && code == MPI_SUCCESS; n++) {
        const struct transport_channel *channel = &state->channels[n];
        code = MPI_Isend(&state->offer[n], (int)sizeof state->offer[n], MPI_BYTE, channel->peer,
                         channel->recv_tag, state->site->comm, &requests[count++]);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    for (int n = 0; n < state->nchannels && code == MPI_SUCCESS; n++) {
        state->offer[n] = theirs[n];
    }
    return comm_check(code, "swapping memory handles");
}

static enum status map_peers(struct transport_state *state)
{
    const struct transport_site *site = state->site;
    for (int n = 0; n < state->nchannels; n++) {
        const int first = first_to(state, n);
        if (is_self(state, n)) {
            state->d_peer[n] = state->d_mine;
        } else if (first < n) {
            state->d_peer[n] = state->d_peer[first];
        } else {
            TRY(site->backend->runtime->shared_open(site->device, &state->offer[n].handle,
                                                    &state->d_peer[n]));
        }
        char *there = state->d_peer[n];
        state->d_flag_there[n] = (uint32_t *)(void *)(there + state->offer[n].flag_at);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            state->channels[n].d_send[slot] = there + state->offer[n].recv_at[slot];
        }
    }
    return STATUS_OK;
}

static enum status peer_open(const struct transport_site *site, struct transport_channel *channels,
                             int nchannels, struct transport_state **state)
{
    struct transport_state *built = calloc(1, sizeof *built);
    enum status status = CHECK_MEMORY(built != NULL, "no memory for a halo transport");
    if (built != NULL) {
        built->site = site;
        built->channels = channels;
        built->nchannels = nchannels;
        status = allocate(built);
    }
    /* before any rank waits for the offer of a failed rank */
    TRY_GOTO(status_agree(site->comm, status));
    TRY_GOTO(swap_offers(built));
    TRY_GOTO(map_peers(built));
    *state = built;
    return STATUS_OK;
done:
    peer_close(built);
    return status;
}

static enum status peer_post(struct transport_state *state, int slot)
{
    return STATUS_OK;
}

static enum status peer_send(struct transport_state *state, struct queue *queue, int slot)
{
    const uint32_t exchange = state->exchange + 1;
    TRY(state->site->backend->runtime->flags_write(queue, state->d_flag_there, state->nchannels,
                                                   exchange));
    state->exchange = exchange;
    return STATUS_OK;
}

static enum status peer_finish(struct transport_state *state, struct queue *queue, int slot)
{
    /* legitimate waits are short, and without a limit the neighbours of a failed rank would hang */
    const double patience_s = 600;
    const double limit_s = state->site->limit_s > 0 ? state->site->limit_s : patience_s;
    return state->site->backend->runtime->flags_wait(queue, state->d_flag_here, state->nchannels,
                                                     state->exchange, limit_s);
}

static void peer_cancel(struct transport_state *state)
{
}

const struct transport transport_peer = {
    .name = "peer",
    .about = "kernels store the faces into the neighbour's memory and set flags",
    .on_node_only = true,
    .open = peer_open,
    .close = peer_close,
    .post = peer_post,
    .send = peer_send,
    .finish = peer_finish,
    .cancel = peer_cancel,
};
