#include "halo/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "kernels/cell/heat_cell.h"

enum {
    LIMIT_S = 20,                 /* limit of a message, s */
    SMALL_BYTES = 64,             /* eager with every library */
    LARGE_BYTES = 256 * 1024,     /* beyond the rendezvous limits of Open MPI, UCX and MPICH */
    PROOFS = TRANSPORT_SLOTS + 1, /* each slot once, and one of them again */
    WARM_UPS = 2,
    TIMES = 5,
};

/* A transport on trial: the first members stay, the others are those of an opened one. The messages
 * are contiguous in a field of one row, from which they are packed like faces. */
struct rig {
    const struct trial_question *question;
    struct transport_site site;
    const struct transport *transport;
    const struct neighbourhood *messages;
    struct transport_state *state;
    struct transport_channel channels[HALO_MESSAGES_MAX];
    int nchannels;
    struct queue *queue;
    struct layout layout;
    struct box box[HALO_MESSAGES_MAX]; /* cells of one message in the field */
    size_t at[HALO_MESSAGES_MAX];      /* offset of these cells in h_bytes */
    void *d_field;
    void *h_bytes;  /* pinned */
    int exchanges;  /* so far */
    bool is_packed; /* do not pack again */
};

/* ---- one exchange ---------------------------------------------------------------------------- */

static void rig_close(struct rig *rig)
{
    const struct runtime *runtime = rig->site.backend->runtime;
    if (rig->queue != NULL) {
        (void)runtime->queue_wait(rig->queue);
    }
    rig->transport->close(rig->state);
    runtime->queue_destroy(rig->queue);
    runtime->memory_free(rig->site.device, rig->d_field);
    runtime->pinned_free(rig->site.device, rig->h_bytes);
}

/* Lay out the messages, all of `bytes` bytes; 0: of their own sizes. */
static size_t divide(struct rig *rig, size_t bytes)
{
    const size_t cell_bytes = precision_bytes(rig->question->precision);
    size_t used = 0;
    rig->nchannels = rig->messages->nchannels;
    for (int n = 0; n < rig->nchannels; n++) {
        struct transport_channel *channel = &rig->channels[n];
        *channel = rig->messages->channels[n];
        channel->bytes = bytes > 0 ? bytes : channel->bytes;
        rig->at[n] = used;
        rig->box[n] = (struct box){.lo = {(int64_t)(used / cell_bytes), 0, 0},
                                   .hi = {(int64_t)((used + channel->bytes) / cell_bytes), 1, 1}};
        used += channel->bytes;
    }
    return used;
}

static enum status allocate(struct rig *rig, size_t bytes)
{
    static const int no_halo[AXIS_COUNT];
    const enum precision precision = rig->question->precision;
    const int64_t cells[AXIS_COUNT] = {(int64_t)(bytes / precision_bytes(precision)), 1, 1};
    const struct runtime *runtime = rig->site.backend->runtime;
    TRY(runtime->queue_create(rig->site.device, QUEUE_HIGH, &rig->queue));
    if (bytes == 0) {
        return STATUS_OK;
    }
    TRY(layout_create(cells, no_halo, precision, &rig->layout));
    TRY(runtime->memory_alloc(rig->site.device, layout_bytes(&rig->layout), &rig->d_field));
    return runtime->pinned_alloc(rig->site.device, bytes, &rig->h_bytes);
}

static enum status rig_open(struct rig *rig, size_t bytes)
{
    const enum status status = allocate(rig, divide(rig, bytes));
    TRY(status_agree(rig->site.comm, status));
    return status_agree(rig->site.comm, rig->transport->open(&rig->site, rig->channels,
                                                             rig->nchannels, &rig->state));
}

