/* Energy counters: NVML for NVIDIA devices, ROCm SMI or the driver's files for AMD devices, the
 * kernel's powercap files (RAPL) for CPUs. The libraries are loaded at run time. */
#pragma once

#include "base/status.h"
#include <mpi.h>
#include <stdbool.h>

struct energy_meter;

/* The places of libraries and files; tests have their own. */
struct energy_places {
    const char *nvml;        /* library */
    const char *rocm_smi;    /* library */
    const char *pci_devices; /* folder of the devices' folders, named by address */
    const char *powercap;    /* folder of intel-rapl:0, ... */
};
/* The places on a usual system. */
extern const struct energy_places energy_system;

enum { ENERGY_WORDS = 256 };

/* The counter of the device at a PCI address ("0000:c1:00.0"), or of all CPU packages of the node
 * for "". NULL when no counter can be read: `why` has the reason. Not collective. */
struct energy_meter *energy_open(const struct energy_places *places, const char *pci,
                                 char why[ENERGY_WORDS]);
void energy_close(struct energy_meter *meter); /* takes NULL */

/* "NVML", "ROCm SMI", "hwmon" or "RAPL". */
const char *energy_source(const struct energy_meter *meter);

/* J since a fixed moment. CPU counters wrap around: read at least every minute. False on an error.
 */
bool energy_read(struct energy_meter *meter, double *joules);

/* ---- of a run ----
 * The energy of a run: each device counts once, or the CPUs of each node. */

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
enum status team_energy_begin(MPI_Comm comm, const char *pci, struct team_energy *energy);
void team_energy_end(struct team_energy *energy); /* takes a zeroed one */

/* Not collective; call it now and then: counters of CPUs wrap around within minutes. */
void team_energy_sample(struct team_energy *energy);

/* Not collective. Begin the measurement now. */
void team_energy_restart(struct team_energy *energy);

/* Collective. The energy since the beginning, on rank 0. NaN unless every device has a counter. */
enum status team_energy_total(MPI_Comm comm, struct team_energy *energy,
                              struct energy_total *total);
