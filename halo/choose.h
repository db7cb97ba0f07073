/* Which transports one exchange uses: proved, and where there is a choice measured. */
#ifndef ISOTHERM_HALO_CHOOSE_H
#define ISOTHERM_HALO_CHOOSE_H

#include "halo/exchange.h"
#include "halo/transport.h"

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
                              enum precision precision, const struct halo_wishes *wishes,
                              struct choice *choice) MUST_CHECK;

#endif
