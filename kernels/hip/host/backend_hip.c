/* The backend `hip`: queues, events, copies and reductions of one GPU, and the table. */
#include "kernels/hip/host/backend_hip.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/hip/host/device_hip.h"

/* --- queues and events ----------------------------------------------------------------------- */

/* Deliver the results of reductions. */
static void deliver(struct queue *queue)
{
    for (int d = 0; d < queue->ndeliveries; d++) {
        const struct delivery *delivery = &queue->deliveries[d];
        memcpy(delivery->h_to, delivery->from, delivery->bytes);
    }
    queue->ndeliveries = 0;
}

static enum status queue_wait(struct queue *queue)
{
    TRY_HIP(hipStreamSynchronize, queue->stream);
    deliver(queue);
    return hip_flags_check(queue);
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
    hip_memory_free(queue->device, queue->d_scratch);
    hip_pinned_free(queue->device, queue->results);
    hip_pinned_free(queue->device, queue->late);
    free(queue);
}

static enum status queue_build(struct queue *queue, enum queue_priority priority)
{
    int least = 0;
    int greatest = 0;
    TRY_HIP(hipDeviceGetStreamPriorityRange, &least, &greatest);
    /* lower numbers are higher priorities */
    const int number = priority == QUEUE_HIGH  ? greatest
                       : priority == QUEUE_LOW ? least
                                               : (least + greatest) / 2;
    TRY_HIP(hipStreamCreateWithPriority, &queue->stream, hipStreamNonBlocking, number);
    queue->has_priority = priority == QUEUE_HIGH;
    void *memory = NULL;
    TRY(hip_memory_alloc(queue->device, sizeof *queue->d_scratch, &memory));
    queue->d_scratch = memory;
    TRY(hip_pinned_alloc(queue->device, RESULTS_PER_QUEUE * sizeof *queue->results, &memory));
    queue->results = memory;
    TRY(hip_pinned_alloc(queue->device, sizeof *queue->late, &memory));
    queue->late = memory;
    *queue->late = 0;
    TRY_HIP(hip_launch_scratch_reset, queue->stream, queue->d_scratch);
    return STATUS_OK;
}

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    struct queue *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return hip_out_of_host_memory();
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
        return hip_out_of_host_memory();
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

static enum status stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    (void)device;
    struct stopwatch *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return hip_out_of_host_memory();
    }
    enum status status = STATUS_OK;
    TRY_GOTO(hip_check(hipEventCreate(&built->start), "hipEventCreate"));
    status = hip_check(hipEventCreate(&built->stop), "hipEventCreate");
    if (status == STATUS_OK) {
        *stopwatch = built;
        return STATUS_OK;
    }
    (void)hipEventDestroy(built->start);
done:
    free(built);
    return status;
}

static void stopwatch_destroy(struct stopwatch *stopwatch)
{
    if (stopwatch != NULL) {
        (void)hipEventDestroy(stopwatch->start);
        (void)hipEventDestroy(stopwatch->stop);
        free(stopwatch);
    }
}

static enum status stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    TRY_HIP(hipEventRecord, stopwatch->start, queue->stream);
    return STATUS_OK;
}

static enum status stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    TRY_HIP(hipEventRecord, stopwatch->stop, queue->stream);
    return STATUS_OK;
}

static enum status stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    float milliseconds = 0;
    TRY_HIP(hipEventElapsedTime, &milliseconds, stopwatch->start, stopwatch->stop);
    *seconds = 1e-3 * (double)milliseconds;
    return STATUS_OK;
}

static enum status event_sync(struct event *event)
{
    TRY_HIP(hipEventSynchronize, event->event);
    return STATUS_OK;
}

static enum status event_done(struct event *event, bool *done)
{
    const hipError_t error = hipEventQuery(event->event);
    *done = error == hipSuccess;
    if (error == hipErrorNotReady) {
        (void)hipGetLastError(); /* else the next launch reports it again */
        return STATUS_OK;
    }
    return hip_check(error, "hipEventQuery");
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

/* --- reductions ------------------------------------------------------------------------------ */

enum status hip_result_begin(struct queue *queue, struct hip_result **result)
{
    TRY(queue->ndeliveries < RESULTS_PER_QUEUE ? STATUS_OK : queue_wait(queue));
    *result = &queue->results[queue->ndeliveries];
    return STATUS_OK;
}

void hip_result_deliver(struct queue *queue, void *h_to, const void *from, size_t bytes)
{
    queue->deliveries[queue->ndeliveries++] = (struct delivery){h_to, from, bytes};
}

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = hip_step_##variant},
static const struct kernel_variant variants[] = {
    HIP_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "the best of these for the size",
        .step = hip_step,
    },
};

static const struct runtime runtime = {
    .probe = hip_probe,
    .open = hip_open,
    .close = hip_close,
    .info = hip_info,
    .memory_alloc = hip_memory_alloc,
    .memory_free = hip_memory_free,
    .pinned_alloc = hip_pinned_alloc,
    .pinned_free = hip_pinned_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .stopwatch_create = stopwatch_create,
    .stopwatch_destroy = stopwatch_destroy,
    .stopwatch_start = stopwatch_start,
    .stopwatch_stop = stopwatch_stop,
    .stopwatch_seconds = stopwatch_seconds,
    .event_sync = event_sync,
    .event_done = event_done,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy_on_device,
    .shared_alloc = hip_shared_alloc,
    .shared_free = hip_memory_free,
    .shared_open = hip_shared_open,
    .shared_close = hip_shared_close,
    .flags_write = hip_flags_write,
    .flags_wait = hip_flags_wait,
};

#define ROW(name, host) .name = hip_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = HIP_STEPS_MOST,
                                  [KIND_CLASSES] = HIP_STEPS_OF_MEDIA,
                                  [KIND_ENTHALPY] = HIP_STEPS_OF_MEDIA,
                                  [KIND_HIGH_ORDER] = 1},
    .step_shapes = hip_step_shapes,
    .step_shape = hip_step_shape,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};

const struct backend backend_hip = {
    .name = "hip",
    .about = "one GPU, through HIP",
    .capabilities = BACKEND_GPU | BACKEND_FREE_COPIES,
    .for_tests = ISOTHERM_HIP_FOR_TESTS,
    .runtime = &runtime,
    .operations = &operations,
};
