/* The launcher of mhd_hip.hip.cpp, for both sides; see kernels/hip/launch.h. */
#ifndef ISOTHERM_KERNELS_STUDY_MHD_HIP_H
#define ISOTHERM_KERNELS_STUDY_MHD_HIP_H

#include "kernels/hip/launch.h"
#include "kernels/study/mhd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hip_mhd {
    HIP_MHD_CACHED, /* a point per thread, neighbours from the caches */
    HIP_MHD_SHARED, /* columns of points, planes in shared memory, copied by the threads */
    HIP_MHD_STAGED, /* the same, copied by the engine of NVIDIA's chips */
};

struct hip_mhd_variant {
    int block[AXIS_COUNT]; /* threads */
    int bounds;            /* launch bounds */
};
/* The index-th variant of a kernel; false after the last. */
bool hip_mhd_variant_at(enum hip_mhd kernel, enum precision precision, int index,
                        struct hip_mhd_variant *variant);

/* `weights`: struct mhd_weights_float64 or _float32, copied. shape: a variant's;
 * items: points per thread. hipErrorInvalidValue for another. */
hipError_t hip_launch_mhd(hipStream_t stream, const struct study_problem *problem,
                          const struct study_shape *shape, const void *weights, void *d_out,
                          const void *d_in, enum hip_mhd kernel);

#ifdef __cplusplus
}
#endif

#endif
