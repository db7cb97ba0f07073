/* What the files of the backend `guard` share: its device, memory, queues and events. */
#pragma once

#include "kernels/cpu/kernels_cpu.h"
#include "tests/guard/guard_operations.h"

struct allocation {
    struct allocation *next;
    void *d_memory;
    char *map; /* pages, with one more on either side that is never accessible */
    size_t map_bytes;
    int file;   /* for other processes to map; -1: none */
    int access; /* of its pages, while operations run */
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
    size_t nbytes;                     /* of args */
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

/* A check of what an operation reads and writes of its fields (guard_fence.c). */
enum { GUARD_FIELDS_MOST = 8 };
struct guard_fence {
    const struct field_access *fields;
    void *args;
    void *copy[GUARD_FIELDS_MOST]; /* of an input, for the operation; of an output, as it was */
};
/* Let the arguments point to copies of the inputs, which hold NaN where they may not be read. Then
 * call guard_fence_end with the operation's status, on failure too: it fails where an output has
 * changed outside of its region. */
enum status guard_fence_begin(const struct field_access *fields, void *args,
                              struct guard_fence *fence);
enum status guard_fence_end(struct guard_fence *fence, enum status status);

/* While an operation runs its memory is what the words of its arguments `own` point to, and those
 * of the host memory that was recorded behind `args`. It is read only where they are inputs. */
enum status guard_access_limit(struct device *device, const struct field_access *fields,
                               const void *own, size_t nbytes, const void *args);
enum status guard_access_widen(struct device *device);
