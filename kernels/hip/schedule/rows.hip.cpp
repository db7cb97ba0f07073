/* Several steps in a pass of a uniform medium or of classes, where there is no engine that copies
 * tiles.
 *
 * A block marches in z as in tile.hip.cpp, level by level. A wave has ROWS rows of a tile, and a
 * lane 16 bytes of each; all levels are in its registers, in the plane to be advanced and in the
 * one before. Neighbours in x come from the lanes beside it, those in y from its own rows; only the
 * first and the last row of a wave pass through shared memory. It holds them once: the levels are
 * two groups, and while one is advanced, the other's rows are written.
 *
 * Only the outermost tiles of a box, which may lie on closed faces or end within a vector, look
 * for sides. Cells of the tile outside of the field hold values that reach no written cell.
 *
 * In a medium of classes a wave reads the bytes of its cells one plane ahead. Where all have one
 * class, and so have their neighbours, it keeps the coefficients, else it looks them up for every
 * cell. Boxes do not reach closed faces: steps_tile takes T layers there, and the sums. */
#include "kernels/hip/schedule/rows_medium.h"

#if !ARCH_HAS_TILE_COPY

/* ROWS: as many as registers hold. */
template <typename REAL_, int T_, int ROWS_> struct rows_shape {
    typedef REAL_ REAL;
    static constexpr int T = T_, N = vec16<REAL>::N;
    static constexpr int ROWS = ROWS_, WAVES = 8;
    static constexpr int THREADS = ARCH_WAVE * WAVES;
    /* half a cache line: tiles are written in whole ones */
    static constexpr int HALO_X = 64 / (int)sizeof(REAL);
    static constexpr int WIDE = ARCH_WAVE * N, HIGH = WAVES * ROWS;
    static constexpr int GROUP = T / 2; /* levels of the first group */
};

/* In shared memory: the first and last row of each wave. */
template <typename S> struct rows_edges {
    vec16<typename S::REAL> of[S::T][S::WAVES][2][ARCH_WAVE];
};

template <typename S> struct rows_wave {
    typedef vec16<typename S::REAL> vec;
    /* level l in the plane to be advanced, and in the one before */
    vec here[S::T][S::ROWS], before[S::T][S::ROWS];
    vec ahead[S::ROWS]; /* level 0 in the next plane */
    int wave, lane;
    int i, j;               /* of the first cell; may be outside of the field */
    int load_x;             /* i, moved to cells that may be read */
    bool x_min, y_min;      /* the first cell of the vector, row of the wave, is on a closed face */
    int x_max, y_max;       /* the cell, the row on a closed face; -1: none */
    int begin, end;         /* the cells of the vector that are written, */
    int row_begin, row_end; /* and the rows of the wave */
};

template <typename S, typename KIND>
static __device__ __forceinline__ void place_wave(rows_wave<S> &w,
                                                  const grid_view<typename S::REAL> &view,
                                                  const KIND &kind, const tiling &t,
                                                  const int64_t (&tile)[2])
{
    constexpr int N = S::N;
    w.wave = (int)arch_first_lane_value(threadIdx.x / ARCH_WAVE);
    w.lane = (int)(threadIdx.x % ARCH_WAVE);
    w.i = (int)(t.first[0] + tile[0] * t.step[0]) + w.lane * N;
    w.j = (int)(t.first[1] + tile[1] * t.step[1]) + w.wave * S::ROWS;
    const int least = (int)t.read_lo[0], most = (int)t.read_hi[0] - 1;
    const int last = most - (most % N + N) % N; /* a whole vector */
    w.load_x = w.i < least ? least : w.i < last ? w.i : last;
    const int to_max = (int)view.cells[0] - 1 - w.i;
    w.x_min = kind.closed[FACE_X_MIN] && w.i == 0;
    w.x_max = kind.closed[FACE_X_MAX] && to_max >= 0 && to_max < N ? to_max : -1;
    w.y_min = kind.closed[FACE_Y_MIN] && w.j == 0;
    w.y_max = kind.closed[FACE_Y_MAX] ? (int)view.cells[1] - 1 - w.j : -1;
    int64_t begin[2], end[2];
    core_of(t, AXIS_X, tile[0], S::WIDE, S::HALO_X, begin[0], end[0]);
    core_of(t, AXIS_Y, tile[1], S::HIGH, S::T, begin[1], end[1]);
    const int before = (int)begin[0] - w.i, after = (int)end[0] - w.i;
    w.begin = before > 0 ? before : 0;
    w.end = after < N ? after : N;
    w.row_begin = (int)begin[1] - w.j;
    w.row_end = (int)end[1] - w.j;
}

