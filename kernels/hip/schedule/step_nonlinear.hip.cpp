/* The step kernel for large boxes where properties depend on temperature: tiles that march in z.
 *
 * The workers of a block evaluate theta of their cells once, for the plane above the one that they
 * advance; neighbours in x and y share it, those in z stay in registers. Waves of their own
 * evaluate the cells around the tile. Cells that need more than theta have launches of their own:
 * those on closed faces, which the box leaves out, and, where there are several curves, odd ones,
 * beside cells of another class, which write over what is written here. */
#include "kernels/hip/schedule/nonlinear_tile.h"

/* One place in the source, where all threads of a block meet. */
static __device__ __forceinline__ void meet()
{
    __syncthreads();
}

/* --- workers --------------------------------------------------------------------------------- */

/* A worker's cells in the box: bit i. */
template <typename F>
static __device__ __forceinline__ int cells_in_box(const struct box &box, int64_t i, int64_t j)
{
    int bits = 0;
    for (int c = 0; c < F::N; c++) {
        const bool in_box = i + c >= box.lo[0] && i + c < box.hi[0] && j < box.hi[1];
        bits |= in_box ? 1 << c : 0;
    }
    arch_keep(bits);
    return bits;
}

/* The class of cells 2 n and 2 n + 1 that have the flag: it is the same. */
template <typename F>
static __device__ __forceinline__ int flagged_class(const lookup<F> &lookup,
                                                    const cells_of<F> &cells, int n)
{
    const uint32_t pair = cells.all() >> (16 * n);
    return lookup.class_in(max(pair & 0xFF, pair >> 8 & 0xFF), 0);
}

template <typename F>
static __device__ __forceinline__ void store(typename F::REAL *to, int bits,
                                             const vec16<typename F::REAL> &values)
{
    if (bits == (1 << F::N) - 1) {
        arch_store_stream(to, values);
    } else if (bits != 0) {
#pragma unroll
        for (int i = 0; i < F::N; i++) {
            if ((bits >> i & 1) != 0) {
                to[i] = values.v[i];
            }
        }
    }
}

/* The r and q of cells 2 n and 2 n + 1. */
template <typename F> struct regions {
    four<typename F::REAL> of[F::KIND < CURVES ? 1 : F::N / 2];

    __device__ __forceinline__ const four<typename F::REAL> &at(int i) const
    {
        return of[F::KIND < CURVES ? 0 : i / 2];
    }
};

/* What S begins with, of a cell of the plane. */
template <typename F>
static __device__ __forceinline__ typename F::REAL source_of(const lookup<F> &lookup,
                                                             const regions<F> &regions,
                                                             uint32_t word, int i,
                                                             typename F::REAL u)
{
    typedef typename F::REAL REAL;
    const nonlinear<REAL> &m = lookup.m;
    const int of_class = F::KIND == ONE_CLASS ? 0 : lookup.class_in(word, i);
    const REAL q = F::KIND == ONE_CLASS   ? lookup.only_q
                   : F::KIND == ONE_CURVE ? lookup.q[of_class]
                                          : regions.at(i).v[3];
    if (!F::PERFUSED) {
        return q;
    }
    if (F::LINEAR) {
        const four<REAL> of = lookup.numbers[of_class];
        const REAL tissue[NONLINEAR_BLOOD + 1] = {0, 0, 0, of.v[0], of.v[1]};
        const REAL segment[1 + NONLINEAR_SEGMENT] = {lookup.segment->v[0], of.v[2], of.v[3]};
        return nonlinear_source(tissue, q, nonlinear_in(segment, 1, 0, u).temperature);
    }
    const REAL *numbers = m.numbers() + NONLINEAR_NUMBERS * of_class;
    const REAL t =
        nonlinear_at(m.segments() + nonlinear_pitch(m.count) * of_class, m.count, u).temperature;
    return nonlinear_source(numbers, q, t);
}

/* One plane of a worker. theta: of its cells, and of those around vector x in the tile, from the
 * row before its own; below, above: across the faces there. */
