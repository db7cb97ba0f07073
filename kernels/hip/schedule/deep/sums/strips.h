/* The sums over closed faces before each step of a pass: a part of the kernels that advance boxes,
 * whose blocks take strips of faces when they have nothing else to do, or a kernel of its own.
 *
 * Level l of a face's cells depends on the first l + 1 layers of cells at the face, so all levels
 * are computed here once more, from T layers of level 0: few cells.
 *
 * A wave takes a strip of a face, a lane per cell along u, and marches along v; the edges of
 * strips overlap by T - 1 cells, and so do their ends. Where it has read row v of level 0, it
 * computes row v - 1 of level 1, ..., row v - T + 1 of level T - 1, as steps_tile does with planes.
 *
 *      face     normal   u   v
 *      x        x        y   z
 *      y        y        x   z
 *      z        z        x   y     */
#pragma once

#include "kernels/hip/schedule/deep/sums/kinds.h"
#include "kernels/hip/schedule/deep/sums/list.h"
#include "kernels/hip/schedule/deep/sums/memory.h"

template <typename REAL, typename KIND>
static __device__ __forceinline__ bool is_on(const grid_view<REAL> &view, const KIND &p, int face,
                                             int i)
{
    return p.closed[face] && i == (face % 2 == 0 ? 0 : (int)view.cells[face / 2] - 1);
}

