/* The data of `bench kernels`: values that follow from the indices alone, so that the host stores
 * no copy, and the check of the studies. */
#ifndef ISOTHERM_BENCH_BENCH_DATA_H
#define ISOTHERM_BENCH_BENCH_DATA_H

#include "config/settings.h"
#include "kernels/study/study.h"

/* Fill the cells and the halo of a field. Neighbours differ, and their sums round. `study` NULL: a
 * temperature. Blocks. */
enum status bench_fill(const struct backend *backend, struct device *device, struct queue *queue,
                       const struct layout *layout, const struct study *study, int field,
                       void *d_field) MUST_CHECK;

/* The coefficients of a step with a wider stencil for a field of this layout, with six faces of a
 * given temperature. */
void bench_wide_args(int radius, const struct layout *layout, struct coefficients *args);

/* A problem with cells of 1 m, periodic along the axes of `around`, else with faces of 300 K.
 * `initial` is the entry of that list, `run` has keys of that section, each followed by a comma. */
enum status bench_settings(const int64_t cells[AXIS_COUNT], const bool around[AXIS_COUNT],
                           const char *initial, const char *run,
                           struct settings **settings) MUST_CHECK;

/* Ask for the sums that the heat ledger of a run needs with faces of mixed types: those of fixed
 * temperature and of convection, here all but two. Queued. *d_sums: device memory, to be freed by
 * the caller. */
enum status bench_ask_for_sums(const struct backend *backend, struct device *device,
                               struct queue *queue, struct exact_sum **d_sums,
                               struct coefficients *args) MUST_CHECK;

/* Fill the arrays of all fields, from number `first` on: 0 for the input, and for what the output
 * has before the call, unless the study reads it: then nfields. Blocks. */
enum status bench_fill_study(const struct backend *backend, struct device *device,
                             struct queue *queue, const struct study *study,
                             const struct study_problem *problem, int first,
                             void *d_fields) MUST_CHECK;

/* The rate of copies on the device, GB/s, read plus write. */
enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate) MUST_CHECK;

/* Check d_out of a call, before which it was a copy of bench_fill_study's values and the sum 0: the
 * cells must be those that the study's host kernel computes from the same values, bit for bit, the
 * halo unchanged, and the sum equal. Of large arrays the first, the last and every n-th plane are
 * checked. Blocks. STATUS_DEVICE names the kernel and the first row that differs. */
enum status bench_check_study(const struct backend *backend, struct device *device,
                              struct queue *queue, const struct study *study,
                              const struct study_call *call) MUST_CHECK;

#endif