template <bool SIDES, typename S, typename KIND>
static __device__ __forceinline__ void read_ahead(const grid_view<typename S::REAL> &view,
                                                  const KIND &kind, const tiling &t,
                                                  rows_wave<S> &w, rows_medium<S, KIND> &m, int k)
{
    const int top = (int)t.read_hi[2] - 1;
    const int z = k < top ? k : top;
    const typename S::REAL *plane = view.in + view.at(0, 0, z);
#pragma unroll
    for (int r = 0; r < S::ROWS; r++) {
        int row = w.j + r;
        if (SIDES) {
            row = row < (int)t.read_hi[1] ? row : (int)t.read_hi[1] - 1;
            row = row > (int)t.read_lo[1] ? row : (int)t.read_lo[1];
        }
        w.ahead[r] = vector_at(plane + row * view.pitch_y + w.load_x);
        m.read_ahead(kind, r, w.load_x, row, z);
    }
}

/* The level T of plane k. */
template <bool SIDES, typename S>
static __device__ __forceinline__ void write_rows(const grid_view<typename S::REAL> &view,
                                                  const rows_wave<S> &w, int k,
                                                  const vec16<typename S::REAL> (&value)[S::ROWS])
{
    const bool whole = w.begin == 0 && w.end == S::N;
#pragma unroll
    for (int r = 0; r < S::ROWS; r++) {
        if (r < w.row_begin || r >= w.row_end) {
            continue;
        }
        typename S::REAL *const to = view.out + view.at(0, w.j + r, k) + w.i;
        if (whole) {
            arch_store_stream(to, value[r]);
        } else if (SIDES) {
#pragma unroll
            for (int n = 0; n < S::N; n++) {
                if (n >= w.begin && n < w.end) {
                    to[n] = value[r].v[n];
                }
            }
        }
    }
}

template <int FROM, int TO, typename S>
static __device__ __forceinline__ void show_edges(rows_edges<S> &edges, const rows_wave<S> &w)
{
#pragma unroll
    for (int l = FROM; l < TO; l++) {
        edges.of[l][w.wave][0][w.lane] = w.here[l][0];
        edges.of[l][w.wave][1][w.lane] = w.here[l][S::ROWS - 1];
    }
}

template <typename KIND, typename VEC>
static __device__ __forceinline__ void close_vector(const KIND &kind, int l, int face,
                                                    const VEC &inside, VEC &outside)
{
#pragma unroll
    for (int n = 0; n < VEC::N && KIND::IS_EVERYWHERE; n++) {
        outside.v[n] = kind.beyond(l, {}, face, inside.v[n]);
    }
}

