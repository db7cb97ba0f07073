/* The state at step 0: the settings' shapes, painted one over the other. */
#ifndef ISOTHERM_SOLVE_INITIAL_H
#define ISOTHERM_SOLVE_INITIAL_H

#include "solve/stepper.h"

/* Collective. Paint the entries of `initial`. STATUS_INPUT, agreed, with the entry's place in the
 * configuration, or when a cell is left without a temperature. */
enum status initial_state(struct stepper *stepper) MUST_CHECK;

/* Not collective. What initial_state would refuse of entry `entry`, as far as a file's shape and a
 * formula's value in a few cells show it. STATUS_INPUT or STATUS_FILE, with the entry's place. */
enum status initial_check(const struct settings *settings, const struct grid *grid,
                          int entry) MUST_CHECK;

#endif
