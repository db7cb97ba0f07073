/* The kind of a medium of classes: see struct device_medium and kernels/cell/medium_cell.h. */
#pragma once

#include "kernels/hip/kind/uniform.h"

#include "kernels/cell/medium_cell.h"

/* By value to the kernels. */
template <typename REAL> struct medium {
    const uint8_t *classes; /* of cell (0, 0, 0) */
    int64_t pitch_y, pitch_z;
    int mask; /* for the classes */
    int n, nclosures;
    bool same_axes;
    const REAL *table;
    const uint8_t *patch[FACE_COUNT];
    int32_t patch_pitch[FACE_COUNT],
        first_closure[FACE_COUNT]; /* narrow: scalar registers are few */
    int64_t cells[AXIS_COUNT];     /* of the field */
};

/* The first numbers of the table that a ring needs: sigma and q of each class, and g of all axes,
 * or of one where they are the same. */
static inline int medium_numbers(const struct device_medium *medium)
{
    const int n = medium->nclasses;
    return 2 * n + (medium->same_axes ? 1 : 3) * n * n;
}

template <typename REAL> static medium<REAL> medium_of(const struct device_medium *args)
{
    medium<REAL> m = {};
    m.classes = args->d_class + args->layout.origin;
    m.pitch_y = args->layout.pitch_y;
    m.pitch_z = args->layout.pitch_z;
    m.mask = args->mask;
    m.n = args->nclasses;
    m.same_axes = args->same_axes;
    m.nclosures = args->nclosures;
    m.table = static_cast<const REAL *>(args->d_table);
    for (int face = 0; face < FACE_COUNT; face++) {
        m.patch[face] = args->d_patch[face];
        m.patch_pitch[face] = (int32_t)args->patch_pitch[face];
        m.first_closure[face] = (int32_t)args->first_closure[face];
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m.cells[axis] = args->layout.cells[axis];
    }
    return m;
}

/* The coefficients of each class and pair of classes, for several look-ups in a table. */
template <typename REAL> struct class_pairs {
    struct alignas(2 * sizeof(REAL)) cell {
        REAL sigma, q;
    };
    const REAL *table; /* sigma and q, then g of every axis */
    int n;
    int from[AXIS_COUNT]; /* where the g of an axis begin */

    __device__ REAL g(int axis, int of_class, int neighbour) const
    {
        return table[from[axis] + of_class * n + neighbour];
    }
    __device__ cell of(int of_class) const
    {
        return reinterpret_cast<const cell *>(table)[of_class];
    }
};

template <typename REAL>
static __device__ __forceinline__ class_pairs<REAL> pairs_of(const REAL *table, int n,
                                                             bool same_axes)
{
    const int step = same_axes ? 0 : n * n;
    return {table, n, {2 * n, 2 * n + step, 2 * n + 2 * step}};
}

template <typename REAL>
static __device__ __forceinline__ REAL medium_cell(REAL base, REAL c, const REAL (&n)[FACE_COUNT],
                                                   const REAL (&g)[FACE_COUNT], REAL sigma, REAL q)
{
    return medium_cell(base, c, n[0], n[1], n[2], n[3], n[4], n[5], g[0], g[1], g[2], g[3], g[4],
                       g[5], sigma, q);
}

/* The value beyond a closed face of a cell of the field. */
template <typename REAL>
static __device__ __forceinline__ REAL medium_beyond(const medium<REAL> &m, int face,
                                                     const int64_t (&cell)[AXIS_COUNT],
                                                     int of_class, REAL inside)
{
    const int closure = medium_closure(m.patch[face], m.patch_pitch[face], m.first_closure[face],
                                       m.n, face, cell, of_class);
    const REAL *abe = m.table + medium_closure_at(m.n, m.nclosures, face, closure);
    return medium_outside(inside, abe[0], abe[1], abe[2]);
}

/* The term of a cell in the sum over a closed face. */
template <typename REAL>
static __device__ __forceinline__ double medium_face_term(const medium<REAL> &m, int face,
                                                          int of_class, REAL outside, REAL inside)
{
    const REAL g = m.table[medium_g_at(m.n, face / 2, of_class, of_class)];
    return (double)g * (double)(REAL)(outside - inside);
}

/* A cell and its byte in the map of the classes. */
struct class_place {
    int64_t cell[AXIS_COUNT];
    const uint8_t *byte;
};

template <typename REAL>
static __device__ __forceinline__ class_place place_in(const medium<REAL> &m, int64_t i, int64_t j,
                                                       int64_t k)
{
    return {{i, j, k}, m.classes + i + j * m.pitch_y + k * m.pitch_z};
}

template <typename REAL>
static __device__ __forceinline__ class_place place_beside(const medium<REAL> &m,
                                                           const class_place &p, int64_t x,
                                                           int64_t z)
{
    return {{p.cell[0] + x, p.cell[1], p.cell[2] + z}, p.byte + x + z * m.pitch_z};
}

/* The conductances between a cell and its neighbours. A cell with a flag has those of its class. */
template <typename REAL>
static __device__ __forceinline__ void conduct_around(const medium<REAL> &m, const class_place &p,
                                                      REAL (&g)[FACE_COUNT])
{
    const int64_t stride[AXIS_COUNT] = {1, m.pitch_y, m.pitch_z};
    const int own = *p.byte & m.mask;
    const bool alike = (*p.byte & ~m.mask) != 0;
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int64_t step = (face % 2 == 0 ? -1 : 1) * stride[face / 2];
        const int other = alike ? own : p.byte[step] & m.mask;
        g[face] = m.table[medium_g_at(m.n, face / 2, own, other)];
    }
}

