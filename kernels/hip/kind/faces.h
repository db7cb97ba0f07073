/* The kind of a medium whose conductances are stored per cell: see kernels/cell/faces_cell.h. */
#pragma once

#include "kernels/hip/kind/classes.h"

#include "kernels/cell/faces_cell.h"

template <typename REAL> struct faces : classes<REAL, 1> {
    using typename classes<REAL, 1>::place;

    const REAL *g[AXIS_COUNT]; /* of cell (0, 0, 0), as sigma */
    const REAL *sigma;
    REAL dt;

    __device__ __forceinline__ REAL conductance(const place &p, int face) const
    {
        const int64_t stride[AXIS_COUNT] = {1, this->of.pitch_y, this->of.pitch_z};
        const int64_t at = p.byte - this->of.classes + (face % 2 == 0 ? 0 : stride[face / 2]);
        return g[face / 2] != nullptr ? g[face / 2][at] * dt : (REAL)0;
    }
    __device__ __forceinline__ REAL beyond(int, const place &p, int face, REAL c) const
    {
        const medium<REAL> &m = this->of;
        const int closure =
            medium_closure(m.patch[face], m.patch_pitch[face], m.first_closure[face], m.n, face,
                           p.cell, *p.byte & m.mask);
        return faces_outside(c, conductance(p, face),
                             m.table + medium_closure_at(m.n, m.nclosures, face, closure));
    }
    __device__ __forceinline__ double term(int, const place &p, int face, REAL c,
                                           REAL outside) const
    {
        return (double)conductance(p, face) * (double)(REAL)(outside - c);
    }
    __device__ __forceinline__ REAL update(int, const place &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        const medium<REAL> &m = this->of;
        REAL around[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            around[face] = conductance(p, face);
        }
        return medium_cell(base, c, n, around, sigma[p.byte - m.classes],
                           m.table[medium_cell_at(*p.byte & m.mask) + 1]);
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        return advance_by_values(*this, l, p, on, base, c, n, add);
    }
};

template <typename REAL> static faces<REAL> faces_of(const struct coefficients *args)
{
    const struct device_medium *m = &args->medium;
    faces<REAL> kind = {};
    static_cast<classes<REAL, 1> &>(kind) = classes_of<REAL, 1>(args);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (m->d_g[axis] != nullptr) {
            kind.g[axis] = static_cast<const REAL *>(m->d_g[axis]) + m->layout.origin;
        }
    }
    kind.sigma = static_cast<const REAL *>(m->d_sigma) + m->layout.origin;
    kind.dt = (REAL)m->dt;
    return kind;
}
