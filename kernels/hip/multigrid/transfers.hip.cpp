/* Operations of the multigrid between two grids, and those that need the heat that flows into a
 * cell: a thread goes along z, or has all children of a coarse cell, so that neighbours are read
 * once. */
#include "kernels/hip/device/visit.h"

#include "kernels/hip/multigrid/smooth.h"

/* Threads of a row in a block: its other rows are next to it, and find neighbours in the L1 cache.
 */
enum { TRANSFER_LANES = ARCH_WAVE };

struct alignas(8) two_floats {
    float v[2];
};

static __device__ __forceinline__ bool is_paired(const multigrid &coarse, int axis)
{
    return coarse.children[axis] == 2 && coarse.active[axis];
}

/* --- a step of Jacobi's method, and the heat that flows out -------------------------------------
 */

/* relax_cell, or flow_out_cell, of the planes from `depth` times the third index on. */
template <bool RELAXES> struct flow_column {
    struct multigrid m;
    float weight;
    const float *e, *r; /* or NULL: 0 */
    float *out;
    int depth;

    __device__ __forceinline__ float value(int64_t at) const
    {
        return e != nullptr ? e[at] : 0;
    }
    __device__ __forceinline__ pair conductances(int axis, int64_t cell, int64_t at,
                                                 int64_t high) const
    {
        if (m.d_line[0] != nullptr) {
            return {multigrid_line(&m, axis, LINE_LOW, cell),
                    multigrid_line(&m, axis, LINE_HIGH, cell)};
        }
        return {m.d_g[axis][at], m.d_g[axis][at + high]};
    }
    static __device__ __forceinline__ void add(struct multigrid_flow &flow, const pair &g, float c,
                                               const pair &by)
    {
        flow.total += g.low + g.high;
        flow.heat = fmaf(g.low, by.low - c, fmaf(g.high, by.high - c, flow.heat));
    }

    __device__ void operator()(int64_t i, int64_t j, int64_t part) const
    {
        const int64_t nz = m.layout.cells[AXIS_Z], begin = part * depth;
        const int64_t end = begin + depth < nz ? begin + depth : nz;
        const int64_t x_low = multigrid_beside(&m, AXIS_X, i, -1);
        const int64_t x_high = multigrid_beside(&m, AXIS_X, i, 1);
        const int64_t y_low = multigrid_beside(&m, AXIS_Y, j, -1);
        const int64_t y_high = multigrid_beside(&m, AXIS_Y, j, 1);
        const bool lines = m.d_line[0] != nullptr;
        int64_t at = element_at(m.layout, i, j, begin);
        pair z = {0, m.active[AXIS_Z] && !lines ? m.d_g[AXIS_Z][at] : 0};
        pair near = {0, m.active[AXIS_Z] ? value(at + multigrid_beside(&m, AXIS_Z, begin, -1)) : 0};
        float c = value(at);
        for (int64_t k = begin; k < end; k++, at += m.layout.pitch_z) {
            struct multigrid_flow flow = {0, 0};
            const float here = c;
            if (m.d_sink != nullptr) {
                flow.total = m.sink * m.d_sink[at];
                flow.heat = e != nullptr ? -flow.total * here : 0;
            }
            if (m.active[AXIS_Z]) {
                const int64_t high = multigrid_beside(&m, AXIS_Z, k, 1);
                z = lines ? conductances(AXIS_Z, k, at, high)
                          : pair{z.high, m.d_g[AXIS_Z][at + high]};
                near.low = near.high;
                near.high = here;
                c = value(at + high);
                add(flow, z, here, {near.low, c});
            }
            if (m.active[AXIS_Y]) {
                add(flow, conductances(AXIS_Y, j, at, y_high), here,
                    {value(at + y_low), value(at + y_high)});
            }
            if (m.active[AXIS_X]) {
                add(flow, conductances(AXIS_X, i, at, x_high), here,
                    {value(at + x_low), value(at + x_high)});
            }
            out[at] = RELAXES
                          ? fmaf(weight, (r[at] + flow.heat) * multigrid_inverse(flow.total), here)
                      : r != nullptr ? r[at] + flow.heat
                                     : -flow.heat;
        }
    }
};