template <typename F>
static __device__ __forceinline__ vec16<typename F::REAL> advance(
    const lookup<F> &lookup, const regions<F> &regions, const cells_of<F> &cells,
    const vec16<typename F::REAL> &theta, const theta_row<typename F::REAL> *around, int x,
    const vec16<typename F::REAL> &below, const vec16<typename F::REAL> &above)
{
    typedef typename F::REAL REAL;
    constexpr int N = F::N;
    const vec16<REAL> before = around[0].get(x);
    const vec16<REAL> after = around[2].get(x);
    vec16<REAL> out;
    REAL dx = theta.v[0] - around[1].cell[N - 1][x - 1];
#pragma unroll
    for (int i = 0; i < N; i++) {
        const REAL own = theta.v[i];
        const REAL right = i + 1 < N ? theta.v[i + 1 < N ? i + 1 : i] : around[1].cell[0][x + 1];
        const REAL dx_after = right - own;
        const REAL u = cells.u.v[i];
        const four<REAL> &region = regions.at(i);
        const REAL g[FACE_COUNT] = {region.v[0], region.v[0], region.v[1],
                                    region.v[1], region.v[2], region.v[2]};
        const REAL d[FACE_COUNT] = {-dx,         dx_after,  -(own - before.v[i]), after.v[i] - own,
                                    -below.v[i], above.v[i]};
        out.v[i] = u + nonlinear_sum(g, d, source_of(lookup, regions, cells.all(), i, u));
        dx = dx_after;
    }
    return out;
}

template <typename REAL>
static __device__ __forceinline__ vec16<REAL> differ(const vec16<REAL> &to, const vec16<REAL> &from)
{
    vec16<REAL> d;
#pragma unroll
    for (int i = 0; i < vec16<REAL>::N; i++) {
        d.v[i] = to.v[i] - from.v[i];
    }
    return d;
}

template <typename F>
static __device__ __forceinline__ void work(const grid_view<typename F::REAL> &view,
                                            const lookup<F> &lookup, const theta_march &at,
                                            shared_tile<F> &tile)
{
    typedef typename F::REAL REAL;
    const medium<REAL> &m = lookup.m.of;
    const int x = threadIdx.x % WIDE;
    const int y = (int)threadIdx.x / WIDE;
    const int mine = cells_in_box<F>(at.plan.box, at.i0 + x * F::N, at.j0 + y);
    theta_column<F> column;
    column.begin(view, m, at.plan, at.i0 + x * F::N, at.j0 + y, at.k_lo - 1);
    REAL *to = view.out + (column.in - view.in);
    regions<F> regions = {{{{lookup.r[0], lookup.r[1], lookup.r[2], 0}}}};

    cells_of<F> here;
    cells_of<F> next;
    column.read(next);
    const vec16<REAL> theta_below = lookup.theta(next);
    column.step(view, m, true);
    column.read(here);
    vec16<REAL> theta = lookup.theta(here);
    vec16<REAL> below = differ(theta, theta_below); /* across the faces there */
    tile.theta[0][y + 1].set(x + 1, theta);
    column.step(view, m, true);
    column.read(next);
    meet();
    int plane = 0;
    for (int k = 0; k < at.planes; k++) {
        const int plane_above = plane + 1 < PLANES ? plane + 1 : 0;
        cells_of<F> after;
        column.step(view, m, k + 1 < at.planes);
        column.read(after);
        if (k + 1 + F::AHEAD < at.planes) {
            column.prefetch(view);
        }
        const vec16<REAL> theta_above = lookup.theta(next);
        tile.theta[plane_above][y + 1].set(x + 1, theta_above);
        arch_meeting_arrive(&tile.meeting);
        const vec16<REAL> above = differ(theta_above, theta);
        if (F::KIND >= CURVES) {
#pragma unroll
            for (int n = 0; n < F::N / 2; n++) {
                regions.of[n] = lookup.numbers[flagged_class(lookup, here, n)];
            }
        }
        const vec16<REAL> out =
            advance<F>(lookup, regions, here, theta, &tile.theta[plane][y], x + 1, below, above);
        to += view.pitch_z;
        store<F>(to, mine, out);
        arch_meeting_wait(&tile.meeting, (unsigned)k);
        plane = plane_above;
        here = next;
        next = after;
        theta = theta_above;
        below = above;
    }
}

/* --- beside the tile ------------------------------------------------------------------------- */

