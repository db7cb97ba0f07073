/* The launcher of xcorr_hip.hip.cpp, for both sides; see kernels/hip/launch.h. */
#ifndef ISOTHERM_KERNELS_STUDY_XCORR_HIP_H
#define ISOTHERM_KERNELS_STUDY_XCORR_HIP_H

#include "kernels/hip/launch.h"
#include "kernels/study/xcorr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hardware- or software-managed caching: inputs from the L1 cache, or from shared memory. The last
 * two are this project's own. */
enum hip_xcorr {
    HIP_XCORR_HW_BASELINE,
    HIP_XCORR_HW_ELEMENTWISE,
    HIP_XCORR_HW_POINTWISE,
    HIP_XCORR_SW_BASELINE,
    HIP_XCORR_SW_ELEMENTWISE,
    HIP_XCORR_SW_POINTWISE,
    HIP_XCORR_VECTORS, /* radius up to HIP_XCORR_VECTORS_MOST; items: 16-byte vectors per thread */
    HIP_XCORR_WINDOW,  /* radius a multiple of 16 bytes; items: cells per thread, as compiled */
};
enum { HIP_XCORR_VECTORS_MOST = 16, HIP_XCORR_ELEMENTS = 4 };

/* The radius is a power of 2, at most 1024. */
hipError_t hip_launch_xcorr(hipStream_t stream, const struct study_problem *problem,
                            const struct study_shape *shape, void *d_out, const void *d_in,
                            enum hip_xcorr kernel);

#ifdef __cplusplus
}
#endif

#endif
