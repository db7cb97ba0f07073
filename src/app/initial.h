/* The entries of `initial`, before there is a field to paint them on. */
#ifndef ISOTHERM_APP_INITIAL_H
#define ISOTHERM_APP_INITIAL_H

#include "model/grid.h"

/* Not collective. What run_initialise would refuse of entry `entry`, as far as a file's shape and a
 * formula's value in a few cells show it. STATUS_INPUT or STATUS_FILE, with the entry's place. */
enum status initial_check(const struct settings *settings, const struct grid *grid,
                          int entry) MUST_CHECK;

#endif