/* *slot: the one it has used. */
static enum status exchange(struct rig *rig, int *slot)
{
    const struct backend *backend = rig->site.backend;
    void *d_send[HALO_MESSAGES_MAX];
    *slot = rig->exchanges++ % TRANSPORT_SLOTS;
    for (int n = 0; n < rig->nchannels; n++) {
        d_send[n] = rig->channels[n].d_send[*slot];
    }
    TRY(rig->transport->post(rig->state, *slot));
    if (!rig->is_packed) {
        TRY(ENQUEUE(backend->operations, pack, rig->queue, .layout = rig->layout,
                    .d_field = rig->d_field, .boxes = rig->box, .d_buffers = d_send,
                    .nboxes = rig->nchannels));
    }
    TRY(rig->transport->send(rig->state, rig->queue, *slot));
    TRY(rig->transport->finish(rig->state, rig->queue, *slot));
    return backend->runtime->queue_wait(rig->queue);
}

/* Agree on the outcome. A failure of MPI cannot be agreed on through MPI; waiting for the others
 * ends, since messages have a time limit. */
static enum status settle(MPI_Comm comm, enum status mine, struct halo_trial *trial)
{
    if (mine == STATUS_MPI && !fail_is_agreed()) {
        return mine;
    }
    const enum status all = status_agree(comm, mine);
    if (all == STATUS_MPI && !fail_is_agreed()) {
        return all;
    }
    trial->works = all == STATUS_OK;
    if (!trial->works) {
        snprintf(trial->why, sizeof trial->why, "%s", fail_message());
        fail_clear();
    }
    return STATUS_OK;
}

/* ---- verification ---------------------------------------------------------------------------- */

enum { WORD = sizeof(uint64_t) };

/* Word number `at` / WORD of a message; no other message has the same words. */
static uint64_t pattern_word(int sender, int tag, int round, size_t at)
{
    const uint64_t seed = ((uint64_t)sender << 32) + ((uint64_t)tag << 16) + (uint64_t)round;
    return heat_mix64(heat_mix64(seed) + at);
}

static void pattern(char *bytes, size_t nbytes, int sender, int tag, int round)
{
    for (size_t at = 0; at < nbytes; at += WORD) {
        const uint64_t word = pattern_word(sender, tag, round, at);
        memcpy(bytes + at, &word, nbytes - at < WORD ? nbytes - at : WORD);
    }
}

static enum status prepare(struct rig *rig, int round)
{
    enum { POISON = 0x5A };
    const struct runtime *runtime = rig->site.backend->runtime;
    const int rank = comm_rank(rig->site.comm);
    for (int n = 0; n < rig->nchannels; n++) {
        const struct transport_channel *channel = &rig->channels[n];
        char *bytes = (char *)rig->h_bytes + rig->at[n];
        memset(bytes, POISON, channel->bytes);
        for (int slot = 0; slot < TRANSPORT_SLOTS; slot++) {
            TRY(runtime->copy_to_device(rig->queue, channel->d_recv[slot], bytes, channel->bytes));
        }
    }
    TRY(runtime->queue_wait(rig->queue));
    const size_t cell_bytes = precision_bytes(rig->layout.precision);
    for (int n = 0; n < rig->nchannels; n++) {
        const struct transport_channel *channel = &rig->channels[n];
        char *bytes = (char *)rig->h_bytes + rig->at[n];
        pattern(bytes, channel->bytes, rank, channel->send_tag, round);
        char *to = (char *)rig->d_field + (size_t)rig->layout.origin * cell_bytes + rig->at[n];
        TRY(runtime->copy_to_device(rig->queue, to, bytes, channel->bytes));
    }
    return runtime->queue_wait(rig->queue);
}

static enum status look(const struct rig *rig, int n, int round)
{
    const struct transport_channel *channel = &rig->channels[n];
    const char *found = (const char *)rig->h_bytes + rig->at[n];
    size_t wrong = 0;
    size_t first = 0;
    for (size_t at = 0; at < channel->bytes; at += WORD) {
        const uint64_t word = pattern_word(channel->peer, channel->recv_tag, round, at);
        const size_t nbytes = channel->bytes - at < WORD ? channel->bytes - at : WORD;
        if (memcmp(found + at, &word, nbytes) != 0) {
            first = wrong == 0 ? at : first;
            wrong += nbytes;
        }
    }
    FAIL_IF(
        wrong > 0,
        fail(STATUS_DEVICE,
             "of the %zu bytes of a message from rank %d to rank %d about %zu are wrong, from byte "
             "%zu on",
             channel->bytes, channel->peer, comm_rank(rig->site.comm), wrong, first));
    return STATUS_OK;
}

