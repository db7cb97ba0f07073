/* Persistent MPI requests for the faces of one rank: what all transports send with. */
#ifndef ISOTHERM_HALO_REQUESTS_H
#define ISOTHERM_HALO_REQUESTS_H

#include <limits.h>

#include "halo/transport.h"

/* MPI counts are ints: longer messages travel as blocks of a derived type. */
enum { REQUESTS_MAX_COUNT = INT_MAX };

/* `send` and `recv` are memory that MPI can read and write; they stay where they are. */
struct request_buffers {
    const void *send;
    void *recv[TRANSPORT_SLOTS];
};

struct requests {
    int count;
    MPI_Request send[FACE_COUNT];
    MPI_Request recv[TRANSPORT_SLOTS][FACE_COUNT];
    int posted; /* slot whose receives are posted, -1: none */
};

/* Set up, one pair a channel. `max_count`: REQUESTS_MAX_COUNT, or less in tests.
 * On failure `requests` may be half-built: requests_close is right then too. */
enum status requests_open(MPI_Comm comm, const struct transport_channel *channels, int nchannels,
                          const struct request_buffers *buffers, int max_count,
                          struct requests *requests) MUST_CHECK;
void requests_close(struct requests *requests);

enum status requests_post(struct requests *requests, int slot) MUST_CHECK;
enum status requests_send(struct requests *requests) MUST_CHECK;
/* Block until the posted receives and the sends are done. */
enum status requests_wait(struct requests *requests) MUST_CHECK;
/* Take back the posted receives, when there will be no send. */
void requests_cancel(struct requests *requests);

#endif
