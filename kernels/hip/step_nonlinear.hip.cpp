/* The step kernel for large boxes where properties depend on temperature: tiles that march in z.
 * Each cell is evaluated once, by its thread, and each face once, by the thread of its lower cell;
 * neighbours in x and y share them, those in z stay in registers. What plane k + 2 needs is loaded
 * while plane k is computed. And the conversions between enthalpy and temperature. */
#include "kernels/hip/nonlinear.h"

enum { WIDE = 32, HIGH = 12, THREADS = WIDE * HIGH, DEPTH = 64, RESIDENT = 2 };
/* The numbers and segments of all classes that are kept in shared memory, in bytes; others are read
 * from the caches. */
enum { TABLE_BYTES = 8192 };

template <typename REAL> struct shared_tile {
    nonlinear_value<REAL> of[2][HIGH + 2][WIDE + 2]; /* by plane, modulo 2 */
    REAL gx[2][HIGH][WIDE + 1];                      /* of the lower face of cell x */
    REAL gy[2][HIGH + 1][WIDE];                      /* of cell y */
    REAL table[TABLE_BYTES / sizeof(REAL)];
    uint8_t of_class[2][HIGH + 2][WIDE + 2]; /* if faces need them */
};

/* What a cell's thread reads of it. */
template <typename REAL> struct sample {
    REAL u;
    int of_class;
};

/* A cell in each plane: where it is in the field, from plane to plane. */
template <typename REAL> struct column {
    const REAL *in;
    const uint8_t *classes;
    int segment; /* of its cell evaluated last */
};

template <typename REAL>
static __device__ __forceinline__ column<REAL> column_at(const grid_view<REAL> &view,
                                                         const medium<REAL> &m, int64_t i,
                                                         int64_t j, int64_t k)
{
    return {view.in + view.at(i, j, k), m.classes + (i + j * m.pitch_y + k * m.pitch_z), 0};
}

/* The cell of the column, which then steps to the next plane; wanted: else it is not read. */
template <typename REAL>
static __device__ __forceinline__ sample<REAL> next_sample(column<REAL> &column,
                                                           const grid_view<REAL> &view,
                                                           const medium<REAL> &m, bool wanted)
{
    sample<REAL> cell = {};
    if (wanted) {
        cell.u = *column.in;
        cell.of_class = *column.classes & m.mask;
    }
    column.in += view.pitch_z;
    column.classes += m.pitch_z;
    return cell;
}

/* The numbers and segments of all classes, wherever they are. */
template <typename REAL> struct tables {
    const REAL *numbers, *segments;
    int count;

    __device__ __forceinline__ nonlinear_value<REAL> evaluate(const sample<REAL> &cell,
                                                              int &segment) const
    {
        return nonlinear_near(segments + 5 * count * cell.of_class, count, cell.u, segment);
    }
};