/* The waves beside the workers. */
template <typename F>
static __device__ __forceinline__ void attend(const grid_view<typename F::REAL> &view,
                                              const lookup<F> &lookup, const theta_march &at,
                                              shared_tile<F> &tile)
{
    typedef typename F::REAL REAL;
    const medium<REAL> &m = lookup.m.of;
    const int side = (int)threadIdx.x - F::WORKERS;
    const int of_x = side - 2 * WIDE;
    const bool beside = side < 2 * (WIDE + F::TY); /* else nothing to do */
    const int x = side < 2 * WIDE ? side % WIDE : of_x < F::TY ? -1 : WIDE;
    const int y = side < WIDE ? -1 : side < 2 * WIDE ? F::TY : beside ? of_x % F::TY : 0;
    theta_column<F> column;
    column.begin(view, m, at.plan, at.i0 + x * F::N, at.j0 + y, at.k_lo);
    cells_of<F> next;
    column.read(next);
    vec16<REAL> theta = lookup.theta(next);
    if (beside) {
        tile.theta[0][y + 1].set(x + 1, theta);
    }
    column.step(view, m, true);
    column.read(next);
    meet();
    int plane = 0;
    for (int k = 0; k < at.planes; k++) {
        plane = plane + 1 < PLANES ? plane + 1 : 0;
        cells_of<F> after;
        column.step(view, m, k + 1 < at.planes);
        column.read(after);
        if (k + 1 + F::AHEAD < at.planes) {
            column.prefetch(view);
        }
        theta = lookup.theta(next);
        if (beside) {
            tile.theta[plane][y + 1].set(x + 1, theta);
        }
        arch_meeting_arrive(&tile.meeting);
        arch_meeting_wait(&tile.meeting, (unsigned)k);
        next = after;
    }
}

