/* The kind of a medium whose conductances are stored per cell: see kernels/cell/faces_cell.h. */
#pragma once

#include "kernels/hip/kind/classes.h"

#include "kernels/cell/faces_cell.h"

/* The march keeps a vector of each array per plane, and the conductances of the upper faces in z,
 * which are those of the lower ones of the next plane; and q of one class. */
template <typename REAL> struct kept_faces {
    struct mark {
        vec16<REAL> x, y_min, y_max, z_max, sigma;
        REAL x_max; /* of the last cell */
        uint32_t bytes;
    };

    mark now;
    vec16<REAL> z_min;
    int number; /* the class of all cells; -1: of several */
    REAL q;

    template <typename KIND>
    __device__ __forceinline__ void start(const KIND &kind, const class_place &p, int64_t k)
    {
        now.z_max = vector_at(kind.g[AXIS_Z] + kind.element(kind.moved(p, 0, k)));
        number = -1;
    }
    template <int N, typename KIND>
    static __device__ __forceinline__ mark mark_of(const KIND &kind, const class_place &p,
                                                   bool whole)
    {
        const int64_t at = kind.element(p);
        const REAL *const y = kind.g[AXIS_Y] + at;
        return {vector_at(kind.g[AXIS_X] + at),
                vector_at(y),
                vector_at(y + kind.of.pitch_y),
                vector_at(kind.g[AXIS_Z] + at + kind.of.pitch_z),
                vector_at(kind.sigma + at),
                kind.g[AXIS_X][at + (whole ? N : N - 1)],
                kept_class<REAL>::template mark_of<N>(kind, p, whole)};
    }
    template <typename KIND>
    __device__ __forceinline__ void look_at(const KIND &kind, const mark &next)
    {
        z_min = now.z_max;
        now = next;
        const int own = (int)(now.bytes & (uint32_t)kind.of.mask);
        const uint32_t all = sizeof(REAL) == 8 ? 0x101 : 0x1010101;
        const bool same = (now.bytes & (uint32_t)kind.of.mask * all) == (uint32_t)own * all;
        if (same && own != number) {
            q = kind.of.table[medium_cell_at(own) + 1];
        }
        number = same ? own : -1;
    }
    template <typename KIND>
    __device__ __forceinline__ REAL update(const KIND &kind, const class_place &p, REAL base,
                                           REAL c, const REAL (&n)[FACE_COUNT], int i) const
    {
        const REAL right = i == vec16<REAL>::N - 1 ? now.x_max : now.x.v[(i + 1) % vec16<REAL>::N];
        const REAL(&dt)[AXIS_COUNT] = kind.dt;
        const REAL g[FACE_COUNT] = {now.x.v[i] * dt[0],     right * dt[0],
                                    now.y_min.v[i] * dt[1], now.y_max.v[i] * dt[1],
                                    z_min.v[i] * dt[2],     now.z_max.v[i] * dt[2]};
        const REAL heat = number >= 0 ? q : kind.heat(0, *p.byte);
        return medium_cell(base, c, n, g, now.sigma.v[i], heat);
    }
};

template <typename REAL> struct faces : classes<REAL, 1> {
    using typename classes<REAL, 1>::place;
    /* a wait per array would cost more than the registers; planes of six arrays soon leave the
     * cache, so that blocks must not drift apart */
    static constexpr bool READS_AT_ONCE = true;
    static constexpr int SHARES = 2;
    typedef kept_faces<REAL> kept;

    /* Of cell (0, 0, 0). An unused axis has sigma in place of its conductances, times 0, and no
     * pitch, so that kernels load without a branch and never what is beyond the cell. */
    const REAL *g[AXIS_COUNT];
    const REAL *sigma;
    int64_t right; /* the pitch in x */
    REAL dt[AXIS_COUNT];

    __device__ __forceinline__ int64_t element(const place &p) const
    {
        return p.byte - this->of.classes;
    }
    __device__ __forceinline__ REAL heat(int l, uint8_t byte) const
    {
        return this->table[l][medium_cell_at(byte & this->of.mask) + 1];
    }

    __device__ __forceinline__ REAL conductance(int l, const place &p, int face) const
    {
        const int64_t pitch[AXIS_COUNT] = {right, this->of.pitch_y, this->of.pitch_z};
        const int64_t at = element(p) + (face % 2 == 0 ? 0 : pitch[face / 2]);
        return g[face / 2][at] * dt[face / 2];
    }
    __device__ __forceinline__ REAL beyond(int l, const place &p, int face, REAL c) const
    {
        return beyond(l, p.cell, *p.byte, face, conductance(l, p, face), c);
    }
    __device__ __forceinline__ REAL beyond(int l, const int64_t (&cell)[AXIS_COUNT], uint8_t byte,
                                           int face, REAL g, REAL c) const
    {
        const medium<REAL> &m = this->of;
        const int closure = medium_closure(m.patch[face], m.patch_pitch[face],
                                           m.first_closure[face], m.n, face, cell, byte & m.mask);
        return faces_outside(c, g,
                             this->table[l] + medium_closure_at(m.n, m.nclosures, face, closure));
    }
    __device__ __forceinline__ REAL outside(REAL inside, REAL g, REAL q0, REAL q1, REAL q4,
                                            bool given) const
    {
        const REAL x[] = {q0, q1, q4, (REAL)(given ? 1 : 0)};
        return faces_outside(inside, g, x);
    }
    __device__ __forceinline__ REAL scaled(REAL g, int axis) const
    {
        return g * dt[axis];
    }
    __device__ __forceinline__ double term(int l, const place &p, int face, REAL c,
                                           REAL outside) const
    {
        return (double)conductance(l, p, face) * (double)(REAL)(outside - c);
    }
    __device__ __forceinline__ REAL update(int l, const place &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        REAL around[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            around[face] = conductance(l, p, face);
        }
        return medium_cell(base, c, n, around, sigma[element(p)], heat(l, *p.byte));
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
    kind.sigma = static_cast<const REAL *>(m->d_sigma) + m->layout.origin;
    kind.right = m->d_g[AXIS_X] != nullptr ? 1 : 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = m->d_g[axis] != nullptr;
        kind.g[axis] =
            used ? static_cast<const REAL *>(m->d_g[axis]) + m->layout.origin : kind.sigma;
        kind.dt[axis] = used ? (REAL)m->dt : 0;
    }
    return kind;
}
