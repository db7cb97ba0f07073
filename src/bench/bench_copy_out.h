/* Does output cost the steps anything? Steps on one queue, a copy to the host on another. */
#ifndef ISOTHERM_BENCH_BENCH_COPY_OUT_H
#define ISOTHERM_BENCH_BENCH_COPY_OUT_H

#include "base/json.h"
#include "kernels/backend.h"

struct bench_copy_out {
    enum precision precision;
    double bytes; /* copied: the field, or as many planes of it as make 1 GiB */
    int steps;
    double steps_s, copy_s; /* alone */
    double both_s;          /* at once */
};

/* `queue` runs the steps; the copy has a queue of low priority, which packs the box and copies it
 * to pinned memory. d_in is not changed. Best of three rounds, by the host's clock. Blocks. */
enum status bench_copy_out_measure(const struct backend *backend, struct device *device,
                                   struct queue *queue, const struct layout *layout,
                                   const struct step_args *args, void *d_out, const void *d_in,
                                   struct bench_copy_out *result) MUST_CHECK;

void bench_copy_out_report(const struct bench_copy_out *result, struct json *json);

#endif
