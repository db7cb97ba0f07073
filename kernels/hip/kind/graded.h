/* The kind of a uniform medium on graded axes, whose conductances are products of lines: see
 * kernels/cell/faces_cell.h. */
#pragma once

#include "kernels/hip/kind/faces.h"

/* What the lines give N cells of a vector, or one row or plane of them: the shares of their faces
 * in an axis. Cells beyond the grid have any. */
template <typename REAL, int N> struct graded_shares {
    REAL min[N], max[N];

    template <typename KIND>
    __device__ __forceinline__ void take(const KIND &kind, int axis, int64_t at)
    {
        const int64_t last = kind.of.cells[axis];
        REAL lower = kind.unit(axis, at < last ? at : last);
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int64_t next = at + n + 1 < last ? at + n + 1 : last;
            const REAL upper = kind.unit(axis, next);
            const REAL inverse = kind.inverse[axis][at + n < last ? at + n : last];
            min[n] = lower * inverse;
            max[n] = upper * inverse;
            lower = upper;
        }
    }
};

/* The march has the lines of its cells in registers. */
template <typename REAL> struct kept_graded {
    struct mark {
        graded_shares<REAL, 1> plane;
        uint32_t bytes;
    };

    graded_shares<REAL, vec16<REAL>::N> x;
    graded_shares<REAL, 1> y;
    mark now;
    int number; /* the class of all cells; -1: of several */
    REAL added;

    template <typename KIND>
    __device__ __forceinline__ void start(const KIND &kind, const class_place &p, int64_t)
    {
        number = -1;
        x.take(kind, AXIS_X, p.cell[AXIS_X]);
        y.take(kind, AXIS_Y, p.cell[AXIS_Y]);
    }
    template <int N, typename KIND>
    static __device__ __forceinline__ mark mark_of(const KIND &kind, const class_place &p,
                                                   bool whole)
    {
        mark found;
        found.plane.take(kind, AXIS_Z, p.cell[AXIS_Z]);
        found.bytes = kept_class<REAL>::template mark_of<N>(kind, p, whole);
        return found;
    }
    template <typename KIND>
    __device__ __forceinline__ void look_at(const KIND &kind, const mark &next)
    {
        now = next;
        const int own = class_of_all<REAL>(now.bytes, kind.of.mask);
        if (own >= 0 && own != number) {
            added = kind.heat(0, (uint8_t)own).added;
        }
        number = own;
    }
    template <typename KIND>
    __device__ __forceinline__ REAL update(const KIND &kind, const class_place &p, REAL base,
                                           REAL c, const REAL (&n)[FACE_COUNT], int i) const
    {
        const graded_shares<REAL, 1> &z = now.plane;
        const REAL share[FACE_COUNT] = {x.min[i], x.max[i], y.min[0], y.max[0], z.min[0], z.max[0]};
        const REAL heat = number >= 0 ? added : kind.heat(0, *p.byte).added;
        return medium_cell(base + heat, c, n, share, (REAL)1, (REAL)0);
    }
};

template <typename REAL> struct graded : classes<REAL, 1> {
    using typename classes<REAL, 1>::place;
    static constexpr bool READS_AT_ONCE = true;
    static constexpr bool IS_GRADED = true;
    typedef kept_graded<REAL> kept;

    const REAL *g[AXIS_COUNT], *width[AXIS_COUNT], *inverse[AXIS_COUNT]; /* of cell 0 */
    REAL dt;

    __device__ __forceinline__ cell_heat<REAL> heat(int l, uint8_t byte) const
    {
        return heat_at(this->table[l], byte & this->of.mask);
    }
    /* Of a face of the area 1, `at` cells from the end of its axis. */
    __device__ __forceinline__ REAL unit(int axis, int64_t at) const
    {
        return g[axis][at] * dt;
    }
    __device__ __forceinline__ REAL beside(int axis, int64_t at) const
    {
        return width[axis][at];
    }
    __device__ __forceinline__ REAL conductance(int face, const int64_t (&cell)[AXIS_COUNT]) const
    {
        return unit(face / 2, cell[face / 2] + face % 2) * across(width, face / 2, cell);
    }
    __device__ __forceinline__ REAL beyond(int l, const place &p, int face, REAL c) const
    {
        const medium<REAL> &m = this->of;
        const int closure =
            medium_closure(m.patch[face], m.patch_pitch[face], m.first_closure[face], m.n, face,
                           p.cell, *p.byte & m.mask);
        return faces_outside(c, unit(face / 2, p.cell[face / 2] + face % 2),
                             this->table[l] + medium_closure_at(m.n, m.nclosures, face, closure));
    }
    __device__ __forceinline__ double term(int, const place &p, int face, REAL c,
                                           REAL outside) const
    {
        return (double)conductance(face, p.cell) * (double)(REAL)(outside - c);
    }
    __device__ __forceinline__ REAL update(int l, const place &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        REAL share[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            const int64_t at = p.cell[face / 2];
            share[face] = unit(face / 2, at + face % 2) * inverse[face / 2][at];
        }
        return medium_cell(base + heat(l, *p.byte).added, c, n, share, (REAL)1, (REAL)0);
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        return advance_by_values(*this, l, p, on, base, c, n, add);
    }
    __device__ __forceinline__ void close(REAL g, const REAL *x, REAL *to) const
    {
        faces_close(g, x, to);
    }
    __device__ __forceinline__ REAL outside(REAL inside, REAL, const REAL *of, REAL radiated) const
    {
        return faces_beyond(inside, of, radiated);
    }
};

template <typename REAL> static graded<REAL> graded_of(const struct coefficients *args)
{
    const struct device_medium *m = &args->medium;
    graded<REAL> kind = {};
    static_cast<classes<REAL, 1> &>(kind) = classes_of<REAL, 1>(args);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        kind.g[axis] = line_of<REAL>(m, axis, GRADED_CONDUCTANCE);
        kind.width[axis] = line_of<REAL>(m, axis, GRADED_WIDTH);
        kind.inverse[axis] = line_of<REAL>(m, axis, GRADED_INVERSE);
    }
    kind.dt = (REAL)m->dt;
    return kind;
}
