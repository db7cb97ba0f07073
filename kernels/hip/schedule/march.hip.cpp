/* The step kernel that marches in z, of every kind but enthalpy: a thread keeps 16 bytes of cells
 * of a row and their neighbours in z in registers, so that every plane is loaded once; neighbours
 * in x and y come from the caches. A box of high order has no cells next to closed faces of y and
 * z; those next to faces of x get their own row of weights. */
#include "kernels/hip/kind/graded.h"
#include "kernels/hip/kind/high_order.h"

/* A block: 2^wide_bits vectors of a row by THREADS >> wide_bits rows, marching through `depth`
 * planes. */
enum { THREADS = 256 };

struct march {
    struct box box;
    int64_t x_begin; /* box.lo[0] rounded down to a whole vector */
    int64_t depth;
    unsigned wide_bits;
    unsigned tiles_x, tiles_y;
};

template <typename REAL, typename KIND> struct march_column {
    int64_t i, j;               /* the first cell of the vector, and its row */
    int begin, end;             /* the cells of the vector that lie in the box */
    int x_min, x_max;           /* the cell on a closed x face; -1: none */
    bool y_min, y_max;          /* on closed y faces */
    typename KIND::place place; /* of the first cell, in plane 0 */

    __device__ __forceinline__ bool has(int n) const
    {
        return n >= begin && n < end;
    }
};

template <typename REAL, typename KIND>
static __device__ __forceinline__ march_column<REAL, KIND> column_of(const grid_view<REAL> &view,
                                                                     const KIND &kind,
                                                                     const march &m)
{
    constexpr int N = vec16<REAL>::N;
    const unsigned tile = blockIdx.x % (m.tiles_x * m.tiles_y);
    march_column<REAL, KIND> c;
    c.i = m.x_begin + ((int64_t)((tile % m.tiles_x) << m.wide_bits) +
                       (threadIdx.x & ((1U << m.wide_bits) - 1))) *
                          N;
    c.j = m.box.lo[1] + (int64_t)(tile / m.tiles_x) * (THREADS >> m.wide_bits) +
          (threadIdx.x >> m.wide_bits);
    const int64_t before = m.box.lo[0] - c.i;
    const int64_t after = m.box.hi[0] - c.i;
    c.begin = before > 0 ? (int)before : 0;
    c.end = after < N ? (int)after : N;
    c.end = c.j < m.box.hi[1] && c.end > c.begin ? c.end : c.begin;
    const int64_t last = view.cells[0] - 1 - c.i;
    c.x_min = kind.closed[FACE_X_MIN] && c.i == 0 ? 0 : -1;
    c.x_max = kind.closed[FACE_X_MAX] && last >= 0 && last < N ? (int)last : -1;
    c.y_min = kind.closed[FACE_Y_MIN] && c.j == 0;
    c.y_max = kind.closed[FACE_Y_MAX] && c.j == view.cells[1] - 1;
    c.place = kind.at(c.i, c.j, 0);
    return c;
}

/* What lies beyond a face of plane k. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ vec16<REAL> beyond_vector(const KIND &kind,
                                                            const march_column<REAL, KIND> &c,
                                                            int face, int64_t k,
                                                            const vec16<REAL> &inside)
{
    vec16<REAL> cells = inside;
#pragma unroll
    for (int i = 0; i < vec16<REAL>::N; i++) {
        if (KIND::IS_EVERYWHERE || c.has(i)) {
            cells.v[i] = kind.beyond(0, kind.moved(c.place, i, k), face, inside.v[i]);
        }
    }
    return cells;
}

/* The term of cell i of a column in the sum of a face. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ double term_of(const KIND &kind,
                                                 const march_column<REAL, KIND> &c, int face, int i,
                                                 int64_t k, REAL cell)
{
    const typename KIND::place place = kind.moved(c.place, i, k);
    return kind.term(0, place, face, cell, kind.beyond(0, place, face, cell));
}

/* The sides of the march: at most one face in x and one in y (hip_step_march_takes), so two
 * tallies are enough, which saves registers. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ void add_sides(tally &x, tally &y, const KIND &kind,
                                                 const march_column<REAL, KIND> &c, int64_t k,
                                                 const vec16<REAL> &cells)
{
#pragma unroll /* no indexing of registers by a variable */
    for (int i = 0; i < vec16<REAL>::N; i++) {
        if (c.has(i)) {
            /* each face by its number: a number that differs between lanes would need memory */
            if (i == c.x_min || i == c.x_max) {
                x.add(i == c.x_min ? term_of(kind, c, FACE_X_MIN, i, k, cells.v[i])
                                   : term_of(kind, c, FACE_X_MAX, i, k, cells.v[i]));
            }
            if (c.y_min || c.y_max) {
                y.add(c.y_min ? term_of(kind, c, FACE_Y_MIN, i, k, cells.v[i])
                              : term_of(kind, c, FACE_Y_MAX, i, k, cells.v[i]));
            }
        }
    }
}

