/* The kind of a uniform medium on graded axes, whose conductances are products of lines: see
 * kernels/cell/faces_cell.h. */
#pragma once

#include "kernels/hip/kind/faces.h"

/* The numbers of the lines for the N cells of a vector, and for one of their rows. */
template <typename REAL, int N> struct graded_cells {
    REAL g[N + 1], width[N], inverse[N];

    /* Those beyond the grid have any. */
    template <typename KIND> __device__ __forceinline__ void take(const KIND &kind, int64_t i)
    {
        const int64_t last = kind.of.cells[AXIS_X];
#pragma unroll
        for (int n = 0; n <= N; n++) {
            g[n] = kind.unit(AXIS_X, i + n < last ? i + n : last);
        }
#pragma unroll
        for (int n = 0; n < N; n++) {
            width[n] = kind.width[AXIS_X][i + n < last ? i + n : last];
            inverse[n] = kind.inverse[AXIS_X][i + n < last ? i + n : last];
        }
    }
};
template <typename REAL> struct graded_layer { /* a row in a plane, or a plane */
    REAL g[2], width, inverse;

    template <typename KIND>
    __device__ __forceinline__ void take(const KIND &kind, int axis, int64_t at)
    {
        g[0] = kind.unit(axis, at);
        g[1] = kind.unit(axis, at + 1);
        width = kind.width[axis][at];
        inverse = kind.inverse[axis][at];
    }
};

/* The march has the lines of its cells in registers. */
template <typename REAL> struct kept_graded {
    struct mark {
        graded_layer<REAL> plane;
        uint32_t bytes;
    };

    graded_cells<REAL, vec16<REAL>::N> x;
    graded_layer<REAL> y;
    mark now;
    int number; /* the class of all cells; -1: of several */
    REAL added;

    template <typename KIND>
    __device__ __forceinline__ void start(const KIND &kind, const class_place &p, int64_t)
    {
        number = -1;
        x.take(kind, p.cell[AXIS_X]);
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
        const graded_layer<REAL> &z = now.plane;
        const REAL yz = y.width * z.width;
        const REAL xz = x.width[i] * z.width;
        const REAL xy = x.width[i] * y.width;
        const REAL g[FACE_COUNT] = {x.g[i] * yz, x.g[i + 1] * yz, y.g[0] * xz,
                                    y.g[1] * xz, z.g[0] * xy,     z.g[1] * xy};
        const REAL heat = number >= 0 ? added : kind.heat(0, *p.byte).added;
        return medium_cell(base + heat, c, n, g, x.inverse[i] * (y.inverse * z.inverse), (REAL)0);
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
        REAL around[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            around[face] = conductance(face, p.cell);
        }
        const REAL sigma = inverse[AXIS_X][p.cell[AXIS_X]] * across(inverse, AXIS_X, p.cell);
        return medium_cell(base + heat(l, *p.byte).added, c, n, around, sigma, (REAL)0);
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        return advance_by_values(*this, l, p, on, base, c, n, add);
    }
    __device__ __forceinline__ REAL outside(REAL inside, REAL g, REAL q0, REAL q1, REAL q4,
                                            bool given) const
    {
        const REAL x[] = {q0, q1, q4, (REAL)(given ? 1 : 0)};
        return faces_outside(inside, g, x);
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