/* Level l + 1 of a row from its neighbours in y and z. */
template <bool X_SIDES, bool ONE, typename S, typename KIND, typename VEC>
static __device__ __forceinline__ VEC advance_row(const KIND &kind, const tiling &t,
                                                  const rows_wave<S> &w,
                                                  const rows_medium<S, KIND> &m, int l, int r,
                                                  int64_t k, const VEC &c, const VEC (&beside)[4],
                                                  const VEC &base)
{
    typedef typename S::REAL REAL;
    constexpr int N = S::N;
    REAL row[N + 2];
    row[0] = arch_lane_before(c.v[N - 1]);
    row[N + 1] = arch_lane_after(c.v[0]);
#pragma unroll
    for (int n = 0; n < N; n++) {
        row[n + 1] = c.v[n];
    }
    VEC out;
#pragma unroll
    for (int n = 0; n < N; n++) {
        REAL around[FACE_COUNT] = {row[n], row[n + 2]};
        if constexpr (X_SIDES && KIND::IS_EVERYWHERE) {
            if (n == 0) {
                around[0] = w.x_min ? kind.beyond(l, {}, FACE_X_MIN, c.v[0]) : around[0];
            }
            around[1] = n == w.x_max ? kind.beyond(l, {}, FACE_X_MAX, c.v[n]) : around[1];
        }
#pragma unroll
        for (int s = 0; s < 4; s++) {
            around[2 + s] = beside[s].v[n];
        }
        out.v[n] = m.template update<ONE>(kind, t, l, w.i + n, w.j + r, k,
                                          kind.corrected(l) ? base.v[n] : c.v[n], c.v[n], around);
    }
    return out;
}

/* The step from level l to l + 1 in plane k. value: level l in plane k + 1; becomes l + 1 in plane
 * k. base: the level before l in plane k; becomes l in plane k - 1. */
template <bool SIDES, typename S, typename KIND>
static __device__ __forceinline__ void advance_level(const KIND &kind, const tiling &t,
                                                     rows_wave<S> &w, rows_medium<S, KIND> &m,
                                                     const rows_edges<S> &edges, int planes, int l,
                                                     int64_t k,
                                                     vec16<typename S::REAL> (&value)[S::ROWS],
                                                     vec16<typename S::REAL> (&base)[S::ROWS])
{
    typedef vec16<typename S::REAL> vec;
    constexpr int R = S::ROWS;
    m.begin_level(kind, l);
    if (kind.closed[FACE_Z_MIN] && k == 0) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            close_vector(kind, l, FACE_Z_MIN, w.here[l][r], w.before[l][r]);
        }
    }
    if (kind.closed[FACE_Z_MAX] && k == planes - 1) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            close_vector(kind, l, FACE_Z_MAX, w.here[l][r], value[r]);
        }
    }
    vec y[R + 2];
    y[0] = edges.of[l][w.wave > 0 ? w.wave - 1 : 0][1][w.lane];
    y[R + 1] = edges.of[l][w.wave + 1 < S::WAVES ? w.wave + 1 : w.wave][0][w.lane];
    if (SIDES && w.y_min) {
        close_vector(kind, l, FACE_Y_MIN, w.here[l][0], y[0]);
    }
    if (SIDES && w.y_max >= 0 && w.y_max < R) { /* in the row beyond, which nothing else needs */
#pragma unroll
        for (int r = 0; r < R; r++) {
            if (r == w.y_max) {
                close_vector(kind, l, FACE_Y_MAX, w.here[l][r],
                             r == R - 1 ? y[R + 1] : w.here[l][r < R - 1 ? r + 1 : r]);
            }
        }
    }
    vec out[R];
    const auto advance_rows = [&](auto one) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            vec beside[4] = {r == 0 ? y[0] : w.here[l][r > 0 ? r - 1 : 0],
                             r == R - 1 ? y[R + 1] : w.here[l][r < R - 1 ? r + 1 : 0],
                             w.before[l][r], value[r]};
            out[r] = advance_row<SIDES, decltype(one)::value>(kind, t, w, m, l, r, k, w.here[l][r],
                                                              beside, base[r]);
        }
    };
    if (m.has_one(l)) { /* one branch for all rows, so that no wait is between them */
        advance_rows(std::true_type());
    } else {
        advance_rows(std::false_type());
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
        base[r] = w.before[l][r];
        w.before[l][r] = w.here[l][r];
        w.here[l][r] = value[r];
        value[r] = out[r];
    }
}

