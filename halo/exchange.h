/* Halo exchange: begin, compute the interior, end.
 *
 * What the plan names (faces; edges and corners where asked for) is packed into contiguous buffers
 * that are allocated once and reused; receives are posted before anything is sent. A periodic axis
 * with one block sends to itself by the same path. What moves the buffers is a transport, chosen
 * from a table (transport.h). */
#ifndef ISOTHERM_HALO_EXCHANGE_H
#define ISOTHERM_HALO_EXCHANGE_H

#include <mpi.h>

#include "halo/choose.h"
#include "halo/plan.h"

struct halo;

/* The messages in flight between halo_begin and halo_end: handed out by the one, consumed by the
 * other, so that a missing or doubled end cannot be written by accident. */
struct halo_flight {
    struct halo *halo; /* NULL: nothing is in flight */
    struct queue *queue;
    void *d_field;
};

/* Collective over `comm`; all ranks choose alike. `plan` and `layout` are copied. Each transport in
 * question is proved with patterned messages, and with "auto" the fastest of those that work is
 * taken, for neighbours on the node and on other nodes apart.
 * Agreed: STATUS_DEVICE when what was asked for does not work. On all ranks alike, but to be agreed
 * on: STATUS_INPUT for an unknown transport. STATUS_MPI may be one rank's alone. */
enum status halo_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                        const struct halo_plan *plan, const struct layout *layout,
                        const struct halo_options *options, struct halo **halo) MUST_CHECK;
void halo_destroy(struct halo *halo); /* takes NULL; not while messages are in flight */

/* The chosen transport's name ("peer + gpu-aware": on the node and beyond), and a sentence on why.
 */
const char *halo_transport_name(const struct halo *halo);
const char *halo_transport_reason(const struct halo *halo);
/* What was tried: the same on all ranks. Returns how many. */
int halo_trials(const struct halo *halo, const struct halo_trial **trials);

/* Start the exchange of d_field's halo. Packs on `queue` after what is on it already, and sends;
 * MPI must be waited for packing by the host, `peer` is not. The halo layers must not be read, nor
 * the owned cells of the faces written, until halo_end has returned and what it has queued has run.
 * All exchanges of one `halo` name the same queue, or the caller has waited for the earlier one:
 * unpacking may still be on it, and transports count on that order.
 * Returns STATUS_MPI or STATUS_DEVICE; then nothing is in flight here, and the ranks must agree
 * on the failure before any of them begins another exchange. */
enum status halo_begin(struct halo *halo, struct queue *queue, void *d_field,
                       struct halo_flight *flight) MUST_CHECK;
/* Wait for the messages, or let the queue wait, and unpack on the queue given to halo_begin: work
 * put on that queue afterwards sees the complete halo. */
enum status halo_end(struct halo_flight *flight) MUST_CHECK;

#endif
