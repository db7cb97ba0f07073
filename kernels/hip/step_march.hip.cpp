/* The step kernel that marches in z: a thread keeps 16 bytes of cells of a row and their neighbours
 * in z in registers, so that every plane is loaded once; neighbours in x and y come from the
 * caches. The plane after the next one is loaded during the computation. */
#include "kernels/hip/cells.h"

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

template <typename REAL> struct column {
    static constexpr int N = vec16<REAL>::N;
    int64_t i, j;      /* the first cell of the vector, and its row */
    int begin, end;    /* the cells of the vector that lie in the box */
    int x_min, x_max;  /* the cell on a closed x face; -1: none */
    bool y_min, y_max; /* on closed y faces */
};

template <typename REAL>
static __device__ __forceinline__ column<REAL> column_of(const grid_view<REAL> &view,
                                                         const rules<REAL> &rules, const march &m)
{
    constexpr int N = vec16<REAL>::N;
    const unsigned tile = blockIdx.x % (m.tiles_x * m.tiles_y);
    column<REAL> c;
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
    c.x_min = rules.closed[FACE_X_MIN] && c.i == 0 ? 0 : -1;
    c.x_max = rules.closed[FACE_X_MAX] && last >= 0 && last < N ? (int)last : -1;
    c.y_min = rules.closed[FACE_Y_MIN] && c.j == 0;
    c.y_max = rules.closed[FACE_Y_MAX] && c.j == view.cells[1] - 1;
    return c;
}

/* The sides of the march: at most one face in x and one in y (hip_step_march_takes), so two
 * tallies are enough, which saves registers. */
template <typename REAL>
static __device__ __forceinline__ void add_sides(tally &x, tally &y, const column<REAL> &c,
                                                 const vec16<REAL> &cells)
{
#pragma unroll /* no indexing of registers by a variable */
    for (int i = 0; i < vec16<REAL>::N; i++) {
        if (i >= c.begin && i < c.end) {
            if (i == c.x_min || i == c.x_max) {
                x.add((double)cells.v[i]);
            }
            if (c.y_min || c.y_max) {
                y.add((double)cells.v[i]);
            }
        }
    }
}

/* A face in z: the cells of one plane of the march. All threads call. */
template <typename REAL>
static __device__ __forceinline__ void add_plane(const rules<REAL> &rules, int face,
                                                 const column<REAL> &c, const REAL *cells)
{
    if (rules.sum[face] != nullptr) {
        tally z = {};
        for (int i = c.begin; i < c.end; i++) {
            z.add((double)cells[i]);
        }
        face_sum_add(rules.sum[face], z);
    }
}

template <typename REAL>
static __device__ __forceinline__ void step_vector(const grid_view<REAL> &view,
                                                   const rules<REAL> &rules, const column<REAL> &c,
                                                   int64_t at, const vec16<REAL> &below,
                                                   const vec16<REAL> &here,
                                                   const vec16<REAL> &above)
{
    constexpr int N = vec16<REAL>::N;
    const REAL *in = view.in + at;
    const vec16<REAL> ym =
        c.y_min ? beyond_vector(rules, FACE_Y_MIN, here) : vector_at(in - view.pitch_y);
    const vec16<REAL> yp =
        c.y_max ? beyond_vector(rules, FACE_Y_MAX, here) : vector_at(in + view.pitch_y);
    /* padding on both sides of a row makes these loads safe; closed faces replace them */
    REAL row[N + 2];
    row[0] = c.x_min == 0 ? beyond(rules, FACE_X_MIN, here.v[0]) : in[-1];
#pragma unroll
    for (int i = 0; i < N; i++) {
        row[i + 1] = here.v[i];
    }
    row[N + 1] = here.v[N - 1];
    if (c.end == N) { /* else the cell may lie outside the allocation */
        row[N + 1] = in[N];
    }
    vec16<REAL> out;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const REAL right = i == c.x_max ? beyond(rules, FACE_X_MAX, here.v[i]) : row[i + 2];
        out.v[i] =
            heat_cell(here.v[i], row[i], right, ym.v[i], yp.v[i], below.v[i], above.v[i], rules.r);
    }
    if (c.begin == 0 && c.end == N) {
        arch_store_stream(view.out + at, out);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (i >= c.begin && i < c.end) {
                view.out[at + i] = out.v[i];
            }
        }
    }
}