/* Planes per thread: as many as leave `threads`, since small grids need all of these. */
static int depth_of(const struct box *cells, int64_t threads)
{
    const int64_t depth = box_cells(cells) / threads;
    return depth < 1 ? 1 : depth > 16 ? 16 : (int)depth;
}

template <bool RELAXES>
static enum status flow(struct queue *queue, flow_column<RELAXES> column, const char *what)
{
    struct box cells = layout_owned(&column.m.layout);
    column.depth = depth_of(&cells, 1 << 17);
    cells.hi[AXIS_Z] = (cells.hi[AXIS_Z] + column.depth - 1) / column.depth;
    return visit(queue, cells, column, what, TRANSFER_LANES);
}

enum status hip_relax(struct queue *queue, const struct relax_args *a)
{
    return flow(queue, flow_column<true>{a->grid, a->weight, a->d_e, a->d_r, a->d_out, 0}, "relax");
}

enum status hip_flow_out(struct queue *queue, const struct flow_out_args *a)
{
    return flow(queue, flow_column<false>{a->grid, 0, a->d_e, a->d_b, a->d_out, 0}, "flow_out");
}

/* --- interpolate --- */

/* On grids with tables: interpolate_cell of the planes from `depth`, an even number, times the
 * third index on: a coarse plane is interpolated in x and y once for all that lie beside it. */
struct interpolate_column {
    struct interpolate_args args;
    int depth;

    __device__ void operator()(int64_t i, int64_t j, int64_t part) const
    {
        const struct multigrid &m = args.coarse;
        const int64_t nz = args.fine.layout.cells[AXIS_Z], begin = part * depth;
        const int64_t end = begin + depth < nz ? begin + depth : nz;
        const struct multigrid_place x = multigrid_place(&m, AXIS_X, i);
        const struct multigrid_place y = multigrid_place(&m, AXIS_Y, j);
        const float weight_x = multigrid_weight(&m, AXIS_X, &x, 0);
        const float weight_y = multigrid_weight(&m, AXIS_Y, &y, 0);
        const int64_t side_x = x.is_paired ? multigrid_beside(&m, AXIS_X, x.at, 2 * x.side - 1) : 0;
        const int64_t side_y = y.is_paired ? multigrid_beside(&m, AXIS_Y, y.at, 2 * y.side - 1) : 0;
        const float *const e = args.d_e + element_at(m.layout, x.at, y.at, 0);
        const auto across = [&](int64_t z) {
            const float *const c = e + z;
            const float near = fmaf(weight_x, c[side_x] - c[0], c[0]);
            const float far = fmaf(weight_x, c[side_y + side_x] - c[side_y], c[side_y]);
            return fmaf(weight_y, far - near, near);
        };
        float *to = args.d_out + element_at(args.fine.layout, i, j, begin);
        float own = 0, high = 0;
        for (int64_t k = begin; k < end; k++, to += args.fine.layout.pitch_z) {
            const struct multigrid_place z = multigrid_place(&m, AXIS_Z, k);
            const int64_t at = z.at * m.layout.pitch_z;
            const int64_t side =
                z.is_paired ? multigrid_beside(&m, AXIS_Z, z.at, 2 * z.side - 1) : 0;
            const float below = own;
            own = z.side > 0 ? own : k > begin && z.is_paired ? high : across(at);
            high = z.side == 0 && k > begin && z.is_paired ? below : across(at + side);
            *to = args.factor * fmaf(multigrid_weight(&m, AXIS_Z, &z, 0), high - own, own);
        }
    }
};

/* A coarse cell on one axis: the elements to its neighbours and the weights of these, by side; and
 * the number of its children. */
struct around_children {
    int64_t away[2];
    float weight[2];
    int count;

