/* The speed of time steps on this node: a short measurement, for `plan`. */
#ifndef ISOTHERM_MACHINE_STEP_RATE_H
#define ISOTHERM_MACHINE_STEP_RATE_H

#include "kernels/backend.h"

struct step_rate {
    double cells_per_s; /* all ranks of the node together, or one GPU */
    int64_t cells;      /* cells of the measurement */
    int threads;        /* 0: on a GPU */
    bool is_busy;       /* other programs run on this node: the rate is too low */
    char device[128];
};

/* Not collective, without MPI. Let the step run for less than half a second on the part of `nranks`
 * ranks with blocks of `cells`, or on as much of it as is enough to exceed the caches; with all the
 * threads that they would have on this node. `radius`: of the stencil, which the backend has.
 * STATUS_MEMORY when the memory is too small. */
enum status step_rate_measure(const struct backend *backend, const int64_t cells[AXIS_COUNT],
                              enum precision precision, int radius, int nranks,
                              struct step_rate *rate);

#endif