/* SUMS: over closed faces; separate, since they need more registers. At least 8 waves a SIMD
 * (gfx90a). */
template <typename REAL, bool SUMS>
static __global__ __launch_bounds__(THREADS) void step_march(const grid_view<REAL> view,
                                                             const rules<REAL> rules, const march m)
{
    const column<REAL> c = column_of(view, rules, m);
    const int64_t chunk = blockIdx.x / (m.tiles_x * m.tiles_y);
    const int64_t k_begin = m.box.lo[2] + chunk * m.depth;
    const int64_t k_end = k_begin + m.depth < m.box.hi[2] ? k_begin + m.depth : m.box.hi[2];
    int64_t at = view.at(c.i, c.j, k_begin);
    tally x = {};
    tally y = {};
    if (c.end > c.begin) {
        vec16<REAL> here = vector_at(view.in + at);
        vec16<REAL> below = rules.closed[FACE_Z_MIN] && k_begin == 0
                                ? beyond_vector(rules, FACE_Z_MIN, here)
                                : vector_at(view.in + at - view.pitch_z);
        for (int64_t k = k_begin; k < k_end; k++, at += view.pitch_z) {
            const vec16<REAL> above = rules.closed[FACE_Z_MAX] && k == view.cells[2] - 1
                                          ? beyond_vector(rules, FACE_Z_MAX, here)
                                          : vector_at(view.in + at + view.pitch_z);
            step_vector(view, rules, c, at, below, here, above);
            if (SUMS) {
                add_sides(x, y, c, here);
            }
            below = here;
            here = above;
        }
    }
    if (SUMS) {
        face_sum_add(rules.sum[FACE_X_MIN], c.x_min >= 0 ? x : tally{});
        face_sum_add(rules.sum[FACE_X_MAX], c.x_max >= 0 ? x : tally{});
        face_sum_add(rules.sum[FACE_Y_MIN], c.y_min ? y : tally{});
        face_sum_add(rules.sum[FACE_Y_MAX], c.y_max ? y : tally{});
        if (k_begin == 0) {
            add_plane(rules, FACE_Z_MIN, c, view.in + view.at(c.i, c.j, 0));
        }
        if (k_end == view.cells[2]) {
            add_plane(rules, FACE_Z_MAX, c, view.in + view.at(c.i, c.j, k_end - 1));
        }
        finish_face_sums(rules);
    }
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct coefficients *args, void *d_out,
                         const void *d_in, const struct box *box,
                         const struct hip_launch_shape *shape)
{
    constexpr int64_t N = vec16<REAL>::N;
    const int wide = shape->wide > 0 ? shape->wide : 64;
    const int high = THREADS / wide;
    struct march m = {};
    m.box = *box;
    m.x_begin = box->lo[0] / N * N;
    m.depth = shape->depth > 0 ? shape->depth : 64;
    while (1 << m.wide_bits < wide) {
        m.wide_bits++;
    }
    const int64_t vectors = (box->hi[0] - m.x_begin + N - 1) / N;
    m.tiles_x = (unsigned)((vectors + wide - 1) / wide);
    m.tiles_y = (unsigned)((box->hi[1] - box->lo[1] + high - 1) / high);
    const int64_t chunks = (box->hi[2] - box->lo[2] + m.depth - 1) / m.depth;
    const unsigned nblocks = (unsigned)(chunks * m.tiles_x * m.tiles_y);
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    if (rules.sums) {
        step_march<REAL, true><<<nblocks, THREADS, 0, stream>>>(view, rules, m);
    } else {
        step_march<REAL, false><<<nblocks, THREADS, 0, stream>>>(view, rules, m);
    }
    return hipGetLastError();
}

bool hip_step_march_takes(const struct layout *layout)
{
    const int64_t vector = 16 / (int64_t)precision_bytes(layout->precision);
    return layout->cells[AXIS_X] > vector && layout->cells[AXIS_Y] > 1;
}

hipError_t hip_launch_step_march(hipStream_t stream, struct hip_scratch *d_scratch,
                                 const struct layout *layout, const struct coefficients *args,
                                 void *d_out, const void *d_in, const struct box *box,
                                 const struct hip_launch_shape *shape)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch<double>(stream, d_scratch, layout, args, d_out, d_in, box, shape)
               : launch<float>(stream, d_scratch, layout, args, d_out, d_in, box, shape);
}
