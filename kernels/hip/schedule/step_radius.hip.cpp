/* The step with a wider stencil.
 *
 * step_radius_march: a thread keeps 16 bytes of cells of a row and its neighbours in z in
 * registers, as step_march.hip.cpp, so that every plane is loaded once; the vectors beside it in x
 * and y come from the caches. Rows and planes next to closed faces of y and z are left to
 * step_radius_rest, one thread per cell, which also adds the inward flux of the closed faces; cells
 * next to those of x get their own row of weights. */
#include "kernels/hip/kind/high_order.h"

enum { THREADS = 256 };

/* --- a box that is not next to closed faces of y and z --------------------------------------- */

/* A block: 2^wide_bits vectors of a row by THREADS >> wide_bits rows, marching through `depth`
 * planes. */
struct radius_march {
    struct box box;
    int64_t x_begin;     /* box.lo[0] rounded down to a whole vector */
    int64_t first, last; /* elements of the allocation, from cell (0, 0, 0) */
    int64_t depth;
    unsigned wide_bits;
    unsigned tiles_x, tiles_y;
};

/* A vector beside a row; zeros outside the allocation, where no cell needs it. */
template <typename REAL>
static __device__ __forceinline__ vec16<REAL> vector_beside(const grid_view<REAL> &view,
                                                            const radius_march &m, int64_t at)
{
    vec16<REAL> cells = {};
    if (at >= m.first && at + vec16<REAL>::N <= m.last) {
        cells = vector_at(view.in + at);
    }
    return cells;
}

/* D along x of the cells of a vector at cell i, element `at`. `near`: some are next to a closed
 * face. */
template <typename REAL, int R>
static __device__ __forceinline__ vec16<REAL> differences_in_x(const grid_view<REAL> &view,
                                                               const wide_rules<REAL> &rules,
                                                               const radius_march &m, int64_t i,
                                                               int64_t at, const vec16<REAL> &here,
                                                               bool near)
{
    constexpr int N = vec16<REAL>::N;
    constexpr int V = (R + N - 1) / N; /* vectors on either side */
    REAL row[(2 * V + 1) * N];
    vec16<REAL> found;
#pragma unroll
    for (int v = -V; v <= V; v++) {
        const vec16<REAL> cells = v == 0 ? here : vector_beside(view, m, at + v * N);
#pragma unroll
        for (int n = 0; n < N; n++) {
            row[(V + v) * N + n] = cells.v[n];
        }
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        REAL sum = 0;
#pragma unroll
        for (int k = R; k >= 1; k--) {
            sum = wide_term(rules.w[k - 1], here.v[n], row[V * N + n - k], row[V * N + n + k], sum);
        }
        found.v[n] = sum;
    }
    if (near) {
#pragma unroll
        for (int n = 0; n < N; n++) {
            const int64_t x = i + n;
            const bool from_min = rules.closed[FACE_X_MIN] && x < R;
            const bool from_max = rules.closed[FACE_X_MAX] && x >= view.cells[0] - R;
            if ((from_min || from_max) && x < view.cells[0]) {
                found.v[n] =
                    difference<REAL, R, AXIS_X>(rules, view.in + at + n, x, view.cells[0], 1);
            }
        }
    }
    return found;
}

template <typename REAL, int R>
static __device__ __forceinline__ void step_vector(const grid_view<REAL> &view,
                                                   const wide_rules<REAL> &rules,
                                                   const radius_march &m, int64_t i, int64_t at,
                                                   const vec16<REAL> (&z)[2 * R + 1], bool near,
                                                   int begin, int end)
{
    constexpr int N = vec16<REAL>::N;
    const vec16<REAL> &here = z[R];
    const vec16<REAL> dx = differences_in_x<REAL, R>(view, rules, m, i, at, here, near);
    vec16<REAL> dy = {};
#pragma unroll
    for (int k = R; k >= 1; k--) {
        const vec16<REAL> below = vector_at(view.in + at - k * view.pitch_y);
        const vec16<REAL> above = vector_at(view.in + at + k * view.pitch_y);
#pragma unroll
        for (int n = 0; n < N; n++) {
            dy.v[n] = wide_term(rules.w[k - 1], here.v[n], below.v[n], above.v[n], dy.v[n]);
        }
    }
    vec16<REAL> out;
#pragma unroll
    for (int n = 0; n < N; n++) {
        REAL dz = 0;
#pragma unroll
        for (int k = R; k >= 1; k--) {
            dz = wide_term(rules.w[k - 1], here.v[n], z[R - k].v[n], z[R + k].v[n], dz);
        }
        out.v[n] = wide_update(here.v[n], dx.v[n], dy.v[n], dz, rules.r);
    }
    if (begin == 0 && end == N) {
        arch_store_stream(view.out + at, out);
        return;
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        if (n >= begin && n < end) {
            view.out[at + n] = out.v[n];
        }
    }
}

