/* What the step kernels with a wider stencil share on the device: weights, closures, and the
 * difference along an axis. */
#ifndef ISOTHERM_KERNELS_HIP_RADIUS_H
#define ISOTHERM_KERNELS_HIP_RADIUS_H

/* first: see cells.h */
#include "kernels/hip/device/cells.h"

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

static __device__ __forceinline__ double wide_update(double c, double dx, double dy, double dz,
                                                     const double (&r)[AXIS_COUNT])
{
    return wide_update_float64(c, dx, dy, dz, r[AXIS_X], r[AXIS_Y], r[AXIS_Z]);
}

static __device__ __forceinline__ float wide_update(float c, float dx, float dy, float dz,
                                                    const float (&r)[AXIS_COUNT])
{
    return wide_update_float32(c, dx, dy, dz, r[AXIS_X], r[AXIS_Y], r[AXIS_Z]);
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

#endif
