/* The step with a wider stencil.
 *
 * step_radius_march: a thread keeps 16 bytes of cells of a row and its neighbours in z in
 * registers, as step_march.hip.cpp, so that every plane is loaded once; the vectors beside it in x
 * and y come from the caches. Rows and planes next to closed faces of y and z are left to
 * step_radius_cells, one thread per cell; cells next to those of x get their own row of weights.
 * step_radius_sums adds the inward flux of the closed faces. */
#include "kernels/hip/cells.h"
#include "kernels/wide_cell.h"

enum { THREADS = 256 };

/* The coefficients of one step, by value to the kernel. */
template <typename REAL> struct wide_rules {
    REAL w[WIDE_RADIUS_MOST];
    REAL r[AXIS_COUNT];
    bool used[AXIS_COUNT];
    bool closed[FACE_COUNT]; /* of a used axis */
    struct wide_closure closure[FACE_COUNT];
};

template <typename REAL> static wide_rules<REAL> wide_rules_of(const struct wide_args *args)
{
    wide_rules<REAL> rules = {};
    for (int k = 0; k < args->radius; k++) {
        rules.w[k] = (REAL)args->weight[k];
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        rules.r[axis] = (REAL)args->r[axis];
        rules.used[axis] = args->used[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        rules.closed[face] = args->closed[face] && args->used[face / 2];
        rules.closure[face] = args->closure[face];
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

/* --- any cells ------------------------------------------------------------------------------- */

template <typename REAL, int R>
static __global__ __launch_bounds__(THREADS) void step_radius_cells(const grid_view<REAL> view,
                                                                    const wide_rules<REAL> rules,
                                                                    const struct box box)
{
    const int64_t nx = box.hi[0] - box.lo[0];
    const int64_t ny = box.hi[1] - box.lo[1];
    const int64_t nz = box.hi[2] - box.lo[2];
    const int64_t cell = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (cell >= nx * ny * nz) {
        return;
    }
    const int64_t i = box.lo[0] + cell % nx;
    const int64_t j = box.lo[1] + cell / nx % ny;
    const int64_t k = box.lo[2] + cell / nx / ny;
    const int64_t at = view.at(i, j, k);
    const REAL *c = view.in + at;
    const REAL dx = difference<REAL, R, AXIS_X>(rules, c, i, view.cells[0], 1);
    const REAL dy = difference<REAL, R, AXIS_Y>(rules, c, j, view.cells[1], view.pitch_y);
    const REAL dz = difference<REAL, R, AXIS_Z>(rules, c, k, view.cells[2], view.pitch_z);
    view.out[at] = wide_update(c[0], dx, dy, dz, rules.r);
}

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

/* --- the sums of closed faces ---------------------------------------------------------------- */

/* The cells of `box` at one closed face; blocks `first` to before `first + nblocks`. */
struct radius_layer {
    int64_t lo[AXIS_COUNT]; /* of the cells */
    int64_t extent[AXIS_COUNT];
    int64_t inward; /* elements */
    unsigned first, nblocks;
};

struct radius_layers {
    struct radius_layer layer[FACE_COUNT];
};

template <typename REAL, int R>
static __global__ __launch_bounds__(THREADS) void step_radius_sums(const grid_view<REAL> view,
                                                                   const wide_rules<REAL> wide,
                                                                   const rules<REAL> sums,
                                                                   const radius_layers layers)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct radius_layer &layer = layers.layer[face];
        if (blockIdx.x < layer.first || blockIdx.x >= layer.first + layer.nblocks) {
            continue; /* the same for a whole block */
        }
        const int64_t nx = layer.extent[0];
        const int64_t ny = layer.extent[1];
        const int64_t cell = (int64_t)(blockIdx.x - layer.first) * THREADS + threadIdx.x;
        tally found = {};
        if (cell < nx * ny * layer.extent[2]) {
            const REAL *c = view.in + view.at(layer.lo[0] + cell % nx, layer.lo[1] + cell / nx % ny,
                                              layer.lo[2] + cell / nx / ny);
            const struct wide_closure &closure = wide.closure[face];
            found.add(
                near_sum<REAL, R>(closure, closure.in, closure.in_given, c, layer.inward, c[0]));
        }
        face_sum_add(sums.sum[face], found);
    }
    finish_face_sums(sums);
}

/* --- launches -------------------------------------------------------------------------------- */

static int64_t extent_of(const struct box *box, int axis)
{
    return box->hi[axis] - box->lo[axis];
}

/* What all launches have in common. */
struct radius_call {
    hipStream_t stream;
    const struct layout *layout;
    const struct wide_args *args;
    void *d_out;
    const void *d_in;
    const struct box *box;
    struct hip_scratch *d_scratch;
};

template <typename REAL, int R> struct run_cells {
    static void on(const radius_call &call)
    {
        const struct box *box = call.box;
        const int64_t cells = extent_of(box, 0) * extent_of(box, 1) * extent_of(box, 2);
        step_radius_cells<REAL, R>
            <<<(unsigned)((cells + THREADS - 1) / THREADS), THREADS, 0, call.stream>>>(
                view_of<REAL>(call.layout, call.d_out, call.d_in), wide_rules_of<REAL>(call.args),
                *box);
    }
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

template <typename REAL, int R> struct run_sums {
    static void on(const radius_call &call)
    {
        const struct layout *layout = call.layout;
        const struct box *box = call.box;
        const wide_rules<REAL> wide = wide_rules_of<REAL>(call.args);
        const int64_t stride[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
        struct radius_layers layers = {};
        rules<REAL> sums = {};
        unsigned nblocks = 0;
        sums.scratch = call.d_scratch;
        for (int face = 0; face < FACE_COUNT; face++) {
            const int axis = face / 2;
            const int64_t edge = face % 2 == 0 ? 0 : layout->cells[axis] - 1;
            struct radius_layer *layer = &layers.layer[face];
            if (!wide.closed[face] || call.args->d_face_sum[face] == nullptr ||
                edge < box->lo[axis] || edge >= box->hi[axis]) {
                continue;
            }
            int64_t cells = 1;
            for (int a = 0; a < AXIS_COUNT; a++) {
                layer->lo[a] = a == axis ? edge : box->lo[a];
                layer->extent[a] = a == axis ? 1 : extent_of(box, a);
                cells *= layer->extent[a];
            }
            layer->inward = face % 2 == 0 ? stride[axis] : -stride[axis];
            layer->first = nblocks;
            layer->nblocks = (unsigned)((cells + THREADS - 1) / THREADS);
            nblocks += layer->nblocks;
            sums.sum[face] = call.args->d_face_sum[face];
            sums.sums = true;
        }
        if (nblocks > 0) {
            step_radius_sums<REAL, R><<<nblocks, THREADS, 0, call.stream>>>(
                view_of<REAL>(layout, call.d_out, call.d_in), wide, sums, layers);
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
    functions[precision][call.args->radius - WIDE_RADIUS_LEAST](call);
    return hipGetLastError();
}

hipError_t hip_launch_radius_cells(hipStream_t stream, const struct layout *layout,
                                   const struct wide_args *args, void *d_out, const void *d_in,
                                   const struct box *box)
{
    return dispatch<run_cells>({stream, layout, args, d_out, d_in, box, nullptr});
}

hipError_t hip_launch_radius_march(hipStream_t stream, const struct layout *layout,
                                   const struct wide_args *args, void *d_out, const void *d_in,
                                   const struct box *box)
{
    return dispatch<run_march>({stream, layout, args, d_out, d_in, box, nullptr});
}

hipError_t hip_launch_radius_sums(hipStream_t stream, struct hip_scratch *d_scratch,
                                  const struct layout *layout, const struct wide_args *args,
                                  const void *d_in, const struct box *box)
{
    return dispatch<run_sums>({stream, layout, args, nullptr, d_in, box, d_scratch});
}
