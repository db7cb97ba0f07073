/* Two steps in a pass in a medium of classes; see classes/held.h. */
#include "kernels/hip/schedule/deep/classes/launch.h"

hipError_t hip_launch_steps_classes_2(struct hip_step *step)
{
#if ARCH_HAS_TILE_COPY
    return classes_shapes<2>::launch(step);
#else
    (void)step;
    return hipErrorNotSupported;
#endif
}