/* A strip of a face of axis N: what a lane has of it. */
template <int N, typename REAL, int T, typename KIND, typename MEMORY> struct face_strip {
    typedef strip_of_kind<N, REAL, T, KIND> of_kind;
    typedef typename of_kind::numbers numbers;
    typedef REAL levels[T][T]; /* level l, layer d from the face inwards */
    static constexpr int U = of_kind::U, V = of_kind::V;

    of_kind of;
    MEMORY &memory;
    int v_begin, v_end;
    const REAL *first = nullptr; /* of this lane, in row 0 */
    int64_t inwards = 0, pitch_v = 0;
    bool summed = false, u_min = false, u_max = false;
    bool plain = false;    /* no row is ROW_OF_ANY but at the ends of V */
    bool v_closed[2] = {}; /* the ends of V */
    unsigned corrections = 0;
    binade_sums<T> sums = {}; /* of a uniform medium */
    REAL beyond[T] = {};      /* of classes: of the level at hand */
    tally terms[KIND::IS_EVERYWHERE ? 1 : T] = {};

    __device__ __forceinline__ void load(int v, REAL (&row)[T]) const
    {
        const REAL *const from = first + of.row(v) * pitch_v;
#pragma unroll
        for (int d = 0; d < T; d++) {
            row[d] = from[min(d, of.last) * inwards];
        }
    }

    /* Layer d of level l at row v advanced; before: its level before. */
    template <enum strip_row ROW>
    __device__ __forceinline__ REAL advance(const levels &here, const levels &below,
                                            const REAL (&above)[T], REAL before, int l, int d,
                                            int v, const numbers &one)
    {
        const REAL c = here[l][d];
        const REAL base = (corrections >> l & 1) != 0 ? before : c;
        REAL n[FACE_COUNT], outer = here[l][d > 0 ? d - 1 : 0], inner = here[l][d + 1];
        n[2 * U] = arch_shift_up(c, 1);
        n[2 * U + 1] = arch_shift_down(c, 1);
        n[2 * V] = below[l][d];
        n[2 * V + 1] = above[d];
        if (d == 0) {
            outer = KIND::IS_EVERYWHERE ? of.template beyond<ROW>(l, v, c, one) : beyond[l];
        }
        if ((!KIND::IS_EVERYWHERE || ROW == ROW_OF_ANY) && of.near_u) {
            const REAL o = of.template closed<U, ROW>(u_max ? 2 * U + 1 : 2 * U, l, d, v, c);
            n[2 * U] = u_min ? o : n[2 * U];
            n[2 * U + 1] = u_max ? o : n[2 * U + 1];
        }
        if (ROW == ROW_OF_ANY) {
            const bool v_min = is_on(of.view, of.p, 2 * V, v);
            const bool v_max = is_on(of.view, of.p, 2 * V + 1, v);
            inner = d >= of.last ? of.template closed<N, ROW>(of.face ^ 1, l, d, v, c) : inner;
            n[2 * U] = u_min && u_max ? of.template closed<U, ROW>(2 * U, l, d, v, c) : n[2 * U];
            n[2 * V] = v_min ? of.template closed<V, ROW>(2 * V, l, d, v, c) : n[2 * V];
            n[2 * V + 1] = v_max ? of.template closed<V, ROW>(2 * V + 1, l, d, v, c) : n[2 * V + 1];
        }
        const bool is_max = !KIND::IS_EVERYWHERE && of.face % 2 != 0; /* uniform: n are added */
        n[2 * N] = is_max ? inner : outer;
        n[2 * N + 1] = is_max ? outer : inner;
        return of.template update<ROW>(l, d, base, c, n, one);
    }

    /* The terms of a medium of classes, of level l in row v - l. */
    template <enum strip_row ROW>
    __device__ __forceinline__ void sum_terms(int v, const levels &of_row, const numbers &one)
    {
#pragma unroll
        for (int l = 0; l < T; l++) {
            const REAL c = of_row[l][0];
            beyond[l] = of.template beyond<ROW>(l, v - l, c, one);
            const double term =
                (double)of.template g_of_face<ROW>(l, one) * (double)(REAL)(beyond[l] - c);
            terms[l].add(summed && v - l >= v_begin && v - l < v_end ? term : 0.0);
        }
    }

    /* Add the cells at the face of all levels: level l is in row v - l. */
    __device__ __forceinline__ void sum(int v, const levels &of_row)
    {
        unsigned other = 0;
#pragma unroll
        for (int l = 0; l < T; l++) {
            const bool in = v - l >= v_begin && v - l < v_end;
            other |= in ? sums.exponent_of((double)of_row[l][0]) ^ sums.exponent : 0;
        }
        const bool singly = summed && other != 0;
#pragma unroll
        for (int l = 0; l < T; l++) {
            if (v - l >= v_begin && v - l < v_end && !singly) {
                sums.bits[l] += (unsigned long long)__double_as_longlong((double)of_row[l][0]);
            }
        }
        if (singly) {
#pragma unroll
            for (int l = 0; l < T; l++) {
                memory.mine(l, VALUE) = __double_as_longlong((double)of_row[l][0]);
            }
#pragma unroll 1
            for (int l = 0; l < T; l++) {
                if (v - l >= v_begin && v - l < v_end) {
                    memory.count(l, __longlong_as_double(memory.mine(l, VALUE)));
                    memory.mine(l, SINGLE)++;
                }
            }
        }
    }

    /* value: row v of level 0, afterwards row v + 2. Level l comes to row v - l. here: level l in
     * row v - l - 1; below: in the row before that, which the new one overwrites. */
    template <enum strip_row ROW>
    __device__ __forceinline__ void advance_row(int v, REAL (&value)[T], const levels &here,
                                                levels &below)
    {
        REAL before[T] = {};
        numbers one;
        if constexpr (ROW == ROW_OF_ONE) {
            of.look_up(one);
        }
#pragma unroll
        for (int l = 0; l < T; l++) {
            REAL next[T] = {};
#pragma unroll
            for (int d = 0; d + 1 < T - l; d++) {
                next[d] = advance<ROW>(here, below, value, before[d], l, d, v - l - 1, one);
            }
#pragma unroll
            for (int d = 0; d < T - l; d++) {
                before[d] = below[l][d];
                below[l][d] = value[d];
                value[d] = next[d];
            }
        }
        load(v + 2, value);
        if constexpr (KIND::IS_EVERYWHERE) {
            sum(v, below);
        } else {
            sum_terms<ROW>(v, below, one);
        }
    }

    template <bool PLAIN>
    __device__ __forceinline__ void row(int v, REAL (&value)[T], const levels &here, levels &below)
    {
        of.read(v);
        if constexpr (!PLAIN) {
            advance_row<ROW_OF_ANY>(v, value, here, below);
        } else if constexpr (KIND::IS_EVERYWHERE) {
            advance_row<ROW_PLAIN>(v, value, here, below);
        } else if (arch_all(of.have_one_class())) {
            advance_row<ROW_OF_ONE>(v, value, here, below);
        } else {
            advance_row<ROW_PLAIN>(v, value, here, below);
        }
    }

    __device__ __forceinline__ void march()
    {
        levels even = {}, odd = {};
        REAL of_even[T], of_odd[T];
        const int begin = v_begin - (T - 1);
        const int cells = (int)of.view.cells[V];
        load(v_begin, of_even);
        sums.begin((double)of_even[0]);
        load(begin, of_even);
        load(begin + 1, of_odd);
        plain = of.begin(begin) && of.view.cells[U] > 1 && of.last >= T - 1;
        /* votes: else the compiler duplicates the code for lanes that leave the loop apart */
        for (int v = begin; arch_all(v < v_end + T - 1); v += 2) {
            if (arch_all(plain && (v >= T || !v_closed[0]) && (v + 1 < cells || !v_closed[1]))) {
                row<true>(v, of_even, odd, even);
                row<true>(v + 1, of_odd, even, odd);
            } else {
                row<false>(v, of_even, odd, even);
                row<false>(v + 1, of_odd, even, odd);
            }
        }
        if (KIND::IS_EVERYWHERE && summed && v_begin < v_end) {
            sums.end(memory, v_end - v_begin);
        }
#pragma unroll
        for (int n = 0; n < PARTS * T && !KIND::IS_EVERYWHERE; n++) {
            memory.mine(n / PARTS, n % PARTS) += terms[n / PARTS].part[n % PARTS];
        }
    }
};

