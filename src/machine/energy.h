/* Energy counters: NVML for NVIDIA devices, ROCm SMI or the driver's files for AMD devices, the
 * kernel's powercap files (RAPL) for CPUs. The libraries are loaded at run time. */
#ifndef ISOTHERM_MACHINE_ENERGY_H
#define ISOTHERM_MACHINE_ENERGY_H

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

#endif
