/* The backend `cpu`: host memory, and operations that run at once; queues and events never wait. */
#include "kernels/cpu/backend_cpu.h"

#include <stdlib.h>

#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/host/runtime.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/pass.h"

struct device {
    char unused;
};
static enum status allocate(size_t bytes, void **object)
{
    *object = calloc(1, bytes);
    return *object != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory");
}

static enum status probe(void)
{
    return STATUS_OK;
}

static enum status open_device(int node_rank, int node_size, struct device **device)
{
    (void)node_rank;
    (void)node_size;
    return allocate(sizeof **device, (void **)device);
}

static void close_device(struct device *device)
{
    free(device);
}

static enum status info(struct device *device, struct device_info *info)
{
    (void)device;
    host_info(info);
    return STATUS_OK;
}

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    (void)device;
    (void)priority;
    return allocate(sizeof **queue, (void **)queue);
}

static void queue_destroy(struct queue *queue)
{
    if (queue != NULL) {
        free(queue->memory);
    }
    free(queue);
}

static enum status queue_wait(struct queue *queue)
{
    (void)queue;
    return STATUS_OK;
}

static enum status copy(struct queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    cpu_copy(to, from, bytes);
    return STATUS_OK;
}

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = cpu_step_##variant},
static const struct kernel_variant variants[] = {
    CPU_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "the fastest of `ahead`, `wide` and `planes` with several tile heights",
        .step = cpu_step,
        .settling_calls = TILE_TUNER_ROUNDS * TILE_TUNER_CHOICES,
    },
};

static const struct runtime runtime = {
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = host_memory_fresh,
    .memory_free = host_memory_free,
    .pinned_alloc = host_memory_fresh,
    .pinned_free = host_memory_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .event_record = host_event_order,
    .event_wait = host_event_order,
    .stopwatch_create = host_stopwatch_create,
    .stopwatch_destroy = host_stopwatch_destroy,
    .stopwatch_start = host_stopwatch_start,
    .stopwatch_stop = host_stopwatch_stop,
    .stopwatch_seconds = host_stopwatch_seconds,
    .event_sync = host_event_sync,
    .event_done = host_event_done,
    .copy_to_device = copy,
    .copy_to_host = copy,
    .copy_on_device = copy,
    .shared_alloc = host_shared_alloc,
    .shared_free = host_shared_free,
    .shared_open = host_shared_open,
    .shared_close = host_shared_close,
    .flags_write = host_flags_write,
    .flags_wait = host_flags_wait,
};

#define ROW(name, host) .name = cpu_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = STEPS_MOST,
                                  [KIND_CLASSES] = STEPS_MOST,
                                  [KIND_ENTHALPY] = STEPS_MOST,
                                  [KIND_HIGH_ORDER] = STEPS_MOST},
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};

const struct backend backend_cpu = {
    .name = "cpu",
    .about = "OpenMP threads and SIMD on this machine's processor",
    .capabilities =
        BACKEND_HOST_ACCESS | BACKEND_HOST_POINTERS | BACKEND_NODE_MEMORY | BACKEND_ALONG_ROWS,
    .runtime = &runtime,
    .operations = &operations,
};
