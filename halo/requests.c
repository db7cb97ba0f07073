#include "halo/requests.h"

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
    /* blocks of max_count bytes and a rest, as one contiguous type */
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
    MPI_Type_free(&block);
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
        MPI_Type_free(&type); /* lives on in the requests */
    }
    return comm_check(code, "setting up a halo message");
}

enum status requests_open(MPI_Comm comm, const struct transport_channel *channels, int nchannels,
                          const struct request_buffers *buffers, int max_count,
                          struct requests *requests)
{
    *requests = (struct requests){.posted = -1};
    for (int n = 0; n < FACE_COUNT; n++) {
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
        MPI_Request_free(request);
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

static enum status wait_all(int count, MPI_Request requests[], const char *what)
{
    MPI_Status statuses[FACE_COUNT];
    const int code = MPI_Waitall(count, requests, statuses);
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

enum status requests_wait(struct requests *requests)
{
    const int slot = requests->posted;
    requests->posted = -1;
    TRY(wait_all(requests->count, requests->recv[slot], "receiving the halo"));
    return wait_all(requests->count, requests->send, "sending the halo");
}

void requests_cancel(struct requests *requests)
{
    if (requests->posted < 0) {
        return;
    }
    MPI_Request *recv = requests->recv[requests->posted];
    requests->posted = -1;
    for (int n = 0; n < requests->count; n++) {
        /* not waited for: a receive that has met its message cannot be cancelled, and the rest
         * of that message may never come */
        if (recv[n] != MPI_REQUEST_NULL && MPI_Cancel(&recv[n]) == MPI_SUCCESS) {
            int done = 0;
            MPI_Test(&recv[n], &done, MPI_STATUS_IGNORE);
        }
    }
}
