/* The backend `hip`: memory, queues and events of one GPU, and kernels by their launchers. */
#include "kernels/hip/backend_hip.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/hip/launch.h"

/* Results of reductions that may be on their way at once. */
enum { RESULTS_A_QUEUE = 16 };

struct device {
    int index;
};

/* A reduction's result waits in pinned memory until the queue has been waited for: only then may
 * the caller's memory, which the device cannot reach, be written. */
struct delivery {
    struct field_summary *h_summary; /* one of the two */
    uint64_t *h_hash;
};

struct queue {
    struct device *device;
    hipStream_t stream;
    struct hip_scratch *d_scratch;
    struct hip_result *results; /* pinned, RESULTS_A_QUEUE */
    struct delivery deliveries[RESULTS_A_QUEUE];
    int ndeliveries;
};

struct event {
    hipEvent_t event;
};

/* --- errors ---------------------------------------------------------------------------------- */

/* The one place where HIP's codes become ours. */
static enum status hip_check(hipError_t error, const char *what)
{
    if (error == hipSuccess) {
        return STATUS_OK;
    }
    (void)hipGetLastError(); /* it would be reported again after the next launch */
    return fail(error == hipErrorMemoryAllocation ? STATUS_MEMORY : STATUS_DEVICE, "%s: %s (%s)",
                what, hipGetErrorString(error), hipGetErrorName(error));
}

/* The name of the call alone: its arguments say nothing to a user. */
#define TRY_HIP(function, ...) TRY(hip_check(function(__VA_ARGS__), #function))

static enum status out_of_host_memory(void)
{
    return fail(STATUS_MEMORY, "out of memory");
}

/* --- device ---------------------------------------------------------------------------------- */

static enum status device_count(int *count)
{
    *count = 0;
    TRY_HIP(hipGetDeviceCount, count);
    return *count > 0 ? STATUS_OK : fail(STATUS_DEVICE, "there is no GPU here");
}

static enum status probe(void)
{
    int count;
    return device_count(&count);
}

/* Each process sees all devices of the node, or only its own: both work. */
static enum status open_device(int node_rank, int node_size, struct device **device)
{
    (void)node_size;
    int count;
    TRY(device_count(&count));
    TRY_HIP(hipSetDevice, node_rank % count);
    struct device *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return out_of_host_memory();
    }
    built->index = node_rank % count;
    *device = built;
    return STATUS_OK;
}

static void close_device(struct device *device)
{
    free(device);
}

static enum status info(struct device *device, struct device_info *info)
{
    hipDeviceProp_t properties;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    TRY_HIP(hipGetDeviceProperties, &properties, device->index);
    TRY_HIP(hipMemGetInfo, &free_bytes, &total_bytes);
    *info = (struct device_info){.memory_bytes = total_bytes, .free_bytes = free_bytes};
    const size_t most = sizeof info->name - 1;
    const size_t length = strnlen(properties.name, sizeof properties.name);
    memcpy(info->name, properties.name, length < most ? length : most);
    return STATUS_OK;
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum status memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    struct device_info room;
    TRY(info(device, &room));
    void *fresh = NULL;
    const hipError_t error = bytes > room.free_bytes ? hipErrorMemoryAllocation
                                                     : hipMalloc(&fresh, bytes > 0 ? bytes : 1);
    if (error == hipErrorMemoryAllocation) {
        (void)hipGetLastError();
        return fail(STATUS_MEMORY,
                    "%.3f GiB of device memory are needed, but only %.3f of the %.3f GiB of %s are "
                    "available; use more devices, fewer cells, or float32",
                    (double)bytes * 0x1p-30, (double)room.free_bytes * 0x1p-30,
                    (double)room.memory_bytes * 0x1p-30, room.name);
    }
    TRY(hip_check(error, "hipMalloc"));
    enum status status = hip_check(hipMemset(fresh, 0xFF, bytes), "hipMemset");
    if (status == STATUS_OK) {
        /* hipMemset may return before it is done, and other queues do not wait for it */
        status = hip_check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    }
    if (status != STATUS_OK) {
        (void)hipFree(fresh);
        return status;
    }
    *d_memory = fresh;
    return STATUS_OK;
}

