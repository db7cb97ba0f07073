/* The kind of a medium whose conductances are stored per cell: see kernels/cell/faces_cell.h. */
#pragma once

#include "kernels/hip/kind/classes.h"

#include "kernels/cell/faces_cell.h"

/* What a class adds to its cells, and to the sum of their flows. */
template <typename REAL> struct alignas(2 * sizeof(REAL)) cell_heat {
    REAL added, q;
};

template <typename REAL>
static __device__ __forceinline__ cell_heat<REAL> heat_at(const REAL *table, int of_class)
{
    return *reinterpret_cast<const cell_heat<REAL> *>(table + medium_cell_at(of_class));
}

/* The class of the cells of a vector, from their bytes; -1: they have several. */
template <typename REAL>
static __device__ __forceinline__ int class_of_all(uint32_t bytes, int mask)
{
    const int own = (int)(bytes & (uint32_t)mask);
    const uint32_t all = sizeof(REAL) == 8 ? 0x101 : 0x1010101;
    return (bytes & (uint32_t)mask * all) == (uint32_t)own * all ? own : -1;
}

/* The march keeps a vector of each array per plane, and the conductances of the upper faces in z,
 * which are those of the lower ones of the next plane; and the heat of one class. */
template <typename REAL> struct kept_faces {
    struct mark {
        vec16<REAL> x, y_min, y_max, z_max, sigma;
        REAL x_max; /* of the last cell */
        uint32_t bytes;
    };

    mark now;
    vec16<REAL> z_min;
    int number; /* the class of all cells; -1: of several */
    cell_heat<REAL> heat;

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
        const int own = class_of_all<REAL>(now.bytes, kind.of.mask);
        if (own >= 0 && own != number) {
            heat = heat_at(kind.of.table, own);
        }
        number = own;
    }
    template <typename KIND>
    __device__ __forceinline__ REAL update(const KIND &kind, const class_place &p, REAL base,
                                           REAL c, const REAL (&n)[FACE_COUNT], int i) const
    {
        const REAL right = i == vec16<REAL>::N - 1 ? now.x_max : now.x.v[(i + 1) % vec16<REAL>::N];
        const REAL(&dt)[AXIS_COUNT] = kind.dt[0];
        const REAL g[FACE_COUNT] = {now.x.v[i] * dt[0],     right * dt[0],
                                    now.y_min.v[i] * dt[1], now.y_max.v[i] * dt[1],
                                    z_min.v[i] * dt[2],     now.z_max.v[i] * dt[2]};
        const cell_heat<REAL> of = number >= 0 ? heat : kind.heat(0, *p.byte);
        return medium_cell(base + of.added, c, n, g, now.sigma.v[i], of.q);
    }
};

/* A line from cell 0 on; nullptr: none. */
template <typename REAL>
static const REAL *line_of(const struct device_medium *m, int axis, enum graded_line line)
{
    return m->has_lines ? static_cast<const REAL *>(m->d_sigma) + medium_line(m, axis, line)
                        : nullptr;
}

/* The product of the numbers of the other axes at a cell. */
template <typename REAL>
static __device__ __forceinline__ REAL across(const REAL *const (&line)[AXIS_COUNT], int axis,
                                              const int64_t (&cell)[AXIS_COUNT])
{
    const int a = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const int b = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    return line[a][cell[a]] * line[b][cell[b]];
}

