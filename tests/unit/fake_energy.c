/* A library with the names of NVML and of ROCm SMI and one device each: the counter grows by 250 mJ
 * and by 1000 counts of 15.3 uJ with every reading. Without FAKE_ENERGY in the environment it does
 * not initialize. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GOOD = 0, BAD = 9 };
#define EXPORTED __attribute__((visibility("default"))) int

EXPORTED nvmlInit_v2(void);
EXPORTED nvmlInit_v2(void)
{
    return getenv("FAKE_ENERGY") != NULL ? GOOD : BAD;
}

EXPORTED nvmlShutdown(void);
EXPORTED nvmlShutdown(void)
{
    return GOOD;
}

EXPORTED nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
EXPORTED nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    static int one;
    *device = &one;
    return strcmp(address, "0000:c1:00.0") == 0 ? GOOD : BAD;
}

EXPORTED nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
EXPORTED nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    static unsigned long long count = 1000;
    *millijoules = count += 250;
    return device != NULL ? GOOD : BAD;
}

EXPORTED rsmi_init(uint64_t flags);
EXPORTED rsmi_init(uint64_t flags)
{
    return flags == 0 && getenv("FAKE_ENERGY") != NULL ? GOOD : BAD;
}

EXPORTED rsmi_shut_down(void);
EXPORTED rsmi_shut_down(void)
{
    return GOOD;
}

EXPORTED rsmi_num_monitor_devices(uint32_t *count);
EXPORTED rsmi_num_monitor_devices(uint32_t *count)
{
    *count = 2;
    return GOOD;
}

EXPORTED rsmi_dev_pci_id_get(uint32_t index, uint64_t *address);
EXPORTED rsmi_dev_pci_id_get(uint32_t index, uint64_t *address)
{
    *address = index == 0 ? 0xd900 : 0xde00;
    return GOOD;
}

EXPORTED rsmi_dev_energy_count_get(uint32_t index, uint64_t *count, float *resolution,
                                   uint64_t *time);
EXPORTED rsmi_dev_energy_count_get(uint32_t index, uint64_t *count, float *resolution,
                                   uint64_t *time)
{
    static uint64_t counts = 5000;
    *count = counts += 1000;
    *resolution = 15.3F;
    *time = 0;
    return index == 1 ? GOOD : BAD;
}