static void memory_free(struct device *device, void *d_memory)
{
    (void)device;
    if (d_memory != NULL) {
        (void)hipFree(d_memory); /* waits for the kernels that use it */
    }
}

static enum status pinned_alloc(struct device *device, size_t bytes, void **h_memory)
{
    (void)device;
    void *fresh = NULL;
    TRY_HIP(hipHostMalloc, &fresh, bytes > 0 ? bytes : 1, hipHostMallocDefault);
    memset(fresh, 0xFF, bytes);
    *h_memory = fresh;
    return STATUS_OK;
}

static void pinned_free(struct device *device, void *h_memory)
{
    (void)device;
    if (h_memory != NULL) {
        (void)hipHostFree(h_memory);
    }
}

/* --- queues and events ----------------------------------------------------------------------- */

/* Hand out what the reductions have found. */
static void deliver(struct queue *queue)
{
    for (int d = 0; d < queue->ndeliveries; d++) {
        const struct delivery *delivery = &queue->deliveries[d];
        if (delivery->h_summary != NULL) {
            *delivery->h_summary = queue->results[d].summary;
        } else {
            *delivery->h_hash = queue->results[d].hash;
        }
    }
    queue->ndeliveries = 0;
}

static enum status queue_wait(struct queue *queue)
{
    TRY_HIP(hipStreamSynchronize, queue->stream);
    deliver(queue);
    return STATUS_OK;
}

static void queue_destroy(struct queue *queue)
{
    if (queue == NULL) {
        return;
    }
    if (queue->stream != NULL) {
        if (hipStreamSynchronize(queue->stream) == hipSuccess) {
            deliver(queue);
        }
        (void)hipStreamDestroy(queue->stream);
    }
    memory_free(queue->device, queue->d_scratch);
    pinned_free(queue->device, queue->results);
    free(queue);
}

static enum status queue_build(struct queue *queue, enum queue_priority priority)
{
    int least = 0;
    int greatest = 0;
    TRY_HIP(hipDeviceGetStreamPriorityRange, &least, &greatest);
    TRY_HIP(hipStreamCreateWithPriority, &queue->stream, hipStreamNonBlocking,
            priority == QUEUE_HIGH ? greatest : least);
    void *memory = NULL;
    TRY(memory_alloc(queue->device, sizeof *queue->d_scratch, &memory));
    queue->d_scratch = memory;
    TRY(pinned_alloc(queue->device, RESULTS_A_QUEUE * sizeof *queue->results, &memory));
    queue->results = memory;
    TRY_HIP(hip_launch_scratch_reset, queue->stream, queue->d_scratch);
    return STATUS_OK;
}

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    struct queue *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return out_of_host_memory();
    }
    built->device = device;
    const enum status status = queue_build(built, priority);
    if (status != STATUS_OK) {
        queue_destroy(built);
        return status;
    }
    *queue = built;
    return STATUS_OK;
}

static enum status event_create(struct device *device, struct event **event)
{
    (void)device;
    struct event *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return out_of_host_memory();
    }
    const enum status status = hip_check(
        hipEventCreateWithFlags(&built->event, hipEventDisableTiming), "hipEventCreateWithFlags");
    if (status != STATUS_OK) {
        free(built);
        return status;
    }
    *event = built;
    return STATUS_OK;
}

static void event_destroy(struct event *event)
{
    if (event != NULL) {
        (void)hipEventDestroy(event->event);
        free(event);
    }
}

static enum status event_record(struct queue *queue, struct event *event)
{
    TRY_HIP(hipEventRecord, event->event, queue->stream);
    return STATUS_OK;
}

