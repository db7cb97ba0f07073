/* A medium of classes on the device: see struct device_medium and kernels/medium_cell.h. */
#ifndef ISOTHERM_KERNELS_HIP_MEDIUM_H
#define ISOTHERM_KERNELS_HIP_MEDIUM_H

#include "kernels/hip/cells.h"

/* By value to the kernels. */
template <typename REAL> struct medium {
    const uint8_t *classes; /* of cell (0, 0, 0) */
    int64_t pitch_y, pitch_z;
    int mask; /* for the classes */
    int n, nclosures;
    bool same_axes;
    const REAL *table;
    const uint8_t *patch[FACE_COUNT];
    int64_t patch_pitch[FACE_COUNT];
};

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
        m.patch_pitch[face] = args->patch_pitch[face];
    }
    return m;
}

static __device__ __forceinline__ double medium_cell(double c, const double (&n)[FACE_COUNT],
                                                     const double (&g)[FACE_COUNT], double sigma,
                                                     double q)
{
    return medium_cell_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], g[0], g[1], g[2], g[3], g[4],
                               g[5], sigma, q);
}

static __device__ __forceinline__ float medium_cell(float c, const float (&n)[FACE_COUNT],
                                                    const float (&g)[FACE_COUNT], float sigma,
                                                    float q)
{
    return medium_cell_float32(c, n[0], n[1], n[2], n[3], n[4], n[5], g[0], g[1], g[2], g[3], g[4],
                               g[5], sigma, q);
}

static __device__ __forceinline__ double medium_outside(double inside, double a, double b, double e)
{
    return medium_outside_float64(inside, a, b, e);
}

static __device__ __forceinline__ float medium_outside(float inside, float a, float b, float e)
{
    return medium_outside_float32(inside, a, b, e);
}

/* The value beyond a closed face of a cell of the field. */
template <typename REAL>
static __device__ __forceinline__ REAL medium_beyond(const medium<REAL> &m, int face,
                                                     const int64_t (&cell)[AXIS_COUNT],
                                                     int of_class, REAL inside)
{
    const int closure =
        medium_closure(m.patch[face], m.patch_pitch[face], m.n, face, cell, of_class);
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

/* A cell, which is returned, its neighbours and the conductances to them. closed: bit f for face
 * f; at_closed(face, outside) is called for those that the cell lies on. */
template <typename REAL, typename VISIT>
static __device__ __forceinline__ REAL medium_neighbours(const grid_view<REAL> &view,
                                                         unsigned closed, const medium<REAL> &m,
                                                         const int64_t (&cell)[AXIS_COUNT],
                                                         REAL (&n)[FACE_COUNT],
                                                         REAL (&g)[FACE_COUNT], VISIT at_closed)
{
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const int64_t class_stride[AXIS_COUNT] = {1, m.pitch_y, m.pitch_z};
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    const uint8_t *of_class = m.classes + cell[0] + cell[1] * m.pitch_y + cell[2] * m.pitch_z;
    const int own = *of_class & m.mask;
    const REAL c = view.in[at];
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int sign = face % 2 == 0 ? -1 : 1;
        const int other = of_class[sign * class_stride[axis]] & m.mask;
        g[face] = m.table[medium_g_at(m.n, axis, own, other)];
        if ((closed >> face & 1) != 0 && cell[axis] == (sign < 0 ? 0 : view.cells[axis] - 1)) {
            n[face] = medium_beyond(m, face, cell, own, c);
            at_closed(face, n[face]);
        } else {
            n[face] = view.in[at + sign * stride[axis]];
        }
    }
    return c;
}

#endif
