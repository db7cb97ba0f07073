/* The backend `offload`: OpenMP target regions, on a device or, without one, on the host. */
#ifndef ISOTHERM_KERNELS_OFFLOAD_BACKEND_OFFLOAD_H
#define ISOTHERM_KERNELS_OFFLOAD_BACKEND_OFFLOAD_H

#include "kernels/backend.h"

extern const struct backend backend_offload;

#endif
