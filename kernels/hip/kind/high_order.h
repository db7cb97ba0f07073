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

template <typename REAL>
static __device__ __forceinline__ REAL wide_update(REAL base, REAL dx, REAL dy, REAL dz,
                                                   const REAL (&r)[AXIS_COUNT])
{
    return wide_update(base, dx, dy, dz, r[AXIS_X], r[AXIS_Y], r[AXIS_Z]);
}

template <typename REAL, int RADIUS> struct wide_stencil : wide_rules<REAL> {
    struct place {
    };
    static constexpr int R = RADIUS;
    static constexpr bool IS_EVERYWHERE = false;
    static constexpr int SHARES = 1;
    static constexpr bool READS_AT_ONCE = false; /* advance_plane has its own order */
    typedef kept_nothing kept;

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
    wide_stencil<REAL, R> kind = {};
    static_cast<wide_rules<REAL> &>(kind) = wide_rules_of<REAL>(args);
    kind.advances = d_out != nullptr;
    kind.first = -layout->origin;
    kind.last = layout->elements - layout->origin;
    return kind;
}

/* The sum of a row next to a face, or of the inward flux there; cell(n): the n-th cell from the
 * face. */
template <typename REAL, int R, typename CELL>
static __device__ __forceinline__ double near_sum(const wide_stencil<REAL, R> &kind, int face,
                                                  const double *weight, double given, REAL own,
                                                  const CELL &cell)
{
    const struct wide_closure &closure = kind.closure[face];
    double sum = wide_given(given, closure.slope, closure.value, (double)own);
#pragma unroll
    for (int n = 0; n < 2 * R; n++) {
        sum = wide_near(weight[n], (double)cell(n), (double)own, sum);
    }
    return sum;
}

/* D along one axis of cell `at`, of value `own`; line(n): the value n cells from it. */
template <int AXIS, typename REAL, int R, typename LINE>
static __device__ __forceinline__ REAL difference(const wide_stencil<REAL, R> &kind, REAL own,
                                                  int64_t at, int64_t cells, const LINE &line)
{
    constexpr int MIN = 2 * AXIS;
    constexpr int MAX = 2 * AXIS + 1;
    const int64_t from_max = cells - 1 - at;
    if (!kind.used[AXIS]) {
        return 0;
    }
    if (kind.closed[MIN] && at < R) {
        const struct wide_closure &closure = kind.closure[MIN];
        return (REAL)near_sum(kind, MIN, closure.weight[at], closure.given[at], own,
                              [&](int n) { return line(n - at); });
    }
    if (kind.closed[MAX] && from_max < R) {
        const struct wide_closure &closure = kind.closure[MAX];
        return (REAL)near_sum(kind, MAX, closure.weight[from_max], closure.given[from_max], own,
                              [&](int n) { return line(from_max - n); });
    }
    REAL sum = 0;
#pragma unroll
    for (int k = R; k >= 1; k--) {
        sum = wide_term(kind.w[k - 1], own, line(-k), line(k), sum);
    }
    return sum;
}

/* Cells that are `stride` elements apart. */
template <typename REAL> struct wide_line {
    const REAL *own;
    int64_t stride;

    __device__ __forceinline__ REAL operator()(int64_t n) const
    {
        return own[n * stride];
    }
};

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
        const int64_t inward = face / 2 == AXIS_X   ? stride[AXIS_X]
                               : face / 2 == AXIS_Y ? stride[AXIS_Y]
                                                    : stride[AXIS_Z];
        const struct wide_closure &closure = kind.closure[face];
        const double x = near_sum(kind, face, closure.in, closure.in_given, c[0],
                                  wide_line<REAL>{c, face % 2 == 0 ? inward : -inward});
#pragma unroll
        for (int f = 0; f < FACE_COUNT; f++) { /* no indexing of registers by a variable */
            if (f == face) {
                term(f, x);
            }
        }
    }
    if (kind.advances) {
        const REAL base = CORRECTS ? view.out[at] : c[0];
        const REAL dx =
            difference<AXIS_X>(kind, c[0], cell[0], view.cells[0], wide_line<REAL>{c, stride[0]});
        const REAL dy =
            difference<AXIS_Y>(kind, c[0], cell[1], view.cells[1], wide_line<REAL>{c, stride[1]});
        const REAL dz =
            difference<AXIS_Z>(kind, c[0], cell[2], view.cells[2], wide_line<REAL>{c, stride[2]});
        view.out[at] = wide_update(base, dx, dy, dz, kind.r);
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
