/* The step kernel for large boxes where properties depend on temperature: tiles that march in z.
 * Each cell is evaluated once, by its thread, and shared with its neighbours in x and y; those in z
 * stay in registers. And the conversions between enthalpy and temperature. */
#include "kernels/hip/nonlinear.h"

enum { WIDE = 32, HIGH = 16, THREADS = WIDE * HIGH, DEPTH = 64, RESIDENT = 2 };
/* Segments of all classes that are kept in shared memory, in bytes; others are read from the
 * caches. */
enum { SEGMENT_BYTES = 16384 };

template <typename REAL> struct shared_tile {
    nonlinear_value<REAL> of[2][HIGH + 2][WIDE + 2];
    REAL segments[SEGMENT_BYTES / sizeof(REAL)];
};

/* The march of one column of a tile. */
template <typename REAL> struct column {
    const grid_view<REAL> &view;
    const nonlinear<REAL> &m;
    const REAL *segments;

    __device__ nonlinear_value<REAL> evaluate(int64_t i, int64_t j, int64_t k, REAL &u,
                                              int &of_class) const
    {
        u = view.in[view.at(i, j, k)];
        of_class = m.class_at(i, j, k);
        return nonlinear_at(segments + (int64_t)5 * m.count * of_class, m.count, u);
    }
};

/* g of a face between two cells, and the difference of their temperatures. */
template <typename REAL, bool PLAIN>
static __device__ __forceinline__ REAL face_g(const nonlinear<REAL> &m, int axis, int own_class,
                                              const nonlinear_value<REAL> &own, int64_t i,
                                              int64_t j, int64_t k,
                                              const nonlinear_value<REAL> &other, bool mine)
{
    if (PLAIN) {
        const REAL w = m.numbers()[axis];
        return nonlinear_g(own.k, w, other.k, w, (REAL)0);
    }
    return mine ? nonlinear_couple(m, axis, own_class, own, m.class_at(i, j, k), other) : (REAL)0;
}

/* One face of the cell: if it is closed, in place of a neighbour; and its sum. All lanes of a wave
 * call; `mine`: those with a cell. FACE is a constant, so that g and d stay in registers. */
template <int FACE, typename REAL>
static __device__ __forceinline__ void close_face(const grid_view<REAL> &view,
                                                  const rules<REAL> &rules,
                                                  const nonlinear<REAL> &m,
                                                  const int64_t (&cell)[AXIS_COUNT], int of_class,
                                                  const nonlinear_value<REAL> &own, bool mine,
                                                  REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT])
{
    const int64_t end = FACE % 2 == 0 ? 0 : view.cells[FACE / 2] - 1;
    tally term = {};
    if (mine && rules.closed[FACE] && cell[FACE / 2] == end) {
        REAL half = 0;
        d[FACE] = nonlinear_close(m, FACE, cell, of_class, own, half);
        g[FACE] = half;
        term.add((double)half * (double)d[FACE]);
    }
    face_sum_add(rules.sum[FACE], term);
}

/* The cell around the tile that this thread evaluates besides its own. */
struct duty {
    bool is;
    int x, y; /* in the tile */
    int64_t i, j;
};

template <typename REAL>
static __device__ __forceinline__ struct duty duty_of(const grid_view<REAL> &view,
                                                      const rules<REAL> &rules,
                                                      const struct box &box, int64_t i0, int64_t j0)
{
    const int n = threadIdx.x;
    struct duty duty = {};
    if (n < 2 * WIDE) {
        duty.x = n % WIDE;
        duty.y = n < WIDE ? -1 : HIGH;
        duty.is = i0 + duty.x < box.hi[0];
    } else if (n < 2 * WIDE + 2 * HIGH) {
        duty.x = n < 2 * WIDE + HIGH ? -1 : WIDE;
        duty.y = (n - 2 * WIDE) % HIGH;
        duty.is = j0 + duty.y < box.hi[1];
    }
    duty.i = i0 + duty.x;
    duty.j = j0 + duty.y;
    duty.is = duty.is && duty.i <= box.hi[0] && duty.j <= box.hi[1] &&
              !(duty.i < 0 && rules.closed[FACE_X_MIN]) &&
              !(duty.j < 0 && rules.closed[FACE_Y_MIN]) &&
              !(duty.i >= view.cells[0] && rules.closed[FACE_X_MAX]) &&
              !(duty.j >= view.cells[1] && rules.closed[FACE_Y_MAX]);
    return duty;
}

