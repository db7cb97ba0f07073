/* The launch shape of the step, and the number of steps per pass, chosen by short searches. They
 * affect speed only. */
#pragma once

#include "kernels/backend.h"
#include "solve/stepper.h"

/* What is tuned: `step` on one box. Overwrites d_out in the box; does not change d_in. */
struct tuning_target {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    const struct layout *layout;
    struct coefficients args;
    void *d_out;
    const void *d_in;
    struct box box;
};

enum { TUNING_MAX_SHAPES = 32 };

struct tuning_result {
    const char *shape; /* NULL: no choice, or too few cells */
    double search_s;
    int nshapes;
    const char *names[TUNING_MAX_SHAPES]; /* the first is the rule of the backend */
    double seconds[TUNING_MAX_SHAPES];    /* per step, median */
};

/* Time all shapes and set the fastest in the backend. Not collective. Fails only where a step
 * would. */
enum status tuning_choose(const struct tuning_target *target, struct tuning_result *result);

/* Collective. tuning_choose for the box that the bulk queue of each rank advances. Does not change
 * the state. */
enum status tuning_of_stepper(struct stepper *stepper);

/* Collective. Measure whole passes of each number of steps, exchange included, with and without
 * overlap, and let the stepper use the fastest: where run.steps_per_pass is auto, or only the
 * overlap is to be found. Takes at most a few percent of the run. Does not change the state. */
enum status tuning_of_passes(struct stepper *stepper);
