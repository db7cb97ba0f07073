/* A medium whose properties depend on temperature on the device: see kernels/nonlinear_cell.h. */
#ifndef ISOTHERM_KERNELS_HIP_NONLINEAR_H
#define ISOTHERM_KERNELS_HIP_NONLINEAR_H

#include "kernels/hip/medium.h"

#include "kernels/nonlinear_cell.h"

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
};

template <typename REAL> static nonlinear<REAL> nonlinear_of(const struct medium_args *args)
{
    nonlinear<REAL> m = {};
    m.of = medium_of<REAL>(args);
    m.count = args->nsegments;
    return m;
}

#define NONLINEAR_OVERLOAD(name, REAL)                                                             \
    static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_at(const REAL *segments,     \
                                                                         int count, REAL u)        \
    {                                                                                              \
        return nonlinear_at_##name(segments, count, u);                                            \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_enthalpy(const REAL *segments, int count,     \
                                                              REAL t)                              \
    {                                                                                              \
        return nonlinear_enthalpy_##name(segments, count, t);                                      \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_liquid(const REAL *of_class, REAL u)          \
    {                                                                                              \
        return nonlinear_liquid_##name(of_class, u);                                               \
    }                                                                                              \
    static __device__ __forceinline__ double nonlinear_perfusion(const REAL *of_class, REAL t)     \
    {                                                                                              \
        return nonlinear_perfusion_##name(of_class, t);                                            \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_between(                                      \
        int axis, const REAL *of_class, const nonlinear_##name &own, const REAL *of_other,         \
        const nonlinear_##name &other, REAL contact, REAL &difference)                             \
    {                                                                                              \
        return nonlinear_between_##name(axis, of_class, own, of_other, other, contact,             \
                                        &difference);                                              \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_face(const REAL *closure, REAL half, REAL t)  \
    {                                                                                              \
        return nonlinear_face_##name(closure, half, t);                                            \
    }                                                                                              \
    /* The new u. */                                                                               \
    static __device__ __forceinline__ REAL nonlinear_cell(const REAL *of_class, REAL q, REAL u,    \
                                                          REAL t, const REAL(&g)[FACE_COUNT],      \
                                                          const REAL(&d)[FACE_COUNT])              \
    {                                                                                              \
        const REAL source = nonlinear_source_##name(of_class, q, t);                               \
        return u + nonlinear_sum_##name(g[0], g[1], g[2], g[3], g[4], g[5], d[0], d[1], d[2],      \
                                        d[3], d[4], d[5], source);                                 \
    }
NONLINEAR_OVERLOAD(float64, double)
NONLINEAR_OVERLOAD(float32, float)
#undef NONLINEAR_OVERLOAD

/* The half cell at a closed face: g, and F - T, which is returned. */
template <typename REAL>
static __device__ __forceinline__ REAL nonlinear_close(const nonlinear<REAL> &m, int face,
                                                       const int64_t (&cell)[AXIS_COUNT],
                                                       int of_class,
                                                       const nonlinear_value<REAL> &own, REAL &g)
{
    const medium<REAL> &of = m.of;
    const int closure = medium_closure(of.patch[face], of.n, face, of.cells, cell, of_class);
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
                             difference);
}

/* A cell, which is returned, with g and the differences across its faces. closed:
 * bit f for face f; at_closed(face, g, difference) is called for those that the cell lies on. */
template <typename REAL, typename VISIT>
static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_around(
    const grid_view<REAL> &view, unsigned closed, const nonlinear<REAL> &m,
    const int64_t (&cell)[AXIS_COUNT], REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT],
    VISIT at_closed)
{
    const int64_t per_class = nonlinear_pitch(m.count);
    const int own_class = m.class_at(cell[0], cell[1], cell[2]);
    const nonlinear_value<REAL> own = nonlinear_at(m.segments() + per_class * own_class, m.count,
                                                   view.in[view.at(cell[0], cell[1], cell[2])]);
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int sign = face % 2 == 0 ? -1 : 1;
        if ((closed >> face & 1) != 0 && cell[axis] == (sign < 0 ? 0 : view.cells[axis] - 1)) {
            d[face] = nonlinear_close(m, face, cell, own_class, own, g[face]);
            at_closed(face, g[face], d[face]);
            continue;
        }
        int64_t next[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
        next[axis] += sign;
        const int other_class = m.class_at(next[0], next[1], next[2]);
        const nonlinear_value<REAL> other =
            nonlinear_at(m.segments() + per_class * other_class, m.count,
                         view.in[view.at(next[0], next[1], next[2])]);
        g[face] = nonlinear_couple(m, axis, own_class, own, other_class, other, d[face]);
    }
    return own;
}

#endif
