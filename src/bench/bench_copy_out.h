/* The effect of output on the steps: steps on one queue, a copy to the host on another. */
#ifndef ISOTHERM_BENCH_BENCH_COPY_OUT_H
#define ISOTHERM_BENCH_BENCH_COPY_OUT_H

#include "base/text/table.h"
#include "kernels/backend.h"

struct bench_copy_out {
    enum precision precision;
    double bytes; /* copied: the field, or about 1 GiB of its planes */
    int steps;
    double steps_s, copy_s; /* each alone */
    double both_s;          /* concurrently */
};

/* `queue` runs the steps; the copy packs the box and copies it to pinned memory on a queue of low
 * priority. Does not change d_in. Best of three rounds, by the host's clock. Blocks. */
enum status bench_copy_out_measure(const struct backend *backend, struct device *device,
                                   struct queue *queue, const struct layout *layout,
                                   const struct coefficients *args, void *d_out, const void *d_in,
                                   struct bench_copy_out *result) MUST_CHECK;

/* One row: the steps alone, the copy alone, and both concurrently. */
void bench_copy_out_report(const struct bench_copy_out *result, struct table *table,
                           struct json *json);

#endif
