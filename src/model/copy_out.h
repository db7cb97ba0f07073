/* Copies out of device memory beside the steps.
 *
 * What is to leave is first copied on the device, by the queue of the steps: that takes about as
 * long as a step, and then the steps may overwrite what they like. From there it travels to pinned
 * memory on a queue of low priority. All calls are the step loop's; it asks now and then whether
 * the values have arrived (copy_out_done). */
#ifndef ISOTHERM_MODEL_COPY_OUT_H
#define ISOTHERM_MODEL_COPY_OUT_H

#include "kernels/backend.h"

struct copy_out;

/* Values of one field lie in whole lines of the cache, on the device and in host memory. */
static inline uint64_t copy_out_bytes(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* With `bytes` of device memory, for all that is on its way at once. `steps`: the queue of the
 * steps, which must outlive it. STATUS_MEMORY when there is no room. Not collective; nor are the
 * others. */
enum status copy_out_create(const struct backend *backend, struct device *device,
                            struct queue *steps, size_t bytes,
                            struct copy_out **copy_out) MUST_CHECK;
void copy_out_destroy(struct copy_out *copy_out); /* takes NULL; waits */

size_t copy_out_room(const struct copy_out *copy_out); /* its bytes */

/* Wait for what is on its way: the room is free. */
enum status copy_out_begin(struct copy_out *copy_out) MUST_CHECK;

/* Queued. The cells that `args` names, from what the queue of the steps sees now, to h_values
 * (pinned). There must be room for them since copy_out_begin, copy_out_bytes for each call. */
enum status copy_out_add(struct copy_out *copy_out, const struct layout *layout,
                         const struct extract_args *args, const void *d_field,
                         void *h_values) MUST_CHECK;

/* Is anything on its way, as far as the last question was answered? */
bool copy_out_is_under_way(const struct copy_out *copy_out);
/* Has everything arrived? Returns at once. */
enum status copy_out_done(struct copy_out *copy_out, bool *done) MUST_CHECK;
/* Wait until it has. */
enum status copy_out_wait(struct copy_out *copy_out) MUST_CHECK;

#endif
