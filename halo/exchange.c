#include "halo/exchange.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "halo/choose.h"

/* The messages of an exchange that use the same transport. */
struct leg {
    const struct transport *transport;
    struct transport_state *state;
    struct transport_channel channels[HALO_MESSAGES_MAX];
    int nchannels;
    int message[HALO_MESSAGES_MAX]; /* index in the plan, by channel */
};

struct halo {
    MPI_Comm comm; /* its own, against confusion with other messages */
    struct transport_site site;
    struct halo_plan plan;
    struct layout layout;
    int node_ranks; /* as in halo_options */
    struct choice choice;
    struct leg legs[NEARNESS_COUNT]; /* only the first if one transport serves all neighbours */
    char name[64];
    /* by message of the plan */
    struct box send_box[HALO_MESSAGES_MAX];
    struct box recv_box[HALO_MESSAGES_MAX];
    void *d_send[TRANSPORT_SLOTS][HALO_MESSAGES_MAX];
    void *d_recv[TRANSPORT_SLOTS][HALO_MESSAGES_MAX];
    int slot; /* slot of the last exchange */
    bool in_flight;
};

/* ---- creation -------------------------------------------------------------------------------- */

static struct transport_channel channel_of(const struct halo *halo, int message)
{
    const struct halo_message *m = &halo->plan.message[message];
    return (struct transport_channel){
        .peer = m->peer,
        .send_tag = m->send_tag,
        .recv_tag = m->recv_tag,
        .bytes = (size_t)m->cells * precision_bytes(halo->layout.precision),
    };
}

/* `node_ranks`: see halo_options. */
static enum status find_neighbours(const struct halo *halo, int node_ranks,
                                   struct neighbourhood all[NEARNESS_COUNT],
                                   enum nearness of_message[HALO_MESSAGES_MAX])
{
    const int rank = comm_rank(halo->comm);
    SCOPED_FREE int *node_of = calloc((size_t)comm_size(halo->comm), sizeof *node_of);
    int node = node_ranks > 0 ? rank / node_ranks : rank;
    int counts[NEARNESS_COUNT] = {0, 0};
    TRY(status_agree(halo->comm, CHECK_MEMORY(node_of != NULL, "no memory for a list of ranks")));
    TRY(node_ranks > 0 ? STATUS_OK : comm_node(halo->comm, &node));
    TRY(comm_check(MPI_Allgather(&node, 1, MPI_INT, node_of, 1, MPI_INT, halo->comm),
                   "MPI_Allgather"));
    for (int m = 0; m < halo->plan.nmessages; m++) {
        of_message[m] = node_of[halo->plan.message[m].peer] == node_of[rank] ? ON_NODE : OFF_NODE;
        struct neighbourhood *here = &all[of_message[m]];
        here->channels[here->nchannels++] = channel_of(halo, m);
        counts[of_message[m]]++;
    }
    TRY(comm_check(
        MPI_Allreduce(MPI_IN_PLACE, counts, NEARNESS_COUNT, MPI_INT, MPI_SUM, halo->comm),
        "MPI_Allreduce"));
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        all[n].exists = counts[n] > 0;
    }
    return STATUS_OK;
}

static void name_choice(struct halo *halo)
{
    const struct transport *near = halo->choice.transport[ON_NODE];
    const struct transport *far = halo->choice.transport[OFF_NODE];
    if (near == NULL || far == NULL || near == far) {
        snprintf(halo->name, sizeof halo->name, "%s", near != NULL ? near->name : far->name);
    } else {
        snprintf(halo->name, sizeof halo->name, "%s + %s", near->name, far->name);
    }
}

/* One leg per transport, with the messages of its neighbours. */
static enum status open_legs(struct halo *halo, const enum nearness of_message[])
{
    const struct transport *const *chosen = halo->choice.transport;
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        const bool joined = n == OFF_NODE && chosen[OFF_NODE] == chosen[ON_NODE];
        halo->legs[n].transport = joined ? NULL : chosen[n];
    }
    for (int m = 0; m < halo->plan.nmessages; m++) {
        const struct halo_message *message = &halo->plan.message[m];
        struct leg *leg = &halo->legs[of_message[m]];
        leg = leg->transport != NULL ? leg : &halo->legs[ON_NODE];
        leg->message[leg->nchannels] = m;
        leg->channels[leg->nchannels++] = channel_of(halo, m);
        halo->send_box[m] = message->send;
        halo->recv_box[m] = message->recv;
    }
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        struct leg *leg = &halo->legs[n];
        if (leg->transport == NULL) {
            continue;
        }
        TRY(status_agree(halo->comm, leg->transport->open(&halo->site, leg->channels,
                                                          leg->nchannels, &leg->state)));
        for (int c = 0; c < leg->nchannels; c++) {
            for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
                halo->d_send[slot][leg->message[c]] = leg->channels[c].d_send[slot];
                halo->d_recv[slot][leg->message[c]] = leg->channels[c].d_recv[slot];
            }
        }
    }
    return STATUS_OK;
}

