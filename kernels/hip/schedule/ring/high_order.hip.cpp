/* The ring with a wider stencil.
 *
 * A thread has a vector in each of a few rows, and its neighbours below in registers, with KEPT of
 * those above. The others come from the ring, which therefore keeps R + 1 planes.
 *
 * All tiles keep a common pace, so those next to closed faces must be nearly as fast as the others:
 * other waves sum for them (high_order_closer). */
#include "kernels/hip/schedule/ring/high_order_near.h"

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
        dx.row[row] = difference_in_row<REAL, S::R>(
            rules, here.row[row], [&](int v) { return vector_at(at + v * S::N); });
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

/* Where a worker is. */
template <typename S> struct high_order_site {
    place<S> p;
    near_cells<S> near;
    int begin, end;   /* planes with R others on either side */
    int below, above; /* planes next to closed faces of z, before and after those */
};

/* The planes of the work have R others on either side; `below` and `above` more are in the box,
 * next to closed faces of z. */
template <typename REAL, int R> struct ring_of_high_order : ring_kind<high_order_shape<REAL, R>> {
    typedef high_order_shape<REAL, R> S;
    wide_rules<REAL> wide;
    int below, above;
    int64_t plane_bytes; /* from a cell to the one above */

    static work divide(const ring_call &call, int64_t nblocks, int ring_bytes);

    static __device__ __forceinline__ near_rows<R> &rows_in(char *shared, const work &w)
    {
        return *reinterpret_cast<near_rows<R> *>(shared + w.ring_bytes);
    }
    __device__ __forceinline__ void prepare(char *shared, const work &w) const
    {
        rows_in(shared, w).fill(wide.closure);
    }

    /* Computed again at every call: the planes need the registers in between. */
    __device__ __forceinline__ high_order_site<S> site_of(const grid_view<REAL> &view,
                                                          const work &w, int item) const
    {
        const bool open[FACE_COUNT] = {};
        const column c = column_of<S>(w, again(item));
        high_order_site<S> site;
        site.p = place_of<S>(view, open, w, c);
        site.near = near_cells<S>::of(view, wide, w, c, site.p);
        site.begin = c.k_begin;
        site.end = site.begin + w.depth;
        site.below = site.begin == w.lo[AXIS_Z] ? below : 0;
        site.above = site.end == w.hi[AXIS_Z] ? above : 0;
        return site;
    }

    __device__ __forceinline__ void advance(const grid_view<REAL> &view, char *shared,
                                            const stage_ring<S> &ring, const work &w) const;
    __device__ __forceinline__ void close(const grid_view<REAL> &view, const face_sums &,
                                          stage_ring<S> ring, const work &w, int wave) const
    {
        const high_order_closer<S> closer = {w,
                                             wide.closure,
                                             wide.closed,
                                             (int)view.cells[AXIS_X] - 1,
                                             (int)view.cells[AXIS_Y] - 1,
                                             (int)threadIdx.x % ARCH_WAVE};
        int turn = 0;
        for (int item = blockIdx.x; item < w.items; item += (int)gridDim.x) {
            const column c = column_of<S>(w, item);
            for (int k = c.k_begin - R; k < c.k_end + R; k++, ring.next()) {
                turn = turn + 1 < S::CLOSERS ? turn + 1 : 0;
                if (turn == wave) {
                    ring.wait();
                    closer.close(ring.stage(), c);
                    ring.close();
                    ring.release();
                }
            }
        }
    }
};

/* One wave's march through the planes of a column. */
template <typename REAL, int R> struct wave_march {
    typedef high_order_shape<REAL, R> S;
    enum { KEPT = S::KEPT };
    const ring_of_high_order<REAL, R> &kind;
    const grid_view<REAL> &view;
    const near_rows<R> &rows;
    const work &w;
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
        const high_order_site<S> site = kind.site_of(view, w, item);
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
        const high_order_site<S> site = kind.site_of(view, w, item);
        REAL *to = view.out + view.at(site.p.i, site.p.j, site.begin);
        for (int left = site.end - site.begin; left > 0; left--) {
#pragma unroll
            for (int n = 0; n < R + KEPT; n++) {
                z.plane[n] = z.plane[n + 1];
            }
            if (NEAR) {
                ring.wait_for_closer();
            }
            after(R).wait();
            z.plane[R + KEPT] = cells_after(KEPT, site.p);
            const cells_of<S> out =
                step_rows<S, NEAR>(kind.wide, site.near, z.plane[R], site.p, ring.stage(),
                                   [&](int row) { return difference_in_z(row, site.p); });
            advance();
            store_plane<S>(to, view.pitch_y, site.p, out);
            to = reinterpret_cast<REAL *>(reinterpret_cast<char *>(to) + kind.plane_bytes);
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
                dz.v[n] = wide_term(kind.wide.w[k - 1], z.plane[R].row[row].v[n],
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
        const high_order_site<S> site = kind.site_of(view, w, item);
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
                after(n).wait_for_closer();
                const cells_of<S> dz = site.near.in_z(rows.row[FACE][depth], here, [&](int cell) {
                    return is_min || cell < R ? cells_after(is_min ? cell : R - 1 - cell, site.p)
                                              : z.plane[cell < R ? 0 : 2 * R - cell];
                });
                const cells_of<S> out =
                    step_rows<S, true>(kind.wide, site.near, here, site.p, after(n).stage(),
                                       [&](int row) { return dz.row[row]; });
                store_plane<S>(to, view.pitch_y, site.p, out);
            }
        }
    }
};

