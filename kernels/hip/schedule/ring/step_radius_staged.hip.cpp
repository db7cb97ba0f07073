/* The step with a wider stencil that stages planes of tiles in shared memory, as
 * step_staged.hip.cpp does with the narrow one: the same ring and the same pace.
 *
 * A thread has a vector in each of a few rows, and its neighbours below in registers, with KEPT of
 * those above. The others come from the ring, which therefore keeps R + 1 planes.
 *
 * All tiles keep a common pace, so those next to closed faces must be nearly as fast as the others:
 * other waves sum for them (radius_closer). */
#include "kernels/hip/schedule/ring/staged_launch.h"
#include "kernels/hip/schedule/ring/staged_radius.h"

#if ARCH_HAS_TILE_COPY

/* D along y of all rows; k by k, so that few of the rows beside them are in registers at a time. */
template <typename S>
static __device__ __forceinline__ cells_of<S> differences_in_y(
    const wide_rules<typename S::REAL> &rules, const cells_of<S> &here,
    const typename S::REAL *first)
{
    typedef vec16<typename S::REAL> cells;
    constexpr int R = S::R, ROWS = S::ROWS;
    cells before[R]; /* rows */
    cells after[R];
    cells_of<S> dy = {};
#pragma unroll
    for (int k = 0; k < R; k++) {
        before[k] = vector_at(first + (k - R) * S::PITCH);
        after[k] = vector_at(first + (ROWS + k) * S::PITCH);
    }
#pragma unroll
    for (int k = R; k >= 1; k--) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells m =
                row >= k ? here.row[row >= k ? row - k : 0] : before[row >= k ? 0 : R + row - k];
            const cells p = row + k < ROWS ? here.row[row + k < ROWS ? row + k : 0]
                                           : after[row + k < ROWS ? 0 : row + k - ROWS];
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                dy.row[row].v[n] =
                    wide_term(rules.w[k - 1], here.row[row].v[n], m.v[n], p.v[n], dy.row[row].v[n]);
            }
        }
    }
    return dy;
}

/* NEAR: the tile is next to a closed face of x or y.
 * stage: of the plane of `here`; difference_z(row): D along z. In this order, in which y, where
 * waves differ, is last, the code waits less for what it has read than in others
 * (docs/records/hip.md). */
template <typename S, bool NEAR, typename DIFFERENCE>
static __device__ __forceinline__ cells_of<S> step_rows(const wide_rules<typename S::REAL> &rules,
                                                        const near_cells<S> &near,
                                                        const cells_of<S> &here, const place<S> &p,
                                                        const typename S::REAL *stage,
                                                        DIFFERENCE difference_z)
{
    typedef typename S::REAL REAL;
    const REAL *const first = stage + p.offset;
    cells_of<S> dx, dz;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        dz.row[row] = difference_z(row);
    }
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
        const REAL *const at = first + row * S::PITCH;
        dx.row[row] = difference_in_x<S>(rules, here.row[row], at);
        if (NEAR) {
            near.take_x(dx.row[row], at);
        }
    }
    cells_of<S> dy = differences_in_y<S>(rules, here, first);
    if (NEAR) {
        near.take_y(dy, stage, p.offset);
    }
    cells_of<S> out;
#pragma unroll
    for (int row = 0; row < S::ROWS; row++) {
#pragma unroll
        for (int n = 0; n < S::N; n++) {
            out.row[row].v[n] = wide_update(here.row[row].v[n], dx.row[row].v[n], dy.row[row].v[n],
                                            dz.row[row].v[n], rules.r);
        }
    }
    return out;
}

