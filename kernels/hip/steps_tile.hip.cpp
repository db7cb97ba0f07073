/* Several steps in a pass, for any box on any chip.
 *
 * A block marches in z through a column of TILE cells of a plane, as wide as suits the box. When it
 * has read plane k of the field (level 0), it computes plane k - 1 of level 1 from planes k - 2 to
 * k of level 0, plane k - 2 of level 2, ..., plane k - T of level T, which it writes. A thread
 * keeps its own cells of each level, in the plane at hand and the one below, in registers;
 * neighbours in x and y come from shared memory, where each level has the plane of this round and
 * the one before, so that one barrier per plane is enough.
 *
 *      tile, T = 3:   0 0 0 0 0 0 0 0 0 0     0: level 0 is known, and nothing more
 *                     0 1 1 1 1 1 1 1 1 0     3: all levels are: these cells are written
 *                     0 1 2 2 2 2 2 2 1 0
 *                     0 1 2 3 3 3 3 2 1 0     At a closed face the known cells do not shrink.
 *                     0 1 2 2 2 2 2 2 1 0     The others hold values that reach no written cell.
 *                     0 1 1 1 1 1 1 1 1 0
 *                     0 0 0 0 0 0 0 0 0 0 */
#include "kernels/hip/steps.h"

enum { THREADS = 512, CELLS = 2, TILE_BITS = 10 };
static_assert(THREADS * CELLS == 1 << TILE_BITS, "a tile");

/* The box in tiles; see tiling_of. */
struct tiling {
    int64_t lo[AXIS_COUNT], hi[AXIS_COUNT];           /* of the box */
    int64_t read_lo[AXIS_COUNT], read_hi[AXIS_COUNT]; /* cells that may be read */
    int64_t first[AXIS_COUNT];                        /* the first cell of the first tile */
    int64_t step[AXIS_COUNT];                         /* from one tile to the next */
    int64_t count[AXIS_COUNT];                        /* tiles; in z: columns, without overlap */
    int wide_bits;                                    /* a tile has 2^wide_bits cells in x */
};

/* The cells that tile n of an axis writes. */
static __device__ __forceinline__ void core_of(const tiling &t, int axis, int64_t n, int64_t most,
                                               int halo, int64_t &begin, int64_t &end)
{
    const int64_t start = t.first[axis] + n * t.step[axis];
    begin = n == 0 ? t.lo[axis] : start + halo;
    end = n == t.count[axis] - 1 ? t.hi[axis] : start + most - halo;
}

/* One cell of a thread. */
template <typename REAL, int T> struct tile_cell {
    int64_t i, j, at;                  /* at: its index in plane 0 */
    int own, left, right, front, back; /* places in a plane of shared memory */
    bool known, written;
    bool closed[4];         /* lies on the face */
    REAL here[T], below[T]; /* level l in plane k - l - 1, and in the plane below it */
};

template <typename REAL, int T>
static __device__ __forceinline__ tile_cell<REAL, T> tile_cell_of(const grid_view<REAL> &view,
                                                                  const pass<REAL, T> &p,
                                                                  const tiling &t, int number,
                                                                  const int64_t (&tile)[2])
{
    const int wide = 1 << t.wide_bits;
    const int high = 1 << (TILE_BITS - t.wide_bits);
    const int x = number & (wide - 1);
    const int y = number >> t.wide_bits;
    int64_t begin[2];
    int64_t end[2];
    core_of(t, AXIS_X, tile[0], wide, T, begin[0], end[0]);
    core_of(t, AXIS_Y, tile[1], high, T, begin[1], end[1]);
    tile_cell<REAL, T> c = {};
    c.i = t.first[0] + tile[0] * t.step[0] + x;
    c.j = t.first[1] + tile[1] * t.step[1] + y;
    c.at = view.at(c.i, c.j, 0);
    c.own = number;
    c.left = x > 0 ? number - 1 : number;
    c.right = x + 1 < wide ? number + 1 : number;
    c.front = y > 0 ? number - wide : number;
    c.back = y + 1 < high ? number + wide : number;
    c.known =
        c.i >= t.read_lo[0] && c.i < t.read_hi[0] && c.j >= t.read_lo[1] && c.j < t.read_hi[1];
    c.written = c.i >= begin[0] && c.i < end[0] && c.j >= begin[1] && c.j < end[1];
    c.closed[FACE_X_MIN] = p.closed[FACE_X_MIN] && c.i == 0;
    c.closed[FACE_X_MAX] = p.closed[FACE_X_MAX] && c.i == view.cells[0] - 1;
    c.closed[FACE_Y_MIN] = p.closed[FACE_Y_MIN] && c.j == 0;
    c.closed[FACE_Y_MAX] = p.closed[FACE_Y_MAX] && c.j == view.cells[1] - 1;
    return c;
}

