/* The kind of a medium whose properties depend on temperature: see kernels/cell/nonlinear_cell.h.
 */
#pragma once

#include "kernels/hip/kind/classes.h"

#include "kernels/cell/nonlinear_cell.h"

/* The values of a cell: struct nonlinear_float64 or nonlinear_float32. */
template <typename REAL> struct nonlinear_value_of;
template <> struct nonlinear_value_of<double> {
    typedef nonlinear_float64 type;
};
template <> struct nonlinear_value_of<float> {
    typedef nonlinear_float32 type;
};
template <typename REAL> using nonlinear_value = typename nonlinear_value_of<REAL>::type;

/* By value to the kernels. */
template <typename REAL> struct nonlinear {
    medium<REAL> of;
    int count; /* of segments */
    bool one_curve;

    /* Of class 0. */
    __device__ const REAL *numbers() const
    {
        return of.table + nonlinear_class_at(of.n, of.nclosures, 0);
    }
    __device__ const REAL *segments() const
    {
        return of.table + nonlinear_segments_at(of.n, of.nclosures, count, 0);
    }

    __device__ int class_at(int64_t i, int64_t j, int64_t k) const
    {
        return of.classes[i + j * of.pitch_y + k * of.pitch_z] & of.mask;
    }
    /* Of a cell of enthalpy u. */
    __device__ __forceinline__ REAL temperature(int of_class, REAL u) const;
};

template <typename REAL> static nonlinear<REAL> nonlinear_of(const struct device_medium *args)
{
    nonlinear<REAL> m = {};
    m.of = medium_of<REAL>(args);
    m.count = args->nsegments;
    m.one_curve = args->one_curve;
    return m;
}

/* The temperature in a medium of one class whose curve has one segment: nothing to look up. */
template <typename REAL> struct only_line {
    REAL segment[1 + NONLINEAR_SEGMENT];

    /* nullptr: unused */
    __device__ __forceinline__ explicit only_line(const REAL *segments) : segment()
    {
        for (int n = 0; segments != nullptr && n < 3; n++) {
            segment[n] = segments[n]; /* where it begins; T, dT/du */
        }
    }
    __device__ __forceinline__ REAL temperature(REAL u) const
    {
        return nonlinear_in(segment, 1, 0, u).temperature;
    }
};
static inline bool is_line(const struct device_medium *medium)
{
    return medium->nclasses == 1 && medium->nsegments == 1;
}

/* Of a cell in any segment. */
template <typename REAL>
static __device__ __forceinline__ REAL nonlinear_theta(const REAL *segments, int count, REAL u)
{
    return nonlinear_theta(segments, count, nonlinear_segment(segments, count, u), u);
}

template <typename REAL>
static __device__ __forceinline__ REAL nonlinear_sum(const REAL (&g)[FACE_COUNT],
                                                     const REAL (&d)[FACE_COUNT], REAL source)
{
    return nonlinear_sum(g[0], g[1], g[2], g[3], g[4], g[5], d[0], d[1], d[2], d[3], d[4], d[5],
                         source);
}

template <typename REAL>
__device__ __forceinline__ REAL nonlinear<REAL>::temperature(int of_class, REAL u) const
{
    return nonlinear_at(segments() + nonlinear_pitch(count) * of_class, count, u).temperature;
}

/* The half cell at a closed face: g, and F - T, which is returned. */
template <typename REAL>
static __device__ __forceinline__ REAL nonlinear_close(const nonlinear<REAL> &m, int face,
                                                       const int64_t (&cell)[AXIS_COUNT],
                                                       int of_class,
                                                       const nonlinear_value<REAL> &own, REAL &g)
{
    const medium<REAL> &of = m.of;
    const int closure = medium_closure(of.patch[face], of.patch_pitch[face], of.first_closure[face],
                                       of.n, face, cell, of_class);
    g = own.conductivity / m.numbers()[NONLINEAR_NUMBERS * of_class + face / 2];
    return nonlinear_face(of.table + medium_closure_at(of.n, of.nclosures, face, closure), g,
                          own.temperature);
}

/* g to a neighbour, and the difference. */
template <typename REAL>
static __device__ __forceinline__ REAL nonlinear_couple(
    const nonlinear<REAL> &m, int axis, int own_class, const nonlinear_value<REAL> &own,
    int other_class, const nonlinear_value<REAL> &other, REAL &difference)
{
    return nonlinear_between(axis, m.numbers() + NONLINEAR_NUMBERS * own_class, own,
                             m.numbers() + NONLINEAR_NUMBERS * other_class, other,
                             m.of.table[medium_g_at(m.of.n, axis, own_class, other_class)],
                             &difference);
}

