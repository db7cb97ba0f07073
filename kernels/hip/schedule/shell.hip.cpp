/* Several steps of thin boxes beside closed faces, which kernels of large boxes leave out.
 *
 * A block advances a tile of such a box, as thick as the pass has steps, and has no columns: for
 * each level one thread computes a cell of the tile and of the layers around it that later levels
 * need, from the level before in shared memory. So memory is read once, which is what a face of x
 * costs, where each cell has a sector of its own (docs/records/hip.md). */
#include "kernels/hip/kind/faces.h"
#include "kernels/hip/schedule/tile_sums.h"

#if ARCH_HAS_TILE_COPY

/* LONG, WIDE: the edges of a tile, along x and y; of a box beside a face of x both are SQUARE. */
enum { THREADS = 256, BLOCKS = 3, LONG = 32, WIDE = 8, SQUARE = 16 };

/* The most cells of level 1 of a tile. */
template <int T> constexpr int MOST = (2 * T - 1) * (LONG + 2 * (T - 1)) * (WIDE + 2 * (T - 1));
static_assert((SQUARE + 4) * (SQUARE + 4) <= (LONG + 4) * (WIDE + 4), "both shapes of tiles");

/* A box in tiles; those of a launch follow each other from tile `begin` on. */
struct shell_box {
    int lo[AXIS_COUNT], hi[AXIS_COUNT], tile[AXIS_COUNT];
    unsigned count[AXIS_COUNT], begin;
    int face; /* beside which it lies */
};

struct shell_boxes {
    int count;
    shell_box of[FACE_COUNT];
};

static __device__ __forceinline__ void add_alone(struct exact_sum *sum, double x)
{
    tally one = {};
    long long digit[4];
    one.add(x);
    digits_of(one, digit);
    add_digits(sum, digit);
}

/* Cells of a level in memory: cell (0, 0, 0) of the grid, and the distances of rows and planes. */
template <typename REAL> struct shell_level {
    REAL *cells;
    int64_t pitch_y, pitch_z;
};

/* n / d is exactly n * reciprocal(d) >> 20 where n < MOST and d is an edge of a tile. */
static __device__ __forceinline__ unsigned reciprocal(unsigned d)
{
    return ((1U << 20) + d - 1) / d;
}
static __device__ __forceinline__ unsigned divided(unsigned n, unsigned by_reciprocal)
{
    return n * by_reciprocal >> 20;
}

/* The cells of a tile that are advanced when `more` steps follow, and their sums over closed faces;
 * found: of the face beside which the tile lies, for others have few cells of it. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ void advance_tile(
    const grid_view<REAL> &view, const KIND &kind, int level, const int (&own_lo)[AXIS_COUNT],
    const int (&own_hi)[AXIS_COUNT], const int (&lo)[AXIS_COUNT], const int (&hi)[AXIS_COUNT],
    const shell_level<REAL> &to, int beside, const face_sums &sums, tally &found)
{
    const unsigned nx = (unsigned)(hi[AXIS_X] - lo[AXIS_X]);
    const unsigned ny = (unsigned)(hi[AXIS_Y] - lo[AXIS_Y]);
    const unsigned ncells = nx * ny * (unsigned)(hi[AXIS_Z] - lo[AXIS_Z]);
    const unsigned per_nx = reciprocal(nx), per_ny = reciprocal(ny);
    for (unsigned n = threadIdx.x; n < ncells; n += THREADS) {
        const unsigned row = divided(n, per_nx), plane = divided(row, per_ny);
        const int64_t cell[AXIS_COUNT] = {lo[AXIS_X] + (int)(n - row * nx),
                                          lo[AXIS_Y] + (int)(row - plane * ny),
                                          lo[AXIS_Z] + (int)plane};
        bool own = sums.sums, on[FACE_COUNT];
        REAL around[FACE_COUNT];
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            own = own && cell[axis] >= own_lo[axis] && cell[axis] < own_hi[axis];
        }
        const REAL c = view.in[view.at(cell[0], cell[1], cell[2])];
        read_around(view, kind.closed, cell, on, around);
        to.cells[cell[0] + cell[1] * to.pitch_y + cell[2] * to.pitch_z] = kind.advance(
            level, kind.at(cell[0], cell[1], cell[2]), on, c, c, around, [&](int face, double x) {
                if (own && face == beside) {
                    found.add(x);
                } else if (own && sums.sum[face] != nullptr) {
                    add_alone(sums.sum[face], x);
                }
            });
    }
}

template <typename REAL, int T, typename KIND>
static __global__ __launch_bounds__(THREADS, BLOCKS) void steps_shell(
    const __grid_constant__ grid_view<REAL> view, const __grid_constant__ KIND kind,
    const __grid_constant__ shell_boxes boxes, const __grid_constant__ tile_sinks<T> sinks)
{
    __shared__ REAL memory[T > 2 ? 2 : 1][MOST<T>];
    __shared__ struct exact_sum of_block[T];
    int b = 0;
    while (b + 1 < boxes.count && blockIdx.x >= boxes.of[b + 1].begin) {
        b++;
    }
    const shell_box &box = boxes.of[b];
    unsigned rest = blockIdx.x - box.begin;
    int own_lo[AXIS_COUNT], own_hi[AXIS_COUNT];
#pragma unroll
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        own_lo[axis] = box.lo[axis] + (int)(rest % box.count[axis]) * box.tile[axis];
        own_hi[axis] = min(own_lo[axis] + box.tile[axis], box.hi[axis]);
        rest /= box.count[axis];
    }
    if (threadIdx.x < T * 4) {
        of_block[threadIdx.x / 4].digit[threadIdx.x % 4] = 0;
    }
    grid_view<REAL> from = view;
#pragma unroll
    for (int l = 0; l < T; l++) {
        const int more = T - 1 - l;
        int lo[AXIS_COUNT], hi[AXIS_COUNT];
#pragma unroll
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            lo[axis] = own_lo[axis] - more;
            hi[axis] = own_hi[axis] + more;
            lo[axis] = kind.closed[2 * axis] ? max(lo[axis], 0) : lo[axis];
            hi[axis] = kind.closed[2 * axis + 1] ? min(hi[axis], (int)view.cells[axis]) : hi[axis];
        }
        shell_level<REAL> to = {view.out, view.pitch_y, view.pitch_z};
        if (more > 0) {
            to.pitch_y = hi[AXIS_X] - lo[AXIS_X];
            to.pitch_z = to.pitch_y * (hi[AXIS_Y] - lo[AXIS_Y]);
            to.cells = memory[l] - (lo[0] + lo[1] * to.pitch_y + lo[2] * to.pitch_z);
        }
        tally found = {};
        advance_tile(from, kind, l, own_lo, own_hi, lo, hi, to, box.face, sinks.of[l], found);
        if (l == 0) {
            __syncthreads(); /* of_block is 0 */
        }
        face_sum_add(&of_block[l], found);
        __syncthreads();
        from.in = to.cells;
        from.pitch_y = to.pitch_y;
        from.pitch_z = to.pitch_z;
    }
    if (blockIdx.x + 1 == gridDim.x) { /* the next kernel waits for this one only */
        arch_wait_for_last();
    }
    if (!sinks.any) {
        return;
    }