static enum status event_wait(struct queue *queue, struct event *event)
{
    TRY_HIP(hipStreamWaitEvent, queue->stream, event->event, 0);
    return STATUS_OK;
}

/* --- copies ---------------------------------------------------------------------------------- */

static enum status copy_to_device(struct queue *queue, void *d_to, const void *h_from, size_t bytes)
{
    TRY_HIP(hipMemcpyAsync, d_to, h_from, bytes, hipMemcpyHostToDevice, queue->stream);
    return STATUS_OK;
}

static enum status copy_to_host(struct queue *queue, void *h_to, const void *d_from, size_t bytes)
{
    TRY_HIP(hipMemcpyAsync, h_to, d_from, bytes, hipMemcpyDeviceToHost, queue->stream);
    return STATUS_OK;
}

static enum status copy_on_device(struct queue *queue, void *d_to, const void *d_from, size_t bytes)
{
    TRY_HIP(hip_launch_copy, queue->stream, d_to, d_from, bytes);
    return STATUS_OK;
}

static enum status pack(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer)
{
    TRY_HIP(hip_launch_pack, queue->stream, layout, d_field, box, d_buffer);
    return STATUS_OK;
}

static enum status unpack(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field)
{
    TRY_HIP(hip_launch_unpack, queue->stream, layout, d_buffer, box, d_field);
    return STATUS_OK;
}

/* --- reductions ------------------------------------------------------------------------------ */

static enum status make_room(struct queue *queue)
{
    return queue->ndeliveries < RESULTS_A_QUEUE ? STATUS_OK : queue_wait(queue);
}

static enum status summarise(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const void *d_field,
                             struct field_summary *h_summary)
{
    TRY(make_room(queue));
    TRY_HIP(hip_launch_summarise, queue->stream, queue->d_scratch, layout, placement, d_field,
            &queue->results[queue->ndeliveries]);
    queue->deliveries[queue->ndeliveries++] = (struct delivery){.h_summary = h_summary};
    return STATUS_OK;
}

static enum status hash(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash)
{
    TRY(make_room(queue));
    TRY_HIP(hip_launch_hash, queue->stream, queue->d_scratch, layout, placement, d_field,
            &queue->results[queue->ndeliveries]);
    queue->deliveries[queue->ndeliveries++] = (struct delivery){.h_hash = h_hash};
    return STATUS_OK;
}

/* --- the step -------------------------------------------------------------------------------- */

/* One call of a step function. */
struct step_call {
    struct queue *queue;
    const struct layout *layout;
    const struct step_args *args;
    void *d_out;
    const void *d_in;
};

static enum status run_step(const struct step_call *call, hip_step_launcher *launch,
                            const struct box *box)
{
    TRY(hip_check(launch(call->queue->stream, call->queue->d_scratch, call->layout, call->args,
                         call->d_out, call->d_in, box),
                  "step kernel"));
    return STATUS_OK;
}

static enum status run_cells(const struct step_call *call, const struct box *boxes, int nboxes)
{
    TRY_HIP(hip_launch_step_cell, call->queue->stream, call->queue->d_scratch, call->layout,
            call->args, call->d_out, call->d_in, boxes, nboxes);
    return STATUS_OK;
}

/* Which launcher is for a box; NULL: one thread a cell, as many boxes a launch as possible. */
typedef hip_step_launcher *choose_function(const struct layout *layout, const struct box *box);

enum { BOXES_AT_ONCE = 16 };

static enum status step_with(const struct step_call *call, choose_function *choose,
                             const struct box *boxes, int nboxes)
{
    struct box left[BOXES_AT_ONCE];
    int nleft = 0;
    for (int b = 0; b < nboxes; b++) {
        hip_step_launcher *launch = choose(call->layout, &boxes[b]);
        if (launch != NULL) {
            TRY(run_step(call, launch, &boxes[b]));
            continue;
        }
        left[nleft++] = boxes[b];
        if (nleft == BOXES_AT_ONCE) {
            TRY(run_cells(call, left, nleft));
            nleft = 0;
        }
    }
    return nleft > 0 ? run_cells(call, left, nleft) : STATUS_OK;
}