    __device__ __forceinline__ around_children(const interpolate_args &a, int axis, int64_t cell,
                                               int64_t element)
    {
        const bool paired = is_paired(a.coarse, axis);
        for (int side = 0; side < 2; side++) {
            away[side] = paired ? multigrid_beside(&a.coarse, axis, cell, 2 * side - 1) : 0;
            weight[side] = paired ? a.coarse.d_w[2 * axis + side][element] : 0;
        }
        count = (int)multigrid_children(&a.fine, &a.coarse, axis, cell).count;
    }
};

/* On grids with weights per cell: all children of a coarse cell. */
struct interpolate_children {
    struct interpolate_args args;

    /* A plane of coarse cells at the children in x and y. */
    static __device__ __forceinline__ void across(const float *e, const around_children &x,
                                                  const around_children &y, float (&to)[2][2])
    {
        float row[3][2];
#pragma unroll
        for (int n = 0; n < 3; n++) {
            const float *const at = e + (n > 0 ? y.away[n > 0 ? n - 1 : 0] : 0);
            const float c = at[0];
#pragma unroll
            for (int side = 0; side < 2; side++) {
                row[n][side] = fmaf(x.weight[side], at[x.away[side]] - c, c);
            }
        }
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const float own = row[0][n & 1];
            to[n >> 1][n & 1] = fmaf(y.weight[n >> 1], row[1 + (n >> 1)][n & 1] - own, own);
        }
    }

    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const struct layout &fine = args.fine.layout;
        const int64_t element = element_at(args.coarse.layout, i, j, k);
        const int *const children = args.coarse.children;
        const around_children x(args, AXIS_X, i, element), y(args, AXIS_Y, j, element),
            z(args, AXIS_Z, k, element);
        const int64_t to = element_at(fine, i * children[0], j * children[1], k * children[2]);
        float own[2][2], beside[2][2];
        across(args.d_e + element, x, y, own);
#pragma unroll
        for (int side = 0; side < 2; side++) {
            if (side >= z.count) {
                continue;
            }
            across(args.d_e + element + z.away[side], x, y, beside);
#pragma unroll
            for (int row = 0; row < 2; row++) {
                two_floats value;
                float *const at = args.d_out + to + side * fine.pitch_z + row * fine.pitch_y;
#pragma unroll
                for (int n = 0; n < 2; n++) {
                    value.v[n] = args.factor *
                                 fmaf(z.weight[side], beside[row][n] - own[row][n], own[row][n]);
                }
                if (row < y.count && x.count == 2) {
                    *reinterpret_cast<two_floats *>(at) = value;
                } else if (row < y.count) {
                    *at = value.v[0];
                }
            }
        }
    }
};

enum status hip_interpolate(struct queue *queue, const struct interpolate_args *args)
{
    struct box cells = layout_owned(&args->fine.layout);
    if (args->coarse.d_line[0] == nullptr) {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int children = args->coarse.children[axis];
            cells.hi[axis] = (cells.hi[axis] + children - 1) / children;
        }
        return visit(queue, cells, interpolate_children{*args}, "interpolate", TRANSFER_LANES);
    }
    const int depth = box_cells(&cells) < 1 << 22 ? 2 : 16; /* small grids need the threads */
    cells.hi[AXIS_Z] = (cells.hi[AXIS_Z] + depth - 1) / depth;
    return visit(queue, cells, interpolate_column{*args, depth}, "interpolate");
}

/* --- gather_up: a wave marches in z along a row of coarse cells ---------------------------------
 */

enum { GATHER_TALL = VISIT_THREADS / ARCH_WAVE, GATHER_WIDE = ARCH_WAVE - 2 };

/* A coarse cell that gives to its neighbours, on one axis. */
struct giver {
    int64_t at; /* its index; that of the other end on a periodic axis */
    int count;  /* of its children; 0: there is no such cell */

