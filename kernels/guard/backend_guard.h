/* The backend `guard`: the CPU kernels on memory that the host cannot access, with queues that run
 * only when waited for. For tests on machines without a GPU. */
#pragma once

#include "kernels/backend.h"

extern const struct backend backend_guard;
