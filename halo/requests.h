/* Persistent MPI requests for the messages of one rank, for the transports that use MPI. */
#ifndef ISOTHERM_HALO_REQUESTS_H
#define ISOTHERM_HALO_REQUESTS_H

#include <limits.h>

#include "halo/transport.h"

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
                          struct requests *requests) MUST_CHECK;
void requests_close(struct requests *requests);

enum status requests_post(struct requests *requests, int slot) MUST_CHECK;
enum status requests_send(struct requests *requests) MUST_CHECK;
/* Send channel n alone. */
enum status requests_send_one(struct requests *requests, int n) MUST_CHECK;
/* Block until one more of the posted receives is done; *n: its channel, or -1 when all are done;
 * then call requests_wait. */
enum status requests_wait_some(struct requests *requests, int *n) MUST_CHECK;
/* Block until the posted receives and the sends are done. STATUS_DEVICE at the limit. */
enum status requests_wait(struct requests *requests) MUST_CHECK;
/* Cancel the posted receives, when there will be no send. */
void requests_cancel(struct requests *requests);

#endif
