/* Two steps in a pass over a medium whose conductances are stored per cell, on chips that copy
 * tiles into shared memory.
 *
 * A block marches in z through columns of tiles. A lane has 16 bytes of each of its wave's ROWS
 * rows: every value of a stage is read once, and what later rounds need of it stays in registers;
 * only the first and last rows of waves of level 1 go through shared memory, where all waves meet
 * once in a round. What level 1 has at the edges of a tile is wrong and reaches no cell that is
 * written. No cell of a tile is at a closed face: with one, all waves of its block would take twice
 * as long for a plane, and the others keep its pace.
 *
 * Tiles begin at whole sectors of 32 bytes: rows that do not take twice as many requests to the L2
 * cache, which then is the limit. Blocks keep a common pace, as in the ring, so that the edges of
 * tiles are still in that cache (figures: docs/records/hip.md). */
#include "kernels/hip/schedule/deep/faces/march.h"

#if ARCH_HAS_TILE_COPY

/* The copy engine reads these; begin: the cells where the regions of the field and of the medium
 * begin. */
struct faces_maps {
    arch_tile_map field, g[AXIS_COUNT], sigma, classes;
    int field_begin[AXIS_COUNT], begin[AXIS_COUNT];
};

/* The columns of a launch: parts in z after another of all tiles. groups: counters of a patch for
 * the pace, a column for each block; 0: none. */
struct faces_columns {
    int tiles, items, groups;
    unsigned *pace;
};

enum { LEAD = 2 }; /* planes that a block may be ahead of the slowest one */

template <typename REAL>
static __device__ __forceinline__ faces_column column_of(const tiling &t,
                                                         const faces_columns &columns, int item)
{
    typedef faces_shape<REAL> S;
    const int tile = item % columns.tiles;
    const int at_x = tile % (int)t.count[0], at_y = tile / (int)t.count[0];
    faces_column c;
    c.x = (int)(t.first[0] + at_x * t.step[0]);
    c.y = (int)(t.first[1] + at_y * t.step[1]);
    c.class_shift = (c.x + S::CLASSES_BEFORE) % 16;
    c.k_begin = (int)(t.lo[2] + item / columns.tiles * t.step[2]);
    c.k_end = min(c.k_begin + (int)t.step[2], (int)t.hi[2]);
    c.x_begin = max(c.x + S::V, (int)t.lo[0]);
    c.x_end = min(c.x + S::TX - S::V, (int)t.hi[0]);
    c.y_begin = max(c.y + 1, (int)t.lo[1]);
    c.y_end = min(c.y + S::TY - 1, (int)t.hi[1]);
    return c;
}

/* One thread: keep the stages full. */
template <typename REAL>
static __device__ __forceinline__ void fetch(const tiling &t, const faces_columns &columns,
                                             const faces_maps &maps, REAL *shared,
                                             arch_arrivals *filled, arch_arrivals *emptied)
{
    typedef faces_shape<REAL> S;
    unsigned number = 0;
    bool patient = true;
    for (int item = (int)blockIdx.x, patch = 0; item < columns.items;
         item += (int)gridDim.x, patch++) {
        const faces_column c = column_of<REAL>(t, columns, item);
        const unsigned nblocks =
            (unsigned)min((int)gridDim.x, columns.items - patch * (int)gridDim.x);
        unsigned *const count = columns.pace + patch * columns.groups;
        const int x = c.x - maps.begin[0], y = c.y - maps.begin[1];
        for (int n = 0; n < c.rounds(); n++, number++) {
            const int slot = (int)(number % S::STAGES), k = c.k_begin - T + n;
            REAL *const stage = shared + slot * S::STAGE;
            arch_arrivals *const arrivals = filled + slot;
            arch_arrivals_wait(emptied + slot, (number / S::STAGES & 1) ^ 1);
            if (patient && columns.groups > 0 && n >= LEAD) {
                patient = pace(count + n - LEAD, nblocks);
            }
            arch_arrive_with_bytes(arrivals, S::ARRIVING);
            arch_tile_copy(stage, maps.field, arrivals, c.x - maps.field_begin[0],
                           c.y - 1 - maps.field_begin[1], k - maps.field_begin[2]);
            arch_tile_copy(stage + S::AT_Z, maps.g[2], arrivals, x, y, k - maps.begin[2]);
            arch_tile_copy(stage + S::AT_X, maps.g[0], arrivals, x, y, k - 1 - maps.begin[2]);
            arch_tile_copy(stage + S::AT_SIGMA, maps.sigma, arrivals, x, y, k - 1 - maps.begin[2]);
            arch_tile_copy(stage + S::AT_Y, maps.g[1], arrivals, x, y, k - 1 - maps.begin[2]);
            arch_tile_copy(reinterpret_cast<uint8_t *>(stage + S::AT_CLASSES), maps.classes,
                           arrivals, c.x + S::CLASSES_BEFORE - c.class_shift, y,
                           k - 1 - maps.begin[2]);
            if (columns.groups > 0) {
                atomicAdd(count + n, 1U);
            }
        }
        /* no block waits for a shorter column */
        for (int n = c.rounds(); n < columns.groups; n++) {
            atomicAdd(count + n, 1U);
        }
    }
}

