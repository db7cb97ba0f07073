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
 *                     0 0 0 0 0 0 0 0 0 0
 *
 * A stencil of radius R reads R planes on either side, next to a closed face up to 2 R - 1: a level
 * follows the one before by that many planes, which a thread keeps in registers. Level 1 is then
 * computed from the field itself, whose cells come from the caches, and tiles lose R cells per
 * level from there on. */
#include <cstring>

#include "kernels/hip/kind/enthalpy.h"
#include "kernels/hip/kind/high_order.h"

enum { THREADS = 512, CELLS = 2, TILE_BITS = 10 };
static_assert(THREADS * CELLS == 1 << TILE_BITS, "a tile");
/* Planes of a column: so that the sums of its cells fit (EXACT_PARTS_MAX_TERMS). */
enum { DEPTH_MOST = EXACT_PARTS_MAX_TERMS >> TILE_BITS };

/* T steps of a kind on tiles. */
template <int T, typename KIND> struct tile_form {
    static constexpr int FIRST = KIND::R > 1 ? 1 : 0; /* the lowest on the tile */
    static constexpr int LEVELS = T - FIRST;          /* that neighbours are read from there */
    static constexpr int DELAY = 2 * KIND::R - 1;     /* planes from a level to the next one */
    static constexpr int HALO = LEVELS * KIND::R;     /* cells of level FIRST around a box */
    /* Cells that a tile loses at an edge. The last few rows before a closed face read more. */
    static constexpr int LOST = HALO + KIND::R - 1;
};

/* The box in tiles; see tiling_of. */
struct tiling {
    int64_t lo[AXIS_COUNT], hi[AXIS_COUNT];           /* of the box */
    int64_t read_lo[AXIS_COUNT], read_hi[AXIS_COUNT]; /* cells that may be read, */
    int64_t next_lo[AXIS_COUNT], next_hi[AXIS_COUNT]; /* and with them their neighbours */
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

/* The sums over closed faces before each step. */
template <int T> struct tile_sinks {
    bool any;
    face_sums of[T];
};

/* The same of a block, in the memory that it shares. */
template <int T> struct tile_sums {
    unsigned long long part[T][FACE_COUNT][3]; /* of struct tally */

    __device__ __forceinline__ unsigned long long *all()
    {
        return &part[0][0][0];
    }

    __device__ __forceinline__ void begin()
    {
        for (int n = (int)threadIdx.x; n < T * FACE_COUNT * 3; n += THREADS) {
            all()[n] = 0;
        }
        __syncthreads();
    }

    __device__ __forceinline__ void add(int l, int face, double x)
    {
        tally one = {};
        one.add(x);
        for (int p = 0; p < 3; p++) {
            if (one.part[p] != 0) {
                atomicAdd(&part[l][face][p], (unsigned long long)one.part[p]);
            }
        }
    }

    /* Add them to the sums of the faces. All threads of all blocks call. */
    __device__ __forceinline__ void end(const face_sums (&sums)[T])
    {
        __syncthreads();
#pragma unroll /* the sums are parameters of the kernel: no index that differs between lanes */
        for (int n = 0; n < T * FACE_COUNT; n++) {
            if ((int)threadIdx.x == n) {
                add_to(sums[n / FACE_COUNT].sum[n % FACE_COUNT],
                       part[n / FACE_COUNT][n % FACE_COUNT]);
            }
        }
        if (is_last_block(sums[0].scratch)) {
#pragma unroll
            for (int l = 0; l < T; l++) {
                normalise_face_sums(sums[l]);
            }
        }
    }

    static __device__ __forceinline__ void add_to(struct exact_sum *sum,
                                                  const unsigned long long (&parts)[3])
    {
        long long digit[4];
        digits_of({{(long long)parts[0], (long long)parts[1], (long long)parts[2]}}, digit);
        for (int d = 0; d < 4 && sum != nullptr; d++) {
            if (digit[d] != 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(&sum->digit[d]),
                          (unsigned long long)digit[d]);
            }
        }
    }
};

/* One cell of a thread. */
template <typename REAL, int T, typename KIND> struct tile_cell {
    int64_t at;                 /* its index in plane 0 */
    typename KIND::place place; /* there */
    int64_t i, j;
    int own, left, right, front, back; /* places in a plane of shared memory */
    bool known, next_known, written;   /* next_known: so are its neighbours */
    bool closed[4];                    /* lies on the face */
    /* Level FIRST + n in the plane to be advanced; and what is seen of it there and in the planes
     * around it, but for the last one. */
    REAL here[tile_form<T, KIND>::LEVELS];
    REAL seen[tile_form<T, KIND>::LEVELS][2 * tile_form<T, KIND>::DELAY];
};

