/* Three steps in a pass; a file of its own, since the compiler takes a minute for it. */
#include "kernels/hip/schedule/deep/steps_staged_launch.h"

hipError_t hip_launch_steps_staged_3(hipStream_t stream, const struct layout *layout,
                                     const struct coefficients *args, int, void *d_out,
                                     const void *d_in, const struct box *box,
                                     struct hip_pass_extras *extras)
{
#if ARCH_HAS_TILE_COPY
    return launch_either<deep_shape<double, 3, 7, true, true>, deep_shape<float, 3, 7, true, true>>(
        stream, layout, args, d_out, d_in, box, extras);
#else
    (void)stream, (void)layout, (void)args, (void)d_out, (void)d_in, (void)box, (void)extras;
    return hipErrorNotSupported;
#endif
}