/* A face in z: the cells of plane k of the march. All threads call. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ void add_plane(const KIND &kind, struct exact_sum *sum, int face,
                                                 const march_column<REAL, KIND> &c, int64_t k,
                                                 const REAL *cells)
{
    if (sum != nullptr) {
        tally z = {};
        for (int i = c.begin; i < c.end; i++) {
            z.add(term_of(kind, c, face, i, k, cells[i]));
        }
        face_sum_add(sum, z);
    }
}

/* What a vector needs of its plane beside itself, and the plane above. */
template <typename REAL, typename KEPT> struct around {
    vec16<REAL> base, ym, yp, above;
    REAL left, right;
    typename KEPT::mark mark;
};

/* Around the vector at element `at`, but for `above`. */
template <bool CORRECTS, typename REAL, typename KIND, typename KEPT>
static __device__ __forceinline__ void read_plane(around<REAL, KEPT> &n,
                                                  const grid_view<REAL> &view, const KIND &kind,
                                                  const march_column<REAL, KIND> &c, int64_t k,
                                                  int64_t at, const vec16<REAL> &here)
{
    constexpr int N = vec16<REAL>::N;
    const REAL *in = view.in + at;
    n.base = CORRECTS ? vector_at(view.out + at) : here;
    n.ym = c.y_min ? beyond_vector(kind, c, FACE_Y_MIN, k, here) : vector_at(in - view.pitch_y);
    n.yp = c.y_max ? beyond_vector(kind, c, FACE_Y_MAX, k, here) : vector_at(in + view.pitch_y);
    /* padding on both sides of a row makes these loads safe; closed faces replace them */
    n.left =
        c.x_min == 0 ? kind.beyond(0, kind.moved(c.place, 0, k), FACE_X_MIN, here.v[0]) : in[-1];
    n.right = here.v[N - 1];
    if (c.end == N) { /* else the cell may lie outside the allocation */
        n.right = in[N];
    }
}

/* The same and `above`, without a branch between the loads, so that one wait serves all:
 * close_plane replaces what lies beyond closed faces. */
template <bool CORRECTS, typename REAL, typename KIND, typename KEPT>
static __device__ __forceinline__ void read_plane_at_once(around<REAL, KEPT> &n,
                                                          const grid_view<REAL> &view,
                                                          const KIND &kind,
                                                          const march_column<REAL, KIND> &c,
                                                          int64_t k, int64_t at)
{
    constexpr int N = vec16<REAL>::N;
    const REAL *in = view.in + at;
    const bool top = kind.closed[FACE_Z_MAX] && k == view.cells[2] - 1;
    n.above = vector_at(in + (top ? 0 : view.pitch_z));
    n.ym = vector_at(in - (c.y_min ? 0 : view.pitch_y));
    n.yp = vector_at(in + (c.y_max ? 0 : view.pitch_y));
    n.left = in[-1];
    n.right = in[c.end == N ? N : N - 1];
    if constexpr (CORRECTS) {
        n.base = vector_at(view.out + at);
    }
    n.mark = KEPT::template mark_of<N>(kind, kind.moved(c.place, 0, k), c.end == N);
}

template <bool CORRECTS, typename REAL, typename KIND, typename KEPT>
static __device__ __forceinline__ void close_plane(around<REAL, KEPT> &n,
                                                   const grid_view<REAL> &view, const KIND &kind,
                                                   const march_column<REAL, KIND> &c, int64_t k,
                                                   const vec16<REAL> &here)
{
    if (!CORRECTS) {
        n.base = here;
    }
    if (c.y_min) {
        n.ym = beyond_vector(kind, c, FACE_Y_MIN, k, here);
    }
    if (c.y_max) {
        n.yp = beyond_vector(kind, c, FACE_Y_MAX, k, here);
    }
    if (c.x_min == 0) {
        n.left = kind.beyond(0, kind.moved(c.place, 0, k), FACE_X_MIN, here.v[0]);
    }
    if (kind.closed[FACE_Z_MAX] && k == view.cells[2] - 1) {
        n.above = beyond_vector(kind, c, FACE_Z_MAX, k, here);
    }
}

