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
};

template <typename REAL> static nonlinear<REAL> nonlinear_of(const struct device_medium *args)
{
    nonlinear<REAL> m = {};
    m.of = medium_of<REAL>(args);
    m.count = args->nsegments;
    m.one_curve = args->one_curve;
    return m;
}

#define NONLINEAR_OVERLOAD(name, REAL)                                                             \
    static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_at(const REAL *segments,     \
                                                                         int count, REAL u)        \
    {                                                                                              \
        return nonlinear_at_##name(segments, count, u);                                            \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_theta(const REAL *segments, int count,        \
                                                           REAL u)                                 \
    {                                                                                              \
        return nonlinear_theta_##name(segments, count,                                             \
                                      nonlinear_segment_##name(segments, count, u), u);            \
    }                                                                                              \
    static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_in(const REAL *segments,     \
                                                                         int count, int s, REAL u) \
    {                                                                                              \
        return nonlinear_in_##name(segments, count, s, u);                                         \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_theta_in(const REAL *segments, int count,     \
                                                              int s, REAL u)                       \
    {                                                                                              \
        return nonlinear_theta_##name(segments, count, s, u);                                      \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_theta_of(REAL beyond, REAL theta, REAL slope, \
                                                              REAL half)                           \
    {                                                                                              \
        return nonlinear_theta_of_##name(beyond, theta, slope, half);                              \
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
    static __device__ __forceinline__ REAL nonlinear_source(const REAL *of_class, REAL q, REAL t)  \
    {                                                                                              \
        return nonlinear_source_##name(of_class, q, t);                                            \
    }                                                                                              \
    static __device__ __forceinline__ REAL nonlinear_sum(const REAL(&g)[FACE_COUNT],               \
                                                         const REAL(&d)[FACE_COUNT], REAL source)  \
    {                                                                                              \
        return nonlinear_sum_##name(g[0], g[1], g[2], g[3], g[4], g[5], d[0], d[1], d[2], d[3],    \
                                    d[4], d[5], source);                                           \
    }                                                                                              \
    /* The new u. */                                                                               \
    static __device__ __forceinline__ REAL nonlinear_cell(const REAL *of_class, REAL q, REAL u,    \
                                                          REAL t, const REAL(&g)[FACE_COUNT],      \
                                                          const REAL(&d)[FACE_COUNT])              \
    {                                                                                              \
        return u + nonlinear_sum(g, d, nonlinear_source(of_class, q, t));                          \
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
    const int closure =
        medium_closure(of.patch[face], of.patch_pitch[face], of.n, face, cell, of_class);
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
 * bit f for face f; at_closed(face, g, difference) is called for those that the cell lies on. The
 * segments of all seven cells are searched together, which hides the time of each look. */
template <typename REAL, typename VISIT>
static __device__ __forceinline__ nonlinear_value<REAL> nonlinear_around(
    const grid_view<REAL> &view, unsigned closed, const nonlinear<REAL> &m,
    const int64_t (&cell)[AXIS_COUNT], REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT],
    VISIT at_closed)
{
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const uint8_t *classes =
        m.of.classes + cell[0] + cell[1] * m.of.pitch_y + cell[2] * m.of.pitch_z;
    const int64_t class_stride[AXIS_COUNT] = {1, m.of.pitch_y, m.of.pitch_z};
    const int own_class = *classes & m.of.mask;
    REAL u[FACE_COUNT + 1]; /* of the neighbours; then of the cell */
    int of_class[FACE_COUNT + 1];
    const REAL *segments[FACE_COUNT + 1];
    int segment[FACE_COUNT + 1];
    bool closes[FACE_COUNT];
#pragma unroll
    for (int n = 0; n <= FACE_COUNT; n++) {
        const int axis = n < FACE_COUNT ? n / 2 : 0;
        int sign = n % 2 == 0 ? -1 : 1;
        if (n == FACE_COUNT) {
            sign = 0;
        } else {
            closes[n] =
                (closed >> n & 1) != 0 && cell[axis] == (sign < 0 ? 0 : view.cells[axis] - 1);
            sign = closes[n] ? 0 : sign;
        }
        u[n] = view.in[at + sign * stride[axis]];
        of_class[n] = m.one_curve ? own_class : classes[sign * class_stride[axis]] & m.of.mask;
        segments[n] = m.segments() + nonlinear_pitch(m.count) * of_class[n];
        segment[n] = 0;
    }
    for (int half = m.count / 2; half > 0; half /= 2) {
#pragma unroll
        for (int n = 0; n <= FACE_COUNT; n++) {
            segment[n] += u[n] >= segments[n][segment[n] + half] ? half : 0;
        }
    }
    const nonlinear_value<REAL> own =
        nonlinear_in(segments[FACE_COUNT], m.count, segment[FACE_COUNT], u[FACE_COUNT]);
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        REAL of_face = 0; /* not g[face] in both branches: the compiler would keep g in memory */
        REAL difference = 0;
        if (closes[face]) {
            difference = nonlinear_close(m, face, cell, own_class, own, of_face);
            at_closed(face, of_face, difference);
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

#endif
