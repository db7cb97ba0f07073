/* Copies out of device memory, concurrently with the time steps.
 *
 * The values are first copied on the device, by the queue of the steps, which takes about one step;
 * then the steps may overwrite them. From there they are copied to pinned memory on a queue of low
 * priority. The step loop makes all calls and polls copy_out_done. */
#pragma once

#include "kernels/backend.h"

struct copy_out;

/* Each copy starts at a cache line, in device and host memory. */
static inline uint64_t copy_out_bytes(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* With `bytes` of device memory for all copies in flight. `steps`: the queue of the steps, which
 * must outlive it. STATUS_MEMORY when there is none. Not collective; nor are the others. */
enum status copy_out_create(const struct backend *backend, struct device *device,
                            struct queue *steps, size_t bytes, struct copy_out **copy_out);
void copy_out_destroy(struct copy_out *copy_out); /* takes NULL; waits */

size_t copy_out_room(const struct copy_out *copy_out);

/* Wait for the copies in flight; then all the device memory is free again. */
enum status copy_out_begin(struct copy_out *copy_out);

/* Queued. Copy the cells of `args`, without its d_values, as the queue of the steps sees them now,
 * to h_values (pinned). Needs copy_out_bytes of device memory per call since copy_out_begin. */
enum status copy_out_add(struct copy_out *copy_out, const struct extract_args *args,
                         void *h_values);

/* Whether a copy was in flight at the last copy_out_done or copy_out_wait. */
bool copy_out_is_under_way(const struct copy_out *copy_out);
/* Whether all copies are complete. Does not block. */
enum status copy_out_done(struct copy_out *copy_out, bool *done);
enum status copy_out_wait(struct copy_out *copy_out);