template <typename F>
static __global__ __launch_bounds__(F::THREADS, F::BLOCKS) void step_nonlinear(
    const grid_view<typename F::REAL> view, const nonlinear<typename F::REAL> m,
    const struct plan plan)
{
    __shared__ shared_tile<F> tile;
    const int64_t k_lo = plan.box.lo[2] + (int64_t)blockIdx.z * plan.depth;
    const int64_t left = plan.box.hi[2] - k_lo;
    const theta_march at = {plan, plan.x_begin + (int64_t)blockIdx.x * F::TX,
                            plan.box.lo[1] + (int64_t)blockIdx.y * F::TY, k_lo,
                            (int)(left < plan.depth ? left : plan.depth)};
    const lookup<F> lookup = lookup_of<F>(m, tile);
    if (threadIdx.x == 0) {
        arch_meeting_init(&tile.meeting, F::THREADS);
    }
    meet();
    if (threadIdx.x < F::WORKERS) {
        work<F>(view, lookup, at, tile);
    } else {
        attend<F>(view, lookup, at, tile);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

template <typename F>
static hipError_t launch_as(hipStream_t stream, const grid_view<typename F::REAL> &view,
                            const nonlinear<typename F::REAL> &m, struct plan plan)
{
    const int64_t n[AXIS_COUNT] = {plan.box.hi[0] - plan.x_begin, plan.box.hi[1] - plan.box.lo[1],
                                   plan.box.hi[2] - plan.box.lo[2]};
    const int64_t tiles[] = {(n[0] + F::TX - 1) / F::TX, (n[1] + F::TY - 1) / F::TY};
    if (plan.depth == 0) { /* many, since each block reads two more, but blocks enough */
        plan.depth = tiles[0] * tiles[1] * n[2] / 64 < 1024 ? 16 : 64;
    }
    const dim3 grid((unsigned)tiles[0], (unsigned)tiles[1],
                    (unsigned)((n[2] + plan.depth - 1) / plan.depth));
    step_nonlinear<F><<<grid, F::THREADS, 0, stream>>>(view, m, plan);
    return hipGetLastError();
}

/* Divide the box into its inner part, which is returned, and what lies on closed faces: at most a
 * slab per face. */
static struct box inner_box(const struct layout *layout, const struct coefficients *args,
                            const struct box *box, struct box (&slabs)[FACE_COUNT], int *nslabs)
{
    struct box inner = *box;
    *nslabs = 0;
    for (int axis = AXIS_COUNT - 1; axis >= 0; axis--) {
        if (args->closed[2 * axis] && inner.lo[axis] == 0) {
            slabs[*nslabs] = inner;
            slabs[(*nslabs)++].hi[axis] = ++inner.lo[axis];
        }
        if (args->closed[2 * axis + 1] && inner.hi[axis] == layout->cells[axis]) {
            slabs[*nslabs] = inner;
            slabs[(*nslabs)++].lo[axis] = --inner.hi[axis];
        }
    }
    return inner;
}

template <typename REAL> static hipError_t launch(struct hip_step *step)
{
    const struct step_args *args = step->args;
    const struct device_medium *medium = &args->levels->medium;
    const int64_t n = vec16<REAL>::N;
    const struct plan plan = {*step->boxes, step->boxes->lo[0] / n * n, step->shape.depth};
    const grid_view<REAL> view = view_of<REAL>(&args->layout, args->d_out, args->d_in);
    const nonlinear<REAL> m = nonlinear_of<REAL>(medium);
    hipStream_t stream = step->stream;
#define LAUNCH_KIND(kind, ...) launch_as<form<REAL, kind, __VA_ARGS__>>(stream, view, m, plan)
    if (medium->one_curve && medium->nclasses == 1 && !medium->perfused) {
        return LAUNCH_KIND(ONE_CLASS, false);
    }
    if (medium->one_curve && medium->nsegments == 1 && medium->perfused) {
        return medium->nclasses == 1 ? LAUNCH_KIND(ONE_CLASS, true, true)
                                     : LAUNCH_KIND(ONE_CURVE, true, true);
    }
    if (medium->one_curve) {
        return medium->perfused ? LAUNCH_KIND(ONE_CURVE, true) : LAUNCH_KIND(ONE_CURVE, false);
    }
    const bool fits = medium->nclasses * (5 * medium->nsegments + 4) <= CURVES_POOL;
    const hipError_t error =
        fits ? medium->perfused ? LAUNCH_KIND(CURVES, true) : LAUNCH_KIND(CURVES, false)
        : medium->perfused ? LAUNCH_KIND(FAR_CURVES, true)
                           : LAUNCH_KIND(FAR_CURVES, false);
#undef LAUNCH_KIND
    return error == hipSuccess ? hip_launch_step_odd(step) : error;
}

bool hip_step_nonlinear_takes(const struct device_medium *medium, const struct box *box)
{
    const int64_t most = 65535; /* blocks in y and z */
    int64_t n[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        n[a] = box->hi[a] - box->lo[a];
    }
    return (medium->one_curve || medium->mask < 0xFF) && n[0] >= 24 && n[1] >= 8 && n[2] >= 4 &&
           n[1] / 8 < most && n[2] / 16 < most &&
           n[0] * n[1] * n[2] / 6 < INT32_MAX; /* pieces of rows of step_odd */
}

/* Cells of a box whose reading takes longer than the launches of sums on its closed faces. */
enum { SUM_LEAST = 1 << 21 };

hipError_t hip_launch_step_nonlinear(struct hip_step *step)
{
    const struct layout *layout = &step->args->layout;
    struct box slabs[FACE_COUNT];
    int nslabs;
    const struct box inner = inner_box(layout, step->args->levels, step->boxes, slabs, &nslabs);
    struct hip_step of_inner = *step;
    struct hip_step of_slabs = *step;
    struct step_args args = *step->args;
    if (nslabs > 0 && box_cells(&inner) < SUM_LEAST) {
        args.d_perfusion = NULL; /* of the whole box in one launch */
    }
    of_inner.args = &args;
    of_inner.boxes = &inner;
    of_slabs.boxes = slabs;
    of_slabs.nboxes = nslabs;
    const bool is_staged =
        is_line(&step->args->levels->medium) && hip_step_staged_takes(layout, &inner);
    const hipError_t error = is_staged ? hip_launch_step_line(&of_inner)
                             : layout->precision == PRECISION_FLOAT64 ? launch<double>(&of_inner)
                                                                      : launch<float>(&of_inner);
    step->perfused = of_inner.perfused;
    return error != hipSuccess || nslabs == 0 ? error : hip_launch_step_cell(&of_slabs);
}