/* What a thread has of the plane that it computes. */
template <typename REAL> struct around {
    const nonlinear_value<REAL> (&plane)[HIGH + 2][WIDE + 2];
    const int64_t (&cell)[AXIS_COUNT];
    int of_class;
    nonlinear_value<REAL> below, own, above;
    bool mine, first;
};

/* g of a face of a cell, as if it were open, and the difference of temperatures. Of the face below,
 * g is that of the plane before, but in the first plane. */
template <int FACE, bool PLAIN, typename REAL>
static __device__ __forceinline__ void open_face(const nonlinear<REAL> &m, const around<REAL> &at,
                                                 REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT])
{
    constexpr int axis = FACE / 2;
    constexpr int sign = FACE % 2 == 0 ? -1 : 1;
    constexpr int dx = axis == 0 ? sign : 0;
    constexpr int dy = axis == 1 ? sign : 0;
    constexpr int dz = axis == 2 ? sign : 0;
    const int x = threadIdx.x % WIDE;
    const int y = threadIdx.x / WIDE;
    const nonlinear_value<REAL> other = dz < 0   ? at.below
                                        : dz > 0 ? at.above
                                                 : at.plane[y + 1 + dy][x + 1 + dx];
    d[FACE] = other.t - at.own.t;
    if (FACE != FACE_Z_MIN || at.first) {
        g[FACE] = face_g<REAL, PLAIN>(m, axis, at.of_class, at.own, at.cell[0] + dx,
                                      at.cell[1] + dy, at.cell[2] + dz, other, at.mine);
    }
}

