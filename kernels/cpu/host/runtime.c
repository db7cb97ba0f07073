#include "kernels/cpu/host/runtime.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/host/shared_memory.h"
#include "kernels/cpu/kernels_cpu.h"

struct event {
    char unused;
};
struct stopwatch {
    double start, stop; /* s */
};

static enum status allocate(size_t bytes, void **object)
{
    *object = calloc(1, bytes);
    return *object != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory");
}

enum status host_memory_fresh(struct device *device, size_t bytes, void **d_memory)
{
    (void)device;
    TRY(host_memory_alloc(bytes, d_memory));
    cpu_fill_nan(*d_memory, bytes);
    return STATUS_OK;
}

void host_memory_free(struct device *device, void *memory)
{
    (void)device;
    free(memory);
}

enum status host_event_create(struct device *device, struct event **event)
{
    (void)device;
    return allocate(sizeof **event, (void **)event);
}

void host_event_destroy(struct event *event)
{
    free(event);
}

enum status host_event_order(struct queue *queue, struct event *event)
{
    (void)queue;
    (void)event;
    return STATUS_OK;
}

enum status host_stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    (void)device;
    return allocate(sizeof **stopwatch, (void **)stopwatch);
}

void host_stopwatch_destroy(struct stopwatch *stopwatch)
{
    free(stopwatch);
}

enum status host_stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    (void)queue;
    stopwatch->start = clock_seconds();
    return STATUS_OK;
}

enum status host_stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    (void)queue;
    stopwatch->stop = clock_seconds();
    return STATUS_OK;
}

enum status host_stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    *seconds = stopwatch->stop - stopwatch->start;
    return STATUS_OK;
}

enum status host_event_sync(struct event *event)
{
    (void)event;
    return STATUS_OK;
}

enum status host_event_done(struct event *event, bool *done)
{
    (void)event;
    *done = true;
    return STATUS_OK;
}

/* Before the memory that is handed out; the other processes see it too. */
struct shared_header {
    size_t map_bytes;
    int file; /* the owner's */
};
enum { HEADER_BYTES = LAYOUT_ALIGN_BYTES };

static struct shared_header *header_of(void *d_memory)
{
    return (struct shared_header *)((char *)d_memory - HEADER_BYTES);
}

void host_shared_close(struct device *device, void *d_memory)
{
    (void)device;
    if (d_memory != NULL) {
        shared_memory_unmap(header_of(d_memory), header_of(d_memory)->map_bytes);
    }
}

enum status host_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                              struct shared_handle *handle)
{
    (void)device;
    int file = -1;
    void *map = NULL;
    const size_t map_bytes = HEADER_BYTES + bytes;
    TRY(shared_memory_create(map_bytes, &file));
    const enum status status = shared_memory_map(file, map_bytes, &map);
    if (status != STATUS_OK) {
        shared_memory_forget(file);
        return status;
    }
    *d_memory = (char *)map + HEADER_BYTES;
    *header_of(*d_memory) = (struct shared_header){.map_bytes = map_bytes, .file = file};
    cpu_fill_nan(*d_memory, bytes);
    shared_memory_name(file, map_bytes, handle);
    return STATUS_OK;
}

void host_shared_free(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        shared_memory_forget(header_of(d_memory)->file);
        host_shared_close(device, d_memory);
    }
}

enum status host_shared_open(struct device *device, const struct shared_handle *handle,
                             void **d_memory)
{
    (void)device;
    int file = -1;
    size_t map_bytes = 0;
    void *map = NULL;
    TRY(shared_memory_find(handle, &file, &map_bytes));
    const enum status status = shared_memory_map(file, map_bytes, &map);
    shared_memory_forget(file);
    TRY(status);
    *d_memory = (char *)map + HEADER_BYTES;
    return STATUS_OK;
}

enum status host_flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                             uint32_t value)
{
    (void)queue;
    shared_flags_write(d_flags, nflags, value);
    return STATUS_OK;
}

enum status host_flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                            uint32_t value, double limit_s)
{
    (void)queue;
    return shared_flags_wait(d_flags, nflags, value, limit_s);
}
