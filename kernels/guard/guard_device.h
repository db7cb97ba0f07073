/* What the files of the backend `guard` share: its device, memory, queues and events. */
#ifndef ISOTHERM_KERNELS_GUARD_GUARD_DEVICE_H
#define ISOTHERM_KERNELS_GUARD_GUARD_DEVICE_H

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

enum { GUARD_FLAGS = 26 }; /* per operation */

enum { GUARD_ARGUMENT_BYTES = 384 }; /* of guard_call, at most */

/* One queued call: which function it is, and its arguments by value. */
struct operation {
    struct operation *next;
    enum status (*run)(struct queue *queue, const struct operation *op);
    struct layout layout;
    struct placement placement;
    void *to;
    const void *from;
    size_t bytes;
    struct event event;
    uint32_t *flags[GUARD_FLAGS];
    int nflags;
    uint32_t value; /* of flags */
    double limit_s;
    void *recorded;                    /* a struct name_args, with its host memory */
    const struct device_medium *given; /* NULL, or: */
    struct device_medium medium;       /* what given, flux and source refer to */
    struct layout kept;
    struct track_args track;
    struct flux_args flux;
    struct extract_args extract;
    enum enthalpy_conversion conversion;
    struct source_args source;
    const int64_t *elements;
    void (*call)(const void *arguments, void *to, const void *from);
    _Alignas(16) unsigned char arguments[GUARD_ARGUMENT_BYTES];
    int nboxes;
    struct box boxes[];
};

/* The functions of runtime.h and operations.h by the same names. */
enum status guard_probe(void);
enum status guard_open(int node_rank, int node_size, struct device **device);
void guard_close(struct device *device);
enum status guard_info(struct device *device, struct device_info *info);
enum status guard_memory_alloc(struct device *device, size_t bytes, void **d_memory);
void guard_memory_free(struct device *device, void *d_memory);
enum status guard_pinned_alloc(struct device *device, size_t bytes, void **h_memory);
void guard_pinned_free(struct device *device, void *h_memory);
enum status guard_queue_create(struct device *device, enum queue_priority priority,
                               struct queue **queue);
void guard_queue_destroy(struct queue *queue);
enum status guard_queue_wait(struct queue *queue);
enum status guard_event_create(struct device *device, struct event **event);
void guard_event_destroy(struct event *event);
enum status guard_event_record(struct queue *queue, struct event *event);
enum status guard_event_sync(struct event *event);
enum status guard_event_done(struct event *event, bool *done);
enum status guard_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                               struct shared_handle *handle);
enum status guard_shared_open(struct device *device, const struct shared_handle *handle,
                              void **d_memory);

/* Between these the memory is accessible. */
enum status guard_access_begin(struct device *device);
enum status guard_access_end(struct device *device);
/* Unmap one allocation, of any kind, or all; nothing queued may still use them. */
void guard_forget(struct device *device, void *d_memory);
void guard_forget_all(struct device *device);

/* guard_derive.c */
enum status guard_gather(struct queue *queue, enum precision precision, const void *d_field,
                         const int64_t *d_elements, int64_t count, void *d_values);
enum status guard_track(struct queue *queue, const struct layout *layout, const struct layout *kept,
                        const struct track_args *args, const void *d_field);
enum status guard_flux_squared(struct queue *queue, const struct layout *layout,
                               const struct layout *kept, const struct flux_args *args,
                               const void *d_field, double *d_flux);
enum status guard_extract(struct queue *queue, const struct layout *layout,
                          const struct extract_args *args, const void *d_field, void *d_values);
enum status guard_add_source(struct queue *queue, const struct layout *layout,
                             const struct source_args *args, void *d_field, const struct box *box);
enum status guard_sum_perfusion(struct queue *queue, const struct layout *layout,
                                const struct device_medium *medium, const void *d_field,
                                const struct box *box, struct exact_sum *d_sum);
enum status guard_number_classes(struct queue *queue, const struct layout *kept,
                                 const struct device_medium *medium, const uint8_t *d_numbers,
                                 double *d_values);
enum status guard_change_classes(struct queue *queue, const struct layout *layout,
                                 const struct class_changes *change, const void *d_field,
                                 const struct box *box);
enum status guard_plane_maxima(struct queue *queue, const struct layout *layout,
                               const void *d_field, double limit, uint64_t *d_planes);
enum status guard_summarise_classes(struct queue *queue, const struct layout *layout,
                                    const struct device_medium *medium, const uint8_t *d_groups,
                                    const void *d_field, struct class_summary *d_summaries);

enum status guard_convert(struct queue *queue, const struct layout *layout,
                          const struct device_medium *medium, enum enthalpy_conversion conversion,
                          const void *d_in, void *d_out);

enum status guard_liquid_fraction(struct queue *queue, const struct layout *layout,
                                  const struct layout *kept, const struct device_medium *medium,
                                  const void *d_field, double *d_fraction);

/* Append `op`, whose arguments are copied, with the boxes and the medium. */
enum status guard_add(struct queue *queue, const struct operation *op, const struct box *boxes);
void guard_append(struct queue *queue, struct operation *op);
/* Queue a function of the host, with a copy of its arguments. */
enum status guard_call(struct queue *queue,
                       void (*call)(const void *arguments, void *to, const void *from),
                       const void *arguments, size_t nbytes, void *d_to, const void *d_from);
/* Run the queue's operations up to and including number `position`. */
enum status guard_run_until(struct queue *queue, uint64_t position);

#endif