template <typename REAL, int T = 1> struct faces : classes<REAL, T> {
    using typename classes<REAL, T>::place;
    /* a wait per array would cost more than the registers; planes of six arrays soon leave the
     * cache, so that blocks must not drift apart */
    static constexpr bool READS_AT_ONCE = true;
    static constexpr int SHARES = 2;
    typedef kept_faces<REAL> kept;

    /* Of cell (0, 0, 0). An unused axis has sigma in place of its conductances, times 0, and no
     * pitch, so that kernels load without a branch and never what is beyond the cell. */
    const REAL *g[AXIS_COUNT];
    const REAL *sigma;
    const REAL *inverse[AXIS_COUNT]; /* the lines of cell 0; nullptr: none */
    int64_t right;                   /* the pitch in x */
    REAL dt[T][AXIS_COUNT];

    __device__ __forceinline__ int64_t element(const place &p) const
    {
        return p.byte - this->of.classes;
    }
    __device__ __forceinline__ cell_heat<REAL> heat(int l, uint8_t byte) const
    {
        return heat_at(this->table[l], byte & this->of.mask);
    }

    __device__ __forceinline__ REAL conductance(int l, const place &p, int face) const
    {
        const int64_t pitch[AXIS_COUNT] = {right, this->of.pitch_y, this->of.pitch_z};
        const int64_t at = element(p) + (face % 2 == 0 ? 0 : pitch[face / 2]);
        return g[face / 2][at] * dt[l][face / 2];
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
        const REAL unit = inverse[0] == nullptr ? g : g * across(inverse, face / 2, cell);
        return faces_outside(c, unit,
                             this->table[l] + medium_closure_at(m.n, m.nclosures, face, closure));
    }
    /* see classes */
    __device__ __forceinline__ void close(REAL, const REAL *x, REAL *to) const
    {
        for (int n = 0; n < FACES_NUMBERS; n++) {
            to[n] = x[n];
        }
    }
    __device__ __forceinline__ REAL outside(REAL inside, REAL g, const REAL *of, REAL q4) const
    {
        const REAL x[] = {of[0], of[1], q4, of[3]};
        return faces_outside(inside, g, x);
    }
    __device__ __forceinline__ REAL scaled(REAL g, int axis) const
    {
        return g * dt[0][axis];
    }
    __device__ __forceinline__ REAL beside(int axis, int64_t at) const
    {
        return inverse[axis] != nullptr ? inverse[axis][at] : 1;
    }
    __device__ __forceinline__ double term(int l, const place &p, int face, REAL c,
                                           REAL outside) const
    {
        return (double)conductance(l, p, face) * (double)(REAL)(outside - c);
    }
    __device__ __forceinline__ REAL update(int l, const place &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        const bool open[FACE_COUNT] = {};
        REAL around[FACE_COUNT] = {n[0], n[1], n[2], n[3], n[4], n[5]};
        return advance_at_once(l, p, open, base, c, around, [](int, double) {});
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        if constexpr (T > 1) {
            return advance_at_once(l, p, on, base, c, n, add);
        } else { /* with fewer registers */
            return advance_by_values(*this, l, p, on, base, c, n, add);
        }
    }
    /* All conductances are read before a face is closed: one wait. */
    template <typename TERM>
    __device__ __forceinline__ REAL advance_at_once(int l, const place &p,
                                                    const bool (&on)[FACE_COUNT], REAL base, REAL c,
                                                    REAL (&n)[FACE_COUNT], const TERM &add) const
    {
        REAL around[FACE_COUNT];
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            around[face] = conductance(l, p, face);
        }
        const REAL own = sigma[element(p)];
        const uint8_t byte = *p.byte;
        const cell_heat<REAL> of = heat(l, byte);
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            if (on[face]) {
                n[face] = beyond(l, p.cell, byte, face, around[face], c);
                add(face, (double)around[face] * (double)(REAL)(n[face] - c));
            }
        }
        return medium_cell(base + of.added, c, n, around, own, of.q);
    }
};

template <typename REAL, int T = 1> static faces<REAL, T> faces_of(const struct coefficients *args)
{
    const struct device_medium *m = &args->medium;
    faces<REAL, T> kind = {};
    static_cast<classes<REAL, T> &>(kind) = classes_of<REAL, T>(args);
    kind.sigma = static_cast<const REAL *>(m->d_sigma) + m->layout.origin;
    kind.right = m->d_g[AXIS_X] != nullptr ? 1 : 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = m->d_g[axis] != nullptr;
        kind.g[axis] =
            used ? static_cast<const REAL *>(m->d_g[axis]) + m->layout.origin : kind.sigma;
        for (int l = 0; l < T; l++) {
            kind.dt[l][axis] = used ? (REAL)args[l].medium.dt : 0;
        }
        kind.inverse[axis] = line_of<REAL>(m, axis, GRADED_INVERSE);
    }
    return kind;
}