/* One wave's march through the planes of a column. */
template <typename S> struct wave_march {
    typedef typename S::REAL REAL;
    enum { R = S::R, KEPT = S::KEPT };
    const grid_view<REAL> &view;
    const wide_rules<REAL> &wide;
    const near_rows<R> &rows;
    const work &w;
    const radius_planes &planes;
    arch_arrivals *closed; /* of a stage: D next to faces of x and y is there */
    int item;
    planes_of<S> z;
    stage_ring<S> ring; /* the plane that is computed next */

    /* The ring at the plane `ahead` of the next one. */
    __device__ __forceinline__ stage_ring<S> after(int ahead) const
    {
        stage_ring<S> at = ring;
        at.slot += ahead;
        if (at.slot >= at.stages) {
            at.slot -= at.stages;
            at.round++;
        }
        return at;
    }

    __device__ __forceinline__ cells_of<S> cells_after(int ahead, const place<S> &p) const
    {
        return own_cells<S>(after(ahead).stage(), p);
    }

    __device__ __forceinline__ void wait_for_closer(int ahead) const
    {
        const stage_ring<S> at = after(ahead);
        arch_arrivals_wait(&closed[at.slot], at.round & 1);
    }

    __device__ __forceinline__ void advance()
    {
        ring.release();
        ring.next();
    }

    __device__ __forceinline__ void advance_to_next_part()
    {
        for (int n = 0; n < R; n++) {
            advance();
        }
    }

    /* From R planes before those computed in `ordinary` to R after. */
    __device__ __forceinline__ void all()
    {
        const radius_site<S> site = radius_site<S>::of(view, wide, w, planes, item);
        if (site.below > 0) {
            at_face<FACE_Z_MIN>();
        }
#pragma unroll
        for (int n = 0; n < R + KEPT; n++) {
            after(n).wait();
            z.plane[n + 1] = cells_after(n, site.p);
        }
        advance_to_next_part();
        if (site.near.in_tile) {
            ordinary<true>();
        } else {
            ordinary<false>();
        }
        if (site.above > 0) {
            at_face<FACE_Z_MAX>();
        }
        advance_to_next_part();
    }

    template <bool NEAR> __device__ __forceinline__ void ordinary()
    {
        const radius_site<S> site = radius_site<S>::of(view, wide, w, planes, item);
        REAL *to = view.out + view.at(site.p.i, site.p.j, site.begin);
        for (int left = site.end - site.begin; left > 0; left--) {
#pragma unroll
            for (int n = 0; n < R + KEPT; n++) {
                z.plane[n] = z.plane[n + 1];
            }
            if (NEAR) {
                wait_for_closer(0);
            }
            after(R).wait();
            z.plane[R + KEPT] = cells_after(KEPT, site.p);
            const cells_of<S> out =
                step_rows<S, NEAR>(wide, site.near, z.plane[R], site.p, ring.stage(),
                                   [&](int row) { return difference_in_z(row, site.p); });
            advance();
            store_plane<S>(to, view.pitch_y, site.p, out);
            to = reinterpret_cast<REAL *>(reinterpret_cast<char *>(to) + planes.plane_bytes);
        }
    }

    __device__ __forceinline__ vec16<REAL> difference_in_z(int row, const place<S> &p) const
    {
        vec16<REAL> dz = {};
#pragma unroll
        for (int k = R; k >= 1; k--) {
            const vec16<REAL> above = k <= KEPT
                                          ? z.plane[k <= KEPT ? R + k : 0].row[row]
                                          : vector_at(after(k).stage() + p.offset + row * S::PITCH);
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                dz.v[n] = wide_term(wide.w[k - 1], z.plane[R].row[row].v[n],
                                    z.plane[R - k].row[row].v[n], above.v[n], dz.v[n]);
            }
        }
        return dz;
    }

    /* The R planes before or after those, of which some are in the box, next to a closed face. Of
     * the 2 R planes nearest to it, those are in the ring, and the others in it too (z_min) or in z
     * (z_max). */
    template <int FACE> __device__ __forceinline__ void at_face()
    {
        constexpr bool is_min = FACE == FACE_Z_MIN;
        const radius_site<S> site = radius_site<S>::of(view, wide, w, planes, item);
        REAL *to = view.out + view.at(site.p.i, site.p.j, is_min ? site.begin - R : site.end);
        if (is_min) {
            KERNEL_NO_UNROLL
            for (int n = 0; n < 2 * R; n++) { /* all: copies may end in another order */
                after(n).wait();
            }
        }
        KERNEL_NO_UNROLL
        for (int n = 0; n < R; n++, to += view.pitch_z) {
            const int depth = is_min ? n : R - 1 - n;
            if (is_min ? n >= R - site.below : n < site.above) {
                const cells_of<S> here = cells_after(n, site.p);
                wait_for_closer(n);
                const cells_of<S> dz = site.near.in_z(rows.row[FACE][depth], here, [&](int cell) {
                    return is_min || cell < R ? cells_after(is_min ? cell : R - 1 - cell, site.p)
                                              : z.plane[cell < R ? 0 : 2 * R - cell];
                });
                const cells_of<S> out =
                    step_rows<S, true>(wide, site.near, here, site.p, after(n).stage(),
                                       [&](int row) { return dz.row[row]; });
                store_plane<S>(to, view.pitch_y, site.p, out);
            }
        }
    }
};