/* g of a face between two cells. PLAIN: of the same w, without resistance. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ REAL face_g(const nonlinear<REAL> &m, const tables<REAL> &tables,
                                              int axis, REAL plain_w, int own_class, REAL k,
                                              int other_class, REAL other_k)
{
    if (PLAIN) {
        return nonlinear_g(k, plain_w, other_k, plain_w, (REAL)0);
    }
    return nonlinear_g(k, tables.numbers[NONLINEAR_NUMBERS * own_class + axis], other_k,
                       tables.numbers[NONLINEAR_NUMBERS * other_class + axis],
                       m.of.table[medium_g_at(m.of.n, axis, own_class, other_class)]);
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
    const int64_t i = i0 + duty.x;
    const int64_t j = j0 + duty.y;
    duty.is = duty.is && i <= box.hi[0] && j <= box.hi[1] && !(i < 0 && rules.closed[FACE_X_MIN]) &&
              !(j < 0 && rules.closed[FACE_Y_MIN]) &&
              !(i >= view.cells[0] && rules.closed[FACE_X_MAX]) &&
              !(j >= view.cells[1] && rules.closed[FACE_Y_MAX]);
    return duty;
}

/* A cell of plane k: evaluated, and put where its neighbours find it. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ void share_cell(shared_tile<REAL> &tile, int plane, int x, int y,
                                                  const nonlinear_value<REAL> &value, int of_class)
{
    tile.of[plane][y + 1][x + 1] = value;
    if (!PLAIN) {
        tile.of_class[plane][y + 1][x + 1] = (uint8_t)of_class;
    }
}

/* The same of the cell around the tile. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ void share_beyond(const tables<REAL> &tables,
                                                    shared_tile<REAL> &tile, int plane,
                                                    const struct duty &duty,
                                                    const sample<REAL> &cell, int &segment)
{
    if (duty.is) {
        share_cell<PLAIN>(tile, plane, duty.x, duty.y, tables.evaluate(cell, segment),
                          cell.of_class);
    }
}

/* g of the upper face in x or y of cell (x, y) of the tile, as if it were open. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ REAL upper_g(const nonlinear<REAL> &m, const tables<REAL> &tables,
                                               const shared_tile<REAL> &tile, int plane, int axis,
                                               REAL plain_w, int x, int y, int own_class, REAL k)
{
    const int other_x = x + 1 + (axis == 0 ? 1 : 0);
    const int other_y = y + 1 + (axis == 1 ? 1 : 0);
    const int other_class = PLAIN ? 0 : tile.of_class[plane][other_y][other_x];
    return face_g<PLAIN>(m, tables, axis, plain_w, own_class, k, other_class,
                         tile.of[plane][other_y][other_x].k);
}

/* g of the lower faces of the tile, by the thread that has evaluated the cells below. */
template <bool PLAIN, typename REAL>
static __device__ __forceinline__ void share_lower(const nonlinear<REAL> &m,
                                                   const tables<REAL> &tables,
                                                   shared_tile<REAL> &tile, int plane,
                                                   const REAL (&w)[AXIS_COUNT],
                                                   const struct duty &duty)
{
    if (!duty.is || (duty.x >= 0 && duty.y >= 0)) {
        return;
    }
    const int own_class = PLAIN ? 0 : tile.of_class[plane][duty.y + 1][duty.x + 1];
    const REAL k = tile.of[plane][duty.y + 1][duty.x + 1].k;
    if (duty.x < 0) {
        tile.gx[plane][duty.y][0] =
            upper_g<PLAIN>(m, tables, tile, plane, 0, w[0], duty.x, duty.y, own_class, k);
    } else {
        tile.gy[plane][0][duty.x] =
            upper_g<PLAIN>(m, tables, tile, plane, 1, w[1], duty.x, duty.y, own_class, k);
    }
}

/* Is (i, j), which has no cell of the box, beside it, where a face needs its cell? */
template <typename REAL>
static __device__ __forceinline__ bool is_beside(const grid_view<REAL> &view,
                                                 const rules<REAL> &rules, const struct box &box,
                                                 int64_t i, int64_t j)
{
    return (i == box.hi[0] && j < box.hi[1] && !(i >= view.cells[0] && rules.closed[FACE_X_MAX])) ||
           (j == box.hi[1] && i < box.hi[0] && !(j >= view.cells[1] && rules.closed[FACE_Y_MAX]));
}

/* The differences of temperatures in x and y. */
template <typename REAL>
static __device__ __forceinline__ void differ(const shared_tile<REAL> &tile, int plane, int x,
                                              int y, REAL t, REAL (&d)[FACE_COUNT])
{
    d[FACE_X_MIN] = tile.of[plane][y + 1][x].t - t;
    d[FACE_X_MAX] = tile.of[plane][y + 1][x + 2].t - t;
    d[FACE_Y_MIN] = tile.of[plane][y][x + 1].t - t;
    d[FACE_Y_MAX] = tile.of[plane][y + 2][x + 1].t - t;
}

/* All faces of the cell, as close_face. */
template <typename REAL>
static __device__ __forceinline__ void close_faces(const grid_view<REAL> &view,
                                                   const rules<REAL> &rules,
                                                   const nonlinear<REAL> &m,
                                                   const int64_t (&cell)[AXIS_COUNT], int of_class,
                                                   const nonlinear_value<REAL> &own, bool mine,
                                                   REAL (&g)[FACE_COUNT], REAL (&d)[FACE_COUNT])
{
    close_face<FACE_X_MIN>(view, rules, m, cell, of_class, own, mine, g, d);
    close_face<FACE_X_MAX>(view, rules, m, cell, of_class, own, mine, g, d);
    close_face<FACE_Y_MIN>(view, rules, m, cell, of_class, own, mine, g, d);
    close_face<FACE_Y_MAX>(view, rules, m, cell, of_class, own, mine, g, d);
    close_face<FACE_Z_MIN>(view, rules, m, cell, of_class, own, mine, g, d);
    close_face<FACE_Z_MAX>(view, rules, m, cell, of_class, own, mine, g, d);
}