template <typename REAL, int R>
__device__ __forceinline__ void ring_of_high_order<REAL, R>::advance(const grid_view<REAL> &view,
                                                                     char *shared,
                                                                     const stage_ring<S> &ring,
                                                                     const work &w) const
{
    wave_march<REAL, R> march = {*this, view, rows_in(shared, w), w, 0, {}, ring};
    for (march.item = blockIdx.x; march.item < w.items; march.item += (int)gridDim.x) {
        march.all();
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Tiles so placed that their stages have all 2 R cells that a row next to a closed face needs: none
 * begins too close to the end of the field, and none is lower than R rows. */
template <typename S>
static void place_tiles(work &w, const struct layout *layout, const struct coefficients *args)
{
    constexpr int line = 128 / (int)sizeof(typename S::REAL);
    const int rows = w.hi[AXIS_Y] - w.lo[AXIS_Y];
    const int cells_x = (int)layout->cells[AXIS_X];
    const int last_x = w.x_begin + (w.tiles_x - 1) * S::TX; /* where the last tile begins */
    if (args->closed[FACE_X_MAX] && last_x < cells_x && last_x - S::PAD > cells_x - 2 * S::R) {
        w.x_begin -= line; /* the last tile had only a few cells */
    }
    for (int n = 0; n < S::TY; n++) {
        const int height = (w.height - 1 + n) % S::TY + 1;
        const int high = (rows + height - 1) / height;
        const int last = w.lo[AXIS_Y] + (high - 1) * height;
        if (height >= S::R &&
            (!args->closed[FACE_Y_MAX] || last <= (int)layout->cells[AXIS_Y] - S::R)) {
            w.height = height;
            w.tiles = w.tiles_x * high;
            w.items = w.tiles;
            return;
        }
    }
}

/* Divide the box into tiles and columns of them, which have a common pace: where the tiles would be
 * so low that their halo counts, several columns share the planes. */
template <typename REAL, int R>
work ring_of_high_order<REAL, R>::divide(const ring_call &call, int64_t nblocks, int ring_bytes)
{
    const int extent = (int)box_extent(call.box, AXIS_Z);
    work best = {};
    int64_t best_cost = 0;
    /* a plane of a tile takes the same time whatever its height: what a wave waits for counts */
    constexpr bool busy = sizeof(REAL) == sizeof(double) && R == WIDE_RADIUS_MOST;
    for (int columns = 1; columns <= nblocks && columns * 2 * R <= extent; columns++) {
        for (int whole = 0; whole <= (busy ? 1 : 0); whole++) {
            work w = work_of<S>(call, nblocks / columns, ring_bytes);
            w.height = whole ? S::TY : w.height;
            place_tiles<S>(w, &call.step->args->layout, call.step->args->levels);
            w.depth = (extent + columns - 1) / columns;
            w.items = w.tiles * ((extent + w.depth - 1) / w.depth);
            const int64_t patches = (w.items + nblocks - 1) / nblocks;
            const int64_t cost = patches * (w.depth + 2 * R) * ((busy ? S::TY : w.height) + 2 * R);
            if (best_cost == 0 || cost < best_cost) {
                best = w;
                best_cost = cost;
            }
        }
    }
    plan_ring<S>(best, call, nblocks);
    return best;
}

template <typename REAL, int R> static hipError_t launch_order(const ring_call &call)
{
    const struct layout *layout = &call.step->args->layout;
    const struct coefficients *args = call.step->args->levels;
    struct box inner = *call.box;
    ring_call of_inner = call;
    of_inner.box = &inner;
    const int64_t lo = args->closed[FACE_Z_MIN] ? R : 0;
    const int64_t hi = layout->cells[AXIS_Z] - (args->closed[FACE_Z_MAX] ? R : 0);
    inner.lo[AXIS_Z] = inner.lo[AXIS_Z] > lo ? inner.lo[AXIS_Z] : lo;
    inner.hi[AXIS_Z] = inner.hi[AXIS_Z] < hi ? inner.hi[AXIS_Z] : hi;
    return launch(of_inner,
                  ring_of_high_order<REAL, R>{{},
                                              wide_rules_of<REAL>(args),
                                              (int)(inner.lo[AXIS_Z] - call.box->lo[AXIS_Z]),
                                              (int)(call.box->hi[AXIS_Z] - inner.hi[AXIS_Z]),
                                              layout->pitch_z * (int64_t)sizeof(REAL)},
                  (int)sizeof(near_rows<R>));
}

template <typename REAL, int WIDE, int BLOCKS> static hipError_t launch_kind(const ring_call &call)
{
    return launch_radius(call.step->args->levels->high_order.radius, [&](auto radius) {
        return launch_order<REAL, decltype(radius)::value>(call);
    });
}

#endif

DEFINE_RING(high_order, 1, 1, true)
