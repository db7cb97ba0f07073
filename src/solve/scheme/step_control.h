/* Super steps whose length follows from an estimate of their error: `time.tolerance`.
 * docs/reference/numerics.md derives it. */
#pragma once

#include "solve/stepper.h"

/* Collective. Advance the state by one super step, and repeat that with shorter ones until its
 * error is small enough. `problem` is the stepper's. The lengths are the same on any number of
 * ranks, any backend, and in a run that continues from a checkpoint. */
enum status step_control_advance(struct stepper *stepper, struct problem *problem);
