/* The kind of a uniform medium: see kernels/cell/heat_cell.h. And what a kind is.
 *
 * A kind says what a cell's update needs of space, for T levels: level l of a pass is the field
 * after l of its steps; a kernel of one step has level 0 alone. Schedules (../schedule) say where
 * values live. A kind K has
 *   K::place             what a cell brings beside its temperature; of cell (i, j, k): K::at
 *   K::moved             the place x cells and z planes from there
 *   K::advance           the new value of a cell of level l
 *   K::closed            faces beyond which nothing is read
 *   K::corrected         of several levels: whether the step from level l corrects
 * and where neighbours see values of the same unit
 *   K::beyond, K::term   the value beyond a closed face; the cell's term in the sum of the face
 *   K::update            the new value of a cell of level l, from all its neighbours
 * For the march, which has a vector of cells of a row at a time:
 *   K::kept              what a thread keeps of them from plane to plane, as kept_nothing
 *   K::READS_AT_ONCE     whether it loads all that a plane needs before it uses any of it
 *   K::SHARES            ARCH_MARCH_KIB of a block, in such parts: 2 leave half as many at once
 * advance takes what the sum begins with (struct coefficients: corrects), the cell's value, `on`:
 * the closed faces that it lies on, and its neighbours, n, in the order of the faces; of those on
 * closed faces any value. For each closed face it calls
 * term(face, x), with the cell's term in the sum of the face.
 */
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/hip/device/cells.h"

template <typename KIND, typename REAL, typename TERM>
static __device__ __forceinline__ REAL advance_by_values(const KIND &kind, int l,
                                                         const typename KIND::place &p,
                                                         const bool (&on)[FACE_COUNT], REAL base,
                                                         REAL c, REAL (&n)[FACE_COUNT],
                                                         const TERM &add)
{
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        if (on[face]) {
            n[face] = kind.beyond(l, p, face, c);
            add(face, kind.term(l, p, face, c, n[face]));
        }
    }
    return kind.update(l, p, base, c, n);
}

/* Nothing is kept from plane to plane. */
struct kept_nothing {
    int number;

    /* Begin at plane k, the first; p: the first cell of the vector in plane 0. */
    template <typename KIND, typename PLACE>
    __device__ __forceinline__ void start(const KIND &, const PLACE &, int64_t)
    {
    }
    /* The values that a plane brings for N cells from p on; whole: all of them lie in the box. */
    struct mark {
    };
    template <int N, typename KIND, typename PLACE>
    static __device__ __forceinline__ mark mark_of(const KIND &, const PLACE &, bool)
    {
        return {};
    }
    template <typename KIND> __device__ __forceinline__ void look_at(const KIND &, mark)
    {
    }
    /* The new value of cell p, number i of the vector. */
    template <typename REAL, typename KIND, typename PLACE>
    __device__ __forceinline__ REAL update(const KIND &kind, const PLACE &p, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT], int = 0) const
    {
        return kind.update(0, p, base, c, n);
    }
};

/* By value to the kernels. R_OF, A_OF: 1 where all steps have the same r or a, which takes fewer
 * registers. */
template <typename REAL, int T, int R_OF = T, int A_OF_ = 1> struct uniform {
    struct place {
    };
    /* Every place has memory of its kind, so that no cell needs a test. */
    static constexpr bool IS_EVERYWHERE = true;
    static constexpr int R = 1;
    static constexpr int A_OF = A_OF_;
    static constexpr bool READS_AT_ONCE = ARCH_READS_AT_ONCE;
    static constexpr int SHARES = 1;
    typedef kept_nothing kept;

    REAL r[R_OF][AXIS_COUNT]; /* of the step from level l to l + 1, as a and b */
    REAL a[A_OF][FACE_COUNT];
    REAL b[T][FACE_COUNT];
    bool closed[FACE_COUNT];
    unsigned corrections; /* bit l */

    __device__ __forceinline__ bool corrected(int l) const
    {
        return R_OF > 1 && (corrections >> l & 1) != 0;
    }
    __device__ __forceinline__ place at(int64_t, int64_t, int64_t) const
    {
        return {};
    }
    __device__ __forceinline__ place moved(const place &, int64_t, int64_t) const
    {
        return {};
    }

    __device__ __forceinline__ const REAL (&a_of(int l) const)[FACE_COUNT]
    {
        return a[A_OF == 1 ? 0 : l];
    }

    /* Beyond a closed face; and the cell's term in the sum of the face. */
    __device__ __forceinline__ REAL beyond(int l, const place &, int face, REAL c) const
    {
        return outside(c, a_of(l)[face], b[l][face]);
    }
    __device__ __forceinline__ double term(int, const place &, int, REAL c, REAL) const
    {
        return (double)c;
    }
    __device__ __forceinline__ REAL update(int l, const place &, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT]) const
    {
        return heat_cell(base, c, n[0], n[1], n[2], n[3], n[4], n[5], r[R_OF == 1 ? 0 : l]);
    }
    template <typename TERM>
    __device__ __forceinline__ REAL advance(int l, const place &p, const bool (&on)[FACE_COUNT],
                                            REAL base, REAL c, REAL (&n)[FACE_COUNT],
                                            const TERM &add) const
    {
        return advance_by_values(*this, l, p, on, base, c, n, add);
    }
};