/* For schedules that keep the coefficients of the class of a few cells of a thread from plane to
 * plane; see kept_nothing. */
template <typename REAL> struct kept_class {
    int number; /* -1: these cells or their neighbours are of several classes */
    REAL g[AXIS_COUNT], sigma, q;

    template <typename KIND>
    __device__ __forceinline__ void start(const KIND &, const class_place &, int64_t)
    {
        number = -1;
    }
    typedef uint32_t mark; /* the bytes of the cells, */
    /* N from a place on, whose first is a multiple of N. */
    template <int N, typename KIND>
    static __device__ __forceinline__ mark mark_of(const KIND &, const class_place &p, bool)
    {
        mark bytes = 0;
        __builtin_memcpy(&bytes, __builtin_assume_aligned(p.byte, N), N);
        return bytes;
    }
    template <typename KIND> __device__ __forceinline__ void look_at(const KIND &kind, mark bytes)
    {
        const medium<REAL> m = kind.level(0);
        const int own = (int)(bytes & UINT8_MAX);
        const uint32_t all = sizeof(REAL) == 8 ? 0x101 : 0x1010101;
        const int found = bytes == (uint32_t)own * all && (own & ~m.mask) != 0 ? own & m.mask : -1;
        if (found >= 0 && found != number) {
#pragma unroll
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                g[axis] = m.table[medium_g_at(m.n, axis, found, found)];
            }
            sigma = m.table[medium_cell_at(found)];
            q = m.table[medium_cell_at(found) + 1];
        }
        number = found;
    }
    template <typename KIND>
    __device__ __forceinline__ REAL update(const KIND &kind, const class_place &p, REAL base,
                                           REAL c, const REAL (&n)[FACE_COUNT], int = 0) const
    {
        if (number < 0) {
            return kind.update(0, p, base, c, n);
        }
        const REAL both[FACE_COUNT] = {g[0], g[0], g[1], g[1], g[2], g[2]};
        return medium_cell(base, c, n, both, sigma, q);
    }
};

template <typename REAL, int T> struct classes {
    typedef class_place place;
    static constexpr bool IS_EVERYWHERE = false;
    static constexpr bool READS_AT_ONCE = ARCH_READS_AT_ONCE;
    static constexpr int SHARES = 1;
    static constexpr int R = 1;
    static constexpr bool IS_GRADED = false;
    typedef std::conditional_t<ARCH_READS_AT_ONCE, kept_class<REAL>, kept_nothing> kept;

    medium<REAL> of; /* with the table of level 0 */
    const REAL *table[T];
    bool closed[FACE_COUNT];
    unsigned corrections; /* bit l */

    __device__ __forceinline__ bool corrected(int l) const
    {
        return (corrections >> l & 1) != 0;
    }
    __device__ __forceinline__ medium<REAL> level(int l) const
    {
        medium<REAL> m = of;
        m.table = table[l];
        return m;
    }
    __device__ __forceinline__ place at(int64_t i, int64_t j, int64_t k) const
    {
        return place_in(of, i, j, k);
    }
    __device__ __forceinline__ place moved(const place &p, int64_t x, int64_t z) const
    {
        return place_beside(of, p, x, z);
    }

    __device__ __forceinline__ REAL beyond(int l, const place &p, int face, REAL c) const
    {
        return medium_beyond(level(l), face, p.cell, *p.byte & of.mask, c);
    }
    /* For closers, see there: what they keep of closure x of the table, at a face of conductance
     * g where the kind has one per face; and the same as `beyond` by these, with the third one
     * apart, 0 where no face radiates, and where it is one per cell its g. */
    __device__ __forceinline__ void close(REAL, const REAL *x, REAL *to) const
    {
        to[0] = x[0];
        to[1] = x[1];
        to[2] = x[2];
    }
    __device__ __forceinline__ REAL outside(REAL inside, REAL, const REAL *of, REAL e) const
    {
        return medium_outside(inside, of[0], of[1], e);
    }
    __device__ __forceinline__ REAL scaled(REAL g, int) const
    {
        return g;
    }
    /* A number of a line, see closer. */
    __device__ __forceinline__ REAL beside(int, int64_t) const
    {
        return 1;
    }
    __device__ __forceinline__ double term(int l, const place &p, int face, REAL c,
                                           REAL outside) const
    {
        return medium_face_term(level(l), face, *p.byte & of.mask, outside, c);
    }
    __device__ __forceinline__ REAL update(int l, const place &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        const medium<REAL> m = level(l);
        const int own = *p.byte & m.mask;
        REAL g[FACE_COUNT];
        conduct_around(m, p, g);
        return medium_cell(base, c, n, g, m.table[medium_cell_at(own)],
                           m.table[medium_cell_at(own) + 1]);
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        return advance_by_values(*this, l, p, on, base, c, n, add);
    }
};

template <typename REAL, int T> static classes<REAL, T> classes_of(const struct coefficients *args)
{
    classes<REAL, T> kind = {};
    kind.of = medium_of<REAL>(&args->medium);
    kind.corrections = coefficients_corrections(args, T);
    for (int l = 0; l < T; l++) {
        kind.table[l] = static_cast<const REAL *>(args[l].medium.d_table);
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        kind.closed[face] = args->closed[face];
    }
    return kind;
}
