/* Transports move packed faces between ranks. One const struct per implementation. */
#pragma once

#include <limits.h>

#include <mpi.h>

#include "halo/plan.h"
#include "kernels/backend.h"

/* Receive buffers alternate: while one exchange is unpacked, the next arrives in the other slot. */
enum { TRANSPORT_SLOTS = 2 };

/* One message's buffers: contiguous, `bytes` long, reused every step. */
struct transport_channel {
    int peer;
    int send_tag; /* the peer's recv_tag of the same message */
    int recv_tag;
    size_t bytes;
    /* Set by open: where this rank packs and unpacks. With `peer` d_send is the peer's memory. */
    void *d_send[TRANSPORT_SLOTS];
    void *d_recv[TRANSPORT_SLOTS];
};

struct transport_site {
    MPI_Comm comm; /* without other messages; errors are returned */
    const struct backend *backend;
    struct device *device;
    double limit_s; /* after which a sender counts as ended or stuck; 0: no limit */
};

struct transport_state; /* private to each transport */

struct transport {
    const char *name;
    const char *about;
    bool on_node_only;      /* works within a node only */
    bool gives_mpi_data;    /* passes the backend's own memory to MPI */
    bool needs_host_access; /* to that memory */
    /* Collective over site->comm, with any number of channels per rank. Site and channels are
     * borrowed until close. */
    enum status (*open)(const struct transport_site *site, struct transport_channel *channels,
                        int nchannels, struct transport_state **state);
    void (*close)(struct transport_state *state); /* takes NULL */
    /* Prepare to receive into d_recv[slot]. Called before the faces are packed. */
    enum status (*post)(struct transport_state *state, int slot);
    /* Send the data packed on `queue` into d_send[slot]. */
    enum status (*send)(struct transport_state *state, struct queue *queue, int slot);
    /* Make d_recv[slot] valid for later work on `queue`. */
    enum status (*finish)(struct transport_state *state, struct queue *queue, int slot);
    /* After a failure between post and finish: cancel the posted receives. */
    void (*cancel)(struct transport_state *state);
};

extern const struct transport transport_peer;      /* kernels store into the neighbour's memory */
extern const struct transport transport_gpu_aware; /* MPI reads and writes device memory */
extern const struct transport transport_host;      /* MPI reads and writes host memory in place */
extern const struct transport transport_staged;    /* through pinned host buffers */

/* All transports, ended by NULL. */
extern const struct transport *const transports[];
/* The transport of that name, or NULL. */
const struct transport *transport_find(const char *name);

/* STATUS_OK if it works with this backend's memory; else STATUS_DEVICE, with the reason. */
enum status transport_supports(const struct transport *transport, const struct backend *backend);

/* Send and receive buffers in the backend's own memory, one send buffer for both slots. */
enum status transport_buffers_alloc(const struct transport_site *site,
                                    struct transport_channel *channels, int nchannels);
/* Device memory of these buffers for the messages of a plan, of this rank. */
uint64_t transport_buffer_bytes(const struct halo_plan *plan, enum precision precision);
void transport_buffers_free(const struct transport_site *site, struct transport_channel *channels,
                            int nchannels);

/* ---- requests.c: persistent MPI requests for the messages of one rank, for the transports that
 * use MPI. ---- */

/* MPI counts are ints: longer messages use a derived type. */
enum { REQUESTS_MAX_COUNT = INT_MAX };

/* Memory that MPI can access; it must last until requests_close. */
struct request_buffers {
    const void *send;
    void *recv[TRANSPORT_SLOTS];
};

struct requests {
    int count;
    MPI_Request send[HALO_MESSAGES_MAX];
    MPI_Request recv[TRANSPORT_SLOTS][HALO_MESSAGES_MAX];
    int posted;     /* slot whose receives are posted; -1: none */
    double limit_s; /* time limit of a wait; 0: none */
};

/* Set up one pair per channel. `max_count`: REQUESTS_MAX_COUNT, or less in tests. Call
 * requests_close on failure too. */
enum status requests_open(MPI_Comm comm, const struct transport_channel *channels, int nchannels,
                          const struct request_buffers *buffers, int max_count, double limit_s,
                          struct requests *requests);
void requests_close(struct requests *requests);

enum status requests_post(struct requests *requests, int slot);
enum status requests_send(struct requests *requests);
/* Send channel n alone. */
enum status requests_send_one(struct requests *requests, int n);
/* Block until one more of the posted receives is done; *n: its channel, or -1 when all are done;
 * then call requests_wait. */
enum status requests_wait_some(struct requests *requests, int *n);
/* Block until the posted receives and the sends are done. STATUS_DEVICE at the limit. */
enum status requests_wait(struct requests *requests);
/* Cancel the posted receives, when there will be no send. */
void requests_cancel(struct requests *requests);

/* The claims of the MPI library about device memory are only hints, unreliable in both directions;
 * choose.h has the verification. */
enum mpi_hint { MPI_SAYS_NOTHING, MPI_SAYS_NO, MPI_SAYS_YES };

/* "says nothing", "no", "yes" */
const char *mpi_hint_name(enum mpi_hint hint);

struct mpi_hints {
    enum mpi_hint cuda;
    enum mpi_hint rocm;
};

/* After MPI_Init. Not collective. */
struct mpi_hints mpi_hints_ask(void);