/* Does the tile hold all cells that a cell reads on an axis? at: its place among `extent`. Of the
 * kinds that read the cells beside it: else no cell needs it. */
template <typename KIND>
static __device__ __forceinline__ bool holds_around(const KIND &, int, int64_t, int64_t, int, int)
{
    return true;
}

template <typename REAL, int R, int T>
static __device__ __forceinline__ bool holds_around(const wide_stencil<REAL, R, T> &kind, int axis,
                                                    int64_t cell, int64_t cells, int at, int extent)
{
    return at >= kind.reach(axis, 0, cell, cells) && at + kind.reach(axis, 1, cell, cells) < extent;
}

template <typename REAL, int T, typename KIND>
static __device__ __forceinline__ tile_cell<REAL, T, KIND> tile_cell_of(const grid_view<REAL> &view,
                                                                        const KIND &kind,
                                                                        const tiling &t, int number,
                                                                        const int64_t (&tile)[2])
{
    const int wide = 1 << t.wide_bits;
    const int high = 1 << (TILE_BITS - t.wide_bits);
    const int x = number & (wide - 1);
    const int y = number >> t.wide_bits;
    int64_t begin[2];
    int64_t end[2];
    core_of(t, AXIS_X, tile[0], wide, tile_form<T, KIND>::LOST, begin[0], end[0]);
    core_of(t, AXIS_Y, tile[1], high, tile_form<T, KIND>::LOST, begin[1], end[1]);
    tile_cell<REAL, T, KIND> c = {};
    const int64_t i = t.first[0] + tile[0] * t.step[0] + x;
    const int64_t j = t.first[1] + tile[1] * t.step[1] + y;
    c.at = view.at(i, j, 0);
    c.place = kind.at(i, j, 0);
    c.i = i;
    c.j = j;
    c.own = number;
    c.left = x > 0 ? number - 1 : number;
    c.right = x + 1 < wide ? number + 1 : number;
    c.front = y > 0 ? number - wide : number;
    c.back = y + 1 < high ? number + wide : number;
    c.known = i >= t.read_lo[0] && i < t.read_hi[0] && j >= t.read_lo[1] && j < t.read_hi[1];
    c.next_known = i >= t.next_lo[0] && i < t.next_hi[0] && j >= t.next_lo[1] && j < t.next_hi[1] &&
                   holds_around(kind, AXIS_X, i, view.cells[0], x, wide) &&
                   holds_around(kind, AXIS_Y, j, view.cells[1], y, high);
    c.written = i >= begin[0] && i < end[0] && j >= begin[1] && j < end[1];
    c.closed[FACE_X_MIN] = kind.closed[FACE_X_MIN] && i == 0;
    c.closed[FACE_X_MAX] = kind.closed[FACE_X_MAX] && i == view.cells[0] - 1;
    c.closed[FACE_Y_MIN] = kind.closed[FACE_Y_MIN] && j == 0;
    c.closed[FACE_Y_MAX] = kind.closed[FACE_Y_MAX] && j == view.cells[1] - 1;
    return c;
}

/* Lies the cell in plane k on closed faces? */
template <typename REAL, int T, typename KIND>
static __device__ __forceinline__ void faces_of(const grid_view<REAL> &view, const KIND &kind,
                                                const tile_cell<REAL, T, KIND> &c, int64_t k,
                                                bool (&on)[FACE_COUNT])
{
#pragma unroll
    for (int face = 0; face < 4; face++) {
        on[face] = c.closed[face];
    }
    on[FACE_Z_MIN] = kind.closed[FACE_Z_MIN] && k == 0;
    on[FACE_Z_MAX] = kind.closed[FACE_Z_MAX] && k == view.cells[2] - 1;
}

/* The value of level l + 1 of a cell in plane k, from lines of level l along the axes. */
template <typename REAL, int T, int R, typename X, typename Y, typename Z, typename TERM>
static __device__ __forceinline__ REAL
advance_wide(const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind,
             const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, int l, int64_t k,
             const bool (&on)[FACE_COUNT], const X &x, const Y &y, const Z &z, const TERM &term)
{
    const REAL own = z(0);
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const int inward = face % 2 == 0 ? 1 : -1;
        if (on[face]) {
            const struct wide_closure &closure = kind.closure[face];
            term(l, k, face, near_sum(kind, l, face, closure.in, closure.in_given, own, [&](int n) {
                     return face / 2 == AXIS_X   ? x(n * inward)
                            : face / 2 == AXIS_Y ? y(n * inward)
                                                 : z(n * inward);
                 }));
        }
    }
    return advance_along(kind, l, own, own, {c.i, c.j, k}, view.cells, x, y, z);
}

