/* The backend `cpu`: OpenMP threads and SIMD on host memory. */
#pragma once

#include "kernels/backend.h"

extern const struct backend backend_cpu;
