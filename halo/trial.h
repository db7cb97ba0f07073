/* Verification and timing of a transport at start-up. */
#ifndef ISOTHERM_HALO_TRIAL_H
#define ISOTHERM_HALO_TRIAL_H

#include "halo/transport.h"

/* One transport, for the neighbours on the node or on other nodes. */
struct halo_trial {
    const char *transport;
    bool on_node;
    bool works;
    double seconds; /* per exchange, median of the slowest rank */
    char why[384];  /* why it does not work */
};

/* Collective over site->comm. Send patterned messages through the channels: of a few bytes, and of
 * the real size but at least beyond the eager limits of MPI libraries. The receive buffers are
 * poisoned before, and every byte is compared. Sets trial->works, and trial->why if not, the same
 * on all ranks. If it works, sets trial->seconds: the median over a few exchanges of the slowest
 * rank's time from packing to the end of the queue. `transfer_alone`: without packing, where that
 * is a separate kernel. Fails only with STATUS_MPI, not agreed, when MPI itself fails. */
enum status trial_run(const struct transport_site *site, const struct transport *transport,
                      const struct transport_channel *channels, int nchannels,
                      enum precision precision, bool transfer_alone,
                      struct halo_trial *trial) MUST_CHECK;

#endif