/* One plane of one cell: `value` is level 0 in plane k; afterwards level T in plane k - T.
 * before, now: T planes each, of the round before and of this one. */
template <typename REAL, int T>
static __device__ __forceinline__ REAL advance_cell(const grid_view<REAL> &view,
                                                    const pass<REAL, T> &p, tile_cell<REAL, T> &c,
                                                    const REAL *before, REAL *now, int64_t k,
                                                    REAL value)
{
#pragma unroll
    for (int l = 0; l < T; l++) { /* the step from level l to l + 1, in plane `at` */
        const int64_t at = k - l - 1;
        const REAL here = c.here[l];
        const REAL *plane = before + (l << TILE_BITS);
        const bool z_min = p.closed[FACE_Z_MIN] && at == 0;
        const bool z_max = p.closed[FACE_Z_MAX] && at == view.cells[2] - 1;
        REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front],
                              plane[c.back], c.below[l],     value};
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            const bool on = face == FACE_Z_MIN   ? z_min
                            : face == FACE_Z_MAX ? z_max
                                                 : c.closed[face < 4 ? face : 0];
            n[face] = on ? outside(here, p.a[face], p.b[l][face]) : n[face];
        }
        now[(l << TILE_BITS) + c.own] = value;
        c.below[l] = here;
        c.here[l] = value;
        value = heat_cell(here, n[0], n[1], n[2], n[3], n[4], n[5], p.r);
    }
    return value;
}

