/* The launcher of diffusion_hip.hip.cpp, for both sides; see kernels/hip/launch.h. */
#ifndef ISOTHERM_KERNELS_STUDY_DIFFUSION_HIP_H
#define ISOTHERM_KERNELS_STUDY_DIFFUSION_HIP_H

#include "kernels/hip/launch.h"
#include "kernels/study/diffusion.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hardware- or software-managed caching, with launch bounds of 0 (none), 256 or 512; and this
 * project's own, which marches along the slowest axis: items cells per thread. */
enum hip_diffusion { HIP_DIFFUSION_HW, HIP_DIFFUSION_SW, HIP_DIFFUSION_MARCH };
enum { HIP_DIFFUSION_MARCH_THREADS = 256 };

hipError_t hip_launch_diffusion(hipStream_t stream, const struct study_problem *problem,
                                const struct study_shape *shape, void *d_out, const void *d_in,
                                enum hip_diffusion kernel);

#ifdef __cplusplus
}
#endif

#endif