template <typename S>
static __global__ __launch_bounds__(S::THREADS, 1) void step_radius_staged(
    const __grid_constant__ arch_tile_map map, const grid_view<typename S::REAL> view,
    const wide_rules<typename S::REAL> wide, const rules<typename S::REAL> rules, const work w,
    const radius_planes planes)
{
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ near_rows<S::R> rows;
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    __shared__ arch_arrivals closed[MOST_STAGES];
    rows.fill(wide.closure);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < w.stages; stage++) {
            arch_arrivals_init(&closed[stage], 1);
        }
    }
    const stage_ring<S> ring = ring_begin<S>(shared, filled, emptied, w, w.waves + 1);
    if (threadIdx.x < S::WORKERS) {
        if (S::MORE_REGISTERS) {
            arch_raise_registers<208>();
        }
        if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
            wave_march<S> march = {view, wide, rows, w, planes, closed, 0, {}, ring};
            for (march.item = blockIdx.x; march.item < w.items; march.item += (int)gridDim.x) {
                march.all();
            }
        }
    } else {
        if (S::MORE_REGISTERS) {
            arch_lower_registers<88>(); /* 2 * 208 + 88 = 3 * 168 */
        }
        if (threadIdx.x == S::WORKERS) {
            const uint32_t bytes =
                S::SUBTILES * S::PITCH * (w.height + 2 * S::R) * sizeof(typename S::REAL);
            fetch_all<S>(ring, w, rules.scratch->pace, bytes,
                         [&](const stage_ring<S> &at, const column &c, int plane) {
                             for (int sub = 0; sub < S::SUBTILES; sub++) {
                                 arch_tile_copy(at.stage() + sub * w.sub_cells, map,
                                                &at.filled[at.slot],
                                                c.i + sub * S::SUB_X - S::PAD - w.region_x,
                                                c.j - S::R - w.region_y,
                                                planes.begin_of(w, c) - S::R + plane - w.region_z);
                             }
                         });
        } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE) {
            const radius_closer<S> closer = {w,
                                             wide.closure,
                                             wide.closed,
                                             (int)view.cells[AXIS_X] - 1,
                                             (int)view.cells[AXIS_Y] - 1,
                                             (int)threadIdx.x % ARCH_WAVE};
            close_all<S>(closer, ring, closed, (int)(threadIdx.x - S::WORKERS) / ARCH_WAVE - 1);
        }
    }
    if (w.groups > 0) {
        finish(rules, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Tiles so placed that their stages have all 2 R cells that a row next to a closed face needs: none
 * begins too close to the end of the field, and none is lower than R rows. */
template <typename S>
static void place_tiles(work &w, const grid_view<typename S::REAL> &view,
                        const struct coefficients *args)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    const int rows = w.hi[AXIS_Y] - w.lo[AXIS_Y];
    const int cells_x = (int)view.cells[AXIS_X];
    const int last_x = w.x_begin + (w.tiles_x - 1) * S::TX; /* where the last tile begins */
    if (args->closed[FACE_X_MAX] && last_x < cells_x && last_x - S::PAD > cells_x - 2 * S::R) {
        w.x_begin -= line; /* the last tile had only a few cells */
    }
    for (int n = 0; n < S::TY; n++) {
        const int height = (w.height - 1 + n) % S::TY + 1;
        const int high = (rows + height - 1) / height;
        const int last = w.lo[AXIS_Y] + (high - 1) * height;
        if (height >= S::R &&
            (!args->closed[FACE_Y_MAX] || last <= (int)view.cells[AXIS_Y] - S::R)) {
            w.height = height;
            w.tiles = w.tiles_x * high;
            w.items = w.tiles;
            return;
        }
    }
}

/* Divide the box into tiles and columns of them, which have a common pace: where the tiles would be
 * so low that their halo counts, several columns share the planes. */
template <typename S>
static work divide_radius(const grid_view<typename S::REAL> &view, const struct coefficients *args,
                          const struct box *box, int64_t nblocks, radius_planes &planes)
{
    static const struct hip_launch_shape launch_shape = {};
    const int extent = planes.end - planes.begin;
    work best = {};
    int64_t best_cost = 0;
    /* a plane of a tile takes the same time whatever its height: what a wave waits for counts */
    constexpr bool busy = sizeof(typename S::REAL) == sizeof(double) && S::R == WIDE_RADIUS_MOST;
    for (int columns = 1; columns <= nblocks && columns * 2 * S::R <= extent; columns++) {
        const int depth = (extent + columns - 1) / columns;
        for (int whole = 0; whole <= (busy ? 1 : 0); whole++) {
            work w = work_of<S>(box, nblocks / columns, S::SHARED_BYTES, true, &launch_shape);
            w.height = whole ? S::TY : w.height;
            place_tiles<S>(w, view, args);
            w.items = w.tiles * ((extent + depth - 1) / depth);
            const int64_t patches = (w.items + nblocks - 1) / nblocks;
            const int64_t cost =
                patches * (depth + 2 * S::R) * ((busy ? S::TY : w.height) + 2 * S::R);
            if (best_cost == 0 || cost < best_cost) {
                best = w;
                best_cost = cost;
                planes.depth = depth;
            }
        }
    }
    best.depth = planes.depth + 2 * (S::R - 1);
    best.lo[AXIS_Z] = 0;
    best.hi[AXIS_Z] = best.items / best.tiles * best.depth;
    plan_ring<S>(best, nblocks, true, &launch_shape);
    return best;
}

/* A stage has R rows of halo. */
template <typename S>
static work radius_work(const grid_view<typename S::REAL> &view, const struct coefficients *args,
                        const struct box *box, int64_t nblocks, radius_planes &planes)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    work w = divide_radius<S>(view, args, box, nblocks, planes);
    const int rows = (w.height + S::ROWS - 1) / S::ROWS * S::ROWS + 2 * S::R;
    w.sub_cells = (S::PITCH * rows + line - 1) / line * line;
    w.stage_cells = S::SUBTILES * w.sub_cells;
    w.stages = w.ring_bytes / (w.stage_cells * (int)sizeof(typename S::REAL));
    w.stages = w.stages < MOST_STAGES ? w.stages : (int)MOST_STAGES;
    const int ahead = w.stages - S::R; /* a block that waits has these planes */
    w.group = w.group < ahead / 2 ? w.group : ahead / 2;
    w.groups = w.groups > 0 ? (w.depth + 2 + w.group - 1) / w.group : 0;
    if ((w.items + nblocks - 1) / nblocks * w.groups > HIP_PACE_COUNTERS) {
        w.groups = 0;
    }
    return w;
}

