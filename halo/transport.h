/* What moves packed faces between ranks. One const struct an implementation. */
#ifndef ISOTHERM_HALO_TRANSPORT_H
#define ISOTHERM_HALO_TRANSPORT_H

#include <mpi.h>

#include "halo/plan.h"
#include "kernels/backend.h"

/* Receive buffers take turns: while the unpacking of one exchange may still be on the queue, the
 * receives of the next are posted into the other slot. */
enum { TRANSPORT_SLOTS = 2 };

/* One face's buffers: in device memory, contiguous, `bytes` long, reused every step. */
struct transport_channel {
    int peer;
    int send_tag;
    int recv_tag;
    size_t bytes;
    void *d_send;
    void *d_recv[TRANSPORT_SLOTS];
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
    /* Post all receives, into d_recv[slot]. Called before the faces are packed. */
    enum status (*post)(struct transport_state *state, int slot);
    /* Send all d_send buffers, whose packing is queued on `queue`; waits for the queue. */
    enum status (*send)(struct transport_state *state, struct queue *queue);
    /* Block until all messages have come and gone; d_recv[slot] is then valid for later work on
     * `queue`. */
    enum status (*finish)(struct transport_state *state, struct queue *queue);
    /* After a failure between post and finish: leave no receive posted. */
    void (*cancel)(struct transport_state *state);
};

extern const struct transport transport_host;   /* MPI reads and writes the buffers themselves */
extern const struct transport transport_staged; /* through pinned host buffers */

#endif
