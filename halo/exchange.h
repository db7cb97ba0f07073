/* Halo exchange: begin, compute the interior, end.
 *
 * The boxes of the plan are packed into contiguous buffers that are allocated once; receives are
 * posted before anything is sent. A periodic axis with one block sends to itself in the same way. A
 * transport moves the buffers (transport.h). */
#pragma once

#include <mpi.h>

#include "halo/choose.h"
#include "halo/plan.h"

struct halo;

/* The messages in flight, returned by halo_begin and consumed by halo_end. */
struct halo_flight {
    struct halo *halo; /* NULL: nothing is in flight */
    struct queue *queue;
    void *d_field;
};

/* Collective over `comm`; the same choice on all ranks. `plan` and `layout` are copied. Each
 * candidate transport is verified with patterned messages; "auto" takes the fastest that works,
 * separately for neighbours on the node and on other nodes. STATUS_DEVICE, agreed, when the
 * requested transport does not work; STATUS_INPUT, on all ranks but not agreed, for an unknown one.
 * STATUS_MPI may occur on one rank only. */
enum status halo_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                        const struct halo_plan *plan, const struct layout *layout,
                        const struct halo_options *options, struct halo **halo);
/* Collective over the ranks of `halo`. Create another exchange with its transports, without
 * verification: for a plan that is not wider than the verified one. Fails as halo_create. */
enum status halo_create_like(const struct halo *halo, const struct halo_plan *plan,
                             struct halo **like);
void halo_destroy(struct halo *halo); /* takes NULL; not while messages are in flight */

/* The chosen transport's name ("peer + gpu-aware": on the node and beyond), and the reason. */
const char *halo_transport_name(const struct halo *halo);
const char *halo_transport_reason(const struct halo *halo);
/* The trials, which are equal on all ranks. Returns their number. */
int halo_trials(const struct halo *halo, const struct halo_trial **trials);

/* Start the exchange of d_field's halo: pack on `queue`, after its earlier work, and send. Except
 * with `peer`, the host waits for packing. Until halo_end has returned and its queued work has run,
 * the halo layers must not be read, nor the owned cells of the faces written. All exchanges of one
 * `halo` use the same queue, or the caller waits for the earlier queue: transports rely on that
 * order. Returns STATUS_MPI or STATUS_DEVICE; then nothing is in flight, and the ranks must agree
 * on the failure before the next exchange. */
enum status halo_begin(struct halo *halo, struct queue *queue, void *d_field,
                       struct halo_flight *flight);
/* Wait for the messages, or let the queue wait, and unpack on the queue of halo_begin: later work
 * on that queue sees the complete halo. */
enum status halo_end(struct halo_flight *flight);