/* The cells that may be read: owned ones, and R layers beyond open faces; in x whole vectors, in
 * the padding. */
template <typename S>
static arch_region<typename S::REAL> radius_region(const grid_view<typename S::REAL> &view,
                                                   const struct coefficients *args, work &w)
{
    arch_region<typename S::REAL> region = {};
    int *const begin[AXIS_COUNT] = {&w.region_x, &w.region_y, &w.region_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int layers = axis == AXIS_X ? S::BESIDE * S::N : S::R;
        *begin[axis] = args->closed[2 * axis] ? 0 : -layers;
        region.cells[axis] =
            view.cells[axis] + (args->closed[2 * axis + 1] ? 0 : S::R) - *begin[axis];
    }
    region.first = view.in + w.region_x + w.region_y * view.pitch_y + w.region_z * view.pitch_z;
    region.pitch_y = view.pitch_y;
    region.pitch_z = view.pitch_z;
    return region;
}

static radius_planes planes_of_box(int radius, const struct layout *layout,
                                   const struct coefficients *args, const struct box *box)
{
    radius_planes planes = {};
    const int64_t lo = args->closed[FACE_Z_MIN] ? radius : 0;
    const int64_t hi = layout->cells[AXIS_Z] - (args->closed[FACE_Z_MAX] ? radius : 0);
    planes.begin = (int)(box->lo[AXIS_Z] > lo ? box->lo[AXIS_Z] : lo);
    planes.end = (int)(box->hi[AXIS_Z] < hi ? box->hi[AXIS_Z] : hi);
    planes.below = planes.begin - (int)box->lo[AXIS_Z];
    planes.above = (int)box->hi[AXIS_Z] - planes.end;
    return planes;
}