/* Plane k of level 0, and the planes before of the others. */
template <bool SIDES, typename S, typename KIND>
static __device__ __forceinline__ void advance_planes(const grid_view<typename S::REAL> &view,
                                                      const KIND &kind, const tiling &t,
                                                      rows_wave<S> &w, rows_medium<S, KIND> &m,
                                                      rows_edges<S> &edges, int k, int k_begin,
                                                      int k_end)
{
    constexpr int T = S::T;
    vec16<typename S::REAL> value[S::ROWS], base[S::ROWS];
#pragma unroll
    for (int r = 0; r < S::ROWS; r++) {
        value[r] = base[r] = w.ahead[r];
    }
    m.begin_plane(kind);
    read_ahead<SIDES>(view, kind, t, w, m, k + 1);
    __syncthreads();
    show_edges<S::GROUP, T>(edges, w);
#pragma unroll
    for (int l = 0; l < S::GROUP; l++) {
        advance_level<SIDES>(kind, t, w, m, edges, (int)view.cells[2], l, k - 1 - l, value, base);
    }
    __syncthreads();
    show_edges<0, S::GROUP>(edges, w);
#pragma unroll
    for (int l = S::GROUP; l < T; l++) {
        advance_level<SIDES>(kind, t, w, m, edges, (int)view.cells[2], l, k - 1 - l, value, base);
    }
    if (k - T >= k_begin && k - T < k_end) {
        write_rows<SIDES>(view, w, k - T, value);
    }
}

template <bool SIDES, typename S, typename KIND>
static __device__ __forceinline__ void march(const grid_view<typename S::REAL> &view,
                                             const KIND &kind, const tiling &t, rows_wave<S> &w,
                                             rows_edges<S> &edges)
{
    const int column = (int)(blockIdx.x / (unsigned)(t.count[0] * t.count[1]));
    const int depth = (int)t.step[2], top = (int)t.hi[2], least = (int)t.read_lo[2];
    const int k_begin = (int)t.lo[2] + column * depth;
    const int k_end = k_begin + depth < top ? k_begin + depth : top;
    const int k_first = k_begin - S::T > least ? k_begin - S::T : least;
    rows_medium<S, KIND> m = {};
    read_ahead<SIDES>(view, kind, t, w, m, k_first);
    show_edges<0, S::GROUP>(edges, w);
    /* two at a time: a level's registers change their roles, not their values */
    constexpr int AT_ONCE = SIDES || !KIND::IS_EVERYWHERE ? 1 : 2;
    for (int k = k_first; k < k_end + S::T; k += AT_ONCE) {
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            advance_planes<SIDES>(view, kind, t, w, m, edges, k + n, k_begin, k_end);
        }
    }
}

