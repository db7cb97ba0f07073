/* The backend `guard`: device, queues and events. */
#include "tests/guard/guard_device.h"

#include <stdlib.h>

#include <unistd.h>

#include "kernels/backend.h"
#include "kernels/cpu/host/memory.h"

/* --- memory ---------------------------------------------------------------------------------- */

static enum status run_all(struct device *device);

void guard_memory_free(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        (void)run_all(device); /* queued operations may still use it */
        guard_forget(device, d_memory);
    }
}

enum status guard_pinned_alloc(struct device *device, size_t bytes, void **h_memory)
{
    TRY(host_memory_alloc(bytes, h_memory));
    cpu_fill_nan(*h_memory, bytes);
    return STATUS_OK;
}

void guard_pinned_free(struct device *device, void *h_memory)
{
    if (h_memory != NULL) {
        (void)run_all(device);
        free(h_memory);
    }
}

/* --- device ---------------------------------------------------------------------------------- */

enum status guard_probe(void)
{
    return STATUS_OK;
}

enum status guard_open(int node_rank, int node_size, struct device **device)
{
    *device = calloc(1, sizeof **device);
    TRY(CHECK_MEMORY(*device != NULL, "out of memory"));
    (*device)->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return STATUS_OK;
}

void guard_close(struct device *device)
{
    if (device == NULL) {
        return;
    }
    (void)run_all(device);
    guard_forget_all(device);
    free(device);
}

enum status guard_info(struct device *device, struct device_info *info)
{
    host_info(info);
    return STATUS_OK;
}

/* --- queues and events ----------------------------------------------------------------------- */

enum status guard_queue_create(struct device *device, enum queue_priority priority,
                               struct queue **queue)
{
    struct queue *cpu = NULL;
    TRY(backend_cpu.runtime->queue_create(NULL, priority, &cpu));
    *queue = calloc(1, sizeof **queue);
    if (*queue == NULL) {
        backend_cpu.runtime->queue_destroy(cpu);
        return fail(STATUS_MEMORY, "out of memory");
    }
    **queue = (struct queue){
        .next = device->queues, .device = device, .id = ++device->last_queue_id, .cpu = cpu};
    device->queues = *queue;
    return STATUS_OK;
}

enum status guard_run_until(struct queue *queue, uint64_t position)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && queue->nrun < position && queue->first != NULL) {
        struct operation *op = queue->first;
        status = op->run(queue, op->args);
        queue->first = op->next;
        queue->nrun++;
        free(op);
    }
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    return status;
}

enum status guard_queue_wait(struct queue *queue)
{
    if (queue->first == NULL) {
        return STATUS_OK;
    }
    TRY(guard_access_begin(queue->device));
    const enum status status = guard_run_until(queue, queue->nadded);
    TRY(guard_access_end(queue->device));
    return status;
}

static enum status run_all(struct device *device)
{
    enum status status = STATUS_OK;
    for (struct queue *queue = device->queues; queue != NULL; queue = queue->next) {
        const enum status here = guard_queue_wait(queue);
        status = status == STATUS_OK ? here : status;
    }
    return status;
}

void guard_queue_destroy(struct queue *queue)
{
    if (queue == NULL) {
        return;
    }
    (void)guard_queue_wait(queue);
    while (queue->first != NULL) { /* after a failure */
        struct operation *op = queue->first;
        queue->first = op->next;
        free(op);
    }
    struct queue **link = &queue->device->queues;
    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    backend_cpu.runtime->queue_destroy(queue->cpu);
    free(queue);
}

enum status guard_event_create(struct device *device, struct event **event)
{
    *event = calloc(1, sizeof **event);
    return CHECK_MEMORY(*event != NULL, "out of memory");
}

void guard_event_destroy(struct event *event)
{
    free(event);
}

enum status guard_event_record(struct queue *queue, struct event *event)
{
    *event =
        (struct event){.device = queue->device, .queue_id = queue->id, .position = queue->nadded};
    return STATUS_OK;
}

/* The queue that it was recorded on, if work before its mark has not run; else NULL. */
static struct queue *awaited_queue(const struct event *event)
{
    struct queue *queue = event->device != NULL ? event->device->queues : NULL;
    while (queue != NULL && queue->id != event->queue_id) {
        queue = queue->next;
    }
    return queue != NULL && queue->nrun < event->position ? queue : NULL;
}

enum status guard_event_sync(struct event *event)
{
    struct queue *queue = awaited_queue(event);
    if (queue == NULL) {
        return STATUS_OK;
    }
    TRY(guard_access_begin(event->device));
    const enum status status = guard_run_until(queue, event->position);
    TRY(guard_access_end(event->device));
    return status;
}

enum status guard_queue_wait_for(struct queue *queue, struct event *mark)
{
    return guard_event_sync(mark);
}

enum status guard_event_done(struct event *event, bool *done)
{
    if (awaited_queue(event) != NULL && event->asked++ >= GUARD_LAG) {
        TRY(guard_event_sync(event));
    }
    *done = awaited_queue(event) == NULL;
    return STATUS_OK;
}
