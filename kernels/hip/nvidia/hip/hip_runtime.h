/* For kernel sources: the API names, and CUDA's device language. */
#ifndef ISOTHERM_KERNELS_HIP_NVIDIA_HIP_HIP_RUNTIME_H
#define ISOTHERM_KERNELS_HIP_NVIDIA_HIP_HIP_RUNTIME_H

#include <cuda_runtime.h>

#include "hip/hip_runtime_api.h"

#endif