/* At least 5 waves a SIMD (gfx90a), of which the shared memory of 4 steps in float64 leaves 2. */
template <typename REAL, int T>
static __global__ __launch_bounds__(THREADS) void steps_tile(const grid_view<REAL> view,
                                                             const pass<REAL, T> p, const tiling t)
{
    extern __shared__ __attribute__((aligned(16))) char shared[];
    REAL *const planes = reinterpret_cast<REAL *>(shared);
    const int64_t tiles = t.count[0] * t.count[1];
    const int64_t tile[2] = {blockIdx.x % tiles % t.count[0], blockIdx.x % tiles / t.count[0]};
    const int64_t k_begin = t.lo[2] + blockIdx.x / tiles * t.step[2];
    const int64_t k_end = k_begin + t.step[2] < t.hi[2] ? k_begin + t.step[2] : t.hi[2];
    const int64_t k_first = k_begin - T > t.read_lo[2] ? k_begin - T : t.read_lo[2];
    tile_cell<REAL, T> cells[CELLS];
#pragma unroll
    for (int c = 0; c < CELLS; c++) {
        cells[c] = tile_cell_of(view, p, t, (int)threadIdx.x + c * THREADS, tile);
    }
    int parity = 0;
    for (int64_t k = k_first; k < k_end + T; k++, parity ^= 1) {
        const REAL *before = planes + ((parity ^ 1) * T << TILE_BITS);
        REAL *now = planes + (parity * T << TILE_BITS);
#pragma unroll
        for (int c = 0; c < CELLS; c++) {
            const int64_t at = cells[c].at + k * view.pitch_z;
            REAL value = 0;
            if (cells[c].known && k < t.read_hi[2]) {
                value = view.in[at];
            }
            value = advance_cell(view, p, cells[c], before, now, k, value);
            if (cells[c].written && k - T >= k_begin && k - T < k_end) {
                view.out[at - T * view.pitch_z] = value;
            }
        }
        __syncthreads();
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Tiles of `most` cells on an axis; those that are read begin at `first`. */
static void divide_axis(tiling &t, int axis, int64_t most, int halo)
{
    const int64_t before = t.lo[axis] - t.read_lo[axis];
    const int64_t after = t.read_hi[axis] - t.hi[axis];
    t.first[axis] = t.lo[axis] - (before < halo ? before : halo);
    const int64_t last = t.hi[axis] + (after < halo ? after : halo);
    const int64_t cells = last - t.first[axis];
    t.step[axis] = most - 2 * halo;
    t.count[axis] = cells <= most       ? 1
                    : t.step[axis] <= 0 ? INT32_MAX /* never */
                                        : (cells - 2 * halo + t.step[axis] - 1) / t.step[axis];
}

/* The width of a tile with the least cells in all tiles. */
static void divide_planes(tiling &t, int halo)
{
    int64_t least = INT64_MAX;
    int best = 0;
    for (int bits = 0; bits <= 2 * TILE_BITS; bits++) {
        const bool last = bits == 2 * TILE_BITS;                    /* take the best one */
        const int now = last ? best : (bits + 5) % (TILE_BITS + 1); /* 32 cells: the first choice */
        divide_axis(t, AXIS_X, (int64_t)1 << now, halo);
        divide_axis(t, AXIS_Y, (int64_t)1 << (TILE_BITS - now), halo);
        if (t.count[0] * t.count[1] < least) {
            least = t.count[0] * t.count[1];
            best = now;
        }
    }
    t.wide_bits = best;
}

/* `closed` faces of the field; beyond others `halo` layers are read. */
static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int halo)
{
    const int64_t enough_blocks = 1024;
    tiling t = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        t.lo[axis] = box->lo[axis];
        t.hi[axis] = box->hi[axis];
        t.read_lo[axis] = args->closed[2 * axis] ? 0 : -(int64_t)halo;
        t.read_hi[axis] = layout->cells[axis] + (args->closed[2 * axis + 1] ? 0 : halo);
    }
    divide_planes(t, halo);
    const int64_t planes = t.hi[2] - t.lo[2];
    const int64_t tiles = t.count[0] * t.count[1];
    t.step[2] = planes;
    while (t.step[2] > 8 * halo && tiles * ((planes + t.step[2] - 1) / t.step[2]) < enough_blocks) {
        t.step[2] = (t.step[2] + 1) / 2;
    }
    t.count[2] = (planes + t.step[2] - 1) / t.step[2];
    return t;
}

template <typename REAL, int T>
static hipError_t launch(hipStream_t stream, const struct layout *layout,
                         const struct coefficients *args, void *d_out, const void *d_in,
                         const struct box *box)
{
    constexpr unsigned bytes = 2 * T * sizeof(REAL) << TILE_BITS;
    static bool prepared = false; /* a process has one device */
    if (!prepared) {
        const hipError_t error =
            hipFuncSetAttribute(reinterpret_cast<const void *>(steps_tile<REAL, T>),
                                hipFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
        if (error != hipSuccess) {
            return error;
        }
        prepared = true;
    }
    const tiling t = tiling_of(layout, args, box, T);
    const int64_t nblocks = t.count[0] * t.count[1] * t.count[2];
    if (nblocks > INT32_MAX) {
        return hipErrorInvalidValue;
    }
    steps_tile<REAL, T><<<(unsigned)nblocks, THREADS, bytes, stream>>>(
        view_of<REAL>(layout, d_out, d_in), pass_of<REAL, T>(args), t);
    return hipGetLastError();
}

hipError_t hip_launch_steps_tile(hipStream_t stream, const struct layout *layout,
                                 const struct coefficients *args, int nsteps, void *d_out,
                                 const void *d_in, const struct box *box,
                                 struct hip_steps_besides *)
{
    return launch_steps_of(layout, nsteps, [&](auto cell, auto steps) {
        return launch<decltype(cell), decltype(steps)::value>(stream, layout, args, d_out, d_in,
                                                              box);
    });
}