/* Where a wave is in its rounds, of all columns: their number, even at the end of each. */
template <typename REAL> struct faces_stages {
    REAL *shared; /* my first cell of a tile in the first stage */
    uint8_t *classes;
    REAL *edges; /* my first cell of a row there */
    arch_arrivals *filled, *emptied, *met;
    unsigned number;
};

/* The round in which plane k arrives. */
template <int A, typename REAL>
static __device__ __forceinline__ void take(faces_march<REAL> &my, const faces_column &c, int k,
                                            faces_stages<REAL> &at, REAL *to)
{
    typedef faces_shape<REAL> S;
    const int slot = (int)(at.number % S::STAGES);
    const typename faces_march<REAL>::arrival now = {
        at.shared + slot * S::STAGE,
        at.classes + slot * S::STAGE * (int)sizeof(REAL) + c.class_shift};
    const REAL *const edges_of_last = at.edges + (1 - A) * S::EDGES;
    REAL *const edges = at.edges + A * S::EDGES;
    arch_arrivals_wait(at.filled + slot, at.number / S::STAGES & 1);
    my.template round<A>(k, c, now, at.emptied + slot, at.met, edges_of_last, edges, to);
    at.number++;
}

template <typename REAL>
static __device__ __forceinline__ void advance(faces_march<REAL> &my, const tiling &t,
                                               const faces_columns &columns, faces_stages<REAL> &at)
{
    for (int item = (int)blockIdx.x; item < columns.items; item += (int)gridDim.x) {
        const faces_column c = column_of<REAL>(t, columns, item);
        const int last = c.k_begin - T + c.rounds();
        my.start(c);
        REAL *to = my.view.out + my.view.at(my.i, my.j, c.k_begin - 2 * T);
        for (int k = c.k_begin - T; k < last; k += 2, to += 2 * my.view.pitch_z) {
            take<0>(my, c, k, at, to);
            take<1>(my, c, k + 1, at, to + my.view.pitch_z);
        }
    }
}

template <typename REAL>
static __global__ __launch_bounds__(faces_shape<REAL>::THREADS, 1) void steps_faces(
    const __grid_constant__ faces_maps maps, const __grid_constant__ grid_view<REAL> view,
    const __grid_constant__ faces<REAL, T> kind, const __grid_constant__ tiling t,
    const __grid_constant__ faces_columns columns, struct hip_scratch *scratch)
{
    typedef faces_shape<REAL> S;
    extern __shared__ __attribute__((aligned(128))) char memory[];
    __shared__ arch_arrivals filled[S::STAGES];
    __shared__ arch_arrivals emptied[S::STAGES];
    __shared__ arch_arrivals met;
    __shared__ bool is_last;
    arch_let_next_begin();
    REAL *const shared = reinterpret_cast<REAL *>(memory);
    cell_heat<REAL> *const heat = reinterpret_cast<cell_heat<REAL> *>(shared + S::AT_HEAT);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < S::STAGES; stage++) {
            arch_arrivals_init(&filled[stage], 1);
            arch_arrivals_init(&emptied[stage], S::WAVES);
        }
        arch_arrivals_init(&met, S::WAVES);
        arch_arrivals_publish();
    }
    for (int n = (int)threadIdx.x; n < T * S::HEAT; n += S::THREADS) {
        const int of_class = n % S::HEAT;
        heat[n] = of_class < kind.of.n
                      ? heat_at(n < S::HEAT ? kind.table[0] : kind.table[1], of_class)
                      : cell_heat<REAL>{};
    }
    for (int n = (int)threadIdx.x; n < 2 * S::EDGES; n += S::THREADS) {
        shared[S::AT_EDGES + n] = 0;
    }
    __syncthreads();
    const int wave = (int)arch_first_lane_value(threadIdx.x / ARCH_WAVE) - S::FETCHERS;
    if (wave >= 0) {
        arch_raise_registers<S::RAISED>();
        faces_march<REAL> my = {view, kind, heat};
        my.lane = (int)threadIdx.x % ARCH_WAVE;
        my.wave = wave;
        const int row = wave * S::ROWS, lane = my.lane * S::V;
        faces_stages<REAL> at = {shared + row * S::TX + lane,
                                 reinterpret_cast<uint8_t *>(shared + S::AT_CLASSES) +
                                     row * S::CLASS_PITCH + lane,
                                 shared + S::AT_EDGES + lane,
                                 filled,
                                 emptied,
                                 &met,
                                 0};
        advance<REAL>(my, t, columns, at);
    } else {
        arch_lower_registers<S::LOWERED>();
        if (wave == -S::FETCHERS && arch_is_chosen()) {
            fetch<REAL>(t, columns, maps, shared, filled, emptied);
        }
    }
    if (columns.groups > 0 && is_last_block_of_all(scratch, &is_last)) {
        const int patches = (columns.items + (int)gridDim.x - 1) / (int)gridDim.x;
        for (int n = (int)threadIdx.x; n < patches * columns.groups; n += S::THREADS) {
            columns.pace[n] = 0;
        }
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

template <typename REAL>
static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int processors)
{
    typedef faces_shape<REAL> S;
    constexpr int64_t sector = 32 / (int)sizeof(REAL), far = INT64_C(1) << 20;
    tiling t = tiling_around(layout, args, box, T);
    t.first[0] = (t.lo[0] - S::V + far) / sector * sector - far; /* rounded down */
    t.first[1] = t.lo[1] - 1;
    t.step[0] = S::TX - 2 * S::V;
    t.step[1] = S::TY - 2;
    const int before[] = {S::V, 1};
    for (int axis = 0; axis < AXIS_Z; axis++) {
        const int64_t cells = t.hi[axis] - t.first[axis] - before[axis];
        t.count[axis] = (cells + t.step[axis] - 1) / t.step[axis];
    }
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

/* From its first cell on: cells of the field, or of the medium. */
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
    typedef faces_shape<REAL> S;
    enum { BEFORE_X = 4 };
    const struct layout *l = &args->levels->medium.layout;
    const bool *closed = args->levels->closed;
    int after[AXIS_COUNT], after_medium[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        maps.field_begin[axis] = axis == AXIS_X ? -BEFORE_X : closed[2 * axis] ? 0 : -T;
        after[axis] = closed[2 * axis + 1] ? 0 : T;
        maps.begin[axis] = axis == AXIS_X ? -BEFORE_X : -(int)l->halo[axis];
        after_medium[axis] = l->halo[axis] > 1 ? (int)l->halo[axis] : 1; /* upper conductances */
    }
    const int begin_classes[AXIS_COUNT] = {-S::CLASSES_BEFORE, maps.begin[1], maps.begin[2]};
    const int rows[] = {S::TY, S::TY + 1, S::TY, S::TY};
    hipError_t error = arch_tile_map_make(
        &maps.field, region_of(view.in, &args->layout, maps.field_begin, after), S::TX, S::TY + 2);
    for (int array = 0; array <= AXIS_COUNT && error == hipSuccess; array++) {
        error = arch_tile_map_make(
            array < AXIS_COUNT ? &maps.g[array] : &maps.sigma,
            region_of(array < AXIS_COUNT ? kind.g[array] : kind.sigma, l, maps.begin, after_medium),
            S::TX, rows[array]);
    }
    return error != hipSuccess
               ? error
               : arch_tile_map_make(&maps.classes,
                                    region_of(kind.of.classes, l, begin_classes, after_medium),
                                    S::CLASS_PITCH, S::TY);
}

