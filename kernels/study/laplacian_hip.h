/* The launcher of laplacian_hip.hip.cpp, for both sides; see kernels/hip/launch.h. */
#ifndef ISOTHERM_KERNELS_STUDY_LAPLACIAN_HIP_H
#define ISOTHERM_KERNELS_STUDY_LAPLACIAN_HIP_H

#include "kernels/hip/launch.h"
#include "kernels/study/laplacian.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `rows`: per thread, for the tiled and reordered (1, 2, 4, 8, 16) and the bounded kernels (8, 16).
 * At most 65535 blocks in y and z. */
enum hip_laplacian {
    HIP_LAPLACIAN_BASELINE,
    HIP_LAPLACIAN_TILED,
    HIP_LAPLACIAN_REORDERED,
    HIP_LAPLACIAN_BOUNDED,
    HIP_LAPLACIAN_STREAMING,
    HIP_LAPLACIAN_DEEP_BLOCKS,
    HIP_LAPLACIAN_YZX,
    HIP_LAPLACIAN_SUBDOMAINS,
};
hipError_t hip_launch_laplacian(hipStream_t stream, const struct study_problem *problem, void *d_f,
                                const void *d_u, enum hip_laplacian kernel, int rows);

#ifdef __cplusplus
}
#endif

#endif
