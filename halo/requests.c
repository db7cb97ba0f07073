#include "halo/transport.h"

#include <sched.h>

#include "base/clock.h"
#include "base/comm.h"

/* A type and count that describe `bytes` contiguous bytes with a count of at most `max_count`.
 * *derived: free *type after use. */
static enum status describe(size_t bytes, int max_count, MPI_Datatype *type, int *count,
                            bool *derived)
{
    *derived = bytes > (size_t)max_count;
    if (!*derived) {
        *type = MPI_BYTE;
        *count = (int)bytes;
        return STATUS_OK;
    }
    /* blocks of max_count bytes and a remainder, as one contiguous type */
    const size_t blocks = bytes / (size_t)max_count;
    const int rest = (int)(bytes % (size_t)max_count);
    MPI_Datatype block = MPI_DATATYPE_NULL;
    TRY_MPI(MPI_Type_contiguous(max_count, MPI_BYTE, &block));
    const int lengths[2] = {(int)blocks, rest};
    const MPI_Aint offsets[2] = {0, (MPI_Aint)(blocks * (size_t)max_count)};
    const MPI_Datatype types[2] = {block, MPI_BYTE};
    enum status status =
        comm_check(MPI_Type_create_struct(rest > 0 ? 2 : 1, lengths, offsets, types, type),
                   "MPI_Type_create_struct");
    comm_note(MPI_Type_free(&block), "MPI_Type_free");
    TRY(status);
    *count = 1;
    return comm_check(MPI_Type_commit(type), "MPI_Type_commit");
}

static enum status open_channel(MPI_Comm comm, const struct transport_channel *channel,
                                const struct request_buffers *buffers, int max_count,
                                struct requests *requests)
{
    const int n = requests->count;
    MPI_Datatype type;
    int count = 0;
    bool derived = false;
    TRY(describe(channel->bytes, max_count, &type, &count, &derived));
    int code = MPI_Send_init(buffers->send, count, type, channel->peer, channel->send_tag, comm,
                             &requests->send[n]);
    for (int slot = 0; slot < TRANSPORT_SLOTS && code == MPI_SUCCESS; slot++) {
        code = MPI_Recv_init(buffers->recv[slot], count, type, channel->peer, channel->recv_tag,
                             comm, &requests->recv[slot][n]);
    }
    requests->count = n + 1;
    if (derived) {
        comm_note(MPI_Type_free(&type), "MPI_Type_free"); /* the requests keep it */
    }
    return comm_check(code, "setting up a halo message");
}

enum status requests_open(MPI_Comm comm, const struct transport_channel *channels, int nchannels,
                          const struct request_buffers *buffers, int max_count, double limit_s,
                          struct requests *requests)
{
    *requests = (struct requests){.posted = -1, .limit_s = limit_s};
    for (int n = 0; n < HALO_MESSAGES_MAX; n++) {
        requests->send[n] = MPI_REQUEST_NULL;
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            requests->recv[slot][n] = MPI_REQUEST_NULL;
        }
    }
    for (int n = 0; n < nchannels; n++) {
        TRY(open_channel(comm, &channels[n], &buffers[n], max_count, requests));
    }
    return STATUS_OK;
}

static void free_request(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL) {
        comm_note(MPI_Request_free(request), "MPI_Request_free");
    }
}

void requests_close(struct requests *requests)
{
    for (int n = 0; n < requests->count; n++) {
        free_request(&requests->send[n]);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            free_request(&requests->recv[slot][n]);
        }
    }
    requests->count = 0;
}

enum status requests_post(struct requests *requests, int slot)
{
    requests->posted = slot;
    return comm_check(MPI_Startall(requests->count, requests->recv[slot]),
                      "posting the halo receives");
}

enum status requests_send(struct requests *requests)
{
    return comm_check(MPI_Startall(requests->count, requests->send), "sending the halo");
}

enum status requests_send_one(struct requests *requests, int n)
{
    return comm_check(MPI_Start(&requests->send[n]), "sending the halo");
}

/* Between two tests: yield the core, and sleep after many tests. */
static void pause_between(int looks)
{
    enum { OFFERS = 300 };
    const struct timespec nap = {.tv_nsec = 20000};
    if (looks < OFFERS) {
        sched_yield();
    } else {
        nanosleep(&nap, NULL);
    }
}

static enum status too_late(const struct requests *requests)
{
    return fail(STATUS_DEVICE, "a halo message was not completed within %g s", requests->limit_s);
}

/* The first error among `statuses`, if `code` refers to them. */
static enum status check_all(int code, int count, const MPI_Status statuses[], const char *what)
{
    if (code == MPI_ERR_IN_STATUS) {
        for (int n = 0; n < count; n++) {
            const int error = statuses[n].MPI_ERROR;
            if (error != MPI_SUCCESS && error != MPI_ERR_PENDING) {
                return comm_check(error, what);
            }
        }
    }
    return comm_check(code, what);
}

static enum status wait_all(const struct requests *requests, MPI_Request list[], const char *what)
{
    MPI_Status statuses[HALO_MESSAGES_MAX];
    if (requests->limit_s == 0) {
        const int code = MPI_Waitall(requests->count, list, statuses);
        return check_all(code, requests->count, statuses, what);
    }
    const double start = clock_seconds();
    int done = 0;
    for (int looks = 0;; looks++) {
        const int code = MPI_Testall(requests->count, list, &done, statuses);
        TRY(check_all(code, requests->count, statuses, what));
        if (done) {
            return STATUS_OK;
        }
        if (clock_seconds() - start > requests->limit_s) {
            return too_late(requests);
        }
        pause_between(looks);
    }
}

enum status requests_wait_some(struct requests *requests, int *n)
{
    MPI_Request *list = requests->recv[requests->posted];
    const double start = clock_seconds();
    int done = 0;
    *n = MPI_UNDEFINED;
    if (requests->limit_s == 0) {
        TRY(comm_check(MPI_Waitany(requests->count, list, n, MPI_STATUS_IGNORE),
                       "receiving the halo"));
        done = 1;
    }
    for (int looks = 0; !done; looks++) {
        TRY(comm_check(MPI_Testany(requests->count, list, n, &done, MPI_STATUS_IGNORE),
                       "receiving the halo"));
        if (!done && clock_seconds() - start > requests->limit_s) {
            return too_late(requests);
        }
        if (!done) {
            pause_between(looks);
        }
    }
    *n = *n == MPI_UNDEFINED ? -1 : *n;
    return STATUS_OK;
}

enum status requests_wait(struct requests *requests)
{
    MPI_Request *recv = requests->recv[requests->posted];
    TRY(wait_all(requests, recv, "receiving the halo"));
    TRY(wait_all(requests, requests->send, "sending the halo"));
    requests->posted = -1;
    return STATUS_OK;
}

void requests_cancel(struct requests *requests)
{
    if (requests->posted < 0 || comm_is_broken()) {
        return;
    }
    MPI_Request *recv = requests->recv[requests->posted];
    requests->posted = -1;
    for (int n = 0; n < requests->count; n++) {
        /* no wait: a matched receive cannot be cancelled, and its message may never complete */
        if (recv[n] != MPI_REQUEST_NULL && MPI_Cancel(&recv[n]) == MPI_SUCCESS) {
            int done = 0;
            MPI_Test(&recv[n], &done, MPI_STATUS_IGNORE);
        }
    }
}
