/* Two steps in a pass over a medium whose conductances are stored per cell, on chips that copy
 * tiles into shared memory.
 *
 * A block marches in z through a column of tiles. In round k the copy engine has brought plane k of
 * the field (level 0), the conductances in z of that plane, and those in x and y, sigma and the
 * classes of plane k - 1. A block computes plane k - 1 of level 1 and plane k - 2 of level 2, which
 * it writes. A wave has ROWS rows of the tile, a lane 16 bytes of each: both levels of the last
 * planes, conductances in z and sigma stay in its registers, so that of the medium only
 * conductances in x and y are read twice from shared memory. Neighbours in x come from other lanes,
 * those in y from own rows, from the field's stage, or, of level 1, from the rows at the edges of
 * waves in shared memory, in two parities, so that a plane needs one meeting. A plane is requested
 * a round before it is needed. What level 1 has at the edges of a tile is wrong and reaches no cell
 * that is written. */
#include "kernels/hip/schedule/deep/steps_faces_march.h"

#if ARCH_HAS_TILE_COPY

template <typename REAL>
static __global__ __launch_bounds__(THREADS,
                                    1) void steps_faces(const __grid_constant__ faces_maps maps,
                                                        const grid_view<REAL> view,
                                                        const faces<REAL, T> kind, const tiling t,
                                                        const tile_sinks<T> sinks)
{
    typedef shares<REAL> of;
    extern __shared__ __attribute__((aligned(1024))) char memory[];
    REAL *const shared = reinterpret_cast<REAL *>(memory);
    const int64_t tiles = t.count[0] * t.count[1];
    const int64_t tile[2] = {blockIdx.x % tiles % t.count[0], blockIdx.x % tiles / t.count[0]};
    int64_t lo[2], hi[2];
    core_of(t, AXIS_X, tile[0], of::TX, of::V, lo[0], hi[0]);
    core_of(t, AXIS_Y, tile[1], TY, 1, lo[1], hi[1]);
    faces_march<REAL> my = {maps, view, kind, t, sinks, shared};
    my.sums = reinterpret_cast<tile_sums<T, WAVES> *>(memory + of::BYTES);
    my.filled = reinterpret_cast<arch_arrivals *>(my.sums + 1);
    my.meeting = reinterpret_cast<arch_meeting *>(my.filled + 2);
    my.lane = (int)threadIdx.x % ARCH_WAVE;
    my.wave = (int)arch_first_lane_value(threadIdx.x / ARCH_WAVE);
    my.tile_x = (int)(t.first[0] + tile[0] * t.step[0]);
    my.tile_y = (int)(t.first[1] + tile[1] * t.step[1]);
    my.i = my.tile_x + my.lane * of::V;
    my.j = my.tile_y + my.wave * ROWS;
    my.k_begin = (int)(t.lo[2] + blockIdx.x / tiles * t.step[2]);
    my.k_end = min(my.k_begin + (int)t.step[2], (int)t.hi[2]);
    my.begin = max((int)lo[0] - my.i, 0);
    my.end = min((int)hi[0] - my.i, of::V);
    for (int row = 0; row < ROWS; row++) {
        const bool on = my.begin < my.end && my.j + row >= (int)lo[1] && my.j + row < (int)hi[1];
        my.rows |= on ? 1U << row : 0U;
    }
    const int first = max(my.k_begin - T, (int)t.read_lo[2]), last = my.k_end + T;
    my.to = view.out + view.at(my.i, my.j, first - T);
    if (threadIdx.x == 0) {
        arch_arrivals_init(my.filled, 1);
        arch_arrivals_init(my.filled + 1, 1);
        arch_meeting_init(my.meeting, THREADS);
        arch_arrivals_publish();
    }
    /* what the first planes have in place of earlier ones reaches no cell that is written */
    for (int n = (int)threadIdx.x; n < of::AT_HEAT; n += THREADS) {
        shared[n] = 0;
    }
    for (int n = (int)threadIdx.x; n < T * of::HEAT; n += THREADS) {
        const int l = n / of::HEAT, of_class = n % of::HEAT;
        const REAL *const table = l == 0 ? kind.table[0] : kind.table[1];
        shared[of::AT_HEAT + n] =
            of_class < kind.of.n ? table[medium_cell_at(of_class) + 1] : (REAL)0;
    }
    my.sums->begin();
    arch_reads_before_tile_copy();
    __syncthreads();
    int slot = (first % 3 + 3) % 3;
    if (arch_is_chosen()) {
        my.request(first, 0, slot);
    }
    __syncwarp();
    const bool sides = (kind.closed[FACE_X_MIN] && my.tile_x <= 0) ||
                       (kind.closed[FACE_X_MAX] && my.tile_x + of::TX >= (int)view.cells[0]) ||
                       (kind.closed[FACE_Y_MIN] && my.tile_y <= 0) ||
                       (kind.closed[FACE_Y_MAX] && my.tile_y + TY >= (int)view.cells[1]);
    for (int k = first; k < last; k++) {
        if (sides || k - T <= 0 || k >= (int)view.cells[2]) {
            my.template round<true>(k, (unsigned)(k - first), slot, last);
        } else {
            my.template round<false>(k, (unsigned)(k - first), slot, last);
        }
        slot = slot < 2 ? slot + 1 : 0;
    }
    if (sinks.any) {
        my.sums->end(sinks.of);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Tiles begin at whole vectors; beside the last cell lies one more, with the upper conductance. */
template <typename REAL>
static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int processors)
{
    typedef shares<REAL> of;
    tiling t = tiling_around(layout, args, box, T);
    divide_axis(t, AXIS_Y, TY, 1);
    divide_axis(t, AXIS_X, of::TX, of::V);
    const int64_t whole = (t.first[0] + of::TX) / of::V * of::V - of::TX; /* first is above -TX */
    const int64_t cells = t.hi[0] + T - whole;
    t.first[0] = whole;
    t.count[0] = cells <= of::TX ? 1 : (cells - 2 * of::V + t.step[0] - 1) / t.step[0];
    const int64_t planes = t.hi[2] - t.lo[2], tiles = t.count[0] * t.count[1];
    int64_t least = INT64_MAX;
    for (int64_t parts = 1; parts == 1 || planes / parts >= 4 * T; parts++) {
        const int64_t depth = (planes + parts - 1) / parts;
        const int64_t time = (tiles * parts + processors - 1) / processors * (depth + 2 * T);
        if (time < least) {
            least = time;
            t.step[2] = depth;
        }
    }
    t.count[2] = (planes + t.step[2] - 1) / t.step[2];
    return t;
}

/* Where it begins on each axis, and the region: cells of the field, or of the medium. */
template <typename REAL>
static arch_region<REAL> region_of(const REAL *origin, const struct layout *l,
                                   const int (&begin)[AXIS_COUNT], const int (&after)[AXIS_COUNT])
{
    arch_region<REAL> region = {};
    region.first = origin + begin[0] + begin[1] * l->pitch_y + begin[2] * l->pitch_z;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        region.cells[axis] = l->cells[axis] + after[axis] - begin[axis];
    }
    region.pitch_y = l->pitch_y;
    region.pitch_z = l->pitch_z;
    return region;
}

