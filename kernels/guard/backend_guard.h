/* The backend `guard`: the cpu kernels on memory that the host cannot touch, with queues that
 * run nothing before somebody waits. For tests on machines without a GPU. */
#ifndef ISOTHERM_KERNELS_GUARD_BACKEND_GUARD_H
#define ISOTHERM_KERNELS_GUARD_BACKEND_GUARD_H

#include "kernels/backend.h"

extern const struct backend backend_guard;

#endif