static hip_step_launcher *choose_cell(const struct layout *layout, const struct box *box)
{
    (void)layout;
    (void)box;
    return NULL;
}

static hip_step_launcher *choose_march(const struct layout *layout, const struct box *box)
{
    return hip_step_march_takes(layout) && !box_is_empty(box) ? hip_launch_step_march : NULL;
}

/* What neither needs nor suits the copy engine; a thin box is not worth a launch of its own. */
static hip_step_launcher *choose_plain(const struct layout *layout, const struct box *box)
{
    const int64_t march_cells = (int64_t)1 << 20;
    return box_cells(box) >= march_cells && box_extent(box, AXIS_X) >= 64
               ? choose_march(layout, box)
               : NULL;
}

#define DEFINE_CHOOSE(name)                                                                        \
    static hip_step_launcher *choose_##name(const struct layout *layout, const struct box *box)    \
    {                                                                                              \
        return hip_step_staged_takes(layout, box) ? hip_launch_step_##name                         \
                                                  : choose_plain(layout, box);                     \
    }
DEFINE_CHOOSE(staged_free)
DEFINE_CHOOSE(staged_pair)
DEFINE_CHOOSE(staged_deep)
DEFINE_CHOOSE(staged_wide)

/* The best by measurement (docs/hip.md). What fits the second-level cache needs no pacing; where a
 * plane is small blocks look further ahead. */
static hip_step_launcher *choose_production(const struct layout *layout, const struct box *box)
{
    const int64_t cache_bytes = (int64_t)40 << 20;
    const int64_t small_plane_bytes = (int64_t)5 << 19;
    const int64_t bytes = box_cells(box) * (int64_t)precision_bytes(layout->precision);
    if (!hip_step_staged_takes(layout, box)) {
        return choose_plain(layout, box);
    }
    if (bytes < cache_bytes) {
        return hip_launch_step_staged_free;
    }
    if (bytes / box_extent(box, AXIS_Z) < small_plane_bytes) {
        return hip_launch_step_staged_deep;
    }
    return layout->precision == PRECISION_FLOAT64 ? hip_launch_step_staged_wide
                                                  : hip_launch_step_staged_pair;
}

#define HIP_STEP_VARIANTS(X)                                                                       \
    X(cell, "one thread a cell")                                                                   \
    X(march, "16-byte loads, marching in z in registers")                                          \
    X(staged_free, "tiles staged in shared memory by bulk copies, no pacing")                      \
    X(staged_pair, "with pacing, two blocks a multiprocessor")                                     \
    X(staged_deep, "with pacing, one block, more planes ahead")                                    \
    X(staged_wide, "with pacing, one block, rows twice as long")                                   \
    X(production, "the best of these for the size")

#define DEFINE_STEP(name, about)                                                                   \
    static enum status step_##name(struct queue *queue, const struct layout *layout,               \
                                   const struct step_args *args, void *d_out, const void *d_in,    \
                                   const struct box *boxes, int nboxes)                            \
    {                                                                                              \
        const struct step_call call = {queue, layout, args, d_out, d_in};                          \
        return step_with(&call, choose_##name, boxes, nboxes);                                     \
    }
HIP_STEP_VARIANTS(DEFINE_STEP)

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = step_##variant},
static const struct kernel_variant variants[] = {HIP_STEP_VARIANTS(VARIANT)};

const struct backend backend_hip = {
    .name = "hip",
    .about = "one GPU, through HIP",
    .host_accessible = false,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy_on_device,
    .step = step_production,
    .pack = pack,
    .unpack = unpack,
    .summarise = summarise,
    .hash = hash,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};