/* The new values of a vector; z: the planes k - 1 to k + 1. */
template <typename REAL, typename KIND, typename KEPT>
static __device__ __forceinline__ vec16<REAL> advance_vector(const KIND &kind, KEPT &kept,
                                                             const march_column<REAL, KIND> &c,
                                                             int64_t k,
                                                             const around<REAL, KEPT> &beside,
                                                             const vec16<REAL> (&z)[3])
{
    constexpr int N = vec16<REAL>::N;
    const vec16<REAL> &here = z[1];
    REAL row[N + 2];
    row[0] = beside.left;
#pragma unroll
    for (int i = 0; i < N; i++) {
        row[i + 1] = here.v[i];
    }
    row[N + 1] = beside.right;
    vec16<REAL> out = here;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (KIND::IS_EVERYWHERE || c.has(i)) {
            const typename KIND::place place = kind.moved(c.place, i, k);
            const REAL right =
                i == c.x_max ? kind.beyond(0, place, FACE_X_MAX, here.v[i]) : row[i + 2];
            const REAL n[FACE_COUNT] = {row[i],         right,     beside.ym.v[i],
                                        beside.yp.v[i], z[0].v[i], z[2].v[i]};
            out.v[i] = kept.update(kind, place, beside.base.v[i], here.v[i], n, i);
        }
    }
    return out;
}

/* The same with the neighbours read where they are used. */
template <bool CORRECTS, typename REAL, typename KIND>
static __device__ __forceinline__ vec16<REAL> advance_plane(const grid_view<REAL> &view,
                                                            const KIND &kind,
                                                            const march_column<REAL, KIND> &c,
                                                            int64_t k, int64_t at,
                                                            const vec16<REAL> (&z)[3])
{
    kept_nothing kept;
    around<REAL, kept_nothing> beside;
    read_plane<CORRECTS>(beside, view, kind, c, k, at, z[1]);
    return advance_vector(kind, kept, c, k, beside, z);
}

/* A plane at element `at`, z[1]; z[0]: the plane before; z[2] becomes the plane above. */
template <bool CORRECTS, typename REAL, typename KIND, typename KEPT>
static __device__ __forceinline__ vec16<REAL> advance_at_once(const grid_view<REAL> &view,
                                                              const KIND &kind, KEPT &kept,
                                                              const march_column<REAL, KIND> &c,
                                                              int64_t k, int64_t at,
                                                              vec16<REAL> (&z)[3])
{
    around<REAL, KEPT> beside;
    read_plane_at_once<CORRECTS>(beside, view, kind, c, k, at);
    close_plane<CORRECTS>(beside, view, kind, c, k, z[1]);
    kept.look_at(kind, beside.mark);
    z[2] = beside.above;
    return advance_vector(kind, kept, c, k, beside, z);
}

/* D along x of the cells of a vector. */
template <typename REAL, int R>
static __device__ __forceinline__ vec16<REAL> differences_in_x(const grid_view<REAL> &view,
                                                               const wide_stencil<REAL, R> &kind,
                                                               int64_t i, int64_t at,
                                                               const vec16<REAL> &here)
{
    constexpr int N = vec16<REAL>::N;
    vec16<REAL> found = difference_in_row<REAL, R>(kind, here, [&](int v) {
        /* no cell needs those outside the allocation; no branch, so that one wait serves all */
        const int64_t first = at + v * N;
        return vector_at(view.in + (first >= kind.first && first + N <= kind.last ? first : at));
    });
    if ((kind.closed[FACE_X_MIN] && i < R) ||
        (kind.closed[FACE_X_MAX] && i + N > view.cells[0] - R)) {
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int64_t x = i + n;
            const bool from_min = kind.closed[FACE_X_MIN] && x < R;
            const bool from_max = kind.closed[FACE_X_MAX] && x >= view.cells[0] - R;
            if ((from_min || from_max) && x < view.cells[0]) {
                found.v[n] = difference<AXIS_X>(kind, here.v[n], x, view.cells[0],
                                                wide_line<REAL>{view.in + at + n, 1});
            }
        }
    }
    return found;
}