/* The cell in plane k of level FIRST, at element `at` of the field. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL first_of(const grid_view<REAL> &view, const KIND &,
                                                const tile_cell<REAL, T, KIND> &, int64_t at,
                                                int64_t, const TERM &)
{
    return view.in[at];
}

template <typename REAL, int T, int R, typename TERM>
static __device__ __forceinline__ REAL first_of(
    const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind,
    const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, int64_t at, int64_t k, const TERM &term)
{
    const REAL *own = view.in + at;
    bool on[FACE_COUNT];
    faces_of(view, kind, c, k, on);
    return advance_wide(view, kind, c, 0, k, on, wide_line<REAL>{own, 1},
                        wide_line<REAL>{own, view.pitch_y}, wide_line<REAL>{own, view.pitch_z},
                        term);
}

/* The cell in plane k of level l + 1; z: what is seen of level l in the planes around it. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL next_of(const grid_view<REAL> &view, const KIND &kind,
                                               const tiling &, const tile_cell<REAL, T, KIND> &c,
                                               const REAL *plane, int l, int64_t k,
                                               const bool (&on)[FACE_COUNT], REAL here,
                                               const REAL (&z)[3], const TERM &term)
{
    REAL n[FACE_COUNT] = {plane[c.left], plane[c.right], plane[c.front], plane[c.back], z[0], z[2]};
    return kind.advance(l, kind.moved(c.place, 0, k), on, here, here, z[1], n,
                        [&](int face, double x) { term(l, k, face, x); });
}

template <typename REAL, int T, int R, typename TERM>
static __device__ __forceinline__ REAL
next_of(const grid_view<REAL> &view, const wide_stencil<REAL, R, T> &kind, const tiling &t,
        const tile_cell<REAL, T, wide_stencil<REAL, R, T>> &c, const REAL *plane, int l, int64_t k,
        const bool (&on)[FACE_COUNT], REAL, const REAL (&z)[4 * R - 1], const TERM &term)
{
    const REAL *own = plane + c.own;
    const auto along_z = [&](int64_t n) {
        REAL value = z[0];
#pragma unroll /* no indexing of registers by a variable */
        for (int p = 1; p < 4 * R - 1; p++) {
            value = p - (2 * R - 1) == n ? z[p] : value;
        }
        return value;
    };
    return advance_wide(view, kind, c, l, k, on, wide_line<REAL>{own, 1},
                        wide_line<REAL>{own, (int64_t)1 << t.wide_bits}, along_z, term);
}

/* One plane of one cell: `value` is level FIRST in plane k; afterwards level T in plane
 * k - DELAY LEVELS. before, now: LEVELS planes each, of the round before and of this one; of what
 * is seen of the cells. term(l, plane, face, x): of the sums of level l. */
template <typename REAL, int T, typename KIND, typename TERM>
static __device__ __forceinline__ REAL advance_cell(const grid_view<REAL> &view, const KIND &kind,
                                                    const tiling &t, tile_cell<REAL, T, KIND> &c,
                                                    const REAL *before, REAL *now, int64_t k,
                                                    REAL value, const TERM &term)
{
    typedef tile_form<T, KIND> F;
    constexpr int DELAY = F::DELAY;
#pragma unroll
    for (int n = 0; n < F::LEVELS; n++) { /* the step from level l to l + 1, in plane `at` */
        const int l = F::FIRST + n;
        const int64_t at = k - DELAY * (n + 1);
        const int64_t last = at + DELAY;
        const bool is_last = last >= t.read_lo[2] && last < t.read_hi[2];
        const bool is_here = at >= t.next_lo[2] && at < t.next_hi[2];
        REAL z[2 * DELAY + 1];
#pragma unroll
        for (int p = 0; p < 2 * DELAY; p++) {
            z[p] = c.seen[n][p];
        }
        z[2 * DELAY] = value;
        if constexpr (!KIND::SEES_FIELD) {
            if (c.known && is_last) {
                z[2 * DELAY] = kind.seen(kind.moved(c.place, 0, last), value);
            }
        }
        const REAL here = KIND::SEES_FIELD ? z[DELAY] : c.here[n];
        bool on[FACE_COUNT];
        faces_of(view, kind, c, at, on);
        c.here[n] = value;
        if (KIND::IS_EVERYWHERE || (c.next_known && is_here)) {
            value = next_of<REAL, T>(view, kind, t, c, before + (n << TILE_BITS), l, at, on, here,
                                     z, term);
        }
        now[(n << TILE_BITS) + c.own] = z[DELAY + 1];
#pragma unroll
        for (int p = 0; p < 2 * DELAY; p++) {
            c.seen[n][p] = z[p + 1];
        }
    }
    return value;
}