/* What a block computes: planes from k_lo on of the tile that begins at (i0, j0). */
struct march {
    int64_t i0, j0, k_lo;
    int nplanes;
};

/* The march of a tile. CLOSED: some of its cells may lie on closed faces; else it needs fewer
 * registers. */
template <bool PLAIN, bool CLOSED, typename REAL>
static __device__ __forceinline__ void step_tile(const grid_view<REAL> &view,
                                                 const rules<REAL> &rules, const nonlinear<REAL> &m,
                                                 const struct box &box, const tables<REAL> &tables,
                                                 shared_tile<REAL> &tile, const struct march &march)
{
    const int x = threadIdx.x % WIDE;
    const int y = threadIdx.x / WIDE;
    const int64_t i = march.i0 + x;
    const int64_t j = march.j0 + y;
    const int64_t k_lo = march.k_lo;
    const int nplanes = march.nplanes;
    const bool mine = i < box.hi[0] && j < box.hi[1];
    const struct duty duty = duty_of(view, rules, box, march.i0, march.j0);
    const bool evaluates = mine || is_beside(view, rules, box, i, j);
    const bool below_is = mine && !(k_lo == 0 && rules.closed[FACE_Z_MIN]);
    const bool above_is = mine && !(k_lo + nplanes == view.cells[2] && rules.closed[FACE_Z_MAX]);
    const REAL w[AXIS_COUNT] = {tables.numbers[0], tables.numbers[1], tables.numbers[2]};

    column<REAL> around = column_at(view, m.of, march.i0 + duty.x, march.j0 + duty.y, k_lo);
    column<REAL> column = column_at(view, m.of, i, j, k_lo - 1);
    REAL *out = view.out + view.at(i, j, k_lo);
    const sample<REAL> lowest = next_sample(column, view, m.of, below_is);
    sample<REAL> cell = next_sample(column, view, m.of, evaluates);
    const sample<REAL> beyond = next_sample(around, view, m.of, duty.is);
    /* of the plane above the last one only what lies in the box is wanted */
    sample<REAL> next = next_sample(column, view, m.of, nplanes > 1 ? evaluates : above_is);
    sample<REAL> beyond_next = next_sample(around, view, m.of, duty.is && nplanes > 1);

    nonlinear_value<REAL> below = tables.evaluate(lowest, column.segment);
    nonlinear_value<REAL> own = tables.evaluate(cell, column.segment);
    share_cell<PLAIN>(tile, 0, x, y, own, cell.of_class);
    share_beyond<PLAIN>(tables, tile, 0, duty, beyond, around.segment);
    REAL g_below =
        face_g<PLAIN>(m, tables, 2, w[2], lowest.of_class, below.k, cell.of_class, own.k);
    __syncthreads();

    for (int p = 0; p < nplanes; p++) {
        const int plane = p & 1;
        const sample<REAL> after = next_sample(
            column, view, m.of, p + 2 < nplanes ? evaluates : p + 2 == nplanes && above_is);
        const sample<REAL> beyond_after =
            next_sample(around, view, m.of, duty.is && p + 2 < nplanes);

        REAL g[FACE_COUNT];
        REAL d[FACE_COUNT];
        g[FACE_X_MAX] = upper_g<PLAIN>(m, tables, tile, plane, 0, w[0], x, y, cell.of_class, own.k);
        g[FACE_Y_MAX] = upper_g<PLAIN>(m, tables, tile, plane, 1, w[1], x, y, cell.of_class, own.k);
        tile.gx[plane][y][x + 1] = g[FACE_X_MAX];
        tile.gy[plane][y + 1][x] = g[FACE_Y_MAX];
        share_lower<PLAIN>(m, tables, tile, plane, w, duty);
        differ(tile, plane, x, y, own.t, d);

        const nonlinear_value<REAL> above = tables.evaluate(next, column.segment);
        if (p + 1 < nplanes) {
            share_cell<PLAIN>(tile, plane ^ 1, x, y, above, next.of_class);
            share_beyond<PLAIN>(tables, tile, plane ^ 1, duty, beyond_next, around.segment);
        }
        d[FACE_Z_MIN] = below.t - own.t;
        d[FACE_Z_MAX] = above.t - own.t;
        g[FACE_Z_MIN] = g_below;
        g[FACE_Z_MAX] =
            face_g<PLAIN>(m, tables, 2, w[2], cell.of_class, own.k, next.of_class, above.k);
        g_below = g[FACE_Z_MAX];
        __syncthreads();
        g[FACE_X_MIN] = tile.gx[plane][y][x];
        g[FACE_Y_MIN] = tile.gy[plane][y][x];
        if (CLOSED) {
            const int64_t at[AXIS_COUNT] = {i, j, k_lo + p};
            close_faces(view, rules, m, at, cell.of_class, own, mine, g, d);
        }
        if (mine) {
            *out =
                nonlinear_cell(tables.numbers + NONLINEAR_NUMBERS * cell.of_class,
                               m.of.table[medium_cell_at(cell.of_class) + 1], cell.u, own.t, g, d);
        }
        out += view.pitch_z;
        below = own;
        own = above;
        cell = next;
        next = after;
        beyond_next = beyond_after;
    }
}

