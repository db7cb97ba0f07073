/* What moves packed faces between ranks. One const struct an implementation. */
#ifndef ISOTHERM_HALO_TRANSPORT_H
#define ISOTHERM_HALO_TRANSPORT_H

#include <mpi.h>

#include "halo/plan.h"
#include "kernels/backend.h"

/* One face's buffers: in device memory, contiguous, `bytes` long, reused every step. */
struct transport_channel {
    int peer;
    int send_tag;
    int recv_tag;
    size_t bytes;
    void *d_send;
    void *d_recv;
};

struct transport_state; /* private to each transport */

struct transport {
    const char *name;
    const char *about;
    /* Whether it can work with this backend's memory; the reason, when not, is recorded. */
    enum status (*supports)(const struct backend *backend);
    /* The channels are borrowed and stay where they are until close. */
    enum status (*open)(MPI_Comm comm, const struct backend *backend, struct device *device,
                        const struct transport_channel *channels, int nchannels,
                        struct transport_state **state);
    void (*close)(struct transport_state *state); /* takes NULL */
    /* Post all receives. Called before the faces are packed. */
    enum status (*post)(struct transport_state *state);
    /* Send all d_send buffers, whose packing is queued on `queue`. */
    enum status (*send)(struct transport_state *state, struct queue *queue);
    /* Block until all messages have come and gone; d_recv is then valid for work on `queue`. */
    enum status (*finish)(struct transport_state *state, struct queue *queue);
};

extern const struct transport transport_host;   /* MPI reads and writes the buffers themselves */
extern const struct transport transport_staged; /* through pinned host buffers */

#endif
