/* The launcher of jacobi_hip.hip.cpp, for both sides; see kernels/hip/launch.h. */
#ifndef ISOTHERM_KERNELS_STUDY_JACOBI_HIP_H
#define ISOTHERM_KERNELS_STUDY_JACOBI_HIP_H

#include "kernels/hip/launch.h"
#include "kernels/study/jacobi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The norm adds to *work->d_sum. */
hipError_t hip_launch_jacobi(hipStream_t stream, struct hip_scratch *d_scratch,
                             const struct jacobi_grid *grid, enum jacobi_part part,
                             const struct jacobi_work *work);

#ifdef __cplusplus
}
#endif

#endif