/* sm_90: blocks of a multiprocessor, where a cell has few registers. */
template <typename REAL, typename KIND>
constexpr int LEAST_BLOCKS = sizeof(REAL) == 4 && KIND::IS_EVERYWHERE ? 2 : 1;

/* At least 2 waves a SIMD (gfx90a), as many as shared memory of 3 steps in float64 leaves. */
template <typename REAL, int T, typename KIND>
static __global__ __launch_bounds__(THREADS, (LEAST_BLOCKS<REAL, KIND>)) void steps_tile(
    const grid_view<REAL> view, const KIND kind, const tiling t, const tile_sinks<T> sinks)
{
    typedef tile_form<T, KIND> F;
    extern __shared__ __attribute__((aligned(16))) char shared[];
    REAL *const planes = reinterpret_cast<REAL *>(shared);
    tile_sums<T> *const sums =
        reinterpret_cast<tile_sums<T> *>(planes + (2 * F::LEVELS << TILE_BITS));
    const int64_t tiles = t.count[0] * t.count[1];
    const int64_t tile[2] = {blockIdx.x % tiles % t.count[0], blockIdx.x % tiles / t.count[0]};
    const int64_t k_begin = t.lo[2] + blockIdx.x / tiles * t.step[2];
    const int64_t k_end = k_begin + t.step[2] < t.hi[2] ? k_begin + t.step[2] : t.hi[2];
    const int64_t k_first = k_begin - F::LOST > t.read_lo[2] ? k_begin - F::LOST : t.read_lo[2];
    tile_cell<REAL, T, KIND> cells[CELLS];
#pragma unroll
    for (int c = 0; c < CELLS; c++) {
        cells[c] = tile_cell_of<REAL, T>(view, kind, t, (int)threadIdx.x + c * THREADS, tile);
    }
    if (!KIND::IS_EVERYWHERE && sinks.any) {
        sums->begin();
    }
    int parity = 0;
    for (int64_t k = k_first; k < k_end + F::DELAY * F::LEVELS; k++, parity ^= 1) {
        const REAL *before = planes + ((parity ^ 1) * F::LEVELS << TILE_BITS);
        REAL *now = planes + (parity * F::LEVELS << TILE_BITS);
#pragma unroll
        for (int c = 0; c < CELLS; c++) {
            const int64_t at = cells[c].at + k * view.pitch_z;
            const int64_t done = k - F::DELAY * F::LEVELS;
            const bool written = cells[c].written;
            const auto term = [&](int l, int64_t plane, int face, double x) {
                if (!KIND::IS_EVERYWHERE && written && plane >= k_begin && plane < k_end &&
                    sinks.of[l].sum[face] != nullptr) {
                    sums->add(l, face, x);
                }
            };
            REAL value = 0;
            if (cells[c].known && k < t.read_hi[2]) {
                value = first_of<REAL, T>(view, kind, cells[c], at, k, term);
            }
            value = advance_cell(view, kind, t, cells[c], before, now, k, value, term);
            if (written && done >= k_begin && done < k_end) {
                view.out[at - F::DELAY * F::LEVELS * view.pitch_z] = value;
            }
        }
        __syncthreads();
    }
    if (!KIND::IS_EVERYWHERE && sinks.any) {
        sums->end(sinks.of);
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

/* `closed` faces of the field; beyond others F::HALO layers are read. */
template <typename F>
static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int radius)
{
    const int64_t enough_blocks = 1024;
    tiling t = {};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        t.lo[axis] = box->lo[axis];
        t.hi[axis] = box->hi[axis];
        t.read_lo[axis] = args->closed[2 * axis] ? 0 : -(int64_t)F::HALO;
        t.read_hi[axis] = layout->cells[axis] + (args->closed[2 * axis + 1] ? 0 : F::HALO);
        t.next_lo[axis] = t.read_lo[axis] + (args->closed[2 * axis] ? 0 : radius);
        t.next_hi[axis] = t.read_hi[axis] - (args->closed[2 * axis + 1] ? 0 : radius);
    }
    divide_planes(t, F::LOST);
    const int64_t planes = t.hi[2] - t.lo[2];
    const int64_t tiles = t.count[0] * t.count[1];
    t.step[2] = planes;
    while (t.step[2] > DEPTH_MOST ||
           (t.step[2] > 8 * F::LOST &&
            tiles * ((planes + t.step[2] - 1) / t.step[2]) < enough_blocks)) {
        t.step[2] = (t.step[2] + 1) / 2;
    }
    t.count[2] = (planes + t.step[2] - 1) / t.step[2];
    return t;
}

