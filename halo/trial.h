/* Whether a transport really moves bytes here, and how fast: tried at start-up. */
#ifndef ISOTHERM_HALO_TRIAL_H
#define ISOTHERM_HALO_TRIAL_H

#include "halo/transport.h"

/* One transport tried at the start, for the neighbours on the node or those on other nodes. */
struct halo_trial {
    const char *transport;
    bool on_node;
    bool works;
    double seconds; /* for all these messages at once, median, of the slowest rank */
    char why[384];  /* it does not work */
};

/* Seconds that a message of a trial may take. */
extern const double trial_limit_s;

/* Collective over site->comm. Send patterned messages through the channels' pairs, of a few bytes,
 * and of the real size but at least beyond what MPI libraries send eagerly; the receive buffers are
 * poisoned before, and every byte is looked at. Sets trial->works, and why not, the same on all
 * ranks. Fails only with STATUS_MPI, which is not agreed: MPI itself is then out of order. */
enum status trial_prove(const struct transport_site *site, const struct transport *transport,
                        const struct transport_channel *channels, int nchannels,
                        enum precision precision, struct halo_trial *trial) MUST_CHECK;

/* Collective, and fails alike: set trial->seconds, the median over a few exchanges of the slowest
 * rank's time from packing to the end of the queue. `transfer_alone`: where packing is a kernel of
 * its own it is done before, and not counted. */
enum status trial_measure(const struct transport_site *site, const struct transport *transport,
                          const struct transport_channel *channels, int nchannels,
                          enum precision precision, bool transfer_alone,
                          struct halo_trial *trial) MUST_CHECK;

#endif
