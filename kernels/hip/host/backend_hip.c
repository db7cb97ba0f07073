/* The backend `hip`: queues, events, copies and reductions of one GPU, and the table. */
#include "kernels/backend.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/hip/host/device_hip.h"

/* --- queues and events ----------------------------------------------------------------------- */

/* Deliver the results of reductions before the one with this number. */
static void deliver(struct queue *queue, uint64_t end)
{
    for (; queue->delivered < end; queue->delivered++) {
        const struct delivery *delivery = &queue->deliveries[queue->delivered % RESULTS_PER_QUEUE];
        memcpy(delivery->h_to, delivery->from, delivery->bytes);
    }
}

enum status hip_queue_wait(struct queue *queue)
{
    TRY_HIP(hipStreamSynchronize, queue->stream);
    deliver(queue, queue->promised);
    return hip_flags_check(queue);
}

enum status hip_queue_wait_for(struct queue *queue, struct event *mark)
{
    TRY(hip_event_sync(mark));
    deliver(queue, mark->promised);
    return hip_flags_check(queue);
}

void hip_queue_destroy(struct queue *queue)
{
    if (queue == NULL) {
        return;
    }
    if (queue->stream != NULL) {
        if (hipStreamSynchronize(queue->stream) == hipSuccess) {
            deliver(queue, queue->promised);
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
    TRY(hip_memory_alloc(queue->device, 2 * sizeof *queue->d_scratch, &memory));
    queue->d_scratch = memory;
    TRY(hip_pinned_alloc(queue->device, RESULTS_PER_QUEUE * sizeof *queue->results, &memory));
    queue->results = memory;
    TRY(hip_pinned_alloc(queue->device, sizeof *queue->late, &memory));
    queue->late = memory;
    *queue->late = 0;
    TRY_HIP(hip_launch_scratch_reset, queue->stream, queue->d_scratch);
    return HIP(hip_launch_scratch_reset, queue->stream, queue->d_scratch + 1);
}

enum status hip_queue_create(struct device *device, enum queue_priority priority,
                             struct queue **queue)
{
    struct queue *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return hip_out_of_host_memory();
    }
    built->device = device;
    const enum status status = queue_build(built, priority);
    if (status != STATUS_OK) {
        hip_queue_destroy(built);
        return status;
    }
    *queue = built;
    return STATUS_OK;
}

enum status hip_event_create(struct device *device, struct event **event)
{
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

void hip_event_destroy(struct event *event)
{
    if (event != NULL) {
        (void)hipEventDestroy(event->event);
        free(event);
    }
}

enum status hip_event_record(struct queue *queue, struct event *event)
{
    event->promised = queue->promised;
    return HIP(hipEventRecord, event->event, queue->stream);
}

enum status hip_event_wait(struct queue *queue, struct event *event)
{
    return HIP(hipStreamWaitEvent, queue->stream, event->event, 0);
}

enum status hip_stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    struct stopwatch *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return hip_out_of_host_memory();
    }
    enum status status = STATUS_OK;
    TRY_GOTO(HIP(hipEventCreate, &built->start));
    status = HIP(hipEventCreate, &built->stop);
    if (status == STATUS_OK) {
        *stopwatch = built;
        return STATUS_OK;
    }
    (void)hipEventDestroy(built->start);
done:
    free(built);
    return status;
}

void hip_stopwatch_destroy(struct stopwatch *stopwatch)
{
    if (stopwatch != NULL) {
        (void)hipEventDestroy(stopwatch->start);
        (void)hipEventDestroy(stopwatch->stop);
        free(stopwatch);
    }
}

enum status hip_stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    return HIP(hipEventRecord, stopwatch->start, queue->stream);
}

enum status hip_stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    return HIP(hipEventRecord, stopwatch->stop, queue->stream);
}

enum status hip_stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    float milliseconds = 0;
    TRY_HIP(hipEventElapsedTime, &milliseconds, stopwatch->start, stopwatch->stop);
    *seconds = 1e-3 * (double)milliseconds;
    return STATUS_OK;
}

enum status hip_event_sync(struct event *event)
{
    return HIP(hipEventSynchronize, event->event);
}

enum status hip_event_done(struct event *event, bool *done)
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

enum status hip_copy_to_device(struct queue *queue, void *d_to, const void *h_from, size_t bytes)
{
    return HIP(hipMemcpyAsync, d_to, h_from, bytes, hipMemcpyHostToDevice, queue->stream);
}

enum status hip_copy_to_host(struct queue *queue, void *h_to, const void *d_from, size_t bytes)
{
    return HIP(hipMemcpyAsync, h_to, d_from, bytes, hipMemcpyDeviceToHost, queue->stream);
}

enum status hip_copy_on_device(struct queue *queue, void *d_to, const void *d_from, size_t bytes)
{
    return HIP(hip_launch_copy, queue->stream, d_to, d_from, bytes);
}

/* --- reductions ------------------------------------------------------------------------------ */

enum status hip_result_begin(struct queue *queue, struct hip_result **result)
{
    const bool has_room = queue->promised - queue->delivered < RESULTS_PER_QUEUE;
    TRY(has_room ? STATUS_OK : hip_queue_wait(queue));
    *result = &queue->results[queue->promised % RESULTS_PER_QUEUE];
    return STATUS_OK;
}

void hip_result_deliver(struct queue *queue, void *h_to, const void *from, size_t bytes)
{
    queue->deliveries[queue->promised++ % RESULTS_PER_QUEUE] = (struct delivery){h_to, from, bytes};
}

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = hip_step_##variant},
static const struct kernel_variant variants[] = {
    HIP_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "the best of these for the size",
        .step = hip_step,
    },
};

#define MEMBER(name) .name = hip_##name,
static const struct runtime runtime = {RUNTIME_FUNCTIONS(MEMBER)};

#define ROW(name) .name = hip_##name,
enum { STEPS_OF_FACES = ISOTHERM_HIP_COPIES_TILES ? HIP_STEPS_OF_FACES : 1 };

static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = HIP_STEPS_MOST,
                                  [KIND_CLASSES] = HIP_STEPS_OF_CLASSES,
                                  [KIND_ENTHALPY] = 1,
                                  [KIND_HIGH_ORDER] = 1,
                                  [KIND_FACES] = STEPS_OF_FACES,
                                  [KIND_GRADED] = 1},
    .steps_whole = {[KIND_CLASSES] = HIP_STEPS_OF_CLASSES, [KIND_FACES] = STEPS_OF_FACES},
    .steps_share_a = hip_steps_share_a,
    .load_multigrid = hip_load_multigrid,
    .step_shapes = hip_step_shapes,
    .step_shape = hip_step_shape,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
    .laplacians = hip_laplacians,
};

const struct backend backend_hip = {
    .name = "hip",
    .about = "one GPU, through HIP",
    .capabilities = BACKEND_GPU | BACKEND_FREE_COPIES,
    .for_tests = ISOTHERM_HIP_FOR_TESTS,
    .runtime = &runtime,
    .operations = &operations,
};
