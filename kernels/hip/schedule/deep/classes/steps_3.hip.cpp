/* Three steps in a pass in a medium of classes; see classes/march.h. */
#include "kernels/hip/schedule/deep/classes/launch.h"

#if ARCH_HAS_TILE_COPY

hipError_t hip_launch_steps_classes_3(struct hip_step *step)
{
    return classes_shapes<3>::launch(step);
}

unsigned hip_steps_classes_apart(const struct step_args *args)
{
    unsigned apart = 0;
    for (int l = 0; l < args->nsteps; l++) {
        apart |= args->levels[l].medium.radiating;
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct device_medium *m = &args->levels->medium;
        const bool patched = face / 2 != AXIS_Z && m->d_patch[face] != nullptr;
        apart |= patched || m->first_closure[face] != 0 ? 1U << face : 0U;
    }
    return apart;
}

/* Not more classes than a table has room for. A lane of a float32 field has cells beyond an open
 * face x_min without a class. Two steps share conductances. */
bool hip_steps_classes_takes(const struct step_args *args)
{
    const bool wide = args->layout.precision == PRECISION_FLOAT64;
    const struct coefficients *first = args->levels;
    bool takes = first->kind == KIND_CLASSES && args->nsteps <= HIP_STEPS_OF_CLASSES &&
                 first->medium.mask < CLASS_FLAG && hip_step_medium_takes(&first->medium) &&
                 (wide || first->closed[FACE_X_MIN]) &&
                 (args->nsteps == 2 ? classes_shapes<2>::have_room(args)
                                    : classes_shapes<3>::have_room(args));
    for (int face = 0; face < FACE_COUNT; face++) {
        takes =
            takes && (first->closed[face] || first->medium.layout.halo[face / 2] >= args->nsteps);
    }
    for (int l = 0; l < args->nsteps; l++) {
        takes = takes && args->levels[l].medium.same_axes == first->medium.same_axes &&
                (args->nsteps > 2 || args->levels[l].medium.dt_number == first->medium.dt_number);
    }
    return takes;
}

#else

hipError_t hip_launch_steps_classes_3(struct hip_step *)
{
    return hipErrorNotSupported;
}

bool hip_steps_classes_takes(const struct step_args *)
{
    return false;
}

unsigned hip_steps_classes_apart(const struct step_args *)
{
    return 0;
}

#endif
