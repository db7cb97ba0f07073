/* Screening a device: many copies of one small problem fill its memory, each with a known result.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"

/* The outcome for one rank's device; plain bytes. */
struct screen_result {
    int64_t checks;
    int64_t wrong;      /* results with other bits */
    int block;          /* the number of the first wrong one */
    int steps;          /* the length of its passes; 0: it was right, and changed in memory */
    uint64_t bytes;     /* memory that was written and read */
    double cells_per_s; /* the median over problems */
};

/* Advance a known problem in all free memory of a GPU, or in a fiftieth of the host's, with passes
 * of every length that the backend has, for about `seconds` and at least once. Not collective. */
enum status screen_device(const struct backend *backend, struct device *device, double seconds,
                          struct screen_result *result);
