/* The backend `hip`: one GPU (on an MI250X one die) through HIP, or through CUDA by a mapping. */
#ifndef ISOTHERM_KERNELS_HIP_BACKEND_HIP_H
#define ISOTHERM_KERNELS_HIP_BACKEND_HIP_H

#include "kernels/backend.h"

extern const struct backend backend_hip;

#endif
