/* The backend `offload`: the device, its memory and copies, and the tables. */
#include "kernels/offload/backend_offload.h"

#include <stdio.h>
#include <stdlib.h>

#include <omp.h>

#include "base/log.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/host_runtime.h"
#include "kernels/offload/device_offload.h"

/* Whether target regions run on this device. OpenMP also counts devices for which this program has
 * no code. */
static bool has_code(int number)
{
    int on_host = 1;
#pragma omp target device(number) map(from : on_host)
    on_host = omp_is_initial_device();
    return on_host == 0;
}

static enum status probe(void)
{
    return STATUS_OK;
}

static enum status open_device(int node_rank, int node_size, struct device **device)
{
    const int count = omp_get_num_devices();
    (void)node_size;
    *device = calloc(1, sizeof **device);
    TRY(CHECK_MEMORY(*device != NULL, "out of memory"));
    (*device)->number = count > 0 ? node_rank % count : 0;
    (*device)->is_host = count == 0 || !has_code((*device)->number);
    if ((*device)->is_host) {
        (*device)->number = omp_get_initial_device();
    }
    return STATUS_OK;
}

static void close_device(struct device *device)
{
    free(device);
}

/* OpenMP cannot ask for a device's memory: the node's is given, and memory_alloc fails when it is
 * full. */
static enum status info(struct device *device, struct device_info *info)
{
    host_info(info);
    if (!device->is_host) {
        char host[sizeof info->name];
        snprintf(host, sizeof host, "%s", info->name);
        snprintf(info->name, sizeof info->name, "OpenMP device %d, host %.90s", device->number,
                 host);
        info->devices = omp_get_num_devices();
    }
    return STATUS_OK;
}

static enum status memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    const size_t words = (bytes + 7) / 8 * 8; /* for offload_fill_nan */
    if (device->is_host) {
        TRY(host_memory_alloc(words, d_memory));
    } else {
        *d_memory = omp_target_alloc(words > 0 ? words : 8, device->number);
        TRY(CHECK_MEMORY(*d_memory != NULL,
                         "%s of memory are not available on OpenMP device %d; use more devices, "
                         "fewer cells, or float32",
                         SIZE_TEXT(bytes), device->number));
    }
    offload_fill_nan(device->number, *d_memory, words);
    return STATUS_OK;
}

static void memory_free(struct device *device, void *d_memory)
{
    if (device->is_host) {
        free(d_memory);
    } else if (d_memory != NULL) {
        omp_target_free(d_memory, device->number);
    }
}

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    (void)priority;
    *queue = calloc(1, sizeof **queue);
    TRY(CHECK_MEMORY(*queue != NULL, "out of memory"));
    (*queue)->device = device;
    return STATUS_OK;
}

static void queue_destroy(struct queue *queue)
{
    free(queue);
}

static enum status queue_wait(struct queue *queue)
{
    (void)queue;
    return STATUS_OK;
}

static enum status copy(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (bytes > 0 && omp_target_memcpy(to, from, bytes, 0, 0, to_device, from_device) != 0) {
        return fail(STATUS_DEVICE, "OpenMP could not copy %s between its devices %d and %d",
                    SIZE_TEXT(bytes), from_device, to_device);
    }
    return STATUS_OK;
}

static enum status copy_to_device(struct queue *queue, void *d_to, const void *h_from, size_t bytes)
{
    return copy(d_to, queue->device->number, h_from, omp_get_initial_device(), bytes);
}

static enum status copy_to_host(struct queue *queue, void *h_to, const void *d_from, size_t bytes)
{
    return copy(h_to, omp_get_initial_device(), d_from, queue->device->number, bytes);
}

/* Runtimes may return while a device still copies, but not before a copy to the host has ended. */
static enum status copy_on_device(struct queue *queue, void *d_to, const void *d_from, size_t bytes)
{
    char last = 0;
    TRY(copy(d_to, queue->device->number, d_from, queue->device->number, bytes));
    return bytes > 0 ? copy_to_host(queue, &last, (char *)d_to + bytes - 1, 1) : STATUS_OK;
}

static enum status shared_alloc(struct device *device, size_t bytes, void **d_memory,
                                struct shared_handle *handle)
{
    if (!device->is_host) {
        return fail(STATUS_DEVICE, "OpenMP has no memory that processes share on a device");
    }
    return host_shared_alloc(device, bytes, d_memory, handle);
}

static const struct kernel_variant variants[] = {
    {.name = "rows", .about = "a team per row of cells", .step = offload_step_rows},
    {.name = "production", .about = "a thread per cell", .step = offload_step},
};

static const struct runtime runtime = {
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .pinned_alloc = host_memory_fresh,
    .pinned_free = host_memory_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .event_record = host_event_order,
    .event_wait = host_event_order,
    .event_sync = host_event_sync,
    .event_done = host_event_done,
    .stopwatch_create = host_stopwatch_create,
    .stopwatch_destroy = host_stopwatch_destroy,
    .stopwatch_start = host_stopwatch_start,
    .stopwatch_stop = host_stopwatch_stop,
    .stopwatch_seconds = host_stopwatch_seconds,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy_on_device,
    .shared_alloc = shared_alloc,
    .shared_free = host_shared_free,
    .shared_open = host_shared_open,
    .shared_close = host_shared_close,
    .flags_write = host_flags_write,
    .flags_wait = host_flags_wait,
};

static const struct operations operations = {
    .step = offload_step,
    .pack = offload_pack,
    .unpack = offload_unpack,
    .pack_boxes = offload_pack_boxes,
    .unpack_boxes = offload_unpack_boxes,
    .summarise = offload_summarise,
    .plane_maxima = offload_plane_maxima,
    .hash = offload_hash,
    .gather = offload_gather,
    .track = offload_track,
    .flux_squared = offload_flux_squared,
    .extract = offload_extract,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};

/* No capability: device memory may be the host's or not, so the program treats it as apart. */
const struct backend backend_offload = {
    .name = "offload",
    .about = "OpenMP target regions, on the host where no device runs them",
    .runtime = &runtime,
    .operations = &operations,
};
