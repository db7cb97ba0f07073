/* The kind of a wider stencil in a uniform medium: see kernels/cell/wide_cell.h. A cell reads R
 * others on every side, and next to a closed face 2 R from the face on. */
#pragma once

#include "kernels/hip/kind/uniform.h"

#include "kernels/cell/wide_cell.h"

/* The coefficients of one step, by value to the kernel. */
template <typename REAL> struct wide_rules {
    REAL w[WIDE_RADIUS_MOST];
    REAL r[AXIS_COUNT];
    bool used[AXIS_COUNT];
    bool closed[FACE_COUNT]; /* of a used axis */
    struct wide_closure closure[FACE_COUNT];
};

template <typename REAL> static wide_rules<REAL> wide_rules_of(const struct coefficients *args)
{
    wide_rules<REAL> rules = {};
    for (int k = 0; k < args->high_order.radius; k++) {
        rules.w[k] = (REAL)args->high_order.weight[k];
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        rules.r[axis] = (REAL)args->r[axis];
        rules.used[axis] = args->high_order.used[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        rules.closed[face] = args->closed[face] && args->high_order.used[face / 2];
        rules.closure[face] = args->high_order.closure[face];
    }
    return rules;
}

static __device__ __forceinline__ double wide_term(double w, double c, double m, double p,
                                                   double sum)
{
    return wide_term_float64(w, c, m, p, sum);
}

static __device__ __forceinline__ float wide_term(float w, float c, float m, float p, float sum)
{
    return wide_term_float32(w, c, m, p, sum);
}

static __device__ __forceinline__ double wide_update(double base, double dx, double dy, double dz,
                                                     const double (&r)[AXIS_COUNT])
{
    return wide_update_float64(base, dx, dy, dz, r[AXIS_X], r[AXIS_Y], r[AXIS_Z]);
}

static __device__ __forceinline__ float wide_update(float base, float dx, float dy, float dz,
                                                    const float (&r)[AXIS_COUNT])
{
    return wide_update_float32(base, dx, dy, dz, r[AXIS_X], r[AXIS_Y], r[AXIS_Z]);
}

/* The sum of a row next to a face, whose first cell is at `face`. */
template <typename REAL, int R>
static __device__ __forceinline__ double near_sum(const struct wide_closure &closure,
                                                  const double *weight, double given,
                                                  const REAL *face, int64_t inward, REAL own)
{
    double sum = wide_given(given, closure.slope, closure.value, (double)own);
    for (int cell = 0; cell < 2 * R; cell++) {
        sum = wide_near(weight[cell], (double)face[cell * inward], (double)own, sum);
    }
    return sum;
}

/* D along one axis of the cell `c`, at `at` of `cells`. */
template <typename REAL, int R, int AXIS>
static __device__ __forceinline__ REAL difference(const wide_rules<REAL> &rules, const REAL *c,
                                                  int64_t at, int64_t cells, int64_t stride)
{
    constexpr int MIN = 2 * AXIS;
    constexpr int MAX = 2 * AXIS + 1;
    const int64_t from_max = cells - 1 - at;
    const REAL own = c[0];
    if (!rules.used[AXIS]) {
        return 0;
    }
    if (rules.closed[MIN] && at < R) {
        const struct wide_closure &closure = rules.closure[MIN];
        return (REAL)near_sum<REAL, R>(closure, closure.weight[at], closure.given[at],
                                       c - at * stride, stride, own);
    }
    if (rules.closed[MAX] && from_max < R) {
        const struct wide_closure &closure = rules.closure[MAX];
        return (REAL)near_sum<REAL, R>(closure, closure.weight[from_max], closure.given[from_max],
                                       c + from_max * stride, -stride, own);
    }
    REAL sum = 0;
#pragma unroll
    for (int k = R; k >= 1; k--) {
        sum = wide_term(rules.w[k - 1], own, c[-k * stride], c[k * stride], sum);
    }
    return sum;
}

/* D along x of a vector of cells away from faces; beside(v): the vector v vectors from it. */
template <typename REAL, int R, typename BESIDE>
static __device__ __forceinline__ vec16<REAL> difference_in_row(const wide_rules<REAL> &rules,
                                                                const vec16<REAL> &own,
                                                                const BESIDE &beside)
{
    constexpr int N = vec16<REAL>::N;
    constexpr int V = (R + N - 1) / N; /* vectors on either side */
    REAL row[(2 * V + 1) * N];
    vec16<REAL> dx = {};
#pragma unroll
    for (int v = -V; v <= V; v++) {
        const vec16<REAL> cells = v == 0 ? own : beside(v);
#pragma unroll
        for (int n = 0; n < N; n++) {
            row[(V + v) * N + n] = cells.v[n];
        }
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        const REAL *const cell = row + V * N + n;
#pragma unroll
        for (int k = R; k >= 1; k--) {
            dx.v[n] = wide_term(rules.w[k - 1], own.v[n], cell[-k], cell[k], dx.v[n]);
        }
    }
    return dx;
}

template <typename REAL, int RADIUS> struct wide_stencil : wide_rules<REAL> {
    struct place {
    };
    static constexpr int R = RADIUS;
    static constexpr bool IS_EVERYWHERE = true;

    bool advances;       /* else only the sums over closed faces are taken */
    int64_t first, last; /* elements of the allocation, from cell (0, 0, 0) */

    __device__ __forceinline__ place at(int64_t, int64_t, int64_t) const
    {
        return {};
    }
};

/* d_out: NULL: only the sums are taken. */
template <typename REAL, int R>
static wide_stencil<REAL, R> wide_stencil_of(const struct layout *layout,
                                             const struct coefficients *args, const void *d_out)
{
    return {wide_rules_of<REAL>(args), d_out != nullptr, -layout->origin,
            layout->elements - layout->origin};
}

/* As advance_in of other kinds. */
template <bool CORRECTS = false, typename REAL, int R, typename TERM>
static __device__ __forceinline__ void advance_in(const grid_view<REAL> &view,
                                                  const wide_stencil<REAL, R> &kind,
                                                  const int64_t (&cell)[AXIS_COUNT],
                                                  const TERM &term)
{
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const REAL *c = view.in + at;
    unsigned on = 0;
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int64_t edge = face % 2 == 0 ? 0 : view.cells[face / 2] - 1;
        on |= kind.closed[face] && cell[face / 2] == edge ? 1U << face : 0U;
    }
    for (; on != 0; on &= on - 1) { /* one body for all faces, few of which a cell lies on */
        const int face = __ffs((int)on) - 1;
        const struct wide_closure &closure = kind.closure[face];
        const int64_t inward = face / 2 == AXIS_X   ? stride[AXIS_X]
                               : face / 2 == AXIS_Y ? stride[AXIS_Y]
                                                    : stride[AXIS_Z];
        const double x = near_sum<REAL, R>(closure, closure.in, closure.in_given, c,
                                           face % 2 == 0 ? inward : -inward, c[0]);
#pragma unroll
        for (int f = 0; f < FACE_COUNT; f++) { /* no indexing of registers by a variable */
            if (f == face) {
                term(f, x);
            }
        }
    }
    if (kind.advances) {
        const REAL dx = difference<REAL, R, AXIS_X>(kind, c, cell[0], view.cells[0], stride[0]);
        const REAL dy = difference<REAL, R, AXIS_Y>(kind, c, cell[1], view.cells[1], stride[1]);
        const REAL dz = difference<REAL, R, AXIS_Z>(kind, c, cell[2], view.cells[2], stride[2]);
        view.out[at] = wide_update(CORRECTS ? view.out[at] : c[0], dx, dy, dz, kind.r);
    }
}

/* launch(the radius, known by its type). */
template <typename LAUNCH> static hipError_t launch_radius(int radius, const LAUNCH &launch)
{
    switch (radius) {
    case 2:
        return launch(std::integral_constant<int, 2>());
    case 3:
        return launch(std::integral_constant<int, 3>());
    default:
        return launch(std::integral_constant<int, 4>());
    }
}
