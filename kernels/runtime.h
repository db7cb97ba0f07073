/* A device: its memory, queues, events, stopwatches, copies, and memory that processes of one node
 * share.
 *
 * Order of work: operations of one queue run in order, perhaps later; those of two queues run in
 * any order unless an event orders them. A result in host memory is valid after queue_wait, or
 * queue_wait_for a mark behind it. Structs and boxes are copied by the call; buffers must live
 * until the operation has run. No function is collective. All return STATUS_DEVICE, with a message,
 * when the device reports an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Private to each backend. */
struct device;
struct queue;
struct event;
struct stopwatch;

enum queue_priority { QUEUE_NORMAL, QUEUE_HIGH, QUEUE_LOW };

struct device_info {
    char name[128];        /* e.g. "AMD EPYC, 2 threads" */
    char driver[64];       /* driver and version; "" without one */
    int threads;           /* host threads that the kernels use; 0 for a GPU */
    int devices;           /* visible to this process; 0 for a backend without devices */
    uint64_t memory_bytes; /* total */
    uint64_t free_bytes;   /* now */
    char address[32];      /* PCI, "0000:c1:00.0"; "": the node is the device */
};

/* Identifies memory of shared_alloc to another process of this node; plain bytes. */
enum { SHARED_HANDLE_BYTES = 128 };
struct shared_handle {
    unsigned char bytes[SHARED_HANDLE_BYTES];
};

struct runtime {
    /* STATUS_OK if the backend can run here; else the message has the reason. */
    enum status (*probe)(void);
    /* Open the device for rank `node_rank` of the `node_size` ranks on this node. */
    enum status (*open)(int node_rank, int node_size, struct device **device);
    void (*close)(struct device *device); /* takes NULL */
    enum status (*info)(struct device *device, struct device_info *info);

    /* Aligned to LAYOUT_ALIGN_BYTES at least; all bytes are 0xFF, so all elements are NaN.
     * STATUS_MEMORY, with the sizes, when it does not fit. */
    enum status (*memory_alloc)(struct device *device, size_t bytes, void **d_memory);
    void (*memory_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Host memory for fast copies. */
    enum status (*pinned_alloc)(struct device *device, size_t bytes, void **h_memory);
    void (*pinned_free)(struct device *device, void *h_memory); /* takes NULL */

    enum status (*queue_create)(struct device *device, enum queue_priority priority,
                                struct queue **queue);
    void (*queue_destroy)(struct queue *queue); /* waits; takes NULL */
    /* Block until everything on the queue has run; returns its first failure. */
    enum status (*queue_wait)(struct queue *queue);
    /* The same for what was queued before the mark, which was set on this queue. */
    enum status (*queue_wait_for)(struct queue *queue, struct event *mark);
    enum status (*event_create)(struct device *device, struct event **event);
    void (*event_destroy)(struct event *event); /* takes NULL */
    /* Mark the present end of the queue. */
    enum status (*event_record)(struct queue *queue, struct event *event);
    /* Later work on `queue` waits until the work before the mark has run. Does not block. */
    enum status (*event_wait)(struct queue *queue, struct event *event);
    /* Block until the work before the mark has run. */
    enum status (*event_sync)(struct event *event);
    /* Has it run? Does not block; true after enough calls. */
    enum status (*event_done)(struct event *event, bool *done);

    /* The time between two marks in a queue, by the device's clock where it has one, so without the
     * host's time. */
    enum status (*stopwatch_create)(struct device *device, struct stopwatch **stopwatch);
    void (*stopwatch_destroy)(struct stopwatch *stopwatch); /* takes NULL */
    /* Queued. */
    enum status (*stopwatch_start)(struct queue *queue, struct stopwatch *stopwatch);
    enum status (*stopwatch_stop)(struct queue *queue, struct stopwatch *stopwatch);
    /* After queue_wait. */
    enum status (*stopwatch_seconds)(struct stopwatch *stopwatch, double *seconds);

    /* Queued copies of `bytes` bytes. */
    enum status (*copy_to_device)(struct queue *queue, void *d_to, const void *h_from,
                                  size_t bytes);
    enum status (*copy_to_host)(struct queue *queue, void *h_to, const void *d_from, size_t bytes);
    /* Device to device at the full memory bandwidth; also the reference of `bench`. */
    enum status (*copy_on_device)(struct queue *queue, void *d_to, const void *d_from,
                                  size_t bytes);

    /* Memory that kernels of other processes of this node can access, filled as by memory_alloc;
     * they open it with the handle. STATUS_DEVICE where this is not supported. */
    enum status (*shared_alloc)(struct device *device, size_t bytes, void **d_memory,
                                struct shared_handle *handle);
    void (*shared_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Map another process's memory, which must live until shared_close. Once per handle. */
    enum status (*shared_open)(struct device *device, const struct shared_handle *handle,
                               void **d_memory);
    void (*shared_close)(struct device *device, void *d_memory); /* takes NULL */
    /* Flags are counters in shared memory; fresh ones are -1. Queued: store `value` once all
     * earlier work on the queue has run and is visible to a process that sees the flags. This needs
     * no further call: the host may then wait for a process that waits for the flags. */
    enum status (*flags_write)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                               uint32_t value);
    /* Queued: later work on the queue waits until all flags have reached `value` (modulo 2^32), and
     * sees what was stored before. After `limit_s` the queue continues, and its queue_wait returns
     * STATUS_DEVICE: the other process may have ended. */
    enum status (*flags_wait)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                              uint32_t value, double limit_s);
};

/* All of them. The functions of a backend have these names after its own: hip_probe. */
/* clang-format off */
#define RUNTIME_FUNCTIONS(X)                                                                       \
    X(probe) X(open) X(close) X(info) X(memory_alloc) X(memory_free) X(pinned_alloc)               \
    X(pinned_free) X(queue_create) X(queue_destroy) X(queue_wait) X(queue_wait_for)                \
    X(event_create) X(event_destroy) X(event_record) X(event_wait) X(event_sync) X(event_done)     \
    X(stopwatch_create) X(stopwatch_destroy) X(stopwatch_start) X(stopwatch_stop)                  \
    X(stopwatch_seconds) X(copy_to_device) X(copy_to_host) X(copy_on_device) X(shared_alloc)       \
    X(shared_free) X(shared_open) X(shared_close) X(flags_write) X(flags_wait)
/* clang-format on */
#define RUNTIME_TYPE(name) __typeof__(*((struct runtime *)0)->name)
