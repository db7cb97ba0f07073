/* Several steps in a pass, for any box on any chip.
 *
 * A block marches in z through a column of 1024 cells of a plane, as wide as suits the box. When it
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
 */
#include "kernels/hip/schedule/tile_cell.h"
#include "kernels/hip/schedule/tile_sums.h"

/* Planes of a column: so that the sums of its cells fit (EXACT_PARTS_MAX_TERMS). */
enum { DEPTH_MOST = EXACT_PARTS_MAX_TERMS >> TILE_BITS };

/* sm_90: blocks of a multiprocessor, where a cell has few registers. */
template <typename REAL, typename KIND>
constexpr int LEAST_BLOCKS = sizeof(REAL) == 4 && KIND::IS_EVERYWHERE ? 2 : 1;

/* At least 2 waves a SIMD (gfx90a), as many as shared memory of 3 steps in float64 leaves. */
template <typename REAL, int T, typename KIND>
static __global__ __launch_bounds__(THREADS, (LEAST_BLOCKS<REAL, KIND>)) void steps_tile(
    const grid_view<REAL> view, const KIND kind, const tiling t, const tile_sinks<T> sinks)
{
    extern __shared__ __attribute__((aligned(16))) char shared[];
    REAL *const planes = reinterpret_cast<REAL *>(shared);
    tile_sums<T> *const sums = reinterpret_cast<tile_sums<T> *>(planes + (2 * T << TILE_BITS));
    const int64_t tiles = t.count[0] * t.count[1];
    const int64_t tile[2] = {blockIdx.x % tiles % t.count[0], blockIdx.x % tiles / t.count[0]};
    const int64_t k_begin = t.lo[2] + blockIdx.x / tiles * t.step[2];
    const int64_t k_end = k_begin + t.step[2] < t.hi[2] ? k_begin + t.step[2] : t.hi[2];
    const int64_t k_first = k_begin - T > t.read_lo[2] ? k_begin - T : t.read_lo[2];
    tile_cell<REAL, T, KIND> cells[CELLS];
#pragma unroll
    for (int c = 0; c < CELLS; c++) {
        cells[c] = tile_cell_of<REAL, T>(view, kind, t, (int)threadIdx.x + c * THREADS, tile);
    }
    if (!KIND::IS_EVERYWHERE && sinks.any) {
        sums->begin();
    }
    int parity = 0;
    for (int64_t k = k_first; k < k_end + T; k++, parity ^= 1) {
        const REAL *before = planes + ((parity ^ 1) * T << TILE_BITS);
        REAL *now = planes + (parity * T << TILE_BITS);
#pragma unroll
        for (int c = 0; c < CELLS; c++) {
            const int64_t at = cells[c].at + k * view.pitch_z;
            const int64_t done = k - T;
            const bool written = cells[c].written;
            const auto term = [&](int l, int64_t plane, int face, double x) {
                if (!KIND::IS_EVERYWHERE && written && plane >= k_begin && plane < k_end &&
                    sinks.of[l].sum[face] != nullptr) {
                    sums->add(l, face, x);
                }
            };
            REAL value = cells[c].known && k < t.read_hi[2] ? view.in[at] : 0;
            value = advance_cell(view, kind, t, cells[c], before, now, k, value, term);
            if (written && done >= k_begin && done < k_end) {
                view.out[at - T * view.pitch_z] = value;
            }
        }
        __syncthreads();
    }
    if (!KIND::IS_EVERYWHERE && sinks.any) {
        sums->end(sinks.of);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

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

static tiling tiling_of(const struct layout *layout, const struct coefficients *args,
                        const struct box *box, int steps)
{
    const int64_t enough_blocks = 1024;
    tiling t = tiling_around(layout, args, box, steps);
    divide_planes(t, steps);
    const int64_t planes = t.hi[2] - t.lo[2];
    const int64_t tiles = t.count[0] * t.count[1];
    t.step[2] = planes;
    while (
        t.step[2] > DEPTH_MOST ||
        (t.step[2] > 8 * steps && tiles * ((planes + t.step[2] - 1) / t.step[2]) < enough_blocks)) {
        t.step[2] = (t.step[2] + 1) / 2;
    }
    t.count[2] = (planes + t.step[2] - 1) / t.step[2];
    return t;
}

template <typename REAL, int T, typename KIND>
static hipError_t launch(struct hip_step *step, const KIND &kind)
{
    constexpr unsigned bytes = (2 * T * (unsigned)sizeof(REAL) << TILE_BITS) +
                               (KIND::IS_EVERYWHERE ? 0 : (unsigned)sizeof(tile_sums<T>));
    static int processors = 0;
    const hipError_t error =
        hip_prepare(reinterpret_cast<const void *>(steps_tile<REAL, T, KIND>), bytes, &processors);
    if (error != hipSuccess) {
        return error;
    }
    const struct step_args *args = step->args;
    const tiling t = tiling_of(&args->layout, args->levels, step->boxes, T);
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

/* The pieces of the box outside the last of args->without: in other media than a uniform one their
 * blocks take the sums. */
static hipError_t launch_outside(struct hip_step *step)
{
    struct step_args args = *step->args;
    struct hip_step of = *step;
    struct box pieces[FACE_COUNT];
    const struct box inner = box_intersect(step->boxes, &args.without[--args.nwithout]);
    const int npieces = box_shell(step->boxes, &inner, pieces);
    of.args = &args;
    for (int p = 0; p < npieces; p++) {
        of.boxes = &pieces[p];
        const hipError_t error = hip_launch_steps_tile(&of);
        if (error != hipSuccess) {
            return error;
        }
    }
    step->summed = of.summed;
    return hipSuccess;
}

hipError_t hip_launch_steps_tile(struct hip_step *step)
{
    if (step->args->nwithout > 0) {
        return launch_outside(step);
    }
    const struct coefficients *args = step->args->levels;
    return launch_steps_of(step->args, [&](auto cell, auto steps) -> hipError_t {
        typedef decltype(cell) REAL;
        constexpr int T = decltype(steps)::value;
        if (args->kind == KIND_UNIFORM) {
            return are_alike(args, T)
                       ? launch<REAL, T>(step, uniform_of<REAL, T, 1>(args))
                       : launch<REAL, T>(step, uniform_of<REAL, T, T, a_of_steps<T>>(args));
        }
        if constexpr (ARCH_HAS_TILE_COPY && T <= HIP_STEPS_OF_FACES) {
            if (args->kind == KIND_FACES) {
                return launch<REAL, T>(step, faces_of<REAL, T>(args));
            }
        }
        if constexpr (T <= HIP_STEPS_OF_CLASSES) {
            return launch<REAL, T>(step, classes_of<REAL, T>(args));
        }
        return hipErrorInvalidValue;
    });
}
