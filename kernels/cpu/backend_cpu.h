/* The backend `cpu`: OpenMP threads and SIMD on host memory. */
#ifndef ISOTHERM_KERNELS_CPU_BACKEND_CPU_H
#define ISOTHERM_KERNELS_CPU_BACKEND_CPU_H

#include "kernels/backend.h"

extern const struct backend backend_cpu;

#endif
