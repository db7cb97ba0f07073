/* Part of sums/strips.h: what a lane of a strip knows of the medium at its cells. Levels and layers
 * are as there: when row v of level 0 is at hand, level l is in row v - l, and is advanced in row
 * v - l - 1. */
#pragma once

#include "kernels/hip/kind/classes.h"

/* How a row is advanced: where all lanes have one class around, so that one look-up serves all
 * cells; away from patches and from other faces, but in media of classes those at the ends of U;
 * anywhere. */
enum strip_row { ROW_OF_ONE, ROW_PLAIN, ROW_OF_ANY };

/* Where a strip of a face of axis N lies. What the lanes use row by row is in registers, since the
 * arguments of a kernel are far from a function that is not inlined. */
template <int N, typename REAL, typename KIND> struct strip_place {
    static constexpr int U = N == AXIS_X ? AXIS_Y : AXIS_X, V = N == AXIS_Z ? AXIS_Y : AXIS_Z;

    const grid_view<REAL> &view;
    const KIND &p;
    const int face;
    int u_read;          /* of this lane */
    int v_first, v_last; /* rows that are read */
    int last;            /* layer at the opposite face, if that is closed and near */
    bool near_u;         /* a lane is at a closed face of U */

    __device__ __forceinline__ strip_place(const grid_view<REAL> &of_field, const KIND &kind,
                                           int of_face)
        : view(of_field), p(kind), face(of_face)
    {
    }
    __device__ __forceinline__ int row(int v) const
    {
        return min(max(v, v_first), v_last);
    }
    /* Where element (0, u_read, 0) of an array is, of (0, 0, 0) and whose strides are given. */
    template <typename T>
    __device__ __forceinline__ const T *first_of(const T *array, const int64_t (&stride)[3]) const
    {
        return array + (face % 2 == 0 ? 0 : view.cells[N] - 1) * stride[N] + u_read * stride[U];
    }
};

template <int N, typename REAL, int T, typename KIND>
struct strip_of_uniform : strip_place<N, REAL, KIND> {
    typedef strip_place<N, REAL, KIND> of;
    using of::p, of::face;

    REAL a, b[T - 1];

    /* v: the first row. Whether rows may be advanced as ROW_PLAIN and ROW_OF_ONE. */
    __device__ __forceinline__ bool begin(int)
    {
        a = p.a[0][face];
#pragma unroll
        for (int l = 0; l + 1 < T; l++) {
            b[l] = p.b[l][face];
        }
        return !of::near_u;
    }
    __device__ __forceinline__ void read(int)
    {
    }
    struct numbers {
    };
    /* The value beyond the face, of level l at hand. */
    template <enum strip_row>
    __device__ __forceinline__ REAL beyond(int l, int, REAL c, const numbers &) const
    {
        return outside(c, KIND::A_OF > 1 ? p.a_of(l)[face] : a, b[l]);
    }
    /* The value beyond another face of layer d of level l, which is advanced. */
    template <int, enum strip_row>
    __device__ __forceinline__ REAL closed(int other_face, int l, int, int, REAL c) const
    {
        return outside(c, p.a_of(l)[other_face], p.b[l][other_face]);
    }
    template <enum strip_row>
    __device__ __forceinline__ REAL update(int l, int, REAL base, REAL c,
                                           const REAL (&n)[FACE_COUNT], const numbers &) const
    {
        return p.update(l, {}, base, c, n);
    }
};

/* The classes of the last rows are in registers: to look up seven bytes in memory around each cell
 * took more time than all else. */
template <int N, typename REAL, int T, typename KIND>
struct strip_of_classes : strip_place<N, REAL, KIND> {
    typedef strip_place<N, REAL, KIND> of;
    using of::near_u, of::row;
    using of::U, of::V, of::view, of::p, of::face, of::u_read, of::v_first, of::v_last, of::last;
    static_assert(T < 4, "classes of T + 1 rows in a word");

    /* A word per layer has the classes of the last rows, the newest one in its lowest byte; the
     * lanes before and after this one have theirs; and the next two rows are requested. */
    uint32_t classes[T], before[T - 1], after[T - 1], next[2][T];
    uint32_t mask;        /* of a class; the other bit is its flag */
    bool alike;           /* steps have the same coefficients */
    const uint8_t *bytes; /* as `first` of a strip */
    int64_t bytes_inwards, bytes_pitch_v;
    class_pairs<REAL> pairs[T]; /* of the step from each level */
    int n, nclosures;

    struct numbers { /* of one class */
        REAL g[AXIS_COUNT], a, b;
        typename class_pairs<REAL>::cell cell;
    };

    __device__ __forceinline__ int class_in(uint32_t word, int byte) const
    {
        return (int)(word >> 8 * byte & mask);
    }

    __device__ __forceinline__ uint32_t byte_at(int d, int v) const
    {
        return bytes[row(v) * bytes_pitch_v + min(d, last) * bytes_inwards];
    }

    __device__ __forceinline__ bool begin(int v)
    {
        const medium<REAL> &m = p.of;
        const int64_t stride[AXIS_COUNT] = {1, m.pitch_y, m.pitch_z};
        bytes = of::first_of(m.classes, stride);
        bytes_inwards = face % 2 == 0 ? stride[N] : -stride[N];
        bytes_pitch_v = stride[V];
        mask = (uint32_t)m.mask;
        alike = true;
        n = m.n;
        nclosures = m.nclosures;
#pragma unroll
        for (int l = 0; l < T; l++) {
            pairs[l] = pairs_of(p.table[l], n, m.same_axes);
            classes[l] = 0;
            next[0][l] = byte_at(l, v);
            next[1][l] = byte_at(l, v + 1);
            alike = alike && pairs[l].table == pairs[0].table;
        }
        return m.patch[face] == nullptr &&
               (!near_u || (m.patch[2 * U] == nullptr && m.patch[2 * U + 1] == nullptr));
    }