/* The same of high order; z: the planes k - R to k + R. */
template <bool, typename REAL, int R>
static __device__ __forceinline__ vec16<REAL> advance_plane(
    const grid_view<REAL> &view, const wide_stencil<REAL, R> &kind,
    const march_column<REAL, wide_stencil<REAL, R>> &c, int64_t, int64_t at,
    const vec16<REAL> (&z)[2 * R + 1])
{
    constexpr int N = vec16<REAL>::N;
    const vec16<REAL> &here = z[R];
    vec16<REAL> before[R];
    vec16<REAL> after[R];
    const auto read_rows = [&](bool now) {
#pragma unroll
        for (int k = 1; now && k <= R; k++) {
            before[k - 1] = vector_at(view.in + at - k * view.pitch_y);
            after[k - 1] = vector_at(view.in + at + k * view.pitch_y);
        }
    };
    /* before the branches in differences_in_x, so that one wait serves all; of more rows a second
     * wait is better, since it keeps blocks side by side: docs/developers/gcd_model.md */
    read_rows(R == 2);
    const vec16<REAL> dx = differences_in_x(view, kind, c.i, at, here);
    read_rows(R > 2);
    vec16<REAL> out;
#pragma unroll
    for (int n = 0; n < N; n++) {
        REAL dy = 0;
        REAL dz = 0;
#pragma unroll
        for (int k = R; k >= 1; k--) {
            dy = wide_term(kind.w[k - 1], here.v[n], before[k - 1].v[n], after[k - 1].v[n], dy);
            dz = wide_term(kind.w[k - 1], here.v[n], z[R - k].v[n], z[R + k].v[n], dz);
        }
        out.v[n] = wide_update(here.v[n], dx.v[n], dy, dz, kind.r);
    }
    return out;
}

template <typename REAL, typename KIND>
static __device__ __forceinline__ void store_vector(const grid_view<REAL> &view,
                                                    const march_column<REAL, KIND> &c, int64_t at,
                                                    const vec16<REAL> &out)
{
    if (c.begin == 0 && c.end == vec16<REAL>::N) {
        arch_store_stream(view.out + at, out);
    } else {
#pragma unroll
        for (int i = 0; i < vec16<REAL>::N; i++) {
            if (c.has(i)) {
                view.out[at + i] = out.v[i];
            }
        }
    }
}

/* A plane at element `at`, or what lies beyond a closed face of z of plane k, `inside`. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ vec16<REAL> plane_beside(const grid_view<REAL> &view,
                                                           const KIND &kind,
                                                           const march_column<REAL, KIND> &c,
                                                           int face, int64_t k, int64_t at,
                                                           const vec16<REAL> &inside)
{
    if constexpr (KIND::R == 1) {
        if (kind.closed[face] && k == (face == FACE_Z_MIN ? 0 : view.cells[2] - 1)) {
            return beyond_vector(kind, c, face, k, inside);
        }
    }
    return vector_at(view.in + at);
}

/* SUMS: over closed faces; separate, since they need more registers. In a uniform medium at least 6
 * waves a SIMD (gfx90a). */
template <typename REAL, bool SUMS, bool CORRECTS, typename KIND>
static __global__ __launch_bounds__(THREADS) void step_march(const grid_view<REAL> view,
                                                             const KIND kind, const face_sums sums,
                                                             const march m)
{
    const march_column<REAL, KIND> c = column_of(view, kind, m);
    const int64_t chunk = blockIdx.x / (m.tiles_x * m.tiles_y);
    const int64_t k_begin = m.box.lo[2] + chunk * m.depth;
    const int64_t k_end = k_begin + m.depth < m.box.hi[2] ? k_begin + m.depth : m.box.hi[2];
    int64_t at = view.at(c.i, c.j, k_begin);
    tally x = {};
    tally y = {};
    if (c.end > c.begin) {
        constexpr int R = KIND::R;
        vec16<REAL> z[2 * R + 1]; /* the planes k - R to k + R */
#pragma unroll
        for (int p = R; p < 2 * R; p++) {
            z[p] = vector_at(view.in + at + (p - R) * view.pitch_z);
        }
#pragma unroll
        for (int p = R - 1; p >= 0; p--) {
            z[p] = plane_beside(view, kind, c, FACE_Z_MIN, k_begin, at + (p - R) * view.pitch_z,
                                z[p + 1]);
        }
        typename KIND::kept kept;
        kept.start(kind, c.place, k_begin);
        for (int64_t k = k_begin; k < k_end; k++, at += view.pitch_z) {
            vec16<REAL> out;
            if constexpr (KIND::READS_AT_ONCE) {
                out = advance_at_once<CORRECTS>(view, kind, kept, c, k, at, z);
            } else {
                z[2 * R] =
                    plane_beside(view, kind, c, FACE_Z_MAX, k, at + R * view.pitch_z, z[2 * R - 1]);
                out = advance_plane<CORRECTS>(view, kind, c, k, at, z);
            }
            store_vector(view, c, at, out);
            if constexpr (SUMS) {
                add_sides(x, y, kind, c, k, z[R]);
            }
#pragma unroll
            for (int p = 0; p < 2 * R; p++) {
                z[p] = z[p + 1];
            }
        }
    }
    if constexpr (SUMS) {
        face_sum_add(sums.sum[FACE_X_MIN], c.x_min >= 0 ? x : tally{});
        face_sum_add(sums.sum[FACE_X_MAX], c.x_max >= 0 ? x : tally{});
        face_sum_add(sums.sum[FACE_Y_MIN], c.y_min ? y : tally{});
        face_sum_add(sums.sum[FACE_Y_MAX], c.y_max ? y : tally{});
        if (k_begin == 0) {
            add_plane(kind, sums.sum[FACE_Z_MIN], FACE_Z_MIN, c, 0, view.in + view.at(c.i, c.j, 0));
        }
        if (k_end == view.cells[2]) {
            add_plane(kind, sums.sum[FACE_Z_MAX], FACE_Z_MAX, c, k_end - 1,
                      view.in + view.at(c.i, c.j, k_end - 1));
        }
        finish_face_sums(sums);
    }
}

