/* The data of `bench kernels`: values that follow from the indices alone, so that the host stores
 * no copy, and the check of the studies. */
#ifndef ISOTHERM_BENCH_BENCH_DATA_H
#define ISOTHERM_BENCH_BENCH_DATA_H

#include "kernels/study/study.h"

/* The layout of a study's arrays: no halo, no padding. */
struct layout bench_plain_layout(const struct study_problem *problem);

/* Fill the owned cells of a field. Neighbours differ, and their sums round. Blocks. */
enum status bench_fill(const struct backend *backend, struct device *device, struct queue *queue,
                       const struct layout *layout, void *d_field) MUST_CHECK;

/* The rate of copies on the device, GB/s, read plus write. */
enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate) MUST_CHECK;

/* Check d_out, a copy of bench_fill's values whose inner points a kernel of the study has replaced:
 * inner points must match the expected values bitwise, and points at the edge must be unchanged. Of
 * large arrays the first, the last and every n-th plane are checked. Blocks. STATUS_DEVICE names
 * `kernel` and the first row that differs. */
enum status bench_check_study(const struct backend *backend, struct device *device,
                              struct queue *queue, const struct study *study,
                              const struct study_problem *problem, const void *d_out,
                              const char *kernel) MUST_CHECK;

#endif
