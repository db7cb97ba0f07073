/* For kernel sources: the API names, and CUDA's device language. */
#pragma once

#include <cuda_runtime.h>

#include "hip/hip_runtime_api.h"