/* The sums of strip `number` of a rectangle, on a face of axis N. */
template <int N, typename REAL, int T, typename KIND, typename MEMORY>
static __device__ __forceinline__ void sum_strip(const grid_view<REAL> &view, const KIND &p,
                                                 const rectangle &r, int number, int v_begin,
                                                 int v_end, MEMORY &memory)
{
    typedef face_strip<N, REAL, T, KIND, MEMORY> strip;
    constexpr int U = strip::U, V = strip::V;
    constexpr int BEYOND = T - 1; /* cells that a summed one depends on, on either side */
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const int cells_u = (int)view.cells[U], cells_v = (int)view.cells[V];
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const int u_first = r.u + number * strip_width(T) - BEYOND;
    const int u = u_first + lane;
    /* cells that there are; a lane beyond those that are needed reads the last one */
    const int u_lo = p.closed[2 * U] ? 0 : -BEYOND;
    const int u_hi = cells_u - 1 + (p.closed[2 * U + 1] ? 0 : BEYOND);
    const int v_lo = p.closed[2 * V] ? 0 : -BEYOND;
    const int v_hi = cells_v - 1 + (p.closed[2 * V + 1] ? 0 : BEYOND);
    const int u_read = min(max(u, u_lo), min(u_hi, r.u + r.nu - 1 + BEYOND));
    const bool is_min = r.face % 2 == 0;
    const int last = p.closed[r.face ^ 1] ? (int)view.cells[N] - 1 : T;
    const bool near_u = (p.closed[2 * U] && u_first <= 0) ||
                        (p.closed[2 * U + 1] && u_first + ARCH_WAVE >= cells_u);
    strip of = {{{view, p, r.face}}, memory, v_begin, v_end};
    of.of.u_read = u_read;
    of.of.v_first = max(v_lo, v_begin - BEYOND);
    of.of.v_last = min(v_hi, v_end - 1 + BEYOND);
    of.of.last = last;
    of.of.near_u = near_u;
    of.first = of.of.first_of(view.in, stride);
    of.inwards = is_min ? stride[N] : -stride[N];
    of.pitch_v = stride[V];
    of.summed = lane >= BEYOND && lane < ARCH_WAVE - BEYOND && u < r.u + r.nu;
    of.u_min = is_on(view, p, 2 * U, u);
    of.u_max = is_on(view, p, 2 * U + 1, u);
    of.v_closed[0] = p.closed[2 * V];
    of.v_closed[1] = p.closed[2 * V + 1];
    for (int l = 0; l < T; l++) {
        of.corrections |= p.corrected(l) ? 1U << l : 0U;
    }
    of.march();
}

