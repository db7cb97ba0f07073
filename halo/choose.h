/* Which transports one exchange uses: proved, and where there is a choice measured. */
#ifndef ISOTHERM_HALO_CHOOSE_H
#define ISOTHERM_HALO_CHOOSE_H

#include "halo/transport.h"
#include "halo/trial.h"

/* What is asked of an exchange. */
struct halo_options {
    const char *transport; /* "auto" or a name */
    /* for tests, which make thousands: */
    int node_ranks;       /* > 0: take so many consecutive ranks for a node, whatever MPI says */
    const char *off_node; /* a name: for neighbours on other nodes; NULL: `transport` for all */
    bool unproved;        /* take what is asked for by name as it is */
};

enum nearness { ON_NODE, OFF_NODE, NEARNESS_COUNT };

/* The channels of one rank to neighbours of one nearness; and whether any rank has such. */
struct neighbourhood {
    struct transport_channel channels[HALO_MESSAGES_MAX];
    int nchannels;
    bool exists;
};

enum { TRIALS_MAX = 8 };

struct choice {
    const struct transport *transport[NEARNESS_COUNT]; /* NULL: there are no such neighbours */
    char reason[512];
    struct halo_trial trials[TRIALS_MAX];
    int ntrials;
};

/* Collective; all ranks choose alike. STATUS_INPUT for an unknown name;
 * STATUS_DEVICE, agreed, when what was asked for (with auto: any) does not work; STATUS_MPI, not
 * agreed, when MPI itself fails. */
enum status choose_transports(const struct transport_site *site,
                              const struct neighbourhood neighbourhoods[NEARNESS_COUNT],
                              enum precision precision, const struct halo_options *options,
                              struct choice *choice) MUST_CHECK;

/* The transports' names, NULL behind the last. */
const char *halo_transport_at(int index);
/* Collective. Prove and time one transport: ranks 0 and 1, 2 and 3, ... send each other `bytes`
 * bytes (multiples of 8) at the same time; the odd one sends to itself. Without packing where that
 * is a kernel of its own. STATUS_DEVICE when the transport is not for this backend; one that does
 * not work sets trial->works and trial->why. STATUS_MPI may be one rank's alone. */
enum status halo_time_pairs(MPI_Comm comm, const struct backend *backend, struct device *device,
                            const char *name, size_t bytes, struct halo_trial *trial) MUST_CHECK;

#endif
