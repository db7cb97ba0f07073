/* The backend `hip`: one GPU (on an MI250X one die) through HIP, or through CUDA by a mapping. */
#pragma once

#include "kernels/backend.h"

extern const struct backend backend_hip;
