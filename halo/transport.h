/* What moves packed faces between ranks. One const struct an implementation. */
#ifndef ISOTHERM_HALO_TRANSPORT_H
#define ISOTHERM_HALO_TRANSPORT_H

#include <mpi.h>

#include "halo/plan.h"
#include "kernels/backend.h"

/* Receive buffers take turns: while the unpacking of one exchange may still be on the queue, the
 * next one arrives in the other slot. */
enum { TRANSPORT_SLOTS = 2 };

/* One message's buffers: contiguous, `bytes` long, reused every step. */
struct transport_channel {
    int peer;
    int send_tag; /* the peer's recv_tag of the same message */
    int recv_tag;
    size_t bytes;
    /* Set by open: where kernels of this rank pack, and from where they unpack. With some
     * transports d_send is the peer's own memory. */
    void *d_send[TRANSPORT_SLOTS];
    void *d_recv[TRANSPORT_SLOTS];
};

/* Where a transport works. */
struct transport_site {
    MPI_Comm comm; /* no messages of anybody else; errors are returned */
    const struct backend *backend;
    struct device *device;
    /* No message takes longer than this, unless its sender has ended or is stuck. 0: wait for
     * ever. */
    double limit_s;
};

struct transport_state; /* private to each transport */

struct transport {
    const char *name;
    const char *about;
    bool on_node_only;   /* reaches ranks of the same node alone */
    bool gives_mpi_data; /* MPI gets pointers to the backend's own memory */
    /* Whether it can work with this backend's memory; the reason, when not, is recorded. */
    enum status (*supports)(const struct backend *backend);
    /* Collective over site->comm, whose ranks may have any number of channels. Site and channels
     * are borrowed and stay where they are until close. */
    enum status (*open)(const struct transport_site *site, struct transport_channel *channels,
                        int nchannels, struct transport_state **state);
    void (*close)(struct transport_state *state); /* takes NULL */
    /* Get ready to receive into d_recv[slot]. Called before the faces are packed. */
    enum status (*post)(struct transport_state *state, int slot);
    /* Send all that is packed, on `queue`, into d_send[slot]. */
    enum status (*send)(struct transport_state *state, struct queue *queue, int slot);
    /* Make d_recv[slot] valid for later work on `queue`. */
    enum status (*finish)(struct transport_state *state, struct queue *queue, int slot);
    /* After a failure between post and finish: leave no receive posted. */
    void (*cancel)(struct transport_state *state);
};

extern const struct transport transport_peer;      /* kernels store into the neighbour's memory */
extern const struct transport transport_gpu_aware; /* MPI reads and writes device memory */
extern const struct transport transport_host;      /* MPI reads and writes host memory in place */
extern const struct transport transport_staged;    /* through pinned host buffers */

/* All of them; `name` NULL ends the table. */
extern const struct transport *const transports[];
/* NULL when there is none of that name. */
const struct transport *transport_find(const char *name);

/* Send and receive buffers of the backend's own memory, one send buffer for both slots. */
enum status transport_buffers_alloc(const struct transport_site *site,
                                    struct transport_channel *channels, int nchannels) MUST_CHECK;
void transport_buffers_free(const struct transport_site *site, struct transport_channel *channels,
                            int nchannels);

#endif
