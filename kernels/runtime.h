/* What runs kernels: a device, its memory, queues of work, events and stopwatches, copies, and
 * memory that processes of one node share. Says nothing of what the memory holds.
 *
 * Order of work: operations are put on a queue and may run later; operations of one queue run in
 * order; those of two queues run in any order unless an event ties them. A result in host memory
 * is valid after queue_wait. Structs and boxes are copied when the call is made; buffers must live
 * until the operation has run. No function is collective.
 *
 * Every function returns STATUS_DEVICE (with a message) when the device refuses. */
#ifndef ISOTHERM_KERNELS_RUNTIME_H
#define ISOTHERM_KERNELS_RUNTIME_H

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
    char driver[64];       /* what runs it, with its version; "" where there is nothing between */
    int threads;           /* host threads that the kernels use; 0 for a GPU */
    int devices;           /* that this process could have opened; 0 for a backend without any */
    uint64_t memory_bytes; /* in all */
    uint64_t free_bytes;   /* at the time of asking */
    char address[32];      /* of the device: PCI, "0000:c1:00.0"; "": the node is the device */
};

/* Names memory of shared_alloc to another process of this node; travels as plain bytes. */
enum { SHARED_HANDLE_BYTES = 128 };
struct shared_handle {
    unsigned char bytes[SHARED_HANDLE_BYTES];
};

struct runtime {
    /* Can it run here? STATUS_OK, or the reason why not as the recorded message. */
    enum status (*probe)(void);
    /* Open the device for this rank: the `node_rank`th of `node_size` ranks on this node. */
    enum status (*open)(int node_rank, int node_size, struct device **device);
    void (*close)(struct device *device); /* takes NULL */
    enum status (*info)(struct device *device, struct device_info *info);

    /* Aligned to LAYOUT_ALIGN_BYTES at least; every byte is 0xFF, so every element is NaN.
     * STATUS_MEMORY, with the numbers, when it does not fit. */
    enum status (*memory_alloc)(struct device *device, size_t bytes, void **d_memory);
    void (*memory_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Host memory that copies run fastest from and to. */
    enum status (*pinned_alloc)(struct device *device, size_t bytes, void **h_memory);
    void (*pinned_free)(struct device *device, void *h_memory); /* takes NULL */

    enum status (*queue_create)(struct device *device, enum queue_priority priority,
                                struct queue **queue);
    void (*queue_destroy)(struct queue *queue); /* waits; takes NULL */
    /* Block until everything on the queue has run; returns the first failure of it. */
    enum status (*queue_wait)(struct queue *queue);
    enum status (*event_create)(struct device *device, struct event **event);
    void (*event_destroy)(struct event *event); /* takes NULL */
    /* Mark the present end of the queue. */
    enum status (*event_record)(struct queue *queue, struct event *event);
    /* Later work on `queue` waits until the work before the mark has run. The host goes on. */
    enum status (*event_wait)(struct queue *queue, struct event *event);
    /* Block until the work before the mark has run; other work on its queue need not have. */
    enum status (*event_sync)(struct event *event);
    /* Has it? Returns at once; asked again and again, it comes true. */
    enum status (*event_done)(struct event *event, bool *done);

    /* A stopwatch for the work of one queue, by the device's own clock where it has one: the time
     * between the two marks, without what the host needs to queue it. */
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
    /* Device to device at the memory's full speed: also the ceiling that `bench` measures. */
    enum status (*copy_on_device)(struct queue *queue, void *d_to, const void *d_from,
                                  size_t bytes);

    /* Memory that kernels of other processes of this node can read and write, filled like
     * memory_alloc's; the handle is what they open it with. STATUS_DEVICE where it cannot be. */
    enum status (*shared_alloc)(struct device *device, size_t bytes, void **d_memory,
                                struct shared_handle *handle);
    void (*shared_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Map another process's memory, which must live until shared_close. Once a handle. */
    enum status (*shared_open)(struct device *device, const struct shared_handle *handle,
                               void **d_memory);
    void (*shared_close)(struct device *device, void *d_memory); /* takes NULL */
    /* Flags are words of shared memory that count; fresh ones count as -1. Queued: when all that is
     * on the queue before has run and can be seen by whoever sees the flags, store `value`. That
     * comes without a call more: the host may wait for another process that waits for them. */
    enum status (*flags_write)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                               uint32_t value);
    /* Queued: later work on the queue waits until all flags have counted to `value` (modulo 2^32)
     * and sees what was done before. When that takes longer than `limit_s` the queue goes on, and
     * its queue_wait returns STATUS_DEVICE: whoever should have come may be gone. */
    enum status (*flags_wait)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                              uint32_t value, double limit_s);
};

#endif
