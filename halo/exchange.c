#include "halo/exchange.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "halo/transport.h"

struct halo {
    MPI_Comm comm; /* its own: no message of anybody else can be mistaken for a face */
    const struct backend *backend;
    struct device *device;
    struct halo_plan plan;
    struct layout layout;
    const struct transport *transport;
    struct transport_state *state;
    char reason[256];
    struct transport_channel channels[FACE_COUNT]; /* one a message of the plan */
    int slot;                                      /* of the receive buffers */
    bool in_flight;
};

static const struct transport *const transports[] = {&transport_host, &transport_staged};
enum { TRANSPORT_COUNT = sizeof transports / sizeof transports[0] };

static enum status choose_auto(struct halo *halo)
{
    const char *name = halo->backend->name;
    if (halo->backend->host_accessible) {
        halo->transport = &transport_host;
        snprintf(halo->reason, sizeof halo->reason,
                 "the memory of the backend %s is the host's own, so MPI works on it in place",
                 name);
    } else {
        halo->transport = &transport_staged;
        snprintf(halo->reason, sizeof halo->reason,
                 "the host cannot reach the memory of the backend %s, so the faces are copied "
                 "through pinned host memory",
                 name);
    }
    return STATUS_OK;
}

static enum status choose_transport(struct halo *halo, const char *name)
{
    if (strcmp(name, "auto") == 0) {
        return choose_auto(halo);
    }
    char names[128] = "auto";
    for (int n = 0; n < TRANSPORT_COUNT; n++) {
        if (strcmp(name, transports[n]->name) == 0) {
            halo->transport = transports[n];
            snprintf(halo->reason, sizeof halo->reason, "asked for; %s", transports[n]->about);
            return transports[n]->supports(halo->backend);
        }
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", transports[n]->name);
    }
    return fail(STATUS_INPUT, "there is no halo transport \"%s\"; choose one of: %s", name, names);
}

static enum status allocate_channels(struct halo *halo)
{
    const struct backend *backend = halo->backend;
    for (int m = 0; m < halo->plan.nmessages; m++) {
        const struct halo_message *message = &halo->plan.message[m];
        struct transport_channel *channel = &halo->channels[m];
        channel->peer = message->peer;
        channel->send_tag = message->send_tag;
        channel->recv_tag = message->recv_tag;
        channel->bytes = (size_t)message->cells * precision_bytes(halo->layout.precision);
        TRY(backend->memory_alloc(halo->device, channel->bytes, &channel->d_send));
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            TRY(backend->memory_alloc(halo->device, channel->bytes, &channel->d_recv[slot]));
        }
    }
    return STATUS_OK;
}

static enum status build(struct halo *halo, const char *transport)
{
    TRY(comm_check(MPI_Comm_set_errhandler(halo->comm, MPI_ERRORS_RETURN),
                   "MPI_Comm_set_errhandler"));
    TRY(choose_transport(halo, transport));
    TRY(allocate_channels(halo));
    return halo->transport->open(halo->comm, halo->backend, halo->device, halo->channels,
                                 halo->plan.nmessages, &halo->state);
}

enum status halo_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                        const struct halo_plan *plan, const struct layout *layout,
                        const char *transport, struct halo **halo)
{
    *halo = NULL;
    struct halo *built = calloc(1, sizeof *built);
    enum status status =
        built == NULL ? fail(STATUS_MEMORY, "no memory for the halo exchange") : STATUS_OK;
    status = status_agree(comm, status);
    if (status != STATUS_OK) {
        free(built);
        return status;
    }
    built->comm = MPI_COMM_NULL;
    built->backend = backend;
    built->device = device;
    built->plan = *plan;
    built->layout = *layout;
    TRY_GOTO(comm_check(MPI_Comm_dup(comm, &built->comm), "MPI_Comm_dup"));
    TRY_GOTO(status_agree(comm, build(built, transport)));
    *halo = built;
    return STATUS_OK;
done:
    halo_destroy(built);
    return status;
}

void halo_destroy(struct halo *halo)
{
    if (halo == NULL) {
        return;
    }
    assert(!halo->in_flight);
    if (halo->transport != NULL) {
        halo->transport->close(halo->state);
    }
    for (int m = 0; m < halo->plan.nmessages; m++) {
        halo->backend->memory_free(halo->device, halo->channels[m].d_send);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            halo->backend->memory_free(halo->device, halo->channels[m].d_recv[slot]);
        }
    }
    if (halo->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&halo->comm);
    }
    free(halo);
}

const char *halo_transport_name(const struct halo *halo)
{
    return halo->transport->name;
}

const char *halo_transport_reason(const struct halo *halo)
{
    return halo->reason;
}

static enum status pack_and_send(struct halo *halo, struct queue *queue, const void *d_field)
{
    for (int m = 0; m < halo->plan.nmessages; m++) {
        TRY(halo->backend->pack(queue, &halo->layout, d_field, &halo->plan.message[m].send,
                                halo->channels[m].d_send));
    }
    return halo->transport->send(halo->state, queue);
}

enum status halo_begin(struct halo *halo, struct queue *queue, void *d_field,
                       struct halo_flight *flight)
{
    assert(!halo->in_flight);
    *flight = (struct halo_flight){NULL, NULL, NULL};
    if (halo->plan.nmessages > 0) {
        halo->slot = (halo->slot + 1) % TRANSPORT_SLOTS;
        /* receives first: a face that comes early goes straight to its place */
        enum status status = halo->transport->post(halo->state, halo->slot);
        if (status == STATUS_OK) {
            status = pack_and_send(halo, queue, d_field);
        }
        if (status != STATUS_OK) {
            halo->transport->cancel(halo->state);
            return status;
        }
    }
    halo->in_flight = true;
    *flight = (struct halo_flight){halo, queue, d_field};
    return STATUS_OK;
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
    TRY(halo->transport->finish(halo->state, queue));
    for (int m = 0; m < halo->plan.nmessages; m++) {
        TRY(halo->backend->unpack(queue, &halo->layout, halo->channels[m].d_recv[halo->slot],
                                  &halo->plan.message[m].recv, d_field));
    }
    return STATUS_OK;
}