template <typename S, typename KIND>
static __global__ __launch_bounds__(S::THREADS) void steps_rows(
    const grid_view<typename S::REAL> view, const KIND kind, const tiling t)
{
    extern __shared__ __attribute__((aligned(16))) char shared[];
    rows_edges<S> &edges = *reinterpret_cast<rows_edges<S> *>(shared);
    const unsigned wide = (unsigned)t.count[0], high = (unsigned)t.count[1];
    const int64_t tile[2] = {blockIdx.x % wide, blockIdx.x / wide % high};
    rows_wave<S> w = {};
    place_wave(w, view, kind, t, tile);
    if (tile[0] == 0 || tile[0] == t.count[0] - 1 || tile[1] == 0 || tile[1] == t.count[1] - 1) {
        march<true>(view, kind, t, w, edges);
    } else {
        march<false>(view, kind, t, w, edges);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Whole columns read the least, and march side by side, so that tiles find in the cache what their
 * neighbours have read. They are divided only where that leaves processors idle for a tenth of the
 * time; a processor has one block at once. */
template <typename S> static void divide_depth(tiling &t, int64_t processors)
{
    const int64_t planes = t.hi[2] - t.lo[2];
    int64_t best = INT64_MAX;
    for (int64_t n = 1; n == 1 || planes / n >= 2 * S::T; n++) {
        const int64_t depth = (planes + n - 1) / n;
        const int64_t rounds = (t.count[0] * t.count[1] * n + processors - 1) / processors;
        const int64_t time = rounds * (depth + 2 * S::T);
        if (time < best - best / 10) {
            best = time;
            t.step[2] = depth;
        }
    }
    t.count[2] = (planes + t.step[2] - 1) / t.step[2];
}

template <typename S>
static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int64_t processors)
{
    const int line = 2 * S::HALO_X;
    tiling t = tiling_around(layout, args, box, S::T);
    divide_axis(t, AXIS_Y, S::HIGH, S::T);
    const int64_t begin = t.lo[AXIS_X] - (t.lo[AXIS_X] % line + line) % line;
    t.read_lo[AXIS_X] = args->closed[FACE_X_MIN] ? 0 : -(int64_t)((S::T + S::N - 1) / S::N * S::N);
    t.first[AXIS_X] = begin - S::HALO_X;
    t.step[AXIS_X] = S::WIDE - 2 * S::HALO_X;
    t.count[AXIS_X] = (t.hi[AXIS_X] - begin + t.step[AXIS_X] - 1) / t.step[AXIS_X];
    divide_depth<S>(t, processors);
    return t;
}

template <typename S, typename KIND>
static hipError_t launch(struct hip_step *step, const KIND &kind, const struct box *box)
{
    static int processors = 0;
    const unsigned bytes = (unsigned)sizeof(rows_edges<S>);
    const hipError_t error =
        hip_prepare(reinterpret_cast<const void *>(steps_rows<S, KIND>), bytes, &processors);
    if (error != hipSuccess) {
        return error;
    }
    const struct step_args *args = step->args;
    const tiling t = tiling_of<S>(&args->layout, args->levels, box, processors);
    const int64_t nblocks = t.count[0] * t.count[1] * t.count[2];
    if (nblocks > INT32_MAX) {
        return hipErrorInvalidValue;
    }
    steps_rows<S, KIND><<<(unsigned)nblocks, S::THREADS, bytes, step->stream>>>(
        view_of<typename S::REAL>(&args->layout, args->d_out, args->d_in), kind, t);
    return hipGetLastError();
}

/* The layers at closed faces by the kernel for any box, which takes their sums. */
template <typename REAL, int T> static hipError_t launch_classes(struct hip_step *step)
{
    const struct coefficients *args = step->args->levels;
    struct box inner = *step->boxes;
    struct box pieces[FACE_COUNT];
    struct hip_step of = *step;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t last = step->args->layout.cells[axis] - T;
        inner.lo[axis] = args->closed[2 * axis] && inner.lo[axis] < T ? T : inner.lo[axis];
        inner.hi[axis] =
            args->closed[2 * axis + 1] && inner.hi[axis] > last ? last : inner.hi[axis];
    }
    hipError_t error =
        launch<rows_shape<REAL, T, (T < 3 ? 4 : 3)>>(step, classes_of<REAL, T>(args), &inner);
    const int npieces = box_shell(step->boxes, &inner, pieces);
    for (int p = 0; p < npieces && error == hipSuccess; p++) {
        of.boxes = &pieces[p];
        error = hip_launch_steps_tile(&of);
    }
    step->summed = true;
    return error;
}

#endif

hipError_t hip_launch_steps_rows(struct hip_step *step)
{
#if ARCH_HAS_TILE_COPY
    return hipErrorNotSupported;
#else
    const struct coefficients *args = step->args->levels;
    return launch_steps_of(step->args, [&](auto cell, auto steps) {
        typedef decltype(cell) REAL;
        constexpr int T = decltype(steps)::value;
        if constexpr (T <= HIP_STEPS_OF_CLASSES) {
            if (args->kind == KIND_CLASSES) {
                return launch_classes<REAL, T>(step);
            }
        }
        return are_alike(args, T)
                   ? launch<rows_shape<REAL, T, 4>>(step, uniform_of<REAL, T, 1>(args), step->boxes)
                   : launch<rows_shape<REAL, T, (T < 4 ? 4 : 3)>>(step, uniform_of<REAL, T>(args),
                                                                  step->boxes);
    });
#endif
}