template <int T>
static tile_sinks<T> sinks_of(const struct coefficients *args, struct hip_scratch *d_scratch)
{
    tile_sinks<T> sinks = {};
    for (int l = 0; l < T; l++) {
        sinks.of[l] = face_sums_of(&args[l], d_scratch);
        sinks.any = sinks.any || sinks.of[l].sums;
    }
    return sinks;
}

template <typename REAL, int T, typename KIND>
static hipError_t launch(struct hip_step *step, const KIND &kind)
{
    typedef tile_form<T, KIND> F;
    constexpr unsigned bytes = (2 * F::LEVELS * (unsigned)sizeof(REAL) << TILE_BITS) +
                               (KIND::IS_EVERYWHERE ? 0 : (unsigned)sizeof(tile_sums<T>));
    static bool prepared = false; /* a process has one device */
    if (!prepared) {
        const hipError_t error =
            hipFuncSetAttribute(reinterpret_cast<const void *>(steps_tile<REAL, T, KIND>),
                                hipFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
        if (error != hipSuccess) {
            return error;
        }
        prepared = true;
    }
    const struct step_args *args = step->args;
    const tiling t = tiling_of<F>(&args->layout, args->levels, step->boxes, KIND::R);
    const int64_t nblocks = t.count[0] * t.count[1] * t.count[2];
    if (nblocks > INT32_MAX) {
        return hipErrorInvalidValue;
    }
    step->summed = !KIND::IS_EVERYWHERE;
    steps_tile<REAL, T, KIND><<<(unsigned)nblocks, THREADS, bytes, step->stream>>>(
        view_of<REAL>(&args->layout, args->d_out, args->d_in), kind, t,
        sinks_of<T>(args->levels, step->d_scratch));
    return hipGetLastError();
}

/* Whether all steps have the same r. */
static bool are_alike(const struct coefficients *args, int nsteps)
{
    bool alike = true;
    for (int s = 1; s < nsteps; s++) {
        alike = alike && memcmp(args[s].r, args[0].r, sizeof args[0].r) == 0;
    }
    return alike;
}

template <typename REAL, int T> static hipError_t launch_high_order(struct hip_step *step)
{
    const struct coefficients *args = step->args->levels;
    return launch_radius(args->high_order.radius, [&](auto radius) {
        return launch<REAL, T>(step, wide_stencil_of<REAL, decltype(radius)::value, T>(
                                         &step->args->layout, args, step->args->d_out));
    });
}

hipError_t hip_launch_steps_tile(struct hip_step *step)
{
    const struct coefficients *args = step->args->levels;
    return launch_steps_of(step->args, [&](auto cell, auto steps) -> hipError_t {
        typedef decltype(cell) REAL;
        constexpr int T = decltype(steps)::value;
        if (args->kind == KIND_UNIFORM) {
            return are_alike(args, T) ? launch<REAL, T>(step, uniform_of<REAL, T, 1>(args))
                                      : launch<REAL, T>(step, uniform_of<REAL, T>(args));
        }
        if constexpr (T <= HIP_STEPS_OF_HIGH_ORDER) {
            if (args->kind == KIND_HIGH_ORDER) {
                return launch_high_order<REAL, T>(step);
            }
        }
        if constexpr (T <= HIP_STEPS_OF_MEDIA) {
            if (args->kind == KIND_CLASSES) {
                return launch<REAL, T>(step, classes_of<REAL, T>(args));
            }
            if (args->kind == KIND_ENTHALPY) {
                return args->medium.one_curve
                           ? launch<REAL, T>(step, enthalpy_of<REAL, T, true>(args))
                           : launch<REAL, T>(step, enthalpy_of<REAL, T, false>(args));
            }
        }
        return hipErrorInvalidValue;
    });
}