static enum status verify(struct rig *rig, int slot, int round)
{
    const struct runtime *runtime = rig->site.backend->runtime;
    for (int n = 0; n < rig->nchannels; n++) {
        const struct transport_channel *channel = &rig->channels[n];
        TRY(runtime->copy_to_host(rig->queue, (char *)rig->h_bytes + rig->at[n],
                                  channel->d_recv[slot], channel->bytes));
    }
    TRY(runtime->queue_wait(rig->queue));
    for (int n = 0; n < rig->nchannels; n++) {
        TRY(look(rig, n, round));
    }
    return STATUS_OK;
}

static enum status prove(struct rig *rig, int round, struct halo_trial *trial)
{
    int slot = 0;
    TRY(settle(rig->site.comm, prepare(rig, round), trial)); /* all poison before any sends */
    if (!trial->works) {
        return STATUS_OK;
    }
    enum status status = exchange(rig, &slot);
    status = status == STATUS_OK ? verify(rig, slot, round) : status;
    return settle(rig->site.comm, status, trial);
}

/* ---- the measurement ------------------------------------------------------------------------- */

/* A failed rank continues as long as the others wait for it. */
static enum status time_exchanges(struct rig *rig, double seconds[TIMES])
{
    enum status status = STATUS_OK;
    int slot = 0;
    for (int n = -WARM_UPS; n < TIMES; n++) {
        rig->is_packed =
            rig->question->transfer_alone && n > -WARM_UPS && !rig->transport->on_node_only;
        TRY_MPI(MPI_Barrier(rig->site.comm));
        const double start = clock_seconds();
        status = status == STATUS_OK ? exchange(rig, &slot) : status;
        if (status == STATUS_MPI) {
            return status;
        }
        if (n >= 0) {
            seconds[n] = clock_seconds() - start;
        }
    }
    return status;
}

/* With messages of this size; 0: of their own sizes, which are also timed. */
static enum status try_size(const struct rig *subject, size_t bytes, struct halo_trial *trial)
{
    struct rig rig = *subject;
    MPI_Comm comm = rig.site.comm;
    double seconds[TIMES] = {0};
    enum status status = settle(comm, rig_open(&rig, bytes), trial);
    for (int round = 0; status == STATUS_OK && trial->works && round < PROOFS; round++) {
        status = prove(&rig, round, trial);
    }
    if (status == STATUS_OK && trial->works && bytes == 0) {
        status = settle(comm, time_exchanges(&rig, seconds), trial);
    }
    if (!trial->works && rig.state != NULL) {
        rig.transport->cancel(rig.state);
    }
    rig_close(&rig);
    TRY(status);
    if (trial->works && bytes == 0) {
        TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, TIMES, MPI_DOUBLE, MPI_MAX, comm));
        trial->seconds = clock_median(seconds, TIMES);
    }
    return STATUS_OK;
}

enum status trial_run(const struct trial_question *question, MPI_Comm comm,
                      const struct transport *transport, enum nearness nearness,
                      struct halo_trial *trial)
{
    struct rig subject = {.question = question,
                          .site = *question->site,
                          .transport = transport,
                          .messages = &question->neighbourhoods[nearness]};
    int64_t largest = 0;
    subject.site.comm = comm;
    subject.site.limit_s = LIMIT_S;
    for (int n = 0; n < subject.messages->nchannels; n++) {
        const int64_t bytes = (int64_t)subject.messages->channels[n].bytes;
        largest = bytes > largest ? bytes : largest;
    }
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, comm));
    TRY(try_size(&subject, SMALL_BYTES, trial));
    if (trial->works && largest < LARGE_BYTES) {
        TRY(try_size(&subject, LARGE_BYTES, trial));
    }
    return trial->works ? try_size(&subject, 0, trial) : STATUS_OK;
}
