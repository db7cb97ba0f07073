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

#include "kernels/hip/kind/classes.h"
#include "kernels/hip/schedule/deep/steps_sums_list.h"
#include "kernels/hip/schedule/deep/steps_sums_memory.h"

template <typename REAL, typename KIND>
static __device__ __forceinline__ bool is_on(const grid_view<REAL> &view, const KIND &p, int face,
                                             int i)
{
    return p.closed[face] && i == (face % 2 == 0 ? 0 : (int)view.cells[face / 2] - 1);
}

/* A strip of a face of axis N: what a lane has of it. */
template <int N, typename REAL, int T, typename KIND, typename MEMORY> struct face_strip {
    static constexpr int U = N == AXIS_X ? AXIS_Y : AXIS_X, V = N == AXIS_Z ? AXIS_Y : AXIS_Z;
    typedef REAL levels[T][T]; /* level l, layer d from the face inwards */

    const grid_view<REAL> &view;
    const KIND &p;
    MEMORY &memory;
    int face, v_begin, v_end;
    const REAL *first = nullptr; /* of this lane, in row 0 */
    int64_t inwards = 0, pitch_v = 0;
    int v_first = 0, v_last = 0; /* rows that are read */
    int u_read = 0;              /* of this lane */
    int last = 0;                /* layer at the opposite face, if that is closed and near */
    bool summed = false, u_min = false, u_max = false;
    bool plain = false; /* no lane is at a closed face of U, and the opposite face is not near */
    REAL a = 0, b[T - 1] = {}; /* of the face; of a medium of classes those of the kept one */
    binade_sums<T> sums = {};
    std::conditional_t<KIND::IS_EVERYWHERE, kept_nothing, kept_class<REAL>> kept = {-1};
    bool alike = false; /* steps have the same coefficients, and the face no patches */
    bool corrects = false;
    bool v_closed[2] = {}; /* the ends of V */
    /* of classes: where they are, as `first`; the bytes of a layer in the last rows, the newest one
     * the lowest; the next one; and the terms of rows of one class, in registers */
    const uint8_t *bytes = nullptr;
    int64_t bytes_inwards = 0, bytes_pitch_v = 0;
    uint32_t marks[T - 1] = {}, ahead[T - 1] = {};
    tally terms[KIND::IS_EVERYWHERE ? 1 : T] = {};

    __device__ __forceinline__ void load(int v, REAL (&row)[T]) const
    {
        const REAL *const from = first + min(max(v, v_first), v_last) * pitch_v;
#pragma unroll
        for (int d = 0; d < T; d++) {
            row[d] = from[min(d, last) * inwards];
        }
    }

    __device__ __forceinline__ uint32_t byte_at(int d, int v) const
    {
        return bytes[min(max(v, v_first), v_last) * bytes_pitch_v + min(d, last) * bytes_inwards];
    }

    /* Of layer d in row v, or of the nearest one that is read. */
    __device__ __forceinline__ auto place_at(int d, int v) const
    {
        int64_t cell[AXIS_COUNT];
        cell[N] = face % 2 == 0 ? min(d, last) : view.cells[N] - 1 - min(d, last);
        cell[U] = u_read;
        cell[V] = min(max(v, v_first), v_last);
        return p.at(cell[0], cell[1], cell[2]);
    }

    /* The value beyond face f of AXIS, which does not radiate. */
    template <int AXIS, typename PLACE>
    __device__ __forceinline__ REAL closed(int f, int l, const PLACE &place, REAL c) const
    {
        if constexpr (KIND::IS_EVERYWHERE) {
            return outside(c, p.a_of(l)[f], p.b[l][f]);
        } else {
            const auto &m = p.of;
            const int at = medium_closure(m.patch[f], m.patch_pitch[f], m.first_closure[f], m.n,
                                          2 * AXIS, place.cell, *place.byte & m.mask);
            const REAL *const ab = p.table[l] + medium_closure_at(m.n, m.nclosures, f, at);
            return medium_outside(c, ab[0], ab[1], (REAL)0);
        }
    }

    /* Row v has been read: keep the coefficients of the class of all cells at hand, if they and
     * all around them have one. */
    __device__ __forceinline__ void look_at_row(int v)
    {
        if constexpr (!KIND::IS_EVERYWHERE) {
            constexpr uint32_t all = 0xFFFFFFFFU >> (32 - 8 * T), splat = all / 0xFF;
            const int before = kept.number;
            const uint32_t own = ahead[0];
            bool same = alike;
#pragma unroll
            for (int d = 0; d + 1 < T; d++) {
                marks[d] = marks[d] << 8 | ahead[d];
                same = same && (marks[d] & all) == own * splat;
                ahead[d] = byte_at(d, v + 1);
            }
            kept.look_at(p, same ? own * (sizeof(REAL) == 8 ? 0x101U : 0x1010101U) : 0U);
            if (kept.number >= 0 && kept.number != before) {
                const REAL *const ab =
                    p.table[0] + medium_closure_at(p.of.n, p.of.nclosures, face, kept.number);
                a = ab[0];
                b[0] = ab[1];
            }
        }
    }

    /* Beyond the face. */
    template <typename PLACE>
    __device__ __forceinline__ REAL beyond(int l, const PLACE &place, REAL c) const
    {
        if constexpr (KIND::IS_EVERYWHERE) {
            return outside(c, KIND::A_OF > 1 ? p.a_of(l)[face] : a, b[l]);
        } else {
            return kept.number >= 0 ? outside(c, a, b[0]) : closed<N>(face, l, place, c);
        }
    }

    /* Layer d of level l at row v advanced; before: its level before. EDGES: at other faces too. */
    template <bool EDGES>
    __device__ __forceinline__ REAL advance(const levels &here, const levels &below,
                                            const REAL (&above)[T], REAL before, int l, int d,
                                            int v)
    {
        const REAL c = here[l][d];
        const REAL base = p.corrected(l) ? before : c;
        const auto place = place_at(d, v);
        REAL n[FACE_COUNT], outer = here[l][d > 0 ? d - 1 : 0], inner = here[l][d + 1];
        n[2 * U] = arch_shift_up(c, 1);
        n[2 * U + 1] = arch_shift_down(c, 1);
        n[2 * V] = below[l][d];
        n[2 * V + 1] = above[d];
        if (d == 0) {
            outer = beyond(l, place, c);
        }
        if (EDGES) {
            const bool v_min = is_on(view, p, 2 * V, v), v_max = is_on(view, p, 2 * V + 1, v);
            inner = d == last ? closed<N>(face ^ 1, l, place, c) : inner;
            n[2 * U] = u_min ? closed<U>(2 * U, l, place, c) : n[2 * U];
            n[2 * U + 1] = u_max ? closed<U>(2 * U + 1, l, place, c) : n[2 * U + 1];
            n[2 * V] = v_min ? closed<V>(2 * V, l, place, c) : n[2 * V];
            n[2 * V + 1] = v_max ? closed<V>(2 * V + 1, l, place, c) : n[2 * V + 1];
        }
        const bool is_max = !KIND::IS_EVERYWHERE && face % 2 != 0; /* uniform: n are added */
        n[2 * N] = is_max ? inner : outer;
        n[2 * N + 1] = is_max ? outer : inner;
        return kept.number >= 0 ? kept.update(p, place, base, c, n)
                                : p.update(l, place, base, c, n);
    }

    /* The terms of a medium of classes. */
    __device__ __forceinline__ void sum_terms(int v, const levels &of_row)
    {
#pragma unroll
        for (int l = 0; l < T; l++) {
            if (summed && v - l >= v_begin && v - l < v_end) {
                const auto place = place_at(0, v - l);
                const int own = *place.byte & p.of.mask;
                const REAL c = of_row[l][0];
                const REAL g =
                    kept.number >= 0 ? kept.g[N] : p.table[l][medium_g_at(p.of.n, N, own, own)];
                memory.count(l, (double)g * (double)(REAL)(beyond(l, place, c) - c));
            }
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

    /* row() without other faces and corrections, where each lane keeps the coefficients of a class:
     * a third of the instructions, since lookups are many even where they do not run. */
    __device__ __forceinline__ void row_of_one_class(int v, REAL (&value)[T], const levels &here,
                                                     levels &below)
    {
        const REAL g[FACE_COUNT] = {kept.g[0], kept.g[0], kept.g[1],
                                    kept.g[1], kept.g[2], kept.g[2]};
        const bool is_max = face % 2 != 0;
#pragma unroll
        for (int l = 0; l < T; l++) {
            REAL next[T];
#pragma unroll
            for (int d = 0; d + 1 < T - l; d++) {
                const REAL c = here[l][d], inner = here[l][d + 1];
                const REAL outer = d > 0 ? here[l][d > 0 ? d - 1 : 0] : outside(c, a, b[0]);
                REAL n[FACE_COUNT];
                n[2 * U] = arch_shift_up(c, 1);
                n[2 * U + 1] = arch_shift_down(c, 1);
                n[2 * V] = below[l][d];
                n[2 * V + 1] = value[d];
                n[2 * N] = is_max ? inner : outer;
                n[2 * N + 1] = is_max ? outer : inner;
                next[d] = medium_cell(c, c, n, g, kept.sigma, kept.q);
            }
#pragma unroll
            for (int d = 0; d < T - l; d++) {
                below[l][d] = value[d];
                value[d] = next[d];
            }
        }
        load(v + 2, value);
#pragma unroll
        for (int l = 0; l < T; l++) {
            const bool in = summed && v - l >= v_begin && v - l < v_end;
            const REAL c = below[l][0];
            const double term = (double)g[2 * N] * (double)(REAL)(outside(c, a, b[0]) - c);
            terms[l].add(in ? term : 0.0);
        }
    }

    /* value: row v of level 0, afterwards row v + 2. Level l comes to row v - l. here: level l in
     * row v - l - 1; below: in the row before that, which the new one overwrites. */
    template <bool EDGES>
    __device__ __forceinline__ void row(int v, REAL (&value)[T], const levels &here, levels &below)
    {
        REAL before[T] = {};
        look_at_row(v);
        if constexpr (!KIND::IS_EVERYWHERE && !EDGES) {
            if (arch_all(kept.number >= 0 && !corrects)) {
                row_of_one_class(v, value, here, below);
                return;
            }
        }
#pragma unroll
        for (int l = 0; l < T; l++) {
            REAL next[T];
#pragma unroll
            for (int d = 0; d + 1 < T - l; d++) {
                next[d] = advance<EDGES>(here, below, value, before[d], l, d, v - l - 1);
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
            sum_terms(v, below);
        }
    }

    __device__ __forceinline__ void march()
    {
        levels even = {}, odd = {};
        REAL of_even[T], of_odd[T];
        const int begin = v_begin - (T - 1);
        const int cells = (int)view.cells[V];
        load(v_begin, of_even);
        sums.begin((double)of_even[0]);
        load(begin, of_even);
        load(begin + 1, of_odd);
#pragma unroll
        for (int d = 0; !KIND::IS_EVERYWHERE && d + 1 < T; d++) {
            ahead[d] = byte_at(d, begin);
        }
        /* votes: else the compiler duplicates the code for lanes that leave the loop apart */
        for (int v = begin; arch_all(v < v_end + T - 1); v += 2) {
            if (arch_all(plain && (v >= T || !v_closed[0]) && (v + 1 < cells || !v_closed[1]))) {
                row<false>(v, of_even, odd, even);
                row<false>(v + 1, of_odd, even, odd);
            } else {
                row<true>(v, of_even, odd, even);
                row<true>(v + 1, of_odd, even, odd);
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
    strip of = {view, p, memory, r.face, v_begin, v_end};
    of.first = view.in + (is_min ? 0 : view.cells[N] - 1) * stride[N] + u_read * stride[U];
    of.inwards = is_min ? stride[N] : -stride[N];
    of.pitch_v = stride[V];
    of.v_first = max(v_lo, v_begin - BEYOND);
    of.v_last = min(v_hi, v_end - 1 + BEYOND);
    of.last = last;
    of.summed = lane >= BEYOND && lane < ARCH_WAVE - BEYOND && u < r.u + r.nu;
    of.u_min = is_on(view, p, 2 * U, u);
    of.u_max = is_on(view, p, 2 * U + 1, u);
    of.plain = !(p.closed[2 * U] && u_first <= 0) &&
               !(p.closed[2 * U + 1] && u_first + ARCH_WAVE >= cells_u) && last >= T - 1;
    of.u_read = u_read;
    of.v_closed[0] = p.closed[2 * V];
    of.v_closed[1] = p.closed[2 * V + 1];
    if constexpr (KIND::IS_EVERYWHERE) {
        of.a = p.a[0][r.face];
        for (int l = 0; l + 1 < T; l++) {
            of.b[l] = p.b[l][r.face];
        }
    } else {
        const int64_t bytes[AXIS_COUNT] = {1, p.of.pitch_y, p.of.pitch_z};
        of.bytes = p.of.classes + (is_min ? 0 : view.cells[N] - 1) * bytes[N] + u_read * bytes[U];
        of.bytes_inwards = is_min ? bytes[N] : -bytes[N];
        of.bytes_pitch_v = bytes[V];
        of.corrects = p.corrections != 0;
        of.alike = p.of.patch[r.face] == nullptr;
        for (int l = 1; l < T; l++) {
            of.alike = of.alike && p.table[l] == p.table[0];
        }
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
