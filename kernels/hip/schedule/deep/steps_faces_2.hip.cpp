/* Two steps in a pass over a medium whose conductances are stored per cell, on chips that copy
 * tiles into shared memory.
 *
 * A block marches in z through a column of tiles. In round k the copy engine has brought plane k of
 * the field (level 0), the conductances in z of that plane, and those in x and y, sigma and the
 * classes of plane k - 1. A block computes plane k - 1 of level 1 and plane k - 2 of level 2, which
 * it writes. A wave has ROWS rows of the tile, a lane 16 bytes of each: both levels of the last
 * planes, conductances in z and sigma stay in its registers, so that of the medium only conductances
 * in x and y are read twice from shared memory. Neighbours in x come from other lanes, those in y
 * from own rows, from the field's stage, or, of level 1, from the rows at the edges of waves in
 * shared memory, in two parities, so that a plane needs one meeting. A plane is requested a round
 * before it is needed. What level 1 has at the edges of a tile is wrong and reaches no cell that is
 * written. */
#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/tile_sums.h"
#include "kernels/hip/schedule/tiling.h"

#if ARCH_HAS_TILE_COPY

enum { T = 2, ROWS = 2, WAVES = 12, THREADS = WAVES * ARCH_WAVE, TY = WAVES * ROWS };

/* What is in shared memory, in cells. */
template <typename REAL> struct shares {
    static constexpr int V = vec16<REAL>::N, TX = ARCH_WAVE * V;
    static constexpr int PLANE = TY * TX;
    static constexpr int LEVEL = (2 * WAVES + 2) * TX; /* rows at the edges of waves, of a parity */
    /* planes: of the field, of conductances in x, in y, in z, of sigma */
    enum { FIELD, ALONG_X, ALONG_Y, ALONG_Z, SIGMA, ARRAYS };
    static constexpr int stages(int array)
    {
        return array <= ALONG_Y ? 3 : 2;
    }
    /* beside the tile the field has a row on either side, conductances in y one behind */
    static __host__ __device__ constexpr int rows(int array)
    {
        return TY + (array == FIELD ? 2 : array == ALONG_Y ? 1 : 0);
    }
    static constexpr int begin(int array)
    {
        return array == 0 ? 0 : begin(array - 1) + stages(array - 1) * rows(array - 1) * TX;
    }
    static constexpr int AT_X = begin(ALONG_X), AT_Y = begin(ALONG_Y), AT_Z = begin(ALONG_Z),
                         AT_SIGMA = begin(SIGMA), AT_EDGES = begin(ARRAYS),
                         AT_HEAT = AT_EDGES + 2 * LEVEL, HEAT = UINT8_MAX + 1,
                         AT_BYTES = AT_HEAT + T * HEAT;
    /* of the classes, from a multiple of 16 cells on; a plane in whole multiples of 128 bytes */
    static constexpr int CLASS_PITCH = TX + 16, CLASSES = (TY * CLASS_PITCH + 127) / 128 * 128;
    static constexpr int BYTES = AT_BYTES * (int)sizeof(REAL) + 2 * CLASSES;
    static constexpr uint32_t ARRIVING =
        (rows(FIELD) + rows(ALONG_X) + rows(ALONG_Y) + rows(ALONG_Z) + rows(SIGMA)) * TX *
            (int)sizeof(REAL) +
        TY * CLASS_PITCH;
    static_assert(BYTES + (int)sizeof(tile_sums<T>) + 32 <= 227 * 1024, "of a block");
};

/* The copy engine reads these; begin: the cells where the regions of the field and of the medium
 * begin. */
struct faces_maps {
    arch_tile_map field, g[AXIS_COUNT], sigma, classes;
    int field_begin[AXIS_COUNT], begin[AXIS_COUNT], classes_x;
};

