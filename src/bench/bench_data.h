/* What `bench kernels` computes with: values that follow from the indices alone, so that no copy of
 * them is kept on the host, and the check of the studies against them. */
#ifndef ISOTHERM_BENCH_BENCH_DATA_H
#define ISOTHERM_BENCH_BENCH_DATA_H

#include "kernels/study/study.h"

/* The layout of the arrays of a study: no halo, no padding. */
struct layout bench_plain_layout(const struct study_problem *problem);

/* Fill the owned cells of a field. No two neighbours are equal, and sums of them round. Blocks. */
enum status bench_fill(const struct backend *backend, struct device *device, struct queue *queue,
                       const struct layout *layout, void *d_field) MUST_CHECK;

/* The rate of copies on the device, GB/s, read and written. */
enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate) MUST_CHECK;

/* d_out is a copy of bench_fill's values whose inner points a kernel of the study has replaced:
 * compare it, bit for bit, with what the study expects; the points at the edge must have kept
 * their values. Of large arrays the first, the last and every nth plane are fetched. Blocks.
 * STATUS_DEVICE names `kernel` and the first row that differs. */
enum status bench_check_study(const struct backend *backend, struct device *device,
                              struct queue *queue, const struct study *study,
                              const struct study_problem *problem, const void *d_out,
                              const char *kernel) MUST_CHECK;

#endif