template <typename REAL, int T, int R_OF = T, int A_OF = 1>
static uniform<REAL, T, R_OF, A_OF> uniform_of(const struct coefficients *args)
{
    uniform<REAL, T, R_OF, A_OF> p = {};
    p.corrections = coefficients_corrections(args, R_OF);
    for (int n = 0; n < R_OF * AXIS_COUNT; n++) {
        p.r[n / AXIS_COUNT][n % AXIS_COUNT] = (REAL)args[n / AXIS_COUNT].r[n % AXIS_COUNT];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        p.closed[face] = args->closed[face];
        for (int l = 0; l < T; l++) {
            p.a[l % A_OF][face] = (REAL)args[l % A_OF].a[face];
            p.b[l][face] = (REAL)args[l].b[face];
        }
    }
    return p;
}

/* For A_OF: of kernels that take an `a` per step (hip_steps_share_a). */
template <int T> static constexpr int a_of_steps = ARCH_HAS_TILE_COPY ? T : 1;

static inline bool share_a(const struct coefficients *args, int nsteps)
{
    bool same = true;
    for (int s = 1; s < nsteps; s++) {
        same = same && memcmp(args[s].a, args[0].a, sizeof args[0].a) == 0;
    }
    return same;
}

/* Whether all steps have the same r and a, and none corrects. */
static inline bool are_alike(const struct coefficients *args, int nsteps)
{
    bool alike = coefficients_corrections(args, nsteps) == 0 && share_a(args, nsteps);
    for (int s = 1; s < nsteps; s++) {
        alike = alike && memcmp(args[s].r, args[0].r, sizeof args[0].r) == 0;
    }
    return alike;
}

/* One step of one cell; base: what its sum begins with. */
template <typename REAL, typename KIND, typename TERM>
static __device__ __forceinline__ REAL advanced_in(const grid_view<REAL> &view, const KIND &kind,
                                                   const int64_t (&cell)[AXIS_COUNT], REAL base,
                                                   const TERM &term)
{
    const REAL c = view.in[view.at(cell[0], cell[1], cell[2])];
    bool on[FACE_COUNT];
    REAL n[FACE_COUNT];
    read_around(view, kind.closed, cell, on, n);
    return kind.advance(0, kind.at(cell[0], cell[1], cell[2]), on, base, c, n, term);
}

template <bool CORRECTS = false, typename REAL, typename KIND, typename TERM>
static __device__ __forceinline__ void advance_in(const grid_view<REAL> &view, const KIND &kind,
                                                  const int64_t (&cell)[AXIS_COUNT],
                                                  const TERM &term)
{
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    view.out[at] = advanced_in(view, kind, cell, CORRECTS ? view.out[at] : view.in[at], term);
}

/* launch(a cell, the steps): the launch of a kernel for a precision and a number of steps, both
 * known by their types. */
template <typename LAUNCH>
static hipError_t launch_steps_of(const struct step_args *args, const LAUNCH &launch)
{
    return in_precision(args->layout.precision, [&](auto cell) {
        switch (args->nsteps) {
        case 2:
            return launch(cell, std::integral_constant<int, 2>());
        case 3:
            return launch(cell, std::integral_constant<int, 3>());
        case 4:
            return launch(cell, std::integral_constant<int, 4>());
        default:
            return hipErrorInvalidValue;
        }
    });
}