#pragma unroll /* the sums are parameters of the kernel: no index that differs between lanes */
    for (int l = 0; l < T; l++) {
        if (threadIdx.x == l * ARCH_WAVE && sinks.of[l].sum[box.face] != nullptr) {
            add_digits(sinks.of[l].sum[box.face], of_block[l].digit);
        }
    }
    finish_sinks(sinks.of);
}

/* The closed face from which all cells of a box are less than args->nsteps cells; FACE_COUNT: none,
 * and then its tiles would not fit. */
static int face_beside(const struct step_args *args, const struct box *box)
{
    int face = 0;
    for (; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int64_t cells = args->layout.cells[axis], near = args->nsteps;
        if (args->levels->closed[face] &&
            (face % 2 == 0 ? box->hi[axis] <= near : box->lo[axis] >= cells - near)) {
            break;
        }
    }
    return face;
}

template <typename REAL, int T, typename KIND>
static hipError_t launch(struct hip_step *step, const KIND &kind)
{
    const struct step_args *args = step->args;
    shell_boxes boxes = {step->nboxes, {}};
    int64_t ntiles = 0;
    for (int b = 0; b < step->nboxes; b++) {
        shell_box &box = boxes.of[b];
        box.face = face_beside(args, &step->boxes[b]);
        box.begin = (unsigned)ntiles;
        if (box.face == FACE_COUNT) {
            return hipErrorInvalidValue;
        }
        int64_t here = 1;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            box.lo[axis] = (int)step->boxes[b].lo[axis];
            box.hi[axis] = (int)step->boxes[b].hi[axis];
            box.tile[axis] = axis == box.face / 2     ? T
                             : box.face / 2 == AXIS_X ? SQUARE
                             : axis == AXIS_X         ? LONG
                                                      : WIDE;
            box.count[axis] = (unsigned)((box.hi[axis] - box.lo[axis] - 1) / box.tile[axis] + 1);
            here *= box.count[axis];
        }
        ntiles += here;
    }
    if (ntiles > INT32_MAX) {
        return hipErrorInvalidValue;
    }
    const grid_view<REAL> view = view_of<REAL>(&args->layout, args->d_out, args->d_in);
    const tile_sinks<T> sinks = sinks_of<T>(args->levels, step->d_scratch + (step->early ? 1 : 0));
    if (step->early) {
        arch_launch_early(steps_shell<REAL, T, KIND>, (unsigned)ntiles, THREADS, step->stream, view,
                          kind, boxes, sinks);
    } else {
        steps_shell<REAL, T>
            <<<(unsigned)ntiles, THREADS, 0, step->stream>>>(view, kind, boxes, sinks);
    }
    step->summed = true;
    return hipGetLastError();
}

hipError_t hip_launch_steps_shell(struct hip_step *step)
{
    const struct coefficients *args = step->args->levels;
    return launch_steps_of(step->args, [&](auto cell, auto steps) -> hipError_t {
        typedef decltype(cell) REAL;
        constexpr int T = decltype(steps)::value;
        if constexpr (T <= HIP_STEPS_OF_FACES) {
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

#else

hipError_t hip_launch_steps_shell(struct hip_step *)
{
    return hipErrorNotSupported;
}

#endif
