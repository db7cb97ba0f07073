/* What the kernels of several steps in a pass share: coefficients of all levels, and where values
 * at closed faces go.
 *
 * Level l of a pass is the field after l of its steps: level 0 is read, level T is written. */
#ifndef ISOTHERM_KERNELS_HIP_STEPS_H
#define ISOTHERM_KERNELS_HIP_STEPS_H

#include "kernels/hip/cells.h"

/* The coefficients of T steps, by value to the kernels. */
template <typename REAL, int T> struct pass {
    REAL r[AXIS_COUNT];
    REAL a[FACE_COUNT];
    REAL b[T][FACE_COUNT]; /* of the step from level l to l + 1 */
    bool closed[FACE_COUNT];
};

template <typename REAL, int T> static pass<REAL, T> pass_of(const struct step_args *args)
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

/* The cells inside a closed face at levels 1 to T - 1, for steps_sums: a cell's place is
 * first + (l - 1) * level + v * pitch + u, with u and v its indices on the other two axes, u the
 * faster one. Rows begin at multiples of 16 bytes. */
template <typename REAL> struct face_values {
    REAL *first; /* NULL: nothing sums this face */
    int64_t pitch, level;

    __device__ REAL *at(int l, int64_t u, int64_t v) const
    {
        return first + (l - 1) * level + v * pitch + u;
    }
};

template <typename REAL> struct all_face_values {
    face_values<REAL> face[FACE_COUNT];
};

template <typename REAL>
static all_face_values<REAL> face_values_of(const struct hip_face_values *values)
{
    all_face_values<REAL> all = {};
    for (int face = 0; face < FACE_COUNT; face++) {
        all.face[face] = {static_cast<REAL *>(values->d_first[face]), values->pitch[face],
                          values->level[face]};
    }
    return all;
}

#endif