/* A cell of enthalpy c, whose values are returned, with g and the differences across its faces to
 * neighbours of enthalpy n. For closed faces that it lies on term(face, x) is called with x of the
 * face's sum. The segments of all seven cells are searched together, which hides the time of each
 * look. */
template <typename REAL, typename TERM>
static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_around(
    const nonlinear<REAL> &m, const class_place &place, const bool (&on)[FACE_COUNT], REAL c,
    const REAL (&n)[FACE_COUNT], REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT], const TERM &term)
{
    const int64_t stride[AXIS_COUNT] = {1, m.of.pitch_y, m.of.pitch_z};
    const int own_class = *place.byte & m.of.mask;
    REAL u[FACE_COUNT + 1]; /* of the neighbours; then of the cell */
    int of_class[FACE_COUNT + 1];
    const REAL *segments[FACE_COUNT + 1];
    int segment[FACE_COUNT + 1];
#pragma unroll
    for (int s = 0; s <= FACE_COUNT; s++) {
        const bool is_cell = s == FACE_COUNT || on[s < FACE_COUNT ? s : 0];
        const int64_t step = (s % 2 == 0 ? -1 : 1) * stride[s < FACE_COUNT ? s / 2 : 0];
        u[s] = is_cell ? c : n[s < FACE_COUNT ? s : 0];
        of_class[s] = m.one_curve ? own_class : place.byte[is_cell ? 0 : step] & m.of.mask;
        segments[s] = m.segments() + nonlinear_pitch(m.count) * of_class[s];
        segment[s] = 0;
    }
    for (int half = m.count / 2; half > 0; half /= 2) {
#pragma unroll
        for (int s = 0; s <= FACE_COUNT; s++) {
            segment[s] += u[s] >= segments[s][segment[s] + half] ? half : 0;
        }
    }
    const nonlinear_value<REAL> own =
        nonlinear_in(segments[FACE_COUNT], m.count, segment[FACE_COUNT], c);
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        REAL of_face = 0; /* not g[face] in both branches: the compiler would keep g in memory */
        REAL difference = 0;
        if (on[face]) {
            difference = nonlinear_close(m, face, place.cell, own_class, own, of_face);
            term(face, (double)of_face * (double)difference);
        } else {
            of_face = nonlinear_couple(
                m, face / 2, own_class, own, of_class[face],
                nonlinear_in(segments[face], m.count, segment[face], u[face]), difference);
        }
        g[face] = of_face;
        d[face] = difference;
    }
    return own;
}

/* Of one step. */
template <typename REAL> struct enthalpy {
    typedef class_place place;
    static constexpr bool IS_EVERYWHERE = false;
    static constexpr int R = 1;

    nonlinear<REAL> of;
    const REAL *table; /* that of `of`; on gfx90a apart it takes fewer scalar registers */
    bool closed[FACE_COUNT];

    __device__ __forceinline__ place at(int64_t i, int64_t j, int64_t k) const
    {
        return place_in(of.of, i, j, k);
    }

    template <typename TERM>
    __device__ __forceinline__ REAL advance(int, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL u, REAL (&n)[FACE_COUNT],
                                            const TERM &term) const
    {
        nonlinear<REAL> m = of;
        m.of.table = table;
        const int own = *p.byte & m.of.mask;
        const REAL *numbers = m.numbers() + NONLINEAR_NUMBERS * own;
        const REAL q = m.of.table[medium_cell_at(own) + 1];
        REAL g[FACE_COUNT];
        REAL d[FACE_COUNT];
        const nonlinear_value<REAL> value = nonlinear_around(m, p, on, u, n, g, d, term);
        return base + nonlinear_sum(g, d, nonlinear_source(numbers, q, value.temperature));
    }
};

template <typename REAL> static enthalpy<REAL> enthalpy_of(const struct coefficients *args)
{
    enthalpy<REAL> kind = {};
    kind.of = nonlinear_of<REAL>(&args->medium);
    kind.table = kind.of.of.table;
    for (int face = 0; face < FACE_COUNT; face++) {
        kind.closed[face] = args->closed[face];
    }
    return kind;
}