template <typename REAL>
static hipError_t maps_of(const struct step_args *args, const grid_view<REAL> &view,
                          const faces<REAL, T> &kind, faces_maps &maps)
{
    typedef shares<REAL> of;
    enum { BEFORE_X = 4, CLASSES_BEFORE_X = 16 };
    const struct layout *l = &args->levels->medium.layout;
    const bool *closed = args->levels->closed;
    int after[AXIS_COUNT], after_medium[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        maps.field_begin[axis] = axis == AXIS_X ? -BEFORE_X : closed[2 * axis] ? 0 : -T;
        after[axis] = closed[2 * axis + 1] ? 0 : T;
        maps.begin[axis] = axis == AXIS_X ? -BEFORE_X : -l->halo[axis];
        after_medium[axis] = l->halo[axis];
    }
    maps.classes_x = -CLASSES_BEFORE_X;
    const int begin_classes[AXIS_COUNT] = {maps.classes_x, maps.begin[1], maps.begin[2]};
    hipError_t error =
        arch_tile_map_make(&maps.field, region_of(view.in, &args->layout, maps.field_begin, after),
                           of::TX, of::rows(of::FIELD));
    for (int array = 0; array <= AXIS_COUNT && error == hipSuccess; array++) {
        error = arch_tile_map_make(
            array < AXIS_COUNT ? &maps.g[array] : &maps.sigma,
            region_of(array < AXIS_COUNT ? kind.g[array] : kind.sigma, l, maps.begin, after_medium),
            of::TX, of::rows(of::ALONG_X + array));
    }
    return error != hipSuccess
               ? error
               : arch_tile_map_make(&maps.classes,
                                    region_of(kind.of.classes, l, begin_classes, after_medium),
                                    of::CLASS_PITCH, TY);
}

template <typename REAL> static hipError_t launch(struct hip_step *step)
{
    typedef shares<REAL> of;
    const struct step_args *args = step->args;
    constexpr unsigned bytes = of::BYTES + (unsigned)sizeof(tile_sums<T, WAVES>) + 32;
    static int processors = 0;
    hipError_t error =
        hip_prepare(reinterpret_cast<const void *>(steps_faces<REAL>), bytes, &processors);
    if (error != hipSuccess) {
        return error;
    }
    const grid_view<REAL> view = view_of<REAL>(&args->layout, args->d_out, args->d_in);
    const faces<REAL, T> kind = faces_of<REAL, T>(args->levels);
    faces_maps maps = {};
    error = maps_of<REAL>(args, view, kind, maps);
    if (error != hipSuccess) {
        return error;
    }
    const tiling t = tiling_of<REAL>(&args->layout, args->levels, step->boxes, processors);
    const int64_t nblocks = t.count[0] * t.count[1] * t.count[2];
    step->summed = true;
    steps_faces<REAL><<<(unsigned)nblocks, THREADS, bytes, step->stream>>>(
        maps, view, kind, t, sinks_of<T>(args->levels, step->d_scratch));
    return hipGetLastError();
}

hipError_t hip_launch_steps_faces_2(struct hip_step *step)
{
    return step->args->layout.precision == PRECISION_FLOAT64 ? launch<double>(step)
                                                             : launch<float>(step);
}

#else

hipError_t hip_launch_steps_faces_2(struct hip_step *)
{
    return hipErrorNotSupported;
}

#endif