template <typename REAL, int R>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct coefficients *args, void *d_out,
                         const void *d_in, const struct box *box)
{
    typedef radius_shape<REAL, R> S;
    static int64_t blocks_at_a_time = 0; /* a process has one device */
    if (blocks_at_a_time == 0) {
        const hipError_t error = blocks_of_device<S>(
            reinterpret_cast<const void *>(step_radius_staged<S>), &blocks_at_a_time);
        if (error != hipSuccess) {
            blocks_at_a_time = 0;
            return error;
        }
    }
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    rules<REAL> rules = {};
    rules.scratch = d_scratch;
    radius_planes planes = planes_of_box(R, layout, args, box);
    planes.plane_bytes = view.pitch_z * (int64_t)sizeof(REAL);
    work w = radius_work<S>(view, args, box, blocks_at_a_time, planes);
    arch_tile_map map;
    const arch_region<REAL> region = radius_region<S>(view, args, w);
    const hipError_t error = arch_tile_map_make(&map, region, S::PITCH, w.height + 2 * R);
    if (error != hipSuccess) {
        return error;
    }
    const int64_t nblocks = w.items < blocks_at_a_time ? w.items : blocks_at_a_time;
    step_radius_staged<S><<<(unsigned)nblocks, S::THREADS, S::SHARED_BYTES, stream>>>(
        map, view, wide_rules_of<REAL>(args), rules, w, planes);
    return hipGetLastError();
}

hipError_t hip_launch_radius_staged(hipStream_t stream, struct hip_scratch *d_scratch,
                                    const struct layout *layout, const struct coefficients *args,
                                    void *d_out, const void *d_in, const struct box *box)
{
    typedef hipError_t launcher(hipStream_t, struct hip_scratch *, const struct layout *,
                                const struct coefficients *, void *, const void *,
                                const struct box *);
    static launcher *const launchers[2][WIDE_RADIUS_MOST - 1] = {
        {launch<double, 2>, launch<double, 3>, launch<double, 4>},
        {launch<float, 2>, launch<float, 3>, launch<float, 4>}};
    const int precision = layout->precision == PRECISION_FLOAT64 ? 0 : 1;
    return launchers[precision][args->high_order.radius - WIDE_RADIUS_LEAST](
        stream, d_scratch, layout, args, d_out, d_in, box);
}

#else

hipError_t hip_launch_radius_staged(hipStream_t, struct hip_scratch *, const struct layout *,
                                    const struct coefficients *, void *, const void *,
                                    const struct box *)
{
    return hipErrorNotSupported;
}

#endif
