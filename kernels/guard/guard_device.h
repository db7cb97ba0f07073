/* What the files of the backend `guard` share: its device, memory, queues and events. */
#pragma once

#include "kernels/cpu/kernels_cpu.h"

struct allocation {
    struct allocation *next;
    void *d_memory;
    char *map; /* pages, with one more on either side that is never accessible */
    size_t map_bytes;
    int file; /* for other processes to map; -1: none */
};

struct device {
    struct allocation *allocations;
    struct queue *queues;
    size_t page_bytes;
    int open_depth; /* running operations: waiting for an event can start others */
    uint64_t last_queue_id;
};

/* A queue's operations count from 1; `nrun` of the `nadded` so far have run. */
struct queue {
    struct queue *next;
    struct device *device;
    uint64_t id; /* for events; a queue that is destroyed, and has run, is not found */
    struct operation *first, *last;
    uint64_t nadded, nrun;
    struct queue *cpu; /* a queue of backend_cpu, on which the operations run */
};

struct event {
    struct device *device;
    uint64_t queue_id; /* 0: never recorded */
    uint64_t position;
    int asked; /* calls of event_done since it was recorded */
};

/* The number of event_done calls that report unfinished work, to simulate a slow device: more than
 * the steps that the host queues ahead, so that work which reads what a later step overwrites comes
 * too late. */
enum { GUARD_LAG = 8 };

struct stopwatch {
    double start, stop; /* s */
};

typedef enum status guard_function(struct queue *queue, const void *args);

/* One queued call. */
struct operation {
    struct operation *next;
    guard_function *run;
    _Alignas(16) unsigned char args[]; /* with copies of the host memory that they point to */
};

#define guard_copy_on_device guard_copy_to_device
#define guard_shared_free guard_memory_free
#define guard_shared_close guard_memory_free
#define GUARD_DECLARE(name) RUNTIME_TYPE(name) guard_##name;
RUNTIME_FUNCTIONS(GUARD_DECLARE)
#undef GUARD_DECLARE

/* Between these the memory is accessible. */
enum status guard_access_begin(struct device *device);
enum status guard_access_end(struct device *device);
/* Unmap one allocation, of any kind, or all; nothing queued may still use them. */
void guard_forget(struct device *device, void *d_memory);
void guard_forget_all(struct device *device);

/* Queue `run` with a copy of `nbytes` bytes of arguments and of their host memory; NULL: they point
 * to none. */
enum status guard_add(struct queue *queue, guard_function *run, const void *args, size_t nbytes,
                      const struct host_memory *host);
/* Run the queue's operations up to and including number `position`. */
enum status guard_run_until(struct queue *queue, uint64_t position);

/* A check of what an operation reads and writes of a field (guard_fence.c). */
struct guard_fence {
    const void *args;            /* to be given to the operation */
    const struct layout *layout; /* of d_field; NULL: no check */
    void *d_field;               /* it may differ in the boxes only */
    const struct box *boxes;
    int nboxes;
    size_t bytes;
    void *before, *input;  /* copies of d_field, and of what a step may read */
    struct step_args step; /* with that copy */
};
/* Before the operation `name`; then call guard_fence_end with its status, on failure too. */
enum status guard_fence_begin(const char *name, const void *args, struct guard_fence *fence);
enum status guard_fence_end(struct guard_fence *fence, enum status status);