/* Add the counters of the lanes to the block's digits. A level with the sum of the one before goes
 * with it. All lanes of a wave call. */
template <typename LIST, int T, int THREADS>
static __device__ __forceinline__ void add_strip(const LIST &list, int face,
                                                 sums_memory<T, THREADS> &memory)
{
    tally all = {};
#pragma unroll 1
    for (int l = T - 1; l >= 0; l--) {
        for (int part = 0; part < PARTS; part++) {
            all.part[part] += memory.mine(l, part);
        }
        if (l == 0 || list.sum[l][face] != list.sum[l - 1][face]) {
            digits_add(memory.digit[l][face], all);
            all = {};
        }
    }
}

/* Take strips until none is left, and add their sums to those of the faces, which must be
 * normalised afterwards. All threads of all blocks call. */
template <typename REAL, typename KIND, int T, typename LIST, int THREADS>
static __device__ __forceinline__ void sum_strips(const grid_view<REAL> &view, const KIND &p,
                                                  const LIST &list, struct hip_scratch *scratch,
                                                  sums_memory<T, THREADS> &memory)
{
    enum { DIGITS = T * FACE_COUNT * 4 };
    static_assert(DIGITS <= THREADS, "a thread for each digit");
    const int digit = (int)threadIdx.x % 4;
    const int face = (int)threadIdx.x / 4 % FACE_COUNT;
    const int level = (int)threadIdx.x / (4 * FACE_COUNT);
    if (level < T) {
        memory.digit[level][face][digit] = 0;
    }
    __syncthreads();
    for (;;) {
        unsigned strip = 0;
        if (arch_is_first_lane()) {
            strip = atomicAdd(&scratch->strips_taken, 1U);
        }
        strip = arch_first_lane_value(strip);
        if (strip >= list.strips) {
            break;
        }
        int n = 0;
        while (n + 1 < list.count && strip >= list.of[n + 1].first_strip) {
            n++;
        }
        const rectangle &r = list.of[n];
        const int across = divide_up(r.nu, strip_width(T));
        const int number = (int)(strip - r.first_strip);
        const int v_begin = r.v + number / across * list.rows;
        const int v_end = min(v_begin + list.rows, r.v + r.nv);
        for (int l = 0; l < T; l++) {
            for (int place = 0; place < PLACES; place++) {
                memory.mine(l, place) = 0;
            }
        }
        switch (r.face / 2) {
        case AXIS_X:
            sum_strip<AXIS_X, REAL, T>(view, p, r, number % across, v_begin, v_end, memory);
            break;
        case AXIS_Y:
            sum_strip<AXIS_Y, REAL, T>(view, p, r, number % across, v_begin, v_end, memory);
            break;
        default:
            sum_strip<AXIS_Z, REAL, T>(view, p, r, number % across, v_begin, v_end, memory);
        }
        add_strip(list, r.face, memory);
    }
    __syncthreads();
    if (level < T && list.sum[level][face] != nullptr && memory.digit[level][face][digit] != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(&list.sum[level][face]->digit[digit]),
                  memory.digit[level][face][digit]);
    }
}

/* The last block, when all others have added: each sum once, by a thread of its own, since steps
 * mostly add to the same ones. All threads call. */
template <int T, typename LIST>
static __device__ __forceinline__ void normalise_sums(const LIST &list, struct hip_scratch *scratch)
{
    const int l = (int)threadIdx.x / FACE_COUNT;
    const int face = (int)threadIdx.x % FACE_COUNT;
    if (l < T && list.sum[l][face] != nullptr &&
        (l == 0 || list.sum[l][face] != list.sum[l - 1][face])) {
        face_sum_normalise(list.sum[l][face]);
    }
    if (threadIdx.x == 0) {
        scratch->strips_taken = 0;
    }
}
