/* The backend `hip`: errors, the device and its memory. */
#include "kernels/hip/host/device_hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* --- errors ---------------------------------------------------------------------------------- */

/* Translates HIP's error codes. */
enum status hip_check(hipError_t error, const char *what)
{
    if (error == hipSuccess) {
        return STATUS_OK;
    }
    (void)hipGetLastError(); /* else the next launch reports it again */
    return fail(error == hipErrorMemoryAllocation ? STATUS_MEMORY : STATUS_DEVICE, "%s: %s (%s)",
                what, hipGetErrorString(error), hipGetErrorName(error));
}

enum status hip_out_of_host_memory(void)
{
    return fail(STATUS_MEMORY, "out of memory");
}

enum status hip_count_processors(int *count)
{
    static int processors = 0;
    int device = 0;
    if (processors == 0) {
        TRY_HIP(hipGetDevice, &device);
        TRY_HIP(hipDeviceGetAttribute, &processors, hipDeviceAttributeMultiprocessorCount, device);
    }
    *count = processors;
    return STATUS_OK;
}

enum status hip_load(const void *kernel, int bytes)
{
    return HIP(hipFuncSetAttribute, kernel, hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

/* --- device ---------------------------------------------------------------------------------- */

static enum status device_count(int *count)
{
    *count = 0;
    TRY_HIP(hipGetDeviceCount, count);
    return *count > 0 ? STATUS_OK : fail(STATUS_DEVICE, "no GPU found");
}

enum status hip_probe(void)
{
    int count;
    return device_count(&count);
}

/* A process may see all devices of the node, or only its own. */
enum status hip_open(int node_rank, int node_size, struct device **device)
{
    int count;
    TRY(device_count(&count));
    TRY_HIP(hipSetDevice, node_rank % count);
    struct device *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return hip_out_of_host_memory();
    }
    built->index = node_rank % count;
    *device = built;
    return STATUS_OK;
}

void hip_close(struct device *device)
{
    free(device);
}

enum status hip_info(struct device *device, struct device_info *info)
{
    hipDeviceProp_t properties;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    TRY_HIP(hipGetDeviceProperties, &properties, device->index);
    TRY_HIP(hipMemGetInfo, &free_bytes, &total_bytes);
    char address[sizeof info->address] = "";
    int driver = 0;
    int runtime = 0;
    TRY_HIP(hipDeviceGetPCIBusId, address, sizeof address, device->index);
    TRY_HIP(hipDriverGetVersion, &driver);
    TRY_HIP(hipRuntimeGetVersion, &runtime);
    *info = (struct device_info){
        .memory_bytes = total_bytes,
        .free_bytes = free_bytes,
    };
    memcpy(info->address, address, sizeof address);
    snprintf(info->driver, sizeof info->driver, "driver %d, runtime %d", driver, runtime);
    TRY(device_count(&info->devices));
    const size_t most = sizeof info->name - 1;
    const size_t length = strnlen(properties.name, sizeof properties.name);
    memcpy(info->name, properties.name, length < most ? length : most);
    return STATUS_OK;
}
/* --- memory ---------------------------------------------------------------------------------- */

enum status hip_memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    struct device_info room;
    TRY(hip_info(device, &room));
    void *fresh = NULL;
    const hipError_t error = bytes > room.free_bytes ? hipErrorMemoryAllocation
                                                     : hipMalloc(&fresh, bytes > 0 ? bytes : 1);
    if (error == hipErrorMemoryAllocation) {
        (void)hipGetLastError();
        return fail(STATUS_MEMORY,
                    "%s of device memory are needed, but only %s of the %s of %s are available; "
                    "use more devices, fewer cells, or float32",
                    SIZE_TEXT(bytes), SIZE_TEXT(room.free_bytes), SIZE_TEXT(room.memory_bytes),
                    room.name);
    }
    TRY(hip_check(error, "hipMalloc"));
    enum status status = HIP(hipMemset, fresh, 0xFF, bytes);
    if (status == STATUS_OK) {
        /* hipMemset is asynchronous, and other queues do not wait for it */
        status = hip_check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    }
    if (status != STATUS_OK) {
        (void)hipFree(fresh);
        return status;
    }
    *d_memory = fresh;
    return STATUS_OK;
}

void hip_memory_free(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        (void)hipFree(d_memory); /* waits for the kernels that use it */
    }
}

enum status hip_pinned_alloc(struct device *device, size_t bytes, void **h_memory)
{
    void *fresh = NULL;
    TRY_HIP(hipHostMalloc, &fresh, bytes > 0 ? bytes : 1, hipHostMallocDefault);
    memset(fresh, 0xFF, bytes);
    *h_memory = fresh;
    return STATUS_OK;
}

void hip_pinned_free(struct device *device, void *h_memory)
{
    if (h_memory != NULL) {
        (void)hipHostFree(h_memory);
    }
}