/* FITS: the tables are in shared memory. */
template <typename REAL, bool PLAIN, bool FITS>
static __global__ __launch_bounds__(THREADS,
                                    RESIDENT) void step_nonlinear(const grid_view<REAL> view,
                                                                  const rules<REAL> rules,
                                                                  const nonlinear<REAL> m,
                                                                  const struct box box)
{
    __shared__ shared_tile<REAL> tile;
    struct march march = {};
    march.i0 = box.lo[0] + (int64_t)blockIdx.x * WIDE;
    march.j0 = box.lo[1] + (int64_t)blockIdx.y * HIGH;
    march.k_lo = box.lo[2] + (int64_t)blockIdx.z * DEPTH;
    march.nplanes = (int)(march.k_lo + DEPTH < box.hi[2] ? (int64_t)DEPTH : box.hi[2] - march.k_lo);
    const bool touches = march.i0 == 0 || march.j0 == 0 || march.k_lo == 0 ||
                         march.i0 + WIDE >= view.cells[0] || march.j0 + HIGH >= view.cells[1] ||
                         march.k_lo + march.nplanes == view.cells[2];
    const int total = (NONLINEAR_NUMBERS + 5 * m.count) * m.of.n;
    for (int n = threadIdx.x; FITS && n < total; n += THREADS) {
        tile.table[n] = m.numbers()[n];
    }
    __syncthreads();
    const REAL *const numbers = FITS ? tile.table : m.numbers();
    const tables<REAL> tables = {numbers, numbers + NONLINEAR_NUMBERS * m.of.n, m.count};
    if (touches) {
        step_tile<PLAIN, true>(view, rules, m, box, tables, tile, march);
    } else {
        step_tile<PLAIN, false>(view, rules, m, box, tables, tile, march);
    }
    finish_face_sums(rules);
}

template <typename REAL, bool PLAIN>
static void launch_as(const dim3 grid, hipStream_t stream, const grid_view<REAL> &view,
                      const rules<REAL> &rules, const nonlinear<REAL> &m, const struct box &box)
{
    const size_t table = (size_t)(NONLINEAR_NUMBERS + 5 * m.count) * (size_t)m.of.n;
    if (table * sizeof(REAL) <= TABLE_BYTES) {
        step_nonlinear<REAL, PLAIN, true><<<grid, THREADS, 0, stream>>>(view, rules, m, box);
    } else {
        step_nonlinear<REAL, PLAIN, false><<<grid, THREADS, 0, stream>>>(view, rules, m, box);
    }
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
        launch_as<REAL, true>(grid, stream, view, rules, m, *box);
    } else {
        launch_as<REAL, false>(grid, stream, view, rules, m, *box);
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