template <typename REAL, int R>
static __global__ __launch_bounds__(THREADS) void step_radius_march(const grid_view<REAL> view,
                                                                    const wide_rules<REAL> rules,
                                                                    const radius_march m)
{
    constexpr int N = vec16<REAL>::N;
    const unsigned tiles = m.tiles_x * m.tiles_y;
    const unsigned tile = blockIdx.x % tiles;
    const int64_t i = m.x_begin + ((int64_t)((tile % m.tiles_x) << m.wide_bits) +
                                   (threadIdx.x & ((1U << m.wide_bits) - 1))) *
                                      N;
    const int64_t j = m.box.lo[1] + (int64_t)(tile / m.tiles_x) * (THREADS >> m.wide_bits) +
                      (threadIdx.x >> m.wide_bits);
    const int64_t k_begin = m.box.lo[2] + blockIdx.x / tiles * m.depth;
    const int64_t k_end = k_begin + m.depth < m.box.hi[2] ? k_begin + m.depth : m.box.hi[2];
    const int begin = m.box.lo[0] > i ? (int)(m.box.lo[0] - i) : 0;
    const int end = m.box.hi[0] - i < N ? (int)(m.box.hi[0] - i) : N;
    if (j >= m.box.hi[1] || end <= begin) {
        return;
    }
    const bool near = (rules.closed[FACE_X_MIN] && i < R) ||
                      (rules.closed[FACE_X_MAX] && i + N > view.cells[0] - R);
    int64_t at = view.at(i, j, k_begin);
    vec16<REAL> z[2 * R + 1]; /* the planes k - R to k + R */
#pragma unroll
    for (int p = 0; p < 2 * R; p++) {
        z[p + 1] = vector_at(view.in + at + (p - R) * view.pitch_z);
    }
    for (int64_t k = k_begin; k < k_end; k++, at += view.pitch_z) {
#pragma unroll
        for (int p = 0; p < 2 * R; p++) {
            z[p] = z[p + 1];
        }
        z[2 * R] = vector_at(view.in + at + R * view.pitch_z);
        step_vector<REAL, R>(view, rules, m, i, at, z, near, begin, end);
    }
}

/* --- the cells next to closed faces, or any; and the sums of closed faces --------------------- */

/* Cells that are computed, or with face >= 0 those at a closed face whose inward flux is summed, by
 * the blocks from `first` on. */
struct radius_part {
    int64_t lo[AXIS_COUNT];
    int64_t extent[AXIS_COUNT];
    int face;
    unsigned first;
};

struct radius_parts {
    enum { MOST = 2 * FACE_COUNT };
    struct radius_part part[MOST];
    int count;
    unsigned nblocks;

    void add(const int64_t (&lo)[AXIS_COUNT], const int64_t (&hi)[AXIS_COUNT], int face)
    {
        struct radius_part *added = &part[count++];
        int64_t cells = 1;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            added->lo[axis] = lo[axis];
            added->extent[axis] = hi[axis] - lo[axis];
            cells *= added->extent[axis];
        }
        added->face = face;
        added->first = nblocks;
        nblocks += (unsigned)((cells + THREADS - 1) / THREADS);
    }
};

template <typename REAL, int R>
static __global__ __launch_bounds__(THREADS) void step_radius_rest(const grid_view<REAL> view,
                                                                   const wide_rules<REAL> wide,
                                                                   const rules<REAL> sums,
                                                                   const radius_parts parts)
{
    int n = parts.count - 1;
    while (blockIdx.x < parts.part[n].first) {
        n--;
    }
    const struct radius_part &part = parts.part[n]; /* the same for a whole block */
    const int64_t nx = part.extent[0];
    const int64_t ny = part.extent[1];
    const int64_t cell = (int64_t)(blockIdx.x - part.first) * THREADS + threadIdx.x;
    const bool is = cell < nx * ny * part.extent[2];
    const int64_t i = part.lo[0] + cell % nx;
    const int64_t j = part.lo[1] + cell / nx % ny;
    const int64_t k = part.lo[2] + cell / nx / ny;
    const int64_t at = view.at(i, j, k);
    const REAL *c = view.in + at;
    if (part.face >= 0) {
        const struct wide_closure &closure = wide.closure[part.face];
        const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
        const int64_t inward = part.face % 2 == 0 ? stride[part.face / 2] : -stride[part.face / 2];
        tally found = {};
        if (is) {
            found.add(near_sum<REAL, R>(closure, closure.in, closure.in_given, c, inward, c[0]));
        }
        face_sum_add(sums.sum[part.face], found);
    } else if (is) {
        const REAL dx = difference<REAL, R, AXIS_X>(wide, c, i, view.cells[0], 1);
        const REAL dy = difference<REAL, R, AXIS_Y>(wide, c, j, view.cells[1], view.pitch_y);
        const REAL dz = difference<REAL, R, AXIS_Z>(wide, c, k, view.cells[2], view.pitch_z);
        view.out[at] = wide_update(c[0], dx, dy, dz, wide.r);
    }
    finish_face_sums(sums);
}