    __device__ __forceinline__ void read(int v)
    {
#pragma unroll
        for (int d = 0; d < T; d++) {
            classes[d] = classes[d] << 8 | next[0][d];
            next[0][d] = next[1][d];
            next[1][d] = byte_at(d, v + 2);
        }
#pragma unroll
        for (int d = 0; d + 1 < T; d++) {
            before[d] = arch_shift_up(classes[d], 1);
            after[d] = arch_shift_down(classes[d], 1);
        }
    }

    /* Whether row v and the rows before it that are advanced have the class of one cell. */
    __device__ __forceinline__ bool have_one_class() const
    {
        constexpr uint32_t all = 0xFFFFFFFFU >> (32 - 8 * T);
        const uint32_t own = classes[0] & UINT8_MAX;
        bool same = alike && own > mask;
#pragma unroll
        for (int d = 0; d + 1 < T; d++) {
            same = same && (classes[d] & all) == own * (all / UINT8_MAX);
        }
        return same;
    }
    __device__ __forceinline__ void look_up(numbers &one) const
    {
        const int own = class_in(classes[0], 0);
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            one.g[axis] = pairs[0].g(axis, own, own);
        }
        one.cell = pairs[0].of(own);
        const REAL *const ab = closure_at(0, face, own);
        one.a = ab[0];
        one.b = ab[1];
    }

    /* {a, b} of a face that does not radiate. */
    __device__ __forceinline__ const REAL *closure_at(int l, int f, int closure) const
    {
        return pairs[l].table + medium_closure_at(n, nclosures, f, closure);
    }

    /* The value beyond face f of AXIS, of the cell in layer d and row v. */
    template <int AXIS, enum strip_row ROW>
    __device__ __forceinline__ REAL outside_of(int f, int l, int d, int v, int own, REAL c) const
    {
        int closure = own;
        if (ROW == ROW_OF_ANY) {
            int64_t cell[AXIS_COUNT];
            cell[N] = face % 2 == 0 ? min(d, last) : view.cells[N] - 1 - min(d, last);
            cell[U] = u_read;
            cell[V] = row(v);
            closure = medium_closure(p.of.patch[f], p.of.patch_pitch[f], p.of.first_closure[f], n,
                                     2 * AXIS, cell, own);
        }
        const REAL *const ab = closure_at(l, f, closure);
        return outside(c, ab[0], ab[1]);
    }
    template <enum strip_row ROW>
    __device__ __forceinline__ REAL beyond(int l, int v, REAL c, const numbers &one) const
    {
        return ROW == ROW_OF_ONE ? outside(c, one.a, one.b)
                                 : outside_of<N, ROW>(face, l, 0, v, class_in(classes[0], l), c);
    }
    template <int AXIS, enum strip_row ROW>
    __device__ __forceinline__ REAL closed(int other_face, int l, int d, int v, REAL c) const
    {
        return outside_of<AXIS, ROW>(other_face, l, d, v, class_in(classes[d], l + 1), c);
    }

    /* The conductance between the cell at the face and the value beyond it, of level l at hand. */
    template <enum strip_row ROW>
    __device__ __forceinline__ REAL g_of_face(int l, const numbers &one) const
    {
        const int own = class_in(classes[0], l);
        return ROW == ROW_OF_ONE ? one.g[N] : pairs[l].g(N, own, own);
    }

    template <enum strip_row ROW>
    __device__ __forceinline__ REAL update(int l, int d, REAL base, REAL c,
                                           const REAL (&values)[FACE_COUNT],
                                           const numbers &one) const
    {
        if (ROW == ROW_OF_ONE) {
            const REAL to[FACE_COUNT] = {one.g[0], one.g[0], one.g[1],
                                         one.g[1], one.g[2], one.g[2]};
            return medium_cell(base, c, values, to, one.cell.sigma, one.cell.q);
        }
        const int own = class_in(classes[d], l + 1);
        const int outer = class_in(classes[d > 0 ? d - 1 : 0], l + 1);
        const int inner = class_in(classes[d + 1], l + 1);
        int other[FACE_COUNT];
        other[2 * N] = face % 2 == 0 ? outer : inner;
        other[2 * N + 1] = face % 2 == 0 ? inner : outer;
        other[2 * U] = class_in(before[d], l + 1);
        other[2 * U + 1] = class_in(after[d], l + 1);
        other[2 * V] = class_in(classes[d], l + 2);
        other[2 * V + 1] = class_in(classes[d], l);
        REAL to[FACE_COUNT];
#pragma unroll
        for (int f = 0; f < FACE_COUNT; f++) {
            to[f] = pairs[l].g(f / 2, own, other[f]);
        }
        const typename class_pairs<REAL>::cell cell = pairs[l].of(own);
        return medium_cell(base, c, values, to, cell.sigma, cell.q);
    }
};

template <int N, typename REAL, int T, typename KIND>
using strip_of_kind = std::conditional_t<KIND::IS_EVERYWHERE, strip_of_uniform<N, REAL, T, KIND>,
                                         strip_of_classes<N, REAL, T, KIND>>;