    __device__ __forceinline__ giver(const gather_up_args &a, int axis, int64_t cell)
        : at(cell), count(0)
    {
        const int64_t n = a.coarse.layout.cells[axis];
        const bool paired = is_paired(a.coarse, axis);
        /* both at once: a choice of where to read makes gfx90a copy all arguments to scratch */
        const bool low = a.coarse.closed[2 * axis], high = a.coarse.closed[2 * axis + 1];
        const bool outside = cell < 0 || cell >= n;
        if (cell > n || (outside && (!paired || (cell < 0 ? low : high)))) {
            at = 0;
            return;
        }
        at += !outside || !a.coarse.wraps[axis] ? 0 : cell < 0 ? n : -n;
        count = (int)multigrid_children(&a.fine, &a.coarse, axis, at).count;
    }
};

/* The sums of a lane's cell in the plane below, in the plane of the givers, and above. */
struct gathered {
    float below, own, above;
};

struct gather_row {
    const gather_up_args &a;
    const giver x;
    const bool paired_x, paired_z;

    /* (weight or 1 - weight) of a child */
    static __device__ __forceinline__ float share(int away, float weight)
    {
        return away == 0 ? 1 - weight : weight;
    }

    /* Add what the row gives to the rows at -AWAY_Y, in the plane at -AWAY_Z, as
     * multigrid_gathered. */
    template <int AWAY_Y, int AWAY_Z>
    __device__ __forceinline__ float sum_of(float sum, const float (&w_x)[2], const float (&w_y)[2],
                                            const float (&w_z)[2],
                                            const two_floats (&r)[2][2]) const
    {
        float low = 0, own = 0, high = 0; /* to the cells before, here and after */
#pragma unroll
        for (int z = AWAY_Z < 0 ? 1 : 0; z < (AWAY_Z > 0 ? 1 : 2); z++) {
#pragma unroll
            for (int y = AWAY_Y < 0 ? 1 : 0; y < (AWAY_Y > 0 ? 1 : 2); y++) {
                const float y_share = share(AWAY_Y, w_y[y]), z_share = share(AWAY_Z, w_z[z]);
                const two_floats c = r[z][y];
                low = fmaf(w_x[0] * y_share * z_share, c.v[0], low);
                own = fmaf((1 - w_x[0]) * y_share * z_share, c.v[0], own);
                own = fmaf((1 - w_x[1]) * y_share * z_share, c.v[1], own);
                high = fmaf(w_x[1] * y_share * z_share, c.v[1], high);
            }
        }
        return ((sum + arch_shift_up(high, 1)) + own) + arch_shift_down(low, 1);
    }

    /* The row of givers y in the plane z. */
    template <int AWAY_Y>
    __device__ __forceinline__ void add(gathered &sum, const giver &y, const giver &z) const
    {
        const multigrid &m = a.coarse;
        const int64_t n = element_at(m.layout, x.at, y.at, z.at);
        const float *const from = a.d_r + element_at(a.fine.layout, x.at * m.children[0],
                                                     y.at * m.children[1], z.at * m.children[2]);
        const bool paired_y = is_paired(m, AXIS_Y);
        float w_x[2] = {}, w_y[2] = {}, w_z[2] = {};
        two_floats r[2][2] = {};
        if (x.count > 0) {
#pragma unroll
            for (int side = 0; side < 2; side++) {
                w_x[side] = paired_x ? m.d_w[side][n] : 0;
                w_y[side] =
                    paired_y && (AWAY_Y == 0 || side == (AWAY_Y < 0)) ? m.d_w[2 + side][n] : 0;
                w_z[side] = paired_z ? m.d_w[4 + side][n] : 0;
#pragma unroll
                for (int row = AWAY_Y < 0 ? 1 : 0; row < (AWAY_Y > 0 ? 1 : 2); row++) {
                    const float *const c =
                        from + side * a.fine.layout.pitch_z + row * a.fine.layout.pitch_y;
                    if (side < z.count && row < y.count && x.count == 2) {
                        r[side][row] = *reinterpret_cast<const two_floats *>(c);
                    } else if (side < z.count && row < y.count) {
                        r[side][row].v[0] = *c;
                    }
                }
            }
        }
        if (paired_z) {
            sum.above = sum_of<AWAY_Y, -1>(sum.above, w_x, w_y, w_z, r);
            sum.below = sum_of<AWAY_Y, 1>(sum.below, w_x, w_y, w_z, r);
        }
        sum.own = sum_of<AWAY_Y, 0>(sum.own, w_x, w_y, w_z, r);
    }
};

