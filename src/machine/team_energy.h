/* The energy of a run: each device counts once, or the CPUs of each node. */
#ifndef ISOTHERM_MACHINE_TEAM_ENERGY_H
#define ISOTHERM_MACHINE_TEAM_ENERGY_H

#include <mpi.h>

#include "base/status.h"
#include "machine/energy.h"

struct team_energy {
    struct energy_meter *meter; /* NULL: another rank counts this device, or `why` */
    double begin_J, last_J;
    double last_s; /* when the counter was read */
    char why[ENERGY_WORDS];
};

struct energy_total {
    double joules; /* NaN: `why` */
    char source[32];
    char why[ENERGY_WORDS];
};

/* Collective. `pci`: the address of this rank's device, "" for the CPUs. Without a counter the run
 * continues. */
enum status team_energy_begin(MPI_Comm comm, const char *pci,
                              struct team_energy *energy) MUST_CHECK;
void team_energy_end(struct team_energy *energy); /* takes a zeroed one */

/* Not collective; call it now and then: counters of CPUs wrap around within minutes. */
void team_energy_sample(struct team_energy *energy);

/* Not collective. Begin the measurement now. */
void team_energy_restart(struct team_energy *energy);

/* Collective. The energy since the beginning, on rank 0. NaN unless every device has a counter. */
enum status team_energy_total(MPI_Comm comm, struct team_energy *energy,
                              struct energy_total *total) MUST_CHECK;

#endif