/* --- launches -------------------------------------------------------------------------------- */

static int64_t extent_of(const struct box *box, int axis)
{
    return box->hi[axis] - box->lo[axis];
}

/* What the launches have in common. */
struct radius_call {
    hipStream_t stream;
    const struct layout *layout;
    const struct coefficients *args;
    void *d_out;
    const void *d_in;
    const struct box *box;
    struct hip_scratch *d_scratch;
    const struct box *rim;
    int nrim;
};

template <typename REAL, int R> struct run_march {
    static void on(const radius_call &call)
    {
        constexpr int64_t N = vec16<REAL>::N;
        constexpr int wide_bits = 5;
        constexpr int high = THREADS >> wide_bits;
        struct radius_march m = {};
        m.box = *call.box;
        m.x_begin = m.box.lo[0] / N * N;
        m.first = -call.layout->origin;
        m.last = call.layout->elements - call.layout->origin;
        m.depth = 64;
        m.wide_bits = wide_bits;
        const int64_t vectors = (m.box.hi[0] - m.x_begin + N - 1) / N;
        m.tiles_x = (unsigned)((vectors + (1 << wide_bits) - 1) >> wide_bits);
        m.tiles_y = (unsigned)((extent_of(&m.box, 1) + high - 1) / high);
        const int64_t chunks = (extent_of(&m.box, 2) + m.depth - 1) / m.depth;
        step_radius_march<REAL, R>
            <<<(unsigned)(chunks * m.tiles_x * m.tiles_y), THREADS, 0, call.stream>>>(
                view_of<REAL>(call.layout, call.d_out, call.d_in), wide_rules_of<REAL>(call.args),
                m);
    }
};

template <typename REAL, int R> struct run_rest {
    static void on(const radius_call &call)
    {
        const struct box *box = call.box;
        const wide_rules<REAL> wide = wide_rules_of<REAL>(call.args);
        struct radius_parts parts = {};
        rules<REAL> sums = {};
        sums.scratch = call.d_scratch;
        for (int n = 0; n < call.nrim; n++) {
            parts.add(call.rim[n].lo, call.rim[n].hi, -1);
        }
        for (int face = 0; face < FACE_COUNT; face++) {
            const int axis = face / 2;
            const int64_t edge = face % 2 == 0 ? 0 : call.layout->cells[axis] - 1;
            struct box at = *box;
            if (!wide.closed[face] || call.args->d_face_sum[face] == nullptr ||
                edge < box->lo[axis] || edge >= box->hi[axis]) {
                continue;
            }
            at.lo[axis] = edge;
            at.hi[axis] = edge + 1;
            parts.add(at.lo, at.hi, face);
            sums.sum[face] = call.args->d_face_sum[face];
            sums.sums = true;
        }
        if (parts.count > 0) {
            step_radius_rest<REAL, R><<<parts.nblocks, THREADS, 0, call.stream>>>(
                view_of<REAL>(call.layout, call.d_out, call.d_in), wide, sums, parts);
        }
    }
};

/* The instance of `run` for the precision and the radius. */
template <template <typename, int> class run> static hipError_t dispatch(const radius_call &call)
{
    typedef void function(const radius_call &call);
    static function *const functions[2][WIDE_RADIUS_MOST - 1] = {
        {run<double, 2>::on, run<double, 3>::on, run<double, 4>::on},
        {run<float, 2>::on, run<float, 3>::on, run<float, 4>::on}};
    const int precision = call.layout->precision == PRECISION_FLOAT64 ? 0 : 1;
    functions[precision][call.args->high_order.radius - WIDE_RADIUS_LEAST](call);
    return hipGetLastError();
}

hipError_t hip_launch_radius_march(hipStream_t stream, const struct layout *layout,
                                   const struct coefficients *args, void *d_out, const void *d_in,
                                   const struct box *box)
{
    return dispatch<run_march>({stream, layout, args, d_out, d_in, box, nullptr, nullptr, 0});
}

hipError_t hip_launch_radius_rest(hipStream_t stream, struct hip_scratch *d_scratch,
                                  const struct layout *layout, const struct coefficients *args,
                                  void *d_out, const void *d_in, const struct box *box,
                                  const struct box *rim, int nrim)
{
    return dispatch<run_rest>({stream, layout, args, d_out, d_in, box, d_scratch, rim, nrim});
}