template <typename REAL> struct faces_march {
    typedef shares<REAL> of;
    typedef vec16<REAL> cells;
    static constexpr int V = of::V, TX = of::TX;

    const faces_maps &maps;
    const grid_view<REAL> &view;
    const faces<REAL, T> &kind;
    const tiling &t;
    const tile_sinks<T> &sinks;
    REAL *shared;
    arch_arrivals *filled; /* of even and odd rounds */
    arch_meeting *meeting;
    tile_sums<T> *sums;
    int lane, wave, tile_x, tile_y;
    int i, j;           /* my first cell */
    int k_begin, k_end; /* planes that are written */
    int begin, end;     /* cells of my vectors that are */
    unsigned rows;      /* bit per row that is */
    REAL *to;           /* my first cell in the plane that is complete */
    cells level[T][2][ROWS]; /* the planes below and at the next step */
    cells z[T][ROWS];        /* conductances below the planes of the steps */
    cells sigma[ROWS];       /* of the second step */
    uint32_t bytes[ROWS];    /* its classes */

    __device__ __forceinline__ REAL *stage(int at, int slot, int rows_of) const
    {
        return shared + at + slot * rows_of * TX;
    }

    /* One thread: what round `number`, which begins at plane k, reads first; slot: k modulo 3. */
    __device__ __forceinline__ void request(int k, unsigned number, int slot) const
    {
        arch_arrivals *const arrivals = filled + (number & 1);
        const int before = slot > 0 ? slot - 1 : 2, two = (int)(number & 1);
        const int x = tile_x - maps.begin[0], y = tile_y - maps.begin[1], z = k - maps.begin[2];
        arch_arrive_with_bytes(arrivals, of::ARRIVING);
        arch_tile_copy(stage(0, slot, TY + 2), maps.field, arrivals, tile_x - maps.field_begin[0],
                       tile_y - 1 - maps.field_begin[1], k - maps.field_begin[2]);
        arch_tile_copy(stage(of::AT_X, before, TY), maps.g[0], arrivals, x, y, z - 1);
        arch_tile_copy(stage(of::AT_Y, before, TY + 1), maps.g[1], arrivals, x, y, z - 1);
        arch_tile_copy(stage(of::AT_Z, two, TY), maps.g[2], arrivals, x, y, z);
        arch_tile_copy(stage(of::AT_SIGMA, two, TY), maps.sigma, arrivals, x, y, z - 1);
        arch_tile_copy(reinterpret_cast<uint8_t *>(shared + of::AT_BYTES) + two * of::CLASSES,
                       maps.classes, arrivals, (tile_x - maps.classes_x) / 16 * 16, y, z - 1);
    }

    /* A cell whose neighbours may be read or lie beyond closed faces. */
    __device__ __forceinline__ bool is_next(int x, int y, int z_of) const
    {
        return x >= (int)t.next_lo[0] && x < (int)t.next_hi[0] && y >= (int)t.next_lo[1] &&
               y < (int)t.next_hi[1] && z_of >= (int)t.next_lo[2] && z_of < (int)t.next_hi[2];
    }

    /* Add the terms of my cells to the sum over a face. All lanes call. */
    __device__ __forceinline__ void add(int l, int face, const tally &mine) const
    {
        if (arch_any((mine.part[0] | mine.part[1] | mine.part[2]) != 0)) {
            for (int p = 0; p < 3; p++) {
                const long long all = arch_wave_sum(mine.part[p]);
                if (lane == 0) {
                    atomicAdd(&sums->part[l][face][p], (unsigned long long)all);
                }
            }
        }
    }

    /* Replace what is beyond closed faces of a row of plane k, and add to the sums. n: around each
     * cell. Few tiles have such cells: loops keep the code short. */
    template <int L>
    __device__ __forceinline__ void close(int k, int row, const cells &c,
                                          const REAL (&g)[V][FACE_COUNT],
                                          REAL (&n)[V][FACE_COUNT], uint32_t own) const
    {
        const int at[AXIS_COUNT] = {i, j + row, k};
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int wide = axis == AXIS_X ? V : 1, last = (int)view.cells[axis] - 1;
            const bool low = kind.closed[2 * axis] && at[axis] == 0;
            const bool high =
                kind.closed[2 * axis + 1] && last >= at[axis] && last < at[axis] + wide;
            if (!arch_any(low || high)) {
                continue;
            }
            const struct exact_sum *const sum =
                low ? sinks.of[L].sum[2 * axis] : sinks.of[L].sum[2 * axis + 1];
            const bool counts = sum != nullptr && (rows >> row & 1) != 0 && k >= k_begin &&
                                k < k_end;
            tally found = {};
            int v = axis == AXIS_X && high ? last - i : 0;
            const int v_end = !low && !high ? 0 : axis == AXIS_X ? v + 1 : V;
#pragma unroll 1
            for (; v < v_end; v++) {
                REAL inside = c.v[0], of_face = low ? g[0][2 * axis] : g[0][2 * axis + 1];
#pragma unroll
                for (int u = 1; u < V; u++) {
                    inside = u == v ? c.v[u] : inside;
                    of_face = u != v ? of_face : low ? g[u][2 * axis] : g[u][2 * axis + 1];
                }
                if (!is_next(i + v, j + row, k)) {
                    continue;
                }
                const int64_t cell[AXIS_COUNT] = {i + v, j + row, k};
                const REAL outside = kind.beyond(L, cell, (uint8_t)(own >> 8 * v),
                                                 2 * axis + (low ? 0 : 1), of_face, inside);
#pragma unroll
                for (int u = 0; u < V; u++) {
                    n[u][2 * axis] = u == v && low ? outside : n[u][2 * axis];
                    n[u][2 * axis + 1] = u == v && !low ? outside : n[u][2 * axis + 1];
                }
                if (counts && v >= begin && v < end) {
                    found.add((double)of_face * (double)(REAL)(outside - inside));
                }
            }
            if (sinks.any) { /* a wave may have both faces of x */
                add(L, 2 * axis, low ? found : tally{});
                add(L, 2 * axis + 1, low ? tally{} : found);
            }
        }
    }

    /* The step from level L in plane k. fresh: level L in the plane above; then level L + 1.
     * z_high: conductances above the plane; then those below. front, back: the rows beside mine. */
    template <int L, bool SIDES>
    __device__ __forceinline__ void step(int k, int slot, cells (&fresh)[ROWS],
                                         cells (&z_high)[ROWS], const REAL *front, const REAL *back,
                                         const cells (&s)[ROWS], const uint32_t (&own)[ROWS])
    {
        const REAL *const heat = shared + of::AT_HEAT + L * of::HEAT;
        const REAL *const g_x = stage(of::AT_X, slot, TY) + wave * ROWS * TX + lane * V;
        const REAL *const g_y = stage(of::AT_Y, slot, TY + 1) + wave * ROWS * TX + lane * V;
        const REAL(&dt)[AXIS_COUNT] = kind.dt[L];
        cells(&below)[ROWS] = level[L][0], (&here)[ROWS] = level[L][1];
        const cells before = vector_at(front), after = vector_at(back);
        cells y = vector_at(g_y), out[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells c = here[row], x = vector_at(g_x + row * TX);
            const cells y_high = vector_at(g_y + (row + 1) * TX);
            const REAL left = arch_shift_up(c.v[V - 1], 1), right = arch_shift_down(c.v[0], 1);
            const REAL x_high = arch_shift_down(x.v[0], 1);
            REAL n[V][FACE_COUNT], g[V][FACE_COUNT];
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int last = V - 1, next = v < last ? v + 1 : v;
                n[v][0] = v > 0 ? c.v[v > 0 ? v - 1 : 0] : left;
                n[v][1] = v < last ? c.v[next] : right;
                n[v][2] = row > 0 ? here[row > 0 ? row - 1 : 0].v[v] : before.v[v];
                n[v][3] = row + 1 < ROWS ? here[row + 1 < ROWS ? row + 1 : row].v[v] : after.v[v];
                n[v][4] = below[row].v[v];
                n[v][5] = fresh[row].v[v];
                g[v][0] = x.v[v] * dt[0];
                g[v][1] = (v < last ? x.v[next] : x_high) * dt[0];
                g[v][2] = y.v[v] * dt[1];
                g[v][3] = y_high.v[v] * dt[1];
                g[v][4] = z[L][row].v[v] * dt[2];
                g[v][5] = z_high[row].v[v] * dt[2];
            }
            if constexpr (SIDES) {
                close<L>(k, row, c, g, n, own[row]);
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                const int of_class = (int)(own[row] >> 8 * v) & kind.of.mask;
                out[row].v[v] =
                    medium_cell(c.v[v], c.v[v], n[v], g[v], s[row].v[v], heat[of_class]);
            }
            y = y_high;
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const cells low = z[L][row];
            below[row] = here[row];
            here[row] = fresh[row];
            fresh[row] = out[row];
            z[L][row] = z_high[row];
            z_high[row] = low;
        }
    }

    /* Round `number`, which begins at plane k of level 0; slot: k modulo 3. */
    template <bool SIDES>
    __device__ __forceinline__ void round(int k, unsigned number, int slot, int last)
    {
        const int two = (int)(number & 1), before = slot > 0 ? slot - 1 : 2;
        const int at = wave * ROWS * TX + lane * V;
        const int next = slot < 2 ? slot + 1 : 0;
        const REAL *const field = stage(0, slot, TY + 2) + TX + at;
        const REAL *const field_before = stage(0, before, TY + 2) + TX + at;
        const uint8_t *const classes =
            reinterpret_cast<const uint8_t *>(shared + of::AT_BYTES) + two * of::CLASSES +
            wave * ROWS * of::CLASS_PITCH + (tile_x - maps.classes_x) % 16 + lane * V;
        REAL *const edges = shared + of::AT_EDGES + (1 + 2 * wave) * TX + lane * V;
        cells fresh[ROWS], z_high[ROWS], s[ROWS];
        uint32_t own[ROWS];
        arch_arrivals_wait(filled + two, number >> 1 & 1);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            fresh[row] = vector_at(field + row * TX);
            z_high[row] = vector_at(stage(of::AT_Z, two, TY) + at + row * TX);
            s[row] = vector_at(stage(of::AT_SIGMA, two, TY) + at + row * TX);
            own[row] = 0;
            __builtin_memcpy(&own[row],
                             __builtin_assume_aligned(classes + row * of::CLASS_PITCH, V), V);
        }
        arch_meeting_wait(meeting, number - 1);
        if (k + 1 < last && arch_is_chosen()) {
            request(k + 1, number + 1, next);
        }
        __syncwarp();
        step<0, SIDES>(k - 1, before, fresh, z_high, field_before - TX, field_before + ROWS * TX, s,
                       own);
        REAL *const now = edges + two * of::LEVEL;
        *reinterpret_cast<cells *>(now) = fresh[0]; /* for the next round */
        *reinterpret_cast<cells *>(now + TX) = fresh[ROWS - 1];
        const REAL *const then = edges + (two ^ 1) * of::LEVEL;
        step<1, SIDES>(k - 2, next, fresh, z_high, then - TX, then + 2 * TX, sigma, bytes);
        arch_reads_before_tile_copy();
        arch_meeting_arrive(meeting);
        if (k - T >= k_begin) {
            store(fresh);
        }
        to += view.pitch_z;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            sigma[row] = s[row];
            bytes[row] = own[row];
        }
    }

    __device__ __forceinline__ void store(const cells (&out)[ROWS]) const
    {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            REAL *const at = to + row * view.pitch_y;
            if ((rows >> row & 1) == 0) {
                continue;
            }
            if (begin == 0 && end == V) {
                *reinterpret_cast<cells *>(at) = out[row];
                continue;
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                if (v >= begin && v < end) {
                    at[v] = out[row].v[v];
                }
            }
        }
    }
};

template <typename REAL>
static __global__ __launch_bounds__(THREADS, 1) void steps_faces(
    const __grid_constant__ faces_maps maps, const grid_view<REAL> view, const faces<REAL, T> kind,
    const tiling t, const tile_sinks<T> sinks)
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
    my.sums = reinterpret_cast<tile_sums<T> *>(memory + of::BYTES);
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
    constexpr unsigned bytes = of::BYTES + (unsigned)sizeof(tile_sums<T>) + 32;
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