/* The number of `all` multiprocessors that this launch leaves to the next one, whose cells take
 * `weight` times as long: the best of those tried (docs/records/hip.md). */
static int share_beside(const struct hip_step *step, int all)
{
    const int64_t weight = step->args->layout.precision == PRECISION_FLOAT64 ? 7 : 13;
    const int64_t beside = weight * step->beside;
    return (int)(all * beside / (beside + box_cells(step->boxes)));
}

template <typename REAL> static hipError_t launch(struct hip_step *step)
{
    typedef faces_shape<REAL> S;
    const struct step_args *args = step->args;
    static int all = 0;
    hipError_t error =
        hip_prepare(reinterpret_cast<const void *>(steps_faces<REAL>), S::BYTES, &all);
    const int processors = all - share_beside(step, all);
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
    faces_columns columns = {(int)(t.count[0] * t.count[1]),
                             (int)(t.count[0] * t.count[1] * t.count[2]),
                             ((int)t.step[2] + 2 * T + 1) & ~1, step->d_scratch->pace};
    const int rounds = (columns.items + processors - 1) / processors;
    const int nblocks = (columns.items + rounds - 1) / rounds; /* fewer would need one more */
    if (rounds * columns.groups > HIP_PACE_COUNTERS) {
        columns.groups = 0;
    }
    step->summed = true; /* no cell is at a closed face */
    steps_faces<REAL><<<(unsigned)nblocks, S::THREADS, S::BYTES, step->stream>>>(
        maps, view, kind, t, columns, step->d_scratch);
    return hipGetLastError();
}

bool hip_steps_faces_takes(const struct step_args *args)
{
    const struct device_medium *m = &args->levels->medium;
    return args->levels->kind == KIND_FACES && args->nsteps == T && args->nwithout == 0 &&
           coefficients_corrections(args->levels, T) == 0 && hip_step_medium_takes(m);
}

hipError_t hip_launch_steps_faces_2(struct hip_step *step)
{
    return step->args->layout.precision == PRECISION_FLOAT64 ? launch<double>(step)
                                                             : launch<float>(step);
}

#else

bool hip_steps_faces_takes(const struct step_args *)
{
    return false;
}

hipError_t hip_launch_steps_faces_2(struct hip_step *)
{
    return hipErrorNotSupported;
}

#endif
