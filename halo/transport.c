#include "halo/transport.h"

#include <string.h>

/* On a tie the first wins. */
const struct transport *const transports[] = {
    &transport_peer, &transport_gpu_aware, &transport_host, &transport_staged, NULL,
};

const struct transport *transport_find(const char *name)
{
    for (int n = 0; transports[n] != NULL; n++) {
        if (strcmp(transports[n]->name, name) == 0) {
            return transports[n];
        }
    }
    return NULL;
}

enum status transport_supports(const struct transport *transport, const struct backend *backend)
{
    if (!transport->needs_host_access || backend_has(backend, BACKEND_HOST_ACCESS)) {
        return STATUS_OK;
    }
    return fail(STATUS_DEVICE,
                "the halo transport \"%s\" needs memory that the host can read, unlike that of "
                "the backend \"%s\"; \"staged\" works, and \"gpu-aware\" with a GPU-aware MPI",
                transport->name, backend->name);
}

enum status transport_buffers_alloc(const struct transport_site *site,
                                    struct transport_channel *channels, int nchannels)
{
    const struct runtime *runtime = site->backend->runtime;
    for (int n = 0; n < nchannels; n++) {
        struct transport_channel *channel = &channels[n];
        TRY(runtime->memory_alloc(site->device, channel->bytes, &channel->d_send[0]));
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            channel->d_send[slot] = channel->d_send[0];
            TRY(runtime->memory_alloc(site->device, channel->bytes, &channel->d_recv[slot]));
        }
    }
    return STATUS_OK;
}

uint64_t transport_buffer_bytes(const struct halo_plan *plan, enum precision precision)
{
    return (1 + TRANSPORT_SLOTS) * (uint64_t)halo_plan_bytes(plan, precision);
}

void transport_buffers_free(const struct transport_site *site, struct transport_channel *channels,
                            int nchannels)
{
    for (int n = 0; n < nchannels; n++) {
        struct transport_channel *channel = &channels[n];
        site->backend->runtime->memory_free(site->device, channel->d_send[0]);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            site->backend->runtime->memory_free(site->device, channel->d_recv[slot]);
            channel->d_send[slot] = NULL;
            channel->d_recv[slot] = NULL;
        }
    }
}
