/* What the backends whose operations run at once have in common, on host memory: the functions of
 * runtime.h with these names. Queues never wait, so events order nothing. */
#pragma once

#include "kernels/runtime.h"

enum status host_memory_fresh(struct device *device, size_t bytes, void **memory); /* NaN */
void host_memory_free(struct device *device, void *memory);

enum status host_event_create(struct device *device, struct event **event);
void host_event_destroy(struct event *event);
enum status host_event_order(struct queue *queue, struct event *event); /* record and wait */
enum status host_event_sync(struct event *event);
enum status host_event_done(struct event *event, bool *done);

enum status host_stopwatch_create(struct device *device, struct stopwatch **stopwatch);
void host_stopwatch_destroy(struct stopwatch *stopwatch);
enum status host_stopwatch_start(struct queue *queue, struct stopwatch *stopwatch);
enum status host_stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch);
enum status host_stopwatch_seconds(struct stopwatch *stopwatch, double *seconds);

enum status host_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                              struct shared_handle *handle);
void host_shared_free(struct device *device, void *d_memory);
enum status host_shared_open(struct device *device, const struct shared_handle *handle,
                             void **d_memory);
void host_shared_close(struct device *device, void *d_memory);
enum status host_flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                             uint32_t value);
enum status host_flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                            uint32_t value, double limit_s);
