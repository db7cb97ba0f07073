/* The choice of transports for an exchange, by verification and measurement. */
#pragma once

#include "halo/transport.h"

/* One transport, for the neighbours on the node or on other nodes. */
struct halo_trial {
    const char *transport;
    bool on_node;
    bool works;
    double seconds; /* per exchange, median of the slowest rank */
    char why[384];  /* why it does not work */
};

enum nearness { ON_NODE, OFF_NODE, NEARNESS_COUNT };

/* The channels of one rank to neighbours of one nearness; and whether any rank has some. */
struct neighbourhood {
    struct transport_channel channels[HALO_MESSAGES_MAX];
    int nchannels;
    bool exists;
};

/* Everything that a trial of any transport needs. */
struct trial_question {
    const struct transport_site *site;
    const struct neighbourhood *neighbourhoods; /* [NEARNESS_COUNT] */
    enum precision precision;
    bool trusted;        /* requested by name: see halo_probe */
    bool transfer_alone; /* time it without packing, where that is a separate kernel */
};

/* Collective over `comm`, a copy of the site's. Send patterned messages to the neighbours of one
 * nearness: of a few bytes, and of the real size but at least beyond the eager limits of MPI
 * libraries. The receive buffers are poisoned before, and every byte is compared. Sets
 * trial->works, and trial->why if not, the same on all ranks. If it works, sets trial->seconds: the
 * median over a few exchanges of the slowest rank's time from packing to the end of the queue.
 * Fails only with STATUS_MPI, not agreed, when MPI itself fails. */
enum status trial_run(const struct trial_question *question, MPI_Comm comm,
                      const struct transport *transport, enum nearness nearness,
                      struct halo_trial *trial);

struct halo_options {
    const char *transport; /* "auto" or a name */
    /* for tests: */
    int node_ranks;       /* > 0: treat each group of this many consecutive ranks as a node */
    const char *off_node; /* for neighbours on other nodes; NULL: `transport` for all */
    bool unproved;        /* do not verify a transport requested by name */
};

enum { TRIALS_MAX = 8 };

struct choice {
    const struct transport *transport[NEARNESS_COUNT]; /* NULL: there are no such neighbours */
    char reason[512];
    struct halo_trial trials[TRIALS_MAX];
    int ntrials;
};

/* Collective; the same choice on all ranks. STATUS_INPUT for an unknown name; STATUS_DEVICE,
 * agreed, when the requested transport (with auto: every one) does not work; STATUS_MPI, not
 * agreed, when MPI itself fails. */
enum status choose_transports(const struct transport_site *site,
                              const struct neighbourhood neighbourhoods[NEARNESS_COUNT],
                              enum precision precision, const struct halo_options *options,
                              struct choice *choice);

/* The transports' names; NULL after the last. */
const char *halo_transport_at(int index);
/* Collective. Verify and time one transport: ranks 0 and 1, 2 and 3, ... exchange `bytes` bytes (a
 * multiple of 8); a single last rank sends to itself. Without packing where that is a separate
 * kernel. `trusted`: see halo_probe. STATUS_DEVICE when the transport does not support the backend;
 * one that does not work sets trial->works and trial->why. STATUS_MPI may occur on one rank only.
 */
enum status halo_time_pairs(MPI_Comm comm, const struct backend *backend, struct device *device,
                            const char *name, size_t bytes, bool trusted, struct halo_trial *trial);