/* `like`: use its transports; NULL: choose. */
static enum status build(struct halo *halo, const struct halo_options *options,
                         const struct halo *like)
{
    struct neighbourhood all[NEARNESS_COUNT] = {{.nchannels = 0}};
    enum nearness of_message[HALO_MESSAGES_MAX];
    TRY_MPI(MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_RETURN));
    TRY(find_neighbours(halo, halo->node_ranks, all, of_message));
    if (!all[ON_NODE].exists && !all[OFF_NODE].exists) {
        snprintf(halo->name, sizeof halo->name, "none");
        return STATUS_OK;
    }
    if (like != NULL) {
        halo->choice = like->choice;
    } else {
        TRY(choose_transports(&halo->site, all, halo->layout.precision, options, &halo->choice));
    }
    name_choice(halo);
    return open_legs(halo, of_message);
}

/* One of `options` and `like` is NULL. */
static enum status create(MPI_Comm comm, const struct transport_site *site, int node_ranks,
                          const struct halo_plan *plan, const struct layout *layout,
                          const struct halo_options *options, const struct halo *like,
                          struct halo **halo)
{
    *halo = NULL;
    struct halo *built = calloc(1, sizeof *built);
    enum status status =
        status_agree(comm, CHECK_MEMORY(built != NULL, "no memory for the halo exchange"));
    if (status != STATUS_OK) {
        free(built);
        return status;
    }
    built->comm = MPI_COMM_NULL;
    built->site = *site;
    built->plan = *plan;
    built->layout = *layout;
    built->node_ranks = node_ranks;
    TRY_GOTO(comm_check(MPI_Comm_dup(comm, &built->comm), "MPI_Comm_dup"));
    built->site.comm = built->comm;
    TRY_GOTO(build(built, options, like));
    *halo = built;
    return STATUS_OK;
done:
    halo_destroy(built);
    return status;
}

enum status halo_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                        const struct halo_plan *plan, const struct layout *layout,
                        const struct halo_options *options, struct halo **halo)
{
    const struct transport_site site = {.backend = backend, .device = device};
    return create(comm, &site, options->node_ranks, plan, layout, options, NULL, halo);
}

enum status halo_create_like(const struct halo *halo, const struct halo_plan *plan,
                             struct halo **like)
{
    return create(halo->comm, &halo->site, halo->node_ranks, plan, &halo->layout, NULL, halo, like);
}

void halo_destroy(struct halo *halo)
{
    if (halo == NULL) {
        return;
    }
    assert(!halo->in_flight);
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (halo->legs[n].transport != NULL) {
            halo->legs[n].transport->close(halo->legs[n].state);
        }
    }
    comm_free(&halo->comm);
    free(halo);
}

const char *halo_transport_name(const struct halo *halo)
{
    return halo->name;
}

const char *halo_transport_reason(const struct halo *halo)
{
    return halo->choice.reason;
}

int halo_trials(const struct halo *halo, const struct halo_trial **trials)
{
    *trials = halo->choice.trials;
    return halo->choice.ntrials;
}

/* True if this rank has messages on this leg. */
static bool is_used(const struct leg *leg)
{
    return leg->transport != NULL && leg->nchannels > 0;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static enum status post_and_send(struct halo *halo, struct queue *queue, const void *d_field,
                                 int slot)
{
    /* receives first: avoids unexpected-message copies */
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (is_used(&halo->legs[n])) {
            TRY(halo->legs[n].transport->post(halo->legs[n].state, slot));
        }
    }
    TRY(ENQUEUE(halo->site.backend->operations, pack, queue, .layout = halo->layout,
                .d_field = d_field, .boxes = halo->send_box, .d_buffers = halo->d_send[slot],
                .nboxes = halo->plan.nmessages));
    /* neighbours on the node first: MPI may wait for the queue */
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (is_used(&halo->legs[n])) {
            TRY(halo->legs[n].transport->send(halo->legs[n].state, queue, slot));
        }
    }
    return STATUS_OK;
}

enum status halo_begin(struct halo *halo, struct queue *queue, void *d_field,
                       struct halo_flight *flight)
{
    assert(!halo->in_flight);
    *flight = (struct halo_flight){NULL, NULL, NULL};
    enum status status = STATUS_OK;
    if (halo->plan.nmessages > 0) {
        const int slot = (halo->slot + 1) % TRANSPORT_SLOTS;
        TRY_GOTO(post_and_send(halo, queue, d_field, slot));
        halo->slot = slot;
    }
    halo->in_flight = true;
    *flight = (struct halo_flight){halo, queue, d_field};
    return STATUS_OK;
done:
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (is_used(&halo->legs[n])) {
            halo->legs[n].transport->cancel(halo->legs[n].state);
        }
    }
    return status;
}

enum status halo_end(struct halo_flight *flight)
{
    struct halo *halo = flight->halo;
    assert(halo != NULL && halo->in_flight);
    struct queue *queue = flight->queue;
    void *d_field = flight->d_field;
    *flight = (struct halo_flight){NULL, NULL, NULL};
    halo->in_flight = false;
    if (halo->plan.nmessages == 0) {
        return STATUS_OK;
    }
    for (int n = 0; n < NEARNESS_COUNT; n++) {
        if (is_used(&halo->legs[n])) {
            TRY(halo->legs[n].transport->finish(halo->legs[n].state, queue, halo->slot));
        }
    }
    return ENQUEUE(halo->site.backend->operations, unpack, queue, .layout = halo->layout,
                   .d_field = d_field, .boxes = halo->recv_box,
                   .d_buffers = halo->d_recv[halo->slot], .nboxes = halo->plan.nmessages);
}