/* The new value of a cell. All lanes of a wave call. g_below: of the face below; becomes that of
 * the face above. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ void advance_cell(const grid_view<REAL> &view,
                                                    const rules<REAL> &rules,
                                                    const nonlinear<REAL> &m,
                                                    const around<REAL> &at, REAL u, bool faces,
                                                    REAL &g_below)
{
    REAL g[FACE_COUNT];
    REAL d[FACE_COUNT];
    g[FACE_Z_MIN] = g_below;
    open_face<FACE_X_MIN, PLAIN>(m, at, g, d);
    open_face<FACE_X_MAX, PLAIN>(m, at, g, d);
    open_face<FACE_Y_MIN, PLAIN>(m, at, g, d);
    open_face<FACE_Y_MAX, PLAIN>(m, at, g, d);
    open_face<FACE_Z_MIN, PLAIN>(m, at, g, d);
    open_face<FACE_Z_MAX, PLAIN>(m, at, g, d);
    if (faces) {
        close_face<FACE_X_MIN>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
        close_face<FACE_X_MAX>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
        close_face<FACE_Y_MIN>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
        close_face<FACE_Y_MAX>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
        close_face<FACE_Z_MIN>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
        close_face<FACE_Z_MAX>(view, rules, m, at.cell, at.of_class, at.own, at.mine, g, d);
    }
    g_below = g[FACE_Z_MAX];
    if (at.mine) {
        view.out[view.at(at.cell[0], at.cell[1], at.cell[2])] =
            nonlinear_cell(m.numbers() + NONLINEAR_NUMBERS * at.of_class,
                           m.of.table[medium_cell_at(at.of_class) + 1], u, at.own.t, g, d);
    }
}

template <typename REAL, bool PLAIN>
static __global__ __launch_bounds__(THREADS,
                                    RESIDENT) void step_nonlinear(const grid_view<REAL> view,
                                                                  const rules<REAL> rules,
                                                                  const nonlinear<REAL> m,
                                                                  const struct box box)
{
    __shared__ shared_tile<REAL> tile;
    const int x = threadIdx.x % WIDE;
    const int y = threadIdx.x / WIDE;
    const int64_t i0 = box.lo[0] + (int64_t)blockIdx.x * WIDE;
    const int64_t j0 = box.lo[1] + (int64_t)blockIdx.y * HIGH;
    const int64_t i = i0 + x;
    const int64_t j = j0 + y;
    const int64_t k_lo = box.lo[2] + (int64_t)blockIdx.z * DEPTH;
    const int64_t k_hi = k_lo + DEPTH < box.hi[2] ? k_lo + DEPTH : box.hi[2];
    const bool mine = i < box.hi[0] && j < box.hi[1];

    const int total = 5 * m.count * m.of.n;
    const bool fits = total <= (int)(SEGMENT_BYTES / sizeof(REAL));
    for (int n = threadIdx.x; fits && n < total; n += THREADS) {
        tile.segments[n] = m.segments()[n];
    }
    __syncthreads();
    const column<REAL> column = {view, m, fits ? tile.segments : m.segments()};

    const struct duty duty = duty_of(view, rules, box, i0, j0);
    const bool beside =
        (i == box.hi[0] && j < box.hi[1] && !(i >= view.cells[0] && rules.closed[FACE_X_MAX])) ||
        (j == box.hi[1] && i < box.hi[0] && !(j >= view.cells[1] && rules.closed[FACE_Y_MAX]));

    /* the block has cells at the ends of the field in x or y */
    const bool touches =
        i0 == 0 || j0 == 0 || i0 + WIDE >= view.cells[0] || j0 + HIGH >= view.cells[1];

    REAL u = 0;
    REAL u_next = 0;
    int of_class = 0;
    int class_next = 0;
    nonlinear_value<REAL> below = {};
    nonlinear_value<REAL> own = {};
    nonlinear_value<REAL> above = {};
    REAL g_below = 0;
    if (mine && !(k_lo == 0 && rules.closed[FACE_Z_MIN])) {
        below = column.evaluate(i, j, k_lo - 1, u, of_class);
    }
    for (int64_t k = k_lo - 1; k < k_hi; k++) {
        /* plane k + 1, of which only this column is needed beyond the last one */
        const int64_t next = k + 1;
        const bool last = next == k_hi;
        const bool is_there = !(next == view.cells[2] && rules.closed[FACE_Z_MAX]);
        if ((mine && is_there) || (beside && !last)) {
            above = column.evaluate(i, j, next, u_next, class_next);
        }
        if (!last) {
            tile.of[next & 1][y + 1][x + 1] = above;
            if (duty.is) {
                REAL ignored;
                int unused;
                tile.of[next & 1][duty.y + 1][duty.x + 1] =
                    column.evaluate(duty.i, duty.j, next, ignored, unused);
            }
        }
        if (k >= k_lo) {
            const int64_t cell[AXIS_COUNT] = {i, j, k};
            const around<REAL> at = {tile.of[k & 1], cell, of_class, below, own,
                                     above,          mine, k == k_lo};
            const bool faces = touches || k == 0 || k == view.cells[2] - 1;
            advance_cell<PLAIN>(view, rules, m, at, u, faces, g_below);
        }
        if (k >= k_lo) {
            below = own;
        }
        own = above;
        u = u_next;
        of_class = class_next;
        __syncthreads();
    }
    finish_face_sums(rules);
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct step_args *args, void *d_out,
                         const void *d_in, const struct box *box)
{
    const dim3 grid((unsigned)((box->hi[0] - box->lo[0] + WIDE - 1) / WIDE),
                    (unsigned)((box->hi[1] - box->lo[1] + HIGH - 1) / HIGH),
                    (unsigned)((box->hi[2] - box->lo[2] + DEPTH - 1) / DEPTH));
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    const nonlinear<REAL> m = nonlinear_of<REAL>(args->medium);
    if (args->medium->plain) {
        step_nonlinear<REAL, true><<<grid, THREADS, 0, stream>>>(view, rules, m, *box);
    } else {
        step_nonlinear<REAL, false><<<grid, THREADS, 0, stream>>>(view, rules, m, *box);
    }
    return hipGetLastError();
}

bool hip_step_nonlinear_takes(const struct box *box)
{
    const int64_t most = 65535; /* blocks in y and z */
    return box->hi[0] - box->lo[0] >= 24 && box->hi[1] - box->lo[1] >= 8 &&
           box->hi[2] - box->lo[2] >= 4 && (box->hi[1] - box->lo[1]) / HIGH < most &&
           (box->hi[2] - box->lo[2]) / DEPTH < most;
}

hipError_t hip_launch_step_nonlinear(hipStream_t stream, struct hip_scratch *d_scratch,
                                     const struct layout *layout, const struct step_args *args,
                                     void *d_out, const void *d_in, const struct box *box,
                                     const struct hip_launch_shape *)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch<double>(stream, d_scratch, layout, args, d_out, d_in, box)
               : launch<float>(stream, d_scratch, layout, args, d_out, d_in, box);
}