template <typename REAL, typename KIND>
static hipError_t launch(const KIND &kind, const struct hip_step *step)
{
    constexpr int64_t N = vec16<REAL>::N;
    const struct step_args *args = step->args;
    const struct box *box = step->boxes;
    const grid_view<REAL> view = view_of<REAL>(&args->layout, args->d_out, args->d_in);
    const face_sums sums = face_sums_of(args->levels, step->d_scratch);
    const int rule_wide = KIND::R == 1 || ARCH_MARCH_KIB > 0 ? 64 : 32;
    const int wide = step->shape.wide > 0 ? step->shape.wide : rule_wide;
    const int high = THREADS / wide;
    const int kib = step->shape.wide > 0 ? step->shape.shared_kib : ARCH_MARCH_KIB * KIND::SHARES;
    const unsigned shared = (unsigned)kib << 10; /* not used: see struct hip_launch_shape */
    struct march m = {};
    m.box = *box;
    m.x_begin = box->lo[0] / N * N;
    m.depth = step->shape.depth > 0 ? step->shape.depth : 64;
    while (1 << m.wide_bits < wide) {
        m.wide_bits++;
    }
    const int64_t vectors = (box->hi[0] - m.x_begin + N - 1) / N;
    m.tiles_x = (unsigned)((vectors + wide - 1) / wide);
    m.tiles_y = (unsigned)((box->hi[1] - box->lo[1] + high - 1) / high);
    const int64_t chunks = (box->hi[2] - box->lo[2] + m.depth - 1) / m.depth;
    const unsigned nblocks = (unsigned)(chunks * m.tiles_x * m.tiles_y);
    if constexpr (KIND::R == 1) {
        if (args->levels->corrects) {
            step_march<REAL, true, true>
                <<<nblocks, THREADS, shared, step->stream>>>(view, kind, sums, m);
            return hipGetLastError();
        }
        if (sums.sums) {
            step_march<REAL, true, false>
                <<<nblocks, THREADS, shared, step->stream>>>(view, kind, sums, m);
            return hipGetLastError();
        }
    }
    step_march<REAL, false, false><<<nblocks, THREADS, shared, step->stream>>>(view, kind, sums, m);
    return hipGetLastError();
}

template <typename REAL> static hipError_t launch_kind(const struct hip_step *step)
{
    const struct step_args *args = step->args;
    const struct coefficients *levels = args->levels;
    switch (levels->kind) {
    case KIND_HIGH_ORDER:
        return launch_radius(levels->high_order.radius, [&](auto radius) {
            return launch<REAL>(
                wide_stencil_of<REAL, decltype(radius)::value>(&args->layout, levels, args->d_out),
                step);
        });
    case KIND_CLASSES:
        return launch<REAL>(classes_of<REAL, 1>(levels), step);
    case KIND_FACES:
        return launch<REAL>(faces_of<REAL>(levels), step);
    case KIND_GRADED:
        return launch<REAL>(graded_of<REAL>(levels), step);
    default:
        return launch<REAL>(uniform_of<REAL, 1>(levels), step);
    }
}

bool hip_step_march_takes(const struct layout *layout)
{
    const int64_t vector = 16 / (int64_t)precision_bytes(layout->precision);
    return layout->cells[AXIS_X] > vector && layout->cells[AXIS_Y] > 1;
}

hipError_t hip_launch_step_march(struct hip_step *step)
{
    return step->args->layout.precision == PRECISION_FLOAT64 ? launch_kind<double>(step)
                                                             : launch_kind<float>(step);
}
