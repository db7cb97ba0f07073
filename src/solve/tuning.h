/* Which launch shape the step takes: found by a short search (0.1 to 0.3 s). Only speed depends on
 * it. */
#ifndef ISOTHERM_SOLVE_TUNING_H
#define ISOTHERM_SOLVE_TUNING_H

#include "kernels/backend.h"
#include "solve/stepper.h"

/* What is tuned: `step` on one box. What d_out holds in the box is lost; d_in is not changed. */
struct tuning_target {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    const struct layout *layout;
    struct step_args args; /* its face sums are replaced by others */
    void *d_out;
    const void *d_in;
    struct box box;
};

enum { TUNING_MAX_SHAPES = 32 };

struct tuning_result {
    const char *shape; /* NULL: nothing to choose, or too small to matter */
    double search_s;
    int nshapes;
    const char *names[TUNING_MAX_SHAPES]; /* the first is the backend's own rule */
    double seconds[TUNING_MAX_SHAPES];    /* per step, median */
};

/* Time all shapes and make the backend use the fastest. Not collective. Fails only where a step
 * would. */
enum status tuning_choose(const struct tuning_target *target,
                          struct tuning_result *result) MUST_CHECK;

/* Collective. tuning_choose for the box that each rank's bulk queue advances. The state is not
 * changed. */
enum status tuning_of_stepper(struct stepper *stepper) MUST_CHECK;

#endif
