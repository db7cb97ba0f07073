/* What the kernels of several steps in a pass share: the coefficients of all levels.
 *
 * Level l of a pass is the field after l of its steps: level 0 is read, level T is written. */
#ifndef ISOTHERM_KERNELS_HIP_STEPS_H
#define ISOTHERM_KERNELS_HIP_STEPS_H

#include <type_traits>

#include "kernels/hip/cells.h"

/* The coefficients of T steps, by value to the kernels. */
template <typename REAL, int T> struct pass {
    REAL r[AXIS_COUNT];
    REAL a[FACE_COUNT];
    REAL b[T][FACE_COUNT]; /* of the step from level l to l + 1 */
    bool closed[FACE_COUNT];
};

template <typename REAL, int T> static pass<REAL, T> pass_of(const struct coefficients *args)
{
    pass<REAL, T> p = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        p.r[axis] = (REAL)args->r[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        p.a[face] = (REAL)args->a[face];
        p.closed[face] = args->closed[face];
        for (int l = 0; l < T; l++) {
            p.b[l][face] = (REAL)args[l].b[face];
        }
    }
    return p;
}

/* launch(a cell, the steps): the launch of a kernel for a precision and a number of steps, both
 * known by their types. */
template <typename REAL, typename LAUNCH>
static hipError_t launch_steps(int nsteps, const LAUNCH &launch)
{
    switch (nsteps) {
    case 2:
        return launch(REAL(), std::integral_constant<int, 2>());
    case 3:
        return launch(REAL(), std::integral_constant<int, 3>());
    case 4:
        return launch(REAL(), std::integral_constant<int, 4>());
    default:
        return hipErrorInvalidValue;
    }
}

template <typename LAUNCH>
static hipError_t launch_steps_of(const struct layout *layout, int nsteps, const LAUNCH &launch)
{
    return layout->precision == PRECISION_FLOAT64 ? launch_steps<double>(nsteps, launch)
                                                  : launch_steps<float>(nsteps, launch);
}

#endif
