/* The state at step 0: the shapes of the settings, each over the earlier ones. */
#pragma once

#include "solve/stepper.h"

/* Collective. Paint the entries of `initial`. STATUS_INPUT, agreed, with the entry's place in the
 * configuration, or when a cell has no temperature. */
enum status initial_state(struct stepper *stepper);

/* Not collective. Check entry `entry` before a run: the shape of a file, the value of a formula in
 * a few cells. STATUS_INPUT or STATUS_FILE, with the entry's place. */
enum status initial_check(const struct problem *problem, int entry);