/* --- conversions ----------------------------------------------------------------------------- */

enum { CONVERT_THREADS = 256, MOST_BLOCKS = 1 << 20 };

template <typename REAL>
static __global__ __launch_bounds__(CONVERT_THREADS) void convert(
    const grid_view<REAL> view, const nonlinear<REAL> m, enum enthalpy_conversion conversion)
{
    const int64_t nx = view.cells[0];
    const int64_t ny = view.cells[1];
    const int64_t total = nx * ny * view.cells[2];
    for (int64_t n = (int64_t)blockIdx.x * CONVERT_THREADS + threadIdx.x; n < total;
         n += (int64_t)gridDim.x * CONVERT_THREADS) {
        const int64_t i = n % nx;
        const int64_t j = n / nx % ny;
        const int64_t k = n / (nx * ny);
        const int of_class = m.class_at(i, j, k);
        const REAL *segments = m.segments() + (int64_t)5 * m.count * of_class;
        const REAL x = view.in[view.at(i, j, k)];
        view.out[view.at(i, j, k)] = conversion == CONVERT_TO_ENTHALPY
                                         ? nonlinear_enthalpy(segments, m.count, x)
                                         : nonlinear_at(segments, m.count, x).t;
    }
}

template <typename REAL>
static hipError_t launch_convert(hipStream_t stream, const struct layout *layout,
                                 const struct medium_args *medium,
                                 enum enthalpy_conversion conversion, const void *d_in, void *d_out)
{
    const int64_t cells = layout->cells[0] * layout->cells[1] * layout->cells[2];
    const int64_t blocks = (cells + CONVERT_THREADS - 1) / CONVERT_THREADS;
    convert<REAL>
        <<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS), CONVERT_THREADS, 0,
           stream>>>(view_of<REAL>(layout, d_out, d_in), nonlinear_of<REAL>(medium), conversion);
    return hipGetLastError();
}

hipError_t hip_launch_convert(hipStream_t stream, const struct layout *layout,
                              const struct medium_args *medium, enum enthalpy_conversion conversion,
                              const void *d_in, void *d_out)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch_convert<double>(stream, layout, medium, conversion, d_in, d_out)
               : launch_convert<float>(stream, layout, medium, conversion, d_in, d_out);
}

/* `fraction` points to cell (0, 0, 0). */
template <typename REAL>
static __global__ __launch_bounds__(CONVERT_THREADS) void liquid(const grid_view<REAL> view,
                                                                 const nonlinear<REAL> m,
                                                                 double *fraction, int64_t pitch_y,
                                                                 int64_t pitch_z)
{
    const int64_t nx = view.cells[0];
    const int64_t ny = view.cells[1];
    const int64_t total = nx * ny * view.cells[2];
    for (int64_t n = (int64_t)blockIdx.x * CONVERT_THREADS + threadIdx.x; n < total;
         n += (int64_t)gridDim.x * CONVERT_THREADS) {
        const int64_t i = n % nx;
        const int64_t j = n / nx % ny;
        const int64_t k = n / (nx * ny);
        fraction[i + j * pitch_y + k * pitch_z] = (double)nonlinear_liquid(
            m.numbers() + NONLINEAR_NUMBERS * m.class_at(i, j, k), view.in[view.at(i, j, k)]);
    }
}

template <typename REAL>
static hipError_t launch_liquid(hipStream_t stream, const struct layout *layout,
                                const struct layout *kept, const struct medium_args *medium,
                                const void *d_field, double *d_fraction)
{
    const int64_t cells = layout->cells[0] * layout->cells[1] * layout->cells[2];
    const int64_t blocks = (cells + CONVERT_THREADS - 1) / CONVERT_THREADS;
    liquid<REAL>
        <<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS), CONVERT_THREADS, 0,
           stream>>>(view_of<REAL>(layout, nullptr, d_field), nonlinear_of<REAL>(medium),
                     d_fraction + kept->origin, kept->pitch_y, kept->pitch_z);
    return hipGetLastError();
}

hipError_t hip_launch_liquid_fraction(hipStream_t stream, const struct layout *layout,
                                      const struct layout *kept, const struct medium_args *medium,
                                      const void *d_field, double *d_fraction)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch_liquid<double>(stream, layout, kept, medium, d_field, d_fraction)
               : launch_liquid<float>(stream, layout, kept, medium, d_field, d_fraction);
}