/* Each wave has a row; its first and last lanes only give. Planes from `depth` times the number of
 * the part on. The sums of a cell begin with the plane below, as those of multigrid_gathered. */
static __global__ __launch_bounds__(VISIT_THREADS) void gather_rows(const gather_up_args a,
                                                                    const unsigned across,
                                                                    const unsigned up,
                                                                    const int depth)
{
    const multigrid &m = a.coarse;
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const unsigned wave = arch_first_lane_value(threadIdx.x / ARCH_WAVE);
    const int64_t i = (int64_t)(blockIdx.x % across) * GATHER_WIDE + lane - 1;
    const int64_t j = (int64_t)(blockIdx.x / across % up) * GATHER_TALL + wave;
    const int64_t nz = m.layout.cells[AXIS_Z], begin = (int64_t)(blockIdx.x / across / up) * depth;
    const int64_t end = begin + depth < nz ? begin + depth : nz;
    if (j >= m.layout.cells[AXIS_Y]) {
        return;
    }
    const gather_row row = {a, giver(a, AXIS_X, i), is_paired(m, AXIS_X), is_paired(m, AXIS_Z)};
    const giver own(a, AXIS_Y, j), before(a, AXIS_Y, j - 1), after(a, AXIS_Y, j + 1);
    const bool paired_y = is_paired(m, AXIS_Y);
    const bool mine = lane > 0 && lane < ARCH_WAVE - 1 && i < m.layout.cells[AXIS_X];
    float *to = a.d_out + element_at(m.layout, mine ? i : 0, j, begin);
    gathered sum = {0, 0, 0};
    for (int64_t k = begin - (row.paired_z ? 1 : 0); k < end + (row.paired_z ? 1 : 0); k++) {
        const giver z(a, AXIS_Z, k);
        if (z.count > 0) {
            if (paired_y && before.count > 0) {
                row.add<-1>(sum, before, z);
            }
            row.add<0>(sum, own, z);
            if (paired_y && after.count > 0) {
                row.add<1>(sum, after, z);
            }
        }
        const int64_t whole = row.paired_z ? k - 1 : k; /* the plane whose sums are */
        if (whole >= begin) {
            if (mine) {
                *to = row.paired_z ? sum.below : sum.own;
            }
            to += m.layout.pitch_z;
        }
        sum = row.paired_z ? gathered{sum.own, sum.above, 0} : gathered{0, 0, 0};
    }
}

enum status hip_load_transfers(void)
{
    LOAD(0, visit_box<flow_column<true>>);
    LOAD(0, visit_box<flow_column<false>>);
    LOAD(0, visit_box<interpolate_children>);
    LOAD(0, visit_box<interpolate_column>);
    LOAD(0, gather_rows);
    return STATUS_OK;
}

enum status hip_gather_up(struct queue *queue, const struct gather_up_args *args)
{
    const struct box cells = layout_owned(&args->coarse.layout);
    const int64_t *n = args->coarse.layout.cells;
    const int depth = depth_of(&cells, 1 << 15);
    const unsigned across = (unsigned)((n[AXIS_X] + GATHER_WIDE - 1) / GATHER_WIDE);
    const unsigned up = (unsigned)((n[AXIS_Y] + GATHER_TALL - 1) / GATHER_TALL);
    const unsigned parts = (unsigned)((n[AXIS_Z] + depth - 1) / depth);
    if (box_is_empty(&cells)) {
        return STATUS_OK;
    }
    gather_rows<<<across * up * parts, VISIT_THREADS, 0, queue->stream>>>(*args, across, up, depth);
    return hip_check(hipGetLastError(), "gather_up");
}
